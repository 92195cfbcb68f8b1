"""The rows of reductions by key, and their derivatives.

`max_by_key(x, key)[q]` is the largest `x[i]` with `key[i] == q`: the key's axes, which
are the first of x, become one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Label, Lookup, Node, Product, Ref, delta
from tensorgen.operators.scalar import apply, power
from tensorgen.operators.scans.monoids import all_but_two, ties
from tensorgen.operators.table import (
    Operator,
    Partial,
    given_shape,
    no_partials,
    same_dims,
)

Params = Mapping[str, object]


def _read_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    x, _, read = args
    return (*read.dims, *x.dims[1:])


def _entry(own: Node, labels: Sequence[Label | tuple[str, int]]) -> Lookup:
    """An entry of the keys, by the axes alone along which it changes."""
    if isinstance(own, Product) and not own.constraints and len(own.factors) == 1:
        (factor,) = own.factors
        return Lookup(factor.node, tuple(labels[axis] for axis in factor.labels))
    return Lookup(own, tuple(labels))


def _weighted(node: Call, weights: Node, *by_key: Node) -> list[Partial]:
    """The derivative of a reduction by key: weights of its entries, and of keys."""
    x, own = node.args[:2]
    entries = tuple(("own", axis) for axis in range(own.order))
    labels = (*entries, *range(1, node.order))
    tie = delta({0: 1, _entry(own, entries): -1})
    factors = ((weights, labels), *((of, range(node.order)) for of in by_key))
    return [Partial(x, labels, factors=factors, constraints=(tie,))]


def _extremum_partials(graph: Graph, node: Call) -> list[Partial]:
    # Ties share equally. No entry has a key that none has.
    x, own = node.args
    axes = tuple(range(x.order))
    tie = delta({"key": 1, _entry(own, axes[: own.order]): -1})
    by_key = ("key", *axes[own.order :])
    sizes = dict(enumerate(x.dims))
    read = graph.product(axes, [(node, by_key)], constraints=[tie], sizes=sizes)
    size: dict[Hashable, Dim] = {"key": node.dims[0]}
    hit, count = ties(graph, Ref(x, axes), Ref(read, axes), by_key, [tie], size)
    one = Ref(graph.constant(1), ())
    least = apply(graph, "maximum", Ref(count, tuple(range(count.order))), one)
    return _weighted(node, hit.node, power(graph, least, -1).node)


def _prod_partials(graph: Graph, node: Call) -> list[Partial]:
    x, own = node.args
    return _weighted(node, graph.call("prod_others_by_key", [x, own, node], x.dims))


def _prod_others_partials(graph: Graph, node: Call) -> list[Partial]:
    x, own, whole = node.args
    first = tuple(range(own.order))
    shape = (whole.dims[0], *x.dims)

    def others(without: Node) -> Node:
        whole = graph.call("prod_by_key", [without, own], shape, shape=shape)
        return graph.call("prod_others_by_key", [without, own, whole], without.dims)

    other = tuple(x.order + axis for axis in first)
    tie = delta({Lookup(own, first): 1, Lookup(own, other): -1})
    return all_but_two(graph, x, first, others, True, (tie,))


_ByKey = partial(Operator, keyed=True)

ROWS = (
    *(
        _ByKey(
            f"{name}_by_key",
            given_shape,
            rule,
            f"_{name}_by_key({{0}}, {{1}}, {{shape}})",
            params=("shape",),
        )
        for name, rule in (
            ("max", _extremum_partials),
            ("min", _extremum_partials),
            ("prod", _prod_partials),
        )
    ),
    _ByKey(
        "prod_others_by_key",
        same_dims,
        _prod_others_partials,
        "_prod_others_by_key({0}, {1}, {2})",
    ),
    # It is the level of a sum, which does not depend on it.
    _ByKey("max_of_alike", _read_dims, no_partials, "_max_of_alike({0}, {1}, {2})"),
)
