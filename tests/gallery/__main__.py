"""`make gallery`: every sample on the simulator's phone page, as a page of pictures in build/gallery.

The cards are sent by the real front to a real simulator, and photographed on its phone page by Chromium. It needs
Chromium, and on Debian the packages fonts-noto-color-emoji (without it emoji are empty boxes) and fonts-roboto-unhinted
(the font of most phones).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.gallery import GROUPS
from tests.gallery.pictures import CHROMIUM, IMAGES, shoot_gallery, shoot_readme

BUILD = Path(__file__).parent.parent.parent / "build" / "gallery"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gallery", description="Cards as they look on the phone.")
    parser.add_argument("--only", default="", metavar="WORD", help="only samples whose name holds this")
    parser.add_argument(
        "--readme", action="store_true", help=f"take the README's pictures instead, into docs/{IMAGES.name}"
    )
    parser.add_argument("--to", type=Path, default=BUILD, metavar="DIR", help="where the page goes")
    given = parser.parse_args()
    if CHROMIUM is None:
        sys.exit("Chromium is not installed, and the pictures are taken with it")
    os.environ["TZ"] = zone = _morning()
    time.tzset()
    if given.readme:
        for path in shoot_readme(zone=zone):
            print(f"{path}: {path.stat().st_size / 1024:.0f} KB")
        return
    groups = {title: tuple(one for one in group if given.only in one.name) for title, group in GROUPS.items()}
    if not any(groups.values()):
        sys.exit(f"no sample's name holds {given.only!r}; see tests/gallery for their names")
    print(f"{given.to / 'index.html'}: {shoot_gallery(groups, given.to, zone=zone, tell=_tell)} pictures")


def _morning() -> str:
    """A time zone in which it is ten o'clock, or as near to it as there is one: so that runs give like pictures."""
    ahead = max(-12, min(14, 10 - datetime.now(UTC).hour))
    return f"Etc/GMT{-ahead:+d}"  # these names count the other way round


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
