"""The daemon that runs, seen from the set-up commands: who it is, how it is halted for a while, and started anew.

One bot has one listener: two that poll take each other's taps. So whoever pairs takes the daemon's place, locks
included, and a daemon that starts meanwhile finds them taken. The people are read once, at its start: a change of them
counts from the next one.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from tapgate.cli.dialog import Dialog
from tapgate.client import ask_status
from tapgate.config import Config
from tapgate.daemon.lock import Holder, Lock, holder_of
from tapgate.errors import LockedError, SocketError, TapgateError
from tapgate.paths import bot_lock_path, bot_name, default_runtime_dir, make_private_dir
from tapgate.service.manager import Service, service_of

STOP_S = 30.0
START_S = 30.0
LOOK_S = 0.1


def own_service() -> Service | None:
    """This user's service manager, installed or not."""
    return service_of(platform=sys.platform, home=Path.home(), environ=os.environ)


class DaemonControl:
    """The daemon of one config, whoever started it."""

    def __init__(self, dialog: Dialog, config: Config, config_path: Path, service: Service | None) -> None:
        self._dialog = dialog
        self._config = config
        self._config_path = config_path
        self._service = service
        self._bot_lock: Path | None = None  # while we poll a bot ourselves

    def is_service_running(self) -> bool:
        return self._service is not None and self._service.state().running

    def pid(self) -> int | None:
        """The process that holds the daemon's lock; 0 where it does not say its number, None where there is none."""
        return next((holder.pid for holder in self._holders()), None)

    def is_stale(self) -> bool:
        """Whether the running daemon read the config before the config's last change."""
        with suppress(OSError, TapgateError):
            return self._config_path.stat().st_mtime > float(ask_status(self._config.socket_path)["started_at"])
        return False

    @contextmanager
    def replaced(self, token: str = "") -> Iterator[None]:
        """In the daemon's place while this lasts. A service goes on afterwards; a daemon in a terminal does not.

        With a token, also in the place of a daemon that polls that bot with another config.
        """
        if token:
            bot = bot_name(self._config.telegram.base_url, token)
            self._bot_lock = bot_lock_path(default_runtime_dir(), bot)
        was_service = self.is_service_running()
        if was_service:
            self._halt_service()
        with ExitStack() as stack:
            if was_service and self._service is not None:
                stack.callback(self._service.start)
            try:
                stack.enter_context(self._locks())
            except LockedError:
                self._halt_process(self.pid() or 0)
                stack.enter_context(self._locks())
            yield

    def refresh(self) -> None:
        """A service has read the config anew afterwards; a daemon in a terminal has ended."""
        with self.replaced():
            pass

    def renew(self) -> None:
        """Have the daemon read the config again, where there is one; say what to do where that is not ours to do."""
        if self.is_service_running() and self._service is not None:
            if self._dialog.confirm("The running service has the old list. Restart it now?"):
                self._service.stop()
                self._service.start()
                self._dialog.done("The service was restarted.")
            else:
                self._dialog.warn(
                    "Until it is restarted the old list counts: [bold]tapgate service stop[/bold], start."
                )
        elif (pid := self.pid()) is not None:
            self._dialog.warn(
                f"A daemon runs in some terminal{f' (pid {pid})' if pid else ''}, and for it the old list counts: "
                "stop it there with Ctrl-C and start it again with [bold]tapgate daemon[/bold]."
            )

    def _halt_service(self) -> None:
        assert self._service is not None
        self._dialog.say(
            f"Telegram lets one program listen to a bot, so the service stops for this{self._open_words()}."
        )
        if not self._dialog.confirm("Stop it for as long as this takes?"):
            raise TapgateError("nothing was changed, and the service goes on; run this again when it suits")
        self._service.stop()

    def _halt_process(self, pid: int) -> None:
        who = f"A daemon runs in some terminal (pid {pid})" if pid else "A daemon runs"
        self._dialog.say(f"{who}, and Telegram lets one program listen to a bot{self._open_words()}.")
        if not pid:
            raise TapgateError("stop that daemon, then run this again")
        if not self._dialog.confirm("Stop it? You start it again afterwards, with [bold]tapgate daemon[/bold]."):
            raise TapgateError(f"nothing was changed; stop the daemon (pid {pid}) when it suits, and run this again")
        try:
            os.kill(pid, signal.SIGTERM)
        except OSError as error:
            raise TapgateError(f"the daemon (pid {pid}) cannot be stopped ({error.strerror}); stop it first") from None
        end = time.monotonic() + STOP_S
        with self._dialog.waiting("The daemon is stopping …"):
            while self.pid() is not None:
                if time.monotonic() > end:
                    raise TapgateError(f"the daemon (pid {pid}) does not stop; end it, and run this again")
                time.sleep(LOOK_S)

    def _open_words(self) -> str:
        with suppress(TapgateError, KeyError, ValueError):
            count = ask_status(self._config.socket_path)["open_requests"]
            if count:
                return f"; {count} open question{'s go' if count > 1 else ' goes'} back to the terminal"
        return ""

    @contextmanager
    def _locks(self) -> Iterator[None]:
        """All of the daemon's locks, as it takes them itself."""
        with ExitStack() as stack:
            for path in self._lock_paths():
                try:
                    make_private_dir(path.parent)
                    stack.callback(Lock(path).release)
                except OSError as error:
                    if path != self._bot_lock:
                        raise TapgateError(f"cannot write to {path} ({error.strerror})") from None
                except SocketError:
                    if path != self._bot_lock:  # the daemon does without that one, too
                        raise
            yield

    def _lock_paths(self) -> tuple[Path, ...]:
        paths = (self._config.socket_path.with_suffix(".lock"), self._config.state_dir / "daemon.lock")
        return tuple(dict.fromkeys((*paths, *([self._bot_lock] if self._bot_lock else []))))

    def _holders(self) -> Iterator[Holder]:
        """Those who say their number come first."""
        found = []
        for path in self._lock_paths():
            with suppress(OSError):
                holder = holder_of(path)
                if holder is not None:
                    found.append(holder)
        yield from sorted(found, key=lambda holder: not holder.pid)


@contextmanager
def short_lived_daemon(config_path: Path) -> Iterator[None]:
    """A daemon of our own, for a test card. It has a process group of its own, so that Ctrl-C ends it in order."""
    with TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tapgate", "daemon", "--config", str(config_path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            process_group=0,
        )
        assert process.stdout is not None
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                line = process.stdout.readline() if selector.select(START_S) else b""
            if not line:
                process.kill()
                process.wait()
                errors.seek(0)
                said = errors.read().decode("utf-8", "replace").strip().splitlines()
                why = said[-1].removeprefix("tapgate: ") if said else "it said nothing"
                raise TapgateError(f"the daemon does not start: {why}")
            yield
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            process.stdout.close()
