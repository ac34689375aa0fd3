"""What secrets look like by themselves or by their surroundings: the providers' tokens, URLs, headers, options. Pure.

Every pattern is safe on hostile text: it starts with something that its own repetition does not contain, or ends with
what it repeats, or repeats a bounded number of times. `cues` are literals of which one must be in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tapgate.masking.names import PASSWORD, TOKEN, SecretKind

URL_PASSWORD = SecretKind("a password in a URL", "password")
URL_SECRET = SecretKind("a secret in a URL", "secret")
AUTHORIZATION = SecretKind("a login in a header", "login")
AWS_SECRET = SecretKind("an AWS secret key")


@dataclass(frozen=True, slots=True)
class Shape:
    """The group `secret` is hidden, or all of the match where there is none."""

    kind: SecretKind
    pattern: re.Pattern[str]
    cues: tuple[str, ...]
    digits: int = 0  # at least so many, where the rest of the shape could be words as well
    least: int = 3
    words: bool = True  # letters only may be a secret here
    opaque: bool = False  # only one opaque token is, as what stands around it is a mere name
    only: re.Pattern[str] | None = None  # where this stands before it, in the same line


def _at_start(literal: str) -> str:
    """At a word's start, also behind the \\n of an escaped text. The literal comes first: that is searched for fast."""
    escaped = re.escape(literal)
    return rf"{escaped}(?:(?<![A-Za-z0-9_-]{escaped})|(?<=\\[nrt]{escaped}))"


_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_W = "[A-Za-z0-9_-]"  # base64url
_A = "[A-Za-z0-9]"


def _shape(said: str, pattern: str, *cues: str, digits: int = 0) -> Shape:
    return Shape(SecretKind(said), re.compile(pattern), cues, digits)


