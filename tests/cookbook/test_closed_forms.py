"""The expected values of the suite are right, whatever the compiler does.

Each closed form is compared with a derivative of the function's direct NumPy
implementation by a complex step, which is exact to rounding: no differences are taken.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.cookbook.identities import IDENTITIES
from tests.cookbook.identity import Array, Identity

STEP = 1e-30


def derivative(identity: Identity, arguments: dict[str, Array], name: str) -> Array:
    """Return df/dx with the axes of f, then those of x, by complex steps."""
    x = arguments[name]
    columns = []
    for k in range(x.size):
        moved = x.astype(complex)
        moved.reshape(-1)[k] += STEP * 1j
        value = identity.function(*{**arguments, name: moved}.values())
        columns.append(np.imag(value) / STEP)
    stacked = np.stack(columns, axis=-1)
    return stacked.reshape(stacked.shape[:-1] + x.shape)


def tangent(
    identity: Identity, arguments: dict[str, Array], directions: dict[str, Array]
) -> Array:
    """Return the derivative along all directions at once, by one complex step."""
    moved = {
        name: arguments[name] + STEP * 1j * directions["d" + name]
        for name in identity.variables
    }
    return np.asarray(
        np.imag(identity.function(*{**arguments, **moved}.values())) / STEP
    )


def second_derivative(
    identity: Identity, arguments: dict[str, Array], name: str
) -> Array:
    """Return the Hessian, by central differences of complex steps."""
    x, step = arguments[name], 1e-4
    columns = []
    for k in range(x.size):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved.reshape(-1)[k] += sign * step
            ends.append(derivative(identity, {**arguments, name: moved}, name))
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.stack(columns, axis=-1).reshape(x.shape + x.shape)


def free_entries(G: Array) -> Array:
    """Return the derivative by x[i, j], i <= j, where x[j, i] follows x[i, j]."""
    n = len(G)
    units = np.zeros((n, n, n, n))
    for i in range(n):
        for j in range(n):
            units[i, j, i, j] = units[i, j, j, i] = 1
    return np.asarray(np.einsum("kl,ijkl->ij", G, units))


@pytest.mark.parametrize("identity", IDENTITIES, ids=lambda identity: identity.number)
def test_a_closed_form_agrees_with_a_complex_step(identity: Identity) -> None:
    rng = np.random.default_rng(7)
    arguments = identity.draw(rng)
    tolerance = 1e-11
    match identity.gives:
        case "value":
            expected = np.asarray(identity.function(*arguments.values()))
        case "jvp":
            directions = identity.directions(rng)
            expected = tangent(identity, arguments, directions)
            arguments |= directions
        case "dense_hessian":
            expected = second_derivative(identity, arguments, identity.wrt)
            tolerance = 1e-7
        case "symmetric gradient":
            expected = free_entries(derivative(identity, arguments, identity.wrt))
        case "gradient" | "jacobian":
            expected = derivative(identity, arguments, identity.wrt)
    closed = np.asarray(identity.closed(*arguments.values()))
    assert closed.shape == expected.shape
    scale = max(1.0, float(np.max(np.abs(expected))))
    assert np.max(np.abs(closed - expected)) <= tolerance * scale


def test_every_number_stands_for_one_identity() -> None:
    numbers = [identity.number for identity in IDENTITIES]
    assert len(numbers) == len(set(numbers))
