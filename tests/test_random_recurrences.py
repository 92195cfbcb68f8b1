"""Derivatives of random graphs with recurrences, held against complex steps."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.calculus.derive import Direction, hessian, hvp, jacobian
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import topological
from tensorgen.operators.recurrences.recurrence import State, is_recurrence, recurrence
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.stable import StableForms
from tensorgen.passes.context import Context
from tensorgen.passes.optimise import optimise
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify
from tests.lower.support import check
from tests.programs.graphs import SIZES, RandomGraph
from tests.sampled import sampled
from tests.test_random_graphs import WANTED, agree, differentiated, keeps_values

MODES: tuple[tuple[Direction, Direction], ...] = (
    ("reverse", "forward"),
    ("forward", "reverse"),
)


@pytest.mark.parametrize("block", sampled(range(8), 2))
def test_both_modes_agree_with_complex_steps(block: int) -> None:
    met = 0
    for seed in range(12 * block, 12 * block + 12):
        grown = RandomGraph(seed, 5, recurrent=True)
        node = grown.pool[-1]
        met += any(is_recurrence(x) for x in topological([node]))
        inputs = [grown.inputs[name] for name in WANTED]
        forward = jacobian(grown.graph, node, inputs, "forward")
        reverse = jacobian(grown.graph, node, inputs, "reverse")
        verify([*forward, *reverse])
        wanted = [differentiated(grown, node, name) for name in WANTED]
        for want, *got in zip(wanted, forward, reverse, strict=True):
            for value in grown.values(got):
                agree(value, want)
    assert met > 1


@pytest.mark.parametrize("block", sampled(range(4), 2))
def test_second_derivatives_agree_with_complex_steps_of_the_first(block: int) -> None:
    for seed in range(1000 + 8 * block, 1008 + 8 * block):
        grown = RandomGraph(seed, 4, recurrent=True)
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
                verify([blocks[x, y] for blocks in found])
                for value in grown.values([blocks[x, y] for blocks in found]):
                    agree(value, want)
                along = more["d" + name]
                total = total + np.tensordot(want, along, along.ndim)
            agree(product, total)


@pytest.mark.parametrize("block", sampled(range(6), 3))
@pytest.mark.parametrize("cross_country", [True, False])
def test_plans_keep_the_values_of_their_roots(block: int, cross_country: bool) -> None:
    for seed in range(3000 + 8 * block, 3008 + 8 * block):
        keeps_values(RandomGraph(seed, 5, recurrent=True), cross_country)


@pytest.mark.parametrize("block", sampled(range(8), 2))
def test_code_computes_what_the_nodes_mean(block: int) -> None:
    for seed in range(5000 + 8 * block, 5008 + 8 * block):
        grown = RandomGraph(seed, 5, recurrent=True)
        graph, node = grown.graph, grown.pool[-1]
        check(graph, [node, *grown.pool[-3:-1]], SIZES, seed)
        inputs = [grown.inputs[name] for name in WANTED]
        roots = [node, *jacobian(graph, node, inputs, "reverse")]
        plan = optimise(Context(graph, cross_country=bool(seed % 2)), [roots])
        dtype = "float32" if seed % 5 == 0 else "float64"
        check(graph, plan.roots, SIZES, seed, dtype)


def test_steps_within_steps_are_carried_along_by_steps() -> None:
    graph, n = Graph(StableForms()), Dim.of("n")
    x, own, inner = graph.input("x", (n,)), *(graph.fresh((n,), (), None) for _ in "ab")
    twice = State(inner, own, graph.scale(inner, 2))
    made = recurrence(graph, Dim.of(3), False, [twice], {}).last(graph, 0)
    bounded = graph.map("sin", (0,), [(own, (0,))])
    whole = recurrence(graph, Dim.of(4), False, [State(own, x, bounded)], {}, [made])
    rows = whole.made(graph, 0)
    given = np.array([0.4, -0.7])

    def at(values: np.ndarray) -> np.ndarray:
        (found,) = evaluate([rows], {"x": values}, FUNCTIONS, OPERATORS, {"n": 2})
        return np.asarray(found)

    want = np.stack([at(given + 1e-30j * e).imag / 1e-30 for e in np.eye(2)], axis=-1)
    modes: tuple[Direction, ...] = ("forward", "reverse")
    for mode in modes:
        (slope,) = jacobian(graph, rows, [x], mode)
        (got,) = evaluate([slope], {"x": given}, FUNCTIONS, OPERATORS, {"n": 2})
        agree(got, want)
