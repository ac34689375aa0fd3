"""Findings about config, Telegram and people: each provoked, and its advice read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tapgate.config import load_config
from tapgate.daemon.lock import Lock
from tapgate.doctor.check import Chmod, Status
from tapgate.doctor.scene import ApiAnswer, UnreachableError
from tapgate.errors import TapgateError
from tapgate.paths import bot_lock_path, bot_name
from tests.doctor.ward import FAULT, GONE, NOW, OK, SKIPPED, TOKEN, WARNING, Ward, answer, refusal, told

# Config


def test_no_config(ward: Ward) -> None:
    ward.config_path.unlink()
    found = ward.check("config.file")
    assert found.status is FAULT and f"there is no {ward.config_path}" in found.detail
    assert found.advice.startswith("run `tapgate setup`")
    assert ward.check("people.listed").status is FAULT and ward.check("telegram.reachable").status is OK
    ward.is_named = True
    assert "check --config and TAPGATE_CONFIG" in ward.check("config.file").advice


def test_a_config_that_is_not_valid(ward: Ward) -> None:
    ward.configure(top="timeout = 5")
    found = ward.check("config.file")
    assert found.status is FAULT and "timeout: unknown key; did you mean timeout_s?" in found.detail
    assert "correct the file" in found.advice
    # What needs the config says that it was not looked at, and why; what does not is looked at.
    assert {check.name for check in ward.checks() if check.status is SKIPPED} == {
        *("telegram.reachable", "people.listed", "daemon.running", "daemon.socket", "journal.file"),
        *("agents.claude_hooks", "agents.codex_hooks"),
    }
    assert ward.check("agents.claude").status is OK


def test_a_config_that_cannot_be_read(ward: Ward) -> None:
    ward.config_path.write_bytes(b"token = '\xff\xfe'")
    assert "it is not UTF-8 text" in ward.check("config.file").detail
    ward.config_path.unlink()
    ward.config_path.mkdir()
    assert "cannot be read: Is a directory" in ward.check("config.file").detail


@pytest.mark.parametrize(("mode", "status"), [(0o640, WARNING), (0o604, WARNING), (0o620, FAULT), (0o666, FAULT)])
def test_a_config_that_others_can_read_or_write(ward: Ward, mode: int, status: Status) -> None:
    ward.config_path.chmod(mode)
    found = ward.check("config.permissions")
    assert found.status is status and f"{mode:04o}" in found.detail
    assert f"chmod 600 {ward.config_path}" in found.advice and "--fix" in found.advice
    assert found.fix == Chmod(ward.config_path, 0o600)


def test_a_config_of_another_user(ward: Ward) -> None:
    ward.uid = os.getuid() + 1
    if os.getuid() == 0:
        os.chown(ward.config_path, 12345, 12345)
    found = ward.check("config.permissions")
    assert found.status is FAULT and "belongs to another user" in found.detail
    assert "make a copy of your own" in found.advice and found.fix is None


def test_a_config_directory_that_everybody_can_write(ward: Ward) -> None:
    ward.home.chmod(0o777)
    found = ward.check("config.directory")
    assert found.status is FAULT and "put another config in place of yours" in found.detail
    assert f"chmod o-w {ward.home}" in found.advice and found.fix == Chmod(ward.home, 0o775)
    ward.home.chmod(0o1777)
    assert ward.troubles() == {}, "as in /tmp: everybody may add, and only the owner may replace"


def test_a_token_file_that_others_can_read(ward: Ward) -> None:
    path = ward.home / "token"
    path.write_text(TOKEN)
    path.chmod(0o644)
    ward.configure(token=f'token_file = "{path}"')
    found = ward.check("config.token_file")
    assert found.status is WARNING and found.fix == Chmod(path, 0o600)
    path.chmod(0o600)
    assert ward.check("config.token_file").status is OK
    assert "from its file: @ada_gate_bot" in ward.check("telegram.token").detail


# Telegram


def test_no_token(ward: Ward) -> None:
    ward.configure(token="")
    ward.stop_daemon()
    found = ward.check("telegram.token")
    assert found.status is FAULT and "there is no bot token" in found.detail
    assert "@BotFather" in found.advice
    assert ward.check("telegram.reachable").status is OK, "whether anybody answers can be told without one"
    assert ward.opened[-1][1] != "", "but never with an empty one, which would be another address"


def test_a_token_that_only_the_daemon_has(ward: Ward) -> None:
    """It may come from a credential of the service; then the daemon's word counts."""
    ward.configure(token="")
    assert ward.check("telegram.token").status is SKIPPED
    ward.status = told(telegram="Telegram does not accept the bot token (401 or 404); check [telegram] token")
    assert ward.check("telegram.token").status is FAULT


