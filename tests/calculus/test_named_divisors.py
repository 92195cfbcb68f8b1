"""What the user named is divided by as it stands, and cancels where it is a factor."""

from __future__ import annotations

import re

import numpy as np

from tests.made import generate, load, source

ETCHING = """
tensorgen: 1
inputs: {theta: [3], t: [m], y: [m]}
functions:
  sse:
    where: |
      limit = exp(theta[1])
      rate = exp(theta[0])
      c = limit * (1 - exp(-rate * t / limit))
      r = c - y
    expr: sum(r**2) / 2
    wrt: theta
    emit: [value, gradient, hessian]
"""
KINETICS = """
tensorgen: 1
inputs: {p: [4], S: [n], I: [n], v: [n]}
functions:
  nll:
    where: |
      Vmax = exp(p[0])
      Km = exp(p[1])
      Ki = exp(p[2])
      sd = exp(p[3])
      model = Vmax * S / (Km * (1 + I / Ki) + S)
      r = log(v) - log(model)
    expr: sum(0.5 * (r / sd)**2 + p[3] + log(v))
    wrt: p
    emit: [gradient]
"""


def test_an_exponential_with_a_name_is_divided_by_as_it_stands() -> None:
    text = generate(ETCHING)
    assert "np.exp(-theta" not in text
    assert re.search(r"rate / (parts\.)?limit", text)


def test_a_sum_with_a_name_is_not_divided_term_by_term() -> None:
    text = source(generate(ETCHING), "sse_grad")
    assert "y / " not in text


def test_a_hessian_by_entries_of_parameters_is_stored_entry_by_entry() -> None:
    text = generate(ETCHING)
    hessian = source(text, "sse_hess")
    assert "hess[0, 1] = hess[1, 0] = " in hessian
    assert "spread" not in text
    assert hessian.count("np.zeros(") == 1


def test_derivatives_by_entries_of_parameters_are_true() -> None:
    module = load(ETCHING)
    rng = np.random.default_rng(1)
    theta, t, y = np.array([0.3, -0.2, 0.7]), rng.random(5), rng.random(5)
    step = 1e-6 * np.eye(3)
    slopes = [
        (module.sse(theta + s, t, y) - module.sse(theta - s, t, y)) / 2e-6 for s in step
    ]
    np.testing.assert_allclose(module.sse_grad(theta, t, y), slopes, rtol=1e-7)
    rows = [
        (module.sse_grad(theta + s, t, y) - module.sse_grad(theta - s, t, y)) / 2e-6
        for s in step
    ]
    found = module.sse_hess(theta, t, y).dense()
    np.testing.assert_allclose(found, rows, rtol=1e-7, atol=1e-9)


def test_quotients_within_quotients_cancel() -> None:
    # The logarithm of a quotient leaves (r * d / S) * S / d**2. Were d * r formed, it
    # would be taken apart for the sake of d * log(S / d).
    text = source(generate(KINETICS), "nll_grad")
    assert "xlog" not in text
    assert text.count("np.log(") == 2
    assert text.count("r.sum()") == 1
    assert text.count("r @ r") == 1


def test_exponentials_with_names_that_divide_neither_overflow_nor_cancel() -> None:
    module = load("""
tensorgen: 1
inputs: {a: [n], b: [n]}
functions:
  odds:
    where: |
      num = exp(a)
      den = exp(b)
    expr: sum(log(1 + num / den))
    wrt: a
    emit: [value, gradient]
  share:
    where: |
      L = logsumexp(a)
      den = exp(L)
    expr: sum(b * exp(a) / den)
    wrt: a
    emit: [value, gradient]
""")
    a = np.array([800.0, -800.0, 1.0])
    assert module.odds(a, a) == 3 * np.log(2)
    np.testing.assert_array_equal(module.odds_grad(a, a), [0.5, 0.5, 0.5])
    assert module.share(a, a) == 800
    assert np.isfinite(module.share_grad(a, a)).all()
