"""What slices and ranges of all readers leave of a value."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Node, affine, topological
from tensorgen.operators.conditions.read_places import read_places

N = Dim.symbol("n")
Pairs = Sequence[tuple[str, int]]


def at_least(terms: Pairs, const: int) -> Constraint:
    return Constraint("ge", affine(terms, Dim.of(const)))


def part(graph: Graph, x: Node, start: int, left: int) -> Node:
    """A slice from an entry on, without some of the last ones; its squares summed."""
    delta = Constraint("eq", affine([("p", 1), ("i", -1)], Dim.of(-start)))
    sizes = {"i": N - start - left, "p": N}
    view = graph.product(["i"], [(x, ["p"])], constraints=[delta], sizes=sizes)
    return graph.product([], [(view, ["i"]), (view, ["i"])])


def told(bounds: Sequence[Constraint]) -> set[str]:
    return {
        " ".join(
            [f"{c:+d}*{'ij'[x]}" for x, c in sorted(form.terms)] + [str(form.const)]
        )
        for _, form in bounds
    }


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ([(1, 0)], {"+1*i -1"}),
        ([(1, 0), (0, 0)], set()),
        ([(1, 0), (0, 1)], set()),
        ([(2, 0), (1, 1)], {"+1*i -1"}),
        ([(0, 1), (1, 2)], {"-1*i n - 2"}),
    ],
)
def test_slices_leave_what_none_of_them_has(
    slices: Sequence[tuple[int, int]], expected: set[str]
) -> None:
    graph = Graph()
    value = graph.map("tanh", ["i"], [(graph.input("x", [N]), ["i"])])
    terms = [(1, part(graph, value, *x), ()) for x in slices]
    found = read_places(topological([graph.sum([], terms)]))
    assert told(found.get(value, ())) == expected


ABOVE, BELOW = at_least([("j", 1), ("i", -1)], -1), at_least([("i", 1), ("j", -1)], -1)
WITH_DIAGONAL = at_least([("i", 1), ("j", -1)], 0)


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([ABOVE], {"-1*i +1*j -1"}),
        ([BELOW, WITH_DIAGONAL], {"+1*i -1*j 0"}),
        ([ABOVE, BELOW], set()),
    ],
)
def test_ranges_leave_what_none_of_them_has(
    ranges: Sequence[Constraint], expected: set[str]
) -> None:
    graph = Graph()
    value = graph.map("tanh", ["i", "j"], [(graph.input("X", [N, N]), ["i", "j"])])
    sums = [
        graph.product([], [(value, ["i", "j"]), (value, ["i", "j"])], constraints=[x])
        for x in ranges
    ]
    found = read_places(topological([graph.sum([], [(1, x, ()) for x in sums])]))
    assert told(found.get(value, ())) == expected


def test_a_row_is_read_where_any_entry_beside_it_is() -> None:
    graph = Graph()
    value = graph.map("tanh", ["j"], [(graph.input("x", [N]), ["j"])])
    other = graph.input("y", [N])
    root = graph.product([], [(value, ["j"]), (other, ["i"])], constraints=[ABOVE])
    found = read_places(topological([root]))
    assert told(found[value]) == {"+1*i -1"}
    assert told(found[other]) == {"-1*i n - 2"}
