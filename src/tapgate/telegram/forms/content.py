"""What a form makes of a call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Content:
    """`head` stands in words above, `body` in a block; `asides` are small facts below."""

    body: str
    language: str = ""
    head: str = ""
    asides: tuple[str, ...] = ()
    suffix: str = ".txt"
    prose: bool = False  # the body is text for people, not code
    marked: bool = False  # and it is Markdown
    unchanged: int = 0  # lines of the file that the body leaves out
    cut: int = 0  # characters that were left out already, so that hostile inputs cost little
    cut_more: bool = False  # and it is not known how many more
    is_command: bool = False  # the body would be run as it is


LANGUAGES = {
    ".bash": "bash",
    ".c": "c",
    ".cc": "cpp",
    ".cfg": "ini",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".css": "css",
    ".diff": "diff",
    ".go": "go",
    ".h": "c",
    ".html": "html",
    ".ini": "ini",
    ".java": "java",
    ".js": "javascript",
    ".json": "json",
    ".jsx": "jsx",
    ".kt": "kotlin",
    ".md": "markdown",
    ".patch": "diff",
    ".php": "php",
    ".py": "python",
    ".rb": "ruby",
    ".rs": "rust",
    ".scss": "scss",
    ".sh": "bash",
    ".sql": "sql",
    ".swift": "swift",
    ".toml": "toml",
    ".ts": "typescript",
    ".tsx": "tsx",
    ".vue": "html",
    ".xml": "xml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".zsh": "bash",
}

# What a phone shows as text. Anything else comes as .txt: an agent must not choose that it is opened as a page or run.
READABLE = frozenset({".c", ".css", ".go", ".json", ".md", ".py", ".rs", ".sh", ".sql", ".toml", ".ts"}) | {
    *(".yaml", ".yml", ".diff")
}
