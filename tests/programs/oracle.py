"""Derivatives of random programs that owe the compiler nothing.

First derivatives are complex steps of the program's own meaning, exact to rounding.
Second derivatives along a direction are high-order differences of those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.programs import meaning
from tests.programs.tree import RandomProgram

Array = Any
TINY = 1e-30
# The eighth-order central difference: steps 1 to 4 to either side.
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def value(program: RandomProgram, arguments: Mapping[str, Array]) -> Array:
    """The value for real arguments."""
    return meaning.value(program, arguments)


def jacobian(program: RandomProgram, arguments: Mapping[str, Array]) -> Array:
    """The derivative by all variables, raveled and concatenated, on the last axis."""
    columns = []
    with np.errstate(all="ignore"):
        for name in program.wrt:
            for entry in np.ndindex(np.shape(arguments[name])):
                stepped = np.array(arguments[name], dtype=complex)
                stepped[entry] += 1j * TINY
                result = meaning.value(program, {**arguments, name: stepped})
                columns.append(np.imag(result) / TINY)
    return np.stack(columns, axis=-1)


def second(
    program: RandomProgram, direction: Mapping[str, Array], step: float = 1e-3
) -> Array:
    """The derivative of the Jacobian along a direction."""
    total = 0.0
    for k, weight in enumerate(WEIGHTS, 1):
        for sign in (1, -1):
            moved = {
                name: array + sign * k * step * direction.get(name, 0.0)
                for name, array in program.arguments.items()
            }
            total = total + sign * weight / step * jacobian(program, moved)
    return total


def split(program: RandomProgram, flat: Array) -> dict[str, Array]:
    """Cut a flat vector of the variables into arrays of their shapes."""
    arrays = {}
    for name in program.wrt:
        shape = np.shape(program.arguments[name])
        size = int(np.prod(shape))
        arrays[name] = flat[..., :size].reshape((*flat.shape[:-1], *shape))
        flat = flat[..., size:]
    return arrays


def joined(parts: Sequence[Array], keep: int = 0) -> Array:
    """Ravel arrays beyond their first `keep` axes and concatenate them."""
    flat = [np.reshape(part, (*np.shape(part)[:keep], -1)) for part in parts]
    return np.concatenate(flat, axis=-1)
