"""Selections whose branches meet are clips, with the same values everywhere."""

from __future__ import annotations

import inspect
import re
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

import tensorgen
from tensorgen.passes import optimise
from tests.made import functions, generate, load, source

HEAD = """tensorgen: 1
module: selections
inputs:
  x: [n]
  w: [n]
  c: {shape: scalar, positive: true}
  u: scalar
functions:
"""
HUBER = {
    "by_size": "where(abs(x) <= c, x**2/2, c*abs(x) - c**2/2)",
    "by_size_turned": "where(c < abs(x), c*(abs(x) - c/2), x**2/2)",
    "by_place": "where(x > c, c*x - c**2/2, where(x < -c, -c*x - c**2/2, x**2/2))",
    "by_place_turned": "where(x < -c, -c*x - c**2/2, where(x > c, c*x - c**2/2,"
    " x**2/2))",
    "by_name": "huber(x, c)",
    "by_clip": "clip(x, -c, c)*(x - clip(x, -c, c)/2)",
}
MEETING = {
    "leaky": "w * where(x > 0, x, 0.1*x)",
    "exponential": "elu(x)",
    "hinge": "where(x < 1, 1 - x, 0)",
    "squared_hinge": "where(x < 1, (1 - x)**2, 0)",
    "smooth_hinge": "where(x >= 1, 0, where(x <= 0, 1/2 - x, (1 - x)**2/2))",
    "insensitive": "where(abs(x) <= c, 0, abs(x) - c)",
    "soft": "where(abs(x) <= c, 0, x - c*sign(x))",
    "quantile": "where(x >= 0, u*x, (u - 1)*x)",
    "biweight": "where(abs(x) <= 3, 1 - (1 - x**2/9)**3, 1)",
    "asymmetric": "where(x > 2, 2*x - 2, where(x < -1, -x - 1/2, x**2/2))",
    "nan_above": "where(x < -c, -c, where(x <= c, x, c))",
    "nan_below": "where(x > c, c, where(x >= -c, x, -c))",
    "unsigned": "huber(x, u)",
    "unsigned_slope": "where(abs(x) <= u, x, u*sign(x))",
    "quartic": "where(abs(x) <= 1, x**4/4 + x**2/2, 2*abs(x) - 5/4)",
}
APART = {
    # Branches differ at the bound, a derivative jumps.
    "jumps": "where(abs(x) <= 1, x**2, 2*abs(x) - 5/4)",
    # NaN is compared like what is large: the other branch, which a minimum would lose.
    "unpromised": "where(x <= u, x, u)",
    "unpromised_size": "where(abs(x) > u, u*sign(x), x)",
    "data": "where(x < w, w, x)",
    # What stands beside 0 is read nowhere else, and may be NaN there.
    "weights": "where(x < 1, w*(1 - x), 0)",
    "slopes": "where(x <= 0, 0, w*x)",
    # Small numbers lose their digits where 1000 is added to them.
    "far": "where(x < -1000, (x + 1000)**2 - 1000, x)",
}
POINTS = [-np.inf, -1e200, -1e6, -3, -2, -1.25, -1, -0.5, -1e-20, -0.0]
ALL = np.array([*POINTS, *(-x for x in POINTS), np.nan])


def spec(expressions: dict[str, str]) -> str:
    """Each expression as a function, and its sum as one with derivatives."""
    lines = [
        f"  {name}: {{expr: '{text}'}}\n"
        f"  {name}_sum: {{expr: 'sum({text})', wrt: x, emit: [value, gradient, "
        "hessian]}"
        for name, text in expressions.items()
    ]
    return HEAD + "\n".join(lines)


MODULE = spec(HUBER | MEETING)


def arguments(function: Any, x: Any, w: float = 0.7, u: float = 0.7) -> dict[str, Any]:
    """A value of each parameter."""
    given = {"x": x, "w": np.full(len(x), w), "c": 1.25, "u": u}
    return {name: given[name] for name in inspect.signature(function).parameters}


def body(module: str, name: str) -> str:
    """The statements of a function, and of what it shares with others."""
    return re.sub(r'"""[\s\S]*?"""', "", source(module, name))


@pytest.mark.parametrize("name", HUBER)
def test_a_square_with_its_tangents_is_one_clip_however_it_is_written(
    name: str,
) -> None:
    text = generate(MODULE)
    own = body(text, f"{name}_sum_value_and_grad")
    assert "where" not in own and own.count("np.clip(x, -c, c)") == 1, own
    assert "sign" not in own, own
    assert "grad @ (x - 0.5 * grad)" in own.replace("clipped", "grad"), own
    assert "where" not in body(text, f"{name}_sum_value_grad_hess")


