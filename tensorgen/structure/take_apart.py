"""Taking a term of a derivative apart: factors, ties between axes, inner deltas."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.ir.constraints import eliminated, solvable, solved
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Lookup,
    Node,
    Product,
    Sum,
    affine,
    delta,
)
from tensorgen.ir.rebuild import terms_of
from tensorgen.ir.views import Factor, Name, View
from tensorgen.passes.readings.near_keys import nearer
from tensorgen.passes.views import compares, is_sparse, is_spread
from tensorgen.prices.limits import AXES_OF_A_LARGE_SUM, DEPTH_OF_PRODUCTS, SPREAD_TERMS
from tensorgen.structure.stored import Element, Link, Tie, is_axis, rooted


def spread(graph: Graph, node: Node, large: bool = False) -> list[Node]:
    """A term as a sum over what its sparse factors are sums of: no delta is hidden.

    With `large`, sums of many axes are spread as well: their terms may be made of
    smaller arrays. The term itself where there would be too many.
    """
    waiting, done = [node], list[Node]()
    while waiting and len(waiting) + len(done) <= SPREAD_TERMS:
        first, *rest = waiting
        terms = _opened(graph, first, large)
        if terms is None:
            done.append(first)
        waiting = [*(terms or ()), *rest]
    return [node] if waiting else done


def _opened(graph: Graph, node: Node, large: bool) -> list[Node] | None:
    """A term as a sum over the terms of one factor; None where no factor is to open."""

    def terms(factor: Node) -> list[Node] | None:
        if not isinstance(factor, Sum):
            return None
        wide = factor.order >= AXES_OF_A_LARGE_SUM and not compares(factor)
        opens = large and (wide or is_spread(factor) or _has_outer(graph, factor))
        opens = opens or is_sparse(factor)
        return terms_of(graph, factor) if opens else None

    return distributed(graph, node, terms)


def _has_outer(graph: Graph, factor: Sum) -> bool:
    """Whether a term of a sum is an outer product of vectors, and another is none."""
    outer = [_is_outer(term) for term in terms_of(graph, factor)]
    return any(outer) and not all(outer)


def _is_outer(term: Node) -> bool:
    """Whether a matrix is a product of arrays with one of its axes each, or none."""
    if not isinstance(term, Product) or term.order != 2 or term.constraints:
        return False
    own = [{x for x in ref.labels if x < 2} for ref in term.factors]
    return not term.inner and all(len(axes) < 2 for axes in own)


def distributed(
    graph: Graph, node: Node, terms: Callable[[Node], Sequence[Node] | None]
) -> list[Node] | None:
    """A term as a sum over the `terms` of its first factor that has any, else None."""
    whole = deep(node, graph.names)
    for place, (factor, labels) in enumerate(whole.factors):
        parts = terms(factor)
        if parts is None:
            continue
        found: list[Node] = []
        for part in parts:
            view = View(
                whole.coefficient,
                [f for k, f in enumerate(whole.factors) if k != place],
                list(whole.constraints),
                dict(whole.sizes),
            )
            view.add(part, labels)
            found.append(view.product(graph, range(node.order)))
        return found
    return None


def deep(node: Node, named: Container[Node] = ()) -> View:
    """A term n-ary: products of products down to what is not a product.

    An array that is `named` stays one, where nothing could be seen in it.
    """
    view = View(sizes=dict(enumerate(node.dims)))
    view.add(node, range(node.order), ("term", 0))
    for depth in range(1, DEPTH_OF_PRODUCTS):
        factors, view.factors = view.factors, []
        for k, (inner, labels) in enumerate(factors):
            whole = inner in named and _is_by_entries(inner)
            view.add(inner, labels, None if whole else (depth, k))
    return view


def _is_by_entries(node: Node) -> bool:
    """Whether a product is of arrays of its shape, and of numbers."""
    if not isinstance(node, Product) or node.inner or node.constraints:
        return False
    return all(len({*ref.labels}) in (0, node.order) for ref in node.factors)


@dataclass
class Parts:
    """A term taken apart: factors over labels, ties, links, and inner deltas."""

    coefficient: Fraction
    factors: list[Factor]
    ties: tuple[Tie, ...]
    inner: list[Constraint]
    sizes: dict[Name, Dim]
    links: tuple[Link, ...] = ()

    @property
    def key(self) -> tuple[Hashable, ...]:
        """All that the term is, to be known by."""
        parts = tuple(self.factors), tuple(self.inner), tuple(self.sizes.items())
        return self.coefficient, self.ties, self.links, *parts


def take_apart(
    graph: Graph, node: Node, linked: bool = False, by_rule: bool = False
) -> Parts:
    """A term as factors, ties and what else its deltas say.

    With `linked`, what index arrays say of axes is kept apart as well; `by_rule`,
    whatever gives an axis.
    """
    view = deep(node, graph.names)
    ties: list[Tie] = []
    rest: list[Constraint] = []
    for constraint in _with_pairs(view.constraints, node.dims):
        tie = _tie(constraint)
        if tie is None:
            rest.append(constraint)
        else:
            ties.append(tie)
    found, distances = rooted(ties)
    # What two chains say of the same axes, beyond being equal.
    rest += [delta({}, distance) for distance in distances]
    term = Parts(view.coefficient, view.factors, found, [], view.sizes)
    if linked:
        axes = [x for x in term.sizes if is_axis(x)]
        rest = _linked(term, nearer(graph, rest, axes, term.sizes), by_rule)
    _absorb(graph, term, rest)
    _use_first_axes(term)
    return term


def folded(graph: Graph, term: Parts, links: Sequence[Link]) -> Parts:
    """A term that keeps only these of its links apart; the others are in its arrays."""
    found = replace(term, inner=[*term.inner], factors=[*term.factors])
    found.links = tuple(links)
    _absorb(graph, found, [x.constraint() for x in term.links if x not in links])
    return found


def _absorb(graph: Graph, term: Parts, constraints: Sequence[Constraint]) -> None:
    """Make constraints part of the arrays of a term."""
    for constraint in constraints:
        # What is no tie is part of an array: a mask, if no factor has a summed label.
        labels = tuple(dict.fromkeys(constraint.form.labels))
        present = {x for _, xs in term.factors for x in xs if not is_axis(x)}
        if present.isdisjoint(labels):
            sizes = {x: term.sizes[x] for x in labels}
            mask = graph.product(labels, [], constraints=[constraint], sizes=sizes)
            term.factors.append((mask, labels))
        else:
            term.inner.append(constraint)


def _linked(
    term: Parts, constraints: Sequence[Constraint], by_rule: bool
) -> list[Constraint]:
    """Move what gives axes of a term to its links; return the other constraints.

    Of an axis one link is kept, and none stands on an axis that another one gives.
    """
    waiting = list(constraints)
    if by_rule:
        for tie in term.ties:
            waiting = [_on_first(constraint, tie) for constraint in waiting]
        axes = {x for x in term.sizes if isinstance(x, int)}
        waiting = eliminated(waiting, sorted(axes, reverse=True))
    links: dict[int, Link] = {}
    rest: list[Constraint] = []
    for constraint in waiting:
        possible = (
            _by_form(term, constraint) if by_rule else _by_entry(term, constraint)
        )
        link = next((x for x in possible if _may_stand(x, links, term.ties)), None)
        if link is not None:
            links[link.axis] = link
        else:
            rest.append(constraint)
    # One name for each element, so that terms of one pattern are seen to be such.
    found = [links[axis] for axis in sorted(links)]
    summed = [x for link in found for x in link.labels if not is_axis(x)]
    names: dict[Name, Name] = {
        x: Element(k) for k, x in enumerate(dict.fromkeys(summed))
    }

    def name(label: Name) -> Name:
        return names.get(label, label)

    term.links = tuple(link.renamed(names) for link in found)
    term.factors = [(node, tuple(map(name, labels))) for node, labels in term.factors]
    term.sizes = {name(x): dim for x, dim in term.sizes.items()}
    return [constraint.renamed(name) for constraint in rest]


def _by_entry(term: Parts, constraint: Constraint) -> Iterator[Link]:
    """What a delta says, if an axis is the entry of an index array: the first of tied
    axes."""
    kind, (terms, const) = constraint
    if kind != "eq" or len(terms) != 2:
        return
    (axis, c), (entry, d) = terms
    if isinstance(axis, Lookup):
        (axis, c), (entry, d) = (entry, d), (axis, c)
    if not isinstance(axis, int) or not isinstance(entry, Lookup) or c * d != -1:
        return
    form = affine([(entry, 1)], const * -c)
    for tie in term.ties:
        if tie.second == axis:
            axis, form = tie.first, form - tie.offset
    yield _link(term, axis, form)


def _by_form(term: Parts, constraint: Constraint) -> Iterator[Link]:
    """What a delta says of each axis that it may be solved for, the last first."""
    for axis in sorted(filter(is_axis, solvable(constraint)), reverse=True):
        yield _link(term, axis, solved(constraint.form, axis))


def _link(term: Parts, axis: int, form: Affine) -> Link:
    return Link(axis, form, tuple(term.sizes[x] for x in form.labels))


def _may_stand(link: Link, links: Mapping[int, Link], ties: Sequence[Tie]) -> bool:
    """Whether nothing else gives the axis, and nothing gives the labels."""
    given = {*links, *(tie.second for tie in ties)}
    asked = {x for other in links.values() for x in other.labels}
    return link.axis not in {*links, *asked, *link.labels} and given.isdisjoint(
        link.labels
    )


def _with_pairs(
    constraints: Sequence[Constraint], dims: Sequence[Dim]
) -> list[Constraint]:
    """Two axes of one symbolic dim that are both fixed are tied as well.

    `delta(i, n - 1) * delta(k, n - 1)` says that k is i, besides where both are: so an
    equation at a boundary has the pattern of those inside.
    """
    fixed: dict[Name, Dim] = {}
    for kind, (terms, const) in constraints:
        for label, c in terms:
            if kind == "eq" and len(terms) == 1 and is_axis(label) and abs(c) == 1:
                fixed[label] = const * -c
    half = len(dims) // 2
    found: list[Constraint] = []
    for constraint in constraints:
        kind, (terms, _) = constraint
        label = terms[0][0] if terms else None
        if kind == "eq" and len(terms) == 1 and isinstance(label, int):
            first = label - half
            paired = label in fixed and first in fixed and dims[first] == dims[label]
            if paired and dims[first].constant is None and 2 * half == len(dims):
                shift = fixed[first] - fixed[label]
                constraint = delta({label: 1, first: -1}, shift)
        found.append(constraint)
    return found


def _tie(constraint: Constraint) -> Tie | None:
    kind, (terms, const) = constraint
    if kind != "eq" or len(terms) != 2 or not all(is_axis(x) for x, _ in terms):
        return None
    (first, c), (second, d) = sorted(terms)
    if (c, d) not in ((1, -1), (-1, 1)):
        return None
    return Tie(first, second, const * c)


def _use_first_axes(term: Parts) -> None:
    """Write `x[second]` as `x[first + offset]`, padded where that leaves the axis."""
    for tie in term.ties:
        term.inner = [_on_first(constraint, tie) for constraint in term.inner]
        shifted: Name = ("shifted", tie.second)
        used = False
        factors: list[Factor] = []
        for node, labels in term.factors:
            used |= tie.second in labels
            moved = tuple(shifted if x == tie.second else x for x in labels)
            factors.append((node, moved))
        if used:
            term.factors = factors
            term.sizes[shifted] = term.sizes[tie.second]
            form = {tie.first: 1, shifted: -1}
            term.inner.append(delta(form, tie.offset))


def _on_first(constraint: Constraint, tie: Tie) -> Constraint:
    """A constraint with the second axis of a tie written as the first."""
    moved = affine([(tie.first, 1)], tie.offset)
    return Constraint(constraint.kind, constraint.form.substituted(tie.second, moved))
