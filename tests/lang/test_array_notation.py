"""Array notation has NumPy's meaning: each expression against NumPy itself."""

from fractions import Fraction

import numpy as np
import pytest

from tensorgen.ir.nodes import Product, Sum, constant_value
from tests.lang.speak import checks, function, numbers, value

# Texts that mean the same in Python with NumPy.
SAME_IN_NUMPY = (
    "X + Y",
    "X - v",
    "X * u[:, None]",
    "X / v",
    "c * X + 1",
    "-X",
    "+v",
    "v**2",
    "2**v",
    "abs(v)**0.5",
    "1 / 3 * v",
    "X + one",
    "X - u[:, None]",
    "X @ v",
    "v @ A",
    "v @ w",
    "v @ A @ w",
    "B @ A",
    "B @ B",
    "A @ B",
    "B @ v",
    "v @ B",
    "X.T",
    "X.T @ u",
    "B.T",
    "X[0]",
    "X[0, 1]",
    "X[-1]",
    "X[:, -2]",
    "X[1:]",
    "X[:-1]",
    "X[1:, :2]",
    "X[..., 0]",
    "B[0, ..., 1]",
    "B[..., None]",
    "X[:, None, :]",
    "v[::-1]",
    "long[1:7]",
    "long[1:7:2]",
    "long[::2]",
    "three[::-2]",
    "X[row]",
    "A[:, 1][2]",
    "(X @ A)[1:]",
    "X[0][None, :] * v",
    "X[:, None, 0] + u[:, None]",
)


@pytest.mark.parametrize("text", SAME_IN_NUMPY)
def test_an_expression_means_what_numpy_makes_of_it(text: str) -> None:
    names = {**numbers(), "abs": np.abs}
    np.testing.assert_allclose(value(text), eval(text, names), atol=1e-12)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("where((v < w) & (w < 1), v, w)", "np.where((v < w) & (w < 1), v, w)"),
        ("where((v < w) | (w > 1), v, 0)", "np.where((v < w) | (w > 1), v, 0)"),
        ("where(~(v < w), 1, 0)", "np.where(~(v < w), 1, 0)"),
        ("where(-1 < v < 1, v, 0)", "np.where((-1 < v) & (v < 1), v, 0)"),
        ("where(v == v, 1, 0)", "np.ones(4)"),
        ("where(v != v, 1, 0)", "np.zeros(4)"),
        ("(v >= 0) * v", "np.maximum(v, 0)"),
        ("v[n - 1]", "v[3]"),
        ("v[1:n - 1]", "v[1:3]"),
        ("long[n:]", "long[4:]"),
        ("wide[:n] * v", "wide[:4] * v"),
        ("[1, 2.5, 3]", "np.array([1, 2.5, 3])"),
        ("[[1, c], [v[0], 2]]", "np.array([[1, c], [v[0], 2]])"),
        ("pi * v + e", "np.pi * v + np.e"),
        ("n * v", "4 * v"),
        ("v / (2 * n)", "v / 8"),
        ("(1 +\n    v)", "1 + v"),
        ("1e-3 * v", "v / 1000"),
        ("1_000 * v", "1000 * v"),
        ("0x10 * v", "16 * v"),
    ],
)
def test_an_expression_has_this_meaning(text: str, meaning: str) -> None:
    expected = eval(meaning, {**numbers(), "np": np})
    np.testing.assert_allclose(value(text), expected, atol=1e-12)


def test_numbers_are_exact() -> None:
    assert constant_value(function("0.1 + 0.2 - 0.3 + 1").node) == 1
    assert constant_value(function("(2/3)**-3").node) == Fraction(27, 8)
    assert constant_value(function("1e-3 * 1e3").node) == 1


def test_a_long_sum_is_one_node() -> None:
    text = " + ".join(["v * w", "v", "w", "2 * v"] * 50)
    names = numbers()
    v, w = names["v"], names["w"]
    np.testing.assert_allclose(value(text), 50 * (v * w + 3 * v + w))
    node = function(text).node
    assert isinstance(node, Sum)
    assert len(node.terms) == 3


def test_a_slice_that_rests_on_sizes_is_left_to_be_checked() -> None:
    assert checks("v[1:n - 1]") == ["'v[1:n - 1]' needs 2 <= n"]
    assert checks("v[5]") == ["'v[5]' needs 6 <= n"]
    assert checks("wide[:n] * v") == ["'wide[:n]' needs 1 <= k"]
    assert checks("X[row]") == []


def test_a_slice_that_always_fits_needs_no_check() -> None:
    assert checks("v[:]") == []
    assert checks("long[:n]") == []
    assert checks("three[1:]") == []


def test_a_chain_of_slices_looks_through_to_the_input() -> None:
    node = function("long[1:][1:n]").node
    assert isinstance(node, Product)
    assert [getattr(ref.node, "name", None) for ref in node.factors] == ["long"]
