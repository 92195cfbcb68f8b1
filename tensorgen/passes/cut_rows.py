"""Cut: what each block of rows gives in a round, and what is made of the totals.

Nodes are visited operands first, and each gets a place (`row_places`) and a node that
gives it there: over the rows of one block, and over what is known everywhere. What is a
sum over blocks and is needed whole becomes a total, an input from then on that is known
a round later. So a factor that is known later stays outside of a sum, and a difference
inside: `sum((x - mean)**2)` is a second round, and loses no digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, assert_never

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    Term,
    children,
    topological,
)
from tensorgen.ir.rebuild import carry_names, of_others, sizes_of
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.recurrences.recurrence import Recurrence, is_recurrence
from tensorgen.passes.row_places import Place, RowAxis, RowsRefused, latest
from tensorgen.passes.views import degree, is_entries


class Held(NamedTuple):
    """Where a value is, and the node that gives it there."""

    place: Place
    node: Node

    @property
    def round(self) -> int:
        """After how many rounds it is known."""
        return self.place.round


@dataclass(frozen=True)
class Total:
    """What blocks give in a round, `of` their rows, joined by `step`.

    It is the input `given` to whatever comes later. Sums of exponentials are joined
    with a look at what they are above, the total `above`.
    """

    given: Input
    of: Node
    round: int
    step: str = "add"
    above: Input | None = None


@dataclass(frozen=True)
class _Part:
    """A factor or a constraint of a product, in the group of its label of rows."""

    group: int | None
    round: int
    labels: tuple[Label, ...]
    factor: Node | None = None
    constraint: Constraint | None = None


class RowCut:
    """Cuts values into what blocks of rows give, and what is made of it."""

    def __init__(
        self, graph: Graph, axis: RowAxis, called: Callable[[str], str]
    ) -> None:
        """Start without totals; an argument gets the name that is `called` for.

        Totals get names that none but code inside has: who knows all gives them others.
        """
        self.graph, self.axis, self.called = graph, axis, called
        self.totals: list[Total] = []
        self.counts: dict[str, str] = {}
        """What the numbers of all rows, and of entries that come along, are called."""
        self.first: Input | None = None
        """The number of a block's first row, if anything asks for it."""
        self._held: dict[Node, Held] = {}
        self._made: dict[tuple[Node, int, str], Held] = {}

    def cut(self, roots: Sequence[Node]) -> list[Held]:
        """Return where each root is; none is a sum. Raises `RowsRefused`."""
        self._visit(roots)
        return [self._whole(root) for root in roots]

    # What starts a round

    def steady(self, nodes: Sequence[Node]) -> list[Node]:
        """The largest values that are the same for all blocks and take some work."""
        totals = {total.given.name for total in self.totals}
        own: dict[Node, bool] = {}
        heavy: dict[Node, bool] = {}
        for node in topological(nodes):
            below = children(node)
            has_rows = any(self.axis.has(dim) for dim in node.dims)
            own[node] = has_rows or node is self.first or any(own[x] for x in below)
            # To read entries is no work.
            works = isinstance(node, Call) or (
                isinstance(node, Product) and bool(node.inner) and not is_entries(node)
            )
            given = isinstance(node, Input) and node.name in totals
            heavy[node] = works or given or any(heavy[x] for x in below)
        found: dict[Node, None] = {}
        for node in topological(nodes):
            for x in children(node) if own[node] else ():
                plain = isinstance(x, Input | Constant | Size | Iota)
                if not own[x] and heavy[x] and not plain:
                    found[x] = None
        return [*found]

    # Places

    def _visit(self, roots: Iterable[Node]) -> None:
        for node in topological(roots):
            if node not in self._held:
                found = self._held[node] = self._at(node)
                carry_names(self.graph, node, found.node)

    def _whole(self, node: Node) -> Held:
        """A value that is no sum any more."""
        found = self._held[node]
        if found.place.kind != "sum":
            return found
        return self._total(found.node, found.round)

    def _total(
        self, local: Node, round_: int, step: str = "add", above: Input | None = None
    ) -> Held:
        """What blocks give, joined."""
        key = local, round_, step
        if key not in self._made:
            given = self.graph.input(f"total {len(self.totals)}", local.dims)
            assert isinstance(given, Input)
            self.totals.append(Total(given, local, round_, step, above))
            self._made[key] = Held(Place("everywhere", round_ + 1), given)
        return self._made[key]

    def _placed(self, node: Node, rounds: Iterable[int]) -> Place:
        """Where a value is that is made of others, which are not sums."""
        has_rows = self.axis.axis_of(node) is not None
        return Place("rows" if has_rows else "everywhere", latest(rounds))

    def _at(self, node: Node) -> Held:
        place = self._placed(node, ())
        match node:
            case Input() | Constant():
                return Held(place, node)
            case Size():
                return Held(place, self._size(node))
            case Iota():
                return Held(
                    place, self._numbers(node) if place.kind == "rows" else node
                )
            case Product():
                return self._product(node)
            case Sum():
                return self._sum(node)
            case Map():
                parts = [self._whole(x) for x, _ in node.args]
                uses = [(p.node, x) for p, (_, x) in zip(parts, node.args, strict=True)]
                made = of_others(
                    self.graph, node, range(node.order), uses, sizes_of(node)
                )
                return Held(self._placed(node, (p.round for p in parts)), made)
            case Call():
                return self._call(node)
            case _:
                assert_never(node)

    # What counts rows

    def _size(self, node: Size) -> Node:
        """A size, where that of all rows is an argument."""
        own = [x for x in node.value.symbols if x in self.axis.sizes]
        for size in own:
            self.counts.setdefault(size, self.called(f"all_{size}"))
        terms = (
            (tuple(self.counts.get(x, x) for x in monomial), coefficient)
            for monomial, coefficient in node.value.terms
        )
        return self.graph.size(Dim(terms)) if own else node

    def _numbers(self, node: Iota) -> Node:
        """The numbers of rows: those of a block start at its first row."""
        if str(node.dims[0]) != self.axis.size:
            raise RowsRefused(node, "it counts entries that come with rows")
        if self.first is None:
            given = self.graph.input(self.called(f"first_{self.axis.size}"), ())
            assert isinstance(given, Input)
            self.first = given
        terms: list[tuple[int, Node, tuple[int, ...]]] = [(1, node, (0,))]
        terms.append((1, self.first, ()))
        return self.graph.sum((0,), terms)

    # Products

    def _product(self, node: Product) -> Held:
        self.axis.axis_of(node)
        groups = self.axis.groups(node)
        parts = self._parts(node, groups)
        kept = [k for k, own in enumerate(groups) if min(own) < node.order]
        if len(kept) > 1:
            raise RowsRefused(node, "it multiplies different rows with each other")
        summed = [k for k in range(len(groups)) if k not in kept]
        for k in summed:
            inside, rest = self._inside(node, k, parts)
            labels = self._labels(node, inside, rest)
            round_ = latest(p.round for p in inside)
            local = self._multiplied(node, labels, inside)
            if not rest and labels == tuple(range(node.order)):
                return Held(
                    Place("sum", round_), self.graph.scale(local, node.coefficient)
                )
            total = self._total(local, round_)
            parts = [*rest, _Part(None, total.round, labels, total.node)]
        made = self._multiplied(node, tuple(range(node.order)), parts)
        made = self.graph.scale(made, node.coefficient)
        return Held(self._placed(node, (p.round for p in parts)), made)

    def _parts(self, node: Product, groups: Sequence[set[int]]) -> list[_Part]:
        of = {x: k for k, own in enumerate(groups) for x in own}
        found = []
        for factor, labels in node.factors:
            held = self._whole(factor)
            group = next((of[x] for x in labels if x in of), None)
            found.append(_Part(group, held.round, labels, held.node))
        for one in node.constraints:
            labels = tuple(dict.fromkeys(one.form.labels))
            looked_up = [x.node for x, _ in one.form.terms if isinstance(x, Lookup)]
            rounds = latest(self._whole(x).round for x in looked_up)
            new = one.over(lambda at: at._replace(node=self._whole(at.node).node))
            group = next((of[x] for x in labels if x in of), None)
            found.append(_Part(group, rounds, labels, constraint=new))
        return found

    def _inside(
        self, node: Product, group: int, parts: Sequence[_Part]
    ) -> tuple[list[_Part], list[_Part]]:
        """What is multiplied before rows of a group are added up, and what after.

        What has no rows is inside where that makes what is added up smaller: in
        `X.T @ (X @ v)` it is v, in `(X.T @ s) @ A` it is not A. A matrix that rows pick
        entries of is inside, too.
        """
        inside = [p for p in parts if p.group == group]
        rest = [p for p in parts if p.group != group]
        waiting = True
        while waiting:
            waiting = False
            own = self._labels(node, inside, rest)
            for p in rest:
                if p.group is not None or not {*p.labels} & {*own}:
                    continue
                more, less = [*inside, p], [x for x in rest if x is not p]
                after = self._labels(node, more, less)
                before = degree(node.sizes[x] for x in own)
                smaller = before - degree(node.sizes[x] for x in after)
                if smaller > 0 or (smaller == 0 and self._is_picked(p, inside)):
                    inside, rest, waiting = more, less, True
                    break
        return inside, rest

    @staticmethod
    def _is_picked(part: _Part, inside: Sequence[_Part]) -> bool:
        """Whether rows look up which entries of a factor they multiply."""
        tied = {x for p in inside if p.constraint is not None for x in p.labels}
        return not tied.isdisjoint(part.labels)

    @staticmethod
    def _labels(
        node: Product, inside: Sequence[_Part], rest: Sequence[_Part]
    ) -> tuple[Label, ...]:
        """The labels over which a part of a product is an array."""
        outside = {*range(node.order), *(x for p in rest for x in p.labels)}
        return tuple(sorted({x for p in inside for x in p.labels} & outside))

    def _multiplied(
        self, node: Product, labels: Sequence[Label], parts: Sequence[_Part]
    ) -> Node:
        """The product of some parts over some labels; all others are summed."""
        used = {*labels, *(x for p in parts for x in p.labels)}
        return self.graph.product(
            labels,
            [(p.factor, p.labels) for p in parts if p.factor is not None],
            constraints=[p.constraint for p in parts if p.constraint is not None],
            sizes={x: node.sizes[x] for x in sorted(used)},
        )

    # Sums

    def _sum(self, node: Sum) -> Held:
        """A sum; terms that blocks add up in one round are one total."""
        place = self._placed(node, ())
        apart = [t for t in node.terms if self._held[t.node].place.kind == "sum"]
        axes = tuple(range(node.order))
        if place.kind == "everywhere" and apart:
            rounds = {self._held[t.node].round for t in apart}
            whole = all(t.labels == axes for t in apart)
            if len(apart) == len(node.terms) and len(rounds) == 1 and whole:
                return Held(Place("sum", rounds.pop()), self._added(node, apart))
        terms: list[tuple[Term, Held]] = []
        groups: dict[tuple[int, tuple[Label, ...]], list[Term]] = {}
        for term in node.terms:
            held = self._held[term.node]
            if held.place.kind == "sum" and place.kind == "everywhere":
                groups.setdefault((held.round, term.labels), []).append(term)
            else:
                terms.append((term, self._whole(term.node)))
        for (round_, labels), own in groups.items():
            if len(own) == 1:
                terms.append((own[0], self._whole(own[0].node)))
                continue
            local = self._added(node, own, labels)
            total = self._total(local, round_)
            terms.append((Term(Fraction(1), total.node, labels), total))
        made = self.graph.sum(
            axes,
            [(t.coefficient, held.node, t.labels) for t, held in terms],
            sizes_of(node),
        )
        return Held(self._placed(node, (held.round for _, held in terms)), made)

    def _added(
        self, node: Sum, terms: Sequence[Term], labels: Sequence[Label] | None = None
    ) -> Node:
        out = range(node.order) if labels is None else labels
        uses = [(t.coefficient, self._held[t.node].node, t.labels) for t in terms]
        return self.graph.sum(out, uses, {x: node.dims[x] for x in out})

    # Functions of whole arrays

    def _call(self, node: Call) -> Held:
        args = [self._whole(x) for x in node.args]
        rounds = latest(held.round for held in args)
        made = self._again(node, [held.node for held in args])
        row = OPERATORS[node.operator]
        axes = [self.axis.axis_of(x) for x in node.args]
        if all(axis is None for axis in axes):
            if self.axis.axis_of(node) is not None:
                raise RowsRefused(node, f"'{node.operator}' makes rows")
            return Held(Place("everywhere", rounds), made)
        if is_recurrence(node):
            self._check_steps(node)
            return Held(Place("rows", rounds), made)
        if self._is_batch(node, axes):
            return Held(Place("rows", rounds), made)
        if row.params == ("axes",):
            if axes[0] not in dict(node.params)["axes"]:  # type: ignore[operator]
                return Held(self._placed(node, [rounds]), made)
            if row.of_block is not None:
                local = row.of_block(self.graph, made)
                above = self._top(node) if row.step == EXP_SUM else None
                return self._total(local, rounds, row.step, above)
            if row.by_reductions is not None:
                with self.graph.without_rewrites():
                    other = row.by_reductions(self.graph, node)
                self._visit([other])
                return self._held[other]
        raise RowsRefused(node, f"'{node.operator}' needs all rows at once", OF_CALLS)

    def _check_steps(self, node: Call) -> None:
        """Refuse steps that are along the rows, or that do not leave rows apart."""
        steps = Recurrence.of(node).steps
        if self.axis.has(steps.count):
            raise RowsRefused(node, "it steps from row to row")
        inner = RowCut(self.graph, self.axis, self.called)
        inner.cut(steps.roots)
        alone = not (inner.totals or inner.counts or inner.first)
        if not alone or self.axis.axis_of(node) is None:
            raise RowsRefused(node, "each of its steps needs all rows")

    def _top(self, node: Call) -> Input:
        """The total of the largest entries, above which exponentials are added up."""
        args, params = node.args, dict(node.params)
        top = self.graph.call("supremum", args, node.dims, **params)
        self._visit([top])
        found = self._held[top].node
        assert isinstance(found, Input)
        return found

    def _is_batch(self, node: Call, axes: Sequence[int | None]) -> bool:
        """Whether each row of the result follows from one row of the arguments."""
        row, own = OPERATORS[node.operator], self.axis.axis_of(node)
        if own is None:
            return False
        if row.subscripts:
            given, _, out = row.subscripts.partition("->")
            labels = {
                names[axis]
                for names, axis in zip(given.split(","), axes, strict=True)
                if axis is not None
            }
            read = sum(out[own] in names for names in given.split(","))
            return labels == {out[own]} and read == 1
        return bool(row.matrix_axes) and all(
            axis == own and axis < x.order - row.matrix_axes
            for axis, x in zip(axes, node.args, strict=True)
        )

    def _again(self, node: Call, args: Sequence[Node]) -> Call:
        return self.graph.call(node.operator, args, node.dims, **dict(node.params))


EXP_SUM = "exp_sum"
OF_CALLS = (
    "sums, means, max, min, logsumexp, softmax and norms over rows are put together "
    "from blocks"
)
