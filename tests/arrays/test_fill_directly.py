"""Entries of steps are stored where they go, and read in one step."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.fill_directly import composed, filled_directly
from tensorgen.arrays.operations import Copy, Index, Number
from tensorgen.arrays.places import WHOLE, At, Entries, Limit, Slice
from tensorgen.arrays.statements import Let, Statement, Store
from tensorgen.ir.dims import Dim
from tests.made import source

SPEC = """tensorgen: 1
inputs: {q: [2], a: scalar, b: scalar, obs: [T]}
functions:
  f:
    where: |
      s[0, :] = stack([a, b])
      s[t=range(1, T + 1), :] = stack([STEP])
    expr: sum((s[1:, 0] - obs)**2)
    wrt: [q, a]
    emit: [value, gradient, hessian]
"""
STEPS = {
    "a pendulum": "s[t - 1, 0] + 0.1*s[t - 1, 1], s[t - 1, 1] - q[0]*sin(s[t - 1, 0])",
    "an exchange": "q[1]*s[t - 1, 1], q[0]*s[t - 1, 0] + 0.2*s[t - 1, 1]",
    "one is kept": "s[t - 1, 0] + q[0]*obs[t - 1] + q[1], s[t - 1, 1]",
}


def steps(step: str, q: Any, a: float, b: float, obs: Any) -> float:
    """What the function is, by a loop."""
    s = np.zeros((len(obs) + 1, 2))
    s[0] = a, b
    code = compile(step, "step", "eval")
    for t in range(1, len(s)):
        s[t] = eval(code, {"s": s, "q": q, "t": t, "sin": np.sin, "obs": obs})
    return float(np.sum((s[1:, 0] - obs) ** 2))


@pytest.mark.parametrize("name", STEPS)
def test_a_step_makes_no_array_and_is_what_its_loop_is(name: str) -> None:
    value = source(tensorgen.generate(SPEC.replace("STEP", STEPS[name])), "f")
    loop = value[value.index("for t in") : value.index("return")]
    assert "np.zeros" not in loop and "][" not in loop
    assert re.search(r"s\[t \+ 1, 0\] = ", loop) and re.search(r"s\[0, 1\] = b", value)
    m = tensorgen.load(SPEC.replace("STEP", STEPS[name]))
    rng = np.random.default_rng(0)
    given: tuple[Any, ...] = (rng.normal(size=2), 0.3, -0.2, rng.normal(size=7))
    assert m.f(*given) == pytest.approx(steps(STEPS[name], *given), rel=1e-12)
    q, *rest = given
    gradient = m.f_grad(*given)
    for k in range(2):
        e = 1e-6 * np.eye(2)[k]
        ends = [steps(STEPS[name], q + x, *rest) for x in (e, -e)]
        assert gradient.q[k] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


def test_places_within_places_are_one_index() -> None:
    n, two = Dim.of("n"), Dim.of(2)
    row = Index((At(Limit(Dim.of("t"))),), (two,))
    entry = Index((At(Limit(Dim.of(1))),), ())
    one = composed(entry, row, 2)
    assert one == Index((*row.parts, *entry.parts), ())
    whole = Index((WHOLE, At(Limit(Dim.of(0)))), (n,))
    assert composed(Index((WHOLE,), (n,)), whole, 2) == whole
    part = Index((Slice(Limit(Dim.of(1))),), (n - 1,))
    assert composed(entry, part, 1) is None
    assert composed(entry, Index((Entries(),), (n,)), 1) is None


def test_a_filter_reads_numbers_and_its_likelihood_is_linear_in_time() -> None:
    spec = """tensorgen: 1
inputs: {th: [2], y: [T]}
functions:
  nll:
    where: |
      a[0] = 0
      P[0] = 1e4
      F[t] = P[t] + exp(th[0])
      v[t] = y[t] - a[t]
      a[t + 1] = a[t] + P[t]*v[t]/F[t]
      P[t + 1] = P[t]*exp(th[0])/F[t] + exp(th[1])
    expr: 0.5*sum(log(F[:T]) + v[:T]**2/F[:T])
    wrt: th
    emit: [value, gradient]
"""
    whole = tensorgen.generate(spec)
    text = source(whole, "nll")
    assert "F_t = P[t] + exp_th[0]" in text and "np.full" not in text
    assert "T**2" not in whole and "_finite" not in whole
    m = tensorgen.load(spec)
    rng = np.random.default_rng(1)
    th, y = np.array([-0.3, -1.2]), np.cumsum(rng.normal(size=9))

    def likelihood(th: Any) -> float:
        a, P, found = 0.0, 1e4, 0.0
        for one in y:
            F, v = P + np.exp(th[0]), one - a
            found += 0.5 * (np.log(F) + v**2 / F)
            a, P = a + P * v / F, P * np.exp(th[0]) / F + np.exp(th[1])
        return found

    value, slope = m.nll_value_and_grad(th, y)
    assert value == pytest.approx(likelihood(th), rel=1e-12)
    for k in range(2):
        e = 1e-5 * np.eye(2)[k]
        numeric = (likelihood(th + e) - likelihood(th - e)) / 2e-5
        assert slope[k] == pytest.approx(numeric, rel=1e-6)


def copied_and_changed(*others: Statement) -> Code:
    """A copy of x with another entry, which a row of z becomes, and what is between."""
    x, y = (variable(name, VECTOR, base=name) for name in "xy")
    z = variable("z", (Dim.of("n"), *VECTOR), base="z")
    first = Index((At(Limit(Dim.of(0))),), ())
    row = Index((At(Limit(Dim.of("t"))),), VECTOR)
    lines = (
        Let("y", array(Copy(), x)),
        *others,
        Store(y, first, (), "=", array(Number(Fraction(1)))),
        Store(z, row, (), "=", y),
    )
    return Code(lines, (z,))


VECTOR = (Dim.of("m"),)


@pytest.mark.parametrize("name", ["x", "v"])
def test_what_is_copied_before_it_changes_is_copied_there(name: str) -> None:
    whole = Index((WHOLE,), VECTOR)
    own = variable(name, VECTOR, base="x")  # x, or a view of it
    other = variable("w", VECTOR, base="w")
    changes = [
        Store(one, whole, (), "*=", array(Number(Fraction(2)))) for one in (other, own)
    ]
    plain = copied_and_changed()
    assert filled_directly(plain) != plain
    assert filled_directly(copied_and_changed(changes[0])).statements[0] == changes[0]
    kept = copied_and_changed(*changes)
    assert filled_directly(kept) == kept


def test_a_row_of_a_matrix_by_entries_is_no_array() -> None:
    spec = """tensorgen: 1
inputs: {a: [3], x: [2]}
functions:
  f:
    where: |
      L[0, 0] = a[0]
      L[0, 1] = 0
      L[1, 0] = a[1]
      L[1, 1] = a[2]
    expr: sum((L @ L.T @ x)**2)
    wrt: a
    emit: [value, gradient]
"""
    value = source(tensorgen.generate(spec), "f")
    assert "L[1, 0] = a[1]" in value and "L[1, 1] = a[2]" in value
    assert value.count("np.zeros") == 1
    given = np.array([1.5, -0.4, 0.7]), np.array([0.3, 2.0])
    L = np.array([[1.5, 0], [-0.4, 0.7]])
    wanted = np.sum((L @ L.T @ given[1]) ** 2)
    assert tensorgen.load(spec).f(*given) == pytest.approx(wanted, rel=1e-12)
