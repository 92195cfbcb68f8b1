"""Masks that stand in several statements are made once, and only where they may."""

from __future__ import annotations

import pytest

from tensorgen.lower.names import Names
from tensorgen.lower.share_calls import share_calls

MASKED = "np.where(mask, x, 0)"

SHARED = {
    "inside of expressions": (
        [f"a = {MASKED}.sum(axis=0)", f"b = y @ {MASKED}"],
        [f"masked = {MASKED}", "a = masked.sum(axis=0)", "b = y @ masked"],
    ),
    "the name that it has": (
        [f"a = {MASKED}", f"b = y @ {MASKED}"],
        [f"a = {MASKED}", "b = y @ a"],
    ),
    "a call within a call": (
        ["a = np.triu(np.where(np.tri(n), x, 0)).T", "b = 2 * np.tri(n)"],
        ["mask = np.tri(n)", "a = np.triu(np.where(mask, x, 0)).T", "b = 2 * mask"],
    ),
    "no array that changes": (
        [f"a = y @ {MASKED}", "x[i, i] += 1", f"b = {MASKED}.sum()"],
        None,
    ),
    "no array that np.add.at changes": (
        [f"a = y @ {MASKED}", "np.add.at(x, i, 1)", f"b = {MASKED}.sum()"],
        None,
    ),
    "no value that is changed": (
        [f"a = {MASKED}", "a[i, i] -= 1", f"b = {MASKED}.sum()"],
        None,
    ),
    "no name twice": ([f"a = {MASKED}", f"b = {MASKED}"], None),
    "no other call": (["a = y @ np.zeros(n)", "b = z @ np.zeros(n)"], None),
}


@pytest.mark.parametrize("case", SHARED)
def test_a_mask_is_made_once(case: str) -> None:
    lines, expected = SHARED[case]
    found, returns = share_calls(lines, ["a", "b"], "np", Names(["a", "b", "mask_"]))
    assert (found, returns) == (expected or lines, ["a", "b"])


def test_results_stay_apart() -> None:
    returns = [MASKED, MASKED, f"{MASKED}.sum()", f"y @ {MASKED}"]
    lines, found = share_calls([], returns, "np", Names([]))
    assert lines == [f"masked = {MASKED}"]
    assert found == [MASKED, MASKED, "masked.sum()", "y @ masked"]
