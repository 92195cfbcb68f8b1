"""A graph with inputs of all shapes, and calls of the table's functions on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.operators.functions import FUNCTIONS, Parameter
from tensorgen.operators.functions.array import Array, Build
from tensorgen.operators.references.rows import FUNCTIONS as REFERENCE
from tensorgen.operators.references.rows import OPERATORS
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify

SIZES = {"m": 3, "n": 4, "k": 2}
M, N, K = (Dim.symbol(name) for name in "mnk")
SHAPES: dict[str, tuple[str | int, ...]] = {
    "X": ("m", "n"),
    "Y": ("m", "n"),
    "A": ("n", "n"),
    "B": ("k", "n", "n"),
    "T": ("k", "m", "n"),
    "u": ("m",),
    "v": ("n",),
    "w": ("n",),
    "c": (),
    "p": (3,),
    "q": (3,),
    "F": (3, 5),
    "thin": ("m", 1, "n"),
    "corner": (2, 3),
    "knots": ("n",),
    "order": ("m", "n"),
    "label": ("m",),
}
INDICES = {"order": N, "label": N}


def sizes(shape: tuple[str | int, ...]) -> tuple[int, ...]:
    """Return a shape in numbers."""
    return tuple(SIZES[d] if isinstance(d, str) else d for d in shape)


def numbers() -> dict[str, Any]:
    """Return positive values for all inputs."""
    random = np.random.default_rng(3)
    found: dict[str, Any] = {
        name: np.asarray(random.uniform(0.2, 0.9, sizes(shape)))
        for name, shape in SHAPES.items()
    }
    for name in INDICES:
        found[name] = random.integers(0, 4, sizes(SHAPES[name]))
    found["knots"] = np.sort(found["knots"])
    found["A"] = found["A"] + 2 * np.eye(4)
    found["B"] = found["B"] + 2 * np.eye(4)
    return found


NUMBERS = numbers()


class Bench:
    """A graph with all inputs, and arrays of it by name."""

    def __init__(self) -> None:
        self.build = Build(Graph())

    def array(self, name: str, *batch: str) -> Array:
        """Return an input; its first axes bear the labels `batch`."""
        index = INDICES.get(name)
        return Array(self.build.graph.input(name, SHAPES[name], (), index), batch)

    def value(self, x: Array) -> Any:
        """Verify a node and interpret it, batch axes first."""
        verify([x.node])
        return evaluate([x.node], NUMBERS, REFERENCE, OPERATORS, SIZES)[0]

    def call(self, name: str, *args: object, **more: object) -> Array:
        """Call a row; names of inputs stand for them."""
        function = FUNCTIONS[name]
        values: dict[str, object] = {}
        for parameter, arg in zip(function.parameters, args, strict=False):
            values[parameter.name] = self.argument(parameter, arg)
        return function.build(self.build, **values, **more)

    def argument(self, parameter: Parameter, arg: object) -> object:
        """Return what is passed for a parameter."""
        if parameter.kind == "array" and isinstance(arg, str):
            return self.array(arg)
        if parameter.kind.endswith("arrays") and isinstance(arg, tuple):
            return [self.array(name) for name in arg]
        return arg
