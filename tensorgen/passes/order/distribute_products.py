"""Distribute: a product with a sum is a sum of products, where these are light.

The terms of a derivative that carry deltas cost next to nothing apart, and a sum of
broadcasts is larger than what it is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from tensorgen.ir.nodes import Constraint, Label, Lookup, Node, Product, Ref, Sum, Term
from tensorgen.ir.views import View
from tensorgen.operators.scans.ranks import order_of
from tensorgen.passes.matrices.centre_differences import centred
from tensorgen.passes.order.factor_sums import pays
from tensorgen.passes.rounds import Round
from tensorgen.passes.views import (
    compares,
    grows,
    is_larger,
    is_sparse,
    is_square,
    reshapes_sparse,
)
from tensorgen.prices.limits import DISTRIBUTED_TERMS, DISTRIBUTED_TERMS_IN_ALL
from tensorgen.prices.thresholds import SHARE_OF_EXPANDED, SHARE_OF_TABLES


def distribute_products(known: Round, node: Node) -> Node:
    """Return the sum of a product with each term of one of its factors."""
    if not isinstance(node, Product):
        return node
    sums = [(k, f) for k, (f, _) in enumerate(node.factors) if isinstance(f, Sum)]
    sums.sort(key=lambda place: not is_sparse(place[1]))
    for k, factor in sums:
        if _lightens(known, node, factor):
            return _distributed(known, node, k, factor)
    cost = known.context.cost
    for k, factor in sums:
        if any(fits(known, node, factor) for fits in _FITTING):
            apart = _distributed(known, node, k, factor)
            share = SHARE_OF_TABLES if _is_table(node, factor) else SHARE_OF_EXPANDED
            if pays(known.context.graph, node, apart, cost, share):
                return apart
    for k, ref in enumerate(node.factors):
        base = _square_in_order(node, ref)
        if base is not None and isinstance(base.node, Sum):
            apart = _distributed(known, node, k, base.node, base.labels, power=2)
            if pays(known.context.graph, node, apart, cost, SHARE_OF_EXPANDED):
                return apart
    return node


def _lightens(known: Round, node: Product, factor: Sum) -> bool:
    """Whether a product moves into a sum: one of deltas, or of broadcasts.

    Must not fire on sums of plain arrays, which are cheaper added first, nor on
    a difference of arguments, which has more digits than that of their products, nor
    on one that is squared.
    """
    if len(factor.terms) > DISTRIBUTED_TERMS:
        return False
    if known.effort.terms > DISTRIBUTED_TERMS_IN_ALL:
        return False
    if is_sparse(factor):  # a name that it may have is no reason to form it
        if _is_squared(node, factor):
            return False
        if len(node.factors) == 1 and factor in known.named:
            return False  # entries of what is there
        return len(node.factors) > 1 or bool(node.inner)
    if factor in known.named:
        return False
    if node.inner and any(map(_is_of_reshaped_deltas, factor.terms)):
        return True
    grown = bool(node.inner) and grows(factor, known.context.cost)
    return grown and not compares(factor)


def _is_squared(node: Product, factor: Sum) -> bool:
    """Whether squares of a sum are added up in which entries are added to others.

    That is a distance, and `(a - b)**2` has digits that `a**2 + b**2 - 2*a*b` has not.
    """
    uses = [ref for ref in node.factors if ref.node is factor]
    overlap = not all(is_sparse(term.node) for term in factor.terms)
    return overlap and len({*uses}) < len(uses)


def _is_of_reshaped_deltas(term: Term) -> bool:
    """Whether a term has a factor that shows its deltas before it is reshaped."""
    core = term.node
    factors = (
        [ref.node for ref in core.factors] if isinstance(core, Product) else [core]
    )
    return any(reshapes_sparse(factor) for factor in factors)


def _is_only_difference(known: Round, node: Product, factor: Sum) -> bool:
    """Whether a product may move into a difference, if that is far cheaper.

    `(x[i] - x[j]) * (y[i] - y[j])` keeps its digits where all x are large and
    alike; `x[i] * y[i] - x[i] * y[j] - ...` never does. A single difference loses
    no more than its arguments have lost, however deep in the sum it stands.
    """
    if not node.inner:
        return False
    cost = known.context.cost
    compared = [f for f, _ in node.factors if isinstance(f, Sum) and compares(f)]
    if compared:
        return compared == [factor] and grows(factor, cost)
    made = _made_of(known, factor)
    return made is not None and is_larger(factor, [one.dims for one in made], cost)


def _made_of(known: Round, node: Sum) -> list[Node] | None:
    """What a product that moves into a sum with one difference meets, if not much."""
    made: list[Node] = []
    differences, waiting = 0, [node]
    while waiting:
        one = waiting.pop()
        differences += compares(one)
        for term in one.terms:
            core = term.node
            if not (isinstance(core, Product) and known.opens(core)):
                made.append(core)
                continue
            waiting += [f for f, _ in core.factors if isinstance(f, Sum)]
            made += [f for f, _ in core.factors if not isinstance(f, Sum)]
        # Sums of sums that are used twice would be walked through without end.
        if differences > 1 or len(made) + len(waiting) > DISTRIBUTED_TERMS:
            return None
    return made if differences == 1 else None


def _is_table(node: Product, factor: Sum) -> bool:
    """Whether a factor has more axes than its product, and than the other factors.

    Differences of rows, pair by pair, are a table that memory is slow to give, and that
    nothing else of a product with weights `sum_j (x[i, k] - x[j, k]) * w[i, j]` is.
    """
    others = [f.order for f, _ in node.factors if f is not factor]
    return bool(others) and factor.order > max([node.order, *others])


def _is_applied(known: Round, node: Product, factor: Sum) -> bool:
    """Whether a product may move into a sum of matrices that it alone is made of.

    To apply `A @ B + C` to a vector term by term takes less than to form it. Must not
    fire on a difference of arguments, as above.
    """
    if not known.context.cross_country or factor not in known.private:
        return False
    if factor.order < 2 or node.order > 1 or compares(factor):
        return False
    contracted = any(
        isinstance(term.node, Product) and term.node.inner and known.opens(term.node)
        for term in factor.terms
    )
    few = len(factor.terms) <= DISTRIBUTED_TERMS
    return contracted and few and known.effort.terms <= DISTRIBUTED_TERMS_IN_ALL


def _is_added_up(known: Round, node: Product, factor: Sum) -> bool:
    """Whether a sum of products is added up: each term is a product by BLAS then.

    `sum_i (3*a[i]**2 + b[i]**2)` forms no squares, and `sum_j (a[j]*X[j, i] +
    b[j]*Y[j, i])` no matrix. Must not fire where terms have both signs, which may
    cancel entry by entry, nor where products of rows with rows are added: NumPy is
    slow to add up short rows.
    """
    return (
        bool(node.inner)
        and not any(f.order for f, _ in node.factors if f is not factor)
        and not node.constraints
        and factor in known.private
        and factor not in known.named
        and len(factor.terms) <= DISTRIBUTED_TERMS
        and all(
            term.coefficient * factor.terms[0].coefficient > 0
            and len(term.labels) == factor.order
            and _is_pair(known, term.node, bool(node.order))
            for term in factor.terms
        )
    )


def _is_pair(known: Round, node: Node, spread: bool) -> bool:
    """Whether a product may be looked into: of two arrays, entry by entry, or larger.

    One of two has fewer axes than the product where it is to be `spread`.
    """
    if not isinstance(node, Product):
        return not spread and is_square(node)
    if not node.inner and len(node.factors) < 3:
        whole = spread and all(f.order == node.order for f, _ in node.factors)
        if whole or node.constraints or len(node.factors) != 2:
            return False
    return known.opens(node)


def _square_in_order(node: Product, ref: Ref) -> Ref | None:
    """What is squared in a sum over pairs whose order says which of them count.

    It is a difference of what either has. Of pairs in an order those far apart count as
    well, and say how large the sum is: the digits of near ones are not in it. Must not
    fire on pairs that are alike, of which all may be near.
    """
    square = ref.node
    if not is_square(square) or not node.inner:
        return None
    base = square.args[0].under(ref)
    if not (isinstance(base.node, Sum) and compares(base.node)):
        return None
    ordered = (c for c in node.constraints if c.kind == "ge")
    limits = (_ranked_labels(c) & {*base.labels} for c in ordered)
    return base if any(len(pair) == 2 for pair in limits) else None


def _ranked_labels(constraint: Constraint) -> set[Label]:
    """The labels of a key and its limit that a comparison of places is about."""
    atoms = [atom for atom, _ in constraint.form.terms]
    ranked = [x for x in atoms if isinstance(x, Lookup) and order_of(x.node)]
    return {*constraint.form.labels} if ranked else set()


_FITTING = (_is_only_difference, _is_applied, _is_added_up)


def _distributed(
    known: Round,
    node: Product,
    place: int,
    factor: Sum,
    labels: Sequence[Label] = (),
    power: int = 1,
) -> Node:
    """The sum of the product with each term of a sum, or of its power, in its place."""
    graph = known.context.graph
    labels = labels or node.factors[place].labels
    known.effort.terms += len(factor.terms) ** power
    terms = []
    axes = range(node.order)
    for chosen in product(centred(graph, factor), repeat=power):
        view = View.of(node, without=place)
        view.coefficient *= prod(term.coefficient for term in chosen)
        for term in chosen:
            inside = [labels[a] for a in term.labels]
            view.add(term.node, inside, "term" if known.opens(term.node) else None)
        found = known.again(view.product(graph, axes))
        known.private.add(found)
        terms.append((1, found, axes))
    whole = graph.sum(axes, terms, dict(enumerate(node.dims)))
    return known.again(whole)
