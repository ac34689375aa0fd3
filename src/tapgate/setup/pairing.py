"""Pairing: who sent the code that only the terminal shows. Pure: what an update means, and when it is over.

The rules:

1. Only the code pairs: random, shown once, used once, compared in constant time.
2. It ends after ten minutes on whichever clock says so first, and with the third wrong code.
3. Only a person pairs, and only in their private chat (or, where a group was asked for, in a group). The right code in
   a group by mistake ends the pairing: others may have read it.
4. What came before the code was made is no try: it cannot have known it.
5. Nobody is answered. A stranger cannot even tell that somebody is pairing.
6. Nothing is confirmed to Telegram that a daemon could need: taps, and what listed people wrote.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeGuard

from tapgate.model import Instant

LIFE_S = 600.0
TRIES = 3
CODE_BYTES = 16  # of randomness: 22 characters, a link that makes a QR code small enough for 24 lines
CODE_SHAPE = re.compile(r"[A-Za-z0-9_-]{1,64}")  # Telegram's own limit for what follows ?start=
_START = re.compile(r"/start(?:@\w+)?[ \t]+(\S+)\s*")


class PairingEnd(StrEnum):
    """Why a pairing takes no more codes."""

    PAIRED = "paired"
    EXPIRED = "expired"
    TRIED = "tried"  # too many wrong codes
    SPILT = "spilt"  # the right code, where others could read it


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Who sent the right code, and where."""

    user_id: int
    chat_id: int
    name: str
    username: str = ""
    group: str = ""  # the group's title, where it was sent in one


@dataclass(frozen=True, slots=True)
class Pairing:
    """One code's life. Each update gives the next state."""

    code: str = field(repr=False)
    begun: Instant
    in_group: bool = False
    wrong: int = 0
    spilt: bool = False
    newcomer: Newcomer | None = None

    def __post_init__(self) -> None:
        if not CODE_SHAPE.fullmatch(self.code):
            raise ValueError("a pairing code is 1 to 64 of A-Z a-z 0-9 _ -")

    def left_s(self, now: Instant) -> float:
        """How long the code is still good for. A laptop that slept, and a clock that was set, both count."""
        return max(0.0, LIFE_S - max(now.mono - self.begun.mono, now.wall - self.begun.wall))

    def end(self, now: Instant) -> PairingEnd | None:
        if self.newcomer is not None:
            return PairingEnd.PAIRED
        if self.spilt:
            return PairingEnd.SPILT
        if self.wrong >= TRIES:
            return PairingEnd.TRIED
        return None if self.left_s(now) > 0 else PairingEnd.EXPIRED

    def hear(self, update: Mapping[str, Any], now: Instant) -> Pairing:
        """The state after this update, which is the same one where the update has nothing to do with it."""
        if self.end(now) is not None:
            return self
        sent = _parse_start(update)
        if sent is None:
            return self
        code, newcomer = sent
        is_right = hmac.compare_digest(code.encode("utf-8", "surrogatepass"), self.code.encode())
        if bool(newcomer.group) != self.in_group:
            return replace(self, spilt=True) if is_right and newcomer.group else self
        return replace(self, newcomer=newcomer) if is_right else replace(self, wrong=self.wrong + 1)


def link(username: str, code: str, *, in_group: bool = False) -> str:
    """What opens the bot with a Start button that sends the code."""
    return f"https://t.me/{username}?start{'group' if in_group else ''}={code}"


def confirmable(updates: Iterable[Mapping[str, Any]], people: Collection[int], paired: str = "") -> int | None:
    """The offset up to which everything may be forgotten: messages of strangers and the pairing itself.

    A tap, or a word of somebody listed, is the daemon's. It stays, and so does what came after it.
    """
    offset: int | None = None
    for update in updates:
        number = update.get("update_id")
        if not isinstance(number, int) or _is_wanted(update, people, paired):
            break
        offset = number + 1
    return offset


def unheard(updates: Sequence[Mapping[str, Any]], seen: int | None) -> list[Mapping[str, Any]]:
    """What has not been looked at yet; Telegram repeats whatever is not confirmed."""
    return [
        update
        for update in updates
        if isinstance(update.get("update_id"), int) and (seen is None or update["update_id"] > seen)
    ]


def _is_wanted(update: Mapping[str, Any], people: Collection[int], paired: str) -> bool:
    message = update.get("message")
    if not isinstance(message, dict):
        return True  # a tap, or something that is not ours to judge
    sender = message.get("from")
    if not isinstance(sender, dict) or sender.get("id") not in people:
        return False
    sent = _START.fullmatch(str(message.get("text") or ""))
    return not (paired and sent is not None and sent[1] == paired)


def _parse_start(update: Mapping[str, Any]) -> tuple[str, Newcomer] | None:
    """The code in a `/start CODE` that a person sent, and who they are; None for anything else."""
    message = update.get("message")
    if not isinstance(message, dict):
        return None
    sender, chat, text = message.get("from"), message.get("chat"), message.get("text")
    if not isinstance(sender, dict) or not isinstance(chat, dict) or not isinstance(text, str):
        return None
    user_id, chat_id, kind = sender.get("id"), chat.get("id"), chat.get("type")
    if not _is_id(user_id) or not _is_id(chat_id) or sender.get("is_bot") is not False or "sender_chat" in message:
        return None
    sent = _START.fullmatch(text)
    if sent is None or len(sent[1]) > 64:
        return None
    title = ""
    if kind in ("group", "supergroup"):
        title = str(chat.get("title") or chat_id)
    elif kind != "private" or chat_id != user_id:
        return None
    name = " ".join(str(sender.get(part) or "").strip() for part in ("first_name", "last_name")).strip()
    return sent[1], Newcomer(user_id, chat_id, name or str(user_id), str(sender.get("username") or ""), title)


def _is_id(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value != 0
