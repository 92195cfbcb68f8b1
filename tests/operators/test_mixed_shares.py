"""Sums of shares, `c + (1 - c)*sigmoid(t)`: what is bounded needs no level."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen

SPEC = """tensorgen: 1
inputs: {{t: [n], c: {{shape: [n], positive: true}}}}
functions:
  f: {{expr: "sum(log(c + (1 - c)*{share}))", wrt: t, emit: [value, gradient, hessian]}}
"""


@pytest.mark.parametrize("share", ["sigmoid(t)", "1/(1 + exp(-t))", "ndtr(t)"])
def test_a_positive_number_beside_shares_keeps_their_sum_in_range(share: str) -> None:
    text = tensorgen.generate(SPEC.format(share=share))
    assert "_finite_exp" not in text and "np.maximum" not in text
    m = tensorgen.load(SPEC.format(share=share))
    t, c = np.array([-800.0, -1, 0.5, 800]), np.array([0.2, 0.1, 0.3, 0.2])
    with np.errstate(all="raise", under="ignore"):
        value, slope = m.f_value_and_grad(t, c)
        curvature = m.f_hess(t, c).diagonal()
    inner = sum(m.f(t[k : k + 1], c[k : k + 1]) for k in (1, 2))
    assert value == pytest.approx(np.log(0.2) + inner, rel=1e-14)
    assert slope[0] == slope[3] == curvature[0] == curvature[3] == 0
    for k in (1, 2):
        e = 1e-5 * np.eye(4)[k]
        assert slope[k] == pytest.approx((m.f(t + e, c) - m.f(t - e, c)) / 2e-5)


def test_without_the_promise_what_vanishes_is_kept() -> None:
    m = tensorgen.load(SPEC.format(share="sigmoid(t)").replace(", positive: true", ""))
    value, slope = m.f_value_and_grad(np.array([-800.0]), np.zeros(1))
    assert value == -800 and slope[0] == 1
