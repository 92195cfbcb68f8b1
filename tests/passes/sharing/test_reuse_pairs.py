"""Products of three start with a pair that is made already."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.rates import Rates
from tensorgen.passes.sharing.reuse_pairs import reuse_pairs
from tensorgen.verify.interpret import evaluate

SIZES = CostModel({"m": 30, "n": 40, "p": 50})


def agree(roots: list[Node], others: list[Node]) -> None:
    shapes = {"A": (3, 4), "B": (4, 5), "P": (4, 4), "c": (5,), "s": (3,), "v": (4,)}
    rng = np.random.default_rng(0)
    arguments = {name: rng.random(shape) for name, shape in shapes.items()}
    before = evaluate(roots, arguments, FUNCTIONS, OPERATORS)
    after = evaluate(others, arguments, FUNCTIONS, OPERATORS)
    for got, expected in zip(after, before, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_what_scales_a_product_that_is_made_waits_for_it() -> None:
    graph = Graph()
    A, B = graph.input("A", ["m", "n"]), graph.input("B", ["n", "p"])
    c = graph.input("c", ["p"])
    made = graph.product("ki", [(A, "ij"), (B, "jk")], coefficient=2)
    scaled = graph.einsum("jk,k->kj", B, c)
    whole = graph.einsum("ij,kj->ik", A, scaled)
    found = reuse_pairs(Context(graph, SIZES), [made, whole])
    assert scaled not in topological(found)
    agree([made, whole], found)
    assert reuse_pairs(Context(graph, SIZES), [whole]) == [whole]
    graph.names[scaled] = "scaled"
    assert reuse_pairs(Context(graph, SIZES), [made, whole]) == [made, whole]


def test_a_chain_is_reused_from_its_beginning_to_its_end() -> None:
    graph = Graph()
    A, P = graph.input("A", ["m", "n"]), graph.input("P", ["n", "n"])
    s = graph.input("s", ["m"])
    roots = []
    for first in (A, graph.einsum("ij,i->ij", A, s)):
        second = graph.einsum("ij,jk->ik", first, P)
        roots.append(graph.einsum("ij,jk->ik", second, P))
    found = reuse_pairs(Context(graph, SIZES), roots)
    assert found[1] is graph.einsum("ij,i->ij", roots[0], s)
    agree(roots, found)


def test_no_more_is_read_than_before() -> None:
    graph = Graph()
    A, P = graph.input("A", ["m", "n"]), graph.input("P", ["n", "n"])
    v = graph.input("v", ["n"])
    spread = graph.einsum("jk,ij->ijk", P, A)  # a matrix for each i
    whole = graph.einsum("jk,ij->ik", P, graph.einsum("ij,j->ij", A, v))
    assert reuse_pairs(Context(graph, SIZES), [spread, whole]) == [spread, whole]


def test_sizes_without_hints_may_be_any() -> None:
    graph = Graph()
    V, x = graph.input("V", ["n", "r"]), graph.input("x", ["n"])
    gram = graph.einsum("ik,jk->ij", V, V)
    product = graph.einsum("ik,k->i", V, graph.einsum("jk,j->k", V, x))
    roots = [gram, product]
    assert reuse_pairs(Context(graph), roots) == roots  # n may be far more than r
    wide = Context(graph, CostModel({"n": 10, "r": 1000}))
    assert reuse_pairs(wide, roots) == [gram, graph.einsum("ij,j->i", gram, x)]


def test_a_method_of_a_problem_reuses_what_those_before_it_make() -> None:
    graph = Graph()
    A, P = graph.input("A", ["m", "n"]), graph.input("P", ["n", "n"])
    s = graph.input("s", ["m"])
    made = graph.einsum("ij,jk->ik", A, P)
    scaled = graph.einsum("ij,jk->ik", graph.einsum("ij,i->ij", A, s), P)
    turned = graph.einsum("ij,i->ij", made, s)
    problem = Context(graph, SIZES, Rates([A, s]))
    assert reuse_pairs(problem, [made, scaled]) == [made, turned]
    assert reuse_pairs(problem, [scaled, made]) == [scaled, made]
    # Of two forms one alone is computed.
    forms = Context(graph, SIZES, Rates([A, s]), doubtful=2)
    assert reuse_pairs(forms, [made, scaled]) == [made, scaled]


def test_what_is_reused_stays_as_it_is() -> None:
    graph = Graph()
    A, B = graph.input("A", ["m", "n"]), graph.input("B", ["n", "p"])
    P = graph.input("P", ["n", "n"])
    left = graph.einsum("ij,jk->ik", A, P)
    right = graph.einsum("ij,jk->ik", P, B)
    roots = [graph.einsum("ij,jk->ik", left, B), graph.einsum("ij,jk->ik", A, right)]
    found = reuse_pairs(Context(graph, SIZES), roots)
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
    found = reuse_pairs(Context(graph, SIZES), roots)
    assert own in topological(found) and turned not in topological(found)
    agree(roots, found)
    spread = graph.einsum(f"ij,jk->{to}", A, B)
    both = [graph.map("exp", range(3), [(x, range(3))]) for x in (C, spread)]
    assert reuse_pairs(Context(graph, SIZES), both) == both
    # What is asked for is an array of its own, and so is what has a name.
    assert reuse_pairs(Context(graph, SIZES), [own, turned]) == [own, turned]
    graph.names[turned] = "turned"
    assert reuse_pairs(Context(graph, SIZES), roots) == roots


def test_what_stands_behind_its_user_is_reused_too() -> None:
    graph = Graph()
    A, B = graph.input("A", ["m", "n"]), graph.input("B", ["n", "p"])
    P, s = graph.input("P", ["n", "n"]), graph.input("s", ["m"])
    first = graph.einsum("ij,i->ij", A, s)
    chain = graph.einsum("ij,jk->ik", graph.einsum("ij,jk->ik", first, P), B)
    turned = graph.einsum("jk,ij->ki", P, A)
    other = graph.einsum("ki,kl->il", turned, B)
    found = reuse_pairs(Context(graph, SIZES), [chain, other])
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
    assert "f = np.vdot(T_minus_U_Vt, weighted_W)" in both
    assert "**2" not in both.partition("Raises")[2]
    alone = source[source.index("def f(") :].partition("\ndef ")[0]
    assert alone.count("np.vdot(") == 1
