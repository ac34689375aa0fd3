"""The whole examination, in order. A check that fails, or breaks, never keeps the next one from being made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from tapgate.doctor.agents import check_agents
from tapgate.doctor.check import Check, fault
from tapgate.doctor.configuration import check_config, find_token, load
from tapgate.doctor.daemon import Met, check_daemon, meet
from tapgate.doctor.endpoint import check_socket
from tapgate.doctor.people import check_people
from tapgate.doctor.pollers import OtherPoller, find_poller
from tapgate.doctor.scene import DoctorContext
from tapgate.doctor.service import check_service
from tapgate.doctor.storage import check_storage
from tapgate.doctor.telegram import check_telegram, reach
from tapgate.errors import redact

CheckResults = TypeVar("CheckResults")
GROUPS = {
    "config": "Config",
    "telegram": "Telegram",
    "people": "People",
    "daemon": "Daemon",
    "journal": "Journal and disk",
    "agents": "Agents",
    "service": "Service",
}


def examine(scene: DoctorContext) -> Iterator[Check]:
    """Each check as soon as it is made."""
    loaded = load(scene)
    config = loaded.config
    met, broken = _tried("daemon", lambda: meet(scene, config))
    yield from broken
    met = met or Met(None, is_running=True, problem="it could not be asked")
    status = met.status
    yield from _guarded("config", lambda: check_config(scene, loaded))

    token = find_token(loaded)
    if config is not None and met.status is None and not met.is_running:
        elsewhere, broken = _tried("daemon", lambda: find_poller(scene, config, token.text))
        yield from broken
        unsure = OtherPoller("whether a daemon polls could not be found out", is_sure=False)
        met = replace(met, elsewhere=unsure if broken else elsewhere)
    reached, broken = _tried("telegram", lambda: None if config is None else reach(scene, config, token.text))
    yield from broken
    yield from _guarded("telegram", lambda: check_telegram(scene, config, reached=reached, token=token, met=met))
    yield from _guarded("people", lambda: check_people(config, None if reached is None else reached.bot))

    yield from _guarded("daemon", lambda: check_daemon(scene, config, met))
    yield from _guarded("daemon", lambda: check_socket(scene, config, met))
    yield from _guarded("journal", lambda: check_storage(scene, config, status))
    yield from _guarded("agents", lambda: check_agents(scene, config))
    yield from _guarded("service", lambda: check_service(scene, met))


def _tried(group: str, find: Callable[[], CheckResults]) -> tuple[CheckResults | None, tuple[Check, ...]]:
    """What could be found out; or None, and the check that says so."""
    try:
        return find(), ()
    except Exception as error:
        return None, (_broken(group, error),)


def _guarded(group: str, make: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    try:
        yield from make()
    except Exception as error:  # whatever is wrong with one check, the others are still wanted
        yield _broken(group, error)


def _broken(group: str, error: Exception) -> Check:
    return fault(
        f"{group}.broken",
        GROUPS[group].lower(),
        f"this check broke off ({type(error).__name__}: {redact(str(error))[:200]})",
        advice="the others still hold; please report this line",
    )
