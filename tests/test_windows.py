"""Sums over windows: values and two derivatives against JAX, at sizes of all kinds.

However a function is spelled, it is written in the same way.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tensorgen
from tests.made import code_of
from tests.sampled import sampled

Array = Any
pytestmark = pytest.mark.usefixtures("float64")


@pytest.fixture(scope="module", autouse=True)
def float64() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


class Case(NamedTuple):
    """Spellings of `s`, what it is, and the shapes to try; it is derived by all."""

    inputs: str
    spellings: tuple[str, ...]
    oracle: Callable[..., Array]
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    has: str


def _along(x: Array, low: int, high: int, axis: int = 0) -> Array:
    """Sums over `low` neighbours before and `high` behind, as many as there are."""
    x = jnp.moveaxis(x, axis, 0)
    n = len(x)
    rows = [x[max(i - low, 0) : min(i + high + 1, n)].sum(axis=0) for i in range(n)]
    return jnp.moveaxis(jnp.stack(rows), 0, axis)


def _taps(x: Array, w: Array, step: int = 1, wide: int = 1) -> Array:
    """Sums of w[k] * x[step * i + wide * k] over k, k the first axis of w."""
    k = len(w)
    count = max((len(x) - (k - 1) * wide - 1) // step + 1, 0)
    terms = [w[a] * x[a * wide :][: (count - 1) * step + 1 : step] for a in range(k)]
    return sum(terms) if count > 0 else jnp.zeros((0, *x.shape[1:]))


def _images(x: Array, W: Array) -> Array:
    return jax.lax.conv_general_dilated(
        x, W, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _plane(x: Array, w: Array) -> Array:
    return _images(x[None, :, :, None], w[:, :, None, None])[0, :, :, 0]


def _lines(x: Array, W: Array) -> Array:
    """Convolution of (B, T, C) by (K, C, F)."""
    return _images(x[:, None], W[None])[:, 0]


def _padded(x: Array, low: int, high: int, axis: int = 0) -> Array:
    widths = [(low, high) if a == axis else (0, 0) for a in range(x.ndim)]
    return jnp.pad(x, widths)


VECTORS = (((12,),), ((7,),), ((6,),), ((13,),))
SHORT = (((12,),), ((3,),), ((1,),))
KERNELS = (((12,), (4,)), ((5,), (5,)), ((9,), (1,)))

CASES = {
    "box": Case(
        "x: [n]",
        (
            "s[i] = sum(x[i + k], k=range(7))",
            "s[i=range(n - 6)] = sum(x[j], j=range(i, i + 7))",
            "s[i=range(n - 6)] = sum(x[j], j, i <= j, j < i + 7)",
        ),
        lambda x: _taps(x, np.ones(7)),
        VECTORS,
        "_moving_sum(x, 7)",
    ),
    "box with ends": Case(
        "x: [n]",
        (
            "s[i=range(n)] = sum(x[j], j, i - 3 <= j, j <= i + 3)",
            "s[i=range(n)] = sum(x[j], j, abs(i - j) <= 3)",
            "s[i=range(n)] = sum(x[j], j=range(max(0, i - 3), min(n, i + 4)))",
        ),
        lambda x: _along(x, 3, 3),
        SHORT,
        "_moving_sum(x, 7, 3, 3)",
    ),
    "uneven box": Case(
        "x: [n]",
        ("s[i=range(n)] = sum(x[j], j=range(max(0, i - 5), min(n, i + 2)))",),
        lambda x: _along(x, 5, 1),
        SHORT,
        "_moving_sum(x, 7, 5, 1)",
    ),
    "box of a plane": Case(
        "x: [m, n]",
        (
            "s[i=range(m), j=range(n)] = sum(x[a, b], a, b, abs(i - a) <= 1, "
            "abs(j - b) <= 2)",
        ),
        lambda x: _along(_along(x, 1, 1), 2, 2, axis=1),
        (((5, 6),), ((1, 2),)),
        "_moving_sum(",
    ),
    "kernel": Case(
        "x: [n], w: [k]",
        (
            "s[i] = sum(w[a] * x[i + a], a)",
            "s = correlate(x, w)",
            "s = convolve(x, flip(w), 'valid')",
        ),
        _taps,
        KERNELS,
        "_correlate(x, w)",
    ),
    "kernel with ends": Case(
        "x: [n], w: [5]",
        (
            "s[i=range(n)] = sum(w[j - i + 2] * x[j], j, i - 2 <= j, j <= i + 2)",
            "s = correlate(x, w, 'same')",
            "s = correlate(concatenate([zeros(2), x, zeros(2)]), w)",
        ),
        lambda x, w: _taps(_padded(x, 2, 2), w),
        (((12,), (5,)), ((2,), (5,)), ((1,), (5,))),
        "_correlate(x, w, 2, 2)",
    ),
    "kernel of functions": Case(
        "x: [n], w: [3]",
        (
            "s[i] = sum(w[a] * sin(x[i + a] - 1)**2, a)",
            "y = sin(x - 1)**2\ns[i] = sum(w[a] * y[i + a], a)",
        ),
        lambda x, w: _taps(jnp.sin(x - 1) ** 2, w),
        (((12,), (3,)),),
        "_correlate(",
    ),
    "dilated": Case(
        "x: [n], w: [3]",
        ("s[i] = sum(w[a] * x[i + 2*a], a)",),
        lambda x, w: _taps(x, w, wide=2),
        (((12,), (3,)), ((5,), (3,)), ((4,), (3,))),
        "for k in range(3):",
    ),
    "dilated without a kernel": Case(
        "x: [n]",
        ("s[i] = sum(x[i + 2*a], a=range(3))",),
        lambda x: _taps(x, np.ones(3), wide=2),
        (((12,),), ((5,),), ((4,),)),
        "for k in range(3):",
    ),
    "strided": Case(
        "x: [2*n], w: [4]",
        ("s[i=range(n - 1)] = sum(w[a] * x[2*i + a], a)",),
        lambda x, w: _taps(x, w, step=2),
        (((12,), (4,)), ((4,), (4,)), ((2,), (4,))),
        "for k in range(4):",
    ),
    "batch of vectors": Case(
        "x: [b, n], w: [3]",
        ("s[a, i] = sum(w[k] * x[a, i + k], k)", "s = correlate(x, w[None, :])"),
        lambda x, w: _taps(x.T, w).T,
        (((4, 9), (3,)), ((1, 3), (3,))),
        "for k in range(3):",
    ),
    "a kernel for each": Case(
        "x: [b, n], w: [3, b]",
        ("s[a, i] = sum(w[k, a] * x[a, i + k], k)",),
        lambda x, w: _taps(x.T, w).T,
        (((4, 9), (3, 4)),),
        "for k in range(3):",
    ),
    "plane": Case(
        "x: [m, n], w: [3, 2]",
        ("s[i, j] = sum(w[a, b] * x[i + a, j + b], a, b)", "s = correlate(x, w)"),
        _plane,
        (((7, 6), (3, 2)), ((3, 2), (3, 2))),
        "    for l in range(2):",
    ),
    "plane with ends": Case(
        "x: [m, n], w: [3, 5]",
        (
            "s = correlate(x, w, 'same')",
            "s[i=range(m), j=range(n)] = sum(w[a - i + 1, b - j + 2] * x[a, b], a, b, "
            "i - 1 <= a, a <= i + 1, j - 2 <= b, b <= j + 2)",
        ),
        lambda x, w: _plane(_padded(_padded(x, 1, 1), 2, 2, axis=1), w),
        (((7, 6), (3, 5)), ((2, 1), (3, 5))),
        "for k in range(3):",
    ),
    "channels": Case(
        "x: [b, t, c], W: [3, c, q]",
        ("s[a, i, o] = sum(x[a, i + k, l] * W[k, l, o], k, l)",),
        _lines,
        (((2, 7, 3), (3, 3, 4)), ((1, 3, 2), (3, 2, 1))),
        "columns @ ",
    ),
    "channels, filters first": Case(
        "x: [b, c, t], W: [q, c, 3]",
        ("s[a, o, i] = sum(x[a, l, i + k] * W[o, l, k], k, l)",),
        lambda x, W: _lines(x.swapaxes(1, 2), W.transpose(2, 1, 0)).swapaxes(1, 2),
        (((2, 3, 7), (4, 3, 3)),),
        "columns @ ",
    ),
    "channels without an end": Case(
        "x: [b, t, c], W: [r, c, q]",
        ("s[a, i, o] = sum(x[a, i + k, l] * W[k, l, o], k, l)",),
        _lines,
        (((2, 7, 3), (3, 3, 4)),),
        "for k in range(r)",
    ),
    "one filter": Case(
        "x: [b, t, c], W: [3, c]",
        ("s[a, i] = sum(x[a, i + k, l] * W[k, l], k, l)",),
        lambda x, W: _lines(x, W[:, :, None])[:, :, 0],
        (((2, 7, 3), (3, 3)),),
        "for k in range(3)",
    ),
    "causal": Case(
        "x: [b, t, c], W: [3, c, q]",
        (
            "z = concatenate([zeros(b, 2, c), x], axis=1)\n"
            "s[a, i, o] = sum(z[a, i + k, l] * W[k, l, o], k, l)",
            "s[a, i=range(t), o] = sum(x[a, j, l] * W[j - i + 2, l, o], j, l, "
            "i - 2 <= j, j <= i)",
        ),
        lambda x, W: _lines(_padded(x, 2, 0, axis=1), W),
        (((2, 7, 3), (3, 3, 4)), ((2, 1, 3), (3, 3, 4))),
        "columns @ ",
    ),
    "images": Case(
        "x: [b, m, n, c], W: [2, 3, c, q]",
        ("s[a, i, j, o] = sum(x[a, i + k, j + l, d] * W[k, l, d, o], k, l, d)",),
        _images,
        (((2, 5, 6, 2), (2, 3, 2, 4)),),
        "columns @ ",
    ),
}

SPEC = """
tensorgen: 1
module: windows
inputs: {{{inputs}}}
functions:
  f:
    where: |
      {where}
    expr: sum(s**3)/3 + sum(s)
    wrt: [{wrt}]
    emit: [value, gradient, hvp]
