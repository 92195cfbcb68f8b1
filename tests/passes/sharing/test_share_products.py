"""What is made anyway is found in others, however these are grouped and turned."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, Product, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.passes.rates import Rates
from tensorgen.passes.sharing.share_products import share_products
from tensorgen.verify.interpret import evaluate

SIZES = CostModel({"n": 100})
UNLIKE = CostModel({"m": 30, "n": 40, "p": 50})
PERMUTATIONS = [(0, 1, 2), (1, 0, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)]


def agree(roots: list[Node], others: list[Node]) -> None:
    rng = np.random.default_rng(0)
    inputs = {n.name: n for n in topological(roots) if isinstance(n, Input)}
    sides = {"m": 3, "n": 4, "p": 5}
    arguments = {
        name: rng.random([sides[str(dim)] for dim in node.dims])
        for name, node in inputs.items()
    }
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
    made = graph.product("ik", [(A, "ij"), (B, "jk")])
    roots = order_contractions(graph, [made, once], SIZES)
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


def test_what_scales_a_product_that_is_made_waits_for_it() -> None:
    graph = Graph()
    A, B = graph.input("A", ["m", "n"]), graph.input("B", ["n", "p"])
    c = graph.input("c", ["p"])
    made = graph.product("ki", [(A, "ij"), (B, "jk")], coefficient=2)
    scaled = graph.einsum("jk,k->kj", B, c)
    whole = graph.einsum("ij,kj->ik", A, scaled)
    found = share_products(Context(graph, UNLIKE), [made, whole])
    assert scaled not in topological(found)
    agree([made, whole], found)
    assert share_products(Context(graph, UNLIKE), [whole]) == [whole]
    graph.names[scaled] = "scaled"
    assert share_products(Context(graph, UNLIKE), [made, whole]) == [made, whole]


def test_a_chain_is_reused_from_its_beginning_to_its_end() -> None:
    graph = Graph()
    A, P = graph.input("A", ["m", "n"]), graph.input("P", ["n", "n"])
    s = graph.input("s", ["m"])
    roots = []
    for first in (A, graph.einsum("ij,i->ij", A, s)):
        second = graph.einsum("ij,jk->ik", first, P)
        roots.append(graph.einsum("ij,jk->ik", second, P))
    found = share_products(Context(graph, UNLIKE), roots)
    assert found[1] is graph.einsum("ij,i->ij", roots[0], s)
    agree(roots, found)


def test_no_more_is_read_than_before() -> None:
    graph = Graph()
    A, P = graph.input("A", ["m", "n"]), graph.input("P", ["n", "n"])
    v = graph.input("v", ["n"])
    spread = graph.einsum("jk,ij->ijk", P, A)  # a matrix for each i
    whole = graph.einsum("jk,ij->ik", P, graph.einsum("ij,j->ij", A, v))
    assert share_products(Context(graph, UNLIKE), [spread, whole]) == [spread, whole]


def test_sizes_without_hints_may_be_any() -> None:
    graph = Graph()
    V, x = graph.input("V", ["n", "r"]), graph.input("x", ["n"])
    gram = graph.einsum("ik,jk->ij", V, V)
    product = graph.einsum("ik,k->i", V, graph.einsum("jk,j->k", V, x))
    roots = [gram, product]
    assert share_products(Context(graph), roots) == roots  # n may be far more than r
    wide = Context(graph, CostModel({"n": 10, "r": 1000}))
    assert share_products(wide, roots) == [gram, graph.einsum("ij,j->i", gram, x)]


def test_a_method_of_a_problem_reuses_what_those_before_it_make() -> None:
    graph = Graph()
    A, P = graph.input("A", ["m", "n"]), graph.input("P", ["n", "n"])
    s = graph.input("s", ["m"])
    made = graph.einsum("ij,jk->ik", A, P)
    scaled = graph.einsum("ij,jk->ik", graph.einsum("ij,i->ij", A, s), P)
    turned = graph.einsum("ij,i->ij", made, s)
    problem = Context(graph, UNLIKE, Rates([A, s]))
    assert share_products(problem, [made, scaled]) == [made, turned]
    assert share_products(problem, [scaled, made]) == [scaled, made]
    # Of two forms one alone is computed.
    forms = Context(graph, UNLIKE, Rates([A, s]), doubtful=2)
    assert share_products(forms, [made, scaled]) == [made, scaled]


def test_what_is_reused_stays_as_it_is() -> None:
    graph = Graph()
    A, B = graph.input("A", ["m", "n"]), graph.input("B", ["n", "p"])
    P = graph.input("P", ["n", "n"])
    left = graph.einsum("ij,jk->ik", A, P)
    right = graph.einsum("ij,jk->ik", P, B)
    roots = [graph.einsum("ij,jk->ik", left, B), graph.einsum("ij,jk->ik", A, right)]
    found = share_products(Context(graph, UNLIKE), roots)
    assert len({*found}) == 1
    assert len({left, right} & {*topological(found)}) == 1
    agree(roots, found)


@pytest.mark.parametrize("to", ["kij", "jik", "ikj"])
def test_a_transpose_of_a_pair_is_no_second_array(to: str) -> None:
    graph = Graph()
    A, B = graph.input("A", ["m", "n"]), graph.input("B", ["n", "p"])
    C = graph.einsum("ij,jk->ijk", A, B)
    own, turned = (graph.einsum("ijk,jk->" + x, C, B) for x in ("ijk", to))
    roots = [graph.map("exp", range(3), [(x, range(3))]) for x in (own, turned)]
    found = share_products(Context(graph, UNLIKE), roots)
    assert own in topological(found) and turned not in topological(found)
    agree(roots, found)
    spread = graph.einsum(f"ij,jk->{to}", A, B)
    both = [graph.map("exp", range(3), [(x, range(3))]) for x in (C, spread)]
    assert share_products(Context(graph, UNLIKE), both) == both
    # What is asked for is an array of its own, and so is what has a name.
    assert share_products(Context(graph, UNLIKE), [own, turned]) == [own, turned]
    graph.names[turned] = "turned"
    assert share_products(Context(graph, UNLIKE), roots) == roots


def test_what_stands_behind_its_user_is_reused_too() -> None:
    graph = Graph()
    A, B = graph.input("A", ["m", "n"]), graph.input("B", ["n", "p"])
    P, s = graph.input("P", ["n", "n"]), graph.input("s", ["m"])
    first = graph.einsum("ij,i->ij", A, s)
    chain = graph.einsum("ij,jk->ik", graph.einsum("ij,jk->ik", first, P), B)
    turned = graph.einsum("jk,ij->ki", P, A)
    other = graph.einsum("ki,kl->il", turned, B)
    found = share_products(Context(graph, UNLIKE), [chain, other])
    assert found[0] is graph.einsum("ij,i->ij", other, s)
    agree([chain, other], found)


@pytest.mark.parametrize(
    "expr",
    [
        "sum(W*(T - U @ V.T)**2)",
        "sum(W*(T - U @ V.T)*(T - U @ V.T))",
        "sum((T - U @ V.T)**2*W)",
    ],
)
def test_a_weighted_square_is_made_of_what_its_slope_needs(expr: str) -> None:
    source = tensorgen.generate(f"""
