"""What steps have computed is kept for who would compute it anew.

Adjoints and tangents of a recurrence read its states, and compute from these what its
steps were made of: gates of a cell, or what normalises the shares of a logsumexp. Where
that takes much longer than to keep a row of it in each step, it is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Map, Node, Product, children, topological
from tensorgen.ir.rebuild import carry_names, substituted, with_operands
from tensorgen.operators.called_values import known_word
from tensorgen.operators.calls import expansion
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.recurrences.all_steps import (
    AllSteps,
    can_be_at_once,
    long_axes,
)
from tensorgen.operators.recurrences.recurrence import (
    Opened,
    Recurrence,
    State,
    is_recurrence,
    opened,
    place,
    recurrence,
    result_of,
)
from tensorgen.operators.word_shapes import fits
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.prices.price_table import ENTRY, STORED_ROW
from tensorgen.prices.thresholds import (
    CACHED,
    GAIN_OF_KEEPING,
    ROOM_OF_ITEMS,
    are_hinted,
)

Ties = dict[Node, dict[Node, None]]
"""What each value is compared with for equality."""


def remember_steps(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with recurrences that keep what others compute anew.

    Ends: each recurrence is looked at once, operands first.
    """
    current, seen = list(roots), set[Recurrence]()
    while True:
        calls = [x for x in topological(current) if is_recurrence(x)]
        found = [x for x in map(Recurrence.of, calls) if x not in seen]
        if not found:
            return current
        current = _kept(context, current, found[0], seen)


def room_of(cost: CostModel, given: Iterable[Node]) -> float:
    """How large the rows may be that are made for the steps, by what they are given."""
    return ROOM_OF_ITEMS * max((cost.size(x.dims) for x in given), default=1.0)


def _kept(
    context: Context, roots: Sequence[Node], whole: Recurrence, seen: set[Recurrence]
) -> list[Node]:
    """Keep what one recurrence computes, if others do so again."""
    if whole.steps.runs is not None:  # few states are kept, on purpose
        seen.add(whole)
        return list(roots)
    graph, steps = context.graph, _Steps(context, whole)
    outside = _outside(steps, roots)
    others = {x: _Anew(steps, x) for x in _recurrences(roots) if x != whole}
    asked = [*outside, *(x for own in others.values() for x in own.kept.values())]
    nodes = list(dict.fromkeys(asked))
    seen.add(whole)
    if not nodes:
        return list(roots)
    better, first = steps.keeping(nodes), len(whole.steps.made)
    seen.add(better)
    rows = {x: better.made(graph, first + k) for k, x in enumerate(nodes)}
    for node, row in rows.items():
        word = _word(graph, node)
        if word and fits(word):
            graph.suggest(row, word)
    known = {at: rows[node] for node, at in outside.items()}
    new: dict[Node, Node] = {}
    for node in topological(roots):
        moved = with_operands(graph, node, new)
        if node in known:
            moved = known[node]
        elif is_recurrence(node) and is_recurrence(moved):
            if Recurrence.of(node) == whole:
                moved = better.like(graph, node)
            elif (own := others[Recurrence.of(node)]).kept:
                root = own.roots[result_of(node)[0]]
                if root in own.kept:  # made anew for all steps
                    moved = rows[own.kept[root]]
                else:
                    moved = own.reading(rows, Recurrence.of(moved)).like(graph, node)
        carry_names(graph, node, moved)
        new[node] = moved
    return [new[root] for root in roots]


def _recurrences(roots: Sequence[Node]) -> list[Recurrence]:
    calls = [x for x in topological(roots) if is_recurrence(x)]
    return list(dict.fromkeys(map(Recurrence.of, calls)))


def is_work(graph: Graph, node: Node) -> bool:
    """Whether numbers are computed, and not merely read, scaled or compared."""
    if isinstance(node, Map) and ELEMENTWISE[node.function].boolean:
        return False
    if not isinstance(node, Product):
        return True
    return len(node.factors) > 1 or (bool(node.inner) and not node.constraints)


