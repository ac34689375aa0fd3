"""The project's words as frozen values: request, choice, decision, card, tap. No I/O, no agent, no Telegram."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Json = Any
"""A value as `json.loads` gives it. What an agent sent is echoed, never interpreted further than needed."""


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on two clocks: deadlines are counted on `mono`, people and the journal read `wall`."""

    mono: float
    wall: float


class Verdict(StrEnum):
    ALLOW = "allow"
    DENY = "deny"
    NONE = "none"  # no opinion: the agent asks at the terminal


@dataclass(frozen=True, slots=True)
class Decision:
    """What goes back to the agent. A dialect renders it; nothing else turns it into bytes."""

    verdict: Verdict
    message: str = ""
    interrupt: bool = False
    updates: tuple[Json, ...] = ()
    updated_input: Mapping[str, Json] | None = None


NO_OPINION = Decision(Verdict.NONE)


class Action(StrEnum):
    """What pressing a button does."""

    DECIDE = "decide"
    CONFIRM = "confirm"  # decides, but after a second tap
    RELEASE = "release"  # no opinion: the agent asks at the terminal
    SHOW_WHOLE = "show_whole"
    SHOW_HIDDEN = "show_hidden"  # what the masks hide, for an owner
    LIST = "list"  # lists what can be allowed together
    ALLOW_LISTED = "allow_listed"
    ASK_REASON = "ask_reason"  # these three ask for a text
    ASK_EDIT = "ask_edit"
    ASK_ANSWER = "ask_answer"
    PICK = "pick"  # an option of the question on the card
    NEXT = "next"
    BACK = "back"


class Tone(StrEnum):
    """How a button looks. The values are Telegram's styles; PLAIN sends none."""

    PLAIN = ""
    GOOD = "success"
    BAD = "danger"
    MAIN = "primary"


@dataclass(frozen=True, slots=True)
class Choice:
    """One button. `key` is unique within its request; `seal` ties the key to what the button does."""

    key: str
    label: str
    action: Action
    decision: Decision = NO_OPINION
    tone: Tone = Tone.PLAIN
    saved: str = ""  # in words, the standing permission that this choice writes
    explained: tuple[str, ...] = ()  # what that means, line by line: shown before a second tap
    seal: str = ""


NO_UID = -1  # nobody asked the kernel whose process it is; no user has this number


@dataclass(frozen=True, slots=True)
class Caller:
    """What is known of the hook process: what it told about itself, beside the agent's own bytes, and its user."""

    agent: str
    deadline_s: float
    pid: int = 0
    parent_pid: int = 0
    attended: bool = False
    project: str = ""
    uid: int = NO_UID  # of the process, as the kernel names it; not from what it said

    @property
    def facts(self) -> tuple[str, int, str, bool]:
        """What a call is judged by, beside its bytes: an answer counts for a caller with the same facts only."""
        return self.agent, self.uid, self.project, self.attended


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The tool call in question, as far as one call can be told from another.

    The permission event carries no call id, so the same call is recognised later by session, subagent, tool and
    input (`fingerprint` covers all four).
    """

    session_id: str
    agent_id: str
    tool: str
    fingerprint: str


class ToolKind(StrEnum):
    """What a tool does, whatever its agent calls it. The fields that go with each are named in `Tool.names`."""

    COMMAND = "command"  # command, timeout (in milliseconds), run_in_background
    WRITE = "write"  # file_path, content
    EDIT = "edit"  # file_path, old_string, new_string, replace_all
    EDITS = "edits"  # file_path, edits (a list with the fields of EDIT)
    NOTEBOOK = "notebook"  # notebook_path, cell_id, cell_type, edit_mode, new_source
    PATCH = "patch"  # command (the patch)
    READ = "read"  # file_path, offset, limit
    FIND = "find"  # pattern, path: names of files
    SEARCH = "search"  # pattern, path, glob: in files
    LIST = "list"  # path, ignore
    FETCH = "fetch"  # url, prompt
    WEB_SEARCH = "web_search"  # query
    TASK = "task"  # prompt, subagent_type: for another agent
    SKILL = "skill"  # skill, args
    PLAN = "plan"  # plan
    ASK = "ask"  # questions
    OTHER = "other"  # shown field by field; its risks are told from the fields' names


CHANGES_FILES = frozenset({ToolKind.WRITE, ToolKind.EDIT, ToolKind.EDITS, ToolKind.NOTEBOOK})
"""The kinds that change the one file that they name."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One row of an agent's table: what a tool does, and how to read its input.

    `names` tells which field of the input stands for a name above, where the agent calls it otherwise. A field that
    means something else than the name above ("timeout" in seconds) must be given away: `{"timeout": ""}`.
    """

    kind: ToolKind = ToolKind.OTHER
    title: str = ""  # what a card calls it; "" for its own name
    editable: str = ""  # the field whose text a person may change before it is allowed
    names: Mapping[str, str] = field(default_factory=dict)
    one_by_one: bool = False  # the agent asks for the next call of it only when the one before has been answered


UNKNOWN_TOOL = Tool()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a call would do, in neutral words: a tool's row together with this call's input."""

    name: str  # the tool's, as the agent names it
    input: Mapping[str, Json]
    tool: Tool = UNKNOWN_TOOL

    @property
    def kind(self) -> ToolKind:
        return self.tool.kind

    def field_of(self, name: str) -> str:
        """The input's field that stands for this name."""
        return self.tool.names.get(name, name)

    def value(self, name: str) -> Json:
        """None where the input has no such field."""
        return self.input.get(self.field_of(name))

    @property
    def command(self) -> Json:
        """The command line, as a text or as a list of words. Tools of no known kind may have one, too."""
        given = self.value("command")
        return given if given is not None else self.input.get("command", self.input.get("cmd"))

    @property
    def path(self) -> str | None:
        """The file or directory that the call names first."""
        values = (self.value(name) for name in ("file_path", "notebook_path", "path"))
        return next((value for value in values if isinstance(value, str)), None)


