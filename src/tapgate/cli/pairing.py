"""Pairing at the terminal: the link, its QR code, the wait for Start, and the name in the config."""

from __future__ import annotations

import secrets
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import anyio
from rich.markup import escape

from tapgate.cli.bot import PairingBot, PairingPoller, TokenRefusedError, open_api, tell, who_is
from tapgate.cli.dialog import Dialog, plain_name, shown
from tapgate.cli.qr import render_qr
from tapgate.config import find_config
from tapgate.errors import FrontError, TapgateError
from tapgate.model import Instant, Role
from tapgate.setup.config_file import ConfigFile, with_person
from tapgate.setup.pairing import CODE_BYTES, TRIES, Newcomer, Pairing, PairingEnd, link

ROLES = {
    Role.OWNER: "answers, and may save standing permissions",
    Role.APPROVER: "answers, each time for that once",
    Role.VIEWER: "sees the cards, without buttons",
}
_AS = {
    Role.OWNER: "an owner: you answer, and may save standing permissions",
    Role.APPROVER: "an approver: you answer, each time for that once",
    Role.VIEWER: "a viewer: you see the cards, without buttons",
}
_ENDINGS = {
    PairingEnd.EXPIRED: "The code has expired: ten minutes are over.",
    PairingEnd.TRIED: f"{TRIES} wrong codes came, so this code does not count any more. Somebody may be guessing.",
    PairingEnd.SPILT: "The code was sent to a group, where others can read it, so it does not count any more.",
}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def existing(given: Path | None) -> Path:
    """The config that `tapgate setup` wrote."""
    path = find_config(given)
    if not path.exists():
        raise TapgateError(f"there is no config at {path} yet; begin with `tapgate setup`")
    return path


def meet(dialog: Dialog, token: str, file: ConfigFile) -> PairingBot:
    try:
        with dialog.waiting("Asking Telegram …"):
            return anyio.run(who_is, token, file.config.telegram)
    except TokenRefusedError:
        raise TapgateError("Telegram does not know the bot token in the config; run `tapgate setup`") from None


def pair_person(
    dialog: Dialog,
    file: ConfigFile,
    token: str,
    bot: PairingBot,
    *,
    role: Role | None = None,
    name: str = "",
    in_group: bool = False,
) -> Newcomer | None:
    """Show codes until somebody has paired or nobody is to; None in the latter case. The config is written here."""
    while True:
        newcomer = _await_start(dialog, file, token, bot, in_group=in_group)
        if newcomer is not None:
            if _is_right(dialog, newcomer):
                break
            dialog.say("They were not added. That code is used up.")
        if dialog.choose("Go on?", {"r": "with a fresh code", "s": "skip"}, default="s") == "s":
            return None
    before = [person for person in file.config.persons() if person.user_id == newcomer.user_id]
    if role is not None:
        chosen = role
    elif before:
        chosen = before[0].role  # a phone that is paired again, or a group beside it, changes nobody's role
    else:
        chosen = _ask_role(dialog) if file.config.people else Role.OWNER
    known = plain_name(name) or (before[0].name if before else plain_name(newcomer.name))
    file.change(with_person(file.text, user_id=newcomer.user_id, chat_id=newcomer.chat_id, name=known, role=chosen))
    where = f' in the group "{shown(newcomer.group)}"' if newcomer.group else ""
    dialog.done(f"[bold]{escape(known)}[/bold] is paired as {chosen}{where}: {ROLES[chosen]}.")
    _greet(dialog, file, token, newcomer, chosen, known)
    return newcomer