def _word(graph: Graph, node: Node) -> str | None:
    """What rows are called after: what a step has a word for, or what is done there."""
    told = (graph.names, graph.suggestions, graph.derived)
    known = next((names[node] for names in told if node in names), None)
    return known or known_word(graph, node)


class _Steps:
    """The steps of a recurrence, over places of their own."""

    def __init__(self, context: Context, whole: Recurrence) -> None:
        self.graph, self.cost, self.whole = context.graph, context.cost, whole
        self.own: Opened = opened(self.graph, whole)
        every = [*self.own.new, *self.own.made]
        self.roots = substituted(self.graph, every, self.own.constants)
        self.items = self.own.given(self.graph)
        self.room = room_of(self.cost, self.items)
        self.computed = set(
            topological(expanded(self.graph, self.roots, self.own.moving))
        )

    def worth(
        self,
        found: Mapping[Node, Node],
        users: Mapping[Node, Collection[Node]],
        ties: Ties,
        gain: float,
        by_steps: bool = False,
    ) -> list[Node]:
        """Those of the nodes `found` that take longer to compute than to keep.

        What is computed anew by steps may have larger rows, if there are few in all.
        They stand for what is computed anew, of which `users` tell what else needs it.
        """
        kept: list[Node] = []
        standing = self._standing(found)
        for node, anew in found.items():
            few = self.cost.size(long_axes(node)) <= self.room
            if not (few or (by_steps and self._is_little(node))):
                standing.discard(node)
            price = STORED_ROW.planned + ENTRY.planned * self.cost.size(node.dims)
            if node in standing and is_work(self.graph, node):
                steps = anew.dims[: anew.order - node.order]
                work = sum(map(self.cost.work, _alone(anew, users)))
                if work > gain * price * self.cost.size(steps):
                    kept.append(node)
        return _with_ties(kept, standing, found, ties)

    def _is_little(self, node: Node) -> bool:
        """Whether rows of a node, one for each step, are few at the sizes hinted at."""
        dims = [self.whole.steps.count, *node.dims]
        return are_hinted(self.cost.hints, dims) and self.cost.size(dims) <= CACHED

    def _standing(self, nodes: Iterable[Node]) -> set[Node]:
        """Those of some nodes that rewrites leave as they are where steps are made."""
        graph, own = self.graph, list(nodes)
        places = (*self.own.states, *self.own.items)
        fresh: dict[Node, Node] = {x: place(graph, x) for x in places}
        with graph.without_rewrites():
            plain = substituted(graph, own, fresh)
        again = substituted(graph, own, fresh)
        return {x for x, a, b in zip(own, plain, again, strict=True) if a is b}

    def keeping(self, nodes: Sequence[Node]) -> Recurrence:
        """The recurrence that makes nodes of a step, too."""
        own, steps, count = self.own, self.whole.steps, len(self.own.states)
        triples = zip(own.states, self.whole.starts, self.roots[:count], strict=True)
        states = [State(*triple) for triple in triples]
        rows = dict(zip(own.items, self.whole.rows, strict=True))
        made = [*self.roots[count:], *nodes]
        return recurrence(self.graph, steps.count, steps.backwards, states, rows, made)


def _with_ties(
    kept: Iterable[Node], able: Collection[Node], found: Mapping[Node, Node], ties: Ties
) -> list[Node]:
    """What is kept, where values that are compared for equality are both, or neither.

    A largest entry of a product that a step kept is none of that product for all steps
    at once, whose last digits are others. So what is compared with a result of steps
    is one too; what is not `able` to be kept keeps none.
    """
    nodes = {anew: node for node, anew in found.items()}
    read = [x for x in found if any(map(_is_read, ties.get(found[x], ())))]
    whole = dict.fromkeys([*kept, *[x for x in read if x in able]])
    waiting = [*whole]
    while waiting:
        node = waiting.pop()
        anew = [x for x in ties.get(found[node], ()) if not _is_read(x)]
        if any(nodes.get(x) not in able for x in anew):
            whole.pop(node)
            continue
        fresh = [nodes[x] for x in anew if nodes[x] not in whole]
        whole.update(dict.fromkeys(fresh))
        waiting += fresh
    return [*whole]


