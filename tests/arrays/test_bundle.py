"""What shares an exponential is made by one helper, and keeps its name."""

from __future__ import annotations

import re
from typing import Any

import mpmath
import numpy as np
import pytest

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.bundle import alone, bundled
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Add, Elementwise, Multiply
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import Let, Unpack, bindings
from tensorgen.arrays.written import written
from tensorgen.ir.dims import Dim
from tensorgen.operators.helpers import logistic, shares
from tensorgen.operators.helpers.helper_table import HELPERS
from tests.made import generate, load, source

N = Dim.symbol("n")
T, U = (variable(name, (N,)) for name in "tu")


def of(name: str, t: Array) -> Array:
    return array(Elementwise(name), t)


def minus(t: Array) -> Array:
    return array(Multiply(-1, 1), t)  # type: ignore[arg-type]


def lines(code: Code, kept: tuple[str, ...] = ()) -> list[str]:
    return [*written(bundled(code, str, kept), "np").lines]


def total(*parts: Array) -> Array:
    return array(Add((1,) * len(parts)), *parts)


def test_functions_of_one_array_are_made_by_one_helper() -> None:
    code = Code((), (of("softplus", T), of("sigmoid", T)))
    assert lines(code) == ["softplus_t, sigmoid_t = _softplus_and_sigmoid(t)"]


def test_alone_a_function_stays_a_call() -> None:
    code = Code((), (of("softplus", T), of("sigmoid", U)))
    assert lines(code) == []


def test_a_minus_goes_where_fewest_results_change_their_sign() -> None:
    code = Code((), (of("softplus", minus(T)), of("sigmoid", T)))
    made = "softplus_neg_t, sigmoid_t = _softplus_and_complement(-t)"
    assert lines(code) == [made]
    code = Code((), (of("log_sigmoid", T), of("sigmoid", minus(T))))
    made = "log_sigmoid_t, sigmoid_neg_t = _log_sigmoid_and_complement(t)"
    assert lines(code) == [made]
    code = Code((), (of("softplus", minus(T)), of("sigmoid", minus(T))))
    made = "softplus_neg_t, sigmoid_neg_t = _softplus_and_sigmoid(-t)"
    assert lines(code) == [made]


def test_both_logarithms_have_one_in_common() -> None:
    code = Code((), (of("softplus", T), of("softplus", minus(T))))
    found = written(bundled(code, str), "np")
    made = "softplus_t, log_sigmoid_t = _softplus_and_log_sigmoid(t)"
    assert found.lines == (made,)
    assert found.returns == ("softplus_t", "-log_sigmoid_t")
    assert HELPERS["_softplus_and_log_sigmoid"].count("log1p(") == 1


def test_names_of_users_stay() -> None:
    p = Let("p", of("sigmoid", T))
    own = variable("p", (N,), base="p")
    code = Code((p, Let("z", total(own, of("softplus", T)))), (own,))
    made = ["softplus_t, p = _softplus_and_sigmoid(t)", "z = p + softplus_t"]
    assert lines(code, ("p",)) == made
    made = ["softplus_t, sigmoid_t = _softplus_and_sigmoid(t)"]
    assert lines(code) == [*made, "z = sigmoid_t + softplus_t"]


def test_what_is_made_together_is_what_it_is_alone() -> None:
    every = [
        *(of(name, T) for name in ("softplus", "log_sigmoid", "sigmoid")),
        *(of("sigmoid", minus(T)), of("sigmoid_slope", T)),
    ]
    (line,) = bundled(Code((), tuple(every)), str).statements
    assert isinstance(line, Unpack)
    assert [alone(value) for _, value in bindings(line)] == every
    assert alone(T) is T


def test_it_is_modelled_as_less_than_its_functions() -> None:
    speed = Speed({"n": 1000})
    every = of("softplus", T), of("sigmoid", T), of("sigmoid_slope", T)
    (line,) = bundled(Code((), every), str).statements
    assert isinstance(line, Unpack)
    assert speed.work(line.value) < sum(map(speed.work, every))


SPEC = """tensorgen: 1
dims: {m: 2000, n: 100}
inputs: {w: [n], X: [m, n], y: [m]}
functions:
  loss:
    where: t = -y * (X @ w)
    expr: sum(log(1 + exp(t)))
    wrt: w
    emit: [value, gradient, hessian, hvp]
"""


def test_mathematics_keeps_its_names_across_private_functions() -> None:
    text = generate(SPEC)
    assert not re.search(r"\bone_plus_e|\bparts\.e\b", text)
    parts = source(text, "_loss_parts")
    assert "return _softplus_sigmoid_and_slope(t)" in parts
    assert "np.sqrt(y**2 * slope_t)[:, None] * X" in source(text, "_loss_hess")
    assert "softplus_t.sum()" in source(text, "loss_value_and_grad")
    assert "_sigmoid_slope(t)" in source(text, "loss_hvp")


ATTENTION = """tensorgen: 1
dims: {m: 100, n: 10, k: 5}
inputs: {X: [m, n], W: [n, k], Y: [m, k]}
functions:
  predict: {expr: "softmax(X @ W, axis=1)"}
  loss:
    expr: -sum(Y*log(softmax(X @ W, axis=1)))
    wrt: W
    emit: [value, gradient]
"""


def test_softmax_is_a_function_that_is_called() -> None:
    text = generate(ATTENTION)
    assert "return _softmax(X @ W, axis=1)" in source(text, "predict")
    assert "= _softmax_and_log_softmax(X_W, axis=1)" in text
    assert "shifted" not in text.split("def _softmax")[0]


