"""Rules about git: what rewrites history, here or at the remote, and what throws work away."""

from __future__ import annotations

import re

from tapgate.risk.scene import RiskInput
from tapgate.shell.calls import Arg, Call, Options, sort_options
from tapgate.shell.wrappers import GIT_COMMAND_KEYS, git_words


def git_call(call: Call) -> tuple[str, Options, tuple[Arg, ...]] | None:
    """The subcommand with its options and its raw words."""
    if call.name not in ("git", "hub"):
        return None
    words = git_words(call.args)
    if not words:
        return None
    return words[0].text, sort_options(words[1:], "mCFctoSu" if words[0].text == "commit" else ""), words[1:]


def force_push(call: Call, scene: RiskInput) -> str | None:
    git = git_call(call)
    if git is None or git[0] != "push" or git[1].has("-n", "--dry-run"):
        return None
    _, options, words = git
    refs = options.operands[1:]
    if options.has("-d", "--delete") or any(ref.text.startswith(":") for ref in refs):
        return "Deletes a branch or a tag at the remote"
    if options.has("--mirror", "--prune"):
        return "Makes the remote the same as this repository, and deletes what is only there"
    if any(re.match(r"-\w*f\w*$|--force", arg.text) for arg in words) or any(ref.text.startswith("+") for ref in refs):
        return "Overwrites the history at the remote"
    return None


def history_rewrite(call: Call, scene: RiskInput) -> str | None:
    if call.name in ("bfg", "git-filter-repo"):
        return "Rewrites the whole history of the repository"
    git = git_call(call)
    if git is None:
        return None
    verb, options, words = git
    operands = [arg.text for arg in options.operands]
    match verb:
        case "rebase":
            going_on = options.has("--continue", "--abort", "--skip", "--quit", "--show-current-patch", "--edit-todo")
            return None if going_on else "Rewrites commits of this branch"
        case "pull":
            return "Rewrites commits of this branch that are not yet pushed" if options.has("-r", "--rebase") else None
        case "filter-branch" | "filter-repo":
            return "Rewrites the whole history of the repository"
        case "commit":
            return "Replaces the last commit" if options.has("--amend") else None
        case "reset":
            if options.has("--hard", "--merge", "--keep"):
                return "Throws away changes that are not committed, and may move the branch"
            back = any(re.search(r"[~^]|@\{|^[0-9a-f]{7,40}$", text) for text in operands)
            return "Moves the branch to another commit" if back else None
        case "checkout":
            return _checkout(options, words)
        case "restore":
            only_index = options.has("--staged", "-S") and not options.has("--worktree", "-W")
            return None if only_index else "Throws away changes that are not committed"
        case "switch":
            if options.has("-f", "--force", "--discard-changes"):
                return "Throws away changes that are not committed"
            return "Moves a branch to another commit" if options.has("-C", "--force-create") else None
        case "stash":
            return "Deletes stashed work" if operands[:1] in (["drop"], ["clear"]) else None
        case "branch":
            forced = options.has("-D") or (options.has("-d", "--delete") and options.has("-f", "--force"))
            if forced:
                return "Deletes a branch even if its commits are nowhere else"
            return "Moves a branch to another commit" if options.has("-f", "--force", "-M", "-C") else None
        case "reflog":
            return "Deletes the record by which lost commits can be found" if operands[:1] in _LOST else None
        case "update-ref" | "replace":
            return "Changes where a branch points to"
        case "prune":
            return "Deletes commits that no branch holds"
        case "gc":
            pruned = any(text.startswith(("--prune=now", "--prune=all")) for text in (a.text for a in words))
            return "Deletes commits that no branch holds" if pruned else None
    return None


_LOST = (["expire"], ["delete"])


def _checkout(options: Options, words: tuple[Arg, ...]) -> str | None:
    texts = [arg.text for arg in words]
    if options.has("-f", "--force", "--ours", "--theirs"):
        return "Throws away changes that are not committed"
    if options.has("-B"):
        return "Moves a branch to another commit"
    if "--" in texts and texts[-1] != "--":
        return f"Throws away changes in {words[-1].shown} that are not committed"
    if any(text in (".", "./", "*", ":/") for text in texts):
        return "Throws away all changes that are not committed"
    return None


def runs_later_by_git(call: Call) -> str | None:
    """Settings of git that name a program, and hooks that are moved elsewhere."""
    git = git_call(call)
    if git is None or git[0] != "config":
        return None
    operands = [arg.text for arg in git[1].operands if arg.text != "set"]
    if len(operands) < 2:
        return None
    key = operands[0].lower()
    if key in GIT_COMMAND_KEYS or key.startswith(("filter.", "difftool.", "mergetool.")):
        return f"Sets {operands[0][:40]}: a program that git will run later"
    return "Makes an alias of git that runs a command" if operands[1].startswith("!") else None
