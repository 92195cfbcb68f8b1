"""Sizes that no shape of an argument gives: callers state them, everywhere alike."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tensorgen
from tensorgen.errors import SpecError
from tests.constrained_specs import Solver
from tests.device.library import execute, stand_in

Array = Any
RNG = np.random.default_rng(7)

SPEC = """
tensorgen: 1
dims: {m: 4, T: 10, g: 3, rows: 5}
inputs:
  weight: [E]
  s: {shape: [E], index: m}
  x0: [n]
  A: [n, n]
  b: scalar
  z: [k + h]
  lam: {shape: scalar, default: 0.5}
functions:
  degree[i]:
    expr: sum(weight[e], e, s[e] == i)
    wrt: weight
    emit: [value, jacobian, dense_jacobian, jvp, vjp]
  spread:
    expr: lam * sum(degree**3) / m
    wrt: weight
    emit: [value, gradient, hessian, hvp, problem]
  end:
    where: |
      x[0] = x0
      x[t=range(1, T + 1)] = tanh(A @ x[t - 1]) + b
    expr: sum(x[T]**2)
    wrt: [x0, A]
    emit: [value, gradient, hvp, problem]
  first:
    where: |
      x[0] = x0
      x[t=range(1, T)] = tanh(x[t - 1])
    expr: sum(x**2)
  tail: {expr: "sum(z[i]**2, i=range(k)) * h", wrt: z, emit: [value, gradient, problem]}
  basel: sum(1 / (i + 1)**2, i=range(T))
  grid[i, j=range(rows)]: b * j + x0[i]
  both[i]: degree[i] * sum(x0[j], j=range(g))
