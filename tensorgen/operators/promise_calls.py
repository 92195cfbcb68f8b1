"""Promises of values: identities that say what their argument is.

`S = spd(K + diag(s))` asserts and checks nothing. Whoever asks whether a matrix is
symmetric or positive definite is told so; everybody else shall see the argument, which
`passes/matrices/open_promises.py` sees to once it is known what a promise is good
for. That a value counts as constant is such a word too, to calculus.
"""

from __future__ import annotations

from collections.abc import Mapping

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, children
from tensorgen.operators.matrices.definite import is_positive_definite
from tensorgen.operators.matrices.symmetry import is_symmetric
from tensorgen.operators.table import (
    Operator,
    no_partials,
    partials_of_first,
    same_dims,
)

PROMISES: Mapping[str, str] = {
    "spd": "symmetric positive definite",
    "symmetric": "symmetric",
}
"""What may be promised of the matrices in the last two axes, and what that means."""

STOPPED = "stop_gradient"
"""What says of a value that it is a constant, whatever it is computed from."""

_HOLDS = {"spd": is_positive_definite, "symmetric": is_symmetric}


def promise(graph: Graph, what: str, node: Node) -> Node:
    """Return a value with a promise; itself where it is known to be so."""
    return node if _HOLDS[what](node) else graph.call(what, [node], node.dims)


def stopped(graph: Graph, node: Node) -> Node:
    """Return a value without derivatives, of which as much is known as before."""
    return kept_promise(graph, node, graph.call(STOPPED, [node], node.dims))


def is_promise(node: Node) -> bool:
    """Whether a node only says what its argument is."""
    return isinstance(node, Call) and node.operator in (*PROMISES, STOPPED)


def bare(node: Node) -> Node:
    """Return what a value is without promises."""
    while is_promise(node):
        (node,) = children(node)
    return node


def kept_promise(graph: Graph, old: Node, new: Node) -> Node:
    """Promise of a value what is known of the one that it replaces."""
    for what, holds in _HOLDS.items():
        if holds(old):
            return promise(graph, what, new)
    return new


def _argument(graph: Graph, node: Call) -> Node:
    return node.args[0]


ROWS = (
    *(
        Operator(name, same_dims, partials_of_first, expand=_argument, view=True)
        for name in PROMISES
    ),
    Operator(STOPPED, same_dims, no_partials, expand=_argument, view=True),
)