@dataclass(frozen=True, slots=True)
class Option:
    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One of the questions that an agent puts to a person."""

    text: str
    options: tuple[Option, ...]
    header: str = ""
    many: bool = False  # several options may be chosen


@dataclass(frozen=True, slots=True)
class Form:
    """Questions that are answered one after another; the answers go into this field of the input."""

    questions: tuple[Question, ...]
    field: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question from an agent."""

    id: str
    caller: Caller
    event: str
    call: ToolCall
    input: Mapping[str, Json]
    choices: tuple[Choice, ...]
    digest: str  # of the raw bytes: the same id with other bytes is another request, and is refused
    raw: bytes = field(repr=False)
    cwd: str = ""
    transcript_path: str = ""
    agent_type: str = ""
    prompt_id: str = ""
    permission_mode: str = ""
    decision_reason: str = ""
    blocked_path: str = ""
    mcp_server: str = ""
    note: str = ""  # what the person should know about answering this kind of request
    form: Form | None = None
    editable: str = ""  # the field of the input whose text a person may change before it is allowed
    shows_own_prompt: bool = False  # the agent asks at the terminal meanwhile, so waiting for the phone costs nobody
    tool: Tool = UNKNOWN_TOOL
    agent_title: str = ""

    @property
    def project(self) -> str:
        return self.caller.project or self.cwd

    @property
    def tool_use(self) -> ToolUse:
        """Of the input as it is here: a changed input is another use."""
        return ToolUse(self.call.tool, self.input, self.tool)


@dataclass(frozen=True, slots=True)
class OnDisk:
    """The file that a call would change, as it was at that moment: it may have changed before the tap."""

    at: float
    is_new: bool = False  # there was no such file
    size_bytes: int = 0
    diff: str = ""  # from the file to what would be written, with every line of both; "" where that is long
    brief: str = ""  # the same with most unchanged lines left out
    unchanged: int = 0  # how many lines `brief` leaves out
    added: int = 0
    removed: int = 0
    blocks: tuple[str, ...] = ()  # one for each edit: its lines in their place in the file
    places: int = -1  # how often the first edit's old text stands in the file; -1: not looked for
    mixed_ends: bool = False  # it has line breaks of both kinds, and an edit makes them alike


@dataclass(frozen=True, slots=True)
class Link:
    """A path that a call names, and what a card says about where it leads."""

    path: str  # "" where it is said about all of them
    says: str


@dataclass(frozen=True, slots=True)
class Context:
    """What was seen around a request when it came: it helps to decide, and any of it may be missing."""

    why: str = ""  # the agent's last words before the call
    on_disk: OnDisk | None = None
    links: tuple[Link, ...] = ()


