"""The daemon: does it run, is it this version, does it hear Telegram, what did it last complain about."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tapgate.config import Config
from tapgate.doctor.check import Check, fault, ok, skipped, warning
from tapgate.doctor.pollers import OtherPoller
from tapgate.doctor.scene import DoctorContext
from tapgate.errors import NotRunningError, TapgateError
from tapgate.paths import MAX_SOCKET_PATH_BYTES

DEAF_S = 90.0  # a poll takes 20 s at most, and the longest pause between two is 30 s
CONFLICT = "another program polls"  # how the daemon's own words for 409 begin
LATELY_S = 3600.0
SHOWN = 3
START = "`tapgate service start`, or `tapgate daemon` in a terminal"
RESTART = "restart it: `tapgate service stop` and `start`, or Ctrl-C and `tapgate daemon`"


@dataclass(frozen=True, slots=True)
class Met:
    """What the daemon said of itself; or None, and why."""

    status: Mapping[str, Any] | None
    is_running: bool
    problem: str = ""
    elsewhere: OtherPoller | None = None  # a daemon that is not at this socket and polls this bot, or may


def meet(scene: DoctorContext, config: Config | None) -> Met:
    if config is None:
        return Met(None, is_running=False, problem="the config does not say where it listens")
    if len(os.fsencode(config.socket_path)) > MAX_SOCKET_PATH_BYTES:
        return Met(None, is_running=False, problem="nobody can listen at a path that long")
    try:
        return Met(scene.ask_status(config.socket_path), is_running=True)
    except NotRunningError as error:
        return Met(None, is_running=False, problem=str(error))
    except TapgateError as error:
        return Met(None, is_running=True, problem=str(error))


def check_daemon(scene: DoctorContext, config: Config | None, met: Met) -> Iterator[Check]:
    name, label = "daemon.running", "daemon"
    if config is None:
        yield skipped(name, label, met.problem)
        return
    if met.status is None and met.elsewhere is not None and met.elsewhere.is_sure:
        yield fault(
            name,
            label,
            f"{met.elsewhere.sentence}, but not at this config's socket, {config.socket_path}",
            advice="it was started with another config or socket_path: use that one here (--config), or restart it",
        )
        return
    if met.status is None and not met.is_running:
        yield fault(name, label, "it is not running, so the agent asks at the terminal", advice=f"start it: {START}")
        return
    if met.status is None:
        yield fault(name, label, met.problem, advice=f"look at the socket below; if the daemon hangs, {RESTART}")
        return
    status = met.status
    age_s = scene.wall() - float(status["started_at"])
    yield ok(name, label, f"runs as pid {status['pid']}, since {_moment(float(status['started_at']))}")
    yield check_version(scene, status)
    yield check_freshness(scene, status)
    yield check_poll(scene, status, age_s=age_s)
    yield check_files(status)
    yield check_reports(scene, status)


def check_version(scene: DoctorContext, status: Mapping[str, Any]) -> Check:
    name, label = "daemon.version", "version"
    if status["version"] != scene.version:
        return warning(name, label, f"the daemon is {status['version']}, this command {scene.version}", advice=RESTART)
    return ok(name, label, scene.version)


def check_freshness(scene: DoctorContext, status: Mapping[str, Any]) -> Check:
    """A daemon reads its config once."""
    name, label = "daemon.config", "config in use"
    try:
        changed_at = scene.config_path.stat().st_mtime
    except OSError:
        return skipped(name, label, "there is no file to compare with")
    if changed_at > float(status["started_at"]):
        return warning(
            name, label, f"the config was changed {_moment(changed_at)}, after the daemon started", advice=RESTART
        )
    return ok(name, label, "not changed since the daemon started")


def check_poll(scene: DoctorContext, status: Mapping[str, Any], *, age_s: float) -> Check:
    name, label = "daemon.poll", "last poll"
    trouble, heard_at = str(status["telegram"]), status["last_poll_at"]
    ago_s = None if heard_at is None else scene.wall() - float(heard_at)
    heard = "never" if ago_s is None else f"{max(0.0, ago_s):.0f} s ago"
    if CONFLICT in trouble:
        return skipped(name, label, f"last heard {heard}; see other pollers above")
    if trouble != "ok":
        return fault(
            name,
            label,
            f"the daemon does not hear Telegram: {trouble}; last heard {heard}",
            advice="mend what stands under Telegram above; the daemon then goes on by itself",
        )
    if ago_s is None or ago_s > DEAF_S:
        if age_s < DEAF_S:
            return skipped(name, label, "the daemon has only just started")
        return fault(
            name,
            label,
            f"no tap can be heard: Telegram was last heard {heard}, and no trouble is known",
            advice=RESTART,
        )
    return ok(name, label, heard)


def check_files(status: Mapping[str, Any]) -> Check:
    """Each waiting caller is an open file of the daemon. Who finds none left waits until another one is answered."""
    name, label = "daemon.files", "open files"
    limit, needed = status.get("file_limit"), status.get("files_needed")
    if limit is None or needed is None:
        return skipped(name, label, "this daemon does not tell; it is of an older version")
    if limit < needed:
        return warning(
            name,
            label,
            f"the daemon may have {limit:,} open, and as many callers as it takes need {needed:,}",
            advice=f"run `tapgate service install` again, or `ulimit -n {needed}` before `tapgate daemon`",
        )
    return ok(name, label, f"{limit:,} allowed, {needed:,} needed at most")


def check_reports(scene: DoctorContext, status: Mapping[str, Any]) -> Check:
    name, label = "daemon.reports", "last errors"
    reports = status.get("reports")
    if reports is None:
        return skipped(name, label, "this daemon keeps none; it is of an older version")
    lately = [report for report in reports if scene.wall() - float(report["at"]) < LATELY_S]
    if not lately:
        return ok(name, label, "none in the last hour")
    lines = [
        f"{_moment(float(report['at']))} {report['sentence']}"
        + (f" (×{report['times']})" if report["times"] > 1 else "")
        for report in lately[-SHOWN:]
    ]
    more = f"{len(lately)} in the last hour, the last of them:\n" if len(lately) > SHOWN else ""
    return warning(name, label, more + "\n".join(lines), advice="if they go on, `tapgate service logs` has all of them")


def _moment(at: float) -> str:
    return time.strftime("%a %H:%M:%S", time.localtime(at))
