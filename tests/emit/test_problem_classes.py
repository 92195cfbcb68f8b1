"""Problem classes: a function bound to its data."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.calculus.kinds import KINDS
from tensorgen.emit.interface import Function, Parameter
from tensorgen.ir.dims import Dim
from tests.emit.models import (
    K,
    M,
    N,
    body,
    factorization_module,
    load,
    logistic_module,
    module,
)

RNG = np.random.default_rng(2)
w, X, y = RNG.normal(size=4), RNG.normal(size=(30, 4)), np.sign(RNG.normal(size=30))
T, U, V = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))


@pytest.fixture(scope="module")
def logistic() -> ModuleType:
    return load(logistic_module(problems=["loss"]))


@pytest.fixture(scope="module")
def fit() -> ModuleType:
    return load(factorization_module(problems=["fit"]))


class Recorder:
    """NumPy, with a record of the calls of its functions."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if not callable(found) or isinstance(found, type):
            return found

        def recorded(*args: Any, **kwargs: Any) -> Any:
            self.calls.append((name, args))
            return found(*args, **kwargs)

        return recorded

    def count(self, name: str) -> int:
        return sum(called == name for called, _ in self.calls)


@pytest.fixture
def recorder(logistic: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr(logistic, "np", found)
    return found


def test_a_problem_is_its_function_on_a_flat_vector(fit: ModuleType) -> None:
    p = fit.FitProblem(T=T)
    v = p.pack(U=U, V=V)
    d = RNG.normal(size=14)
    gradient = fit.fit_grad(T, U, V)
    assert (v == np.concatenate([U.ravel(), V.ravel()])).all()
    assert p.value(v) == fit.fit(T, U, V)
    assert (p.gradient(v) == np.concatenate([g.ravel() for g in gradient])).all()
    assert np.allclose(p.hvp(v, d), p.hessian(v) @ d)
    assert (p.hessian(v).dense() == fit.fit_hess(T, U, V).dense()).all()
    assert (p.jacobian(v).dense() == p.gradient(v)).all()


def test_a_jacobian_over_several_inputs_is_one_object(fit: ModuleType) -> None:
    p = fit.FitProblem(T=T)
    v, d = RNG.normal(size=(2, 14))
    J = p.jacobian(v)
    whole = p.gradient(v)[None, :]
    assert J.shape == (1, 14) and J.tensor_shape == (14,)
    assert (J.matrix == whole).all()
    assert np.allclose(J @ d, whole[0] @ d)
    assert np.allclose(J.rmatvec(np.array([2.0])), 2 * whole[0])
    rows, columns, values = J.coo()
    assert (rows == 0).all() and (values == whole[0, columns]).all()
    assert np.allclose(J.as_linear_operator().matvec(d), whole @ d)
    assert J.nbytes == whole.nbytes and set(J.slices) == {"U", "V"}


def test_packing_and_unpacking_are_inverse(
    fit: ModuleType, logistic: ModuleType
) -> None:
    p = fit.FitProblem(T=T)
    for given, back in zip((U, V), p.unpack(p.pack(U, V)), strict=True):
        assert (given == back).all()
    q = logistic.LossProblem(X=X, y=y)
    v = q.pack(w=w)
    assert v is not w and not np.shares_memory(v, w)
    back = q.unpack(v)
    assert (back == w).all() and not np.shares_memory(back, v)


def test_a_solver_minimises_it_without_glue(logistic: ModuleType) -> None:
    from scipy.optimize import minimize

    p = logistic.LossProblem(X=X, y=y, lam=0.1)
    options = {"xtol": 1e-10}
    found = minimize(
        p.value_and_gradient, np.zeros(4), jac=True, hessp=p.hvp, method="Newton-CG",
        options=options,
    )  # fmt: skip
    v = np.zeros(4)
    for _ in range(10):
        v = v - p.hessian(v).solve(p.gradient(v))
    assert np.abs(p.gradient(v)).max() < 1e-12
    assert np.allclose(found.x, v, atol=1e-6)


def test_work_at_the_last_vector_is_shared(
    logistic: ModuleType, recorder: Recorder
) -> None:
    p = logistic.LossProblem(X=X, y=y)
    first = p.gradient(w)
    first[:] = 0
    value, second = p.value_and_gradient(w.copy())
    assert second.any()
    assert p.value(w) == value
    assert p.hessian(w) is p.hessian(w)
    # The gradient and the Hessian share nothing here: each calls exp, and once.
    assert (recorder.count("logaddexp"), recorder.count("exp")) == (1, 2)
    p.gradient(w + 1)
    p.gradient(w)
    assert recorder.count("exp") == 4


def test_a_vector_that_is_written_to_is_a_new_vector(logistic: ModuleType) -> None:
    p = logistic.LossProblem(X=X, y=y)
    v = w.copy()
    p.value(v)
    v += 1
    assert p.value(v) == logistic.loss(w + 1, X, y)


def test_data_are_converted_once(logistic: ModuleType, recorder: Recorder) -> None:
    p = logistic.LossProblem(X=X.tolist(), y=y.tolist())
    assert recorder.count("asarray") == 3  # lam is a number
    recorder.calls.clear()
    p.value(w.tolist())
    p.value((w + 1).tolist())
    converted = [args[0] for name, args in recorder.calls if name == "asarray"]
    assert converted and all(np.shape(array) == w.shape for array in converted)


def test_single_precision_stays_single_unless_the_vector_is_double(
    logistic: ModuleType,
) -> None:
    p = logistic.LossProblem(X=X.astype("f4"), y=y.astype("f4"))
    v = p.pack(w=w.astype("f4"))
    assert v.dtype == p.value(v).dtype == p.gradient(v).dtype == np.float32
    for _ in range(2):
        assert p.value(v.astype("f8")).dtype == p.gradient(w).dtype == np.float64
        assert p.value(v).dtype == np.float32


def test_a_wrong_length_or_shape_is_reported(
    fit: ModuleType, logistic: ModuleType
) -> None:
    p = logistic.LossProblem(X=X, y=y)
    for wrong in (np.ones(5), np.ones((4, 1)), 1.0):
        with pytest.raises(ValueError, match=r"^v: expected shape \(4,\), got"):
            p.value(wrong)
    with pytest.raises(ValueError, match=r"^w: .* n = 4 was set by X"):
        p.pack(w=np.ones(3))
    with pytest.raises(ValueError, match=r"^y: .* m = 30 was set by X"):
        logistic.LossProblem(X=X, y=y[1:])
    with pytest.raises(ValueError, match=r"^v: expected shape \(14,\), got \(15,\)"):
        fit.FitProblem(T=T).value(np.ones(15))


def quadratic(*shapes: tuple[Any, ...]) -> Any:
    """Return the problem of the sum of the squares of the inputs x0, x1, ..."""
    inputs = tuple(Parameter(f"x{k}", shape) for k, shape in enumerate(shapes))
    names = tuple(p.name for p in inputs)
    value = " + ".join(f"(x{k} ** 2).sum()" for k in range(len(shapes)))
    gradients = [f"2 * x{k}" for k in range(len(shapes))]
    functions = [
        Function("f", KINDS["value"], inputs, names, (), body(returns=value)),
        Function(
            "f",
            KINDS["value_and_gradient"],
            inputs,
            names,
            (),
            body(returns=(value, *gradients)),
        ),
    ]
    return load(module(*functions, problems=["f"])).FProblem


def test_an_unknown_size_follows_from_the_length() -> None:
    p = quadratic((N,), (N, Dim.of(2)))()
    assert p.value([1.0, 2.0, 3.0]) == 14
    x0, x1 = p.unpack(np.arange(6.0))
    assert (x0.shape, x1.shape) == ((2,), (2, 2))
    with pytest.raises(ValueError, match=r"^v: expected shape \(6,\), got \(7,\)"):
        p.value(np.ones(7))


def test_sizes_that_do_not_follow_are_those_that_were_packed() -> None:
    p = quadratic((M, K), (N, N))()
    with pytest.raises(ValueError, match="pack one of its size first"):
        p.value(np.ones(10))
    v = p.pack(x0=np.ones((2, 3)), x1=np.ones((2, 2)))
    assert p.value(v) == 10
    assert p.unpack(v)[0].shape == (2, 3)
    p.pack(x0=np.ones((1, 1)), x1=np.ones((1, 1)))
    assert p.unpack(v)[0].shape == (2, 3)
    p.pack(x0=np.ones((3, 2)), x1=np.ones((2, 2)))
    assert p.unpack(v)[0].shape == (3, 2)


def test_a_scalar_input_is_a_vector_of_one() -> None:
    p = quadratic(())()
    assert p.value([3.0]) == 9
    assert p.gradient([3.0]).tolist() == [6.0]
    assert p.unpack(p.pack(2.0)).shape == ()


def test_index_arrays_among_the_data_keep_their_dtype() -> None:
    inputs = (
        Parameter("x", (N,)),
        Parameter("row", (M,), index=N),
        Parameter("t", (M,)),
    )
    value = body(returns="(t * x[row]).sum()")
    model = load(
        module(Function("f", KINDS["value"], inputs, ("x",), (), value), problems=["f"])
    )
    p = model.FProblem(row=[0, 1, 1], t=np.ones(3, "f4"))
    assert p.value([1.0, 2.0]) == 5
    with pytest.raises(ValueError, match=r"^row: expected indices from 0 to 1"):
        model.FProblem(row=[0, 1, 2], t=np.ones(3)).value([1.0, 2.0])


def test_a_problem_works_on_the_device(cupy: ModuleType) -> None:
    theirs = load(factorization_module("cupy", problems=["fit"]))
    ours = load(factorization_module(problems=["fit"])).FitProblem(T=T)
    p = theirs.FitProblem(T=cupy.asarray(T))
    v = p.pack(cupy.asarray(U), cupy.asarray(V))
    value, gradient = p.value_and_gradient(v)
    assert np.allclose(value.get(), ours.value(v.get()))
    assert np.allclose(gradient.get(), ours.gradient(v.get()))
    assert np.allclose(p.hvp(v, v).get(), ours.hvp(v.get(), v.get()))
    with pytest.raises(TypeError, match=r"^v: .* CuPy array"):
        p.value(v.get())
