"""Whether a command runs what its card hides: each hidden value is followed through the calls that would be made. Pure.

A stand-in takes the place of every hidden value, and the command is read with them: wherever a stand-in comes out, the
hidden value would be. It may come out where it says what it is (`-H "Authorization: Bearer …"`, `--password …`,
`PASSWORD=…`) and as an argument that is known to be data. Anywhere else, and wherever the reading fails, it counts as
run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tapgate.masking.assignments import How
from tapgate.masking.mask import hidden_finds
from tapgate.masking.places import is_in_host
from tapgate.risk.hidden_code import RUNNER, uses_in_text
from tapgate.risk.hidden_places import STAND_IN, name_before, says_itself
from tapgate.shell.calls import UNKNOWN, Call, names
from tapgate.shell.interpreters import CODE_FLAGS, SHELLS, shell_use
from tapgate.shell.parser import MAX_CHARS
from tapgate.shell.walk import read_commands

_MOST_FINDS = 999
_STAND_IN = re.compile(rf"{STAND_IN}(\d{{3}})Zz")
_RUNS_INPUT = names("xargs parallel ssh at batch source .")
_HERE = ("<<", "<<-", "<<<")
_OUT = (">", ">>", ">|", "&>", "&>>", "<>")

_CODE = frozenset(CODE_FLAGS) | names(
    "awk gawk mawk sed gsed make gmake gdb lldb vim nvim vi ex ed emacs tclsh expect Rscript julia m4 envsubst bc dc"
    " sqlite3 psql xmlstarlet parallel erl ghci scala groovy kotlin"
)
"""Programs to which code is given, in one language or another."""
_ENTERED = frozenset(SHELLS) | names(
    "sudo doas env eval trap exec command builtin nohup nice time timeout xargs su runuser watch flock alias coproc"
    " setsid stdbuf ionice script at batch busybox strace chroot"
)
"""Programs whose command is read as a call of its own."""
_PRINTS = names("echo printf : true false test [ export unset readonly declare local typeset set read return exit")
_FILTERS = names(
    "cat head tail wc tr cut rev sort uniq base64 base32 xxd od hexdump openssl gpg sha256sum sha1sum sha512sum shasum"
    " md5sum md5 cksum grep pbcopy xclip xsel wl-copy fold nl tac column jq iconv gzip"
)
_TAKES_INPUT = re.compile(r"(?:.*-)?(?:stdin|with-token)|--passphrase-fd(?:=.*)?|.*=/dev/stdin|@-")
_PASSWORD_READERS = names(
    "chpasswd passwd docker podman gh glab sudo vault kubectl pass secret-tool security databricks npm fly flyctl doctl"
    " vercel wrangler heroku supabase"
)
_CLIENTS = names("curl wget http https xh httpie")
_CLIENT_DATA = names(
    "-d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F --form --form-string -H --header -u"
    " --user -b --cookie --oauth2-bearer -U --proxy-user --post-data --body-data --url-query --http-password --password"
)
_SECRET_TAKERS = {
    "docker": "login",
    "podman": "login",
    "gh": "auth secret variable",
    "glab": "auth variable",
    "vault": "login kv write",
    "aws": "configure secretsmanager ssm",
    "az": "login keyvault",
    "gcloud": "auth secrets",
    "npm": "config login",
    "heroku": "config:set auth:token",
    "fly": "secrets auth",
    "flyctl": "secrets auth",
    "vercel": "env login",
    "netlify": "env:set login",
    "wrangler": "secret",
    "doctl": "auth",
    "kubectl": "create config",
    "supabase": "login secrets",
}
"""Programs that take a secret behind one of these words."""
_PASSWORD_TOOLS = names(
    "mysql mysqldump mysqladmin mysqlimport mysqlcheck mariadb mariadb-dump mariadb-admin redis-cli valkey-cli mongosh"
    " mongo mongodump mongorestore sshpass htpasswd openssl gpg zip unzip 7z 7za rar unrar sqlcmd bcp smbclient"
    " rpcclient ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare keytool"
)
_SEARCHES = names("grep egrep fgrep rg ag ack jq yq")
"""Programs that look for their operands, or print them: they run none."""
_LOGINS = frozenset(_SECRET_TAKERS) | names("helm nerdctl buildah skopeo oras crane huggingface-cli hf")
_LOGIN_OR_QUERY = re.compile(r"://(?:[^\s/?#@]*|[^\s?#]*\?\S*)\Z")
_FILE_TOOLS = names(
    "rm rmdir unlink shred cp mv ln install touch mkdir chmod chown chgrp cat tee tar rsync scp dd truncate"
)
"""Programs whose operands are files, whatever they are called."""
_GIT_VERBS = names(
    "push pull fetch clone checkout switch restore reset merge rebase cherry-pick revert rm mv add branch tag worktree"
    " apply am"
)
_GIT_TEXTS = names("-c -m --message -S -G --grep")
_NAMES_PROGRAM = {
    "make": "",
    "gmake": "",
    "just": "",
    "task": "",
    "rake": "",
    "npm": "run run-script exec x install i add start test",
    "pnpm": "run exec dlx install add",
    "yarn": "run exec dlx add",
    "bun": "run x add install",
    "npx": "",
    "bunx": "",
    "uvx": "",
    "uv": "run tool pip add",
    "pipx": "",
    "pip": "install",
    "go": "run install get",
    "cargo": "run install add",
    "docker": "run exec pull build",
    "podman": "run exec pull build",
    "kubectl": "exec run apply",
    "ssh": "",
    "nc": "",
    "ncat": "",
    "netcat": "",
    "telnet": "",
    "socat": "",
    "scp": "",
    "crontab": "",
    "ansible-playbook": "",
    "source": "",
    ".": "",
    "chmod": "",
}
"""Programs whose operands are what runs or which machine is reached; behind one of these words, if there are any."""
_SETTING = re.compile(r"-{0,2}(?P<name>[A-Za-z_][\w.-]*)=")
_RUN_SETTING = re.compile(
    r"(?i)(?:^|[._-])(?:\w*pager|\w*editor|visual|shell|browser|\w*command|cmd|\w*path|\w*askpass|env|\w*preload|opts?"
    r"|\w*options|\w*proxy|\w*host|\w*url|\w*startup|cc|cxx|make|\w*wrapper|\w*hook|program|prog|exec|\w*ssh"
    r"|ps\d|chdir|file|entrypoint|require|script|module)\Z"
    r"|\A(?:LD|DYLD)_|\Aalias[.]"
)
"""Variables, options and settings whose value is run, loaded or reached."""
_ENVIRONMENT = re.compile(r"environ|process\.env|getenv|\bENV\b|\bDeno\.env")
_RUN_OPTIONS = names(
    "-f --file -x -S --script --entrypoint --config -K --rcfile --init-file -r --require --import -m -C --exec -o"
)
"""Options whose value is run, loaded or written, whatever it looks like."""
_SED_SCRIPT = re.compile(r"-[a-zA-Z]*f|-[a-zA-Z]*e.|--(?:file|expression=)")  # a script that is not looked at
_SED = re.compile(r"(?:s(.)(?:(?!\1).)*\1(?:(?!\1).)*\1[gpiI0-9]*|[\d,$]*[pd]|/[^/]*/[pd])")


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The names that hold what is hidden."""

    names: frozenset[str]

    def bare(self, text: str) -> bool:
        """Whether a hidden value stands in this text without anything that says what it is."""
        return any(not self.is_explained(text, *match.span()) for match in _STAND_IN.finditer(text))

    def is_explained(self, text: str, start: int, end: int) -> bool:
        return not is_in_host(text, start, end) and says_itself(text, start, end)

    def mentions(self, text: str) -> bool:
        return any(re.search(rf"(?<![\w-]){re.escape(name)}(?!\w)", text) for name in self.names)

    def taints(self, call: Call) -> bool:
        """Whether what this call prints may be a hidden value, or made of one."""
        texts = (*call.texts, call.stdin or "")
        if call.name in _PRINTS or call.name in _FILTERS or call.name in _CODE:
            return any(_STAND_IN.search(text) or self.mentions(text) for text in texts)
        if call.name in _CLIENTS or call.name in _PASSWORD_TOOLS:
            return False
        return any(map(self.mentions, texts)) or any(
            not self.is_explained(line, *match.span())
            for line in (_line(call), call.stdin or "")
            for match in _STAND_IN.finditer(line)
        )


