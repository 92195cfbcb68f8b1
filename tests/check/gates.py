"""The first pass after which a plan no longer computes what it did before.

    python -m tests.check.gates SPEC

compiles a spec with a gate behind each pass: the plans before and after it are computed
at random points modulo a prime, as the check of functions does it. This is for whoever
has a reproducer of that check, and asks which pass is to blame.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorgen import pipeline
from tensorgen.check.meaning import TooLarge
from tensorgen.check.sample_points import Domain, Point
from tensorgen.check.verdicts import _assembled
from tensorgen.errors import Source
from tensorgen.ir.nodes import Input, Size, topological
from tensorgen.passes.context import Context, Pass, Plan
from tensorgen.structure.stored import as_compressed

POINTS = 6
"""Points that are tried until one tells."""


class Guilty(Exception):
    """A pass changed what is computed; the text is its name."""


def guilty(source: Source) -> str | None:
    """Return the name of the first wrong pass, or None if there is none."""
    applied = Pass.applied

    def gated(law: Pass, context: Context, plan: Plan) -> list[Plan]:
        after = applied(law, context, plan)
        if not all(is_same(plan, other) for other in after):
            raise Guilty(law.name)
        return after

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pass, "applied", gated)
        try:
            pipeline.compile_spec(
                source, ["numpy"], "cross-country", False, checked=False
            )
        except Guilty as found:
            return str(found)
    return None


def is_same(before: Plan, after: Plan) -> bool:
    """Whether two plans have one value for each root, as far as points can tell."""
    nodes = topological([*before.roots, *after.roots])
    dims = [dim for node in nodes for dim in node.dims]
    dims += [node.value for node in nodes if isinstance(node, Size)]
    least = [x.index for x in nodes if isinstance(x, Input) and x.index is not None]
    symbols = sorted({s for dim in (*dims, *least) for s in dim.symbols})
    outside = True
    for point in islice(Domain(symbols, dims, least).points(False), POINTS):
        try:
            with np.errstate(all="ignore"):
                first, second = values(before, point), values(after, point)
        except (TooLarge, ValueError, IndexError):
            continue
        same = all(map(np.array_equal, first, second))
        if not point.field.outside:
            return same
        outside &= same  # some roots have no value: those made up agree even so
    return outside


def values(plan: Plan, point: Point) -> Sequence[Any]:
    """The value of each root of a plan."""
    found = []
    for part, tensor in zip(plan.parts, as_compressed(plan.tensors), strict=True):
        arrays = [point.field.of(point.meaning.of(node)) for node in part]
        found.append(arrays[0] if tensor is None else _assembled(tensor, arrays, point))
    return found


if __name__ == "__main__":
    (path,) = sys.argv[1:]
    print(guilty(Source(path, Path(path).read_text("utf-8"))) or "no pass is wrong")
