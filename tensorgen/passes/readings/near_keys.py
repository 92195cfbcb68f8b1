"""Keys of keys: an entry at an entry is that of one index array.

Where `delta(i, con[l])` stands beside `delta(l, row[k])`, the row i is `con[row[k]]`:
what is added up over l, and by l over k, is added up over k alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tensorgen.ir.constraints import index_bound, solvable, solved
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Lookup, affine

Axes = Collection[Any]
Sizes = Mapping[Any, Dim]


def nearer(
    graph: Graph, constraints: Sequence[Constraint], axes: Axes, sizes: Sizes
) -> list[Constraint]:
    """Constraints in which an axis that `con[l]` gives is `con[row[k]]`.

    So it is if k is an axis, or gives another one: there are fewer labels that do.
    Ends: each step is one towards such labels.
    """
    found = list(constraints)
    for place, constraint in enumerate(constraints):
        entries = [a for a, _ in constraint.form.terms if isinstance(a, Lookup)]
        if not _giving(constraint, axes) or len(entries) != 1:
            continue
        steps = _steps([c for k, c in enumerate(found) if k != place], axes)
        (entry,) = entries
        while len(entry.labels) == 1 and (given := steps.get(entry.labels[0])):
            if not any(isinstance(a, Lookup) for a, _ in given.form.terms):
                break  # places by a rule, outside of which there is no entry
            (label,) = entry.labels
            own = tuple(dict.fromkeys(solved(given.form, label).labels))
            known = {x: sizes[x] for x in (*own, label)}
            node = graph.product(own, [entry], constraints=[given], sizes=known)
            if index_bound(node) is None:
                break
            composed = Lookup(node, own)
            form = found[place].form.substituted(entry, affine([(composed, 1)]))
            found[place], entry = Constraint(constraint.kind, form), composed
    return found


def _steps(constraints: Sequence[Constraint], axes: Axes) -> dict[Any, Constraint]:
    """What gives labels by those that are axes, or give them, in steps."""
    near = {*axes, *(x for c in constraints for x in _giving(c, axes))}
    steps: dict[Any, Constraint] = {}
    for _ in constraints:
        for c in constraints:
            for x in solvable(c):
                if x not in near and near.issuperset(solved(c.form, x).labels):
                    steps[x] = c
                    near.add(x)
    return steps


def _giving(constraint: Constraint, axes: Axes) -> tuple[Any, ...]:
    """The labels of the entry that a delta says an axis is; none if it does not."""
    kind, (terms, _) = constraint
    if kind != "eq" or len(terms) != 2 or not any(x in axes for x, _ in terms):
        return ()
    return tuple(x for a, _ in terms if isinstance(a, Lookup) for x in a.labels)
