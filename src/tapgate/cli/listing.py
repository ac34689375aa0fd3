"""The list of people: found by name, shown as a table, and what a change of it means for the daemon."""

from __future__ import annotations

from rich.table import Table

from tapgate.cli.dialog import Dialog, shown
from tapgate.cli.running import DaemonControl, own_service
from tapgate.errors import TapgateError
from tapgate.model import Person, Role
from tapgate.setup.config_file import ConfigFile


def render_people(listed: tuple[Person, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for title in ("name", "id", "role", "where"):
        table.add_column(title, overflow="fold")
    for person in listed:
        table.add_row(
            shown(person.name), str(person.user_id), person.role.value, place_of(person).strip(", ") or "private chat"
        )
    return table


def find_person(listed: tuple[Person, ...], who: str, chat_id: int | None = None) -> tuple[Person, ...]:
    """All entries of one person. A name that two people have is refused, so that nobody is removed for another."""
    found = tuple(
        person for person in listed if who in (str(person.user_id), person.name) and chat_id in (None, person.chat_id)
    ) or tuple(
        person for person in listed if who.casefold() == person.name.casefold() and chat_id in (None, person.chat_id)
    )
    if not found:
        names = ", ".join(dict.fromkeys(person.name for person in listed)) or "nobody"
        raise TapgateError(
            f"{who} is not on the list{'' if chat_id is None else f' in chat {chat_id}'}; it has: {names}"
        )
    if len({person.user_id for person in found}) > 1:
        ids = ", ".join(str(person.user_id) for person in found)
        raise TapgateError(f"several people are called {who}; say which by the id: {ids}")
    return found


def place_of(person: Person) -> str:
    return "" if person.chat_id == person.user_id else f", group {person.chat_id}"


def warn_of(dialog: Dialog, after: tuple[Person, ...]) -> None:
    if not after:
        dialog.warn("Then nobody is left: the daemon will not start until somebody is paired.")
    elif not any(person.role is not Role.VIEWER for person in after):
        dialog.warn("Then nobody is left who can answer: every card would have no buttons.")


def renew(dialog: Dialog, file: ConfigFile) -> None:
    DaemonControl(dialog, file.config, file.path, own_service()).renew()
