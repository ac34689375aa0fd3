"""The one place that wires everything (lock, journal, desk, engine, front, listener) and takes it down in order."""

from __future__ import annotations

import signal
import socket
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from tapgate.agents.registry import parse_request
from tapgate.config import Config
from tapgate.daemon.answers import ROWS_PER_ANSWER, past_answers
from tapgate.daemon.context import gather_context
from tapgate.daemon.engine import Engine, Handover
from tapgate.daemon.homes import Homes
from tapgate.daemon.limits import files_needed, raise_file_limit
from tapgate.daemon.links import DiskLinks
from tapgate.daemon.listener import MOST_CALLERS, Listener
from tapgate.daemon.lock import Lock
from tapgate.daemon.notify import Notifier, Watchdog
from tapgate.daemon.reports import Reports
from tapgate.daemon.sessions import Sessions
from tapgate.daemon.sockets import identity_of, open_socket, remove_socket
from tapgate.daemon.status import DaemonStatus, clock_words, count_people
from tapgate.desk.desk import Desk
from tapgate.desk.events import Event, PollResumed, Stopped
from tapgate.errors import SocketError
from tapgate.journal import Journal, TrailQuery
from tapgate.model import Context, Findings, Instant, Request, Risk
from tapgate.paths import bot_lock_path, bot_name, default_runtime_dir, make_private_dir
from tapgate.risk.assess import examine_request, without_masks
from tapgate.risk.links import Links, UnknownLinks
from tapgate.telegram.api import Api
from tapgate.telegram.commands import CommandContext, PastAnswer, PhoneCommands, menu_of
from tapgate.telegram.display import DisplayOptions
from tapgate.telegram.front import TelegramFront
from tapgate.telegram.menu import set_menu

LEAVE_S = 1.5  # how long a stopping daemon waits for its callers to take their answers
DRAIN_S = 8.0  # and for its last edits to reach Telegram; what is left is made up for at the next start
NOTE_POLL_S = 10.0
PURGE_S = 86_400.0


