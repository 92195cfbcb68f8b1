"""`tensorgen.Spec`: what is put together in Python is the text of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import tensorgen
from tests.documents import ROOT

Array = Any


@tensorgen.function(w="n", X="m n", wrt="w", dims={"n": 30})
def spread(w: Array, X: Array) -> Array:
    """Variance of a combination of columns."""
    z = X @ w
    return np.var(z)


def regression() -> tensorgen.Spec:
    """Return a spec of several sections."""
    spec = tensorgen.Spec("regression", "Regression: robust.", {"m": 2000, "n": 100})
    spec.definition("soft(t, d)", "d**2 * (sqrt(1 + (t / d)**2) - 1)")
    spec.input("w", "n").input("X", ["m", "n"], doc="data, one sample a row")
    spec.input("y", "m").input("d", default=1.5)
    spec.function("residual", "X @ w - y")
    spec.function(
        "loss",
        "sum(soft(r, d)) + sum(step**2)",
        where={"r": "residual", "step[j]": "w[j + 1] - w[j]"},
        wrt="w",
        emit=["value", "gradient"],
        doc="Loss: of residuals, and of steps.",
    )
    return spec.function(spread)


def test_it_is_the_text_of_a_file(tmp_path: Path) -> None:
    spec = regression()
    assert spec.to_yaml() == spec.spec == """\
tensorgen: 1
module: regression
doc: "Regression: robust."
dims: {n: 100, m: 2000}
inputs:
  w: [n]
  X: {shape: [m, n], doc: "data, one sample a row"}
  y: [m]
  d: {shape: scalar, default: 1.5}
definitions:
  soft(t, d): d**2 * (sqrt(1 + (t / d)**2) - 1)
functions:
  residual:
    expr: X @ w - y
  loss:
    doc: "Loss: of residuals, and of steps."
    where: |
      r = residual
      step[j] = w[j + 1] - w[j]
    expr: sum(soft(r, d)) + sum(step**2)
    wrt: w
    emit: [value, gradient]
  spread:
    doc: Variance of a combination of columns.
    where: |
      z = X @ w
    expr: var(z)
    wrt: w
"""
    small = tensorgen.Spec("small").function("f", "g + 1").function("g", "2")
    path = tmp_path / "small.yaml"
    path.write_text(small.to_yaml(), encoding="utf-8")
    _, ours = small.source().split('"""', 1)
    assert tensorgen.generate(path).endswith(ours)


def test_it_is_loaded_explained_and_verified() -> None:
    spec = regression()
    module = spec.load()
    rng = np.random.default_rng(0)
    w, X = rng.normal(size=4), rng.normal(size=(9, 4))
    value, gradient = module.spread_value_and_grad(w, X)
    assert value == pytest.approx(spread(w, X))
    np.testing.assert_allclose(gradient, spread.grad(w, X))
    assert spec.explain("residual").functions == ("residual",)
    found = tensorgen.Spec("one").function(spread).verify()
    assert found
    assert "one_numpy:" in str(found)


def test_problems_unknowns_and_several_results_are_written() -> None:
    spec = tensorgen.Spec("hs71").input("x", "4").input("a", "2 positive")
    spec.unknown("y", "2", equation="y**2 - a", start="ones(2)")
    spec.function("cost", "x[0] * x[3] * sum(x[:3]) + sum(a) * x[2]")
    spec.function("product", "prod(x)").function("root", "sum(y)", wrt="a")
    spec.function("both", {"s": "sum(x)", "t": "s**2"}, wrt=["x"])
    spec.problem(
        minimize="cost",
        variables={"x": {"lower": 1, "upper": 5}},
        constraints={"product": {"lower": 25}},
        name="Hs71",
        sensitivity=["a"],
    )
    module = spec.load()
    problem = module.Hs71(a=[4.0, 9.0])
    assert (problem.n, problem.m) == (4, 1)
    assert [*problem.sensitivity([1.0, 5, 2.5, 2]).vjp(np.ones(4))] == ["a"]
    np.testing.assert_allclose(module.root([4.0, 9.0]), 5)
    assert module.both([1.0, 2.0, 0.0, 0.0]).t == 9


