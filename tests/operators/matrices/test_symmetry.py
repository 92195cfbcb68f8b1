"""What is known to be symmetric, and that it is; parities of functions."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, delta, indicator
from tensorgen.operators.calls import apply
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.symmetry import Symmetry, is_even, is_symmetric
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import evaluate

N, M = Dim.of("n"), Dim.of("m")


class Case:
    """Arrays of which some are symmetric, some change their sign, some do neither."""

    def __init__(self) -> None:
        g = self.g = Graph()
        self.X = g.input("X", (N, M))
        self.Y = g.input("Y", (N, M))
        self.A = g.input("A", (N, N))
        self.v = g.input("v", (M,))
        self.x, self.y = g.input("x", (N,)), g.input("y", (N,))
        self.d = self.minus(self.X, "ikj", "ik", "jk")
        self.scaled = g.product("ikj", [(self.d, "ikj"), (self.v, "k")])
        self.D = g.product("ij", [(self.power(self.scaled, 2), "ikj")])
        self.gram = g.einsum("ki,kl,lj->ij", self.A, self.D, self.A)

    def minus(self, node: Node, out: str, first: str, second: str) -> Node:
        return self.g.sum(out, [(1, node, first), (-1, node, second)])

    def power(self, node: Node, exponent: int) -> Node:
        axes = range(node.order)
        return self.g.map("pow", axes, [(node, axes), (self.g.constant(exponent), ())])

    def along(self, operator: str, node: Node, axis: int) -> Node:
        return apply(self.g, operator, [node], axes=(axis,))

    def nodes(self) -> dict[str, tuple[Node, tuple[int, int], int | None]]:
        g, last = self.g, (0, 1)
        lower = g.product(
            "ij", [(self.D, "ij")], constraints=[indicator({"i": 1, "j": -1})]
        )
        diagonal = g.product(
            "ij", [(self.x, "i")], constraints=[delta({"i": 1, "j": -1})]
        )
        shifted = g.product(
            "ij", [(self.x, "i")], constraints=[delta({"i": 1, "j": -1}, 1)]
        )
        ab, ba = (
            g.einsum("i,j->ij", self.x, self.y),
            g.einsum("j,i->ij", self.x, self.y),
        )
        return {
            "two outer products": (g.add(ab, ba), last, 1),
            "their difference": (
                g.sum("ij", [(1, ab, "ij"), (-1, ba, "ij")]),
                last,
                -1,
            ),
            "twice one and the other": (g.add(g.scale(ab, 2), ba), last, None),
            "a difference": (self.d, (0, 2), -1),
            "a scaled difference": (self.scaled, (0, 2), -1),
            "its cube": (self.power(self.scaled, 3), (0, 2), -1),
            "its sine": (g.map("sin", "ijk", [(self.d, "ijk")]), (0, 2), -1),
            "its exponential": (g.map("exp", "ijk", [(self.d, "ijk")]), (0, 2), None),
            "squares": (self.D, last, 1),
            "a congruence": (self.gram, last, 1),
            "a congruence in two steps": (
                g.einsum("ik,jl,kp,lq,pq->ij", *[self.A] * 4, self.D),
                last,
                1,
            ),
            "an inverse": (g.call("inv", [self.gram], (N, N)), last, 1),
            "a diagonal": (diagonal, last, 1),
            "a diagonal beside it": (shifted, last, None),
            "a triangle": (lower, last, None),
            "an outer product": (g.einsum("i,j->ij", self.x, self.x), last, 1),
            "no product": (g.einsum("ik,kj->ij", self.A, self.D), last, None),
            "other axes": (self.d, (0, 1), None),
            "norms": (self.along("norm", self.d, 1), last, 1),
            "one over them": (self.along("rnorm", self.scaled, 1), last, 1),
            "directions": (self.along("unit", self.d, 1), (0, 2), -1),
            "largest entries": (self.along("max", self.power(self.d, 2), 1), last, 1),
            "largest of differences": (self.along("max", self.d, 1), last, None),
            "rows that add up to one": (self.along("softmax", self.D, 1), last, None),
            "distances": (g.call("distances", [self.X, self.X], (N, N)), last, 1),
            "distances of two": (
                g.call("distances", [self.X, self.Y], (N, N)),
                last,
                None,
            ),
        }


@pytest.mark.parametrize("name", Case().nodes())
def test_a_parity_is_found_and_holds(name: str) -> None:
    case = Case()
    node, swap, expected = case.nodes()[name]
    assert Symmetry(promised=False).parity(node, swap) == expected
    if expected is None:
        return
    rng = np.random.default_rng(0)
    shapes = {"X": (3, 2), "Y": (3, 2), "A": (3, 3), "v": (2,), "x": (3,), "y": (3,)}
    arguments = {k: rng.normal(size=shape) for k, shape in shapes.items()}
    (value,) = evaluate([node], arguments, FUNCTIONS, OPERATORS)
    np.testing.assert_allclose(value.swapaxes(*swap), expected * value, rtol=1e-9)


def test_promises_count_only_where_they_may() -> None:
    graph = Graph()
    s = graph.input("s", (N, N), ["symmetric"])
    for node in (s, graph.map("exp", "ij", [(s, "ij")]), graph.scale(s, 2)):
        assert Symmetry(promised=True).parity(node, (0, 1)) == 1
        assert is_symmetric(node)
        assert not is_even(node)
    assert not is_symmetric(graph.input("a", (N, N)))


def test_a_promise_of_several_axes_counts_for_each_two_of_them() -> None:
    graph = Graph()
    t = graph.input("t", (N, M, N, N), ["symmetric 0 2 3"])
    known = Symmetry(promised=True)
    assert known.parity(t, (0, 2)) == known.parity(t, (3, 0)) == 1
    assert known.parity(t, (0, 1)) is None
    assert Symmetry(promised=False).parity(t, (0, 2)) is None
    x = graph.input("x", (N,))
    assert known.parity(graph.einsum("icjk,k->icj", t, x), (0, 2)) == 1


def test_two_pairs_of_axes_may_be_exchanged_together() -> None:
    graph = Graph()
    c = graph.input("c", (N, N, M, M), ["symmetric", "symmetric 0 1"])
    s = graph.input("s", (M, M))
    # Sums over both axes of s, which is not symmetric.
    assert is_symmetric(graph.einsum("ijab,ab->ij", c, s))
    squared = graph.einsum("ikab,jkcd,ac,bd->ij", c, c, s, s)
    assert not is_symmetric(squared)
    assert is_symmetric(graph.einsum("ikab,jkab->ij", c, c))
    e = graph.input("e", (N, M))
    assert is_symmetric(graph.einsum("ijab,ia,jb->ij", c, e, e))


def test_axes_of_different_dims_are_not_exchanged() -> None:
    graph = Graph()
    s = graph.input("s", ())
    for dims, parity in (((N, N), 1), ((M, N), None)):
        same = graph.product("ij", [(s, "")], sizes=dict(zip("ij", dims, strict=True)))
        assert Symmetry(promised=True).parity(same, (0, 1)) == parity


def test_a_long_way_down_nothing_is_known() -> None:
    graph = Graph()
    node = graph.input("s", (N, N), ["symmetric"])
    for _ in range(3000):
        node = graph.call("expm", [node], (N, N))
    assert not is_symmetric(node)


@pytest.mark.parametrize(
    "name", [n for n, row in ELEMENTWISE.items() if len(row.partials) == 1]
)
def test_parities_of_functions_are_what_their_values_say(name: str) -> None:
    x = np.array([0.3, 0.7])
    with np.errstate(all="ignore"):
        there, back = (np.asarray(FUNCTIONS[name](t), float) for t in (x, -x))
    even = np.allclose(back, there, rtol=1e-12, atol=0)
    odd = np.allclose(back, -there, rtol=1e-12, atol=0)
    if name != "logical_not":  # which takes conditions
        row = ELEMENTWISE[name]
        assert (even, odd) == (row.has("even"), row.has("odd"))
