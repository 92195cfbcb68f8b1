"""Matrices from diagonals and blocks, their powers, eigenvalues and functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.nodes import delta, indicator
from tensorgen.operators.calls import apply
from tensorgen.operators.functions.arithmetic import matmul, total
from tensorgen.operators.functions.array import (
    Array,
    Build,
    Label,
    Misuse,
    by_axis,
    product,
    shorter,
)
from tensorgen.operators.functions.linalg import inv, square, tril, triu
from tensorgen.operators.matrices import spectral


def solve_triangular(build: Build, A: Array, b: Array, lower: bool = False) -> Array:
    """The x with A @ x = b, of which the upper or lower triangle of A is read."""
    square(A, "solve_triangular")
    half = (tril if lower else triu)(build, A)
    return matmul(build, inv(build, half), b, "'solve_triangular'", ("A", "b"))


def matrix_power(build: Build, A: Array, power: int) -> Array:
    """A @ A @ ... @ A; of powers below 0 the inverse."""
    square(A, "matrix_power")
    if abs(power) > _MOST:
        message = f"powers of matrices go up to {_MOST}"
        raise Misuse(message, [("power", "")], "expm(t * logm(A)) is any power")
    if power < 0:
        A, power = inv(build, A), -power
    found = None
    while power:
        if power & 1:
            found = A if found is None else matmul(build, found, A)
        power >>= 1
        A = matmul(build, A, A) if power else A
    if found is None:
        axes = range(A.node.order)
        equal = [delta({axes[-2]: 1, axes[-1]: -1})]
        sizes = by_axis(A.node.dims)
        unit = build.graph.product(axes, [], constraints=equal, sizes=sizes)
        return Array(unit, A.batch)
    return found


_MOST = 64


def toeplitz(build: Build, c: Array, r: Array | None = None) -> Array:
    """Matrix of equal diagonals: first column c, first row r behind its first entry."""
    r = c if r is None else r
    for at, x in (("c", c), ("r", r)):
        if x.order != 1:
            raise Misuse("'toeplitz' needs vectors", [(at, tuple_text(x.shape))])
    sizes: dict[Label, Dim] = {0: c.shape[0], 1: r.shape[0]}
    terms = []
    for x, sign, low in ((c, 1, 0), (r, -1, 1)):
        where = [delta({0: sign, 1: -sign, "k": -1})]
        where += [indicator({"k": 1}, -low)] * low
        factors = [(x, ("k",))]
        part = product(build, (0, 1), factors, constraints=where, sizes=sizes)
        terms.append((1, part))
    return total(build, terms)


def block_diag(build: Build, arrays: Sequence[Array]) -> Array:
    """Matrices along the diagonal, zeros beside them."""
    places = [("arrays", k) for k in range(len(arrays))]
    for place, x in zip(places, arrays, strict=True):
        if x.order != 2:
            message = "'block_diag' needs matrices"
            raise Misuse(message, [(place, tuple_text(x.shape))])
    if not arrays:
        raise Misuse("'block_diag' needs at least one matrix")
    starts, sizes = [], [Dim(), Dim()]
    for x in arrays:
        starts.append(tuple(sizes))
        sizes = [size + dim for size, dim in zip(sizes, x.shape, strict=True)]
    terms = []
    for x, (row, column) in zip(arrays, starts, strict=True):
        at = [delta({0: 1, "i": -1}, -row), delta({1: 1, "j": -1}, -column)]
        known: dict[Label, Dim] = {0: sizes[0], 1: sizes[1]}
        part = product(build, (0, 1), [(x, ("i", "j"))], constraints=at, sizes=known)
        terms.append((1, part))
    return total(build, terms)


def pinv(build: Build, A: Array) -> Array:
    """Pseudo-inverse of matrices; the derivative takes the rank for constant."""
    _matrix(A, "pinv")
    return Array(apply(build.graph, "pinv", [A.node]), A.batch)


def svdvals(build: Build, A: Array) -> Array:
    """Singular values, the largest first."""
    _matrix(A, "svdvals")
    count = shorter(*A.shape[-2:])
    return Array(spectral.singular_values(build.graph, A.node, count), A.batch)


def _matrix(x: Array, name: str) -> None:
    if x.order < 2:
        raise Misuse(f"'{name}' needs a matrix", [("A", tuple_text(x.shape))])


def _of_symmetric(name: str, says: str) -> Callable[[Build, Array], Array]:
    """The builder of a row that takes the symmetric part of its argument."""

    def build_call(build: Build, A: Array) -> Array:
        square(A, name)
        return Array(spectral.of_symmetric(build.graph, name, A.node), A.batch)

    build_call.__doc__ = says
    return build_call


eigvalsh = _of_symmetric(
    "eigvalsh", "Eigenvalues of (A + A.T) / 2, the smallest first."
)
eigvecsh = _of_symmetric("eigvecsh", "Eigenvectors of (A + A.T) / 2, as columns.")
sqrtm = _of_symmetric("sqrtm", "Square root of (A + A.T) / 2, positive definite.")
logm = _of_symmetric("logm", "Logarithm of (A + A.T) / 2, positive definite.")