def test_a_token_file_that_cannot_be_read(ward: Ward) -> None:
    ward.configure(token='token_file = "/nowhere/token"')
    assert ward.check("telegram.token").status is SKIPPED, "the running daemon, of its own user perhaps, has read it"
    ward.stop_daemon()
    found = ward.check("telegram.token")
    assert found.status is FAULT and "/nowhere/token" in found.detail and "tapgate setup" in found.advice


def test_a_token_from_the_environment(ward: Ward, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPGATE_TELEGRAM_TOKEN", TOKEN)
    ward.configure(token="")
    assert "accepted from TAPGATE_TELEGRAM_TOKEN" in ward.check("telegram.token").detail


def test_a_token_of_another_shape(ward: Ward) -> None:
    ward.configure(token='token = "hunter2"')
    found = ward.check("telegram.token")
    assert found.status is FAULT and "does not look like a bot token" in found.detail and "hunter2" not in repr(found)


@pytest.mark.parametrize("refused", [refusal(401, "Unauthorized"), refusal(404, "Not Found")])
def test_a_token_that_is_not_accepted(ward: Ward, refused: ApiAnswer) -> None:
    ward.bot.answers["getMe"] = refused
    ward.stop_daemon()
    found = ward.check("telegram.token")
    assert found.status is FAULT and "does not accept the one from the config" in found.detail
    assert "copy it again from @BotFather" in found.advice
    assert ward.check("telegram.reachable").status is OK
    assert ward.check("telegram.poller").status is SKIPPED and ward.check("people.101").status is SKIPPED


def test_telegram_out_of_reach(ward: Ward) -> None:
    ward.bot.answers["getMe"] = GONE
    ward.stop_daemon()
    found = ward.check("telegram.reachable")
    assert found.status is FAULT and "cannot be reached: nobody listens" in found.detail
    assert found.advice == "check the network"
    for name in ("telegram.token", "telegram.clock", "telegram.poller", "people.101"):
        assert ward.check(name).status is SKIPPED, "it says that it cannot be told, and blames nothing else"


def test_a_proxy_in_the_environment_is_not_used_and_that_is_said(ward: Ward) -> None:
    ward.bot.answers["getMe"] = GONE
    ward.environ["HTTPS_PROXY"] = "http://user:password@proxy:3128"
    found = ward.check("telegram.reachable")
    assert "HTTPS_PROXY is set and tapgate ignores it" in found.advice and "[telegram] proxy" in found.advice
    assert "password" not in repr(found)
    ward.configure(token=f'token = "{TOKEN}"\nproxy = "http://user:password@proxy:3128"')
    found = ward.check("telegram.reachable")
    assert "cannot be reached through the proxy" in found.detail and found.advice == "check the network"


@pytest.mark.parametrize(
    ("said", "words", "advice"),
    [
        (ApiAnswer(404, None, NOW), "answers with 404 and no Bot API answer", "a login page in between"),
        (ApiAnswer(502, None, NOW), "answers with 502 and no Bot API answer", "try again later"),
        (refusal(500, "Internal Server Error"), "500 Internal Server Error", "wait a little"),
        (refusal(429, "Too Many Requests: retry after 3"), "429 Too Many", "wait a little"),
    ],
)
def test_an_answer_that_is_none(ward: Ward, said: ApiAnswer, words: str, advice: str) -> None:
    ward.bot.answers["getMe"] = said
    found = ward.check("telegram.reachable")
    assert found.status is FAULT and words in found.detail and advice in found.advice
    assert ward.check("telegram.token").status is SKIPPED, "the token is not to blame"


@pytest.mark.parametrize(
    ("off_s", "words"), [(-31.0, "31 s ahead of"), (300.0, "5 min behind"), (8000.0, "2 h behind")]
)
def test_a_clock_that_is_wrong(ward: Ward, off_s: float, words: str) -> None:
    ward.bot.answers["getMe"] = answer({"username": "b"}, date=NOW + off_s)
    found = ward.check("telegram.clock")
    assert found.status is WARNING and words in found.detail and "timedatectl set-ntp true" in found.advice
    ward.platform = "darwin"
    assert "sntp" in ward.check("telegram.clock").advice
    ward.bot.answers["getMe"] = answer({"username": "b"}, date=NOW + 29)
    assert ward.check("telegram.clock").status is OK
    ward.bot.answers["getMe"] = answer({"username": "b"}, date=None)
    assert ward.check("telegram.clock").status is SKIPPED


def test_another_poller_that_the_daemon_meets(ward: Ward) -> None:
    ward.status = told(telegram="another program polls with this bot's token; stop it, or use a bot of its own")
    found = ward.check("telegram.poller")
    assert found.status is FAULT and "409" in found.detail and "stop the other one" in found.advice
    assert ward.check("daemon.poll").status is SKIPPED, "one fault, told once"


def test_beside_a_running_daemon_nobody_polls(ward: Ward) -> None:
    """The doctor would be the second poller, and end the daemon's poll."""
    assert ward.check("telegram.poller").status is OK
    ward.status = TapgateError("the daemon does not answer; restart it")
    found = ward.check("telegram.poller")
    assert found.status is SKIPPED and "the daemon does not answer" in found.detail
    assert "getUpdates" not in [method for method, _ in ward.bot.calls]


def test_another_poller_while_no_daemon_runs(ward: Ward) -> None:
    ward.stop_daemon()
    ward.bot.answers["getUpdates"] = refusal(409, "Conflict: terminated by other getUpdates request")
    found = ward.check("telegram.poller")
    assert found.status is FAULT and "another program polls" in found.detail and "stop the other one" in found.advice


def bot_of(ward: Ward) -> str:
    return bot_name(load_config(ward.config_path).telegram.base_url, TOKEN)


def locks_of(ward: Ward) -> dict[str, Path]:
    ward.home.joinpath("runtime").mkdir(exist_ok=True)
    ward.home.joinpath("default-state").mkdir(exist_ok=True)
    return {
        "socket": ward.socket_path.with_suffix(".lock"),
        "state": ward.state_dir / "daemon.lock",
        "bot": bot_lock_path(ward.home / "runtime", bot_of(ward)),
        "default state": ward.home / "default-state" / "daemon.lock",
    }


@pytest.mark.parametrize("which", ["socket", "state", "bot", "default state"])
def test_nobody_polls_a_bot_whose_lock_is_held(ward: Ward, which: str) -> None:
    """The daemon listens elsewhere, so it cannot be asked; each of its locks tells that it runs."""
    ward.stop_daemon()
    lock = Lock(locks_of(ward)[which], bot=bot_of(ward))
    found = ward.check("telegram.poller")
    assert found.status is SKIPPED and f"pid {os.getpid()}" in found.detail and "tapgate status" in found.advice
    assert "not at this config's socket" in ward.check("daemon.running").detail
    assert "getUpdates" not in [method for method, _ in ward.bot.calls]
    assert "getWebhookInfo" in [method for method, _ in ward.bot.calls], "which ends nobody's poll"
    lock.release()
    assert ward.check("telegram.poller").status is OK


@pytest.mark.parametrize(("bot", "status"), [("another-bot", OK), ("", SKIPPED)])
def test_the_default_daemon_may_have_another_bot(ward: Ward, bot: str, status: Status) -> None:
    """It says in its lock which one. A daemon of an older version does not say, and then nobody polls."""
    ward.stop_daemon()
    lock = Lock(locks_of(ward)["default state"], bot=bot)
    assert ward.check("telegram.poller").status is status
    assert "it is not running" in ward.check("daemon.running").detail, "not with this config"
    lock.release()


def test_beside_a_service_that_runs_somewhere_nobody_polls(ward: Ward) -> None:
    active = ward.commands["env"]
    ward.stop_daemon()
    ward.commands["env"] = active
    found = ward.check("telegram.poller")
    assert found.status is SKIPPED and "the service runs" in found.detail


def test_where_a_lock_cannot_be_looked_at_nobody_polls(ward: Ward) -> None:
    ward.stop_daemon()
    path = locks_of(ward)["bot"]
    path.symlink_to(path)  # no file can be opened there
    found = ward.check("telegram.poller")
    assert found.status is SKIPPED and "cannot be told" in found.detail


def test_looking_for_another_poller_confirms_nothing(ward: Ward) -> None:
    ward.stop_daemon()
    assert ward.check("telegram.poller").status is OK
    (params,) = [params for method, params in ward.bot.calls if method == "getUpdates"]
    assert params.keys() == {"timeout", "limit"}, "no offset: taps stay; no allowed_updates: the setting stays"


def test_a_webhook_takes_the_taps(ward: Ward) -> None:
    ward.stop_daemon()
    ward.bot.answers["getWebhookInfo"] = answer({"url": "https://example.org/hook"})
    found = ward.check("telegram.poller")
    assert found.status is FAULT and "webhook" in found.detail and "remove that webhook" in found.advice


@pytest.mark.parametrize("said", [GONE, refusal(500, "Internal Server Error")])
def test_a_poll_that_says_nothing_about_others(ward: Ward, said: ApiAnswer | UnreachableError) -> None:
    ward.stop_daemon()
    ward.bot.answers["getUpdates"] = said
    assert ward.check("telegram.poller").status is SKIPPED


# People


def test_nobody_is_listed(ward: Ward) -> None:
    ward.configure("")
    found = ward.check("people.listed")
    assert found.status is FAULT and "nobody could answer" in found.detail and "tapgate pair" in found.advice


@pytest.mark.parametrize(
    ("role", "status", "words"), [("viewer", FAULT, "a viewer"), ("approver", WARNING, "an owner")]
)
def test_nobody_may_do_what_is_needed(ward: Ward, role: str, status: Status, words: str) -> None:
    ward.configure(f'[[people]]\nuser_id = 101\nrole = "{role}"\n')
    found = ward.check("people.listed")
    assert found.status is status and words in found.detail and 'role = "owner"' in found.advice


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        (refusal(403, "Forbidden: bot was blocked by the user"), "press Restart"),
        (refusal(403, "Forbidden: bot can't initiate conversation with a user"), "press Start once"),
        (refusal(400, "Bad Request: chat not found"), "the number is wrong"),
    ],
)
def test_a_chat_that_cannot_be_written_to(ward: Ward, said: ApiAnswer, advice: str) -> None:
    ward.bot.answers["sendChatAction"] = said
    found = ward.check("people.101")
    assert found.status is FAULT and said.description in found.detail
    assert advice in found.advice and "Ada" in found.advice


