"""Factor: terms of a sum that share a factor are added up beside it.

`sum_t A_t * D` becomes `(sum_t A_t) * D`. This keeps a network's Hessian from ever
holding a fourth-order tensor: `x_b * x_d` moves outside and `M_ac` stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Sum, only_below
from tensorgen.operators.scalar import infinite
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.passes.views import Name, View
from tensorgen.prices.limits import CANDIDATES_A_SUM, TRIALS_A_SUM, TRIALS_IN_ALL
from tensorgen.prices.thresholds import SHARE_OF_FACTORED


@dataclass
class Effort:
    """What was spent on a graph: priced candidates, and terms by distributing.

    Sums that were `factored` are kept: rounds and steps in another order meet in them.
    """

    trials: int = 0
    terms: int = 0
    factored: dict[tuple[Node, tuple[bool, ...]], Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidate:
    """A factor that several terms share: its place in the view of each."""

    places: tuple[tuple[int, int], ...]
    saving: float
    free: bool  # every term has it, and to move it outside never costs


def factor_sum(
    graph: Graph,
    node: Node,
    cost: CostModel,
    opens: Callable[[Node], bool],
    *,
    root: bool = False,
    effort: Effort | None = None,
) -> Node:
    """Return a sum with common factors outside, the largest saving first.

    Fires where the modelled cost falls; not where a rest would keep a delta that the
    factor shares labels with, since `p[i] * (delta(i, j) - p[j])` would have to be
    materialised. At the `root` of what is stored, a factor of all terms moves outside
    if no rest has one of its axes, deltas or not: it leaves an array without that axis.
    `opens` says which terms may be looked into; `effort` is that on the graph so far.
    Ends: each step lowers the number of factors over all terms, and after TRIALS_A_SUM
    trials no second one is made of a sum.
    """
    spent = effort or Effort()
    known, before = spent.factored, spent.trials

    def again(rest: Node) -> Node:
        if not isinstance(rest, Sum):
            return rest
        key = rest, tuple(opens(term.node) for term in rest.terms)
        if key not in known:
            known[key] = tried(rest)
        return known[key]

    def tried(rest: Sum) -> Node:
        views = _views(rest, opens)
        found = sorted(_candidates(rest, views, cost, root), key=lambda c: -c.saving)
        if spent.trials > TRIALS_IN_ALL:
            found = [candidate for candidate in found if candidate.free]
        for candidate in found[:CANDIDATES_A_SUM]:
            spent.trials += 1
            better = _factored(graph, rest, views, candidate, again)
            if candidate.free or pays(graph, rest, better, cost, SHARE_OF_FACTORED):
                return better
            if spent.trials > before + TRIALS_A_SUM:
                break
        return rest

    return again(node)


def _views(node: Sum, opens: Callable[[Node], bool]) -> list[View]:
    views = []
    for t, term in enumerate(node.terms):
        view = View(term.coefficient)
        tag = ("term", t) if opens(term.node) else None
        view.add(term.node, term.labels, tag)
        views.append(view)
    return views


def _is_axis(label: Name) -> bool:
    return isinstance(label, int)


def _candidates(
    node: Sum, views: Sequence[View], cost: CostModel, root: bool
) -> Iterator[Candidate]:
    places: dict[tuple[object, ...], dict[int, int]] = {}
    for t, view in enumerate(views):
        for k, (factor, labels) in enumerate(view.factors):
            if infinite(factor):  # times 0, as beside patterns, it would be no number
                continue
            # A repeated summed label (a trace) would need matching of its own.
            summed = [x for x in labels if not _is_axis(x)]
            if len(set(summed)) == len(summed):
                pattern = tuple(x if _is_axis(x) else None for x in labels)
                places.setdefault((factor, pattern), {}).setdefault(t, k)
    left = cache(lambda t, k: _rest_labels(views[t], k))
    for at in _parts(places.values(), left):
        mine: set[Name] = set()
        rest: set[Name] = set()
        for t, k in at.items():
            mine.update(views[t].factors[k][1])
            rest.update(left(t, k))
        alone = {x for x in mine - rest if _is_axis(x)}
        free = len(at) == len(views) and bool(alone if root else not mine & rest)
        if not (rest or mine):
            continue
        if not free and any(views[t].constraints for t in at):
            continue
        first, k = next(iter(at.items()))
        every = set(views[first].factors[k][1]) | {x for x in rest if _is_axis(x)}
        sizes: dict[Name, Dim] = dict(views[first].sizes)
        sizes.update(enumerate(node.dims))
        saving = (len(at) - 1) * cost.size(sizes[x] for x in every)
        yield Candidate(tuple(at.items()), saving, free)


def _parts(
    shared: Iterable[dict[int, int]], left: Callable[[int, int], Iterable[Name]]
) -> Iterator[dict[int, int]]:
    """Terms that share a factor: all of them, and those whose rests have equal axes.

    `left` has the labels of a term without one of its factors.

    `E @ a + E @ b + c * (E @ d)`, all of vectors, is `E @ (a + b) + c * (E @ d)`: the
    sum of all rests is a matrix.
    """
    for at in shared:
        if len(at) < 2:
            continue  # most factors
        alike: dict[frozenset[Name], dict[int, int]] = {}
        for t, k in at.items():
            axes = frozenset(x for x in left(t, k) if _is_axis(x))
            alike.setdefault(axes, {})[t] = k
        groups = [at, *alike.values()] if len(alike) > 1 else [at]
        yield from (group for group in groups if len(group) > 1)


def _rest_labels(view: View, place: int) -> dict[Name, None]:
    """The labels of a term without a factor, in an order that names depend on."""
    factors = [xs for k, (_, xs) in enumerate(view.factors) if k != place]
    found = dict.fromkeys(x for xs in factors for x in xs)
    for constraint in view.constraints:
        found.update(dict.fromkeys(constraint.form.labels))
    return found


def _factored(
    graph: Graph,
    node: Sum,
    views: Sequence[View],
    candidate: Candidate,
    again: Callable[[Node], Node],
) -> Node:
    """Pull the candidate's factor out of its terms; `again` factors what is left."""
    places = dict(candidate.places)
    first, place = candidate.places[0]
    factor, pattern = views[first].factors[place]
    shared = tuple(x if _is_axis(x) else ("shared", a) for a, x in enumerate(pattern))
    sizes: dict[Name, Dim] = dict(zip(shared, factor.dims, strict=True))
    sizes.update(enumerate(node.dims))
    rests: list[View] = []
    axes: dict[Name, None] = {}
    for t, k in places.items():
        names = dict(zip(views[t].factors[k][1], shared, strict=True))
        rest = _renamed_rest(views[t], k, names)
        left = _rest_labels(rest, -1)
        axes.update(dict.fromkeys(x for x in sizes if x in left))
        rests.append(rest)
    out = [x for x in sizes if x in axes]
    for rest in rests:
        rest.sizes.update({x: sizes[x] for x in out})
    terms = [(1, rest.product(graph, out), out) for rest in rests]
    residual = graph.sum(out, terms, {x: sizes[x] for x in out})
    residual = again(residual)
    view = View(sizes=dict(enumerate(node.dims)))
    view.add(factor, shared)
    view.add(residual, out, "residual")
    product = view.product(graph, range(node.order))
    others = [t for k, t in enumerate(node.terms) if k not in places]
    whole = graph.sum(range(node.order), [*others, (1, product, range(node.order))])
    return again(whole) if others else whole


def _renamed_rest(view: View, place: int, names: dict[Name, Name]) -> View:
    def name(label: Name) -> Name:
        return names.get(label, label)

    left = _rest_labels(view, place)
    return View(
        view.coefficient,
        [
            (n, tuple(map(name, xs)))
            for k, (n, xs) in enumerate(view.factors)
            if k != place
        ],
        [c.renamed(name) for c in view.constraints],
        # Some labels stand in constraints alone.
        {name(label): dim for label, dim in view.sizes.items() if label in left},
    )


def pays(
    graph: Graph,
    before: Node,
    after: Node,
    cost: CostModel,
    share: float,
) -> bool:
    """Whether the best order of another form leaves at most this share of the cost."""
    # What both need, their common factors, says nothing about either.
    ordered = order_contractions(graph, [before, after], cost, anew=False)
    first, second = only_below(*ordered)
    graph.effort.spend((len(first) + len(second)) // 8)
    return sum(map(cost.work, second)) < share * sum(map(cost.work, first))
