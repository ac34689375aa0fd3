"""Who may import whom. Each ban with its reason.

model ← agents, desk, shell, risk, masking, cards ← journal, telegram, daemon ← hooks, service, setup, doctor, cli
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tapgate.agents.registry import BUILT_IN

ROOT = Path(__file__).parent.parent / "src" / "tapgate"


def module_name(path: Path) -> str:
    parts = ["tapgate", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


SOURCES = {module_name(path): path.read_text() for path in sorted(ROOT.rglob("*.py"))}
PACKAGES = {module_name(path) for path in ROOT.rglob("__init__.py")}


def imports_of(module: str, source: str, known: Iterable[str] = SOURCES) -> set[str]:
    """Every module that is imported, wherever in the file, by its whole name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = module.split(".")
                above = above[: len(above) - node.level + (module in PACKAGES)]
                base = ".".join([*above, *([node.module] if node.module else [])])
            names = {f"{base}.{alias.name}" for alias in node.names}
            found |= {name if name in known else base for name in names}
    return found - {"__future__"}


GRAPH = {module: imports_of(module, source) for module, source in SOURCES.items()}


def ours(module: str) -> set[str]:
    """What it imports of tapgate, beside the bare package (for the version) and its own package."""
    return {name for name in GRAPH[module] if name.split(".")[0] == "tapgate"} - {"tapgate"}


