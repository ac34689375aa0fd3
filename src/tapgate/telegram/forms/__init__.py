"""Each kind of tool in its own form. Pure; a form that does not know a field, or its type, shows it all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tapgate.model import ToolKind
from tapgate.telegram.forms import commands, files, searches, talk
from tapgate.telegram.forms.content import Content
from tapgate.telegram.forms.fields import Fields

RenderForm = Callable[[Fields], Content | None]

FORMS: Mapping[ToolKind, RenderForm] = {
    ToolKind.COMMAND: commands.command,
    ToolKind.PATCH: files.patch,
    ToolKind.READ: files.read,
    ToolKind.FIND: searches.find,
    ToolKind.SEARCH: searches.search,
    ToolKind.LIST: searches.list_directory,
    ToolKind.FETCH: searches.fetch,
    ToolKind.WEB_SEARCH: searches.web_search,
    ToolKind.TASK: talk.task,
    ToolKind.SKILL: talk.skill,
    ToolKind.PLAN: talk.plan,
    ToolKind.ASK: talk.questions,
}
CHANGES = {
    ToolKind.WRITE: files.write,
    ToolKind.EDIT: files.edit,
    ToolKind.EDITS: files.edits,
    ToolKind.NOTEBOOK: files.notebook,
}
"""Those that can be shown against the file as it stands."""
