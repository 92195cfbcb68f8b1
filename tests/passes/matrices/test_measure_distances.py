"""Distances between all rows: no table of differences, and their digits."""

from __future__ import annotations

import inspect
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.device.library import execute, stand_in

Array = Any

SPEC = """tensorgen: 1
inputs:
  X: [n, d]
  Y: [m, d]
  A: [d, n]
  V: [n, m]
  W: [n, n]
  r: [d]
  q: {shape: [d], positive: true}
  M: {shape: [d, d], spd: true}
functions:
  plain:
    expr: sum(V[i, j] * exp(-sum((X[i, k] - Y[j, k])**2, k)), i, j)
    wrt: [X, Y]
    emit: [value, gradient]
  scaled:
    expr: sum(W[i, j] * exp(-sum((X[i, k] - X[j, k])**2 / r[k]**2 * q[k], k)), i, j)
    wrt: [X, r, q]
    emit: [value, gradient]
  turned:
    expr: sum(W[i, j] / (1 + norm(2*A[:, i] - 2*A[:, j])**2), i, j)
    wrt: A
    emit: [value, gradient]
  spread:
    where: 's[i, k] = sum(W[i, j] * (X[i, k] - X[j, k])**2, j)'
    expr: sum(sin(s))
    wrt: X
    emit: [value, gradient]
  parted:
    where: 'D[i, j] = norm((X[i, :] - Y[j, :]) / r)'
    expr: sum(V * exp(-2*D))
    wrt: [X, Y, r]
    emit: [value, gradient]
  inside:
    expr: sum(V[i, j] * exp(-sum(((X[i, k] - Y[j, k]) / r[k] / 2)**2, k)), i, j)
    wrt: [X, r]
    emit: [value, gradient]
  weighed:
    expr: sum(r[k] * V[i, j] * (X[i, k] - Y[j, k])**2, i, j, k)
    wrt: [X, Y, r]
    emit: [value, gradient]
  metric:
    where: |
      D[i, j] = sum((X[i, k] - Y[j, k]) * M[k, l] * (X[i, l] - Y[j, l]), k, l)
    expr: sum(V * exp(-D/10))
    wrt: X
    emit: [value, gradient]
"""


def data(rng: np.random.Generator, n: int = 5, m: int = 4, d: int = 3) -> Any:
    shapes = {"X": (n, d), "Y": (m, d), "A": (d, n), "V": (n, m), "W": (n, n)}
    given = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    given["r"], given["q"] = rng.uniform(1, 2, d), rng.uniform(1, 2, d)
    root = rng.standard_normal((d, d)) / d
    given["M"] = root @ root.T + np.eye(d)
    return given


def expected(
    name: str,
    X: Array,
    Y: Array,
    A: Array,
    V: Array,
    W: Array,
    r: Array,
    q: Array,
    M: Array,
) -> Array:
    """The functions, with tables of all differences; complex arguments too."""
    XY, XX = X[:, None] - Y, X[:, None] - X
    turned = 2 * (A.T[:, None] - A.T)
    return {
        "plain": lambda: (V * np.exp(-(XY**2).sum(-1))).sum(),
        "scaled": lambda: (W * np.exp(-(XX**2 / r**2 * q).sum(-1))).sum(),
        "turned": lambda: (W / (1 + (turned**2).sum(-1))).sum(),
        "spread": lambda: np.sin(np.einsum("ij,ijk->ik", W, XX**2)).sum(),
        "parted": lambda: (V * np.exp(-2 * np.sqrt(((XY / r) ** 2).sum(-1)))).sum(),
        "inside": lambda: (V * np.exp(-((XY / r / 2) ** 2).sum(-1))).sum(),
        "weighed": lambda: np.einsum("k,ij,ijk->", r, V, XY**2),
        "metric": lambda: (V * np.exp(-((XY @ M) * XY).sum(-1) / 10)).sum(),
    }[name]()


def arguments(function: Any, given: Any) -> dict[str, Array]:
    return {x: given[x] for x in inspect.signature(function).parameters}


@cache
def module() -> Any:
    return tensorgen.load(SPEC)


WRT = {
    "plain": "XY",
    "scaled": "Xrq",
    "turned": "A",
    "spread": "X",
    "parted": "XYr",
    "inside": "Xr",
    "weighed": "XYr",
    "metric": "X",
}