def within(name: str, allowed: Iterable[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


def reach(module: str) -> set[str]:
    """Everything of tapgate that importing this module loads, packages' own files included."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in GRAPH:
            continue
        seen.add(name)
        waiting += [*ours(name), *(".".join(name.split(".")[:depth]) for depth in range(2, name.count(".") + 1))]
    return seen - {module}


# The direction

PARTS: Mapping[str, tuple[str, ...]] = {
    # The words and the errors know nobody.
    "tapgate": (),
    "tapgate.model": (),
    "tapgate.errors": (),
    # The caller runs as a single file; the simulator stands for another company's server.
    "tapgate.hook": (),
    "tapgate.simulator": (),
    # On the words alone.
    "tapgate.wire": ("tapgate.errors",),
    # It asks a running daemon: how the daemon tells who is at the other end is what it needs, too.
    "tapgate.client": ("tapgate.errors", "tapgate.wire", "tapgate.daemon.sockets"),
    "tapgate.shell": (),
    "tapgate.masking": ("tapgate.model", "tapgate.shell"),
    "tapgate.risk": ("tapgate.model", "tapgate.shell", "tapgate.masking", "tapgate.cards.characters"),
    "tapgate.cards": ("tapgate.model",),
    "tapgate.desk": ("tapgate.model", "tapgate.masking", "tapgate.cards.characters"),
    # What an agent says about its calls and sessions is, in the desk's words, an event; which call is which, too. The
    # registry sees all agents; an agent sees what every one must offer and what they share, and no other agent.
    "tapgate.agents": ("tapgate.model", "tapgate.errors"),
    "tapgate.agents.agent": ("tapgate.model", "tapgate.desk.events"),
    "tapgate.agents.dialect": ("tapgate.model", "tapgate.errors", "tapgate.desk.calls"),
    "tapgate.agents.claude": (
        *("tapgate.model", "tapgate.agents.agent", "tapgate.agents.dialect"),
        *("tapgate.desk.events", "tapgate.desk.seals"),
        # A suggested rule is judged by itself: what it would let run is read as commands and paths are elsewhere.
        *("tapgate.risk.rule_scope", "tapgate.risk.characters"),
    ),
    "tapgate.agents.codex": (
        *("tapgate.model", "tapgate.agents.agent", "tapgate.agents.dialect", "tapgate.desk.seals"),
    ),
    # The three edges, which never know each other.
    "tapgate.journal": (
        *("tapgate.model", "tapgate.errors", "tapgate.desk.effects", "tapgate.desk.memory", "tapgate.desk.outcomes"),
    ),
    "tapgate.telegram": (
        *("tapgate.model", "tapgate.errors"),
        *("tapgate.desk.effects", "tapgate.desk.events", "tapgate.desk.words", "tapgate.desk.outcomes"),
        # What a card shows has no secrets in it, and says a risk in general words where it may not name files.
        *("tapgate.masking.mask", "tapgate.risk.assess"),
        # What was put together on a card so far; what cannot be seen.
        *("tapgate.cards.characters", "tapgate.desk.drafts"),
        # What an edit does to the lines around it, where they are not known.
        "tapgate.cards.edit_text",
    ),
    "tapgate.daemon.listener": (
        *("tapgate.model", "tapgate.errors", "tapgate.wire", "tapgate.agents", "tapgate.desk.events"),
        *("tapgate.daemon.engine", "tapgate.daemon.sockets", "tapgate.daemon.admission"),
    ),
    # The rest of the daemon.
    "tapgate.daemon": (),
    "tapgate.daemon.engine": (
        *("tapgate.model", "tapgate.errors", "tapgate.wire", "tapgate.agents", "tapgate.desk"),
        *("tapgate.risk.assess", "tapgate.daemon.recorder", "tapgate.daemon.examinations"),
    ),
    "tapgate.daemon.examinations": (),
    "tapgate.daemon.recorder": ("tapgate.errors", "tapgate.desk.effects"),
    "tapgate.daemon.admission": ("tapgate.errors",),
    "tapgate.daemon.lock": ("tapgate.errors",),
    "tapgate.daemon.logs": ("tapgate.errors", "tapgate.masking.mask"),
    "tapgate.daemon.notify": ("tapgate.errors",),
    "tapgate.daemon.refusal": ("tapgate.errors", "tapgate.wire", "tapgate.daemon.sockets"),
    "tapgate.daemon.sockets": ("tapgate.errors", "tapgate.paths"),
    # Who spoke, and what was reported: kept for `tapgate status`.
    "tapgate.daemon.sessions": ("tapgate.model", "tapgate.agents", "tapgate.desk.events"),
    "tapgate.daemon.reports": ("tapgate.errors",),
    "tapgate.daemon.homes": (),
    "tapgate.daemon.limits": (),
    # What is read goes to a phone, so which files hold secrets is a question before the reading.
    "tapgate.daemon.disk": ("tapgate.risk.paths",),
    "tapgate.daemon.links": ("tapgate.risk.links",),
    "tapgate.daemon.context": (
        *("tapgate.model", "tapgate.cards.change", "tapgate.daemon.disk"),
        "tapgate.agents",  # each reads its own transcripts
    ),
    # It turns rows of the journal into values for the phone, so it knows the shapes of both.
    "tapgate.daemon.answers": (
        *("tapgate.model", "tapgate.journal", "tapgate.telegram.commands.context"),
        "tapgate.agents",  # which words were no person's
    ),
    "tapgate.daemon.status": (
        *("tapgate.model", "tapgate.daemon.sessions", "tapgate.daemon.reports", "tapgate.telegram.commands.context"),
    ),
    # The one place that wires everything.
    "tapgate.daemon.app": (
        *("tapgate.model", "tapgate.errors", "tapgate.config", "tapgate.paths", "tapgate.agents", "tapgate.desk"),
        *("tapgate.risk.assess", "tapgate.risk.links"),
        *("tapgate.journal", "tapgate.telegram", "tapgate.daemon"),
    ),
    # Settings.
    "tapgate.paths": ("tapgate.errors",),
    "tapgate.config": ("tapgate.paths", "tapgate.errors", "tapgate.model"),
    # It names the hook file, and refuses settings that it cannot edit with a sentence of its own. A person has a role.
    "tapgate.hooks": ("tapgate.config", "tapgate.hook", "tapgate.errors", "tapgate.paths", "tapgate.model"),
    "tapgate.service": ("tapgate.config", "tapgate.errors", "tapgate.paths"),
    "tapgate.setup": ("tapgate.config", "tapgate.errors", "tapgate.paths", "tapgate.model"),
    # It runs at each of the agent's calls: checking the whole config would take ten times as long as asking.
    "tapgate.hooks.launcher": ("tapgate.paths",),
    # On top of all; nobody imports it.
    "tapgate.cli": ("tapgate",),
    "tapgate.__main__": ("tapgate.cli",),
    # It looks at everything from outside, and through the scene where that is outside of this machine's files. Of the
    # daemon it needs only the lock: a stale socket must not be removed while a daemon starts.
    "tapgate.doctor": (
        *("tapgate.model", "tapgate.errors", "tapgate.paths", "tapgate.config", "tapgate.hooks", "tapgate.service"),
        *("tapgate.journal.checkup", "tapgate.daemon.lock"),
        "tapgate.agents",  # which of them could not be loaded
    ),
}


def part_of(module: str) -> str:
    """The most exact entry above that covers a module."""
    return max((part for part in PARTS if within(module, [part])), key=len)


def test_each_module_imports_only_what_lies_below_it() -> None:
    faults = []
    for module in sorted(SOURCES):
        part = part_of(module)
        if part in ("tapgate", "tapgate.daemon") and module != part:
            faults.append(f"{module} is new: say above what it may import")
        strangers = {name for name in ours(module) if not within(name, (*PARTS[part], part))}
        faults += [f"{module} may not import {name}" for name in sorted(strangers)]
    assert not faults, "\n".join(faults)


def test_the_direction_above_has_no_circle() -> None:
    for module in SOURCES:
        part = part_of(module)
        assert not [name for name in reach(module) if module in reach(name) and part_of(name) != part]


EDGES = ("tapgate.telegram", "tapgate.daemon.listener", "tapgate.journal")


@pytest.mark.parametrize("edge", EDGES)
def test_the_edges_never_import_each_other_not_even_by_a_detour(edge: str) -> None:
    """A slow or broken Telegram must not be able to touch the socket or the disk, and so on round."""
    others = [other for other in EDGES if other != edge]
    for module in SOURCES:
        if within(module, [edge]):
            assert not [name for name in reach(module) if within(name, others)]


def test_the_simulator_knows_nothing_of_what_it_tests() -> None:
    """Otherwise it would make the same mistakes, and agree."""
    modules = [name for name in SOURCES if within(name, ["tapgate.simulator"])]
    faults = [
        f"{module} reaches {name}"
        for module in modules
        for name in sorted(reach(module))
        if not within(name, ["tapgate.simulator"])
    ]
    assert modules and not faults, "\n".join(faults)


def test_nobody_imports_the_command_line() -> None:
    for module in SOURCES:
        if not within(module, ["tapgate.cli", "tapgate.__main__"]):
            assert not [name for name in ours(module) if within(name, ["tapgate.cli"])]


# What is pure

IO = {
    "anyio": "waiting is the engine's business",
    "asyncio": "waiting is the engine's business",
    "concurrent": "there is one thread",
    "threading": "there is one thread",
    "socket": "callers come in by the listener",
    "select": "callers come in by the listener",
    "subprocess": "nothing is started from here",
    "os": "files, processes and the environment are the edges'",
    "posix": "files, processes and the environment are the edges'",
    "sys": "there is nobody to print for",
    "io": "files are the edges'",
    "pathlib": "files are the edges'; PurePath stands in the list of exceptions below",
    "shutil": "files are the edges'",
    "tempfile": "files are the edges'",
    "time": "the time is a parameter",
    "datetime": "the time is a parameter",
    "random": "the same events must give the same effects",
    "secrets": "the same events must give the same effects",
    "uuid": "the same events must give the same effects",
    "logging": "what is worth telling is an effect",
    "sqlite3": "records are effects",
    "telegram": "a front is told what to show and shows it",
    "httpx": "a front is told what to show and shows it",
    "pydantic": "what comes in was checked by its dialect",
    "platformdirs": "files are the edges'",
    "typer": "only cli talks to people",
    "rich": "only cli talks to people",
}
CORE_PARTS = ("tapgate.desk", "tapgate.shell", "tapgate.risk", "tapgate.masking", "tapgate.cards")
CORE = {
    *("base64", "binascii", "bisect", "collections", "collections.abc", "dataclasses", "enum", "functools"),
    *("heapq", "itertools", "math", "operator", "re", "string", "typing", "unicodedata"),
    *("fnmatch", "posixpath"),  # they compare and join names, and look at no disk
    *("ipaddress", "urllib.parse"),  # they read addresses, and reach none
    *("hashlib", "json"),  # a seal is a digest of what a button says
}
PURE = {
    "tapgate.model": {"collections.abc", "dataclasses", "enum", "typing"},
    "tapgate.errors": {"re"},
    "tapgate.desk": CORE,
    "tapgate.shell": CORE,
    "tapgate.risk": CORE,
    "tapgate.masking": CORE,
    "tapgate.cards": CORE,
    "tapgate.wire": {"collections.abc", "dataclasses", "enum", "urllib.parse"},
    "tapgate.agents": {
        *("collections.abc", "dataclasses", "typing", "json", "math", "hashlib", "base64", "re"),
        "pydantic",  # here is where it is checked
    },
    # Not pure, each for one reason; the daemon calls them through the Agent value and `agent_of`.
    "tapgate.agents.registry": {"collections.abc", "dataclasses", "functools", "importlib.metadata"},  # entry points
    "tapgate.agents.claude.transcript": {
        "collections.abc",
        "json",
        "os",
        "pathlib",
        "stat",
        "time",
    },  # the agent's file
    "tapgate.setup.pairing": {"collections.abc", "dataclasses", "enum", "hmac", "re", "typing"},
    "tapgate.telegram.callback": {"base64", "dataclasses", "re"},
    "tapgate.telegram.text": {"collections.abc", "itertools", "re", "unicodedata"},
    "tapgate.telegram.blanks": {"collections", "collections.abc", "re"},
    "tapgate.telegram.display": {"collections.abc", "dataclasses"},
    "tapgate.telegram.forms": {"collections.abc", "dataclasses", "itertools", "json", "pathlib", "re", "typing"},
    "tapgate.telegram.content": {"collections.abc", "json", "pathlib", "re"},
    "tapgate.telegram.markdown": {"re"},
    "tapgate.telegram.hidden": {"dataclasses"},
    "tapgate.telegram.keyboard": {"collections.abc", "dataclasses"},
    "tapgate.telegram.prompts": {"dataclasses"},
    "tapgate.telegram.steps": {"collections.abc", "dataclasses", "difflib", "json", "typing"},
    "tapgate.telegram.card": {"collections.abc", "dataclasses", "pathlib"},
}
"""What the pure modules may import from outside. Of pathlib only PurePath, which touches no file."""


def foreign(module: str) -> set[str]:
    return {name for name in GRAPH[module] if name.split(".")[0] != "tapgate"}


def test_the_core_does_no_io_has_no_clock_and_no_chance() -> None:
    modules = [name for name in sorted(SOURCES) if within(name, CORE_PARTS)]
    reasons = {(module, name): IO.get(name.split(".")[0]) for module in modules for name in sorted(foreign(module))}
    faults = [f"{module} imports {name}: {reason}" for (module, name), reason in reasons.items() if reason]
    assert modules and not faults, "\n".join(faults)


def test_pure_modules_import_only_what_is_pure() -> None:
    faults = []
    for module in sorted(name for name in SOURCES if within(name, PURE)):
        part = max((part for part in PURE if within(module, [part])), key=len)
        strangers = foreign(module) - PURE[part]
        if "pathlib" in PURE[part] and "os" not in PURE[part]:
            strangers |= names_from(SOURCES[module], "pathlib") - {"PurePath"}
        faults += [f"{module} is to be pure, and {name} is not on its list" for name in sorted(strangers)]
    assert not faults, "\n".join(faults)


def test_every_pure_module_is_there() -> None:
    """A renamed module must not slip out of the list."""
    assert not [part for part in PURE if not any(within(module, [part]) for module in SOURCES)]


def names_from(source: str, module: str) -> set[str]:
    return {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == module
        for alias in node.names
    }


LIBRARIES = {
    "telegram": {"tapgate.telegram.api", "tapgate.telegram.front"},
    # The doctor reads the Date header, which the bot library hides.
    "httpx": {
        "tapgate.telegram.api",
        "tapgate.doctor.bot",
        *(module for module in SOURCES if within(module, ["tapgate.cli"])),
    },
    "sqlite3": {module for module in SOURCES if within(module, ["tapgate.journal"])},
    "pydantic": {
        *("tapgate.config", "tapgate.agents.dialect"),
        *(module for module in SOURCES if within(module, ["tapgate.simulator"])),
    },
    "platformdirs": {"tapgate.paths"},
    "segno": {"tapgate.cli.qr"},
    "tomlkit": {"tapgate.setup.config_file"},
    "starlette": {module for module in SOURCES if within(module, ["tapgate.simulator"])},
    "uvicorn": {module for module in SOURCES if within(module, ["tapgate.simulator"])},
    "typer": {module for module in SOURCES if within(module, ["tapgate.cli"])},
    "rich": {module for module in SOURCES if within(module, ["tapgate.cli"])},
}


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_a_library_is_met_only_where_it_belongs(library: str) -> None:
    """Its errors are mapped there, and it could be exchanged there."""
    users = {module for module in SOURCES if any(within(name, [library]) for name in GRAPH[module])}
    assert users
    assert users <= LIBRARIES[library]


# The caller

CALLER = {"_signal", "_socket", "posix", "select", "sys", "time"}
TEMPTING = {
    "os": "posix is built in and loaded already; os costs a millisecond of every tool call",
    "signal": "_signal is what it wraps; the wrapper builds enums",
    "socket": "_socket is what it wraps; the wrapper loads selectors and enums",
    "json": "the daemon parses; the caller moves bytes",
    "asyncio": "costs more than the whole of Python's own start",
    "typing": "annotations in quotes cost nothing",
    "pathlib": "costs more than the rest of the caller",
    "argparse": "three options need no parser",
    "re": "there is nothing to match",
    "struct": "frames are lines",
    "dataclasses": "costs more than the rest of the caller",
    "enum": "costs more than the rest of the caller",
    "uuid": "posix.urandom is an id as well",
    "subprocess": "a caller starts nothing",
    "tapgate": "it is run as a file, with -I -S: there is no package to import from",
}


def test_the_caller_imports_nothing_that_costs_time() -> None:
    for name in GRAPH["tapgate.hook"]:
        reason = TEMPTING.get(name.split(".")[0], "it is not on the short list of what is built in")
        assert name in CALLER, f"hook.py imports {name}: {reason}"


def test_the_caller_needs_no_import_for_its_annotations() -> None:
    assert "from __future__" not in SOURCES["tapgate.hook"]


# Only cli prints


def prints(source: str) -> list[str]:
    """Calls of print and input, and uses of the standard streams."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input"):
            found.append(node.func.id)
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "sys"
            and node.attr in ("stdout", "stderr", "__stdout__", "__stderr__")
        ):
            found.append(f"sys.{node.attr}")
    return found


