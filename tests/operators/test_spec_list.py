"""Every function of the language, by name: generated values and two derivatives.

Each is tried in a small expression. Values are held against NumPy and SciPy, gradients
against differences of those, Hessians against differences of the gradients.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.lang.prelude import prelude
from tensorgen.operators.functions import FUNCTIONS
from tests.operators.meanings import NAMESPACE, SIZES

pytestmark = pytest.mark.thorough

Array = Any

SHAPES: dict[str, tuple[str | int, ...]] = {
    "x": ("n",),
    "y": ("n",),
    "u": ("m",),
    "c": (),
    "X": ("m", "n"),
    "Y": ("m", "n"),
    "A": ("n", "n"),
    "B": ("k", "n", "n"),
    "T": ("k", "m", "n"),
    "P": ("k", 3),
    "q": (3,),
}


def _numbers() -> dict[str, Array]:
    random = np.random.default_rng(11)
    found = {}
    for name, dims in SHAPES.items():
        shape = tuple(SIZES[d] if isinstance(d, str) else d for d in dims)
        found[name] = np.asarray(random.uniform(0.15, 0.85, shape))
    # Away from the kinks of what is tried.
    found["x"] = np.array([0.18, 0.37, 0.55, 0.83])
    found["y"] = np.array([0.31, 0.72, 0.44, 0.16])
    for name in "AB":
        found[name] = found[name] + 2 * np.eye(4)
    return found


NUMBERS = _numbers()

# Names of functions with the arguments they are tried with.
ONE = "x - 1/2"  # both signs
CALLS: dict[str, tuple[str, ...]] = {
    **{
        name: (f"{name}({ONE})",)
        for name in (
            *("exp", "expm1", "square", "reciprocal", "abs", "sign", "sin", "cos"),
            *("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh"),
            *("sigmoid", "softplus", "log_sigmoid", "relu", "gelu", "silu", "elu"),
            *("selu", "softsign", "mish", "erf", "erfc", "floor"),
            *("ndtr", "log_ndtr", "expit", "i0e", "i1e"),
            *("i0", "i1", "log_i0", "exprel"),
        )
    },
    **{
        name: (f"{name}(x)",)
        for name in (
            *("log", "log1p", "log2", "log10", "sqrt", "cbrt", "lgamma", "digamma"),
            *("ndtri", "norm_ppf", "logit", "arcsin", "arccos", "arctan"),
        )
    },
    "acosh": ("acosh(1 + x)",),
    "polygamma": ("polygamma(2, 1 + x)",),
    "trigamma": ("trigamma(1 + x)",),
    "lrising": ("lrising(1 + x, y)",),
    "log_ndtr_diff": ("log_ndtr_diff(x + 1, x - y)",),
    "log_sub_exp": ("log_sub_exp(x + 2, y)",),
    "betaln": ("betaln(1 + x, 1 + y)",),
    "gammainc": ("gammainc(2.5, 1 + x)",),
    "betainc": ("betainc(2.5, 3, x)",),
    "atan2": ("atan2(x - 1/2, y)",),
    "maximum": ("maximum(x, y)",),
    "minimum": ("minimum(X, y)",),
    "clip": ("clip(x, 0.3, 0.6)",),
    "where": ("where((x > 0.4) & (y > 0.2) | (x < 0.2), x**2, y)",),
    "pow": ("pow(x, y)",),
    "hypot": ("hypot(x, y)",),
    "logaddexp": ("logaddexp(X, y)",),
    "xlogy": ("xlogy(x, y)",),
    "celu": (f"celu({ONE}, 2)",),
    "prelu": (f"prelu({ONE}, c)",),
    "leaky_relu": (f"leaky_relu({ONE}, 0.1)",),
    "glu": ("glu(x, y)",),
    "huber": (f"huber(2 * ({ONE}), 0.3)",),
    "mse": ("mse(X, y)",),
    "smooth_l1": ("smooth_l1(3*X, Y)",),
    "bce": ("bce(X, Y)",),
    "bce_with_logits": ("bce_with_logits(X, Y)",),
    "cross_entropy": ("cross_entropy(X, Y)",),
    "layer_norm": ("layer_norm(X, x, y, 0.01)",),
    "centered": ("centered(X)",),
    "row_length": ("row_length(X) * X",),
    "similarity": ("similarity(X, Y)",),
    "lstsq": ("lstsq(X, u)", "lstsq(A, X.T)"),
    "attention": ("attention(X, Y, X)", "attention(T, T, T)"),
    # Reductions.
    **{
        name: (f"{name}(X**2)", f"{name}(T, axis=(0, -1))", f"{name}(X, axis=1)")
        for name in ("sum", "mean", "prod", "max", "min", "var", "logsumexp", "median")
    },
    "norm": (
        'norm(A, "nuc")',
        "norm(X)",
        "norm(X - 1/2, 1)",
        "norm(X, inf)",
        "norm(X, axis=1)",
    ),
    "softmax": ("softmax(X, axis=1)", "softmax(X)", "softmax(T, axis=(0, 2))"),
    "log_softmax": ("log_softmax(X, axis=0)", "log_softmax(x)"),
    "cumsum": ("cumsum(X, axis=1)", "cumsum(x)"),
    "cumprod": ("cumprod(X, axis=1)", "cumprod(1 - x)"),
    "sort": ("sort(X)", "sort(T**2, axis=0)", "sort(-x) * y"),
    "argsort": ("argsort(x) * y", "X[arange(m)[:, None], argsort(Y)]"),
    "searchsorted": ("searchsorted(x, Y) * X", "x[searchsorted(x[1:], 2 * y)]"),
    "take_along_axis": ("take_along_axis(X, argsort(-Y), 1)",),
    "take": ("take(x, argsort(y)) * x", "take(X, argsort(x)[:2], axis=1)"),
    "put": ("put(X, argsort(x), y)", "put(x, argsort(y)[1:], 3 * y[1:])"),
    "index_put": (
        "index_put(X, argsort(u), 2 * Y)",
        "index_put(A, (argsort(x), argsort(y)), x * y)",
    ),
    "one_hot": ("one_hot(argsort(x)) @ A",),
    # Linear algebra.
    "dot": ("dot(x, y)", "dot(X, A)", "dot(T, B)"),
    "vdot": ("vdot(X, Y)", "vdot(x, reshape(A, (4, n))[0])"),
    "outer": ("outer(u, x)", "outer(X, u)"),
    "kron": ("kron(X, A)", "kron(x, u)", "kron(X, u)", "kron(eye(2), A)"),
    "trace": ("trace(A @ A)", "trace(transpose(B))"),
    "tr": ("tr(A**2)",),
    "diag": ("diag(x)", "diag(x, 1)", "diag(A)", "diag(A, -1)"),
    "diagonal": ("diagonal(A)", "diagonal(B, 0, 1, 2)"),
    "tril": ("tril(A)", "tril(B, -1)"),
    "triu": ("triu(X, 1)", "triu(B)"),
    "transpose": ("transpose(X)", "transpose(T, (1, 0, 2))"),
    "inv": ("inv(A)", "inv(B)"),
    "solve": ("solve(A, x)", "solve(B, A)", "solve(B, B)", "solve(A, X.T)"),
    "det": ("det(A)", "det(B)"),
    "logdet": ("logdet(A)", "logdet(B)"),
    "cholesky": ("cholesky(A)", "cholesky(B)", "cholesky(X.T @ X + eye(n))"),
    "spd": ("spd(A)", "spd(B)"),
    "symmetric": ("symmetric(A)", "symmetric(B)"),
    "expm": ("expm(A)", "expm(B / 4)"),
    "sqrtm": ("sqrtm(A)", "sqrtm(B)", "sqrtm(c * eye(n)) @ x"),
    "logm": ("logm(A)", "logm(B)", "logm(c * eye(n)) @ x"),
    "eigvalsh": ("eigvalsh(A)", "eigvalsh(B)"),
    "eigvecsh": ("eigvecsh(A) ** 2",),
    "svdvals": ("svdvals(A)", "svdvals(concatenate([A, X]))"),
    "pinv": ("pinv(X)", "pinv(X.T) @ x", "pinv(T)"),
    "solve_triangular": (
        "solve_triangular(A, x)",
        "solve_triangular(B, A, lower=True)",
    ),
    "matrix_power": ("matrix_power(A, 3)", "matrix_power(B, -2)"),
    "toeplitz": ("toeplitz(x)", "toeplitz(x, u)"),
    "block_diag": ("block_diag(X, A)",),
    "cross": ("cross(q, P[0])", "cross(P, q)"),
    "einsum": ('einsum("ij,jk->ik", X, A)', 'einsum("bij,bjk->bik", T, B)'),
    "tensordot": ("tensordot(X, A, 1)", "tensordot(T, B, ((0, 2), (0, 1)))"),
    "matmul": ("matmul(X, A)", "matmul(T, B)", "matmul(B, x)"),
    # Making, and moving.
    "eye": ("eye(n) * A", "eye(m, n) + X"),
    "ones": ("ones((m, n)) * X",),
    "zeros": ("zeros((m, n)) + X",),
    "full": ("full((m, n), 3) * X",),
    "arange": ("arange(n) * X",),
    "reshape": (
        "reshape(X, (n, m))",
        "reshape(T, (m, -1))",
        "reshape(T, (k, m * n)) * reshape(X, (1, -1))",
        "sin(reshape(X, (2, 3, 2)))",
    ),
    "ravel": ("ravel(X)", "ravel(X) * ravel(Y)", "ravel(X.T) + ravel(Y)"),
    "concatenate": ("concatenate([x, u])", "concatenate([X, A], axis=0)"),
    "stack": ("stack([x, y, x])", "stack([X, Y], axis=1)"),
    "expand_dims": ("expand_dims(X, 1)",),
    "squeeze": ("squeeze(X[:, None])",),
    "broadcast_to": ("broadcast_to(x, (m, n)) * X",),
    "flip": ("flip(X, 1)", "flip(x)"),
    "diff": ("diff(X)", "diff(x, 2)"),
    "convolve": ("convolve(x, u)", 'convolve(X, P[:1, :2], mode="same")'),
    "correlate": ("correlate(x, u)", 'correlate(X, P[:, :2], mode="full")'),
    "interp": ("interp(u, x, y)", "interp(2 * u - 1/2, x, y)"),
    "spline": ("spline(2 * X - 1/2, arange(n) / 4, y)",),
    "pad": ("pad(X, ((1, 0), (2, 1)))",),
    "repeat": ("repeat(X, 2)", "repeat(X, 2, axis=0)"),
    "tile": ("tile(x, 2)", "tile(X, (2, 1))"),
    "std": ("std(X)", "std(X, axis=1, ddof=1)"),
    "round": ("x * round(2 * x)",),
    "ceil": ("x * ceil(3 * x)",),
    "isnan": ("where(isnan(x), 0, x)",),
    "mod": ("mod(x, 2 * y)", "x % (1/3)"),
    "floor_divide": ("x * floor_divide(x, 2 * y)", "x * (x // (1/3))"),
    "roll": ("roll(x, 1)", "roll(X, -2, 1)"),
}
CALLS |= {"ln": ("ln(x)",)}
CASES = [(name, text) for name, texts in CALLS.items() for text in texts]


def test_every_function_is_tried() -> None:
    # That its derivative is none is held in tests/test_functions.py.
    assert sorted([*CALLS, "stop_gradient"]) == sorted({*FUNCTIONS, *prelude()})


def _mentioned(text: str) -> list[str]:
    names = {
        part.id for part in ast.walk(ast.parse(text)) if isinstance(part, ast.Name)
    }
    return [name for name in SHAPES if name in names]


@cache
def _module(text: str) -> ModuleType:
    inputs = "".join(
        f"  {name}: [{', '.join(map(str, shape))}]\n" for name, shape in SHAPES.items()
    )
    wrt = ", ".join(_mentioned(text))
    return tensorgen.load(
        "tensorgen: 1\nmodule: one\n"
        f"dims: {{{', '.join(f'{d}: {size}' for d, size in SIZES.items())}}}\n"
        f"inputs:\n{inputs}functions:\n  g: |\n    {text}\n"
        f"  f:\n    expr: sum((g + 1/2)**2)\n    wrt: [{wrt}]\n"
        "    emit: [value, gradient, dense_hessian]\n"
    )


def _meaning(text: str, given: dict[str, Array]) -> Array:
    return np.asarray(eval(text, {"__builtins__": {}}, {**NAMESPACE, **given}))


WEIGHTS = ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))


def _difference(function: Callable[[Array], Array], at: Array, h: float) -> Array:
    """The derivative of eighth order of accuracy, its axes those of the value first."""
    columns = []
    for place in np.ndindex(at.shape):
        column: Array = 0.0
        for step, weight in WEIGHTS:
            ends = []
            for sign in (1, -1):
                moved = at.copy()
                moved[place] += sign * step * h
                ends.append(np.asarray(function(moved)))
            column = column + weight * (ends[0] - ends[1]) / h
        columns.append(column)
    whole = np.stack(columns, axis=-1)
    return whole.reshape((*whole.shape[:-1], *at.shape))


def _close(found: Array, expected: Array) -> None:
    scale = max(1.0, float(np.max(np.abs(expected))))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * scale)


@pytest.mark.parametrize(("name", "text"), CASES)
def test_value_gradient_and_hessian_are_right(name: str, text: str) -> None:
    module = _module(text)
    used = _mentioned(text)
    given = {n: NUMBERS[n] for n in used}
    value = _meaning(text, given)
    found = module.g(**given)
    assert np.shape(found) == value.shape
    np.testing.assert_allclose(found, value, rtol=1e-11, atol=1e-12)

    def scalar(n: str, at: Array) -> Array:
        return np.sum((_meaning(text, {**given, n: at}) + 1 / 2) ** 2)

    def gradient(m: str, n: str, at: Array) -> Array:
        result = module.f_grad(**{**given, n: at})
        return result if len(used) == 1 else getattr(result, m)

    hessian = module.f_hess_dense(**given)
    for a in used:
        slope = _difference(partial(scalar, a), given[a], 2e-3)
        _close(gradient(a, a, given[a]), slope)
        for b in used:
            block = hessian if len(used) == 1 else hessian[a, b]
            _close(block, _difference(partial(gradient, a, b), given[b], 2e-3))


@pytest.mark.parametrize(("name", "text"), CASES)
def test_float32_stays_float32(name: str, text: str) -> None:
    module = _module(text)
    used = _mentioned(text)
    given = {n: NUMBERS[n].astype(np.float32)[()] for n in used}
    gradient = module.f_grad(**given)
    results = [module.g(**given), *([gradient] if len(used) == 1 else gradient)]
    hessian = module.f_hess_dense(**given)
    results += [hessian] if len(used) == 1 else list(hessian.values())
    assert {np.asarray(result).dtype for result in results} == {np.dtype("float32")}
