"""The table of risks: a name, what to look for, what to tell a person. A risk never decides; it is shown."""

from __future__ import annotations

from dataclasses import dataclass

from tapgate.risk import git as risk_git
from tapgate.risk import hidden as risk_hidden
from tapgate.risk import machine as risk_machine
from tapgate.risk import running as risk_running
from tapgate.risk import touching as risk_touching
from tapgate.risk.characters import find_hidden, find_look_alike, find_turned, texts_in
from tapgate.risk.scene import Finder, RiskInput, each_call, listed


@dataclass(frozen=True, slots=True)
class Rule:
    """`sentence` is the general one; `find` gives a more concrete one for the call at hand."""

    name: str
    looks_for: str
    sentence: str
    find: Finder
    asks_twice: bool = False
    reveals: bool = False


def _either(*finders: Finder) -> Finder:
    def search(scene: RiskInput) -> str | None:
        return next((sentence for find in finders if (sentence := find(scene))), None)

    return search


def _not_understood(scene: RiskInput) -> str | None:
    return "This command could not be read; look closely" if scene.broken else None


def _too_long(scene: RiskInput) -> str | None:
    return "Too long or too tangled to check all of it; look closely" if scene.cut else None


def _unchecked(scene: RiskInput) -> str | None:
    if not scene.unchecked:
        return None
    return f"Could not check where this leads, a link may be on the way: {listed(scene.unchecked)}"


def _hidden(scene: RiskInput) -> str | None:
    return find_hidden((*scene.words, *texts_in(scene.use.input)))


def _look_alike(scene: RiskInput) -> str | None:
    return find_look_alike(scene.words) or find_turned(*_in_order(scene))


def _in_order(scene: RiskInput) -> tuple[list[str], tuple[str, ...]]:
    """The words of all calls as they stand; for other tools, and what could not be read, the texts themselves."""
    texts = () if scene.calls and not scene.broken else scene.words[2:]  # behind the tool's name and the directory
    words = ([call.program.text, *call.texts, *(stream.target.text for stream in call.streams)] for call in scene.calls)
    return [word for call in words for word in call], texts


