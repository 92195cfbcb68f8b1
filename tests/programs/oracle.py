"""Derivatives of random programs that owe the compiler nothing.

First derivatives are complex steps of the program's own meaning, exact to rounding.
Those of higher order along directions are high-order differences of those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tests.programs import meaning
from tests.programs.meaning import WEIGHTS
from tests.programs.reading import DERIVATIVES
from tests.programs.tree import RandomProgram

Array = Any
Direction = Mapping[str, Array]  # a step of each variable
TINY = 1e-30
# By order: the step of differences, and the error that they may have.
STEPS = {1: 1.0, 2: 1e-3, 3: 5e-3, 4: 1e-2}
TOLERANCES = {1: 1e-9, 2: 1e-9, 3: 1e-8, 4: 1e-6}


def value(program: RandomProgram, arguments: Mapping[str, Array]) -> Array:
    """The value for real arguments."""
    return meaning.value(program, arguments)


def rests_on_derivatives(program: RandomProgram) -> bool:
    """Whether there are derivatives in expressions, which are differences here."""
    return any(f"{kind}(" in program.text for kind in DERIVATIVES)


def tolerance(program: RandomProgram, order: int) -> float:
    """The error that derivatives of an order may have here."""
    return TOLERANCES[order] * (10 if rests_on_derivatives(program) else 1)


def smallest_scale(program: RandomProgram, order: int, jacobian: Array) -> float:
    """The size that derivatives of second and higher order are at least compared at.

    Slopes have errors of 1e-15 of their size, differences of them that over their
    steps, whatever cancels; those inside of an expression, and of these, as well.
    """
    slope = max(1.0, float(np.abs(jacobian).sum()))
    inside = sum(program.text.count(f"{kind}(") for kind in DERIVATIVES)
    slope /= meaning.STEP ** min(inside, 2)
    error = 1e-15 * slope / STEPS[order] ** (order - 1) / TOLERANCES[order]
    return max(0.1, error) if rests_on_derivatives(program) else error


def is_sure(program: RandomProgram) -> bool:
    """Whether derivatives in expressions are the same by differences of finer steps.

    They are in the value, and in the derivative if there are variables.
    """
    if not rests_on_derivatives(program):
        return True
    direction = {name: np.ones_like(program.arguments[name]) for name in program.wrt}
    stepped = moved(program, program.arguments, direction, 1j * TINY)
    with np.errstate(all="ignore"):
        one = meaning.value(program, stepped)
        other = meaning.run(program, stepped, np, meaning.FINER)
    return _near(np.real(one), np.real(other), 1e-11) and _near(
        np.imag(one) / TINY, np.imag(other) / TINY, 1e-10
    )


def _near(one: Array, other: Array, tolerance: float) -> bool:
    scale = max(np.max(np.abs(one), initial=0.0), 1e-3)
    return bool(np.max(np.abs(one - other), initial=0.0) / scale < tolerance)


def jacobian(program: RandomProgram, arguments: Mapping[str, Array]) -> Array:
    """The derivative by all variables, raveled and concatenated, on the last axis."""
    columns = []
    for name in program.wrt:
        for entry in np.ndindex(np.shape(arguments[name])):
            unit = np.zeros(np.shape(arguments[name]))
            unit[entry] = 1.0
            columns.append(_slope(program, arguments, {name: unit}))
    return np.stack(columns, axis=-1)


def _slope(
    program: RandomProgram, arguments: Mapping[str, Array], direction: Direction
) -> Array:
    """The derivative along a direction, by a complex step."""
    stepped = moved(program, arguments, direction, 1j * TINY)
    with np.errstate(all="ignore"):
        return np.imag(meaning.value(program, stepped)) / TINY


def moved(
    program: RandomProgram,
    arguments: Mapping[str, Array],
    direction: Direction,
    step: complex,
) -> dict[str, Array]:
    """Arguments a step along a direction; symmetric variables stay symmetric."""
    found = dict(arguments)
    for name, d in direction.items():
        even = (d + d.T) / 2 if name in program.projected else d
        found[name] = np.asarray(arguments[name]) + step * even
    return found


def along(
    program: RandomProgram, directions: Sequence[Direction], step: float
) -> Array:
    """The derivative of as many orders as there are directions, along them."""

    def derivative(arguments: Mapping[str, Array], rest: Sequence[Direction]) -> Array:
        if len(rest) == 1:
            return _slope(program, arguments, rest[0])
        total = 0.0
        for k, weight in enumerate(WEIGHTS, 1):
            for sign in (1, -1):
                ahead = moved(program, arguments, rest[-1], sign * k * step)
                total = total + sign * weight / step * derivative(ahead, rest[:-1])
        return total

    return derivative(program.arguments, directions)


def sure(
    program: RandomProgram, directions: Sequence[Direction], scale: float = 0.0
) -> Array | None:
    """The same; None where another step disagrees, for then a kink is near."""
    step = STEPS[len(directions)]
    one, other = (along(program, directions, s) for s in (step, step / 4))
    scale = max(scale, np.max(np.abs(one), initial=0.0), 1e-3)
    far = np.max(np.abs(one - other), initial=0.0) / scale
    return one if far < tolerance(program, len(directions)) else None


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