def _is_read(node: Node) -> bool:
    """Whether a value is given, or read of what steps have computed."""
    if isinstance(node, Product) and len(node.factors) == 1:
        return _is_read(node.factors[0].node)
    return not children(node) or is_recurrence(node)


def _ties(graph: Graph, roots: Sequence[Node]) -> Ties:
    """What is compared for equality, in steps too, where rows of values are."""
    found: Ties = {}

    def add(nodes: Iterable[Node], rows: Mapping[Node, Node]) -> None:
        for node in filter(is_tie, topological([*nodes])):
            both = [rows.get(x, x) for x in children(node)]
            for one in both:
                others = (x for x in both if x is not one)
                found.setdefault(one, {}).update(dict.fromkeys(others))

    add(roots, {})
    for whole in _recurrences(roots):
        own = opened(graph, whole)
        add([*own.new, *own.made], dict(zip(own.items, whole.rows, strict=True)))
    return found


def is_tie(node: Node) -> bool:
    """Whether values are compared for equality, as entries with the largest one."""
    return isinstance(node, Map) and node.function == "equal"


def _outside(steps: _Steps, roots: Sequence[Node]) -> dict[Node, Node]:
    """What is made for all steps again, and worth to be kept, by nodes of a step."""
    at_once = AllSteps(steps.graph, steps.whole.steps.count, steps.items)
    order = topological(roots)
    present, found = set(order), dict[Node, Node]()
    inner = _above(steps.roots, steps.own.states)
    for node in topological(steps.roots):
        passing = node in inner and node not in steps.own.new
        if passing and can_be_at_once(node, steps.items):
            every = at_once.of(node)
            if every in present:
                found[node] = every
    users = _users(roots)
    ties = _ties(steps.graph, roots)
    kept = steps.worth(found, users, ties, GAIN_OF_KEEPING)
    by_rows = {every: node for node, every in found.items()}

    def top(node: Node) -> Node:
        """What alone is made of a node, if it is no larger."""
        while len(own := users[found[node]]) == 1 and own[0] in by_rows:
            above = by_rows[own[0]]
            larger = steps.cost.size(above.dims) > steps.cost.size(node.dims)
            if above == node or larger:  # a root needs itself
                break
            node = above
        return node

    return {node: found[node] for node in map(top, kept)}


def _users(roots: Sequence[Node]) -> dict[Node, list[Node]]:
    """Who needs a node; a root needs itself."""
    users: dict[Node, list[Node]] = {}
    for node in topological(roots):
        for child in dict.fromkeys(children(node)):
            users.setdefault(child, []).append(node)
    for root in roots:
        users.setdefault(root, []).append(root)
    return users


def _alone(node: Node, users: Mapping[Node, Collection[Node]]) -> list[Node]:
    """What is computed for a node alone, with it; recurrences go on without it."""
    alone = {node: None}
    for one in reversed(topological([node])[:-1]):
        if not is_recurrence(one) and all(user in alone for user in users[one]):
            alone[one] = None
    return list(alone)


def _above(roots: Sequence[Node], places: Collection[Node]) -> set[Node]:
    """The nodes that depend on places, without these."""
    found: set[Node] = set()
    for node in topological(roots):
        if any(x in found or x in places for x in children(node)):
            found.add(node)
    return found


def expanded(
    graph: Graph, roots: Sequence[Node], places: Collection[Node]
) -> list[Node]:
    """Nodes of a step with calls as what they are made of.

    What does not depend on `places` stays what it is: others know it as that.
    """
    inner = _above(roots, places)
    new: dict[Node, Node] = {}
    with graph.without_rewrites():
        for node in topological(roots):
            found = with_operands(graph, node, new)
            new[node] = (expansion(graph, found) if node in inner else None) or found
            carry_names(graph, node, new[node])
    return [new[root] for root in roots]


