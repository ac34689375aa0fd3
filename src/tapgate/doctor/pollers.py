"""Who polls the bot already, told from locks and the service's manager: two that poll take each other's taps away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tapgate.config import Config
from tapgate.daemon.lock import holder_of
from tapgate.doctor.scene import DoctorContext
from tapgate.errors import ServiceError
from tapgate.paths import bot_lock_path, bot_name
from tapgate.service.manager import service_of


@dataclass(frozen=True, slots=True)
class OtherPoller:
    """A daemon that is not at this config's socket. `is_sure`: it polls this very bot, or keeps this config's state."""

    sentence: str
    is_sure: bool


def find_poller(scene: DoctorContext, config: Config, token: str) -> OtherPoller | None:
    """Whoever polls this bot, or may; None where nobody can be found. Where it cannot be told, somebody may."""
    bot = bot_name(config.telegram.base_url, token)
    unsure = None
    has_other = False
    for path, is_own in _locks(scene, config, bot):
        try:
            holder = holder_of(path)
        except OSError as error:
            unsure = unsure or OtherPoller(
                f"whether a daemon holds {path} cannot be told ({error.strerror})", is_sure=False
            )
            continue
        if holder is None:
            continue
        if is_own or holder.bot == bot:
            return OtherPoller(f"a daemon runs ({holder.name} holds {path})", is_sure=True)
        if holder.bot:
            has_other = True
        else:
            unsure = OtherPoller(
                f"a daemon runs ({holder.name} holds {path}), with which bot it does not say", is_sure=False
            )
    if unsure is None and not has_other and _is_service_running(scene):
        return OtherPoller("the service runs, with which bot it does not say", is_sure=False)
    return unsure


def _locks(scene: DoctorContext, config: Config, bot: str) -> Iterator[tuple[Path, bool]]:
    """Each with whether it is this config's own, or goes by this bot."""
    own = (
        config.socket_path.with_suffix(".lock"),
        config.state_dir / "daemon.lock",
        bot_lock_path(scene.runtime_dir, bot),
    )
    yield from ((path, True) for path in own)
    default = (scene.runtime_dir / "daemon.lock", scene.state_dir / "daemon.lock")
    yield from ((path, False) for path in default if path not in own)


def _is_service_running(scene: DoctorContext) -> bool:
    found = service_of(platform=scene.platform, home=scene.home, environ=scene.environ, run=scene.run)
    try:
        return found is not None and found.state().running
    except ServiceError:
        return False