def test_a_batch_is_said_of_inputs_as_in_files() -> None:
    spec = tensorgen.Spec("fits").input("mu", "n").input("x", "n", batch="B")
    spec.input("y", batch="B").input("S", ["n", "n"], batch="B")
    spec.input("c", "k int < n, batch: B").input("T", "n n spd batch: [B]")
    spec.function("f", "sum((x - mu)**2) * y + mu @ T @ S @ x[c]", wrt="mu")
    assert "\n".join(spec.to_yaml().splitlines()[3:9]) == """\
  mu: [n]
  x: {shape: [n], batch: [B]}
  y: {shape: scalar, batch: [B]}
  S: {shape: [n, n], batch: [B]}
  c: {shape: [k], index: n, batch: [B]}
  T: {shape: [n, n], spd: true, batch: [B]}"""
    spec = tensorgen.Spec("fits").input("mu", "n").input("x", "n", batch="B")
    module = spec.function("f", "sum((x - mu)**4)", wrt="mu").load()
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(module.f_grad(np.ones(2), x), -4 * (x - 1) ** 3)
    same = tensorgen.load(spec.to_yaml())
    np.testing.assert_array_equal(same.f(np.ones(2), x), module.f(np.ones(2), x))


def test_a_batch_that_cannot_be_is_told_of_what_was_written() -> None:
    for size, shape in (("[B", "n"), ("B", "n batch: B"), ("", "n")):
        with pytest.raises(tensorgen.SpecError, match=r"shape of x:1:1.*no shape"):
            tensorgen.Spec("wrong").input("x", shape, batch=size)
    for shape in ("n batch: B", "n n spd", "n int"):
        with pytest.raises(tensorgen.SpecError, match=r"shape of z:1:1.*has sizes"):
            tensorgen.Spec("wrong").unknown("z", shape, equation="z**3 - x")
    spec = tensorgen.Spec("wrong").input("x", "n", batch="[B, C]")
    with pytest.raises(tensorgen.SpecError, match=":4:26: error: there is one batch"):
        spec.function("f", "sum(x)").load()
    spec = tensorgen.Spec("wrong").input("x", "B n", batch="B").function("f", "sum(x)")
    message = r"wrong>:4:3: error: 'x' is of one sample, and B is how many there are"
    with pytest.raises(tensorgen.SpecError, match=message):
        spec.load()


def test_a_spec_of_the_examples_can_be_put_together() -> None:
    text = (ROOT / "examples" / "logistic_regression.yaml").read_text("utf-8")
    spec = tensorgen.Spec(
        "logistic_regression",
        "Logistic regression with a ridge penalty, for labels -1 and +1.",
        {"m": 2000, "n": 100},
    )
    spec.input("w", "n", doc="coefficients, one a column of X")
    rows = "data matrix, one sample a row; a column of ones is the intercept"
    spec.input("X", "m n", doc=rows).input("y", "m", doc="labels, -1 or +1")
    spec.input("lam", default="1e-3", doc="weight of the penalty")
    spec.function(
        "loss",
        "sum(log(1 + exp(t))) + lam * norm(w)**2",
        where="t = -y * (X @ w)",
        wrt="w",
        emit=["value", "gradient", "hessian", "hvp"],
        doc="Penalised negative log-likelihood.",
    )
    spec.function(
        "probability",
        "sigmoid(X @ w)",
        doc="Probability of the label +1 for each sample.",
    )
    assert yaml.safe_load(spec.to_yaml()) == yaml.safe_load(text)


def test_faults_point_at_the_text() -> None:
    spec = tensorgen.Spec("wrong").input("X", "m n").input("w", "m")
    spec.function("f", "sum(X @ w)", wrt="w")
    with pytest.raises(tensorgen.SpecError) as caught:
        spec.load()
    assert str(caught.value).startswith(
        "<spec wrong>:8:17: error: shapes do not match in '@'\n"
        "    8 |     expr: sum(X @ w)\n"
    )
    with pytest.raises(tensorgen.SpecError, match="shape of X:1:1: error: this is no"):
        spec.input("X", "m; n")


def test_faults_of_a_decorated_function_point_into_its_file() -> None:
    spec = tensorgen.Spec("wrong").input("w", "k").function(spread)
    with pytest.raises(tensorgen.SpecError) as caught:
        spec.load()
    first, line, *_ = str(caught.value).split("\n")
    assert "test_spec_builder.py:" in first
    assert first.endswith(":19: error: 'w' is the name of an input twice")
    assert line.endswith("def spread(w: Array, X: Array) -> Array:")
