"""Functions from outside: calls of what the generated module imports.

Nothing is known of one but what the spec declares: whether it is elementwise or which
shapes it has, and rules for derivatives as nodes over *places*, inputs that stand for
its arguments. Rules may call others from outside, also each other in a circle, so they
are told after all have been declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard, cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    topological,
)
from tensorgen.operators.scalar import apply, times, total
from tensorgen.operators.table import Operator

NAME = "external"


@dataclass(eq=False)
class External:
    """A function by its name; without `dims` it is elementwise, and places are numbers.

    `slopes` are derivatives by arguments; instead a function of arrays may have `vjps`,
    over the `cotangent`, or a `jvp`, over `directions`.
    """

    name: str
    places: tuple[Input, ...]
    dims: tuple[Dim, ...] | None = None
    slopes: dict[int, Node] = field(default_factory=dict)
    vjps: dict[int, Node] = field(default_factory=dict)
    jvp: Node | None = None
    cotangent: Input | None = None
    directions: tuple[Input, ...] = ()

    def __str__(self) -> str:
        names = [at.name.rpartition(".")[2] for at in self.places]
        return f"{self.name}({', '.join(names)})"

    @property
    def helper(self) -> str:
        """What the generated module calls."""
        return f"_external_{self.name}"

    @property
    def template(self) -> str:
        """The text of a call."""
        return (
            f"{self.helper}({', '.join(f'{{{k}}}' for k in range(len(self.places)))})"
        )

    def reached(self) -> list[External]:
        """Return the function and all that its rules lead to, in order."""
        found: dict[External, None] = {self: None}
        waiting = [self]
        while waiting:
            own = waiting.pop()
            last = [] if own.jvp is None else [own.jvp]
            rules = [*own.slopes.values(), *own.vjps.values(), *last]
            calls = (node for node in topological(rules) if is_external(node))
            new = [x for x in map(external_of, calls) if x not in found]
            found.update(dict.fromkeys(new))
            waiting += new
        return list(found)


def is_external(node: Node) -> TypeGuard[Call]:
    """Whether a node is a call of a function from outside."""
    return isinstance(node, Call) and node.operator == NAME


def external_of(call: Call) -> External:
    """Return the function that is called."""
    return cast(External, call.param("of"))


def called(graph: Graph, own: External, args: Sequence[Node]) -> Node:
    """Return a call; elementwise, arguments are numbers or of one shape."""
    return graph.call(NAME, args, _dims(args, {"of": own}), of=own)


def is_liftable(root: Node) -> bool:
    """Whether a number is made of numbers, so that it can be one for each element."""
    for node in topological([root]):
        match node:
            case Product(inner=inner, constraints=constraints) if inner or constraints:
                return False
            case Call() if not is_external(node) or external_of(node).dims is not None:
                return False
        if node.order:
            return False
    return True


def lifted(graph: Graph, root: Node, known: Mapping[Node, Ref]) -> Ref:
    """Return a number over places as an array, one for each element of arguments."""
    new: dict[Node, Ref] = dict(known)
    for node in topological([root], known):
        match node:
            case Product(coefficient=scale, factors=factors):
                refs = [new[ref.node] for ref in factors]
                new[node] = times(graph, *refs, coefficient=scale)
            case Sum(terms=terms):
                new[node] = total(graph, [(t.coefficient, new[t.node]) for t in terms])
            case Map(function=function, args=args):
                new[node] = apply(graph, function, *(new[ref.node] for ref in args))
            case Call(args=operands):
                new[node] = _lifted_call(graph, node, [new[x] for x in operands])
            case Constant() | Size():
                new[node] = Ref(node, ())
            case _:
                raise TypeError(f"no number: {node}")
    return new[root]


def _lifted_call(graph: Graph, node: Call, args: Sequence[Ref]) -> Ref:
    """The call over arrays, all of the same axes but for numbers."""
    labels = tuple(sorted({x for ref in args for x in ref.labels}))
    sizes = {x: d for n, at in args for x, d in zip(at, n.dims, strict=True)}
    wide = [
        graph.product(labels, [ref], sizes=sizes) if ref.labels else ref.node
        for ref in args
    ]
    return Ref(called(graph, external_of(node), wide), labels)


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    own = cast(External, params["of"])
    return max((x.dims for x in args), key=len) if own.dims is None else own.dims


ROWS = (
    # What carries tangents and cotangents is in `calculus.externals`.
    Operator(NAME, _dims, (), params=("of",)),
)
