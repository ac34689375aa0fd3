"""Which files a call reads, writes and deletes, as far as its words tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice

from tapgate.risk.paths import Ground, PathKind, kind_of
from tapgate.shell.calls import UNKNOWN, Arg, Call, absolute, names, sort_options
from tapgate.shell.interpreters import CODE_FLAGS, code_of
from tapgate.shell.wrappers import find_roots, git_words


@dataclass(frozen=True, slots=True)
class Touch:
    """A file or directory that a call reads, writes or deletes."""

    path: str  # located
    arg: Arg
    call: Call
    named: str = ""  # the path by its words, where `path` is what that leads to through a link


_WRITTEN = frozenset(
    {"tee", "touch", "mkdir", "mkfifo", "mknod", "truncate", "sponge", "ed", "ex", "vi", "vim", "nvim", "nano", "pico"}
    | {"emacs", "patch", "sudoedit", "gunzip", "gzip", "bunzip2", "xz", "unxz"}
)
_COPIERS = frozenset({"cp", "mv", "install", "ln", "rsync", "scp", "ditto"})
_DELETERS = frozenset({"rm", "unlink", "rmdir", "shred", "srm", "trash", "trash-put", "rimraf", "del", "del-cli"})
_OUTPUT_OPTIONS = (
    "--output",
    "--out",
    "--outfile",
    "--output-file",
    "--log-file",
    "--outdir",
    "--output-dir",
    "--target",
)
_OUTPUT_LONG = " ".join(option[2:] for option in _OUTPUT_OPTIONS)
_COMPILERS = names("gcc cc g++ c++ clang clang++ ld rustc go gfortran tcc nvcc as")
_OTHER_OUTPUTS = names(
    "grep egrep fgrep zgrep rg ag ack ps ls set mount ssh scp sshfs sftp kubectl lsof pgrep stat useradd"
)
"""Programs whose -o is no file."""
_FIND_OUTPUTS = names("-fprint -fprint0 -fls -fprintf")
_WGET_LONG = "output-document directory-prefix output-file append-output header user-agent tries timeout input-file"
_COPY_VALUES = ("tSgmo", "target-directory suffix backup mode owner group rsh exclude include exclude-from files-from")
_REMOTE = re.compile(r"(?:[\w.-]+@)?[\w.-]{2,}::?(?!\\)|[a-z0-9+]+://")


def is_remote(text: str) -> bool:
    """`host:path`, as scp and rsync take it, or a URL."""
    return bool(_REMOTE.match(text)) and not text.startswith(("/", ".", "~"))


def base_of(call: Call, ground: Ground) -> str:
    """The directory by which the call's relative paths are meant."""
    if call.name in ("git", "make", "tar") and "-C" in call.texts:
        index = call.texts.index("-C")
        if index + 1 < len(call.args):
            return absolute(call.args[index + 1].text, call.cwd, ground.home)
    return call.cwd


def writes_of(call: Call, ground: Ground) -> list[Touch]:
    """What it creates, changes or replaces. Nothing for a call on another machine."""
    if call.away:
        return []
    found = [stream.target for stream in call.streams if _is_output(stream.operator, stream.target.text)]
    if not call.wraps or call.name in CODE_FLAGS or call.name in ("git", "tar", "find"):
        found += _written(call, ground)
    return _touches(found, call, ground)


def deletes_of(call: Call, ground: Ground) -> list[Touch]:
    """What it deletes by name; where it would delete what it finds is a rule's matter."""
    if call.away:
        return []
    if call.name in _DELETERS:
        return _touches(sort_options(call.args, "ns" if call.name == "shred" else "").operands, call, ground)
    if call.name == "mv":
        return _touches(sort_options(call.args, *_COPY_VALUES).operands[:-1], call, ground)
    if call.name == "find" and "-delete" in call.texts:
        return _touches(find_roots(call.args), call, ground)
    if call.name in CODE_FLAGS:
        codes = code_of(call.name, call.args, call.stdin)
        return _touches((Arg(m[1], m[1]) for code in codes for m in _DELETED_IN_CODE.finditer(code)), call, ground)
    return []


