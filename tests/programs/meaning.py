"""What a program means: its text read by Python, with an array library in reach.

With complex NumPy arguments this differentiates by complex step; with JAX's arrays
it is a JAX function. Index notation and derivatives are read by `reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import CodeType
from typing import Any

import numpy as np

from tensorgen.operators.references.rows import FUNCTIONS
from tensorgen.operators.references.whole_arrays import cholesky, expm, logdet
from tests.programs.reading import Meaningless, Runtime, read
from tests.programs.tree import RandomProgram, Statement

Array = Any
Functions = Mapping[str, Callable[..., Array]]
# The eighth-order central difference: steps 1 to 4 to either side.
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
STEP = 1e-2  # of the differences that a derivative in an expression means


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
    scope: dict[str, Any] = {**functions, **program.sizes, **arguments}
    scope = after(program.statements, scope, program, xp)
    return scope[program.result.name]


def after(
    statements: Sequence[Statement], scope: Mapping[str, Any], world: Any, xp: Any
) -> dict[str, Any]:
    """Return a scope with the values of statements in it."""
    scope = dict(scope)
    for k, statement in enumerate(statements):
        scope[statement.name] = evaluate(statement, scope, world, xp, statements[:k])
    return scope


def evaluate(
    statement: Statement,
    scope: Mapping[str, Any],
    world: Any,
    xp: Any,
    before: Sequence[Statement] = (),
) -> Array:
    """Return the value of one statement; `before` are those that it may rest on."""

    def again(changed: Mapping[str, Array]) -> dict[str, Any]:
        return after(before, {**scope, **changed}, world, xp)

    indexed = tuple(sorted(world.indexed.items()))
    reading = read(statement.body.text, statement.indices, indexed)
    found = Runtime(reading, dict(scope), again, xp).value()
    shape = tuple(length(dim, world.sizes) for dim in statement.shape)
    if np.shape(found) != shape and (statement.indices or np.size(found) == 0):
        raise Meaningless(f"{statement} has the shape {np.shape(found)}, not {shape}")
    return xp.reshape(xp.broadcast_to(xp.asarray(found), shape), shape)


def length(dim: str, sizes: Mapping[str, int]) -> int:
    """Return the number that a dim stands for."""
    return int(eval(_compiled(dim), dict(sizes)))


def differences(
    function: Callable[[Array], Array], x: Array, step: float = STEP
) -> Array:
    """Return the derivative of a function by the entries of x, on its last axes.

    These are differences of steps along the real axis, so that complex arguments keep
    their imaginary part exact.
    """
    x = np.array(x, dtype=np.result_type(x, float))
    columns = []
    for entry in np.ndindex(x.shape):
        total = 0.0
        for k, weight in enumerate(WEIGHTS, 1):
            for sign in (1, -1):
                moved = x.copy()
                moved[entry] += sign * k * step
                total = total + sign * weight / step * function(moved)
        columns.append(total)
    return np.reshape(np.stack(columns, axis=-1), (*np.shape(columns[0]), *x.shape))


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

    def smallest(x: Array, axis: Any = None) -> Array:
        return xp.min(x, axis=axis)

    def power(x: Array, y: Array) -> Array:
        return x**y

    def huber(t: Array, d: Array) -> Array:
        return f["where"](f["abs"](t) <= d, t * t / 2, d * (f["abs"](t) - d / 2))

    def centered(x: Array) -> Array:
        return x - mean(x, -1, keepdims=True)

    def layer_norm(x: Array, g: Array, b: Array, eps: float) -> Array:
        spread = mean(centered(x) ** 2, -1, keepdims=True)
        return centered(x) / xp.sqrt(spread + eps) * g + b

    def attention(q: Array, k: Array, v: Array) -> Array:
        scores = q @ xp.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1])
        return softmax(scores, -1) @ v

    def kron(a: Array, b: Array) -> Array:
        rows = [len(a) * len(b), a.shape[1] * b.shape[1]]
        return xp.reshape(xp.einsum("ij,kl->ikjl", a, b), rows)

    def roll(x: Array, shift: int) -> Array:
        return x[(np.arange(len(x)) - shift) % len(x)]

    def elu(x: Array) -> Array:
        return f["where"](x >= 0, x, xp.exp(x) - 1)

    def celu(x: Array, a: Array) -> Array:
        return f["where"](x >= 0, x, a * (xp.exp(x / a) - 1))

    def selu(x: Array) -> Array:
        negative = 1.6732632423543772 * (xp.exp(x) - 1)
        return 1.0507009873554805 * f["where"](x >= 0, x, negative)

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
        "min": smallest,
        "prod": lambda x, axis=None: xp.prod(x, axis=axis),
        "cumsum": lambda x, axis=None: xp.cumsum(x, axis=axis),
        "trace": trace,
        "tr": trace,
        "cross": xp.cross,
        "squeeze": xp.squeeze,
        "tril": lambda x, k=0: x * np.tri(x.shape[0], x.shape[1], k),
        "triu": lambda x, k=0: x * (1 - np.tri(x.shape[0], x.shape[1], k - 1)),
        "kron": kron,
        "flip": lambda x, axis=None: xp.flip(x, axis),
        "roll": roll,
        "concatenate": lambda arrays, axis=0: xp.concatenate(arrays, axis),
        "stack": lambda arrays, axis=0: xp.stack(arrays, axis),
        "reshape": xp.reshape,
        "ravel": xp.ravel,
        "expand_dims": xp.expand_dims,
        "broadcast_to": xp.broadcast_to,
        "tensordot": xp.tensordot,
        "gelu": lambda x: x * (1 + f["erf"](x / np.sqrt(2.0))) / 2,
        "silu": lambda x: x * f["sigmoid"](x),
        "mish": lambda x: x * xp.tanh(f["softplus"](x)),
        "softsign": lambda x: x / (1 + f["abs"](x)),
        "elu": elu,
        "leaky_relu": lambda x, a: f["where"](x > 0, x, a * x),
        "huber": huber,
        "prelu": lambda x, a: f["where"](x > 0, x, a * x),
        "celu": celu,
        "selu": selu,
        "glu": lambda a, b: a * f["sigmoid"](b),
        "logit": lambda p: xp.log(p) - xp.log(1 - p),
        "bce": lambda p, y: -mean(y * xp.log(p) + (1 - y) * xp.log(1 - p)),
        "mse": lambda x, y: mean((x - y) ** 2),
        "bce_with_logits": lambda z, y: mean(f["softplus"](z) - y * z),
        "cross_entropy": lambda z, p: -mean(plain_sum(p * log_softmax(z, -1), -1)),
        "layer_norm": layer_norm,
        "attention": attention,
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
        "bump": lambda t: t / (1 + t * t),
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
        "cholesky": lambda a: cholesky((a + np.swapaxes(a, -1, -2)) / 2),
        "expm": expm,
        "__jacobian__": differences,
    },
)
FINER = {**NUMPY, "__jacobian__": partial(differences, step=STEP / 4)}