TOKENS = (
    _shape("a GitHub token", rf"gh[pousr]_{_A}{{30,}}+", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _shape("a GitHub token", r"github_pat_\w{22,}+", "github_pat_"),
    _shape("a GitLab token", r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt)-[A-Za-z0-9_.-]{20,}+", "gl", digits=1),
    _shape(
        "a Slack token",
        r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}+|xapp-\d-[A-Za-z0-9-]{20,}+",
        "xox",
        "xapp-",
        digits=1,
    ),
    _shape(
        "a Slack webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/]{20,}+)",
        "hooks.slack",
    ),
    _shape("a Discord webhook", rf"discord(?:app)?\.com/api/webhooks/\d+/(?P<secret>{_W}{{20,}}+)", "/api/webhooks/"),
    _shape(
        "a Discord token",
        rf"{_START}(?:M[Tjz]|N[DTjz]|O[DT]){_A}{{21,29}}\.{_W}{{6}}\.{_W}{{27,}}+",
        ".",
        digits=2,
    ),
    _shape("a Stripe key", rf"[rs]k_(?:live|test|prod)_{_A}{{10,}}+", "k_live_", "k_test_", "k_prod_"),
    _shape("a Stripe webhook secret", r"whsec_[A-Za-z0-9+/=]{20,}+", "whsec_"),
    _shape("an Anthropic key", rf"sk-ant-{_W}{{16,}}+", "sk-ant-"),
    _shape("an OpenRouter key", rf"sk-or-{_W}{{16,}}+", "sk-or-"),
    _shape("an OpenAI key", rf"{_at_start('sk-')}(?!ant-|or-){_W}{{20,}}+", "sk-", digits=3),
    _shape(
        "an AWS access key",
        r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Z0-9])",
        "AKIA",
        "ASIA",
        "ABIA",
        "ACCA",
    ),
    _shape("a Google key", rf"AIza{_W}{{35}}(?!{_W})", "AIza"),
    _shape(
        "a Google OAuth token",
        rf"ya29\.{_W}{{20,}}+|GOCSPX-{_W}{{20,}}+|{_at_start('1//0')}{_W}{{30,}}+",
        "ya29.",
        "GOCSPX-",
        "1//0",
    ),
    _shape("an npm token", rf"npm_{_A}{{30,}}+", "npm_"),
    _shape("a PyPI token", rf"pypi-{_W}{{32,}}+", "pypi-", digits=2),
    _shape("a RubyGems key", r"rubygems_[0-9a-f]{40,}+", "rubygems_"),
    _shape("a Docker token", rf"dckr_[po]at_{_W}{{20,}}+", "dckr_"),
    _shape("a Telegram bot token", rf"(?<!\d)\d{{6,12}}:A{_W}{{30,}}+", ":A", digits=2),
    _shape("a Twilio key", rf"{_at_start('SK')}[0-9a-f]{{32}}(?!{_A})", "SK"),
    _shape("a SendGrid key", rf"SG\.{_W}{{16,64}}\.{_W}{{16,}}+", "SG."),
    _shape("a Mailgun key", rf"{_at_start('key-')}[0-9a-f]{{32}}(?!{_A})", "key-"),
    _shape("a Mailchimp key", r"(?<![0-9a-f])[0-9a-f]{32}-us\d{1,2}(?!\w)", *(f"-us{digit}" for digit in range(1, 10))),
    _shape("a Hugging Face token", rf"(?:{_at_start('hf_')}|api_org_){_A}{{30,}}+", "hf_", "api_org_", digits=1),
    _shape("a Groq key", rf"gsk_{_A}{{32,}}+", "gsk_"),
    _shape("an xAI key", rf"xai-{_A}{{32,}}+", "xai-"),
    _shape("a Perplexity key", rf"pplx-{_A}{{32,}}+", "pplx-"),
    _shape("a Replicate token", rf"{_at_start('r8_')}{_A}{{32,}}+", "r8_"),
    _shape("a DigitalOcean token", r"do[opr]_v1_[0-9a-f]{32,}+", "_v1_"),
    _shape("a Databricks token", rf"{_at_start('dapi')}[0-9a-f]{{32}}(?:-\d)?", "dapi"),
    _shape("a Vault token", rf"hv[sbr]\.{_W}{{20,}}+", "hvs.", "hvb.", "hvr."),
    _shape("a Terraform token", rf"{_START}{_A}{{14}}\.atlasv1\.{_W}{{40,}}+", ".atlasv1."),
    _shape("a Doppler token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_.-]{32,}+", "dp."),
    _shape("a Linear key", rf"lin_(?:api|oauth)_{_A}{{32,}}+", "lin_"),
    _shape("a Notion token", rf"ntn_{_A}{{32,}}+|{_at_start('secret_')}{_A}{{43}}(?!{_A})", "ntn_", "secret_"),
    _shape("a Shopify token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}+", "shp"),
    _shape("a Square token", rf"sq0(?:atp|csp)-{_W}{{22,}}+", "sq0"),
    _shape("an Atlassian token", rf"ATATT3{_W}{{40,}}+=?{_A}{{0,8}}", "ATATT3"),
    _shape("a Grafana token", r"gl(?:sa|c)_[A-Za-z0-9_+/=]{32,}+", "glsa_", "glc_"),
    _shape("a Sentry token", r"sntry[su]_[A-Za-z0-9_+/=]{32,}+", "sntry"),
    _shape("a New Relic key", rf"NRA[AK]-{_A}{{20,}}+", "NRAK-", "NRAA-"),
    _shape("a Supabase key", rf"sbp_[0-9a-f]{{32,}}+|sb_secret_{_W}{{20,}}+", "sbp_", "sb_secret_"),
    _shape("a PlanetScale password", rf"pscale_(?:tkn|pw|oauth)_{_W}{{32,}}+", "pscale_"),
    _shape("a Tailscale key", rf"tskey-[a-z]{{2,12}}-{_W}{{16,}}+", "tskey-"),
    _shape("a Fly.io token", r"fm[12][ar]?_[A-Za-z0-9+/=,_-]{40,}+|fo1_[A-Za-z0-9_-]{32,}+", "fm1", "fm2", "fo1_"),
    _shape("an Azure client secret", rf"{_START}[A-Za-z0-9_~.]{{3}}\dQ~[A-Za-z0-9_~.-]{{31,34}}(?!{_W})", "Q~"),
    _shape("an Alibaba key", rf"{_at_start('LTAI')}{_A}{{16,20}}(?!{_A})", "LTAI"),
    _shape("a JWT", rf"{_at_start('eyJ')}{_W}{{8,}}+\.{_W}{{8,}}+(?:\.{_W}*+)?", "eyJ"),
    _shape("an age key", r"AGE-SECRET-KEY-1[A-Za-z0-9]{20,}+", "AGE-SECRET-KEY-1"),
)


