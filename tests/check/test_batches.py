"""No sample of a batch has a share in the values of another."""

from __future__ import annotations

from typing import Any

import pytest

from tensorgen.errors import InternalError
from tensorgen.plans import batches, planner
from tests.check.reports import reported

SPEC = """tensorgen: 1
inputs:
  x: {shape: [n], batch: [B]}
  y: {shape: scalar, batch: [B]}
  w: [n]
functions:
  f: {expr: 'log(1 + exp(-y * (w @ x)))', wrt: [x, w], emit: [value, gradient, hvp]}
"""


def test_all_functions_over_a_batch_are_held_against_each_sample() -> None:
    report = reported(SPEC)
    assert not report.unchecked
    assert {*report.exact, *report.floating} == {
        *("f", "f_grad", "f_value_and_grad", "f_hvp")
    }


def test_a_value_with_a_share_in_other_samples_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over = batches.over

    def mixed(graph: Any, batch: Any, nodes: Any, name: Any) -> Any:
        return [
            graph.product(
                range(x.order),
                [(x, ("other", *range(1, x.order)))],
                sizes=dict(enumerate(x.dims)),
            )
            for x in over(graph, batch, nodes, name)
        ]

    monkeypatch.setattr(planner, "over", mixed)
    with pytest.raises(InternalError, match="does not compute what calculus states"):
        reported(SPEC)
