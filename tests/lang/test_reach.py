"""How far steps go, where only what reads them says it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError

EPIDEMIC = """tensorgen: 1
inputs: {p: [3], N: scalar, cases: [T]}
functions:
  nll:
    where: |
      beta = exp(p[0])
      S[0] = N - exp(p[2])
      I[0] = exp(p[2])
      new[t] = beta*S[t]*I[t]/N
      S[t + 1] = S[t] - new[t]
      I[t + 1] = I[t] + new[t] - exp(p[1])*I[t]
    expr: EXPR
    wrt: p
    emit: [value, gradient]
"""


def loops(p: Any, N: float, count: int) -> tuple[Any, Any]:
    """What is new, and the susceptible, by loops."""
    S, ill, new = np.zeros(count + 1), np.zeros(count + 1), np.zeros(count)
    S[0], ill[0] = N - np.exp(p[2]), np.exp(p[2])
    for t in range(count):
        new[t] = np.exp(p[0]) * S[t] * ill[t] / N
        S[t + 1] = S[t] - new[t]
        ill[t + 1] = ill[t] + new[t] - np.exp(p[1]) * ill[t]
    return new, S


def test_steps_go_as_far_as_is_read_and_slices_in_logarithms_are_read_once() -> None:
    spec = EPIDEMIC.replace("EXPR", "sum(new[:T] - cases*log(new[:T]))")
    assert "T**2" not in tensorgen.generate(spec)
    m = tensorgen.load(spec)
    p, cases = np.array([-0.5, -1.5, 1.0]), np.array([2.0, 3, 3, 5, 8, 9])
    new, _ = loops(p, 500.0, len(cases))
    value, slope = m.nll_value_and_grad(p, 500.0, cases)
    assert value == pytest.approx(np.sum(new - cases * np.log(new)), rel=1e-12)
    for k in range(3):
        e = 1e-5 * np.eye(3)[k]
        ends = [m.nll(p + x, 500.0, cases) for x in (e, -e)]
        assert slope[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)


def test_the_last_entry_that_is_read_is_the_last_step() -> None:
    m = tensorgen.load(EPIDEMIC.replace("EXPR", "S[T] + sum(cases)"))
    p, cases = np.array([-0.5, -1.5, 1.0]), np.zeros(4)
    _, S = loops(p, 500.0, 4)
    assert m.nll(p, 500.0, cases) == pytest.approx(S[4], rel=1e-12)


@pytest.mark.parametrize("expr", ["sum(S) + sum(cases)", "S[-1] + sum(cases)"])
def test_what_is_read_whole_says_nothing(expr: str) -> None:
    with pytest.raises(SpecError, match="nothing determines how far 't' goes"):
        tensorgen.generate(EPIDEMIC.replace("EXPR", expr))


@pytest.mark.parametrize("first", [True, False])
def test_what_steps_together_states_one_range(first: bool) -> None:
    lines = ["mid[t=range(T - 1)] = 2*u[t]", "u[t=range(1, T)] = u[t - 1] + mid[t - 1]"]
    lines = ["u[0] = u0", *(lines if first else lines[::-1])]
    text = (
        "tensorgen: 1\ninputs: {u0: scalar, y: [T]}\nfunctions:\n  f:\n    where: |\n"
        + "".join(f"      {line}\n" for line in lines)
        + "    expr: sum(u) + sum(y)\n"
    )
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(text)
    (found,) = caught.value.diagnostics
    assert "what steps together goes up to T" in found.message
    assert len(found.marks) == 2
