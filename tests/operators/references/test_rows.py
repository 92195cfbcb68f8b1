"""The reference functions mean what the tables say, at complex arguments too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorgen.operators.calls import OPERATORS as CALLS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS

Array = Any
STEP = 1e-30
POINTS = np.array([-1.7, -0.6, 0.3, 0.8, 2.4])


def test_every_row_has_a_reference_and_every_reference_a_row() -> None:
    assert sorted(FUNCTIONS) == sorted(ELEMENTWISE)
    # What code makes of others says itself what that is.
    own = [name for name, row in CALLS.items() if not (row.internal and row.expand)]
    own.remove("recurrence")  # which is what its steps are
    own.remove("unknown")  # which code is given
    own.remove("external")  # of which nothing is known
    own.remove("defined")  # which is what its text is
    assert sorted(OPERATORS) == sorted(own)


def derivative(function: Callable[[Array], Array], x: Array) -> Array:
    return np.imag(function(np.asarray(x) + 1j * STEP)) / STEP


SMOOTH = sorted(
    name
    for name, row in ELEMENTWISE.items()
    if row.arity == 1
    and not row.boolean
    and name not in ("sign", "step", "floor", "round", "level")
)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_complex_step_agrees_with_a_difference(name: str) -> None:
    function, row = FUNCTIONS[name], ELEMENTWISE[name]
    x, h = np.array(row.sample), 1e-3
    with np.errstate(all="ignore"):
        steps = [
            weight * (function(x + k * h) - function(x - k * h)) / h
            for k, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280))
        ]
    np.testing.assert_allclose(
        derivative(function, x), sum(steps), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_a_complex_argument_keeps_the_real_value(name: str) -> None:
    function, row = FUNCTIONS[name], ELEMENTWISE[name]
    points = np.array((*row.sample, *row.extreme))
    args = [points, *(points[::-1].copy(), points)[: row.arity - 1]]
    # What nothing is differentiated by may be an order.
    pairs = zip(args, row.partials, strict=True)
    args = [x if slope else np.ones_like(x) for x, slope in pairs]
    with np.errstate(all="ignore"):
        real = function(*args)
        complex_ = function(*(arg + 1j * STEP for arg in args))
    np.testing.assert_allclose(np.real(complex_), real, rtol=1e-14, atol=1e-50)


@pytest.mark.parametrize("t", [-1000.0, -40.0, -1e-9, 1e-9, 40.0, 1000.0])
def test_logistic_references_keep_their_digits(t: float) -> None:
    far = math.exp(-abs(t))
    values = {
        "softplus": max(t, 0.0) + math.log1p(far),
        "log_sigmoid": min(t, 0.0) - math.log1p(far),
        "sigmoid": (1.0 if t > 0 else far) / (1 + far),
    }
    for name, value in values.items():
        assert FUNCTIONS[name](np.float64(t)) == pytest.approx(value, rel=1e-15)
    slope = derivative(FUNCTIONS["sigmoid"], t)
    assert slope == pytest.approx(far / (1 + far) ** 2, rel=1e-14, abs=0)


def test_kinks_have_the_derivatives_that_the_language_promises() -> None:
    assert derivative(FUNCTIONS["abs"], 0.0) == 0.0
    assert derivative(FUNCTIONS["relu"], 0.0) == 0.0
    zero = np.float64(0.0)
    assert derivative(lambda x: FUNCTIONS["maximum"](x, zero), 0.0) == 0.5
    assert derivative(lambda x: FUNCTIONS["minimum"](x, zero), 0.0) == 0.5
    assert derivative(lambda x: FUNCTIONS["hypot"](x, zero), 0.0) == 0.0


@pytest.mark.parametrize("name", ["relu", "maximum", "minimum", "clamp"])
def test_of_no_number_nothing_is_made(name: str) -> None:
    for place in range(ELEMENTWISE[name].arity):
        args = [np.array(0.5)] * ELEMENTWISE[name].arity
        for none in np.array(np.nan), np.array(complex(np.nan, 0)):
            args[place] = none
            assert np.isnan(FUNCTIONS[name](*args))


def test_powers_of_negative_numbers_are_exact() -> None:
    for n in (-3, -1, 0, 1, 2, 5):
        power = FUNCTIONS["pow"](POINTS + 1j * STEP, np.float64(n))
        np.testing.assert_allclose(power.real, POINTS**n, rtol=1e-14)
        np.testing.assert_allclose(
            power.imag / STEP, n * POINTS ** (n - 1.0), rtol=1e-13
        )


def entries(function: Callable[[Array], Array], x: Array) -> Array:
    """The gradient of the sum of a function's values, entry by entry."""
    gradient = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        stepped = x.astype(complex)
        stepped[at] += 1j * STEP
        gradient[at] = np.imag(np.sum(function(stepped))) / STEP
    return gradient


MATRIX = np.array([[2.0, -1.0, 0.5], [0.3, 1.5, 1.0], [-0.7, 0.2, -1.0]])


def test_matrix_references_have_the_known_derivatives() -> None:
    inverse = np.linalg.inv(MATRIX)
    logdet = entries(OPERATORS["logdet"], MATRIX)
    np.testing.assert_allclose(logdet, inverse.T, rtol=1e-12)
    det = entries(OPERATORS["det"], MATRIX)
    np.testing.assert_allclose(det, np.linalg.det(MATRIX) * inverse.T, rtol=1e-12)
    outer = -np.outer(inverse.sum(axis=0), inverse.sum(axis=1))
    np.testing.assert_allclose(entries(OPERATORS["inv"], MATRIX), outer, rtol=1e-12)
    assert np.linalg.det(MATRIX) < 0, "log|det| must be tried on a negative one"


def test_reductions_share_equally_among_ties() -> None:
    x = np.array([[3.0, 1.0], [3.0, -2.0]])
    largest = entries(lambda a: OPERATORS["max"](a, axes=(0,)), x)
    np.testing.assert_array_equal(largest, [[0.5, 1.0], [0.5, 0.0]])
    smallest = entries(lambda a: OPERATORS["min"](a, axes=(0,)), -x)
    np.testing.assert_array_equal(smallest, [[0.5, 1.0], [0.5, 0.0]])


def test_logsumexp_and_softmax_do_not_overflow() -> None:
    x = np.array([1000.0, 999.0, -1000.0])
    value = OPERATORS["logsumexp"](x, axes=(0,))
    assert value == pytest.approx(1000 + math.log1p(math.exp(-1)), rel=1e-15)
    weights = OPERATORS["softmax"](x, axes=(0,))
    np.testing.assert_allclose(
        entries(lambda a: OPERATORS["logsumexp"](a, axes=(0,)), x), weights, rtol=1e-14
    )
    assert weights.sum() == pytest.approx(1.0, rel=1e-15)


def test_the_product_of_the_others_is_exact_at_zeros() -> None:
    x = np.array([[2.0, 0.0, 5.0], [1.0, 4.0, 3.0]])
    others = OPERATORS["prod_others"](x, axes=(1,))
    np.testing.assert_array_equal(others, [[0.0, 10.0, 0.0], [12.0, 3.0, 4.0]])
    gradient = entries(lambda a: OPERATORS["prod"](a, axes=(1,)), x)
    np.testing.assert_array_equal(gradient, others)
