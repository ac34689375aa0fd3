"""Prints constraints.txt from the packages of a virtual environment: `python .ci/lock.py PYTHON`."""

from __future__ import annotations

import json
import subprocess
import sys

# What the environment brings by itself, and the project: neither is a dependency with a version to keep.
LEFT_OUT = {"pip", "setuptools", "wheel", "tapgate"}
LIST = """
import importlib.metadata, json
print(json.dumps(sorted({(d.name, d.version) for d in importlib.metadata.distributions()}, key=lambda p: p[0].lower())))
"""


def main(python: str) -> None:
    found = json.loads(subprocess.run([python, "-I", "-c", LIST], check=True, capture_output=True).stdout)
    print("# The versions with which the suite passed. `make latest`, then `make lock` renews them.")
    for name, version in found:
        if name.lower() not in LEFT_OUT:
            print(f"{name}=={version}")


if __name__ == "__main__":
    main(sys.argv[1])
