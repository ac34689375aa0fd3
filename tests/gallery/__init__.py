"""Cards worth looking at, each under a name. `python -m tests.gallery` shows them on the phone page, light and dark."""

from __future__ import annotations

from tests.gallery.moments import ENDINGS, LIMITS, STEPS, VOICES
from tests.gallery.sample import Sample
from tests.gallery.talks import TALKS
from tests.gallery.tools import RISKS, TOOLS

GROUPS: dict[str, tuple[Sample, ...]] = {
    "Each tool in its form": TOOLS,
    "Questions and plans": TALKS,
    "More than one tap": STEPS,
    "What is risky": RISKS,
    "Who asks": VOICES,
    "Secrets, tricks, and what does not fit": LIMITS,
    "How it ended": ENDINGS,
}