def test_only_the_command_line_prints() -> None:
    """The caller's stdout is the agent's; the daemon's words go to the log, without tokens."""
    found = {name: prints(source) for name, source in SOURCES.items() if not within(name, ["tapgate.cli"])}
    # The log goes to stderr unless told otherwise.
    assert {name: uses for name, uses in found.items() if uses} == {"tapgate.daemon.logs": ["sys.stderr"]}


# The checks above see what they are to see


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        ("tapgate.desk.desk", "import os", {"os"}),
        ("tapgate.desk.desk", "def f():\n    import time as t", {"time"}),
        ("tapgate.desk.desk", "from os import path", {"os"}),
        ("tapgate.desk.desk", "from tapgate import paths, __version__", {"tapgate.paths", "tapgate"}),
        ("tapgate.desk.desk", "from tapgate.desk import words", {"tapgate.desk.words"}),
        ("tapgate.desk.desk", "from tapgate.desk.words import ended", {"tapgate.desk.words"}),
        ("tapgate.desk.desk", "from . import words", {"tapgate.desk.words"}),
        ("tapgate.desk.desk", "from .words import ended", {"tapgate.desk.words"}),
        ("tapgate.desk.desk", "from ..telegram import card", {"tapgate.telegram.card"}),
        ("tapgate.desk", "from .words import ended", {"tapgate.desk.words"}),
        ("tapgate.desk.desk", "if TYPE_CHECKING:\n    import httpx", {"httpx"}),
        ("tapgate.desk.desk", "from __future__ import annotations", set()),
    ],
)
def test_an_import_is_seen_in_every_form(module: str, source: str, found: set[str]) -> None:
    assert imports_of(module, source) == found


