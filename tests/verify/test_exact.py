"""Fifty digits: they mean what the reference means, and see what doubles hide."""

from __future__ import annotations

from pathlib import Path

import mpmath
import numpy as np
import pytest

from tensorgen.errors import Source
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.references.rows import FUNCTIONS
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification, exact, generated, table
from tensorgen.verify.exact import exactly
from tensorgen.verify.exact_functions import functions
from tests.made import generate

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
WHOLE_ORDERS = {"polygamma", "polygamma_gap", "exprel_moment"}
ARRAYS = """\
tensorgen: 1
module: arrays
inputs:
  x: [n]
  X: [m, n]
  tall: [n + k, n]
  K: {shape: [n, n], spd: true}
  T: {shape: [b, n, n], spd: true}
  row: {shape: [e], index: m}
functions:
  solved: solve(K, x) + inv(T) @ x
  dets: logdet(K) + det(K) + sum(logdet(T))
  factors: cholesky(K) + expm(K / 9) + sqrtm(K) + logm(K)
  values: eigvalsh(K)
  singular: svdvals(K + outer(x, x))
  least: pinv(tall)
  sums: logsumexp(X, axis=0) + norm(X, axis=0) + max(X, axis=0) + median(X, axis=0)
  shares: softmax(X, axis=1) + log_softmax(X, axis=1) + X / norm(X)
  orders: sort(x) + cumsum(x) + cumprod(x)
  keys[i]: max(X[row[p], 0], p, row[p] == i)
  third: x / 3 + pi * e
  gathered[p]: sum(X[row[p], i] * x[i], i) * p
  steps:
    where: |
      y[0] = 1 / 3
      y[t + 1] = tanh(y[t] + x[t])
    expr: y
"""


def test_functions_mean_the_same() -> None:
    for name, own in functions().items():
        row = ELEMENTWISE[name]
        for k in range(len(row.sample)):
            args = [row.sample[(k + 2 * j) % len(row.sample)] for j in range(row.arity)]
            if name in WHOLE_ORDERS:
                args[0] = float(k % 3 + 1)
            if row.arity == 3 and "between" in name:
                args[0] = args[1] + args[2]
            with mpmath.workdps(50):
                got = own(*(np.array(mpmath.mpf(x), dtype=object) for x in args))
            wanted = FUNCTIONS[name](*map(np.asarray, args))
            assert float(got) == pytest.approx(
                float(wanted), rel=1e-13, abs=1e-15
            ), name
    own_alone = {"i0e_moment", "i0_moment"}  # of derivatives alone
    assert {*FUNCTIONS} - {*functions()} == own_alone


def test_arrays_mean_the_same() -> None:
    own = Verification(read_spec(Source("arrays", ARRAYS)), points=3)
    for function in own.program.functions:
        points = own.points(function)
        for point in points:
            found, known = point.any.exact, point.any.value
            assert found is not None, function.spec.name
            assert found.shape == known.shape
            assert np.allclose(found, known, rtol=1e-12, atol=1e-13), function.spec.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_allow_for_them_unless_they_solve_equations(path: Path) -> None:
    source = Source(str(path), path.read_text("utf-8"))
    own = Verification(read_spec(source), points=1)
    for function in own.program.functions:
        point, *_ = own.points(function)
        for reference in point.references.values():
            solves = path.stem in {"bilevel_ridge", "deep_equilibrium"}
            assert (reference.exact is None) == solves, function.spec.name


def test_what_cancels_is_seen_in_digits_alone() -> None:
    # The difference of two numbers that agree in seven digits: doubles of the reference
    # are off as the module is.
    text = (
        "tensorgen: 1\nmodule: lost\ninputs: {x: [n]}\n"
        "functions: {f: sum((1e7 + x)**2) - sum((1e7 - x)**2)}\n"
    )
    own = Verification(read_spec(Source("lost", text)))
    point, *_ = own.points(own.program.functions[0])
    x = point.case.values["x"]
    found = exactly(own.program.functions[0].node, {"x": x}, point.case.sizes)
    assert found == pytest.approx(4e7 * np.sum(x), rel=1e-15)
    assert float(point.any.value) != float(found)


def test_the_table_tells_digits_and_what_they_were_compared_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (
        "tensorgen: 1\nmodule: small\ninputs: {x: [n]}\n"
        "functions: {f: {expr: sum(exp(x) / 3), wrt: x}}\n"
    )
    for there, against in ((True, "the formula, 50 digits"), (False, "the formula")):
        monkeypatch.setattr(exact, "has_digits", lambda there=there: there)
        own = Verification(read_spec(Source("small", text)))
        found = own.verify(generated(generate(text), "small", "numpy"), "f")
        value = next(x for x in found if x.what == "value")
        assert value.against == against and value.verdict == "ok"
        assert value.digits is not None and 15 <= value.digits <= 16
        assert value.as_json()["digits"] == value.digits
        assert f"{value.digits:.1f}" in table(found)