"""


def spec(case: Case, spelling: str) -> str:
    names = [part.partition(":")[0] for part in case.inputs.split("], ")]
    where = spelling.replace("\n", "\n      ")
    return SPEC.format(inputs=case.inputs, where=where, wrt=", ".join(names))


@pytest.mark.parametrize("name", sampled(CASES, 3))
def test_spellings_agree_with_jax_and_in_cost(name: str) -> None:
    case = CASES[name]
    for spelling in case.spellings:
        module = tensorgen.load(spec(case, spelling))
        body = "".join(map(inspect.getsource, (module.f_grad, module.f_hvp)))
        assert case.has in body
        assert not re.search(r"np\.tri\(|_add_|np\.clip|einsum", body), body
        compare(name, module)


@cache
def judged(name: str, k: int) -> tuple[Any, ...]:
    """Arguments and a direction of one size, and what JAX makes of them."""
    case = CASES[name]

    def value(*arguments: Array) -> Array:
        s = case.oracle(*arguments)
        return jnp.sum(s**3) / 3 + jnp.sum(s)

    def both(given: tuple[Array, ...], along: tuple[Array, ...]) -> Array:
        gradient = jax.grad(value, tuple(range(len(given))))
        return value(*given), gradient(*given), jax.jvp(gradient, given, along)[1]

    rng = np.random.default_rng(k)
    given = tuple(rng.normal(size=shape) for shape in case.shapes[k])
    along = tuple(rng.normal(size=shape) for shape in case.shapes[k])
    return given, along, *jax.jit(both)(given, along)


def compare(name: str, module: Any) -> None:
    """Hold a value, a gradient and a product with the Hessian against JAX."""
    for k in range(len(CASES[name].shapes)):
        given, along, one, gradient, product = judged(name, k)
        close(module.f(*given), one)
        for found, expected in (
            (module.f_value_and_grad(*given)[1], gradient),
            (module.f_hvp(*given, *along), product),
        ):
            parts = found if isinstance(found, tuple) else (found,)
            for part, right in zip(parts, expected, strict=True):
                close(part, right)


def close(found: Array, expected: Array) -> None:
    scale = max(1.0, float(np.abs(np.asarray(expected)).max(initial=0.0)))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * scale)


PLAIN = "r[i, j] = sum(w[k, l]*x[i + k, j + l], k, l)"
BLOCKED = {
    "rows": ((1100, 500), PLAIN, 2),
    "turned": ((1100, 500), PLAIN.replace("i, j", "j, i"), 2),
    "strides": (
        (1100, 2000),
        "r[i=range(n//2 - 1), j] = sum(w[k, l]*x[2*i + k, j + l], k, l)",
        2,
    ),
    "padded": (
        (1100, 500),
        "r[i=range(n), j] = "
        "sum(w[k, l]*x[i + k - 1, j + l], k, l, 1 <= i + k, i + k <= n)",
        2,
    ),
    "of one axis": (
        (1_200_000, 3),
        "r[i=range(n//2 - 1)] = sum(w[k, 0]*x[2*i + k, 0], k)",
        2,
    ),
    "backwards": ((1100, 500), PLAIN.replace("i + k", "n - 3 - i + k"), 0),
    "small": ((300, 500), PLAIN, 0),
    "slope of matrices times vectors": (
        (200_000, 3),
        "r[i] = sum(w[k, l]*x[i + k, l], k, l=range(3))",
        1,
    ),
}
"""Sizes of x, a sum over windows, and its loops over blocks with those of its slope."""

LARGE = """tensorgen: 1
inputs: {{x: [n, m], w: [3, 3]}}
functions:
  f:
    where: |
      {line}
    expr: sum(r**2)
    wrt: x
    emit: [value, gradient]
"""


@pytest.mark.parametrize("name", BLOCKED)
def test_large_sums_over_windows_go_by_blocks_of_rows(name: str) -> None:
    (n, m), line, loops = BLOCKED[name]
    text = LARGE.format(line=line)
    blocked = tensorgen.load(text + f"dims: {{n: {n}, m: {m}}}\n")
    code = code_of(blocked, "f_value_and_grad")
    assert len(re.findall(r"for start in .*\n.*min.*\n +for [klpq] in", code)) == loops
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal((n, m)), rng.standard_normal((3, 3))
    found = blocked.f_value_and_grad(x, w)
    want = tensorgen.load(text).f_value_and_grad(x, w)
    np.testing.assert_allclose(found[0], want[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], want[1], rtol=1e-11, atol=1e-10)


def test_devices_and_sizes_that_nobody_tells_have_no_blocks() -> None:
    text = LARGE.format(line=PLAIN)
    told = text + "dims: {n: 1100, m: 500}\n"
    for code in tensorgen.generate(text), tensorgen.generate(told, backend="cupy"):
        assert "for k in" in code
        assert "width = " not in code
    known = text.replace("[n, m]", "[1100, 500]")
    assert "for start in range(0, 1098, 32):" in tensorgen.generate(known)
