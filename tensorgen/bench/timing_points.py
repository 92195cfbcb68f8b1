"""Where functions are timed: the sizes that are hinted at, and arguments that fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tensorgen.calculus.kinds import Kind
from tensorgen.errors import suggest
from tensorgen.lang import ElaboratedFunction, Program
from tensorgen.plans.planner import known_sizes
from tensorgen.prices.thresholds import assumed
from tensorgen.spec.model import Spec
from tensorgen.verify.cases import Case, Sizes, case, given_case
from tensorgen.verify.emitted_calls import Arguments, arguments, solved
from tensorgen.verify.points import looks
from tensorgen.verify.reference import Unfit

ATTEMPTS = 8
"""How often other numbers are tried where a value is not finite."""


class WrongSizesError(Exception):
    """Sizes that were asked for, and cannot be."""


def hinted(spec: Spec, given: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes of all dims, those that are given before the hints.

    Raises `WrongSizesError` for a name that is no dim.
    """
    names = [*dict.fromkeys(x for x, _ in spec.hints)]
    shapes = [dim for x in spec.inputs for dim in x.shape]
    names = [*dict.fromkeys([*names, *(s for dim in shapes for s in dim.sources)])]
    for name in given:
        if name not in names:
            known = f"known: {', '.join(names)}" if names else "the spec has none"
            hint = suggest(name, names) or known
            raise WrongSizesError(f"there is no dim '{name}'; {hint}")
    own = {name: size for name, size in spec.hints if size is not None} | dict(given)
    told = tuple(assumed(own, names).items())
    return known_sizes(replace(spec, hints=told))


def sizes_of(function: ElaboratedFunction, every: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes of one function; raises `WrongSizesError` if they do not fit."""
    sizes = Sizes(function)
    found = assumed(every, sizes.symbols)
    if not sizes.fit(found):
        told = ", ".join(f"{name} = {size}" for name, size in found.items())
        name = function.spec.name
        raise WrongSizesError(f"{name} cannot be called with {told}: choose --dims")
    entries = {x.part("entries") for x in function.arguments if x.sparse}
    return found | {name: every[name] for name in every if name in entries}


def point(
    function: ElaboratedFunction,
    program: Program,
    sizes: Mapping[str, int],
    seed: int,
    attempt: int,
) -> Case:
    """Return arguments of some sizes, unknowns solved for; raises `Unfit`."""
    inputs = [x for x in function.arguments if not x.unknown]
    found = case(inputs, sizes, str(seed), attempt)
    return solved(function, program, found)


def given_point(
    function: ElaboratedFunction, program: Program, data: Mapping[str, Any]
) -> Case:
    """Return the arguments that data make, or raise `WrongSizesError`."""
    try:
        return solved(function, program, given_case(function.arguments, data))
    except (ValueError, Unfit) as error:
        raise WrongSizesError(f"{function.spec.name}: {error}") from error


def call_of(
    function: ElaboratedFunction, kind: Kind, own: Case
) -> tuple[Arguments, dict[str, Any]]:
    """Return how a function of a kind is called, and what is given beside inputs."""
    more = looks(function, kind, own)
    return arguments(function, own, more), more
