"""What functions over a batch compute: what is stated of one sample, for each alone.

So what is emitted is held against a loop over samples, of which none sees the others:
if a value depended on another sample than its own, it would differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tensorgen.check.meaning import Meaning
from tensorgen.check.sample_points import Point
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Input, Node
from tensorgen.operators.references import Array


@dataclass(frozen=True)
class Batch:
    """So many samples, `size`: the input that has all of what an input is for one."""

    size: Dim
    samples: Mapping[Node, Node]

    def stated(self, point: Point, nodes: Sequence[Node]) -> list[Array]:
        """Return the values of nodes of one sample, stacked along the first axis."""
        count = self.size.value(point.sizes)
        rows = [self._sample(point, at, nodes) for at in range(count)]
        return [np.stack(values) for values in zip(*rows, strict=True)]

    def _sample(self, point: Point, at: int, nodes: Sequence[Node]) -> list[Array]:
        def given(node: Input) -> Array:
            every = self.samples.get(node)
            if every is None:
                return point.input(node)
            assert isinstance(every, Input)
            return point.input(every)[at]

        meaning = Meaning(point.program, point.sizes, given)
        return [point.field.of(meaning.of(node)) for node in nodes]
