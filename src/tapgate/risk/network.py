"""Addresses and transfers: where a call fetches from, where it sends to, and what kind of address that is."""

from __future__ import annotations

import ipaddress
import posixpath
import re
from urllib.parse import unquote

from tapgate.risk.files import is_remote, uploaded_by_curl
from tapgate.shell.calls import UNKNOWN, Arg, Call, names, sort_options
from tapgate.shell.interpreters import CODE_FLAGS, code_of
from tapgate.shell.wrappers import git_words

FETCHERS = names("curl wget fetch aria2c http https xh lynx w3m axel links elinks ftp tftp")
_SOCKETS = names("nc ncat netcat socat telnet")
_MAILERS = names("mail mailx sendmail mutt msmtp swaks")
_RESOLVERS = names("dig nslookup host ping drill")
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s\"'<>|\\]+")
_METADATA_NAMES = names("metadata.google.internal metadata metadata.goog instance-data metadata.azure.internal")
_METADATA_ADDRESSES = frozenset({"169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254"})


def urls_in(text: str) -> list[str]:
    return _URL.findall(text[:16384])[:32] if "://" in text else []


def host_of(url: str) -> str:
    """The host of a URL, without a port or a user, in lower case."""
    rest = url.split("://", 1)[-1].replace("\\", "/")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    host = unquote(authority.rsplit("@", 1)[-1]).lower()
    if host.startswith("["):
        return host[1:].split("]", 1)[0]
    return host.rsplit(":", 1)[0].rstrip(".") if host.count(":") == 1 else host.rstrip(".")