class Daemon:
    """One run, from start to stop."""

    def __init__(
        self,
        config: Config,
        token: str,
        *,
        report: Callable[[str], None],
        debug: Callable[[str], None] = lambda line: None,
        inherited: socket.socket | None = None,
        notifier: Notifier | None = None,
    ) -> None:
        self._config = config
        self._token = token
        self._bot = bot_name(config.telegram.base_url, token)
        self._report = self._reports = Reports(report, wall=time.time)
        self._sessions = Sessions(wall=time.time)
        self._debug = debug
        self._inherited = inherited
        self._notifier = notifier or Notifier()
        self._people = config.persons()
        self._homes = Homes()
        self._setting = DisplayOptions(
            clock=clock_words,
            machine=config.machine_name(),
            home=str(Path.home()),
            home_of=self._homes.known_home,
            mask=config.privacy.mask,
            detail=config.privacy.detail,
        )
        self._poll_noted = 0.0
        self._stop = anyio.Event()

    async def run(self, ready: Callable[[str], None]) -> None:
        config = self._config
        file_limit = raise_file_limit()
        async with AsyncExitStack() as stack:
            # systemd's socket is where its unit says, and its directory may be somebody else's: nothing is made there.
            if self._inherited is None:
                make_private_dir(config.socket_path.parent)
                self._lock_socket(stack)
            self._lock_state(stack)
            self._lock_bot(stack)
            sock = self._inherited
            if sock is None:
                sock = open_socket(config.socket_path)
                self._place = str(config.socket_path)  # the socket itself knows the name that it was made under
                stack.callback(remove_socket, config.socket_path, identity_of(config.socket_path))
            else:
                self._place = str(sock.getsockname())
            stack.callback(sock.close)
            self._journal = await Journal.open(
                config.state_dir / "journal.db",
                keep_days=config.journal.keep_days,
                keep_inputs=config.journal.keep_inputs,
                wall=time.time,
                report=self._report,
                bot=self._bot,
            )
            stack.push_async_callback(self._journal.close)
            self._engine = Engine(
                Desk(self._people, hold_s=config.deadline_s, hold_of=self._hold_of, assess=self._assess),
                self._journal,
                clock=_now,
                report=self._report,
                look=self._look_around,
                examine=self._examine,
                masks=config.privacy.mask,
            )
            commands = PhoneCommands(
                self._people,
                CommandContext(
                    setting=self._setting,
                    wall=time.time,
                    past_answers=self._past_answers,
                    open_cards=self._engine.desk.open_cards,
                    health=lambda: self._status.health(),
                ),
                report=self._report,
            )
            self._api = Api(token=self._token, base_url=config.telegram.base_url, proxy=config.telegram.proxy)
            self._front = TelegramFront(
                self._api,
                emit=self._emit,
                command=commands.answer,
                setting=self._setting,
                per_chat_s=config.telegram.per_chat_s,
                offset=await self._journal.offset(),
                last_poll=await self._journal.last_poll(),
                wall=time.time,
                mono=time.monotonic,
                report=self._report,
            )
            self._status = DaemonStatus(
                people=self._people,
                desk=self._engine.desk,
                sessions=self._sessions,
                poll=self._front.poller,
                journal=self._journal,
                reports=self._reports,
                file_limit=file_limit,
                files_needed=files_needed(MOST_CALLERS),
                wall=time.time,
            )
            self._engine.connect(self._front)
            listener = Listener(
                sock,
                self._engine,
                report=self._report,
                status=self._status.json_for,
                noted=self._sessions.note,
                caller_uids=config.caller_uids,
                debug=self._debug,
            )
            await self._serve(listener, ready)

    def _hold_of(self, request: Request) -> float:
        return self._config.hold_s(agent=request.caller.agent, is_subagent=bool(request.call.agent_id))

    def _lock_socket(self, stack: AsyncExitStack) -> None:
        path = self._config.socket_path.with_suffix(".lock")
        try:
            stack.callback(Lock(path, bot=self._bot).release)
        except OSError as error:
            raise SocketError(f"cannot write to {path} ({error.strerror}); set another socket_path") from error

    def _lock_state(self, stack: AsyncExitStack) -> None:
        """Two daemons must not share a journal. A disk that takes no lock takes no journal either: that is told, and
        each question then ends without an opinion."""
        state_dir = self._config.state_dir
        try:
            make_private_dir(state_dir)
            path = state_dir / "daemon.lock"
            if path.resolve() != self._config.socket_path.with_suffix(".lock").resolve():
                stack.callback(Lock(path, bot=self._bot).release)
        except OSError as error:
            self._report(
                f"cannot write to {state_dir} ({error.strerror}); nothing can be recorded, so nothing can be allowed"
            )
        except SocketError as error:
            if state_dir.exists():
                raise
            self._report(f"{error}; nothing can be recorded, so nothing can be allowed")

    def _lock_bot(self, stack: AsyncExitStack) -> None:
        """Whoever polls holds it, whatever its config: two that poll one bot take each other's taps away.

        It is of use to others, not to this daemon: where it cannot be had (a sandbox), the daemon starts all the same.
        """
        path = bot_lock_path(default_runtime_dir(), self._bot)
        try:
            make_private_dir(path.parent)
            stack.callback(Lock(path, bot=self._bot).release)
        except (OSError, SocketError) as error:
            self._debug(f"no lock by the bot: {error}")

    async def _serve(self, listener: Listener, ready: Callable[[str], None]) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(self._heed_signals, group)
            group.start_soon(self._purge)
            await group.start(self._engine.run)
            # Before the first poll: a tap that waited for us must find its request.
            await self._engine.restore(await self._journal.load(parse_request))
            await group.start(self._front.run)
            group.start_soon(self._set_menu)
            async with anyio.create_task_group() as callers:
                await callers.start(listener.run)
                ready(f"tapgate is ready: {count_people(len(self._people))}, listening at {self._place}")
                self._notifier.ready(self._status.line())
                group.start_soon(
                    Watchdog(
                        self._notifier,
                        overdue_s=self._front.poller.overdue_s,
                        status=self._status.line,
                        report=self._report,
                    ).run
                )
                await self._stop.wait()
                self._notifier.stopping("stopping: callers are answered, cards are edited")
                listener.stop()
                await self._engine.handle(Stopped())
                callers.cancel_scope.deadline = anyio.current_time() + LEAVE_S
            await self._front.drain(DRAIN_S)
            await self._engine.catch_up()
            group.cancel_scope.cancel()

    async def _heed_signals(self, group: TaskGroup) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
            async for _ in signals:
                if self._stop.is_set():
                    group.cancel_scope.cancel()  # asked twice: now
                self._stop.set()

    async def _emit(self, event: Event, offset: int | None) -> Handover | None:
        self._debug(f"telegram: {type(event).__name__}, offset {offset}")
        handover = await self._engine.handle(event, offset)
        if isinstance(event, PollResumed) and time.time() - self._poll_noted > NOTE_POLL_S:
            self._poll_noted = time.time()
            await self._journal.note_poll(self._poll_noted)
        return handover

    async def _past_answers(self, most: int) -> list[PastAnswer]:
        return past_answers(await self._journal.trail(TrailQuery(limit=most * ROWS_PER_ANSWER)), most)

    def _look_around(self, request: Request) -> Context:
        home = self._homes.home_of(request.caller.uid)
        return gather_context(request, home=home, own_home=self._setting.home, now=time.time())

    def _examine(self, request: Request) -> Findings:
        """Blocking, though not for long: run it in a worker thread."""
        with DiskLinks() as links:
            return self._examined(request, links)

    def _assess(self, request: Request) -> tuple[Risk, ...]:
        """Without a disk, so that it never blocks; what is written is then said to be unchecked."""
        return self._examined(request, UnknownLinks()).risks

    def _examined(self, request: Request, links: Links) -> Findings:
        found = examine_request(request, home=self._homes.home_of(request.caller.uid), links=links)
        return found if self._setting.mask else replace(found, risks=without_masks(found.risks))

    async def _set_menu(self) -> None:
        await set_menu(self._api, [person.chat_id for person in self._people], menu_of(), report=self._report)

    async def _purge(self) -> None:
        while True:
            await anyio.sleep(PURGE_S)
            await self._journal.purge()


def _now() -> Instant:
    return Instant(time.monotonic(), time.time())
