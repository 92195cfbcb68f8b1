"""The normal form of products keeps their values, whatever deltas they carry."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Kind, Lookup, Node, Product, delta, indicator, is_zero
from tests.ir.literal import Literal, integers, value
from tests.lang import speak
from tests.lang.speak import HEAD, program

n, m = Dim.of("n"), Dim.of("m")
DIMS = (n, m, Dim.of(1), n - 1, n + m - 1)
LABELS = ("a", "b", "c", "d", "e")

KINDS: tuple[Kind, ...] = ("eq", "eq", "ge")
forms = st.tuples(
    st.sampled_from(KINDS),
    st.dictionaries(
        st.sampled_from(LABELS), st.sampled_from((1, 1, -1, -1, 2, -2)), max_size=3
    ),
    st.sampled_from((0, 0, 0, 1, -1, 2, -3)),
)


@st.composite
def literals(draw: st.DrawFn, prefix: str, *inner: Literal) -> Literal:
    """Draw a product of inputs and of the products `inner`, where labels fit."""
    # Few labels with equal dims more often than not, or nothing would ever fit.
    sizes = {label: draw(st.sampled_from((n, n, *DIMS))) for label in LABELS}
    factors: list[tuple[str, tuple[str, ...]]] = []
    for k, literal in enumerate(inner):
        dims = [literal.sizes[label] for label in literal.out]
        fitting = [[x for x in LABELS if sizes[x] == dim] for dim in dims]
        if all(fitting):
            labels = tuple(draw(st.sampled_from(f)) for f in fitting)
            factors.append((f"inner{k}", labels))
    for k in range(draw(st.integers(0, 2))):
        labels = tuple(draw(st.lists(st.sampled_from(LABELS), max_size=3)))
        factors.append((f"{prefix}{k}", labels))
    return Literal(
        tuple(draw(st.lists(st.sampled_from(LABELS), max_size=3, unique=True))),
        tuple(factors),
        tuple(draw(st.lists(forms, max_size=3))),
        sizes,
        Fraction(draw(st.sampled_from((1, 1, -2, 3)))),
    )


class World:
    """A graph with inputs, and what they are."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.nodes: dict[str, Node] = {}
        self.arrays: dict[str, Any] = {}

    def add_inputs(self, literal: Literal) -> None:
        """Make the inputs that a literal mentions."""
        for name, labels in literal.factors:
            if name not in self.nodes:
                dims = [literal.sizes[label] for label in labels]
                self.nodes[name] = self.graph.input(name, dims)
                self.arrays[name] = integers(dims, len(self.nodes))

    def add_product(self, name: str, literal: Literal) -> Node:
        """Build a literal and check the node against it, entry by entry."""
        self.add_inputs(literal)
        node = literal.build(self.graph, self.nodes)
        self.nodes[name] = node
        self.arrays[name] = literal.value(self.arrays)
        np.testing.assert_array_equal(value(node, self.arrays), self.arrays[name])
        return node


@given(literals("x"))
@settings(max_examples=200)
def test_a_product_is_what_it_says_entry_by_entry(literal: Literal) -> None:
    World().add_product("inner0", literal)


@given(st.data())
@settings(max_examples=200)
def test_a_product_of_products_is_what_it_says(data: st.DataObject) -> None:
    world = World()
    first = data.draw(literals("x"))
    world.add_product("inner0", first)
    second = data.draw(literals("y"))
    world.add_product("inner1", second)
    third = data.draw(literals("z", first, second))
    world.add_product("outer", third)


def inputs(graph: Graph, **dims: tuple[Dim | int, ...]) -> list[Node]:
    return [graph.input(name, shape) for name, shape in dims.items()]


def test_a_unit_matrix_in_a_product_vanishes() -> None:
    graph = Graph()
    (a,) = inputs(graph, A=(n, m))
    assert graph.einsum("ij,jk->ik", graph.unit((n,)), a) is a


def test_a_transpose_of_a_transpose_is_the_matrix_itself() -> None:
    graph = Graph()
    (a,) = inputs(graph, A=(n, m))
    assert graph.permute(graph.permute(a, (1, 0)), (1, 0)) is a


def test_a_contraction_sees_through_a_slice_and_a_scale() -> None:
    graph = Graph()
    x, y = inputs(graph, x=(n,), y=(n - 1,))
    tail = graph.product(
        ["i"],
        [(x, "p")],
        constraints=[delta({"p": 1, "i": -1}, -1)],
        sizes={"i": n - 1},
    )
    dot = graph.einsum("i,i->", graph.scale(tail, 2), y)
    assert isinstance(dot, Product)
    assert dot.coefficient == 2
    assert {ref.node for ref in dot.factors} == {x, y}


