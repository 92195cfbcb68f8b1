"""What is computed, and how, depends on no name."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.statements import Statement, operands
from tensorgen.ir.graph import Graph
from tensorgen.lower.draft import Draft, Repeat, Result, Value
from tensorgen.lower.lowering import Lowering
from tensorgen.lower.plan import Plan
from tests.lower.support import RandomGraph

SIZES = {"n": 3, "m": 2, "k": 4}
Shape = tuple[object, ...]


def shape(one: Array) -> Shape:
    """What an array is made by, whatever variables are called."""
    op = (one.dims, one.kind) if isinstance(one.op, Variable) else one.op
    return op, *map(shape, one.args)


def shapes(draft: Draft, results: Sequence[Result]) -> list[Shape]:
    """What the steps of a draft and the results are made by."""

    def parts(step: Value | Statement | Repeat) -> Sequence[Array]:
        assert not isinstance(step, Repeat)
        return [step.array] if isinstance(step, Value) else operands(step)

    steps = [(type(step), *map(shape, parts(step))) for step in draft.steps]
    return [*steps, *(shape(result.array) for result in results)]


def drafted(seed: int) -> list[Shape]:
    """Draft a random graph."""
    grown = RandomGraph(seed, SIZES)
    roots, draft = grown.grow(9), Draft(slow_at=True)
    results = Lowering(Plan(grown.graph, roots), draft).run([True] * len(roots), ())
    return shapes(draft, results)


def test_long_names_change_no_call(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [drafted(seed) for seed in range(60)]
    plain = Graph.input

    def renamed(self: Graph, name: str, *args: object, **known: object) -> object:
        return plain(self, name + "_of_a_long_name_indeed", *args, **known)  # type: ignore[arg-type]

    monkeypatch.setattr(Graph, "input", renamed)
    assert [drafted(seed) for seed in range(60)] == expected