def runs_in_shell(text: str, *, home: str, project: str, as_command: bool = True, also: Iterable[str] = ()) -> bool:
    """Whether this command uses a hidden value as more than data.

    `as_command`: its card shows it as one, so that nothing is hidden where it is run. `also` are values that are hidden
    for other reasons.
    """
    if len(text) > MAX_CHARS:
        return bool(hidden_finds(text[: 2 * MAX_CHARS], as_command=as_command))
    marked, pieces = _with_stand_ins(text, also, as_command=as_command)
    if pieces is None:
        return False
    reading = read_commands(marked, cwd=project, project=project, home=home)
    if reading.broken or reading.cut:
        return True
    return any(_runs(call, pieces) for call in reading.calls)


def _with_stand_ins(text: str, also: Iterable[str], *, as_command: bool) -> tuple[str, _Pieces | None]:
    finds = hidden_finds(text, as_command=as_command)[:_MOST_FINDS]
    spans = [(find.start, find.end) for find in finds]
    for value in also:
        start = text.find(value)
        while start >= 0 and len(spans) < _MOST_FINDS:
            end = start + len(value)
            if not any(left < end and start < right for left, right in spans):
                spans.append((start, end))
            start = text.find(value, end)
    if not spans:
        return text, None
    spans.sort()
    held = frozenset(name_before(text, start) for start, _ in spans) - {""}
    parts = []
    end = 0
    for number, (start, stop) in enumerate(spans):
        parts += [text[end:start], f"{STAND_IN}{number:03}Zz"]
        end = stop
    return "".join([*parts, text[end:]]).replace(UNKNOWN, " "), _Pieces(held)


