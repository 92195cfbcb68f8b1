"""Effort: what is done is counted, so that it ends, and where is said to be too much.

The unit is about twenty microseconds of work. It is counted where work is done, never
read from a clock: the same spec takes the same steps on every machine, so that what
is given up for its sake is the same as well. A pass that finds no end within a part
of the steps leaves what it was given as it is (`attempt`). What takes more than its
share is begun anew in a hurry, without looking for what may be better (`planned`);
beyond all steps that a function may take, one diagnostic names it (`on`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TypeVar

from tensorgen.errors import NoDerivative, Text, fail

T = TypeVar("T")
Hint = str | Callable[[], str]

READING = 80_000
"""The steps in which the text of a function has become nodes: about two seconds."""

PLANNING = 500_000
"""The steps to plan what is emitted for a function, for each, before it is hurried."""

MOST_OF_PLANNING = 400_000
"""The steps that are left of these where ways may be tried that take several times as
many as those before them."""

HURRIED = 3_000_000
"""The steps to plan it in a hurry; and to write it."""

PASS = 150_000
"""The steps after which a pass that could still improve something gives up."""

CUT = "cut it into several functions, or ask for fewer of its derivatives"

_WATCHED = 5_000
"""How many steps go by without a word to who watches."""


class Exhausted(Exception):
    """The steps are spent; whoever limited them goes on without the result."""


class Effort:
    """The steps taken so far, and where they end; how many attempts were `stopped`."""

    def __init__(self, watch: Callable[[str], None] | None = None) -> None:
        """Start to count; `watch` hears now and then what is being done."""
        self.spent = 0
        self.stopped = 0
        self.end = inf
        self.hurried = False
        """Whether only one way is taken where several could be compared."""
        self.late: list[tuple[Text, str]] = []
        """What was planned in a hurry: of which name, and what."""
        self._watch = watch
        self._doing = ""
        self._next = 0

    @property
    def is_ample(self) -> bool:
        """Whether most steps of a plan are left, for several ways to be compared."""
        return not self.hurried and self.end - self.spent >= MOST_OF_PLANNING

    def spend(self, steps: int = 1) -> None:
        """Count steps; raises `Exhausted` beyond the last."""
        self.spent += steps
        if self.spent > self.end:
            raise Exhausted
        if self.spent >= self._next:
            self._next = self.spent + _WATCHED
            self.tell(self._doing)

    def tell(self, doing: str) -> None:
        """Say what is done now to who watches."""
        if self._watch is not None:
            self._watch(doing)

    @contextmanager
    def on(
        self, name: Text, doing: str, steps: int, hint: Hint = CUT
    ) -> Iterator[None]:
        """Count what is done for a function: a `SpecError` where it takes too long.

        A hint that takes work itself is given as what makes it.
        """
        before, self._doing = self.end, f"{name}: {doing}"
        self.end = self.spent + steps
        self.tell(self._doing)
        try:
            yield
        except Exhausted:
            message = f"'{name}' is too large: {doing} takes more than {steps:,} steps"
            fail(message, name.span(), hint=hint if isinstance(hint, str) else hint())
        except NoDerivative as missing:
            fail(f"'{name}': {missing}", name.span())
        finally:
            self.end = before

    def planned(
        self, name: Text, doing: str, run: Callable[[], T], hint: Hint = CUT
    ) -> T:
        """Return what `run` gives, in a hurry where it would take too many steps."""
        with self.on(name, doing, PLANNING + HURRIED, hint):
            found = self.attempt(lambda: (run(),), None, PLANNING)
            if found is not None:
                return found[0]
            self.late.append((name, doing))
            self.hurried = True
            try:
                return run()
            finally:
                self.hurried = False

    def attempt(self, run: Callable[[], T], instead: T, steps: int = PASS) -> T:
        """Return what `run` gives, or `instead` where it takes too many steps.

        It never takes more than half of what is left: what only improves a function
        must not be the reason why the function is refused.
        """
        before = self.end
        self.end = self.spent + min(steps, (before - self.spent) / 2)
        try:
            return run()
        except Exhausted:
            # The step that went too far is not done, and does not count.
            self.spent = int(min(self.spent, self.end))
            self.stopped += 1
            return instead
        finally:
            self.end = before
