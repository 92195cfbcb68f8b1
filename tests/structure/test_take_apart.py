"""Terms taken apart: how deep, and what is found."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen import load
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input
from tensorgen.prices.limits import DEPTH_OF_PRODUCTS
from tensorgen.structure.take_apart import take_apart


@pytest.mark.parametrize("beyond", [0, 1])
def test_products_are_looked_into_as_deep_as_is_said(beyond: int) -> None:
    graph = Graph()
    node = graph.input("A", ["n", "n"])
    for k in range(DEPTH_OF_PRODUCTS + beyond):
        node = graph.einsum("ij,jk->ik", node, graph.input(f"B{k}", ["n", "n"]))
    factors = [factor for factor, _ in take_apart(graph, node).factors]
    assert len(factors) == DEPTH_OF_PRODUCTS + 1
    opened = [isinstance(factor, Input) for factor in factors]
    assert opened.count(False) == beyond


def test_a_mixed_block_of_a_network_holds_less_than_its_factors_grown() -> None:
    # Sums with minus signs are opened too, where they compare nothing.
    module = load(
        "tensorgen: 1\ndims: {d: 80, h: 60, k: 50, q: 10, s: 64}\n"
        "inputs: {A: [h, d], B: [k, h], C: [q, k], X: [d, s], Y: [q, s]}\n"
        "functions:\n  f:\n    expr: norm(C @ tanh(B @ tanh(A @ X)) - Y)**2\n"
        "    wrt: [A, B]\n    emit: [hessian]\n"
    )
    rng = np.random.default_rng(0)
    A, B, C = (rng.normal(size=s) / 9 for s in ((60, 80), (50, 60), (10, 50)))
    X, Y = rng.normal(size=(80, 64)), rng.normal(size=(10, 64))
    mixed = module.f_hess(A, B, C, X, Y).pairs["A", "B"]
    assert mixed.nbytes == 8 * 23_340  # 208,000 as one array over the samples
