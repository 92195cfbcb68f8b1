"""Sums over products that calculus forms are contracted, in the cheapest order."""

from __future__ import annotations

from tests.made import generate, source

BLUR = """
tensorgen: 1
dims: {n: 512, w: 9}
inputs: {x: [n], k: [w], y: [n - w + 1], bg: [n - w + 1]}
functions:
  loss:
    where: "mu[i] = bg[i] + sum(k[j] * x[i + j], j)"
    expr: sum(mu - y * log(mu))
    wrt: x
    emit: [value, hvp]
"""
CUTS = """
tensorgen: 1
dims: {K: 5}
inputs: {c: [], gap: [K - 2], q: [K - 1]}
functions:
  f:
    where: cut = c + concatenate([zeros(1), cumsum(exp(gap))])
    expr: sum(q * cut**2)
    wrt: gap
    emit: [value, gradient]
"""


def test_a_product_with_a_hessian_correlates_as_its_value_does() -> None:
    text = generate(BLUR)
    assert "sliding_window_view" not in source(text, "loss_hvp").replace("_view(a", "")
    product = text.partition("def loss_hvp(")[2].partition("\n\n\n")[0]
    assert product.count("_correlate(") == 3
    assert ".sum(axis=0)" not in product


def test_sums_up_to_a_place_are_padded_once_and_not_cut_again() -> None:
    text = generate(CUTS)
    assert text.count("np.pad(") == text.count("np.pad(np.cumsum(exp_gap), (1, 0))")
    assert "[::-1])[::-1]\n" in source(text, "f_grad")
