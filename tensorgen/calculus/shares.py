"""Means by a softmax: its shares move, and their sum does not.

Where p are the shares and m is the mean `sum_k p[k] * a[k]`, the tangent of p meets
`a[k] - m` as well as `a[k]`, for it adds up to 0. A covariance is a sum of products of
such differences then, `sum_k p[k] * (a[k] - m) * (b[k] - n)`, and keeps its digits
where all a are large and alike. Terms of a mean may read parts of p, as those over a
list that is joined from several do, if each share is read once.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tensorgen.calculus.partials import partials
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Constraint, Label, Node, Product, Ref, Sum, Term
from tensorgen.operators.table import Partial


class _Share(NamedTuple):
    """A term that is multiplied by shares, and which ones these are."""

    term: Term
    place: int  # of the shares among the factors
    start: Dim
    stop: Dim

    @property
    def product(self) -> Product:
        """The product that the term is."""
        assert isinstance(self.term.node, Product)
        return self.term.node

    @property
    def factor(self) -> Ref:
        """The shares in it."""
        return self.product.factors[self.place]


def of_mean(
    graph: Graph, node: Node, varying: Container[Node], level: Container[Node]
) -> list[Partial] | None:
    """The products in the derivative of what has a mean, which is taken off by shares.

    None of what has none. Whatever labels they have besides the axes of the node are
    those of factors.
    """
    shares = _mean(node, varying)
    if not shares:
        return None
    axes, sizes = range(node.order), dict(enumerate(node.dims))
    mean = graph.sum(axes, [share.term for share in shares], sizes)
    found = [_centred(graph, share, mean) for share in shares]
    for share in shares:
        term = share.term
        for part in partials(graph, term.node, varying, level):
            if part.operand is not share.factor.node:
                found.append(_within(part, term))
    if isinstance(node, Sum):
        others = [t for t in node.terms if t not in [share.term for share in shares]]
        found += [Partial(t.node, t.labels, t.coefficient) for t in others]
    return [part for part in found if part.operand in varying]


def _within(part: Partial, term: Term) -> Partial:
    """What stands in the derivative of a term, in the axes of the sum."""

    def name(label: Hashable) -> Hashable:
        return _name(term, label)

    return Partial(
        part.operand,
        tuple(map(name, part.labels)),
        part.coefficient * term.coefficient,
        tuple((node, tuple(map(name, labels))) for node, labels in part.factors),
        tuple(c.renamed(name) for c in part.constraints),
    )


def _name(term: Term, label: Hashable) -> Hashable:
    """A label of a term in the sum; one that is summed keeps a name of its own."""
    if isinstance(label, int) and label < term.node.order:
        return term.labels[label]
    return ("summed", label)


def _mean(node: Node, varying: Container[Node]) -> list[_Share]:
    """The terms that are a mean by all shares of a softmax that varies; or none."""
    if isinstance(node, Sum):
        terms = list(node.terms)
    else:
        terms = [Term(Fraction(1), node, tuple(range(node.order)))]
    found = [share for term in terms if (share := _share(term, varying))]
    if len({share.factor.node for share in found}) != 1:
        return []
    return found if _cover(found) else []


def _cover(shares: Sequence[_Share]) -> bool:
    """Whether ranges of shares follow one another from the first to the last."""
    follow = {share.start: share.stop for share in shares}
    place = Dim()
    for _ in shares:
        if place not in follow:
            return False
        place = follow[place]
    return place == shares[0].factor.node.dims[0]


def _share(term: Term, varying: Container[Node]) -> _Share | None:
    """A term as one that shares multiply, if it is."""
    product = term.node
    if not isinstance(product, Product) or len(product.factors) < 2:
        return None
    places = [k for k, f in enumerate(product.factors) if _is_softmax(f.node)]
    if len(places) != 1 or product.factors[places[0]].node not in varying:
        return None
    ((label,),) = [product.factors[k].labels for k in places]
    read = _range(product, label)
    known = {x for f in product.factors for x in f.labels}.union(range(product.order))
    if label < product.order or not {*range(len(product.sizes))} <= known:
        return None
    if read is None or _is_wider(product, places[0]):
        return None
    return _Share(term, places[0], *read)


def _is_softmax(node: Node) -> bool:
    return isinstance(node, Call) and node.operator == "softmax" and node.order == 1


def _is_wider(product: Product, place: int) -> bool:
    """Whether what shares multiply is larger than each array that it is made of."""
    others = [f for k, f in enumerate(product.factors) if k != place]
    kept = {*_kept(product, place)} & {x for f in others for x in f.labels}
    return not any(kept <= {*f.labels} for f in others)


def _range(product: Product, label: Label) -> tuple[Dim, Dim] | None:
    """The first place of a label where a product is not 0, and that after the last."""
    start, stop = Dim(), product.sizes[label]
    for kind, form in _constraints(product, label):
        scaled = form.scaled(form.coefficient(label))
        rest = scaled.without(label)
        if abs(form.coefficient(label)) != 1:
            return None
        if kind == "ge" and not rest.terms:
            if form.coefficient(label) > 0:
                start = -rest.const
            else:
                stop = form.const + 1
        elif kind == "eq" and (start, stop) == (Dim(), product.sizes[label]):
            size = Dim.of(1)
            if rest.terms:
                (other, c), *more = rest.terms
                if more or c != -1 or not isinstance(other, int):
                    return None
                size = product.sizes[other]
            start = -rest.const
            stop = start + size
        else:
            return None
    return start, stop


def _constraints(product: Product, label: Label) -> list[Constraint]:
    return [c for c in product.constraints if label in c.form.labels]


def _kept(product: Product, place: int) -> list[Label]:
    """The labels of what shares multiply: those of the result, and their own."""
    (label,) = product.factors[place].labels
    own = {label, *(x for c in _constraints(product, label) for x in c.form.labels)}
    others = [f for k, f in enumerate(product.factors) if k != place]
    used = {x for f in others for x in f.labels}
    rest = [c for c in product.constraints if c not in _constraints(product, label)]
    used.update(x for c in rest for x in c.form.labels)
    return sorted({*range(product.order)} | (own & used))


def _centred(graph: Graph, share: _Share, mean: Node) -> Partial:
    """The derivative of a mean by the shares that a term reads."""
    product, term = share.product, share.term
    (label,) = share.factor.labels
    own = _constraints(product, label)
    kept = _kept(product, share.place)
    rest = [f for k, f in enumerate(product.factors) if k != share.place]
    free = [c for c in product.constraints if c not in own]
    used = {*kept, *(x for f in rest for x in f.labels)}
    used.update(x for c in free for x in c.form.labels)
    others = graph.product(
        kept,
        rest,
        coefficient=product.coefficient * term.coefficient,
        constraints=free,
        sizes={x: product.sizes[x] for x in sorted(used)},
    )

    def name(x: Label) -> Hashable:
        return _name(term, x)

    labels = [name(x) for x in kept]
    axes = range(mean.order)
    sizes = {name(x): product.sizes[x] for x in kept}
    sizes.update(enumerate(mean.dims))
    whole = list(dict.fromkeys([*axes, *labels]))
    gap = graph.sum(whole, [(1, others, labels), (-1, mean, axes)], sizes)
    constraints = tuple(c.renamed(name) for c in own)
    return Partial(
        share.factor.node, (name(label),), Fraction(1), ((gap, whole),), constraints
    )
