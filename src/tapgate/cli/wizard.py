"""The steps of `tapgate setup`, in order. Each looks first at what is there, so that a second run changes only what
changed, and an interrupted one goes on where it was."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import anyio
from rich.markup import escape

from tapgate.cli.bot import PairingBot, TokenRefusedError, parse_token, who_is
from tapgate.cli.dialog import Dialog, shown
from tapgate.cli.listing import render_people
from tapgate.cli.pairing import pair_person
from tapgate.cli.probe import find_command, show, try_out
from tapgate.cli.running import DaemonControl, own_service, short_lived_daemon
from tapgate.config import CONFIG_VARIABLE, TOKEN_VARIABLE, read_token
from tapgate.errors import FrontError, ServiceError, SettingsError, TapgateError
from tapgate.hooks.command import hook_command
from tapgate.hooks.scopes import agent_dir
from tapgate.hooks.settings import AGENTS, TITLES, Scope, Severity, apply, inspect, plan_install, settings_path
from tapgate.model import Role
from tapgate.paths import default_config_path
from tapgate.service.manager import Service, why_not
from tapgate.setup.config_file import ConfigFile, with_server, with_token, with_token_file

_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@dataclass(frozen=True, slots=True)
class SetupOptions:
    """What was asked for on the command line."""

    token_file: Path | None = None
    base_url: str | None = None
    proxy: str | None = None
    name: str = ""
    agents: tuple[str, ...] = ()
    pair: bool = True
    hooks: bool = True
    service: bool = True
    test: bool = True


class Wizard:
    def __init__(self, dialog: Dialog, config_path: Path, wishes: SetupOptions) -> None:
        self._dialog = dialog
        self._wishes = wishes
        self._path = config_path
        self._done: list[str] = []
        self._service: Service | None = None

    def run(self) -> bool:
        """All steps. False: something is left to be put right, and was said."""
        dialog, wishes = self._dialog, self._wishes
        dialog.say(
            "[bold]tapgate[/bold] puts your coding agent's questions on your phone. This sets it up, step by step."
        )
        dialog.say("[dim]Ctrl-C stops at any point; what was done stays, and the next run goes on from there.[/dim]")
        self._file = file = ConfigFile(self._path)
        file_text = with_server(file.text, base_url=wishes.base_url, proxy=wishes.proxy)
        if file_text != with_server(file.text) and file.change(file_text):
            self._done.append("the config")
        self._service = own_service()
        self._daemons = DaemonControl(dialog, file.config, file.path, self._service)
        token, bot = self._find_bot()
        is_well = self._pair(token, bot)
        is_well = self._register() and is_well
        is_well = self._serve() and is_well
        is_well = self._test() and is_well
        self._close(is_well)
        return is_well

    def stopped(self) -> None:
        """Ctrl-C: what stands, and how to go on."""
        done = f" Done so far: {', '.join(self._done)}." if self._done else " Nothing was changed."
        self._dialog.say(f"\nStopped.{done} [bold]tapgate setup[/bold] goes on from here.")

    # 1

    def _find_bot(self) -> tuple[str, PairingBot]:
        dialog = self._dialog
        dialog.step("1/5 Your bot")
        token, is_new = self._known_token()
        explained = False
        while True:
            if not token:
                if not explained:
                    dialog.say(
                        "A bot of your own carries the cards. On Telegram:\n"
                        "  1. open [bold]@BotFather[/bold] (https://t.me/BotFather) and send [bold]/newbot[/bold]\n"
                        "  2. choose a name, and a username that ends in bot\n"
                        "  3. copy the token that it answers with, and paste it here"
                    )
                    explained = True
                token, is_new = parse_token(dialog.secret("The token (it is not shown):")), True
                if not token:
                    dialog.fail("That is not a bot token. It looks like 123456789:ABC… and has no blanks.")
                    continue
            try:
                with dialog.waiting("Asking Telegram whose token this is …"):
                    bot = anyio.run(who_is, token, self._file.config.telegram)
                break
            except TokenRefusedError:
                dialog.fail("Telegram does not know this token. BotFather shows it again with /mybots, API Token.")
                if os.environ.get(TOKEN_VARIABLE):
                    raise TapgateError(
                        f"the environment variable {TOKEN_VARIABLE} holds that token, and wins; unset it, or correct it"
                    ) from None
                if self._wishes.token_file is not None or not dialog.interactive:
                    raise TapgateError("the token was refused; nothing was changed") from None
                token = ""
            except FrontError as error:
                dialog.fail(f"{escape(str(error))}.")
                dialog.say(_network_advice())
                if not dialog.confirm("Try again?", with_yes=False):
                    raise TapgateError("Telegram has to be reachable for this; run `tapgate setup` again") from None
        self._keep_token(token, is_new=is_new)
        dialog.done(f"Your bot is [bold]@{shown(bot.username)}[/bold] ({shown(bot.name)}).")
        self._done.append(f"the bot @{shown(bot.username)}")
        return token, bot

    def _known_token(self) -> tuple[str, bool]:
        """The token that is there already, and whether the config has to learn of it."""
        given = self._wishes.token_file
        if given is not None:
            token = parse_token(_read_file(given))
            if not token:
                raise TapgateError(f"there is no bot token in {given}; it looks like 123456789:ABC…")
            return token, True
        try:
            return read_token(self._file.config), False
        except TapgateError as error:
            if self._file.config.telegram.token or self._file.config.telegram.token_file:
                self._dialog.fail(f"{escape(str(error))}.")
            return "", True

    def _keep_token(self, token: str, *, is_new: bool) -> None:
        file, dialog = self._file, self._dialog
        telegram = file.config.telegram
        given = self._wishes.token_file
        if given is not None and given.is_file():
            changed = file.change(with_token_file(file.text, given.absolute()))
            if stat.S_IMODE(given.stat().st_mode) & 0o077:
                dialog.warn(f"Others can read {escape(str(given))}. Run: chmod 600 {escape(str(given))}")
            if os.environ.get(TOKEN_VARIABLE, token) != token:
                dialog.warn(f"{TOKEN_VARIABLE} holds another token, and wins wherever it is set. Unset it.")
        elif is_new:
            changed = file.change(with_token(file.text, token))
        elif os.environ.get(TOKEN_VARIABLE) and not (telegram.token or telegram.token_file):
            dialog.say(f"The token comes from {TOKEN_VARIABLE}, which a service would not see.")
            if not dialog.confirm("Write it into the config, too?"):
                return
            changed = file.change(with_token(file.text, token))
        else:
            return
        if changed:
            dialog.done(f"Saved in {escape(str(file.path))}, which only you can read.")

    # 2

    def _pair(self, token: str, bot: PairingBot) -> bool:
        dialog, file = self._dialog, self._file
        dialog.step("2/5 Your phone")
        if file.config.people:
            dialog.console.print(render_people(file.config.persons()))
            self._done.append("the phone")
            if not self._wishes.pair or not dialog.confirm("Pair one more?", default=False):
                return True
        elif not self._wishes.pair:
            dialog.warn("Skipped. Nobody is listed yet, so nobody can answer: [bold]tapgate pair[/bold].")
            return False
        with self._daemons.replaced(token):
            newcomer = pair_person(dialog, file, token, bot, name=self._wishes.name)
        if newcomer is None and not file.config.people:
            dialog.warn("Skipped. Nobody is listed yet, so nobody can answer: [bold]tapgate pair[/bold].")
            return False
        if "the phone" not in self._done:
            self._done.append("the phone")
        return True

    # 3

    def _register(self) -> bool:
        dialog = self._dialog
        dialog.step("3/5 Your agent")
        if not self._wishes.hooks:
            dialog.say("Skipped. Later: [bold]tapgate hooks install[/bold]")
            return True
        agents = self._wishes.agents or tuple(agent for agent in AGENTS if _is_here(agent))
        if not agents:
            dialog.say("Neither Claude Code nor Codex was found here.")
            if not dialog.confirm("Register the hooks for Claude Code all the same?"):
                dialog.say("Skipped. Later: [bold]tapgate hooks install[/bold]")
                return True
            agents = AGENTS[:1]
        results = [self._register_one(agent) for agent in agents]
        return all(results)

    def _register_one(self, agent: str) -> bool:
        dialog, home, cwd = self._dialog, Path.home(), Path.cwd()
        try:
            path = settings_path(agent, Scope.USER, environ=os.environ, home=home, cwd=cwd)
            change = plan_install(self._file.config, agent=agent, path=path)
            if change.is_nothing:
                dialog.done(f"{TITLES[agent]} asks tapgate already ({escape(str(path))}).")
            else:
                dialog.say(f"{TITLES[agent]} learns of tapgate in [bold]{escape(str(path))}[/bold]. Only this changes:")
                if not dialog.confirm_change("Write this?", change.diff()):
                    dialog.say(f"Skipped. Later: [bold]tapgate hooks install --agent {agent}[/bold]")
                    return True
                backup = apply(change)
                kept = f" What was there is kept in {escape(backup.name)}." if backup else ""
                dialog.done(f"Registered. {TITLES[agent]} reads it at its next start.{kept}")
            self._done.append(f"the hooks of {TITLES[agent]}")
            for finding in inspect(self._file.config, agent=agent, environ=os.environ, home=home, cwd=cwd):
                if finding.level is not Severity.OK:
                    dialog.warn(f"{escape(finding.sentence)} {escape(finding.advice)}".rstrip())
        except SettingsError as error:
            dialog.fail(f"{escape(str(error))}.")
            return False
        return True

    # 4

    def _serve(self) -> bool:
        dialog, service = self._dialog, self._service
        dialog.step("4/5 The service")
        if not self._wishes.service:
            dialog.say("Skipped. Later: [bold]tapgate service install[/bold]")
            return True
        if service is None:
            reason = why_not(platform=sys.platform, home=Path.home(), environ=os.environ)
            dialog.say(f"None can be installed: {escape(reason)}.")
            return True
        if not any(person.role is not Role.VIEWER for person in self._file.config.persons()):
            dialog.say("Skipped: the daemon has nobody to ask yet. Later: [bold]tapgate service install[/bold]")
            return True
        try:
            return self._install(service)
        except ServiceError as error:
            dialog.fail(f"{escape(str(error))}.")
            return False

    def _install(self, service: Service) -> bool:
        dialog = self._dialog
        named = self._file.path if self._is_config_named() else None
        changes = [change for change in service.plan(named) if change.is_change]
        is_running = service.state().running
        if not changes and is_running:
            dialog.done(f"It is installed ({service.manager}) and runs.")
            if self._daemons.is_stale():
                self._daemons.renew()
        else:
            if changes:
                dialog.say(f"With {service.manager} the daemon starts by itself, and again when it fails. This writes:")
                for change in changes:
                    dialog.say(f"  {escape(str(change.path))}", whole_lines=True)
            if not dialog.confirm(
                "Install and start it?" if changes else "It is installed and does not run. Start it?"
            ):
                dialog.say("Skipped. Later: [bold]tapgate service install[/bold]")
                return True
            if not is_running and self._daemons.pid() is not None:
                self._daemons.refresh()  # one that was started by hand stands in the way
            with dialog.waiting("Starting the service …"):
                service.install(named)
            dialog.done("It runs. [bold]tapgate service logs[/bold] shows what it does.")
            if service.state().lingers is False:
                dialog.say(
                    "It ends when you log out. For agents in tmux or over ssh: [bold]loginctl enable-linger[/bold]"
                )
        self._done.append("the service")
        return True

    # 5

    def _test(self) -> bool:
        dialog, config = self._dialog, self._file.config
        dialog.step("5/5 A test card")
        if not self._wishes.test:
            dialog.say("Skipped. Later: [bold]tapgate test[/bold]")
            return True
        if not any(person.role is not Role.VIEWER for person in config.persons()):
            dialog.say("Skipped: nobody is listed who could answer it.")
            return True
        if not dialog.confirm("Send one now? Nothing runs, whatever you tap."):
            dialog.say("Skipped. Later: [bold]tapgate test[/bold]")
            return True
        agent, command = find_command(self._wishes.agents[0] if self._wishes.agents else None)
        if command is None:
            command = hook_command(config, agent=agent, deadline_s=config.deadline_s)
        with ExitStack() as stack:
            if self._daemons.pid() is not None and self._daemons.is_stale():
                dialog.say("The daemon that runs has not read the new config yet.")
                self._daemons.refresh()
            if self._daemons.pid() is None:
                with dialog.waiting("Starting a daemon for the test …"):
                    stack.enter_context(short_lived_daemon(self._file.path))
            trial = try_out(dialog, config, command, agent=agent)
        show(dialog, trial)
        if trial.verdict:
            self._done.append("the test card")
        return bool(trial.verdict)

    def _close(self, is_well: bool) -> None:
        dialog = self._dialog
        if not is_well:
            dialog.say("\nNot everything is in place yet. [bold]tapgate setup[/bold] goes on from here.")
        elif self._daemons.pid() is not None:
            dialog.say("\n[bold green]All set.[/bold green] Start your agent and walk away.")
        else:
            dialog.say(
                "\n[bold green]Set up.[/bold green] One thing is left, the daemon. Keep it running, for example here:"
            )
            named = f" --config {escape(str(self._file.path))}" if self._is_config_named() else ""
            dialog.say(f"  [bold]tapgate daemon{named}[/bold]", whole_lines=True)
            dialog.say("[dim]While it does not run, the agent asks at its terminal as before.[/dim]")

    def _is_config_named(self) -> bool:
        return bool(os.environ.get(CONFIG_VARIABLE)) or self._file.path != default_config_path()


def _is_here(agent: str) -> bool:
    return shutil.which(agent) is not None or agent_dir(agent, environ=os.environ, home=Path.home()).is_dir()


def _read_file(path: Path) -> str:
    if str(path) == "-":
        return sys.stdin.read()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # from None: an error of decoding holds all that was read
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise TapgateError(f"the token file {path} cannot be read: {reason}") from None


def _network_advice() -> str:
    proxies = [name for name in _PROXIES if os.environ.get(name)]
    if proxies:
        return (
            f"{proxies[0]} is set here, and tapgate ignores it: the environment must not send the token elsewhere. "
            f'Behind that proxy: [bold]tapgate setup --proxy "${proxies[0]}"[/bold]'
        )
    return "Is this machine online? Behind a proxy: [bold]tapgate setup --proxy http://host:port[/bold]"