"""

E, n, m = 9, 3, 4
WEIGHT, S = RNG.normal(size=E), RNG.integers(0, m - 1, E)
X0, A, B = RNG.normal(size=n), RNG.normal(size=(n, n)) / 2, 0.3


@pytest.fixture(scope="module")
def module() -> ModuleType:
    return execute(tensorgen.generate(SPEC))


def degree(weight: Array) -> Array:
    return np.bincount(S, weight, m)


def end(x: Array, A: Array, T: int) -> Array:
    for _ in range(T):
        x = np.tanh(A @ x) + B
    return np.sum(x**2)


def slope(function: Any, x: Array) -> Array:
    """The gradient of a function, by complex steps."""
    found = np.zeros(x.shape)
    for at in np.ndindex(*x.shape):
        moved = x.astype(complex)
        moved[at] += 1e-30j
        found[at] = np.imag(function(moved)) / 1e-30
    return found


def test_group_counts_are_as_long_as_is_said(module: ModuleType) -> None:
    got = module.degree(WEIGHT, S, m=m)
    assert got[-1] == 0  # no entry belongs to the last one
    np.testing.assert_allclose(got, degree(WEIGHT), 1e-14)
    J = (np.arange(m)[:, None] == S) * 1.0
    np.testing.assert_array_equal(module.degree_jac(WEIGHT, S, m=m).dense(), J)
    np.testing.assert_array_equal(module.degree_jac_dense(WEIGHT, S, m=m), J)
    d, ct = RNG.normal(size=E), RNG.normal(size=m)
    np.testing.assert_allclose(module.degree_jvp(WEIGHT, S, d, m=m)[1], J @ d)
    np.testing.assert_allclose(module.degree_vjp(WEIGHT, S, ct, m=m)[1], ct @ J)


def test_sizes_are_integers_on_a_device_too() -> None:
    source = tensorgen.generate(SPEC, backend="cupy")
    with stand_in() as cupy:
        module = execute(source)
        weight, s = cupy.asarray(WEIGHT), cupy.asarray(S)
        got = module.spread_grad(weight, s, m=m).get()
        p = module.SpreadProblem(m=m, s=s)
        v = p.pack(weight=weight)
        np.testing.assert_allclose(p.gradient(v).get(), got)
    np.testing.assert_allclose(got, 3 * degree(WEIGHT)[S] ** 2 / m / 2)


def test_functions_of_others_take_their_sizes(module: ModuleType) -> None:
    want = np.sum(degree(WEIGHT) ** 3) / m / 2
    assert module.spread(WEIGHT, S, m=m) == pytest.approx(want)
    slopes = 3 * degree(WEIGHT)[S] ** 2 / m
    got = module.spread_grad(WEIGHT, S, m=m, lam=1)
    np.testing.assert_allclose(got, slopes)
    d = RNG.normal(size=E)
    H = module.spread_hess(WEIGHT, S, m=m)
    np.testing.assert_allclose(H @ d, module.spread_hvp(WEIGHT, S, d, m=m))
    np.testing.assert_allclose(
        module.both(WEIGHT, S, X0, m=m, g=2), degree(WEIGHT) * X0[:2].sum()
    )


@pytest.mark.parametrize("T", [0, 1, 6])
def test_a_recurrence_of_its_own_goes_as_far_as_is_said(
    module: ModuleType, T: int
) -> None:
    assert module.end(X0, A, B, T=T) == pytest.approx(end(X0, A, T))
    got = module.end_grad(X0, A, B, T=T)
    np.testing.assert_allclose(got.x0, slope(lambda x: end(x, A, T), X0))
    np.testing.assert_allclose(got.A, slope(lambda M: end(X0, M, T), A), atol=1e-14)
    assert module.basel(T=T) == pytest.approx(sum(1 / k**2 for k in range(1, T + 1)))


def test_what_one_argument_leaves_open_of_a_sum_is_said(module: ModuleType) -> None:
    z = RNG.normal(size=7)
    assert module.tail(z, k=3) == pytest.approx(4 * np.sum(z[:3] ** 2))
    np.testing.assert_allclose(module.tail_grad(z, k=3)[:3], 8 * z[:3])
    with pytest.raises(ValueError, match=r"with h >= 0, got .*k = 8 was given"):
        module.tail(z, k=8)
    assert [*inspect.signature(module.tail).parameters] == ["z", "k"]


def test_a_dim_that_objects_use_has_its_name_in_code(module: ModuleType) -> None:
    np.testing.assert_allclose(
        module.grid(X0, B, rows_=4), B * np.arange(4) + X0[:, None]
    )


def test_sizes_are_keyword_only_integers_before_defaults(module: ModuleType) -> None:
    parameters = inspect.signature(module.spread_hvp).parameters
    assert [*parameters] == ["weight", "s", "dweight", "m", "lam"]
    assert parameters["m"].kind is inspect.Parameter.KEYWORD_ONLY
    assert "m : integer from 0 on, a size" in (module.__doc__ or "")
    with pytest.raises(TypeError, match="required keyword-only argument: 'm'"):
        module.spread(WEIGHT, S)


@pytest.mark.parametrize(
    ("size", "error", "message"),
    [
        (-1, ValueError, "T: expected a size, got -1"),
        (2.0, TypeError, "T: expected an integer, got float"),
        (np.array(2.5), TypeError, "T: expected an integer, got ndarray"),
        ("2", TypeError, "T: expected an integer, got str"),
        (None, TypeError, "T: expected an integer, got NoneType"),
    ],
)
def test_what_is_no_size_is_refused(
    module: ModuleType, size: Any, error: Any, message: str
) -> None:
    with pytest.raises(error, match=message):
        module.end(X0, A, B, T=size)


def test_what_does_not_fit_a_size_says_that_it_was_given(module: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"from 0 to 1, got .*; m = 2 was given"):
        module.degree(WEIGHT, S, m=2)
    with pytest.raises(ValueError, match=r"ct: expected shape \(m,\) = \(4,\), got"):
        module.degree_vjp(WEIGHT, S, np.ones(5), m=m)
    with pytest.raises(ValueError, match="the range of 't' needs 1 <= T"):
        module.first(X0, T=0)
    assert module.first(X0, T=np.int64(1)) == pytest.approx(np.sum(X0**2))


def test_problems_take_sizes_as_data(module: ModuleType) -> None:
    p = module.SpreadProblem(m=m, s=S, lam=2.0)
    v = p.pack(weight=WEIGHT)
    assert p.value(v) == pytest.approx(module.spread(WEIGHT, S, m=m, lam=2))
    np.testing.assert_allclose(p.gradient(v), module.spread_grad(WEIGHT, S, m=m, lam=2))
    p.update(s=S[::-1].copy())
    again = module.spread(WEIGHT, S[::-1].copy(), m=m, lam=2)
    assert p.value(v) == pytest.approx(again)
    with pytest.raises(ValueError, match="m = 4 was given"):
        p.update(s=S + m)
    with pytest.raises(TypeError, match="m: expected an integer"):
        module.SpreadProblem(m=1.5, s=S)
    assert "m" not in inspect.signature(p.update).parameters
    p = module.EndProblem(T=4, b=B)
    v = p.pack(x0=X0, A=A)
    assert p.value(v) == pytest.approx(end(X0, A, 4))
    got = module.end_grad(X0, A, B, T=4)
    np.testing.assert_allclose(p.gradient(v), np.r_[got.x0, got.A.ravel()])
    p = module.TailProblem(k=3)
    z = RNG.normal(size=7)
    np.testing.assert_allclose(p.gradient(p.pack(z=z)), module.tail_grad(z, k=3))


def test_problems_keep_sizes_when_vectors_are_wider(module: ModuleType) -> None:
    p = module.SpreadProblem(m=m, s=S, lam=np.float32(2))
    p.pack(weight=WEIGHT.astype("f"))
    want = module.spread(WEIGHT, S, m=m, lam=2)
    assert p.value(WEIGHT) == pytest.approx(want, rel=1e-12)


CONSTRAINED = """
tensorgen: 1
dims: [T]
inputs: {u: [n], b: scalar}
functions:
  cost: sum((u[i] - i*b/T)**2, i) + sum(b**t, t=range(T))
  ends: u[0]**2 - b**T