tensorgen: 1
inputs: {{U: [m, k], V: [n, k], T: [m, n], W: [m, n]}}
functions: {{f: {{expr: "{expr}", wrt: U, emit: [value, gradient]}}}}
""")
    both = source[source.index("def f_value_and_grad") :].partition("\ndef ")[0]
    assert "f = np.vdot(residual, W_residual)" in both
    assert "**2" not in both.partition("Raises")[2]
    alone = source[source.index("def f(") :].partition("\ndef ")[0]
    assert alone.count("np.vdot(") == 1


def centred(graph: Graph, to: tuple[int, ...]) -> Node:
    """`exp(A[i, j, k] - 2 * v[j])` with its axes in some order."""
    A, v = graph.input("A", ["m", "n", "p"]), graph.input("v", ["n"])
    root = graph.sum(to, [(1, A, (0, 1, 2)), (-2, v, (1,))])
    return graph.map("exp", range(3), [(root, range(3))])


@pytest.mark.parametrize("to", PERMUTATIONS)
def test_a_transpose_is_no_second_array(to: tuple[int, ...]) -> None:
    graph = Graph()
    first, second = centred(graph, (0, 2, 1)), centred(graph, to)
    # What is asked for is an array of its own.
    inner = first.operands[0]
    expected = [first, graph.map("exp", to, [(inner, (0, 2, 1))])]
    assert share_products(Context(graph), [first, second]) == expected
    roots = [graph.map("sin", range(3), [(x, range(3))]) for x in (first, second)]
    found = share_products(Context(graph), roots)
    assert found == [roots[0], graph.map("sin", to, [(first, (0, 2, 1))])]
    agree(roots, found)


def test_other_terms_or_axes_are_another_array() -> None:
    graph = Graph()
    A, v = graph.input("A", ["n", "n"]), graph.input("v", ["n"])
    roots = [
        graph.sum([0, 1], [(1, A, (0, 1)), (scale, v, (axis,))])
        for scale, axis in ((-1, 0), (1, 0), (-1, 1))
    ]
    assert share_products(Context(graph), roots) == roots
    assert len(topological(roots)) == 5