def test_a_slice_of_a_slice_is_one_slice() -> None:
    graph = Graph()
    (x,) = inputs(graph, x=(n,))

    def tail(node: Node, start: int) -> Node:
        return graph.product(
            ["i"],
            [(node, "p")],
            constraints=[delta({"p": 1, "i": -1}, -start)],
            sizes={"i": node.dims[0] - start},
        )

    assert tail(tail(x, 1), 2) is tail(x, 3)


def test_a_block_of_a_block_is_one_block() -> None:
    graph = Graph()
    (a,) = inputs(graph, A=(n + 1, n + 1))

    def block(node: Node, row: int, column: int) -> Node:
        return graph.product(
            ["i", "j"],
            [(node, "pq")],
            constraints=[
                delta({"p": 1, "i": -1}, -row),
                delta({"q": 1, "j": -1}, -column),
            ],
            sizes={"i": node.dims[0] - row, "j": node.dims[1] - column},
        )

    both = block(block(a, 1, 1), 1, 2)
    assert both is block(a, 2, 3)
    matrix = np.arange(16.0).reshape(4, 4)
    np.testing.assert_array_equal(value(both, {"A": matrix}), matrix[2:, 3:])


def test_an_indicator_that_the_ranges_imply_vanishes() -> None:
    graph = Graph()
    (x,) = inputs(graph, x=(n,))
    bound = indicator({"i": -1}, n - 1)
    assert graph.product("i", [(x, "i")], constraints=[bound]) is x


def test_an_indicator_that_a_delta_through_an_index_array_implies_vanishes() -> None:
    # x[p] with p = row[e] - 1 is read where row[e] is 1 or more, and nowhere else.
    graph = Graph()
    x, row = graph.input("x", (n,)), graph.input("row", (m,), index=n + 1)
    entry = Lookup(row, (0,))
    before = delta({"p": 1, entry: -1}, 1)
    read = graph.product([0], [(x, ["p"])], constraints=[before])
    positive = indicator({entry: 1}, -1)
    assert graph.product([0], [(x, ["p"])], constraints=[before, positive]) is read
    arguments: Mapping[str, Any] = {"x": [5, 6, 7], "row": [0, 3]}
    np.testing.assert_array_equal(value(read, arguments), [0, 7])


def test_a_delta_that_fixes_a_multiple_of_a_label_implies_nothing_of_it() -> None:
    # i == 2 * p, and p >= i: so i is 0.
    graph = Graph()
    (x,) = inputs(graph, x=(n,))
    half, least = delta({"p": 2, "i": -1}), indicator({"p": 1, "i": -1})
    node = graph.product("", [(x, "i")], constraints=[half, least], sizes={"p": n})
    np.testing.assert_array_equal(value(node, {"x": [5, 6, 7]}), 5)


def test_what_stands_beside_a_delta_is_one_factor() -> None:
    graph = Graph()
    x, y = inputs(graph, x=(n,), y=(n,))
    diagonal = delta({"i": 1, "j": -1})
    node = graph.product("ij", [(x, "i"), (y, "i")], constraints=[diagonal])
    assert isinstance(node, Product)
    assert [ref.node for ref in node.factors] == [graph.einsum("i,i->i", x, y)]


def test_an_indicator_that_the_ranges_refute_gives_zero() -> None:
    graph = Graph()
    (x,) = inputs(graph, x=(n,))
    assert is_zero(
        graph.product("i", [(x, "i")], constraints=[indicator({"i": 1}, -n)])
    )


def test_a_delta_of_odd_and_even_is_zero() -> None:
    graph = Graph()
    parity = delta({"i": 2, "j": -2}, 1)
    node = graph.product("ij", [], constraints=[parity], sizes={"i": n, "j": n})
    assert is_zero(node)


def test_a_sum_over_an_index_that_nothing_mentions_counts_it() -> None:
    graph = Graph()
    (x,) = inputs(graph, x=(n,))
    node = graph.product("i", [(x, "i")], sizes={"k": m})
    assert node is graph.product("i", [(x, "i"), (graph.size(m), ())])
    fixed = graph.product("i", [(x, "i")], sizes={"k": Dim.of(4)})
    assert fixed is graph.scale(x, 4)


