"""Sums over `j <= i` as `np.cumsum`, in linear time and memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, indicator
from tests.lower.support import as_text, check, execute

n, m, k = map(Dim.of, "nmk")
SIZES = {"n": 5, "m": 4, "k": 2}
UP, DOWN = {"i": 1, "j": -1}, {"i": -1, "j": 1}


class Case:
    """A graph with the inputs that the cases use."""

    def __init__(self) -> None:
        g = self.g = Graph()
        self.x = g.input("x", [n])
        self.y = g.input("y", [n])
        self.X = g.input("X", [m, n])
        self.P = g.input("P", [m, n, k])

    def sums(
        self,
        bound: dict[str, int],
        const: Dim | int = 0,
        *,
        out: str = "i",
        factors: tuple[tuple[Node, str], ...] = (),
        size: Dim = n,
    ) -> Node:
        """The sum of factors over all labels but `out` where the bound holds."""
        return self.g.product(
            out,
            factors or [(self.x, "j")],
            constraints=[indicator(bound, const)],
            sizes={"i": size},
        )


TEXTS: dict[str, Callable[[Case], Node]] = {
    "np.cumsum(x)": lambda c: c.sums(UP),
    "np.cumsum(x[::-1])[::-1]": lambda c: c.sums(DOWN),
    "np.pad(np.cumsum(x), (1, 0))[:-1]": lambda c: c.sums(UP, -1),
    "np.pad(np.cumsum(x[::-1])[::-1], (0, 1))[1:]": lambda c: c.sums(DOWN, -1),
    "np.cumsum(X, axis=1)": lambda c: c.sums(UP, out="ai", factors=((c.X, "aj"),)),
    "np.cumsum(X[::-1], axis=0)[::-1]": lambda c: c.sums(
        DOWN, out="ia", factors=((c.X, "ja"),), size=m
    ),
    "np.cumsum(P[:, ::-1], axis=1)[:, ::-1]": lambda c: c.sums(
        DOWN, out="aib", factors=((c.P, "ajb"),)
    ),
    "y * np.cumsum(x)": lambda c: c.sums(UP, factors=((c.x, "j"), (c.y, "i"))),
    "np.cumsum(X.sum(axis=0))": lambda c: c.sums(UP, factors=((c.X, "aj"),)),
    "X @ np.cumsum(x[::-1])[::-1]": lambda c: c.sums(
        UP, out="a", factors=((c.X, "aj"), (c.x, "i"))
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_running_sum_is_one_call(text: str) -> None:
    case = Case()
    node = TEXTS[text](case)
    code = check(case.g, [node], SIZES)
    assert (code.lines, code.returns) == ((), (text,))
    check(case.g, [node], SIZES, dtype="float32")
    check(case.g, [node], {**SIZES, "n": 1, "m": 1})
    check(case.g, [node], {**SIZES, "n": 0, "m": 0})


@pytest.mark.parametrize("bound", [UP, DOWN])
def test_limits_may_lie_outside(bound: dict[str, int]) -> None:
    constants = [Dim.of(2), Dim.of(-2), m, -m, n - m, 1 - n]
    for const, size in product(constants, [n, m, n + 3]):
        case = Case()
        along = case.sums(bound, const, out="ai", factors=((case.X, "aj"),), size=size)
        code = check(case.g, [case.sums(bound, const, size=size), along], SIZES)
        assert "np.tri(" not in " ".join([*code.lines, *code.returns])


def test_running_sums_of_running_sums_are_taken_one_by_one() -> None:
    case = Case()
    node = case.g.product(
        "i",
        [(case.x, "j"), (case.y, "k")],
        constraints=[indicator({"i": 1, "j": -1}), indicator({"j": 1, "k": -1})],
        sizes={"i": n},
    )
    code = check(case.g, [node], SIZES)
    assert code.returns == ("np.cumsum(x * np.cumsum(y))",)


def test_a_factor_with_both_labels_keeps_the_triangle() -> None:
    case = Case()
    square = case.g.input("S", [n, n])
    node = case.sums(UP, factors=((square, "ij"), (case.x, "j")))
    code = check(case.g, [node], SIZES)
    assert code.returns == ("np.tril(S) @ x",)


def test_what_comes_after_the_limit_never_reaches_a_sum() -> None:
    case = Case()
    code = as_text(case.g, [case.sums(UP), case.sums(UP, -1)])
    x = np.array([1.0, 2.0, np.nan, np.inf, 0.0])
    up, strictly = execute(code, {"x": x}, SIZES)
    np.testing.assert_array_equal(up[:2], [1, 3])
    np.testing.assert_array_equal(strictly[:3], [0, 1, 3])