problem:
  name: P
  minimize: cost
  variables: {u: {lower: -T}}
  constraints: {ends: {lower: 0}}
"""


def test_constrained_problems_take_sizes_that_only_methods_use() -> None:
    p = execute(tensorgen.generate(CONSTRAINED)).P(n=3, T=4, b=0.5)
    v = np.array([1.0, 2, 4])
    rest = v - np.arange(3) * 0.5 / 4
    assert p.objective(v) == pytest.approx(rest @ rest + sum(0.5**t for t in range(4)))
    assert p.gradient(v) == pytest.approx(2 * rest)
    assert p.constraints(v) == pytest.approx([1 - 0.5**4])
    assert p.lb.tolist() == [-4] * 3


@pytest.mark.parametrize(
    ("inputs", "entry"),
    [
        ("at: {shape: [E], index: n}", "x[at[e]]"),
        ("A: {shape: [E, n], sparse: true}", "(A @ x)[e]"),
    ],
)
def test_constrained_problems_take_the_number_of_groups(
    inputs: str, entry: str
) -> None:
    spec = f"""
tensorgen: 1
dims: {{n: 1000, E: 3000, m: 500}}
inputs: {{x: [n], s: {{shape: [E], index: m}}, {inputs}}}
functions:
  cost: sum(x**2)
  groups[i]: sum({entry}**2, e, s[e] == i)
problem:
  name: P
  minimize: cost
  variables: x
  constraints: {{groups: {{upper: 0}}}}
"""
    at = RNG.integers(0, n, E)
    A = sp.csr_array((WEIGHT, (np.arange(E), at)), shape=(E, n))
    given: dict[str, Any] = {"n": n, "at": at} if "at" in inputs else {"A": A}
    D = np.eye(n)[at] if "at" in inputs else A.toarray()
    p = Solver(execute(tensorgen.generate(spec, backend="numpy")).P(m=m, s=S, **given))
    keys = np.equal.outer(np.arange(m), S)
    assert p.constraints(X0) == pytest.approx(keys @ (D @ X0) ** 2)
    assert p.jacobian(X0) == pytest.approx(2 * keys * (D @ X0) @ D)


def test_a_size_that_another_argument_gives_is_no_argument() -> None:
    head = "tensorgen: 1\ndims: [m]\ninputs: {x: [n], y: [m]}\nfunctions:\n"
    module = execute(tensorgen.generate(f"{head}  f: sum(x) / m + sum(y)\n"))
    assert [*inspect.signature(module.f).parameters] == ["x", "y"]
    assert module.f(np.ones(2), np.ones(4)) == 4.5


# A name that nobody declared is no size.
TYPOS = {
    "sum(x) / nn": ("unknown name 'nn'", "did you mean 'n'?"),
    "sum(x[i], i=range(TT))": ("the index 'TT' is neither", "did you mean 'T'?"),
    "zeros(TT)": ("'TT'", "did you mean 'T'?"),
}


@pytest.mark.parametrize("text", TYPOS)
def test_a_dim_that_nobody_declared_is_a_slip(text: str) -> None:
    spec = f"tensorgen: 1\ndims: [T]\ninputs: {{x: [n]}}\nfunctions:\n  f: {text}\n"
    with pytest.raises(SpecError) as caught:
        tensorgen.generate(spec)
    for part in TYPOS[text]:
        assert part in str(caught.value)


def test_sizes_of_equations_are_arguments_of_all_that_solves_them() -> None:
    spec = (
        "tensorgen: 1\ndims: [T]\ninputs: {x: [n], b: scalar}\nunknowns:\n"
        "  y: {shape: [n], equation: 'y - x * sum(b**i, i=range(T))'}\n"
        "functions: {f: sum(y)}\n"
    )
    module = execute(tensorgen.generate(spec))
    x = np.array([1.0, 3.0])
    assert module.y_solve(x, 0.5, T=3) == pytest.approx(1.75 * x)
    assert module.f(x, 0.5, T=3) == pytest.approx(7)
    with pytest.raises(TypeError, match="'T'"):
        module.f(x, 0.5)