def test_a_zero_factor_makes_a_product_zero() -> None:
    graph = Graph()
    x, y = inputs(graph, x=(n,), y=(n,))
    assert is_zero(graph.einsum("i,i->i", x, graph.scale(y, 0)))


def test_a_repeated_output_label_gives_a_diagonal() -> None:
    graph = Graph()
    (x,) = inputs(graph, x=(n,))
    diagonal = graph.product("ii", [(x, "i")])
    expected = np.diag([3.0, 1.0, 2.0])
    np.testing.assert_array_equal(value(diagonal, {"x": [3.0, 1.0, 2.0]}), expected)
    assert graph.einsum("ij,j->i", diagonal, x) is graph.einsum("i,i->i", x, x)


def test_a_gather_and_its_transpose_look_indices_up() -> None:
    graph = Graph()
    x, y = inputs(graph, x=(n,), y=(m,))
    row = graph.input("row", (m,), index=n)
    e, p = 0, 1
    at_row = delta({p: 1, Lookup(row, (e,)): -1})
    gather = graph.product([e], [(x, [p])], constraints=[at_row])
    scatter = graph.product([p], [(y, [e])], constraints=[at_row], sizes={p: n})
    arguments: Mapping[str, Any] = {"x": [5, 6, 7], "y": [1, 2], "row": [2, 2]}
    np.testing.assert_array_equal(value(gather, arguments), [7, 7])
    np.testing.assert_array_equal(value(scatter, arguments), [0, 0, 3])


def test_what_an_indicator_excludes_may_be_infinite() -> None:
    graph = Graph()
    (a,) = inputs(graph, A=(n, n))
    upper = indicator({"j": 1, "i": -1}, -1)
    node = graph.product("i", [(a, "ij")], constraints=[upper])
    matrix = np.where(np.tri(3, dtype=bool), np.nan, 1.0)
    np.testing.assert_array_equal(value(node, {"A": matrix}), [2, 1, 0])


@pytest.mark.parametrize("size", [0, 1])
def test_dims_of_size_zero_and_one_need_no_special_care(size: int) -> None:
    graph = Graph()
    (a,) = inputs(graph, A=(n, m))
    total = graph.einsum("ij->j", a)
    matrix = np.ones((size, 2))
    np.testing.assert_array_equal(value(total, {"A": matrix}, {}), [size, size])


def test_ones_up_to_a_place_are_counted() -> None:
    graph = Graph()
    place = graph.iota(n)
    upto = indicator({"i": 1, "j": -1})  # j <= i
    ones = graph.product("i", [], constraints=[upto], sizes={"i": n, "j": n})
    assert ones is graph.sum("i", [(1, place, "i"), (1, graph.constant(1), "")])
    above = graph.product(
        "i", [], constraints=[indicator({"j": 1, "i": -1}, -1)], sizes={"i": n, "j": n}
    )
    np.testing.assert_array_equal(value(above, {}, {"n": 4}), [3, 2, 1, 0])
    # Of an axis that may be shorter, the bound may lie outside.
    other = graph.product("i", [], constraints=[upto], sizes={"i": n, "j": m})
    assert isinstance(other, Product) and other.constraints


def test_a_label_that_a_count_depends_on_is_none_that_nothing_mentions() -> None:
    graph = Graph()
    total = graph.product(
        [],
        [],
        constraints=[delta({"a": 1, "b": 1, "c": -1})],
        sizes=dict.fromkeys("abc", n),
    )
    assert value(total, {}, {"n": 3}) == 6


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v[0] * w / v[0]", "w"),
        ("v[0]**2 * w / v[0]", "v[0] * w"),
        ("v[0] * w / v[0]**3", "w * v[0]**-2"),
        ("A[0, 1] * v / A[0, 1]", "v"),
        ("v[0] * A[:, 0] / v[0]", "A[:, 0]"),
    ],
)
def test_an_entry_beside_its_own_power_is_one_factor(one: str, other: str) -> None:
    found = program(f"{HEAD}functions:\n  f: {one}\n  g: {other}\n").functions
    assert found[0].node is found[1].node


@pytest.mark.parametrize("text", ["v[1] * w / v[0]", "w[0] * v / v[0]", "v / v[0]"])
def test_an_entry_beside_the_power_of_another_stays(text: str) -> None:
    assert_allclose(speak.value(text), eval(text, {**speak.numbers()}), rtol=1e-14)
