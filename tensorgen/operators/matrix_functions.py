"""Matrix functions that carry tangents by formulas of their own.

Sources: Murray, Differentiation of the Cholesky decomposition (2016), section 3.1;
Mathias, A chain rule for matrix functions (1996): the derivative of a function of
matrices is the block above the diagonal of its value at `[[A, E], [0, A]]`. So every
order of the derivative of `expm` is an `expm` again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Map, Node, Product, Ref, Sum
from tensorgen.operators.table import Operator, Transfer

Names = tuple[object, ...]


def _matrix_dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    return args[0].dims


def _batch(node: Call) -> Names:
    return tuple(("batch", axis) for axis in range(node.order - 2))


def _extra(extra: Sequence[Dim]) -> Names:
    return tuple(("extra", k) for k in range(len(extra)))


# Symmetric matrices


def swapped(graph: Graph, node: Node) -> Node:
    """Return the transposes of matrices in the last two axes, made like `node`."""
    *batch, i, j = axes = range(node.order)
    out = (*batch, j, i)

    def turned(labels: Sequence[int], operand: Node) -> tuple[int, ...]:
        """The labels of an operand: of an even one either order is right."""
        matrix = len(labels) > 1 and {*labels[-2:]} == {i, j}
        if matrix and is_even(graph, operand):
            return (*labels[:-2], labels[-1], labels[-2])
        return tuple(labels)

    match node:
        case Product():
            return graph.product(
                out,
                [(x, turned(labels, x)) for x, labels in node.factors],
                coefficient=node.coefficient,
                constraints=[
                    (c.kind, dict(c.form.terms), c.form.const) for c in node.constraints
                ],
                sizes=dict(enumerate(node.sizes)),
            )
        case Sum(terms=terms):
            parts = [(c, x, turned(labels, x)) for c, x, labels in terms]
            return graph.sum(out, parts)
        case Map():
            args = [(x, turned(labels, x)) for x, labels in node.args]
            return graph.map(node.function, out, args)
    return graph.product(out, [(node, axes)])


def is_even(graph: Graph, node: Node) -> bool:
    """Whether matrices equal their transposes, whatever the entries of inputs."""
    return swapped(graph, node) is node


def is_symmetric(graph: Graph, node: Node) -> bool:
    """Whether matrices equal their transposes, as far as inputs keep their promises."""
    if isinstance(node, Input):
        return not node.properties.isdisjoint(("symmetric", "spd"))
    if isinstance(node, Call) and node.operator in ("inv", "expm"):
        return is_symmetric(graph, node.args[0])
    matrix = tuple(range(node.order))
    parts: list[Ref] = []
    match node:
        case Product() if not (node.constraints or node.inner):
            parts = list(node.factors)
        case Sum():
            parts = [Ref(t.node, t.labels) for t in node.terms]
        case Map():
            parts = list(node.args)
    wide = [ref for ref in parts if ref.labels]
    symmetric = all(
        len(ref.labels) == node.order
        and set(ref.labels[-2:]) == set(matrix[-2:])
        and is_symmetric(graph, ref.node)
        for ref in wide
    )
    return is_even(graph, node) or (bool(parts) and symmetric)


def even_part(graph: Graph, node: Node, row: int, column: int) -> Node:
    """Return the mean of an array and itself with two axes swapped."""
    turned = list(range(node.order))
    turned[row], turned[column] = column, row
    half, axes = Fraction(1, 2), range(node.order)
    return graph.sum(axes, [(half, node, axes), (half, node, turned)])


# Cholesky factors


def cholesky(graph: Graph, x: Node) -> Node:
    """Return the lower Cholesky factor of the symmetric part of matrices."""
    if not is_symmetric(graph, x):
        x = even_part(graph, x, x.order - 2, x.order - 1)
    return graph.call("cholesky", [x], x.dims)


def _lower_half(graph: Graph, x: Node, row: int, column: int) -> Node:
    """Return the lower triangle over two axes, half of the diagonal."""
    axes = range(x.order)
    triangle = graph.product(axes, [(x, axes)], constraints=[_at("ge", row, column)])
    diagonal = graph.product(axes, [(x, axes)], constraints=[_at("eq", row, column)])
    return graph.sum(axes, [(1, triangle, axes), (Fraction(-1, 2), diagonal, axes)])


def _at(kind: str, row: int, column: int) -> tuple[str, dict[int, int], int]:
    return kind, {row: 1, column: -1}, 0


def _cholesky_forward(
    graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]
) -> Node:
    # dL = L half(inv(L) dA inv(L).T), where half keeps the lower triangle.
    batch, rest = _batch(node), _extra(extra)
    inverse = graph.call("inv", [node], node.dims)
    turned = graph.product(
        (*batch, "k", "j", *rest),
        [
            (inverse, (*batch, "k", "a")),
            (tangent, (*batch, "a", "b", *rest)),
            (inverse, (*batch, "j", "b")),
        ],
    )
    row, column = len(batch), len(batch) + 1
    if not is_even(graph, node.args[0]):
        turned = even_part(graph, turned, row, column)
    half = _lower_half(graph, turned, row, column)
    return graph.product(
        (*batch, "i", "j", *rest),
        [(node, (*batch, "i", "k")), (half, (*batch, "k", "j", *rest))],
    )


def _cholesky_reverse(
    graph: Graph, node: Call, cotangent: Node, rows: Sequence[Dim]
) -> Node:
    batch, lead = _batch(node), _extra(rows)
    inverse = graph.call("inv", [node], node.dims)
    turned = graph.product(
        (*lead, *batch, "k", "j"),
        [(node, (*batch, "i", "k")), (cotangent, (*lead, *batch, "i", "j"))],
    )
    half = _lower_half(graph, turned, turned.order - 2, turned.order - 1)
    found = graph.product(
        (*lead, *batch, "a", "b"),
        [
            (inverse, (*batch, "k", "a")),
            (half, (*lead, *batch, "k", "j")),
            (inverse, (*batch, "j", "b")),
        ],
    )
    if is_even(graph, node.args[0]):
        return found
    return even_part(graph, found, found.order - 2, found.order - 1)


# Exponentials


def _frechet(graph: Graph, x: Node, direction: Node) -> Node:
    """Return the derivative of `expm` at `x` along `direction`, axes of both last.

    `direction` may have further axes in front of those of `x`.
    """
    n = x.dims[-1]
    lead = tuple(("lead", k) for k in range(direction.order - x.order))
    batch = tuple(("batch", k) for k in range(x.order - 2))
    out = (*lead, *batch, "i", "j")
    sizes: dict[object, Dim] = dict(zip(lead, direction.dims, strict=False))
    sizes |= {"i": n * 2, "j": n * 2}

    def block(node: Node, labels: Names, row: Dim | int, column: Dim | int) -> Node:
        at = [("eq", {"i": 1, "a": -1}, -row), ("eq", {"j": 1, "b": -1}, -column)]
        return graph.product(
            out, [(node, (*labels, "a", "b"))], constraints=at, sizes=sizes
        )

    blocks = graph.add(
        block(x, batch, 0, 0),
        block(x, batch, n, n),
        block(direction, (*lead, *batch), 0, n),
    )
    value = graph.call("expm", [blocks], blocks.dims)
    return graph.product(
        (*lead, *batch, "a", "b"),
        [(value, out)],
        constraints=[("eq", {"i": 1, "a": -1}, 0), ("eq", {"j": 1, "b": -1}, -n)],
        sizes={"a": n, "b": n},
    )


def _expm_forward(
    graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]
) -> Node:
    r = node.order
    front = (*range(r, r + len(extra)), *range(r))
    found = _frechet(graph, node.args[0], graph.permute(tangent, front))
    return graph.product((*front[len(extra) :], *front[: len(extra)]), [(found, front)])


def _expm_reverse(
    graph: Graph, node: Call, cotangent: Node, rows: Sequence[Dim]
) -> Node:
    (x,) = node.args
    *batch, i, j = range(x.order)
    return _frechet(graph, graph.permute(x, (*batch, j, i)), cotangent)


ROWS = (
    Operator(
        "cholesky",
        _matrix_dims,
        Transfer(_cholesky_forward, _cholesky_reverse),
        "np.linalg.cholesky({0})",
    ),
    Operator(
        "expm",
        _matrix_dims,
        Transfer(_expm_forward, _expm_reverse),
        "expm({0})",
        requires="scipy.linalg.expm",
    ),
)
