"""Derivatives by a name of `where`, which is a variable of its own then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.lang.speak import faults, value

Array = Any

RANDOM = np.random.default_rng(2)
X, w, y = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=3), RANDOM.normal(size=4)


def made(where: str, expression: str, **given: Array) -> Array:
    lines = "".join(f"      {line}\n" for line in where.splitlines())
    spec = (
        "tensorgen: 1\ninputs: {X: [m, n], w: [n], y: [m], z: [m]}\nfunctions:\n  f:\n"
        f"    where: |\n{lines}    expr: {expression}\n"
    )
    return tensorgen.load(spec).f(**given)


def test_what_goes_through_the_name_counts_and_nothing_else() -> None:
    found = made(
        "h = X @ w\np = exp(h) * y\nL = sum(p) + sum(h**2) * sum(w)",
        "grad(L, h)",
        X=X,
        w=w,
        y=y,
    )
    h = X @ w
    np.testing.assert_allclose(found, np.exp(h) * y + 2 * h * w.sum())


@pytest.mark.parametrize(
    ("h", "L", "slope"),
    [
        # What joins with other terms and factors when nodes are made.
        ("2 * y", "sum(h**2) + sum(y * h)", lambda: 4 * y + y),
        ("y + z", "sum((h + y)**2) + sum(z)", lambda: 6 * y),
        ("-y", "sum(exp(-h) - h)", lambda: -np.exp(y) - 1),
        ("y**2", "sum(h**3 / y)", lambda: 3 * y**3),
        ("y", "sum(h**2 * y)", lambda: 2 * y**2),
    ],
)
def test_a_name_is_a_variable_whatever_it_is_made_of(
    h: str, L: str, slope: Any
) -> None:
    given = {"y": y, "z": y} if "z" in h else {"y": y}
    found = made(f"h = {h}\nL = {L}", "grad(L, h)", **given)
    np.testing.assert_allclose(found, slope())
    found = made(f"h = {h}", f"grad({L}, h)", **given)
    np.testing.assert_allclose(found, slope())


def test_second_derivatives_and_products() -> None:
    h = X @ w
    given = {"X": X, "w": w}
    np.testing.assert_allclose(
        made("h = X @ w", "hess(sum(h**3), h)", **given), np.diag(6 * h)
    )
    np.testing.assert_allclose(
        made("h = X @ w", "grad(sum(grad(sum(h**3), h)), h)", **given), 6 * h
    )
    np.testing.assert_allclose(
        made("h = X @ w", "hvp(sum(h**3), h, 2 * h)", **given), 12 * h**2
    )
    np.testing.assert_allclose(
        made("h = X @ w", "jac(h**2, h)", **given), np.diag(2 * h)
    )
    np.testing.assert_allclose(
        made("h = X @ w", "jvp(h**2, h, h) + vjp(h**2, h, h)", **given), 4 * h**2
    )


def test_one_entry_of_it_and_what_has_indices() -> None:
    found = value("grad(s, h[i])", "f[i]", "h[i] = v[i]**2\ns = sum(h[i] * w[i], i)")
    np.testing.assert_allclose(found, value("w"))


def test_it_is_differentiated_again_by_inputs() -> None:
    spec = (
        "tensorgen: 1\ninputs: {w: [n]}\nfunctions:\n  f:\n    where: |\n"
        "      h = w**2\n      g = grad(sum(h**3), h)\n"
        "    expr: sum(g)\n    wrt: w\n"
    )
    found = tensorgen.load(spec).f_grad(w)
    np.testing.assert_allclose(found, 12 * w**3)


def test_a_recurrence_that_reads_it_follows() -> None:
    where = "a = w**2\nx[0] = w[0]\nx[t + 1] = a[t] * x[t]"
    found = made(where, "grad(x[n], a)", w=w)
    product = w[0] * np.prod(w**2)
    np.testing.assert_allclose(found, product / w**2)


def test_what_does_not_depend_on_it_is_constant() -> None:
    assert not made("h = 2 * y", "grad(sum(y**2), h)", y=y).any()


@pytest.mark.parametrize("by", ["2 * v", "X @ v", "s(v)"])
def test_what_has_no_name_is_no_variable(by: str) -> None:
    (fault,) = faults(f"grad(sum(v**2), {by})", macros="s(t) = 2 * t")
    assert fault.message == f"'{by}' is not an input to differentiate by"
    assert "defined under 'where'" in (fault.hint or "")
