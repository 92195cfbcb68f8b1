"""Arrays along which axes may be exchanged, over any numbers."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from tensorgen.fields.symmetric_entries import exchangeable


@pytest.mark.parametrize("dtype", [float, int, object])
def test_all_orders_of_the_indices_have_one_entry(dtype: type) -> None:
    made: Any = np.arange(2 * 3 * 3 * 3, dtype=dtype).reshape(3, 2, 3, 3)
    found = exchangeable(made, [(0, 2, 3)])
    for order in permutations((0, 2, 3)):
        turned = found.transpose(order[0], 1, *order[1:])
        np.testing.assert_array_equal(turned, found)
    assert len({*found.ravel()}) == 2 * 10  # of three indices in 0 ... 2, as multisets
    assert {*found.ravel()} <= {*made.ravel()}


def test_groups_are_exchanged_each_by_itself() -> None:
    made = np.arange(2 * 2 * 3 * 3).reshape(2, 2, 3, 3)
    found = exchangeable(made, [(0, 1), (2, 3)])
    np.testing.assert_array_equal(found.transpose(1, 0, 2, 3), found)
    np.testing.assert_array_equal(found.transpose(0, 1, 3, 2), found)
    assert len({*found.ravel()}) == 3 * 6
    assert exchangeable(made, []) is made
