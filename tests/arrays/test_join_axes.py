"""Stacks times matrices are products of rows, where nothing tells the axes apart."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.join_axes import joined
from tensorgen.arrays.object_operations import Reshape
from tensorgen.arrays.operations import MatMul, Permute
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import Let
from tensorgen.ir.dims import Dim
from tests.made import both, generate, load, source

LAYERS = """
tensorgen: 1
module: layers
inputs: {{X: [b, t, n], Y: [b, t, p], W: [n, m], c: [m], V: [m, p]}}
functions:
  f:
    where: |
      a = {0}
      z = a @ V
    expr: sum(logsumexp(z, axis=2)) + sum((z - Y)**2)
    wrt: W
    emit: [value, gradient, hvp]
"""
PLAIN = LAYERS.format("tanh(X @ W + c)")
SPELLINGS = (
    PLAIN,
    LAYERS.format("tanh(einsum('sik,kj->sij', X, W) + c)"),
    LAYERS.format("tanh(tensordot(X, W, 1) + c)"),
)


def spec(inputs: str, expr: str, more: str = "emit: [gradient]") -> str:
    """A spec of one function, by `W`."""
    return f"""
tensorgen: 1
module: stacks
inputs: {{{inputs}}}
functions:
  f: {{expr: "{expr}", wrt: W, {more}}}
"""


def body(text: str, name: str) -> str:
    """The statements of a function, and of what it shares with others."""
    return re.sub(r"\"\"\".*?\"\"\"", "", source(text, name), flags=re.S)


@pytest.mark.parametrize("text", both(PLAIN), ids=("numpy", "cupy"))
@pytest.mark.parametrize("function", ["f_grad", "f_hvp"])
def test_a_network_of_stacks_is_one_of_rows(text: str, function: str) -> None:
    lines = body(text, function)
    assert lines.count("reshape(X, (b * t, n))") == 1
    # A view, which what is shared need not hand on.
    assert 1 <= lines.count("reshape(Y, (b * t, p))") <= 2
    assert "X_rows @ W" in lines and "X_rows.T @ " in lines
    assert "tensordot" not in lines and "[:, :, None]" not in lines


def test_all_spellings_are_of_rows() -> None:
    first, *others = (body(generate(text), "f_grad") for text in SPELLINGS)
    for other in others:
        assert other == first


def test_rows_give_what_stacks_give() -> None:
    rng = np.random.default_rng(0)
    module = load(PLAIN)
    X, Y = rng.normal(size=(3, 4, 5)), rng.normal(size=(3, 4, 2))
    W, c, V = (rng.normal(size=shape) for shape in ((5, 6), (6,), (6, 2)))
    dW = rng.normal(size=W.shape)
    kept = {"X": X, "Y": Y, "c": c, "V": V}

    def slope(W: Any, X: Any, Y: Any, c: Any, V: Any) -> Any:
        a = np.tanh(X @ W + c)
        z = a @ V
        p = np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
        d_a = (p + 2 * (z - Y)) @ V.T
        return np.einsum("sik,sij->kj", X, (1 - a * a) * d_a)

    assert_allclose(module.f_grad(W=W, **kept), slope(W, **kept), rtol=1e-12)
    curved = slope(W + 1e-20j * dW, **kept).imag / 1e-20
    assert_allclose(module.f_hvp(W=W, dW=dW, **kept), curved, rtol=1e-12)
    # Wherever the entries stand in memory, and if there are none.
    kept["X"] = np.asfortranarray(X)
    assert_allclose(module.f_grad(W=W, **kept), slope(W, **kept), rtol=1e-12)
    nothing = kept | {"X": X[:0], "Y": Y[:0]}
    assert not module.f_grad(W=W, **nothing).any()


@pytest.mark.parametrize(
    ("inputs", "expr"),
    [
        # Fewer products gain than arguments would have to be reshaped, or as many.
        ("X: [b, t, n], Y: [b, t, m], W: [n, m]", "sum(Y * tanh(X @ W))"),
        # Axes are told apart.
        ("X: [b, t, n], W: [n, n]", "sum(sum(tanh(tanh(X@W)@W), axis=1)**2)"),
        ("X: [b, t, n], s: [b, 1, 1], W: [n, n]", "sum(s * tanh(tanh(X @ W) @ W))"),
        # What is returned has them.
        ("X: [b, t, n], W: [n, n]", "tanh(tanh(X @ W) @ W)"),
        # Others have the same sizes.
        ("X: [n, n, n], Y: [n, n], W: [n, n]", "sum(tanh(tanh(X @ W + Y) @ W))"),
    ],
)
def test_other_stacks_stay(inputs: str, expr: str) -> None:
    emit = "value, gradient" if expr.startswith("sum") else "value"
    text = generate(spec(inputs, expr, f"emit: [{emit}]"))
    assert "reshape" not in text and "X @ W" in text


def test_stacks_of_more_axes_are_rows_too() -> None:
    text = generate(spec("X: [b, h, t, n], W: [n, m]", "sum(tanh(X @ W))"))
    assert "X_rows = np.reshape(X, (b * h * t, n))" in text


def test_stacks_of_matrices_that_rows_number_are_one_stack() -> None:
    expr = "sum(A[s, i, j, k] * tanh(sum(a[s, i, l] * V[l, k], l)), k)"
    whole = f"sum(tanh({expr}), s, i, j)".replace("a[", "tanh(X @ W)[")
    text = generate(spec("X: [b, t, n], A: [b, t, m, m], W: [n, n], V: [n, m]", whole))
    assert "A_rows = np.reshape(A, (b * t, m, m))" in text
    assert "A_rows @ " in text


MEANS = """
tensorgen: 1
module: means
dims: {dims}
inputs: {{X: [b, t, n], W: [n, m], v: [m]}}
functions:
  f:
    where: a = tanh(X @ W)
    expr: sum((mean(a, axis=1) @ v)**2)
    wrt: W
    emit: [value, gradient, hvp]
  layer: {{expr: tanh(X @ W)}}
