"""Deltas, indicators and index arrays as slices, index arrays, masks and writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Node, Product, delta, indicator
from tensorgen.lower.solve_constraints import plain_label, solve_constraints
from tests.lower.support import as_text, check

n, m, k, e = map(Dim.of, "nmke")
E = 0  # the label of an index array's axis
SIZES = {"n": 5, "m": 4, "k": 3, "e": 6}


class Case:
    """A graph with the inputs that the cases use."""

    def __init__(self) -> None:
        g = self.g = Graph()
        self.x = g.input("x", [n])
        self.y = g.input("y", [n - 1])
        self.h = g.input("h", [k])
        self.A = g.input("A", [m, n])
        self.S = g.input("S", [n, n])
        self.U = g.input("U", [e, n])
        self.w = g.input("w", [e])
        self.row = g.input("row", [e], index=m)
        self.z = g.input("z", [n - k + 1])

    def read(
        self, array: Node, form: Mapping[str, int], const: Dim | int, size: Dim
    ) -> Node:
        """`x[form]`, where `form + const - p == 0` and i runs over `size`."""
        terms = {"p": -1, **form}
        return self.g.product(
            "i", [(array, "p")], constraints=[delta(terms, const)], sizes={"i": size}
        )

    def spread(self, array: Node, i: int, j: int, const: Dim | int, size: Dim) -> Node:
        """A square matrix that holds a vector along a band."""
        return self.g.product(
            "ij",
            [(array, "i")],
            constraints=[delta({"i": i, "j": j}, const)],
            sizes={"i": size, "j": size},
        )

    def gathered(self) -> Mapping[Any, int]:
        return {"p": 1, Lookup(self.row, (E,)): -1}


READS: dict[str, Callable[[Case], Node]] = {
    "x[1:].copy()": lambda c: c.read(c.x, {"i": 1}, 1, n - 1),
    "x[:-1].copy()": lambda c: c.read(c.x, {"i": 1}, 0, n - 1),
    "x[::-1].copy()": lambda c: c.read(c.x, {"i": -1}, n - 1, n),
    "x[-2::-1].copy()": lambda c: c.read(c.x, {"i": -1}, n - 2, n - 1),
    "A[1:, 0].copy()": lambda c: c.g.product(
        "i",
        [(c.A, "pq")],
        constraints=[delta({"p": 1, "i": -1}, -1), delta({"q": 1})],
        sizes={"i": m - 1},
    ),
    "A[:, -1].copy()": lambda c: c.g.product(
        "i", [(c.A, "iq")], constraints=[delta({"q": 1}, 1 - n)]
    ),
    "x[1:] - x[:-1]": lambda c: c.g.add(
        c.read(c.x, {"i": 1}, 1, n - 1), c.g.scale(c.read(c.x, {"i": 1}, 0, n - 1), -1)
    ),
    "2 * x[1:] @ y": lambda c: c.g.product(
        "",
        [(c.x, "p"), (c.y, "i")],
        coefficient=2,
        constraints=[delta({"p": 1, "i": -1}, -1)],
    ),
    "A.take(row, axis=0)": lambda c: c.g.product(
        (E, "k"), [(c.A, "pk")], constraints=[delta(c.gathered())]
    ),
    "(A.take(row, axis=0) * U).sum(axis=1)": lambda c: c.g.product(
        (E,), [(c.A, "pk"), (c.U, (E, "k"))], constraints=[delta(c.gathered())]
    ),
    "np.tril(S)": lambda c: c.g.product(
        "ij", [(c.S, "ij")], constraints=[indicator({"i": 1, "j": -1})]
    ),
    "np.triu(S, 1)": lambda c: c.g.product(
        "ij", [(c.S, "ij")], constraints=[indicator({"i": -1, "j": 1}, -1)]
    ),
    "np.tril(S) @ x": lambda c: c.g.product(
        "i", [(c.S, "ij"), (c.x, "j")], constraints=[indicator({"i": 1, "j": -1})]
    ),
    "np.diag(x)": lambda c: c.spread(c.x, 1, -1, 0, n),
    "np.eye(n, dtype=dtype)": lambda c: c.g.unit([n]),
    "3 * np.eye(n, dtype=dtype)": lambda c: c.g.scale(c.g.unit([n]), 3),
}


@pytest.mark.parametrize("text", READS)
def test_a_constraint_of_the_usual_kind_is_one_expression(text: str) -> None:
    case = Case()
    code = as_text(case.g, [READS[text](case)], facts=[m - 1, n - 1])
    wanted = text.replace("2 * x[1:] @ y", "2 * (x[1:] @ y)")
    assert (code.lines, code.returns) == ((), (wanted,))
    check(case.g, [READS[text](case)], SIZES)
    check(case.g, [READS[text](case)], SIZES, dtype="float32")


def test_ends_of_what_may_be_empty_are_rows_or_none() -> None:
    case = Case()
    for text, at in {"A[:, :1]": ZERO, "A[:, -1:]": n - 1}.items():
        ties = [delta({"q": 1}, -at)]
        node = case.g.product("i", [(case.A, "iq")], constraints=ties)
        assert as_text(case.g, [node]).returns == (f"{text}.sum(axis=1)",)
        for size in (0, 1, 3):
            check(case.g, [node], {**SIZES, "n": size})


WRITES: dict[str, tuple[Callable[[Case], Node], tuple[str, ...]]] = {
    "the adjoint of a slice": (
        lambda c: c.g.product(
            "p",
            [(c.y, "i")],
            constraints=[delta({"p": 1, "i": -1}, -1)],
            sizes={"p": n},
        ),
        ("out = np.zeros(n, dtype=dtype)", "out[1:] = y"),
    ),
    "a band": (
        lambda c: c.spread(c.x, 1, -1, 1, n),
        (
            "out = np.zeros((n, n), dtype=dtype)",
            "i = np.arange(n - 1)",
            "out[i, i + 1] = x[:-1]",
        ),
    ),
    "a diagonal added to a matrix": (
        lambda c: c.g.add(c.spread(c.x, 1, -1, 0, n), c.S, c.g.permute(c.S, (1, 0))),
        ("out = S + S.T", "i = np.arange(n)", "out[i, i] += x"),
    ),
    "a diagonal taken from an input, which stays as it is": (
        lambda c: c.g.sum(
            "ij", [(1, c.S, "ij"), (-2, c.spread(c.x, 1, -1, 0, n), "ij")]
        ),
        ("out = S.copy()", "i = np.arange(n)", "out[i, i] -= 2 * x"),
    ),
    "three bands": (
        lambda c: c.g.add(
            c.spread(c.x, 1, -1, 0, n),
            c.spread(c.x, 1, -1, 1, n),
            c.g.permute(c.spread(c.x, 1, -1, 1, n), (1, 0)),
        ),
        (
            "out = np.zeros((n, n), dtype=dtype)",
            "i = np.arange(n)",
            "out[i, i] = x",
            "j = np.arange(n - 1)",
            "out[j, j + 1] += x[:-1]",
            "out[j + 1, j] += x[:-1]",
        ),
    ),
}


@pytest.mark.parametrize("what", WRITES)
def test_what_a_delta_spreads_is_written_into_an_array(what: str) -> None:
    case = Case()
    make, expected = WRITES[what]
    code = as_text(case.g, [make(case)], root_names=["out"])
    assert code.lines == expected
    assert code.returns == ("out",)
    check(case.g, [make(case)], SIZES)
    check(case.g, [make(case)], {**SIZES, "n": 1, "k": 1})


def test_index_arrays_on_both_sides_meet_in_one_sum() -> None:
    case = Case()
    node = case.g.product(
        "pq",
        [(case.w, (E,))],
        constraints=[
            delta(case.gathered()),
            delta({"q": 1, Lookup(case.row, (E,)): -1}),
        ],
        sizes={"p": m, "q": m},
    )
    code = check(case.g, [node], SIZES)
    assert code.returns == ("np.diag(_sum_by_key(w, row, m))",)


def test_a_condition_on_an_index_array_is_a_mask() -> None:
    case = Case()
    node = case.g.product(
        "i",
        [(case.w, (E,))],
        constraints=[indicator({"i": 1, Lookup(case.row, (E,)): -1})],
        sizes={"i": m},
    )
    code = check(case.g, [node], SIZES)
    assert code.returns == ("np.where(i[:, None] >= row, w, 0).sum(axis=1)",)


def test_positions_that_may_leave_the_array_are_clipped_and_masked() -> None:
    case = Case()
    node = case.read(case.x, {"i": 2}, -1, n)
    code = check(case.g, [node], SIZES)
    assert "np.clip(2 * i - 1, 0, n - 1)" in code.returns[0]
    assert code.returns[0].startswith("np.where(")


def test_facts_about_sizes_spare_masks() -> None:
    case = Case()
    node = case.read(case.x, {"i": 1}, 0, m)
    assert as_text(case.g, [node], facts=[n - m]).returns == ("x[:m].copy()",)
    assert "np.where" in as_text(case.g, [node]).returns[0]


def test_a_delta_is_solved_for_a_summed_label_before_an_axis() -> None:
    case = Case()
    product = case.read(case.x, {"i": 1}, 1, n - 1)
    assert isinstance(product, Product)
    solution = solve_constraints(product)
    assert solution.axes(product.dims) == [0]
    assert plain_label(solution.writes[0]) == 0
    ((form,),) = solution.reads
    assert form.terms == ((0, 1),) and form.const == 1
    assert solution.is_view() and not solution.masks


def test_a_band_is_solved_for_the_axis_that_leaves_an_interval_from_zero() -> None:
    case = Case()
    for const, label in ((1, 0), (-1, 1)):
        product = case.spread(case.x, 1, -1, const, n)
        assert isinstance(product, Product)
        solution = solve_constraints(product)
        assert solution.ranges.intervals == {label: (Dim.of(0), n - 1)}
