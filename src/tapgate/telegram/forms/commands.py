"""Commands: what would run, in the background or not, and for how long."""

from __future__ import annotations

from tapgate.telegram.forms.content import Content
from tapgate.telegram.forms.fields import Fields


def command(fields: Fields) -> Content | None:
    if not fields.has("command"):
        return None
    timeout_ms = fields.number("timeout")
    return fields.content(
        fields.text("command"),
        "runs in the background" if fields.flag("run_in_background") else "",
        f"stops after {timeout_ms / 1000:g} s" if timeout_ms else "",
        language="bash",
        suffix=".sh",
        is_command=True,
    )
