"""Random programs: generated modules agree with the program read by NumPy.

Each block of seeds is one test; a failure prints the spec, made smaller, and what is
wrong. `--seeds START:STOP` runs other programs than the usual ones.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.lang import elaborate
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.stable import StableForms
from tensorgen.spec.read import read_spec
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify
from tests.programs import meaning
from tests.programs.check import Expected
from tests.programs.judge import faults, report
from tests.programs.oracle import joined
from tests.programs.shrink import shrink
from tests.random_programs import program

SEEDS = "0:6"  # `.ci/run` goes on to 40


def test_values_and_derivatives_of_random_programs(seeds: range) -> None:
    failing = [found for seed in seeds if faults(found := program(seed))]
    if failing:
        others = [found.seed for found in failing]
        pytest.fail(f"seeds {others} fail\n{report(failing[0])}", pytrace=False)


@pytest.mark.parametrize("block", [range(0, 20), range(22, 42)], ids=str)
def test_elaborated_programs_are_lawful_and_mean_what_numpy_says(block: range) -> None:
    for seed in block:
        found = program(seed)
        graph = Graph(StableForms())
        spec = read_spec(Source(f"seed {seed}", found.text))
        elaborated = elaborate(spec, graph, Differentiate(graph))
        node = next(f.node for f in elaborated.functions if f.spec.name == "f")
        verify([node])
        (value,) = evaluate([node], found.arguments, FUNCTIONS, OPERATORS, found.sizes)
        want = meaning.value(found, found.arguments)
        assert_allclose(value, want, rtol=1e-9, atol=1e-11, err_msg=found.text)


def test_the_same_seed_gives_the_same_program() -> None:
    for seed in range(20):
        first, second = program(seed), program(seed)
        assert first.text == second.text
        for name, array in first.arguments.items():
            np.testing.assert_array_equal(array, second.arguments[name])


def test_the_oracle_agrees_with_jax_on_a_sample() -> None:
    jax = pytest.importorskip("jax")
    from tests.programs import jax_meaning

    jax.config.update("jax_enable_x64", True)
    for seed in (44, 63, 79):  # index arrays, conditions, derivatives among them
        expected = Expected(program(seed))
        found, order = expected.program, expected.value.ndim
        first, second = jax_meaning.derivatives(found, expected.direction)
        got = [
            joined([parts[n] for n in found.wrt], order) for parts in (first, second)
        ]
        assert_allclose(jax_meaning.value(found), expected.value, rtol=1e-9, atol=1e-10)
        assert_allclose(got[0], expected.jacobian, rtol=1e-9, atol=1e-10)
        along = got[1] @ expected.other
        assert_allclose(along, expected.second, rtol=1e-9, atol=1e-10)


def test_a_failing_program_is_made_smaller_and_keeps_failing() -> None:
    found = next(p for p in map(program, range(99)) if "tanh" in p.text and p.where)
    small = shrink(found, lambda candidate: "tanh" in candidate.text)
    assert "tanh" in small.text
    assert len(small.text) < len(found.text)
