"""Numbers stand where derivatives begin, which bear their names then."""

from __future__ import annotations

import pytest

from tests.made import generate, source

MEAN = """tensorgen: 1
dims: {T: 200, d: 64, e: 50}
inputs: {V: [d, e], O: [e, d], X: [T, d], Y: [T, d]}
functions:
  loss:
    where: |
      mix = tanh(X @ V)
      out = mix @ O
    expr: mean((out - Y)**2)
    wrt: [V, O]
    emit: [value, gradient]
"""


def test_a_number_is_multiplied_where_the_derivative_begins() -> None:
    text = source(generate(MEAN), "loss_value_and_grad")
    assert "d_out = 2 * residual / (T * d)\n" in text
    assert "grad_O = mix.T @ d_out\n" in text
    assert "grad_V = X.T @ (_sech2(X_V) * (d_out @ O.T))\n" in text


def test_value_and_gradient_keep_what_they_share() -> None:
    """A residual is not made twice as large: the value has it as it is."""
    text = source(generate(MEAN.replace("mean", "sum")), "loss_value_and_grad")
    assert "2 * (mix.T @ residual)" in text


ATTENTION = """tensorgen: 1
dims: {T: 60, d: 20, c: 8, e: 10}
inputs:
  {Q: [d, c], K: [d, c], V: [d, e], O: [e, d], X: [T, d], Y: [T, d]}
functions:
  loss:
    where: |
      v = X @ V
      s = (X @ Q) @ (X @ K).T
      share = softmax(s, axis=1)
      mix = share @ v
    expr: sum((mix @ O - Y)**2)
    wrt: [Q, K, V]
    emit: [value, gradient]
"""


def test_what_is_made_of_a_derivative_is_called_after_it() -> None:
    text = source(generate(ATTENTION), "loss_value_and_grad")
    assert "d_mix = 2 * (" in text and "half_" not in text and "twice_" not in text
    assert "share.T @ d_mix" in text


@pytest.mark.parametrize("order", ["", "hvp"])
def test_a_derivative_that_has_its_name_keeps_it(order: str) -> None:
    spec = """tensorgen: 1
dims: {n: 30}
inputs: {Y: [n, 2], P: [n, n]}
functions:
  f:
    where: 'D[i, j] = sum((Y[i, k] - Y[j, k])**2, k)'
    expr: sum(P*log(1 + D))
    wrt: Y
    emit: [gradient, hvp]
"""
    text = source(generate(spec), "f_hvp" if order else "f_grad")
    assert "twice_d_" not in text
