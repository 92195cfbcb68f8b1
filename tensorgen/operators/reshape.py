"""Reshaping: a linear call, since merged axes have a symbolic stride.

Its transpose is the reshape back. In C order, axes behind all others and before all
others stay aside, so tangents and cotangents are reshaped along with their extra axes.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constraint,
    Label,
    Node,
    Product,
    Ref,
    Term,
    constant_value,
    delta,
)
from tensorgen.operators.table import Operator, Transfer, given_shape

Shape = tuple[Dim, ...]


def reshape(graph: Graph, x: Node, dims: Sequence[Dim]) -> Node:
    """Return the entries of `x`, in C order, with axes `dims`.

    Numbers come out of it, reshapes of reshapes are one, and axes of length 1 come
    and go as products, which structure passes through.
    """
    wanted = tuple(dims)
    value = constant_value(x)
    if value is not None:
        return graph.constant(value, wanted)
    if isinstance(x, Call) and x.operator == "reshape":
        return reshape(graph, x.args[0], wanted)
    if isinstance(x, Product) and x.coefficient != 1:
        scaled = reshape(graph, graph.scale(x, 1 / x.coefficient), wanted)
        return graph.scale(scaled, x.coefficient)
    source = [axis for axis, dim in enumerate(x.dims) if dim != 1]
    target = [axis for axis, dim in enumerate(wanted) if dim != 1]
    if [x.dims[a] for a in source] != [wanted[a] for a in target]:
        whole = graph.call("reshape", [x], wanted, shape=wanted)
        return _split(graph, x, wanted) or whole
    names: dict[int, object] = dict(zip(source, target, strict=True))
    return graph.product(
        range(len(wanted)),
        [(x, [names.get(axis, ("thin", axis)) for axis in range(x.order)])],
        constraints=[
            delta({("thin", axis): 1}) for axis in range(x.order) if axis not in names
        ],
        sizes=dict(enumerate(wanted)),
    )


# Reshapes move outwards: structure is found in what they reshape.


class Segment(NamedTuple):
    """Axes of an array that become axes of its reshape, apart from all others."""

    source: range
    target: range


def segments(source: Sequence[Dim], target: Sequence[Dim]) -> list[Segment]:
    """Part the axes wherever equally many entries lie before a cut on both sides."""
    sides = [list(accumulate(dims, operator.mul)) for dims in (source, target)]
    found: list[Segment] = []
    start = (0, 0)
    for k, before in enumerate(sides[0], 1):
        ends = [m for m, size in enumerate(sides[1], 1) if size == before]
        ends = [m for m in ends if m > start[1]]
        if ends:
            found.append(Segment(range(start[0], k), range(start[1], ends[0])))
            start = (k, ends[0])
    if start == (len(source), len(target)):
        return found
    # What is left goes with the last run: axes of length 1, or sizes not compared.
    first = found.pop() if found else Segment(range(0), range(0))
    return [
        *found,
        Segment(
            range(first.source.start, len(source)),
            range(first.target.start, len(target)),
        ),
    ]


def _split(graph: Graph, x: Node, wanted: Shape) -> Node | None:
    """Split the deltas of a product along with its axes: a unit matrix becomes two."""
    parts = segments(x.dims, wanted)
    if not isinstance(x, Product) or x.inner or any(len(p.source) != 1 for p in parts):
        return None
    groups = {part.source[0]: tuple(part.target) for part in parts}
    deltas: list[Constraint] = []
    for kind, form in x.constraints:
        terms = {atom: c for atom, c in form.terms if isinstance(atom, int)}
        if kind != "eq" or form.const != 0 or list(terms.values()) != [1, -1]:
            return None
        one, two = (groups[axis] for axis in terms)
        if [wanted[a] for a in one] != [wanted[b] for b in two]:
            return None
        deltas += [delta({a: 1, b: -1}) for a, b in zip(one, two, strict=True)]
    if len(deltas) == len(x.constraints):
        return None
    factors = []
    for node, labels in x.factors:
        inner = [axis for label in labels for axis in groups[label]]
        factors.append((reshape(graph, node, [wanted[a] for a in inner]), inner))
    return graph.product(
        range(len(wanted)),
        factors,
        coefficient=x.coefficient,
        constraints=deltas,
        sizes=dict(enumerate(wanted)),
    )


def _reshaped(ref: Ref) -> Call | None:
    node = ref.node
    return node if isinstance(node, Call) and node.operator == "reshape" else None


def _runs(call: Call, labels: Sequence[Label]) -> dict[tuple[Label, ...], Shape]:
    """What stands under each run of labels before the reshape."""
    before = call.args[0].dims
    return {
        tuple(labels[a] for a in part.target): tuple(before[a] for a in part.source)
        for part in segments(before, call.dims)
    }


def merged(graph: Graph, pair: Sequence[Ref]) -> list[Ref] | None:
    """Reshape a product instead of its factors, where one has all axes of both."""
    small, large = pair
    one, two = _reshaped(small), _reshaped(large)
    if one is None or two is None or len(set(large.labels)) < len(large.labels):
        return None
    runs, wider = _runs(one, small.labels), _runs(two, large.labels)
    if any(wider.get(run) != dims for run, dims in runs.items()):
        return None
    names = [(run, k) for run, dims in wider.items() for k in range(len(dims))]
    mine = [(run, k) for run, dims in runs.items() for k in range(len(dims))]
    whole = graph.product(names, [(one.args[0], mine), (two.args[0], names)])
    return [Ref(reshape(graph, whole, two.dims), large.labels)]


def contracted(
    graph: Graph, factors: Sequence[Ref], summed: Collection[int], fresh: int
) -> list[Ref] | None:
    """Sum before a reshape; over the axes that it merges instead of over their merger.

    `kron(A, B) @ ravel(X)` is `ravel(A @ X @ B.T)`.
    """
    calls = [*map(_reshaped, factors)]
    if not any(calls):  # most products
        return None
    counts = Counter(label for ref in factors for label in ref.labels)
    alone = {label for label in summed if counts[label] == 1}
    for k, (ref, call) in enumerate(zip(factors, calls, strict=True)):
        if call is None:
            continue
        if not alone.isdisjoint(ref.labels):
            inside = _summed_before(graph, call, ref.labels, alone)
            if inside is not None:
                return [*factors[:k], inside, *factors[k + 1 :]]
        runs = _runs(call, ref.labels)
        for (first, *more), dims in runs.items():
            if more or len(dims) < 2 or first not in summed:
                continue
            if all(_merges(other, first, dims) for other in factors):
                labels = range(fresh, fresh + len(dims))
                return [split_label(graph, x, first, labels, dims) for x in factors]
    return None


def _merges(ref: Ref, label: Label, dims: Shape) -> bool:
    """Whether a factor has a label for axes of these dims, or does not have it."""
    if label not in ref.labels:
        return True
    call = _reshaped(ref)
    if call is None or ref.labels.count(label) > 1:
        return False
    return _runs(call, ref.labels).get((label,)) == dims


def _summed_before(
    graph: Graph, call: Call, labels: Sequence[Label], summed: Collection[Label]
) -> Ref | None:
    """A reshape of a sum instead of the sum of a reshape over whole runs of axes."""
    (inner,) = call.args
    kept: list[int] = []
    target: list[int] = []
    for part in segments(inner.dims, call.dims):
        if not {labels[a] for a in part.target} <= {*summed}:
            kept += part.source
            target += part.target
    if len(target) == call.order:
        return None
    whole = graph.product(kept, [(inner, range(inner.order))])
    found = reshape(graph, whole, [call.dims[a] for a in target])
    return Ref(found, tuple(labels[a] for a in target))


def split_label(
    graph: Graph, ref: Ref, label: Label, labels: Sequence[Any], dims: Sequence[Dim]
) -> Ref:
    """A factor with several axes in place of one."""
    if label not in ref.labels:
        return ref
    at = ref.labels.index(label)
    shape = (*ref.node.dims[:at], *dims, *ref.node.dims[at + 1 :])
    return Ref(
        reshape(graph, ref.node, shape),
        (*ref.labels[:at], *labels, *ref.labels[at + 1 :]),
    )


def _alike(refs: Sequence[Ref]) -> Call | None:
    """One of the reshapes that all but scalars are, of equal shapes along all axes."""
    wide = [ref for ref in refs if ref.labels]
    calls = [call for call in map(_reshaped, wide) if call is not None]
    if not calls or len(calls) < len(wide):
        return None
    shapes = {
        (call.args[0].dims, ref.labels) for call, ref in zip(calls, wide, strict=True)
    }
    return calls[0] if len(shapes) == 1 else None


def mapped(function: str) -> Callable[[Graph, Sequence[Ref]], Ref | None]:
    """The rule that reshapes an elementwise value instead of its arguments."""

    def rule(graph: Graph, args: Sequence[Ref]) -> Ref | None:
        one = _alike(args)
        if one is None:
            return None
        axes = range(one.args[0].order)
        calls = [(arg, _reshaped(arg)) for arg in args]
        before = [
            (call.args[0], axes) if call else (arg.node, ()) for arg, call in calls
        ]
        inner = graph.map(function, axes, before)
        labels = next(arg.labels for arg in args if arg.labels)
        return Ref(reshape(graph, inner, one.dims), labels)

    return rule


def added(graph: Graph, terms: Sequence[Term]) -> list[Term] | None:
    """Reshape a sum instead of its terms."""
    groups: dict[object, list[tuple[Term, Node]]] = {}
    for term in terms:
        call = _reshaped(term.ref)
        if call is not None:
            key = (call.args[0].dims, term.labels)
            groups.setdefault(key, []).append((term, call.args[0]))
    for group in groups.values():
        if len(group) > 1:
            first = group[0][0]
            axes = range(group[0][1].order)
            total = graph.sum(axes, [(t.coefficient, node, axes) for t, node in group])
            node = reshape(graph, total, first.node.dims)
            mine = [term for term, _ in group]
            rest = [term for term in terms if term not in mine]
            return [*rest, Term(Fraction(1), node, first.labels)]
    return None


def _forward(graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]) -> Node:
    return reshape(graph, tangent, (*node.dims, *extra))


def _reverse(graph: Graph, node: Call, cotangent: Node, rows: Sequence[Dim]) -> Node:
    return reshape(graph, cotangent, (*rows, *node.args[0].dims))


ROW = Operator(
    "reshape",
    given_shape,
    (Transfer(_forward, _reverse),),
    "{0}.reshape({shape})",
    params=("shape",),
    view=True,
    word="reshaped",
)
