"""A real systemd user manager for an unprivileged user, in a mount namespace of its own. Needs root; nothing stays."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

UID = 64242
SYSTEMD = Path("/usr/lib/systemd/systemd")
CGROUPS = "/sys/fs/cgroup"
PATIENCE_S = 120.0
# What is hidden from other users (a checkout or a Python in /root) is shown to them, here and nowhere else.
SHOW = """
mkdir -p /run/kept
number=0
for path in $SHOWN; do number=$((number + 1)); mkdir /run/kept/$number; mount --bind $path /run/kept/$number; done
for path in $HIDDEN; do mount -t tmpfs -o mode=755 tmpfs $path; done
number=0
for path in $SHOWN; do number=$((number + 1)); mkdir -p $path; mount --bind /run/kept/$number $path; done
cd /
"""
BOOT = f"""
set -e
umount -R /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir /sys/fs/cgroup/$GROUP
chown -R $UID_ /sys/fs/cgroup/$GROUP
echo $$ > /sys/fs/cgroup/$GROUP/cgroup.procs
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/systemd/system /run/systemd/unit-root /run/systemd/propagate /run/credentials /run/user/$UID_
chown $UID_:$UID_ /run/user/$UID_
chmod 700 /run/user/$UID_
{SHOW}
umask 022
exec setpriv --reuid $UID_ --regid $UID_ --clear-groups --inh-caps=-all /usr/lib/systemd/systemd --user
"""


def shown_to_all(*words: str, **environ: str) -> list[str]:
    """A command of root's that may become any user and still finds Python and this checkout."""
    shown, hidden = _paths()
    script = f'set -e; mount -t tmpfs -o mode=755 tmpfs /run; {SHOW} exec "$@"'
    settings = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", **environ}
    settings |= {"SHOWN": " ".join(shown), "HIDDEN": " ".join(hidden)}
    enter = ("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh")
    return ["env", "-i", *(f"{name}={value}" for name, value in settings.items()), *enter, *words]


class UserManager:
    """Commands run as its user, and see what it sees."""

    def __init__(self, pid: int, home: Path) -> None:
        self.pid = pid
        self.home = home
        self.environ = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "USER": "somebody",
            "XDG_RUNTIME_DIR": f"/run/user/{UID}",
        }

    def words(self, *words: str) -> list[str]:
        enter = ("nsenter", "--target", str(self.pid), "--mount", "--wd=/")
        settings = (f"{name}={value}" for name, value in self.environ.items())
        become = ("setpriv", "--reuid", str(UID), "--regid", str(UID), "--clear-groups")
        return [*enter, "env", "-i", *settings, *become, *words]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(*words),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S * 3,
            stdin=subprocess.DEVNULL,
        )

    def tapgate(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "tapgate", *words)

    def show(self, unit: str = "tapgate.service") -> dict[str, str]:
        lines = self.run("systemctl", "--user", "show", unit).stdout.splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def until(self, **expected: str) -> dict[str, str]:
        """The unit's properties, once they are like this."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = self.show()
            if all(found.get(name) == value for name, value in expected.items()):
                return found
            assert time.monotonic() < end, {name: found.get(name) for name in expected}
            time.sleep(0.05)


@contextmanager
def user_manager() -> Iterator[UserManager]:
    if os.getuid() != 0 or not SYSTEMD.exists() or shutil.which("unshare") is None:
        pytest.skip("a user manager for somebody else needs root and systemd")
    home = Path(tempfile.mkdtemp(prefix="tg-", dir="/tmp"))
    home.chmod(0o755)
    group = f"tapgate-test-{os.getpid()}"
    shown, hidden = _paths()
    log = home / "manager.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", BOOT],
            env={
                **{"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(home)},
                **{"XDG_RUNTIME_DIR": f"/run/user/{UID}", "UID_": str(UID), "GROUP": group},
                **{"SHOWN": " ".join(shown), "HIDDEN": " ".join(hidden)},
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    os.chown(home, UID, UID)
    manager = UserManager(process.pid, home)
    try:
        _wait(manager, process, log)
        yield manager
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _remove_group(group)
        shutil.rmtree(home, ignore_errors=True)


def _wait(manager: UserManager, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while manager.run("systemctl", "--user", "is-system-running").stdout.strip() not in ("running", "degraded"):
        if process.poll() is not None or time.monotonic() > end:
            pytest.skip(f"no user manager can be started here: {log.read_text(errors='replace').strip()[-300:]}")
        time.sleep(0.05)


def _paths() -> tuple[list[str], list[str]]:
    """What this user must see although it lies in a directory that is closed to others; and those directories."""
    needed = {Path(sys.base_prefix).resolve(), Path(sys.prefix), Path(__file__).resolve().parents[2]}
    shown, hidden = [], set()
    for path in needed:
        closed = [parent for parent in path.parents if parent.exists() and not parent.stat().st_mode & 0o001]
        if closed:
            shown.append(str(path))
            hidden.add(str(min(closed, key=lambda parent: len(parent.parts))))
    outer = [path for path in shown if not any(Path(other) in Path(path).parents for other in shown)]
    return outer, sorted(hidden)


def _remove_group(group: str) -> None:
    """Empty groups stay behind in the kernel; they are taken away through a mount of their own."""
    with suppress(OSError, subprocess.SubprocessError):
        mount = f"umount -R {CGROUPS}; mount -t cgroup2 cgroup2 {CGROUPS}"
        script = f"{mount}; find {CGROUPS}/{group} -depth -type d -exec rmdir {{}} +"
        subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