@pytest.mark.parametrize("backend", ["numpy", "cupy"])
def test_distances_are_those_of_differences(backend: str) -> None:
    text = tensorgen.generate(SPEC, backend)
    with stand_in() as cupy:
        own = execute(text)
        for sizes in ((5, 4, 3), (40, 30, 7), (1, 1, 1), (2, 9, 5)):
            given = data(np.random.default_rng(1), *sizes)
            for name, wrt in WRT.items():
                function = getattr(own, f"{name}_value_and_grad")
                args = arguments(function, given)
                if backend == "cupy":
                    args = {x: cupy.asarray(value) for x, value in args.items()}
                value, slopes = function(**args)
                np.testing.assert_allclose(float(value), expected(name, **given), 1e-12)
                slopes = (slopes,) if len(wrt) == 1 else slopes
                for x, slope in zip(wrt, slopes, strict=True):
                    along = np.random.default_rng(2).standard_normal(given[x].shape)
                    moved = {**given, x: given[x] + 1e-30j * along}
                    want = expected(name, **moved).imag / 1e-30
                    found = (cupy.asnumpy(slope) * along).sum()
                    np.testing.assert_allclose(found, want, 1e-9, 1e-12)


def test_no_table_of_all_differences_is_held() -> None:
    own = module()
    given = data(np.random.default_rng(3), 500, 400, 100)
    for name in WRT:  # a table would take 160 MB
        function = getattr(own, f"{name}_value_and_grad")
        assert "[:, :, None]" not in inspect.getsource(function)
        tracemalloc.start()
        value, _ = function(**arguments(function, given))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert np.isfinite(value) and peak < 16e6


@pytest.mark.parametrize("offset", [0.0, 1e3, 2.0**20])
@pytest.mark.parametrize("width", [1, 2, 8, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_keep_their_digits(offset: float, width: int, dtype: type) -> None:
    own = module()._squared_distances
    drawn = np.random.default_rng(4).standard_normal((200, width))
    x: Array = (drawn + offset).astype(dtype)
    x[5], x[7] = x[6], x[8] * (1 + np.finfo(dtype).eps)
    scale: Array = np.linspace(1, 2, width).astype(dtype)
    exact = x.astype(np.longdouble)
    want = ((scale * (exact[:, None] - exact)) ** 2).sum(axis=-1)
    found = own(x, x, scale)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, want, rtol=100 * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("offset", [0.0, 1e3, 2.0**20])
@pytest.mark.parametrize("width", [1, 2, 8, 40])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_in_a_metric_keep_their_digits(
    offset: float, width: int, dtype: type
) -> None:
    rng = np.random.default_rng(4)
    x: Array = (rng.standard_normal((200, width)) + offset).astype(dtype)
    x[5], x[7] = x[6], x[8] * (1 + np.finfo(dtype).eps)
    root = rng.standard_normal((width, width)) / width
    metric: Array = (root @ root.T + np.eye(width)).astype(dtype)
    exact = x.astype(np.longdouble)
    difference = exact[:, None] - exact
    want = ((difference @ metric.astype(np.longdouble)) * difference).sum(axis=-1)
    found = module()._metric_distances(x, x, metric)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, want, rtol=100 * float(np.finfo(dtype).eps))


def test_an_inverse_is_applied_and_no_metric() -> None:
    text = SPEC.replace("* M[k, l] *", "* inv(M)[k, l] *")
    assert "_metric_distances(" not in tensorgen.generate(text)


def test_what_a_metric_meets_whole_is_no_square_in_it() -> None:
    module = tensorgen.load("""
tensorgen: 1
inputs: {M: {shape: [d, d], spd: true}, T: [d, d]}
functions: {f: {expr: trace(M @ T), wrt: T, emit: [value, gradient]}}
""")
    M, T = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, -2.0], [5.0, 4.0]])
    assert module.f(M, T) == np.trace(M @ T)


def test_rows_that_are_no_numbers_spoil_no_others() -> None:
    own = module()._squared_distances
    x = np.random.default_rng(5).standard_normal((60, 8))
    x[3, 0], x[4, 1], x[5, 2] = np.inf, np.nan, 1e200
    with np.errstate(all="ignore"):
        want, found = ((x[:, None] - x) ** 2).sum(axis=-1), own(x, x)
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_rows_among_themselves_are_as_beside_a_copy() -> None:
    module_ = module()
    x = np.random.default_rng(3).normal(size=(400, 5))  # several blocks
    x[7] = x[300]
    x[9, 2], x[310, 1] = np.nan, np.inf
    for own in (module_._squared_distances, module_._distances):
        with np.errstate(invalid="ignore"):
            found, other = own(x, x), own(x, x.copy())
        np.testing.assert_allclose(found, other, rtol=1e-12)
        diagonal = np.delete(found.diagonal(), [9, 310])
        assert not diagonal.any() and np.isnan(found[[9, 310], [9, 310]]).all()


