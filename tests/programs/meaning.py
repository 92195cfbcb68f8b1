"""What a program means: its text read by Python, with an array library in reach.

With complex NumPy arguments this differentiates by complex step; with JAX's arrays
it is a JAX function. In index notation an index is an array of its values along an
axis of its own, so that `X[i, j + 1]` is NumPy's own indexing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from tensorgen.operators.reference import FUNCTIONS, logdet
from tests.programs.tree import RandomProgram, Statement

Array = Any
Functions = Mapping[str, Callable[..., Array]]


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<program>", "eval")


def value(program: RandomProgram, arguments: Mapping[str, Array]) -> Array:
    """Return the value of the program's function for NumPy arguments."""
    return run(program, arguments, np, NUMPY)


def run(
    program: RandomProgram,
    arguments: Mapping[str, Array],
    xp: Any,
    functions: Functions,
) -> Array:
    """Return the value that an array library gives."""
    scope: dict[str, Array] = {**functions, **program.sizes, **arguments}
    scope["bump"] = lambda t: t / (1 + t * t)
    for statement in program.statements:
        result = evaluate(statement, scope, program.sizes, xp)
        scope[statement.name] = result
    return result


def evaluate(
    statement: Statement, scope: Mapping[str, Array], sizes: Mapping[str, int], xp: Any
) -> Array:
    """Return the value of one statement."""
    lengths = {x: length(dim, sizes) for x, dim in statement.letters.items()}
    names = list(lengths)
    grid = {
        x: np.arange(lengths[x]).reshape([-1 if y == x else 1 for y in names])
        for x in names
    }
    axes = {id(array): names.index(x) for x, array in grid.items()}
    local = {**scope, **grid, "range": _range}
    local["sum"] = _sum(scope["sum"], axes, names, grid, xp)
    local["__builtins__"] = {}
    body = eval(_compiled(statement.body.text), local)
    shape = tuple(length(dim, sizes) for dim in statement.shape)
    if not statement.indices:
        return xp.reshape(xp.asarray(body), shape)
    free = [lengths[x] if x in statement.indices else 1 for x in names]
    order = [statement.indices.index(x) for x in names if x in statement.indices]
    flat = xp.reshape(xp.broadcast_to(body, free), [shape[k] for k in order])
    return xp.transpose(flat, np.argsort(order))


def length(dim: str, sizes: Mapping[str, int]) -> int:
    """Return the number that a dim stands for."""
    return int(eval(_compiled(dim), dict(sizes)))


def _range(*bounds: Array) -> tuple[Array, Array]:
    start, stop = bounds if len(bounds) == 2 else (0, *bounds)
    return start, stop


def _sum(
    plain: Callable[..., Array],
    axes: Mapping[int, int],
    names: Sequence[str],
    grid: Mapping[str, Array],
    xp: Any,
) -> Callable[..., Array]:
    """Return the sum of both notations: over axes, or over indices and ranges."""

    def total(
        body: Array,
        *over: Array,
        axis: Any = None,
        keepdims: bool = False,
        **ranges: Any,
    ) -> Array:
        if not over and not ranges:
            return plain(body, axis=axis, keepdims=keepdims)
        bound = [axes[id(index)] for index in over]
        full = [1] * len(names)
        for letter, (start, stop) in ranges.items():
            index = grid[letter]
            body = xp.where((start <= index) & (index < stop), body, 0.0)
            bound.append(names.index(letter))
        for axis in bound:
            full[axis] = grid[names[axis]].size
        body = xp.broadcast_to(body, np.broadcast_shapes(np.shape(body), tuple(full)))
        result = xp.sum(body, axis=tuple(bound), keepdims=True)
        return xp.reshape(result, ()) if result.size == 1 else result

    return total


def namespace(xp: Any, elementwise: Functions, linear: Functions) -> dict[str, Any]:
    """Return the functions of the language over an array library.

    Written without conjugation, so that complex arguments stay analytic.
    """
    f = elementwise

    def plain_sum(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return xp.sum(x, axis=axis, keepdims=keepdims)

    def mean(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return xp.mean(x, axis=axis, keepdims=keepdims)

    def var(x: Array, axis: Any = None) -> Array:
        return mean((x - mean(x, axis, keepdims=True)) ** 2, axis)

    def norm(x: Array, order: Any = 2, axis: Any = None) -> Array:
        if order == 1:
            return plain_sum(f["abs"](x), axis)
        return xp.sqrt(plain_sum(x * x, axis))

    def logsumexp(x: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return xp.log(plain_sum(xp.exp(x), axis, keepdims))

    def softmax(x: Array, axis: Any = None) -> Array:
        return xp.exp(x) / plain_sum(xp.exp(x), axis, keepdims=True)

    def log_softmax(x: Array, axis: Any = None) -> Array:
        return x - logsumexp(x, axis, keepdims=True)

    def largest(x: Array, axis: Any = None) -> Array:
        return xp.max(x, axis=axis)

    def power(x: Array, y: Array) -> Array:
        return x**y

    def trace(x: Array) -> Array:
        return xp.einsum("...ii->...", x)

    def eye(n: int) -> Array:
        return np.eye(n)

    def diag(x: Array) -> Array:
        return x[:, None] * np.eye(len(x)) if x.ndim == 1 else xp.einsum("ii->i", x)

    def delta(i: Array, j: Array) -> Array:
        return (i == j) * 1.0

    return {
        **f,
        **linear,
        "pow": power,
        "square": lambda x: x * x,
        "reciprocal": lambda x: 1 / x,
        "clip": lambda x, a, b: f["minimum"](f["maximum"](x, a), b),
        "sum": plain_sum,
        "mean": mean,
        "var": var,
        "norm": norm,
        "max": largest,
        "logsumexp": logsumexp,
        "softmax": softmax,
        "log_softmax": log_softmax,
        "trace": trace,
        "diagonal": lambda x: xp.einsum("ii->i", x),
        "diag": diag,
        "dot": lambda x, y: x @ y,
        "vdot": lambda x, y: plain_sum(x * y),
        "outer": lambda x, y: x[:, None] * y,
        "transpose": xp.transpose,
        "matmul": xp.matmul,
        "einsum": xp.einsum,
        "eye": eye,
        "ones": lambda *shape: np.ones(shape),
        "zeros": lambda *shape: np.zeros(shape),
        "delta": delta,
        "pi": np.pi,
        "e": np.e,
    }


def _lifted(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function that takes Python's numbers too."""
    return lambda *args: function(*(np.asarray(arg) for arg in args))


NUMPY = namespace(
    np,
    {name: _lifted(function) for name, function in FUNCTIONS.items()},
    {
        "inv": np.linalg.inv,
        "det": np.linalg.det,
        "logdet": logdet,
        "solve": lambda a, b: np.linalg.inv(a) @ b,
    },
)

__all__ = ["NUMPY", "evaluate", "length", "namespace", "run", "value"]
