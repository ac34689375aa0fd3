"""Each tool in its own form. Pure; a form that does not know a field, or its type, shows it all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tapgate.telegram.forms import commands, files, searches, talk
from tapgate.telegram.forms.content import Content
from tapgate.telegram.forms.fields import Fields

RenderForm = Callable[[Fields], Content | None]

FORMS: Mapping[str, RenderForm] = {
    "Bash": commands.bash,
    "apply_patch": files.apply_patch,
    "Read": files.read,
    "Glob": searches.glob,
    "Grep": searches.grep,
    "LS": searches.ls,
    "WebFetch": searches.web_fetch,
    "WebSearch": searches.web_search,
    "Task": talk.task,
    "Agent": talk.task,
    "Skill": talk.skill,
    "ExitPlanMode": talk.plan,
    "AskUserQuestion": talk.questions,
}
CHANGES = {
    "Write": files.write,
    "Edit": files.edit,
    "MultiEdit": files.multi_edit,
    "NotebookEdit": files.notebook_edit,
}
"""Those that can be shown against the file as it stands."""
