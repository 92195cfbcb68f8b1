"""Reductions of what may have no entries: slices and ranges that sizes leave empty."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import tensorgen
from tensorgen.calculus.requests import MODES, Mode
from tests.sampled import sampled

OF_NO_ENTRIES = {
    "logsumexp(x[i], i, i > 0)": -np.inf,
    "logsumexp(x[i], i=range(1, m))": -np.inf,
    "logsumexp(x[1:])": -np.inf,
    "log(sum(exp(x[1:])))": -np.inf,
    "logaddexp(0.3, logsumexp(x[1:]))": 0.3,
    "log(1 + sum((x[1:] - 0.5) * exp(x[1:])))": 0,
    "sum(softmax(x[1:])**2)": 0,
    "sum(log_softmax(x[1:]))": 0,
    "sum(logsumexp(x[:, None] + x[None, 1:], axis=0))": 0,
    "logaddexp(0.3, logsumexp(logsumexp(x[:, None] + x[None, 1:], axis=1)))": 0.3,
}


@pytest.mark.parametrize("case", sampled(product(OF_NO_ENTRIES, MODES), 2), ids=str)
def test_exponentials_of_no_entries_add_up_to_nothing(case: tuple[str, Mode]) -> None:
    text, mode = case
    m = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [m]}\nfunctions:\n"
        f'  f: {{expr: "{text}", wrt: x, emit: [value, gradient, hessian]}}\n',
        mode=mode,
    )
    for dtype in (np.float32, np.float64):
        x = np.array([-1.3], dtype)
        value, slope = m.f_value_and_grad(x)
        assert value.dtype == dtype
        np.testing.assert_allclose(value, OF_NO_ENTRIES[text], rtol=1e-6)
        np.testing.assert_array_equal(slope, [0])
        np.testing.assert_array_equal(m.f_hess(x).dense(), [[0]])


@pytest.mark.parametrize(
    "text", ["max(x[1:])", "min(x[1:])", "median(x[1:])", "max(x[i], i, i > 0)"]
)
def test_an_extremum_says_which_sizes_it_needs(text: str) -> None:
    m = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [m]}\n"
        f'functions:\n  f: {{expr: "{text}", wrt: x}}\n'
    )
    for f in (m.f, m.f_grad):
        with pytest.raises(ValueError, match="at least one entry needs 2 <= m"):
            f(np.ones(1))
    assert m.f(np.ones(2)) == 1


def test_a_reduction_of_a_known_number_of_entries_asks_for_no_size() -> None:
    source = tensorgen.generate(
        "tensorgen: 1\ninputs: {x: [m], y: [m + 1]}\n"
        "functions:\n  f: max(x) + max(y[1:])\n  g: logsumexp(y[1:])\n"
    )
    assert "at least one" not in source
    assert "_supremum" not in source.split("def g(")[0]


def test_a_condition_that_ranges_have_taken_in_selects_nothing() -> None:
    source = tensorgen.generate(
        "tensorgen: 1\ninputs: {x: [m]}\n"
        'functions:\n  f: "logsumexp(x[i], i, i > 0)"\n'
    )
    assert "np.where(True" not in source and "x[1:]" in source


@pytest.mark.parametrize("h", [1, 2, 3])
def test_a_slice_backwards_to_the_first_entry_may_have_none(h: int) -> None:
    m = tensorgen.load(
        "tensorgen: 1\ninputs: {x: [2*h], far: [h - 1]}\nfunctions:\n"
        "  f: {expr: 'sum((flip(x)[h:][1:] - far)**2)', wrt: x, emit: [gradient]}"
    )
    x, far = np.arange(2.0 * h), np.ones(h - 1)
    slope = m.f_grad(x, far)
    part = x[: h - 1][::-1] - far
    expected = np.zeros(2 * h)
    expected[: h - 1] = 2 * part[::-1]
    np.testing.assert_array_equal(slope, expected)


def test_what_a_loop_without_steps_binds_is_not_given_up_behind_it() -> None:
    text = """tensorgen: 1
dims: {h: 3000}
inputs: {x: [2*h], g: [2*h], w: [h], u: [h], far: [h - 1]}
functions:
  f:
    where: |
      a = sum(w[i]*sin(x[i]*x[2*i + 1]) + u[i]*sigmoid(x[i] - x[2*i + 1]), i=range(h))
      b = sum(x[i]*x[2*i + 1]**2, i=range(h))
      c = sum(exp(-(x[2*h - 1 - i] - g[i]*x[i])**2), i)
      r = reshape(x, (2, h))[0][:-1] - far*sum(reshape(x, (h, 2)), axis=1)[1:]
    expr: a + b + c + sum(far*exp(-sin(r)**2))
    wrt: x
    emit: [gradient, dense_hessian]
"""
    assert "in _blocks(" in tensorgen.generate(text)
    m = tensorgen.load(text)
    rng = np.random.default_rng(0)
    for h in (1, 2):
        x, g = rng.normal(size=(2, 2 * h))
        w, u = rng.normal(size=(2, h))
        rest = g, w, u, rng.normal(size=h - 1)
        steps = 1e-6 * np.eye(2 * h)
        rows = [(m.f_grad(x + e, *rest) - m.f_grad(x - e, *rest)) / 2e-6 for e in steps]
        np.testing.assert_allclose(m.f_hess_dense(x, *rest), rows, atol=1e-7)
