"""Progress: a word to who waits, every few seconds. The clock decides nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 5.0
"""Seconds without a word."""


class Progress:
    """Passes on what is being done, seldom enough to be read."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Wait for as long as nobody would ask."""
        self._say = say
        self._clock = clock
        self._next = clock() + PATIENCE

    def __call__(self, doing: str) -> None:
        """Hear what is being done now."""
        now = self._clock()
        if now >= self._next:
            self._next = now + PATIENCE
            self._say(f"{doing} ...")
