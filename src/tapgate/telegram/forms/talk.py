"""Words for people and for other agents: prompts, skills, plans, questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tapgate.telegram.forms.content import Content
from tapgate.telegram.forms.fields import Fields


def task(fields: Fields) -> Content | None:
    if not fields.has("prompt"):
        return None
    kind = fields.text("subagent_type")
    return fields.content(fields.text("prompt"), f"for {kind}" if kind else "", prose=True, suffix=".md")


def skill(fields: Fields) -> Content | None:
    name = next((name for name in ("skill", "command", "name") if fields.has(name)), "")
    return fields.content(fields.text("args"), head=fields.text(name)) if name else None


def plan(fields: Fields) -> Content | None:
    if not fields.has("plan"):
        return None
    return fields.content(fields.text("plan"), language="markdown", suffix=".md", prose=True, marked=True)


def questions(fields: Fields) -> Content | None:
    asked = fields.items("questions")
    if not asked:
        return None
    body = "\n".join(line for question in fields.while_room(asked) for line in _question(fields, question))
    return fields.content(body, suffix=".md", prose=True)


def _question(fields: Fields, question: Any) -> Iterator[str]:
    if not isinstance(question, dict):
        yield fields.spent(f"• {fields.plain(question)}")
        return
    inside = fields.within(question)
    header = f"{inside.text('header')}: " if inside.has("header") else ""
    many = " (several may be chosen)" if inside.flag("multiSelect") else ""
    yield fields.spent(f"{header}{inside.any('question')}{many}")
    for option in fields.while_room(inside.items("options")):
        yield from _option(fields, option)
    for other in inside.rest():
        yield fields.spent(f"  {other}")
    fields.join(inside)


def _option(fields: Fields, option: object) -> Iterator[str]:
    if not isinstance(option, dict):
        yield fields.spent(f"  • {fields.plain(option)}")
        return
    inside = fields.within(option)
    label = inside.any("label")
    about = inside.any("description") if option.get("description") not in (None, "") else ""
    if not about:
        inside.known("description")
    yield fields.spent(f"  • {label}{f' — {about}' if about else ''}")
    for other in inside.rest():
        yield fields.spent(f"    {other}")
    fields.join(inside)