def _runs(call: Call, pieces: _Pieces) -> bool:
    if _STAND_IN.search(call.program.text) or (call.program.text and not call.program.known):
        return True
    return (
        _runs_by_settings(call, pieces)
        or _runs_by_streams(call, pieces)
        or _runs_input(call, pieces)
        or _runs_words(call, pieces)
    )


def _runs_by_settings(call: Call, pieces: _Pieces) -> bool:
    """`PAGER=… git log`, and a setting that is text of a command which expands the hidden value later."""
    for name, value in call.settings:
        line = f"{name}={value.text}"
        if _STAND_IN.search(value.text) and _RUN_SETTING.search(name) and not _is_within_address(line):
            return True
        if any(f"${held}" in value.text or f"${{{held}" in value.text for held in pieces.names):
            return True
    return False


def _is_within_address(line: str) -> bool:
    """In an address, but not as its host: https://me:…@proxy."""
    return "://" in line and not any(is_in_host(line, *match.span()) for match in _STAND_IN.finditer(line))


def _runs_by_streams(call: Call, pieces: _Pieces) -> bool:
    into_file = False
    for stream in call.streams:
        if stream.operator in _HERE:
            continue
        if _STAND_IN.search(stream.target.text):
            return True
        into_file |= stream.operator in _OUT and not stream.target.text.startswith("/dev/")
    if not into_file and call.name not in ("tee", "dd", "sponge"):
        return False
    if call.stdin is None and any(pieces.taints(feed) for feed in call.feeds):
        return True  # what it makes of the hidden value goes into a file
    texts = (*(call.texts if call.name in _PRINTS else ()), call.stdin or "")
    return any(pieces.bare(text) for text in texts)


def _runs_input(call: Call, pieces: _Pieces) -> bool:
    """What it reads: a shell's script is followed by itself, other programs may be known to take a secret there."""
    tainted = any(pieces.taints(feed) for feed in call.feeds)
    if call.name in SHELLS or call.name in _RUNS_INPUT or call.name in CODE_FLAGS:
        printed = (inner for arg in call.args if not arg.text.strip(UNKNOWN) for inner in arg.inner)
        tainted = tainted or any(map(pieces.taints, printed))  # `source <(echo …)`
    if call.name in SHELLS and shell_use(call.args)[0] == "file":
        return tainted
    if call.name in SHELLS:
        fetched = bool(call.feeds) and all(feed.name in _CLIENTS for feed in call.feeds)
        unknown = call.stdin is None and bool(call.feeds) and not fetched  # the hidden value may come by way of a file
        return shell_use(call.args)[0] == "input" and call.stdin is None and (tainted or unknown)
    if call.stdin is None:
        return tainted and (call.name in _CODE or call.name in _RUNS_INPUT)
    if not _STAND_IN.search(call.stdin):
        return call.name in _CODE and pieces.mentions(call.stdin) and call.name not in _FILTERS
    if call.name in _CODE and call.name not in _FILTERS:
        codes = (*call.texts, call.stdin)
        return not _is_harmless_sed(call) and (uses_in_text(call.stdin, ()) or any(map(RUNNER.search, codes)))
    if call.name in _ENTERED or call.name in _FILTERS or call.wraps or call.via[-1:] == ("sudo",):
        return False  # sudo itself asks for a password there
    if not pieces.bare(call.stdin):
        return False
    takes = any(_TAKES_INPUT.fullmatch(text) for text in call.texts)
    return not (takes or call.name in _PASSWORD_READERS or call.name in _PRINTS)


def _is_harmless_sed(call: Call) -> bool:
    """Whether all of its scripts replace, print or delete: none of these runs anything."""
    if call.name not in ("sed", "gsed") or any(map(_SED_SCRIPT.match, call.texts)):
        return False
    given = [text for before, text in pairwise(call.texts) if before in ("-e", "--expression")]
    scripts = given or [text for text in call.texts if not text.startswith("-")][:1]
    return all(map(_SED.fullmatch, scripts))


