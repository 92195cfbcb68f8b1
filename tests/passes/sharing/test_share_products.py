"""Products that are made anyway are found in others, however these are grouped."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.sharing.share_products import share_products
from tensorgen.verify.interpret import evaluate

SIZES = CostModel({"n": 100})


def agree(roots: list[Node], others: list[Node]) -> None:
    rng = np.random.default_rng(0)
    shapes = {name: (3, 3) for name in "ABCD"} | {"s": (3,)}
    arguments = {name: rng.random(shape) for name, shape in shapes.items()}
    before = evaluate(roots, arguments, FUNCTIONS, OPERATORS)
    after = evaluate(others, arguments, FUNCTIONS, OPERATORS)
    for got, expected in zip(after, before, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)


def matrices(graph: Graph) -> list[Node]:
    return [graph.input(name, ["n", "n"]) for name in "ABCD"]


def test_a_chain_is_found_transposed_and_spread_over_products() -> None:
    graph = Graph()
    A, B, C, D = matrices(graph)
    s = graph.input("s", ["n"])
    made = graph.product("il", [(A, "ij"), (s, "j"), (B, "jk"), (C, "kl")])
    inner = graph.product("kl", [(B, "jk"), (D, "jl"), (s, "j")])
    root = graph.product("ml", [(C, "km"), (inner, "kl")], coefficient=3)
    again = graph.product("li", [(C, "kl"), (root, "kj"), (A, "ij")])
    # What is used once is looked into; what is used twice is made.
    chain = [(C, "kl"), (B, "jk"), (s, "j"), (A, "mj"), (D, "mi")]
    roots = [made, graph.map("exp", "il", [(made, "il")]), again]
    roots.append(graph.product("li", chain))
    found = share_products(Context(graph, SIZES), roots)
    assert isinstance(found[3], Product)
    assert {ref.node for ref in found[3].factors} == {found[0], D}
    assert found[2] is again
    agree(roots, found)


def test_labels_that_others_need_are_not_summed_away() -> None:
    graph = Graph()
    A, B, C, D = matrices(graph)
    made = graph.product("ik", [(A, "ij"), (B, "jk")])
    both = graph.map("exp", "ik", [(made, "ik")])
    root = graph.product("kl", [(A, "ij"), (B, "jk"), (C, "jl"), (D, "il")])
    roots = [made, both, root]
    assert share_products(Context(graph, SIZES), roots)[2] is root


def test_a_vector_is_not_multiplied_by_what_takes_longer() -> None:
    graph = Graph()
    A, B, C, _ = matrices(graph)
    s = graph.input("s", ["n"])
    once = graph.product("ik", [(A, "ij"), (B, "jk"), (C, "kl"), (s, "l")])
    roots = [graph.product("ik", [(A, "ij"), (B, "jk")]), once]
    assert share_products(Context(graph, SIZES), roots) == roots


@pytest.mark.parametrize("layers", [4, 12])
def test_a_network_s_slopes_are_multiplied_once(layers: int) -> None:
    weights = [f"W{k}" for k in range(layers)]
    inputs = ", ".join(f"{name}: [n, n]" for name in weights)
    z = "W0 @ x"
    for name in weights[1:]:
        z = f"{name} @ relu({z})"
    text = tensorgen.generate(f"""
tensorgen: 1
module: network
inputs: {{{inputs}, x: [n]}}
functions:
  f: {{expr: logsumexp({z}), wrt: W0, emit: [hessian]}}
""")
    # A product for each layer behind the second, and the curvature of the loss.
    found = re.search(r"Cost: (\d+)\*n\*\*3 flops", text)
    assert found is not None
    assert int(found[1]) == 2 * (layers - 2) + 2


def test_what_nobody_shares_is_left_as_it_is() -> None:
    graph = Graph()
    A, B, C, _ = matrices(graph)
    root = graph.product("il", [(A, "ij"), (B, "jk"), (C, "kl")])
    assert share_products(Context(graph, SIZES), [root]) == [root]
    assert topological([root])[-1] is root
