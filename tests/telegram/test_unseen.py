"""Nothing is approved unseen, also where a file on disk is compared; and what is risky stands where it is seen."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.cards.change import change_of
from tapgate.desk.case import SHOW_WHOLE
from tapgate.model import Context, OnDisk, Request, Risk, Verdict
from tests.builders import make_request, tool_use

from .cards import SETTING, fits, open_card, shown, whole_of

SEEN = OnDisk(at=1_800_000_000.0)


def writing(content: str, before: str) -> tuple[Request, Context]:
    fields = {"file_path": "/home/dev/shop/a.txt", "content": content}
    request = make_request(tool="Write", tool_input=fields, suggestions=())
    return request, Context(on_disk=change_of(tool_use("Write", request.input), before, seen=SEEN))


def test_a_small_file_is_shown_as_a_diff_with_every_line() -> None:
    request, around = writing("a\nB\nc\n", "a\nb\nc\n")
    assert fits(request, around)
    assert " a\n-b\n+B\n c" in shown(open_card(request, context=around))


def test_a_diff_that_leaves_lines_out_does_not_count_as_seen() -> None:
    before = "".join(f"a long enough line with its number {number}\n" for number in range(200))
    request, around = writing(before.replace("number 77\n", "number X\n"), before)
    card = open_card(request, context=around)
    text = shown(card)
    assert "+a long enough line with its number X" in text
    assert "✂️ 193 unchanged lines are not shown. “Show all of it” sends the rest." in text
    assert card.choices[0] == SHOW_WHOLE
    assert not [choice for choice in card.choices if choice.decision.verdict is Verdict.ALLOW]
    assert whole_of(request, around)[1].decode().count("a long enough line") == 200, "all of what would be written"


def test_content_that_fits_by_itself_is_shown_whole_where_the_diff_is_too_long() -> None:
    request, around = writing("new\n" * 300, "an old line that goes away\n" * 200)
    assert fits(request, around)
    text = shown(open_card(request, context=around))
    assert "new\n" * 300 in text + "\n"
    assert "+300 −200 lines" in text


def test_an_edit_whose_surroundings_do_not_fit_is_shown_without_them() -> None:
    line = "x" * 900
    fields = {"file_path": "/home/dev/shop/a.txt", "old_string": "old", "new_string": "new"}
    request = make_request(tool="Edit", tool_input=fields, suggestions=())
    text = f"{line}\n{line}\nold\n{line}\n"
    around = Context(on_disk=change_of(tool_use("Edit", request.input), text, seen=SEEN))
    assert fits(request, around)
    assert "-old\n+new" in shown(open_card(request, context=around))


lines = st.lists(st.sampled_from(["alpha", "beta", "gamma", "", "x" * 60]), max_size=80).map("\n".join)


@given(lines, lines)
@settings(max_examples=300, derandomize=True, deadline=None)
def test_whatever_was_on_disk_a_card_that_can_be_allowed_holds_each_line(content: str, before: str) -> None:
    request, around = writing(content, before)
    card = open_card(request, context=around)
    text = shown(card)
    if fits(request, around):
        shown_lines = [line[1:] if line[:1] in " +" else line for line in text.split("\n")]
        wanted = [line for line in content.split("\n") if line]
        found = iter(shown_lines)
        assert all(any(line == one for one in found) for line in wanted), "each, and in this order"
    else:
        assert SHOW_WHOLE in card.choices
        assert "not shown" in text


def test_risks_stand_right_below_who_asks() -> None:
    risks = (Risk("privilege", "Runs with administrator rights"), Risk("force-push", "Overwrites <main>"))
    text = shown(replace(open_card(make_request()), risks=risks))
    assert text.split("\n")[:4] == [
        "⚠️ shop · Claude Code",
        "❗ Runs with administrator rights",
        "❗ Overwrites <main>",
        "Bash",
    ]
    assert shown(open_card(make_request())).startswith("🔐 shop")


def test_many_risks_take_little_room_and_none_goes_unnamed() -> None:
    risks = tuple(Risk(f"risk-{number}", f"Sentence {number}") for number in range(6))
    found = shown(replace(open_card(make_request()), risks=risks)).split("\n")[1:5]
    assert found == ["❗ Sentence 0", "❗ Sentence 1", "❗ Sentence 2", "❗ and: risk-3, risk-4, risk-5"]


def test_where_the_project_lies_can_always_be_told() -> None:
    """Two projects may have the same name."""
    one = make_request(cwd="/home/dev/shop")
    other = replace(make_request(cwd="/tmp/shop"), caller=replace(one.caller, project="/tmp/shop"))
    assert shown(open_card(one)).endswith("· in ~/shop")
    assert shown(open_card(other)).endswith("· in /tmp/shop")
    deep = "/home/dev/" + "deep/" * 12 + "shop"
    far = replace(make_request(cwd=deep), caller=replace(one.caller, project=deep))
    assert f"In ~{deep[9:]}\n" in shown(open_card(far))


def test_another_directory_is_said_in_words() -> None:
    assert "In ~/shop/sub, not where the project is" in shown(open_card(make_request(cwd="/home/dev/shop/sub")))


def test_a_path_that_climbs_is_shown_as_it_is() -> None:
    request = make_request(tool="Read", tool_input={"file_path": "/home/dev/shop/../.ssh/id_rsa"})
    assert "Read ~/shop/../.ssh/id_rsa" in shown(open_card(request))


def test_the_machine_is_named_where_it_has_a_name() -> None:
    text = shown(open_card(make_request()), replace(SETTING, machine="studio"))
    assert text.startswith("🔐 shop · Claude Code · studio\n")


def test_how_much_is_missing_is_counted_wherever_it_was_cut() -> None:
    for fields in ({"command": "x" * 100_000}, {"command": "ls", "description": "x" * 100_000}):
        text = shown(open_card(make_request(tool_input=fields)))
        missing = int(text.partition("✂️ ")[2].partition(" characters")[0].replace(",", ""))
        assert missing + text.count("x") == 100_000
    many = {"command": "ls", "description": list(range(100_000))}
    assert "✂️ More than " in shown(open_card(make_request(tool_input=many)))


def test_once_the_file_was_sent_the_card_points_to_it_and_not_to_a_button_that_is_gone() -> None:
    request = make_request(tool_input={"command": "x" * 5000})
    assert "“Show all of it” sends the rest." in shown(open_card(request))
    seen = shown(open_card(request, seen=True))
    assert "characters are not shown. The file has all of it." in seen and "Show all" not in seen
