"""Matrix functions that carry tangents by formulas of their own.

Sources: Murray, Differentiation of the Cholesky decomposition (2016), section 3.1;
Mathias, A chain rule for matrix functions (1996): the derivative of a function of
matrices is the block above the diagonal of its value at `[[A, E], [0, A]]`. So every
order of the derivative of `expm` is an `expm` again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.ir.constraints import normal
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Product, delta, indicator, is_zero
from tensorgen.ir.remarks import Remark
from tensorgen.operators.matrices.symmetry import even_part, is_even, is_symmetric
from tensorgen.operators.table import Operator, Partial, Transfer, same_dims

Names = tuple[object, ...]


def batch_names(node: Node) -> Names:
    """Names of the axes of a stack of matrices, in front of these."""
    return tuple(("batch", axis) for axis in range(node.order - 2))


def extra_names(extra: Sequence[Dim]) -> Names:
    """Names of the axes that derivatives have beside those of matrices."""
    return tuple(("extra", k) for k in range(len(extra)))


# Cholesky factors


def cholesky(graph: Graph, x: Node) -> Node:
    """Return the lower Cholesky factor of the symmetric part of matrices."""
    if not is_symmetric(x):
        x = even_part(graph, x, x.order - 2, x.order - 1)
    return graph.call("cholesky", [x], x.dims)


def logdet_of_factor(graph: Graph, factor: Node) -> Node:
    """Return log(det A) of matrices A with these Cholesky factors."""
    batch = tuple(range(factor.order - 2))
    diagonal = graph.product((*batch, "i"), [(factor, (*batch, "i", "i"))])
    logs = graph.map("log", (*batch, "i"), [(diagonal, (*batch, "i"))])
    return graph.product(batch, [(logs, (*batch, "i"))], coefficient=2)


def inverse_of_factor(graph: Graph, factor: Node) -> Node:
    """Return the inverses of matrices with these Cholesky factors."""
    return graph.call("cholesky_inverse", [factor], factor.dims)


def _inverse_of_factor_partials(graph: Graph, node: Call) -> list[Partial]:
    # C = inv(L @ L.T) has dC = -C (dL @ L.T + L @ dL.T) C.
    (factor,), (*batch, i, j) = node.args, range(node.order)
    product = graph.product(
        (*batch, "l", "j"), [(factor, (*batch, "m", "l")), (node, (*batch, "m", "j"))]
    )
    return [
        Partial(
            factor,
            (*batch, "k", "l"),
            Fraction(-1),
            ((node, (*batch, one, "k")), (product, (*batch, "l", other))),
        )
        for one, other in ((i, j), (j, i))
    ]


def _lower_half(graph: Graph, x: Node, row: int, column: int) -> Node:
    """Return the lower triangle over two axes, half of the diagonal."""
    axes = range(x.order)
    distance = {row: 1, column: -1}
    triangle = graph.product(axes, [(x, axes)], constraints=[indicator(distance)])
    diagonal = graph.product(axes, [(x, axes)], constraints=[delta(distance)])
    return graph.sum(axes, [(1, triangle, axes), (Fraction(-1, 2), diagonal, axes)])


def _cholesky_forward(
    graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]
) -> Node:
    # dL = L half(inv(L) dA inv(L).T), where half keeps the lower triangle.
    batch, rest = batch_names(node), extra_names(extra)
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
    if not is_even(node.args[0]):
        turned = even_part(graph, turned, row, column)
    half = _lower_half(graph, turned, row, column)
    return graph.product(
        (*batch, "i", "j", *rest),
        [(node, (*batch, "i", "k")), (half, (*batch, "k", "j", *rest))],
    )


# Exponentials


def frechet(graph: Graph, x: Node, direction: Node) -> Node:
    """Return the derivative of `expm` at `x` along `direction`, axes of both last.

    `direction` may have further axes in front of those of `x`.
    """
    return expm_coefficient(graph, [x, direction])


def expm_coefficient(graph: Graph, series: Sequence[Node]) -> Node:
    """Return the last coefficient of `expm` of matrices with these coefficients.

    It is the last block of the first row of the exponential of the matrix of blocks
    that has `series[k]` on its k-th diagonal. Coefficients above the first may have
    further axes in front of those of the first.
    """
    x, k = series[0], len(series) - 1
    n = x.dims[-1]
    lead = tuple(("lead", a) for a in range(series[-1].order - x.order))
    batch = tuple(("batch", a) for a in range(x.order - 2))
    out = (*lead, *batch, "i", "j")
    sizes: dict[object, Dim] = dict(zip(lead, series[-1].dims, strict=False))
    sizes |= {"i": n * (k + 1), "j": n * (k + 1)}

    def block(node: Node, row: int, column: int) -> Node:
        labels = (*(lead if node.order > x.order else ()), *batch, "a", "b")
        at = [
            delta({"i": 1, "a": -1}, -(n * row)),
            delta({"j": 1, "b": -1}, -(n * column)),
        ]
        return graph.product(out, [(node, labels)], constraints=at, sizes=sizes)

    blocks = graph.add(
        *(
            block(node, row, row + above)
            for above, node in enumerate(series)
            if not is_zero(node)
            for row in range(k + 1 - above)
        )
    )
    value = graph.call("expm", [blocks], blocks.dims)
    return graph.product(
        (*lead, *batch, "a", "b"),
        [(value, out)],
        constraints=[delta({"i": 1, "a": -1}), delta({"j": 1, "b": -1}, -(n * k))],
        sizes={"a": n, "b": n},
    )


def _expm_forward(
    graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]
) -> Node:
    r = node.order
    front = (*range(r, r + len(extra)), *range(r))
    found = frechet(graph, node.args[0], graph.permute(tangent, front))
    return graph.product((*front[len(extra) :], *front[: len(extra)]), [(found, front)])


def _expm_reverse(
    graph: Graph, node: Call, cotangent: Node, rows: Sequence[Dim]
) -> Node:
    (x,) = node.args
    if (scale := _scale_of_identity(graph, cotangent)) is not None:
        # It commutes with all matrices: the derivative along it is the exponential.
        return graph.product((0, 1), [(node, (1, 0)), (scale, ())])
    *batch, i, j = range(x.order)
    return frechet(graph, graph.permute(x, (*batch, j, i)), cotangent)


def _scale_of_identity(graph: Graph, matrix: Node) -> Node | None:
    """Return what the identity is times, if that is a matrix, as a slope of traces."""
    if not isinstance(matrix, Product) or matrix.order != 2 or matrix.inner:
        return None
    diagonal = normal(delta({0: 1, 1: -1}))
    if matrix.constraints != (diagonal,) or any(x.labels for x in matrix.factors):
        return None
    return graph.product((), matrix.factors, coefficient=matrix.coefficient)


def _expm_coefficient(graph: Graph, x: Sequence[Node], lower: Sequence[Node]) -> Node:
    return expm_coefficient(graph, x)


ROWS = (
    Operator(
        "cholesky",
        same_dims,
        (Transfer(_cholesky_forward),),
        "np.linalg.cholesky({0})",
        refuses="not positive definite",
        work=0.5,
        regular=True,
        remark=Remark(
            "positive definite: Cholesky, at half the cost of LU",
            r"\bcholesky\(",
            ("cholesky",),
        ),
    ),
    Operator(
        "cholesky_inverse",
        same_dims,
        _inverse_of_factor_partials,
        "_cholesky_inverse({0})",
        work=1.5,
        regular=True,
        word="inverse",
    ),
    Operator(
        "expm",
        same_dims,
        (Transfer(_expm_forward, _expm_reverse),),
        "expm({0})",
        requires="scipy.linalg.expm",
        work=20.0,
        coefficient=_expm_coefficient,
    ),
)
