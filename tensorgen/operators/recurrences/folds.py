"""Sums over all steps, added up in the steps: nothing asks for all states then.

A sum that reads a row of a recurrence in each of its terms is a state more, to which
each step adds a term. Rows before the first step are added apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constraint,
    Input,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    children,
    delta,
    topological,
)
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    State,
    is_recurrence,
    name_of,
    opened,
    recurrence,
    result_of,
    substituted,
)
from tensorgen.operators.reshape import reshape

STEP = "step"
Labels = Sequence[object]


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


@dataclass(frozen=True)
class _Row:
    """A row of an axis: so far behind the step, or that one at all steps."""

    moves: bool
    at: Dim

    def behind(self, more: Dim) -> _Row:
        """The row so much further on."""
        return _Row(self.moves, self.at + more)


class _Fold:
    """What becomes of a recurrence and of the sums over its steps.

    `known` has nodes in their place, over the recurrence that is `whole` then.
    """

    def __init__(self, graph: Graph, whole: Recurrence, roots: Sequence[Node]) -> None:
        """Look for the outermost sums below the roots."""
        self.graph = graph
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
        self.terms: dict[tuple[Node, int, _Row], Node] = {}
        sums = self._sums(roots)
        self.whole = self._with([term for _, term in sums.values()])
        self.known: dict[Node, Node] = {}
        for call in self.asked:
            self.known[call] = self._result(call)
        for k in range(len(whole.starts)):
            word = name_of(graph, whole, k)
            if word is not None:
                graph.suggest(self.whole.history(graph, k), word)
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
            ends = range(more)
            first = Dim() if self.old.steps.backwards else Dim.of(more)
            low = self.old.steps.count if self.old.steps.backwards else Dim()
            tied = {label: _Row(True, first)}
            self._tied(node.constraints, tied)
            if min(tied) < node.order:
                continue  # entries are taken, and not added up
            known = dict(self.items), dict(self.places), dict(self.terms)
            try:
                apart = [
                    self._product(node, {label: _Row(False, low + k)}) for k in ends
                ]
                return apart, self._product(node, {label: _Row(True, first)})
            except _NoFold:
                self.items, self.places, self.terms = known
        return None

    # A row of a node

    def _at(self, node: Node, axis: int, row: _Row) -> Node:
        """A row of a node, which has one axis less."""
        key = (node, axis, row)
        if key not in self.terms:
            self.terms[key] = self._found(node, axis, row)
        return self.terms[key]

    def _found(self, node: Node, axis: int, row: _Row) -> Node:
        graph = self.graph
        if node not in self.depending:
            return self._rows(node, [axis], [row])
        rest = [k for k in range(node.order) if k != axis]
        sizes: dict[object, Dim] = {k: node.dims[k] for k in rest}
        match node:
            case Call() if node in self.asked:
                return self._state(node, axis, row)
            case Product():
                return self._product(node, {axis: row})
            case Sum():
                terms = [
                    (t.coefficient, *self._use(t.ref, axis, row)) for t in node.terms
                ]
                return graph.sum(rest, terms, sizes)
            case Map():
                args = [self._use(x, axis, row) for x in node.args]
                return graph.map(node.function, rest, args, sizes)
            case Call():
                return self._call(node, axis, row)
        raise _NoFold

    def _use(self, ref: Ref, axis: int, row: _Row) -> tuple[Node, Labels]:
        """An operand at a row of the label `axis`."""
        if ref.labels.count(axis) == 1:
            at = ref.labels.index(axis)
            rest = [x for x in ref.labels if x != axis]
            return self._at(ref.node, at, row), rest
        if ref.node in self.depending or axis in ref.labels:
            raise _NoFold
        return ref

    def _state(self, call: Call, axis: int, row: _Row) -> Node:
        """A state at a step, or what is made there."""
        (result, _), steps = result_of(call), self.old.steps
        made = result - len(self.own.states)
        if axis:
            raise _NoFold
        if not row.moves:
            first = steps.count if steps.backwards else Dim()
            if made < 0 and row.at == first:
                return self.old.starts[result]
            raise _NoFold
        if made >= 0 and row.at == 0:
            return self.own.made[made]
        if made < 0 and row.at in (0, 1):
            before = (row.at == 1) == steps.backwards
            return (self.own.states if before else self.own.new)[result]
        raise _NoFold

    def _call(self, node: Call, axis: int, row: _Row) -> Node:
        """A call whose first axis is none that it works along."""
        if axis or any(arg.dims[:1] != node.dims[:1] for arg in node.args):
            raise _NoFold
        params, dims = dict(node.params), node.dims[1:]
        if node.operator == "reshape":
            return reshape(self.graph, self._at(node.args[0], 0, row), dims)
        names = [name for name in ("axes", "along") if name in params]
        if is_recurrence(node) or not names:
            raise _NoFold
        for name in names:
            own = params[name]
            if not isinstance(own, tuple) or 0 in own:
                raise _NoFold
            params[name] = tuple(along - 1 for along in own)
        args = [self._at(arg, 0, row) for arg in node.args]
        return self.graph.call(node.operator, args, dims, **params)

    def _rows(self, node: Node, axes: Sequence[int], rows: Sequence[_Row]) -> Node:
        """An item: the rows of what is known before, or that one row."""
        graph = self.graph
        labels: list[object] = [*range(node.order)]
        rest = [k for k in range(node.order) if k not in axes]
        moves = any(row.moves for row in rows)
        ties = []
        for axis, row in zip(axes, rows, strict=True):
            labels[axis] = ("row", axis)
            terms: dict[object, int] = {("row", axis): 1}
            terms |= {STEP: -1} if row.moves else {}
            ties.append(delta(terms, -row.at))
        out = [STEP, *rest] if moves else rest
        sizes: dict[object, Dim] = {STEP: self.old.steps.count} if moves else {}
        made = graph.product(out, [(node, labels)], constraints=ties, sizes=sizes)
        return self._item(made) if moves else made

    def _item(self, rows: Node) -> Node:
        if rows not in self.places:
            at = self.graph.fresh(rows.dims[1:], (), index_bound(rows))
            self.places[rows], self.items[at] = at, rows
        return self.places[rows]

    def _product(self, node: Product, rows: dict[int, _Row]) -> Node:
        """A product at rows of some labels, and of those that are tied to them."""
        graph, rows = self.graph, dict(rows)
        kept = self._tied(node.constraints, rows)
        out = [k for k in range(node.order) if k not in rows]
        sizes: dict[object, Dim] = {
            k: dim for k, dim in enumerate(node.sizes) if k not in rows
        }
        if kept is None or any(
            self._is_outside(row, node.sizes[k]) for k, row in rows.items()
        ):
            return graph.zeros([node.dims[k] for k in out])
        factors: list[tuple[Node, Labels]] = []
        for ref in node.factors:
            at = [k for k, label in enumerate(ref.labels) if label in rows]
            rest = [label for label in ref.labels if label not in rows]
            if ref.node not in self.depending:
                own = [rows[ref.labels[k]] for k in at]
                whole = self._rows(ref.node, at, own) if at else ref.node
                factors.append((whole, rest))
            elif len(at) == 1:
                row = rows[ref.labels[at[0]]]
                factors.append((self._at(ref.node, at[0], row), rest))
            else:
                raise _NoFold
        constraints = []
        for one in kept:
            if rows.keys().isdisjoint(one.form.labels):
                constraints.append(one)
            else:
                factors.append(self._mask(one, rows, node))
        return graph.product(
            out,
            factors,
            coefficient=node.coefficient,
            constraints=constraints,
            sizes=sizes,
        )

    def _is_outside(self, row: _Row, size: Dim) -> bool:
        """Whether a row is surely none of an axis."""
        low, high = row.at, row.at
        if row.moves:
            high = high + self.old.steps.count - 1
        return (-1 - high).is_nonnegative() or (low - size).is_nonnegative()

    def _tied(
        self, constraints: Sequence[Constraint], rows: dict[int, _Row]
    ) -> list[Constraint] | None:
        """Find the rows of labels that are tied to others; None if nothing is left.

        Returns the constraints that say more.
        """
        kept = list(constraints)
        while True:
            for one in kept:
                terms = dict(one.form.terms)
                free = [x for x in terms if x not in rows]
                known = [x for x in terms if x in rows]
                if one.kind != "eq" or len(known) != 1 or abs(terms[known[0]]) != 1:
                    continue
                row, sign = rows[known[0]], terms[known[0]]
                if not free:  # the row is one alone
                    other = -sign * one.form.const
                    if not row.moves and row.at == other:
                        kept.remove(one)
                        break
                    gap = row.at - other
                    steps = self.old.steps.count if row.moves else Dim.of(1)
                    over = (gap - 1).is_nonnegative()
                    if over or (-gap - steps).is_nonnegative():
                        return None
                    continue
                label, *more = free
                if not (more or isinstance(label, Lookup) or terms[label] != -sign):
                    rows[label] = row.behind(sign * one.form.const)
                    kept.remove(one)
                    break
            else:
                return kept

    def _mask(
        self, one: Constraint, rows: dict[int, _Row], node: Product
    ) -> tuple[Node, Labels]:
        """Where a constraint holds at a step, as an item."""
        terms: list[tuple[object, int]] = []
        const, moves = one.form.const, False
        for atom, c in one.form.terms:
            if isinstance(atom, Lookup):
                if not rows.keys().isdisjoint(atom.labels):
                    raise _NoFold
                terms.append((atom, c))
            elif atom in rows:
                const = const + c * rows[atom].at
                terms += [(STEP, c)] * rows[atom].moves
                moves = moves or rows[atom].moves
            else:
                terms.append((atom, c))
        form = Affine.of(terms, const)
        rest = [x for x in form.labels if x != STEP]
        sizes: dict[object, Dim] = {x: node.sizes[x] for x in rest}
        if moves:
            sizes[STEP] = self.old.steps.count
        given = Constraint(one.kind, form)
        out = [STEP, *rest] if moves else rest
        made = self.graph.product(out, [], constraints=[given], sizes=sizes)
        return (self._item(made) if moves else made), rest
