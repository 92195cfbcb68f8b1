"""Values and derivatives keep their digits at every size of argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.functions import FUNCTIONS
from tests.accuracy.forms import FORMS, points
from tests.accuracy.measure import BOUND, judged
from tests.accuracy.measure import load as load_forms
from tests.accuracy.table import RESULTS

pytestmark = pytest.mark.thorough


def load(expr: str, wrt: str, inputs: str, emit: str = "") -> Any:
    """The module of one function `f`."""
    lines = ["tensorgen: 1", f"inputs: {{{inputs}}}", "functions:", "  f:"]
    lines += [f'    expr: "{expr}"', f"    wrt: {wrt}"]
    lines += [f"    emit: [{emit or 'gradient, dense_hessian'}]"]
    return tensorgen.load("\n".join(lines) + "\n")


def test_a_polynomial_has_its_derivatives_at_zero() -> None:
    module = load("sum(c[k]*x[i]**k, k, i)", "x", "x: [n], c: [p]")
    x, c = np.array([0.0, -2.0, 1.0]), np.array([5.0, 3.0, 7.0, 11.0])
    slope = np.polynomial.Polynomial(c).deriv()
    np.testing.assert_allclose(module.f_grad(x, c), slope(x), rtol=1e-14)
    hessian = np.diag(slope.deriv()(x))
    np.testing.assert_allclose(module.f_hess_dense(x, c), hessian, rtol=1e-14)


def test_a_power_has_its_derivatives_by_both_at_zero() -> None:
    module = load("sum(x**y)", "[x, y]", "x: [n], y: [n]")
    x, y = np.zeros(4), np.array([1.0, 2.0, 3.0, 2.5])
    with np.errstate(divide="ignore"):
        gradient = module.f_grad(x, y)
        hessian = module.f_hess_dense(x, y)
    np.testing.assert_array_equal(gradient.x, [1, 0, 0, 0])
    np.testing.assert_array_equal(gradient.y, np.zeros(4))
    np.testing.assert_array_equal(np.diag(hessian["x", "x"]), [0, 2, 0, 0])
    np.testing.assert_array_equal(np.diag(hessian["x", "y"])[1:], np.zeros(3))
    np.testing.assert_array_equal(np.diag(hessian["y", "y"]), np.zeros(4))


def test_a_power_to_zero_is_constant_even_of_zero() -> None:
    module = load("sum(x**y)", "x", "x: [n], y: [n]")
    x, y = np.array([0.0, 0.0, -3.0]), np.array([0.0, 1.0, 0.0])
    np.testing.assert_array_equal(module.f_grad(x, y), [0, 1, 0])
    np.testing.assert_array_equal(module.f_hess_dense(x, y), np.zeros((3, 3)))


@pytest.mark.parametrize("large", [1e17, 1e200, 1e-200])
def test_products_of_tiny_and_huge_factors_have_their_derivatives(large: float) -> None:
    module = load("prod(x)", "x", "x: [n]")
    x = np.array([large, 3.0, large])
    with np.errstate(over="ignore"):  # the square of what is large
        gradient, hessian = module.f_grad(x), module.f_hess_dense(x)
    np.testing.assert_allclose(gradient[[0, 2]], 3 * large, rtol=1e-15)
    expected = [[0, large, 3], [large, 0, large], [3, large, 0]]
    np.testing.assert_allclose(hessian, expected, rtol=1e-15)


def test_a_product_with_zeros_has_its_derivatives_along_several_axes() -> None:
    module = load("prod(X)", "X", "X: [m, n]")
    X = np.array([[2.0, 0.0], [3.0, 5.0]])
    np.testing.assert_array_equal(module.f_grad(X), [[0, 30], [0, 0]])
    expected = np.zeros((2, 2, 2, 2))
    for at, value in (((0, 0), 15.0), ((1, 0), 10.0), ((1, 1), 6.0)):
        expected[(0, 1, *at)] = expected[(*at, 0, 1)] = value
    np.testing.assert_array_equal(module.f_hess_dense(X), expected)


def test_every_elementwise_function_is_judged() -> None:
    listed = {form.text.partition("(")[0] for form in FORMS}
    for name, row in ELEMENTWISE.items():
        steps = set(row.partials) == {"0"}  # no digits to lose
        assert name in listed or name not in FUNCTIONS or steps or name == "where"


@pytest.mark.parametrize("part", range(2))
def test_values_and_derivatives_keep_their_digits(part: int) -> None:
    forms = FORMS[part::2]
    module = load_forms(forms)
    for k, form in enumerate(forms):
        for error in judged(module, k, form, points(form, fine=False)):
            assert error.worst <= BOUND, error


NAMES = "asin acos atan asinh acosh atanh softsign sigmoid gelu"


def test_single_precision_keeps_its_digits() -> None:
    forms = [form for form in FORMS if form.text.partition("(")[0] in NAMES.split()]
    module = load_forms(forms)
    bound = BOUND * np.finfo(np.float32).eps / np.finfo(float).eps
    for k, form in enumerate(forms):
        grid = np.array([[-9.0, -0.75, -1e-3, 1e-15, 0.5, 1.5, 1e15]], np.float32)
        inside = (grid.astype(float) > form.low) & (grid.astype(float) < form.high)
        for error in judged(module, k, form, grid[:, inside[0]]):
            assert error.worst <= bound, error


def test_the_table_that_is_kept_has_every_form_within_the_bound() -> None:
    table = RESULTS.read_text(encoding="utf-8").partition("\n\nJudged")[0]
    kept = table.splitlines()[-3 * len(FORMS) :]
    assert [line[:20].strip() for line in kept[::3]] == [form.text for form in FORMS]
    assert max(float(line[33:43]) for line in kept) <= BOUND


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ("x / (k + x)", lambda x, k: k / (k + x) ** 2),
        ("x / (k + abs(x))", lambda x, k: k / (k + abs(x)) ** 2),
        ("x / sqrt(k + x**2)", lambda x, k: k / np.sqrt(k + x**2) ** 3),
    ],
)
def test_the_derivative_of_a_quotient_does_not_cancel(expr: str, expected: Any) -> None:
    module = load(f"sum({expr})", "x", "x: [n], k: scalar")
    x = np.array([1e-20, 0.3, 7.0, 1e10, 1e50])
    np.testing.assert_allclose(module.f_grad(x, 3.0), expected(x, 3.0), rtol=1e-14)


def test_a_normal_distribution_keeps_its_tail() -> None:
    module = load("sum((1 + erf(x / sqrt(2))) / 2)", "x", "x: [n]", "value, gradient")
    assert module.f(np.array([-20.0])) == pytest.approx(2.7536241186062337e-89)


def test_the_logarithm_of_a_normal_distribution_has_slopes_however_far_out() -> None:
    module = load("sum(log(ndtr(x)))", "x", "x: [n]", "gradient, dense_hessian")
    x = np.array([-1e3, -1e8, -1e150])
    np.testing.assert_allclose(module.f_grad(x)[1:], -x[1:], rtol=1e-15)
    curves = np.diagonal(module.f_hess_dense(x))
    np.testing.assert_allclose(curves, [-(1 - 1e-6 + 6e-12), -1, -1], rtol=1e-15)


def test_the_slope_of_a_logistic_density_keeps_its_digits_near_zero() -> None:
    module = load("sum(sigmoid(x)*(1 - sigmoid(x)))", "x", "x: [n]")
    x = np.array([1e-20, -1e-9])
    np.testing.assert_allclose(module.f_grad(x), -x / 8, rtol=1e-14)


def test_a_power_of_a_negative_number_is_refused_or_not_a_number() -> None:
    with pytest.raises(SpecError, match="negative number is not real"):
        load("sum((-8)**(1/3)*x)", "x", "x: [n]")
    module = load("(1 - n)**(1/3)*sum(x) + (2 - pi)**0.3*x[0]", "x", "x: [n]", "value")
    with np.errstate(invalid="ignore"):
        value = module.f(np.ones(3))
    assert np.isnan(value) and not np.iscomplexobj(value)
