"""`@tensorgen.function`: a function that still runs, and what is generated of it."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.documents import ROOT

Array = Any
RATE = 0.5


def doubled(v: Array) -> Array:
    """Return twice a value."""
    return 2 * v


@tensorgen.function(w="n", X="m n", y="m", wrt="w")
def loss(w: Array, X: Array, y: Array, lam: float = 0.1) -> Array:
    """Penalised squared error."""
    residual = X @ w - y
    return np.mean(residual**2) + lam * RATE * np.sum(doubled(w) ** 2)


@tensorgen.function(x="n", unused="n", wrt="x")
def cubes(x: Array, unused: Array, mode: str = "sum", power: int = 3) -> Array:
    """Return a sum of powers."""
    return np.sum(x**power) if mode == "sum" else np.mean(x**power)


def given() -> tuple[Array, Array, Array]:
    """Return arguments of `loss`."""
    rng = np.random.default_rng(0)
    return rng.normal(size=3), rng.normal(size=(7, 3)), rng.normal(size=7)


def test_calls_run_the_function_itself() -> None:
    w, X, y = given()
    assert loss(w, X, y, lam=0.0) == np.mean((X @ w - y) ** 2)
    assert loss.__name__ == "loss"
    assert inspect.signature(loss).parameters["lam"].default == 0.1
    assert loss.__doc__ == "Penalised squared error."


def test_derivatives_take_the_arguments_of_the_function() -> None:
    w, X, y = given()
    slope = 2 * X.T @ (X @ w - y) / 7
    np.testing.assert_allclose(loss.grad(w, X, y), slope + 0.4 * w)
    np.testing.assert_allclose(loss.grad(w, y=y, X=X, lam=0.0), slope)
    np.testing.assert_allclose(loss.grad(w, X, y, 0.2), slope + 0.8 * w)
    value, gradient = loss.value_and_grad(w, X, y)
    assert value == loss.value(w, X, y) == pytest.approx(loss(w, X, y))
    np.testing.assert_array_equal(gradient, loss.grad(w, X, y))


def test_what_is_not_asked_for_is_generated_when_it_is_called() -> None:
    w, X, y = given()
    H = 2 * X.T @ X / 7 + 0.4 * np.eye(3)
    assert "emit" not in loss.spec
    np.testing.assert_allclose(loss.hess(w, X, y).dense(), H)
    np.testing.assert_allclose(loss.hvp(w, X, y, dw=w), H @ w)
    np.testing.assert_allclose(loss.hvp(w, X, y, 0.1, w), H @ w)
    assert loss.hess.__name__ == "loss_hess"
    with pytest.raises(AttributeError, match=r"there is no 'hes' .*'hess'"):
        _ = loss.hes
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        loss.grad(w, X)


def test_its_spec_its_source_and_its_module_are_there() -> None:
    assert loss.spec == tensorgen.Spec("loss").function(loss).to_yaml()
    assert "def loss_grad(" in loss.source()
    assert "import cupy" in loss.source(backend="cupy")
    assert loss.load() is loss.module
    assert loss.explain().functions[:2] == ("loss", "loss_grad")
    assert loss.remarks == ()


def test_what_is_known_by_default_is_no_argument() -> None:
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(cubes.grad(x, x), 3 * x**2)
    np.testing.assert_allclose(cubes.grad(x, x, "sum"), 3 * x**2)
    with pytest.raises(TypeError, match="'mode' was read as 'sum'"):
        cubes.grad(x, x, mode="mean")
    assert cubes.verify()


def test_a_default_that_has_a_name_is_one_of_the_function() -> None:
    @tensorgen.function(x="n", scale="", wrt="x")
    def scaled(x: Array, scale: float = RATE, shift: Array | None = None) -> Array:
        return scale * np.sum(x) if shift is None else np.sum(x - shift)

    x = np.ones(2)
    np.testing.assert_array_equal(scaled.grad(x), [RATE, RATE])
    np.testing.assert_array_equal(scaled.grad(x, 2.0), [2, 2])
    with pytest.raises(TypeError, match="'shift' was read as None"):
        scaled.grad(x, shift=x)


@tensorgen.function(w="n", x="n batch: B", c="int, batch: [B]", wrt=["w", "x"])
def surprise(w: Array, x: Array, c: Array, shift: float = 0.1) -> Array:
    """Return what one sample tells."""
    z = w * x + shift
    return np.log(np.sum(np.exp(z))) - z[c]


def samples() -> tuple[Array, Array, Array]:
    """Return arguments of `surprise`, for samples in rows."""
    rng = np.random.default_rng(1)
    return rng.normal(size=3), rng.normal(size=(4, 3)), np.array([0, 2, 1, 0])


def test_what_is_generated_takes_a_batch_and_calls_one_sample() -> None:
    w, x, c = samples()
    own = [surprise(w, *one) for one in zip(x, c, strict=True)]
    np.testing.assert_allclose(surprise.value(w, x, c), own)
    assert "x: {shape: [n], batch: [B]}" in surprise.spec
    assert "c: {shape: scalar, index: n, batch: [B]}" in surprise.spec
    assert surprise.hess(w, x, c)["w", "x"].shape == (4, 3, 3)


def test_derivatives_over_a_batch_are_those_of_each_sample() -> None:
    w, x, c = samples()
    parts = np.exp(w * x + 0.1)
    shares = parts / parts.sum(axis=1, keepdims=True)
    by_w, by_x = surprise.grad(w, x, c)
    np.testing.assert_allclose(by_w, x * (shares - np.eye(3)[c]), rtol=1e-12)
    np.testing.assert_allclose(by_x, w * (shares - np.eye(3)[c]), rtol=1e-12)
    block = np.stack([np.diag(p) - np.outer(p, p) for p in shares])
    block *= x[:, :, None] * x[:, None]
    np.testing.assert_allclose(surprise.hess(w, x, c)["w", "w"], block, atol=1e-15)


def test_verify_compares_samples_with_the_function() -> None:
    surprise.function, own = lambda w, x, c: own(w, x, c) * 1.001, surprise.function
    try:
        found = surprise.verify()
    finally:
        surprise.function = own
    (wrong,) = (x for x in found.findings if x.verdict != "ok")
    assert wrong.module.endswith("test_decorated_functions.py")


def test_verify_compares_the_function_too() -> None:
    found = loss.verify()
    assert found
    assert "test_decorated_functions.py:" in str(found)
    assert {x.verdict for x in found.findings} == {"ok"}


def test_verify_finds_a_function_that_is_not_what_was_read() -> None:
    # The text is read; what runs is another function.
    @tensorgen.function(x="n", wrt="x")
    def squares(x: Array) -> Array:
        return np.sum(x**2)

    squares.function = lambda x: np.sum(x**2) + 1e-3
    found = squares.verify()
    assert not found
    (wrong,) = (x for x in found.findings if x.verdict == "WRONG")
    assert wrong.function == "squares"
    assert wrong.module.endswith("test_decorated_functions.py")


def test_numbers_around_a_function_are_read_before_those_of_the_file() -> None:
    RATE = 7.0
    TABLE = np.ones(3)

    @tensorgen.function(x="n", wrt="x")
    def scaled(x: Array) -> Array:
        return RATE * np.sum(x)

    assert "7.0 * sum(x)" in scaled.spec
    with pytest.raises(tensorgen.SpecError, match="'TABLE' is no number"):

        @tensorgen.function(x="3", wrt="x")
        def tabled(x: Array) -> Array:
            return TABLE @ x


def test_faults_point_into_the_file() -> None:
    with pytest.raises(tensorgen.SpecError) as caught:

        @tensorgen.function(x="n", A="m n", wrt="x")
        def wrong(x: Array, A: Array) -> Array:
            return np.sum(A @ x + x)

    first, line, marked, *_ = str(caught.value).split("\n")
    number = inspect.getsource(sys.modules[__name__]).split("np.sum(A @ x + x)")[0]
    here = Path(__file__).relative_to(ROOT)
    message = "error: shapes do not match in '+'"
    assert first == f"{here}:{number.count(chr(10)) + 1}:33: {message}"
    assert line[marked.index("^")] == "+"


def test_faults_of_what_is_asked_for_point_at_the_decorator() -> None:
    with pytest.raises(tensorgen.SpecError) as caught:

        @tensorgen.function(x="n m 2?", wrt="x")
        def misshapen(x: Array) -> Array:
            return np.sum(x)

    assert "                               ^~~~~~\n" in str(caught.value)

    @tensorgen.function(x="n", wrt="x", emit=["gradient"])
    def vector(x: Array) -> Array:
        return 2 * x

    with pytest.raises(tensorgen.SpecError) as caught:
        vector.load()
    _, line, marked, *_ = str(caught.value).split("\n")
    assert line[marked.index("^") :].startswith('["gradient"]')


def test_other_things_than_functions_are_refused() -> None:
    read = tensorgen.function(x="n")
    with pytest.raises(TypeError, match="no function that is written in Python"):
        read(np.sum)
    names: dict[str, Any] = {}
    exec("def f(x):\n    return x\n", names)
    with pytest.raises(OSError, match="the source of 'f' is not there to be read"):
        read(names["f"])


def test_the_package_starts_without_what_reads_functions() -> None:
    program = (
        "import sys, tensorgen; print(*sys.modules);"
        "assert tensorgen.Spec.__name__ == 'Spec'"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    loaded = run.stdout.split()
    assert "tensorgen" in loaded
    assert not any(x.startswith("tensorgen.frontends") for x in loaded)
    assert "numpy" not in loaded
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tensorgen.nothing