def reads_of(call: Call, ground: Ground) -> list[Touch]:
    """What it reads, so that it could be shown or passed on. Nothing for a call on another machine."""
    if call.away:
        return []
    found = [stream.target for stream in call.streams if stream.operator == "<"]
    if not call.wraps or call.name in CODE_FLAGS or call.name in ("git", "tar", "awk", "xargs"):
        found += _read(call)
    return _touches(found, call, ground)


def _touches(args: Iterable[Arg], call: Call, ground: Ground) -> list[Touch]:
    base = base_of(call, ground)
    return [Touch(ground.locate(arg.text, base), arg, call) for arg in args if arg.text]


def _is_output(operator: str, target: str) -> bool:
    if operator == ">&":
        return not re.fullmatch(r"\d+-?|-", target)
    return ">" in operator


def _written(call: Call, ground: Ground) -> list[Arg]:
    name = call.name
    options = sort_options(call.args, *_COPY_VALUES) if name in _COPIERS else sort_options(call.args, _shorts(name))
    operands = list(options.operands)
    if name in _WRITTEN:
        return operands
    if name in _COPIERS:
        target = options.value("-t", "--target-directory")
        if name == "install" and options.has("-d", "--directory"):
            return operands
        if name == "ln" and not options.has("-s", "--symbolic"):
            return _named_twice(operands, target, call, ground)
        if target is None and len(operands) < 2:
            return [Arg(".", ".")] if name == "ln" and operands else []
        target = target or operands[-1]
        return [] if name in ("rsync", "scp") and is_remote(target.text) else [target]
    if name in ("chmod", "chown", "chgrp", "setfacl", "xattr", "chattr", "chflags"):
        return operands[1:]
    if name == "sed" and options.has("-i", "--in-place"):
        return operands if options.has("-e", "-f", "--expression", "--file") else operands[1:]
    if name == "perl" and any(re.match(r"-\w*i", text) for text in call.texts):
        return operands
    if name == "dd":
        return [Arg(text[3:], text[3:]) for text in call.texts if text.startswith("of=")]
    if name == "git":
        return _written_by_git(call, ground)
    if name in ("curl", "wget", "aria2c"):
        return _written_by_fetching(call)
    if name == "find":
        return [call.args[i + 1] for i, text in enumerate(call.texts[:-1]) if text in _FIND_OUTPUTS]
    if name in ("tar", "bsdtar"):
        return _written_by_tar(call)
    if name in ("unzip", "7z"):
        return list(options.all("-d")) + [Arg(t[2:], t) for t in call.texts if name == "7z" and t.startswith("-o")]
    if name == "ssh-keygen" and not options.has("-l", "-y", "-F", "-E"):
        return list(options.all("-f")) or [Arg(f"{ground.home}/.ssh/id_ed25519", "~/.ssh")]
    if name in CODE_FLAGS:
        return [arg for code in code_of(name, call.args, call.stdin) for arg in _written_by_code(code, ground)]
    return _named_outputs(call, ground)


def _named_outputs(call: Call, ground: Ground) -> list[Arg]:
    """The values of options that mostly name an output. Only a few programs are known to mean a file by them: of the
    others, what lies in the project may be a link, and what is written like a path is one.
    """
    if call.name in _OTHER_OUTPUTS:
        return []
    options = sort_options(call.args, "kotST" if call.name == "sort" else "o", _OUTPUT_LONG)
    found = [value for option, value in options.values if option in _OUTPUT_OPTIONS or option == "-o"]
    if call.name in _COMPILERS:  # their other options have an o in them
        found = [call.args[i + 1] for i, text in enumerate(call.texts[:-1]) if text in ("-o", "--output")]
        found += [Arg(text[2:], text) for text in call.texts if re.match(r"-o[^-]", text)]
    if call.name in _COMPILERS or call.name == "sort":
        return found
    return [
        value
        for value in found
        if value.text.startswith(("/", "~", "..", ground.home)) or ground.owns(ground.locate(value.text, call.cwd))
    ]


