"""Functions of matrices that are positive definite by what is promised of inputs."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from tests import made
from tests.device.library import execute, stand_in

INNOVATION = """
tensorgen: 1
module: kalman
inputs:
  x: [n]
  P: {shape: [n, n], spd: true}
  R: {shape: [p, p], spd: true}
  H: [p, n]
  z: [p]
functions:
  loss:
    doc: Negative log-likelihood of an observation z of a state x, but for a constant.
    where: |
      S = H @ P @ H.T + R
      e = z - H @ x
    expr: e @ solve(S, e) / 2 + logdet(S) / 2
    wrt: x
    emit: [value, gradient, hessian, hvp, problem]
"""

GROUPS = """
tensorgen: 1
module: groups
inputs:
  C: {shape: [g, d, d], spd: true}
  v: [g, d]
functions:
  loss[k]:
    expr: logdet(C)[k] + sum(v[k, i] * inv(C)[k, i, j] * v[k, j], i, j)
    wrt: v
    emit: [value, jacobian]
"""


def definite(rng: np.random.Generator, *shape: int) -> Any:
    root = rng.normal(size=shape)
    return root @ root.swapaxes(-1, -2) / shape[-1] + np.eye(shape[-1])


def observation(n: int, p: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    H = rng.normal(size=(p, n)) / np.sqrt(n)
    x, z = rng.normal(size=n), rng.normal(size=p)
    return {"x": x, "P": definite(rng, n, n), "R": definite(rng, p, p), "H": H, "z": z}


THOROUGH = pytest.param(3, 2, marks=pytest.mark.thorough)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "p"), [(1, 1), THOROUGH, (40, 150)])
@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_systems_and_determinant_share_a_factor(
    backend: str, n: int, p: int, dtype: Any
) -> None:
    given = observation(n, p)
    S = given["H"] @ given["P"] @ given["H"].T + given["R"]
    e = given["z"] - given["H"] @ given["x"]
    value = e @ np.linalg.solve(S, e) / 2 + np.linalg.slogdet(S)[1] / 2
    gradient = -given["H"].T @ np.linalg.solve(S, e)
    hessian = given["H"].T @ np.linalg.solve(S, given["H"])
    source = made.generate(INNOVATION, backend=backend)
    assert source.count("linalg.cholesky(S)") >= 3
    tolerance: Any = {"rtol": 1e-10 if dtype is np.float64 else 2e-4}
    tolerance["atol"] = tolerance["rtol"]
    with stand_in() as cupy:
        model: Any = execute(source)
        device = cupy.asarray if backend == "cupy" else np.asarray
        own = {name: device(a.astype(dtype)) for name, a in given.items()}
        f, g, H = model.loss_value_grad_hess(**own)
        data = {name: a for name, a in own.items() if name != "x"}
        problem = model.LossProblem(**data)
        found = [
            (f, value),
            (model.loss(**own), value),
            (problem.value(device(given["x"])), value),
            (g, gradient),
            (model.loss_grad(**own), gradient),
            (problem.gradient(device(given["x"])), gradient),
            (H.dense(), hessian),
            (model.loss_hvp(**own, dx=own["x"]), hessian @ given["x"]),
        ]
        for result, expected in found:
            got = result.get() if hasattr(result, "get") else result
            np.testing.assert_allclose(got, expected, **tolerance)
        assert model.loss(**own).dtype == dtype


def test_what_is_not_definite_is_refused() -> None:
    given = observation(3, 2)
    given["R"] = -100 * given["R"]
    model = made.load(INNOVATION)
    told = " ".join(model.loss.__doc__.split())
    assert "LinAlgError: a matrix that is singular or not positive definite." in told
    with pytest.raises(np.linalg.LinAlgError):
        model.loss(**given)


SYSTEM = """
tensorgen: 1
module: system
inputs:
  S: {shape: [n, n], spd: true}
  b: [n]
functions:
  f: {expr: "b @ solve(S, b)", wrt: b, emit: [value, gradient]}
"""


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_a_single_system_keeps_the_promise_too(backend: str) -> None:
    rng = np.random.default_rng(1)
    S, b = definite(rng, 4, 4), rng.normal(size=4)
    with stand_in() as cupy:
        cupyx: Any = importlib.import_module("cupyx")
        model: Any = execute(made.generate(SYSTEM, backend=backend))
        device = cupy.asarray if backend == "cupy" else np.asarray
        given = {"S": device(S), "b": device(b)}
        found = model.f(**given)
        expected = b @ np.linalg.solve(S, b)
        np.testing.assert_allclose(float(found), expected, rtol=1e-12)
        # Regular, so that elimination would find a solution; and one triangle is read.
        turned = device(np.tril(S) + np.triu(S, 1) * 7)
        np.testing.assert_allclose(float(model.f(turned, given["b"])), expected)
        broken = given | {"S": device(S - 2 * np.eye(4) * np.linalg.eigvalsh(S)[0])}
        for name in ("f", "f_grad", "f_value_and_grad"):
            with (
                pytest.raises(np.linalg.LinAlgError),
                cupyx.errstate(linalg="raise"),
            ):
                vars(model)[name](**broken)


def test_stacks_are_factorised_together() -> None:
    rng = np.random.default_rng(0)
    C, v = definite(rng, 5, 3, 3), rng.normal(size=(5, 3))
    functions = made.generate(GROUPS).split("\ndef ")
    assert [f.count("np.linalg.cholesky(C)") for f in functions[1:3]] == [1, 1]
    model = made.load(GROUPS)
    solution = np.linalg.solve(C, v[..., None])[..., 0]
    value = np.linalg.slogdet(C)[1] + (v * solution).sum(axis=1)
    np.testing.assert_allclose(model.loss(C, v), value, rtol=1e-12)
    jacobian = np.zeros((5, 5, 3))
    jacobian[range(5), range(5)] = 2 * solution
    np.testing.assert_allclose(model.loss_jac(C, v).dense(), jacobian, atol=1e-12)
