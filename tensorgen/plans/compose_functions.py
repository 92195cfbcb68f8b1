"""The functions of one formula, composed of what they share and of what they call.

Definitions are called, or are written out wherever they stand: both are composed where
both are planned, and the text with calls is taken where it is clearly shorter, without
functions in which calls take much longer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from tensorgen.arrays.block_bodies import blocked_along
from tensorgen.arrays.duration import duration
from tensorgen.arrays.reading import LINE
from tensorgen.emit.backends import Backend
from tensorgen.emit.interface import Function
from tensorgen.ir.dims import Dim
from tensorgen.lower.defined_functions import DefinedFunctions
from tensorgen.plans.block_functions import share_blocks
from tensorgen.plans.lowered_functions import Form, Made, fullest
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.problem_plans import Lowered
from tensorgen.plans.share_code import share_code
from tensorgen.plans.step_functions import Stepped
from tensorgen.prices.thresholds import (
    GAIN_OF_CALLS,
    LINES_OF_A_FUNCTION,
    LINES_SAVED,
    SHARE_OF_LINES,
)


class Builder(Protocol):
    """Who lowers functions of a module; definitions that are called are `defined`."""

    hints: dict[str, int]
    backend: Backend
    made: dict[str, list[Form]]
    defined: DefinedFunctions

    def function(
        self, planned: PlannedFunction, along: Collection[Dim] = ()
    ) -> Function:
        """Lower one function."""

    def lowering(
        self, planned: PlannedFunction, along: Collection[Dim] = ()
    ) -> Lowered:
        """How the roots of a function are lowered."""

    def told(self, function: Function, made: Made, lead: Made | None) -> Function:
        """A function with formulas of what it returns."""


def composed(
    builder: Builder,
    formula: str,
    made: Mapping[str, Made],
    fixed: Collection[str],
    taken: set[str],
    form: str,
    stepped: Stepped,
) -> dict[str, Function]:
    """Return the functions of a formula, by their names.

    `made` are what each is by itself, `stepped` those that call others for their steps,
    which formulas may share. Names that are `fixed` are those of the user; what is
    `taken` are private functions, these among them then, which have the `form` in their
    names.
    """
    private = {*taken}
    found = _shared(builder, formula, made, fixed, private, form)
    if stepped.made:
        names = {*taken}
        called = _shared(builder, formula, {**made, **stepped.made}, fixed, names, form)
        # What the user named is worth a line.
        lines = lines_of(called.values(), stepped.shared) - len(stepped.named)
        if lines < lines_of(found.values()):
            found, private = called, names
    builder.defined = builder.defined.besides(taken)
    calling = _calling(builder, made)
    if calling:
        names = {*taken, *builder.defined.taken}
        called = _shared(builder, formula, {**made, **calling}, fixed, names, form)
        before, after = lines_of(found.values()), lines_of(called.values())
        if before - after >= LINES_SAVED and after <= SHARE_OF_LINES * before:
            found, private = called, names
    taken |= private
    return found


def lines_of(functions: Iterable[Function], known: Collection[str] = ()) -> int:
    """How many lines the bodies of functions take, and of what they call.

    What is `known` by its name is there for others as well.
    """
    own = [*functions]
    private = dict.fromkeys(x for f in own for x in f.calls if x.name not in known)
    bodies = [*(f.body for f in own), *(x.body for x in private)]
    texts = [text for body in bodies for text in body.text]
    lines = sum(len(text) // LINE + 1 for text in texts)
    return lines + LINES_OF_A_FUNCTION * len(private)


def _calling(builder: Builder, made: Mapping[str, Made]) -> dict[str, Made]:
    """The functions in which definitions stay calls where that is not much longer."""
    found: dict[str, Made] = {}
    for name, plain in made.items():
        planned = plain.planned.kept
        if planned is None:
            continue
        function, lowered = builder.function(planned), builder.lowering(planned)
        own = Made(planned, function, builder.made[name], lowered)
        time, before = (duration(x.codes[0], builder.hints) for x in (own, plain))
        if time <= GAIN_OF_CALLS * before:
            found[name] = own
    return found


def _shared(
    builder: Builder,
    formula: str,
    made: Mapping[str, Made],
    fixed: Collection[str],
    private: set[str],
    form: str,
) -> dict[str, Function]:
    """Functions that are made of what they share; `private` has all names of these."""
    whole = {**made, **_by_blocks_as_others(builder, made)}
    whole |= share_blocks(formula, whole, builder.backend, private)
    found = {name: one.function for name, one in whole.items()}
    found |= share_code(whole, builder.hints, builder.backend, fixed, private, form)
    lead = fullest(whole.values())
    return {x: builder.told(found[x], one, lead) for x, one in whole.items()}


def _by_blocks_as_others(builder: Builder, made: Mapping[str, Made]) -> dict[str, Made]:
    """Functions of one formula that go by blocks because others of it do."""
    codes = [code for own in made.values() for code in own.codes]
    along = tuple(dict.fromkeys(dim for x in codes for dim in blocked_along(x)))
    found: dict[str, Made] = {}
    for name, own in made.items():
        if not along or blocked_along(own.codes[0]) or len(own.forms) > 1:
            continue
        function = builder.function(own.planned, along)
        lowered = builder.lowering(own.planned, along)
        found[name] = Made(own.planned, function, builder.made[name], lowered)
    return found
