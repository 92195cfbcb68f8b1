"""What low rank makes of determinants is simplified as if a user had written it."""

from __future__ import annotations

import pytest

from tests.made import generate, source

FACTORS = """tensorgen: 1
dims: {p: 50, k: 5}
inputs:
  L: [p, k]
  log_psi: [p]
  S: {shape: [p, p], symmetric: true}
functions:
  nll:
    where: SIGMA
    expr: (logdet(Sigma) + trace(inv(Sigma) @ S)) / 2
    wrt: [L, log_psi]
    emit: [value, gradient]
"""


@pytest.mark.parametrize(
    "sigma",
    [
        "Sigma = L @ L.T + diag(exp(log_psi))",
        "Sigma[i, j] = sum(L[i, s] * L[j, s], s) + where(i == j, exp(log_psi[i]), 0)",
        "Sigma = eye(p) * exp(log_psi) + L @ L.T",
    ],
)
def test_the_logarithm_of_an_exponential_is_its_argument(sigma: str) -> None:
    text = source(generate(FACTORS.replace("SIGMA", sigma)), "nll_value_and_grad")
    assert text.count("np.exp(") <= 1
    assert "np.log(parts.exp" not in text and "np.log(exp" not in text
    assert "log_psi.sum()" in text
