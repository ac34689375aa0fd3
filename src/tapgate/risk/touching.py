"""Rules about files: deleting, writing, startup files, credentials, secrets, tapgate and the agent itself."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable

from tapgate.risk.files import Touch, is_listing
from tapgate.risk.git import git_call, runs_later_by_git
from tapgate.risk.network import (
    connects,
    host_of,
    is_here,
    kind_of_host,
    sends_to,
    targets_of,
    uploads_of,
    urls_in,
    user_in,
)
from tapgate.risk.paths import TEMPORARY, Ground, PathKind, holds_secrets, is_secret, is_secret_name, kind_of
from tapgate.risk.scene import RiskInput, listed
from tapgate.shell.calls import UNKNOWN, Arg, Call, names, sort_options
from tapgate.shell.interpreters import CODE_FLAGS, code_of
from tapgate.shell.wrappers import find_roots, follows_links

# tapgate and the agent

_TAPGATE_READS = names("status doctor log demo simulator --help --version -h help")
_MANAGERS = names(
    "systemctl launchctl service pkill killall kill pgrep pip uv pipx brew apt npm docker podman supervisorctl pm2"
)
_AGENTS = names("claude codex gemini")
_AGENT_VARIABLES = names(
    "CLAUDE_CONFIG_DIR CODEX_HOME CLAUDE_CODE_MANAGED_SETTINGS_PATH GEMINI_CLI_SYSTEM_SETTINGS_PATH"
)


def touches_tapgate(scene: RiskInput) -> str | None:
    for touch in (*scene.writes, *scene.deletes, *scene.reads):
        if kind_of(touch.path, scene.ground) is PathKind.TAPGATE:
            return f"Touches tapgate itself, which asks you this: {scene.ground.shown(touch.path)}"
    for call in scene.calls:
        if _is_tapgate(call) and not (set(call.texts[:1]) & _TAPGATE_READS) and call.args:
            return f"Runs tapgate itself: tapgate {call.args[0].shown}"
        if _is_tapgate(call) and any(len(text) > 4 and "--reveal".startswith(text) for text in call.texts):
            return "Shows what tapgate's log masks"
        if any(name.startswith("TAPGATE_") for name, _ in call.settings):
            return "Changes a setting of tapgate, which asks you this"
        around = (call, *call.feeds, *(inner for arg in call.args for inner in arg.inner))
        if call.name in _MANAGERS and any("tapgate" in text for near in around for text in near.texts):
            reading = {"status", "show", "list", "print", "is-active", "cat"} & set(call.texts)
            if not reading and call.name != "pgrep":
                return f"Stops or changes tapgate itself, which asks you this: {call.name}"
        if call.name in ("nc", "socat", "curl", "ncat") and any(
            "tapgate" in text and ".sock" in text for text in call.texts
        ):
            return "Talks to tapgate's own socket"
    return None


def _is_tapgate(call: Call) -> bool:
    return call.name == "tapgate" or (call.name == "python" and call.texts[:2] == ("-m", "tapgate"))


def agent_settings(scene: RiskInput) -> str | None:
    touch = scene.first_write(PathKind.AGENT, deletes=True)
    if touch:
        return f"Changes the agent's own settings, hooks or tools: {scene.ground.shown(touch.path)}"
    for call in scene.calls:
        if call.name in _AGENTS:
            words = call.texts
            if any("dangerously" in text or text in ("--yolo", "--full-auto") for text in words):
                return f"Starts {call.name} so that it asks nobody"
            if words[:1] in (("config",), ("mcp",), ("plugin",), ("setup-token",)) and words[1:2] not in _AGENT_READS:
                return f"Changes the agent's own settings or tools: {call.name} {' '.join(words[:2])[:40]}"
        changed = [name for name, _ in call.settings if name in _AGENT_VARIABLES]
        if changed:
            return f"Makes the agent use other settings: {changed[0]}"
    return None


_AGENT_READS = (("list",), ("get",), ("ls",), ())

# Deleting

_RECURSIVE = names("rimraf del-cli srm")
_CODE_DELETES = re.compile(
    r"rmtree\(|os\.removedirs|rm(?:Sync|dirSync)?\([^)\n]{0,200}recursive|rm_rf?\b|remove_tree|unlink\s*\(?\s*(?:glob|<)"
)


def destructive_delete(call: Call, scene: RiskInput) -> str | None:
    options = sort_options(call.args, "s" if call.name == "truncate" else "")
    match call.name:
        case "rm" | "unlink" | "srm" | "rimraf" | "del-cli":
            recursive = call.name in _RECURSIVE or options.has("-r", "-R", "--recursive")
            return _rm(options.operands, recursive, call, scene)
        case "shred":
            return (
                f"Destroys {listed(arg.shown for arg in options.operands)} beyond repair" if options.operands else None
            )
        case "find" if "-delete" in call.texts:
            further = ", and where links in there lead" if follows_links(call.args)[1] else ""
            return f"Deletes every file that it finds in {_places(find_roots(call.args), call, scene)}{further}"
        case "truncate" if (size := options.value("-s", "--size")) and size.text.lstrip("<-") in ("0", ""):
            touches = _worth(options.operands, call, scene)
            return f"Empties {_places(touches, call, scene)}" if touches else None
        case "rsync" if any(text.startswith(("--del", "--remove-source")) for text in call.texts):
            target = options.operands[-1].shown if options.operands else "the target"
            return None if options.has("-n", "--dry-run") else f"Deletes in {target} what is not in the source"
        case "mv" if call.args and call.args[-1].text == "/dev/null":
            return f"Deletes {_places(options.operands[:-1], call, scene)}"
        case "crontab" if options.has("-r"):
            return "Deletes all scheduled jobs"
        case "tar" | "zip" if options.has("--remove-files") or (call.name == "zip" and options.has("-m")):
            return "Deletes the files that it packs"
        case "docker" | "podman" | "docker-compose":
            return _volumes(call)
        case "git":
            return _git_deletes(call)
    if call.name in CODE_FLAGS and any(
        _CODE_DELETES.search(code) for code in code_of(call.name, call.args, call.stdin)
    ):
        return "Deletes a directory and everything in it"
    return None


_CACHES = names(
    """
    node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .tox .nox .next .nuxt .turbo
    .parcel-cache .svelte-kit .nyc_output .eslintcache .gradle
    """
)


def _worth(operands: tuple[Arg, ...], call: Call, scene: RiskInput) -> list[Arg]:
    """Without what lies below a directory for temporary files, and what the project's tools make again."""
    if call.away:
        return list(operands)
    ground = scene.ground
    return [arg for arg in operands if any(_is_worth(path, arg, ground) for path in scene.paths_of(arg, call))]


