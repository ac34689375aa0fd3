"""Rules about what is run: things from the network, things that hide what they are, things on other machines."""

from __future__ import annotations

import re

from tapgate.risk.network import is_download, saved_by, source_of
from tapgate.risk.scene import RiskInput
from tapgate.shell.calls import UNKNOWN, Arg, Call, names, sort_options
from tapgate.shell.interpreters import CODE_FLAGS, SHELLS, STDIN_FILES, code_of, shell_use


def runs_input(call: Call) -> bool:
    """Whether it takes what it reads for a program."""
    if call.name in ("source", "."):
        return call.texts[:1] in (("/dev/stdin",), ("/dev/fd/0",))
    if call.name in SHELLS:
        return shell_use(call.args)[0] == "input"
    if call.name in CODE_FLAGS:
        if "-m" in call.texts or code_of(call.name, call.args, None):
            return False
        return all(text.startswith("-") or text in STDIN_FILES for text in call.texts)
    return call.name in ("at", "batch")


def run_texts(call: Call) -> list[Arg]:
    """The words that it takes for a program: of `-c`, of `eval`, or a `<(…)` in the place of a script."""
    if call.name == "eval":
        return list(call.args)
    if call.name in ("source", "."):
        return list(call.args[:1])
    if call.name in SHELLS:
        use, position = shell_use(call.args)
        script = call.args[position] if position >= 0 else None
        return [script] if script is not None and (use == "code" or script.inner) else []
    if call.name in CODE_FLAGS:
        flags = CODE_FLAGS[call.name].split()
        found = [arg for flag, arg in zip(call.texts, call.args[1:], strict=False) if flag in flags]
        script = next((arg for arg in call.args if not arg.text.startswith("-")), None)
        return found or ([script] if script is not None and script.inner else [])
    if call.name in ("make", "gmake", "just"):
        return [arg for arg in call.args if arg.inner]
    return []


def _sources(call: Call) -> tuple[Call, ...]:
    """The calls whose output it would run."""
    texts = run_texts(call)
    listed = "xargs" in call.via and any(not arg.known for arg in texts)
    fed = call.feeds if listed or runs_input(call) else ()
    return (*fed, *(inner for arg in texts for inner in arg.inner))


def pipe_to_shell(call: Call, scene: RiskInput) -> str | None:
    download = next((source for source in _sources(call) if is_download(source)), None)
    return f"Runs whatever {source_of(download)} sends, without anybody seeing it first" if download else None


def runs_download(scene: RiskInput) -> str | None:
    """A file is fetched, and later in the same command line it is run or made runnable."""
    fetched: dict[str, str] = {}
    for call in scene.calls:
        for path, shown in _run_files(call, scene):
            if path in fetched:
                return f"Runs {shown}, which it has just fetched from {fetched[path]}"
        for arg in saved_by(call):
            fetched[scene.ground.locate(arg.text, call.cwd)] = source_of(call)
        if call.name == "tee":
            download = next((feed for feed in call.feeds if is_download(feed)), None)
            for arg in sort_options(call.args).operands if download else ():
                fetched[scene.ground.locate(arg.text, call.cwd)] = source_of(download) if download else ""
    return None


def _run_files(call: Call, scene: RiskInput) -> list[tuple[str, str]]:
    found: list[Arg] = []
    if "/" in call.program.text:
        found.append(call.program)
    operands = sort_options(call.args).operands
    if call.name in SHELLS or call.name in CODE_FLAGS or call.name in ("source", ".", "open", "xdg-open", "java"):
        found += operands
    elif call.name == "chmod" and operands:
        runnable = re.search(r"\+\w*x|=\w*x|[1357]\d?\d?$|7", operands[0].text) or "+x" in call.texts
        found += operands[1:] if runnable else []
    elif call.name in ("dpkg", "rpm", "installer", "pip", "npm", "apt", "apt-get", "brew", "dnf", "yum", "msiexec"):
        found += call.args
    return [(scene.ground.locate(arg.text, call.cwd), arg.shown) for arg in found if arg.text]


_REMOTE_RUNNERS = names("npx bunx uvx pnpx")
_KNOWN_TOOLS = names(
    """
    tsc tsx ts-node eslint prettier jest vitest mocha playwright cypress next vite webpack rollup esbuild prisma turbo
    nx tailwindcss postcss stylelint astro nuxt remix svelte-check vue-tsc biome knip husky lint-staged nyc c8 ava tap
    storybook drizzle-kit wrangler cdk sequelize knex typeorm lerna nodemon rimraf cross-env concurrently ncu rspack
    ruff black mypy pytest pyright pre-commit tox nox isort flake8 bandit codespell mkdocs semgrep ty
    """
)
"""Tools that projects install themselves: `npx tsc` then runs the project's own copy."""
_PINNED = re.compile(r"(?:@|==)v?\d+\.\d+\.\d+")


