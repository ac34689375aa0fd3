"""`tapgate people`: who may answer, and as what."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tapgate.cli.daemon import ConfigOption
from tapgate.model import Role

people = typer.Typer(help="Who may answer: list them, remove them, change what they may do.")

WhoArgument = Annotated[str, typer.Argument(metavar="NAME|ID", help="The name, or the numeric id, as in the list.")]
ChatOption = Annotated[
    int | None, typer.Option("--chat", metavar="ID", help="Only in this chat, where they are listed in several.")
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line, for machines.")]


@people.callback(invoke_without_command=True)
def _group(context: typer.Context, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Who may answer: list them, remove them, change what they may do. `tapgate pair` adds one."""
    if context.invoked_subcommand is None:
        list_(config, as_json)


@people.command("list")
def list_(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Who is listed in the config."""
    from tapgate.cli.dialog import open_dialog
    from tapgate.cli.listing import render_people
    from tapgate.cli.pairing import existing
    from tapgate.setup.config_file import ConfigFile

    listed = ConfigFile(existing(config)).config.persons()
    if as_json:
        for person in listed:
            fields = {"user_id": person.user_id, "chat_id": person.chat_id, "name": person.name, "role": person.role}
            typer.echo(json.dumps(fields))
        return
    dialog = open_dialog()
    if not listed:
        dialog.say("Nobody is listed, so nobody can answer. [bold]tapgate pair[/bold] adds you.")
        return
    dialog.console.print(render_people(listed))


@people.command()
def remove(who: WhoArgument, config: ConfigOption = None, chat: ChatOption = None, yes: YesOption = False) -> None:
    """Take somebody off the list. They can answer until the daemon is restarted, which is offered."""
    from tapgate.cli.dialog import open_dialog, shown
    from tapgate.cli.listing import find_person, place_of, renew, warn_of
    from tapgate.cli.pairing import existing
    from tapgate.setup.config_file import ConfigFile, without_person

    dialog = open_dialog(yes=yes)
    file = ConfigFile(existing(config))
    gone = find_person(file.config.persons(), who, chat)
    left = tuple(person for person in file.config.persons() if person not in gone)
    for person in gone:
        dialog.say(f"{shown(person.name)} ({person.user_id}), {person.role}{place_of(person)}")
    warn_of(dialog, left)
    if not dialog.confirm("Remove them from the list?" if len(gone) > 1 else "Remove this entry?"):
        raise typer.Exit(1)
    text = file.text
    for person in gone:
        text = without_person(text, user_id=person.user_id, chat_id=person.chat_id)
    file.change(text or "")
    dialog.done(f"{shown(gone[0].name)} is off the list.")
    renew(dialog, file)


@people.command()
def role(
    who: WhoArgument,
    role: Annotated[Role, typer.Argument(help="owner, approver or viewer.")],
    config: ConfigOption = None,
    chat: ChatOption = None,
    yes: YesOption = False,
) -> None:
    """Change what somebody may do."""
    from tapgate.cli.dialog import open_dialog, shown
    from tapgate.cli.listing import find_person, renew, warn_of
    from tapgate.cli.pairing import ROLES, existing
    from tapgate.model import Person
    from tapgate.setup.config_file import ConfigFile, with_role

    dialog = open_dialog(yes=yes)
    file = ConfigFile(existing(config))
    found = find_person(file.config.persons(), who, chat)
    changed = [person for person in found if person.role is not role]
    if not changed:
        dialog.done(f"{shown(found[0].name)} is {role} already.")
        return
    after = tuple(
        Person(person.user_id, person.chat_id, person.name, role) if person in changed else person
        for person in file.config.persons()
    )
    warn_of(dialog, after)
    is_last = all(person.role is Role.VIEWER for person in after)
    if is_last and not dialog.confirm("Do it all the same?", default=False, with_yes=True):
        raise typer.Exit(1)
    text = file.text
    for person in changed:
        text = with_role(text, user_id=person.user_id, chat_id=person.chat_id, role=role)
    file.change(text or "")
    dialog.done(f"{shown(found[0].name)} is {role} now: {ROLES[role]}.")
    renew(dialog, file)