"""
SMALL = MEANS.format(dims="{b: 1000, t: 3, n: 4, m: 4}")


@pytest.mark.parametrize(
    "dims", ["[b, t]", "{b: 20, t: 30, n: 50, m: 60}", "{b: 2, t: 300, n: 3, m: 3}"]
)
def test_stacks_of_few_or_large_matrices_stay_where_rows_read_less_well(
    dims: str,
) -> None:
    assert "reshape" not in generate(MEANS.format(dims=dims))


def test_stacks_of_many_small_matrices_are_rows_that_get_their_axes_back() -> None:
    module = load(SMALL)
    text = generate(SMALL)
    assert (
        "return np.reshape(np.tanh(np.reshape(X, (b * t, n)) @ W), (b, t, m))" in text
    )
    assert "np.reshape(a, (b, t, m)).sum(axis=1)" in text
    rng = np.random.default_rng(0)
    shapes = (3, 5, 4), (4, 2), (2,), (4, 2)
    X, W, v, dW = (rng.normal(size=shape) for shape in shapes)

    def slope(W: Any) -> Any:
        a = np.tanh(X @ W)
        means = (a @ v).mean(axis=1)
        d_a = np.einsum("b,m->bm", 2 * means / 5, v)[:, None] * (1 - a * a)
        return np.einsum("btn,btm->nm", X, d_a)

    assert_allclose(module.layer(X=X, W=W), np.tanh(X @ W), rtol=1e-14)
    assert_allclose(module.f_grad(X=X, W=W, v=v), slope(W), rtol=1e-12)
    curved = slope(W + 1e-20j * dW).imag / 1e-20
    assert_allclose(module.f_hvp(X=X, W=W, v=v, dW=dW), curved, rtol=1e-12)


def test_what_is_made_is_reshaped_where_it_is_there() -> None:
    dims = {"b": 1000, "t": 3, "n": 3}
    b, t, n = map(Dim.of, dims)
    X, A = variable("X", (b, t, n)), variable("A", (b, t, n))
    W, V = variable("W", (n, n)), variable("V", (n, n))
    turned = array(Permute((0, 2, 1)), variable("Z", (b, n, t)))
    products = [array(MatMul(), A, matrix) for matrix in (W, V)]
    code = Code((Let("A", turned),), (array(MatMul(), X, W), *products))
    found = joined(code, Speed(dims), lambda name: name)
    (line,) = found.statements
    assert line == code.statements[0]
    assert all(one.dims == (b, t, n) for one in found.returns)
    assert all(one.op == Reshape((b, t, n)) for one in found.returns)
