"""Naive texts that are promised to be sound are, at arguments from 1e-9 to 10,000.

`make fuzz-extremes` runs many more of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorgen.operators.helpers.helper_table import HELPERS
from tests.extremes import judge, low_rank
from tests.extremes.grow import program
from tests.extremes.tree import smaller

FOUND = (26, 56, 131, 193, 225, 229, 251, 277, 285, 311, 414)
"""Seeds of texts that once overflowed, cancelled or came out wrong."""


@pytest.mark.parametrize("seed", FOUND)
def test_texts_that_are_promised_are_sound(seed: int) -> None:
    found = program(seed)
    assert found.tree.is_promised
    assert not list(judge.faults(found)), found.spec


@pytest.mark.parametrize(
    ("planted", "kind"),
    [(1 + 1e-6, "value is wrong"), (np.nan, "value is not finite")],
)
def test_what_is_wrong_is_found(
    planted: float, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = judge.generated

    def wrong(module: Any, inputs: judge.Inputs) -> list[float]:
        value, *rest = right(module, inputs)
        return [value * planted, *rest]

    monkeypatch.setattr(judge, "generated", wrong)
    assert kind in {fault.kind for fault in judge.faults(program(131))}


def test_what_is_wrong_is_made_smaller() -> None:
    texts = {candidate.tree.text for candidate in smaller(program(131))}
    assert "sum(log(cosh(x[i])), i)" in texts


def test_sums_with_low_rank_are_right_whatever_their_base_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not list(low_rank.faults(0))
    heedless = """
class _CancellationError(np.linalg.LinAlgError):
    \"\"\"Never raised.\"\"\"


def _capacitance(K: Array, *others: Any) -> Array:
    \"\"\"Return K.\"\"\"
    return K
"""
    monkeypatch.setitem(HELPERS, "_capacitance", heedless)
    assert list(low_rank.faults(0))
