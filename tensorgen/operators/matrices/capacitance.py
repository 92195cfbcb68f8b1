"""The small matrix by which a sum with low rank is inverted, and when it may be.

`inv(B + U W)` is `inv(B)` less a matrix of low rank, by the capacitance matrix
`K = I + W inv(B) U` (Hager 1989). Where B is much nearer to a singular matrix than the
sum is, as where one entry of a diagonal B vanishes, the two are large and nearly the
same. What is left of them is known when the numbers are: so K is a call, whose helper
looks at them and raises `LinAlgError` where too many digits would cancel.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node
from tensorgen.operators.table import Operator, Partial, same_dims

NAMES = ("capacitance", "capacitance_by_core")
"""What says of K which matrix it is to invert, of a W by itself and of a product."""


def capacitance(
    graph: Graph, small: Node, base: Node, left: Node, right: Sequence[Node]
) -> Node:
    """Return K, which is `small`, of `base + left @ right`.

    The base is a matrix, or the diagonal of one; what is on the `right` is a matrix or
    the two whose product it is, which nobody needs to form.
    """
    name = NAMES[len(right) - 1]
    return graph.call(name, [small, base, left, *right], small.dims)


def is_capacitance(node: Node) -> bool:
    """Whether a node is its first argument, looked at beside the others."""
    return isinstance(node, Call) and node.operator in NAMES


def _partials(graph: Graph, node: Call) -> list[Partial]:
    """The derivative is that of K: the others are looked at, and change nothing."""
    return [Partial(node.args[0], tuple(range(node.order)))]


ROWS = tuple(
    Operator(
        name,
        same_dims,
        _partials,
        f"_capacitance({{0}}, {{1}}, {{2}}, {right})",
        view=True,
        refuses="nearly singular without its part of low rank",
        word="capacitance",
    )
    for name, right in zip(NAMES, ("{3}", "{3}, {4}"), strict=True)
)

HELPER = '''
def _capacitance(K: Array, base: Any, U: Array, *right: Array) -> Array:
    """Return K = I + W @ inv(B) @ U, by which B + U @ W is inverted; W is in parts.

    `base` is the diagonal of B, or an object that solves. The inverse is inv(B) less
    something of low rank: raises LinAlgError where these cancel half of the digits.
    """
    most = np.finfo(K.dtype).eps ** -0.2
    if not K.trace() > most:  # no eigenvalue of K, which are at least 1, is larger
        return K
    W = right[-1]
    for part in right[-2::-1]:
        W = part @ W
    if isinstance(base, np.ndarray):  # the diagonal of the inverse tells
        if not (np.einsum("is,si->i", U, W) / base).max() > most:
            return K
        left = 1 - np.einsum("is,si->i", U, np.linalg.solve(K, W)) / base
        left = left.min()
    else:
        x = base.solve(np.cos(np.arange(len(U), dtype=K.dtype)))
        y = x - base.solve(U @ np.linalg.solve(K, W @ x))
        left = np.abs(y).max() / np.abs(x).max()
    if left * most < 1:
        raise np.linalg.LinAlgError(
            "Matrix is nearly singular without its part of low rank"
        )
    return K
'''
