"""Products of vectors and matrices, taken apart by their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Label
from tensorgen.operators.matrix_chains import dot, identity, ones, product, total
from tensorgen.operators.matrix_terms import (
    ATOM,
    Applied,
    Diagonal,
    Expression,
    Row,
    Symbol,
    entrywise,
    multiplied,
    number,
    turned,
)
from tensorgen.operators.matrix_text import tight


class NoMatrixError(Exception):
    """Something has no matrix notation."""


@dataclass(frozen=True)
class Part:
    """A factor, with a label an axis."""

    labels: tuple[Label, ...]
    body: Expression

    def turned(self, labels: Sequence[Label]) -> Part:
        """The part with its labels in another order."""
        if self.labels == tuple(labels):
            return self
        return Part(tuple(labels), turned(self.body))

    def renamed(self, names: Mapping[Label, Label]) -> Part:
        """The part with other labels: the diagonal of a matrix if they are one."""
        labels = tuple(names.get(x, x) for x in self.labels)
        if len(labels) == 2 and labels[0] == labels[1]:
            return Part(labels[:1], Applied("diag", (self.body,), self.body.dims[:1]))
        return replace(self, labels=labels)


class Parts:
    """The factors of one product, of which labels are summed one after the other."""

    def __init__(
        self, parts: Sequence[Part], coefficient: Fraction, sizes: Mapping[Label, Dim]
    ) -> None:
        self.parts = list(parts)
        self.coefficient = coefficient
        self.sizes = sizes
        self.merge()

    def merge(self) -> None:
        """Multiply what has the same labels, elementwise."""
        groups: dict[tuple[Label, ...], list[Part]] = {}
        for part in self.parts:
            key = tuple(sorted(part.labels))
            own = groups.setdefault(key, [])
            own.append(part.turned(own[0].labels) if own else part)
        self.parts = []
        for own in groups.values():
            if len(own) > 1 and own[0].labels:
                whole = entrywise([part.body for part in own])
                self.parts.append(Part(own[0].labels, whole))
            else:
                self.parts += own

    def contract(self, summed: Sequence[Label]) -> None:
        """Sum over labels, the cheapest next."""
        left = list(summed)
        while left:
            label = min(left, key=lambda x: (self.effort(x), left.index(x)))
            self.sum_over(label, left)
            left = [x for x in left if any(x in part.labels for part in self.parts)]
            self.merge()

    def effort(self, label: Label) -> int:
        """How large what comes of a sum is, and how much is multiplied for it."""
        own = [part for part in self.parts if label in part.labels]
        others = {x for part in own for x in part.labels} - {label}
        return 4 * len(others) + len(own)

    def sum_over(self, label: Label, summed: Sequence[Label]) -> None:
        """Replace the parts that have a label by their sum over it."""
        own = [part for part in self.parts if label in part.labels]
        rest = [part for part in self.parts if label not in part.labels]
        vectors = [part.body for part in own if len(part.labels) == 1]
        matrices = [part for part in own if len(part.labels) == 2]
        if len(own) == 1:
            others = {x for part in rest for x in part.labels}
            alone = [x for x in summed if x not in others]
            self.parts = [*rest, _total(own[0], label, alone)]
        elif len(matrices) == 2 and len(vectors) <= 1:
            scale = [self.on_diagonal(label, vector) for vector in vectors]
            rows, columns = (_other(part, label) for part in matrices)
            left = matrices[0].turned((rows, label)).body
            right = matrices[1].turned((label, columns)).body
            whole = product([left, *scale, right], self.dims(rows, columns))
            self.parts = [*rest, Part((rows, columns), whole)]
        elif len(vectors) == 2 and not matrices:
            self.parts = [*rest, Part((), dot(*vectors))]
        elif len(matrices) == len(vectors) == 1:
            other = _other(matrices[0], label)
            matrix = matrices[0].turned((other, label)).body
            whole = product([matrix, *vectors], self.dims(other))
            self.parts = [*rest, Part((other,), whole)]
        else:
            raise NoMatrixError

    def dims(self, *labels: Label) -> tuple[Dim, ...]:
        """How far labels run."""
        return tuple(self.sizes[x] for x in labels)

    def on_diagonal(self, label: Label, vector: Expression) -> Expression:
        """The matrix with a vector on its diagonal."""
        return Diagonal(vector, self.dims(label, label))

    def with_label(self, *labels: Label) -> Expression | None:
        """The part that has these labels alone, turned that way."""
        for part in self.parts:
            if sorted(part.labels) == sorted(labels):
                return part.turned(labels).body
        return None

    def scaled(self, body: Expression) -> Expression:
        """The numbers times what is left."""
        scale = number(self.coefficient)
        for part in self.parts:
            if not part.labels:
                scale = multiplied(scale, part.body)
        return multiplied(scale, body)

    def laid_out(self, out: Sequence[Label]) -> Expression:
        """What is left, with the axes of the result."""
        if not out:
            return self.scaled(number(1))
        if len(out) == 1:
            return self.scaled(self.with_label(*out) or ones(*self.dims(*out)))
        matrix = self.with_label(*out)
        rows, columns = map(self.with_label, out)
        if matrix is None:
            left, right = (
                one or ones(dim)
                for one, dim in zip((rows, columns), self.dims(*out), strict=True)
            )
            return self.scaled(product([left, Row(right)], self.dims(*out)))
        before, after = (
            [self.on_diagonal(x, one)] if one is not None else []
            for x, one in zip(out, (rows, columns), strict=True)
        )
        return self.scaled(product([*before, matrix, *after], self.dims(*out)))

    def diagonal(self, label: Label) -> Expression:
        """A matrix with what is left on its diagonal."""
        vector = self.with_label(label)
        if vector is None:
            return self.scaled(identity(self.sizes[label]))
        return self.scaled(self.on_diagonal(label, vector))


def _other(part: Part, label: Label) -> Label:
    first, second = part.labels
    return second if first == label else first


def _total(part: Part, label: Label, summed: Sequence[Label]) -> Part:
    """The sum of one part over a label, or over both where both are summed."""
    if len(part.labels) == 1 or all(x in summed for x in part.labels):
        return Part((), total(part.body))
    axis = part.labels.index(label)
    text = f"{tight(part.body, ATOM)}.sum({axis})"
    return Part((_other(part, label),), Symbol(text, (part.body.dims[1 - axis],)))