@pytest.fixture(scope="module")
def selections() -> Any:
    """The module whose selections stay as they are."""
    rows = [*optimise.PASSES]
    places = [k for k, row in enumerate(rows) if row.name == "clip_selections"]
    for k in places:
        rows[k] = replace(rows[k], run=lambda context, plan: plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(optimise, "PASSES", tuple(rows))
        return tensorgen.load(MODULE)


@pytest.mark.parametrize("name", [*HUBER, *MEETING])
def test_selections_that_meet_keep_values_and_derivatives(
    name: str, selections: Any
) -> None:
    text = generate(MODULE)
    assert "where(" not in body(text, name)
    for function in (name, f"{name}_sum_grad", f"{name}_sum_hess"):
        with np.errstate(all="ignore"):
            found, expected = (
                own(**arguments(own, ALL))
                for module in (load(MODULE), selections)
                for own in [getattr(module, function)]
            )
        if function.endswith("hess"):
            found, expected = found.diagonal(), expected.diagonal()
        # What is no finite number may meet a zero where nothing is clipped.
        lost = ~np.isfinite(ALL) & np.isnan(expected)
        found, expected = (np.where(lost, 0, x) for x in (found, expected))
        np.testing.assert_allclose(found, expected, rtol=4e-15, atol=0)


@pytest.mark.parametrize("u", [-1.0, 0.0, np.inf, np.nan])
@pytest.mark.parametrize("name", ["unsigned", "unsigned_slope"])
def test_a_bound_without_a_sign_may_have_any(
    name: str, u: float, selections: Any
) -> None:
    text = body(generate(MODULE), f"{name}_sum")
    assert "where(" not in text and "np.minimum(" in text, text
    # Of an infinite x nothing is said at an infinite bound.
    x = ALL[~np.isinf(ALL)] if np.isinf(u) else ALL
    for function in (name, f"{name}_sum_grad", f"{name}_sum_hess"):
        with np.errstate(all="ignore"):
            found, expected = (
                own(**arguments(own, x, u=u))
                for module in (load(MODULE), selections)
                for own in [getattr(module, function)]
            )
        if function.endswith("hess"):
            found, expected = found.diagonal(), expected.diagonal()
        np.testing.assert_allclose(found, expected, rtol=4e-15, atol=0)


def test_small_and_large_numbers_keep_their_digits() -> None:
    x = np.array([1e-200, 3e-9, 0.1, 1.25, 4.0, 1e9, 1e200])
    value = load(MODULE).by_size(x, c=1.25)
    for one, own in zip(x, value, strict=True):
        with mpmath.workdps(500):
            t = min(mpmath.mpf(one), mpmath.mpf(1.25))
            exact = t * (mpmath.mpf(one) - t / 2)
        assert abs(own - exact) <= 4e-16 * exact + np.finfo(float).tiny


@pytest.mark.parametrize("name", APART)
def test_a_selection_stays_where_a_clip_is_another_function(name: str) -> None:
    module = generate(spec(APART))
    own = functions(module)
    # Another formula may read this one: both call a private function then.
    assert "np.where(" in own.get(f"_{name}", body(module, name))


def test_what_a_selection_leaves_out_is_not_read() -> None:
    module = load(spec(APART))
    x = np.array([2.0, 2.0, -1.0])
    assert not module.weights(**arguments(module.weights, x, np.nan))[:2].any()
    assert not module.slopes(**arguments(module.slopes, -x, np.inf))[:2].any()


def test_derivatives_at_the_bound_are_those_of_the_branch() -> None:
    # A minimum would share them: one half of each.
    for name in ("by_size", "by_place"):
        hess = getattr(load(MODULE), f"{name}_sum_hess")
        d = hess(np.array([-1.25, 0.0, 1.25, 1.5]), c=1.25).diagonal()
        np.testing.assert_array_equal(d, [1, 1, 1, 0])
    grad = load(MODULE).hinge_sum_grad(np.array([0.9, 1.0, 1.1]))
    np.testing.assert_array_equal(grad, [-1, 0, 0])


def test_who_reads_a_selection_does_not_see_the_exponentials_in_it() -> None:
    # Each step would have a level of its own then, and add up all that came before.
    text = """tensorgen: 1
inputs: {Q: [T, d], K: [T, d]}
definitions: "phi(x) = elu(x) + 1"
functions:
  f:
    where: |
      z[0] = phi(K[0])
      z[t] = z[t - 1] + phi(K[t])
    expr: sum(1/(sum(phi(Q[t, i])*z[t, i], i) + 1e-6), t)
"""
    assert "T**2" not in generate(text)
    x = np.random.default_rng(0).normal(size=(2, 5, 3))
    q, k = np.where(x > 0, x, np.expm1(x)) + 1
    expected = (1 / ((q * np.cumsum(k, axis=0)).sum(axis=1) + 1e-6)).sum()
    assert load(text).f(*x) == pytest.approx(expected, rel=1e-14)