def test_a_group_that_moved_or_is_lost(ward: Ward) -> None:
    ward.configure('[[people]]\nuser_id = 101\nchat_id = -700\nname = "Ada"\n')
    ward.bot.answers["sendChatAction"] = refusal(
        400, "Bad Request: group chat was upgraded to a supergroup chat", migrate_to_chat_id=-100700
    )
    assert "set chat_id = -100700 for Ada" in ward.check("people.-700").advice
    ward.bot.answers["sendChatAction"] = refusal(403, "Forbidden: bot was kicked from the group chat")
    assert "add the bot to the group -700 again" in ward.check("people.-700").advice


@pytest.mark.parametrize("said", [GONE, refusal(429, "Too Many Requests")])
def test_a_chat_of_which_nothing_can_be_told(ward: Ward, said: ApiAnswer | UnreachableError) -> None:
    ward.bot.answers["sendChatAction"] = said
    assert ward.check("people.101").status is SKIPPED


def test_two_people_in_one_group_are_one_chat(ward: Ward) -> None:
    ward.configure("[[people]]\nuser_id = 101\nchat_id = -7\n[[people]]\nuser_id = 102\nchat_id = -7\n")
    assert ward.check("people.-7").status is OK
    assert ward.bot.calls[-1] == ("sendChatAction", {"chat_id": -7, "action": "typing"})
