"""Linear algebra: products by labels, and calls of the table of operators."""

from __future__ import annotations

from collections.abc import Callable

from tensorgen.ir.dims import Dim, count, tuple_text
from tensorgen.ir.nodes import delta, indicator
from tensorgen.operators.calls import apply
from tensorgen.operators.functions.arithmetic import matmul, times, total
from tensorgen.operators.functions.array import (
    Array,
    Build,
    Label,
    Misuse,
    Shape,
    align,
    by_axis,
    insert_axes,
    product,
    shorter,
)
from tensorgen.operators.functions.making import ravel, reshape
from tensorgen.operators.functions.reductions import Axis, normal_axis
from tensorgen.operators.matrices import matrix_functions
from tensorgen.operators.promise_calls import promise, stopped


def square(x: Array, name: str, hint: str | None = None) -> None:
    """Demand matrices with as many rows as columns."""
    if x.order < 2 or x.shape[-1] != x.shape[-2]:
        marks = [("A", tuple_text(x.shape))]
        message = f"'{name}' needs a square matrix"
        raise Misuse(message, marks, hint or _in_halves(x.shape))


def _in_halves(shape: Shape) -> str | None:
    """How a matrix is made of axes that stand twice, as those of a Hessian do."""
    half = len(shape) // 2
    if half < 2 or shape[:half] != shape[half:]:
        return None
    side = count(shape[:half])
    return f"a Hessian as one matrix is reshape(hess(f, v), ({side}, {side}))"


def _mismatch(name: str, **arrays: Array) -> Misuse:
    marks = [(at, tuple_text(x.shape)) for at, x in arrays.items()]
    return Misuse(f"shapes do not match in '{name}'", marks)


def dot(build: Build, a: Array, b: Array) -> Array:
    """Inner or matrix product, as np.dot."""
    if not a.order or not b.order:
        return times(build, [a, b], what="'dot'", places=["a", "b"])
    inner = max(b.order - 2, 0)
    if a.shape[-1] != b.shape[inner]:
        raise _mismatch("dot", a=a, b=b)
    left: list[Label] = [("a", k) for k in range(a.order)]
    right: list[Label] = [("b", k) for k in range(b.order)]
    left[-1] = right[inner] = "inner"
    out = [x for x in (*left, *right) if x != "inner"]
    return product(build, out, [(a, left), (b, right)])


def vdot(build: Build, a: Array, b: Array) -> Array:
    """Sum of the products of all entries."""
    if a.shape != b.shape:
        if count(a.shape) != count(b.shape):
            raise _mismatch("vdot", a=a, b=b)
        a, b = ravel(build, a), ravel(build, b)
    return product(build, (), [(a, range(a.order)), (b, range(b.order))])


def outer(build: Build, a: Array, b: Array) -> Array:
    """Products of all pairs of entries."""
    return product(build, (0, 1), [(ravel(build, a), (0,)), (ravel(build, b), (1,))])


def kron(build: Build, a: Array, b: Array) -> Array:
    """Kronecker product: blocks a[i, j] * b."""
    order = max(a.order, b.order)
    a, b = (insert_axes(build, x, range(order - x.order), order) for x in (a, b))
    labels = [(name, k) for k in range(order) for name in "ab"]
    whole = product(build, labels, [(a, labels[::2]), (b, labels[1::2])])
    dims = (p * q for p, q in zip(a.shape, b.shape, strict=True))
    return reshape(build, whole, tuple(dims))


def cross(build: Build, a: Array, b: Array) -> Array:
    """Cross product of vectors of length 3, in the last axes."""
    three = Dim.of(3)
    if not (a.order and b.order and a.shape[-1] == b.shape[-1] == three):
        raise _mismatch("cross", a=a, b=b)
    lead, aligned = align(build, (a, b), "'cross'", ("a", "b"), (1, 1))
    (a, x), (b, y) = aligned
    terms = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        for sign, p, q in ((1, i, j), (-1, j, i)):
            at = {"out": k, "p": p, "q": q}
            term = product(
                build,
                (*range(len(lead)), "out"),
                [(a, (*x, "p")), (b, (*y, "q"))],
                constraints=[delta({label: 1}, -n) for label, n in at.items()],
                sizes={**by_axis(lead), "out": three},
            )
            terms.append((sign, term))
    return total(build, terms)


def matmul_(build: Build, a: Array, b: Array) -> Array:
    """The same as a @ b."""
    return matmul(build, a, b, "'matmul'")


def _of_matrices(name: str) -> Callable[[Build, Array], Array]:
    """The builder of a row of operators, of the matrices in the last two axes."""

    def build_call(build: Build, A: Array) -> Array:
        square(A, name)
        return Array(apply(build.graph, name, [A.node]), A.batch)

    return build_call


