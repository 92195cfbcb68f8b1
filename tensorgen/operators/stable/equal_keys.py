"""Equality of entries of index arrays: a delta of labels, which no pattern can make."""

from __future__ import annotations

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Ref, constant_value, delta
from tensorgen.operators.scalar import holds, times
from tensorgen.operators.scans.keys import compared
from tensorgen.operators.stable.match import Args, elementwise_factors


def of_one_key(graph: Graph, args: Args) -> Ref | None:
    """Where entries of index arrays are equal: a delta, by which sums are gathered."""
    bounds = {index_bound(arg.node) for arg in args}
    if len(bounds) > 1 or None in bounds:
        return None
    sizes = {
        x: dim for arg in args for x, dim in zip(arg.labels, arg.node.dims, strict=True)
    }
    first, second = (Lookup(arg.node, arg.labels) for arg in args)
    return holds(graph, delta({first: 1, second: -1}), sizes)


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
