"""Ties a button's key to what the button says and does. Pure."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace

from tapgate.model import Choice, Json

SEAL_BYTES = 24  # an agent chooses the bytes that go in, so two requests with one seal must be out of reach


def sealed(choices: Iterable[Choice], *circumstances: Json) -> tuple[Choice, ...]:
    """Tie each key to what its button says and does, and to circumstances without which it means something else.

    The seal travels in the button. The digest of the request's bytes and the caller's facts are among its
    circumstances: a tap that Telegram delivers after a restart thereby says what its card showed and by which project
    it was judged, which the journal could not prove. After an upgrade
    that words or orders choices differently, or once the card has gone on to the next question, an old button no
    longer fits and is refused, where a bare number would have meant something that its card never said.
    """
    return tuple(replace(choice, seal=_seal(choice, circumstances)) for choice in choices)


def _seal(choice: Choice, circumstances: tuple[Json, ...]) -> str:
    decision = choice.decision
    text = json.dumps(
        [
            choice.key,
            choice.label,
            choice.action,
            decision.verdict,
            decision.message,
            decision.interrupt,
            list(decision.updates),
            decision.updated_input,
            *circumstances,
        ],
        sort_keys=True,
    )
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()[:SEAL_BYTES]).decode()
