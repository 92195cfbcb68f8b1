"""Recurrences that make the same large arrays walk together; others do not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.made import generate, load, source

Array = Any

CHAIN = """
tensorgen: 1
inputs: {{U: [T, K], S: [K, K]}}
functions:
  f:
    where: |
      alpha[0, j] = U[0, j]
      alpha[t + 1, j] = {step} + U[t + 1, j]
    expr: {end}
    wrt: {wrt}
    emit: [{emit}]
"""
LARGE = {"step": "logsumexp(alpha[t, i] + S[i, j], i)"}
END = {"end": "logsumexp(alpha[T - 1, j], j)"}
EVERY = {"end": "sum(alpha**2)"}
SMALL = {"step": "tanh(sum(alpha[t, i]*S[i, j], i))", "end": "sum(alpha**2)"}


def loops(text: str, function: str) -> list[str]:
    """The loops of a function."""
    code = text.split(f"def {function}(")[1].split("\ndef ")[0]
    return re.findall(r"    for t in .*\n((?:        .*\n)+)", code)


def chain(wrt: str, emit: str = "gradient, hvp", **parts: str) -> str:
    return CHAIN.format(wrt=wrt, emit=emit, **parts)


@pytest.mark.parametrize("wrt", ["U", "S", "[U, S]"])
def test_exponentials_of_a_step_are_made_once_a_sweep(wrt: str) -> None:
    steps = loops(generate(chain(wrt, **LARGE, **END)), "f_hvp")
    assert len(steps) == 2
    assert [step.count("np.exp(") for step in steps] == [1, 1]


@pytest.mark.parametrize("wrt", ["U", "S", "[U, S]"])
@pytest.mark.parametrize("end", [END, EVERY])
def test_together_they_are_what_they_are_apart(wrt: str, end: dict[str, str]) -> None:
    module: Any = load(chain(wrt, **LARGE, **end))
    rng = np.random.default_rng(0)
    given = {"U": rng.normal(size=(5, 3)), "S": rng.normal(size=(3, 3))}
    names = wrt.strip("[]").split(", ")
    along = {f"d{x}": rng.normal(size=given[x].shape) for x in names}
    found = module.f_hvp(**given, **along)
    step = 1e-5
    slopes = []
    for sign in (step, -step):
        moved = {x: given[x] + sign * along.get(f"d{x}", 0) for x in given}
        slopes.append(module.f_grad(**moved))
    if len(names) == 1:
        found, slopes = (found,), [(one,) for one in slopes]
    for got, above, below in zip(found, *slopes, strict=True):
        np.testing.assert_allclose(got, (above - below) / (2 * step), 1e-6, 1e-8)


def test_rows_that_are_kept_leave_loops_apart() -> None:
    # States, tangents, and one function of adjoints that is called for both of these.
    text = generate(chain("U", **SMALL))
    assert len(loops(text, "f_hvp")) == 2 and len(loops(text, "_f_steps")) == 1
    assert source(text, "f_hvp").count(" _f_steps(") == 2


def test_what_changes_less_often_is_not_walked_again() -> None:
    text = generate(chain("U", "problem", **LARGE, **END))
    steps = re.findall(r"        for t in .*\n((?:            .*\n)+)", text)
    along = [step for step in steps if "_dot" in step]
    assert along and not any("np.log(" in step for step in along)