def test_rows_among_themselves_gather_none(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(4).normal(size=(50, 5))
    monkeypatch.setattr(np, "divmod", None)
    module()._squared_distances(x, x)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [(0, 3), (3, 0), (0, 0)])
def test_there_may_be_no_rows(rows: tuple[int, int]) -> None:
    own, (m, n) = module()._squared_distances, rows
    assert own(np.zeros((m, 5)), np.zeros((n, 5))).shape == (m, n)
    assert not own(np.zeros((3, 0)), np.zeros((2, 0))).any()
    of, metric = module()._metric_distances, np.eye(5)
    assert of(np.zeros((m, 5)), np.zeros((n, 5)), metric).shape == (m, n)
    assert not of(np.zeros((3, 0)), np.zeros((2, 0)), np.eye(0)).any()


@pytest.mark.filterwarnings("error")
def test_norms_of_differences_keep_within_the_range_of_floats() -> None:
    own = module()._distances
    x = np.random.default_rng(6).standard_normal((50, 8))
    x[:10] *= 1e-200
    x[10:20] *= 1e200
    found = own(x, x)
    size = np.abs(x).max()
    for i, j in ((0, 1), (0, 40), (0, 12), (11, 12), (30, 40), (3, 3)):
        difference = x[i] - x[j]
        top = np.abs(difference).max(initial=0) or 1.0
        want = top * np.sqrt(((difference / top) ** 2).sum())
        np.testing.assert_allclose(found[i, j], want, rtol=1e-12)
    assert np.all(found <= 10 * size)


def test_norms_of_differences_that_are_formed_are_made_once() -> None:
    text = """tensorgen: 1
inputs: {X: [n, 2], Y: [m, 2], V: [n, m]}
functions:
  f:
    expr: sum(sqrt(1 + (V[i, j] - norm(X[i, :] - Y[j, :]))**2), i, j)
    wrt: Y
    emit: [gradient, hvp]
"""
    own = tensorgen.load(text)
    assert "_norm(" not in inspect.getsource(own.f_grad)
    source = inspect.getsource(own.f_hvp)
    assert "_norm(" in source and "_distances(" not in source


@pytest.mark.parametrize(
    "D",
    [
        "D[i, j] = 1 / (1 + sum((X[i, k] - X[j, k])**2, k))",
        "D[i, j] = 1 / (1 + norm(X[i, :] - X[j, :])**2)",
        "D[i, j] = (1 + norm(X[j, :] - X[i, :])**2)**-1",
        "D[i, j] = norm(X[i, :] - X[j, :])",
    ],
)
def test_slopes_of_distances_among_rows_are_one_product(D: str) -> None:
    text = f"""tensorgen: 1
inputs: {{X: [n, d], S: {{shape: [n, n], symmetric: true}}}}
functions:
  f:
    where: '{D}'
    expr: sum((S - D)**2)
    wrt: X
    emit: [gradient]
"""
    source = inspect.getsource(tensorgen.load(text).f_grad)
    assert source.count("@") == 1 and ".T" not in source
    assert source.count("sum(axis=1)") == 1


@pytest.mark.parametrize("weight", ["A[j]", "A[j]*B[k]", "A[j]**2"])
def test_rows_that_nothing_weighs_are_counted(weight: str) -> None:
    text = f"""tensorgen: 1
inputs: {{A: [n], T: [p, m], S: [n, m], B: [m]}}
functions:
  f:
    expr: "sum((T[i, k] - S[j, k])*{weight}*B[k], i, j, k)"
    wrt: B
    emit: [gradient]
"""
    module = tensorgen.load(text)
    rng = np.random.default_rng(0)
    A, T, S = rng.normal(size=5), rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    B = rng.normal(size=4)
    w = A**2 if "**" in weight else A
    slope = np.einsum("j,ijk->k", w, T[:, None] - S)
    expected = 2 * B * slope if "B" in weight else slope
    np.testing.assert_allclose(module.f_grad(A, T, S, B), expected, rtol=1e-12)
