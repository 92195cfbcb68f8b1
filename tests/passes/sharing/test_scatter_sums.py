"""What several terms add where an index array says is added up there once."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.made import generate, source

SPEC = """tensorgen: 1
module: grid
dims: {n: 300, m: 400}
inputs:
  v: [n]
  a: {shape: [m], index: n}
  b: {shape: [m], index: n}
  g: [m]
  s: [m]
  p: [n]
functions:
  f:
    where: |
      y = g*v[a]**2 - v[a]*v[b]*s
      z = g*v[b]**2 + v[a]*v[b]*sin(v[a] - v[b])
      P[i] = sum(y[l], l, a[l] == i) + sum(z[l], l, b[l] == i)
    expr: sum((P - p)**2)
    wrt: v
    emit: [value, gradient]
"""


def data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {x: rng.normal(size=9) for x in ("v", "p")}
    found |= {x: rng.integers(0, 9, 14) for x in ("a", "b")}
    return found | {x: rng.normal(size=14) for x in ("g", "s")}


def slope() -> str:
    return source(generate(SPEC), "f_grad")


def test_each_index_array_adds_once_to_the_residual_and_once_to_the_slope() -> None:
    text = slope()
    assert text.count("_sum_by_key(") == 4
    for a in ("a", "b"):
        read = re.findall(rf"\w+\[{a}\]", text)
        assert len(read) == len({*read}) == 2


def test_the_slope_is_that_of_differences() -> None:
    module, given = tensorgen.load(SPEC), data()
    found = module.f_grad(**given)
    for k, own in enumerate(found):
        ends = []
        for h in (1e-6, -1e-6):
            moved = given["v"].copy()
            moved[k] += h
            ends.append(module.f(**{**given, "v": moved}))
        assert own == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-6)


def test_what_changes_is_read_each_time() -> None:
    """Rows that a statement adds to are not what they were before it."""
    spec = """tensorgen: 1
module: walk
inputs: {x: [n], a: {shape: [m], index: n}, w: [m]}
functions:
  f:
    where: |
      s[i] = sum(w[l], l, a[l] == i)
    expr: sum(s[a]*x[a]) + sum(s*x)
    wrt: x
    emit: [gradient]
"""
    rng = np.random.default_rng(0)
    a, w = rng.integers(0, 5, 8), rng.normal(size=8)
    s = np.bincount(a, w, 5)
    expected = np.bincount(a, s[a], 5) + s
    found = tensorgen.load(spec).f_grad(x=np.ones(5), a=a, w=w)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
