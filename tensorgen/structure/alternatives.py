"""A second form of a derivative, where hints do not say which holds less.

Without a hint a size is taken for `UNHINTED`. Whether `diag(d) + V V'` is held as d and
V or as one matrix, whether blocks or the factors that they are made of, may then be
wrong by any factor. So it is looked at what would be held if one of these sizes were
small, or alone large. Where a form holds much less then, both are emitted, and the
function takes the one that holds less when the sizes are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import gcd
from operator import and_

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node, entries, topological
from tensorgen.passes.context import Compress, Context, Plan
from tensorgen.passes.cost import CostModel
from tensorgen.passes.limits import GAIN_OF_A_FORM, LARGE, SMALL, UNKNOWN_SIZES
from tensorgen.passes.stored import Compressed
from tensorgen.structure.groupings import held

Tensors = tuple[Compressed | None, ...]


@dataclass(frozen=True)
class Alternative:
    """Forms of the tensors of a plan, to be taken where `saved` is positive.

    `hints` are sizes at which they hold less.
    """

    tensors: Tensors
    saved: Dim
    hints: dict[str, int]


def alternative(
    context: Context, flat: Plan, chosen: Tensors, given: dict[str, int]
) -> Alternative | None:
    """Return what would hold much less than the `chosen` forms at other sizes, if any.

    `flat` is the plan with its tensors flattened, `given` the hints.
    """
    graph, found = context.graph, list[tuple[float, Alternative]]()
    for hints in _assumptions(_symbols(flat, context.compressed), given):
        cost = CostModel(hints)
        tensors = list(chosen)
        for k, compress in context.compressed.items():
            run = partial(compress, graph, flat.formulas[k], cost, flat.derived[k])
            tensors[k] = graph.effort.attempt(run, chosen[k])
        before, after = _arrays(flat, chosen), _arrays(flat, tensors)
        gain = held(before, cost) / held(after, cost)
        saved = _reduced(entries(before) - entries(after))
        if gain >= GAIN_OF_A_FORM and _depends(saved.at(given)):
            found.append((gain, Alternative(tuple(tensors), saved, hints)))
    # The first of equals, so that ties depend on nothing.
    return max(found, key=lambda pair: pair[0])[1] if found else None


def _assumptions(symbols: set[str], given: dict[str, int]) -> Iterator[dict[str, int]]:
    """Sizes beside the hints at which another form may hold less."""
    unknown = sorted(symbols - given.keys())
    if len(symbols) > 1 and len(unknown) <= UNKNOWN_SIZES:
        few = dict.fromkeys(unknown, SMALL)
        for symbol in unknown:
            yield {**given, symbol: SMALL}
            yield {**given, **few, symbol: LARGE}


def _symbols(plan: Plan, tensors: Mapping[int, Compress]) -> set[str]:
    """The sizes that what tensors are made of depends on."""
    nodes = topological([plan.formulas[k] for k in tensors])
    return {s for node in nodes for dim in node.dims for s in dim.symbols}


def _arrays(plan: Plan, tensors: Sequence[Compressed | None]) -> list[Node]:
    """The arrays of all tensors of a plan, each once."""
    arrays = (
        (node,) if tensor is None else tensor.arrays
        for node, tensor in zip(plan.formulas, tensors, strict=True)
    )
    return [*dict.fromkeys(node for part in arrays for node in part)]


def _depends(size: Dim) -> bool:
    """Whether the sign of a size is not known."""
    return not (size.is_nonnegative() or (-size).is_nonnegative())


def _reduced(size: Dim) -> Dim:
    """A polynomial of the same sign, without factors that all of its terms share."""
    if not size.terms:
        return size
    common = reduce(and_, (Counter(monomial) for monomial, _ in size.terms))
    number = reduce(gcd, (c for _, c in size.terms))
    divided = size.divided(Dim([(tuple(common.elements()), number)]))
    assert divided is not None
    return divided
