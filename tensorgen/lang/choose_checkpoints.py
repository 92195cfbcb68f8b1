"""Which recurrences of a function keep few of their states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tensorgen.errors import Faults
from tensorgen.lang.grouping import Line, steps
from tensorgen.spec.model import Checkpoint, FunctionSpec


@dataclass(frozen=True)
class Unit:
    """Definitions that are read together, and the checkpoint of what steps there."""

    lines: tuple[Line, ...]
    checkpoint: Checkpoint | None = None


def checkpointed(
    faults: Faults, units: Iterable[tuple[Line, ...]], function: FunctionSpec
) -> list[Unit]:
    """Return units with what a function says of them; reports what is for no steps."""
    found = [Unit(lines, _of(faults, lines, function.checkpoints)) for lines in units]
    used = {unit.checkpoint for unit in found}
    for one in function.checkpoints:
        if one.name is None and one not in used:
            message = f"nothing steps in '{function.name}'"
            hint = "checkpoints are of recurrences under 'where', as x[t + 1] = ..."
            faults.add(message, one.text.span(), hint=hint)
    return found


def _of(
    faults: Faults, lines: Sequence[Line], checkpoints: Sequence[Checkpoint]
) -> Checkpoint | None:
    names = {definition.name: definition for definition, _ in lines}
    named = [x for x in checkpoints if x.name in names]
    if not steps(lines):
        for one in named:
            definition = names[str(one.name)]
            marks = [(one.text.span(), ""), (definition.name_text.span(), "no step")]
            message = f"'{one.name}' is no recurrence, and has no states to store"
            hint = f"leave '{one.name}' out"
            faults.add(message, one.text.span(), marks=marks, hint=hint)
        return None
    for other in named[1:]:
        if other.length != named[0].length:
            marks = [(x.text.span(), "") for x in (named[0], other)]
            message = f"'{named[0].name}' and '{other.name}' step together"
            hint = "their states are stored at the same steps: name one of them"
            faults.add(message, other.text.span(), marks=marks, hint=hint)
    own = [*named, *(x for x in checkpoints if x.name is None)]
    return own[0] if own else None