def _written_by_fetching(call: Call) -> list[Arg]:
    """The files that a download makes: by their names, or by the address, in the directory that is named for them."""
    name = call.name
    if name == "curl":
        options = sort_options(call.args, _shorts(name), _CURL_LONG)
        files, directory = options.all("-o", "--output"), options.value("--output-dir")
        others = options.all("-D", "--dump-header", "-c", "--cookie-jar")
        by_address = options.has("-O", "--remote-name", "--remote-name-all")
    elif name == "wget":
        options = sort_options(call.args, _shorts(name), _WGET_LONG)
        files, directory = options.all("-O", "--output-document"), options.value("-P", "--directory-prefix")
        others = options.all("-o", "--output-file", "-a", "--append-output")
        by_address = not files and directory is not None  # a file that is there is not written over, a new one is made
    else:
        options = sort_options(call.args, "od", "out dir")
        files, directory = options.all("-o", "--out"), options.value("-d", "--dir")
        others, by_address = (), directory is not None
    named = [*files, *(_by_address(options.operands) if by_address else ())]
    into = directory if name != "wget" or not files else None  # wget takes -O as it stands
    if into is not None:
        named = [into, *(replace(arg, text=f"{into.text}/{arg.text}") for arg in named)]
    return [arg for arg in (*named, *others) if arg.text != "-"]


def _by_address(operands: Iterable[Arg]) -> list[Arg]:
    """The names under which what stands at these addresses is kept."""
    found = []
    for arg in operands:
        name = re.split(r"[?#]", arg.text, maxsplit=1)[0].rpartition("/")[2]
        if name and "/" in arg.text:
            found.append(Arg(name, arg.source))
    return found


def _named_twice(operands: list[Arg], target: Arg | None, call: Call, ground: Ground) -> list[Arg]:
    """A hard link: where it is put, and guarded files, which could be changed by their second name later."""
    guarded = [arg for arg in operands if kind_of(ground.locate(arg.text, call.cwd), ground) in _GUARDED]
    last = operands[-1] if len(operands) > 1 else Arg(".", ".")
    return [*guarded, target or last] if operands else []


def _shorts(name: str) -> str:
    return {
        "curl": "oDcdFHXTuAebEKmrQtUxwyYzC",
        "wget": "OPoaeitTwQU",
        "sed": "ef",
        "unzip": "d",
        "ssh-keygen": "fNCtbmOIVzn",
        "tee": "",
        "mkdir": "m",
        "touch": "tdr",
        "truncate": "sr",
        "patch": "pidoBr",
    }.get(name, "o")


_OPENED_TO_WRITE = re.compile(
    r"open\(\s*[rf]?['\"]([^'\"\n]{1,300})['\"]\s*,\s*(?:mode\s*=\s*)?['\"][wax]"
    r"|(?:writeFileSync|writeFile|appendFileSync|file_put_contents|File\.write)\(\s*['\"]([^'\"\n]{1,300})['\"]"
)


_DELETED_IN_CODE = re.compile(r"(?:remove|unlink|unlinkSync|rmdir|File\.delete)\(\s*['\"]([^'\"\n]{1,300})['\"]")
_WRITES_IN_CODE = re.compile(
    r"write|['\"][wax]b?\+?['\"]|unlink|remove|rename|dump|chmod|copy|move|rmtree|mkdir|symlink"
)
_GUARDED = frozenset(
    {PathKind.TAPGATE, PathKind.AGENT, PathKind.DEVICE, PathKind.SYSTEM, PathKind.CREDENTIAL, PathKind.STARTUP}
)


def _written_by_code(code: str, ground: Ground) -> list[Arg]:
    """What code opens to write; and, if it writes anything at all, the guarded files that it names."""
    found = [Arg(match[1] or match[2]) for match in _OPENED_TO_WRITE.finditer(code)]
    if _WRITES_IN_CODE.search(code):
        named = (match[1] for match in islice(_LITERALS.finditer(code), 500))
        found += [Arg(text) for text in named if kind_of(ground.locate(text, UNKNOWN), ground) in _GUARDED]
    return found


