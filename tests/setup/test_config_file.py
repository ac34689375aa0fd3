"""The config file after a change: what was there is still there, and nobody else could ever read it."""

from __future__ import annotations

import difflib
import os
import stat
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapgate.config import parse_config
from tapgate.errors import ConfigError
from tapgate.model import Role
from tapgate.setup.config_file import (
    ConfigFile,
    with_person,
    with_role,
    with_server,
    with_token,
    with_token_file,
    without_person,
    write_private,
)

EXAMPLE = (Path(__file__).parents[2] / "config.example.toml").read_text()
TOKEN = "7000000002:another-token-altogether"
SHAPES = {
    "nothing": None,
    "empty": "",
    "a comment": "# mine\n",
    "the example": EXAMPLE,
    "no line end": "timeout_s = 300",
    "people in the middle": "[[people]]\nuser_id = 1 # Ada\n# about Ada\n\n# The journal\n[journal]\nkeep_days = 4\n",
    "a comment close above the next table": "[[people]]\nuser_id = 1\n# The journal\n[journal]\nkeep_days = 4\n",
    "people in two places": "[[people]]\nuser_id = 1\n[telegram]\nper_chat_s = 2\n[[people]]\nuser_id = 2\n",
    "people inline": "people = [{user_id = 1, name = 'Ada'}] # all of them\n",
    "dotted": "telegram.base_url = 'http://127.0.0.1:1'\n",
    "an inline table": "telegram = {per_chat_s = 2}\n",
    "windows": "timeout_s = 300\r\n# mine\r\n\r\n[[people]]\r\nuser_id = 1\r\n\r\n[journal]\r\nkeep_days = 4\r\n",
    "a text that looks like an entry": (
        "state_dir = '''/tmp/x\n[[people]]\nuser_id = 3\n'''\n[[people]]\nuser_id = 1\nname = '''\n[x]\n'''\n"
    ),
}
each_shape = pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES)


def value_of(text: str | None) -> dict[str, object]:
    return tomllib.loads(text or "")


def removed(before: str | None, after: str) -> list[str]:
    """The lines that are no longer there, or not in that order."""
    lines = difflib.ndiff((before or "").splitlines(), after.splitlines())
    return [line[2:] for line in lines if line.startswith("- ")]


def add_bob(text: str | None, **more: object) -> str:
    values = {"user_id": 5, "chat_id": 5, "name": 'Bob "B" \\ Ünï', "role": Role.APPROVER, **more}
    return with_person(text, **values)  # type: ignore[arg-type]


# People


@each_shape
def test_a_new_person_is_added_and_every_line_stays(text: str | None) -> None:
    after = add_bob(text)
    before = value_of(text)
    listed = before.get("people", [])
    assert isinstance(listed, list)
    bob = {"user_id": 5, "name": 'Bob "B" \\ Ünï', "role": "approver"}
    assert value_of(after) == {**before, "people": [*listed, bob]}
    if "people = [" not in (text or ""):  # there the one line has to change
        assert removed(text, after) == []
    assert after.count("\r\n") == (after.count("\n") if "\r\n" in (text or "") else 0)


@each_shape
def test_a_person_who_comes_and_goes_leaves_nothing_behind(text: str | None) -> None:
    after = without_person(add_bob(text), user_id=5, chat_id=5)
    assert value_of(after) == value_of(text)
    assert removed(text, after) == []


def test_a_comment_above_the_next_table_stays_with_it() -> None:
    text = SHAPES["people in the middle"]
    assert "# The journal\n[journal]" in add_bob(text)
    gone = without_person(text, user_id=1, chat_id=1)
    assert "# The journal\n[journal]" in gone and "Ada" not in gone
    text = SHAPES["a comment close above the next table"]
    assert "# The journal\n[journal]" in add_bob(text)
    assert "# The journal\n[journal]" in without_person(text, user_id=1, chat_id=1)


def test_somebody_listed_is_not_listed_twice() -> None:
    text = "[[people]]\nuser_id = 5\nname = 'Bob' # the builder\n"
    after = with_person(text, user_id=5, chat_id=5, name="Bob", role=Role.OWNER)
    assert value_of(after)["people"] == [{"user_id": 5, "name": "Bob", "role": "owner"}]
    assert "# the builder" in after
    assert with_person(after, user_id=5, chat_id=5, name="Bob", role=Role.OWNER) == after


def test_the_same_person_in_a_group_is_another_entry() -> None:
    text = add_bob(add_bob(None), chat_id=-700)
    config = parse_config(text, source="x", base=Path("/"))
    assert [(person.user_id, person.chat_id) for person in config.persons()] == [(5, 5), (5, -700)]
    left = without_person(text, user_id=5, chat_id=5)
    assert [person.chat_id for person in parse_config(left, source="x", base=Path("/")).persons()] == [-700]


