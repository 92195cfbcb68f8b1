"""Theorems 5 to 10 of Laue et al. (2020), one by one, in index notation.

Each test writes the theorem's right side as an einsum over its index sets and holds
the calculus against it. Index sets: s1, s2, s3 of the product's arguments and result,
s4 of the variable (forward) or the output (reverse).
"""

import numpy as np
import pytest

from tensorgen.calculus.forward import pushforward
from tensorgen.calculus.reverse import pullback
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.operators.calls import apply
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.stable import StableForms
from tensorgen.verify.interpret import evaluate

SIZES = {"i": 2, "j": 3, "k": 4, "l": 2, "u": 3, "v": 2}
# s1, s2, s3: inner, outer, elementwise, mixed, reduced and diagonal products.
PRODUCTS = [
    ("ij", "jk", "ik"),
    ("i", "j", "ij"),
    ("ij", "ij", "ij"),
    ("ijk", "jl", "ijl"),
    ("ij", "j", "ij"),
    ("ij", "ij", ""),
    ("ij", "jk", "k"),
    ("ii", "ij", "j"),
]
S4 = "uv"


def tensor(graph: Graph, name: str, indices: str) -> Node:
    return graph.input(name, [Dim.of(SIZES[i]) for i in indices])


def values(
    graph: Graph, nodes: list[Node], **arguments: np.ndarray
) -> list[np.ndarray]:
    return evaluate(nodes, arguments, FUNCTIONS, OPERATORS)


def random(indices: str, seed: int) -> np.ndarray:
    shape = [SIZES[i] for i in indices]
    return np.random.default_rng(seed).uniform(0.5, 2, shape)


def dims(indices: str) -> tuple[Dim, ...]:
    return tuple(Dim.of(SIZES[i]) for i in indices)


@pytest.mark.parametrize(("s1", "s2", "s3"), PRODUCTS)
def test_theorem_5_the_pushforward_of_a_product(s1: str, s2: str, s3: str) -> None:
    graph = Graph()
    a, b = tensor(graph, "A", s1), tensor(graph, "B", s2)
    da, db = tensor(graph, "dA", s1 + S4), tensor(graph, "dB", s2 + S4)
    c = graph.einsum(f"{s1},{s2}->{s3}", a, b)
    (dc,) = pushforward(graph, [c], {a: da, b: db}, dims(S4))
    x = {n: random(s, k) for k, (n, s) in enumerate([("A", s1), ("B", s2)])}
    dx = {n: random(s + S4, k + 9) for k, (n, s) in enumerate([("dA", s1), ("dB", s2)])}
    expected = np.einsum(f"{s2},{s1}{S4}->{s3}{S4}", x["B"], dx["dA"]) + np.einsum(
        f"{s1},{s2}{S4}->{s3}{S4}", x["A"], dx["dB"]
    )
    (got,) = values(graph, [dc], **x, **dx)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize(("s1", "s2", "s3"), PRODUCTS)
def test_theorem_8_the_contribution_of_a_product(s1: str, s2: str, s3: str) -> None:
    graph = Graph()
    a, b = tensor(graph, "A", s1), tensor(graph, "B", s2)
    cbar = tensor(graph, "C_bar", S4 + s3)
    c = graph.einsum(f"{s1},{s2}->{s3}", a, b)
    got_a, got_b = pullback(graph, {c: cbar}, [a, b], dims(S4))
    x = {"A": random(s1, 0), "B": random(s2, 1), "C_bar": random(S4 + s3, 2)}
    bar_a, bar_b = values(graph, [got_a, got_b], **x)
    np.testing.assert_allclose(bar_b, _bar(s1, s2, s3, x["C_bar"], x["A"]), rtol=1e-13)
    np.testing.assert_allclose(bar_a, _bar(s2, s1, s3, x["C_bar"], x["B"]), rtol=1e-13)


def _bar(other: str, mine: str, s3: str, cbar: np.ndarray, x: np.ndarray) -> np.ndarray:
    """C_bar *(s4 s3, other, s4 mine) x, with labels of `mine` alone broadcast."""
    alone = "".join(sorted(set(mine) - set(other) - set(s3)))
    ones = np.ones([SIZES[i] for i in alone])
    plain = "".join(dict.fromkeys(mine))
    dense: np.ndarray = np.einsum(
        f"{S4}{s3},{other},{alone}->{S4}{plain}", cbar, x, ones
    )
    if plain == mine:
        return dense
    result = np.zeros([SIZES[i] for i in S4 + mine])
    np.einsum(f"{S4}{mine}->{S4}{plain}", result)[...] = dense
    return result


def _inverse(graph: Graph, a: Node) -> tuple[Node, np.ndarray]:
    x = random("jj", 5) + 3 * np.eye(3)
    inverse = np.linalg.inv(x)
    # f'(A) over s2 s1: d inv(A)[m, n] / d A[p, q] = -inv(A)[m, p] inv(A)[q, n].
    slope = -np.einsum("mp,qn->mnpq", inverse, inverse)
    return apply(graph, "inv", [a]), slope


def test_theorem_6_the_pushforward_of_a_general_function() -> None:
    graph = Graph()
    a, da = tensor(graph, "A", "jj"), tensor(graph, "dA", "jj" + S4)
    c, slope = _inverse(graph, a)
    (dc,) = pushforward(graph, [c], {a: da}, dims(S4))
    x, dx = random("jj", 5) + 3 * np.eye(3), random("jj" + S4, 6)
    (got,) = values(graph, [dc], A=x, dA=dx)
    np.testing.assert_allclose(got, np.einsum("mnpq,pquv->mnuv", slope, dx), rtol=1e-12)


