"""Where the token may come from, and that a file which others can read is warned about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tapgate.config import CREDENTIAL, TOKEN_VARIABLE, Config, find_exposed, load_config, read_token
from tapgate.errors import ConfigError
from tests.e2e.world import finish, new_world

IN_CONFIG = "111111111:AAA-in-the-config-0123456789"
IN_FILE = "222222222:BBB-in-a-file-0123456789012"
IN_CREDENTIAL = "333333333:CCC-in-a-credential-012345"
IN_VARIABLE = "444444444:DDD-in-the-environment-0123"


@pytest.fixture
def config_path(home: Path) -> Path:
    return home / ".config" / "tapgate" / "config.toml"


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_environment_wins_then_the_credential_then_the_file_then_the_config(
    home: Path, config_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(home / "token", f"{IN_FILE}\n")
    write(config_path, f"[telegram]\ntoken = '{IN_CONFIG}'\n")
    assert read_token(load_config()) == IN_CONFIG
    write(config_path, f"[telegram]\ntoken = '{IN_CONFIG}'\ntoken_file = '{home}/token'\n")
    assert read_token(load_config()) == IN_FILE
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(home))
    assert read_token(load_config()) == IN_FILE, "systemd gave other credentials, but not this one"
    write(home / CREDENTIAL, f"{IN_CREDENTIAL}\n")
    assert read_token(load_config()) == IN_CREDENTIAL
    monkeypatch.setenv(TOKEN_VARIABLE, IN_VARIABLE)
    assert read_token(load_config()) == IN_VARIABLE


def test_a_credential_that_is_no_token_is_refused_without_quoting_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(home))
    write(home / CREDENTIAL, "not-a-token-but-secret")
    with pytest.raises(ConfigError, match="does not look like a bot token") as caught:
        read_token(Config())
    assert "secret" not in str(caught.value)
    (home / CREDENTIAL).unlink()
    (home / CREDENTIAL).mkdir()
    with pytest.raises(ConfigError, match=f"the credential {CREDENTIAL}: .* cannot be read"):
        read_token(Config())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o666, 0o620, 0o601])
def test_a_config_with_a_token_that_others_can_reach_is_warned_about(config_path: Path, mode: int) -> None:
    config_path.chmod(mode)
    (sentence,) = find_exposed(None, load_config())
    assert f"mode {mode:04o}" in sentence and sentence.endswith(f"run: chmod 600 {config_path}")
    assert "7000000001" not in sentence


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_private_config_is_not_warned_about(config_path: Path, mode: int) -> None:
    config_path.chmod(mode)
    assert find_exposed(None, load_config()) == ()


def test_an_open_config_without_a_secret_is_nobodys_business(config_path: Path) -> None:
    write(config_path, "timeout_s = 60\n", 0o644)
    assert find_exposed(None, load_config()) == ()


def test_an_open_token_file_and_a_proxys_password_are_warned_about(home: Path, config_path: Path) -> None:
    write(home / "token", IN_FILE, 0o644)
    text = f"[telegram]\ntoken_file = '{home}/token'\nproxy = 'http://ada:s3cret@127.0.0.1:3128'\n"
    write(config_path, text, 0o644)
    proxy, token = find_exposed(None, load_config())
    assert "a proxy's password" in proxy and str(config_path) in proxy and "s3cret" not in proxy
    assert f"{home}/token holds the bot token" in token


def test_the_daemon_warns_when_it_starts_and_starts_all_the_same() -> None:
    with new_world() as world:
        world.config_path.chmod(0o644)
        world.start_daemon()
        assert f"WARNING tapgate: {world.config_path} holds the bot token and is open to other users" in world.errors()


def test_the_daemon_takes_its_token_from_a_credential() -> None:
    with new_world() as world:
        text = world.config_path.read_text()
        token = text.split("token = '")[1].split("'")[0]
        world.config_path.write_text(text.replace(f"token = '{token}'\n", ""))
        _, errors, code = finish(world.tapgate("daemon", "--config", str(world.config_path)))
        assert code == 78 and b"there is no bot token" in errors
        write(world.home / CREDENTIAL, token)
        world.environ["CREDENTIALS_DIRECTORY"] = str(world.home)
        world.start_daemon()
        world.until(lambda: world.get("state")["pollers"])


@pytest.mark.parametrize(
    ("value", "expected"), [("[-1]", "caller_uids[1]"), ("['root']", "caller_uids[1]"), ("5", "caller")]
)
def test_callers_are_listed_by_number(config_path: Path, value: str, expected: str) -> None:
    write(config_path, f"caller_uids = {value}\n")
    with pytest.raises(ConfigError, match=expected.replace("[", r"\[")):
        load_config()
