"""The inference of ranges, rule by rule, over affine forms alone."""

from __future__ import annotations

import pytest

import tensorgen
from tensorgen.errors import Faults, SpecError, Text
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.lang.facts import Bounds, Compared, Position
from tensorgen.lang.index_forms import Entry, Form, Index
from tensorgen.lang.ranges import Ranges

PLACE = Text.plain("x").span()
N, M, K = (Dim.symbol(name) for name in "nmk")
A, B, P = Index("i", PLACE), Index("j", PLACE), Index("p", PLACE)
LEFT = Index("l", PLACE, left=True)


def form(const: Dim | int = 0, **coefficients: int) -> Form:
    """Return an affine form of the indices i, j, p and l."""
    indices = {"i": A, "j": B, "p": P, "l": LEFT}
    return Form.of(((indices[name], c) for name, c in coefficients.items()), const)


def position(at: Form, length: Dim | int, *guards: Form) -> Position:
    """Return the position `x[at]` of an axis."""
    last = Form.constant(Dim.of(length) - 1)
    return Position(at, last - at, Dim.of(length), "x[...]", PLACE, guards)


def solved(ranges: Ranges) -> dict[str, str]:
    """Return the intervals as text."""
    faults = Faults()
    known = ranges.solve(faults)
    faults.raise_if_any()
    assert known is not None
    return {index.name: f"{low} {high}" for index, (low, high) in known.items()}


def fault(ranges: Ranges) -> str:
    """Return the first fault."""
    faults = Faults()
    assert ranges.solve(faults) is None
    with pytest.raises(SpecError) as caught:
        faults.raise_if_any()
    return caught.value.diagnostics[0].message


def messages(ranges: Ranges) -> list[str]:
    """Return the conditions that are left to be checked."""
    assert ranges.solve(Faults()) is not None
    return [check.message for check in ranges.checks]


def test_a_position_alone_gives_the_whole_axis() -> None:
    assert solved(Ranges([A], positions=[position(form(i=1), N)])) == {"i": "0 n"}


def test_a_shift_moves_the_interval_below_zero() -> None:
    assert solved(Ranges([A], positions=[position(form(1, i=1), N)])) == {
        "i": "-1 n - 1"
    }


def test_positions_intersect() -> None:
    both = [position(form(1, i=1), N), position(form(-1, i=1), N)]
    assert solved(Ranges([A], positions=both)) == {"i": "1 n - 1"}


def test_a_reversed_position_gives_the_whole_axis() -> None:
    assert solved(Ranges([A], positions=[position(form(N - 1, i=-1), N)])) == {
        "i": "0 n"
    }


def test_a_stride_divides_where_that_is_exact() -> None:
    assert solved(Ranges([A], positions=[position(form(1, i=2), N * 2)])) == {
        "i": "0 n"
    }
    assert solved(Ranges([A], positions=[position(form(i=3), 8)])) == {"i": "0 3"}
    assert solved(Ranges([A], positions=[position(form(7, i=-3), 8)])) == {"i": "0 3"}
    assert "not affine" in fault(Ranges([A], positions=[position(form(i=2), N)]))


def test_limits_that_cannot_be_compared_are_a_fault() -> None:
    both = [position(form(i=1), N), position(form(i=1), M)]
    assert fault(Ranges([A], positions=both)).endswith("n and m cannot be compared")


def test_limits_are_compared_for_dims_of_at_least_one() -> None:
    both = [position(form(i=1), N), position(form(i=1), N + K - 1)]
    ranges = Ranges([A], positions=both)
    assert solved(ranges) == {"i": "0 n"}
    assert messages(ranges) == ["'x[...]' needs 1 <= k"]


def test_an_index_that_is_nowhere_alone_follows_the_others() -> None:
    both = [position(form(i=1, j=1), N), position(form(j=1), K)]
    ranges = Ranges([A, B], positions=both)
    assert solved(ranges) == {"j": "0 k", "i": "0 -k + n + 1"}
    assert messages(ranges) == ["the range of 'i' needs k <= n + 1"]


def test_indices_follow_each_other_in_a_chain() -> None:
    chain = [
        position(form(i=1, j=1), N + K + M),
        position(form(j=1, p=1), N + K),
        position(form(p=1), K),
    ]
    assert solved(Ranges([A, B, P], positions=chain)) == {
        "p": "0 k",
        "j": "0 n + 1",
        "i": "0 k + m",
    }


def test_two_indices_that_are_nowhere_alone_are_a_fault() -> None:
    ranges = Ranges([A, B], positions=[position(form(i=1, j=1), N)])
    assert (
        fault(ranges) == "the ranges of 'i' and 'j' do not follow: neither stands alone"
    )


def test_a_range_that_is_given_holds() -> None:
    bounds = {A: Bounds(form(1), form(N - 1))}
    ranges = Ranges([A], bounds, [position(form(i=1), N)])
    assert solved(ranges) == {"i": "1 n - 1"}


def test_a_position_that_leaves_its_axis_is_a_fault() -> None:
    bounds = {A: Bounds(form(0), form(N))}
    ranges = Ranges([A], bounds, [position(form(1, i=1), N)])
    assert "leaves its axis" in fault(ranges)


