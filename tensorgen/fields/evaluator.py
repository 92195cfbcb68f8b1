"""The one walk over nodes: what each kind of them means over the numbers of a field.

A field has the arithmetic of its numbers. How a product is summed, and what functions
are, those say who compute in it: `verify` spells products out, in doubles, with complex
steps, or in many digits; `check` contracts them, modulo a prime; `bench` has JAX trace
them. All else is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from fractions import Fraction
from typing import Any, Generic, Protocol, Self, TypeVar, assert_never

import numpy as np

from tensorgen.errors import InternalError
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constant,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    topological,
)
from tensorgen.operators.defined_calls import defined_of, is_defined
from tensorgen.operators.defined_calls import result_of as result_of_call
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    is_recurrence,
    result_of,
)
from tensorgen.operators.references import Array

Labels = tuple[int, ...]
FAR = 2**30
"""Whole numbers below have products and sums that no integer of NumPy wraps."""


class Field(Protocol):
    """Numbers in arrays, and the arithmetic that is not that of arrays."""

    @property
    def library(self) -> Any:
        """The library of arrays."""

    def number(self, value: Fraction) -> Array:
        """A rational."""

    def constant(self, name: str) -> Array:
        """A number with a name."""

    def of(self, value: Array) -> Array:
        """Masks, indices and sizes as numbers; numbers as they are."""

    def reduced(self, value: Array) -> Array:
        """What additions and multiplications have made, as numbers of the field."""


F = TypeVar("F", bound=Field)


class Evaluator(ABC, Generic[F]):
    """Values of nodes at one point: sizes, and the values of inputs."""

    def __init__(
        self, field: F, sizes: Mapping[str, int], given: Callable[[Input], Array]
    ) -> None:
        """Remember all values; `given` makes those of inputs."""
        self.field = field
        self.sizes = sizes
        self.given = given
        self.values: dict[Node, Array] = {}

    def inside(self, sizes: Mapping[str, int], given: Callable[[Input], Array]) -> Self:
        """The same where inputs have other values, as in a step."""
        inner = copy(self)
        inner.sizes, inner.given, inner.values = sizes, given, {}
        return inner

    def of(self, root: Node) -> Array:
        """The value of a node."""
        return self.all([root])[0]

    def all(self, roots: Iterable[Node]) -> list[Array]:
        """The values of nodes.

        Raises `InternalError` where a dim is unknown, or a value has not the shape that
        its node promises.
        """
        roots = list(roots)
        waiting = topological(roots, self.values)
        # Nothing is begun that cannot end.
        shapes = [self.lengths(node.dims) for node in waiting]
        for node, shape in zip(waiting, shapes, strict=True):
            found = self.field.library.asarray(self._value(node))
            self.values[node] = self.shaped(node, found, shape)
        return [self.values[root] for root in roots]

    def size(self, dim: Dim) -> int:
        """A dim as a number."""
        return self.numbers([dim])[0]

    def numbers(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        """Dims as numbers."""
        try:
            return tuple([dim.value(self.sizes) for dim in dims])
        except KeyError as error:
            raise InternalError(f"no argument gives the dim {error.args[0]}") from error

    def lengths(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        """The lengths of the axes of an array."""
        return self.numbers(dims)

    def shaped(self, node: Node, value: Array, shape: tuple[int, ...]) -> Array:
        """A value over all entries of a node; that of a call has its shape already."""
        if value.shape == shape:
            return value
        if isinstance(node, Call):
            raise InternalError(f"a Call of shape {shape} has value {value.shape}")
        return self.field.library.broadcast_to(value, shape)

    def _value(self, node: Node) -> Array:
        field = self.field
        match node:
            case Input():
                value = self.given(node)
                return field.of(value) if node.index is None else value
            case Constant():
                return field.constant(node.name)
            case Size():
                return field.of(self.size(node.value))
            case Iota():
                return field.of(field.library.arange(*self.lengths(node.dims)))
            case Product():
                return self.product(node)
            case Sum():
                return self._sum(node)
            case Map():
                args = [
                    self.aligned(self.values[arg], labels, node.order)
                    for arg, labels in node.args
                ]
                return self.function(node.function)(*args)
            case Call():
                args = [self.values[arg] for arg in node.args]
                if is_defined(node):
                    return self.defined(node, args)
                walk = self.recurrence if is_recurrence(node) else self.called
                return walk(node, args)
            case _:
                assert_never(node)

    # What numbers and functions have to do with

    @abstractmethod
    def product(self, node: Product) -> Array:
        """The value of a product; where axes have one entry, they broadcast."""

    @abstractmethod
    def function(self, name: str) -> Callable[..., Array]:
        """An elementwise function."""

    @abstractmethod
    def called(self, node: Call, args: Sequence[Array]) -> Array:
        """The value of a call that is no recurrence."""

    # Arrays with labels

    def aligned(self, value: Array, labels: Labels, order: int) -> Array:
        """An array whose axes have labels, such that axis k has the label k."""
        if labels == tuple(range(order)):
            return value[()]
        np = self.field.library
        if len(set(labels)) < len(labels):
            kept = sorted(set(labels))
            value, labels = np.einsum(value, list(labels), kept), tuple(kept)
        places = sorted(range(len(labels)), key=labels.__getitem__)
        value = np.asarray(value).transpose(places)
        return value[tuple(slice(None) if k in labels else None for k in range(order))]

    def places(
        self, form: Affine, labels: Sequence[int], lengths: Sequence[int]
    ) -> Array:
        """The values of a form, with an axis a label that broadcasts to its length."""
        const = self.size(form.const)
        largest = max([abs(const), *(abs(c) for _, c in form.terms)])
        # Of any size: what wraps would be 0 in a wrong place.
        dtype = int if largest < FAR else object
        axes = np.ix_(*(np.arange(lengths[label]) for label in labels))
        grid = dict(zip(labels, axes, strict=True))
        total: Array = np.asarray(const, dtype)
        for atom, coefficient in form.terms:
            if isinstance(atom, Lookup):
                entries = self.values[atom.node]
                found = entries[tuple(grid[label] for label in atom.labels)]
            else:
                found = grid[atom]
            total = total + coefficient * found.astype(dtype)
        return total

    def _sum(self, node: Sum) -> Array:
        field = self.field
        total = field.of(np.zeros(self.lengths(node.dims), int))
        for coefficient, term, labels in node.terms:
            value = self.aligned(field.of(self.values[term]), labels, node.order)
            total = total + field.reduced(field.number(coefficient) * value)
        return field.reduced(total)

    # Definitions, and steps

    def defined(self, node: Call, args: Sequence[Array]) -> Array:
        """What the text of a definition is of the arguments of a call."""
        own, result = defined_of(node), result_of_call(node)
        places = dict(zip(own.places, args, strict=True))
        return self.inside(self.sizes, places.__getitem__).of(own.results[result])

    def recurrence(self, node: Call, args: Sequence[Array]) -> Array:
        """A result of steps, each of which is computed by itself."""
        steps, (result, every) = Recurrence.of(node).steps, result_of(node)
        first, second = len(steps.states), len(steps.states) + len(steps.items)
        made = [steps.made[result - first]] if result >= first else []
        states = [self.field.of(start) for start in args[:first]]
        rows = [] if made else [states[result]]
        pairs = [*zip(steps.items, args[first:second], strict=True)]
        (count,) = self.lengths([steps.count])
        for at in range(count)[:: -1 if steps.backwards else 1]:
            sizes, part = self.sizes, slice(at, at + 1)
            if steps.runs is not None:
                length, total = self.numbers([steps.runs.length, steps.runs.total])
                part = slice(at * length, min(at * length + length, total))
                sizes = {**sizes, str(steps.runs.width): part.stop - part.start}
            items = [given[part if steps.is_part(x) else at] for x, given in pairs]
            known = [*states, *items, *args[second:]]
            places = dict(zip(steps.places, known, strict=True))
            inner = self.inside(sizes, places.__getitem__)
            values = inner.all([*steps.new, *made])
            states = [self.field.of(value) for value in values[:first]]
            rows.append(values[-1] if made else states[result])
        if not every:
            return states[result]
        rows = rows[::-1] if steps.backwards else rows
        is_part = bool(made) and steps.is_part(made[0])
        join = self.field.library.concatenate if is_part else self.field.library.stack
        empty = np.zeros(self.lengths(node.dims), int)
        return self.field.of(join(rows) if rows else empty)
