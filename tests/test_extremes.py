"""Naive texts that are promised to be sound are, at arguments from 1e-9 to 10,000.

`make fuzz-extremes` runs many more of them.
"""

from __future__ import annotations

import pytest

from tensorgen.emit import layout
from tests.extremes import judge
from tests.extremes.grow import program
from tests.extremes.tree import smaller

FOUND = (26, 56, 131, 193, 225, 229, 251, 277, 285, 311, 414)
"""Seeds of texts that once overflowed, cancelled or came out wrong."""


@pytest.fixture(autouse=True)
def plain_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave modules as the templates make them: layout takes a third of the time."""
    monkeypatch.setattr(layout, "layout", lambda source: source)


@pytest.mark.parametrize("seed", FOUND)
def test_texts_that_are_promised_are_sound(seed: int) -> None:
    found = program(seed)
    assert found.tree.is_promised
    assert not list(judge.faults(found)), found.spec


def test_what_is_wrong_is_found_and_made_smaller() -> None:
    found = program(18)  # log(sigmoid(x + 1) - sigmoid(x - 1)): not promised
    assert not found.tree.is_promised
    kinds = {fault.kind for fault in judge.faults(found)}
    assert kinds & {"value is wrong", "value is not finite"}
    texts = {candidate.tree.text for candidate in smaller(program(131))}
    assert "sum(log(cosh(x[i])), i)" in texts
