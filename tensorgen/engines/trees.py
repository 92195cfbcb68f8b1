"""How totals of blocks are joined: by the places of blocks, whoever has computed them.

Neighbours are joined first, then what they have become, as in emitted code. So sums are
the same bits however blocks were shared out: a subtree that one task has in full is
joined there, and what is left, two subtrees a level at most, is joined by who asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Subtree(NamedTuple):
    """What 2**level blocks from number `start` on have given, joined."""

    start: int
    level: int
    result: Any


def grown(trees: Iterable[Subtree]) -> list[Subtree]:
    """Join subtrees, in order and without gaps, as far as these are whole themselves.

    What has no `joined`, such as the results of rows, stays as it is.
    """
    waiting: list[Subtree] = []
    for tree in trees:
        while waiting and _are_halves(waiting[-1], tree):
            left = waiting.pop()
            result = left.result.joined(tree.result)
            tree = Subtree(left.start, left.level + 1, result)
        waiting.append(tree)
    return waiting


def whole(trees: Iterable[Subtree]) -> list[Any]:
    """Return the one total of all blocks, or their results if these are no totals."""
    waiting = grown(trees)
    if not waiting or not hasattr(waiting[-1].result, "joined"):
        return [tree.result for tree in waiting]
    *first, (_, _, total) = waiting
    for tree in reversed(first):
        total = tree.result.joined(total)
    return [total]


def joined(totals: Iterable[Any]) -> Any:
    """Return totals of blocks, given in order, as those of all their rows.

    Bits are those of the functions over the same blocks. ValueError for none.
    """
    found = whole(Subtree(k, 0, total) for k, total in enumerate(totals))
    if not found:
        raise ValueError("totals: expected one at least, got none")
    return found[0]


def _are_halves(left: Subtree, right: Subtree) -> bool:
    """Whether two neighbours are what a subtree of the next level consists of."""
    return (
        left.level == right.level
        and left.start % 2 ** (left.level + 1) == 0
        and hasattr(left.result, "joined")
    )
