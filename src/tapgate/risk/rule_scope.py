"""How far a standing permission reaches: a command with a free ending, a path, a domain. Pure; knows no agent's format.

Each function says in words why something reaches far, and gives None where it is narrow: one command, one directory,
one site. What cannot be judged counts as reaching far.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache

from tapgate.model import Tool, ToolKind, ToolUse
from tapgate.risk.assess import assess
from tapgate.risk.paths import Ground, PathKind, ground, holds_secrets, is_secret, kind_of
from tapgate.shell.calls import Call, names
from tapgate.shell.interpreters import CODE_FLAGS, SHELLS, shell_use
from tapgate.shell.walk import read_commands

MOST_CHARS = 400  # of one rule; a longer one is not judged, and counts as reaching far
MOST_WORDS = 25
_FREE = "ANY-WORDS"  # stands for what the wildcard leaves open
_HOME = "/home/somebody"  # of whoever uses the rule: rules are judged without looking at this machine

_ANY_PROGRAM = names(
    """
    find fd fdfind awk gawk mawk sed xargs parallel watch viddy script ssh autossh mosh scp sftp rsync nc ncat netcat
    socat telnet ftp curl wget aria2c http https tar zip 7z cpio vim nvim vi ex view emacs nano ed less more man eval
    source . exec trap alias at batch crontab tmux screen su runuser nix nix-shell hyperfine concurrently expect gdb
    lldb sqlite3 psql mysql mariadb mongosh redis-cli ansible ansible-playbook vagrant printenv sudo doas pkexec busybox
    toybox uvx pipx watchexec nodemon entr openssl gpg dd mkfs rm shred unlink cp mv ln install tee truncate chmod chown
    """
)
"""Programs whose arguments can name another program to run, a file to overwrite or delete, or a machine to send to."""

_READERS = names(
    "cat tac head tail nl grep egrep fgrep rg ag ack bat xxd od hexdump strings base64 cut paste comm join"
)
_EVERY = frozenset({"*"})

_COMMANDS: dict[str, frozenset[str]] = {
    # programs with commands of their own: those among them that run, fetch or change anything
    "git": names(
        "config submodule bisect rebase filter-branch difftool mergetool grep clone fetch pull ls-remote push archive"
        " send-email daemon instaweb credential hook reset clean checkout restore stash rm update-ref remote worktree"
    ),
    "npm": names("install i add exec x init create explore config set publish link uninstall run-script"),
    "pnpm": names("add dlx exec create config publish link install"),
    "yarn": names("add dlx exec create config publish link node"),
    "bun": names("add x run create install repl"),
    "deno": names("run eval repl install task compile"),
    "pip": names("install download config"),
    "uv": names("run add tool pip x publish"),
    "poetry": names("run add publish config self"),
    "pdm": names("run add publish config"),
    "hatch": names("run publish"),
    "conda": names("run install create"),
    "gem": names("install push exec"),
    "bundle": names("exec add config"),
    "composer": names("require exec global config"),
    "cargo": names("install add publish"),
    "go": names("run install get generate tool"),
    "docker": names("run exec cp container volume system rm rmi login push plugin context"),
    "podman": names("run exec cp container volume system rm rmi login push"),
    "docker-compose": names("run exec"),
    "kubectl": names("exec run apply cp debug delete edit patch create replace port-forward proxy"),
    "helm": names("install upgrade uninstall plugin"),
    "terraform": names("apply destroy import console state"),
    "gh": names("api extension alias repo secret ssh-key auth workflow release codespace config"),
    "aws": names("configure ssm s3 secretsmanager iam lambda"),
    "gcloud": names("compute auth secrets iam config"),
    "az": names("vm login keyvault rest"),
    "systemctl": _EVERY,
    "launchctl": _EVERY,
    "brew": names("install tap services reinstall upgrade uninstall"),
    "apt": _EVERY,
    "tapgate": _EVERY,
    "claude": _EVERY,
    "codex": _EVERY,
    # only with a target of its own: options such as --eval run anything
    "make": frozenset(),
    "gmake": frozenset(),
    "just": frozenset(),
    "rake": frozenset(),
}
_MODULES = names("timeit runpy pdb cProfile profile trace code IPython pip http.server smtpd webbrowser")
"""Modules behind `python -m` that run other code, fetch it, or serve files."""

_HARMLESS = names(
    """
    ls dir tree pwd echo printf true false date cal uname whoami id hostname uptime df du which type wc uniq cd
    pytest jest vitest mocha tox nox ruff black isort flake8 pylint mypy pyright eslint prettier tsc biome stylelint
    shellcheck hadolint rubocop clippy-driver gofmt rustfmt clang-format clang-tidy ctest phpunit phpstan rspec
    mkdir touch basename dirname realpath readlink stat file diff cmp seq sleep test expr jq yq
    """
)
"""Programs of which every use is ordinary work: with any words they run nothing but themselves and the project."""

_SYNTAX = re.compile(r"[;|&<>()$`\"'\\\n\r]")
_DOMAIN = re.compile(r"(?=.{1,253}\Z)[a-zA-Z0-9-]{1,63}(?:\.[a-zA-Z0-9-]{1,63})+\Z")


# Commands


@lru_cache(maxsize=256)  # the same rule is offered for a session, too
def why_broad_command(pattern: str, *, project: str) -> str | None:
    """Why a rule for shell commands reaches far. `*` and a closing `:*` stand for anything, blanks included."""
    if len(pattern) > MOST_CHARS or len(pattern.split()) > MOST_WORDS:
        return "It is too long to check"
    head, star, _ = pattern.partition("*")
    if not star:
        return _risk_of(pattern, project)
    prefix = head.removesuffix(":")
    words = prefix.split()
    is_whole = prefix != head or not prefix or prefix[-1].isspace()
    begun = "" if is_whole or not words else words.pop()
    if not words:
        return f"It lets any program run whose name begins with {begun}" if begun else "It lets any program run"
    if _SYNTAX.search(prefix):
        return "Its wildcard stands behind signs of the shell, so that more than one command may fit"
    fixed = " ".join(words)
    reading = read_commands(f"{fixed} {_FREE}", cwd=project, project=project, home=_HOME)
    found = next((why for call in reading.calls if (why := _why_free(call))), None)
    if found is None and not reading.calls:
        return "It could not be read"
    return found or _risk_of(fixed, project) or next(_probed(fixed, project), None)


def _command(text: str) -> ToolUse:
    return ToolUse("", {"command": text}, Tool(ToolKind.COMMAND))


def _risk_of(command: str, project: str) -> str | None:
    risks = assess(_command(command), cwd=project, project=project, home=_HOME)
    return f"It is risky by itself: {risks[0].sentence}" if risks else None


_PROBES = ("--force", "-rf /", "--hard", "x /etc/passwd")


def _probed(fixed: str, project: str) -> Iterator[str]:
    """What a free ending allows: a few endings are tried, and judged as any command is."""
    if fixed in _HARMLESS:
        return
    for ending in _PROBES:
        risks = assess(_command(f"{fixed} {ending}"), cwd=project, project=project, home=_HOME)
        if risks:
            yield f"It also covers `{fixed} {ending}`: {risks[0].sentence}"


def _why_free(call: Call) -> str | None:
    """Why this call, with any words in the place of _FREE, may do anything."""
    if call.program.text == _FREE:
        return f"It lets {call.via[-1]} run any program" if call.via else "It lets any program run"
    if call.wraps and call.name != "git":
        return None  # what it starts is judged instead; git does more than that
    words = call.texts[: call.texts.index(_FREE)] if _FREE in call.texts else call.texts
    name = call.name
    if name in SHELLS:
        is_script = shell_use(call.args[: len(words)])[0] == "file"
        return None if is_script else f"It lets {name} run any code"
    if name in ("docker", "podman") and words[:1] == ("compose",):
        name, words = "docker-compose", words[1:]
    if name in _COMMANDS:
        return _why_any_command(name, words)
    if name in CODE_FLAGS:
        return _why_any_code(name, words)
    if name in _ANY_PROGRAM:
        return f"With any words behind it, {name} can run programs, change files or reach other machines"
    if name in _READERS:
        return f"It lets {name} read every file that you can read"
    if _FREE in call.texts and not words and name not in _HARMLESS:
        return f"It covers every use of {name}"
    return None


def _why_any_code(name: str, words: tuple[str, ...]) -> str | None:
    """Interpreters are narrow only with a script or a module of its own."""
    if words[:1] == ("-m",) and len(words) > 1 and words[1] not in _MODULES:
        return None
    if words and not words[0].startswith("-"):
        return None
    return f"It lets {name} run any code"


def _why_any_command(name: str, words: tuple[str, ...]) -> str | None:
    command = words[0] if words else ""
    if not command or command.startswith("-"):
        return f"It covers every command of {name}"
    if command in _COMMANDS[name] or _COMMANDS[name] == _EVERY:
        return f"With any words behind it, {name} {command} can run, fetch or change almost anything"
    return None


# Paths and domains

_SYSTEM = names(
    "bin boot dev etc home lib lib32 lib64 media mnt opt private proc root run sbin srv sys usr var"
    " applications library network system users volumes"
)
_DEEP_SYSTEM = re.compile(
    r"/(?:bin|boot|dev|etc|lib(?:32|64)?|proc|root|run|sbin|sys|usr|System|Library|private/etc|var/(?:lib|spool|run|db))"
    r"(?:/|\Z)",
    re.IGNORECASE,
)
_GUARDED = re.compile(
    r"/\.(?:git|claude|codex|gemini|ssh|aws|gnupg|kube|azure|vscode|idea|husky|config)(?:/|\Z)", re.IGNORECASE
)
_TOUCHY = frozenset(
    {
        PathKind.TAPGATE,
        PathKind.AGENT,
        PathKind.DEVICE,
        PathKind.SYSTEM,
        PathKind.CREDENTIAL,
        PathKind.STARTUP,
        PathKind.DOTFILE,
    }
)
_HOMES = ("home", "homes", "users")
_WILD = re.compile(r"[*?\[\]{}!]")


def why_broad_directory(path: str, *, project: str) -> str | None:
    """Why opening a directory, and all below it, reaches far. It is absolute, begins with ~, or lies in the project."""
    if len(path) > MOST_CHARS:
        return "It is too long to check"
    if "$" in path or re.match(r"~[^/]", path):
        return "Which directory it is cannot be told here"
    where = ground(_HOME, project, project)
    located = where.locate(path, where.project)
    parts = located.strip("/").lower().split("/")
    if located == "/":
        return "It opens the whole disk"
    if parts[-1] in _HOMES or parts == ["root"] or (len(parts) > 1 and parts[-2] in _HOMES):
        return "It opens a home directory, with its keys and settings"
    if where.project != "/nowhere" and where.project.startswith(f"{located}/"):
        return "It opens what lies above the project"
    if where.is_temporary(f"{located}/"):
        return None
    if len(parts) == 1:
        return f"It opens all of /{parts[0]}"
    return _why_touchy(located, where)


def _why_touchy(located: str, where: Ground) -> str | None:
    inside = f"{located}/x"
    if _DEEP_SYSTEM.match(located):
        return "It opens a part of the system"
    if _GUARDED.search(located) or kind_of(located, where) in _TOUCHY or kind_of(inside, where) in _TOUCHY:
        return "It opens settings, hooks or keys"
    if is_secret(located) or is_secret(inside) or holds_secrets(located):
        return "It opens what may hold secrets"
    return None


def why_broad_path(pattern: str, *, project: str) -> str | None:
    """Why a rule for files reaches far. `//x` is absolute, `~/x` at home, anything else in the project."""
    if len(pattern) > MOST_CHARS:
        return "It is too long to check"
    if pattern.startswith("//"):
        pattern = "/" + pattern.lstrip("/")
    elif pattern.startswith("/"):
        # Agents have read a single / in both ways. What would be a part of the system is taken for that.
        first = pattern.strip("/").split("/")[0].lower()
        pattern = pattern if first in _SYSTEM else pattern.lstrip("/")
    where = ground(_HOME, project, project)
    fixed = _WILD.split(pattern, maxsplit=1)[0]
    if fixed == pattern:  # it may name a directory: then it covers what is in it
        broad = why_broad_directory(pattern, project=project)
        is_project = where.locate(pattern, where.project) == where.project
        return broad or ("It covers every file of the project" if is_project else None)
    directory = posixpath.dirname(fixed) or ("/" if fixed.startswith("/") else ".")
    if where.locate(directory, where.project) != where.project:
        return why_broad_directory(directory, project=project) or _why_touchy(where.locate(fixed, "/"), where)
    ending = pattern.removeprefix(where.project).lstrip("./")
    if _GUARDED.search(f"/{ending}") or is_secret(ending):
        return "It opens settings, hooks or what may hold secrets"
    return None if re.sub(r"[*?\[\]{}!/.]", "", ending) else "It covers every file of the project, its settings too"


def why_broad_domain(domain: str) -> str | None:
    """Why a rule for a web site reaches far."""
    if "*" in domain:
        return "It covers more than one web site"
    if not _DOMAIN.match(domain):
        return "It does not name one public web site"
    use = ToolUse("", {"url": f"https://{domain}/"}, Tool(ToolKind.FETCH))
    risks = assess(use, cwd="", project="", home=_HOME)
    return f"It is risky by itself: {risks[0].sentence}" if risks else None
