"""`tapgate demo`: the real daemon and the real hook, with the simulator's phone page in the place of Telegram."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console
from rich.markup import escape

from tapgate.cli.samples import Sample, samples, write_project
from tapgate.cli.simulator import DEMO_TOKEN
from tapgate.errors import TapgateError

USER_ID = 1001
START_S = 30.0
WAIT_S = 30.0

_CONFIG = """\
timeout_s = 600
socket_path = "{home}/run/daemon.sock"
state_dir = "{home}/state"

[telegram]
token = "{token}"
base_url = "{url}"

[[people]]
user_id = {user_id}
name = "you"
"""


def demo(
    script: Annotated[bool, typer.Option("--script", help="Tap by itself, check every decision, and end.")] = False,
    port: Annotated[int, typer.Option(help="The phone page's port; 0 picks a free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the phone page.")] = True,
) -> None:
    """Try it without an account: a phone in your browser, a sample project's questions, your taps."""
    console = Console(highlight=False)
    for unwanted in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal ends it like Ctrl-C, children and all
        signal.signal(unwanted, signal.default_int_handler)
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="tapgate-"))
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        stage = Stage(home, stack)
        try:
            console.print("[dim]Starting the simulator and the daemon …[/dim]")
            page = stage.start(port)
            if script:
                results = [_play(stage, console, sample) for sample in samples(str(stage.project))]
                ok = all(results)
                console.print(
                    "[green]Every decision came back as tapped.[/green]" if ok else "[red]Not as tapped.[/red]"
                )
                raise typer.Exit(0 if ok else 1)
            console.print(
                f"\nThe phone: [bold cyan]{page}[/bold cyan]\nOpen it, and answer there. Ctrl-C ends the demo.\n"
            )
            if browser and (sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
                webbrowser.open(page)
            for sample in samples(str(stage.project)):
                _watch(stage, console, sample)
            console.print("\nThat was all. The real thing, with your own bot: [bold]tapgate setup[/bold].")
        except KeyboardInterrupt:
            console.print("\nThe demo has ended.")


class Stage:
    """The processes of the demo, in a home of their own."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home = home
        self.project = home / "shop"
        write_project(self.project)
        self._stack = stack
        self.url = ""
        self._command = ""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("TAPGATE_", "CLAUDE", "XDG_"))
        }
        runtime = home / "runtime"  # the daemon's lock that goes by the bot lies there, and goes with the rest
        runtime.mkdir(mode=0o700)
        self._environ = {**kept, "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PYTHONUNBUFFERED": "1"}

    def start(self, port: int) -> str:
        """Start both servers; gives the phone page's address."""
        line = self._launch("simulator", "--port", str(port), "--token", DEMO_TOKEN, "--user", f"{USER_ID}:You")
        self.url = line.split()[-1]
        config = self.home / "config.toml"
        config.touch(mode=0o600)
        config.write_text(
            _CONFIG.format(home=self.home, token=DEMO_TOKEN, url=self.url, user_id=USER_ID), encoding="utf-8"
        )
        self._launch("daemon", "--config", str(config))
        printed = subprocess.run(
            [sys.executable, "-m", "tapgate", "hooks", "print", "--config", str(config)],
            env=self._environ,
            capture_output=True,
            check=True,
            text=True,
        )
        settings = json.loads(printed.stdout)
        self._command = settings["hooks"]["PermissionRequest"][0]["hooks"][0]["command"]
        return f"{self.url}/"

    def ask(self, sample: Sample) -> subprocess.Popen[bytes]:
        """Run the hook as Claude Code does: the settings' command in a shell, the event on its stdin."""
        with (self.project / ".transcript.jsonl").open("a", encoding="utf-8") as transcript:
            transcript.write(sample.transcript_line())
        process = subprocess.Popen(
            ["sh", "-c", self._command],
            env={**self._environ, "CLAUDE_PROJECT_DIR": str(self.project), "CLAUDE_CODE_SESSION_ATTENDED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._stack.callback(_end, process)
        assert process.stdin is not None
        process.stdin.write(json.dumps(sample.event(str(self.project))).encode())
        process.stdin.close()
        process.stdin = None  # communicate() would flush it
        return process

    def messages(self) -> list[dict[str, Any]]:
        answer = httpx.get(f"{self.url}/control/chats/{USER_ID}/messages", trust_env=False).json()
        found: list[dict[str, Any]] = answer["messages"]
        return [message for message in found if not message.get("deleted")]

    def post(self, path: str, body: dict[str, Any]) -> None:
        httpx.post(f"{self.url}/control/{path}", json=body, trust_env=False).raise_for_status()

    def _launch(self, *words: str) -> str:
        """Start one of our own commands and wait for its line."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tapgate", *words],
            env=self._environ,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,  # Ctrl-C is for the demo, which then ends them in order
        )
        self._stack.callback(_end, process)
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if selector.select(START_S) else ""
        if not line:
            raise TapgateError(f"`tapgate {words[0]}` did not start; run it by itself to see why")
        return line.strip()


def _end(process: subprocess.Popen[Any]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(12)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _watch(stage: Stage, console: Console, sample: Sample) -> None:
    """Ask, and show the answer when it comes."""
    console.print(f"[bold]The agent asks[/bold] to {sample.title} ({sample.tool}).")
    process = stage.ask(sample)
    with console.status("waiting for your tap …"):
        output, _ = process.communicate()
    console.print(f"  → {escape(output.decode()) or 'no opinion'}\n", soft_wrap=True)


def _play(stage: Stage, console: Console, sample: Sample) -> bool:
    """Ask, tap as the script says, and check the answer."""
    before = {message["message_id"] for message in stage.messages()}
    process = stage.ask(sample)
    tap_through(sample, messages=stage.messages, post=stage.post, before=before)
    output, _ = process.communicate(timeout=WAIT_S)
    console.print(f"{sample.title}: {escape(output.decode())}", soft_wrap=True)
    return bool(json.loads(output)["hookSpecificOutput"]["decision"] == sample.decision)


def tap_through(
    sample: Sample,
    *,
    messages: Callable[[], list[dict[str, Any]]],
    post: Callable[[str, dict[str, Any]], None],
    before: set[int],
) -> None:
    """Answer a request as its script says, on the card that was not there before."""

    def wait_for(wanted: Callable[[dict[str, Any]], Any]) -> int:
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            found = [one for one in messages() if one["message_id"] not in before and wanted(one)]
            if found:
                return int(found[-1]["message_id"])
            time.sleep(0.05)
        raise TapgateError("the card did not come; run `tapgate demo` without --script and look at the phone page")

    def offers(label: str, message: dict[str, Any]) -> bool:
        return any(label in button["text"] for row in message["buttons"] for button in row)

    you = {"user_id": USER_ID, "chat_id": USER_ID}
    for label in sample.taps:
        post("tap", {**you, "message_id": wait_for(partial(offers, label)), "label": label})
    if sample.typed:
        prompt = wait_for(lambda message: message["force_reply"])
        post("message", {**you, "text": sample.typed, "reply_to_message_id": prompt})
