"""Sums over all steps, added up in the steps: nothing asks for all states then.

A sum that reads a row of a recurrence in each of its terms is a state more, to which
each step adds a term. Rows before the first step are added apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, cast

from tensorgen.ir.at import At, Place, Places
from tensorgen.ir.constraints import index_bound, solvable
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constraint,
    Input,
    Node,
    Product,
    Ref,
    affine,
    children,
    constant_value,
    topological,
)
from tensorgen.ir.rebuild import Use, substituted
from tensorgen.operators.recurrences.all_steps import AXES, STEP, with_rows
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    State,
    call_state,
    is_recurrence,
    name_of,
    opened,
    recurrence,
    result_of,
)


def folded(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums over the steps of recurrences that have checkpoints."""
    roots, done = list(roots), set[Recurrence]()
    while True:
        found = (Recurrence.of(x) for x in topological(roots) if is_recurrence(x))
        left = (x for x in found if x.steps.checkpoint is not None and x not in done)
        whole = next(left, None)
        if whole is None:
            return roots
        fold = _Fold(graph, whole, roots)
        roots = substituted(graph, roots, fold.known)
        done.add(fold.whole)


class _NoFold(Exception):
    """What a sum adds up is no step's."""


class _Fold(At):
    """What becomes of a recurrence and of the sums over its steps.

    Nodes are read at rows: those of all steps, or one alone. At a step they are nodes
    over places, and so the step is no label of theirs: what has rows is an item.

    `known` has nodes in their place, over the recurrence that is `whole` then.
    """

    def __init__(self, graph: Graph, whole: Recurrence, roots: Sequence[Node]) -> None:
        """Look for the outermost sums below the roots."""
        super().__init__(graph, {STEP: whole.steps.count})
        self.old = whole
        self.own = opened(graph, whole)
        self.order = topological(roots)
        found = (x for x in self.order if is_recurrence(x))
        self.asked = [x for x in found if Recurrence.of(x) == whole]
        self.depending: set[Node] = {x for x in self.asked if result_of(x)[1]}
        for node in self.order:
            if any(child in self.depending for child in children(node)):
                self.depending.add(node)
        pairs = zip(self.own.items, whole.rows, strict=True)
        self.items: dict[Input, Node] = dict(pairs)
        self.places: dict[Node, Input] = {}
        sums = self._sums(roots)
        self.whole = self._with([term for _, term in sums.values()])
        self.known: dict[Node, Node] = {}
        for call in self.asked:
            self.known[call] = self._result(call)
        for k in range(len(whole.starts)):
            word = name_of(graph, whole, k)
            if word is not None:
                call_state(graph, self.whole, k, word)
        for number, (node, (ends, _)) in enumerate(sums.items(), len(whole.starts)):
            total = self.whole.last(graph, number)
            if node in graph.names:
                graph.suggest(total, graph.names[node])
            out = range(node.order)
            self.known[node] = graph.sum(out, [(1, x, out) for x in (*ends, total)])

    def _with(self, terms: Sequence[Node]) -> Recurrence:
        """The recurrence that adds up terms beside its states."""
        graph, own, steps = self.graph, self.own, self.old.steps
        starts = zip(own.states, self.old.starts, own.new, strict=True)
        states = [State(at, start, new) for at, start, new in starts]
        for term in terms:
            at = graph.fresh(term.dims, (), None)
            states.append(State(at, graph.zeros(term.dims), graph.add(at, term)))
        states = [
            State(x.place, x.start, substituted(graph, [x.new], own.constants)[0])
            for x in states
        ]
        made = substituted(graph, own.made, own.constants)
        given = graph, steps.count, steps.backwards, states, self.items, made
        return recurrence(*given, checkpoint=steps.checkpoint)

    def _result(self, call: Node) -> Node:
        """The same result of the recurrence that adds up."""
        assert isinstance(call, Call)
        result, every = result_of(call)
        made = result - len(self.old.starts)
        if made >= 0:
            return self.whole.made(self.graph, made)
        return (self.whole.history if every else self.whole.last)(self.graph, result)

    # Which sums

    def _sums(self, roots: Iterable[Node]) -> dict[Node, tuple[list[Node], Node]]:
        """The outermost sums: what they have apart from steps, and a step's term."""
        found: dict[Node, tuple[list[Node], Node]] = {}
        waiting, seen = list(roots), set[Node]()
        while waiting:
            node = waiting.pop()
            if node in seen or node not in self.depending or node in self.asked:
                continue
            seen.add(node)
            own = self._summed(node) if isinstance(node, Product) else None
            if own is None:
                waiting += children(node)
            else:
                found[node] = own
        return {x: found[x] for x in self.order if x in found}

    def _summed(self, node: Product) -> tuple[list[Node], Node] | None:
        """A product as a sum over the rows of some label."""
        read = [x for x in node.factors if x.node in self.depending]
        for label in range(node.order, len(node.sizes)):
            if not any(label in labels for _, labels in read):
                continue
            more = (node.sizes[label] - self.old.steps.count).constant
            if more is None or more < 0:
                continue
            backwards, count = self.old.steps.backwards, self.old.steps.count
            every = affine([(STEP, 1)], 0 if backwards else more)
            if self._is_taken(node, {label: every}):
                continue
            low = count if backwards else Dim()
            rows = [*(affine([], low + k) for k in range(more)), every]
            known = dict(self.items), dict(self.places), dict(self._known)
            try:
                *apart, term = [self.product(node, {label: at}) for at in rows]
                return apart, term
            except _NoFold:
                self.items, self.places, self._known = known
        return None

    def _is_taken(self, node: Product, places: Places) -> bool:
        """Whether entries are taken at an axis of the result, and not added up."""
        left = self.solve(node, list(node.constraints), places)
        tied = [c for c in left if not places.keys().isdisjoint(c.form.labels)]
        return any(
            x < node.order and {*c.form.labels} - {*places} == {x}
            for c in tied
            for x in solvable(c)
        )

    # A row of a node

    def labels(self, place: Sequence[Affine | None]) -> list[Any]:
        """The labels of what is at rows: the step is none."""
        return [x for x in super().labels(place) if x != STEP]

    def ends(self, node: Node, place: Place) -> bool:
        """Whether the rows of a node are known before."""
        return node not in self.depending

    def contains(self, form: Affine, size: Dim) -> bool:
        """Also of rows that some step may lack: an item is 0 there, a state none."""
        return STEP in form.labels or super().contains(form, size)

    def found(self, node: Node, place: Place) -> Node:
        """A node at rows, or at those of all steps."""
        if not isinstance(node, Call) or node not in self.depending:
            return super().found(node, place)
        first, *rest = place
        if first is None or _moves(rest):
            raise _NoFold
        if any(form is not None for form in rest):
            row = self.of(node, (first, *[None] * len(rest)))
            return self.entries(row, tuple(rest), self.labels(rest))
        read = self._state if node in self.asked else self._call
        return read(node, first)

    def entries(self, node: Node, place: Place, out: Sequence[Hashable]) -> Node:
        """An item: the rows of what is known before; or what is the same at all."""
        if node in self.depending:
            raise _NoFold
        if _moves(place):
            return self._item(super().entries(node, place, [STEP, *out]))
        return super().entries(node, place, out)

    def use(self, ref: Ref, places: Places) -> Use:
        """An operand at rows."""
        if ref.node in self.depending and places.keys().isdisjoint(ref.labels):
            raise _NoFold
        return super().use(ref, places)

    def _item(self, rows: Node) -> Node:
        value = constant_value(rows)
        if value is not None:
            return self.graph.constant(value, rows.dims[1:])
        if rows not in self.places:
            at = self.graph.fresh(rows.dims[1:], (), index_bound(rows))
            self.places[rows], self.items[at] = at, rows
        return self.places[rows]

    def _state(self, call: Call, row: Affine) -> Node:
        """A state at a step, or what is made there."""
        (result, _), steps = result_of(call), self.old.steps
        made = result - len(self.own.states)
        if not row.terms:
            first = steps.count if steps.backwards else Dim()
            if made < 0 and row.const == first:
                return self.old.starts[result]
            raise _NoFold
        if made >= 0 and row == affine([(STEP, 1)]):
            return self.own.made[made]
        if made < 0 and row.terms == ((STEP, 1),) and row.const in (0, 1):
            before = (row.const == 1) == steps.backwards
            return (self.own.states if before else self.own.new)[result]
        raise _NoFold

    def _call(self, node: Call, row: Affine) -> Node:
        """A call whose first axis is none that it works along."""
        if is_recurrence(node) or any(x.dims[:1] != node.dims[:1] for x in node.args):
            raise _NoFold
        along = [node.param(name) for name in AXES if name in dict(node.params)]
        if node.operator != "reshape" and (
            not along or any(0 in cast(tuple[int, ...], axes) for axes in along)
        ):
            raise _NoFold
        args = [self.of(x, (row, *[None] * (x.order - 1))) for x in node.args]
        return with_rows(self.graph, node, args, node.dims[1:])

    def kept(
        self, constraints: Sequence[Constraint], sizes: Mapping[Any, Dim]
    ) -> tuple[list[Use], list[Constraint]]:
        """Where constraints hold at a step is an item; others stay."""
        known, masks, left = {**sizes, **self.sizes}, list[Use](), list[Constraint]()
        for one in constraints:
            rest = [x for x in one.form.labels if x != STEP]
            if rest == [*one.form.labels] != []:
                left.append(one)
                continue
            out = [STEP, *rest]
            made = self.graph.product(
                out, [], constraints=[one], sizes={x: known[x] for x in out}
            )
            masks.append((self._item(made), rest))
        return masks, left


def _moves(place: Sequence[Affine | None]) -> bool:
    """Whether other steps read other entries."""
    return any(form is not None and STEP in form.labels for form in place)
