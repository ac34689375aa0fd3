"""The config: every example of the documentation is read, and a wrong one is refused in words."""

from __future__ import annotations

import re
import socket
import traceback
from pathlib import Path

import pytest

from tapgate.config import CONFIG_VARIABLE, TOKEN_VARIABLE, Config, find_config, load_config, parse_config, read_token
from tapgate.errors import ConfigError
from tapgate.model import Detail, Person
from tapgate.telegram.api import Api

TOKEN = "123456789:AAH-secret_secret_secret_secret_s"
OTHER = "987654321:BBH-another_another_another_anoth"
BASE = Path("/home/dev/.config/tapgate")
ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """None of the developer's own settings count."""
    for name in (TOKEN_VARIABLE, CONFIG_VARIABLE, "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def parse(text: str) -> Config:
    return parse_config(text, source="tapgate.toml", base=BASE)


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    return str(refused.value)


# What is read


def test_every_key_of_the_documentation_is_read() -> None:
    config = parse(
        f"""
        timeout_s = 300
        socket_path = "/run/user/1000/tapgate/daemon.sock"
        state_dir = "/var/lib/tapgate"
        [telegram]
        token = "{TOKEN}"
        token_file = "/etc/tapgate/token"
        base_url = "http://127.0.0.1:8081"
        proxy = "http://127.0.0.1:3128"
        [[people]]
        user_id = 1001
        name = "Ada"
        [[people]]
        user_id = 1002
        chat_id = -500
        """
    )
    assert config.timeout_s == 300
    assert config.socket_path == Path("/run/user/1000/tapgate/daemon.sock")
    assert config.state_dir == Path("/var/lib/tapgate")
    assert config.telegram.token == TOKEN
    assert config.telegram.token_file == "/etc/tapgate/token"
    assert config.telegram.base_url == "http://127.0.0.1:8081"
    assert config.telegram.proxy == "http://127.0.0.1:3128"
    assert config.persons() == (Person(1001, 1001, "Ada"), Person(1002, -500, "1002"))


def test_the_machine_has_the_name_it_is_given_or_the_first_part_of_the_host_s() -> None:
    assert parse('machine = "studio"').machine_name() == "studio"
    assert parse("").machine_name() == socket.gethostname().partition(".")[0]


def test_secrets_are_masked_and_everything_is_shown_unless_told_otherwise() -> None:
    assert parse("").privacy.mask is True
    assert parse("").privacy.detail is Detail.FULL
    config = parse('[privacy]\nmask = false\ndetail = "summary"')
    assert config.privacy.mask is False
    assert config.privacy.detail is Detail.SUMMARY
    assert "privacy.detail: expected 'full' or 'summary', found 'some'" in refusal('[privacy]\ndetail = "some"')


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:3128", "https://user:word@proxy.example.com:8443/"])
def test_a_proxy_that_is_accepted_can_be_used(proxy: str) -> None:
    accepted = parse(f'telegram.proxy = "{proxy}"').telegram.proxy
    assert accepted == proxy
    Api(token=TOKEN, base_url="https://api.telegram.org", proxy=accepted)  # it raises where it can not


def test_an_empty_file_means_all_defaults() -> None:
    config = parse("")
    assert config.timeout_s == 600
    assert config.telegram.base_url == "https://api.telegram.org"
    assert config.telegram.proxy is None
    assert config.persons() == ()
    assert config.socket_path.name == "daemon.sock"
    assert config.socket_path.is_absolute()
    assert config.state_dir.is_absolute()


def test_the_example_file_is_a_config() -> None:
    path = ROOT / "config.example.toml"
    if not path.exists():
        pytest.skip("there is no config.example.toml here")
    config = load_config(path)
    assert config.persons()
    assert config.timeout_s == 600


def test_every_key_of_the_example_is_known_even_the_commented_ones() -> None:
    path = ROOT / "config.example.toml"
    if not path.exists():
        pytest.skip("there is no config.example.toml here")
    text = re.sub(r"^# (?=[a-z_]+ = )", "", path.read_text(), flags=re.MULTILINE)
    assert text.count("token_file = ") == 1
    parse(text)


def test_a_chat_is_the_person_s_own_unless_another_is_named() -> None:
    assert parse("[[people]]\nuser_id = 7").persons() == (Person(7, 7, "7"),)
    assert parse("[[people]]\nuser_id = 7\nchat_id = -9").persons() == (Person(7, -9, "7"),)


def test_one_person_may_have_two_chats_but_not_the_same_one_twice() -> None:
    two = "[[people]]\nuser_id = 7\n[[people]]\nuser_id = 7\nchat_id = -9"
    assert len(parse(two).persons()) == 2
    assert refusal("[[people]]\nuser_id = 7\n[[people]]\nuser_id = 7\nchat_id = 7") == (
        "tapgate.toml: people: user_id 7 stands there twice with the same chat"
    )


@pytest.mark.parametrize(
    ("timeout_s", "deadline_s"), [(600, 590), (60, 50), (50, 40), (40, 32), (10, 8), (2, 1.6), (86_400, 86_390)]
)
def test_the_caller_gives_up_a_little_before_the_agent_would_kill_it(timeout_s: int, deadline_s: float) -> None:
    assert parse(f"timeout_s = {timeout_s}").deadline_s == pytest.approx(deadline_s)


# Paths


def test_relative_paths_are_taken_from_the_file_s_own_directory() -> None:
    config = parse('socket_path = "run/d.sock"\nstate_dir = "../state"\n[telegram]\ntoken_file = "token"')
    assert config.socket_path == BASE / "run/d.sock"
    assert config.state_dir == BASE / "../state"
    assert config.telegram.token_file == str(BASE / "token")


def test_a_tilde_is_the_home(tmp_path: Path) -> None:
    config = parse('socket_path = "~/d.sock"\nstate_dir = "~/state"\n[telegram]\ntoken_file = "~/token"')
    assert config.socket_path == tmp_path / "home/d.sock"
    assert config.state_dir == tmp_path / "home/state"
    assert config.telegram.token_file == str(tmp_path / "home/token")


@pytest.mark.parametrize("key", ["socket_path", "state_dir", "telegram.token_file"])
def test_a_home_that_nobody_has_is_refused(key: str) -> None:
    assert refusal(f'{key} = "~no-such-user-here/x"').startswith(f"tapgate.toml: {key}: expected a path, ")


def test_a_file_named_relatively_gives_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand in the hook's command, which the agent runs from another directory."""
    (tmp_path / "tapgate.toml").write_text('socket_path = "d.sock"\nstate_dir = "state"')
    monkeypatch.chdir(tmp_path)
    config = load_config(Path("tapgate.toml"))
    assert config.socket_path == tmp_path / "d.sock"
    assert config.state_dir == tmp_path / "state"


# Which file


def test_the_option_wins_over_the_variable_and_the_variable_over_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    default = find_config(None)
    assert default.parts[-2:] == ("tapgate", "config.toml")
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "variable.toml"))
    assert find_config(None) == tmp_path / "variable.toml"
    assert find_config(tmp_path / "option.toml") == tmp_path / "option.toml"
    (tmp_path / "variable.toml").write_text("timeout_s = 11")
    (tmp_path / "option.toml").write_text("timeout_s = 12")
    assert load_config().timeout_s == 11
    assert load_config(tmp_path / "option.toml").timeout_s == 12


