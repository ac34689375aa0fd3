"""What the masks of a card hide, in the clear, where that is more than one token: sent to an owner who asks. Pure."""

from __future__ import annotations

from dataclasses import replace

from tapgate.desk.drafts import edited_input
from tapgate.model import Card
from tapgate.risk.assess import hidden_texts
from tapgate.telegram.text import escape, units, visible

MOST_UNITS = 3500  # of a message; more comes as a file
_TITLE = "Hidden on this card, here in the clear:"


def render_hidden(card: Card) -> str | tuple[str, bytes]:
    """A message as HTML or, where it is long, a file with its name. "" where nothing but single tokens is hidden."""
    request, draft = card.request, card.draft
    use = request.tool_use
    if draft.text is not None:
        use = replace(use, input=edited_input(request, draft.text))
    hidden = hidden_texts(use, whole=True)
    if not hidden:
        return ""
    parts = [(piece.kind, visible(piece.text)) for piece in hidden]
    if sum(units(kind) + units(text) + 10 for kind, text in parts) <= MOST_UNITS:
        lines = [f"🔓 <b>{_TITLE}</b>"]
        for kind, text in parts:
            lines += [f"{escape(kind)}:", f"<pre>{escape(text)}</pre>"]
        return "\n".join(lines)
    body = "\n\n".join([_TITLE, *(f"{kind}:\n{text}" for kind, text in parts)])
    return f"hidden-{request.id[:8]}.txt", body.encode("utf-8", "backslashreplace")
