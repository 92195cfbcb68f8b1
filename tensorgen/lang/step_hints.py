"""How to write what is no step as one."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.reach import intervals
from tensorgen.lang.scope import Names
from tensorgen.lang.sides import Side
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.stepping import Member
from tensorgen.operators.functions.array import Array


def as_list(session: Session, names: Names, side: Side, sides: Sequence[Side]) -> str:
    """How to write what gives some entries of a step, and what gives others."""
    name, place = side.definition.name, side.places[side.axis or 0]
    hint = "entries of one step are a list"
    if place.index is None or not place.shift:
        return f"{hint}: {name}[t + 1] = [..., ...]"
    index = Index(place.index)
    texts = [Statement(session, x.body, names) for x in sides]
    if any(any(x.definition.ranges) for x in sides) or any(
        intervals(e, index) for e in texts
    ):
        return f"{hint}: {name}[{Form.atom(index) + place.shift}] = [..., ...]"
    t, back = index, Form.atom(index) - place.shift
    hint += f", and nothing determines how far '{t}' goes: "
    return f"{hint}{name}[{t}=range({place.shift}, T)] = [..., ...] of {name}[{back}]"


def longer(member: Member, start: Array, value: Array) -> str | None:
    """How a step whose positions leave entries out has as many as the first entry."""
    dims = zip(start.node.dims, value.node.dims, strict=True)
    for index, (whole, part) in zip(member.indices, dims, strict=False):
        if whole != part and (whole - part).is_nonnegative():
            left = f"where({index.name} < {part}, ..., 0)"
            return f"what each step computes has {whole} entries: {left}"
    return None
