"""Take entries first: of what a sum, a product or a map is made of.

The diagonal of `A @ B` is `sum_k A[i, k] B[k, i]`, that of `f(A)` is f of the
diagonal: nothing off the diagonal is computed. So it is with few entries elsewhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TypeGuard

from tensorgen.ir.constraints import is_light
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    children,
    topological,
)
from tensorgen.ir.rebuild import of_others, rebuild, refs_of
from tensorgen.ir.views import View
from tensorgen.passes.context import Context
from tensorgen.passes.readings.readings import Reading, reading
from tensorgen.prices.limits import ENTRIES_ROUNDS
from tensorgen.prices.thresholds import GAIN_OF_A_RULE


def take_entries(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with what reads few entries moved towards the inputs.

    Of what is made of parts at their places all may be read: no more is computed then.
    Fires on nodes of which nobody reads more, named or not: an array that is needed as
    a whole holds its entries. Ends: each round moves what is read to operands.
    """
    current = list(roots)
    readings = cache(partial(_readings, context))
    for _ in range(ENTRIES_ROUNDS):
        before, current = current, _round(context, current, readings)
        if before == current:
            break
    return current


def _round(
    context: Context, roots: Sequence[Node], readings: Callable[[Node], list[Reading]]
) -> list[Node]:
    order = topological(roots)
    uses = Counter([*roots, *(child for node in order for child in children(node))])
    read: defaultdict[Node, list[float]] = defaultdict(list)
    for node in order:
        for found in readings(node):
            uses[found.factor.node] -= 1
            if found.ties:
                read[found.factor.node].append(found.entries(context.cost))

    # All together may read it whole: the parts of a concatenation, one by one. Each of
    # many would be looked for in all parts.
    def is_little(node: Node) -> bool:
        size, entries = context.cost.size(node.dims), sum(read[node])
        if GAIN_OF_A_RULE * entries <= size or not _is_placed(node):
            return GAIN_OF_A_RULE * entries <= size
        apart = len(read[node]) == 2 and max(read[node]) < size
        return entries < size or (entries == size and apart)

    def visit(node: Node) -> Node:
        for found in readings(node):
            if not uses.get(found.factor.node, 1) and is_little(found.factor.node):
                entries = _entries(context.graph, found)
                if entries is not None:
                    after = found.replaced(context.graph, entries)
                    # A flat product that is read whole may be read so again for ever.
                    is_flat = isinstance(found.factor.node, Product)
                    return after if is_flat else visit(after)
        return node

    return rebuild(context.graph, roots, visit)


def _readings(context: Context, node: Node) -> list[Reading]:
    """What a product reads of its factors, where it is a diagonal or little."""
    if not isinstance(node, Product):
        return []
    found = []
    for place in range(len(node.factors)):
        one = reading(node, place)
        if one is not None and not (
            _is_placed(one.factor.node) or one.is_few(context.cost)
        ):
            one = reading(node, place, by_deltas=False)
        if one is not None:
            found.append(one)
    return found


def _is_placed(node: Node) -> bool:
    """Whether an array is made of parts at their places.

    Its entries are entries of the parts, and what lies beside them is not made at all:
    slopes of what `concatenate` sets beside an array, or of `x[:-1]`.
    """
    if isinstance(node, Sum):
        return all(is_light(t.node) and _has_place(t.node) for t in node.terms)
    return _has_place(node) and all(map(_is_shift, node.constraints))


def _has_place(node: Node) -> TypeGuard[Product]:
    """Whether a product sets entries at places, each of which it computes by itself."""
    if not isinstance(node, Product) or not node.constraints:
        return False
    return len(node.inner) <= sum(tie.kind == "eq" for tie in node.constraints)


def _is_shift(tie: Constraint) -> bool:
    """Whether a delta says where one axis begins within another."""
    plain = not any(isinstance(atom, Lookup) for atom, _ in tie.form.terms)
    return plain and tie.kind == "eq" and {c for _, c in tie.form.terms} == {1, -1}


def _entries(graph: Graph, found: Reading) -> Ref | None:
    """The entries by those of what an array is made of; None where it is made whole.

    By ties rather than at places: these say too that beyond the array there is nothing.
    """
    (whole, labels), kept = found.factor, tuple(found.sizes)
    dims = {**dict(zip(labels, whole.dims, strict=True)), **found.sizes}

    def part(inner: Node, axes: Sequence[Label]) -> tuple[Node, tuple[Label, ...]]:
        at = [labels[a] for a in axes]
        own = kept if found.ties else tuple(dict.fromkeys(at))
        # Of no other label: it would be summed, and nothing depends on it.
        used = {*own, *at}.union(*(tie.form.labels for tie in found.ties))
        sizes = {x: dim for x, dim in dims.items() if x in used}
        node = graph.product(own, [(inner, at)], constraints=found.ties, sizes=sizes)
        return node, own

    match whole:
        case Sum() | Map():
            parts = [part(*ref) for ref in refs_of(whole)]
            made = Ref(of_others(graph, whole, kept, parts, found.sizes), kept)
            if isinstance(whole, Sum) or not found.ties:
                return made
            # Beyond the array there is nothing, whatever the function is at 0.
            ties = found.ties
            node = graph.product(kept, [made], constraints=ties, sizes=dims)
            return Ref(node, kept)
        case Product() if whole.factors:
            view = View(constraints=list(found.ties))
            view.sizes.update(dims.items())
            view.add(whole, labels, "inner")
            return Ref(view.product(graph, kept), kept)
    return None
