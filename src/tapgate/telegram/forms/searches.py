"""Looking for something: in files, in directories, on the web."""

from __future__ import annotations

from tapgate.telegram.forms.content import Content
from tapgate.telegram.forms.fields import Fields


def find(fields: Fields) -> Content | None:
    return _pattern(fields) if fields.has("pattern") else None


def search(fields: Fields) -> Content | None:
    return _pattern(fields) if fields.has("pattern") else None


def _pattern(fields: Fields) -> Content:
    pattern, path, only = fields.text("pattern"), fields.text("path"), fields.text("glob")
    return fields.content(pattern, f"in {path}" if path else "", f"only {only}" if only else "")


def list_directory(fields: Fields) -> Content | None:
    if not fields.has("path"):
        return None
    ignored = [entry for entry in fields.items("ignore") if isinstance(entry, str)]
    if len(ignored) != len(fields.items("ignore")) or len(ignored) > 20:
        fields.unknown("ignore")
        ignored = []
    without = f"without {', '.join(fields.clip(entry) for entry in ignored)}" if ignored else ""
    return fields.content("", without, head=fields.text("path"))


def fetch(fields: Fields) -> Content | None:
    if not fields.has("url"):
        return None
    return fields.content(fields.text("prompt"), head=fields.text("url"), prose=True, suffix=".md")


def web_search(fields: Fields) -> Content | None:
    return fields.content(fields.text("query")) if fields.has("query") else None
