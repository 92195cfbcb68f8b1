"""What pairs of logistic functions do to the planned cost: as one they lower it."""

from __future__ import annotations

from pathlib import Path

from tensorgen.errors import Source
from tensorgen.explanation.passes import changes
from tensorgen.explanation.subjects import explained
from tensorgen.passes.cost import CostModel

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_slope_is_planned_for_less_than_two_logistic_functions() -> None:
    path = EXAMPLES / "logistic_regression.yaml"
    source = Source(path.name, path.read_text(encoding="utf-8"))
    pairs = []
    for subject in explained(source, in_all_modes=False).subjects:
        cost = CostModel(subject.hints).total
        steps = [x for x in changes(subject) if x[0].name == "pair_slopes"]
        pairs += [(cost(before.roots), cost(after.roots)) for _, before, after in steps]
    assert pairs
    assert all(after < before for before, after in pairs)
