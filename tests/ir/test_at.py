"""Nodes at places, against the entries there of the arrays that they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tensorgen.ir.at import At, Place
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Input,
    Lookup,
    Map,
    Node,
    affine,
    delta,
    indicator,
    topological,
)
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify

N, K = 6, 3
n, k = Dim.of(N), Dim.of(K)
rng = np.random.default_rng(4)
INPUTS: dict[str, Any] = {
    "A": rng.random((N, N)),
    "B": rng.random((N, N)),
    "x": rng.random(N),
    "where": rng.integers(0, N, N),
}

STAYS = None
SHIFTED = affine([("e", 1)], 2)
"""The label e has K values: these are entries 2 to 4."""

BACKWARDS = affine([("e", -2)], N - 1)
FIRST = affine([])


class Case:
    """A graph with what nodes are made of."""

    def __init__(self) -> None:
        self.g = Graph()
        self.A, self.B = self.g.input("A", [n, n]), self.g.input("B", [n, n])
        self.x, self.where = self.g.input("x", [n]), self.g.input("where", [n], index=n)

    def product(self) -> Node:
        return self.g.einsum("ik,kj->ij", self.A, self.mapped())

    def mapped(self) -> Node:
        terms = [(1, self.A, "ji"), (-2, self.B, "ij"), (1, self.x, "j")]
        return self.g.map("exp", "ij", [(self.g.sum("ij", terms), "ij")])

    def moved(self) -> Node:
        """Rows behind those that are asked for, with none behind the last."""
        factors = [(self.mapped(), "pj"), (self.x, "i")]
        return self.g.product("ij", factors, constraints=[delta({"p": 1, "i": -1}, -1)])

    def triangle(self) -> Node:
        factors = [(self.mapped(), "ij"), (self.B, "ji")]
        return self.g.product("ij", factors, constraints=[indicator({"i": 1, "j": -1})])

    def gathered(self) -> Node:
        at = Lookup(self.where, ("i",))
        ties = [delta({"p": 1, at: -1})]
        return self.g.product("ij", [(self.mapped(), "pj")], constraints=ties)

    def diagonal(self) -> Node:
        return self.g.einsum("ii,ij->ij", self.mapped(), self.B)

    def called(self) -> Node:
        return self.g.call("inv", [self.mapped()], [n, n])

    def numbers(self) -> Node:
        return self.g.sum("ij", [(1, self.g.iota(n), "i"), (1, self.A, "ij")])


MADE: list[Callable[[Case], Node]] = [
    *(Case.product, Case.mapped, Case.moved, Case.triangle, Case.gathered),
    *(Case.diagonal, Case.called, Case.numbers),
]
PLACES: list[Place] = [
    *((SHIFTED, STAYS), (STAYS, SHIFTED), (BACKWARDS, FIRST), (FIRST, STAYS)),
    *((SHIFTED, SHIFTED), (SHIFTED, BACKWARDS)),
]


def entries(array: Any, place: Place) -> Any:
    """The entries of an array at a place, one by one."""

    def index(form: Affine | None, e: int) -> Any:
        if form is None:
            return slice(None)
        return sum(c * e for _, c in form.terms) + int(form.const.constant or 0)

    rows = [array[tuple(index(form, e) for form in place)] for e in range(K)]
    axis = 1 if place[0] is None else 0
    read = any(form is not None and form.terms for form in place)
    return np.stack(rows, axis) if read else rows[0]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", MADE)
def test_entries_of_what_is_made_are_made_of_entries(
    make: Callable[[Case], Node], place: Place
) -> None:
    case = Case()
    whole = make(case)
    found = At(case.g, {"e": k}).of(whole, place)
    verify([found])
    before, after = evaluate([whole, found], INPUTS, FUNCTIONS, OPERATORS, {})
    np.testing.assert_allclose(after, entries(before, place))


@pytest.mark.parametrize("make", [Case.mapped, Case.triangle, Case.numbers])
def test_functions_are_applied_to_what_is_read_alone(
    make: Callable[[Case], Node],
) -> None:
    case = Case()
    found = At(case.g, {"e": k}).of(make(case), (SHIFTED, STAYS))
    maps = [x.dims for x in topological([found]) if isinstance(x, Map)]
    assert set(maps) <= {(k, n), (n, k)}
    assert not any(isinstance(x, Call) for x in topological([found]))


def test_no_function_is_read_behind_the_last_entry() -> None:
    case = Case()
    last = affine([("e", 1)], N - K)
    found = At(case.g, {"e": k}).of(case.moved(), (last, STAYS))
    (only,) = (x for x in topological([found]) if isinstance(x, Map))
    assert only.dims == (n, n)  # what `exp` is of nothing is not 0
    before, after = evaluate([case.moved(), found], INPUTS, FUNCTIONS, OPERATORS, {})
    np.testing.assert_allclose(after, before[N - K :])


def test_who_asks_says_where_reading_ends() -> None:
    case = Case()
    mapped = case.mapped()

    class Above(At):
        def ends(self, node: Node, place: Place) -> bool:
            return node is mapped

    found = Above(case.g, {"e": k}).of(case.diagonal(), (SHIFTED, STAYS))
    assert mapped in topological([found])


def test_axes_of_other_names_are_no_other_array() -> None:
    case = Case()
    place = tuple(affine([(x, 1)]) for x in "pq")
    found = At(case.g, {"p": n, "q": n}).of(case.product(), place)
    assert found is case.product()
    inputs = [x for x in topological([found]) if isinstance(x, Input)]
    assert len(inputs) == 3
