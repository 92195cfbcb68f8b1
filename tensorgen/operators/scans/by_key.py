"""The rows of reductions by key, and their derivatives.

`max_by_key(x, key)[q]` is the largest `x[i]` with `key[i] == q`: the key's axes, which
are the first of x, become one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Label, Lookup, Node, Product, Ref, delta
from tensorgen.operators.scalar import apply, power, times
from tensorgen.operators.table import Operator, Partial

Params = Mapping[str, object]


def _shape(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return cast(tuple[Dim, ...], params["shape"])


def _read_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    x, _, read = args
    return (*read.dims, *x.dims[1:])


def _own_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return args[0].dims


def _no_partials(graph: Graph, node: Call) -> list[Partial]:
    # It is the level of a sum, which does not depend on it.
    return []


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
    hit = apply(graph, "equal", Ref(x, axes), Ref(read, axes))
    size = {"key": node.dims[0]}
    count = graph.product(by_key, [hit], constraints=[tie], sizes=size)
    one = Ref(graph.constant(1), ())
    least = apply(graph, "maximum", Ref(count, tuple(range(count.order))), one)
    return _weighted(node, hit.node, power(graph, least, -1).node)


def _prod_partials(graph: Graph, node: Call) -> list[Partial]:
    x, own = node.args
    return _weighted(node, graph.call("prod_others_by_key", [x, own, node], x.dims))


def _prod_others_partials(graph: Graph, node: Call) -> list[Partial]:
    # By x[j] with j != i of the same key, the product of all but i and j: that of the
    # others among x with a one in place of x[i].
    x, own, _ = node.args
    first, rest = range(own.order), tuple(range(own.order, x.order))
    other = tuple(x.order + axis for axis in first)
    equal = [
        apply(
            graph,
            "equal",
            Ref(graph.iota(x.dims[axis]), (axis,)),
            Ref(graph.iota(x.dims[axis]), (twin,)),
        )
        for axis, twin in zip(first, other, strict=True)
    ]
    same = times(graph, *equal)
    one = Ref(graph.constant(1), ())
    chosen = apply(graph, "where", same, one, Ref(x, (*other, *rest)))
    every = (*other, *first, *rest)
    dims = (*(x.dims[axis] for axis in first), *x.dims)
    turned = graph.product(every, [chosen], sizes=dict(zip(every, dims, strict=True)))
    size = node.args[2].dims[0]
    shape = (size, *x.dims)
    whole = graph.call("prod_by_key", [turned, own], shape, shape=shape)
    others = graph.call("prod_others_by_key", [turned, own, whole], dims)
    tie = delta({Lookup(own, tuple(first)): 1, Lookup(own, other): -1})
    different = apply(graph, "logical_not", same)
    factors = ((others, every), different)
    return [Partial(x, (*other, *rest), factors=factors, constraints=(tie,))]


_ByKey = partial(Operator, keyed=True)

ROWS = (
    *(
        _ByKey(
            f"{name}_by_key",
            _shape,
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
        _own_dims,
        _prod_others_partials,
        "_prod_others_by_key({0}, {1}, {2})",
    ),
    _ByKey("max_of_alike", _read_dims, _no_partials, "_max_of_alike({0}, {1}, {2})"),
)
