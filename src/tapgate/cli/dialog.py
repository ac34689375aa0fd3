"""What is said and asked in a terminal. With `--yes` a question answers itself; without a terminal it says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from getpass import getpass

import typer
from rich.console import Console
from rich.markup import escape
from rich.status import Status

from tapgate.errors import TapgateError
from tapgate.telegram.text import clip, visible

_ASCII = str.maketrans({"✓": "ok", "✗": "x", "…": "...", "→": "->", "·": "-", "▶": ">", "—": "-"})
NAME_UNITS = 64
LONG_LINES = 40
SHORT_LINES = 14


class UnaskableError(TapgateError):
    """A question came up and nobody is there to answer it."""


class Dialog:
    def __init__(self, console: Console, *, yes: bool = False, interactive: bool = True) -> None:
        self.console = console
        self.interactive = interactive
        self._yes = yes
        self._is_plain = not console.encoding.lower().startswith("utf")

    @property
    def is_plain(self) -> bool:
        """Whether the terminal takes no more than ASCII."""
        return self._is_plain

    def say(self, markup: str = "", *, whole_lines: bool = False) -> None:
        """One paragraph. `whole_lines`: it is not wrapped, so that a link or a command can be copied."""
        text = markup.translate(_ASCII) if self._is_plain else markup
        self.console.print(text, soft_wrap=whole_lines, highlight=False)

    def step(self, title: str) -> None:
        self.say(f"\n[bold cyan]▶ {title}[/bold cyan]")

    def done(self, markup: str) -> None:
        self.say(f"[green]✓[/green] {markup}")

    def warn(self, markup: str) -> None:
        self.say(f"[yellow]![/yellow] {markup}")

    def fail(self, markup: str) -> None:
        self.say(f"[red]✗[/red] {markup}")

    def confirm_change(self, question: str, diff: str) -> bool:
        """Show what would change, and ask. Of a long change first the beginning, the whole of it on request."""
        lines = diff.splitlines()
        is_long = not self._yes and self.interactive and len(lines) > LONG_LINES
        self._show_lines(lines[:SHORT_LINES] if is_long else lines)
        if not is_long:
            return self.confirm(question)
        self.say(f"  [dim]… and {len(lines) - SHORT_LINES} more lines[/dim]")
        while True:
            answer = self._ask(question, "Y/n, d shows all of it").strip().lower()
            if answer in ("", "y", "yes", "n", "no"):
                return not answer.startswith("n")
            if answer != "d":
                self.say("Please answer y, n or d.")
                continue
            self._show_lines(lines)

    def _show_lines(self, lines: Sequence[str]) -> None:
        """As they are, in the colours that everybody knows."""
        for line in lines:
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
            style = "bold" if line.startswith(("+++", "---")) else style
            shown = visible(line)
            if self._is_plain:
                shown = shown.translate(_ASCII)
            self.console.print(f"  {shown}", style=style, markup=False, highlight=False, soft_wrap=True)

    def confirm(self, question: str, *, default: bool = True, with_yes: bool | None = None) -> bool:
        """`with_yes` is the answer under `--yes`, where that is not the default."""
        if self._yes:
            return default if with_yes is None else with_yes
        while True:
            answer = self._ask(question, "Y/n" if default else "y/N").strip().lower()
            if answer in ("", "y", "yes", "n", "no"):
                return default if not answer else answer[0] == "y"
            self.say("Please answer y or n.")

    def choose(self, question: str, choices: Mapping[str, str], *, default: str) -> str:
        """One of the choices by its key; each has its words."""
        if self._yes:
            return default
        offered = ", ".join(
            f"[bold]{key.upper() if key == default else key}[/bold] {words}".rstrip() for key, words in choices.items()
        )
        while True:
            answer = self._ask(f"{question} {offered}", "").strip().lower() or default
            found = [key for key in choices if answer in (key, choices[key])]
            if found:
                return found[0]
            self.say(f"Please answer one of: {', '.join(choices)}.")

    def ask(self, question: str, *, default: str) -> str:
        return default if self._yes else self._ask(question, escape(default)).strip() or default

    def secret(self, question: str) -> str:
        """Typed or pasted unseen."""
        self._demand(question)
        return getpass(f"{question} ")

    @contextmanager
    def waiting(self, markup: str) -> Iterator[Status]:
        """A spinner; without a terminal one line."""
        if not self.console.is_terminal or self.console.is_dumb_terminal:
            self.say(markup)
        spinner = "line" if self._is_plain else "dots"
        text = markup.translate(_ASCII) if self._is_plain else markup
        with self.console.status(text, spinner=spinner) as status:
            yield status

    def require_terminal(self) -> None:
        """Before anything is begun: with `--yes` there is nothing to ask."""
        if not self._yes and not self.interactive:
            raise UnaskableError(
                "this is not a terminal, and there are questions to ask; run it in one, or with --yes (see --help)"
            )

    def _ask(self, question: str, hint: str) -> str:
        self._demand(question)
        text = f"{question} [dim]\\[{hint}][/dim] " if hint else f"{question} "
        self.console.print(text.translate(_ASCII) if self._is_plain else text, end="", highlight=False)
        try:
            return input()
        except EOFError:
            self.say()
            raise typer.Abort from None

    def _demand(self, question: str) -> None:
        if not self.interactive:
            raise UnaskableError(
                f'nobody is here to answer "{question}"; run this in a terminal, or give the answer as an option '
                "(see --help)"
            )


def open_dialog(*, yes: bool = False) -> Dialog:
    """On this process's own terminal. What the terminal cannot show becomes a question mark, never an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    return Dialog(Console(highlight=False), yes=yes, interactive=sys.stdin.isatty() and sys.stdout.isatty())


def shown(foreign: str) -> str:
    """Somebody else's words (a name, a title, a path), safe for the terminal and for markup."""
    return escape(plain_name(foreign))


def plain_name(foreign: str) -> str:
    """A name on one line, every character visible, not longer than a name."""
    return clip(visible(" ".join(foreign.split()), one_line=True), NAME_UNITS)