RULES: tuple[Rule, ...] = (
    Rule(
        risk_hidden.RUNS_HIDDEN,
        "a masked value that is used again in the same call: run, reached, decoded, or in a way that cannot be told",
        "Runs text that is hidden here",
        risk_hidden.runs_hidden,
        asks_twice=True,
    ),
    Rule(
        risk_hidden.HIDDEN_TEXT,
        "a mask over more than one opaque token: a private key's lines, a password of several words",
        "Runs text that is hidden here, or may run it",
        risk_hidden.hides_text,
        asks_twice=True,
        reveals=True,
    ),
    Rule(
        "hidden-characters",
        "characters that cannot be seen or that turn the text around, escapes of terminals, in any field",
        "Has characters that cannot be seen",
        _hidden,
    ),
    Rule(
        "look-alike",
        "letters of another script among Latin ones, or right-to-left ones that change the order of words, in a "
        "command, a path or an address",
        "Has a word that is not what it looks like",
        _look_alike,
    ),
    Rule(
        "touches-tapgate",
        "tapgate's config, state and socket; its commands, other than those that only show something; stopping it",
        "Touches tapgate itself, which asks you this",
        risk_touching.touches_tapgate,
    ),
    Rule(
        "agent-settings",
        ".claude/settings*.json, hooks, plugins, .mcp.json, .codex/, CLAUDE_CONFIG_DIR, an agent that asks nobody",
        "Changes the agent's own settings, hooks or tools",
        risk_touching.agent_settings,
    ),
    Rule(
        "disk-destruction",
        "dd or > to a disk, mkfs, fdisk, wipefs, diskutil erase, zpool destroy",
        "Overwrites or erases a disk",
        _either(risk_machine.overwrites_disk, each_call(risk_machine.disk_destruction)),
    ),
    Rule(
        "database-destruction",
        "DROP, TRUNCATE, DELETE and UPDATE without WHERE given to a database client; FLUSHALL, dropdb, db:drop",
        "Deletes data from a database",
        each_call(risk_machine.database_destruction),
    ),
    Rule(
        "infrastructure-destruction",
        "terraform destroy, kubectl delete, helm uninstall, delete commands of clouds and of GitHub",
        "Destroys servers or services",
        each_call(risk_machine.infrastructure_destruction),
    ),
    Rule(
        "destructive-delete",
        "rm -r, rm of patterns, of lists and of files outside the project, find -delete, git clean -f, shred,"
        " rsync --delete, truncate; not below /tmp, and not single files of the project",
        "Deletes files",
        each_call(risk_touching.destructive_delete),
    ),
    Rule("fork-bomb", "a function that starts itself in the background", "Stops the machine", risk_running.fork_bomb),
    Rule(
        "pipe-to-shell",
        'what is fetched goes into a shell or an interpreter: curl | sh, bash -c "$(curl …)", python <(curl …)',
        "Runs whatever another machine sends",
        each_call(risk_running.pipe_to_shell),
    ),
    Rule(
        "opens-remote-shell",
        "nc -e, a shell on /dev/tcp, socat EXEC",
        "Gives another machine a shell on this one",
        each_call(risk_running.opens_remote_shell),
    ),
    Rule(
        "runs-download",
        "a file is fetched and then run, made runnable or installed",
        "Runs a file that it has just fetched",
        risk_running.runs_download,
    ),
    Rule(
        "obfuscated",
        "base64 -d | sh, eval of something unknown, letters as codes, $IFS, commands torn apart by quotes",
        "Hides what it runs",
        each_call(risk_running.obfuscated),
    ),
    Rule(
        "slips-in-code",
        "LD_PRELOAD, BASH_ENV, NODE_OPTIONS=--require and the like; PATH=.:…; tar --to-command",
        "Makes programs run other code than theirs",
        each_call(risk_running.slips_in_code),
    ),
    Rule(
        "secrets-sent",
        "files or variables that may hold secrets go to another machine",
        "Sends what may hold secrets to another machine",
        risk_touching.secrets_sent,
    ),
    Rule(
        "secrets-read",
        ".env, private keys, credentials, shell histories; env and printenv; keychains and vaults",
        "Reads what may hold secrets",
        risk_touching.secrets_read,
    ),
    Rule(
        "credentials-written",
        "~/.ssh, ~/.aws, gcloud, kubeconfig, .netrc, .npmrc, .pypirc; signing in and out",
        "Changes your keys or sign-ins",
        risk_touching.credentials_written,
    ),
    Rule(
        "startup-change",
        "shell startup files, cron, systemd units, LaunchAgents, git hooks, settings of git that name a program",
        "Changes what runs by itself later",
        risk_touching.startup_change,
    ),
    Rule(
        "privilege",
        "sudo, su, doas; chmod 777, setuid; chown root; setcap; users, firewall, kernel; privileged containers",
        "Gets or gives more rights on this machine",
        _either(each_call(risk_machine.privilege), risk_machine.changes_rights),
    ),
    Rule(
        "force-push",
        "git push --force, +branch, --delete, --mirror",
        "Overwrites the history at the remote",
        each_call(risk_git.force_push),
    ),
    Rule(
        "history-rewrite",
        "git rebase, reset --hard, commit --amend, filter-branch, checkout -- ., stash drop, branch -D, reflog expire",
        "Rewrites history or throws work away",
        each_call(risk_git.history_rewrite),
    ),
    Rule(
        "changes-source",
        "git remote set-url; the registry of npm, the index of pip",
        "Changes where code comes from or goes to",
        each_call(risk_running.redirects),
    ),
    Rule(
        "publishes",
        "npm publish, twine upload, cargo publish, docker push, gh release; deploying",
        "Publishes something for everybody",
        each_call(risk_machine.publishes),
    ),
    Rule(
        "process-control",
        "kill, pkill, systemctl, service, launchctl, shutdown, docker stop and prune",
        "Ends processes or changes services",
        each_call(risk_machine.process_control),
    ),
    Rule(
        "sends-data",
        "files, or what commands print, go to another machine: curl -T, scp, nc",
        "Sends data to another machine",
        risk_touching.sends_data,
    ),
    Rule(
        "dotfile-written",
        "hidden files and directories in the home directory, other than ~/.cache",
        "Changes settings in your home directory",
        risk_touching.dotfile_written,
    ),
    Rule(
        "writes-outside",
        "redirections, tee, cp, mv, Write and Edit outside the project; not /tmp, not /dev/null",
        "Writes outside the project",
        risk_touching.writes_outside,
    ),
    Rule(
        "unchecked-path",
        "files that are written or deleted behind links that cannot be followed: a loop, a disk that does not answer",
        "Writes or deletes where it could not be checked",
        _unchecked,
    ),
    Rule(
        "runs-elsewhere",
        "ssh, kubectl exec, ansible",
        "Runs on another machine",
        each_call(risk_running.runs_elsewhere),
    ),
    Rule(
        "runs-remote-package",
        "npx, uvx, pipx run of a package without a fixed version, but not of usual tools; installs from a URL",
        "Fetches a program and runs it",
        each_call(risk_running.runs_remote_package),
    ),
    Rule(
        "installs-software",
        "apt, brew and the like; npm -g, pip --user, cargo install",
        "Changes the software of this machine",
        each_call(risk_machine.installs_software),
    ),
    Rule(
        "private-address",
        "tools that fetch from loopback, private or metadata addresses; commands only from metadata addresses",
        "Fetches from an address that is not public",
        risk_touching.private_address,
    ),
    Rule(
        "credentials-in-url",
        "a password or a token before the @ of an address",
        "Sends a password in an address",
        risk_touching.credentials_in_url,
    ),
    Rule(
        "unknown-command",
        "a command whose name stands in a variable that this command line does not set",
        "Runs a program that cannot be seen here",
        each_call(risk_running.unknown_command),
    ),
    Rule(
        "not-understood", "syntax that cannot be read", "This command could not be read; look closely", _not_understood
    ),
    Rule("too-long-to-check", "more than the limits of the reader", "Too long to check all of it", _too_long),
)
