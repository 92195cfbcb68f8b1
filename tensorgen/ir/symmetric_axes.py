"""Groups of axes that a promise says may be exchanged, as words among properties.

`symmetric` and `spd` are of the last two axes, as of matrices and stacks of these; any
other group has a word that names its axes, such as `symmetric 0 1 2`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_OF_MATRICES = ("symmetric", "spd")


def promised(axes: Sequence[int], order: int) -> str:
    """Return the word that says that axes of an array of an order may be exchanged."""
    if sorted(axes) == [order - 2, order - 1]:
        return "symmetric"
    return " ".join(["symmetric", *map(str, sorted(axes))])


def groups(properties: Iterable[str], order: int) -> list[tuple[int, ...]]:
    """Return the groups of axes that may be exchanged, by what is promised."""
    found: dict[tuple[int, ...], None] = {}
    for word in sorted(properties):
        name, *axes = word.split()
        if name in _OF_MATRICES:
            own = tuple(map(int, axes)) or (order - 2, order - 1)
            found[own] = None
    return [*found]
