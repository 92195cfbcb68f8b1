"""The table of the language's functions: from its rows calls are checked and built.

Elementwise rows come from the table of elementwise functions; all others build
products, sums and calls of the table of operators.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from tensorgen.operators.elementwise import ALIASES, ELEMENTWISE
from tensorgen.operators.functions import (
    einsum,
    gathering,
    linalg,
    making,
    matrices,
    moving,
    reductions,
    running,
    windows,
)
from tensorgen.operators.functions.arithmetic import elementwise, power
from tensorgen.operators.functions.array import Array, Build
from tensorgen.operators.functions.rows import Function

_SAME = "shape of x"
_SAME_A = "shape of A"
_REDUCED = "shape of x without the axes"


def _signature(build: Callable[..., Array], spread: str) -> str:
    """What a builder takes behind the graph, as Python writes it."""
    _, *own = signature(build).parameters.values()
    given = [p.replace(annotation=p.empty) for p in own if p.kind is not p.KEYWORD_ONLY]
    return ", ".join("*" * (p.name == spread) + str(p) for p in given)


def _row(
    name: str,
    build: Callable[..., Array],
    shape: str,
    says: str = "",
    spread: str = "",
    **more: bool,
) -> Function:
    """A function that a builder says all of, its docstring what it is.

    The parameter `spread` takes all arguments from there on.
    """
    says = says or str(build.__doc__).partition("\n")[0]
    return Function(name, _signature(build, spread), says, shape, build, **more)


_ROWS = (
    _row("sum", reductions.sum_, _REDUCED, "Sum of the entries.", reduces=True),
    _row("mean", reductions.mean, _REDUCED, "Mean of the entries.", reduces=True),
    _row("var", reductions.var, _REDUCED, reduces=True),
    _row("std", reductions.std, _REDUCED, reduces=True),
    _row("prod", reductions.prod, _REDUCED, "Product of the entries.", reduces=True),
    _row(
        "max",
        reductions.max_,
        _REDUCED,
        "Largest entry; the derivative is shared among equals.",
        reduces=True,
    ),
    _row(
        "min",
        reductions.min_,
        _REDUCED,
        "Smallest entry; the derivative is shared among equals.",
        reduces=True,
    ),
    _row("median", reductions.median, _REDUCED, reduces=True),
    _row("norm", reductions.norm, _REDUCED, reduces=True),
    _row(
        "logsumexp",
        reductions.logsumexp,
        _REDUCED,
        "Logarithm of the sum of exponentials.",
        reduces=True,
    ),
    _row("softmax", reductions.softmax, _SAME, along=True),
    _row("log_softmax", reductions.log_softmax, _SAME, along=True),
    _row("cumsum", running.cumsum, _SAME, along=True),
    _row("cumprod", running.cumprod, _SAME, along=True),
    _row("sort", gathering.sort, _SAME, along=True),
    _row("argsort", gathering.argsort, _SAME, along=True),
    _row("searchsorted", gathering.searchsorted, "shape of v"),
    # Linear algebra.
    _row("dot", linalg.dot, "a.shape[:-1] + the rest of b"),
    _row("vdot", linalg.vdot, "()"),
    _row("outer", linalg.outer, "(size of a, size of b)"),
    _row("kron", linalg.kron, "lengths multiplied axis by axis"),
    _row("cross", linalg.cross, "(..., 3)"),
    _row("matmul", linalg.matmul_, "as of a @ b"),
    _row("einsum", einsum.einsum, "given by the labels", spread="operands"),
    _row("tensordot", einsum.tensordot, "the axes left of a, then of b"),
    _row("trace", linalg.trace, "A.shape[2:]"),
    _row("tr", linalg.trace, "A.shape[2:]", "The same as trace."),
    _row("diag", linalg.diag, "(n, n) or (n,)"),
    _row("diagonal", linalg.diagonal, "the other axes, then the diagonal"),
    _row("tril", linalg.tril, _SAME_A),
    _row("triu", linalg.triu, _SAME_A),
    _row("transpose", linalg.transpose, "A.shape in that order"),
    _row("inv", linalg.inv, _SAME_A, "Inverse of matrices."),
    _row("solve", linalg.solve, "as of A @ b"),
    _row("det", linalg.det, "A.shape[:-2]", "Determinant of matrices."),
    _row(
        "logdet",
        linalg.logdet,
        "A.shape[:-2]",
        "Logarithm of the absolute value of the determinant.",
    ),
    _row("cholesky", linalg.cholesky, _SAME_A),
    _row("expm", linalg.expm, _SAME_A, "Matrix exponential."),
    _row("sqrtm", matrices.sqrtm, _SAME_A),
    _row("logm", matrices.logm, _SAME_A),
    _row("eigvalsh", matrices.eigvalsh, "A.shape[:-1]"),
    _row("eigvecsh", matrices.eigvecsh, _SAME_A),
    _row("svdvals", matrices.svdvals, "A.shape[:-2] + (the shorter side,)"),
    _row("pinv", matrices.pinv, "A.shape, its last two swapped"),
    _row("solve_triangular", matrices.solve_triangular, "as of A @ b"),
    _row("matrix_power", matrices.matrix_power, _SAME_A),
    _row("toeplitz", matrices.toeplitz, "(length of c, length of r)"),
    _row("block_diag", matrices.block_diag, "lengths added", spread="arrays"),
    _row(
        "spd",
        linalg.spd,
        _SAME_A,
        "A itself, promised to be symmetric positive definite.",
    ),
    _row("symmetric", linalg.symmetric, _SAME_A, "A itself, promised to be symmetric."),
    _row(
        "stop_gradient",
        linalg.stop_gradient,
        _SAME,
        "x itself, a constant to every derivative.",
    ),
    # Making arrays from sizes.
    _row("eye", making.eye, "(n, n) or (n, m)"),
    _row("ones", making.ones, "the shape given", spread="shape"),
    _row("zeros", making.zeros, "the shape given", spread="shape"),
    _row("full", making.full, "the shape given"),
    _row("arange", making.arange, "(stop - start,)"),
    # Moving entries.
    _row("reshape", making.reshape, "the shape given", spread="newshape"),
    _row("ravel", making.ravel, "(size of x,)"),
    _row("concatenate", making.concatenate, "lengths added along the axis"),
    _row("stack", making.stack, "a new axis"),
    _row("expand_dims", making.expand_dims, "with the new axes"),
    _row("squeeze", making.squeeze, "without them"),
    _row("broadcast_to", making.broadcast_to, "the shape given"),
    _row("flip", making.flip, _SAME),
    _row("roll", making.roll, _SAME),
    _row("take_along_axis", gathering.take_along_axis, "shape of indices"),
    _row("take", gathering.take, "x.shape, the axis in the shape of indices"),
    _row("put", gathering.put, _SAME),
    _row("index_put", gathering.index_put, _SAME),
    _row("one_hot", gathering.one_hot, "indices.shape + (n,)"),
    _row("diff", moving.diff, "shorter by k along the axis"),
    _row("convolve", windows.convolve, "depending on mode"),
    _row("correlate", windows.correlate, "depending on mode"),
    _row("interp", windows.interp, _SAME),
    _row("spline", windows.spline, _SAME),
    _row("pad", moving.pad, "longer by both widths"),
    _row("repeat", moving.repeat, "n times as long along the axis"),
    _row("tile", moving.tile, "lengths times reps", spread="reps"),
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
