"""What is read of pairs is masked once, with all terms together."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Sum, delta, indicator
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order.common_parts import masks
from tensorgen.passes.order.factor_sums import factor_sum
from tensorgen.verify.interpret import evaluate

SPEC = """
tensorgen: 1
inputs: {x: [n, 3]}
functions:
  f:
    where: |
      r[i, j] = 1 / sum((x[i, a] - x[j, a])**2, a)
    expr: EXPR
    wrt: x
    emit: [gradient]
"""


@pytest.mark.parametrize(
    "expr",
    [
        "sum(r[i, j]**6 - r[i, j]**3, i, j, i < j)",
        "sum(r[i, j]**6, i, j, i < j) - sum(r[i, j]**3, i, j, i < j)",
        "sum(where(i < j, r[i, j]**6 - r[i, j]**3, 0), i, j)",
    ],
)
def test_slopes_of_pairs_are_masked_once(expr: str) -> None:
    module = tensorgen.load(SPEC.replace("EXPR", expr))
    source = inspect.getsource(module.f_grad)
    masks = re.findall(r"np\.(?:triu|tril|where)\(", source)
    assert len(masks) <= 2, source  # that of distances, and that of slopes
    x = np.random.default_rng(0).normal(size=(6, 3))
    difference = x[:, None] - x
    squares = (difference**2).sum(axis=-1) + np.eye(6)
    slope = 6 / squares**4 - 12 / squares**7
    want = (slope[:, :, None] * difference).sum(axis=1)
    np.testing.assert_allclose(module.f_grad(x), want, rtol=1e-12)


def test_an_axis_that_a_mask_alone_has_is_not_summed() -> None:
    graph = Graph()
    later = indicator({"j": 1, "i": -1}, -1)
    terms = []
    for name in "ab":
        array = graph.input(name, ["n"])
        sizes = {"j": array.dims[0]}
        term = graph.product("ij", [(array, "i")], constraints=[later], sizes=sizes)
        terms.append((1, term, "ij"))
    whole = graph.sum("ij", terms)

    def opens(node: object) -> bool:
        return isinstance(node, Product)

    found = factor_sum(graph, whole, CostModel({}), opens, kinds=(masks,))
    assert isinstance(found, Product) and len(found.constraints) == 1
    given = {"a": np.array([1.0, 2, 3]), "b": np.array([5.0, 7, 9])}
    want, got = evaluate([whole, found], given, FUNCTIONS, OPERATORS)
    np.testing.assert_array_equal(got, want)


def test_what_is_read_from_one_place_is_a_factor_in_common() -> None:
    graph = Graph()
    arrays = [graph.input(x, ["n"]) for x in "ab"]
    whole = graph.input("d", [arrays[0].dims[0] + 1])

    def read(shift: int, array: Node) -> Node:
        tie = delta({"s": 1, "i": -1}, -shift)
        factors = [(array, "i"), (whole, "s")]
        sizes = {"i": array.dims[0], "s": whole.dims[0]}
        return graph.product("i", factors, constraints=[tie], sizes=sizes)

    def factored(*shifts: int) -> Node:
        pairs = zip(shifts, arrays, strict=True)
        node = graph.sum("i", [(1, read(shift, x), "i") for shift, x in pairs])
        return factor_sum(graph, node, CostModel({}), lambda x: isinstance(x, Product))

    found = factored(1, 1)
    assert isinstance(found, Product) and {whole} < {x.node for x in found.factors}
    assert isinstance(factored(1, 0), Sum)  # from two places
    given = {"a": np.array([1.0, 2]), "b": np.array([5.0, 7]), "d": np.arange(3.0)}
    (got,) = evaluate([found], given, FUNCTIONS, OPERATORS)
    np.testing.assert_array_equal(got, [6.0, 18.0])
