"""Likelihoods as one writes them, where shares round to 1 and counts are 0."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import numpy as np
import pytest

import tensorgen
from tests.made import generate

Array = Any
V, R = np.array([0.0, 1.0, 2.0]), np.array([1.5, 2.0, 0.25])


def loaded(inputs: str, expr: str, wrt: str) -> Any:
    """The module of one function `f` with all its derivatives."""
    return tensorgen.load(
        f"tensorgen: 1\nmodule: likelihood\ninputs: {{{inputs}}}\nfunctions:\n"
        f'  f: {{expr: "{expr}", wrt: {wrt}, emit: [value, gradient, dense_hessian]}}\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        "sum(V*log(V/R))",
        "sum(2*V*log(V/R))/2",
        "sum(V*(log(V) - log(R)))",
        "sum(V*log(V) - V*log(R))",
        "sum(xlogy(V, V/R))",
        "sum(V*log(3*V/(R*3)))",
        "-sum(V*log(R/V))",
        "V @ log2(V/R)*log(2)",
        "-sum(V*log10(R/V))*log(10)",
        "sum(V*log(2*V)) - V @ log(2*R)",
        "-sum(V*log(1/V)) - V @ log(R)",
    ],
)
def test_a_count_of_zero_adds_nothing_to_a_divergence(text: str) -> None:
    module = loaded("R: [n], V: [n]", text, "R")
    with np.errstate(all="raise"):
        value, gradient = module.f_value_and_grad(R, V)
        hessian = module.f_hess_dense(R, V)
    exact = np.log(1 / 2) + 2 * np.log(8)
    np.testing.assert_allclose(value, exact, rtol=1e-14)
    np.testing.assert_allclose(gradient, -V / R, rtol=1e-14)
    np.testing.assert_allclose(hessian, np.diag(V / R**2), rtol=1e-14)


def test_the_ratio_of_two_negatives_keeps_its_logarithm() -> None:
    module = loaded("R: [n], V: [n]", "sum(V*log(V/R))", "V")
    value, gradient = module.f_value_and_grad(-R, -V[1:3].repeat([1, 2]))
    exact = V[1:3].repeat([1, 2])
    np.testing.assert_allclose(value, -np.sum(exact * np.log(exact / R)), rtol=1e-14)
    np.testing.assert_allclose(gradient, np.log(exact / R) + 1, rtol=1e-14)


@pytest.mark.parametrize(
    "P", ["g + (1 - g)*sigmoid(eta)", "g + (d - g)*sigmoid(eta)", "g+(1-g)*ndtr(eta)"]
)
@pytest.mark.parametrize("y", [0.0, 1.0])
def test_an_answer_that_is_all_but_sure_has_its_likelihood(P: str, y: float) -> None:
    words = {*re.findall(r"\w+", P), "y"}
    given = {"eta": 38.0, "g": 0.2, "d": 1.0, "y": y}
    inputs = ", ".join(f"{name}: [n]" for name in given if name in words)
    module = loaded(inputs, f"sum(y*log({P}) + (1 - y)*log(1 - ({P})))", "eta")
    args = [np.array([value]) for name, value in given.items() if name in words]
    found = [module.f(*args), *module.f_grad(*args), *module.f_hess_dense(*args)[0]]
    with mpmath.workdps(800):

        def exact(eta: Any) -> Any:
            share = mpmath.ncdf if "ndtr" in P else lambda t: 1 / (1 + mpmath.exp(-t))
            p = mpmath.mpf(0.2) + (1 - mpmath.mpf(0.2)) * share(eta)
            return mpmath.log(p) if y else mpmath.log(1 - p)

        true = [float(mpmath.diff(exact, 38, k)) for k in range(3)]
    np.testing.assert_allclose(found, true, rtol=1e-9, atol=1e-15)


def test_a_difference_of_lgammas_of_negatives_stays_what_it_is() -> None:
    module = loaded("a: []", "lgamma(a + 3) - lgamma(a)", "a")
    for a in (-0.5, -7.25, 2.5):
        args = [mpmath.mpf(a)]
        true = mpmath.log(abs(mpmath.rf(*args, 3)))
        np.testing.assert_allclose(module.f(a), float(true), rtol=1e-12)
        slope = mpmath.psi(0, a + 3) - mpmath.psi(0, a)
        np.testing.assert_allclose(module.f_grad(a), float(slope), rtol=1e-12)


@pytest.mark.parametrize("lnu", [3.0, 10.0, 20.0, 28.0])
def test_a_density_of_student_is_normal_in_the_end(lnu: float) -> None:
    text = (
        "lgamma((exp(s) + 1)/2) - lgamma(exp(s)/2) - log(exp(s)*pi)/2"
        " - (exp(s) + 1)/2*log(1 + x**2/exp(s))"
    )
    module = loaded("s: [], x: []", text, "s")
    with mpmath.workdps(200):

        def exact(s: Any) -> Any:
            nu = mpmath.exp(s)
            scale = mpmath.loggamma((nu + 1) / 2) - mpmath.loggamma(nu / 2)
            tail = (nu + 1) / 2 * mpmath.log(1 + mpmath.mpf(1.5) ** 2 / nu)
            return scale - mpmath.log(nu * mpmath.pi) / 2 - tail

        true = [float(mpmath.diff(exact, lnu, k)) for k in range(3)]
    found = [module.f(lnu, 1.5), module.f_grad(lnu, 1.5), module.f_hess_dense(lnu, 1.5)]
    np.testing.assert_allclose(found, true, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(
    "text",
    ["log(erfc(-x/sqrt(2))/2)", "log((1 + erf(x/sqrt(2)))/2)", "log(erfc(-x/sqrt(2)))"],
)
def test_a_probit_spelled_by_error_functions_keeps_its_tail(text: str) -> None:
    module = loaded("x: []", text, "x")
    more = 0 if "/2)" in text[-4:] else mpmath.log(2)
    for x in (-60.0, -39.0, -1.0, 2.0):
        with mpmath.workdps(60):
            true = [
                float(mpmath.diff(lambda t: mpmath.log(mpmath.ncdf(t)) + more, x, k))
                for k in range(3)
            ]
        found = [module.f(x), module.f_grad(x), module.f_hess_dense(x)]
        np.testing.assert_allclose(found, true, rtol=1e-12)


BETWEEN = "-sum(log(ndtr(x + t) - ndtr(x - t)))"


def test_what_is_between_two_ends_is_made_once_for_all_its_derivatives() -> None:
    spec = (
        "tensorgen: 1\ninputs: {x: [n], t: scalar}\nfunctions:\n"
        f'  f: {{expr: "{BETWEEN}", wrt: [x, t], emit: [value, gradient, hvp]}}\n'
    )
    text = generate(spec)
    for function in ("_f_parts", "f_hvp"):
        own = text.partition(f"def {function}(")[2].partition("\ndef ")[0]
        assert own.count("_normal_between(") == 1, own


# Points that few of an integral suffice for, more of them, all of them, and tails.
@pytest.mark.parametrize("t", [1e-3, 0.3, 1.2, 3.0, 9.0])
def test_what_is_between_two_ends_has_all_its_digits(t: float) -> None:
    module = loaded("x: [n], t: scalar", BETWEEN, "x")
    x = np.array([-3.0, -0.5, 1e-9, 0.8, 2.5])

    def log(x: Any) -> Any:
        low, high = -abs(mpmath.mpf(x)) - t, -abs(mpmath.mpf(x)) + t
        return -mpmath.log(mpmath.ncdf(high) - mpmath.ncdf(low))

    with mpmath.workdps(80):
        values = [log(a) for a in x]
        slopes = [mpmath.diff(log, mpmath.mpf(a)) for a in x]
        bends = [mpmath.diff(log, mpmath.mpf(a), 2) for a in x]
    for k in range(len(x)):  # each alone, and beside others
        for rows in ([k], range(len(x))):
            at = [*rows].index(k)
            given = x[[*rows]]
            assert module.f(x[k : k + 1], t) == pytest.approx(
                float(values[k]), rel=1e-13
            )
            slope = module.f_grad(given, t)[at]
            assert slope == pytest.approx(float(slopes[k]), rel=1e-12)
            bend = module.f_hess_dense(given, t)[at, at]
            assert bend == pytest.approx(float(bends[k]), rel=1e-11)


def test_what_cancels_is_summed_whatever_is_beside_it() -> None:
    module = loaded("a: [n], y: [n]", "sum(lgamma(a + y) - lgamma(a))", "a")
    a, y = np.array([1e9, -0.5, 3.0]), np.array([0.25, 0.25, 0.0])
    slopes = module.f_grad(a, y)
    with mpmath.workdps(40):
        true = [
            float(mpmath.psi(0, mpmath.mpf(b) + z) - mpmath.psi(0, mpmath.mpf(b)))
            for b, z in zip(a, y, strict=True)
        ]
    np.testing.assert_allclose(slopes, true, rtol=1e-12)
    assert module.f(a[:1], y[:1]) == pytest.approx(0.25 * np.log(1e9), rel=1e-9)


@pytest.mark.parametrize("order", [0, 1, 2, np.array([0, 0]), np.array([0, 3])])
def test_orders_of_polygamma_are_one_or_many(order: Any) -> None:
    text = "sum(polygamma(k, a + y) - polygamma(k, a))"
    shape = "[n]" if np.ndim(order) else "[]"
    module = loaded(f"a: [n], y: [n], k: {shape}", text, "a")
    a, y = np.array([1e6, 0.75]), np.array([0.25, 3.0])
    orders = np.broadcast_to(order, 2)
    with mpmath.workdps(40):
        true = [
            [float(mpmath.psi(s + j, b + z) - mpmath.psi(s + j, b)) for j in (0, 1)]
            for s, b, z in zip(orders, map(mpmath.mpf, a), y, strict=True)
        ]
    values, slopes = np.array(true).T
    for rows in ([0], [1], [0, 1], [0, 1] * 50):
        own = order if np.ndim(order) == 0 else order[rows]
        given = a[rows], y[rows], np.asarray(own, dtype=float)
        assert module.f(*given) == pytest.approx(values[rows].sum(), rel=1e-12)
        np.testing.assert_allclose(module.f_grad(*given), slopes[rows], rtol=1e-12)
