"""Ranges with several bounds and with strides, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError

Array = Any
HEAD = """
tensorgen: 1
dims: [k, p]
inputs:
  {x: [n], y: [n], z: [2*k], w: [2*n], X: [m, n], h: [S, 2*k, 2*p, F], q: [m, n, n]}
functions:
"""
RNG = np.random.default_rng(5)


def given(n: int) -> dict[str, Array]:
    shapes: dict[str, Any] = {
        "x": n,
        "y": n,
        "z": 6,
        "w": 2 * n,
        "X": (3, n),
        "h": (2, 6, 4, 3),
        "q": (3, n, n),
    }
    return {name: RNG.normal(size=shape) for name, shape in shapes.items()}


# The text, its input, and what it is by ranges of Python.
CASES: dict[str, tuple[str, str, Callable[[Array], Array]]] = {
    "even": (
        "f: sum(i*x[i]**2, i=range(0, n, 2))",
        "x",
        lambda x: sum(i * x[i] ** 2 for i in range(0, len(x), 2)),
    ),
    "odd": (
        "f: sum(i*x[i]**2, i=range(1, n, 2))",
        "x",
        lambda x: sum(i * x[i] ** 2 for i in range(1, len(x), 2)),
    ),
    "third": (
        "f: prod(x[i + 1]*cos(i), i=range(1, n - 1, 3))",
        "x",
        lambda x: np.prod([x[i + 1] * np.cos(i) for i in range(1, len(x) - 1, 3)]),
    ),
    "largest": (
        "f: max(x[i], i=range(1, n, 2))",
        "x",
        lambda x: x[1::2][np.argmax(np.real(x[1::2]))],
    ),
    "log": (
        "f: logsumexp(x[i], i=range(0, n, 2))",
        "x",
        lambda x: np.log(np.sum(np.exp(x[::2]))),
    ),
    "mean": ("f: mean(x[i], i=range(1, n, 2))", "x", lambda x: np.mean(x[1::2])),
    "halves": (
        "f: sum(i*z[i]**3, i=range(1, 2*k, 2))",
        "z",
        lambda z: sum(i * z[i] ** 3 for i in range(1, len(z), 2)),
    ),
    "numbers": (
        "f: sum(x[i]**2, i=range(0, 5, 4))",
        "x",
        lambda x: x[0] ** 2 + x[4] ** 2,
    ),
    "from an index": (
        "f: sum(exp(x[i])*x[j], i, j=range(i, n, 2))",
        "x",
        lambda x: sum(
            np.exp(x[i]) * x[j] for i in range(len(x)) for j in range(i, len(x), 2)
        ),
    ),
    "twice the place": (
        "f: sum(w[2*i + 1]**2*w[i], i=range(0, n, 2))",
        "w",
        lambda w: sum(w[2 * i + 1] ** 2 * w[i] for i in range(0, len(w) // 2, 2)),
    ),
    "from the end": (
        "f: sum(x[n - 1 - i]**2*x[i], i=range(1, n, 3))",
        "x",
        lambda x: sum(x[-1 - i] ** 2 * x[i] for i in range(1, len(x), 3)),
    ),
    "window": (
        "f: sum(x[i]**2*x[j], i, j=range(max(0, i - 2), min(n, i + 2)))",
        "x",
        lambda x: sum(
            x[i] ** 2 * x[j]
            for i in range(len(x))
            for j in range(max(0, i - 2), min(len(x), i + 2))
        ),
    ),
    "window's largest": (
        "f: sum(max(x[j], j=range(max(0, i - 1), min(n, i + 2)))**2, i=range(n))",
        "x",
        lambda x: sum(
            max(x[max(0, i - 1) : i + 2], key=np.real) ** 2 for i in range(len(x))
        ),
    ),
    "three bounds": (
        "f: sum(x[i]*x[j]*x[l]**2, l=range(max(i, j, 1), n), i=range(n), j=range(n))",
        "x",
        lambda x: sum(
            x[i] * x[j] * x[k] ** 2
            for i in range(len(x))
            for j in range(len(x))
            for k in range(max(i, j, 1), len(x))
        ),
    ),
    "diagonal": (
        "f: sum(X[i, i]**2, i=range(min(m, n)))",
        "X",
        lambda X: sum(X[i, i] ** 2 for i in range(min(X.shape))),
    ),
    "strided window": (
        "f: sum(x[j]**2, j=range(1, min(n, 6), 2))",
        "x",
        lambda x: np.sum(x[1 : min(len(x), 6) : 2] ** 2),
    ),
}


def slope(function: Callable[[Array], Array], x: Array) -> Array:
    found = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        moved = x.astype(complex)
        moved[at] += 1e-30j
        found[at] = np.imag(function(moved)) / 1e-30
    return found


@pytest.mark.parametrize("name", CASES)
def test_ranges_are_those_of_python(name: str) -> None:
    text, wrt, want = CASES[name]
    text = text.removeprefix("f: ")
    emit = "[value, gradient, hvp]"
    module = tensorgen.load(
        f"{HEAD}  f: {{expr: '{text}', wrt: {wrt}, emit: {emit}}}\n"
    )
    for n in (5, 6, 8, 9):
        x = given(n)[wrt]
        assert module.f(x) == pytest.approx(want(x), rel=1e-12), n
        np.testing.assert_allclose(module.f_grad(x), slope(want, x), 1e-10, 1e-12)
        d = RNG.normal(size=x.shape)
        ahead, behind = (module.f_grad(x + e * d) for e in (1e-6, -1e-6))
        np.testing.assert_allclose(
            module.f_hvp(x, d), (ahead - behind) / 2e-6, 1e-5, 1e-6
        )


GATHERED: dict[str, Callable[[Array, Array, Array], Array]] = {
    "sum(x[at[i]]**2*y[i], i=range(0, n, 2))": lambda x, y, at: np.sum(
        x[at[::2]] ** 2 * y[::2]
    ),
    "sum(x[at[n - 1 - i]]*y[i]*x[i], i=range(1, n, 3))": lambda x, y, at: np.sum(
        x[at[::-1][1::3]] * (x * y)[1::3]
    ),
    "sum(y[i]*x[i]**2, at[i] == 1, i=range(0, n, 2))": lambda x, y, at: np.sum(
        (y * x**2)[::2][at[::2] == 1]
    ),
}


@pytest.mark.parametrize("text", GATHERED)
@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_index_arrays_are_read_at_every_second_place(text: str, n: int) -> None:
    want = GATHERED[text]
    module = tensorgen.load(
        "tensorgen: 1\n"
        "inputs: {x: [n], y: [n], at: {shape: [n], index: n}}\n"
        f"functions:\n  f: {{expr: '{text}', wrt: x, emit: [value, gradient, hvp]}}\n"
    )
    x, y = (given(n)[name] for name in "xy")
    at = RNG.integers(0, n, n)
    np.testing.assert_allclose(module.f(x, y, at), want(x, y, at), 1e-12, 1e-14)
    expected = slope(lambda x: want(x, y, at), x)
    np.testing.assert_allclose(module.f_grad(x, y, at), expected, 1e-10, 1e-12)
    ahead, behind = (module.f_grad(x + e * y, y, at) for e in (1e-6, -1e-6))
    found = module.f_hvp(x, y, at, dx=y)
    np.testing.assert_allclose(found, (ahead - behind) / 2e-6, 1e-5, 1e-6)


def test_rows_have_windows_of_their_own() -> None:
    module = tensorgen.load(
        f"{HEAD}  f[i]: mean(y[i]*x[j], j=range(max(0, i - 5), min(n, i + 2)))\n"
    )
    for n in (1, 4, 9):
        x, y = (given(n)[name] for name in "xy")
        want = [y[i] * x[max(0, i - 5) : i + 2].mean() for i in range(n)]
        np.testing.assert_allclose(module.f(x, y), want)


def test_pooling_takes_its_range_from_the_shape() -> None:
    module = tensorgen.load(
        HEAD + "  g[s, i, j, c]:\n"
        "    expr: max(h[s, 2*i + a, 2*j + b, c], a=range(2), b=range(2))\n"
        "    wrt: h\n    emit: [value, vjp]\n"
    )
    h = given(4)["h"]
    want = h.reshape(2, 3, 2, 2, 2, 3).max(axis=(2, 4))
    np.testing.assert_array_equal(module.g(h), want)
    ct = RNG.normal(size=want.shape)
    spread = np.repeat(np.repeat(ct, 2, axis=1), 2, axis=2)
    taken = np.repeat(np.repeat(want, 2, axis=1), 2, axis=2) == h
    np.testing.assert_allclose(module.g_vjp(h, ct)[1], spread * taken)


HALVES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "sum(i*x[i]**2, i=range(n // 2))": (
        "x",
        lambda x: np.sum(np.arange(len(x) // 2) * x[: len(x) // 2] ** 2),
    ),
    "sum(x[:n // 2]**2 * x[n // 2:])": (
        "x",
        lambda x: np.sum(x[: len(x) // 2] ** 2 * x[len(x) // 2 :]),
    ),
    "x[n // 2]**2 * n // 2": (
        "x",
        lambda x: np.floor(np.real(x[len(x) // 2] ** 2 * len(x)) / 2),
    ),
    "sum(X[:, (n + 2) // 2]**2)": (
        "X",
        lambda X: np.sum(X[:, (X.shape[1] + 2) // 2] ** 2),
    ),
    "sum(sum(x[j]*i, j=range(i, n // 2))**2, i=range(n // 2))": (
        "x",
        lambda x: sum((x[i : len(x) // 2].sum() * i) ** 2 for i in range(len(x) // 2)),
    ),
}


@pytest.mark.parametrize("text", HALVES)
def test_half_of_a_size_is_a_size_where_nothing_is_left(text: str) -> None:
    wrt, want = HALVES[text]
    emit = "[value, gradient, hvp, problem]"
    module = tensorgen.load(
        f"{HEAD}  f: {{expr: '{text}', wrt: {wrt}, emit: {emit}}}\n"
    )
    for n in (4, 8):
        x = given(n)[wrt]
        assert module.f(x) == pytest.approx(want(x), rel=1e-12)
        np.testing.assert_allclose(module.f_grad(x), slope(want, x), 1e-10, 1e-12)
    for size in (3, 7):
        with pytest.raises(ValueError, match=r"// 2' needs n.* to be a multiple of 2"):
            module.f(given(size)[wrt])
        p = module.FProblem()
        with pytest.raises(ValueError, match="to be a multiple of 2"):
            p.value(p.pack(given(size)[wrt]))


def test_pooling_of_any_shape_checks_it() -> None:
    left = "f[s, i=range(m // 2), j=range(n // 3)]"
    text = "max(q[s, 2*i + a, 3*j + b], a=range(2), b=range(3))"
    module = tensorgen.load(
        "tensorgen: 1\ninputs: {q: [S, m, n]}\nfunctions:\n"
        f'  "{left}": {{expr: "{text}", wrt: q, emit: [value, vjp]}}\n'
    )
    q = RNG.normal(size=(2, 4, 9))
    want = q.reshape(2, 2, 2, 3, 3).max(axis=(2, 4))
    np.testing.assert_array_equal(module.f(q), want)
    got = module.f_vjp(q, np.ones((2, 2, 3)))[1]
    spread = np.repeat(np.repeat(want, 2, axis=1), 3, axis=2)
    np.testing.assert_array_equal(got, spread == q)
    with pytest.raises(ValueError, match="'n // 3' needs n to be a multiple of 3"):
        module.f(q[:, :, :8])


def test_half_of_a_multiple_needs_no_check() -> None:
    source = tensorgen.generate(f"{HEAD}  f: sum(z[i], i=range((2*k + 1) // 2))\n")
    assert "multiple" not in source


WRONG = {
    "f: sum(x[j], j=range(n, 0, -1))": (
        "the stride of a range is a positive integer",
        "reverse positions instead: x[n - 1 - i]",
        "-1",
    ),
    "f: sum(x[j], j=range(0, n, 0))": ("the stride of a range is", "", "0"),
    "f: sum(x[j], j=range(0, n, k))": ("the stride of a range is", "", "k"),
    "f: sum(x[j], j=range(0, n, 2, 3))": (
        "a range takes a stop, or a start and a stop, or these and a stride",
        "",
        "range(0, n, 2, 3)",
    ),
    "f: sum(x[j], j=range(min(1, n), n))": (
        "the bound 'min(1, n)' is not affine",
        "a range starts at one, or max(...) of some; it stops at min(...)",
        "min(1, n)",
    ),
    "f: sum(x[j], j=range(max(k, 1), n, 2))": (
        "a range with a stride has one start",
        "conditions",
        "max(k, 1)",
    ),
    "f: sum(softmax(x[i], i), i=range(0, n, 2))": (
        "the range of 'i' leaves out some of an axis",
        "softmax(where(..., x, -inf), i)",
        "softmax(x[i], i)",
    ),
    "f[i]: x[2*i] + x[2*i + 1]": (
        "the range of 'i' is not affine in the dims",
        "2*k in place of n, or state a range: i=range(n // 2)",
        "i",
    ),
    "f[i=range(0, n, 2)]: x[i]": (
        "a range on the left side has one start, one stop and no stride",
        "x[2*i]",
        "range(0, n, 2)",
    ),
    "f[i=range(min(m, n))]: X[i, i]": (
        "a range on the left side has one start",
        "where(i < k, ..., 0)",
        "range(min(m, n))",
    ),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_marked(text: str) -> None:
    left, _, right = text.partition(": ")
    with pytest.raises(SpecError) as caught:
        tensorgen.load(f'{HEAD}  "{left}": "{right}"\n')
    message, hint, marked = WRONG[text]
    (fault,) = caught.value.diagnostics
    assert message in fault.message and hint in (fault.hint or "")
    assert fault.span is not None
    assert fault.span.source.text[fault.span.start : fault.span.end] == marked