def _is_worth(path: str, arg: Arg, ground: Ground) -> bool:
    if arg.glob and (posixpath.dirname(path) in TEMPORARY or _may_hold(path, ground)):
        return True  # /tmp/* is everybody's
    if not arg.glob and ground.owns(path) and path.rsplit("/", 1)[-1] in _CACHES:
        return False
    return ground.owns(path) or not ground.is_temporary(path)  # a project may itself lie there


def _may_hold(pattern: str, ground: Ground) -> bool:
    """Whether the home directory, the project or what holds them may fit this pattern."""
    if len(pattern) > 256:
        return True
    for path in (ground.home, ground.project):
        while path != "/":
            if fnmatch.fnmatchcase(path, pattern):
                return True
            path = posixpath.dirname(path)
    return False


def _rm(operands: tuple[Arg, ...], recursive: bool, call: Call, scene: RiskInput) -> str | None:
    worth = _worth(operands, call, scene)
    if recursive:
        return _all_of(worth, call, scene) if worth else None
    for arg in worth:
        if is_listing(arg):
            return "Deletes whatever another command lists"
        if arg.glob:
            return f"Deletes every file that fits {_places([arg], call, scene)}"
        for path in () if call.away else scene.paths_of(arg, call):
            known = not path.startswith(UNKNOWN)
            if known and not scene.ground.owns(path) and kind_of(path, scene.ground) is not PathKind.HARMLESS:
                return f"Deletes {scene.ground.shown(path)}, outside the project"
    return None


def _all_of(operands: list[Arg], call: Call, scene: RiskInput) -> str:
    for arg in operands:
        for path in scene.paths_of(arg, call):
            whole = _whole_of(path, scene.ground)
            if whole:
                return whole
        if re.fullmatch(r"\0/?[*.]*", arg.text) and "/" in arg.text and ":?" not in arg.source:
            return f"Deletes {arg.shown}; should that variable be empty, everything on this machine"
        if is_listing(arg):
            return "Deletes whatever another command lists, and everything in it"
    return f"Deletes {_places(operands, call, scene)} and everything in {'it' if len(operands) == 1 else 'them'}"


def _whole_of(path: str, ground: Ground) -> str:
    """What all would be gone with this path, if it is more than a directory among others."""
    home, project = ground.home.rstrip("/"), ground.project.rstrip("/")
    if path in ("/", "/*"):
        return "Deletes everything on this machine"
    if path in (home, f"{home}/*", f"{home}/.*"):
        return "Deletes the whole home directory"
    if path in (project, f"{project}/*", ground.real_project or project):
        return "Deletes the whole project"
    return "Deletes the repository with its whole history" if path.endswith("/.git") else ""


