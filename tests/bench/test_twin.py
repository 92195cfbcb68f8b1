"""What JAX is given means what the interpreter says, of examples and of notation."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import jax
import numpy as np
import pytest

from tensorgen.bench.twin import NoTwinError, Twin
from tensorgen.bench.twin_derivatives import Twins
from tensorgen.errors import Source
from tensorgen.lang import ElaboratedFunction, requested
from tensorgen.spec.read import read_spec
from tensorgen.verify import Verification
from tensorgen.verify.cases import Case, Sizes
from tensorgen.verify.reference import Unfit
from tests.sampled import sampled

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
NOTATION = """\
tensorgen: 1
inputs:
  x: [n]
  v: [2*n]
  X: [m, n]
  A: {shape: [n, n], spd: true}
  row: {shape: [e], index: m}
  S: {shape: [m, n], sparse: true}
functions:
  slices: x[1:] - x[:-1]
  stride[i]: v[2*i + 1]
  turned: x[::-1]
  placed: concatenate([x, 2 * x[1:]])
  diagonals: diag(A) * trace(A)
  eyes: eye(n) + diag(x) + outer(x, x)
  triangle: tril(A) + triu(A.T)
  window[i]: sum(x[i + k], k=range(3))
  part[i]: sum(x[j]**2, j=range(i + 1))
  gathered[p, i]: X[row[p], i] * x[i]
  alike[k]: sum(x[0], p, row[p] == k)
  scattered[i]: sum(x[0] + p, p, row[p] == i)
  solved: solve(A, x) + inv(A) @ x
  bilinear: x @ inv(A) @ x + logdet(A)
  sparse: S @ x
  gram: S.T @ diag(sum(X, axis=1)) @ S
  steps:
    where: |
      y[0] = 1
      y[t + 1] = tanh(y[t] + x[t])
    expr: y
  last:
    where: |
      z[n] = x[0]
      z[t] = sin(z[t + 1]) * x[t]
    expr: z[0]
  constant: sum(ones(m)) * pi + n
  norms: norm(x) + max(x) + logsumexp(x) + sum(softmax(x)**2)
  kinks: where(x > 0.5, x, x**3) + maximum(x, 1) + abs(x)
"""


def difference(function: ElaboratedFunction, own: Verification) -> float:
    """How far both are apart at a point; raises `NoTwinError` where JAX lacks one."""
    for k, sizes in enumerate(islice(Sizes(function).some(0), 2, 8)):
        try:
            point = own.point(function, sizes, str(k))
        except Unfit:
            continue
        nodes = [x.node for x in function.results or (function,)]
        found = jax.jit(Twin(nodes, point.case.sizes))(point.case.values)
        worst = 0.0
        for got, reference in zip(found, point.references.values(), strict=True):
            assert got.shape == reference.value.shape
            size = max(1.0, float(np.max(np.abs(reference.value), initial=0.0)))
            gap = np.abs(np.asarray(got) - reference.value)
            worst = max(worst, float(np.max(gap, initial=0.0)) / size)
        return worst
    raise AssertionError(f"no sizes fit {function.spec.name}")


@pytest.fixture(autouse=True)
def in_doubles() -> None:
    jax.config.update("jax_enable_x64", True)


@pytest.mark.parametrize("path", sampled(EXAMPLES, 4), ids=lambda path: path.stem)
def test_examples_mean_the_same_in_jax(path: Path) -> None:
    source = Source(str(path), path.read_text("utf-8"))
    own = Verification(read_spec(source))
    for function in own.program.functions:
        try:
            found = difference(function, own)
        except NoTwinError as error:
            assert path.stem in {"bilevel_ridge", "deep_equilibrium"}, error
            assert "solves an equation" in str(error)
        else:
            assert found < 1e-10, function.spec.name


def test_notation_means_the_same_in_jax() -> None:
    own = Verification(read_spec(Source("notation.yaml", NOTATION)))
    for function in own.program.functions:
        found = difference(function, own)
        assert found < 1e-10, function.spec.name


def test_a_twin_over_a_batch_is_that_of_each_sample() -> None:
    text = """tensorgen: 1
inputs: {x: {shape: [n], batch: [B]}, w: [n]}
functions: {f: {expr: exp(w @ x), wrt: [x, w], emit: [hessian, hvp, vjp]}}
"""
    verification = Verification(read_spec(Source("a.yaml", text)))
    (function,) = verification.program.functions
    rng = np.random.default_rng(0)
    x, w, dx, dw, ct = (rng.normal(size=s) for s in ((4, 3), 3, (4, 3), 3, 4))
    twins = Twins(function, Case({"n": 3, "B": 4}, {"x": x, "w": w}, "0"))
    kinds = {kind.name: kind for kind, _ in requested(function)}
    value = np.exp(x @ w)
    wanted = value[:, None, None] * x[:, :, None] * x[:, None]
    (found,) = twins.task(kinds["hessian"], {})()
    np.testing.assert_allclose(found["w"]["w"], wanted)
    (found,) = twins.task(kinds["hvp"], {"dx": dx, "dw": dw})()
    slope = value * (x @ dw + dx @ w)
    wanted = slope[:, None] * x + value[:, None] * dx
    np.testing.assert_allclose(found["w"], wanted)
    _, found = twins.task(kinds["vjp"], {"ct": ct})()
    np.testing.assert_allclose(found["w"], (ct * value)[:, None] * x)
