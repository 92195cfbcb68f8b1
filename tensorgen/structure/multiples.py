"""What a multiple of a derivative is: its class, with some arrays multiplied.

A sum of products of arrays is multiplied by a number if one array of each product is.
`d[i] * delta[i, j] - u[i] * d[j]` is, by d; `d[i] * delta[i, j] - d[i] * d[j]` by no
choice of arrays, and its methods read a number that they multiply by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tensorgen.ir.nodes import Node
from tensorgen.structure.stored import LaidOut, StoredTerm

SCALE = "_scale"
"""What objects call the number that their methods multiply by."""


def linear_arrays(terms: Sequence[StoredTerm]) -> tuple[Node, ...] | None:
    """Arrays of which each term has one, once: of few axes, where there is a choice.

    None where there are no such arrays.
    """
    counts = [_uses(term) for term in terms if term.coefficient]
    return _covering(counts, ())


def _uses(term: StoredTerm) -> Counter[Node]:
    """How often a term has each array: twice, where its label is laid out by it."""
    found = Counter(node for node, _ in term.factors)
    for label in (x for _, labels in term.factors for x in labels):
        if isinstance(label, LaidOut):
            found.update([*label.by, *label.by])
    return found


def _covering(
    left: Sequence[Counter[Node]], chosen: tuple[Node, ...]
) -> tuple[Node, ...] | None:
    """The arrays `chosen`, and others that terms have which have none of these."""
    if not left:
        return chosen
    for node in sorted(left[0], key=lambda node: node.order):
        if all(counts[node] < 2 for counts in left):
            without = [counts for counts in left if not counts[node]]
            # The others have theirs: another one of them would be too many.
            covered = [counts for counts in left if counts[node]]
            taken = {x for counts in covered for x in counts}
            open_to = [_without(counts, taken) for counts in without]
            found = _covering(open_to, (*chosen, node))
            if found is not None:
                return found
    return None


def _without(counts: Counter[Node], taken: set[Node]) -> Counter[Node]:
    """What a term has that no other term has that is settled."""
    return Counter({node: k for node, k in counts.items() if node not in taken})