def _await_start(dialog: Dialog, file: ConfigFile, token: str, bot: PairingBot, *, in_group: bool) -> Newcomer | None:
    """One code's life. None: it came to nothing, and why was said."""
    people = {person.user_id for person in file.config.people}

    async def session() -> Pairing:
        async with open_api(token, file.config.telegram) as api:
            keeper = PairingPoller(api, people)
            await keeper.clear()
            pairing = Pairing(secrets.token_urlsafe(CODE_BYTES), _now(), in_group=in_group)
            _show_link(dialog, bot, pairing, file.config.telegram.base_url)
            return await _watch(dialog, keeper, pairing)

    try:
        pairing = anyio.run(session)
    except KeyboardInterrupt:
        dialog.say("\nNo more waiting; that code does not count any more.")
        return None
    except FrontError as error:
        dialog.fail(f"{escape(str(error))}.")
        return None
    end = pairing.end(_now())
    if end is not PairingEnd.PAIRED:
        dialog.fail(_ENDINGS[end or PairingEnd.EXPIRED])
    return pairing.newcomer


async def _watch(dialog: Dialog, keeper: PairingPoller, pairing: Pairing) -> Pairing:
    """The spinner, with the time that is left and what goes wrong."""
    trouble = ""
    wrong = 0

    def words() -> str:
        left_s = int(pairing.left_s(_now()))
        wait = f"Waiting for Start … {left_s // 60}:{left_s % 60:02d} left, Ctrl-C cancels"
        return f"{wait} ({escape(trouble)})" if trouble else wait

    def note_trouble(sentence: str) -> None:
        nonlocal trouble
        trouble = sentence

    def note_change(after: Pairing) -> None:
        nonlocal wrong
        if after.wrong > wrong:
            wrong = after.wrong
            dialog.warn(f"A wrong code came (number {after.wrong} of {TRIES}).")

    with dialog.waiting(words()) as status:
        async with anyio.create_task_group() as group:

            async def tick() -> None:
                while True:
                    await anyio.sleep(1)
                    status.update(words())

            group.start_soon(tick)
            after = await keeper.wait(pairing, changed=note_change, trouble=note_trouble)
            group.cancel_scope.cancel()
    return after


def _show_link(dialog: Dialog, bot: PairingBot, pairing: Pairing, base_url: str) -> None:
    address = link(bot.username, pairing.code, in_group=pairing.in_group)
    code = render_qr(address, dialog.console)
    if pairing.in_group:
        dialog.say("Open this link on the phone and choose the group; the bot is added to it:")
    elif code is not None:
        dialog.say("Scan this with the phone, or open the link, and press [bold]Start[/bold]:")
    else:
        dialog.say("Open this link on the phone, and press [bold]Start[/bold]:")
    if code is not None:
        dialog.console.print(code, end="")
    dialog.say(f"[bold cyan]{address}[/bold cyan]", whole_lines=True)
    if urlsplit(base_url).hostname in _LOOPBACK and not pairing.in_group:
        dialog.say(
            f"[dim]On the simulator's phone page: {base_url.rstrip('/')}/?start={pairing.code}[/dim]", whole_lines=True
        )


def _is_right(dialog: Dialog, newcomer: Newcomer) -> bool:
    """The code came from somebody who saw this terminal; a look at the name costs little."""
    handle = f" (@{shown(newcomer.username)})" if newcomer.username else ""
    place = f' in the group "{shown(newcomer.group)}"' if newcomer.group else ""
    dialog.done(f"[bold]{shown(newcomer.name)}[/bold]{handle} pressed Start{place}.")
    return dialog.confirm("Is that the right person?")


def _ask_role(dialog: Dialog) -> Role:
    for role, words in ROLES.items():
        dialog.say(f"  [bold]{role}[/bold]: {words}")
    found = dialog.choose("Which role?", {role.value: "" for role in ROLES}, default=Role.APPROVER.value)
    return Role(found)


def _greet(dialog: Dialog, file: ConfigFile, token: str, newcomer: Newcomer, role: Role, name: str) -> None:
    machine = socket.gethostname()
    text = f"Paired: questions of the coding agents on {machine} come here. You are {_AS[role]}."
    if newcomer.group:
        text = f"Questions of the coding agents on {machine} come to this group. {name} is {role}: {ROLES[role]}."
    try:
        anyio.run(tell, token, file.config.telegram, newcomer.chat_id, text)
    except FrontError as error:
        dialog.warn(f"They could not be greeted: {escape(str(error))}.")


def _now() -> Instant:
    return Instant(time.monotonic(), time.time())