# Digits


POINTS = (0.0, 1e-30, 1e-9, 0.3, 1.0, 5.0, 40.0, 80.0, 700.0, 1e4)


def helpers(names: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {"np": np, "Any": Any, "Array": Any, "Scalar": Any}
    for name in names:
        exec(HELPERS[name].replace("np.NDArray", "Any"), found)
    for name in ("_supremum", "_finite", "_nonzero"):
        exec(HELPERS[name], found)
    return found


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("functions", logistic.BUNDLES)
def test_helpers_keep_all_digits(functions: tuple[str, ...], dtype: type) -> None:
    name = logistic.together(functions)
    t: Any = np.array([s * x for x in POINTS for s in (1, -1)], dtype)
    found = helpers(logistic.LOGISTIC)[name](t)
    found = found if len(functions) > 1 else (found,)
    info = np.finfo(dtype)
    for function, values in zip(functions, found, strict=True):
        assert values.dtype == dtype
        for x, value in zip(map(float, t), map(float, values), strict=True):
            with mpmath.workdps(30):
                p, q = (1 / (1 + mpmath.exp(s * mpmath.mpf(x))) for s in (-1, 1))
                exact = {
                    "softplus": mpmath.log1p(mpmath.exp(x)) if x < 1e3 else x,
                    "log_sigmoid": -mpmath.log1p(mpmath.exp(-x)) if x > -1e3 else x,
                    "sigmoid": p,
                    "complement": q,
                    "slope": p * q,
                }[function]
                error = abs(value - exact)
            assert error <= 8 * info.eps * abs(exact) + info.tiny, (function, x)


@pytest.mark.parametrize("guards", [False, True])
@pytest.mark.parametrize("functions", shares.BUNDLES)
def test_shares_are_those_of_the_whole(
    functions: tuple[str, ...], guards: bool
) -> None:
    share = helpers(shares.SHARES)[shares.helper_of(functions, guards)]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4)) * 300
    if guards:
        x[0], x[1, 2] = -np.inf, -np.inf
    top = x.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        e = np.where(np.isfinite(top), np.exp(x - top), 0)
        log = top + np.log(e.sum(axis=1, keepdims=True))
        expected = {
            "logsumexp": np.where(np.isfinite(top), log, -np.inf)[:, 0],
            "softmax": np.where(np.isfinite(top), np.exp(x - log), 0),
            "log_softmax": np.where(np.isfinite(top), x - log, -np.inf),
        }
        found = share(x, axis=1)
    found = found if len(functions) > 1 else (found,)
    for name, value in zip(functions, found, strict=True):
        np.testing.assert_allclose(value, expected[name], rtol=1e-12, atol=1e-300)
    whole = share(x[2].astype(np.float32))
    for value in whole if len(functions) > 1 else (whole,):
        assert value.dtype == np.float32
    if guards:
        assert np.shape(load_empty(functions, share)) in ((), (0,))


def load_empty(functions: tuple[str, ...], share: Any) -> Any:
    found = share(np.zeros(0))
    return found[0] if len(functions) > 1 else found


def test_modules_for_both_libraries_have_the_same_helpers() -> None:
    text = generate(SPEC)
    module: Any = load(SPEC)
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(7, 3)), np.sign(rng.normal(size=7))
    for dtype in (np.float64, np.float32):
        w = rng.normal(size=3).astype(dtype)
        value, grad = module.loss_value_and_grad(w, X.astype(dtype), y.astype(dtype))
        assert value.dtype == grad.dtype == dtype
    assert text.count("def _softplus_sigmoid_and_slope(") == 1


def test_a_minus_before_a_quotient_is_taken_off_alone() -> None:
    spec = """tensorgen: 1
inputs: {t: [n], u: [n]}
functions:
  f: {expr: "sum(log(1 + exp(-t/u)) + u*sigmoid(-t/u) + cosh(-t/u))"}
"""
    t, u = np.array([1.0, -2.0, 3.0]), np.array([2.0, 0.5, -1.0])
    z = -t / u
    expected = np.logaddexp(0, z) + u / (1 + np.exp(-z)) + np.cosh(z)
    module: Any = load(spec)
    np.testing.assert_allclose(module.f(t, u), expected.sum(), rtol=1e-13)


def test_bundles_of_bundles_come_behind_them() -> None:
    spec = """tensorgen: 1
inputs: {t: [n], u: [n]}
functions:
  f:
    where: |
      s = sigmoid(t)
      v = s * u - log(1 + exp(t))
    expr: sum(log(1 + exp(v)) * sigmoid(v) * s)
    wrt: [t, u]
    emit: [value, gradient, hessian]
"""
    t, u = np.array([1.0, -2.0, 3.0]), np.array([2.0, 0.5, -1.0])
    s = 1 / (1 + np.exp(-t))
    v = s * u - np.log1p(np.exp(t))
    expected = np.log1p(np.exp(v)) / (1 + np.exp(-v)) * s
    module: Any = load(spec)
    np.testing.assert_allclose(module.f(t, u), expected.sum(), rtol=1e-13)
    sigmoid = of("sigmoid", T)
    own = variable("s", (N,), base="s")
    inner = total(own, U)
    every = of("softplus", T), of("softplus", inner), of("sigmoid", inner)
    code = Code((Let("s", sigmoid),), every)
    made = ["softplus_t, sigmoid_t = _softplus_and_sigmoid(t)"]
    assert lines(code) == [
        *made,
        "softplus, sigmoid = _softplus_and_sigmoid(sigmoid_t + u)",
    ]
