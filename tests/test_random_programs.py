"""Random programs: generated modules agree with the program read by NumPy.

Each block of seeds is one test; a failure prints the spec, made smaller, and what is
wrong. `--seeds START:STOP` runs other programs than the usual ones.
"""

from __future__ import annotations

import traceback
from types import ModuleType

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tensorgen import load
from tests.programs.check import Expected, check
from tests.programs.oracle import joined
from tests.programs.shrink import shrink
from tests.programs.tree import RandomProgram
from tests.random_programs import program

MODES = ("cross-country", "reverse", "forward")


def modes(seed: int) -> tuple[str, ...]:
    """All modes for every third program, one in turn for the others."""
    return MODES if seed % 3 == 0 else (MODES[seed // 3 % 3],)


def faults(found: RandomProgram) -> list[str]:
    """What is wrong with the modules of a program."""
    expected = Expected(found)
    wrong = []
    for mode in modes(found.seed):
        try:
            module: ModuleType = load(found.text, mode=mode)
            wrong += [f"{mode}: {text}" for text in check(expected, module)]
        except Exception:
            wrong.append(f"{mode}: {traceback.format_exc(limit=-3)}")
    return wrong


def _kind(fault: str) -> str:
    """What is wrong, without the mode and the numbers."""
    lines = fault.partition(": ")[2].strip().splitlines()
    return lines[-1] if "Traceback" in lines[0] else lines[0]


def report(found: RandomProgram) -> str:
    """The smallest program found that fails like this one, and how it fails."""
    kinds = {_kind(fault) for fault in faults(found)}

    def fails_alike(candidate: RandomProgram) -> bool:
        return any(_kind(fault) in kinds for fault in faults(candidate))

    small = shrink(found, fails_alike, 40)
    arguments = {name: small.arguments[name] for name in small.used}
    text = [f"seed {found.seed}:", small.text, f"{arguments}", *faults(small)]
    return "\n".join(text)


def test_values_and_derivatives_of_random_programs(seeds: range) -> None:
    failing = [found for seed in seeds if faults(found := program(seed))]
    if failing:
        others = [found.seed for found in failing]
        pytest.fail(f"seeds {others} fail\n{report(failing[0])}", pytrace=False)


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
    for seed in (5, 105, 205):
        expected = Expected(program(seed))
        found, order = expected.program, expected.value.ndim
        first, second = jax_meaning.derivatives(found, expected.direction)
        got = [
            joined([parts[n] for n in found.wrt], order) for parts in (first, second)
        ]
        assert_allclose(jax_meaning.value(found), expected.value, rtol=1e-9, atol=1e-10)
        assert_allclose(got[0], expected.jacobian, rtol=1e-9, atol=1e-10)
        assert_allclose(got[1], expected.second, rtol=1e-9, atol=1e-10)


def test_a_failing_program_is_made_smaller_and_keeps_failing() -> None:
    found = next(p for p in map(program, range(99)) if "tanh" in p.text and p.where)
    small = shrink(found, lambda candidate: "tanh" in candidate.text)
    assert "tanh" in small.text
    assert len(small.text) < len(found.text)
