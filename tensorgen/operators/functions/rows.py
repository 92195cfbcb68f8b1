"""What a row of the table of the language's functions says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from tensorgen.operators.functions.array import Array

# The kind of an argument follows from the name of its parameter: so that a signature
# reads as in Python and needs no second list.
_KINDS = {
    "axis": "axes",
    "axes": "pairs",
    "axis1": "integer",
    "axis2": "integer",
    "offset": "integer",
    "k": "integer",
    "shift": "integer",
    "ddof": "integer",
    "power": "integer",
    "lower": "flag",
    "pad_width": "pairs",
    "keepdims": "flag",
    "accumulate": "flag",
    "ord": "order",
    "n": "size",
    "m": "size",
    "start": "size",
    "stop": "size",
    "shape": "shape",
    "reps": "shape",
    "newshape": "open shape",
    "subscripts": "string",
    "mode": "string",
    "arrays": "arrays",
    "places": "one or more arrays",
    "operands": "arrays",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function; `spread` ones take all arguments from there on."""

    name: str
    kind: str
    required: bool
    spread: bool


@dataclass(frozen=True)
class Function:
    """A function of the language.

    `build(build, **arguments)` makes the value. `reduces` ones bind indices, as in
    `sum(x[i], i)`; `along` ones work along an index in scope, as `softmax(x[i], i)`.
    """

    name: str
    signature: str
    doc: str
    shape: str
    build: Callable[..., Array]
    reduces: bool = False
    along: bool = False

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that the signature names, in order."""
        found = []
        for part in filter(None, self.signature.split(", ")):
            name, _, default = part.partition("=")
            bare = name.lstrip("*")
            kind = _KINDS.get(bare, "array")
            found.append(Parameter(bare, kind, not default, name != bare))
        return tuple(found)

    def __str__(self) -> str:
        return f"{self.name}({self.signature})"
