"""Sums over windows of one length as moving sums, in linear time and memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Lookup, Node, indicator
from tests.lower.support import as_text, check

n, m, k = map(Dim.of, "nmk")
SIZES = {"n": 7, "m": 5, "k": 3}


def window(
    first: Dim | int, length: Dim | int, step: int = 1, names: str = "ij"
) -> list[Constraint]:
    """`first <= j - step*i < first + length`."""
    i, j = names[0], names[1]
    return [
        indicator({j: 1, i: -step}, -Dim.of(first)),
        indicator({i: step, j: -1}, Dim.of(first) + length - 1),
    ]


class Case:
    """A graph with the inputs that the cases use."""

    def __init__(self) -> None:
        g = self.g = Graph()
        self.x = g.input("x", [n])
        self.y = g.input("y", [n])
        self.X = g.input("X", [m, n])
        self.row = g.input("row", [m], index=n)

    def sums(
        self, bounds: list[Constraint], *factors: tuple[Node, str], size: Dim = n
    ) -> Node:
        """The sum of factors, x without any, in windows."""
        return self.g.product(
            "i", factors or [(self.x, "j")], constraints=bounds, sizes={"i": size}
        )

    def plane(self) -> Node:
        bounds = window(0, 2, names="ia") + window(-1, 3, names="jb")
        sizes = {"i": m - 1, "j": n}
        return self.g.product("ij", [(self.X, "ab")], constraints=bounds, sizes=sizes)

    def looked_up(self) -> Node:
        at = Lookup(self.row, ("e",))
        bounds = [indicator({"j": 1, at: -1}, 1), indicator({at: 1, "j": -1}, 1)]
        return self.g.product(
            "e", [(self.x, "j")], constraints=bounds, sizes={"e": m, "j": n}
        )


TEXTS: dict[str, Callable[[Case], Node]] = {
    "_moving_sum(x, 3)": lambda c: c.sums(window(0, 3), size=n - 2),
    "_moving_sum(x, 7, 3, 3)": lambda c: c.sums(window(-3, 7)),
    "_moving_sum(x, k, k - 1, 0)": lambda c: c.sums(window(1 - k, k)),
    "_moving_sum(x, 20, 10, 9)": lambda c: c.sums(window(-10, 20)),
    "_moving_sum(x * y, 2, 0, 1)": lambda c: c.sums(
        window(0, 2), (c.x, "j"), (c.y, "j")
    ),
    "y * _moving_sum(x, 2, 0, 1)": lambda c: c.sums(
        window(0, 2), (c.x, "j"), (c.y, "i")
    ),
    "_moving_sum(x, 2, 0, 2 * m - n)[::2]": lambda c: c.sums(
        window(0, 2, step=2), size=m
    ),
    "_moving_sum(X.sum(axis=0), 2, 0, 1)": lambda c: c.sums(window(0, 2), (c.X, "aj")),
    "_moving_sum(_moving_sum(X, 2, axis=0), 3, 1, 1, axis=1)": Case.plane,
    "_moving_sum(x, 3, 1, 1)[row]": Case.looked_up,
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_window_is_summed_from_shorter_ones(text: str) -> None:
    case = Case()
    node = TEXTS[text](case)
    facts = [2 * m - n]
    assert written_as(case.g, node, facts) == text
    if "2 * m" not in text:
        for sizes in (SIZES, {"n": 2, "m": 2, "k": 1}, {"n": 20, "m": 5, "k": 5}):
            check(case.g, [node], sizes)
        check(case.g, [node], SIZES, dtype="float32")


def written_as(graph: Graph, node: Node, facts: list[Dim]) -> str:
    (text,) = as_text(graph, [node], facts=facts).returns
    return text


@pytest.mark.parametrize(
    "node",
    [
        lambda c: c.sums([*window(0, 3), indicator({"j": 1}, -1)], size=n - 2),
        lambda c: c.sums([*window(0, 3), indicator({"j": -2, "i": 1}, n)], size=n - 2),
        lambda c: c.sums(window(0, 3), (c.x, "j"), (c.g.input("A", [n, n]), "ij")),
        lambda c: c.sums(window(0, 2, step=2), size=m),
    ],
)
def test_what_is_no_box_or_may_lie_anywhere_is_right(
    node: Callable[[Case], Node],
) -> None:
    case = Case()
    check(case.g, [node(case)], SIZES)
