"""Each finding of the doctor: provoked, and its advice read. Where nothing is wrong, it says nothing is."""

from __future__ import annotations

import os
import socket
import sqlite3
from typing import Any

import pytest

from tapgate.doctor.check import Check, Chmod, RemoveStaleSocket, Status
from tapgate.doctor.scene import Answer, Ran, UnreachableError
from tapgate.errors import TapgateError
from tests.doctor.ward import NOW, STATUS, TOKEN, Ward, answer, refusal

OK, WARNING, FAULT, SKIPPED = Status.OK, Status.WARNING, Status.FAULT, Status.SKIPPED
GONE = UnreachableError("nobody listens at api.telegram.org", "check the network")


def told(**changes: Any) -> dict[str, Any]:
    """What a daemon says that is well but for these."""
    return {**STATUS, **changes}


def test_where_all_is_well_nothing_is_found(ward: Ward) -> None:
    assert ward.troubles() == {}
    assert {check.advice for check in ward.checks() if check.status is OK} == {""}


def test_every_fault_and_warning_says_what_to_do(ward: Ward) -> None:
    """With as much broken at once as can be: nothing stops the others from being looked at."""
    ward.config_path.chmod(0o644)
    ward.stop_daemon()
    ward.bot.answers = {"getMe": GONE}
    ward.free = 0
    ward.commands = {}
    troubles = [check for check in ward.checks() if check.status in (FAULT, WARNING)]
    assert {"config", "telegram", "daemon", "journal", "agents"} <= {check.group for check in troubles}
    assert all(check.advice for check in troubles)


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


def test_a_token_of_another_shape(ward: Ward) -> None:
    ward.configure(token='token = "hunter2"')
    found = ward.check("telegram.token")
    assert found.status is FAULT and "does not look like a bot token" in found.detail and "hunter2" not in repr(found)


@pytest.mark.parametrize("refused", [refusal(401, "Unauthorized"), refusal(404, "Not Found")])
def test_a_token_that_is_not_accepted(ward: Ward, refused: Answer) -> None:
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
        (Answer(404, None, NOW), "answers with 404 and no Bot API answer", "a login page in between"),
        (Answer(502, None, NOW), "answers with 502 and no Bot API answer", "try again later"),
        (refusal(500, "Internal Server Error"), "500 Internal Server Error", "wait a little"),
        (refusal(429, "Too Many Requests: retry after 3"), "429 Too Many", "wait a little"),
    ],
)
def test_an_answer_that_is_none(ward: Ward, said: Answer, words: str, advice: str) -> None:
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
def test_a_poll_that_says_nothing_about_others(ward: Ward, said: Answer | UnreachableError) -> None:
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
def test_a_chat_that_cannot_be_written_to(ward: Ward, said: Answer, advice: str) -> None:
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
def test_a_chat_of_which_nothing_can_be_told(ward: Ward, said: Answer | UnreachableError) -> None:
    ward.bot.answers["sendChatAction"] = said
    assert ward.check("people.101").status is SKIPPED


def test_two_people_in_one_group_are_one_chat(ward: Ward) -> None:
    ward.configure("[[people]]\nuser_id = 101\nchat_id = -7\n[[people]]\nuser_id = 102\nchat_id = -7\n")
    assert ward.check("people.-7").status is OK
    assert ward.bot.calls[-1] == ("sendChatAction", {"chat_id": -7, "action": "typing"})


# Daemon


def test_no_daemon(ward: Ward) -> None:
    ward.stop_daemon()
    found = ward.check("daemon.running")
    assert found.status is FAULT and "the agent asks at the terminal" in found.detail
    assert "tapgate service start" in found.advice and "tapgate daemon" in found.advice
    assert set(ward.asked) == {ward.socket_path}


def test_a_daemon_that_does_not_answer(ward: Ward) -> None:
    ward.status = TapgateError("the daemon does not answer; restart it")
    found = ward.check("daemon.running")
    assert found.status is FAULT and "does not answer" in found.detail and "restart it" in found.advice
    assert ward.check("daemon.socket").status is OK, "somebody holds it: it is not stale"


