"""A value and a gradient beside a Hessian are what they are by themselves."""

from __future__ import annotations

import re

from tests.made import generate

QUADRATURE = """
tensorgen: 1
inputs: {a: [J], b: [J], Y: [N, J], node: [Q], logw: [Q]}
functions:
  loss:
    where: |
      z[q, j] = a[j]*(node[q] - b[j])
      right[q, j] = log_sigmoid(z[q, j])
      ll[i, q] = sum(Y[i, j]*right[q, j] + (1 - Y[i, j])*log_sigmoid(-z[q, j]), j)
    expr: -sum(logsumexp(ll + logw[None, :], axis=1))
    wrt: [a, b]
    emit: [value, gradient, hessian]
"""


def test_what_all_read_is_computed_once_in_one_form() -> None:
    text = generate(QUADRATURE)
    assert len(re.findall(r"^    ll = ", text, re.MULTILINE)) == 1
    assert text.count(" = _guarded_logsumexp_and_softmax(") == 1
    assert "= _guarded_softmax(" not in text
