"""Inverses and determinants of a matrix of few entries plus low rank, by Woodbury.

`inv(B + U W) = inv(B) - inv(B) U inv(K) W inv(B)` and `det(B + U W) = det(B) det(K)`,
where `K = I + W inv(B) U` is as large as the rank. The base B is a diagonal, or another
matrix that is solved with by its few entries. It has to be known to be positive
definite, and what is added not to be negative: then no digits are lost that the matrix
itself keeps, unless B is nearer to a singular matrix than the sum is. That is seen when
the numbers are (`operators/matrices/capacitance.py`); the function is then computed
without its parts. Of a sum alone that would be the rule: B may be singular where
`B + U W` is as far from it as the identity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Label, Node, Product, Sum, delta, topological
from tensorgen.ir.rebuild import carry_names, with_operands
from tensorgen.ir.remarks import Remark
from tensorgen.ir.views import View
from tensorgen.operators.calls import OPERATORS, apply
from tensorgen.operators.matrices.capacitance import capacitance
from tensorgen.operators.matrices.definite import Sign, matrix_sign
from tensorgen.operators.matrices.symmetry import flat
from tensorgen.operators.promise_calls import bare
from tensorgen.passes.context import Context
from tensorgen.passes.order.flatten_products import flatten_products
from tensorgen.prices.thresholds import GAIN_OF_LOW_RANK

INVERSE = Remark(
    "Woodbury: (D + U W)^-1 by the smaller I + W D^-1 U",
    r"\b_?(?:cholesky_)?solve\(|\binv_\w+ @|@ \(?inv_",
)
DETERMINANT = Remark(
    "det(D + U W) = det(D) det(I + W D^-1 U), the smaller one",
    r"\blog\(np\.diagonal|\bslogdet\(|\bdet\(|logdet",
)


class LowRank(NamedTuple):
    """What is added, `sum_s U[i, s] W[s, j]`; vectors where the rank is one."""

    left: Node
    right: Node
    width: tuple[Dim, ...]


class Parts(NamedTuple):
    """A matrix: what is solved with by its entries, and what has low rank."""

    base: Node
    added: LowRank

    @property
    def is_diagonal(self) -> bool:
        """Whether the base has a diagonal alone."""
        return isinstance(self.base, Product)


def invert_low_rank(
    context: Context, roots: Sequence[Node], missed: dict[Node, Parts]
) -> list[Node]:
    """Return `roots` with inverses and determinants of smaller matrices.

    Those whose base is not known to be positive definite are `missed`.
    """
    graph, new = context.graph, dict[Node, Node]()
    known: dict[Node, Parts | None] = {}
    inverses: set[Node] = set()
    for node in topological(roots):
        # What stable forms would recognise has been recognised, but in what is new.
        with graph.without_rewrites():
            made = with_operands(graph, node, new)
        if isinstance(made, Call) and OPERATORS[made.operator].by_parts:
            (matrix,) = made.args
            if matrix not in known:
                known[matrix] = _safe(context, matrix, missed)
            found = known[matrix]
            if found is not None:
                whole = made.operator == "inv"
                made = _asked(graph, made.operator, found)
                inverses |= {made} if whole else set()
        with graph.without_rewrites():
            made = _apart(graph, made, inverses)
        carry_names(graph, node, made)
        new[node] = made
    return [new[root] for root in roots]


def _apart(graph: Graph, node: Node, inverses: set[Node]) -> Node:
    """A product with such an inverse as one with each of its terms: none is formed."""
    if not isinstance(node, Product):
        return node
    axes = tuple(range(node.order))
    for k, (factor, labels) in enumerate(node.factors):
        if factor not in inverses or not isinstance(factor, Sum):
            continue
        parts = []
        for c, inner, own in factor.terms:
            view = View(node.coefficient)
            view.sizes.update(enumerate(node.sizes))
            view.add(inner, [labels[a] for a in own], "term")
            for place, ref in enumerate(node.factors):
                if place != k:
                    view.add(*ref)
            view.constraints += node.constraints
            parts.append((c, _apart(graph, view.product(graph, axes), inverses), axes))
        return graph.sum(axes, parts)
    return node


def parts(context: Context, matrix: Node) -> Parts | None:
    """Return the base and the terms of low rank of a matrix, if that is all."""
    matrix = bare(matrix)
    if matrix.order != 2 or not isinstance(matrix, Sum):
        return None
    graph, cost = context.graph, context.cost
    diagonal, base, terms = list[Node](), list[Node](), list[LowRank]()
    limit = cost.value(matrix.dims[0]) / GAIN_OF_LOW_RANK
    for term in _terms(graph, matrix):
        if not isinstance(term, Product):
            base.append(term)
            continue
        if term.constraints == (delta({0: 1, 1: -1}),):
            diagonal.append(_entries(graph, term))
            continue
        found = None if term.constraints else _factored(graph, term)
        if found is None or cost.size(found.width) > limit:
            base.append(term)
        elif matrix_sign(term) < Sign.NONNEGATIVE:
            return None
        else:
            terms.append(found)
    rank = sum(cost.size(term.width) for term in terms)
    if not (diagonal or base) or not terms or rank > limit:
        return None
    if diagonal:
        base.insert(0, _diagonal(graph, graph.add(*diagonal)))
    whole = graph.add(*base)
    if base[bool(diagonal) :] and not _is_solved_by_entries(context, base):
        return None
    return Parts(whole, _joined(graph, terms))


def _terms(graph: Graph, matrix: Sum) -> Iterator[Node]:
    """The terms of a sum, those of sums among them too, with their numbers."""
    sizes = dict(enumerate(matrix.dims))
    for coefficient, node, labels in matrix.terms:
        term = graph.sum((0, 1), [(coefficient, node, labels)], sizes)
        if isinstance(node, Sum) and labels == (0, 1) and coefficient == 1:
            yield from _terms(graph, node)
        else:
            yield term


def _is_solved_by_entries(context: Context, terms: Sequence[Node]) -> bool:
    """Whether a sum has a structure to solve by, once it is seen without products."""
    graph = context.graph
    if context.system is None:
        return False
    with graph.without_rewrites():
        roots = [graph.add(*map(bare, terms))]
        run = partial(flatten_products, context, roots)
        (flat,) = graph.effort.attempt(run, roots)
        return context.system(graph, flat, context.cost) is not None


def _safe(context: Context, matrix: Node, missed: dict[Node, Parts]) -> Parts | None:
    """The parts of a matrix, if its base is known to be positive definite."""
    found = parts(context, matrix)
    if found is not None and matrix_sign(found.base) < Sign.POSITIVE:
        missed[matrix] = found
        return None
    return found


def _diagonal(graph: Graph, entries: Node) -> Node:
    (size,) = entries.dims
    at, sizes = [delta({0: 1, 1: -1})], {0: size, 1: size}
    return graph.product((0, 1), [(entries, (0,))], constraints=at, sizes=sizes)


def _entries(graph: Graph, term: Product) -> Node:
    """What stands on a diagonal."""
    names: dict[Label, Label] = {1: 0}
    factors = [(n, [names.get(x, x) for x in xs]) for n, xs in term.factors]
    sizes = {0: term.dims[0], **dict(enumerate(term.inner, 2))}
    return graph.product((0,), factors, coefficient=term.coefficient, sizes=sizes)


def _factored(graph: Graph, term: Product) -> LowRank | None:
    """The factors of the rows, and all others."""
    factors, dims = flat(term)
    sizes: dict[Label, Dim] = dict(enumerate(dims))
    left = [ref for ref in factors if 0 in ref.labels]
    right = [ref for ref in factors if 0 not in ref.labels]
    if any(1 in ref.labels for ref in left):
        return None
    inside = {x for ref in left for x in ref.labels} | {0}
    others = {x for ref in right for x in ref.labels}
    width = sorted(inside & others)
    if len(width) > 1:
        return None
    own = {x: dim for x, dim in sizes.items() if x in inside}
    rest = {x: dim for x, dim in sizes.items() if x not in inside or x in width}
    return LowRank(
        graph.product((0, *width), left, sizes=own),
        graph.product((*width, 1), right, coefficient=term.coefficient, sizes=rest),
        tuple(sizes[x] for x in width),
    )


def _equal(graph: Graph, entries: Node) -> Node:
    """What stands on a diagonal; a number, where it is the same everywhere."""
    if not isinstance(entries, Product) or entries.constraints:
        return entries
    if any(0 in ref.labels for ref in entries.factors):
        return entries
    sizes = {x: dim for x, dim in enumerate(entries.sizes) if x}
    own = entries.factors, entries.coefficient
    return graph.product((), own[0], coefficient=own[1], sizes=sizes)


def _factors(graph: Graph, right: Node) -> list[Node]:
    """What is a product of two matrices as these two, the rank between them."""
    if isinstance(right, Product) and not right.constraints:
        factors, dims = flat(right)
        last = [ref for ref in factors if 1 in ref.labels]
        rest = [ref for ref in factors if 1 not in ref.labels]
        inside = {x for ref in last for x in ref.labels} - {1}
        between = sorted(inside & {x for ref in rest for x in ref.labels})
        if 0 not in inside and len(between) == 1:
            (x,) = between
            sizes: dict[Label, Dim] = dict(enumerate(dims))
            ends = {y: sizes[y] for y in sizes if y not in inside - {x} and y != 1}
            others = {y: sizes[y] for y in (*inside, 1)}
            return [
                graph.product((0, x), rest, coefficient=right.coefficient, sizes=ends),
                graph.product((x, 1), last, sizes=others),
            ]
    return [right]


def _joined(graph: Graph, terms: Sequence[LowRank]) -> LowRank:
    """All terms as one, whose columns and rows stand side by side."""
    first, *others = terms
    if not others and first.width:
        return first
    rank = sum((prod(term.width, start=ONE) for term in terms), start=ZERO)
    size, start = first.left.dims[0], ZERO
    left, right = list[Node](), list[Node]()
    for term in terms:
        s = ("s",)[: len(term.width)]
        form = {"r": 1, "s": -1} if s else {"r": 1}
        at, sizes = [delta(form, -start)], {"r": rank, "i": size}
        pairs = [(term.left, ("i", *s))], [(term.right, (*s, "i"))]
        left.append(graph.product("ir", pairs[0], constraints=at, sizes=sizes))
        right.append(graph.product("ri", pairs[1], constraints=at, sizes=sizes))
        start += prod(term.width, start=ONE)
    return LowRank(graph.add(*left), graph.add(*right), (rank,))


def _asked(graph: Graph, operator: str, parts: Parts) -> Node:
    """An inverse or a determinant, by those of the base and of K."""
    whole, (left, right, (rank,)) = parts
    inverse = apply(graph, "inv", [whole])
    solved = graph.product("it", [(inverse, "ik"), (left, "kt")])
    inner = graph.product("st", [(right, "sk"), (solved, "kt")])
    base = whole
    if isinstance(whole, Product):
        base = _equal(graph, _entries(graph, whole))
    core = graph.add(graph.unit((rank,)), inner)
    core = capacitance(graph, core, base, left, _factors(graph, right))
    found, small = apply(graph, operator, [whole]), apply(graph, operator, [core])
    graph.remark(small, INVERSE if operator == "inv" else DETERMINANT)
    if operator == "det":
        return graph.product((), [(found, ()), (small, ())])
    if operator == "logdet":
        return graph.add(found, small)
    turned = graph.product("sj", [(right, "sk"), (inverse, "kj")])
    less = graph.product("ij", [(solved, "is"), (small, "st"), (turned, "tj")])
    return graph.sum((0, 1), [(1, inverse, (0, 1)), (-1, less, (0, 1))])
