"""What a name or a value says about itself: is it a secret's name, a placeholder, a reference, prose, random? Pure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import groupby


@dataclass(frozen=True, slots=True)
class SecretKind:
    """`said` goes into sentences ("a GitHub token"), `label` into the mask. Without `ends` nothing of it is shown."""

    said: str
    label: str = ""
    ends: bool = True

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.said.split(" ", 1)[1])


class Certainty(IntEnum):
    """How sure a name is. The less sure, the more the value has to look like a secret."""

    VAGUE = 1  # auth, sid: only mixed values
    FIRM = 2  # token, secret, api_key: not short words, not other things' names
    SURE = 3  # password: nearly anything


PASSWORD = SecretKind("a password")
TOKEN = SecretKind("a token")
SECRET = SecretKind("a secret")
KEY = SecretKind("a key")
PRIVATE_KEY = SecretKind("a private key", ends=False)
COOKIE = SecretKind("a cookie")
RANDOM = SecretKind("a likely secret")
NAMED = (PASSWORD, TOKEN, SECRET, KEY, PRIVATE_KEY, COOKIE, RANDOM)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _any_case(words: Iterable[str]) -> str:
    """Lower, Upper and Title, grouped by the first letter: several times faster than ignoring the case."""
    forms = sorted({form for word in words for form in (word, word.upper(), word.title())})
    groups = groupby(forms, key=lambda form: form[0])
    return "|".join(f"{first}(?:{'|'.join(form[1:] for form in rest)})" for first, rest in groups)


_SURE_ELSEWHERE = ("contraseña", "пароль", "密码")
CUE = re.compile(
    _any_case(
        _words("pass pwd secret token key auth cred cookie jwt bearer psk mnemonic sid session otp")
        | {*_SURE_ELSEWHERE}
    )
)
"""Every name that `name_says` knows holds one of these. A cheap first look over the text."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SURE_WORDS = ("password", "passwords", "passwd", "passphrase", "passcode", "passwort", "pwd")
_SURE_ENDINGS = ("password", "passwd", "passphrase", "pwd")
_FIRM_WORDS = {"secret": SECRET, "mnemonic": SECRET, "psk": KEY, "pass": PASSWORD}
_FIRM_WORDS |= {"token": TOKEN, "jwt": TOKEN, "bearer": TOKEN}
_FIRM_ENDINGS = (("token", TOKEN), ("secret", SECRET))
_VAGUE_WORDS = {"auth": SECRET, "authorization": SECRET, "creds": SECRET, "credential": SECRET, "credentials": SECRET}
_VAGUE_WORDS |= {"otp": SECRET, "sid": COOKIE, "session": COOKIE, "sessionid": COOKIE, "cookie": COOKIE}
# A key is a secret one when it belongs to one of these: a primary_key or a cache_key does not.
_KEY_OWNERS = _words(
    "access account admin aes api app application auth client consumer cookie deploy encrypt encryption hmac jwt "
    "license master preshared private rsa secret service session shared sign signing ssh storage subscription "
    "webhook"
)
# The last word of a name that is about a secret and does not hold one: PASSWORD_FILE, token_type, secretName.
_ABOUT = _words(
    "age alg algorithm arg args arn at attr attribute audience box btn budget button callback change changed "
    "check class cls column component config count data date days dict dir directory disabled duration enabled "
    "endpoint env error errors exists expiration expire expires expiry fd field file filename flag flags fn form "
    "format function generator group handler hasher header helper hint host icon id ids index info input issuer "
    "kind kwargs label len length limit list location manager map md message method middleware mode model msg "
    "name names namespace obj object options page param parameter params path pattern placeholder policy port "
    "prefix prompt provider ref regex request required requirements reset response role rotation rule rules "
    "schema scope scopes screen seconds set settings sha size source spec state status stdin store strength "
    "suffix test tests text time timeout title ttl type uri url usage validation validator var version view "
    "visible"
)
# Words that make a name harmless wherever they stand: max_token, is_password, pad_token, publicKey.
_HARMLESS = _words(
    "allow bos cancellation cls eos expired forgot has hide invalid is max min missing needs next num pad prev "
    "public requires sep show skip total unk use wrong"
)

