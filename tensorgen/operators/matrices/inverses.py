"""Inverses and determinants of matrices that are products of parts on their own axes.

A diagonal, blocks along a diagonal, a Kronecker product, and what these make together:
the inverse is the same product of the inverses of the parts. That holds whatever the
sizes are, so it is seen where the call is made, and derivatives inherit the structure.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import NamedTuple

from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import Call, Label, Node, Product, Ref, delta
from tensorgen.ir.remarks import Remark
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.matrices.symmetry import is_symmetric
from tensorgen.operators.matrices.undone_inverses import inverse_of_product, undone
from tensorgen.operators.promise_calls import bare
from tensorgen.operators.reshape import reshape, segments
from tensorgen.operators.table import Make

Axes = tuple[int, ...]

FACTORS = Remark(
    "a Kronecker product is inverted factor by factor",
    r"\b_?(?:cholesky_)?(?:solve|inv|inverse)\(",
)
BLOCKS = Remark(
    "a block diagonal matrix is inverted block by block",
    r"\b_?(?:cholesky_)?(?:solve|inv|inverse)\(",
)


class Parted(NamedTuple):
    """A product whose rows and columns are several axes each, in C order.

    The number in front is the `coefficient`; `lead` are the axes of a batch. Pairs of a
    row and a column are `tied` by deltas, or belong to one of the `groups` of factors;
    `weights` have neither of their axes.
    """

    node: Product
    coefficient: Fraction
    lead: Axes
    tied: tuple[tuple[int, int], ...]
    groups: tuple[tuple[tuple[tuple[int, int], ...], tuple[Ref, ...]], ...]
    weights: tuple[Ref, ...]

    def dims(self, axes: Sequence[int]) -> list[Dim]:
        """The sizes of some axes."""
        return [self.node.dims[a] for a in axes]


def parted(graph: Graph, matrix: Node) -> Parted | None:
    """Return what a matrix is a product of; None where that is the matrix itself."""
    found = _sides(graph, bare(matrix))
    if found is None:
        return None
    (node, coefficient), lead, rows, columns = found
    if [node.dims[a] for a in rows] != [node.dims[a] for a in columns]:
        return None
    pairs = dict(zip(rows, columns, strict=True))
    ties = {delta({a: 1, b: -1}): (a, b) for a, b in pairs.items()}
    if any(at not in ties for at in node.constraints):
        return None
    tied = tuple(ties[at] for at in node.constraints)
    name = {b: a for a, b in tied}  # a column that is tied is the row
    factors = [Ref(n, tuple(name.get(x, x) for x in xs)) for n, xs in node.factors]
    fixed = {*lead, *(a for a, _ in tied)}
    free = [(a, b) for a, b in pairs.items() if (a, b) not in tied]
    links: list[set[Label]] = [{*ref.labels} - fixed for ref in factors]
    links += [{a, b} for a, b in free]
    groups, weights = [], []
    for labels, places in connected(links):
        own = tuple((a, b) for a, b in free if a in labels)
        refs = tuple(factors[k] for k in places if k < len(factors))
        if own:
            groups.append((own, refs))
        else:
            used = [x for x in sorted(fixed) if any(x in ref.labels for ref in refs)]
            weights.append(Ref(graph.product(used, refs), tuple(used)))
    if not tied and len(groups) < 2:
        return None
    return Parted(node, coefficient, lead, tied, tuple(groups), tuple(weights))


def _sides(
    graph: Graph, matrix: Node
) -> tuple[tuple[Product, Fraction], Axes, Axes, Axes] | None:
    """The product that a matrix is or reshapes, the number in front of it, and its
    axes in the batch, rows and columns."""
    last = matrix.order - 1
    coefficient, inner = _unscaled(matrix)
    if isinstance(inner, Product):
        return (inner, coefficient), tuple(range(last - 1)), (last - 1,), (last,)
    if not isinstance(inner, Call) or inner.operator != "reshape":
        return None
    found = segments(inner.args[0].dims, matrix.dims)
    scale, node = _unscaled(inner.args[0])
    if not isinstance(node, Product) or len(found) < 2:
        return None
    *front, rows, columns = found
    if [*rows.target] != [last - 1] or [*columns.target] != [last]:
        return None
    if any(len(part.source) != len(part.target) for part in front):
        return None
    lead = tuple(range(rows.source.start))
    return (node, coefficient * scale), lead, (*rows.source,), (*columns.source,)


def _unscaled(node: Node) -> tuple[Fraction, Node]:
    coefficient = Fraction(1)
    while isinstance(node, Product):
        coefficient *= node.coefficient
        if len(node.factors) != 1 or node.constraints:
            break
        (ref,) = node.factors
        if ref.labels != tuple(range(node.order)):
            break
        node = ref.node
    return coefficient, node


def inverse(graph: Graph, matrix: Node, make: Make) -> Node | None:
    """Return the inverse by parts, or of a product, if there are any."""
    parts = parted(graph, matrix)
    if parts is None:
        return inverse_of_product(graph, matrix, make)
    node, factors = parts.node, list[tuple[Node, Sequence[Label]]]()
    for pairs, refs in parts.groups:
        square, labels = _square(graph, parts, pairs, refs)
        rows, columns = zip(*pairs, strict=True)
        found = make(graph, "inv", [square])
        graph.remark(found, FACTORS if len(parts.groups) > 1 else BLOCKS)
        shape = [*square.dims[:-2], *parts.dims(rows), *parts.dims(columns)]
        factors.append((reshape(graph, found, shape), (*labels, *rows, *columns)))
    for weight, labels in parts.weights:
        axes = tuple(range(weight.order))
        exponent = (graph.constant(-1), ())
        factors.append((graph.map("pow", axes, [(weight, axes), exponent]), labels))
    whole = graph.product(
        range(node.order),
        factors,
        coefficient=1 / parts.coefficient,
        constraints=node.constraints,
        sizes=dict(enumerate(node.dims)),
    )
    return reshape(graph, whole, matrix.dims)


def logdet(graph: Graph, matrix: Node, make: Make) -> Node | None:
    """Return the logarithm of the determinant by parts, if there are any."""
    parts = parted(graph, matrix)
    if parts is None:
        chain = undone(graph, matrix)
        if chain is None:
            return None
        minus = make(graph, "logdet", [chain.matrix])
        return graph.sum(
            [], [(1, make(graph, "logdet", [chain.rest]), []), (-1, minus, [])]
        )
    sides = [
        prod(parts.dims([a for a, _ in own]), start=ONE) for own, _ in parts.groups
    ]
    size = prod(sides, start=ONE)
    terms: list[tuple[Node, tuple[Label, ...], Dim]] = []
    for k, (pairs, refs) in enumerate(parts.groups):
        square, labels = _square(graph, parts, pairs, refs)
        others = prod((s for m, s in enumerate(sides) if m != k), start=ONE)
        found = make(graph, "logdet", [square])
        terms.append((found, labels, others))
    weights = list(parts.weights)
    if abs(parts.coefficient) != 1:
        weights.append(Ref(graph.constant(abs(parts.coefficient)), ()))
    for weight, labels in weights:
        axes = tuple(range(weight.order))
        known = sign(weight) == Sign.POSITIVE
        positive = weight if known else graph.map("abs", axes, [(weight, axes)])
        terms.append((graph.map("log", axes, [(positive, axes)]), labels, size))
    fixed = (*parts.lead, *(a for a, _ in parts.tied))
    sizes = dict(zip(fixed, parts.dims(fixed), strict=True))
    added = []
    for found, labels, times in terms:
        factors = [(found, labels), (graph.size(times), ())]
        added.append((1, graph.product(parts.lead, factors, sizes=sizes), parts.lead))
    return graph.sum(parts.lead, added)


def is_symmetric_by_parts(graph: Graph, matrix: Node) -> bool:
    """Whether matrices are symmetric, or all of the parts that they are products of."""
    parts = None if is_symmetric(matrix) else parted(graph, matrix)
    return is_symmetric(matrix) or (
        parts is not None
        and all(is_symmetric(_square(graph, parts, *own)[0]) for own in parts.groups)
    )


def _square(
    graph: Graph, parts: Parted, pairs: Sequence[tuple[int, int]], refs: Sequence[Ref]
) -> tuple[Node, tuple[Label, ...]]:
    """The matrices that the factors of a group make, and the labels of their batch."""
    rows, columns = zip(*pairs, strict=True)
    used = {x for ref in refs for x in ref.labels}
    fixed = [*parts.lead, *(a for a, _ in parts.tied)]
    labels = tuple(x for x in fixed if x in used)
    sizes = dict(zip((*rows, *columns), parts.dims([*rows, *columns]), strict=True))
    found = graph.product([*labels, *rows, *columns], refs, sizes=sizes)
    side = prod(parts.dims(rows), start=ONE)
    return reshape(graph, found, [*found.dims[: len(labels)], side, side]), labels


def det(graph: Graph, matrix: Node, make: Make) -> Node | None:
    """Return the determinant of a diagonal matrix."""
    parts = parted(graph, matrix)
    if parts is None or parts.groups:
        return None
    rows = tuple(a for a, _ in parts.tied)
    axes = (*parts.lead, *rows)
    entries = graph.product(
        axes,
        parts.weights,
        coefficient=parts.coefficient,
        sizes=dict(zip(axes, parts.dims(axes), strict=True)),
    )
    along = tuple(range(len(parts.lead), len(axes)))
    return graph.call("prod", [entries], entries.dims[: len(parts.lead)], axes=along)