_TEXT = r"[^\s\"'`\\;|&<>]"  # of a value without quotes in a command
_PART = r"[^\s\"'`\\;|&<>,(){}\[\]]"
_WORD = rf"(?:\"(?P<dq>[^\"\n\\]++)\"|'(?P<sq>[^'\n]++)'|(?P<secret>(?!-){_TEXT}++))"
_B = r"[ \t]++"
_Q = r"(?:\\{0,7}[\"'])?"  # a quote, escaped in JSON, or in JSON in JSON
_MYSQL = r"(?:mysql|mariadb)(?:dump|admin|import|check|-dump|-admin)?"
_CLIENT = r"(?<![\w.])(?<!\w-)(?:curl|wget|https?|xh|aria2c)[ \t](?:[^\"';|&()]|\"[^\"]*\"|'[^']*')*\Z"
SCHEME = re.compile(r"(?i:bearer|basic|token|digest|api-?key|negotiate|key|aws4-hmac-sha256)[ \t]++")


def _option(tools: str, option: str) -> str:
    """The option within the tool's command. It stops at the tool's next mention, which is searched from again."""
    return rf"(?<![\w.])(?<!\w-)(?:{tools})\b(?:(?!\b(?:{tools})\b)(?:[^\n|;&]|\\\n))*?[ \t]{option}"


def _context(
    kind: SecretKind,
    pattern: str,
    *cues: str,
    digits: int = 0,
    least: int = 3,
    words: bool = True,
    opaque: bool = False,
    only: str = "",
) -> Shape:
    return Shape(kind, re.compile(pattern), cues, digits, least, words, opaque, re.compile(only) if only else None)


