"""Reductions over all entries that have a key, beside the same over rows of a mask."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.device.library import execute, stand_in
from tests.made import code_of

Array = Any

HEAD = """tensorgen: 1
inputs:
  x: [n]
  X: [n, k]
  W: [g, k]
  c: [g]
  C: [g, k]
  key: {shape: [n], index: g}
  pair: {shape: [n, k], index: g}
  mask: [g, n]
  masks: [g, n, k]
functions:
"""
REDUCTIONS = ["logsumexp", "max", "min", "prod", "mean", "sum", "norm"]
BODIES = {
    "vector": ("[q]", "x[i], i", "key[i] == q", "mask[q, i] > 0", "c"),
    "rows": ("[q, j]", "X[i, j], i", "key[i] == q", "mask[q, i] > 0", "C"),
    "gathered": (
        "[q, j]",
        "x[i] * W[key[i], j], i",
        "key[i] == q",
        "mask[q, i] > 0",
        "C",
    ),
    "two axes": ("[q]", "X[i, j], i, j", "key[i] == q", "mask[q, i] > 0", "c"),
    "matrix of keys": (
        "[q]",
        "X[i, j], i, j",
        "pair[i, j] == q",
        "masks[q, i, j] > 0",
        "c",
    ),
    "condition": (
        "[q]",
        "x[i], i",
        "(key[i] == q) & (X[i, 0] > -0.3)",
        "(mask[q, i] > 0) & (X[i, 0] > -0.3)",
        "c",
    ),
    "shifted": (
        "[q=range(g - 1)]",
        "x[i], i",
        "key[i] == q + 1",
        "mask[q + 1, i] > 0",
        "c[1:]",
    ),
}


# The first reduction is taken of all bodies, the first body by all reductions.
CASES = [
    pytest.param(
        body,
        reduction,
        marks=[pytest.mark.thorough] * (body != "vector" and reduction != "logsumexp"),
    )
    for body in BODIES
    for reduction in REDUCTIONS
]


@cache
def module(body: str, reduction: str) -> Any:
    left, entries, keyed, dense, weights = BODIES[body]
    text = HEAD
    for spelling, condition in (("keyed", keyed), ("dense", dense)):
        text += f"""  {reduction}_{spelling}:
    where: |
      r{left} = {reduction}({entries}, {condition})
    expr: sum(where(abs(r) < inf, {weights} * r**2, 0))
    wrt: {"X" if "X[i, j]" in entries else "x"}
    emit: [value, gradient, hvp, hessian]
  {reduction}_{spelling}_all{left}: {reduction}({entries}, {condition})
