"""Derivatives of solutions of linear systems: solved with, never inverted."""

from __future__ import annotations

import re

import numpy as np

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Product, topological
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order.order_contractions import order_contractions

DESIGN = """
tensorgen: 1
module: design
dims: {m: 300, n: 200}
inputs:
  x: {shape: [m], positive: true}
  X: [m, n]
  b: [n]
functions:
  f:
    expr: b @ solve(X.T @ (x[:, None] * X), b)
    wrt: x
    emit: [value, gradient, hvp]
"""


def test_a_product_with_the_hessian_takes_two_systems() -> None:
    source = tensorgen.generate(DESIGN)
    assert "linalg.inv" not in source
    body = source.partition("def f_hvp(")[2].partition("\ndef ")[0]
    assert len(re.findall(r"linalg\.solve\(", body)) == 2
    # Of vectors: nothing is as large as the system but the system.
    code = body.rpartition('"""')[2]
    assert len(re.findall(r"\b(\w+)\.T @ \1\b", code)) == 1
    assert "np.outer" not in code


def test_the_values_are_those_of_closed_forms() -> None:
    rng = np.random.default_rng(0)
    x, X, b = rng.uniform(1, 2, 7), rng.normal(size=(7, 4)), rng.normal(size=4)
    dx = rng.normal(size=7)
    model = tensorgen.load(DESIGN)
    A = X.T @ (x[:, None] * X)
    u = np.linalg.solve(A, b)
    np.testing.assert_allclose(model.f_grad(x, X, b), -((X @ u) ** 2), rtol=1e-9)
    du = -np.linalg.solve(A, X.T @ (dx * (X @ u)))
    expected = -2 * (X @ u) * (X @ du)
    np.testing.assert_allclose(model.f_hvp(x, X, b, dx), expected, rtol=1e-9)


def test_what_a_product_shares_with_itself_is_ordered_too() -> None:
    graph = Graph()
    A, B = graph.input("A", ["n", "n"]), graph.input("B", ["n", "n"])
    b = graph.input("b", ["n"])
    once = [(A, "ij"), (B, "jk"), (b, "k")]
    twice = [(A, "il"), (B, "lm"), (b, "m")]
    node = graph.product("i", [*once, *twice])
    (ordered,) = order_contractions(graph, [node], CostModel({"n": 100}))
    products = [p for p in topological([ordered]) if isinstance(p, Product)]
    assert products
    assert all(len(p.factors) <= 2 for p in products)
    assert all(len(p.dims) == 1 for p in products)
