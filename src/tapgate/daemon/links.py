"""Asks the disk where paths lead: one name after another, with lstat and readlink, so that nothing is opened.

A disk that hangs, or a path that the daemon may not look into, gives "unknown" and keeps nobody waiting for long.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import queue
import stat
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tapgate.risk.links import LinkEnd, Way

ANSWER_S = 2.0  # how long one path may take
ALL_S = 6.0  # and all paths of a request together
MOST_HANGING = 8  # threads that wait for a disk which does not answer; with so many nothing is asked any more
MOST_LINKS = 40  # as in Linux; macOS follows 32
MOST_STEPS = 4096
MOST_BYTES = 4096  # PATH_MAX of Linux
MOST_ENTRIES = 5000
_MOUNTS = Path("/proc/self/mountinfo")
_MISSING = frozenset({errno.ENOENT, errno.ENOTDIR})

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What stands at a path: `target` where it is a link."""

    end: LinkEnd = LinkEnd.REACHED
    target: str | None = None
    is_missing: bool = False
    is_directory: bool = False
    is_shared: bool = False


@dataclass(slots=True)
class Walker:
    """Follows links without any limit of time. It remembers what it has seen, so one is used for one request."""

    autofs: tuple[tuple[str, bool], ...] | None = None  # mount points, the last one first, and which wait to be mounted
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def follow(self, path: str, *, last: bool = True) -> Way:
        """As `Links.follow`. What is not there is taken by its words: a write would make it, or fail."""
        waiting = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        last = last or path.endswith(("/", "/."))
        real: list[str] = []
        met: set[str] = set()
        links = steps = 0
        seen = _Seen(is_directory=True)
        while waiting:
            steps += 1
            part = waiting.pop()
            if part == "..":
                real = real[:-1]
                seen = _Seen(is_directory=True)
                continue
            here = "/".join(("", *real, part))
            seen = self._look(here)
            if seen.end is not LinkEnd.REACHED or steps > MOST_STEPS or (real[:1] == ["proc"]):
                # The links in /proc lead elsewhere for each process, so they are left as they are.
                end = seen.end if steps <= MOST_STEPS else LinkEnd.UNKNOWN
                return Way("/".join((here, *reversed(waiting))), end)
            if seen.target is None or (not last and not waiting):
                real.append(part)
                continue
            links += 1
            if links > MOST_LINKS:
                return Way("/".join((here, *reversed(waiting))), LinkEnd.LOOP if here in met else LinkEnd.UNKNOWN)
            met.add(here)
            if seen.target.startswith("/"):
                real = []
            waiting += [part for part in reversed(seen.target.split("/")) if part not in ("", ".")]
            seen = _Seen(is_directory=True)
        return Way("/" + "/".join(real), is_directory=seen.is_directory, is_shared=seen.is_shared)

    def matching(self, directory: str, pattern: str) -> Sequence[str] | None:
        """As `Links.matching`. Only names are read, and what the directory itself says about them."""
        if len(pattern) > 64 or self._is_waiting(directory):
            return None
        found = []
        try:
            with os.scandir(directory) as entries:
                for number, entry in enumerate(entries):
                    if number >= MOST_ENTRIES:
                        return None
                    hidden = entry.name.startswith(".") and not pattern.startswith(".")
                    if hidden or not fnmatch.fnmatchcase(entry.name, pattern):
                        continue
                    if entry.is_symlink() or entry.is_dir(follow_symlinks=False):
                        found.append(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except (OSError, ValueError):
            return None
        return found

    def _look(self, path: str) -> _Seen:
        known = self._seen.get(path)
        if known is None:
            above = self._seen.get(path.rpartition("/")[0])
            known = _Seen(is_missing=True) if above is not None and above.is_missing else self._ask(path)
            self._seen[path] = known
        return known

    def _ask(self, path: str) -> _Seen:
        if self._is_waiting(path):
            return _Seen(LinkEnd.UNKNOWN)
        try:
            if len(os.fsencode(path)) > MOST_BYTES:
                return _Seen(LinkEnd.UNKNOWN)
            facts = Path(path).lstat()
            if stat.S_ISLNK(facts.st_mode):
                return _Seen(target=str(Path(path).readlink()))
        except PermissionError:
            return _Seen(LinkEnd.UNKNOWN if _is_ours(path.rpartition("/")[0] or "/") else LinkEnd.BARRED)
        except OSError as error:
            return _Seen(is_missing=True) if error.errno in _MISSING else _Seen(LinkEnd.UNKNOWN)
        except ValueError:  # no file can have such a name
            return _Seen(is_missing=True)
        is_shared = stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1
        return _Seen(is_directory=stat.S_ISDIR(facts.st_mode), is_shared=is_shared)

    def _is_waiting(self, path: str) -> bool:
        """Whether this lies where looking would make the automounter mount something, which can take for ever."""
        if self.autofs is None:
            self.autofs = _automounts()
        for point, is_waiting in self.autofs:
            if path.startswith(f"{point}/") or (path == point and not is_waiting):
                return is_waiting
        return False


def _is_ours(directory: str) -> bool:
    """Whether a directory that refuses us belongs to our own user: an agent of that user may have closed it.

    One of another user is closed to the agent as well, or this daemon has a user of its own.
    """
    try:
        return Path(directory).lstat().st_uid == os.geteuid()
    except OSError:
        return True


def _automounts() -> tuple[tuple[str, bool], ...]:
    """Mount points, the innermost first, each with whether nothing is mounted there yet. None where none wait."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ()
    points: dict[str, bool] = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        words = before.split(" ")
        if len(words) > 4:
            point = words[4].replace("\\040", " ").rstrip("/")
            points[point] = after.startswith("autofs ")  # what was mounted last lies on top
    if not any(points.values()):
        return ()
    return tuple(sorted(points.items(), key=lambda item: len(item[0]), reverse=True))


class DiskLinks:
    """A walker in a thread of its own that is waited for only so long. Use it as a context, for one request."""

    def __init__(
        self,
        walker: Walker | None = None,
        *,
        answer_s: float = ANSWER_S,
        all_s: float = ALL_S,
        mono: Callable[[], float] = time.monotonic,
    ) -> None:
        self._walker = walker or Walker()
        self._answer_s = answer_s
        self._left_s = all_s
        self._mono = mono
        self._worker: _Worker | None = None

    def __enter__(self) -> DiskLinks:
        return self

    def __exit__(self, *_: object) -> None:
        if self._worker is not None:
            self._worker.end()

    def follow(self, path: str, *, last: bool = True) -> Way:
        way = self._ask(lambda: self._walker.follow(path, last=last))
        return Way(path, LinkEnd.UNKNOWN) if way is None else way

    def matching(self, directory: str, pattern: str) -> Sequence[str] | None:
        return self._ask(lambda: self._walker.matching(directory, pattern))

    def _ask(self, job: Callable[[], T]) -> T | None:
        """None where no answer came in time; nothing is asked any more then."""
        if self._left_s <= 0 or _hanging.count >= MOST_HANGING:
            return None
        if self._worker is None:
            self._worker = _Worker()
        started = self._mono()
        answer = self._worker.ask(job, min(self._answer_s, self._left_s))
        self._left_s -= self._mono() - started
        if answer is None:
            self._left_s = 0.0
            return None
        return answer[0]


class _Hanging:
    """How many threads were given up and have not come back."""

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.Lock()


_hanging = _Hanging()


class _Worker:
    """One thread that does jobs. It is no reason for the process to stay: a hanging disk may never let it go."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._is_given_up = False
        threading.Thread(target=self._run, name="links", daemon=True).start()

    def ask(self, job: Callable[[], T], wait_s: float) -> tuple[T] | None:
        self._jobs.put(job)
        try:
            return (self._answers.get(timeout=wait_s),)  # type: ignore[return-value]
        except queue.Empty:
            with _hanging.lock:
                if not self._answers.empty():
                    return (self._answers.get(),)  # type: ignore[return-value]
                self._is_given_up = True
                _hanging.count += 1
            return None

    def end(self) -> None:
        self._jobs.put(None)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                answer = job()
            except Exception:  # whatever it is: the path could not be followed
                answer = None
            with _hanging.lock:
                if self._is_given_up:
                    _hanging.count -= 1
                    return
                self._answers.put(answer)
