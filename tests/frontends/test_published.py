"""Published formulas are brought in, and have their values and gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.errors import Source
from tensorgen.frontends.notations import NOTATIONS, guess_notation
from tensorgen.frontends.write_spec import Asked
from tensorgen.spec.read import read_spec
from tests.frontends.published import GENO, LATEX, MATRIXCALCULUS, Value, given

Array = Any
SIZES = {"m": 5, "n": 4, "k": 3, "p": 2, "K": 3}
PUBLISHED = [
    pytest.param(notation, text, value, id=f"{notation}: {name}")
    for notation, table in (
        ("matrixcalculus", MATRIXCALCULUS),
        ("geno", GENO),
        ("latex", LATEX),
    )
    for name, (text, value) in table.items()
]


def brought_in(notation: str, text: str, **asked: Any) -> str:
    """Return the spec of a text, as the command writes it."""
    source = Source("<text>", text)
    return NOTATIONS[notation].read(source, Asked(**asked)).spec


def numbers(spec: str) -> dict[str, Array]:
    """Return an array for each input: square matrices are far from singular."""
    rng = np.random.default_rng(8)
    found = {}
    for one in read_spec(Source("<spec>", spec)).inputs:
        shape = tuple(size.value(SIZES) for size in one.shape)
        value = rng.uniform(0.2, 0.8, shape)
        if len(shape) == 2 and shape[0] == shape[1]:
            value = value + 2 * np.eye(shape[0])
        if {"symmetric", "spd"} & one.properties:
            value = (value + value.T) / 2
        found[one.name] = value
    return found


def called(function: Any, arrays: Mapping[str, Array]) -> Any:
    """Call a function of a module with those of the arrays that it takes."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return function(**{name: arrays[name] for name in names})


def slopes(value: Value, arrays: Mapping[str, Array], name: str) -> Array:
    """Return the derivative by one array, by central differences of a value."""
    step, columns = 1e-5, []
    base = np.asarray(arrays[name])
    for place in np.ndindex(base.shape):
        moved = []
        for sign in (1, -1):
            own = base.copy()
            own[place] += sign * step
            moved.append(np.asarray(value(given({**arrays, name: own}))))
        columns.append((moved[0] - moved[1]) / (2 * step))
    shape = np.shape(columns[0]) + base.shape
    return np.stack(columns, axis=-1).reshape(shape)


def test_there_are_more_than_forty() -> None:
    assert len(PUBLISHED) > 40


@pytest.mark.parametrize(("notation", "text", "value"), PUBLISHED)
def test_a_published_formula_has_its_value_and_gradient(
    notation: str, text: str, value: Value
) -> None:
    assert guess_notation(Source("<text>", text)) == notation
    spec = brought_in(notation, text)
    module, arrays = tensorgen.load(spec), numbers(spec)
    # The first function is the objective; constraints follow it.
    own = read_spec(Source("<spec>", spec)).functions[0]
    found = called(getattr(module, own.name), arrays)
    np.testing.assert_allclose(found, value(given(arrays)), rtol=1e-12)
    by = [wrt.name for wrt in own.wrt]
    suffix = "jac" if np.ndim(found) else "grad"
    derivative = called(getattr(module, f"{own.name}_{suffix}"), arrays)
    for name in by:
        one = getattr(derivative, name) if len(by) > 1 else derivative
        one = one.dense() if suffix == "jac" else one
        wanted = slopes(value, arrays, name)
        np.testing.assert_allclose(one, wanted, rtol=1e-6, atol=1e-7)
