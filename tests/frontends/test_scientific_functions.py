"""Functions over NumPy have their values and true gradients in generated modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorgen.spec.read import read_spec
from tests.frontends.scientific_functions import ALL

Array = Any
SIZES = {"m": 6, "n": 4, "k": 3, "p": 5, "e": 9}
INTEGERS = {"y": 3, "row": 6, "col": 4}
SAMPLED = ["rosen", "softmax_cross_entropy", "gaussian_process", "ridge"]


def arguments(name: str) -> dict[str, Array]:
    """Return numbers for the arguments of a function that have no default."""
    rng = np.random.default_rng(len(name))
    found: dict[str, Array] = {}
    for given in read_spec(ALL[name]._source()).inputs:
        if given.default is not None:
            continue
        shape = tuple(dim.value(SIZES) for dim in given.shape)
        value: Array = rng.normal(size=shape) * 0.8
        if given.index is not None:
            value = rng.integers(0, INTEGERS[given.name], shape)
        elif "positive" in given.properties or not shape:
            value = np.abs(value) + 0.4
        elif "spd" in given.properties:
            value = value @ value.T + np.eye(len(value))
        elif given.name == "L":
            value = np.tril(value) + 2 * np.eye(len(value))
        elif given.name == "y":
            value = np.where(value > 0, 1.0, -1.0)
        found[given.name] = value
    return found


def slopes(function: Any, given: dict[str, Array], x: str) -> Array:
    """Return the gradient by an argument, by central differences."""
    value, step = np.asarray(given[x], float), 1e-5
    found = np.zeros(value.shape)
    for at in np.ndindex(value.shape):
        moved = np.zeros(value.shape)
        moved[at] = step
        up, down = (function(**{**given, x: value + s * moved}) for s in (1, -1))
        found[at] = (up - down) / (2 * step)
    return found


@pytest.mark.parametrize("name", ALL)
def test_a_function_has_its_value_and_a_true_gradient(name: str) -> None:
    function, given = ALL[name], arguments(name)
    value, gradient = function.value_and_grad(**given)
    np.testing.assert_allclose(value, function(**given), rtol=1e-12)
    wrt = function._wanted.wrt
    parts = [gradient] if len(wrt) == 1 else gradient
    for x, part in zip(wrt, parts, strict=True):
        wanted = slopes(function, given, x)
        scale = max(np.abs(wanted).max(), 1)
        np.testing.assert_allclose(part, wanted, atol=1e-8 * scale)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_function_is_verified(name: str) -> None:
    found = ALL[name].verify()
    assert found, str(found)
    own = [x for x in found.findings if x.module.endswith("scientific_functions.py")]
    assert [x.verdict for x in own] == ["ok"]
    assert own[0].points >= 3


def test_every_function_keeps_the_names_of_its_author() -> None:
    assert len(ALL) >= 20
    assert "margins = y * (X @ w)" in ALL["logistic_loss"].spec
    assert "residual = y - X @ w" in ALL["ridge"].spec
    assert "doc: The elastic net, with a smooth absolute value." in (
        ALL["elastic_net"].spec
    )