def test_a_daemon_of_another_version(ward: Ward) -> None:
    ward.status = told(version="0.0.9")
    found = ward.check("daemon.version")
    assert found.status is WARNING and "the daemon is 0.0.9, this command 0.1.0" in found.detail
    assert "restart it" in found.advice


def test_a_config_that_is_newer_than_the_daemon(ward: Ward) -> None:
    os.utime(ward.config_path, (NOW - 60, NOW - 60))
    found = ward.check("daemon.config")
    assert found.status is WARNING and "after the daemon started" in found.detail and "restart it" in found.advice


def test_a_daemon_that_does_not_hear_telegram(ward: Ward) -> None:
    ward.status = told(telegram="Telegram cannot be reached (ConnectError)", last_poll_at=NOW - 400)
    found = ward.check("daemon.poll")
    assert found.status is FAULT and "ConnectError" in found.detail and "400 s ago" in found.detail
    assert "goes on by itself" in found.advice


@pytest.mark.parametrize("heard_at", [None, NOW - 91])
def test_a_daemon_that_went_deaf(ward: Ward, heard_at: float | None) -> None:
    ward.status = told(last_poll_at=heard_at)
    found = ward.check("daemon.poll")
    assert found.status is FAULT and "no tap can be heard" in found.detail and "restart it" in found.advice
    ward.status = told(last_poll_at=heard_at, started_at=NOW - 5)
    assert ward.check("daemon.poll").status is SKIPPED, "it has only just started"


def test_the_last_errors_of_the_daemon(ward: Ward) -> None:
    reports = [
        {"at": NOW - 7200, "sentence": "of long ago", "times": 1},
        *({"at": NOW - 60, "sentence": f"error {number}", "times": number} for number in range(1, 5)),
    ]
    ward.status = told(reports=reports)
    found = ward.check("daemon.reports")
    assert found.status is WARNING and "4 in the last hour" in found.detail
    assert "error 4 (×4)" in found.detail and "error 1" not in found.detail and "long ago" not in found.detail
    assert "tapgate service logs" in found.advice
    ward.status = told(reports=reports[:1])
    assert ward.check("daemon.reports").status is OK
    ward.status = {key: value for key, value in STATUS.items() if key != "reports"}
    assert ward.check("daemon.reports").status is SKIPPED


# Socket


def test_a_socket_path_that_is_too_long(ward: Ward) -> None:
    ward.socket_path = ward.home / ("d" * 100) / "daemon.sock"
    ward.configure()
    found = ward.check("daemon.socket")
    assert found.status is FAULT and "sockets allow 103" in found.detail
    assert "set a shorter socket_path" in found.advice


def test_a_socket_directory_that_is_open_to_others(ward: Ward) -> None:
    ward.socket_path.parent.chmod(0o755)
    found = ward.check("daemon.socket_dir")
    assert found.status is FAULT and "chmod 700" in found.advice and found.fix == Chmod(ward.socket_path.parent, 0o700)


def test_a_socket_directory_that_is_none_or_another_users(ward: Ward) -> None:
    ward.socket_path.unlink()
    ward.socket_path.parent.rmdir()
    assert ward.check("daemon.socket").status is SKIPPED, "it comes with the daemon"
    ward.socket_path.parent.write_text("")
    found = ward.check("daemon.socket_dir")
    assert found.status is FAULT and "not a directory" in found.detail and "remove it" in found.advice
    assert ward.check("daemon.socket").status is FAULT
    ward.socket_path.parent.unlink()
    ward.socket_path.parent.mkdir(mode=0o700)
    ward.uid = os.getuid() + 1
    found = ward.check("daemon.socket_dir")
    assert found.status is FAULT and "another user" in found.detail and "set another path" in found.advice


def test_something_else_in_the_sockets_place(ward: Ward) -> None:
    ward.socket_path.unlink()
    ward.socket_path.write_text("")
    found = ward.check("daemon.socket")
    assert found.status is FAULT and "is not a socket" in found.detail and "remove it" in found.advice
    assert found.fix is None, "it is somebody's file"