def test_printing_is_seen_in_every_form() -> None:
    assert prints("print(1)") == ["print"]
    assert prints("import sys\nsys.stdout.write('x')") == ["sys.stdout"]
    assert prints("def f():\n    input()") == ["input"]
    assert prints("logging.print('x'); self.print()") == []


def test_what_a_module_reaches_includes_detours_and_packages() -> None:
    assert "tapgate.desk.events" in reach("tapgate.daemon.listener")
    assert "tapgate.agents.claude" in reach("tapgate.daemon.listener")
    assert "tapgate.journal.database" in reach("tapgate.daemon.answers")
    assert "tapgate.telegram.front" in reach("tapgate.daemon.app")


# Words


def test_one_class_per_name() -> None:
    """A word means one thing in the whole project. The simulator stands for another company's server."""
    where: dict[str, list[str]] = {}
    for module, source in SOURCES.items():
        if within(module, ["tapgate.simulator"]):
            continue
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(module)
    shared = {name: modules for name, modules in where.items() if len(modules) > 1}
    # The same event of two agents, each in its own module; what the engine asks of a journal, and the journal.
    for name in ("PermissionRequest", "Journal"):
        shared.pop(name, None)
    assert not shared


# Names of agents and tools

TOOLS = {name for agent in BUILT_IN.values() for name in agent.tools}
AGENTS = re.compile("|".join(rf"\b{word}\b" for agent in BUILT_IN.values() for word in (agent.name, agent.title)), re.I)
NAMES_AGENTS = {
    "tapgate.agents": "here they belong",
    "tapgate.simulator": "it stands for another company's server",
    "tapgate.config": "a setting of one agent has its name",
    "tapgate.hook": "the agent that is meant where none is named; hooks in people's settings name none",
    "tapgate.hooks": "the agents' settings files, not moved to their folders yet",
    "tapgate.cli.hooks": "the same, as a command",
    "tapgate.cli.wizard": "the same, as a question",
    "tapgate.cli.probe": "it registers hooks, and sends what each agent would send",
    "tapgate.cli.demo": "it plays Claude Code: it takes that one's variables out of the environment",
    "tapgate.doctor.support": "what the agents' versions do with hooks, not moved to their folders yet",
    "tapgate.risk": "programs on a command line, and directories whose files change what an agent may do",
    "tapgate.shell.words": "directories that variables of the environment stand for",
}
NAMES_TOOLS = {
    ("tapgate.cli.samples", "*"): "it plays Claude Code",
    ("tapgate.cli.probe", "Bash"): "it sends what an agent would send",
    ("tapgate.risk.assess", "apply_patch"): "it is a program on command lines, too",
    ("tapgate.telegram.markdown", "shell"): "a language of code blocks",
}


