"""Values of nodes at a random point, by which those are found that are the same.

Formulas that agree at a random point agree everywhere, as good as surely. What has no
value there, or takes many numbers, is like nothing else. What is emitted depends not
on whether SciPy is there: functions of which it has the values have others here.

Names alone go by this. What is computed goes by patterns, which prove (`flat`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod
from typing import Any
from zlib import crc32

import numpy as np

from tensorgen.errors import InternalError
from tensorgen.fields.doubles import Doubles, Tabled
from tensorgen.fields.symmetric_entries import exchangeable
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, Product, children, unknown
from tensorgen.ir.symmetric_axes import groups
from tensorgen.operators.references import Array, special
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS

SIZES = (3, 4, 5)
"""What sizes are, each by its name."""
MOST = 2_000
"""Entries of the largest arrays."""
MOST_TERMS = 20_000
"""Values that the labels of a product may take together."""
MOST_LABELS = 14
MOVED, TOLD = 1.01, 1e-7
"""How far an argument is moved, and by how much its value must change for that."""
NO_VALUE = (ArithmeticError, InternalError, LookupError, TypeError, ValueError)
"""What is raised where a function has no value."""


def _of_scipy(function: Any) -> bool:
    return getattr(function, "__module__", None) == special.__name__


def _stand_in(name: str) -> Callable[..., Array]:
    """A smooth function of any number of arguments that no other name has."""
    numbers = random.Random(name)
    phase, *weights = (numbers.uniform(0.5, 1.5) for _ in range(6))

    def function(*args: Array) -> Array:
        parts = (w * np.asarray(x, float) for w, x in zip(weights, args, strict=False))
        return 2 + np.sin(sum(parts, np.asarray(phase)))

    return function


def _telling(function: Callable[..., Array]) -> Callable[..., Array]:
    """The same where it tells arguments apart: a tanh that is nearly 1 is no value."""

    def told(*args: Array) -> Array:
        value = function(*args)
        if len(args) == 1 and np.asarray(value).dtype.kind == "f":
            moved = np.abs(function(np.multiply(args[0], MOVED)) - value)
            if np.any((moved < TOLD * np.abs(value)) & (np.asarray(args[0]) != 0)):
                raise ValueError(value)
        return value

    return told


def _is_in_steps(function: Callable[..., Array]) -> bool:
    """Whether a function has one value at nearby places; of no one place, also."""
    try:
        with np.errstate(all="ignore"):
            here, there = (function(np.array([x])) for x in (0.31, 0.37))
    except TypeError:
        return True
    return bool(np.all(here == there))


_FUNCTIONS = {x: _stand_in(x) if _of_scipy(f) else f for x, f in FUNCTIONS.items()}
VALUES = {x: f if _is_in_steps(f) else _telling(f) for x, f in _FUNCTIONS.items()}
OF_ARRAYS = {x: f for x, f in OPERATORS.items() if x not in ("expm", "log_slope")}
"""Functions that need NumPy alone."""


def value_of(graph: Graph, root: Node) -> Array | None:
    """The value of a node where inputs are random, None if it has none."""
    for node in unknown(value_of, root):
        graph.effort.spend()
        node.known[value_of] = _tried(node)
    return root.known[value_of]


def _tried(node: Node) -> Array | None:
    if any(x.known[value_of] is None for x in children(node)):
        return None
    try:
        with np.errstate(all="ignore"):
            return _Sampled(node).found()
    except NO_VALUE:
        return None


class _Sizes(dict[str, int]):
    """Sizes that nobody has chosen."""

    def __missing__(self, symbol: str) -> int:
        return SIZES[crc32(symbol.encode()) % len(SIZES)]


class _Sampled(Tabled):
    """The value of one node, over those that are known of its operands."""

    def __init__(self, node: Node) -> None:
        super().__init__(Doubles(VALUES, OF_ARRAYS), _Sizes(), self._drawn)
        self.node = node
        self.values = {x: x.known[value_of] for x in children(node)}

    def found(self) -> Array:
        """The value; raises one of `NO_VALUE` where there is none."""
        shape = self.lengths(self.node.dims)
        if prod(shape) > MOST or min(shape, default=0) < 0:
            raise ValueError(shape)
        value = self.shaped(self.node, np.asarray(self._value(self.node)), shape)
        if value.dtype.kind == "f" and np.isnan(value).any():
            raise ValueError(value)
        return value

    def product(self, node: Product) -> Array:
        """One sum over all labels."""
        lengths = self.lengths(node.sizes)
        if prod(lengths) > MOST_TERMS or len(lengths) > MOST_LABELS:
            raise ValueError(lengths)
        args: list[Any] = [float(node.coefficient), []]
        for factor, labels in node.factors:
            args += [self.field.of(self.values[factor]), list(labels)]
        for kind, form in node.constraints:
            at = self.places(form, form.labels, lengths)
            args += [
                self.field.of(at == 0 if kind == "eq" else at >= 0),
                list(form.labels),
            ]
        # Others are summed over, or broadcast along.
        for label in {*range(len(lengths))}.difference(*args[1::2]):
            args += [np.ones(lengths[label]), [label]]
        return np.einsum(*args, list(range(node.order)))

    def _drawn(self, node: Input) -> Array:
        """Positive numbers near 1; matrices are such that they have inverses."""
        shape = self.lengths(node.dims)
        numbers = random.Random(node.serial)
        if node.index is not None:
            most = max(self.size(node.index), 1)
            places = [numbers.randrange(most) for _ in range(prod(shape))]
            return np.array(places, int).reshape(shape)
        drawn = [numbers.uniform(0.5, 1.5) for _ in range(prod(shape))]
        value = np.array(drawn).reshape(shape)
        if node.order > 1 and shape[-1] == shape[-2]:
            value = value + 2 * shape[-1] * np.eye(shape[-1])
            if node.properties & {"symmetric", "spd"}:
                value = value + np.swapaxes(value, -1, -2)
        return exchangeable(value, groups(node.properties, node.order))
