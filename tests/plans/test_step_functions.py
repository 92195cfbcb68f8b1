"""Formulas that others read are functions that these call."""

from __future__ import annotations

from tests.made import generate

GIBBS = """tensorgen: 1
dims: {n: 12, m: 4}
inputs: {x: [n], lam: [m], g: [n], A: [m, n], p: {shape: scalar, default: 1.0}}
functions:
  potential[i]: g[i] + x[i] - log(sum(exp(x[j]), j)) + log(p)
  gibbs: sum(exp(x)*potential)
  residual: potential - A.T @ lam
"""


def test_a_formula_that_others_read_is_a_function_that_they_call() -> None:
    text = generate(GIBBS)
    assert text.count("_log_softmax(x) + g + np.log(p)") == 1
    assert "    return _potential(x, g, p)\n" in text
    assert text.count("potential = _potential(x, g, p)\n") == 2


def test_a_short_formula_stands_where_it_is_read() -> None:
    text = generate(GIBBS.replace(" + x[i] - log(sum(exp(x[j]), j)) + log(p)", "*x[i]"))
    assert "_potential" not in text


SCORED = """tensorgen: 1
dims: {s: 50, d: 8, h: 6}
inputs:
  W: [d, h]
  gain: [h]
  shift: [h]
  v: [h]
  X: [s, d]
  y: [s]
  eps: {shape: scalar, positive: true, default: 1e-5}
functions:
  logit:
    where: |
      z = X @ W
      c = z - mean(z, axis=0)
      unit = c/sqrt(mean(c**2, axis=0) + eps)
    expr: relu(gain*unit + shift) @ v
  loss: mean(log(1 + exp(logit)) - y*logit)
"""


def test_a_formula_of_many_inputs_is_a_function() -> None:
    text = generate(SCORED)
    assert "logit = _logit(W, gain, shift, v, X, eps)\n" in text
