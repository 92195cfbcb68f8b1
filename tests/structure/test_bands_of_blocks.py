"""Hessians whose blocks couple neighbours along an axis are solved with as bands."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import tensorgen

SPEC = """
tensorgen: 1
module: neighbours
inputs:
  x: [T, n]
  start: [n]
  A: [n, n]
  C: [k, n]
  Q: {shape: [n, n], spd: true}
  y: [T, k]
  f: [m]
  g: [m]
  z: [m]
  Z: [h, h]
functions:
  smoother:
    doc: Linear dynamics with noise, seen through C (Rauch, Tung and Striebel 1965).
    where: |
      d[t, i] = x[t + 1, i] - sum(A[i, j]*x[t, j], j)
    expr: sum((d @ Q)*d) + sum((y - x @ C.T)**2) + sum((x[0] - start)**2)
    wrt: x
    emit: hessian
  horizon:
    doc: The same with dynamics that are not linear.
    where: |
      d[t, i] = x[t + 1, i] - sum(A[i, j]*tanh(x[t, j]), j)
    expr: sum((d @ Q)*d) + sum((y - x @ C.T)**2)
    wrt: x
    emit: hessian
  path:
    doc: Each coordinate is smooth by itself.
    expr: sum(x**4) + sum((x[2:] - 2*x[1:-1] + x[:-2])**2)
    wrt: x
    emit: hessian
  spline:
    doc: A cubic spline by values and slopes at its knots.
    where: |
      c[i] = f[i + 1] - f[i]
      slopes[i] = g[i]**2 + g[i]*g[i + 1] + g[i + 1]**2
      bend[i] = 3*c[i]**2 - 3*c[i]*(g[i] + g[i + 1]) + slopes[i]
    expr: sum((z - f)**2) + sum(bend)
    wrt: [f, g]
    emit: hessian
  surface:
    expr: sum(Z**4) + sum((Z[1:] - Z[:-1])**2) + sum((Z[:, 1:] - Z[:, :-1])**2)
    wrt: Z
    emit: hessian
"""


@pytest.fixture(scope="module")
def module() -> Any:
    return tensorgen.load(SPEC)


def states(module: Any, name: str, T: int, n: int, k: int = 2) -> Any:
    rng = np.random.default_rng(0)
    x, A, C = (rng.normal(size=s) for s in ((T, n), (n, n), (k, n)))
    given = {"A": A / 2, "C": C, "Q": 2 * np.eye(n), "y": rng.normal(size=(T, k))}
    if name == "smoother":
        given["start"] = np.zeros(n)
    return getattr(module, f"{name}_hess")(x, **({} if name == "path" else given))


def require_right(H: Any, shift: float) -> Any:
    """Compare what a factorization says with the dense matrix; return it."""
    size = H.shape[0]
    dense = H.matrix + shift * np.eye(size)
    b = np.random.default_rng(1).normal(size=(size, 2))
    made = H.factorize(shift)
    for s in (made.solve(b), H.solve(b, shift)):
        assert abs(dense @ s - b).max() < 1e-9
    _, logdet = np.linalg.slogdet(dense)
    assert np.isclose(made.logdet, logdet)
    assert made.is_posdef == (np.linalg.eigvalsh(dense).min() > 0)
    return made


@pytest.mark.parametrize("shift", [0.5, -3.0])
@pytest.mark.parametrize(("T", "n"), [(60, 4), (2, 3), (7, 1)])
@pytest.mark.parametrize("name", ["smoother", "horizon"])
def test_states_that_follow_each_other_are_a_band_of_blocks(
    module: Any, name: str, T: int, n: int, shift: float
) -> None:
    made = require_right(states(module, name, T, n), shift)
    assert type(made).__name__ == "_BandFactorization"


def test_a_band_of_blocks_takes_the_memory_of_the_band(module: Any) -> None:
    T, n = 3000, 4
    H = states(module, "smoother", T, n)
    b = np.ones(T * n)
    H.solve(b)
    tracemalloc.start()
    H.solve(b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 8 * (2 * n) * (T * n)


@pytest.mark.parametrize("size", [5, 60])
def test_coordinates_by_themselves_are_a_band_together(module: Any, size: int) -> None:
    made = require_right(states(module, "path", size, 3), 1.0)
    assert made._band is not None


def test_inputs_that_interleave_are_a_band_in_another_order(module: Any) -> None:
    f, g, z = np.random.default_rng(2).normal(size=(3, 200))
    made = require_right(module.spline_hess(f, g, z), 0.1)
    assert made._band is not None
    assert len(made._band._factors) <= 8


def test_neighbours_in_two_directions_are_eliminated_as_a_sparse_matrix(
    module: Any,
) -> None:
    made = require_right(module.surface_hess(np.ones((30, 30))), 0.1)
    assert made._band is None


def test_singular_bands_of_blocks_are_refused(module: Any) -> None:
    H = module.path_hess(np.zeros((50, 3)))
    with pytest.raises(np.linalg.LinAlgError):
        H.solve(np.ones(150))
    with pytest.raises(np.linalg.LinAlgError):
        H.factorize()


@pytest.mark.parametrize("name", ["smoother", "horizon"])
def test_terms_of_one_pattern_give_each_place_one_entry(module: Any, name: str) -> None:
    T, n = 5, 3
    i, j, values = states(module, name, T, n).coo()
    places = {*zip(i.tolist(), j.tolist(), strict=True)}
    assert len(places) == len(values) == (T + 2 * (T - 1)) * n * n


KKT = """
tensorgen: 1
inputs: {Z: [N, 4], h: scalar}
functions:
  kkt:
    doc: Collocation; the last column has the multipliers of both equations.
    where: |
      height[t] = Z[t + 1, 0] - Z[t, 0] - h/2*(Z[t, 1] + Z[t + 1, 1])
      speed[t] = Z[t + 1, 1] - Z[t, 1] - h*exp(Z[t, 2])*Z[t, 0]
    expr: sum(Z[:, 2]**2) + sum(Z[t + 1, 3]*height[t] + Z[t, 3]**2*speed[t], t)
    wrt: Z
    emit: [gradient, hessian]
"""


def test_blocks_of_a_few_entries_are_held_whole() -> None:
    """One array for each distance, whatever vectors and numbers a block is made of."""
    module = tensorgen.load(KKT)
    Z = np.random.default_rng(0).standard_normal((5, 4))
    found = module.kkt_hess(Z, 0.1)
    assert {name: array.shape for name, array in found.factors.items()} == {
        "A": (5, 4, 4),
        "B": (5, 4, 4),
    }
    step = 1e-6
    dense = found.dense().reshape(20, 20)
    for k, unit in enumerate(np.eye(20).reshape(20, 5, 4)):
        ahead, behind = (module.kkt_grad(Z + s * unit, 0.1) for s in (step, -step))
        slope = ((ahead - behind) / (2 * step)).ravel()
        np.testing.assert_allclose(dense[:, k], slope, rtol=1e-7, atol=1e-8)
    b = np.arange(20.0)
    want = np.linalg.solve(dense + 9 * np.eye(20), b)
    np.testing.assert_allclose(found.solve(b, shift=9.0), want, rtol=1e-8)
