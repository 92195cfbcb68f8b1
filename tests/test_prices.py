"""Modelled memory against what is measured, and functions against their other modes."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest

import tensorgen
from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import peak
from tensorgen.arrays.operations import AsFloat, MatMul, Triangle
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.passes.context import Context, Plan
from tensorgen.plans import compose_functions
from tensorgen.prices.thresholds import ELIDED
from tests.modelled import LISTED, Prices, cliffs, oversized
from tests.programs.structured import structured_program
from tests.random_programs import program

SEEDS = "0:2"  # `.ci/run` goes on
NEAR = 0.1
SIZES = {"m": 700, "n": 500, "k": 40}
HEAD = """
tensorgen: 1
inputs:
  X: [m, n]
  Y: [m, n]
  Z: [m, k, n]
  x: [n]
  q: {shape: [m], index: n}
functions:
  f:
"""
CASES = {
    "masks": "sum(where(X > 0.5, X*Y, 0)) + sum(relu(X - Y))",
    "temporaries": "sum((X*Y + X)*Y - exp(X)*2)",
    "gathers": "sum((X[q] - Y)**2*X[q])",
    "scatters": "sum(tanh(X[q])*Y)",
    "numbers": "sum(X[q]/2)",
    "copies": "sum(Z[i, j, l]*tanh(Z[i, p, l])*3, i, j, p, l) + sum(X)",
    "sides": "sum(1/(1 + (X - Y)**2)) + sum((X - (X*Y + 1))*Y)",
    "small": "sum((x*2 + sin(x))*x/(1 + x**2))",
}
CHAIN = """
tensorgen: 1
dims: {n: 1000, m: 10}
inputs: {A: [n, n], B: [n, n], C: [m, n], x: [n]}
functions:
  f: {expr: "C @ tanh(B @ tanh(A @ x))", wrt: x, emit: [dense_jacobian]}
"""
WINDOW = """
tensorgen: 1
inputs: {x: [n]}
functions:
  f: {expr: "sum(x**2)", emit: [value]}
"""


@pytest.mark.parametrize("name", CASES)
def test_the_modelled_peak_is_what_is_allocated(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    expr, wrt = CASES[name], next(x for x in ("X", "x") if x in CASES[name])
    text = f"{HEAD}    expr: {expr}\n    wrt: {wrt}\n    emit: [value, gradient]\n"
    data = {
        "X": rng.random((700, 500)),
        "Y": rng.random((700, 500)),
        "Z": rng.random((700, 40, 500)),
        "x": rng.random(500),
        "q": rng.integers(0, 500, 700),
    }
    # Functions as they are priced: none calls what others share.
    monkeypatch.setattr(compose_functions, "share_code", lambda *given: {})
    prices, module = Prices(text), tensorgen.load(text)
    for function in prices.codes:
        run = getattr(module, function)
        own = {x: data[x] for x in run.__code__.co_varnames if x in data}
        run(**own)  # what is made once is not counted
        tracemalloc.start()
        run(**own)
        measured = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        modelled = 8 * peak(prices.codes[function], prices.sizes(own), ELIDED)
        assert modelled == pytest.approx(measured, rel=NEAR, abs=4096), function


def test_no_random_program_costs_much_more_than_it_has_to(seeds: range) -> None:
    for seed in seeds:
        general, structured = program(seed).text, structured_program(seed).text
        for kind, text in {"general": general, "structured": structured}.items():
            told = cliffs(text)
            assert not told or f"{kind} {seed}" in LISTED, f"{told}\n{text}"


def test_a_plan_that_is_much_dearer_than_that_of_a_mode_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def dearest(context: Context, plans: Sequence[Plan]) -> Plan:
        return max(plans, key=lambda plan: context.price(plan.roots))

    assert cliffs(CHAIN) == []
    monkeypatch.setattr("tensorgen.plans.planner.cheapest", dearest)
    (told,) = cliffs(CHAIN)
    assert "times the work of the best mode" in told


def test_a_square_mask_for_a_sum_of_a_vector_is_told() -> None:
    prices = Prices(WINDOW)
    assert oversized(prices, WINDOW) == []
    n = Dim.of("n")
    mask = array(AsFloat(), array(Triangle(n, n, ZERO)))
    prices.codes["f"] = Code((), (array(MatMul(), mask, variable("x", (n,))),))
    assert oversized(prices, WINDOW) == ["f: an array of 333.3 times what it is of"]