def _written_by_git(call: Call, ground: Ground) -> list[Arg]:
    words = git_words(call.args)
    verb = words[0].text if words else ""
    options = sort_options(words[1:], "bojcuf", "branch origin depth reference template file config")
    if verb == "clone":
        return list(options.operands[1:2])
    if verb == "init":
        return list(options.operands[:1])
    if verb == "worktree" and options.operands[:1] and options.operands[0].text == "add":
        return list(options.operands[1:2])
    if verb in ("checkout", "restore"):
        texts = [arg.text for arg in words]
        return list(words[texts.index("--") + 1 :] if "--" in texts else options.operands if verb == "restore" else ())
    if verb == "config" and (
        len(options.operands) > 1 or options.has("--unset", "--add", "--replace-all", "-e", "--edit")
    ):
        if options.operands[0].text in ("get", "list"):
            return []
        if options.has("--global"):
            return [Arg(f"{ground.home}/.gitconfig", "~/.gitconfig")]
        if options.has("--system"):
            return [Arg("/etc/gitconfig", "/etc/gitconfig")]
        return list(options.all("-f", "--file"))
    return []


def _written_by_tar(call: Call) -> list[Arg]:
    texts = call.texts
    letters = (
        texts[0] if texts and not texts[0].startswith("-") else "".join(t for t in texts if re.match(r"-[a-zA-Z]", t))
    )
    options = sort_options(call.args, "fCXTIbg", "file directory exclude")
    if "x" in letters or "--extract" in texts:
        return list(options.all("-C", "--directory"))
    if "c" in letters or "--create" in texts:
        if not texts[0].startswith("-") and "f" in letters and len(call.args) > 1:
            return [call.args[1]]
        return [value for value in options.all("-f", "--file") if value.text != "-" and not is_remote(value.text)]
    return []


_NO_READERS = names(
    """
    ls ll dir exa eza tree stat test [ touch rm unlink rmdir mkdir chmod chown chgrp ln echo printf file basename
    dirname realpath readlink which type du df cd pushd popd export source . alias unalias set unset declare local
    readonly typeset wc sha1sum sha256sum sha512sum shasum md5sum md5 cksum ssh-add ssh-keygen ssh ssh-copy-id true
    false : sleep tee find fd kill pkill pgrep killall git docker podman kubectl npm yarn pnpm npx pip uv make man help
    info shred truncate trash mktemp mkfifo systemctl service launchctl sudo su doas hash return exit eval exec trap
    wait jobs terraform tofu helm gcloud aws az gh brew apt apt-get dnf yum pacman cargo go mvn gradle pytest jest
    eslint prettier ruff mypy tsc locate mdfind chattr setfacl xattr dd tapgate claude codex wget getfacl lsof fuser
    direnv dotenv
    """
)
_PATTERN_FIRST = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "sed", "awk", "gawk", "mawk", "jq", "yq"}
)
_SEARCH_VALUES = {"rg": "efmABCgtTdEM", "sed": "ef", "awk": "fFv", "gawk": "fFv", "mawk": "fFv", "jq": "", "yq": ""}
_SEARCH_LONG = "regexp file max-count after-context before-context context glob type include exclude"
_GETLINE = re.compile(r"getline[^<\n]{0,40}<\s*\"([^\"\n]{1,300})\"")
_LITERALS = re.compile(r"['\"]([^'\"\n]{1,300})['\"]")