_HEX = re.compile(r"[0-9a-fA-F/_-]+")
_MASKED_BY_HAND = re.compile(r"(?i)x{5,}|\*{3,}|\.{3,}|…|•{3,}|#{4,}")
_PLACEHOLDER = re.compile(
    r"(?i)(?:change[-_ ]?(?:me|it|this)!?|replace[-_ ]?me|fill[-_ ]?me|fixme|todo|tbd|placeholder|examples?|samples?"
    r"|dummy|fake|testing|foo|bar|baz|foobar|redacted|hidden|masked|removed|omitted|unset|unknown|empty|default|inherit"
    r"|include|none|null|nil|undefined|nan|true|false|yes|no|on|off|auto|required|optional|any|void|never|object|number"
    r"|boolean|bool|int|integer|float|bytes|string|str|text|secretstr|char|varchar|uuid|date|hash|same-origin|omit"
    r"|(?:(?:the|my|some|an?)[-_ ])?(?:new|old|api|access|auth|secret|private|client|github|bot|user|db|root|admin)?"
    r"[-_ ]?(?:pass|passwd|password|passphrase|token|secret|secrets|key|keys|apikey|credentials?|pwd)"
    r"|your.*|(?:enter|insert|paste|replace|change)[-_ ].*|.*[-_ ](?:here|example|placeholder|changeme|redacted)"
    r"|(?:example|dummy|fake|sample|placeholder)[-_.].*|x{3,}|(.)\1*)\??"
)
_DOCUMENTED = re.compile(r"EXAMPLE(?:KEY)?$")  # the ending of the keys in AWS's own documentation
_REFERENCE = re.compile(
    r"(?:\$[A-Za-z_]\w*+(?::\w++)*+)++|\$[0-9@*?#]|\$\{.*|\$\(.*|\{\{.*|\{[^{}]*\}|\#\{.*|%\w+%|%\(\w+\)s|%-?[sdrvq]"
    r"|@\w+@|<[^<>]*>|\[[^\]]*\]|\#[0-9a-fA-F]{3,8}"  # the last is a colour
    r"|(?:op|vault|env|file|keyring|awssm|ssm|secretref|secret)://?.*|(?:env|vault|ssm|file):.*|arn:aws.*|![A-Za-z].*"
    r"|ssh-(?:rsa|dss|ed25519).*|projects/[^/]+/secrets/.*|&[a-z]\w*|\*[a-z]\w*",
    re.DOTALL,
)
_VARIABLE = re.compile(r"\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})|\$?\{\{[^{}]*\}\}|<[A-Za-z _-]+>")
_PATH = re.compile(
    r"(?:~|\.{1,2}|\$\w+)?/[\w.@~+-]+(?:/[\w.@~+-]*)*|[A-Za-z]:[\\/].*|[\w-]+(?:/[\w-]+)*\.(?:asc|cer|cfg|conf"
    r"|crt|css|db|env|gpg|gz|html?|ini|jks|js|json|key|lock|log|md|p12|pem|pfx|pub|py|sh|sql|sqlite|toml|ts|txt|xml|ya?ml|zip)"
)
_PLAIN = re.compile(r"_*[A-Za-z]+(?:[-_./: ]{1,2}[A-Za-z]+)*[_.,:;!?]*")  # a word, or a name made of words
_PROSE = re.compile(
    r"(?i)\b(?:your?|the|an?|is|are|was|must|should|enter|forgot|forgotten|invalid|incorrect|wrong|missing|please|confirm"
    r"|reset|new|current|required|cannot|can't|not|to|for|of|and|or|in|with|does|do|field|choose|show|hide)\b"
)
_LEADING_PROSE = _words(
    "a an and are argument as at by can command does environment field file flag for from given if in instead "
    "into is it may must not of on option options or parameter prompt required requires set should that the then "
    "this to used value was when which will with without"
)

