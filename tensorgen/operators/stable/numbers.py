"""Rules of single points and of conditions, and `x * log(x)`."""

from __future__ import annotations

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Ref, Sum, constant_value, delta
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import apply, power, times, total
from tensorgen.operators.scans.keys import compared
from tensorgen.operators.stable.match import (
    Args,
    arguments,
    elementwise_factors,
    is_map,
    terms,
)
from tensorgen.operators.stable.rules import rewritten


def of_one_key(graph: Graph, args: Args) -> Ref | None:
    """Where entries of index arrays are equal: a delta, by which sums are gathered."""
    bounds = {index_bound(arg.node) for arg in args}
    if len(bounds) > 1 or None in bounds:
        return None
    labels = sorted({x for arg in args for x in arg.labels})
    sizes = {
        x: dim for arg in args for x, dim in zip(arg.labels, arg.node.dims, strict=True)
    }
    first, second = (Lookup(arg.node, arg.labels) for arg in args)
    same = [delta({first: 1, second: -1})]
    node = graph.product(labels, [], constraints=same, sizes=sizes)
    return Ref(node, tuple(labels))


def at_one_key(graph: Graph, args: Args) -> Ref | None:
    """What is selected where two keys are equal, if no factor tells pairs apart."""
    mask, x, rest = args
    keys = compared(mask)
    if constant_value(rest.node) != 0 or keys is None:
        return None
    _, factors = elementwise_factors(x)
    for factor in factors:
        if all({*entry.labels} & {*factor.labels} for entry in keys):
            return None
    return times(graph, mask, x)


def xlogx(graph: Graph, pair: Args) -> list[Ref] | None:
    """x * log(x), x * log(x / y) and x * log(y / x), 0 where x may be; in sums also."""
    x, log = pair
    for function, base in _LOGARITHMS:
        if is_map(log, function) and sign(x.node) is not Sign.POSITIVE:
            (y,) = arguments(log)
            if constant_value(y.node) is not None:
                return None
            found = rewritten(graph, "values", "xlogy", (x, y))
            return None if found is None else [found, *_unit(graph, base)]
    if not isinstance(log.node, Sum):
        return None
    if not any(is_map(ref, "log") for _, ref in terms(log)):
        return None
    parts = [(c, ref, xlogx(graph, (x, ref))) for c, ref in terms(log)]
    if not any(is_map(ref, "log") and found for _, ref, found in parts):
        return None
    return [
        total(
            graph, [(c, times(graph, *(found or (x, ref)))) for c, ref, found in parts]
        )
    ]


_LOGARITHMS = (("log", None), ("log2", 2), ("log10", 10))
"""Logarithms, each with its base."""


def _unit(graph: Graph, base: int | None) -> list[Ref]:
    """What a natural logarithm is multiplied with to be one to a base."""
    if base is None:
        return []
    return [power(graph, apply(graph, "log", Ref(graph.constant(base), ())), -1)]
