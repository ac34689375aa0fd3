"""A command line is read as bash reads it, as far as bash can be asked; what is broken is said to be broken."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.shell.lexer import MAX_STEPS, decode_codes
from tapgate.shell.parser import MAX_CHARS, parse
from tapgate.shell.tree import Block, Function, Parameter, Pipeline, Simple, Substitution, Text, Word
from tapgate.shell.walk import MAX_CALLS, Reading, read_commands
from tests.masking.hostile import HOSTILE, shell_like
from tests.risk.test_risk import CASES


def bash_version() -> int:
    if shutil.which("bash") is None:
        return 0
    result = subprocess.run(["bash", "-c", "echo $BASH_VERSINFO"], capture_output=True, check=False)
    return int(result.stdout or 0)


needs_bash = pytest.mark.skipif(bash_version() < 5, reason="asks bash 5")  # macOS has 3.2, which knows less syntax


def read(text: str) -> Reading:
    return read_commands(text, cwd="/home/dev/shop", project="/home/dev/shop", home="/home/dev")


def calls(text: str) -> list[list[str]]:
    """Every call as its words; a part that is not known is a question mark."""
    return [
        [word.replace("\0", "?") for word in (call.program.text, *call.texts)]
        for call in read(text).calls
        if call.program.text
    ]


def bash_accepts(text: str) -> bool:
    result = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, check=False)
    return result.returncode == 0 and not result.stderr


# The tree


def test_a_simple_command_has_words_assignments_and_redirections() -> None:
    (pipeline,) = parse("A=1 cmd \"x y\" 'z' > out 2>&1").script
    (command,) = pipeline.stages
    assert isinstance(command, Simple)
    assert [assignment.name for assignment in command.assignments] == ["A"]
    assert [word.source for word in command.words] == ["cmd", '"x y"', "'z'"]
    assert [(r.operator, r.fd, r.target.source) for r in command.redirects] == [(">", "", "out"), (">&", "2", "1")]


def test_quotes_are_told_from_what_they_hold() -> None:
    (word,) = parse("""a"b c"'d'\\e$'\\x66'""").script[0].stages[0].words  # type: ignore[union-attr]
    letters = [(part.text, part.quoted) for part in word.parts if isinstance(part, Text)]
    assert letters == [("a", False), ("", True), ("b c", True), ("d", True), ("e", True), ("f", True)]


def test_expansions_stand_in_words() -> None:
    (pipeline,) = parse('echo "$a ${b:-c} $(d e) `f` $((1+$(g)))" <(h)').script
    command = pipeline.stages[0]
    assert isinstance(command, Simple)
    inside = [part for part in command.words[1].parts if not isinstance(part, Text)]
    assert [type(part).__name__ for part in inside] == [
        *("Parameter", "Parameter", "Substitution", "Substitution", "Arithmetic")
    ]
    assert isinstance(inside[1], Parameter)
    assert (inside[1].name, inside[1].operator) == ("b", ":-")
    (listing,) = command.words[2].parts
    assert isinstance(listing, Substitution)
    assert listing.sign == "<("


@pytest.mark.parametrize(
    ("text", "kind", "bodies"),
    [
        ("(a; b)", "(", 1),
        ("{ a; b; }", "{", 1),
        ("if a; then b; elif c; then d; else e; fi", "if", 5),
        ("while a; do b; done", "while", 2),
        ("until a; do b; done", "while", 2),
        ("for i in 1 2; do a; done", "for", 1),
        ("for ((i=0; i<3; i++)); do a; done", "for", 1),
        ("select i in 1 2; do a; done", "for", 1),
        ("case x in a|b) c;; (d) e;& *) f; esac", "case", 3),
        ("[[ a =~ ^(b|c)$ && -f d ]]", "[[", 0),
        ("((a <<= 2))", "((", 0),
    ],
)
def test_blocks_are_known(text: str, kind: str, bodies: int) -> None:
    tree = parse(text)
    (block,) = tree.script[0].stages
    assert isinstance(block, Block)
    assert (block.kind, len(block.bodies), tree.broken) == (kind, bodies, False)


@pytest.mark.parametrize("text", ["f() { a; }", "function f { a; }", "function f() { a; }", "f() (a)", "f()\n{ a; }"])
def test_functions_are_known(text: str) -> None:
    (function,) = parse(text).script[0].stages
    assert isinstance(function, Function)
    assert function.name == "f"


def test_here_documents_belong_to_their_commands() -> None:
    tree = parse("cat <<A <<-'B' | x\none $y\nA\n\ttwo $z\n\tB\nnext")
    assert [body.source for body in tree.bodies] == ["one $y\n", "two $z\n"]
    assert any(isinstance(part, Parameter) for part in tree.bodies[0].parts)
    assert tree.bodies[1] == Word((Text("two $z\n", quoted=True),), "two $z\n")
    assert [len(pipeline.stages) for pipeline in tree.script] == [2, 1]


def test_a_here_document_inside_a_substitution_ends_there() -> None:
    assert calls("git commit -m \"$(cat <<'EOF'\nrm -rf /\nEOF\n)\" && ls") == [
        ["cat"],
        ["git", "commit", "-m", "rm -rf /"],
        ["ls"],
    ]


@pytest.mark.parametrize(
    "text", ["echo 'a", 'echo "a', "echo `a", "(a", "a)", "if a; then b", "a &&", "| a", "fi", "a ;; b"]
)
def test_broken_syntax_is_said_to_be_broken(text: str) -> None:
    assert parse(text).broken


@pytest.mark.parametrize(
    "text", ["a &", "a; b;", "# c", "", "\n\n", "a # b", "a \\\n b", "a & b", "a |\n b", "&> x", "x=", "{a,b}"]
)
def test_correct_syntax_is_not(text: str) -> None:
    assert not parse(text).broken


@needs_bash
def test_bash_agrees_about_the_corpus() -> None:
    """Every command line of the corpus is broken for us if and only if it is for bash."""
    commands = [
        case.input["command"] for case in CASES if case.tool == "Bash" and isinstance(case.input.get("command"), str)
    ]
    differing = [text for text in commands if parse(text).broken == bash_accepts(text)]
    assert not differing


@needs_bash
@given(shell_like)
@settings(max_examples=400, derandomize=True, deadline=None)
def test_what_bash_accepts_is_not_broken(text: str) -> None:
    """The other way round we are lenient in odd corners, but a false "could not be read" wears people out."""
    text = "".join(letter for letter in text if letter.isascii() and letter not in "\0`")  # it looks into ` only later
    if bash_accepts(text):
        assert not parse(text).broken


# The calls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X=rm; $X -rf /", [["rm", "-rf", "/"]]),
        ("X='a b'; c $X", [["c", "a", "b"]]),
        ("X='a b'; c \"$X\"", [["c", "a b"]]),
        ("c $UNSET", [["c", "?"]]),
        ("c {a,b}{1,2}", [["c", "a1", "a2", "b1", "b2"]]),
        ("c '{a,b}'", [["c", "{a,b}"]]),
        ("c ~/x $HOME/y", [["c", "/home/dev/x", "/home/dev/y"]]),
        ("c '~/x'", [["c", "~/x"]]),
        ("rm$IFS-rf", [["rm", "-rf"]]),
        ("a=(x 'y z'); c \"${a[@]}\" ${a[1]}", [["c", "x", "y", "z", "y", "z"]]),
        ("X=abc; c ${X:1:1} ${X^^} ${X%c} ${X#a} ${X/b/-}", [["c", "b", "ABC", "ab", "bc", "a-c"]]),
        ("c $(echo d) `echo e`", [["echo", "d"], ["echo", "e"], ["c", "d", "e"]]),
        ("f() { c $1; }; f d", [["c", "d"]]),
        ('set -- a b; c "$@"', [["set", "--", "a", "b"], ["c", "a", "b"]]),
        ("bash -c 'c $0 $1' a b", [["bash", "-c", "c $0 $1", "a", "b"], ["c", "a", "b"]]),
        ("for i in a b; do c $i; done", [["c", "a"], ["c", "b"]]),
        ("A=1 B=2 c", [["c"]]),
        ("$'\\x63\\144' \"e\"f", [["cd", "ef"]]),
        ("env -i A=1 nice -n 5 c", [["env", "-i", "A=1", "nice", "-n", "5", "c"], ["nice", "-n", "5", "c"], ["c"]]),
    ],
)
def test_words_are_expanded_as_far_as_they_are_known(text: str, expected: list[list[str]]) -> None:
    assert calls(text) == expected


def test_the_working_directory_is_followed() -> None:
    found = {call.name: call.cwd for call in read("a; cd src; b; (cd ..; c); d; cd /etc && e; cd; f; cd $X; g").calls}
    assert found["a"] == "/home/dev/shop"
    assert found["b"] == found["d"] == "/home/dev/shop/src"
    assert found["c"] == "/home/dev/shop"
    assert found["e"] == "/etc"
    assert found["f"] == "/home/dev"
    assert found["g"].startswith("\0")


def test_a_pipeline_tells_who_feeds_whom() -> None:
    last = read("a | b | c").calls[-1]
    assert [feed.name for feed in last.feeds] == ["a", "b"]
    assert read("echo hi | cat | x").calls[-1].stdin == "hi\n"
    assert read("x <<< hi").calls[-1].stdin == "hi"


@given(st.text(st.sampled_from("abc012\\xu{}'"), max_size=30))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_codes_never_become_the_sign_for_unknown(text: str) -> None:
    assert "\0" not in decode_codes(text)


# Limits


@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_reading_takes_a_bounded_number_of_steps(unit: str) -> None:
    text = (unit * (MAX_CHARS // len(unit) + 1))[:MAX_CHARS]
    tree = parse(text)
    assert tree.steps <= MAX_STEPS + MAX_CHARS
    assert tree.cut or tree.steps <= 4 * len(text)


def test_the_number_of_calls_is_bounded() -> None:
    assert len(read("a;" * 5000).calls) == MAX_CALLS


def test_a_limit_keeps_what_was_read_before_it() -> None:
    tree = parse("a; b; " + "$(" * 200)
    assert tree.cut
    assert [type(pipeline) for pipeline in tree.script] == [Pipeline, Pipeline]


@given(st.text(st.characters(exclude_categories=()), max_size=80) | shell_like)
@settings(max_examples=1000, derandomize=True, deadline=None)
def test_any_text_is_read(text: str) -> None:
    assert parse(text) == parse(text)


def test_a_long_working_directory_is_counted_for_every_word_that_may_be_a_path_in_it() -> None:
    """Each of them is looked at by many rules: 2,000 words in a directory of 4,000 characters took half a minute."""
    command = ("cd a;" * 500 + "x" + "case a in " * 500 + "\n") * 8
    reading = read_commands(command, cwd="/home/dev/shop", project="/home/dev/shop", home="/home/dev")
    assert reading.cut
    assert sum((1 + len(call.args)) * len(call.cwd) for call in reading.calls) < 1024 * 1024
    ordinary = read_commands("cd src/deep/down\n" + "cat a b c\n" * 1000, cwd="/p" * 60, project="/p", home="/h")
    assert not ordinary.cut and len(ordinary.calls) == 1001
