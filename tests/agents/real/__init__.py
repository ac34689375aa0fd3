"""The real Claude Code and the real Codex CLI, against scripted model APIs on loopback. See CONTRIBUTING.md."""
