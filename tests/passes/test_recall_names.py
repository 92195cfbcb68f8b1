"""What has the value of a derivative is called after it, whatever passes have made."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tensorgen
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, delta
from tensorgen.passes.context import Context
from tensorgen.passes.recall_names import recall_names
from tensorgen.passes.sampled_values import value_of

REGROUPED = """
tensorgen: 1
inputs: {z: [b, n], H: [b, n, d], u: [d], y: [b]}
functions:
  f:
    where: a = softmax(z, axis=1)
    expr: sum(log(1 + exp(-y[s]*sum(a[s, i]*H[s, i, e]*u[e], i, e))), s)
    wrt: z
"""
MOVED = """
tensorgen: 1
inputs: {x: {shape: [p, 3]}, c: {shape: [s], index: p}, seen: [s]}
functions:
  f:
    where: |
      at[i] = sqrt(1 + x[c[i], 0]**2 + x[c[i], 1]*x[c[i], 2])
      turned[i] = sin(at[i])*x[c[i], 0]
    expr: sum((turned - seen)**2)
    wrt: x
    emit: [hessian]
"""


def recalled(derived: Callable[[Graph, Node, Node], tuple[Node, Node]]) -> str | None:
    """What the second of two nodes of x and y is called, the first being `d_z`."""
    graph = Graph()
    x, y = (graph.input(name, ("n",)) for name in "xy")
    first, second = derived(graph, x, y)
    graph.suggest(first, "d_z")
    recall_names(Context(graph), [second])
    return graph.suggestions.get(second) or graph.derived.get(second)


def difference(g: Graph, x: Node, y: Node) -> Node:
    return g.sum((0,), [(1, x, (0,)), (-1, y, (0,))])


def product(g: Graph, *factors: Node) -> Node:
    return g.product((0,), [(x, (0,)) for x in factors])


def test_sums_and_products_are_found_again() -> None:
    def opened(g: Graph, x: Node, y: Node) -> tuple[Node, Node]:
        terms = [(1, product(g, x, x), (0,)), (-1, product(g, x, y), (0,))]
        return product(g, x, difference(g, x, y)), g.sum((0,), terms)

    assert recalled(opened) == "d_z"


def test_negatives_are_called_so() -> None:
    assert recalled(lambda g, x, y: (difference(g, x, y), difference(g, y, x))) == (
        "neg_d_z"
    )


@pytest.mark.parametrize("scalar", ["s", "n"])
@pytest.mark.parametrize(("power", "word"), [(2, "{}_d_z"), (0, "d_z_over_{}")])
def test_multiples_by_a_scalar_or_size_of_theirs_are_called_so(
    power: int, word: str, scalar: str
) -> None:
    def scaled(g: Graph, x: Node, y: Node) -> tuple[Node, Node]:
        s = (g.input("s", ()) if scalar == "s" else g.size(x.dims[0])), ()
        core = difference(g, x, y), (0,)
        return g.product((0,), [core, s]), g.product((0,), [core, *power * [s]])

    assert recalled(scaled) == word.format(scalar)


def test_what_stands_on_a_diagonal_is_called_as_the_whole() -> None:
    def diagonal(g: Graph, x: Node, y: Node) -> tuple[Node, Node]:
        sizes, tied = dict.fromkeys((0, 1), x.dims[0]), [delta({0: 1, 1: -1})]
        core = product(g, x, difference(g, x, y))
        terms = [(1, product(g, x, x), (0,)), (-1, product(g, x, y), (0,))]
        whole = g.product((0, 1), [(core, (0,))], constraints=tied, sizes=sizes)
        return whole, g.sum((0,), terms)

    assert recalled(diagonal) == "d_z"


@pytest.mark.parametrize("power", [2, -1])
def test_other_values_are_called_otherwise(power: int) -> None:
    def other(g: Graph, x: Node, y: Node) -> tuple[Node, Node]:
        raised = g.map("pow", (0,), [(x, (0,)), (g.constant(power), ())])
        return product(g, x, y), product(g, raised, y)

    assert recalled(other) is None


def test_functions_are_not_called_after_their_derivatives() -> None:
    graph = Graph()
    x, y = (graph.input(name, ("n",)) for name in "xy")
    node = difference(graph, x, y)
    graph.suggest(product(graph, difference(graph, x, y)), "d_z")
    graph.stated[node] = None
    recall_names(Context(graph), [node])
    assert node not in graph.derived


def test_what_has_no_value_is_like_nothing() -> None:
    graph = Graph()
    x = graph.input("x", ("n",))
    negative = graph.sum((0,), [(-1, x, (0,))])
    assert value_of(graph, graph.map("log", (0,), [(negative, (0,))])) is None


def test_cotangents_keep_their_names_when_products_are_grouped_anew() -> None:
    assert "d_a = " in tensorgen.generate(REGROUPED)


def test_jacobians_keep_their_names_where_only_blocks_are_computed() -> None:
    assert "jac_turned = " in tensorgen.generate(MOVED)


FORWARD = """
tensorgen: 1
inputs: {A: [k, k], B: [T, k]}
functions:
  f:
    where: |
      a[0] = B[0]
      a[t + 1, j] = logsumexp(A[i, j] + a[t, i], i) + B[t + 1, j]
    expr: logsumexp(a[-1])
    wrt: A
    emit: [gradient]
"""


def test_rows_of_steps_are_called_after_what_is_in_them() -> None:
    text = tensorgen.generate(FORWARD)
    assert "peak_A_plus_a[t] = peak_A_plus_a_t" in text
    assert "kept" not in text and "recurrence_B" not in text