def _places(args: Iterable[Arg], call: Call, scene: RiskInput) -> str:
    """For people: where these files are, links followed; or as they were written if that is not known."""
    whole = not call.away and UNKNOWN not in call.cwd
    return listed(
        scene.ground.shown(scene.paths_of(arg, call)[-1]) if whole and arg.known else arg.shown for arg in args
    )


def _volumes(call: Call) -> str | None:
    words = call.texts
    plain = [text for text in words if not text.startswith("-")]
    if plain[:1] == ["volume"] and plain[1:2] in (["rm"], ["prune"], ["remove"]):
        return "Deletes volumes of containers, with the data in them"
    emptied = "prune" in plain[:2] and "--volumes" in words
    down = "down" in plain[:3] and bool({"-v", "--volumes"} & set(words))
    return "Deletes volumes of containers, with the data in them" if emptied or down else None


def _git_deletes(call: Call) -> str | None:
    git = git_call(call)
    if git is None:
        return None
    verb, options, _ = git
    if verb == "clean" and options.has("-f", "--force") and not options.has("-n", "--dry-run"):
        return "Deletes the files that git does not keep"
    if verb == "rm" and options.has("-r") and not options.has("--cached", "-n", "--dry-run"):
        return f"Deletes {listed(arg.shown for arg in options.operands)} and everything in it"
    if (
        verb == "worktree"
        and options.operands[:1]
        and options.operands[0].text == "remove"
        and options.has("-f", "--force")
    ):
        return "Deletes a working copy with its changes"
    return None


# Writing

_SIGN_INS = {
    ("aws", "configure"), ("gh", "auth"), ("gcloud", "auth"), ("az", "login"), ("docker", "login"), ("npm", "login"),
    ("npm", "adduser"), ("npm", "logout"), ("cargo", "login"), ("gem", "signin"), ("kubectl", "config"),
    ("vault", "login"), ("heroku", "login"), ("docker", "logout"), ("podman", "login"), ("helm", "registry"),
}  # fmt: skip
_SIGN_IN_READS = names(
    "list get status view print-access-token token current-context get-contexts get-clusters list-profiles"
)


def credentials_written(scene: RiskInput) -> str | None:
    touch = scene.first_write(PathKind.CREDENTIAL, deletes=True)
    if touch:
        return f"Changes where your keys and sign-ins are kept: {scene.ground.shown(touch.path)}"
    for call in scene.calls:
        plain = [text for text in call.texts if not text.startswith("-")]
        if (call.name, plain[0] if plain else "") in _SIGN_INS and not set(plain[1:2]) & _SIGN_IN_READS:
            return f"Changes your sign-in: {call.name} {' '.join(plain[:2])[:40]}"
        if call.name == "ssh-copy-id":
            return "Lets a key into another machine"
        if call.name == "npm" and plain[:2] == ["config", "set"] and any("auth" in text.lower() for text in plain[2:]):
            return "Changes your sign-in: npm"
    return None


def startup_change(scene: RiskInput) -> str | None:
    touch = scene.first_write(PathKind.STARTUP, deletes=True)
    if touch:
        return f"Changes {scene.ground.shown(touch.path)}, which runs by itself later"
    for call in scene.calls:
        words = call.texts
        if call.name == "crontab" and words and not {"-l", "-r"} & set(words):
            return "Schedules commands that run by themselves later"
        if call.name in ("at", "batch") and not {"-l", "-r", "-c"} & set(words) and not call.away:
            return "Schedules commands that run by themselves later"
        if call.name == "systemd-run" and any(text.startswith(("--on-", "--timer")) for text in words):
            return "Schedules commands that run by themselves later"
        if call.name == "systemctl" and {"enable", "link", "edit"} & set(words):
            return "Makes a service start by itself"
        if call.name == "launchctl" and {"load", "bootstrap", "enable", "submit"} & set(words):
            return "Makes a service start by itself"
        later = runs_later_by_git(call)
        if later:
            return later
    return None


def dotfile_written(scene: RiskInput) -> str | None:
    touch = scene.first_write(PathKind.DOTFILE)
    if touch:
        return f"Changes settings in your home directory: {scene.ground.shown(touch.path)}"
    changed = any(call.name == "defaults" and call.texts[:1] in _DEFAULTS for call in scene.calls)
    return "Changes settings of macOS" if changed else None


_DEFAULTS = (("write",), ("delete",), ("import",))


