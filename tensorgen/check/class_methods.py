"""What the methods of a derivative class return, beside what they should."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statement_text import statement_texts
from tensorgen.check.factorizations import solvers
from tensorgen.check.sample_points import Point
from tensorgen.check.sparse_matrices import by_rows
from tensorgen.ir.dims import Dim
from tensorgen.operators.references import Array
from tensorgen.structure.classes import StructuredClass
from tensorgen.structure.multiples import SCALE

Pairs = Iterator[tuple[Array, Array]]


class Methods:
    """An object of a class, made of arrays at a point."""

    def __init__(
        self,
        made: StructuredClass,
        arrays: Sequence[Array],
        point: Point,
        printer: Printer,
    ) -> None:
        self.made = made
        self.point = point
        self.rows = len(made.rows)
        self.texts = {
            method.name: statement_texts(printer, method.body)
            for method in made.methods
        }
        # A multiple of the object, so that it is held as well that this is one.
        self.scale = point.array("multiple", ())
        linear = made.linear or ()
        self.own: dict[str, Any] = {
            name: self._reduced(array * self.scale) if name in linear else array
            for name, array in zip(made.fields, arrays, strict=True)
        }
        self.own |= {
            SCALE: self.scale,
            "sizes": tuple(point.sizes[s] for s in made.sizes),
            "dtype": point.field.dtype,
            **{name: partial(self.run, name) for name in self.texts},
            "coo": self._coo,
        }
        cached = [method.name for method in made.methods if method.cached]
        self.own.update({name: self.run(name) for name in cached})

    def run(self, name: str, **given: Any) -> Any:
        """What a method returns."""
        program = self.point.program
        matrices = {"_by_rows": partial(by_rows, self.point)}
        known = {"_joined": joined, **matrices, **given, "self": self.own}
        return program.run(self.texts[name], known)

    def pairs(self, whole: Array) -> Pairs:
        """Yield what is returned and what should be, if all entries are `whole`."""
        whole = self._reduced(whole * self.scale)
        axes = range(self.rows)
        self.own["rows"] = whole.shape[: self.rows]
        self.own["columns"] = whole.shape[self.rows :]
        if "dense" in self.texts:
            yield self.run("dense"), whole
        if "diagonal" in self.texts:
            yield self.run("diagonal"), np.einsum(whole, [*axes, *axes], [*axes])
        yield from self._products(whole)
        yield from self._contractions(whole)
        sides = prod(whole.shape[: self.rows]), prod(whole.shape[self.rows :])
        matrix = whole.reshape(sides)
        yield from self._entries(matrix)
        yield from self._factorized(matrix)

    def _products(self, whole: Array) -> Pairs:
        rows = self.rows
        for name, first, last in (
            ("_apply", rows, whole.ndim),
            ("_apply_transposed", 0, rows),
        ):
            if name in self.texts:
                dims = (*map(Dim.of, whole.shape[first:last]), Dim.of(2))
                operand = self.point.array(name, dims)
                pairs = [*range(first, last)], [*range(last - first)]
                expected = np.tensordot(whole, operand, axes=pairs)
                yield self.run(name, operand=operand), self._reduced(expected)

    def _contractions(self, whole: Array) -> Pairs:
        expected, given = whole, {}
        # Classes that contract with nothing may be shared by objects of other shapes.
        inputs = self.made.columns if "_contract_1" in self.texts else ()
        for k, dims in enumerate(reversed(inputs)):
            name = f"x{len(inputs) - k}"
            given[name] = self.point.array(name, dims)
            expected = np.tensordot(expected, given[name], axes=len(dims))
            expected = self._reduced(expected)
            if f"_contract_{k + 1}" in self.texts:
                yield self.run(f"_contract_{k + 1}", **given), expected

    def _entries(self, matrix: Array) -> Pairs:
        """Entries in coordinates, of which those of the same place add up."""
        if "_values" in self.texts:
            rows, columns, values = self._coo()
            found = np.zeros_like(matrix)
            np.add.at(found, (rows, columns), self.point.field.of(values))
            yield self._reduced(found), matrix

    def _coo(self) -> tuple[Array, Array, Array]:
        return joined(self.run("_values"), self.run("_places"))

    def _factorized(self, matrix: Array) -> Pairs:
        """What a solver is handed is the matrix, and the shift with it."""
        if "_factorized" in self.texts:
            shift = self.point.array("shift", ())
            known = solvers(self.point.field)
            found = self.run("_factorized", shift=shift, **known)
            unit = np.eye(len(matrix), dtype=int)
            yield found, self._reduced(matrix + shift * unit)

    def _reduced(self, value: Array) -> Array:
        return self.point.field.reduced(value)


def joined(
    values: Sequence[Array], places: Sequence[tuple[Array, ...]]
) -> tuple[Array, Array, Array]:
    """The rows, columns and values of entries, by array: some of each, or all."""
    parts = [
        (rows, columns, np.ravel(value)[tuple(which)])
        for value, (rows, columns, *which) in zip(values, places, strict=True)
    ]
    rows, columns, entries = map(np.concatenate, zip(*parts, strict=True))
    return rows, columns, entries
