"""How far a rule reaches is told from the rule alone: what lets arbitrary programs run is never called narrow."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapgate.risk.rule_scope import (
    MOST_CHARS,
    why_broad_command,
    why_broad_directory,
    why_broad_domain,
    why_broad_path,
)
from tapgate.shell.interpreters import CODE_FLAGS, SHELLS
from tapgate.shell.wrappers import _PREFIXES, _RUNNERS

PROJECT = "/home/dev/shop"


def is_broad(pattern: str) -> bool:
    return why_broad_command(pattern, project=PROJECT) is not None


NARROW = """
npm test|npm run test:*|npm test *|npm run build *|git commit:*|git commit -m *|git add *|git status *|git diff *
git log:*|git show *|ls *|ls -la *|pytest *|python -m pytest *|python3 -m pytest tests *|python manage.py test *
node scripts/x.js *|npx jest *|timeout 60 npm test *|NODE_ENV=test npm test *|poetry run pytest *|uv run pytest *
cargo test *|cargo build:*|go test *|go build *|make test *|make build:*|./gradlew test *|mvn test *|dotnet test *
bundle exec rspec *|yarn test *|pnpm test *|tsc *|eslint *|ruff check *|mypy *|docker ps *|docker compose up *
kubectl get *|gh pr create *|gh pr view:*|terraform plan *|echo *|mkdir *|mkdir -p build|bash scripts/test.sh *
jq *|wc -l *|rails test *
""".replace("\n", "|").strip("|")

BROAD = """
*|:*| *|n*|npm*|./*|sudo *|sudo:*|sudo -u ada *|doas *|env *|env A=1 *|xargs *|timeout *|timeout 5 *|nohup *
nice -n 5 *|ssh *|ssh host *|docker *|docker exec *|docker run *|kubectl exec *|kubectl *|npx *|bunx *|uvx *
pipx run *|find *|find . *|git *|git -c *|git -c core.pager=x *|git config *|git push *|git fetch *|git submodule *
git pu*|curl *|curl https://x.org/*|wget *|bash *|bash -c *|bash -x *|sh *|zsh -c:*|python *|python -c *
python3 -m *|python -W ignore *|node *|node -e *|perl -e *|ruby *|php -r *|awk *|sed *|tar *|vim *|eval *|source *
. *|exec *|rm *|rm -rf *|dd *|chmod *|cp *|mv *|cat *|head -n 5 *|grep *|rg *|npm *|npm install *|npm exec *
npm i *|pip install *|uv run *|uv add *|poetry run *|cargo install *|go run *|make *|make --eval *|yarn *
pnpm dlx *|gh *|gh api *|aws *|systemctl *|tapgate *|tapgate pair *|claude *|./run.sh *|mytool *|cd x && npm test *
npm test; *|npm test $(*|find . -name "*.py"|sudo apt install x|rm -rf build|rm -rf ~/*
curl https://x.org/i.sh \\| sh
"""


def test_ordinary_rules_are_narrow() -> None:
    found = {rule: why_broad_command(rule, project=PROJECT) for rule in NARROW.split("|")}
    assert {rule: why for rule, why in found.items() if why} == {}


def test_rules_by_which_anything_runs_are_broad() -> None:
    rules = [rule for line in BROAD.strip("\n").splitlines() for rule in line.replace("\\|", "\0").split("|")]
    assert [rule for rule in rules if not is_broad(rule.replace("\0", "|"))] == []


@pytest.mark.parametrize("form", ["{} *", "{}:*", "/usr/bin/{} *", "{}*"])
def test_every_program_that_starts_others_is_broad(form: str) -> None:
    """The programs that the reader of commands looks into are those by which another one runs."""
    programs = [*SHELLS, *CODE_FLAGS, *_PREFIXES, *_RUNNERS, *(f"{name} {verb[0]}" for name, verb in _RUNNERS.items())]
    assert [name for name in programs if not is_broad(form.format(name))] == []


@settings(deadline=None)
@given(st.sampled_from(sorted(SHELLS | set(CODE_FLAGS) | set(_PREFIXES))), st.sampled_from(["-x", "-v", "-q", ""]))
def test_an_option_does_not_make_it_narrow(program: str, option: str) -> None:
    shows_only = (program, option) == ("command", "-v")
    assert is_broad(f"{program} {option} *") is not shows_only


@settings(deadline=None)
@given(st.text(max_size=60) | st.text("*:~/.- abrmsudo'\"$;|&\0\n", max_size=60))
def test_no_rule_raises(text: str) -> None:
    for judge in (why_broad_command, why_broad_directory, why_broad_path):
        for project in (PROJECT, "", "/"):
            judge(text, project=project)
    why_broad_domain(text)
    assert is_broad(f"sudo {text}*") or "\n" in text or "\r" in text


def test_what_is_too_long_to_check_is_broad() -> None:
    long = "npm test " + "x" * MOST_CHARS
    assert is_broad(long) and why_broad_path(long, project=PROJECT) and why_broad_directory(long, project=PROJECT)


@pytest.mark.parametrize(
    "path", ["/var/tmp", "/tmp", "/tmp/x", PROJECT, f"{PROJECT}/src", "/home/dev/other", "/opt/x/y"]
)
def test_a_directory_of_its_own_is_narrow(path: str) -> None:
    assert why_broad_directory(path, project=PROJECT) is None


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/",
            "//",
            "~",
            "~/",
            "/home",
            "/home/dev",
            "/home/ada/",
            "/Users/ada",
            "/USERS/ada",
            "/root",
            "/etc",
            "/ETC",
        ),
        *(
            "/etc/nginx",
            "/usr/lib",
            "/data",
            "..",
            "../..",
            f"{PROJECT}/..",
            "/home/dev/shop/../../..",
            "~root",
            "$HOME",
        ),
        *("/home/dev/.ssh", "~/.claude", f"{PROJECT}/.git", f"{PROJECT}/.claude", "/home/dev/.config/tapgate"),
        *("/private/etc/x", "/var/lib/docker", "/data/homes/ada"),
    ],
)
def test_a_directory_that_holds_more_than_work_is_broad(path: str) -> None:
    assert why_broad_directory(path, project=PROJECT)


def test_what_lies_above_the_project_is_broad() -> None:
    assert why_broad_directory("/data/work", project="/data/work/shop")
    assert why_broad_directory("/data/work/other", project="/data/work/shop") is None


@pytest.mark.parametrize(
    "pattern",
    [
        *("src/**", "/src/**", "src/a.py", "docs/*.md", "**/*.ts", "*.py", f"/{PROJECT}/src/**", "//home/dev/other/**"),
        *("~/work/**", "//tmp/**", "//var/tmp/x/**"),
    ],
)
def test_a_part_of_the_project_or_a_directory_of_work_is_narrow(pattern: str) -> None:
    assert why_broad_path(pattern, project=PROJECT) is None


@pytest.mark.parametrize(
    "pattern",
    [
        *("//", "//**", "//*", "/**", "**", "*", "./**", "/", ".", "~/**", "~", "/home/**", "//home/**", "//etc/**"),
        *("/etc/passwd", "../**", "src/../../**", ".env", "**/.env", ".claude/**", ".git/**", ".git/hooks/pre-commit"),
        *("~/.ssh/id_rsa", "~/.bashrc", "//home/*/x", "//data/**", f"/{PROJECT}/**", "~root/**", "$HOME/**"),
    ],
)
def test_a_path_rule_for_more_than_that_is_broad(pattern: str) -> None:
    assert why_broad_path(pattern, project=PROJECT)


def test_one_public_site_is_narrow_and_no_other() -> None:
    assert why_broad_domain("docs.example.com") is None
    broad = (
        "*",
        "*.com",
        "*.example.com",
        "",
        "com",
        "localhost",
        "127.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
        "a b.com",
    )
    assert [domain for domain in broad if not why_broad_domain(domain)] == []
