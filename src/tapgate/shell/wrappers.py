"""Programs that run other programs: what `sudo`, `env`, `xargs`, `bash -c`, `ssh` and their like would start."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tapgate.shell.calls import UNKNOWN, Arg, Options, sort_options
from tapgate.shell.interpreters import (
    CODE_FLAGS,
    SHELLS,
    Inner,
    calls_in_code,
    calls_of_awk,
    calls_of_shell,
    code_of,
)

_PREFIXES: dict[str, tuple[int, str, str]] = {
    # name: operands before the command, short options with a value, long options with a value
    "sudo": (0, "ghpuCDRTrtU", "user group host prompt chdir chroot role type other-user close-from"),
    "doas": (0, "uCL", ""),
    "pkexec": (0, "", "user"),
    "run0": (0, "uD", "user chdir"),
    "gosu": (1, "", ""),
    "su-exec": (1, "", ""),
    "nohup": (0, "", ""),
    "nice": (0, "n", "adjustment"),
    "ionice": (0, "cn", "class classdata"),
    "chrt": (1, "TPD", ""),
    "taskset": (1, "", ""),
    "timeout": (1, "sk", "signal kill-after"),
    "time": (0, "fo", "format output"),
    "command": (0, "", ""),
    "builtin": (0, "", ""),
    "exec": (0, "a", ""),
    "noglob": (0, "", ""),
    "nocorrect": (0, "", ""),
    "stdbuf": (0, "ioe", "input output error"),
    "setsid": (0, "", ""),
    "setpriv": (0, "", "reuid regid groups"),
    "caffeinate": (0, "tw", ""),
    "arch": (0, "", ""),
    "unbuffer": (0, "", ""),
    "strace": (0, "oepsEu", ""),
    "ltrace": (0, "oepsu", ""),
    "proxychains": (0, "f", ""),
    "proxychains4": (0, "f", ""),
    "torsocks": (0, "", ""),
    "torify": (0, "", ""),
    "unshare": (0, "", ""),
    "nsenter": (0, "t", "target"),
    "chroot": (1, "", "userspec groups"),
    "firejail": (0, "", ""),
    "systemd-run": (0, "upM", "unit property uid gid machine slice working-directory description"),
    "systemd-inhibit": (0, "", "what who why mode"),
    "prlimit": (0, "", ""),
    "numactl": (0, "CNmi", ""),
    "xvfb-run": (0, "sneflp", "server-args server-num"),
    "dbus-run-session": (0, "", ""),
    "busybox": (0, "", ""),
    "toybox": (0, "", ""),
    "coproc": (0, "", ""),
    "entr": (0, "", ""),
    "winpty": (0, "", ""),
    "cgexec": (0, "g", ""),
    "ssh-agent": (0, "aEkt", ""),
    "dbus-launch": (0, "", ""),
    "dotenvx": (1, "f", "env-file"),
    "dotenv": (0, "fe", "file"),
}

_RUNNERS: dict[str, tuple[str, ...]] = {
    # name: the words behind which a command of the project's own tools stands
    "poetry": ("run",),
    "pipenv": ("run",),
    "pdm": ("run",),
    "rye": ("run",),
    "uv": ("run",),
    "hatch": ("run",),
    "bundle": ("exec",),
    "pnpm": ("exec",),
    "yarn": ("exec", "run"),
    "npm": ("exec",),
    "mise": ("exec", "x"),
    "asdf": ("exec",),
    "direnv": ("exec",),
    "conda": ("run",),
    "rbenv": ("exec",),
    "pyenv": ("exec",),
}


def inner_calls(name: str, args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    """What this call would start. Empty for a program that runs nothing else, or nothing that can be seen."""
    if name in SHELLS:
        return calls_of_shell(args, stdin)
    if name in _PREFIXES:
        return _prefix(name, args, stdin)
    if name in CODE_FLAGS:
        return [inner for code in code_of(name, args, stdin) for inner in calls_in_code(name, code)]
    if name in _RUNNERS and args and args[0].text in _RUNNERS[name]:
        rest = _command(args[1:], 1 if name == "direnv" else 0, "npw", "with python env name prefix package directory")
        return [Inner(rest)] if rest else []
    special = _SPECIAL.get(name)
    return special(args, stdin) if special else []


def _command(args: tuple[Arg, ...], skipped: int, short: str, long: str, *, settings: bool = False) -> tuple[Arg, ...]:
    """What is left behind a wrapper's own options and operands and, with `settings`, behind assignments."""
    valued = set(long.split())
    position = 0
    while position < len(args):
        text = args[position].text
        if text == "--":
            position += 1
            break
        if text.startswith("--"):
            position += 2 if "=" not in text and text[2:] in valued else 1
        elif text.startswith(("-", "+")) and len(text) > 1:
            letters = text[1:]
            takes = next((index for index, letter in enumerate(letters) if letter in short), None)
            position += 2 if takes == len(letters) - 1 else 1
        elif settings and _SETTING.match(text):
            position += 1
        else:
            break
    return args[position + skipped :]


