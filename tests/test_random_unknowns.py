"""Derivatives of random graphs with unknowns, held against complex steps."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.calculus.derive import Direction, hessian, hvp, jacobian
from tensorgen.ir.nodes import topological
from tensorgen.operators.solved_arrays import is_unknown
from tests.ir.verify import verify
from tests.programs.graphs import RandomGraph
from tests.sampled import sampled
from tests.test_random_graphs import WANTED, agree, differentiated

MODES: tuple[tuple[Direction, Direction], ...] = (
    ("reverse", "forward"),
    ("forward", "reverse"),
)


def grow(seed: int, recurrent: bool) -> RandomGraph | None:
    """A graph that depends on an unknown, if the seed gives one."""
    grown = RandomGraph(seed, 5, recurrent, implicit=True)
    every = topological([grown.pool[-1]])
    return grown if any(is_unknown(x) for x in every) else None


@pytest.mark.parametrize("recurrent", [False, True])
@pytest.mark.parametrize("block", sampled(range(4), 2))
def test_both_modes_agree_with_complex_steps(block: int, recurrent: bool) -> None:
    met = 0
    for seed in range(20 * block, 20 * block + 20):
        grown = grow(seed, recurrent)
        if grown is None:
            continue
        met += 1
        node = grown.pool[-1]
        inputs = [grown.inputs[name] for name in WANTED]
        forward = jacobian(grown.graph, node, inputs, "forward")
        reverse = jacobian(grown.graph, node, inputs, "reverse")
        verify([*forward, *reverse])
        wanted = [differentiated(grown, node, name) for name in WANTED]
        for want, *got in zip(wanted, forward, reverse, strict=True):
            for value in grown.values(got):
                agree(value, want)
    assert met > 2


@pytest.mark.parametrize("block", sampled(range(4), 2))
def test_second_derivatives_agree_with_complex_steps_of_the_first(block: int) -> None:
    met = 0
    for seed in range(1000 + 12 * block, 1012 + 12 * block):
        grown = grow(seed, False)
        if grown is None:
            continue
        met += 1
        graph, last = grown.graph, grown.pool[-1]
        node = graph.einsum("abc"[: last.order] + "->", last)
        inputs = [grown.inputs[name] for name in WANTED]
        rows = jacobian(graph, node, inputs, "reverse")
        found = [hessian(graph, node, inputs, first, second) for first, second in MODES]
        directions = {
            x: graph.input("d" + k, x.dims) for k, x in zip(WANTED, inputs, strict=True)
        }
        numbers = np.random.default_rng(seed)
        more = {
            "d" + k: numbers.uniform(-1, 1, grown.arguments[k].shape) for k in WANTED
        }
        twice = grown.values(hvp(graph, node, inputs, directions), **more)
        for row, x, product in zip(rows, inputs, twice, strict=True):
            total = np.zeros(product.shape)
            for y, name in zip(inputs, WANTED, strict=True):
                want = differentiated(grown, row, name)
                for value in grown.values([blocks[x, y] for blocks in found]):
                    agree(value, want)
                along = more["d" + name]
                total = total + np.tensordot(want, along, along.ndim)
            agree(product, total)
    assert met > 1