def strings_in(source: str) -> set[str]:
    """Every text in the code that is not a docstring: what is compared, looked up or shown."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone
    }


def test_no_agent_is_named_outside_of_its_folder() -> None:
    """A new agent is one folder: whatever else would have to know its name would be forgotten there."""
    named = {name: sorted(filter(AGENTS.search, strings_in(source))) for name, source in SOURCES.items()}
    faults = [f"{name}: {texts}" for name, texts in named.items() if texts and not within(name, NAMES_AGENTS)]
    assert not faults, "\n".join(faults)
    unused = [part for part in NAMES_AGENTS if not any(within(name, [part]) for name, texts in named.items() if texts)]
    assert unused in ([], ["tapgate.simulator"]), "these need no exception any more"


def test_no_tool_is_named_outside_of_its_agents_table() -> None:
    """What a tool does is told by its row; a name elsewhere would hold for one agent only."""
    named = {
        (module, text)
        for module, source in SOURCES.items()
        if not within(module, ["tapgate.agents", "tapgate.simulator"])
        for text in strings_in(source) & TOOLS
    }
    faults = [f"{module}: {text}" for module, text in named if not {(module, text), (module, "*")} & {*NAMES_TOOLS}]
    assert not faults, "\n".join(sorted(faults))


def test_a_name_is_seen_in_every_form() -> None:
    assert strings_in('"""Claude Code"""\nif x == "Bash":\n    y = {"Edit": f"codex {z}"}') == {
        "Bash",
        "Edit",
        "codex ",
    }
