"""The functions of the language: one row each, from which calls are checked and built.

Elementwise rows come from the table of elementwise functions; all others build
products, sums and calls of the table of operators.
"""

from __future__ import annotations

from collections.abc import Callable

from tensorgen.operators.elementwise import ALIASES, ELEMENTWISE
from tensorgen.operators.functions import einsum, linalg, making, reductions
from tensorgen.operators.functions.arithmetic import elementwise, power
from tensorgen.operators.functions.array import Array, Build
from tensorgen.operators.functions.rows import Function, Parameter

_SAME = "shape of x"


def _reduction(
    name: str, says: str, build: Callable[..., Array], before: str = ""
) -> Function:
    """A function over axes, or over indices that it binds."""
    signature = f"x, {before}axis=None, keepdims=False"
    shape = "shape of x without the axes"
    return Function(name, signature, says, shape, build, reduces=True)


def _kept(name: str, says: str, build: Callable[..., Array]) -> Function:
    """A function along axes, which stay."""
    return Function(name, "x, axis=None", says, _SAME, build, along=True)


_ROWS = (
    _reduction("sum", "Sum of the entries.", reductions.sum_),
    _reduction("mean", "Mean of the entries.", reductions.mean),
    _reduction("var", "Mean squared deviation from the mean.", reductions.var),
    _reduction("prod", "Product of the entries.", reductions.prod),
    _reduction(
        "max", "Largest entry; the derivative is shared among equals.", reductions.max_
    ),
    _reduction(
        "min", "Smallest entry; the derivative is shared among equals.", reductions.min_
    ),
    _reduction(
        "norm",
        "Entrywise norm: Euclidean, or of order 1 or inf.",
        reductions.norm,
        "ord=None, ",
    ),
    _reduction(
        "logsumexp", "Logarithm of the sum of exponentials.", reductions.logsumexp
    ),
    _kept("softmax", "Exponentials, scaled to sum to 1.", reductions.softmax),
    _kept("log_softmax", "Logarithm of the softmax.", reductions.log_softmax),
    _kept("cumsum", "Running sums.", reductions.cumsum),
    # Linear algebra.
    Function(
        "dot",
        "a, b",
        "Inner or matrix product, as np.dot.",
        "a.shape[:-1] + the rest of b",
        linalg.dot,
    ),
    Function("vdot", "a, b", "Sum of the products of all entries.", "()", linalg.vdot),
    Function(
        "outer",
        "a, b",
        "Products of all pairs of entries.",
        "(size of a, size of b)",
        linalg.outer,
    ),
    Function(
        "kron",
        "a, b",
        "Kronecker product: blocks a[i, j] * b.",
        "lengths multiplied axis by axis",
        linalg.kron,
    ),
    Function(
        "cross",
        "a, b",
        "Cross product of vectors of length 3, in the last axes.",
        "(..., 3)",
        linalg.cross,
    ),
    Function("matmul", "a, b", "The same as a @ b.", "as of a @ b", linalg.matmul_),
    Function(
        "einsum",
        "subscripts, *operands",
        "Product by labels, as np.einsum.",
        "as the labels say",
        einsum.einsum,
    ),
    Function(
        "tensordot",
        "a, b, axes=2",
        "Product summed over pairs of axes.",
        "the axes left of a, then of b",
        einsum.tensordot,
    ),
    Function("trace", "A", "Sum of the diagonal.", "A.shape[2:]", linalg.trace),
    Function("tr", "A", "The same as trace.", "A.shape[2:]", linalg.trace),
    Function(
        "diag",
        "v, k=0",
        "Matrix with the diagonal v; of a matrix, its diagonal.",
        "(n, n) or (n,)",
        linalg.diag,
    ),
    Function(
        "diagonal",
        "A, offset=0, axis1=0, axis2=1",
        "Diagonal of two axes, as a last axis.",
        "the other axes, then the diagonal",
        linalg.diagonal,
    ),
    Function(
        "tril",
        "A, k=0",
        "Lower triangle, zero above diagonal k.",
        "shape of A",
        linalg.tril,
    ),
    Function(
        "triu",
        "A, k=0",
        "Upper triangle, zero below diagonal k.",
        "shape of A",
        linalg.triu,
    ),
    Function(
        "transpose",
        "A, axes=None",
        "Axes reversed, or in the order given.",
        "A.shape in that order",
        linalg.transpose,
    ),
    Function("inv", "A", "Inverse of matrices.", "shape of A", linalg.inv),
    Function("solve", "A, b", "The x with A @ x = b.", "as of A @ b", linalg.solve),
    Function("det", "A", "Determinant of matrices.", "A.shape[:-2]", linalg.det),
    Function(
        "logdet",
        "A",
        "Logarithm of the absolute value of the determinant.",
        "A.shape[:-2]",
        linalg.logdet,
    ),
    Function(
        "cholesky",
        "A",
        "Lower Cholesky factor of the symmetric part (A + A.T) / 2.",
        "shape of A",
        linalg.cholesky,
    ),
    Function("expm", "A", "Matrix exponential.", "shape of A", linalg.expm),
    # Making arrays from sizes.
    Function(
        "eye", "n, m=None", "Ones on the diagonal.", "(n, n) or (n, m)", making.eye
    ),
    Function("ones", "*shape", "Ones.", "the shape given", making.ones),
    Function("zeros", "*shape", "Zeros.", "the shape given", making.zeros),
    Function(
        "full", "shape, value", "One value everywhere.", "the shape given", making.full
    ),
    Function(
        "arange",
        "start, stop=None",
        "Whole numbers from start (0 if only stop is given) up to stop.",
        "(stop - start,)",
        making.arange,
    ),
    # Moving entries.
    Function(
        "reshape",
        "x, *newshape",
        "Another shape, of the same entries in C order; one length may be -1.",
        "the shape given",
        making.reshape,
    ),
    Function("ravel", "x", "All entries in a row.", "(size of x,)", making.ravel),
    Function(
        "concatenate",
        "arrays, axis=0",
        "Arrays joined along an axis.",
        "lengths added along the axis",
        making.concatenate,
    ),
    Function(
        "stack",
        "arrays, axis=0",
        "Arrays of one shape along a new axis.",
        "a new axis",
        making.stack,
    ),
    Function(
        "expand_dims",
        "x, axis",
        "New axes of length 1.",
        "with the new axes",
        making.expand_dims,
    ),
    Function(
        "squeeze",
        "x, axis=None",
        "Without axes of length 1.",
        "without them",
        making.squeeze,
    ),
    Function(
        "broadcast_to",
        "x, shape",
        "Repeated to a shape.",
        "the shape given",
        making.broadcast_to,
    ),
    Function("flip", "x, axis=None", "In reverse order.", _SAME, making.flip),
    Function(
        "roll",
        "x, shift, axis=None",
        "Moved round by a whole number.",
        _SAME,
        making.roll,
    ),
)


def _elementwise(name: str, row: str) -> Function:
    found = ELEMENTWISE[row]
    names = found.arguments or ("x", "y", "z")[: found.arity]

    def build(build: Build, **arguments: Array) -> Array:
        operands = [arguments[argument] for argument in names]
        if row == "pow":
            return power(build, operands[0], operands[1], names)
        return elementwise(build, row, operands, f"'{name}'", names)

    says = found.doc or f"Elementwise {row}."
    return Function(name, ", ".join(names), says, "broadcast", build)


FUNCTIONS: dict[str, Function] = {
    **{row.name: row for row in _ROWS},
    **{
        name: _elementwise(name, name)
        for name, row in ELEMENTWISE.items()
        if not row.boolean and not row.has("internal")
    },
    **{name: _elementwise(name, row) for name, row in ALIASES.items()},
}

__all__ = ["FUNCTIONS", "Array", "Build", "Function", "Parameter"]