inv = _of_matrices("inv")
det = _of_matrices("det")
logdet = _of_matrices("logdet")
expm = _of_matrices("expm")


_ENTRY = (
    "of a matrix that is given entry by entry, it is promised where it has a name: "
)


def _promise(name: str) -> Callable[[Build, Array], Array]:
    """The builder of a promise, of the matrices in the last two axes."""

    def build_promise(build: Build, A: Array) -> Array:
        entry = not A.order and len(A.batch) > 1
        square(A, name, f"{_ENTRY}{name}(K) for K[i, j] = ..." if entry else None)
        return Array(promise(build.graph, name, A.node), A.batch)

    return build_promise


spd = _promise("spd")
symmetric = _promise("symmetric")


def stop_gradient(build: Build, x: Array) -> Array:
    """The value of x, of which all derivatives are zero."""
    return Array(stopped(build.graph, x.node), x.batch)


def cholesky(build: Build, A: Array) -> Array:
    """Lower Cholesky factor of the symmetric part (A + A.T) / 2."""
    square(A, "cholesky")
    return Array(matrix_functions.cholesky(build.graph, A.node), A.batch)


def solve(build: Build, A: Array, b: Array) -> Array:
    """The x with A @ x = b."""
    # Lowering solves.
    square(A, "solve")
    return matmul(build, inv(build, A), b, "'solve'", ("A", "b"))


# Diagonals


def diagonal(
    build: Build, A: Array, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Array:
    """Diagonal of two axes, as a last axis."""
    if A.order < 2:
        message = "'diagonal' needs two axes; diag builds a matrix"
        raise Misuse(message, [("A", tuple_text(A.shape))])
    first, second = (normal_axis(axis, A.order) for axis in (axis1, axis2))
    if first == second:
        raise Misuse("'diagonal' needs two different axes", [("axis2", "")])
    down, right = max(-offset, 0), max(offset, 0)
    m, n = A.shape[first], A.shape[second]
    length = shorter(m - down, n - right)
    build.require(0, length, "the diagonal", "A")
    labels: list[Label] = list(range(A.order))
    kept = [axis for axis in range(A.order) if axis not in (first, second)]
    constraints = [
        delta({axis: 1, "out": -1}, -shift)
        for axis, shift in ((first, down), (second, right))
    ]
    return product(
        build,
        (*kept, "out"),
        [(A, labels)],
        constraints=constraints,
        sizes={"out": length},
    )


def trace(build: Build, A: Array) -> Array:
    """Sum of the diagonal."""
    if A.order < 2:
        raise Misuse("'trace' needs a matrix", [("A", tuple_text(A.shape))])
    if A.shape[0] == A.shape[1]:
        labels = ("i", "i", *range(2, A.order))
        return product(build, labels[2:], [(A, labels)])
    along = diagonal(build, A)
    return product(build, range(along.order - 1), [(along, range(along.order))])


def diag(build: Build, v: Array, k: int = 0) -> Array:
    """Matrix with the diagonal v; of a matrix, its diagonal."""
    if v.order == 2:
        return diagonal(build, v, k)
    if v.order != 1:
        message = "'diag' needs a vector or a matrix"
        raise Misuse(message, [("v", tuple_text(v.shape))])
    size = v.shape[0] + abs(k)
    shifts = ((0, max(-k, 0)), (1, max(k, 0)))
    return product(
        build,
        (0, 1),
        [(v, ("p",))],
        constraints=[delta({axis: 1, "p": -1}, -shift) for axis, shift in shifts],
        sizes={0: size, 1: size},
    )


def tril(build: Build, A: Array, k: int = 0) -> Array:
    """Lower triangle, zero above diagonal k."""
    return _triangle(build, A, "tril", 1, k)


def triu(build: Build, A: Array, k: int = 0) -> Array:
    """Upper triangle, zero below diagonal k."""
    return _triangle(build, A, "triu", -1, k)


def _triangle(build: Build, A: Array, name: str, sign: int, k: int) -> Array:
    if A.order < 2:
        raise Misuse(f"'{name}' needs a matrix", [("A", tuple_text(A.shape))])
    axes = range(A.order)
    form = {A.order - 2: sign, A.order - 1: -sign}
    return product(build, axes, [(A, axes)], constraints=[indicator(form, sign * k)])


def transpose(build: Build, A: Array, axes: Axis = None) -> Array:
    """Axes reversed, or in the order given."""
    order = tuple(reversed(range(A.order)))
    if axes is not None:
        given = axes if isinstance(axes, tuple) else (axes,)
        order = tuple(normal_axis(axis, A.order, "axes") for axis in given)
        if sorted(order) != list(range(A.order)):
            message = f"'axes' must name each of the {A.order} axes once"
            raise Misuse(message, [("axes", "")])
    return product(build, order, [(A, range(A.order))])
