"""What calls of definitions add up to over all steps, without a step for each.

A parameter of a definition gets a cotangent from every call in every step. The rows of
what a call takes are known once the steps are done: so one call for all of them, of
what the definition adds up to, is all that there is to add. Only what calls hand to
each other is left to the steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, Product, Sum, children, topological
from tensorgen.ir.rebuild import of_others, refs_of, sizes_of
from tensorgen.operators.defined_calls import (
    Defined,
    Made,
    defined_of,
    is_defined,
    made_of,
    result_of,
)
from tensorgen.operators.recurrences.all_steps import AllSteps, can_be_summed

TOTALS = "sums"


class CallTotals:
    """The totals of nodes over places that calls stand in, where there is one."""

    def __init__(self, graph: Graph, nodes: Iterable[Node], places: set[Node]) -> None:
        self.graph, self.places = graph, places
        self.varying: set[Node] = {*places}
        self.calls: dict[Call, None] = {}
        self.nodes: list[Node] = []
        for node in nodes:
            for one in topological([node]):
                if any(x in self.varying for x in children(one)):
                    self.varying.add(one)
            found = self._calls(node)
            if found:
                self.calls |= dict.fromkeys(found)
                self.nodes.append(node)

    def _calls(self, node: Node) -> list[Call] | None:
        """The calls that the total of a node is linear in; None if it is not."""
        if can_be_summed(node, self.places):
            return []
        if is_defined(node):
            own = defined_of(node)
            inside = {
                at
                for at, x in zip(own.places, node.args, strict=True)
                if x in self.varying
            }
            fits = can_be_summed(own.results[result_of(node)], inside)
            return [node] if fits else None
        parts: list[Node] = []
        match node:
            case Sum(terms=terms):
                parts = [term.node for term in terms]
            case Product(factors=factors):
                parts = [x.node for x in factors if x.node in self.varying]
                if len(parts) > 1:
                    return None
            case _:
                return None
        found = [self._calls(x) for x in parts]
        return None if None in found else [x for own in found for x in own or ()]

    def handed_on(self) -> list[Node]:
        """The calls of a step that what these calls take is made of."""
        found: dict[Node, None] = {}
        for call in self.calls:
            waiting, seen = [*call.args], set[Node]()
            while waiting:
                node = waiting.pop()
                if node in seen or node not in self.varying:
                    continue
                seen.add(node)
                if is_defined(node):
                    found[node] = None
                else:
                    waiting += children(node)
        return [*found]

    def of(self, node: Node, at_once: AllSteps) -> Node:
        """The total of one of the nodes; rows are known of all that is handed on."""
        if can_be_summed(node, self.places):
            return at_once.total(node)
        if is_defined(node):
            return self._total(node, at_once)
        assert isinstance(node, Sum | Product)
        uses = [
            (self.of(x, at_once) if self._is_open(node, x) else x, labels)
            for x, labels in refs_of(node)
        ]
        ties = node.constraints if isinstance(node, Product) else ()
        return of_others(
            self.graph, node, range(node.order), uses, sizes_of(node), ties
        )

    def _is_open(self, node: Node, part: Node) -> bool:
        return isinstance(node, Sum) or part in self.varying

    def _total(self, call: Call, at_once: AllSteps) -> Node:
        alike = [
            x
            for x in self.calls
            if (x.args, defined_of(x)) == (call.args, defined_of(call))
        ]
        asked = sorted(map(result_of, alike))
        moving = [k for k, x in enumerate(call.args) if x in self.varying]
        own = defined_of(call)
        made = own.once(
            (TOTALS, at_once.count, *asked, None, *moving),
            lambda: _totals(self.graph, own, asked, moving, at_once.count),
        )
        args = [at_once.of(x) if k in moving else x for k, x in enumerate(call.args)]
        number = asked.index(result_of(call))
        found = made.of(self.graph, args, number)
        self.graph.suggest(found, made.defined.outputs[number])
        return found


def _totals(
    graph: Graph,
    own: Defined,
    results: Sequence[int],
    moving: Collection[int],
    count: Dim,
) -> Made:
    """What results of a definition add up to, of rows for some of its arguments."""
    rows: dict[Node, Input] = {
        at: graph.fresh((count, *at.dims), (), None)
        for k, at in enumerate(own.places)
        if k in moving
    }
    at_once = AllSteps(graph, count, rows)
    found = [at_once.total(own.results[k]) for k in results]
    places = [rows.get(at, at) for at in own.places]
    about = f"{own.about[:-1]}, added up over all steps."
    outputs = [own.outputs[k] for k in results]
    return made_of(own, TOTALS, about, found, places, own.words, outputs)