@pytest.mark.parametrize("variable", [None, ""])
def test_without_any_file_the_defaults_count(variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable is not None:
        monkeypatch.setenv(CONFIG_VARIABLE, variable)
    assert load_config().timeout_s == 600


def test_a_file_that_was_named_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(ConfigError, match=f"^{missing}: there is no such file; see config.example.toml"):
        load_config(missing)
    monkeypatch.setenv(CONFIG_VARIABLE, str(missing))
    with pytest.raises(ConfigError, match=f"^{missing}: there is no such file"):
        load_config()


def test_what_cannot_be_read_is_refused_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"^{tmp_path}: cannot be read: "):
        load_config(tmp_path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(TOKEN.encode() + b"\xff\xfe")
    with pytest.raises(ConfigError, match=f"^{binary}: cannot be read: ") as refused:
        load_config(binary)
    assert_unseen(refused.value)


# What is refused, and how


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('timeout_s = "600"', "timeout_s: expected a whole number, found '600'"),
        ("timeout_s = 600.0", "timeout_s: expected a whole number, found 600.0"),
        ("timeout_s = true", "timeout_s: expected a whole number, found True"),
        ("timeout_s = 1", "timeout_s: expected greater than or equal to 2, found 1"),
        ("timeout_s = 86401", "timeout_s: expected less than or equal to 86400, found 86401"),
        ("socket_path = 5", "socket_path: expected a path in quotes, found 5"),
        ("state_dir = []", "state_dir: expected a path in quotes, found []"),
        ("telegram = 5", "telegram: expected a table, found 5"),
        ("[telegram]\nbase_url = 5", "telegram.base_url: expected a text in quotes, found 5"),
        (
            '[telegram]\nbase_url = "api.telegram.org"',
            "telegram.base_url: expected an address like https://api.telegram.org",
        ),
        ('[telegram]\nbase_url = "https://"', "telegram.base_url: expected an address like https://api.telegram.org"),
        (
            '[telegram]\nbase_url = "ftp://example.com"',
            "telegram.base_url: expected an address like https://api.telegram.org",
        ),
        (
            '[telegram]\nbase_url = "https://api.telegram org"',
            "telegram.base_url: expected an address like https://api.telegram.org",
        ),
        ('[telegram]\nproxy = "proxy:3128"', "telegram.proxy: expected an address like http://127.0.0.1:3128"),
        ('[telegram]\nproxy = ""', "telegram.proxy: expected an address like http://127.0.0.1:3128"),
        ('[telegram]\nproxy = "socks5://127.0.0.1"', "telegram.proxy: expected an address like http://127.0.0.1:3128"),
        ('[telegram]\nper_chat_s = "fast"', "telegram.per_chat_s: expected a number, found 'fast'"),
        ("[telegram]\nper_chat_s = -1", "telegram.per_chat_s: expected greater than or equal to 0, found -1"),
        ("people = 5", "people: expected a list of tables, written as [[people]], found 5"),
        ("[people]\nuser_id = 5", "people: expected a list of tables, written as [[people]], found {'user_id': 5}"),
        ('people = ["Ada"]', "people[1]: expected a table, found 'Ada'"),
        ('[[people]]\nname = "Ada"', "people[1].user_id: expected a whole number, found nothing"),
        ("[[people]]\nuser_id = '7'", "people[1].user_id: expected a whole number, found '7'"),
        ("[[people]]\nuser_id = 0", "people[1].user_id: expected greater than 0, found 0"),
        ("[[people]]\nuser_id = 7\n[[people]]\nuser_id = -7", "people[2].user_id: expected greater than 0, found -7"),
        ("[[people]]\nuser_id = 7\nchat_id = 'x'", "people[1].chat_id: expected a whole number, found 'x'"),
        ("[[people]]\nuser_id = 7\nname = 5", "people[1].name: expected a text in quotes, found 5"),
        ("[journal]\nkeep_days = 0", "journal.keep_days: expected greater than or equal to 1, found 0"),
        ("[journal]\nkeep_inputs = 1", "journal.keep_inputs: expected true or false, found 1"),
    ],
)
def test_a_wrong_value_is_refused_with_file_key_and_expectation(text: str, sentence: str) -> None:
    assert refusal(text) == f"tapgate.toml: {sentence}"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("timeout = 5", "timeout: unknown key; did you mean timeout_s?"),
        ("socketpath = 'x'", "socketpath: unknown key; did you mean socket_path?"),
        ("[[person]]\nuser_id = 5", "person: unknown key; did you mean people?"),
        ("[telegran]\n", "telegran: unknown key; did you mean telegram?"),
        ("[telegram]\ntokenfile = 'x'", "telegram.tokenfile: unknown key; did you mean token_file?"),
        ("[telegram]\nbaseurl = 'x'", "telegram.baseurl: unknown key; did you mean base_url?"),
        ("[[people]]\nuser_id = 7\nchatid = 5", "people[1].chatid: unknown key; did you mean chat_id?"),
        ("[journal]\nkeep = 5", "journal.keep: unknown key; did you mean keep_days?"),
        (
            "xyzzy = 5",
            "xyzzy: unknown key; known here: "
            + "caller_uids, hold, journal, machine, people, privacy, socket_path, state_dir, telegram, timeout_s",
        ),
        ("[[people]]\nuser_id = 7\nq = 5", "people[1].q: unknown key; known here: chat_id, name, role, user_id"),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(text: str, sentence: str) -> None:
    assert refusal(text) == f"tapgate.toml: {sentence}"


