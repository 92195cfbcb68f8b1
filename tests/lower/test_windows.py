"""Reads at sums of two labels as sliding windows, which copy nothing."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, delta
from tests.lower.support import check

n, m, k, b = map(Dim.of, "nmkb")
SIZES = {"n": 7, "m": 6, "k": 3, "b": 2}
VIEW = "np.lib.stride_tricks.sliding_window_view"


class Case:
    """A graph with the inputs that the cases use."""

    def __init__(self) -> None:
        g = self.g = Graph()
        self.x = g.input("x", [n])
        self.h = g.input("h", [k])
        self.X = g.input("X", [b, n])
        self.Y = g.input("Y", [n, m])
        self.W = g.input("W", [k, b])

    def read(self, terms: dict[str, int], const: Dim | int, size: Dim) -> Node:
        """`x[terms + const]` over i, which runs to `size`, and j, which runs to k."""
        return self.g.product(
            "ij",
            [(self.x, "p")],
            constraints=[delta({"p": -1, **terms}, const)],
            sizes={"i": size, "j": k},
        )

    def along(self) -> Node:
        return self.g.product(
            "ai",
            [(self.X, "ap"), (self.h, "j")],
            constraints=[delta({"p": -1, "i": 1, "j": 1})],
            sizes={"i": n - k + 1},
        )

    def plane(self, out: str, *factors: tuple[Node, str]) -> Node:
        return self.g.product(
            out,
            [(self.Y, "pq"), *factors],
            constraints=[
                delta({"p": -1, "i": 1, "u": 1}),
                delta({"q": -1, "j": 1, "v": 1}),
            ],
            sizes={"i": n - k + 1, "j": m - b + 1, "u": k, "v": b},
        )


TEXTS: dict[str, Callable[[Case], Node]] = {
    f"h @ {VIEW}(X, n - k + 1, axis=1)": lambda c: c.along(),
    f'np.einsum("ijkl,ij->kl", {VIEW}(Y, (n - k + 1, -b + m + 1)), W)': lambda c: (
        c.plane("ij", (c.W, "uv"))
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_convolution_is_a_contraction_of_a_view(text: str) -> None:
    case = Case()
    node = TEXTS[text](case)
    assert check(case.g, [node], SIZES).returns == (text.replace("-b + m", "m - b"),)
    check(case.g, [node], SIZES, dtype="float32")


def test_windows_may_run_backwards_and_in_steps() -> None:
    for step, sign in product([1, -1, 2, -2], [1, -1]):
        size = Dim.of(2) if abs(step) > 1 else n - k + 1
        low = -(size - 1) * min(step, 0) - (k - 1) * min(sign, 0)
        case = Case()
        case.x = case.g.input("x", [n + k + 2])
        node = case.read({"i": step, "j": sign}, low, size)
        code = check(case.g, [node], SIZES)
        assert VIEW in code.returns[0], (step, sign)


def test_what_may_leave_the_array_is_still_read_by_index() -> None:
    case = Case()
    node = case.read({"i": 1, "j": 1}, 0, n)
    code = check(case.g, [node], SIZES)
    assert "np.clip(" in code.returns[0]


def test_no_window_at_all_is_no_error() -> None:
    case = Case()
    for sizes in ({**SIZES, "n": 2}, {**SIZES, "n": 3}, {**SIZES, "k": 1}):
        check(case.g, [case.along()], sizes)