def test_a_socket_of_another_user(ward: Ward) -> None:
    ward.uid = os.getuid() + 1
    found = ward.check("daemon.socket")
    assert found.status is FAULT and "no hook will ask there" in found.detail
    assert "set another socket_path" in found.advice


def test_a_socket_that_a_killed_daemon_left(ward: Ward) -> None:
    ward.stop_daemon()
    found = ward.check("daemon.socket")
    assert found.status is WARNING and "left by a daemon that was killed" in found.detail
    assert "the next daemon replaces it" in found.advice and found.fix == RemoveStaleSocket(ward.socket_path)


def test_a_socket_that_is_open_to_others(ward: Ward) -> None:
    ward.socket_path.chmod(0o666)
    found = ward.check("daemon.socket")
    assert found.status is WARNING and "0666" in found.detail and found.fix == Chmod(ward.socket_path, 0o600)
    assert "chmod 600" in found.advice


# Journal and disk


def test_no_journal_yet(ward: Ward) -> None:
    found = ward.check("journal.file")
    assert found.status is SKIPPED and "comes with the first daemon run" in found.detail


def make_journal(ward: Ward) -> None:
    with sqlite3.connect(ward.state_dir / "journal.db") as connection:
        connection.execute("PRAGMA application_id = 1952542823")
        connection.execute("CREATE TABLE padding (text)")
        connection.executemany("INSERT INTO padding VALUES (?)", [("x" * 3000,)] * 20)
    connection.close()
    (ward.state_dir / "journal.db").chmod(0o600)


def test_a_damaged_journal(ward: Ward) -> None:
    make_journal(ward)
    assert ward.check("journal.file").status is OK
    path = ward.state_dir / "journal.db"
    content = bytearray(path.read_bytes())
    content[4096 : 4096 * 3] = b"\xff" * 4096 * 2
    path.write_bytes(content)
    found = ward.check("journal.file")
    assert found.status is FAULT and "damaged" in found.detail + found.advice and "restart the daemon" in found.advice
    path.write_bytes(b"this is no database at all, but long enough to look like one" * 100)
    assert ward.check("journal.file").status is FAULT


def test_a_journal_of_another_program_or_a_newer_tapgate(ward: Ward) -> None:
    path = ward.state_dir / "journal.db"
    make_journal(ward)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    found = ward.check("journal.file")
    assert found.status is FAULT and "upgrade tapgate" in found.detail
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA application_id = 7")
    connection.close()
    assert "another program's database" in ward.check("journal.file").detail


def test_a_journal_that_was_set_aside(ward: Ward) -> None:
    make_journal(ward)
    kept = ward.state_dir / "journal.db.damaged-20260101T000100Z"
    kept.write_text("")
    found = ward.check("journal.file")
    assert found.status is WARNING and str(kept) in found.detail and "delete that file" in found.advice


def test_a_large_journal(ward: Ward) -> None:
    make_journal(ward)
    wal = ward.state_dir / "journal.db-wal"
    with wal.open("wb") as file:  # sparse: it takes no room
        file.truncate(2 * 1024**3)
    found = ward.check("journal.file")
    assert found.status is WARNING and "2048" in found.detail and "keep_days" in found.advice


def test_a_journal_that_others_can_read(ward: Ward) -> None:
    make_journal(ward)
    path = ward.state_dir / "journal.db"
    path.chmod(0o644)
    found = ward.check("journal.permissions")
    assert found.status is WARNING and found.fix == Chmod(path, 0o600) and "chmod 600" in found.advice


def test_a_journal_directory_that_is_open_to_others(ward: Ward) -> None:
    ward.state_dir.chmod(0o755)
    found = ward.check("journal.dir")
    assert found.status is FAULT and found.fix == Chmod(ward.state_dir, 0o700) and "chmod 700" in found.advice


