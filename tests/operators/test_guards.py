"""What a condition or a range leaves out never reaches values or derivatives."""

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
