"""Terms that are pairs with one operand are one pair."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import tensorgen
from tensorgen.calculus.requests import MODES
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, topological
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.passes.context import Context
from tensorgen.passes.cost import CostModel
from tensorgen.passes.order.factor_sums import factor_sum
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.passes.sharing.factor_pairs import factor_pairs
from tensorgen.verify.interpret import evaluate

Pairs = tuple[Graph, Node, list[Node]]


def pairs() -> Pairs:
    """Matrices, and a matrix that both are multiplied by."""
    graph = Graph()
    P = graph.input("P", ["n", "p"])
    return graph, P, [graph.input(name, ["n", "m"]) for name in "VW"]


def difference(graph: Graph, first: Node, second: Node) -> Node:
    axes = range(first.order)
    return graph.sum(axes, [(8, first, axes), (-2, second, axes)])


def contractions(roots: list[Node]) -> int:
    nodes = topological(roots)
    return sum(isinstance(node, Product) and bool(node.inner) for node in nodes)


def test_terms_that_share_an_operand_are_multiplied_once() -> None:
    graph, P, factors = pairs()
    terms = [graph.einsum("ki,kj->ij", W, P) for W in factors]
    root = difference(graph, *terms)
    found = factor_pairs(Context(graph), [root])
    assert (contractions([root]), contractions(found)) == (2, 1)
    rng = np.random.default_rng(0)
    shapes = {"P": (3, 4), "V": (3, 2), "W": (3, 2)}
    arguments = {name: rng.random(shape) for name, shape in shapes.items()}
    (before,) = evaluate([root], arguments, FUNCTIONS, OPERATORS)
    (after,) = evaluate(found, arguments, FUNCTIONS, OPERATORS)
    np.testing.assert_allclose(after, before, rtol=1e-13)
    # What something else needs, or a name stands for, is computed anyway.
    assert factor_pairs(Context(graph), [root, *terms]) == [root, *terms]
    for term in terms:
        graph.names[term] = "named"
    assert factor_pairs(Context(graph), [root]) == [root]


def test_what_terms_share_is_found_however_deep_it_is() -> None:
    graph, P, factors = pairs()
    Q, s = graph.input("Q", ["p", "q"]), graph.input("s", ["m"])
    terms = []
    for W in factors:
        inner = graph.einsum("ki,kj->ij", graph.einsum("ki,i->ki", W, s), P)
        terms.append(graph.einsum("ij,jk->ki", inner, Q))
    root = difference(graph, *terms)
    found = factor_pairs(Context(graph), [root])
    assert (contractions([root]), contractions(found)) == (4, 2)


def test_a_product_with_a_difference_is_not_multiplied_out() -> None:
    graph = Graph()
    X, w = graph.input("X", ["m", "n"]), graph.input("w", ["n"])
    y = graph.input("y", ["m"])
    residual = difference(graph, graph.einsum("ij,j->i", X, w), y)
    root = graph.einsum("ij,i->j", X, residual)
    assert factor_pairs(Context(graph), [root]) == [root]


def test_a_difference_of_products_is_taken_of_what_they_multiply() -> None:
    graph = Graph()
    A = graph.input("A", ["m", "n"])
    x, y = (graph.input(name, ["n"]) for name in "xy")
    terms = [graph.einsum("ij,j->i", A, v) for v in (x, y)]
    root = graph.sum([0], [(1, terms[0], (0,)), (-1, terms[1], (0,))])
    apart = graph.sum([0], [(1, x, (0,)), (-1, y, (0,))])
    assert factor_pairs(Context(graph), [root]) == [graph.einsum("ij,j->i", A, apart)]


def test_single_entries_are_multiplied_by_no_others_than_before() -> None:
    graph = Graph()
    p, x, q, y = (graph.input(name, ["n"]) for name in "pxqy")
    first = graph.einsum("i,i->i", graph.einsum("i,i->i", p, x), q)
    root = difference(graph, first, graph.einsum("i,i->i", p, y))
    assert factor_pairs(Context(graph), [root]) == [root]


SPELLINGS = """
tensorgen: 1
inputs: {S: [n, n], a: [n], b: [n], u: [T, n]}
functions:
  f:
    expr: sum(tanh(%s))
    wrt: a
    emit: [value, gradient, hvp]
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("apart", "once"),
    [
        ("2*S@sin(a) + S@(a*b)", "S@(2*sin(a) + a*b)"),
        ("sin(a)@S - 3*(a*b)@S", "(sin(a) - 3*a*b)@S"),
        ("sin(a)@S.T + S@(a*b)", "S@(sin(a) + a*b)"),
    ],
)
def test_sums_over_one_map_are_mapped_once_in_every_mode(
    apart: str, once: str, mode: str
) -> None:
    counts = []
    for expr in (apart, once):
        module = tensorgen.load(SPELLINGS % expr, mode=mode)
        functions = [getattr(module, name) for name in ("f", "f_grad", "f_hvp")]
        texts = [inspect.getsource(f).replace(f.__doc__, "") for f in functions]
        counts.append([text.count("S @ ") + text.count("S.T @ ") for text in texts])
    assert counts[0] == counts[1]


def test_terms_are_factored_whose_rests_have_equal_axes() -> None:
    """The sum of all rests would be a matrix, where those of two are a vector."""
    graph, n = Graph(), range(1)
    E = graph.input("E", ["n", "n"])
    a, b, c, d = (graph.input(name, ["n"]) for name in "abcd")
    terms = [
        graph.einsum("ij,j->i", E, a),
        graph.einsum("i,ij,j->i", c, E, d),
        graph.einsum("ij,j->i", E, b),
    ]
    root = graph.sum(
        n, [(k, term, n) for k, term in zip((1, 1, -2), terms, strict=True)]
    )
    found = factor_sum(graph, root, CostModel({}), lambda node: True)
    (ordered,) = order_contractions(graph, [found], CostModel({}))
    assert contractions([root]) == 3
    assert contractions([ordered]) == 2


CHAIN = """
tensorgen: 1
inputs: {U: [T, K], S: [K, K]}
functions:
  f:
    where: |
      alpha[0, j] = U[0, j]
      alpha[t + 1, j] = logsumexp(alpha[t, i] + S[i, j], i) + U[t + 1, j]
    expr: logsumexp(alpha[T - 1, j], j)
    wrt: U
    emit: [hvp]
"""


def test_a_step_multiplies_vectors_however_deep_a_difference_stands() -> None:
    """`E @ (c[:, None] * (a - m))` moves into the difference, which is spread out."""
    module = tensorgen.load(CHAIN)
    text = inspect.getsource(module.f_hvp)
    sweep = text[text.rindex("for t in reversed") :]
    assert "[:, None]" not in sweep.replace("alpha[t][:, None]", "")
    assert ".sum(" not in sweep
    rng = np.random.default_rng(0)
    U, dU, S = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
    step = 1e-5
    gradient = tensorgen.load(CHAIN.replace("hvp", "gradient")).f_grad
    up, down = (gradient(U=U + h * dU, S=S) for h in (step, -step))
    np.testing.assert_allclose(
        module.f_hvp(U=U, S=S, dU=dU), (up - down) / (2 * step), atol=1e-8
    )


def test_what_multiplies_one_other_entry_in_each_term_multiplies_their_sum() -> None:
    graph = Graph()
    p, x, y = (graph.input(name, ["n"]) for name in "pxy")
    terms = [graph.einsum("i,i->i", p, v) for v in (x, y)]
    root = difference(graph, *terms)
    apart = difference(graph, x, y)
    assert factor_pairs(Context(graph), [root]) == [graph.einsum("i,i->i", p, apart)]
