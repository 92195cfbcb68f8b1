"""Launches and waits as polynomials of sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from tensorgen.ir.dims import ONE, Dim

_T = TypeVar("_T")
NONE = Dim()


class Uncountable(Exception):
    """What a function launches depends on more than its sizes."""


@dataclass(frozen=True)
class Count:
    """What a call launches, and how often the host waits in it, by its sizes.

    It may be the `most`, where it takes one of several ways.
    """

    launches: Dim = NONE
    waits: Dim = NONE
    most: bool = False

    def greater(self, other: Count) -> Count:
        """The greater one of two; Uncountable where neither is for all sizes."""
        if (self.launches, self.waits) == (other.launches, other.waits):
            return replace(self, most=self.most or other.most)
        pairs = (self.launches, other.launches), (self.waits, other.waits)
        if all(_is_greater(a, b) for a, b in pairs):
            return replace(self, most=True)
        if all(_is_greater(b, a) for a, b in pairs):
            return replace(other, most=True)
        raise Uncountable("neither way launches more than the other for all sizes")


def _is_greater(one: Dim, other: Dim) -> bool:
    return all(sign > 0 for sign, _ in (one - other).parts)


class Counter:
    """Adds up what is launched, as often as it is repeated."""

    def __init__(self) -> None:
        self.found = Count()
        self.times = ONE

    def launch(self) -> None:
        """Count a launch."""
        found = self.found
        self.found = replace(found, launches=found.launches + self.times)

    def wait(self) -> None:
        """Count that the host waits."""
        found = self.found
        self.found = replace(found, waits=found.waits + self.times)

    def repeated(self, times: Dim, run: Callable[[], _T]) -> _T:
        """What is run so many times."""
        before = self.times
        self.times = before * times
        try:
            return run()
        finally:
            self.times = before

    def either(
        self, first: Callable[[], _T], second: Callable[[], _T]
    ) -> tuple[_T, _T]:
        """What one of two does, of which the greater one counts."""
        before = self.found
        one = first()
        after, self.found = self.found, before
        other = second()
        self.found = after.greater(self.found)
        return one, other
