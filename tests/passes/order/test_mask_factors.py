"""A condition on a product that is added up is one on a factor of it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.made import generate, load

SPEC = """tensorgen: 1
module: masked
dims: {n: 400, d: 30}
inputs: {S: [n, d], K: [d, d], h: [d]}
functions: {f: {where: "a[t, i] = EXPR", expr: a, emit: [value]}}
"""
SPELLINGS = [
    "sum(where(j != i, K[i, j]*S[t, j], 0), j)",
    "sum(where(i == j, 0, S[t, j]*K[i, j]), j)",
    "sum(where(j != i, K[i, j], 0)*S[t, j], j)",
]


def spec(expr: str) -> str:
    return SPEC.replace("EXPR", expr)


def returned(expr: str) -> str:
    body = generate(spec(expr)).partition("\ndef _")[0]
    return body[body.rindex("    return ") :]


def data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    shapes = {"S": (7, 5), "K": (5, 5), "h": (5,)}
    return {x: rng.normal(size=shape) for x, shape in shapes.items()}


def value(expr: str, given: dict[str, Any]) -> Any:
    module = load(spec(expr))
    names = module.f.__annotations__
    return module.f(**{x: v for x, v in given.items() if x in names})


@pytest.mark.parametrize("expr", SPELLINGS)
def test_three_spellings_are_one_product(expr: str) -> None:
    assert re.fullmatch(
        r"    return S @ np.where\(.*, (K|K\.T), 0\)\n*", returned(expr)
    )
    given = data()
    expected = given["S"] @ (given["K"] * (1 - np.eye(5))).T
    np.testing.assert_allclose(value(expr, given), expected, rtol=1e-12)


def test_rows_of_data_that_are_excluded_whole_may_be_anything() -> None:
    given = data()
    given["K"][:, 2] = -abs(given["K"][:, 2])
    given["S"][:, 2] = np.nan
    expr = "sum(where(K[i, j] > 0, K[i, j]*S[t, j], 0), j)"
    assert returned(expr).count("@") == 1
    expected = (
        np.delete(given["S"], 2, 1) @ np.delete(np.maximum(given["K"], 0), 2, 1).T
    )
    np.testing.assert_allclose(value(expr, given), expected, rtol=1e-12)


def test_entries_that_are_excluded_may_be_anything() -> None:
    given = data()
    given["K"][1, 3] = np.inf
    expr = "sum(where(K[i, j] < 1e300, K[i, j]*S[t, j]*h[j], 0), j)"
    assert "@" in returned(expr)
    K = np.where(given["K"] < 1e300, given["K"], 0)
    np.testing.assert_allclose(value(expr, given), (given["S"] * given["h"]) @ K.T)


def test_functions_that_may_be_infinite_stay_under_their_condition() -> None:
    given = data()
    given["S"] = abs(given["S"])
    given["S"][3, 2] = 0
    expr = "sum(where(K[i, j]*S[t, j] > 0, K[i, j]*log(S[t, j]), 0), j)"
    with np.errstate(divide="ignore", invalid="ignore"):
        assert np.all(np.isfinite(value(expr, given)))
    expr = "sum(where(K[i, j] > 0, K[i, j]*log(S[t, j]), 0), j)"
    with np.errstate(divide="ignore", invalid="ignore"):
        found = value(expr, given)
        product = given["K"] * np.log(given["S"])[:, None, :]
    expected = np.where(given["K"] > 0, product, 0).sum(axis=2)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
