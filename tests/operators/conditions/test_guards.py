"""What a condition or a range leaves out never reaches values or derivatives."""

import inspect

import numpy as np
import pytest

import tensorgen

POINTS = np.random.default_rng(0).normal(size=(4, 2))
DISTANCES = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))


def load(expr: str, where: str = "", inputs: str = "x: [p, 2]") -> object:
    text = f"""tensorgen: 1
inputs: {{{inputs}}}
functions:
  f:
    where: |
      {where or "unused = 1"}
    expr: {expr}
    wrt: x
    emit: [value, gradient, hessian]
"""
    return tensorgen.load(text)


def differences(f: object, x: np.ndarray) -> np.ndarray:
    result = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        result[place] = (f(x + step) - f(x - step)) / 2e-6  # type: ignore[operator]
    return result


@pytest.mark.parametrize(
    ("expr", "where"),
    [
        ("sum(1 / norm(x[i, :] - x[j, :]), i, j, i < j)", ""),
        ("sum(log(d[i, j]), i, j, i < j)", "d[i, j] = norm(x[i, :] - x[j, :])"),
        ("sum(sqrt(sum((x[i, d] - x[j, d])**2, d)), i, j, i < j)", ""),
        ("sum(log(norm(x[i, :] - x[j, :])), j=range(i + 1, p), i=range(p))", ""),
        ("sum(norm(x[i, :] - x[j, :])**-6, i, j, i != j)", ""),
    ],
)
def test_singular_pairs_outside_of_a_range_leave_no_trace(
    expr: str, where: str
) -> None:
    module = load(expr, where)
    value, gradient, hessian = module.f_value_grad_hess(POINTS)  # type: ignore[attr-defined]
    expected = differences(module.f, POINTS)  # type: ignore[attr-defined]
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)
    assert np.isfinite(value)
    assert np.isfinite(hessian.dense()).all()


def test_an_infinite_entry_that_a_range_leaves_out_does_not_show() -> None:
    module = load("sum(x[i, j]**-6, j=range(i + 1, n), i=range(n))", "", "x: [n, n]")
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    expected = sum(DISTANCES[pair] ** -6 for pair in pairs)
    value, gradient, _ = module.f_value_grad_hess(DISTANCES)  # type: ignore[attr-defined]
    assert value == pytest.approx(expected)
    assert np.isfinite(gradient).all()
    assert np.count_nonzero(gradient) == len(pairs)


def test_functions_that_are_finite_everywhere_are_not_guarded() -> None:
    text = """tensorgen: 1
inputs: {x: [n]}
functions:
  f: sum(exp(x[i]) * x[j]**2, i, j, i < j)
"""
    body = tensorgen.generate(text).partition("_arrays(x")[2]
    assert ", 1)" not in body.partition("\n\n\n")[0]


def test_rows_left_out_may_be_infinite_where_a_function_of_them_is_not() -> None:
    inputs = "x: scalar, y: [n], Y: [n, n], M: [n, n]"
    rows = "sum(where(M > 0, (x*y[:, None] - Y)**2, 0))"
    module = load(f"{rows} + x**2*sum(exp(-y))", "", inputs)
    y, Y, M = np.array([1, 2, np.inf]), DISTANCES[:3, :3], np.ones((3, 3))
    M[2] = 0
    gaps, damped = 1.5 * y[:2, None] - Y[:2], np.exp(-y).sum()
    value, slope, hessian = module.f_value_grad_hess(1.5, y, Y, M)  # type: ignore[attr-defined]
    assert value == pytest.approx((gaps**2).sum() + 1.5**2 * damped)
    assert slope == pytest.approx(2 * (gaps.T @ y[:2]).sum() + 3 * damped)
    assert hessian.dense() == pytest.approx(6 * (y[:2] ** 2).sum() + 2 * damped)


STANDING = """tensorgen: 1
inputs: {v: [n], z: [n], X: [m, n], y: [n]}
functions:
  f:
    expr: EXPR
    wrt: v
    emit: [value, gradient, hessian]
"""


@pytest.mark.parametrize(
    "expr",
    [
        "sum(z*sqrt(maximum(v, 0)))",
        "sum(z*sqrt(clip(v, 0, 1)))",
        "sum(z*maximum(v, 0)**1.5)",
        "sum(acosh(maximum(v, 1)))",
        "sum(sqrt(maximum(v, 0)*sum(v**2)))",
        "sum(sqrt(2*maximum(v, 0)*y**2))",
        "log(1 + sum(sqrt(relu(X @ v))))",
        "sqrt(maximum(sum(v) - 100, 0))*v[1]",
        "sqrt(sum(relu(v - 10)))",
        "sum(sqrt(maximum(v, y) - y))",
        "sum(sqrt(maximum(v, 0)[1:]))",
        "sum(sqrt(where(y > 1, v**2, 0)*v[2]))",
        "v[0]*sum(sqrt(sqrt(maximum(v, 0))))",
    ],
)
def test_slopes_are_zero_where_values_stand_still(expr: str) -> None:
    module = tensorgen.load(STANDING.replace("EXPR", expr))
    rng = np.random.default_rng(1)
    v = np.array([0.5, -0.3, 2.0, -1.25])
    data = {
        "z": rng.normal(size=4),
        "X": rng.normal(size=(3, 4)),
        "y": np.arange(4) + 0.7,
    }
    own = inspect.signature(module.f).parameters
    data = {name: value for name, value in data.items() if name in own}
    with np.errstate(all="raise"):
        gradient = module.f_grad(v, **data)
        hessian = module.f_hess(v, **data)
    numeric = differences(lambda x: module.f(x, **data), v)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
    rows = [
        differences(lambda x, k=k: module.f_grad(x, **data)[k], v) for k in range(4)
    ]
    np.testing.assert_allclose(hessian.dense(), rows, rtol=1e-5, atol=1e-5)


def test_factors_of_matrix_products_are_not_guarded() -> None:
    text = tensorgen.generate("""
tensorgen: 1
inputs: {W: [2, d, d], X: [m, d], v: [d]}
functions:
  f:
    where: |
      h = X + tanh(X @ W[0])
      g = h + tanh(h @ W[1])
    expr: sum((g @ v)**2)
    wrt: W
    emit: [gradient]
""")
    assert "_finite" not in text