def test_a_journal_that_cannot_be_written(ward: Ward) -> None:
    ward.writable = False
    assert ward.check("journal.writable").status is OK, "the running daemon knows better"
    ward.status = told(journal="journal.db: nothing can be recorded: the disk is full; free some space")
    found = ward.check("journal.writable")
    assert found.status is FAULT and "the disk is full" in found.detail and "goes on by itself" in found.advice
    ward.stop_daemon()
    found = ward.check("journal.writable")
    assert found.status is FAULT and "nothing allowed" in found.detail and "state_dir" in found.advice


@pytest.mark.parametrize(("free_mib", "status"), [(0, FAULT), (19, FAULT), (21, WARNING), (499, WARNING), (501, OK)])
def test_a_disk_that_fills_up(ward: Ward, free_mib: int, status: Status) -> None:
    ward.free = free_mib * 1024 * 1024
    found = ward.check("journal.disk")
    assert found.status is status and f"{free_mib} MiB free" in found.detail
    assert ("free some space" in found.advice) == (status is not OK)


# Agents


def test_no_agent_at_all(ward: Ward) -> None:
    del ward.commands["codex"]
    found = ward.check("agents.codex")
    assert found.status is SKIPPED and "`codex` is not in PATH" in found.detail
    assert not [check for check in ward.checks() if check.name == "agents.any"], "one is enough"
    ward.commands.clear()
    found = ward.check("agents.any")
    assert found.status is WARNING and "neither Claude Code nor Codex" in found.detail and "install" in found.advice


@pytest.mark.parametrize("version", ["2.0.45", "2.1.197"])
def test_a_claude_that_does_not_ask_without_a_terminal(ward: Ward, version: str) -> None:
    ward.commands["claude"] = Ran(0, f"{version} (Claude Code)")
    found = ward.check("agents.claude")
    assert found.status is WARNING and "`claude -p`" in found.detail
    assert "--gate 'Bash|Write|Edit'" in found.advice and "upgrade" in found.advice


def test_versions_of_which_less_is_known(ward: Ward) -> None:
    ward.commands["claude"] = Ran(0, "2.1.250 (Claude Code)")
    found = ward.check("agents.claude")
    assert found.status is OK and "nobody has tried" in found.detail
    ward.commands["claude"] = Ran(0, "3.0.0 (Claude Code)")
    found = ward.check("agents.claude")
    assert found.status is OK and "newer than 2.1.325" in found.detail
    ward.commands["claude"] = Ran(0, "2.1.325 (Claude Code)")
    assert ward.check("agents.claude").detail == "2.1.325"


def test_codex_exec_is_explained(ward: Ward) -> None:
    found = ward.check("agents.codex")
    assert found.status is OK and "--approve-for-me" in found.detail


@pytest.mark.parametrize("ran", [Ran(1, "2.1.325"), Ran(0, "no idea"), Ran(0, "")])
def test_an_agent_that_does_not_say_its_version(ward: Ward, ran: Ran) -> None:
    ward.commands["claude"] = ran
    found = ward.check("agents.claude")
    assert found.status is SKIPPED and "does not say which version" in found.detail


# The doctor's own faults


def test_a_check_that_breaks_is_told_and_stops_no_other(ward: Ward) -> None:
    ward.status = {"nonsense": TOKEN}
    ward.bot.answers = {}
    checks = {check.name: check for check in ward.checks()}
    assert TOKEN not in repr(checks)
    for name in ("telegram.broken", "daemon.broken"):
        assert checks[name].status is FAULT and "broke off (KeyError" in checks[name].detail
        assert "report" in checks[name].advice
    assert checks["config.file"].status is OK and checks["agents.claude"].status is OK


def test_a_daemon_that_cannot_even_be_asked(ward: Ward) -> None:
    ward.status = ZeroDivisionError("boom")
    checks: dict[str, Check] = {check.name: check for check in ward.checks()}
    assert "ZeroDivisionError" in checks["daemon.broken"].detail
    assert checks["daemon.running"].status is FAULT and checks["journal.disk"].status is OK


def test_the_stale_socket_in_these_tests_is_a_real_one(ward: Ward) -> None:
    with socket.socket(socket.AF_UNIX) as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(str(ward.socket_path))
