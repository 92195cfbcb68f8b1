"""Reads at sums of two labels as sliding windows, which copy nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, delta
from tests.lower.support import as_text, check

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

    def back(self) -> Node:
        """What `along` adds up, added where it was read."""
        return self.g.product(
            "ap",
            [(self.g.input("Z", [b, n - k + 1]), "ai"), (self.h, "j")],
            constraints=[delta({"p": -1, "i": 1, "j": 1})],
            sizes={"p": n},
        )

    def line(self, low: int, size: Dim, step: int = 1) -> Node:
        """The products of h and of x from `low` before, or turned over."""
        return self.g.product(
            "i",
            [(self.x, "p"), (self.h, "j")],
            constraints=[delta({"p": -1, "i": 1, "j": step}, -low)],
            sizes={"i": size},
        )

    def channels(self) -> Node:
        K = self.g.input("K", [3, b, m])
        return self.g.product(
            "io",
            [(self.g.input("V", [n, b]), "pc"), (K, "jco")],
            constraints=[delta({"p": -1, "i": 1, "j": 1})],
            sizes={"i": n - 2},
        )


def loop(*lines: str) -> str:
    return "\n".join(f"{'    ' * k}{line}" for k, line in enumerate(lines))


LINES: dict[str, tuple[Callable[[Case], Node], tuple[str, ...]]] = {
    "a vector": (lambda c: c.line(0, n - k + 1), ("return _correlate(x, h)",)),
    "a vector with an end": (
        lambda c: c.line(1, n - k + 3),
        ("return _correlate(x, h, 1, 1)",),
    ),
    "a vector, against the kernel": (
        lambda c: c.line(0, n + k - 1, step=-1),
        ("return _correlate(h, x[::-1], n - 1, n - 1)",),
    ),
    "along an axis": (
        Case.along,
        (
            "out = np.zeros((b, n - k + 1), dtype=dtype)",
            loop("for l in range(k):", "out += h[l] * X[:, l : l + n - k + 1]"),
            "return out",
        ),
    ),
    "back along an axis": (
        Case.back,
        (
            "out = np.zeros((b, n), dtype=dtype)",
            loop("for l in range(k):", "out[:, l : l + n - k + 1] += h[l] * Z"),
            "return out",
        ),
    ),
    "a plane": (
        lambda c: c.plane("ij", (c.W, "uv")),
        (
            "out = np.zeros((n - k + 1, m - b + 1), dtype=dtype)",
            loop(
                "for l in range(k):",
                "for p in range(b):",
                "out += W[l, p] * Y[l : l + n - k + 1, p : m + p - b + 1]",
            ),
            "return out",
        ),
    ),
    "channels": (
        Case.channels,
        (
            f"return np.reshape({VIEW}(V, 3, axis=0).transpose(0, 2, 1), "
            "(n - 2, 3 * b)) @ np.reshape(K, (3 * b, m))",
        ),
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_a_product_over_windows_is_a_plain_call_or_a_loop_over_taps(name: str) -> None:
    make, expected = LINES[name]
    case = Case()
    node = make(case)
    facts = [n - k, m - b, n - 3]
    code = as_text(case.g, [node], root_names=["out"], facts=facts)
    plain = [re.sub(r"max\((.*?), 0\)", r"\1", x) for x in code.lines]
    found = "\n".join([*plain, f"return {', '.join(code.returns)}"])
    assert (
        found.replace(":", " : ").split()
        == "\n".join(expected).replace(":", " : ").split()
    )
    for sizes in (SIZES, {"n": 4, "m": 2, "k": 4, "b": 1}):
        check(case.g, [node], sizes)
    check(case.g, [node], SIZES, dtype="float32")


def test_sizes_that_are_expected_say_which_labels_are_taps() -> None:
    case = Case()
    node = case.along()
    for hints, over in (({"n": 9, "k": 2}, "k"), ({"n": 9, "k": 8}, "n - k + 1")):
        _, text = as_text(case.g, [node], hints=hints).lines
        assert f"range({over})" in text


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
