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
from tensorgen.operators.table import Operator, partials_of_first, same_dims

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


ROWS = tuple(
    Operator(
        name,
        same_dims,
        partials_of_first,  # K: the others are looked at, and change nothing
        f"_capacitance({{0}}, {{1}}, {{2}}, {right})",
        view=True,
        refuses="nearly singular without its part of low rank",
        word="capacitance",
    )
    for name, right in zip(NAMES, ("{3}", "{3}, {4}"), strict=True)
)

LARGEST_DENSE = 3000
"""The side of the largest matrix that is made dense where its parts cancel."""

HELPER = f'''
class _CancellationError(np.linalg.LinAlgError):
    """A sum is nearly singular without its part of low rank, and is not large."""


def _capacitance(K: Array, base: Any, U: Array, *right: Array) -> Array:
    """Return K = I + W @ inv(B) @ U, by which B + U @ W is inverted; W is in parts.

    `base` is the diagonal of B, a number, or an object that solves. Of inv(B) something
    of low rank is taken: raises LinAlgError where these cancel half of the digits.
    """
    most = np.finfo(K.dtype).eps ** (-1 / 6)
    if not K.trace() > most:  # no eigenvalue of K, which are at least 1, is larger
        return K
    W = right[-1]
    for part in right[-2::-1]:
        W = part @ W
    if hasattr(base, "solve"):
        x = base.solve(np.cos(np.arange(len(U), dtype=K.dtype)))
        y = x - base.solve(U @ np.linalg.solve(K, W @ x))
        left = np.abs(y).max() / np.abs(x).max()
    elif not (np.einsum("is,si->i", U, W) / base).max() > most:
        return K
    else:  # how much of the diagonal of inv(B) that of the inverse is
        left = (1 - np.einsum("is,si->i", U, np.linalg.solve(K, W)) / base).min()
    if left * most < 1:
        small = len(U) <= {LARGEST_DENSE}
        raise (_CancellationError if small else np.linalg.LinAlgError)(
            "Matrix is nearly singular without its part of low rank, which would cost "
            "digits; size hints of a large rank have it solved with whole"
        )
    return K
'''
"""Half of the digits of a gradient are left where the share h of the diagonal is:
its error grows like the rounding unit divided by h**2 to h**3."""