_SETTING = re.compile(r"[A-Za-z_]\w*=")


_STARTED_IN = {"sudo": ("-D", "--chdir"), "run0": ("-D", "--chdir"), "systemd-run": ("--working-directory",)}
"""The options by which these start a command in another directory."""


def _prefix(name: str, args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    if name in ("command", "exec", "sudo") and args and args[0].text in ("-v", "-V", "-l", "--list", "--validate"):
        return []
    skipped, short, long = _PREFIXES[name]
    rest = _command(args, skipped, short, long, settings=True)
    if rest:
        own = sort_options(args[: len(args) - len(rest)], short, long)
        cwd = own.value(*_STARTED_IN[name]) if name in _STARTED_IN else None
        return [Inner(rest, same_shell=name in ("command", "builtin", "exec", "noglob"), cwd=cwd)]
    return _listened(args, stdin) if name in ("sudo", "doas") else []


def _env(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    options = sort_options(args, "uCS", "unset chdir split-string")
    split = options.value("-S", "--split-string")
    if split is not None:
        behind = args[args.index(split) + 1 :] if split in args else ()
        cwd = options.value("-C", "--chdir")
        if behind:
            return [Inner((*(Arg(word) for word in split.text.split()), *behind), cwd=cwd)]
        return [Inner(script=split, cwd=cwd)]
    rest = _command(tuple(arg for arg in args[:1] if arg.text != "-") + args[1:], 0, "uC", "unset chdir", settings=True)
    own = sort_options(args[: len(args) - len(rest)], "uC", "unset chdir")  # a -C behind the command is the command's
    return [Inner(rest, cwd=own.value("-C", "--chdir"))] if rest else []


def _eval(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    return [Inner(script=_joined(args), same_shell=True)] if args else []


def _joined(args: tuple[Arg, ...]) -> Arg:
    inner = tuple(call for arg in args for call in arg.inner)
    variables = tuple(name for arg in args for name in arg.variables)
    return Arg(" ".join(arg.text for arg in args), " ".join(arg.source for arg in args), False, variables, inner)


def _alias(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    """Looked at as if it were called: the agent's shell may keep it."""
    values = (arg.text.partition("=")[2] for arg in args)
    return [Inner(script=Arg(value), hears=False) for value in values if value][:32]


def _editor(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    found = (re.match(r"\+?:?(?:silent\s+)?:?!(.+)", arg.text) for arg in args)
    return [Inner(script=Arg(match[1]), hears=False) for match in found if match][:32]


def _trap(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    rest = _command(args, 0, "", "")
    return [Inner(script=rest[0], same_shell=True)] if len(rest) > 1 else []


def _xargs(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    rest = _command(args, 0, "InPLdEsaJ", "max-args max-procs replace delimiter arg-file max-lines")
    rest = rest or (Arg("echo"),)
    own = args[: len(args) - len(rest)]
    for index, arg in enumerate(own):
        if arg.text.startswith(("-I", "-i", "-J", "--replace")):
            sign = arg.text[2:] if arg.text[:2] in ("-I", "-i", "-J") else arg.text.partition("=")[2]
            sign = sign or (own[index + 1].text if arg.text in ("-I", "-J") and index + 1 < len(own) else "{}")
            lines = stdin.split("\n")[:4] if stdin is not None else [UNKNOWN]
            return [
                Inner(tuple(replace(a, text=a.text.replace(sign, line)) for a in rest), hears=False, listed=True)
                for line in lines
                if line
            ]
    listed = tuple(Arg(word) for word in stdin.split()[:256]) if stdin is not None else (Arg(UNKNOWN, "…"),)
    return [Inner((*rest, *listed), hears=False, listed=True)]


def _parallel(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    rest = _command(args, 0, "jNnLPS", "jobs max-args delay retries timeout sshlogin")
    words = tuple(arg.text for arg in rest)
    end = next((index for index, word in enumerate(words) if word.startswith(":::")), len(rest))
    return [Inner(script=_joined((*rest[:end], Arg("{}", "{}"))), hears=False, listed=True)] if end else []


_FIND_OPTIONS = re.compile(r"-(?:[EHLPXdsx]+|O\d+)")


def find_roots(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """Where a `find` begins: behind the options that come before the paths, and before what it looks for."""
    roots: list[Arg] = []
    position = 0
    while position < len(args):
        text = args[position].text
        position += 1
        if text in ("-D", "-f") and not roots:  # GNU's debugging, BSD's way to name a path
            roots += args[position : position + 1] if text == "-f" else ()
            position += 1
        elif text == "--" or (_FIND_OPTIONS.fullmatch(text) and not roots):
            continue
        elif text.startswith(("-", "(", "!")):
            break
        else:
            roots.append(args[position - 1])
    return tuple(roots) or (Arg(".", "."),)


def follows_links(args: tuple[Arg, ...]) -> tuple[bool, bool]:
    """Whether a `find` goes through a link among its roots, and whether it goes through those that it meets."""
    last = ""
    for arg in args:
        if arg.text == "--" or not _FIND_OPTIONS.fullmatch(arg.text):
            break
        last = next((letter for letter in reversed(arg.text) if letter in "HLP"), last)
    everywhere = last == "L" or any(arg.text == "-follow" for arg in args)
    return everywhere or last == "H", everywhere


def _find(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    found: list[Inner] = []
    start: int | None = None
    root = find_roots(args)[0].text.rstrip("/")
    listed = Arg(f"{root}/{UNKNOWN}", f"{root}/…")
    for index, arg in enumerate((*args, Arg(";"))):
        if arg.text in ("-exec", "-execdir", "-ok", "-okdir"):
            start = index + 1
        elif start is not None and arg.text in (";", "+", "\\;"):
            found.append(Inner(tuple(listed if a.text == "{}" else a for a in args[start:index]), hears=False))
            start = None
    return [inner for inner in found if inner.args]


def _fd(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    for index, arg in enumerate(args):
        if arg.text in ("-x", "-X", "--exec", "--exec-batch"):
            rest = args[index + 1 :]
            return [Inner((*rest, Arg("{}", "{}")), hears=False)] if rest else []
    return []


def _script_option(*names: str) -> Callable[[tuple[Arg, ...], str | None], list[Inner]]:
    def find(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
        options = sort_options(args, "".join(name[1] for name in names if len(name) == 2), _long(names))
        script = options.value(*names)
        return [Inner(script=script)] if script is not None else []

    return find


def _script(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    """Linux has `script -c command file`, macOS `script file command`."""
    found = _script_option("-c", "--command")(args, stdin)
    rest = _command(args, 1, "tTFmEIO", "")
    return found or ([Inner(rest)] if rest else [])


def _long(names: tuple[str, ...]) -> str:
    return " ".join(name[2:] for name in names if name.startswith("--"))


def _flock(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    options = sort_options(args, "cwE", "command timeout conflict-exit-code")
    script = options.value("-c", "--command")
    if script is not None:
        return [Inner(script=script)]
    rest = _command(args, 1, "wE", "timeout conflict-exit-code")
    if len(rest) > 1 and rest[0].text in ("-c", "--command"):
        return [Inner(script=rest[1])]
    return [Inner(rest)] if rest else []


def _watch(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    rest = _command(args, 0, "n", "interval")
    return [Inner(script=_joined(rest))] if rest else []


def _every_operand(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    return [Inner(script=arg, hears=False) for arg in args if not arg.text.startswith("-")][:32]


def _listened(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    return [Inner(script=Arg(stdin), hears=False)] if stdin else []


def _ssh(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    found: list[Inner] = []
    options = sort_options(args, "BbcDEeFIiJLlmOopQRSWw")
    for value in options.all("-o"):
        key, _, command = value.text.partition("=")
        if key.lower() in ("proxycommand", "localcommand") and command:
            found.append(Inner(script=Arg(command), hears=False))
    rest = _command(args, 1, "BbcDEeFIiJLlmOopQRSWw", "")
    if rest:
        found.append(Inner(script=_joined(rest), away=True))
    elif stdin:
        found.append(Inner(script=Arg(stdin), away=True, hears=False))
    return found


_CONTAINER_VALUES = (
    "name volume env env-file publish user workdir network entrypoint mount label platform memory cpus hostname"
    " add-host device gpus restart namespace container context index file project-name"
)


def _container(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    """docker, podman, kubectl: what runs inside. Its paths are the container's."""
    rest = _command(args, 0, "HclnfpK", _CONTAINER_VALUES)
    if rest and rest[0].text in ("compose", "container"):
        rest = _command(rest[1:], 0, "fp", _CONTAINER_VALUES)
    if not rest or rest[0].text not in ("exec", "run"):
        return []
    words = tuple(arg.text for arg in rest)
    inside = _command(rest[1:], 1, "vepuwhlmnac", _CONTAINER_VALUES)
    if "--" in words:
        inside = rest[words.index("--") + 1 :]
    return [Inner(inside, away=True)] if inside else []


def _git(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    found: list[Inner] = []
    for option, value in sort_options(args, "cC", "git-dir work-tree exec-path").values:
        key, _, setting = value.text.partition("=")
        if option == "-c" and (setting.startswith("!") or key.lower() in GIT_COMMAND_KEYS):
            found.append(Inner(script=Arg(setting.removeprefix("!")), hears=False))
    rest = git_words(args)
    words = [arg.text for arg in rest]
    if words[:2] == ["bisect", "run"]:
        found.append(Inner(rest[2:]))
    elif words[:2] == ["submodule", "foreach"]:
        found += [Inner(script=_joined(_command(rest[2:], 0, "", "")))]
    elif words[:1] in (["rebase"], ["filter-branch"]):
        options = sort_options(rest[1:], "x", "exec tree-filter index-filter msg-filter env-filter commit-filter")
        found += [Inner(script=value) for name, value in options.values if name != "--onto"]
    return [inner for inner in found if inner.args or inner.script is not None]


GIT_COMMAND_KEYS = frozenset(
    {"core.sshcommand", "core.pager", "core.editor", "core.fsmonitor", "core.hookspath", "sequence.editor"}
    | {"credential.helper", "diff.external", "gpg.program", "core.askpass", "uploadpack.packobjectshook"}
)
"""Settings of git that name a program which it will run."""


def git_words(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """The subcommand and what follows it."""
    position = 0
    while position < len(args):
        text = args[position].text
        if text in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix"):
            position += 2
        elif text.startswith("-"):
            position += 1
        else:
            break
    return args[position:]


def _tar(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    found = []
    for arg in args:
        match = re.match(r"--(?:checkpoint-action=exec|to-command|use-compress-program|rsh-command)=(.+)", arg.text)
        if match:
            found.append(Inner(script=Arg(match[1]), hears=False))
    return found


def _su(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    script = sort_options(args, "cgGsuw", "command user group shell").value("-c", "--command")
    if script is not None:
        return [Inner(script=script)]
    words = [arg.text for arg in args]
    if "-u" in words and "--" in words:  # runuser -u name -- command
        return [Inner(args[words.index("--") + 1 :])]
    return _listened(args, stdin)


def _tmux(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    rest = _command(args, 0, "LSf", "")
    if not rest:
        return []
    verb = rest[0].text
    if verb in (
        "new",
        "new-session",
        "neww",
        "new-window",
        "splitw",
        "split-window",
        "respawn-pane",
        "run",
        "run-shell",
    ):
        words = _command(rest[1:], 0, "sncteFxyl", "")
    elif verb in ("send", "send-keys"):
        words = _command(rest[1:], 0, "tN", "")
        words = tuple(arg for arg in words if arg.text not in ("Enter", "C-m"))
    else:
        return []
    return [Inner(script=_joined(words), hears=False)] if words else []


def _screen(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    options: Options = sort_options(args, "SctXp")
    return [Inner(options.operands, hears=False)] if options.operands and not options.has("-X") else []


def _npx(args: tuple[Arg, ...], stdin: str | None) -> list[Inner]:
    script = sort_options(args, "pc", "package call").value("-c", "--call")
    if script is not None:
        return [Inner(script=script)]
    rest = _command(args, 0, "p", "package")
    if not rest:
        return []
    program = re.sub(r"(?<=.)@[^/]*$", "", rest[0].text)
    return [Inner((Arg(program, rest[0].source), *rest[1:]))]


_SPECIAL = {
    "env": _env,
    "eval": _eval,
    "trap": _trap,
    "alias": _alias,
    "vim": _editor,
    "nvim": _editor,
    "vi": _editor,
    "ex": _editor,
    "xargs": _xargs,
    "parallel": _parallel,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "flock": _flock,
    "watch": _watch,
    "viddy": _watch,
    "script": _script,
    "nix-shell": _script_option("--run", "--command"),
    "nix": _script_option("-c", "--command"),
    "hyperfine": _every_operand,
    "concurrently": _every_operand,
    "at": _listened,
    "batch": _listened,
    "ssh": _ssh,
    "autossh": _ssh,
    "docker": _container,
    "podman": _container,
    "nerdctl": _container,
    "kubectl": _container,
    "docker-compose": _container,
    "git": _git,
    "awk": calls_of_awk,
    "gawk": calls_of_awk,
    "mawk": calls_of_awk,
    "tar": _tar,
    "su": _su,
    "runuser": _su,
    "tmux": _tmux,
    "screen": _screen,
    "npx": _npx,
    "bunx": _npx,
}
