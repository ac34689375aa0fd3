"""The service: is it installed, does it start by itself, does what it starts exist, does it run."""

from __future__ import annotations

from collections.abc import Iterator

from tapgate.doctor.check import Check, fault, ok, skipped, warning
from tapgate.doctor.daemon import Met
from tapgate.doctor.scene import DoctorContext
from tapgate.errors import ServiceError
from tapgate.service.manager import ServiceState, service_of, why_not

AGAIN = "run `tapgate service install` again"


def check_service(scene: DoctorContext, met: Met) -> Iterator[Check]:
    name, label = "service.installed", "service"
    found = service_of(platform=scene.platform, home=scene.home, environ=scene.environ, run=scene.run)
    if found is None:
        reason = why_not(platform=scene.platform, home=scene.home, environ=scene.environ, run=scene.run)
        yield skipped(name, label, reason)
        return
    try:
        state = found.state()
    except ServiceError as error:
        yield skipped(name, label, str(error))
        return
    if not state.installed:
        yield skipped(
            name, label, "not installed: the daemon runs only while you run it", advice="`tapgate service install`"
        )
        return
    yield check_installed(state)
    yield check_running(state, met)


def check_installed(state: ServiceState) -> Check:
    name, label = "service.installed", "service"
    if not state.executable_exists:
        return fault(name, label, f"it would start {state.executable or 'nothing'}, which is not there", advice=AGAIN)
    if not state.enabled:
        return warning(name, label, "installed, but it does not start by itself at login", advice=AGAIN)
    if not state.is_current:
        return warning(
            name,
            label,
            "its files are not what this version writes",
            advice=f"{AGAIN}; it shows what would change (`--dry-run` only shows)",
        )
    leaves = "; it ends when you log out (`loginctl enable-linger` keeps it)" if state.lingers is False else ""
    return ok(name, label, f"installed for {state.manager}, starts at login{leaves}")


def check_running(state: ServiceState, met: Met) -> Check:
    name, label = "service.running", "service's daemon"
    if state.running:
        return ok(name, label, state.detail)
    if met.is_running:
        return warning(
            name,
            label,
            "the service does not run; the daemon that answers was started otherwise",
            advice="stop that one, then `tapgate service start`",
        )
    return fault(
        name, label, state.detail, advice="`tapgate service start`; `tapgate service logs` says what went wrong"
    )
