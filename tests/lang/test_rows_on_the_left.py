"""`:` on the left side: axes that an expression has of its own, where it stands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import SpecError

HEAD = "tensorgen: 1\ndims: [T]\ninputs: {X: [m, n], A: [p, m, n], y: [n], s: scalar}\n"
RNG = np.random.default_rng(3)
GIVEN: dict[str, Any] = {
    "X": RNG.normal(size=(4, 3)),
    "A": RNG.normal(size=(2, 4, 3)),
    "y": RNG.normal(size=3),
    "s": 0.5,
}
X, A, y, s = GIVEN.values()


def load(functions: str) -> Any:
    return tensorgen.load(HEAD + functions)


VALUES: dict[str, tuple[str, Any]] = {
    "f[k, :]: X[k] * y": ("Xy", X * y),
    "f[:, k]: X[k] * y": ("Xy", (X * y).T),
    "f[:, k, :]: A[:, k] * s": ("As", A * s),
    "f[:, :, k]: A[:, k] * s": ("As", A.transpose(0, 2, 1) * s),
    "f[:]: y * s": ("ys", y * s),
    "f[j=range(2), :]: y + j": ("y", y + np.arange(2)[:, None]),
    "f[k]: X[k] * y": ("Xy", X * y),
}


@pytest.mark.parametrize("text", VALUES)
def test_axes_stand_where_the_left_side_has_them(text: str) -> None:
    left, _, right = text.partition(": ")
    names, want = VALUES[text]
    got = load(f'functions:\n  "{left}": "{right}"\n').f(*[GIVEN[x] for x in names])
    np.testing.assert_allclose(got, want, rtol=1e-14)


BLOCK = """
functions:
  f:
    where: |
      P[k, :] = softmax(X[k] * s)
      Q[:, k] = P[k] - y
    expr: sum(Q**3)
    wrt: [X, y]
    emit: [value, gradient, hessian]
"""
MAPPING = BLOCK.replace("|", "").replace("] =", ']":').replace("      ", '      "')


@pytest.mark.parametrize("text", [BLOCK, MAPPING])
def test_rows_under_where_have_derivatives(text: str) -> None:
    module = load(text)

    def value(X: Any, y: Any) -> Any:
        e = np.exp(X * s)
        return np.sum((e / e.sum(axis=1, keepdims=True) - y) ** 3)

    def slope(of: Any, x: Any) -> Any:
        found = np.zeros(x.shape)
        for at in np.ndindex(*x.shape):
            moved = x.astype(complex)
            moved[at] += 1e-30j
            found[at] = np.imag(of(moved)) / 1e-30
        return found

    assert module.f(X, y, s) == pytest.approx(value(X, y))
    got = module.f_grad(X, y, s)
    np.testing.assert_allclose(got.X, slope(lambda Z: value(Z, y), X), 1e-10, 1e-12)
    np.testing.assert_allclose(got.y, slope(lambda z: value(X, z), y), 1e-10, 1e-12)
    step = 1e-6 * RNG.normal(size=X.shape)
    ahead, behind = (module.f_grad(X + z, y, s).X for z in (step, -step))
    got = module.f_hess(X, y, s).blocks["X", "X"] @ step.ravel()
    np.testing.assert_allclose(got, (ahead - behind).ravel() / 2, atol=1e-12)


def test_definitions_of_the_file_have_rows_too() -> None:
    module = load("definitions: |\n  R[:, k] = X[k] * y\nfunctions:\n  f: R[0]\n")
    np.testing.assert_allclose(module.f(X, y), X[:, 0] * y[0])


def test_rows_that_step_do_so_beside_others() -> None:
    module = load(
        "functions:\n  f:\n    where: |\n      R[k, :] = c[k] * X[k]\n"
        "      c[0, :] = X[0]\n      c[t, :] = s*c[t - 1] + X[t]\n    expr: R\n"
    )
    c = X.copy()
    for t in range(1, 4):
        c[t] += s * c[t - 1]
    np.testing.assert_allclose(module.f(X, s), c * X)


WRONG = {
    "f[k, :]: X[k, 0]": ("':' stands for an axis that the value does not have", 8),
    "f[k, :, :]: X[k]": ("':' stands for an axis that the value does not have", 11),
    "f[:, k]: A[:, :, k]": ("the value has more axes of its own than ':' stand", 5),
    "f[0]: y": ("'0' cannot be the name of an index", 5),
    "f[k + 1, :]: X[k]": ("'k \\+ 1' cannot be the name of an index", 5),
    "f[k, k, :]: X[k]": ("'k' occurs twice between the brackets", 8),
    "f[i]: (i + 1) * s": ("nothing determines the range of 'i'", 5),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_marked(text: str) -> None:
    left, _, right = text.partition(": ")
    message, column = WRONG[text]
    with pytest.raises(SpecError, match=message) as caught:
        load(f'functions:\n  "{left}": "{right}"\n')
    (fault,) = caught.value.diagnostics
    assert f":5:{column + 1}: error" in str(caught.value)
    assert fault.span is not None


def test_numbers_without_an_end_are_told_of_both_ways_to_say_it() -> None:
    with pytest.raises(SpecError, match=r"state it, i=range\(n\); .* arange\(n\)"):
        load("functions:\n  f:\n    where: t[i] = (i + 1)*s\n    expr: sum(t)\n")