def writes_outside(scene: RiskInput) -> str | None:
    ground = scene.ground
    touches = [touch for touch in scene.writes if kind_of(touch.path, ground) is PathKind.OUTSIDE]
    touches = [touch for touch in touches if not touch.named or kind_of(touch.named, ground) is not PathKind.OUTSIDE]
    if not touches:
        return None
    return f"Writes outside the project: {listed(scene.ground.shown(touch.path) for touch in touches)}"


# Secrets

_TREE_READERS = names("cp tar zip rsync scp grep rg ag ack 7z bsdtar ditto read grep glob")
_VAULTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "gh": (("auth", "token"),),
    "gcloud": (("auth", "print-access-token"), ("auth", "print-identity-token"), ("secrets", "versions", "access")),
    "aws": (("secretsmanager", "get-secret-value"), ("configure", "get"), ("ecr", "get-login-password")),
    "az": (("keyvault", "secret"), ("account", "get-access-token")),
    "kubectl": (("get", "secret"), ("get", "secrets")),
    "vault": (("read",), ("kv", "get")),
    "op": (("read",), ("item", "get")),
    "pass": (("show",),),
    "security": (("find-generic-password",), ("find-internet-password",), ("dump-keychain",), ("export",)),
    "git": (("credential", "fill"),),
    "secret-tool": (("lookup",), ("search",)),
    "heroku": (("config",), ("auth:token",)),
    "doppler": (("secrets",),),
    "bw": (("get",),),
}


def secret_shown(call: Call, scene: RiskInput) -> str:
    """What secret this call reads out; empty for none."""
    plain = [text for text in call.texts if not text.startswith("-")]
    if call.away:
        return ""
    if call.name == "env" and not call.wraps and not any("=" in text for text in plain):
        return "all environment variables"
    if call.name == "printenv" and (not plain or any(is_secret_name(text) for text in plain)):
        return listed(f"${text}" for text in plain) if plain else "all environment variables"
    if (call.name == "set" and not call.args) or (
        call.name in ("export", "declare") and call.texts in ((), ("-p",), ("-x",))
    ):
        return "all environment variables" if not call.settings else ""
    if call.name in ("echo", "printf"):
        named = [name for arg in call.args for name in arg.variables if is_secret_name(name) and not arg.known]
        return listed(f"${name}" for name in named)
    if any(tuple(plain[: len(words)]) == words for words in _VAULTS.get(call.name, ())):
        quiet = call.name == "kubectl" and not {"-o", "--output"} & set(call.texts) and "-o" not in "".join(call.texts)
        return "" if quiet else f"a secret of {call.name}"
    if call.name in CODE_FLAGS and any(_ENVIRONMENT.search(c) for c in code_of(call.name, call.args, call.stdin)):
        return "all environment variables"
    if call.name == "gpg" and any("export-secret" in text for text in call.texts):
        return "a private key"
    if call.name == "ssh-keygen" and "-y" in call.texts:
        return ""
    if connects(call) and any(kind_of_host(host_of(url)) == "metadata" for url in targets_of(call)):
        return "the cloud's credentials of this machine"
    return ""


_ENVIRONMENT = re.compile(
    r"os\.environ(?!\w*\s*[\[.])|process\.env(?!\w*\s*[\[.])|\bENV\.(?:to_h|each|inspect)|getenv\(\)|%ENV"
)


def _secret_reads(scene: RiskInput) -> list[Touch]:
    return [touch for touch in scene.reads if _is_secret_read(touch)]


def _is_secret_read(touch: Touch) -> bool:
    if is_secret(touch.path) or (holds_secrets(touch.path) and touch.call.name in _TREE_READERS):
        return True
    pattern = touch.path.rsplit("/", 1)[-1]
    if not touch.arg.glob or pattern.startswith("*") or "[" in pattern or len(pattern) > 64:
        return False
    return any(fnmatch.fnmatchcase(name, pattern) for name in _SECRET_NAMES)


_SECRET_NAMES = (".env", ".env.local", ".netrc", "id_rsa", "id_ed25519", "credentials", "server.pem", "secrets.yml")


def secrets_read(scene: RiskInput) -> str | None:
    if secrets_sent(scene):
        return None  # that says more
    reads = _secret_reads(scene)
    if reads:
        verb = "Puts into the repository" if reads[0].call.name == "git" and "add" in reads[0].call.texts else "Reads"
        return f"{verb} what may hold secrets: {listed(scene.ground.shown(touch.path) for touch in reads)}"
    for call in scene.calls:
        shown = secret_shown(call, scene)
        if shown and not (shown.startswith("all") and _is_filtered(call, scene)):
            return f"Shows {shown}"
    return None


