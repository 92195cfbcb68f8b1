"""Sizes of which the shapes give only sums, or two of them in two sums."""

import numpy as np
import pytest

import tensorgen

SUMS = (
    *("n + k - 1", "n + k + 3", "n - k", "k - n + 2", "2*n + 3*k", "4*n + 6*k - 1"),
    *("n + k + m", "2*n + 4*k + 3*m"),
)


@pytest.mark.parametrize("size", SUMS)
@pytest.mark.parametrize("length", [5, 9])
def test_a_length_of_two_sizes_is_known_as_a_whole(size: str, length: int) -> None:
    text = f"""\
tensorgen: 1
inputs: {{x: [{size}]}}
functions:
  f:
    expr: mean(x**2) + sum(concatenate([x, x])) / 2
    wrt: x
    emit: [value, gradient, hessian, problem]
"""
    module = tensorgen.load(text)
    x = np.linspace(1, 2, length)
    np.testing.assert_allclose(module.f(x), np.mean(x**2) + x.sum())
    gradient = 2 * x / length + 1
    np.testing.assert_allclose(module.f_grad(x), gradient)
    np.testing.assert_allclose(module.f_hess(x) @ x, 2 * x / length)
    problem = module.FProblem()
    np.testing.assert_allclose(problem.gradient(problem.pack(x)), gradient)


@pytest.mark.parametrize(
    ("first", "second", "lengths", "n", "k"),
    [
        ("n + k - 1", "n + 2*k", [4, 7], 3, 2),
        ("n + k", "n - k", [7, 3], 5, 2),
        ("2*n + k", "3*n + k", [7, 9], 2, 3),
    ],
)
def test_two_sums_give_both_sizes(
    first: str, second: str, lengths: list[int], n: int, k: int
) -> None:
    text = f"""\
tensorgen: 1
inputs: {{x: [{first}], y: [{second}]}}
functions: {{f: n + 10*k + 0 * (sum(x) + sum(y))}}
"""
    f = tensorgen.load(text).f
    assert f(*map(np.ones, lengths)) == n + 10 * k
    with pytest.raises(ValueError, match="expected shape"):
        f(np.ones(50), np.ones(1))


def test_sums_that_no_sizes_have_are_refused() -> None:
    text = "tensorgen: 1\ninputs: {x: [2*n + 4*k]}\nfunctions: {f: mean(x)}"
    f = tensorgen.load(text).f
    assert f(np.ones(6)) == 1
    with pytest.raises(ValueError, match="x: expected shape"):
        f(np.ones(7))