NO_CONTEXT = Context()


@dataclass(frozen=True, slots=True)
class Risk:
    """What may go wrong with a call. `name` is short and stable; `sentence` says it to a person."""

    name: str
    sentence: str
    asks_twice: bool = False  # allowing it takes a second tap
    reveals: bool = False  # more than one token is hidden, and an owner may see it


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found out about a call: what may go wrong, and which of its paths lead elsewhere."""

    risks: tuple[Risk, ...] = ()
    links: tuple[Link, ...] = ()


class Detail(StrEnum):
    """How much of a request leaves the machine."""

    FULL = "full"
    SUMMARY = "summary"  # who, which tool, what is risky; nothing of what would run


class Role(StrEnum):
    """What a person may do with a card."""

    OWNER = "owner"  # everything
    APPROVER = "approver"  # this once, no standing permissions
    VIEWER = "viewer"  # look


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who sees cards, and the chat in which cards reach them."""

    user_id: int
    chat_id: int
    name: str
    role: Role = Role.OWNER


@dataclass(frozen=True, slots=True)
class Copy:
    """One message on one phone. A card may have several."""

    chat_id: int
    message_id: int


@dataclass(frozen=True, slots=True)
class Tap:
    """A pressed button. `data` is what the phone sent: it can be anything."""

    query_id: str
    user_id: int
    copy: Copy | None
    data: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Who decided what, and when."""

    person: str
    user_id: int
    choice_key: str
    label: str
    decision: Decision
    at: float
    after_s: float
    saved: str = ""


@dataclass(frozen=True, slots=True)
class Given:
    """What was answered to one question so far: options by their numbers, and a text."""

    picks: tuple[int, ...] = ()
    typed: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """What was put together on a card that takes more than one tap. The empty one is the card as it came."""

    at: int = 0  # the question on the card
    given: tuple[Given, ...] = ()
    text: str | None = None  # in the place of the input's editable field
    author: str = ""
    confirming: str = ""  # the choice that wants a second tap
    listed: tuple[str, ...] = ()  # requests that one more tap would allow


NO_DRAFT = Draft()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message that asks somebody for a text: what for, and for a form, to which question."""

    user_id: int
    purpose: Action = Action.ASK_REASON
    question: int = 0


class Phase(StrEnum):
    OPEN = "open"
    SENDING = "sending"  # answered, not yet confirmed by the caller
    LEAVING = "leaving"  # the caller left; why is being found out
    SETTLED = "settled"


class Outcome(StrEnum):
    """How a request ended. Each has its own words on the card."""

    ALLOWED = "allowed"
    DENIED = "denied"
    NOT_TAKEN = "not_taken"
    UNCONFIRMED = "unconfirmed"
    TERMINAL_ALLOWED = "terminal_allowed"
    TERMINAL_DENIED = "terminal_denied"
    MOVED_ON = "moved_on"
    SESSION_ENDED = "session_ended"
    AGENT_DIED = "agent_died"
    CALLER_LOST = "caller_lost"
    EXPIRED = "expired"
    STOPPED = "stopped"
    RELEASED = "released"
    SUPERSEDED = "superseded"
    NOT_SHOWN = "not_shown"
    UNDELIVERED = "undelivered"
    NOT_RECORDED = "not_recorded"


class Ran(StrEnum):
    """What is known about the tool call afterwards."""

    UNKNOWN = ""
    OK = "ok"
    FAILED = "failed"
    AGAINST = "against"  # not as the phone said: the terminal had said yes before, and it ran


@dataclass(frozen=True, slots=True)
class Card:
    """Everything a front needs to show a request as it stands now."""

    request: Request
    phase: Phase
    choices: tuple[Choice, ...]
    asked_at: float
    deadline_at: float
    answer: Answer | None = None
    outcome: Outcome | None = None
    ended_at: float = 0.0
    ran: Ran = Ran.UNKNOWN
    detail: str = ""
    refreshed: bool = False
    restarted: bool = False  # what was tapped or written before a restart may be forgotten
    from_journal: bool = False  # who answered, and what, is known from the journal alone
    version: int = 0
    context: Context = NO_CONTEXT
    risks: tuple[Risk, ...] = ()
    draft: Draft = NO_DRAFT
    listed: tuple[Request, ...] = ()
