"""Derivatives and plans of random graphs, held against the reference interpreter.

The graphs have what specs reach only by long ways: affine deltas in the middle of
products, indicators, diagonals of derivatives, sums that broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tensorgen.calculus.derive import hessian, hvp, jacobian, jvp, vjp
from tensorgen.ir.nodes import Node
from tensorgen.passes.context import Context
from tensorgen.passes.optimise import optimise
from tests.ir.verify import verify
from tests.programs.graphs import RandomGraph
from tests.sampled import sampled

Array = Any
STEP = 1e-30
WANTED = ("x", "B")


def differentiated(grown: RandomGraph, node: Node, name: str) -> Array:
    """The derivative of a node by an input, by complex steps of the interpreter."""
    argument = grown.arguments[name]
    columns = []
    for at in np.ndindex(argument.shape):
        stepped = argument.astype(complex)
        stepped[at] += 1j * STEP
        (value,) = grown.values([node], **{name: stepped})
        columns.append(np.imag(value) / STEP)
    return np.stack(columns, axis=-1).reshape((*np.shape(value), *argument.shape))


def agree(got: Array, want: Array) -> None:
    """The same to ten digits of the largest entry."""
    assert_allclose(got, want, rtol=0, atol=1e-10 * np.max(np.abs(want), initial=1))


@pytest.mark.parametrize("block", sampled(range(12), 2))
def test_both_modes_agree_with_complex_steps(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        grown = RandomGraph(seed)
        node = grown.pool[-1]
        inputs = [grown.inputs[name] for name in WANTED]
        forward = jacobian(grown.graph, node, inputs, "forward")
        reverse = jacobian(grown.graph, node, inputs, "reverse")
        verify([*forward, *reverse])
        wanted = [differentiated(grown, node, name) for name in WANTED]
        for want, *got in zip(wanted, forward, reverse, strict=True):
            for value in grown.values(got):
                agree(value, want)


@pytest.mark.parametrize("block", sampled(range(6), 2))
def test_second_derivatives_agree_with_complex_steps_of_the_first(block: int) -> None:
    for seed in range(1000 + 10 * block, 1010 + 10 * block):
        grown = RandomGraph(seed, 7)
        node = grown.graph.einsum("abc"[: grown.pool[-1].order] + "->", grown.pool[-1])
        inputs = [grown.inputs[name] for name in WANTED]
        rows = jacobian(grown.graph, node, inputs, "reverse")
        found = [
            hessian(grown.graph, node, inputs, first, second)
            for first in ("forward", "reverse")
            for second in ("forward", "reverse")
        ]
        for row, x in zip(rows, inputs, strict=True):
            for y, name in zip(inputs, WANTED, strict=True):
                want = differentiated(grown, row, name)
                verify([blocks[x, y] for blocks in found])
                for value in grown.values([blocks[x, y] for blocks in found]):
                    agree(value, want)


@pytest.mark.parametrize("block", sampled(range(6), 2))
def test_products_with_directions_contract_the_whole_derivatives(block: int) -> None:
    for seed in range(2000 + 10 * block, 2010 + 10 * block):
        grown = RandomGraph(seed, 7)
        graph, node = grown.graph, grown.pool[-1]
        inputs = [grown.inputs[name] for name in WANTED]
        steps = {
            x: graph.input("d" + k, x.dims) for k, x in zip(WANTED, inputs, strict=True)
        }
        cotangent = graph.input("ct", node.dims)
        numbers = np.random.default_rng(seed)
        more = {
            "d" + k: numbers.uniform(-1, 1, grown.arguments[k].shape) for k in WANTED
        }
        shape = grown.values([node])[0].shape
        more["ct"] = numbers.uniform(-1, 1, shape)
        tangent = jvp(graph, node, steps)
        pulled = vjp(graph, node, cotangent, inputs)
        verify([tangent, *pulled])
        got, *back = grown.values([tangent, *pulled], **more)
        full = [differentiated(grown, node, name) for name in WANTED]
        pairs = [(a, more["d" + k]) for a, k in zip(full, WANTED, strict=True)]
        agree(got, sum(np.tensordot(a, d, d.ndim) for a, d in pairs))
        for value, jac in zip(back, full, strict=True):
            agree(value, np.tensordot(more["ct"], jac, len(shape)))
        if not shape:
            blocks = hessian(graph, node, inputs, "reverse", "forward")
            twice = grown.values(hvp(graph, node, inputs, steps), **more)
            for x, value in zip(inputs, twice, strict=True):
                parts = grown.values([blocks[x, y] for y in inputs])
                terms = zip(parts, pairs, strict=True)
                agree(value, sum(np.tensordot(b, d, d.ndim) for b, (_, d) in terms))


def keeps_values(grown: RandomGraph, cross_country: bool) -> None:
    """Hold the plan of a node and its derivatives against these as they are stated."""
    node = grown.pool[-1]
    inputs = [grown.inputs[name] for name in WANTED]
    ways = [
        [node, *jacobian(grown.graph, node, inputs, mode)]
        for mode in ("forward", "reverse")
    ]
    plan = optimise(Context(grown.graph, cross_country=cross_country), ways)
    verify([*plan.roots, *plan.formulas])
    wanted = grown.values(ways[0])
    for planned in (plan.roots, plan.formulas):
        for got, want in zip(grown.values(list(planned)), wanted, strict=True):
            agree(got, want)


@pytest.mark.parametrize("block", sampled(range(6), 2))
@pytest.mark.parametrize("cross_country", [True, False])
def test_plans_keep_the_values_of_their_roots(block: int, cross_country: bool) -> None:
    for seed in range(3000 + 10 * block, 3010 + 10 * block):
        keeps_values(RandomGraph(seed), cross_country)