def _is_filtered(call: Call, scene: RiskInput) -> bool:
    """`env | grep NODE` shows one variable, and none that is likely to be a secret."""
    for other in scene.calls:
        if other.name in ("grep", "rg", "egrep") and any(feed is call for feed in other.feeds):
            options = sort_options(other.args, "efmABC")
            pattern = options.value("-e") or (options.operands[0] if options.operands else None)
            text = pattern.text if pattern else ""
            return bool(re.fullmatch(r"[\^A-Za-z_=]{3,}", text)) and not options.has("-v") and not _secretish(text)
    return False


def _secretish(text: str) -> bool:
    return any(word in text.upper() for word in ("TOKEN", "SECRET", "KEY", "PASS", "AUTH", "CRED", "API"))


def secrets_sent(scene: RiskInput) -> str | None:
    secret_calls = {id(touch.call) for touch in _secret_reads(scene)}
    for call in scene.calls:
        target = sends_to(call)
        if not target or call.away:
            continue
        sources = (call, *call.feeds, *(inner for arg in call.args for inner in arg.inner))
        if any(
            id(source) in secret_calls or (source is not call and secret_shown(source, scene)) for source in sources
        ):
            return f"Sends what may hold secrets to {_shown_target(target)}"
        if any(is_secret(scene.ground.locate(arg.text, call.cwd)) for arg in uploads_of(call)):
            return f"Sends what may hold secrets to {_shown_target(target)}"
        for arg in call.args:
            named = [name for name in arg.variables if is_secret_name(name)]
            if named and not arg.known:
                return f"Sends the value of ${named[0]} to {_shown_target(target)}"
    return None


def sends_data(scene: RiskInput) -> str | None:
    if secrets_sent(scene):
        return None
    for call in scene.calls:
        target = sends_to(call)
        if not target or call.away:
            continue
        files = uploads_of(call)
        if call.name == "git":
            return f"Pushes to {_shown_target(target)}, which is no remote of the repository by name"
        if files:
            return f"Sends {listed(arg.shown for arg in files)} to {_shown_target(target)}"
        if call.name in CODE_FLAGS:
            continue
        if any(_is_passed_on(arg) for arg in call.args):
            return f"Sends what other commands print to {_shown_target(target)}"
        whole = " ".join(call.texts)
        takes_input = (
            call.name not in ("curl", "wget") or "@-" in whole or "-T -" in whole or "--upload-file -" in whole
        )
        if takes_input and call.feeds and call.stdin is None and call.name not in ("dig", "host", "ping", "nslookup"):
            return f"Sends what other commands print to {_shown_target(target)}"
        if call.name in ("dig", "host", "ping", "nslookup", "drill"):
            return f"Sends what other commands print to {_shown_target(target)}"
    return None


_HARMLESS_PRINTS = names(
    "uname arch date echo printf dpkg nproc tr cut sed awk head tail grep jq lsb_release rpm curl wget basename dirname"
    " mktemp pwd seq"
)


def _is_passed_on(arg: Arg) -> bool:
    """Whether other commands' output stands in it, more than a version or the name of this system."""
    sources = [call for call in arg.inner if call.name not in _HARMLESS_PRINTS]
    return any(call.name != "git" or call.texts[:1] not in (("rev-parse",), ("describe",)) for call in sources)


def _shown_target(target: str) -> str:
    return " ".join(target.replace(UNKNOWN, "…").split())[:60] or "another machine"


# Addresses

_WHERE = {
    "metadata": "the address where the cloud keeps this machine's credentials",
    "loopback": "a server on this machine",
    "private": "an address inside the local network",
}


def private_address(scene: RiskInput) -> str | None:
    """Tools: every address that is not public. Commands: only the cloud's, for developers talk to localhost all day."""
    if scene.url:
        kind = kind_of_host(host_of(scene.url))
        return f"Fetches from {_WHERE[kind]}: {host_of(scene.url)[:60]}" if kind else None
    for call in scene.calls:
        if connects(call) and any(kind_of_host(host_of(url)) == "metadata" for url in targets_of(call)):
            return f"Fetches from {_WHERE['metadata']}"
    return None


def credentials_in_url(scene: RiskInput) -> str | None:
    found = [scene.url] if scene.url else []
    found += [url for call in scene.calls if connects(call) for arg in call.args for url in urls_in(arg.text)]
    for url in found:
        if user_in(url) and not is_here(host_of(url)):
            unprotected = " without encryption" if url.lower().startswith("http://") else ""
            return f"Sends a password or a token in the address{unprotected} to {host_of(url)[:60]}"
    return None
