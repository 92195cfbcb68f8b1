"""`stop_gradient`: the value stays, derivatives of every kind and order are zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen

Array = Any

RANDOM = np.random.default_rng(4)
w, d = RANDOM.normal(size=(2, 4))
P = np.cov(RANDOM.normal(size=(4, 20)))


def spec(expression: str, emit: str, where: str = "") -> str:
    return (
        "tensorgen: 1\ninputs: {w: [n], P: {shape: [n, n], spd: true}}\n"
        "functions:\n  f:\n"
        + (f"    where: |\n      {where}\n" if where else "")
        + f"    expr: {expression}\n    wrt: w\n    emit: {emit}\n"
    )


def test_the_value_is_that_of_the_argument() -> None:
    found = tensorgen.load(spec("sum(stop_gradient(exp(w)) * w)", "[value]"))
    np.testing.assert_allclose(found.f(w), np.exp(w) @ w)


def test_first_and_higher_derivatives_take_it_for_a_constant() -> None:
    made = tensorgen.load(
        spec(
            "sum(stop_gradient(exp(w)) * w**3)", "[gradient, hessian, hvp, jvp, vjp, 3]"
        )
    )
    c = np.exp(w)
    np.testing.assert_allclose(made.f_grad(w), 3 * c * w**2)
    np.testing.assert_allclose(made.f_hess(w).dense(), np.diag(6 * c * w))
    np.testing.assert_allclose(made.f_hvp(w, d), 6 * c * w * d)
    np.testing.assert_allclose(made.f_jvp(w, d)[1], 3 * c * w**2 @ d)
    np.testing.assert_allclose(made.f_vjp(w, 2.0)[1], 6 * c * w**2)
    np.testing.assert_allclose(made.f_d3(w).contract(d, d, d), 6 * c @ d**3)


@pytest.mark.parametrize("mode", ["cross-country", "reverse", "forward"])
def test_a_variable_itself_can_be_a_constant(mode: str) -> None:
    made = tensorgen.load(spec("sum(stop_gradient(w) * w)", "[gradient]"), mode=mode)
    np.testing.assert_allclose(made.f_grad(w), w)


def test_derivatives_in_expressions_take_it_for_a_constant() -> None:
    made = tensorgen.load(
        spec("sum(grad(sum(stop_gradient(w) * w**2), w))", "[gradient]")
    )
    # The derivative 2 * c * w is differentiated by w, and c is constant still.
    np.testing.assert_allclose(made.f_grad(w), 2 * w)


def test_steps_take_it_for_a_constant() -> None:
    where = "x[0] = w[0]\n      x[t + 1] = w[t] * stop_gradient(x[t])"
    made = tensorgen.load(spec("x[n]", "[value, gradient]", where))
    assert made.f(w) == pytest.approx(w[0] * np.prod(w))
    np.testing.assert_allclose(
        made.f_grad(w), [0, 0, 0, w[0] * np.prod(w[:3])], atol=1e-15
    )


def test_what_is_known_of_a_matrix_stays_known() -> None:
    text = spec("w @ solve(stop_gradient(P), w)", "[gradient]")
    assert "_cholesky" in tensorgen.generate(text)
    np.testing.assert_allclose(
        tensorgen.load(text).f_grad(w, P), 2 * np.linalg.solve(P, w)
    )


def test_nothing_is_computed_twice_and_no_word_of_it_is_left() -> None:
    source = tensorgen.generate(
        spec("sum(stop_gradient(exp(w)) * exp(w))", "[gradient]")
    )
    body = (
        source.partition("def f_grad(")[2].partition("\ndef ")[0].rpartition('"""')[2]
    )
    assert body.count("exp(") == 1
    assert "stop" not in body


def test_an_indexed_entry_is_a_constant() -> None:
    made = tensorgen.load(
        spec("sum(stop_gradient(w[i]) * w[j]**2, i, j)", "[gradient]")
    )
    np.testing.assert_allclose(made.f_grad(w), 2 * w.sum() * w)
