"""Steps that functions of a formula go through several times, as functions to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.arrays.step_functions import arrays_of, steps_apart
from tensorgen.emit.backends import Backend
from tensorgen.emit.interface import every
from tensorgen.errors import listed
from tensorgen.plans.block_functions import rewritten
from tensorgen.plans.lowered_functions import Made
from tensorgen.spec.names import unused


def share_steps(
    formula: str, made: Mapping[str, Made], backend: Backend, taken: set[str]
) -> dict[str, Made]:
    """Return those functions of a formula that call others for steps, as they are then.

    Each is `made` by itself. What is `taken` are private functions, these among them
    then. Those that have several forms stay as they are.
    """
    codes = {name: own.codes[0] for name, own in made.items() if len(own.forms) == 1}

    def describe(names: Sequence[str], backwards: bool) -> tuple[str, str]:
        kind = arrays_of(names)
        name = unused(f"_{formula}_{kind}", taken)
        taken.add(name)
        steps = "from the last step to the first" if backwards else "step by step"
        return name, f"Compute {listed(names)} of `{formula}`, {steps}."

    first = next(iter(made.values())).planned.parameters
    inputs = [p.name for p in every(first)]
    found = steps_apart(codes, describe, inputs)
    return {name: rewritten(made[name], code, backend) for name, code in found.items()}
