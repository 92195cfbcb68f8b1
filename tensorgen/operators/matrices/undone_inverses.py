"""Products of matrices with an inverse at one end: their inverses undo it.

`inv(inv(A) @ R) = inv(R) @ A`, and so `inv(C @ diag(w) @ C.T)` with `C = inv(A)` is
`A.T @ diag(1 / w) @ A`: nothing is inverted but w. That holds for all square matrices,
so it is seen where the call is made.
"""

from __future__ import annotations

from typing import NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Product, delta
from tensorgen.operators.promise_calls import bare
from tensorgen.operators.table import Make


class Undone(NamedTuple):
    """A product `inv(matrix) @ rest`, or `rest @ inv(matrix)` if that stands `last`.

    What is inverted may be the `matrix` transposed, if it is `turned`.
    """

    matrix: Node
    rest: Node
    last: bool
    turned: bool


def undone(graph: Graph, matrix: Node) -> Undone | None:
    """Take an inverse off one end of a product, if there is one."""
    node = bare(matrix)
    if not isinstance(node, Product) or node.order != 2 or node.constraints:
        return None
    for at, (factor, labels) in enumerate(node.factors):
        if not isinstance(factor, Call) or factor.operator != "inv":
            continue
        others = [ref for k, ref in enumerate(node.factors) if k != at]
        for end in (0, 1):
            if len(labels) != 2 or end not in labels or labels[0] == labels[1]:
                continue
            if not others or any(end in ref.labels for ref in others):
                continue
            (inner,) = (x for x in labels if x != end)
            # The other end of the product may be where it is scaled along.
            outer = 1 - end
            constraints = [delta({inner: 1, -1: -1})] if inner == outer else []
            axis = -1 if inner == outer else inner
            axes = [outer, axis] if end else [axis, outer]
            sizes = {**dict(enumerate(node.sizes)), axis: factor.dims[0]}
            rest = graph.product(
                axes,
                others,
                coefficient=node.coefficient,
                constraints=constraints,
                sizes={x: dim for x, dim in sizes.items() if x != end},
            )
            turned = labels.index(end) != end
            return Undone(factor.args[0], rest, bool(end), turned)
    return None


def inverse_of_product(graph: Graph, matrix: Node, make: Make) -> Node | None:
    """Return the inverse of a product with an inverse at one end."""
    found = undone(graph, matrix)
    if found is None:
        return None
    inverse = make(graph, "inv", [found.rest])
    if found.last:  # (R C)^-1 = A R^-1
        own = "ki" if found.turned else "ik"
        return graph.product("ij", [(found.matrix, own), (inverse, "kj")])
    own = "jk" if found.turned else "kj"
    return graph.product("ij", [(inverse, "ik"), (found.matrix, own)])
