"""Parts of index arrays as positions, and results that are scalars."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Node, delta
from tests.ir.verify import verify
from tests.lower.support import arguments, as_text, check, execute

SIZES = {"n": 5, "m": 4}
N, M = Dim.symbol("n"), Dim.symbol("m")


def entries(graph: Graph, part: Node) -> Node:
    """Return `x[part[e]]`."""
    return graph.product(
        ("e",),
        [(graph.input("x", [N]), ("p",))],
        constraints=[delta({"p": 1, Lookup(part, ("e",)): -1})],
    )


def column(graph: Graph) -> Node:
    """Return `tri[e, 1]`."""
    tri = graph.input("tri", [M, 3], index=N)
    return graph.product(("e",), [(tri, ("e", "a"))], constraints=[delta({"a": 1}, -1)])


def later(graph: Graph) -> Node:
    """Return `row[e + 1]`."""
    row = graph.input("row", [M], index=N)
    return graph.product(
        ("e",),
        [(row, ("p",))],
        constraints=[delta({"p": 1, "e": -1}, -1)],
        sizes={"e": M - 1},
    )


@pytest.mark.parametrize(
    ("part", "text"), [(column, "x[tri[:, 1]]"), (later, "x[row[1:]]")]
)
def test_a_part_of_an_index_array_keeps_its_integers(part: object, text: str) -> None:
    graph = Graph()
    node = entries(graph, part(graph))  # type: ignore[operator]
    verify([node])
    assert check(graph, [node], SIZES).returns == (text,)


@pytest.mark.parametrize("place", [Dim(), M - 1])
def test_an_entry_of_an_index_array_has_no_axis(place: Dim) -> None:
    graph = Graph()
    row = graph.input("row", [M], index=N)
    at = graph.product((), [(row, ("p",))], constraints=[delta({"p": 1}, -place)])
    read = [delta({"q": 1, Lookup(at, ()): -1})]
    entry = graph.product((), [(graph.input("x", [N]), ("q",))], constraints=read)
    check(graph, [entry], SIZES)


def test_the_adjoint_adds_at_a_part_of_an_index_array() -> None:
    graph = Graph()
    found = graph.product(
        ("p",),
        [(graph.input("w", [M]), ("e",))],
        constraints=[delta({"p": 1, Lookup(column(graph), ("e",)): -1})],
        sizes={"p": N},
    )
    code = check(graph, [found], SIZES)
    assert code.returns == ("_sum_by_key(w, tri[:, 1], n)",)


@pytest.mark.parametrize("sizes", [SIZES, {"n": 3, "m": 6}, {"n": 4, "m": 4}])
def test_the_shorter_axis_ends_a_diagonal_of_places(sizes: dict[str, int]) -> None:
    graph = Graph()
    row = graph.input("row", [N, M], index=N)
    at = Lookup(row, ("i", "e"))
    found = graph.product(
        ("i", "p"),
        [(graph.input("x", [M, N]), ("e", "p"))],
        constraints=[delta({"p": 1, at: -1}), delta({"i": 1, "e": -1})],
        sizes={"i": N, "p": N},
    )
    verify([found])
    check(graph, [found], sizes)


def test_a_part_of_an_index_array_is_a_number_where_it_is_used_as_one() -> None:
    graph = Graph()
    part = column(graph)
    node = graph.product(("e",), [(part, ("e",)), (graph.input("w", [M]), ("e",))])
    check(graph, [node, part], SIZES)


def test_a_lookup_into_numbers_is_unlawful() -> None:
    graph = Graph()
    node = entries(graph, graph.input("y", [M]))
    with pytest.raises(Exception, match="a lookup in what is no index array"):
        verify([node])


@pytest.mark.parametrize("several", [False, True])
def test_a_chosen_scalar_is_a_scalar(several: bool) -> None:
    graph = Graph()
    s, one = graph.input("s", []), graph.constant(1)
    mask = graph.map("greater", (), [(s, ()), (one, ())])
    roots = [graph.map("where", (), [(mask, ()), (s, ()), (one, ())])]
    roots += [graph.map("where", (), [(mask, ()), (one, ()), (graph.constant(2), ())])]
    roots = roots if several else roots[:1]
    code = as_text(graph, roots)
    for value in execute(code, arguments(roots, {}), {}):
        assert isinstance(value, np.float64)