@each_shape
def test_removing_somebody_who_is_not_there_changes_nothing(text: str | None) -> None:
    if text is not None:
        assert without_person(text, user_id=99, chat_id=99) == text


def test_a_role_changes_and_nothing_else() -> None:
    text = EXAMPLE
    after = with_role(text, user_id=123456789, chat_id=123456789, role=Role.VIEWER)
    assert removed(text, after) == []
    assert parse_config(after, source="x", base=Path("/")).persons()[0].role is Role.VIEWER
    assert with_role(text, user_id=123456789, chat_id=123456789, role=Role.OWNER) == text  # it is the default


@given(name=st.text(max_size=40), user_id=st.integers(1, 2**52))
def test_any_name_survives(name: str, user_id: int) -> None:
    text = with_person(EXAMPLE, user_id=user_id, chat_id=user_id, name=name, role=Role.OWNER)
    assert value_of(text)["people"][-1] == {"user_id": user_id, "name": name, "role": "owner"}  # type: ignore[index]


# The token


@each_shape
def test_a_token_is_set_and_nothing_else_changes(text: str | None) -> None:
    after = with_token(text, TOKEN)
    wanted = value_of(text)
    telegram = wanted.setdefault("telegram", {})
    assert isinstance(telegram, dict)
    telegram["token"] = TOKEN
    assert value_of(after) == wanted
    assert with_token(after, TOKEN) == after


def test_a_token_is_in_one_place_only(tmp_path: Path) -> None:
    named = with_token_file(EXAMPLE, tmp_path / "token")
    assert parse_config(named, source="x", base=tmp_path).telegram.token == ""
    back = with_token(named, TOKEN)
    telegram = parse_config(back, source="x", base=tmp_path).telegram
    assert (telegram.token, telegram.token_file) == (TOKEN, "")


def test_only_what_is_given_of_the_server_changes() -> None:
    assert with_server(EXAMPLE) == EXAMPLE
    after = with_server(EXAMPLE, proxy="http://127.0.0.1:3128")
    assert removed(EXAMPLE, after) == []
    assert value_of(after)["telegram"]["proxy"] == "http://127.0.0.1:3128"  # type: ignore[index]


# The file


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = ConfigFile(tmp_path / "deep" / "down" / "config.toml")
        assert not file.exists
        assert file.change(with_token(file.text, TOKEN))
    finally:
        os.umask(before)
    assert mode_of(file.path) == 0o600
    assert mode_of(file.path.parent) == 0o700
    assert file.config.telegram.token == TOKEN
    assert [path.name for path in file.path.parent.iterdir()] == ["config.toml"]


def test_no_byte_of_it_can_be_read_by_others_at_any_moment(tmp_path: Path) -> None:
    """As seen by somebody who looks at the directory after each single call of the writing."""
    seen: dict[str, set[int]] = {}

    def look(frame: object, event: str, argument: object) -> None:
        sys.setprofile(None)
        for name in os.listdir(tmp_path):
            seen.setdefault(name, set()).add(mode_of(tmp_path / name))
        sys.setprofile(look)

    before = os.umask(0)
    sys.setprofile(look)
    try:
        write_private(tmp_path / "config.toml", b"x" * 100_000)
    finally:
        sys.setprofile(None)
        os.umask(before)
    assert len(seen) == 2, "the file, and the one that it was before"
    assert set().union(*seen.values()) == {0o600}


def test_a_file_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(EXAMPLE)
    path.chmod(0o644)
    file = ConfigFile(path)
    file.change(add_bob(file.text))
    assert mode_of(path) == 0o600


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real, path = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text(EXAMPLE)
    path.symlink_to(real)
    file = ConfigFile(path)
    file.change(add_bob(file.text))
    assert path.is_symlink() and "Bob" in real.read_text()


def test_the_same_text_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(EXAMPLE)
    before = path.stat()
    file = ConfigFile(path)
    assert not file.change(EXAMPLE)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_somebody_elses_change_in_between_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(EXAMPLE)
    file = ConfigFile(path)
    path.write_text("# somebody else\n")
    with pytest.raises(ConfigError, match="changed by somebody else"):
        file.change(add_bob(file.text))
    assert path.read_text() == "# somebody else\n"


def test_a_text_that_is_no_config_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(EXAMPLE)
    file = ConfigFile(path)
    with pytest.raises(ConfigError, match="unknown key"):
        file.change("colour = 'red'\n")
    assert path.read_text() == EXAMPLE


def test_an_invalid_file_is_refused_and_stays_as_it_is_without_its_token_in_the_words(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(f"[telegram\ntoken = '{TOKEN}'\n")
    with pytest.raises(ConfigError) as caught:
        ConfigFile(path)
    assert str(path) in str(caught.value) and TOKEN not in str(caught.value)
    assert path.read_text().startswith("[telegram\n")


def test_a_disk_that_takes_nothing_is_a_sentence_and_the_file_stays(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("not a directory")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_private(place / "config.toml", b"x")
