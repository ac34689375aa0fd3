"""`tapgate setup` in a real terminal: from nothing to a tapped card, stopped anywhere, run again, without questions."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys

import pytest
from playwright.sync_api import expect, sync_playwright

from tapgate.config import load_config
from tapgate.model import Role
from tests.builders import event_bytes
from tests.e2e.browsing import CHROMIUM, FLAGS, REQUIRED
from tests.e2e.world import ADA, PATIENCE_S, finish
from tests.setup.terminal import Newcomer, Terminal
from tests.simulator.driver import TOKEN

SURE = ("--yes", "--no-service")


def pastes_token(terminal: Terminal) -> None:
    terminal.sees("BotFather", "The token (it is not shown):")
    terminal.answers(TOKEN)
    terminal.sees("@tapgate_bot")


def pairs(newcomer: Newcomer, terminal: Terminal, *, user_id: int = ADA) -> None:
    newcomer.presses_start(terminal.code(), user_id=user_id)
    terminal.sees("pressed Start", "Is that the right person?")
    terminal.answers()


def taps_test_card(newcomer: Newcomer, label: str = "Allow") -> None:
    newcomer.tap(newcomer.open_card("tapgate works"), label)


# The whole of it


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="Chromium is not installed")
def test_from_nothing_to_a_tapped_card_with_the_phone_page(newcomer: Newcomer) -> None:
    newcomer.has_manager()
    newcomer.post("users", id=ADA, first_name="Ada", started=False)  # she has never opened the bot
    terminal = newcomer.sets_up()
    pastes_token(terminal)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 390, "height": 760})
        page.set_default_timeout(PATIENCE_S * 1000)
        page.goto(f"{newcomer.url}/?user={ADA}&start={terminal.code()}")
        page.get_by_role("button", name="Start", exact=True).click()
        terminal.sees("Ada", "pressed Start", "Is that the right person?")
        terminal.answers()
        terminal.sees("Ada", "is paired as owner", "3/5", "Only this", "PermissionRequest", "Write this?")
        terminal.answers()
        terminal.sees("reads it at its next start", "4/5", "Install and start it?")
        terminal.answers()
        terminal.sees("It runs.", "5/5", "Send one now?")
        terminal.answers()
        allow = page.get_by_role("button", name="Allow", exact=True)
        expect(allow).to_be_visible(timeout=PATIENCE_S * 1000)
        terminal.sees("on your phone: tap a button")
        allow.click()
        terminal.sees("Allowed by Ada", "hook", "Telegram", "you", "back", "All set.")
        browser.close()
    screen = terminal.ends(0)
    assert "▀" in screen and "▄" in screen  # the QR code

    assert stat.S_IMODE(newcomer.config_path.stat().st_mode) == 0o600
    config = load_config(newcomer.config_path)
    assert [(one.user_id, one.chat_id, one.name, one.role) for one in config.persons()] == [
        (ADA, ADA, "Ada", Role.OWNER)
    ]
    assert config.telegram.token == TOKEN
    # And it works: the installed command, the service's daemon, the phone.
    hooks = json.loads(newcomer.settings_path.read_text())["hooks"]
    command = hooks["PermissionRequest"][0]["hooks"][0]["command"]
    asked = subprocess.Popen(["sh", "-c", command], env=newcomer.environ, stdin=-1, stdout=-1, stderr=-1)
    newcomer.processes.append(asked)
    assert asked.stdin is not None
    asked.stdin.write(event_bytes())
    asked.stdin.close()
    asked.stdin = None
    newcomer.tap(newcomer.open_card("npm test"), "Allow")
    assert b'"allow"' in finish(asked)[0]


def test_stopped_at_every_step_it_goes_on_from_there(newcomer: Newcomer) -> None:
    """Each run is stopped one step later than the last; what was done is not asked for again."""
    newcomer.has_manager()

    def stops(terminal: Terminal, *, done: str) -> str:
        terminal.interrupts()
        terminal.sees("Stopped.")
        screen = " ".join(terminal.ends(130).split())
        assert done in screen and "tapgate setup goes on from here" in screen
        return screen

    terminal = newcomer.sets_up()  # at the token
    terminal.sees("The token (it is not shown):")
    stops(terminal, done="Done so far: the config")

    terminal = newcomer.sets_up()  # while waiting for Start: first that is cancelled, then all of it
    pastes_token(terminal)
    used = terminal.code()
    terminal.interrupts()
    terminal.sees("does not count any more", "Go on?")
    stops(terminal, done="Done so far: the bot @tapgate_bot.")
    newcomer.presses_start(used)
    assert not load_config(newcomer.config_path).people

    terminal = newcomer.sets_up()  # asked whether it is the right person
    newcomer.presses_start(terminal.code())
    terminal.sees("Is that the right person?")
    assert "BotFather" not in stops(terminal, done="Done so far: the bot @tapgate_bot.")
    assert not load_config(newcomer.config_path).people

    terminal = newcomer.sets_up()  # at the agent's settings
    pairs(newcomer, terminal)
    terminal.sees("Write this?")
    stops(terminal, done="the bot @tapgate_bot, the phone.")
    assert not newcomer.settings_path.exists()

    terminal = newcomer.sets_up()  # at the service
    terminal.sees("Ada", "Pair one more?")
    terminal.answers()
    terminal.sees("Write this?")
    terminal.answers()
    terminal.sees("Install and start it?")
    stops(terminal, done="the phone, the hooks of Claude Code.")
    assert not (newcomer.home / ".config" / "systemd").exists()

    terminal = newcomer.sets_up()  # before the test card
    terminal.sees("Pair one more?")
    terminal.answers()
    terminal.sees("asks tapgate already", "Install and start it?")
    terminal.answers()
    terminal.sees("Send one now?")
    stops(terminal, done="the hooks of Claude Code, the service.")

    terminal = newcomer.sets_up()  # while the card waits
    terminal.sees("Pair one more?")
    terminal.answers()
    terminal.sees("asks tapgate already", "It is installed", "Send one now?")
    terminal.answers()
    newcomer.open_card("tapgate works")
    stops(terminal, done="the service.")
    newcomer.until(lambda: not any(card["buttons"] for card in newcomer.cards()))  # nobody can answer it any more

    terminal = newcomer.sets_up()  # and to the end
    terminal.sees("Pair one more?")
    terminal.answers()
    terminal.sees("Send one now?")
    terminal.answers()
    taps_test_card(newcomer, "Deny")
    terminal.sees("Denied by Ada", "All set.")
    terminal.ends(0)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_ends_it_in_order(newcomer: Newcomer, how: signal.Signals) -> None:
    newcomer.is_set_up()
    terminal = newcomer.sets_up("--yes", "--no-hooks")
    terminal.sees("5/5")
    newcomer.open_card("tapgate works")
    terminal.process.kill(how)
    terminal.sees("Stopped.")
    terminal.ends(130)
    assert subprocess.run([sys.executable, "-m", "tapgate", "status"], env=newcomer.environ).returncode == 1


def test_run_again_it_changes_nothing(newcomer: Newcomer) -> None:
    newcomer.has_manager()
    terminal = newcomer.sets_up("--yes", "--token-file", str(newcomer.token_file()), "--no-test")
    newcomer.presses_start(terminal.code())
    terminal.ends(0)
    files = [newcomer.config_path, newcomer.settings_path, *(newcomer.home / ".config/systemd/user").iterdir()]
    before = [(path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) for path in files]
    pid = (newcomer.home / "manager.pid").read_text()
    screen = (again := newcomer.sets_up("--yes", "--no-test")).ends(0)
    assert "asks tapgate already" in screen and "It is installed" in screen and "Scan" not in screen
    assert [(path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) for path in files] == before
    assert (newcomer.home / "manager.pid").read_text() == pid
    assert again.raw.count("Saved in") == 0


def test_a_service_that_ends_with_the_login_says_so(newcomer: Newcomer) -> None:
    newcomer.has_manager()
    newcomer.command("loginctl", "echo no\n")
    newcomer.is_set_up()
    terminal = newcomer.sets_up("--yes", "--no-hooks", "--no-test")
    terminal.sees("It runs.", "loginctl enable-linger", "All set.")
    terminal.ends(0)


# Without questions


def test_it_runs_without_questions_and_without_a_terminal(newcomer: Newcomer) -> None:
    process = newcomer.tapgate("setup", "--base-url", newcomer.url, "--token-file", str(newcomer.token_file()), "--yes")
    assert process.stdout is not None
    code = ""
    for line in process.stdout:
        if b"https://t.me/tapgate_bot?start=" in line:
            code = line.decode().strip().partition("start=")[2]
            break
    newcomer.presses_start(code)
    taps_test_card(newcomer)
    output, errors, exit_code = finish(process)
    assert (exit_code, errors) == (0, b"")
    assert b"\x1b" not in output and "█" not in output.decode()
    assert "is paired as owner" in output.decode() and "Allowed by Ada" in output.decode()
    assert load_config(newcomer.config_path).telegram.token_file == str(newcomer.token_file())
    assert TOKEN not in newcomer.config_path.read_text()


def test_a_token_from_a_pipe_is_written_to_the_config(newcomer: Newcomer) -> None:
    words = ("setup", "--base-url", newcomer.url, "--token-file", "-", "--yes", "--no-pair", "--no-hooks", "--no-test")
    process = newcomer.tapgate(*words, stdin=subprocess.PIPE)
    output, errors = process.communicate(f"Use this token:\n{TOKEN}\n".encode(), timeout=PATIENCE_S)
    assert (process.returncode, errors) == (1, b"")  # nobody is paired, which is said
    assert b"Nobody is listed yet" in output and TOKEN.encode() not in output
    assert load_config(newcomer.config_path).telegram.token == TOKEN


def test_questions_without_a_terminal_are_refused_before_anything_is_begun(newcomer: Newcomer) -> None:
    output, errors, code = finish(newcomer.tapgate("setup", "--base-url", newcomer.url, stdin=subprocess.DEVNULL))
    assert (output, code) == (b"", 1)
    assert b"this is not a terminal" in errors and b"--yes" in errors
    assert not newcomer.config_path.exists()


def test_a_token_that_is_missing_is_named(newcomer: Newcomer) -> None:
    process = newcomer.tapgate("setup", "--base-url", newcomer.url, "--yes", stdin=subprocess.DEVNULL)
    _, errors, code = finish(process)
    assert code == 1 and b'nobody is here to answer "The token' in errors


def test_each_step_can_be_skipped(newcomer: Newcomer) -> None:
    newcomer.has_manager()
    terminal = newcomer.sets_up()
    pastes_token(terminal)
    terminal.code()
    terminal.interrupts()
    terminal.sees("Go on?")
    terminal.answers("s")
    terminal.sees("Nobody is listed yet", "Write this?")
    terminal.answers("n")
    terminal.sees("tapgate hooks install", "4/5", "Skipped", "5/5", "Skipped", "goes on from here")
    terminal.ends(1)
    assert not newcomer.settings_path.exists() and not newcomer.home.joinpath("manager.pid").exists()


def test_the_whole_change_is_shown_on_request(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.settings_path.write_text('{\n  "model": "opus"\n}\n')
    terminal = newcomer.sets_up()
    terminal.sees("Pair one more?")
    terminal.answers()
    terminal.sees("more lines", "Write this?")
    assert "SessionEnd" not in terminal.screen
    terminal.answers("d")
    terminal.sees("SessionEnd", "Write this?")
    terminal.answers("n")
    terminal.sees("Send one now?")
    terminal.answers("n")
    terminal.ends(0)
    assert newcomer.settings_path.read_text() == '{\n  "model": "opus"\n}\n'


# What goes wrong


def test_a_wrong_token_is_asked_for_again(newcomer: Newcomer) -> None:
    terminal = newcomer.sets_up("--no-hooks", "--no-service", "--no-test")
    terminal.sees("The token (it is not shown):")
    terminal.answers("my password")
    terminal.sees("That is not a bot token", "The token (it is not shown):")
    terminal.answers("99999:not-the-one-it-knows")
    terminal.sees("Telegram does not know this token", "The token (it is not shown):")
    terminal.answers(f"Use this token to access the HTTP API: {TOKEN}")
    terminal.sees("@tapgate_bot")
    pairs(newcomer, terminal)
    terminal.sees("Set up.", "tapgate daemon")
    screen = terminal.ends(0)
    assert "99999:not-the-one-it-knows" not in screen and "password" not in screen


def test_a_config_whose_token_is_refused_gets_a_new_one_and_keeps_the_rest(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.config_path.write_text(newcomer.config_path.read_text().replace(TOKEN, "99999:not-the-one-it-knows"))
    terminal = newcomer.sets_up("--no-hooks", "--no-service", "--no-test")
    terminal.sees("Telegram does not know this token", "The token (it is not shown):")
    terminal.answers(TOKEN)
    terminal.sees("Pair one more?")
    terminal.answers()
    terminal.ends(0)
    assert newcomer.config_path.read_text().startswith("# mine\n")
    assert load_config(newcomer.config_path).telegram.token == TOKEN


def test_a_network_that_is_down_is_a_sentence_with_the_next_step(newcomer: Newcomer) -> None:
    terminal = newcomer.runs("setup", "--base-url", "http://127.0.0.1:1", "--token-file", str(newcomer.token_file()))
    terminal.sees("Telegram cannot be reached", "--proxy http://host:port", "Try again?")
    terminal.answers("y")
    terminal.sees("Telegram cannot be reached", "Try again?")
    terminal.answers("n")
    terminal.sees("run `tapgate setup` again")
    assert "Traceback" not in terminal.ends(1)


def test_a_proxy_of_the_environment_is_named_but_not_used(newcomer: Newcomer) -> None:
    words = ("setup", "--base-url", "http://127.0.0.1:1", "--token-file", str(newcomer.token_file()))
    terminal = newcomer.runs(*words, HTTPS_PROXY=newcomer.url)
    terminal.sees("HTTPS_PROXY is set here", '--proxy "$HTTPS_PROXY"', "Try again?")
    terminal.answers("n")
    terminal.ends(1)
    assert not newcomer.get("calls")["calls"]


def test_a_proxy_that_is_asked_for_is_used_and_kept(newcomer: Newcomer) -> None:
    words = ("--token-file", str(newcomer.token_file()), "--proxy", "http://127.0.0.1:1")
    terminal = newcomer.sets_up(*words)
    terminal.sees("Telegram cannot be reached (ConnectError)", "Try again?")
    terminal.answers("n")
    terminal.ends(1)
    assert load_config(newcomer.config_path).telegram.proxy == "http://127.0.0.1:1"
    assert not newcomer.get("calls")["calls"]


def test_settings_that_cannot_be_read_are_left_alone_and_the_rest_goes_on(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    newcomer.settings_path.write_text('{"hooks": \n  oops}')
    terminal = newcomer.sets_up("--yes", "--no-test")
    terminal.sees("settings.json:2:3", "4/5", "5/5", "Not everything is in place")
    terminal.ends(1)
    assert newcomer.settings_path.read_text() == '{"hooks": \n  oops}'


def test_a_daemon_that_read_the_old_config_is_not_what_the_test_card_goes_through(newcomer: Newcomer) -> None:
    """Somebody listed since then would wait for a card that never comes."""
    newcomer.is_set_up((102, "Linus", "viewer"))
    daemon = newcomer.start_daemon()
    newcomer.is_set_up()
    os.utime(newcomer.config_path)
    terminal = newcomer.sets_up("--yes", "--no-hooks")
    terminal.sees("has not read the new config yet")
    daemon.wait(PATIENCE_S)
    taps_test_card(newcomer)
    terminal.sees("Allowed by Ada", "tapgate daemon")
    terminal.ends(0)


def test_codex_gets_its_hooks_too(newcomer: Newcomer) -> None:
    newcomer.is_set_up()
    terminal = newcomer.sets_up("--yes", "--agent", "codex")
    terminal.sees("Codex", "reads it at its next start", "trust it", "5/5")
    taps_test_card(newcomer)
    terminal.sees("Allowed by Ada")
    terminal.ends(0)
    assert (newcomer.home / ".codex" / "hooks.json").exists() and not newcomer.settings_path.exists()


# Terminals


@pytest.mark.parametrize(
    ("environ", "columns", "rows", "has_code"),
    [
        ({}, 80, 24, True),
        ({}, 40, 24, True),
        ({}, 30, 24, False),  # too narrow
        ({}, 80, 15, False),  # too low
        ({"NO_COLOR": "1"}, 80, 24, True),
        ({"TERM": "dumb"}, 80, 24, False),
        ({"PYTHONIOENCODING": "iso8859-1", "PYTHONUTF8": "0"}, 80, 24, False),  # needs twice the room
        ({"PYTHONIOENCODING": "iso8859-1", "PYTHONUTF8": "0"}, 80, 50, True),
    ],
)
def test_every_terminal_gets_a_link_and_a_code_where_it_has_room(
    newcomer: Newcomer, environ: dict[str, str], columns: int, rows: int, has_code: bool
) -> None:
    words = ("--token-file", str(newcomer.token_file()), "--no-hooks", "--no-service", "--no-test")
    terminal = newcomer.sets_up(*words, columns=columns, rows=rows, **environ)
    pairs(newcomer, terminal)
    terminal.sees("paired as owner")
    screen = terminal.ends(0)
    assert ("Scan this" in screen) is has_code
    if "PYTHONIOENCODING" in environ:
        assert screen.isascii() and ("\x1b[7m" in terminal.raw) is has_code
    else:
        assert ("▀" in screen) is has_code
    if "NO_COLOR" in environ:
        assert "38;2" not in terminal.raw and "\x1b[3" not in terminal.raw


def test_a_name_with_control_characters_does_nothing_to_the_terminal(newcomer: Newcomer) -> None:
    newcomer.post("users", id=ADA, first_name="\u202eadA [red]x[/red]")
    terminal = newcomer.sets_up("--token-file", str(newcomer.token_file()), "--no-hooks", "--no-service", "--no-test")
    pairs(newcomer, terminal)
    terminal.sees("paired as owner")
    screen = terminal.ends(0)
    assert "⟨U+202E⟩adA [red]x[/red]" in screen and "\u202e" not in screen