def runs_remote_package(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    package: str | None = None
    latest = False
    if call.name in _REMOTE_RUNNERS:
        options = sort_options(call.args, "pc", "package call from with python")
        chosen = options.value("-p", "--package", "--from") or (options.operands[0] if options.operands else None)
        package = chosen.text if chosen and not options.has("--no-install", "--no", "--offline") else None
        latest = options.has("-y", "--yes")
    elif call.name in ("npm", "pnpm", "yarn", "bun") and words[:1] in (("dlx",), ("create",), ("init",), ("x",)):
        operands = [text for text in words[1:] if not text.startswith("-")]
        package = operands[0] if operands else None
        latest = words[0] in ("dlx", "create", "init")
    elif (call.name == "pipx" and words[:1] == ("run",)) or (call.name == "uv" and words[:2] == ("tool", "run")):
        operands = [text for text in words[1:] if not text.startswith("-") and text != "run"]
        package = operands[0] if operands else None
    elif call.name == "go" and words[:1] == ("run",):
        package = next((text for text in words[1:] if "@" in text), None)
    elif call.name == "deno" and words[:1] == ("run",):
        package = next((text for text in words[1:] if "://" in text or text.startswith(("npm:", "jsr:"))), None)
    elif call.name in ("pip", "npm", "yarn", "pnpm", "bun", "uv") and {"install", "add", "i"} & set(words[:2]):
        package = next((text for text in words if re.match(r"(git\+)?(https?|ssh)://|git\+|github:", text)), None)
    elif call.name in ("kubectl", "oc") and words[:1] in (("apply",), ("create",), ("replace",)):
        url = next((text for text in words[1:] if re.match(r"https?://", text)), None)
        return f"Takes what {url[:60]} says into the cluster" if url else None
    if not package or package.startswith((".", "/")) or _PINNED.search(package):
        return None
    bare = re.sub(r"(?<=.)@[^/]*$", "", package)
    if bare in _KNOWN_TOOLS and not latest and "@" not in package[1:]:
        return None
    return f"Fetches {package[:60]} from the network in whatever version is there now, and runs it"


_DECODERS = re.compile(r"-(?:\w*[dD]\w*|-decode|-decompress|r|rp|r\w*p)")


def is_decoder(call: Call) -> bool:
    """Whether it turns text that nobody can read into text that a program can."""
    words = call.texts
    if call.name in (
        "base64",
        "base32",
        "basenc",
        "xxd",
        "gzip",
        "bzip2",
        "xz",
        "uuencode",
        "openssl",
        "gpg",
        "ascii85",
    ):
        if call.name == "xxd":
            return any(re.match(r"-\w*r", text) for text in words)
        return any(_DECODERS.fullmatch(text) for text in words)
    if call.name in ("rev", "uudecode", "zcat", "gunzip", "bunzip2", "unxz", "xzcat", "gunzip"):
        return True
    if call.name == "tr":
        return len(words) == 2 and any("-" in text for text in words)
    if call.name in ("echo", "printf"):
        return any(re.search(r"\\(?:x[0-9a-fA-F]|0?[0-7]{2})", arg.source or arg.text) for arg in call.args)
    return call.name == "sed" and any(re.search(r"\\x[0-9a-f]{2}", text) for text in words)


_HARMLESS_EVAL = names(
    """
    ssh-agent direnv pyenv rbenv nodenv goenv jenv brew conda mamba micromamba starship zoxide fnm opam minikube
    dircolors poetry mise asdf nodenv keychain thefuck lesspipe lesspipe.sh register-python-argcomplete atuin fzf
    pip uv gh rustup
    """
)
_RUNS_CODE = re.compile(r"\b(?:exec|eval|Function|instance_eval|system|popen)\b")
_DECODES = re.compile(
    r"b64decode|base64|fromhex|unhexlify|decompress|marshal|rot_?13|\batob\b|Buffer\.from|\b(?:un)?pack\b|\bchr\(|fromCharCode"
    r"|\[::-1\]|reverse\(|urlopen|requests\.get"
)


def obfuscated(call: Call, scene: RiskInput) -> str | None:
    if pipe_to_shell(call, scene):
        return None  # that says more
    for source in _sources(call):
        if is_decoder(source):
            return f"Runs text that {source.name} decodes, so that it cannot be read here"
    if call.program.disguised:
        return f"Writes the command {call.program.text[:30]} in a way that hides it"
    if any("IFS" in arg.variables and arg.disguised for arg in (call.program, *call.args)):
        return "Uses $IFS for blanks, which hides the words of the command"
    if call.program.inner and not call.program.known:
        return "Runs a command whose name another command makes up"
    if call.name == "eval" and any(not arg.known or arg.inner for arg in call.args):
        inner = [source.name for arg in call.args for source in arg.inner]
        if not inner or not set(inner) <= _HARMLESS_EVAL:
            return "Runs text that is put together only when it runs"
    if call.name in SHELLS and any(not arg.text.strip(UNKNOWN + " ") for arg in run_texts(call)):
        return "Runs text that is put together only when it runs"
    if call.name in CODE_FLAGS:
        for code in code_of(call.name, call.args, call.stdin):
            if _RUNS_CODE.search(code) and _DECODES.search(code):
                return "Runs code that another piece of code decodes or fetches first"
    return None


def unknown_command(call: Call, scene: RiskInput) -> str | None:
    if call.program.known or call.program.inner or not call.program.text:
        return None
    if call.program.text.rsplit("/", 1)[-1].strip(UNKNOWN):
        return None  # only its directory is not known
    return f"Runs {call.program.shown}; which program that is cannot be seen here"


def runs_elsewhere(call: Call, scene: RiskInput) -> str | None:
    words = call.texts
    if call.name in ("ssh", "autossh", "mosh"):
        operands = sort_options(call.args, "BbcDEeFIiJLlmOopQRSWw").operands
        if len(operands) == 1 and operands[0].text.startswith("git@"):
            return None  # a greeting from a host of repositories, which gives nobody a shell
        return f"Runs on another machine: {operands[0].shown}" if operands else None
    if call.name == "kubectl" and "exec" in words[:3]:
        return "Runs in a container of the cluster"
    if (call.name in ("ansible", "ansible-playbook", "pssh", "salt", "fab") and "--version" not in words) or words[
        :2
    ] == ("ssm", "send-command"):
        return "Runs on other machines"
    if call.name in ("gcloud", "fly", "flyctl", "vagrant", "heroku") and ("ssh" in words or words[:1] == ("run",)):
        return "Runs on another machine"
    return None


_SHELL_IN_CODE = re.compile(r"dup2|pty\.spawn|/bin/(?:ba|z)?sh\b")


def opens_remote_shell(call: Call, scene: RiskInput) -> str | None:
    sentence = "Gives another machine a shell on this one"
    if call.name in ("nc", "ncat", "netcat"):
        if any(re.match(r"-\w*[ec]\w*$|--(?:sh-)?exec", text) for text in call.texts):
            return sentence
        if any(feed.name in SHELLS and runs_input(feed) for feed in call.feeds):
            return sentence
    if call.name == "socat" and any(re.match(r"(?i)(?:exec|system):", text) for text in call.texts):
        return sentence
    if call.name in SHELLS and any("/dev/tcp/" in stream.target.text for stream in call.streams):
        return sentence
    if call.name == "exec" and any("/dev/tcp/" in stream.target.text for stream in call.streams):
        return "Opens a connection to another machine for the commands that follow"
    if call.name in CODE_FLAGS:
        codes = code_of(call.name, call.args, call.stdin)
        return sentence if any("socket" in code.lower() and _SHELL_IN_CODE.search(code) for code in codes) else None
    return None


def fork_bomb(scene: RiskInput) -> str | None:
    return "Starts itself again and again until the machine stands still" if scene.bomb else None


_LOADERS = names("LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV PYTHONSTARTUP PERL5OPT RUBYOPT PROMPT_COMMAND")
_LOADING_OPTIONS = re.compile(r"--(?:require|import|loader|experimental-loader)\b|(?:^|\s)-r\b")


def slips_in_code(call: Call, scene: RiskInput) -> str | None:
    """Another program than the one that is named, or more than it: by the environment, or by an option."""
    given = list(call.settings)
    if call.name in ("export", "declare", "typeset"):
        given += [(name, Arg(value)) for name, sign, value in (text.partition("=") for text in call.texts) if sign]
    for name, value in given:
        if name in _LOADERS and value.text:
            return f"Makes programs load code of its own by {name}"
        if name == "NODE_OPTIONS" and _LOADING_OPTIONS.search(value.text):
            return "Makes node load code of its own by NODE_OPTIONS"
        if name == "PATH" and re.match(r"(?:\.?(?::|$)|/tmp/|/var/tmp/|/dev/shm/)", value.text):
            return "Makes programs be looked for where anything may lie"
    if call.name == "tar" and any(text.startswith("--to-command") for text in call.texts):
        return "Runs a command for each file of an archive"
    return None


def redirects(call: Call, scene: RiskInput) -> str | None:
    """Where code and packages come from or go to, from now on."""
    words = [text for text in call.texts if not text.startswith("-")]
    if call.name == "git" and words[:2] in (["remote", "set-url"], ["remote", "rename"]):
        return "Changes which repository pushes go to"
    if call.name in ("npm", "yarn", "pnpm") and words[:2] == ["config", "set"] and "registry" in "".join(words[2:3]):
        return "Changes where packages come from"
    if call.name == "pip" and words[:2] == ["config", "set"] and "index-url" in "".join(words[2:3]):
        return "Changes where packages come from"
    return None