def _read(call: Call) -> list[Arg]:
    name = call.name
    if name == "xargs":
        return list(sort_options(call.args, "InPLdEsa", "arg-file").all("-a", "--arg-file"))
    if name in CODE_FLAGS:
        found = [
            Arg(m[1], m[1]) for code in code_of(name, call.args, call.stdin) for m in _LITERALS.finditer(code[:65536])
        ]
        return found[:500]
    if name == "curl":
        return uploaded_by_curl(call)
    if name == "wget":
        options = sort_options(call.args, "OPoaeitTwQU", "post-file body-file")
        return list(options.all("--post-file", "--body-file"))
    if name == "dd":
        return [Arg(text[3:], text[3:]) for text in call.texts if text.startswith("if=")]
    if name == "git":
        return _read_by_git(call)
    if name == "openssl":
        return [
            call.args[i + 1] for i, text in enumerate(call.texts[:-1]) if text in ("-in", "-inkey", "-key", "-kfile")
        ]
    if name in _NO_READERS or not name:
        return []
    if name in _COPIERS:
        options = sort_options(call.args, *_COPY_VALUES)
        operands = options.operands if options.value("-t", "--target-directory") else options.operands[:-1]
        return [arg for arg in operands if not is_remote(arg.text)]
    if name in _PATTERN_FIRST:
        options = sort_options(call.args, _SEARCH_VALUES.get(name, "efmABCd"), _SEARCH_LONG)
        if name.endswith("awk"):
            return [
                *options.operands[1:],
                *(Arg(m[1]) for a in options.operands[:1] for m in _GETLINE.finditer(a.text)),
            ]
        given = options.has("-e", "-f", "--regexp", "--file") or (name in ("rg", "ag") and options.has("--files"))
        return list(options.operands if given else options.operands[1:])
    if name in ("tar", "bsdtar", "zip", "7z"):
        return [arg for arg in call.args[1:] if not arg.text.startswith("-")]
    # Of an unknown program only the plain operands: the value of an option is often a file that it uses, not shows.
    return [
        arg
        for index, arg in enumerate(call.args)
        if not arg.text.startswith("-")
        and (index == 0 or not call.texts[index - 1].startswith("-") or name in _SHOWERS)
    ]


_SHOWERS = names(
    "cat less more head tail bat tac nl od xxd hexdump strings base64 base32 cut sort uniq diff paste column fold fmt"
    " pr rev tr xargs view vim nvim vi nano code open gpg zcat bzcat xzcat batcat most"
)


def uploaded_by_curl(call: Call) -> list[Arg]:
    """The files that a curl reads to send them."""
    options = sort_options(call.args, "oDcdFHXTuAebEKmrQtUxwyYzC", _CURL_LONG)
    found: list[Arg] = []
    for name, value in options.values:
        text = value.text
        if name in ("-T", "--upload-file") and text not in ("-", "."):
            found.append(value)
        elif name in ("-d", "--data", "--data-binary", "--data-ascii", "--data-urlencode", "--json") and "@" in text:
            found.append(Arg(text.split("@", 1)[1], text) if text.startswith("@") or "urlencode" in name else Arg(""))
        elif name in ("-F", "--form") and re.search(r"=[@<]", text):
            found.append(Arg(re.split(r"=[@<]", text, maxsplit=1)[1].split(";")[0], text))
    return [arg for arg in found if arg.text and arg.text != "-"]


_CURL_LONG = (
    "output dump-header cookie-jar data form header request upload-file user user-agent referer cookie cert cacert key"
    " config max-time retry connect-timeout url data-binary data-ascii data-urlencode data-raw json output-dir proxy"
    " write-out range resolve form-string interface unix-socket"
)


def _read_by_git(call: Call) -> list[Arg]:
    words = git_words(call.args)
    verb = words[0].text if words else ""
    if verb not in ("add", "show", "diff", "blame", "annotate", "cat-file", "grep", "archive", "stage"):
        return []
    found = []
    for arg in sort_options(words[1:]).operands:
        _, colon, path = arg.text.partition(":")
        found.append(Arg(path, arg.text) if colon and verb in ("show", "cat-file") else arg)
    return found


def is_listing(arg: Arg) -> bool:
    """A name that another command gives: by `xargs`, or by `find -exec`."""
    return arg.text in ("{}", UNKNOWN) or arg.text.endswith("/" + UNKNOWN)
