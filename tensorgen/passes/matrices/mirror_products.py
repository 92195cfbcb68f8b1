"""Mirror: `X.T @ diag(s) @ X` is a matrix times itself where no s is negative.

BLAS forms half of a product `Z.T @ Z` and copies the other, which is exactly symmetric
then. With `Z = sqrt(s)[:, None] * X` that costs as many scalings as `s[:, None] * X`.
So is a covariance `X.T @ diag(s) @ (X - m)`, where s sums to one and m is the mean by
s: both sides are X - m.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from typing import NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Product, Ref, Sum
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.matrices.definite import signs_of_powers
from tensorgen.operators.matrices.symmetry import Symmetry
from tensorgen.passes.context import Context
from tensorgen.passes.views import is_sparse

ENDS = {0: 1, 1: 0}
"""The axes of a matrix, exchanged."""


class Square(NamedTuple):
    """A side of a product, which is that of the other as well, and weights between."""

    side: Ref
    weights: list[Ref]
    coefficient: Fraction


def mirror_products(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with weighted products of a matrix and itself as plain ones.

    Ends: a product of a matrix and itself has no weights.
    """
    graph, symmetry = context.graph, Symmetry(promised=True)

    def visit(node: Node) -> Node:
        found = next(_squares(graph, symmetry, node), None)
        return node if found is None else _mirrored(graph, found)

    return rebuild(graph, roots, visit)


def about_means(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with both sides of covariances as what is above the mean.

    Who knows the mean of all rows alone loses no digits of those of one block then.
    Ends: no product has a side left that is not.
    """
    symmetry = Symmetry(promised=True)

    def visit(node: Node) -> Node:
        if not isinstance(node, Product) or node.constraints or node.order != 2:
            return node
        for a, b in permutations(node.factors, 2):
            weights = [ref for ref in node.factors if ref is not a and ref is not b]
            if len(weights) != 1 or not isinstance(b.node, Sum):
                continue
            if _centred(graph, symmetry, a, b, weights) == b:
                sides = (b, _image(b), *weights)
                return graph.product((0, 1), sides, coefficient=node.coefficient)
        return node

    return rebuild(graph, roots, visit)


def _squares(graph: Graph, symmetry: Symmetry, node: Node) -> Iterator[Square]:
    """The ways in which a product is one of a matrix and itself, with weights."""
    if not isinstance(node, Product) or node.constraints or len(node.factors) != 2:
        return
    if node.order != 2 or not node.inner:
        return
    first, second = node.factors
    for bare, scaled in ((first, second), (second, first)):
        product = scaled.node
        if len({*bare.labels} & {*ENDS}) != 1 or is_sparse(bare.node):
            continue
        if not isinstance(product, Product) or product.inner or product.constraints:
            continue
        factors = [_through(scaled, ref) for ref in product.factors]
        for k, other in enumerate(factors):
            weights = factors[:k] + factors[k + 1 :]
            if not weights or any({*ref.labels} & {*ENDS} for ref in weights):
                continue
            side = bare if _image(bare) in _uses(symmetry, other) else None
            side = side or _centred(graph, symmetry, bare, other, weights)
            if side is not None and all(signs_of_powers(weights)):
                yield Square(side, weights, node.coefficient * product.coefficient)


def _through(outer: Ref, inner: Ref) -> Ref:
    """An operand of a node in the labels of a use of the node."""
    return Ref(inner.node, tuple(outer.labels[axis] for axis in inner.labels))


def _image(ref: Ref) -> Ref:
    """The same array on the other side of the product."""
    return Ref(ref.node, tuple(ENDS.get(x, x) for x in ref.labels))


def _uses(symmetry: Symmetry, ref: Ref) -> list[Ref]:
    """All uses of a node that are the same array: a symmetric matrix may be turned."""
    turned = Ref(ref.node, (*ref.labels[:-2], *ref.labels[:-3:-1]))
    last = ref.node.order - 2, ref.node.order - 1
    even = ref.node.order >= 2 and symmetry.parity(ref.node, last) == 1
    return [ref, turned] if even else [ref]


def _centred(
    graph: Graph, symmetry: Symmetry, a: Ref, b: Ref, weights: Sequence[Ref]
) -> Ref | None:
    """Of X and X - m the latter, where m is a mean by weights that sum to one."""
    weight, *more = weights
    sums = isinstance(weight.node, Call) and weight.node.operator == "softmax"
    if more or not sums or weight.node.order != 1:
        return None
    for x, centred in ((a, b), (b, a)):
        terms = centred.node.terms if isinstance(centred.node, Sum) else ()
        if sorted(t.coefficient for t in terms) != [-1, 1]:
            continue
        least, whole = sorted(terms, key=lambda t: t.coefficient)
        here, mean = (_through(centred, t.ref) for t in (whole, least))
        kept = [label for label in here.labels if label in ENDS]
        uses = _uses(symmetry, here)
        means = [graph.product(kept, [weight, use]) for use in uses]
        if _image(x) in uses and mean in [Ref(m, tuple(kept)) for m in means]:
            return centred
    return None


def _mirrored(graph: Graph, found: Square) -> Node:
    """A matrix times itself, scaled by the roots of the weights."""
    side, weights, number = found
    labels = list(dict.fromkeys(x for ref in weights for x in ref.labels))
    product = graph.product(labels, weights, coefficient=abs(number))
    # As it is: where weights are used elsewhere too, they are made once.
    with graph.without_rewrites():
        root = Ref(graph.map("sqrt", labels, [(product, labels)]), tuple(labels))
    scaled = Ref(graph.product(side.labels, [root, side]), side.labels)
    sides = scaled, _image(scaled)
    return graph.product((0, 1), sides, coefficient=1 if number > 0 else -1)