def _runs_words(call: Call, pieces: _Pieces) -> bool:
    words = call.texts
    if call.name in SHELLS:
        use, place = shell_use(call.args)
        if use == "code":
            return not words[place].strip(UNKNOWN + " \n\t") if place >= 0 else False
        if use == "file" and _STAND_IN.search(words[place]):
            return True
    elif call.name in ("eval", "trap") and words and not words[0].strip(UNKNOWN + " \n\t"):
        return True
    if call.name in _CODE and any(_runs_code(text, pieces) for text in words):
        return True
    if call.name in _ENTERED and call.wraps:
        return any(_is_run_setting(text) for text in words)
    line = _line(call)
    for number, text in enumerate(words):
        if not _STAND_IN.search(text):
            continue
        if _is_run_setting(text):
            return True
        if _is_known_data(call, number, line, pieces):
            continue
        return True
    return False


def _runs_code(text: str, pieces: _Pieces) -> bool:
    """A word that may be code: it must not use a hidden value, whether that stands in it or in a variable."""
    if _SETTING.match(text) and " " not in text:
        return False
    if pieces.names and _ENVIRONMENT.search(text) and RUNNER.search(text):
        return True
    if pieces.mentions(text):
        return not _STAND_IN.search(text) or uses_in_text(text, ()) or RUNNER.search(text) is not None
    return _STAND_IN.search(text) is not None and pieces.bare(text) and len(text.split()) > 1


def _is_run_setting(text: str) -> bool:
    match = _SETTING.match(text)
    if match is None or not _STAND_IN.search(text, match.end()):
        return False
    return _RUN_SETTING.search(match["name"]) is not None and not _is_within_address(text)


def _line(call: Call) -> str:
    """The call as one line, in which the words before a word can be looked at."""
    words = (call.program.text, *call.texts)
    return " ".join(_quoted(word) for word in words).replace(UNKNOWN, "x")


def _quoted(word: str) -> str:
    return word if re.fullmatch(r"[\w./:=@%+,-]+", word) else '"' + word.replace('"', '\\"') + '"'


def _is_known_data(call: Call, number: int, line: str, pieces: _Pieces) -> bool:
    word = call.texts[number]
    before = call.texts[number - 1] if number else ""
    if any(is_in_host(word, *match.span()) for match in _STAND_IN.finditer(word)):
        return False
    if call.name in CODE_FLAGS and number == _script(call):
        return False
    if call.name in _FILE_TOOLS or (call.name == "git" and any(text in _GIT_VERBS for text in call.texts[:4])):
        return (call.name == "git" and before in _GIT_TEXTS) or _is_login_of_address(word)
    if call.name == "git" and (before in _GIT_TEXTS or "grep" in call.texts[:3]):
        return True
    names_program = None if _SETTING.match(word) else _NAMES_PROGRAM.get(call.name)
    if names_program is not None and not word.startswith("-") and not before.startswith("-"):
        verbs = names_program.split()
        if not verbs or any(text in verbs for text in call.texts[:3]):
            return _is_login_of_address(word)
    if all(pieces.is_explained(word, *match.span()) for match in _STAND_IN.finditer(word)):
        return True
    if before.startswith("-") or call.name in _CLIENTS or _is_login(call):
        hows = (How.NAME, How.CONTEXT) if call.name in _PASSWORD_TOOLS or _is_login(call) else (How.NAME,)
        if all(_explained_in(line, match[0], hows) for match in _STAND_IN.finditer(word)):
            return True
    if call.name in _CLIENTS:
        return "://" in word or before in _CLIENT_DATA or any(word.startswith(f"{flag}=") for flag in _CLIENT_DATA)
    if call.name in _PRINTS or call.name in _SEARCHES or _is_harmless_sed(call) or _is_login_of_address(word):
        return True
    if call.name in _PASSWORD_TOOLS:
        return before.startswith("-") or word.startswith("-") or call.name == "htpasswd"
    verbs_taken = _SECRET_TAKERS.get(call.name, "").split()
    return any(text in verbs_taken for text in call.texts[:3]) and before not in _RUN_OPTIONS


def _is_login(call: Call) -> bool:
    """`docker login -p …`, `az login -p …`, `helm registry login -p …`."""
    return "login" in call.texts[:3] and call.name in _LOGINS


def _is_login_of_address(word: str) -> bool:
    """Whether all that is hidden in this address is its user, its password or a part of its query."""
    return "://" in word and all(_LOGIN_OR_QUERY.search(word, 0, match.start()) for match in _STAND_IN.finditer(word))


def _script(call: Call) -> int:
    """The number of the word that names an interpreter's script; -1 where code is given to it."""
    flags = CODE_FLAGS[call.name].split()
    if any(text in flags for text in call.texts):
        return -1
    return next((number for number, word in enumerate(call.texts) if not word.startswith("-")), -1)


def _explained_in(line: str, stand_in: str, hows: tuple[How, ...]) -> bool:
    places: Iterator[re.Match[str]] = re.finditer(re.escape(stand_in), line)
    return all(not is_in_host(line, *place.span()) and says_itself(line, *place.span(), hows=hows) for place in places)