_OPAQUE = re.compile(r"(?:base64:)?[^\W_][\w.~+/=@%^!#?*,-]*+")
_STATEMENT = re.compile(r"[A-Za-z_$][\w$.]*+[-+*%^?]?=[^=].*")  # user.is_admin=1; a token ends with its equals signs
_SPOKEN = re.compile(r"[^\W_][\w ~=%^!#?*,&.+-]*+")  # a password that was given as one: signs and blanks, no path
_SLASH_EVERY = 8  # characters at least: base64 has one in 64, a path of short names has more
_MOST_OPAQUE = 4096
_HOST = re.compile(
    r"(?:[\w.+-]+@)?(?:(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,24}|\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d+)?(?:/.*)?"
    r"|\w[\w.-]*:\d{1,5}(?:/.*)?"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
# Words that run something when they stand where a command stands.
_COMMANDS = _words(
    "apt ash awk bash bat brew bun cargo cat cc chmod chown chroot clear cmd cp crontab csh curl dash date dd deno df"
    " dig docker doas env eval exec exit export fish fdisk find ftp gcc gdb git go grep halt id init ip iptables java"
    " kill killall ksh kubectl launchctl ln login logout ls lua make mkdir mkfs mount mv nano nc ncat netcat nft nmap"
    " node npm npx nslookup open osascript passwd perl php ping pip pipx pkill pnpm poweroff ps pwd pwsh python python2"
    " python3 reboot rm rmdir rsync ruby run scp screen sed service sh shred shutdown sleep socat source ssh start stop"
    " strace su sudo sync systemctl tar tcsh tee telnet tmux top touch trap truncate umount unlink uv vi vim visudo"
    " wget who whoami wipefs xargs yarn yes zip zsh"
)

RANDOM_LENGTHS = range(20, 129)
"""Longer runs are data (images, certificates, fixtures), shorter ones are too often names."""
RANDOM_BITS = 3.4
"""Shannon bits a character. Runs of few characters stay below it: drawings, tables, rulers."""
RANDOM_PIECE = 3.0
"""Characters in a piece (Abc, ABC, abc, 12), on average: 1.9 in random base62, 2.5 in base36, above 3.1 in names."""
ONE_CASE_PIECE = 4.5
"""Where all letters have one case, as in base32, their runs are longer. Three runs of digits are asked for then."""
_SEPARATED = 8  # a separator in so many characters makes it a name: random base64url has one in 32
_DIGITS = re.compile(r"\d+")
_SEPARATORS = re.compile(r"[-_/+]")


def name_says(name: str) -> tuple[Certainty, SecretKind] | None:
    """Whether a variable, field, flag or header of this name holds a secret, and what to call it."""
    return _name_says(name[-96:])  # its end tells, and the cache stays small


@lru_cache(maxsize=2048)
def _name_says(name: str) -> tuple[Certainty, SecretKind] | None:
    if any(word in name.lower() for word in _SURE_ELSEWHERE):
        return Certainty.SURE, PASSWORD
    words = [word.lower() for word in _WORDS.findall(name)]
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    if not words or words[-1] in _ABOUT or not _HARMLESS.isdisjoint(words):
        return None
    for word in words:
        if word in _SURE_WORDS or word.endswith(_SURE_ENDINGS):
            return Certainty.SURE, PASSWORD
    key = _key_says(words)
    if key is not None:
        return Certainty.FIRM, key
    for word in reversed(words):
        if word in _FIRM_WORDS and (word != "pass" or word == words[-1]):
            return Certainty.FIRM, _FIRM_WORDS[word]
        for ending, kind in _FIRM_ENDINGS:
            if word.endswith(ending):
                return Certainty.FIRM, kind
    if words[-1] in _VAGUE_WORDS:
        return Certainty.VAGUE, _VAGUE_WORDS[words[-1]]
    return None


def _key_says(words: list[str]) -> SecretKind | None:
    for index, word in enumerate(words):
        owner = words[index - 1] if word == "key" and index else word.removesuffix("key") if word != "key" else ""
        if owner != word and owner in _KEY_OWNERS:
            return PRIVATE_KEY if owner == "private" else KEY
    return None


def is_reference(value: str) -> bool:
    """It names where the secret is, and is not the secret: $TOKEN, ${{ secrets.X }}, <your-token>, op://vault/item."""
    return _REFERENCE.fullmatch(value) is not None


def is_variable(value: str) -> bool:
    """A reference that cannot be anything else, for places where all the rest is hidden."""
    return _VARIABLE.fullmatch(value) is not None


def is_placeholder(value: str) -> bool:
    """It stands where a secret would: changeme, xxx, your-token-here, sk-…"""
    if _DOCUMENTED.search(value) or _MASKED_BY_HAND.search(value):
        return True
    return len(value) <= 80 and _PLACEHOLDER.fullmatch(value) is not None


def is_monotonous(value: str) -> bool:
    """Tokens in documentation: ghp_000000…, AKIAAAAA…"""
    return len(set(value)) <= 5 and len(value) >= 12


def is_prose(value: str) -> bool:
    """A label or a message, as in `"password": "Enter your password"`. Only what has spaces can be prose."""
    return " " in value and len(value) <= 300 and _PROSE.search(value) is not None


def is_prose_word(word: str) -> bool:
    """The word behind a flag in a sentence: "--password is required"."""
    return word.rstrip(".,:;!?").lower() in _LEADING_PROSE


def is_path(value: str) -> bool:
    """Base64 may begin with a slash, too, but its pieces are shorter."""
    return _PATH.fullmatch(value) is not None and (len(value) < 20 or piece(value) > RANDOM_PIECE)


def is_opaque(value: str) -> bool:
    """One token without a meaning of its own: no blanks, quotes and operators in it, no path, no host, no command.

    Only such a value may be hidden because of nothing but its name: the name is the agent's choice.
    """
    if len(value) > _MOST_OPAQUE:
        return False
    if "/" in value:
        is_dense = value.count("/") * _SLASH_EVERY > len(value)
        return _BASE64.fullmatch(value) is not None and _is_mixed_base64(value) and not is_dense and not is_path(value)
    return _OPAQUE.fullmatch(value) is not None and _has_no_meaning(value)


def is_given_secret(value: str) -> bool:
    """What a header, an address or a program's option says to be a secret: one opaque token, or a password's words.

    The same holds for it as for `is_opaque`, but that there may be blanks and & in it. With blanks it is more than one
    token, and risk/hidden.py names that.
    """
    is_spoken = len(value) <= _MOST_OPAQUE and _SPOKEN.fullmatch(value) is not None and _has_no_meaning(value)
    return is_spoken or is_opaque(value)


def _has_no_meaning(value: str) -> bool:
    return not _HOST.fullmatch(value) and not _STATEMENT.fullmatch(value) and value.lower() not in _COMMANDS


def _is_mixed_base64(value: str) -> bool:
    has_digit = any(character.isdigit() for character in value)
    return has_digit and value.lower() != value and value.upper() != value


def is_plain(value: str) -> bool:
    """Letters only, in one word or several: as likely the name of something as a secret."""
    return _PLAIN.fullmatch(value) is not None


def is_mixed(value: str) -> bool:
    """Letters with digits, or with signs that names do not have."""
    has_letter = any(character.isalpha() for character in value)
    return has_letter and any(character.isdigit() or character in "!@#$%^*+=?~" for character in value)


def is_made(value: str) -> bool:
    """Short and under a vague name: not made of words."""
    return is_mixed(value) and " " not in value and _DIGITS.search(value) is not None and piece(value) <= RANDOM_PIECE


def is_random(value: str) -> bool:
    """A run that nobody typed: long, digits among letters, many characters, mixed. Hashes and UUIDs are not meant."""
    body = value.rstrip("=")
    if len(body) not in RANDOM_LENGTHS or _HEX.fullmatch(body) or bits(body) < RANDOM_BITS:
        return False
    if len(_SEPARATORS.findall(body)) * _SEPARATED > len(body) or not any(map(str.isalpha, body)):
        return False
    if body.lower() != body and body.upper() != body:
        return _DIGITS.search(body) is not None and piece(body) <= RANDOM_PIECE
    return len(_DIGITS.findall(body)) > 2 and piece(body) <= ONE_CASE_PIECE


def bits(value: str) -> float:
    """Shannon entropy, in bits a character."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())


def piece(value: str) -> float:
    """How long the pieces are of which it is made, on average. Words are longer than what chance makes."""
    return len(value) / max(1, len(_WORDS.findall(value)))