def test_every_fault_is_told_each_on_a_line_with_the_file() -> None:
    lines = refusal("timeout_s = 'x'\nxyzzy = 1\n[[people]]\n").split("\n")
    assert len(lines) == 3
    assert all(line.startswith("tapgate.toml: ") for line in lines)


def test_what_is_not_toml_is_refused_with_its_place() -> None:
    assert re.fullmatch(r"tapgate\.toml: this is not valid TOML: .*\(at line 2, column \d+\)", refusal("a = 1\nb c\n"))


# The token


def assert_unseen(error: BaseException) -> None:
    """Neither the message nor anything that a traceback would print holds the token."""
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(error.__cause__)
    assert TOKEN not in shown
    assert TOKEN.partition(":")[2] not in shown


def test_the_environment_wins_over_the_file_and_the_file_over_the_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(f"\n  {OTHER} \n")
    in_config = parse(f'[telegram]\ntoken = "{TOKEN}"')
    assert read_token(in_config) == TOKEN
    in_both = parse(f'[telegram]\ntoken = "{TOKEN}"\ntoken_file = "{tmp_path / "token"}"')
    assert read_token(in_both) == OTHER
    monkeypatch.setenv(TOKEN_VARIABLE, "555555:CCC-from-the-environment")
    assert read_token(in_both) == "555555:CCC-from-the-environment"
    assert read_token(parse("")) == "555555:CCC-from-the-environment"


