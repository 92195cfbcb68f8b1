"""Conditions on `arange` are conditions on indices: one text, and NumPy's values."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """
tensorgen: 1
inputs: {{s: [n, k], w: [n, k], A: [k, k]}}
functions:
  f:
    where: |
      rest[i, j=range(k)] = {rest}
    expr: sum(log(rest)*w)
    wrt: s
    emit: [value, gradient]
"""
SPELLINGS = (
    "sum(where(l >= j, exp(s[i, l]), 0), l)",
    "sum(where(arange(k) >= j, exp(s[i, :]), 0))",
    "sum(where(j <= arange(k), exp(s[i, :]), 0))",
    "sum(where(1 + arange(k) > j, exp(s[i, :]), 0))",
    "sum((arange(k) >= j)*exp(s[i, :]))",
)
MASKS = (
    "arange(k)[:, None] >= arange(k)",
    "arange(k)[:, None] < 2*arange(k) - 1",
    "arange(k)[:, None] + 1 == arange(k)",
    "arange(k)[:, None] != arange(k)",
    "arange(k)/2 > arange(k)[:, None] - 1",
    "(arange(k) >= 1) & (arange(k) <= k - 2)",
    "k - 1 - arange(k)[:, None] <= arange(k)",
    "arange(k) >= 1.5",
)


def body(text: str) -> str:
    """What is computed, without what quotes the spec."""
    return re.sub(r'""".*?"""|^#.*?$', "", text, flags=re.DOTALL | re.MULTILINE)


def test_masks_of_positions_are_conditions_on_indices() -> None:
    first, *others = (body(generate(SPEC.format(rest=x))) for x in SPELLINGS)
    assert "_running_logsumexp(s[:, ::-1], axis=1)" in first
    assert others == [first] * len(others)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("form", ["where({}, A, 0)", "where({}, 0, A)", "({})*A"])
def test_their_values_are_those_of_arrays(mask: str, form: str) -> None:
    spec = "tensorgen: 1\ninputs: {A: [k, k]}\nfunctions:\n  f:\n"
    expr = f"sum(sqrt(1 + ({form.format(mask)})**2))"
    module = load(f"{spec}    expr: {expr}\n    wrt: A\n    emit: [value, gradient]\n")
    A, k = np.random.default_rng(2).normal(size=(4, 4)), 4
    names = {"arange": np.arange, "where": np.where, "A": A, "k": k, "sum": np.sum}
    masked = eval(form.format(mask), names)
    kept = eval(form.format(mask).replace("A", "np.ones((k, k))"), names | {"np": np})
    root = np.sqrt(1 + masked**2)
    np.testing.assert_allclose(module.f(A), root.sum(), rtol=1e-14)
    np.testing.assert_allclose(module.f_grad(A), kept * masked / root, atol=1e-14)
