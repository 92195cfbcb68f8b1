"""Sums by some keys of an index array, as parts of the sums by all of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import both, generate, load, source

ORDERED_LOGIT = """tensorgen: 1
module: ordered_logit
dims: {m: 1000, n: 10, K: 5}
inputs:
  beta: [n]
  cuts: [K - 1]
  X: [m, n]
  grade: {shape: [m], index: K}
functions:
  nll:
    where: |
      eta = X @ beta
      upper = concatenate([cuts, [inf]])
      lower = concatenate([[-inf], cuts])
      prob[i] = sigmoid(upper[grade[i]] - eta[i]) - sigmoid(lower[grade[i]] - eta[i])
    expr: -sum(log(prob))
    wrt: [beta, cuts]
    emit: [value, gradient, hessian]
"""
SUMS = """tensorgen: 1
dims: {m: 1000, n: 10, K: 7}
inputs:
  x: [m]
  X: [m, n]
  w: [K]
  key: {shape: [m], index: K}
functions:
  ahead:
    where: r[q=range(K - 3)] = sum(x[e], e, key[e] == q + 2)
    expr: r + w[3:]
  first:
    where: r[q=range(K - 3)] = sum(x[e], e, key[e] == q)
    expr: r + w[3:]
  turned:
    where: r[q=range(K - 3)] = sum(x[e], e, K - 2 - key[e] == q)
    expr: r + w[3:]
  rows:
    where: r[j, q=range(K - 3)] = sum(X[e, j], e, key[e] == q + 2)
    expr: r + w[3:]
"""
FEW = SUMS.replace("m: 1000", "m: 2").replace("K: 7", "K: 1000000")
PARTS = {
    "ahead": slice(2, -1),
    "first": slice(0, -3),
    "turned": slice(-2, 1, -1),
    "rows": slice(2, -1),
}


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_the_gradient_of_ordered_logit_adds_by_grade_and_slices(backend: str) -> None:
    text = source(both(ORDERED_LOGIT)[backend == "cupy"], "nll_grad")
    assert text.count("_sum_by_key(") == 2
    assert "grad_cuts = d_lower[1:] + d_upper[:-1]" in text
    text = text.split('"""')[2]
    assert "clip" not in text and "where" not in text and "add.at" not in text


def test_its_mixed_block_masks_and_transposes_nothing_that_is_added() -> None:
    text = source(generate(ORDERED_LOGIT), "nll_hess").split('"""')[2]
    assert "[:, None] * X, grade, K, n)" in text
    assert "clip" not in text and "K >=" not in text and "add_at" not in text


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_all_keys_is_a_slice_of_all_sums(name: str) -> None:
    text = source(generate(SUMS), name)
    assert "_by_key(" in text and "clip" not in text and "where" not in text
    for spec in (SUMS, FEW):
        call = getattr(load(spec), name)
        # Keys that nothing has, one that all have, and none at all.
        for keys in ([0, 2, 6, 2, 4, 3], [5, 5, 5], []):
            rng, key = np.random.default_rng(0), np.array(keys, int)
            w, one_hot = rng.normal(size=7), np.arange(7)[:, None] == key
            x = rng.normal(size=(len(keys), 3) if name == "rows" else len(keys))
            expected = (one_hot @ x)[PARTS[name]].T + w[3:]
            np.testing.assert_allclose(call(x, w, key), expected, atol=1e-12)


def test_what_few_add_to_a_part_of_many_is_added_there() -> None:
    assert "[2:-1]" not in source(generate(FEW), "ahead")


def test_sums_of_single_precision_stay_so() -> None:
    x, w = np.ones(4, np.float32), np.zeros(7, np.float32)
    assert load(SUMS).ahead(x, w, np.array([2, 3, 3, 6])).dtype == np.float32


def test_a_grade_that_is_none_is_refused() -> None:
    module = load(ORDERED_LOGIT)
    rng = np.random.default_rng(0)
    cuts, X = np.sort(rng.normal(size=4)), rng.normal(size=(6, 2))
    for bad in (5, -1):
        grade = np.array([0, 1, 2, 3, 4, bad])
        with pytest.raises(ValueError, match="grade"):
            module.nll_grad(rng.normal(size=2), cuts, X, grade)