def test_a_position_that_may_leave_its_axis_is_checked() -> None:
    bounds = {A: Bounds(form(0), form(K))}
    ranges = Ranges([A], bounds, [position(form(i=1), N)])
    assert messages(ranges) == ["'x[...]' needs k <= n"]


def test_bounds_by_another_index_give_the_hull() -> None:
    bounds = {B: Bounds(form(i=1), form(N, i=-1))}
    ranges = Ranges([A, B], bounds, [position(form(i=1), N), position(form(j=1), N)])
    assert solved(ranges) == {"i": "0 n", "j": "0 n"}


def test_a_dependent_range_proves_positions() -> None:
    bounds = {B: Bounds(form(i=1), form(N))}
    inside = [position(form(i=1), N), position(form(j=1, i=-1), N)]
    ranges = Ranges([A, B], bounds, inside)
    assert messages(ranges) == []


def test_an_index_that_only_bounds_others_starts_at_zero() -> None:
    bounds = {B: Bounds(form(0), form(1, i=1))}
    ranges = Ranges([A, B], bounds, [position(form(j=1), N)])
    assert solved(ranges) == {"i": "0 n", "j": "0 n"}
    bounds = {B: Bounds(form(i=1), form(3, i=1))}
    ranges = Ranges([A, B], bounds, [position(form(j=1), N)])
    assert solved(ranges) == {"i": "0 n - 2", "j": "0 n"}


def test_bounds_that_need_each_other_are_a_fault() -> None:
    bounds = {A: Bounds(form(0), form(j=1)), B: Bounds(form(0), form(i=1))}
    ranges = Ranges([A, B], bounds, [position(form(i=1), N)])
    assert fault(ranges) == "the bounds of 'i' and 'j' depend on each other"


def test_an_index_takes_the_dim_of_the_array_that_it_is_compared_with() -> None:
    assert solved(Ranges([A], compared=[Compared(A, Dim(), M)])) == {"i": "0 m"}
    assert solved(Ranges([A], compared=[Compared(A, Dim.of(1), M)])) == {
        "i": "-1 m - 1"
    }


def test_a_position_goes_before_a_comparison() -> None:
    ranges = Ranges([A], compared=[Compared(A, Dim(), M)])
    ranges.positions.append(position(form(i=1), N))
    assert solved(ranges) == {"i": "0 n"}


def test_an_index_that_nothing_mentions_is_a_fault() -> None:
    assert fault(Ranges([A])) == "nothing determines the range of 'i'"


def test_an_index_on_the_left_is_cut_at_zero() -> None:
    ranges = Ranges([LEFT], positions=[position(form(1, l=1), N)])
    assert solved(ranges) == {"l": "0 n - 1"}
    ranges = Ranges([LEFT], positions=[position(form(-1, l=1), N)])
    assert fault(ranges) == "0 is outside of the range of 'l': 1 to n"
    ranges = Ranges([LEFT], positions=[position(form(N - K, l=1), N)])
    assert "whether 0 is in the range of 'l' is not known" in fault(ranges)


def test_a_condition_narrows_a_range_where_that_is_safe() -> None:
    ranges = Ranges([A], positions=[position(form(i=1), N)])
    ranges.conditions.append((A, form(-1, i=1)))
    assert solved(ranges) == {"i": "1 n"}
    ranges = Ranges([A], positions=[position(form(i=1), N)])
    ranges.conditions.append((A, form(-K, i=1)))
    assert solved(ranges) == {"i": "0 n"}


def test_a_guard_proves_a_position() -> None:
    bounds = {A: Bounds(form(0), form(N)), B: Bounds(form(0), form(N))}
    difference = form(j=1, i=-1)
    bare = Ranges([A, B], bounds, [position(difference, N)])
    assert messages(bare) == ["'x[...]' needs n <= 1"]
    guarded = Ranges([A, B], bounds, [position(difference, N, difference)])
    assert messages(guarded) == []


def test_an_entry_of_an_index_array_is_bounded_by_its_dim() -> None:
    entry = Entry(Graph().input("row", [K], index=M), (A,), M)
    inside = [position(form(i=1), K), position(Form.atom(entry), M)]
    assert messages(Ranges([A], positions=inside)) == []
    apart = [position(form(i=1), K), position(Form.atom(entry), N)]
    assert messages(Ranges([A], positions=apart)) == ["'x[...]' needs m <= n"]


def test_an_index_beside_an_entry_stays_inside_for_all_entries() -> None:
    entry = Entry(Graph().input("row", [K], index=M), (A,), M)
    beside = Form.of([(entry, 1), (B, 1)])
    ranges = Ranges([A, B], positions=[position(form(i=1), K), position(beside, N + M)])
    assert solved(ranges) == {"i": "0 k", "j": "0 n + 1"}


def test_sizes_that_are_checked_need_no_masks() -> None:
    text = tensorgen.generate("""
tensorgen: 1
module: read
inputs: {y: [n]}
functions:
  differences[i]: y[i + 1] - y[i]
  f: {expr: "y * exp(differences[2])", wrt: y, emit: [value, jacobian]}
  g: {expr: "sum(y) * exp(differences[2])", wrt: y, emit: [problem]}
""")
    assert "'differences[2]' needs 4 <= n" in text
    functions, _, _ = text.partition("class _Scalable")
    assert "np.where" not in functions and "np.pad" not in functions