CONTEXTS = (
    _context(URL_PASSWORD, r"://[^\s/?#\\:@\"'`<>]*+:(?P<secret>[^\s/?#\\\"'`<>]+)@(?=[\w\[${%-])", "://", least=1),
    _context(
        AWS_SECRET,
        r"A[KS]IA[A-Z2-7]{16}[\s:,;\"'/]{1,4}(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
        "AKIA",
        "ASIA",
    ),
    _context(
        AUTHORIZATION,
        r"(?i:authorization)(?:\\{0,7}[\"'])?[ \t]*+[:=,][ \t]*+(?:[bfru]?\\{0,7}[\"'])?"
        rf"(?:{SCHEME.pattern})?+(?![a-z_]++=)(?P<secret>{_PART}++)(?![(\[])",
        "uthorization",
        "UTHORIZATION",
        least=8,
        words=False,
    ),
    _context(
        AUTHORIZATION,  # base64 may be letters only, but then it is not a word
        r"(?i:authorization: basic )(?P<secret>(?![A-Z]?[a-z]++(?![A-Za-z]))[A-Za-z0-9+/]{4,}+={0,2})",
        "asic ",
        "ASIC ",
    ),
    _context(
        AUTHORIZATION,  # of a Digest, of AWS
        r"(?<![\w-])(?i:signature|response)=\\{0,7}\"?(?P<secret>[0-9a-fA-F]{32,}+)",
        "ignature=",
        "response=",
    ),
    _context(  # not between other words: there it is an operand like any other
        TOKEN,
        r"(?:(?<=[\"'`:=(,])|(?<=[:=,] )|(?m:^)[ \t]{0,20}+)(?i:bearer)[ \t]++(?P<secret>[A-Za-z0-9._~+/=-]{16,}+)",
        "earer ",
        "EARER ",
        digits=1,
    ),
    _context(
        PASSWORD,
        rf"(?<!\S)(?:-u|--user|--proxy-user|-U)(?:{_B}|=)?{_Q}[^\s:\"'`$/\\]++:(?!//|\d++(?!\S))(?P<secret>{_TEXT}++)",
        " -u",
        " --user",
        " --proxy-user",
        " -U",
        only=_CLIENT,
    ),
    _context(PASSWORD, _option(_MYSQL, "-p") + _WORD, "mysql", "mariadb"),
    # A blank behind -p makes mysql ask, and the word is a database. People forget that.
    _context(PASSWORD, _option(_MYSQL, "-p") + _B + _WORD, "mysql", "mariadb", words=False),
    _context(PASSWORD, _option("sshpass|7za?|rar|unrar", "-p") + rf"[ \t]*+{_WORD}", "sshpass", "7z", "rar "),
    _context(PASSWORD, _option("login|mongosh?|mongodump|mongorestore", "-p") + _B + _WORD, " login ", "mongo"),
    _context(PASSWORD, _option("redis-cli|valkey-cli", "-a") + _B + _WORD, "redis-cli", "valkey-cli"),
    _context(PASSWORD, _option("zip|unzip|sqlcmd|bcp", "-P") + rf"[ \t]*+{_WORD}", "zip ", "sqlcmd", "bcp "),
    _context(PASSWORD, _option(r"ldap\w{1,12}", "-w") + _B + _WORD, "ldap"),
    _context(
        PASSWORD,
        _option("htpasswd", "-[a-zB]{0,6}b[a-zB]{0,6}") + rf"{_B}\S{{1,255}}+{_B}\S{{1,255}}+{_B}{_WORD}",
        "htpasswd",
    ),
    _context(PASSWORD, rf"-pass(?:in|out|word)?(?:{_B}|=){_Q}pass:(?!\d++(?![\w-])){_WORD}", "pass:"),
    _context(PASSWORD, rf"(?<!\S)-U[ \t]*+[\"']?[\w.\\/-]++%(?P<secret>{_TEXT}++)", "-U"),
    _context(PASSWORD, rf"\becho{_B}(?:-n{_B})?{_WORD}[ \t]*+\|[ \t]*+sudo{_B}(?:-\w++{_B}){{0,4}}-\w{{0,8}}S", "sudo"),
    _context(
        PASSWORD,
        rf"\becho{_B}{_Q}[\w.-]++:(?P<secret>{_TEXT}++){_Q}[ \t]*+\|[ \t]*+(?:sudo{_B})?chpasswd",
        "chpasswd",
    ),
    _context(
        PASSWORD, r"\b(?:machine\s++\S++|default)\s++login\s++\S++\s++password\s++(?P<secret>[^\s\"'`{}<>]++)", "login "
    ),
    _context(
        PASSWORD,
        r"(?i:\bidentified\s++(?:with\s++\S++\s++)?by|\bpassword)\s++'(?P<secret>[^'\n]++)'",
        " '",
        opaque=True,
    ),
    _context(
        PASSWORD,  # a line of .pgpass
        r"(?:(?m:^)[ \t+-]{0,20}+|(?<=[\"']))[\w.*-]++:(?:\d{2,5}|\*):[^\s:]++:[^\s:]++:(?P<secret>[^\s:\"'\\]++)"
        r"(?=\\{0,7}[\"']|\\n|\r?(?m:$))",
        ":",
    ),
    _context(
        URL_SECRET,
        r"[?&;](?i:key|sig|signature|code|auth|x-amz-signature|x-goog-signature)=(?P<secret>[^\s&\"'`\\;|<>#]{8,}+)",
        "=",
        words=False,
        only=r"(?://|(?<![^\s\"'`(=])/)[^\s\"'`<>?]*\?[^\s\"'`<>|]*\Z",
    ),
)
"""The order matters where two of them hide the same: the first names it."""

COOKIE_CUES = ("ookie", "OOKIE", " -b ")
COOKIES = re.compile(
    r"(?:(?:[Cc]ookie|COOKIE)(?:\\{0,7}[\"'])?[ \t]*+:|(?<!\S)-(?:b|-cookie)(?:[ \t]|=))[ \t]*+(?:\\{0,7}[\"'])?"
    r"(?P<pairs>[\w.$%-]++=[^\s;\"'`\\,]*+(?:;[ \t]?[\w.$%-]++=[^\s;\"'`\\,]*+)*+)"
)
COOKIE_PAIR = re.compile(r"([\w.$%-]++)=([^\s;]*+)")
COOKIE_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite"})

KEY_CUES = ("PRIVATE KEY", "Private-Lines: ")
KEY_BEGIN = re.compile(r"-{4,5} ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\bPrivate-Lines: \d+")
KEY_BREAK = re.compile(r"(?:\\{1,2}[nrt]|[\s|>#*\"',+]|-(?!---))++")
KEY_HEADER = re.compile(r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Subject|Encryption): [\w ,.()@/+=<>:-]*+")
KEY_CHUNK = re.compile(r"[A-Za-z0-9+/=]++")
KEY_JOINT = re.compile(r"[:(.;_$|&<>{\[!?@%^~]|-(?!---)")  # behind it stands a word, not a line of a key
