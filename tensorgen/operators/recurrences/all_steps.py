"""What a step of a recurrence computes, for all steps at once: one axis more, in front.

What a state does not wait for needs no loop. The slopes that an adjoint recurrence
multiplies by are of this kind, and all that is done with its states afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, assert_never, cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    children,
    topological,
)
from tensorgen.ir.rebuild import of_others, refs_of, sizes_of
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.defined_calls import is_defined
from tensorgen.operators.external_calls import is_external
from tensorgen.operators.recurrences.recurrence import is_recurrence
from tensorgen.operators.reshape import reshape

STEP = "step"
AXES = "axes", "along"
"""Parameters of calls that are axes."""

FEW = 8
"""An axis of so many entries, four gates or three coordinates, is none that counts."""


def can_be_at_once(node: Node, places: Collection[Node]) -> bool:
    """Whether what is made of places is one array for all steps, and should be.

    An array that has more long axes than any place would take too much memory for that.
    """
    most = max((len(long_axes(x)) for x in places), default=0)
    return has_rows(node, places) and not any(
        len(long_axes(one)) > most and not isinstance(one, Product)
        for one in _varying(node, places)
    )


def has_rows(node: Node, places: Collection[Node]) -> bool:
    """Whether what is made of places can be made of rows of them."""
    return not any(
        isinstance(one, Call) and is_alone(one) for one in _varying(node, places)
    )


def _varying(node: Node, places: Collection[Node]) -> set[Node]:
    """Places, and what is made of them."""
    varying: set[Node] = set()
    for one in topological([node]):
        if one in places or any(child in varying for child in children(one)):
            varying.add(one)
    return varying


def long_axes(node: Node) -> list[Dim]:
    """The axes of an array that may have more than a few entries."""
    return [x for x in node.dims if x.constant is None or x.constant > FEW]


def can_be_summed(node: Node, places: Collection[Node]) -> bool:
    """Whether what is made of places is added up over all steps at once.

    Of sums and products none is larger then than what it is made of.
    """
    match node:
        case Sum(terms=terms):
            return all(can_be_summed(term.node, places) for term in terms)
        case Product(factors=factors):
            return all(can_be_at_once(ref.node, places) for ref in factors)
        case _:
            return can_be_at_once(node, places)


def is_alone(call: Call) -> bool:
    """Whether a call takes no further axis in front."""
    internal = OPERATORS[call.operator].internal
    of_text = is_external(call) or is_defined(call)
    return is_recurrence(call) or of_text or internal


def with_rows(
    graph: Graph, call: Call, args: Sequence[Node], dims: Sequence[Dim]
) -> Node:
    """Return a call of arguments that have axes in front, more than it has or fewer."""
    if call.operator == "reshape":
        return reshape(graph, args[0], dims)
    params, more = dict(call.params), len(dims) - call.order
    for name in AXES:
        if name in params:
            own = cast(tuple[int, ...], params[name])
            params[name] = tuple(axis + more for axis in own)
    return graph.call(call.operator, args, dims, **params)


class AllSteps:
    """Nodes over places, with rows for these: the dual of `At`, which takes axes away.

    Nothing is pushed inside: a node is met once, after its operands, however deep.
    """

    def __init__(self, graph: Graph, count: Dim, rows: Mapping[Any, Node]) -> None:
        self.graph = graph
        self.count = count
        self.rows: dict[Node, Node] = dict(rows)
        self.same: dict[Node, None] = {}

    def of(self, node: Node) -> Node:
        """Return the values at all steps, along the first axis."""
        for one in topological([node], {**self.rows, **self.same}):
            if self._varies(one):
                self.rows[one] = self._found(one)
                self._suggest(one)
            else:
                self.same[one] = None
        return self._spread(node)

    def total(self, node: Node) -> Node:
        """Return the sum of the values over all steps."""
        rows, axes = self.of(node), range(node.order)
        return self.graph.product(axes, [(rows, (STEP, *axes))])

    def _varies(self, node: Node) -> bool:
        """Whether a node has other values at other steps; its operands are known."""
        return any(child in self.rows for child in children(node))

    def _suggest(self, node: Node) -> None:
        if node in self.graph.names:
            self.graph.name(self.rows[node], self.graph.names[node])
        if node in self.graph.suggestions:
            self.graph.suggest(self.rows[node], self.graph.suggestions[node])
        if node in self.graph.derived:
            self.graph.derived.setdefault(self.rows[node], self.graph.derived[node])

    def _spread(self, node: Node) -> Node:
        if node in self.rows:
            return self.rows[node]
        axes = range(node.order)
        known = {STEP: self.count}
        return self.graph.product((STEP, *axes), [(node, axes)], sizes=known)

    def _use(
        self, node: Node, labels: Sequence[int]
    ) -> tuple[Node, tuple[object, ...]]:
        if node in self.rows:
            return self.rows[node], (STEP, *labels)
        return node, tuple(labels)

    def _found(self, node: Node) -> Node:
        match node:
            case Product() | Sum() | Map():
                constraints = node.constraints if isinstance(node, Product) else ()
                return of_others(
                    self.graph,
                    node,
                    self._out(node),
                    [self._use(x, labels) for x, labels in refs_of(node)],
                    {**sizes_of(node), STEP: self.count},
                    map(self._constraint, constraints),
                )
            case Call():
                return self._call(node)
            case Input() | Constant() | Size() | Iota():
                raise ValueError("a leaf is no place")
            case _:
                assert_never(node)

    def _out(self, node: Product | Sum | Map) -> tuple[object, ...]:
        """The labels of the axes of what a node is at all steps."""
        return STEP, *range(node.order)

    def _constraint(self, one: Constraint) -> Constraint:
        return one.over(lambda at: Lookup(*self._use(*at)))

    def _call(self, node: Call) -> Node:
        args = [self._spread(arg) for arg in node.args]
        return with_rows(self.graph, node, args, (self.count, *node.dims))
