"""Secrets do not leave the machine; what is no secret does, unchanged; and a mask never hides what would be run."""

from __future__ import annotations

import copy
import json
import random
import re
import string
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.masking import shapes as shapes
from tapgate.masking.mask import Masked, mask_text, mask_value
from tapgate.masking.names import RANDOM_BITS, RANDOM_LENGTHS, bits, is_random, name_says

CORPUS = tomllib.loads((Path(__file__).parents[1] / "data" / "secrets.toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Sample:
    text: str
    secrets: tuple[str, ...]
    kinds: tuple[str, ...]
    expected: str  # a pattern: the text with a mask in each secret's place

    def cores(self) -> list[str]:
        """What must not be left of the secrets: all but the ends that a mask shows."""
        return [secret[shown(secret) : len(secret) - shown(secret)] for secret in self.secrets]


def shown(secret: str) -> int:
    return min(4, len(secret) // 8) if len(secret) >= 12 else 0


def sample(raw: str, kinds: list[str]) -> Sample:
    raw = raw.replace("¦", "")
    pieces = re.split("⟦(.*?)⟧", raw)
    expected = ""
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            expected += re.escape(piece)
        elif len(piece) < 12:
            expected += "‹[^›‹,]+›"
        else:
            ends = 0 if kinds == ["a private key"] else shown(piece)
            head, tail = re.escape(piece[:ends]), re.escape(piece[len(piece) - ends :])
            expected += f"{head}‹[^›‹,]+, {len(piece)} chars›{tail}"
    return Sample("".join(pieces), tuple(pieces[1::2]), tuple(kinds), expected)


HIDDEN = [sample(line, group["kinds"]) for group in CORPUS["hidden"] for line in group["lines"]]
SHOWN: list[str] = [line for group in CORPUS["shown"] for line in group["lines"]]
ONE_WORD = [entry for entry in HIDDEN if not any(re.search(r"[\s\"\\]", secret) for secret in entry.secrets)]
SELF_EVIDENT = re.compile(r"an? [A-Z].*(?<!webhook)|an npm token|an age key")  # without anything around it
TOKENS = [entry.secrets[0] for entry in HIDDEN if SELF_EVIDENT.fullmatch(entry.kinds[0])]
KEY = "bm90QVJlYWxLZXk0VGVzdHMxMjM0NTY3ODkwYWJjZGVmZ2hpamtsbW5vcHFyc3Q"
FAKE_TOKEN = "gh" + "p_notARealToken0123456789abcdefABCDEF1"


def test_the_corpus_is_large_enough() -> None:
    assert len(HIDDEN) >= 120
    assert len(SHOWN) >= 120
    assert {shape.kind.said for shape in (*shapes.TOKENS, *shapes.CONTEXTS)} <= {
        kind for entry in HIDDEN for kind in entry.kinds
    }


@pytest.mark.parametrize("entry", HIDDEN, ids=lambda entry: entry.text[:60])
def test_secrets_are_hidden_and_nothing_else(entry: Sample) -> None:
    masked = mask_text(entry.text)
    assert re.fullmatch(entry.expected, masked.text, re.DOTALL), masked.text
    assert masked.kinds == entry.kinds


@pytest.mark.parametrize("line", SHOWN)
def test_what_is_no_secret_stays(line: str) -> None:
    assert mask_text(line) == Masked(line, ())


# The mask


def test_mask_says_what_and_how_long_and_shows_the_ends() -> None:
    assert mask_text(f"gh auth login --with-token {FAKE_TOKEN}").text == (
        "gh auth login --with-token ghp_‹GitHub token, 40 chars›DEF1"
    )


@pytest.mark.parametrize(
    ("size", "ends"), [(3, 0), (8, 0), (11, 0), (12, 1), (15, 1), (16, 2), (24, 3), (32, 4), (200, 4)]
)
def test_at_most_a_quarter_is_shown(size: int, ends: int) -> None:
    secret = ("q7w8e9r0t1" * 20)[:size]
    masked = mask_text(f"PASSWORD={secret}").text
    shown_ends = re.sub("‹.*›", "", masked.removeprefix("PASSWORD="))
    assert shown_ends == secret[:ends] + secret[size - ends :]
    assert len(shown_ends) <= size / 4
    assert (f", {size} chars" in masked) == (size >= 12)  # the length of a short one would tell too much


def test_kinds_come_once_and_in_order() -> None:
    text = (
        f"PASSWORD=hunter2 curl https://u:hunter3@h/ -H 'Authorization: Bearer {FAKE_TOKEN}'; PGPASSWORD=hunter4 psql"
    )
    assert mask_text(text).kinds == ("a password", "a password in a URL", "a GitHub token")


def test_the_same_secret_has_the_same_mask_everywhere() -> None:
    masked = mask_text(f"A={FAKE_TOKEN}\nhttps://x:{FAKE_TOKEN}@h/\n--token {FAKE_TOKEN}\n{FAKE_TOKEN}").text
    assert masked.count("ghp_‹GitHub token, 40 chars›DEF1") == 4
    assert masked.count("‹") == 4


def test_a_secret_found_by_its_name_is_hidden_where_it_has_none() -> None:
    masked = mask_text("export DB_PASSWORD=s3cr3t-word\n./migrate s3cr3t-word").text
    assert masked == "export DB_PASSWORD=‹password›\n./migrate ‹password›"


def test_overlapping_finds_become_one() -> None:
    assert mask_text(f'SECRET_KEY="prefix-{FAKE_TOKEN}-suffix"').text.count("‹") == 1


def test_an_existing_mask_is_not_masked() -> None:
    text = f"{mask_text(f'TOKEN={FAKE_TOKEN}').text} and PASSWORD=‹password›"
    assert mask_text(text) == Masked(text, ())


# Private keys


def block(name: str, *lines: str, end: bool = True) -> str:
    return "\n".join([f"-----BEGIN {name}-----", *lines, *([f"-----END {name}-----"] if end else [])])


@pytest.mark.parametrize(
    "name", ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
def test_a_key_keeps_its_first_and_last_line(name: str) -> None:
    masked = mask_text(f"before\n{block(name, KEY, KEY[::-1], 'bm90cmVhbA==')}\nafter")
    assert masked.text == f"before\n-----BEGIN {name}-----\n‹private key, 140 chars›\n-----END {name}-----\nafter"
    assert masked.kinds == ("a private key",)


@pytest.mark.parametrize("indent", ["+", "-", "    ", "  > ", "# ", "\t"])
def test_a_key_in_a_diff_keeps_the_signs(indent: str) -> None:
    text = "\n".join(indent + line for line in block("PRIVATE KEY", KEY, KEY).splitlines())
    lines = mask_text(text).text.splitlines()
    assert [line.startswith(indent) for line in lines] == [True] * 3
    assert KEY[:8] not in "".join(lines)


def test_a_key_that_was_cut_off_is_hidden() -> None:
    for size in range(len(KEY) * 2 + 1):
        text = block("PRIVATE KEY", KEY + "\n" + KEY, end=False)[: -size or None]
        left = mask_text(text).text
        assert KEY[:32] not in left


def test_an_encrypted_key_keeps_its_headers() -> None:
    headers = ("Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", "")
    masked = mask_text(block("RSA PRIVATE KEY", *headers, KEY, KEY)).text
    assert masked == block("RSA PRIVATE KEY", *headers, "‹private key, 127 chars›")


def test_a_putty_key_is_hidden() -> None:
    text = f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{KEY}\nPrivate-MAC: 0123456789abcdef"
    assert mask_text(text).text == text.replace(KEY, "‹private key, 63 chars›")


def test_a_key_in_one_line_is_hidden() -> None:
    for gap in ("\\n", "\\\\n", " "):
        text = gap.join([*block("PRIVATE KEY", KEY, KEY).splitlines(), "'"])
        masked = mask_text(f"KEY='{text}").text
        assert KEY[:20] not in masked
        assert "BEGIN PRIVATE KEY" in masked
        assert "END PRIVATE KEY" in masked


def test_certificates_and_public_keys_stay() -> None:
    for name in ("CERTIFICATE", "PUBLIC KEY", "PGP PUBLIC KEY BLOCK"):
        text = block(name, KEY, KEY)
        assert mask_text(text) == Masked(text, ())


# What would be run


@pytest.mark.parametrize(
    "command",
    [
        "PASSWORD=$(reboot) ls",
        "PASSWORD=x$(reboot)y ls",
        'PASSWORD="x$(reboot)y" ls',
        "PASSWORD=`reboot` ls",
        'PASSWORD="x`reboot`" ls',
        "PASSWORD=${X:-`reboot`} ls",
        "PRIVATE_KEY=abc$(reboot) ls",
        'PRIVATE_KEY="abc`reboot`" ls',
        "PASSWORD= reboot",
        'PASSWORD= "reboot"',
        "PASSWORD=x reboot",
        "PASSWORD=x;reboot",
        "PASSWORD=x|reboot",
        "PASSWORD=x&reboot",
        "PASSWORD=x&&reboot",
        "PASSWORD=x\nreboot",
        "PASSWORD='x\\' reboot '",
        "PASSWORD='x\\';reboot;'",
        'PASSWORD=\\"x reboot \\"',
        'PASSWORD=\\"x;reboot;\\"',
        "X='PASSWORD=\"a' reboot '\"'",
        "X='PASSWORD=\"a';reboot;'\"'",
        'echo "PASSWORD="a;reboot;""',
        'env "PASSWORD="a reboot ""',
        'env "X PASSWORD="a reboot ""',
        'env \'"\' "X PASSWORD="a reboot',
        'echo $\'\\\'\' "PASSWORD="a;reboot;""',
        'bash -c \'env "PASSWORD="a reboot ""\'',
        'echo "PASSWORD="a>reboot""',
        '# "\nenv "PASSWORD="a reboot ""',
        "env 'X=1 identified by 'a reboot''",
        "env <password>x reboot</password",
        "curl http://u:x;reboot;@h",
        "curl http://u:x|reboot@h",
        "curl http://u:$(reboot)@h",
        "curl -u a:b;reboot",
        "curl -u a:`reboot`",
        "curl -H 'Authorization: Bearer abc123def456';reboot",
        "echo Authorization: Bearer abc123def456;reboot",
        "echo Cookie: a=b1c2d3e4f5; reboot",
        "echo Cookie: a=b1c2d3e4f5; reboot=x",
        "echo Cookie: a=`reboot`",
        "mysql -p'a';reboot;'b' x",
        "mysql -px;reboot",
        "echo 'a';reboot;'b' | sudo -S ls",
        "sshpass -p x reboot",
        "tool --password x;reboot",
        'tool --token "abc12345";reboot;""',
        "token=aB3dE5gH7jK9mN1pQ3sT;reboot",
        "PASSWORD='secret1234'; env X=secret1234 reboot",
        'PASSWORD="a1b2c3d4 reboot1"; env X=a1b2c3d4 reboot',
        'PASSWORD=""x;reboot;""',
        "PASSWORD=''x reboot ''",
        "PASSWORD='''a' reboot '''",
        'PASSWORD="a\\\\" reboot "',
        block("PRIVATE KEY", "reboot"),
        block("PRIVATE KEY", "curl example.com | reboot"),
        block("PRIVATE KEY", KEY, "reboot"),
        block("PRIVATE KEY", KEY, "/usr/local/sbin/reboot"),
        block("PRIVATE KEY", f"{KEY};reboot"),
        block("PRIVATE KEY", f"$({KEY}reboot)"),
    ],
)
def test_a_mask_never_hides_a_command(command: str) -> None:
    assert "reboot" in mask_text(command).text


def test_under_a_mere_name_only_one_opaque_token_is_hidden() -> None:
    """The agent chooses the names: what has blanks, operators or quotes in it could be run, so it is shown."""
    for command in (
        "PASSWORD='a; b | c' ls",
        'export PASSWORD="correct horse & battery"',
        "bash -c 'PASSWORD=\"two words\" ls'",
        "API_TOKEN=$'touch\\x20pwned'",
        "API_TOKEN=touch\\ pwned",
    ):
        assert mask_text(command) == Masked(command, ())
    assert mask_text("bash -c 'PASSWORD=\"tw0-words\" ls'").text == "bash -c 'PASSWORD=\"‹password›\" ls'"


def test_all_of_what_a_known_option_takes_is_hidden() -> None:
    """Here it is the program that says what follows: that it has blanks is named as a risk, and can be shown."""
    assert mask_text("sshpass -p 'hunter two' ssh h").text == "sshpass -p '‹password›' ssh h"


@pytest.mark.parametrize(
    "command",
    [
        f"./{FAKE_TOKEN}",
        f"ls; {FAKE_TOKEN} x",
        f"FOO=1 {FAKE_TOKEN}",
        f"sudo -E {FAKE_TOKEN}",
        f"env -i A=b ./bin/{FAKE_TOKEN}",
        f"sh -c '{FAKE_TOKEN}'",
        f'eval "{FAKE_TOKEN} x"',
        f"find . | xargs -n 1 {FAKE_TOKEN}",
        f"python3 {FAKE_TOKEN}",
        f". ./{FAKE_TOKEN}",
        f"if {FAKE_TOKEN}; then ls; fi",
        f"ls\n{FAKE_TOKEN}",
        f"echo $({FAKE_TOKEN})",
        f"curl https://{FAKE_TOKEN}/x",
        f"curl https://me@{FAKE_TOKEN}:8080/x",
    ],
)
def test_in_a_command_nothing_is_hidden_where_it_is_run_or_reached(command: str) -> None:
    assert FAKE_TOKEN in mask_text(command, as_command=True).text


@pytest.mark.parametrize(
    "command",
    [
        f"curl -H 'Authorization: Bearer {FAKE_TOKEN}' https://x.example",
        f"GH_TOKEN={FAKE_TOKEN} gh pr list",
        f"export GH_TOKEN={FAKE_TOKEN}",
        f"git clone https://{FAKE_TOKEN}@github.com/o/r",
        f"gh auth login --with-token <<< {FAKE_TOKEN}",
        f"echo {FAKE_TOKEN} | gh auth login --with-token",
        f"./deploy {FAKE_TOKEN}",
        f"curl https://api.example/v1/{FAKE_TOKEN}/x",
    ],
)
def test_in_a_command_tokens_are_hidden_where_they_are_data(command: str) -> None:
    assert FAKE_TOKEN not in mask_text(command, as_command=True).text


def test_a_secret_found_once_is_not_hidden_where_it_is_run_or_reached() -> None:
    for command in ("./Qx9zKp2mW7", "ls; Qx9zKp2mW7", "curl http://Qx9zKp2mW7/x", "sh ./bin/Qx9zKp2mW7"):
        masked = mask_text(f"DB_PASSWORD=Qx9zKp2mW7; {command}", as_command=True).text
        assert masked == f"DB_PASSWORD=‹password›; {command}"


def test_in_a_command_a_key_is_hidden_only_within_quotes_and_here_documents() -> None:
    text = block("PRIVATE KEY", KEY)
    assert KEY in mask_text(f"ls\n{text}", as_command=True).text
    assert KEY in mask_text(f"echo 'x'\n{text}\necho 'y'", as_command=True).text
    assert KEY not in mask_text(f"echo '{text}' > k.pem", as_command=True).text
    assert KEY not in mask_text(f'echo "{text}" > k.pem', as_command=True).text
    assert KEY not in mask_text(f"cat > k.pem <<'EOF'\n{text}\nEOF\nls", as_command=True).text
    assert KEY in mask_text(f"cat > k.pem <<'EOF'\nx\nEOF\n{text}", as_command=True).text


# Values


def test_a_value_under_a_secret_name_is_hidden_where_it_is_one_token() -> None:
    value = {
        "password": "x",
        "apiKey": "changeme",
        "nested": {"client_secret": "the same as always", "token": ["a", "b"]},
        "headers": {"Authorization": "Bearer abc", "Cookie": "a=b; c=d", "Accept": "text/html"},
        "env": [{"name": "DB_PASSWORD", "value": "y"}, {"name": "HOME", "value": "/root"}],
        "args": ["--token", "z", "--verbose", "--password-stdin", "x"],
    }
    masked, kinds = mask_value(value)
    assert masked == {
        "password": "‹password›",
        "apiKey": "‹key›",
        "nested": {"client_secret": "the same as always", "token": ["‹token›", "‹token›"]},
        "headers": {"Authorization": "Bearer ‹login›", "Cookie": "a=‹cookie›; c=‹cookie›", "Accept": "text/html"},
        "env": [{"name": "DB_PASSWORD", "value": "‹password›"}, {"name": "HOME", "value": "/root"}],
        "args": ["--token", "‹token›", "--verbose", "--password-stdin", "x"],
    }
    assert kinds == ("a password", "a key", "a token", "a login in a header", "a cookie")


def test_secrets_in_any_string_are_hidden() -> None:
    masked, kinds = mask_value(
        {"command": f"curl -u a:hunter2 x/{FAKE_TOKEN}", "edits": [{"new_string": "PASSWORD=q1"}]}
    )
    assert FAKE_TOKEN not in json.dumps(masked)
    assert "hunter2" not in json.dumps(masked)
    assert set(kinds) == {"a password", "a GitHub token"}


def test_a_token_is_named_by_its_look_also_under_a_name() -> None:
    assert mask_value({"password": FAKE_TOKEN}) == (
        {"password": "ghp_‹GitHub token, 40 chars›DEF1"},
        ("a GitHub token",),
    )


@pytest.mark.parametrize("value", ["", "$TOKEN", "${TOKEN}", "${{ secrets.TOKEN }}", "<your token>", "‹password›"])
def test_nothing_references_and_masks_stay(value: str) -> None:
    assert mask_value({"token": value}) == ({"token": value}, ())


@pytest.mark.parametrize(
    "value", [None, True, 5, 1.5, "", "text", [], {}, {"password": 5, "token": None, "n": [1, {}]}]
)
def test_other_values_stay(value: Any) -> None:
    assert mask_value(value) == (value, ())


def test_depth_does_not_matter() -> None:
    value: Any = {"password": "hunter2"}
    for _ in range(20_000):
        value = ["--token", value]
    masked, kinds = mask_value(value)
    assert kinds == ("a password",)
    for _ in range(20_000):
        masked, value = masked[1], value[1]  # also takes them apart without recursion
    assert (masked, value) == ({"password": "‹password›"}, {"password": "hunter2"})


@pytest.mark.parametrize("name", CORPUS["secret_names"])
def test_names_of_secrets(name: str) -> None:
    assert name_says(name) is not None


@pytest.mark.parametrize("name", CORPUS["other_names"])
def test_names_of_other_things(name: str) -> None:
    assert name_says(name) is None


# Thresholds

ALPHABETS = {
    "base62": string.ascii_letters + string.digits,
    "base36": string.ascii_lowercase + string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
    "base64url": string.ascii_letters + string.digits + "-_",
}


@pytest.mark.parametrize("name", ALPHABETS)
@pytest.mark.parametrize(("size", "least"), [(20, 0.85), (24, 0.92), (32, 0.95), (64, 0.98)])
def test_random_values_are_recognised(name: str, size: int, least: float) -> None:
    """The thresholds of `is_random` were chosen by these shares and by the names below."""
    dice = random.Random(f"{name} {size}")
    values = ["".join(dice.choices(ALPHABETS[name], k=size)) for _ in range(1000)]
    assert sum(map(is_random, values)) / len(values) >= least


@pytest.mark.parametrize("value", CORPUS["not_random"])
def test_names_are_not_random(value: str) -> None:
    assert not is_random(value)


def test_the_entropy_threshold_is_between_rulers_and_tokens() -> None:
    assert bits("1212121212abababab1212") < RANDOM_BITS < bits("nR8f7D6a5B4c3D2e1F0g9H")
    assert not is_random("nR8f7D6a5B4c3D2e1F0"[: RANDOM_LENGTHS.start - 1])
    assert not is_random("nR8f7D6a5B4c3D2e1F0g" * 10)


# Properties

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)  # lone surrogates as well
WORDS = st.lists(
    st.sampled_from(
        ["git", "status", "and", "ls", "src/main.py", "returns", "42", "code,", "(see", "README.md);", "a=b"]
    ),
    max_size=12,
).map(" ".join)
FRAGMENTS = st.lists(
    st.one_of(
        st.sampled_from([*(entry.text for entry in HIDDEN), *SHOWN, *TOKENS]),
        st.sampled_from([*" \n\t=:;,\"'`\\/@%#?!-_.|&<>(){}[]$", *CORPUS["almost"]]),
        st.sampled_from([block("PRIVATE KEY", KEY, KEY), "-----BEGIN PRIVATE KEY-----\n", KEY]),
        ANY_TEXT,
    ),
    max_size=8,
).map("".join)
DELIMITER = st.sampled_from([*" \n\t\"'=:,;()[]{}<>|/@", "\\n"])
SURROUNDINGS: list[Callable[[str, str, str], str]] = [
    lambda line, before, after: f"{before}\n{line}\n{after}",
    lambda line, before, after: f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n {before}\n+{line}\n {after}",
    lambda line, before, after: f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n {before}\n-{line}\n {after}",
    lambda line, before, after: f"{before}\r\n    {line}\r\n{after}",
    lambda line, before, after: f"cat > .env <<'EOF'\n{before}\n{line}\n{after}\nEOF",
]
check = settings(max_examples=400, derandomize=True, deadline=None)


@given(st.sampled_from(HIDDEN), st.sampled_from(SURROUNDINGS), WORDS, WORDS)
@check
def test_no_secret_is_left_among_ordinary_lines(
    entry: Sample, surround: Callable[[str, str, str], str], before: str, after: str
) -> None:
    masked = mask_text(surround(entry.text, before, after)).text
    assert not [core for core in entry.cores() if core in masked], masked


@given(st.sampled_from(ONE_WORD), ANY_TEXT, ANY_TEXT)
@check
def test_no_secret_is_left_among_any_lines(entry: Sample, before: str, after: str) -> None:
    masked = mask_text(f"{before}\n{entry.text}\n{after}").text
    assert not [core for core in entry.cores() if core in masked], masked


@given(st.sampled_from(TOKENS), ANY_TEXT, DELIMITER, DELIMITER, ANY_TEXT)
@check
def test_no_token_is_left_anywhere(token: str, before: str, left: str, right: str, after: str) -> None:
    masked = mask_text(f"{before}{left}{token}{right}{after}").text
    assert token[4:-4] not in masked


@given(st.sampled_from(ONE_WORD), WORDS, st.integers(1, 2))
@check
def test_no_secret_is_left_in_json(entry: Sample, before: str, depth: int) -> None:
    text = entry.text
    for _ in range(depth):
        text = json.dumps({"description": before, "command": text}, ensure_ascii=False)
    masked = mask_text(text).text
    assert not [core for core in entry.cores() if core in masked], masked


@given(st.sampled_from(HIDDEN), WORDS)
@check
def test_no_secret_is_left_in_a_value(entry: Sample, before: str) -> None:
    masked, kinds = mask_value({"description": before, "edits": [{"new_string": f"{before}\n{entry.text}\n"}]})
    assert not [core for core in entry.cores() if core in masked["edits"][0]["new_string"]]
    assert kinds == entry.kinds


@given(FRAGMENTS)
@check
def test_masking_twice_changes_nothing(text: str) -> None:
    once = mask_text(text).text
    assert mask_text(once) == Masked(once, ())


@given(FRAGMENTS)
@check
def test_lines_stay_lines(text: str) -> None:
    """But for private keys, whose lines become one."""
    masked = mask_text(text)
    if "a private key" in masked.kinds:
        assert masked.text.count("\n") <= text.count("\n")
    else:
        assert masked.text.count("\n") == text.count("\n")


@given(st.lists(st.sampled_from(SHOWN), max_size=8), WORDS)
@check
def test_text_without_secrets_is_unchanged(lines: list[str], words: str) -> None:
    text = "\n".join([*lines, words])
    assert mask_text(text) == Masked(text, ())


@given(ANY_TEXT)
@check
def test_any_text_is_taken(text: str) -> None:
    masked = mask_text(text)
    assert bool(masked.kinds) == (masked.text != text)
    assert mask_value({text: [text], "password": text})[1] is not None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FRAGMENTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FRAGMENTS | st.just("password"), inner, max_size=3),
    max_leaves=6,
)


def outline(value: Any) -> Any:
    """Everything but the strings."""
    if isinstance(value, dict):
        return {key: outline(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [outline(inner) for inner in value]
    return "" if isinstance(value, str) else value


@given(VALUES)
@check
def test_a_value_is_not_changed_but_copied(value: Any) -> None:
    before = copy.deepcopy(value)
    masked, _ = mask_value(value)
    assert value == before
    assert outline(masked) == outline(value)
    assert mask_value(masked) == (masked, ())


# Hostile text


def work(text: str) -> float:
    """Processor time, the best of three: others share the machine."""
    spent = []
    for _ in range(3):
        start = time.process_time()
        mask_text(text)
        spent.append(time.process_time() - start)
    return min(spent)


@pytest.mark.parametrize("almost", [*CORPUS["almost"], f"-----BEGIN PRIVATE KEY-----\n{KEY}\n"])
def test_hostile_text_takes_linear_time(almost: str) -> None:
    """Eight times the text takes about eight times as long; with backtracking it would take sixty-four times."""
    short, long = (work(almost * (size // len(almost))) for size in (8_000, 64_000))
    assert long < 24 * max(short, 0.001)


def test_sixteen_mebibytes_are_masked() -> None:
    text = "x = 1  # an ordinary line of a very long file\n" * ((16 << 20) // 46)
    masked = mask_text(f"{text}PASSWORD=hunter2\n")
    assert masked.text == f"{text}PASSWORD=‹password›\n"


@pytest.mark.parametrize("command", [";7z$IFS-x", "&1st", "|2to3", ";*", "&&7z$IFS", ";-x"])
def test_no_command_behind_an_operator_is_hidden_whatever_it_begins_with(command: str) -> None:
    masked = mask_text(f"curl https://ada:tr0ub4dor{command}@example.org/x").text
    assert command in masked and "tr0ub4dor" not in masked
