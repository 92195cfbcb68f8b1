"""Classes of functions whose data come in blocks of rows, on one flat vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tensorgen.calculus.kinds import GRADIENT, HVP, PROBLEM, VALUE, camel
from tensorgen.emit.interface import Parameter, arranged
from tensorgen.emit.text import docstring, paragraph
from tensorgen.ir.dims import tuple_text

VALUE_AND_GRADIENT = f"{VALUE.name}_and_{GRADIENT.name}"
BY_PASSES = "_HessianByPasses"
"""The class of a Hessian parts of which stay with their rows: it is multiplied by."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The functions that compute one: of each round a start, if any, and a partial."""

    rounds: tuple[tuple[str | None, str], ...]
    finish: str


@dataclass(frozen=True, slots=True)
class BlockedFunction:
    """A function of the module whose rows come in blocks.

    `methods` are in pieces, by the names of kinds. Of the data some are `blocked`, and
    others `known` to all blocks. `counts` has the arguments that are numbers of all
    rows, the array of each and its axis, `sides` other sizes, `own_sides` those that
    are a block's own; `first` is what the number of a block's first row is called. A
    Hessian is of the type `hessian`. What random blocks give is `biased` for a reason,
    if for any.
    """

    function: str
    wrt: tuple[str, ...]
    size: str
    methods: Mapping[str, Pieces]
    blocked: tuple[Parameter, ...]
    known: tuple[Parameter, ...]
    counts: Mapping[str, tuple[str, int]]
    first: str = ""
    hessian: str = ""
    biased: str = ""
    sides: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    own_sides: Mapping[str, tuple[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Over:
    """Such a class as its template sees it."""

    name: str
    problem: str
    docstring: str
    names: str
    ways: list[tuple[str, tuple[tuple[str | None, str], ...], str]]
    counts: str
    first: str
    signature: str
    given: str
    known: str
    hessian: str
    hvp: bool
    biased: str
    sides: str
    own_sides: str


def over(own: BlockedFunction) -> Over:
    """Describe the class of a function whose rows come in blocks."""
    problem = PROBLEM.public_name(own.function)
    plain, keyword = arranged(own.known)
    named = [p.declared for p in (*plain, *keyword)]
    names = ", ".join(p.name for p in own.blocked)
    known = ", ".join(f'"{p.name}": {p.name}' for p in (*plain, *keyword))
    return Over(
        f"{camel(own.function)}Over",
        problem,
        docstring(
            [f"`{own.function}` over blocks of rows, a function of one flat vector."],
            paragraph(
                f"A block has its rows of {names}: a dictionary of these arrays, or a "
                "callable that returns one, which is called in each round. `map` may "
                "be that of a pool of processes, or any other that keeps the order."
            ),
        ),
        tuple_text([f'"{name}"' for name in own.wrt]),
        [(name, way.rounds, way.finish) for name, way in own.methods.items()],
        _places(own.counts),
        own.first,
        ", ".join(["*", *named, "map: Any = map"]),
        "".join(f", {p.name}={p.name}" for p in (*plain, *keyword)),
        f"{{{known}}}",
        own.hessian,
        HVP.name in own.methods,
        own.biased,
        _places(own.sides),
        _places(own.own_sides),
    )


def _places(told: Mapping[str, tuple[str, int]]) -> str:
    """The arrays and axes that tell sizes, as the text of a dictionary."""
    rows = (f'"{x}": ("{of}", {axis})' for x, (of, axis) in told.items())
    return f"{{{', '.join(rows)}}}" if told else ""