class _Anew:
    """What the steps of another recurrence compute anew, by its own nodes: `kept`."""

    def __init__(self, steps: _Steps, other: Recurrence) -> None:
        """Find what depends on states of the first, and on none of its own."""
        self.graph, graph = steps.graph, steps.graph
        self.kept: dict[Node, Node] = {}
        before = {
            steps.whole.before(graph, k): at for k, at in enumerate(steps.own.states)
        }
        alike = other.steps.count == steps.whole.steps.count
        if not alike or other.steps.runs is not None:
            return
        if not any(row in before for row in other.rows):
            return
        self.own: Opened = opened(graph, other)
        every = [*self.own.new, *self.own.made]
        filled = substituted(graph, every, self.own.constants)
        self.roots = expanded(graph, filled, self.own.moving)
        given = {**before, **dict(zip(steps.whole.rows, steps.own.items, strict=True))}
        places: dict[Node, Node] = {
            at: given[row]
            for at, row in zip(self.own.items, other.rows, strict=True)
            if row in given
        }
        states = [at for at, own in places.items() if own in steps.own.states]
        foreign = [x for x in (*self.own.states, *self.own.items) if x not in places]
        inner = _above(self.roots, states) - _above(self.roots, foreign)
        # The others are made for all steps: see `_outside`.
        alone = [x for x in inner if not can_be_at_once(x, self.own.items)]
        order = [x for x in topological(self.roots) if x in set(alone)]
        with graph.without_rewrites():
            moved = substituted(graph, order, places)
        pairs = zip(order, moved, strict=True)
        found = {x: own for x, own in pairs if own in steps.computed}
        # By nodes of this one: several may be one there. A call in each step, too,
        # costs as much as to keep what it gives.
        same = {own: x for x, own in found.items()}
        users = _users(self.roots)
        # What is asked for at all steps is kept first: the rest may follow from it.
        made = self.roots[len(self.own.new) :]
        rows = {own: x for own, x in same.items() if x in made}
        ties = _ties(graph, self.roots)
        kept = steps.worth(rows, users, ties, 1.0, by_steps=True)
        at_hand = [same[own] for own in kept]
        rest = {
            own: x
            for own, x in same.items()
            if own not in rows and not self._follows(x, at_hand)
        }
        kept += steps.worth(rest, users, ties, 1.0, by_steps=True)
        self.kept = {same[own]: own for own in kept}

    def _follows(self, node: Node, kept: Sequence[Node]) -> bool:
        """Whether a node is made for all steps at once, of what is kept."""
        fresh: dict[Node, Node] = {x: place(self.graph, x) for x in kept}
        (moved,) = substituted(self.graph, [node], fresh)
        return bool(kept) and can_be_at_once(moved, [*self.own.items, *fresh.values()])

    def reading(self, rows: Mapping[Node, Node], moved: Recurrence) -> Recurrence:
        """The recurrence with places for what was kept, of other arguments."""
        graph, own, steps = self.graph, self.own, moved.steps
        known: dict[Node, Node] = {}
        items: dict[Input, Node] = dict(zip(own.items, moved.rows, strict=True))
        for node, kept in self.kept.items():
            known[node] = at = graph.fresh(node.dims, (), None)
            items[at] = rows[kept]
        changed = zip(own.constants.values(), moved.constants, strict=True)
        with graph.without_rewrites():
            roots = substituted(graph, self.roots, {**known, **dict(changed)})
        count = len(own.states)
        triples = zip(own.states, moved.starts, roots[:count], strict=True)
        states = [State(*triple) for triple in triples]
        made = roots[count:]
        return recurrence(graph, steps.count, steps.backwards, states, items, made)
