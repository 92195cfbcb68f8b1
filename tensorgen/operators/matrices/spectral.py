"""Eigenvalues, singular values, and functions of matrices that are made of them.

Sources: Magnus, On differentiating eigenvalues and eigenvectors (1985), for symmetric
matrices; Golub and Pereyra, The differentiation of pseudo-inverses (1973), at constant
rank. Singular values are the largest eigenvalues of [[0, A], [A.T, 0]], whose vectors
are [u, v] / sqrt(2). The slope of a square root S solves S Y + Y S = X, that of a
logarithm is the inverse of that of `expm`. Both are functions of their own, with slopes
of the same kind, so that no order of derivative asks for gaps between eigenvalues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, delta
from tensorgen.operators.matrices import matrix_series
from tensorgen.operators.matrices.matrix_functions import (
    Names,
    batch_names,
    extra_names,
    frechet,
)
from tensorgen.operators.matrices.symmetry import even, even_part, is_even, is_symmetric
from tensorgen.operators.table import (
    Coefficient,
    Operator,
    Partial,
    Transfer,
    same_dims,
)

Params = Mapping[str, object]


def of_symmetric(graph: Graph, name: str, x: Node) -> Node:
    """Return a row of the symmetric part of matrices."""
    if not is_symmetric(x):
        x = even_part(graph, x, x.order - 2, x.order - 1)
    dims = x.dims[:-1] if name == "eigvalsh" else x.dims
    return graph.call(name, [x], dims)


def singular_values(graph: Graph, x: Node, count: Dim) -> Node:
    """Return the singular values of matrices, whose shorter side is `count`."""
    return graph.call("svdvals", [x], (*x.dims[:-2], count), count=count)


# Eigenvalues and eigenvectors


def _turned(graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]) -> Node:
    """The tangent of a symmetric matrix, in the basis of eigenvectors."""
    (x,) = node.args
    vectors = graph.call("eigvecsh", [x], x.dims)
    batch, rest = batch_names(x), extra_names(extra)
    turned = graph.product(
        (*batch, "j", "k", *rest),
        [
            (vectors, (*batch, "a", "j")),
            (tangent, (*batch, "a", "b", *rest)),
            (vectors, (*batch, "b", "k")),
        ],
    )
    if is_even(x):
        return turned
    return even_part(graph, turned, len(batch), len(batch) + 1)


def _eigvalsh_forward(
    graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]
) -> Node:
    # d l[k] = v[:, k] @ dA @ v[:, k]: no more than the diagonal is formed.
    (x,) = node.args
    vectors = graph.call("eigvecsh", [x], x.dims)
    batch, rest = batch_names(x), extra_names(extra)
    return graph.product(
        (*batch, "k", *rest),
        [
            (vectors, (*batch, "a", "k")),
            (tangent, (*batch, "a", "b", *rest)),
            (vectors, (*batch, "b", "k")),
        ],
    )


def _eigvecsh_forward(
    graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]
) -> Node:
    # dV = V (F * (V.T dA V)) with F[j, k] = 1 / (l[k] - l[j]), 0 for equal ones.
    (x,) = node.args
    values = graph.call("eigvalsh", [x], x.dims[:-1])
    batch, rest = batch_names(x), extra_names(extra)
    pair = (*batch, "j", "k")
    sizes = dict(zip(pair, x.dims, strict=True))
    terms = [(1, values, (*batch, "k")), (-1, values, (*batch, "j"))]
    gaps = graph.map("inverse", pair, [(graph.sum(pair, terms, sizes), pair)])
    turned = _turned(graph, node, tangent, extra)
    return graph.product(
        (*batch, "i", "k", *rest),
        [(node, (*batch, "i", "j")), (gaps, pair), (turned, (*pair, *rest))],
    )


# Singular values and pseudo-inverses


def _svdvals_partials(graph: Graph, node: Call) -> list[Partial]:
    # s[k] by A[a, b] is u[a, k] v[b, k], which are parts of one eigenvector.
    (x,) = node.args
    m, n = x.dims[-2:]
    *batch, k = range(node.order)
    side, out = m + n, (*batch, "i", "j")
    sizes: dict[object, Dim] = {"i": side, "j": side}
    blocks = []
    for row, column in (("i", "j"), ("j", "i")):
        at = [delta({row: 1, "a": -1}), delta({column: 1, "b": -1}, -m)]
        factor = (x, (*batch, "a", "b"))
        blocks.append(graph.product(out, [factor], constraints=at, sizes=sizes))
    whole = graph.add(*blocks)
    vectors = graph.call("eigvecsh", [whole], whole.dims)
    last = delta({"place": 1, k: 1}, 1 - side)
    size = node.dims[-1]

    def half(low: Dim | int, length: Dim, name: str) -> tuple[Node, Names]:
        labels = (*batch, name, k)
        found = graph.product(
            labels,
            [(vectors, (*batch, "row", "place"))],
            constraints=[delta({"row": 1, name: -1}, -low), last],
            sizes={name: length, k: size},
        )
        return found, labels

    factors = (half(0, m, "a"), half(m, n, "b"))
    return [Partial(x, (*batch, "a", "b"), Fraction(2), factors)]


def _pinv_partials(graph: Graph, node: Call) -> list[Partial]:
    # dP = -P dA P + P P.T dA.T (1 - A P) + (1 - P A) dA.T P.T P
    (x,) = node.args
    *batch, i, j = range(node.order)
    b = tuple(batch)
    rows, columns = x.dims[-2:]

    def rest(first: Node, second: Node, size: Dim) -> Node:
        out, inner = (*b, "i", "j"), (*b, "i", "m")
        whole = graph.product(out, [(first, inner), (second, (*b, "m", "j"))])
        return graph.sum(out, [(1, graph.unit([size]), ("i", "j")), (-1, whole, out)])

    def square(left: Names, right: Names) -> Node:
        return graph.product((*b, "i", "j"), [(node, left), (node, right)])

    outside = rest(x, node, rows), rest(node, x, columns)
    wide = square((*b, "i", "m"), (*b, "j", "m"))
    thin = square((*b, "m", "i"), (*b, "m", "j"))
    terms = (
        (-1, (node, (*b, i, "k")), (node, (*b, "l", j))),
        (1, (wide, (*b, i, "l")), (outside[0], (*b, "k", j))),
        (1, (outside[1], (*b, i, "l")), (thin, (*b, "k", j))),
    )
    return [
        Partial(x, (*b, "k", "l"), Fraction(sign), (first, second))
        for sign, first, second in terms
    ]


def _pinv_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    *batch, m, n = args[0].dims
    return (*batch, n, m)


def _values_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return args[0].dims[:-1]


def _count_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return (*args[0].dims[:-2], cast(Dim, params["count"]))


# Square roots and logarithms: the slope of a function f at A is a linear map of X, a
# call of f(A) and X. X may have axes in front of those of the matrices. It is made even
# where A is symmetric by promise alone: the functions are those of the symmetric part.


def _applied(graph: Graph, name: str, value: Node, x: Node) -> Node:
    return graph.call(name, [value, x], x.dims)


def _fronted(graph: Graph, node: Node, count: int) -> Node:
    """The last `count` axes of a node first."""
    rest = node.order - count
    return graph.permute(node, (*range(rest, node.order), *range(rest)))


def _backed(graph: Graph, node: Node, count: int) -> Node:
    return graph.permute(node, (*range(count, node.order), *range(count)))


def _slope(name: str, graph: Graph, node: Call, t: Node, extra: Sequence[Dim]) -> Node:
    """The tangent of a function, or of its slope by what that is applied to."""
    value = node.args[0] if node.operator == name else node
    if value is node:
        t = even(graph, node.args[0], t, node.order)
    found = _applied(graph, name, value, _fronted(graph, t, len(extra)))
    return _backed(graph, found, len(extra))


def _coslope(name: str, graph: Graph, node: Call, t: Node, rows: Sequence[Dim]) -> Node:
    # These maps are their own transposes.
    value = node.args[0] if node.operator == name else node
    if value is node:
        t = even(graph, node.args[0], t, t.order)
    return _applied(graph, name, value, t)


def _spread(graph: Graph, y: Node, t: Node, extra: Sequence[Dim]) -> Node:
    """A tangent of matrices for each of those that a slope is applied to."""
    lead = y.order + len(extra) - t.order
    names = (*extra_names(extra), *range(y.order))
    sizes = dict(zip(names, (*extra, *y.dims), strict=True))
    own = (*range(lead, y.order), *extra_names(extra))
    return graph.product(names, [(t, own)], sizes=sizes)


def _lyapunov_forward(
    graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]
) -> Node:
    # S Y + Y S = X: dY solves the same for -(dS Y + Y dS).
    rest, (*lead, i, j) = extra_names(extra), range(node.order)
    t = _spread(graph, node, tangent, extra)
    front = (*rest, *lead)
    terms = []
    for first, second in (((t, front), (node, lead)), ((node, lead), (t, front))):
        factors = [(first[0], (*first[1], i, "m")), (second[0], (*second[1], "m", j))]
        out = (*front, i, j)
        terms.append((-1, graph.product(out, factors), out))
    found = _applied(graph, "lyapunov", node.args[0], graph.sum(terms[0][2], terms))
    return _backed(graph, found, len(extra))


def _bend(graph: Graph, value: Node, y: Node, t: Node) -> Node:
    """Return the second derivative of `expm` along y and t, which has axes in front."""
    n, order = value.dims[-1], y.order
    front = tuple(("front", k) for k in range(t.order - order))
    lead = tuple(range(order - 2))

    def block(node: Node, own: Names, out: Names, row: Dim, column: Dim) -> Node:
        sizes: dict[object, Dim] = {"i": n * 2, "j": n * 2}
        names = (*out, "a", "b")
        sizes |= dict(zip(names, t.dims[t.order - len(names) :], strict=True))
        at = [delta({"i": 1, "a": -1}, -row), delta({"j": 1, "b": -1}, -column)]
        factors = [(node, (*own, "a", "b"))]
        return graph.product((*out, "i", "j"), factors, constraints=at, sizes=sizes)

    none, own = Dim(), lead[order - value.order :]
    whole = graph.add(
        block(value, own, lead, none, none),
        block(value, own, lead, n, n),
        block(y, lead, lead, none, n),
    )
    every = (*front, *lead)
    along = [block(t, every, every, at, at) for at in (none, n)]
    value = frechet(graph, whole, graph.add(*along))
    return graph.product(
        (*every, "a", "b"),
        [(value, (*every, "i", "j"))],
        constraints=[delta({"i": 1, "a": -1}), delta({"j": 1, "b": -1}, -n)],
        sizes={"a": n, "b": n},
    )


def _log_slope_forward(
    graph: Graph, node: Call, tangent: Node, extra: Sequence[Dim]
) -> Node:
    # It is the inverse of the slope of expm: dY is that of -expm''[Y, dL].
    t = _spread(graph, node, tangent, extra)
    bend = graph.scale(_bend(graph, node.args[0], node, t), -1)
    found = _applied(graph, "log_slope", node.args[0], bend)
    return _backed(graph, found, len(extra))


def _log_slope_reverse(
    graph: Graph, node: Call, cotangent: Node, rows: Sequence[Dim]
) -> Node:
    value = node.args[0]
    *lead, i, j = range(node.order)
    turned = graph.permute(node, (*lead, j, i))
    carried = graph.scale(_applied(graph, "log_slope", value, cotangent), -1)
    bend = _bend(graph, value, turned, carried)
    count, front = node.order - value.order, len(rows)
    axes = range(bend.order)
    kept = [axis for axis in axes if not front <= axis < front + count]
    return graph.product(kept, [(bend, axes)])


def _function(name: str, slope: str, coefficient: Coefficient) -> Operator:
    rule = Transfer(partial(_slope, slope), partial(_coslope, slope))
    return Operator(
        name,
        same_dims,
        (rule,),
        f"_{name}({{0}})",
        work=12.0,
        regular=True,
        coefficient=coefficient,
    )


def _applied_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return args[1].dims


def _of_slope(name: str, rule: Transfer) -> Operator:
    by_argument = Transfer(partial(_slope, name), partial(_coslope, name))
    text, rules = f"_{name}({{0}}, {{1}})", (rule, by_argument)
    return Operator(name, _applied_dims, rules, text, work=16.0, regular=True)


_OfMatrix = partial(Operator, work=10.0, regular=True)

ROWS = (
    _OfMatrix(
        "eigvalsh",
        _values_dims,
        (Transfer(_eigvalsh_forward),),
        "np.linalg.eigvalsh({0})",
        word="eigenvalues",
    ),
    _OfMatrix(
        "eigvecsh",
        same_dims,
        (Transfer(_eigvecsh_forward),),
        "np.linalg.eigh({0})[1]",
        word="vectors",
    ),
    _OfMatrix(
        "svdvals",
        _count_dims,
        _svdvals_partials,
        "np.linalg.svd({0}, compute_uv=False)",
        params=("count",),
        word="singular",
    ),
    _OfMatrix("pinv", _pinv_dims, _pinv_partials, "np.linalg.pinv({0})"),
    _function("sqrtm", "lyapunov", matrix_series.square_root),
    _of_slope("lyapunov", Transfer(_lyapunov_forward)),
    _function("logm", "log_slope", matrix_series.logarithm),
    _of_slope("log_slope", Transfer(_log_slope_forward, _log_slope_reverse)),
)
