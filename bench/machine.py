"""What kind of machine this is, without saying which one."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path


def describe_machine(folder: Path) -> dict[str, str]:
    return {
        "cpu": f"{_cpu()}, {os.cpu_count()} cores",
        # What follows the version in a kernel's release tells who built it, which is nobody's business.
        "system": f"{platform.system()} {platform.release().partition('-')[0]} ({platform.machine()})",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "journal's file system": _file_system(folder),
    }


def _cpu() -> str:
    try:
        if sys.platform == "darwin":
            words = ["sysctl", "-n", "machdep.cpu.brand_string"]
            return subprocess.run(words, capture_output=True, check=True, text=True).stdout.strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    except (OSError, subprocess.CalledProcessError):
        pass
    return platform.processor() or "unknown CPU"


def _file_system(folder: Path) -> str:
    """On a file system in memory a write costs next to nothing, so the reader must know."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    device = folder.stat().st_dev
    found = [kind for point, kind in mounts if _device_of(point) == device]
    return found[-1] if found else "unknown"


def _device_of(point: str) -> int | None:
    try:
        return Path(point).stat().st_dev
    except OSError:
        return None
