"""The home directory of the user who asks, by which a request is judged and its paths are shortened."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable
from pathlib import Path


def listed_home(uid: int) -> str:
    """What the system's list of users says. "": this user is not on it, or the list cannot be read."""
    try:
        return pwd.getpwuid(uid).pw_dir
    except (KeyError, OverflowError, OSError):
        return ""


class Homes:
    """Users' home directories; "" where none is known.

    The daemon's own user has the home that its environment names, as everywhere. For others the system is asked, once
    a user; a user who is not found is looked for again, because the list may be out of reach for a while.
    """

    def __init__(self, *, own_uid: int | None = None, listed: Callable[[int], str] = listed_home) -> None:
        self._listed = listed
        self._known = {os.getuid() if own_uid is None else own_uid: str(Path.home())}

    def home_of(self, uid: int) -> str:
        """Blocking where the list of users is not on this machine: run it in a worker thread."""
        home = self._known.get(uid)
        if home is None:
            home = self._listed(uid)
            if not home.startswith("/"):
                return ""
            self._known[uid] = home
        return home

    def known_home(self, uid: int) -> str:
        """The same without asking anybody, for the event loop: known once a request of this user was judged."""
        return self._known.get(uid, "")
