"""What pieces of a function compute together, where rows come in blocks.

Rounds are gone through as their callers do: what starts one, what each block of a
random cut gives, how that is joined. So the last piece is held against the function as
it is stated for all rows at once, and the cut is checked with what is emitted of it.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tensorgen.check.meaning import Meaning
from tensorgen.check.sample_points import Point
from tensorgen.ir.nodes import Input, Node
from tensorgen.operators.references import Array
from tensorgen.passes.row_places import RowAxis

ALGEBRA = {"add": operator.add, "multiply": operator.mul}


@dataclass(frozen=True)
class Round:
    """What starts a round, by its name, and the total of each name, `of` one block."""

    start: Mapping[str, Node]
    of: Mapping[str, Node]
    steps: Sequence[str]


@dataclass(frozen=True)
class Composition:
    """The rounds before a piece; `counts` are the numbers of all rows, by name.

    The number of the first row of a block is called `first`.
    """

    axis: RowAxis
    rounds: Sequence[Round]
    counts: Mapping[str, str]
    first: str

    def values(self, point: Point) -> dict[str, Array]:
        """What the rounds have made, at a point where all rows are known."""
        known: dict[str, Array] = {}
        sizes = {**point.sizes, **self._counted(point)}
        for own in self.rounds:
            whole = _meaning(point, sizes, known)
            known |= {name: whole.of(node) for name, node in own.start.items()}
            found = [  # no rows give zeros of another kind of number
                {name: point.field.of(block.of(node)) for name, node in own.of.items()}
                for block in self._blocks(point, sizes, known)
            ]
            total, *others = found
            for other in others:
                total = {
                    name: _joined(point, step, name, total, other)
                    for name, step in zip(own.of, own.steps, strict=True)
                }
            known |= total
        return known | self._counted(point) | ({self.first: 0} if self.first else {})

    def _counted(self, point: Point) -> dict[str, int]:
        return {name: point.sizes[size] for size, name in self.counts.items()}

    def _blocks(
        self, point: Point, sizes: Mapping[str, int], known: Mapping[str, Array]
    ) -> Iterator[Meaning]:
        """What nodes mean in each block of a random cut; one block may be empty."""
        rng, count = random.Random(f"blocks {point.seed}"), sizes[self.axis.size]
        cuts = sorted(rng.randint(0, count) for _ in range(2))
        for start, stop in zip([0, *cuts], [*cuts, count], strict=True):
            yield self._block(point, sizes, known, start, stop)

    def _block(
        self,
        point: Point,
        sizes: Mapping[str, int],
        known: Mapping[str, Array],
        start: int,
        stop: int,
    ) -> Meaning:
        own = {self.axis.size: np.arange(start, stop)}
        for size, node in self.axis.along.items():
            assert isinstance(node, Input)
            rows = point.input(node)
            own[size] = np.flatnonzero((rows >= start) & (rows < stop))
        inside = {**sizes, **{size: len(places) for size, places in own.items()}}

        def given(node: Input) -> Array:
            if node.name == self.first:
                return point.field.of(start)
            value = known[node.name] if node.name in known else point.input(node)
            for axis, dim in enumerate(node.dims):
                if str(dim) in own:
                    value = value.take(own[str(dim)], axis=axis)
            return value - start if node in self.axis.along.values() else value

        return Meaning(point.program, inside, given)


def _meaning(
    point: Point, sizes: Mapping[str, int], known: Mapping[str, Array]
) -> Meaning:
    def given(node: Input) -> Array:
        return known[node.name] if node.name in known else point.input(node)

    return Meaning(point.program, sizes, given)


def _joined(
    point: Point,
    step: str,
    name: str,
    first: Mapping[str, Array],
    second: Mapping[str, Array],
) -> Array:
    """One total of the rows of both; sums of exponentials are above another one."""
    field, function = point.field, point.meaning.function
    _, _, above = step.partition(" ")
    if not above:
        parts = first[name], second[name]
        if step in ALGEBRA:
            return field.reduced(ALGEBRA[step](*parts))
        return function(step)(*parts)
    level = function("level")(function("maximum")(first[above], second[above]))
    shares = (
        one[name] * function("exp")(field.reduced(field.of(one[above]) - level))
        for one in (first, second)
    )
    return field.reduced(sum(shares))
