"""Entries whose places follow by rule: strides, reversals, parts side by side."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.bench.clock import peak
from tests.made import load
from tests.programs.check_structured import check_object, check_solve

ROSENBROCK = {
    "indices": "sum(100*(x[2*i+1] - x[2*i]**2)**2 + (1 - x[2*i])**2, i=range(m))",
    "slices": "sum(100*(x[1::2] - x[::2]**2)**2 + (1 - x[::2])**2)",
    "two sums": (
        "100 * sum((x[2*i+1] - x[2*i]**2)**2, i=range(m)) + norm(1 - x[::2])**2"
    ),
}
POWELL = (
    "sum((x[::4] + 10*x[1::4])**2 + 5*(x[2::4] - x[3::4])**2"
    " + (x[1::4] - 2*x[2::4])**4 + 10*(x[::4] - x[3::4])**4)"
)
WOOD = (
    "sum(100*(x[4*i+1] - x[4*i]**2)**2 + (1 - x[4*i])**2"
    " + 90*(x[4*i+3] - x[4*i+2]**2)**2 + (1 - x[4*i+2])**2"
    " + 10.1*((x[4*i+1] - 1)**2 + (x[4*i+3] - 1)**2)"
    " + 19.8*(x[4*i+1] - 1)*(x[4*i+3] - 1), i=range(m))"
)
HESSIANS = {
    **{name: (2, expr, 2, 1) for name, expr in ROSENBROCK.items()},
    "Powell": (4, POWELL, 6, 2),
    "Wood": (4, WOOD, 4, 3),
}
"""Neighbours in a block, function, arrays of m numbers that are held, and numbers."""


def hessian(step: int, expr: str) -> ModuleType:
    """The module of a function of m blocks of neighbours."""
    return load(
        f"tensorgen: 1\ninputs: {{x: [{step}*m]}}\nfunctions:\n  f:\n"
        f"    expr: {expr}\n    wrt: x\n    emit: [gradient, hessian, dense_hessian]\n"
    )


@pytest.mark.parametrize("name", HESSIANS)
@pytest.mark.parametrize("blocks", [1, 2, 5])
def test_strided_access_gives_blocks(name: str, blocks: int) -> None:
    step, expr, *_ = HESSIANS[name]
    module = hessian(step, expr)
    x = np.random.default_rng(0).normal(size=step * blocks)
    H, dense = module.f_hess(x), module.f_hess_dense(x)
    assert not [*check_object(H, dense, x.shape, x.shape)]
    np.testing.assert_allclose(H.diagonal(), np.diagonal(dense))
    for shift in (0.0, 20.0):
        assert not [*check_solve(H, dense, shift)]


@pytest.mark.parametrize("name", HESSIANS)
def test_strided_access_holds_a_few_numbers_a_block(name: str) -> None:
    step, expr, arrays, single = HESSIANS[name]
    module = hessian(step, expr)
    m = 20_000 // step
    x = np.random.default_rng(0).normal(size=step * m)
    H = module.f_hess(x)
    found = H.solve(module.f_grad(x), shift=1e4)
    rows, _, _ = H.coo()
    # 3.2 GB as a dense matrix.
    assert peak(lambda: module.f_hess(x).solve(x, shift=1e4)) < 240 * len(x)
    assert H.nbytes == 8 * (arrays * m + single)
    assert len(rows) <= step**2 * m
    rest = H @ found + 1e4 * found - module.f_grad(x)
    assert abs(rest).max() < 1e-9 * abs(module.f_grad(x)).max()


@pytest.mark.parametrize("beside", ["(x[1:] - x[:-1])**4", "cosh(x)"])
def test_bands_and_blocks_lie_beside_each_other(beside: str) -> None:
    module = hessian(2, f"sum(exp(x[::2]*x[1::2])) + sum({beside})")
    x = np.random.default_rng(0).normal(size=20_000)
    H = module.f_hess(x)
    assert H.nbytes <= 8 * 8 * len(x)
    found = H.solve(x, shift=1e4)
    assert abs(H @ found + 1e4 * found - x).max() < 1e-9


JACOBIANS: dict[str, tuple[str, str, int, int]] = {
    "strides": ("x: [2*n]", "exp(x[1::2])", 1, 1),
    "reversed": ("x: [n]", "flip(exp(x))", 1, 1),
    "reversed alone": ("x: [n]", "flip(x)", 0, 1),
    "permuted": ("x: [n], s: {index: n, shape: [n]}", "exp(x[s])", 2, 1),
    "side by side": (
        "x: [n], s: {index: n, shape: [n]}, d: [n]",
        "concatenate([x[s] - d, x[1:] - x[:-1]])",
        3,
        3,
    ),
    "side by side, scaled": (
        "x: [n], s: {index: n, shape: [n]}, d: [n]",
        "concatenate([exp(x[s]) - d, x[1:]**2 - x[:-1]])",
        3,
        3,
    ),
}
"""Inputs, function, numbers a row that are held, and entries a row, at most."""


def jacobian(name: str) -> ModuleType:
    """The module of a function of a vector."""
    inputs, expr, *_ = JACOBIANS[name]
    return load(
        f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n  f:\n    expr: {expr}\n"
        "    wrt: x\n    emit: [value, jacobian, dense_jacobian]\n"
    )


def given(name: str, n: int) -> dict[str, Any]:
    """Arguments of a function."""
    rng = np.random.default_rng(n)
    made: dict[str, Any] = {"x": rng.normal(size=2 * n if name == "strides" else n)}
    if "s:" in JACOBIANS[name][0]:
        made["s"] = rng.integers(0, max(n, 1), size=n)
    if "d:" in JACOBIANS[name][0]:
        made["d"] = rng.normal(size=n)
    return made


@pytest.mark.parametrize("name", JACOBIANS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_jacobians_of_moved_entries_agree_with_dense_ones(name: str, n: int) -> None:
    module, arguments = jacobian(name), given(name, n)
    dense = module.f_jac_dense(**arguments)
    x = arguments["x"]
    assert not [
        *check_object(module.f_jac(**arguments), dense, dense.shape[:1], x.shape)
    ]
    moved = x + 1e-6 * np.cos(np.arange(x.size))
    difference = module.f(**{**arguments, "x": moved}) - module.f(**arguments)
    np.testing.assert_allclose(difference, dense @ (moved - x), rtol=1e-4, atol=1e-10)


@pytest.mark.parametrize("name", JACOBIANS)
def test_jacobians_of_moved_entries_hold_a_few_numbers_a_row(name: str) -> None:
    *_, held, entries = JACOBIANS[name]
    n = 10_000
    J = jacobian(name).f_jac(**given(name, n))
    assert J.nbytes <= 8 * (held * n + 2)
    assert len(J.coo()[0]) <= entries * n


RESHAPED: dict[str, tuple[str, str, str, int]] = {
    "raveled": ("x: [n, m]", "ravel(exp(x))", "x", 9_000),
    "raveled and scaled": ("x: [n, m]", "2 * ravel(x)**2 + 1", "x", 9_000),
    "reshaped": ("x: [n, m]", "reshape(exp(x), m * n, 1)", "x", 9_000),
    "a raveled product": ("x: [n, m], y: [m, 2]", "ravel(x @ y)", "x", 180),
    "Kronecker product": ("x: [n], y: [m]", "kron(x, y)", "x", 90),
    "Kronecker product, the other": ("x: [n], y: [m]", "kron(x, y)", "y", 100),
}
"""Inputs, function, variable, and the numbers held for n = 100 and m = 90."""


def reshaped(name: str, n: int, m: int) -> tuple[ModuleType, dict[str, Any], str]:
    """The module of a reshaped function, arguments and the variable."""
    inputs, expr, variable, _ = RESHAPED[name]
    module = load(
        f"tensorgen: 1\ninputs: {{{inputs}}}\nfunctions:\n  f:\n    expr: {expr}\n"
        f"    wrt: {variable}\n    emit: [value, jacobian, dense_jacobian]\n"
    )
    rng = np.random.default_rng(n)
    shapes = {"x": (n, m), "y": (m, 2)} if "[n, m]" in inputs else {"x": n, "y": m}
    made = {key: rng.normal(size=shapes[key]) for key in shapes if f"{key}:" in inputs}
    return module, made, variable


@pytest.mark.parametrize("name", RESHAPED)
@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (4, 1)])
def test_jacobians_of_reshaped_arrays_agree_with_dense_ones(
    name: str, sizes: tuple[int, int]
) -> None:
    module, arguments, variable = reshaped(name, *sizes)
    dense = module.f_jac_dense(**arguments)
    x = arguments[variable]
    rows = dense.shape[: dense.ndim - x.ndim]
    J = module.f_jac(**arguments)
    assert not [*check_object(J, dense.reshape(-1, x.size), rows, x.shape)]
    moved = x + 1e-6 * np.cos(np.arange(x.size)).reshape(x.shape)
    difference = module.f(**{**arguments, variable: moved}) - module.f(**arguments)
    wanted = J @ (moved - x).ravel()
    np.testing.assert_allclose(difference.ravel(), wanted, rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("name", RESHAPED)
def test_jacobians_of_reshaped_arrays_hold_what_they_are_made_of(name: str) -> None:
    module, arguments, _ = reshaped(name, 100, 90)
    J = module.f_jac(**arguments)
    assert J.nbytes == 8 * RESHAPED[name][-1]
    assert len(J.coo()[0]) <= 18_000


def test_places_are_counted_again_behind_what_has_one_entry() -> None:
    """One entry at a corner is at a place that has the name of a number of others."""
    module = tensorgen.load("""tensorgen: 1
inputs: {A: [n, m]}
functions:
  f:
    where: |
      res = logaddexp(outer(A[0], A[0]), A[-1][:, None] * A[-1])
    expr: sum(1/(2 + res[0]**2))
    wrt: A
    emit: [hessian]
""")
    A = np.random.default_rng(0).standard_normal((3, 4))
    found = module.f_hess(A)
    rows, columns, values = found.coo()
    dense = np.zeros((12, 12))
    np.add.at(dense, (rows, columns), values)
    np.testing.assert_allclose(dense, found.dense().reshape(12, 12), atol=1e-15)