def user_in(url: str) -> str:
    """`user:password` or a token that stands in a URL before its host; a bare `git@` is no secret."""
    rest = url.split("://", 1)[-1]
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if "@" not in authority:
        return ""
    user = authority.rsplit("@", 1)[0]
    return user if ":" in user or len(user) > 15 or user.startswith(("ghp_", "glpat-", "x-access-token")) else ""


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Also the forms that browsers and curl take: 0x7f.1, 2130706433, 017700000001."""
    host = host.split("%", 1)[0]
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    parts = host.split(".")
    if not 1 <= len(parts) <= 4 or not all(re.fullmatch(r"0x[0-9a-f]{1,8}|\d{1,11}", part) for part in parts):
        return None
    try:
        numbers = [
            int(p, 16) if p.startswith("0x") else int(p, 8) if p[0] == "0" and p != "0" else int(p) for p in parts
        ]
    except ValueError:
        return None
    *heads, last = numbers
    value = last + sum(head << (24 - 8 * index) for index, head in enumerate(heads))
    if any(head > 255 for head in heads) or last >= 1 << (8 * (5 - len(parts))):
        return None
    return ipaddress.IPv4Address(value)


def kind_of_host(host: str) -> str:
    """ "metadata", "loopback", "private", or "" for the public network."""
    if host in _METADATA_NAMES or host in _METADATA_ADDRESSES:
        return "metadata"
    if host == "localhost" or host.endswith(".localhost"):
        return "loopback"
    if host.endswith((".local", ".internal", ".lan", ".home.arpa", ".intranet", ".corp")):
        return "private"
    address = address_of(host)
    if address is None:
        return ""
    mapped = getattr(address, "ipv4_mapped", None)
    address = mapped or address
    if str(address) in _METADATA_ADDRESSES:
        return "metadata"
    if address.is_loopback or address.is_unspecified:
        return "loopback"
    return "private" if address.is_private or address.is_link_local or address.is_reserved else ""


def is_here(host: str) -> bool:
    return kind_of_host(host) == "loopback"


_CURL_VALUES = (
    "oDcdFHXTuAebEKmrQtUxwyYzC",
    "output dump-header cookie-jar data form header request upload-file user user-agent referer cookie cert cacert key"
    " config max-time retry connect-timeout data-binary data-ascii data-urlencode data-raw json output-dir proxy"
    " write-out range resolve form-string interface unix-socket method body-data post-data post-file body-file",
)


def targets_of(call: Call) -> list[str]:
    """The URLs of a call; curl and wget also take them without their scheme."""
    found = [url for arg in call.args for url in urls_in(arg.text)]
    if not found and call.name in FETCHERS:
        found = [
            arg.text
            for arg in sort_options(call.args, *_CURL_VALUES).operands
            if "." in arg.text or UNKNOWN in arg.text
        ]
    return found


def connects(call: Call) -> bool:
    """Whether the addresses among its words are addresses that it goes to, not ones that it talks about."""
    if call.name == "git":
        words = git_words(call.args)
        return bool(words) and words[0].text in _GIT_CONNECTS
    return call.name in FETCHERS or call.name in CODE_FLAGS or call.name in _SOCKETS or call.name in _CLIENTS


_GIT_CONNECTS = names("clone fetch pull push remote ls-remote submodule archive")
_CLIENTS = names(
    "psql mysql mongosh mongo redis-cli pip npm yarn pnpm uv docker gh ftp sftp lftp aws svn hg rclone ssh"
)


def is_download(call: Call) -> bool:
    """Whether its output comes from another machine."""
    words = call.texts
    if call.name in FETCHERS:
        hosts = [host_of(url) for url in targets_of(call)]
        return not hosts or not all(is_here(host) for host in hosts)
    return (
        (call.name == "gh" and words[:1] in (("api",), ("gist",)))
        or (call.name in ("aws", "gsutil") and "cp" in words and words[-1:] == ("-",))
        or (call.name in _SOCKETS and not any(text.startswith("-") and "l" in text for text in words))
        or (call.name == "ssh" and call.wraps)
        or any("/dev/tcp/" in stream.target.text for stream in call.streams if stream.operator.startswith("<"))
    )


def source_of(call: Call) -> str:
    """For people: where a download comes from."""
    targets = targets_of(call)
    host = host_of(targets[0]) if targets else ""
    return host.replace(UNKNOWN, "…")[:80] if host.strip(UNKNOWN) else "the network"


def saved_by(call: Call) -> list[Arg]:
    """The files in which a download ends up."""
    if call.name not in FETCHERS or not is_download(call):
        return []
    found = [s.target for s in call.streams if s.operator in (">", ">>", ">|") and s.fd in ("", "1")]
    options = sort_options(call.args, *(_CURL_VALUES if call.name != "wget" else ("OPoaeitTwQU", "output-document")))
    named = list(options.all("-o", "--output") if call.name != "wget" else options.all("-O", "--output-document"))
    found += [arg for arg in named if arg.text not in ("-", "/dev/null")]
    if not named and (call.name == "wget" or options.has("-O", "--remote-name", "--remote-name-all")):
        bases = [posixpath.basename(re.split(r"[?#]", url, maxsplit=1)[0]) for url in targets_of(call)]
        found += [Arg(base, base) for base in bases if base]
    return found


_SENDING_CODE = re.compile(
    r"requests\.|urlopen|\bfetch\(|http\.request|httpx\.|axios|Net::HTTP|HTTP\.post|curl_exec|LWP|socket|aiohttp|smtplib"
)


def sends_to(call: Call) -> str:
    """Where a call would send what it is given. Empty for one that sends nothing, or only to this machine."""
    words = call.texts
    if call.name in ("curl", "wget", "http", "https", "xh"):
        hosts = [host_of(url) for url in targets_of(call)]
        if not hosts or all(is_here(host) for host in hosts):
            return ""
        return next((host for host in hosts if not is_here(host)), "")
    if call.name in _SOCKETS:
        operands = sort_options(call.args, "pswWXx").operands
        host = operands[0].text if operands else ""
        host = re.sub(r"^[A-Za-z0-9-]+:", "", host).split(":")[0].split(",")[0] if call.name == "socat" else host
        listens = any(re.match(r"-\w*[lU]", text) for text in words) or "LISTEN" in " ".join(words).upper()
        return "" if listens or is_here(host) or not host else host
    if call.name in CODE_FLAGS:
        for code in code_of(call.name, call.args, call.stdin):
            hosts = [host_of(url) for url in urls_in(code)] if _SENDING_CODE.search(code) else []
            if hosts and not all(is_here(host) for host in hosts):
                return next(host for host in hosts if not is_here(host))
    if call.name == "openssl" and "s_client" in words and "-connect" in words[:-1]:
        return words[words.index("-connect") + 1].split(":")[0]
    if call.name == "ssh" and (call.feeds or any(stream.operator == "<" for stream in call.streams)):
        operands = sort_options(call.args, "BbcDEeFIiJLlmOopQRSWw").operands
        return operands[0].text if operands and not is_here(operands[0].text) else ""
    if call.name == "git" and "push" in words:
        return next((host_of(text) for text in words if "://" in text), "")
    if call.name in ("scp", "rsync", "sftp"):
        operands = sort_options(call.args, "ePpoicFJlS", "rsh exclude include port").operands
        target = operands[-1].text if operands else ""
        remote = len(operands) > 1 and is_remote(target) and not is_here(re.split(r"[@:]", target)[0])
        return target.split(":")[0] if remote else ""
    if call.name in _MAILERS:
        return next((text for text in words if "@" in text), "a mailbox")
    if call.name in _RESOLVERS:
        return next((text for text in reversed(words) if "." in text), "") if any(a.inner for a in call.args) else ""
    if call.name == "gh" and words[:2] == ("gist", "create"):
        return "a gist"
    if call.name == "aws" and "s3" in words and words[-1:] and words[-1].startswith("s3://"):
        return words[-1]
    if call.name in ("gsutil", "gcloud", "rclone", "az") and words and re.match(r"gs://|[\w-]+:[^/]|s3://", words[-1]):
        return words[-1]
    for stream in call.streams:
        match = re.match(r"/dev/(?:tcp|udp)/([^/]+)", stream.target.text)
        if match and ">" in stream.operator and not is_here(match[1]):
            return match[1]
    return ""


def uploads_of(call: Call) -> list[Arg]:
    """The files that it sends away, by name."""
    if call.name == "curl":
        return uploaded_by_curl(call)
    if call.name == "wget":
        return list(sort_options(call.args, "OPoaeitTwQU", "post-file body-file").all("--post-file", "--body-file"))
    if call.name in ("http", "https", "xh"):
        return [Arg(text.split("@", 1)[1], text) for text in call.texts if re.match(r"[\w.-]*@[./~\w]", text)]
    if call.name in ("scp", "rsync"):
        operands = sort_options(call.args, "ePpoicFJlS", "rsh exclude include port").operands
        return [arg for arg in operands[:-1] if not is_remote(arg.text)]
    if call.name in ("aws", "gsutil", "rclone", "gcloud", "az"):
        return [arg for arg in call.args[:-1] if re.match(r"[.~/]|\w[\w-]*[./]", arg.text)]
    if call.name == "gh":
        return [arg for arg in call.args[2:] if not arg.text.startswith("-")]
    if call.name in _SOCKETS or call.name == "ssh" or call.name in _MAILERS:
        return [stream.target for stream in call.streams if stream.operator == "<"]
    return []
