"""Unknowns: arrays that solve an equation, found before anything else is computed.

An unknown is a call of what its equation reads, whose parameter is the equation: a
residual over *places*, inputs that stand for the unknown and for the arguments. To
calculus it is a function of its arguments (the implicit function theorem). To code it
is an argument, the solution, which is found where nobody gives it: so whatever has been
derived is stated `as_given` before it is planned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, children
from tensorgen.ir.rebuild import rebuild, substituted
from tensorgen.operators.recurrences.recurrence import place
from tensorgen.operators.table import Operator

NAME = "unknown"


@dataclass(frozen=True)
class Equation:
    """What is zero at the solution: a `residual` of the shape of the unknown.

    A node over the places of the `unknown`, which bears its name, and of the arguments.
    The slope of one that is `definite`, a gradient at a minimum, is positive definite.
    Where an unknown is a function, `solver` is the template of the call that finds it.
    """

    unknown: Input
    places: tuple[Input, ...]
    residual: Node
    definite: bool = False
    solver: str = ""

    @property
    def name(self) -> str:
        """What the spec calls the unknown."""
        return self.solver.partition("_solve(")[0] or self.unknown.name

    def at(self, graph: Graph, nodes: Sequence[Node], call: Call) -> list[Node]:
        """Return nodes over own places as nodes over what these stand for."""
        pairs = zip((self.unknown, *self.places), (call, *call.args), strict=True)
        known: dict[Node, Node] = dict(pairs)
        return substituted(graph, nodes, known)

    def opened(self, graph: Graph) -> Equation:
        """Return the equation over places that nothing else has."""
        own = tuple(place(graph, x) for x in (self.unknown, *self.places))
        known: dict[Node, Node] = dict(
            zip((self.unknown, *self.places), own, strict=True)
        )
        (residual,) = substituted(graph, [self.residual], known)
        return Equation(own[0], own[1:], residual, self.definite, self.solver)


def is_unknown(node: Node) -> TypeGuard[Call]:
    """Whether a node is what solves an equation."""
    return isinstance(node, Call) and node.operator == NAME


def is_given(node: Node) -> TypeGuard[Call]:
    """Whether a node is an unknown that code is given: none that is a function."""
    return is_unknown(node) and not equation_of(node).solver


def equation_of(call: Call) -> Equation:
    """Return the equation that an unknown solves."""
    return cast(Equation, call.param("equation"))


def unknown(
    graph: Graph,
    name: Input,
    residual: Node,
    definite: bool,
    read: Sequence[Node],
    solver: str = "",
) -> Call:
    """Return what solves `residual = 0` for an input that stands for it.

    It is a call of the inputs and other unknowns that the residual may `read`.
    """
    places = tuple(place(graph, x) for x in read)
    known: dict[Node, Node] = dict(zip(read, places, strict=True))
    (over,) = substituted(graph, [residual], known)
    equation = Equation(name, places, over, definite, solver)
    return graph.call(NAME, read, name.dims, equation=equation)


def leaves(root: Node) -> list[Node]:
    """Return the inputs and unknowns that a node is made of, in the order of texts."""
    found: dict[Node, None] = {}
    waiting, seen = [root], {root}
    while waiting:
        node = waiting.pop()
        if isinstance(node, Input) or is_given(node):
            found[node] = None
            continue
        below = [x for x in children(node) if x not in seen]
        seen.update(below)
        waiting += reversed(list(dict.fromkeys(below)))
    return list(found)


def as_given(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Return nodes with the arguments that code is given in place of unknowns."""

    def given(node: Node) -> Node:
        return equation_of(node).unknown if is_given(node) else node

    return rebuild(graph, roots, given)


def applied(graph: Graph, call: Call, args: Sequence[Node]) -> Call:
    """Return an unknown as a function of other first arguments."""
    every = [*args, *call.args[len(args) :]]
    return graph.call(NAME, every, call.dims, **dict(call.params))


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    return cast(Equation, params["equation"]).unknown.dims


ROW = Operator(NAME, _dims, (), params=("equation",), internal=True)
