"""Axes whose lengths nobody stated: which are as long as others, and their names."""

from __future__ import annotations

from collections.abc import Iterable


class Axes:
    """Axes by number, and classes of those that have one length (union-find)."""

    def __init__(self) -> None:
        self._above: list[int] = []
        self._named: dict[str, int] = {}

    def fresh(self) -> int:
        """Return an axis of its own."""
        self._above.append(len(self._above))
        return self._above[-1]

    def named(self, size: str) -> int:
        """Return an axis of a size that has a name."""
        if size not in self._named:
            self._named[size] = self.fresh()
        return self._named[size]

    def find(self, axis: int) -> int:
        """Return the axis that stands for all of this length."""
        while self._above[axis] != axis:
            axis = self._above[axis]
        return axis

    def join(self, one: int, other: int) -> None:
        """Take down that two axes have one length."""
        low, high = sorted((self.find(one), self.find(other)))
        self._above[high] = low

    def sizes(self, axis: int) -> list[str]:
        """Return the sizes with a name that an axis has; two disagree."""
        found = self.find(axis)
        return [size for size, own in self._named.items() if self.find(own) == found]

    def names(self, axes: Iterable[int], taken: Iterable[str]) -> dict[int, str]:
        """Return a name for each of these axes, none of those that are taken."""
        found = {self.find(axis): size for size, axis in self._named.items()}
        own = dict.fromkeys(map(self.find, axes))
        unnamed = [axis for axis in own if axis not in found]
        used = {*taken, *found.values()}
        # As papers have it: m by n matrices, but n where there is one size.
        letters = "nmkpqrsl" if len(own) == 1 else "mnkpqrsl"
        every = [*letters, *(f"n{k}" for k in range(1, 1 + len(used) + len(own)))]
        free = [name for name in every if name not in used]
        return found | dict(zip(unnamed, free, strict=False))