def test_a_missing_token_says_where_to_get_one_and_where_to_put_it() -> None:
    with pytest.raises(ConfigError, match=r"@BotFather .* \[telegram\] token or token_file, or into TAPGATE_TELEGRAM"):
        read_token(parse(""))


def test_a_token_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "token"
    config = parse(f'[telegram]\ntoken = "{TOKEN}"\ntoken_file = "{missing}"')
    with pytest.raises(ConfigError, match=f"telegram.token_file: {missing} cannot be read: "):
        read_token(config)
    missing.write_bytes(TOKEN.encode() + b"\xff")
    with pytest.raises(ConfigError, match=f"telegram.token_file: {missing} cannot be read: ") as refused:
        read_token(config)
    assert_unseen(refused.value)
    with pytest.raises(ConfigError, match=r"telegram.token_file: .* cannot be read: "):
        read_token(parse('[telegram]\ntoken_file = "a\\u0000b"'))


def test_an_empty_token_file_is_a_missing_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(ConfigError, match="there is no bot token"):
        read_token(parse(f'[telegram]\ntoken_file = "{tmp_path / "token"}"'))


@pytest.mark.parametrize("wrong", [TOKEN.replace(":", ";"), f"bot{TOKEN}", f"{TOKEN} ", f"{TOKEN}/x", "123:short"])
def test_what_is_no_token_is_refused_with_its_place_and_not_quoted(
    wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"telegram\.token in the config: this does not look like") as in_config:
        read_token(parse(f'[telegram]\ntoken = "{wrong}"'))
    (tmp_path / "token").write_text(f"x{wrong}")
    with pytest.raises(ConfigError, match=f"{tmp_path / 'token'}: this does not look like") as in_file:
        read_token(parse(f'[telegram]\ntoken_file = "{tmp_path / "token"}"'))
    monkeypatch.setenv(TOKEN_VARIABLE, wrong)
    with pytest.raises(ConfigError, match="variable TAPGATE_TELEGRAM_TOKEN: this does not look like") as in_environment:
        read_token(parse(""))
    for refused in (in_config, in_file, in_environment):
        assert wrong.strip() not in str(refused.value)
        assert_unseen(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        f'telegram = "{TOKEN}"',
        f'telegram = ["{TOKEN}"]',
        f'[telegram]\ntoken = ["{TOKEN}"]',
        f'[telegram]\ntoken = {{ value = "{TOKEN}" }}',
        f'[telegram]\ntoken_file = ["{TOKEN}"]',
        f'[telegram]\ntokne = "{TOKEN}"',
        f'[telegram]\nbase_url = "api.telegram.org/bot{TOKEN}"',
        f'[telegram]\nbase_url = ["{TOKEN}"]',
        f'[telegram]\nproxy = ["http://user:{TOKEN}@proxy"]',
        f'[telegram]\nproxy = "user:{TOKEN}@proxy"',
        f'[telegram]\nper_chat_s = "{TOKEN}"',
        f'token = "{TOKEN}"',
        f'"{TOKEN}" = 1',
        f'[telegram]\ntoken = "{TOKEN}\n',
        f"[telegram]\ntoken = {TOKEN}\n",
        f'people = "{TOKEN}"',
        f'[[people]]\nname = "{TOKEN}"',
        f'[[people]]\nuser_id = "{TOKEN}"',
        f'timeout_s = "{TOKEN}"',
        f'socket_path = ["{TOKEN}"]',
        f'socket_path = "~{TOKEN}/x"',
    ],
)
def test_a_token_in_a_wrong_place_is_never_quoted(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert_unseen(refused.value)


def test_a_config_can_be_printed_without_telling_its_secrets() -> None:
    config = parse(f'[telegram]\ntoken = "{TOKEN}"\nproxy = "http://user:geheim@proxy"')
    for shown in (repr(config), str(config), f"{config.telegram}"):
        assert TOKEN not in shown
        assert "geheim" not in shown


# How long a question is held


@pytest.mark.parametrize(
    ("agent", "is_subagent", "hold_s"),
    [("claude", False, 590.0), ("claude", True, 300.0), ("codex", False, 120.0), ("codex", True, 120.0)],
)
def test_a_question_is_held_as_long_as_its_kind_allows(agent: str, is_subagent: bool, hold_s: float) -> None:
    config = parse_config("[hold]\ncodex_s = 120\nsubagent_s = 300\n", source="x", base=Path("/"))
    assert config.hold_s(agent=agent, is_subagent=is_subagent) == hold_s
    plain = parse_config("", source="x", base=Path("/"))
    assert plain.hold_s(agent=agent, is_subagent=is_subagent) == 590.0


def test_a_hold_is_never_longer_than_the_caller_waits() -> None:
    config = parse_config("timeout_s = 60\n[hold]\ncodex_s = 5000\n", source="x", base=Path("/"))
    assert config.hold_s(agent="codex", is_subagent=False) == 50.0


def test_a_hold_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"hold\.codex_s: expected"):
        parse_config("[hold]\ncodex_s = 0\n", source="x", base=Path("/"))
