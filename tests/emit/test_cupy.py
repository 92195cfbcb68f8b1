"""Modules for CuPy, on the stand-in, and the stand-in itself."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tensorgen.calculus.kinds import KINDS
from tensorgen.emit.interface import Body, Function, Parameter
from tensorgen.emit.render import render
from tests.emit.models import M, N, factorization_module, load, logistic_module, module

RNG = np.random.default_rng(1)
w, X, y = RNG.normal(size=4), RNG.normal(size=(7, 4)), np.sign(RNG.normal(size=7))
T, U, V = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 2)), RNG.normal(size=(3, 2))


def host(value: Any) -> Any:
    return value.get() if hasattr(value, "get") else np.asarray(value)


# Generated modules


def test_results_stay_on_the_device_and_equal_numpys(cupy: ModuleType) -> None:
    theirs, ours = load(logistic_module("cupy")), load(logistic_module())
    arrays = [cupy.asarray(a) for a in (w, X, y)]
    for name in ("loss", "loss_grad", "loss_hess_dense"):
        result = getattr(theirs, name)(*arrays, lam=0.3)
        assert isinstance(result, cupy.ndarray)
        expected = getattr(ours, name)(w, X, y, lam=0.3)
        assert np.allclose(result.get(), expected, rtol=1e-14)


def test_derivative_objects_work_on_the_device(cupy: ModuleType) -> None:
    H = load(factorization_module("cupy")).fit_hess(*map(cupy.asarray, (T, U, V)))
    ours = load(factorization_module()).fit_hess(T, U, V)
    b = RNG.normal(size=14)
    assert np.allclose(host(H.dense()), ours.dense())
    assert np.allclose(host(H.diagonal()), ours.diagonal())
    assert np.allclose(host(H @ cupy.asarray(b)), ours @ b)
    assert np.allclose(host(H.solve(cupy.asarray(b), 99.0)), ours.solve(b, 99.0))
    factorization = H.factorize(99.0)
    assert np.allclose(host(factorization.logdet), ours.factorize(99.0).logdet)
    assert factorization.is_posdef is True
    for part, expected in zip(H.coo(lower=True), ours.coo(lower=True), strict=True):
        assert np.allclose(host(part), expected)
    assert H.nbytes == ours.nbytes
    operator = H.as_linear_operator()
    assert operator.shape == (14, 14)
    assert np.allclose(host(operator.matvec(cupy.asarray(b))), ours @ b)


def test_a_singular_system_is_refused_though_cupy_raises_nothing(
    cupy: ModuleType,
) -> None:
    H = load(logistic_module("cupy")).loss_hess(
        cupy.asarray(w), cupy.asarray(X * 0), cupy.asarray(y), lam=0
    )
    with pytest.raises(cupy.linalg.LinAlgError):
        H.solve(cupy.asarray(w))


def test_a_matrix_does_not_leave_the_device_unasked(cupy: ModuleType) -> None:
    H = load(logistic_module("cupy")).loss_hess(*map(cupy.asarray, (w, X, y)))
    with pytest.raises(TypeError, match=r"use dense\(\)"):
        np.asarray(H)


@pytest.mark.parametrize("wrong", [w, w.tolist(), np.float32(1), None, 1j])
def test_what_is_not_on_the_device_is_refused(cupy: ModuleType, wrong: object) -> None:
    theirs = load(logistic_module("cupy"))
    arrays = [cupy.asarray(a) for a in (X, y)]
    with pytest.raises(TypeError, match=r"^w: .* CuPy array .*cupy\.asarray"):
        theirs.loss(wrong, *arrays)
    with pytest.raises(TypeError, match=r"CuPy array"):
        theirs.loss_hess(cupy.asarray(w), *arrays).matvec(wrong)


def test_dtypes_and_shapes_follow_the_same_rules(cupy: ModuleType) -> None:
    theirs = load(logistic_module("cupy"))
    single = [cupy.asarray(a.astype("f4")) for a in (w, X, y)]
    assert theirs.loss_grad(*single, lam=0.5).dtype == np.float32
    assert theirs.loss_grad(single[0], cupy.asarray(X), single[2]).dtype == np.float64
    assert theirs.loss_grad(*single[:2], cupy.asarray(y > 0)).dtype == np.float64
    with pytest.raises(ValueError, match=r"got \(3,\); m = 7 was set by X$"):
        theirs.loss(*single[:2], single[2][:3])
    with pytest.raises(TypeError, match=r"^w: expected real numbers .*complex"):
        theirs.loss(cupy.asarray(w * 1j), *single[1:])


def test_special_functions_come_from_cupyx(cupy: ModuleType) -> None:
    body = Body(("t = special.erf(x)",), ("t",), modules=("scipy.special",))
    x = Parameter("x", (N,))
    model = module(Function("f", KINDS["value"], (x,), (), (N,), body), backend="cupy")
    assert "imported where used: cupyx.scipy.special." in render(model).split("\n")[2]
    assert np.isclose(load(model).f(cupy.asarray([0.5])).get()[0], 0.5204998778130465)


def test_index_arrays_are_checked_on_the_device(cupy: ModuleType) -> None:
    parameters = (Parameter("U", (M,)), Parameter("row", (N,), index=M))
    body = Body((), ("U[row]",))
    model = module(
        Function("f", KINDS["value"], parameters, (), (N,), body), backend="cupy"
    )
    f, values = load(model).f, cupy.asarray([1.0, 2.0])
    assert f(values, cupy.asarray([1, 0])).get().tolist() == [2, 1]
    with pytest.raises(ValueError, match=r"^row: expected indices from 0 to 1, got 0"):
        f(values, cupy.asarray([0, 2]))


def test_no_name_of_numpy_is_left_in_a_module_for_cupy(cupy: ModuleType) -> None:
    assert "np." not in render(factorization_module("cupy")).replace("numpy", "")


# The stand-in


def test_the_stand_in_refuses_names_that_cupy_does_not_have(cupy: ModuleType) -> None:
    for name in ("block", "matrix", "errstate", "float128", "frompyfunc"):
        with pytest.raises(AttributeError, match=name):
            getattr(cupy, name)
    for name in ("cond", "multi_dot", "vector_norm"):
        with pytest.raises(AttributeError, match=name):
            getattr(cupy.linalg, name)
    with pytest.raises(AttributeError):
        cupy.zeros(3).setflags(write=False)


def test_the_stand_in_has_what_all_versions_of_cupy_have(cupy: ModuleType) -> None:
    known = cupy._signatures
    names = known.names("cupy")
    assert len(names) > 300
    assert {"max", "einsum", "float64"} <= {*names}
    assert not {"acos", "concat"} & {*names}  # CuPy 13 has none of these
    assert [name for name in names if not hasattr(cupy, name)] == []
    for name in known.names("cupy.ndarray"):
        assert hasattr(cupy.ndarray, name)


def test_the_stand_in_takes_what_all_versions_of_cupy_take(cupy: ModuleType) -> None:
    a = cupy.ones((2, 2))
    refused: list[Any] = [
        lambda: cupy.max(a, initial=0.0),
        lambda: cupy.prod(a, initial=2.0),
        lambda: cupy.exp(a, where=a > 0),
        lambda: cupy.linalg.inv(a, a),
        lambda: a.max(initial=0),
        lambda: a.min(0, None, True, 1),
        lambda: a.sum(where=a > 0),
        lambda: a.astype(dtype=float, device=None),
    ]
    for call in refused:
        with pytest.raises(TypeError, match="CuPy 13"):
            call()
    for each in (cupy.multiply, cupy.logaddexp):
        assert not hasattr(each, "at")


def test_the_two_kinds_of_arrays_do_not_mix(cupy: ModuleType) -> None:
    a, b = cupy.ones(3), np.ones(3)
    mixtures: list[Any] = [
        lambda: a + b,
        lambda: b + a,
        lambda: b @ a,
        lambda: cupy.dot(a, b),
        lambda: cupy.where(b > 0, a, a),
        lambda: a[b > 0],
        lambda: a.__setitem__(slice(None), b),
        lambda: a.dot(b),
        lambda: np.asarray(a),
        lambda: np.exp(a),
        lambda: np.ones(3).__iadd__(a),
    ]
    for mixture in mixtures:
        with pytest.raises(TypeError):
            mixture()


def test_device_arrays_calculate_like_numpys(cupy: ModuleType) -> None:
    a = cupy.asarray([[1.0, 2.0], [3.0, 4.0]])
    alias = a
    alias += 1
    a[0, :] = 7
    a[1] *= a[0]
    assert a.get().tolist() == [[7, 7], [28, 35]]
    assert (2 / a).get().tolist() == [[2 / 7, 2 / 7], [2 / 28, 2 / 35]]
    assert isinstance(a.sum(), cupy.ndarray)
    assert float(a.sum()) == 77
    assert bool((a.T @ a == cupy.einsum("ij,ik->jk", a, a)).all())
    assert len(a) == 2
    assert [row.shape for row in a] == [(2,), (2,)]
    assert isinstance(cupy.linalg.slogdet(a)[1], cupy.ndarray)
    assert cupy.result_type(a.dtype, np.float32) == np.float64
    cupy.add.at(a, (cupy.asarray([0, 0]), 0), 1.0)
    assert a[0, 0].item() == 9


def test_a_copy_on_the_host_is_a_copy(cupy: ModuleType) -> None:
    a = cupy.zeros(2)
    a.get()[:] = 1
    cupy.asnumpy(a)[:] = 1
    source = np.zeros(2)
    b = cupy.asarray(source)
    source[:] = 1
    assert a.get().tolist() == b.get().tolist() == [0, 0]
    assert cupy.asarray(a) is a