"""
    return tensorgen.load(text)


def data(groups: int = 5, ties: bool = False) -> dict[str, Array]:
    """Values of seven entries in groups; the last group has none if there are five."""
    rng = np.random.default_rng(3)
    key = np.array([0, 2, 0, 3, 2, 0, 1]) % groups
    pair = rng.integers(0, groups, (7, 3))
    given = {
        "x": rng.normal(size=7),
        "X": rng.normal(size=(7, 3)),
        "W": rng.normal(size=(groups, 3)),
        "c": rng.normal(size=groups),
        "C": rng.normal(size=(groups, 3)),
        "key": key,
        "pair": pair,
        "mask": (key == np.arange(groups)[:, None]).astype(float),
        "masks": (pair == np.arange(groups)[:, None, None]).astype(float),
        "dx": rng.normal(size=7),
        "dX": rng.normal(size=(7, 3)),
    }
    if ties:
        given["x"] = np.array([1.0, 0.0, 1.0, 2.0, 0.0, 1.0, 0.0])
        given["X"] = np.round(given["X"])
    return given


def call(module: Any, name: str, given: dict[str, Array]) -> Any:
    function = getattr(module, name)
    names = inspect.signature(function).parameters
    sizes = {"g": len(given["c"])}
    return function(**{x: {**given, **sizes}[x] for x in names})


@pytest.mark.parametrize("case", ["plain", "ties", "one group"])
@pytest.mark.parametrize(("body", "reduction"), CASES)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_reduction_by_key_is_one_over_rows_of_a_mask(
    body: str, reduction: str, case: str
) -> None:
    groups = 1 if case == "one group" else 5
    if groups == 1 and body == "shifted":
        groups = 2
    given = data(groups, ties=case == "ties")
    own = module(body, reduction)
    for suffix in ("", "_grad", "_hvp"):
        found, wanted = (
            call(own, f"{reduction}_{spelling}{suffix}", given)
            for spelling in ("keyed", "dense")
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    found, wanted = (
        call(own, f"{reduction}_{spelling}_hess", given).dense()
        for spelling in ("keyed", "dense")
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_a_group_without_entries_has_what_is_neutral() -> None:
    given = data()
    neutral = {"logsumexp": -np.inf, "max": -np.inf, "min": np.inf, "prod": 1, "sum": 0}
    for reduction, value in neutral.items():
        own = module("vector", reduction)
        found = call(own, f"{reduction}_keyed_all", given)
        assert found[4] == value
        assert np.all(np.isfinite(found[:4]))


@pytest.mark.parametrize("reduction", ["logsumexp", "max", "min", "prod", "mean"])
def test_no_reduction_by_key_makes_a_table_of_groups_and_entries(
    reduction: str,
) -> None:
    own = module("vector", reduction)
    big = {"x": np.ones(20_000), "c": np.ones(20_000), "key": np.arange(20_000)}
    found = getattr(own, f"{reduction}_keyed_grad")(**big)
    assert found.shape == (20_000,)  # a table would take 3 GB


def test_levels_are_those_of_groups() -> None:
    # One level for all would leave nothing of the lower group.
    own = module("vector", "logsumexp")
    x = np.array([1000.0, -1000.0, -1001.0])
    key = np.array([0, 1, 1])
    given = {"x": x, "key": key, "c": np.zeros(2)}
    found = call(own, "logsumexp_keyed_all", given)
    np.testing.assert_allclose(found, [1000, -1000 + np.log1p(np.exp(-1))], rtol=1e-15)


@pytest.mark.parametrize(
    "x",
    [
        [0.0, 2.0, 3.0, 5.0],
        [0.0, 0.0, 3.0, 5.0],
        [1e-200, 1e-200, 3.0, 5.0],
        [1e200, 1e200, 1e-300, 5.0],
        [np.inf, 2.0, 3.0, 5.0],
    ],
)
def test_slopes_of_products_by_key_are_exact_at_zeros_and_far_out(
    x: list[float],
) -> None:
    text = HEAD + (
        "  f: {expr: 'sum(prod(x[i], i, key[i] == q), q)', wrt: x, emit: [gradient]}\n"
    )
    own = tensorgen.load(text)
    key = np.array([0, 0, 0, 1])
    given = {"x": np.array(x), "key": key, "g": 2}
    found = own.f_grad(**given)
    wanted = [x[1] * x[2], x[0] * x[2], x[0] * x[1], 1.0]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, wanted, rtol=1e-15)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_cupy_reduces_by_key_as_numpy_does() -> None:
    text = HEAD
    for reduction in ("logsumexp", "max", "min", "prod"):
        text += f"""  {reduction}_:
    where: |
      r[q, j] = {reduction}(X[i, j], i, key[i] == q)
    expr: sum(where(abs(r) < inf, C * r, 0))
    wrt: X
    emit: [value, gradient]
"""
    given = data(ties=True)
    own = tensorgen.load(text)
    with stand_in() as cupy:
        other = execute(tensorgen.generate(text, backend="cupy"))
        for name in own.__all__:
            wanted = call(own, name, given)
            arrays = {x: cupy.asarray(value) for x, value in given.items()}
            found = call(other, name, arrays)
            if not isinstance(wanted, tuple):
                found, wanted = (found,), (wanted,)
            for one, right in zip(found, wanted, strict=True):
                np.testing.assert_allclose(cupy.asnumpy(one), right, rtol=1e-12)


def test_what_is_read_by_key_is_read_once() -> None:
    body = "where: 'm[q] = mean(x[i], i, key[i] == q)', expr: sum(c*m), wrt: x"
    spec = f"{HEAD}  f: {{{body}, emit: [value, gradient]}}"
    module = tensorgen.load(spec)
    text = code_of(module, "f_value_and_grad")
    assert text.count("[key]") == 1 and "+= np.bincount(key, minlength=g)" in text


def test_a_weight_that_is_read_by_key_makes_no_table_of_keys() -> None:
    # The weight may be zero, and the level of the two exponentials counts only where
    # it is not: one entry of it each, whatever the number of keys.
    body = (
        "where: 'fit[i] = c[key[i]] * (exp(-x[i]) - exp(-2*x[i]))', "
        "expr: sum(log(fit)), wrt: [x, c]"
    )
    own = tensorgen.load(f"{HEAD}  f: {{{body}, emit: [value, gradient]}}")
    size = 20_000
    keys = np.arange(size)
    given = {"x": np.full(size, 800.0), "c": np.full(size, 2.0), "key": keys}
    value, (slope, weight) = own.f_value_and_grad(**given)
    np.testing.assert_allclose(value, size * (np.log(2) - 800), rtol=1e-15)
    np.testing.assert_allclose(slope, -1.0, rtol=1e-15)
    np.testing.assert_allclose(weight, 0.5, rtol=1e-15)