def test_theorem_9_the_contribution_of_a_general_function() -> None:
    graph = Graph()
    a, cbar = tensor(graph, "A", "jj"), tensor(graph, "C_bar", S4 + "jj")
    c, slope = _inverse(graph, a)
    (bar,) = pullback(graph, {c: cbar}, [a], dims(S4))
    x, y = random("jj", 5) + 3 * np.eye(3), random(S4 + "jj", 6)
    (got,) = values(graph, [bar], A=x, C_bar=y)
    np.testing.assert_allclose(got, np.einsum("uvmn,mnpq->uvpq", y, slope), rtol=1e-12)


@pytest.mark.parametrize("s1", ["", "i", "ij"])
def test_theorem_7_the_pushforward_of_an_elementwise_function(s1: str) -> None:
    graph = Graph()
    a, da = tensor(graph, "A", s1), tensor(graph, "dA", s1 + S4)
    c = graph.map("sin", range(len(s1)), [(a, range(len(s1)))])
    (dc,) = pushforward(graph, [c], {a: da}, dims(S4))
    x, dx = random(s1, 1), random(s1 + S4, 2)
    (got,) = values(graph, [dc], A=x, dA=dx)
    expected = np.einsum(f"{s1},{s1}{S4}->{s1}{S4}", np.cos(x), dx)
    np.testing.assert_allclose(got, expected, rtol=1e-13)


@pytest.mark.parametrize("s1", ["", "i", "ij"])
def test_theorem_10_the_contribution_of_an_elementwise_function(s1: str) -> None:
    graph = Graph()
    a, cbar = tensor(graph, "A", s1), tensor(graph, "C_bar", S4 + s1)
    c = graph.map("sin", range(len(s1)), [(a, range(len(s1)))])
    (bar,) = pullback(graph, {c: cbar}, [a], dims(S4))
    x, y = random(s1, 1), random(S4 + s1, 2)
    (got,) = values(graph, [bar], A=x, C_bar=y)
    expected = np.einsum(f"{S4}{s1},{s1}->{S4}{s1}", y, np.cos(x))
    np.testing.assert_allclose(got, expected, rtol=1e-13)


def test_contributions_of_several_consumers_add_up() -> None:
    graph = Graph(StableForms())
    x = tensor(graph, "x", "i")
    square = graph.map("pow", "i", [(x, "i"), (graph.constant(2), "")])
    f = graph.sum("i", [(1, square, "i"), (3, x, "i")])
    total = graph.einsum("i->", f)
    (bar,) = pullback(graph, {total: graph.constant(1)}, [x], ())
    point = random("i", 3)
    np.testing.assert_allclose(values(graph, [bar], x=point)[0], 2 * point + 3)


def test_an_input_that_nothing_depends_on_has_a_zero_derivative() -> None:
    graph = Graph()
    x, y = tensor(graph, "x", "i"), tensor(graph, "y", "j")
    f = graph.einsum("i->", x)
    (bar,) = pullback(graph, {f: graph.constant(1)}, [y], ())
    assert bar is graph.zeros(y.dims)
    (tangent,) = pushforward(graph, [f], {y: graph.unit(y.dims)}, y.dims)
    assert tangent is graph.zeros(y.dims)


@pytest.mark.parametrize("varying", [0, 1, 2])
def test_a_call_carries_the_tangents_of_what_varies_and_no_others(
    varying: int,
) -> None:
    # Three vectors under one triangle of exponentials; one varies at a time.
    graph = Graph()
    names = ("a", "b", "c")
    args = [tensor(graph, name, "j") for name in names]
    share = apply(graph, "running_share", args, along=(0,))
    direction = tensor(graph, "d", "j")
    (tangent,) = pushforward(graph, [share], {args[varying]: direction}, ())
    at = {name: random("j", k) for k, name in enumerate((*names, "d"))}
    (got,) = values(graph, [tangent], **at)
    step = 1e-6
    ends = [
        OPERATORS["running_share"](
            *(
                at[name] + sign * step * at["d"] * (k == varying)
                for k, name in enumerate(names)
            ),
            along=(0,),
        )
        for sign in (1, -1)
    ]
    np.testing.assert_allclose(got, (ends[0] - ends[1]) / (2 * step), rtol=1e-7)


def test_a_cotangent_of_one_output_is_called_after_what_it_belongs_to() -> None:
    graph = Graph()
    x = tensor(graph, "x", "i")
    h = graph.name(graph.map("sin", "i", [(x, "i")]), "h")
    f = graph.map("exp", "i", [(h, "i")])
    # The rows of a Jacobian are of several outputs: nothing is d_h there.
    pullback(graph, {f: graph.unit(f.dims)}, [x], f.dims)
    assert not graph.suggestions
    pullback(graph, {f: tensor(graph, "ct", "i")}, [x], ())
    assert [*graph.suggestions.values()] == ["d_h"]


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_the_second_derivative_of_a_product_divides_by_no_entry(
    axes: tuple[int, ...],
) -> None:
    # Linear in each entry, so differences of steps of one are exact, at zeros too.
    graph = Graph(StableForms())
    x = tensor(graph, "x", "ij")
    at = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, -1.0]])
    others = apply(graph, "prod_others", [x], axes=axes)
    unit = graph.unit(x.dims)
    (node,) = pushforward(graph, [others], {x: unit}, x.dims)
    (got,) = values(graph, [node], x=at)
    reference = OPERATORS["prod_others"]
    for place in np.ndindex(at.shape):
        ahead = at.copy()
        ahead[place] += 1
        step = reference(ahead, axes=axes) - reference(at, axes=axes)
        np.testing.assert_array_equal(got[..., place[0], place[1]], step)
