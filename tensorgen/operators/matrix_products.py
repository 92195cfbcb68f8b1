"""Products of vectors and matrices, taken apart by their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.formula_text import LARGEST_DENOMINATOR, number
from tensorgen.ir.nodes import Label

SUM, TIMES, MATMUL, POWER, ATOM = range(5)
"""How tightly a text holds together."""


class NoMatrixError(Exception):
    """Something has no matrix notation."""


def enclosed(text: str, level: int, wanted: int) -> str:
    """A text, in parentheses where it holds together less than is `wanted`."""
    return text if level >= wanted else f"({text})"


@dataclass(frozen=True)
class Part:
    """A factor as text, with a label an axis; or one over it, if it stands `under`.

    A matrix may be the product of those in its `chain`; it turns where they turn. A
    vector may be the elementwise product of a `pair`, of which the sum is a product, or
    the diagonal of what stands `inside`.
    """

    labels: tuple[Label, ...]
    text: str
    level: int
    under: bool = False
    chain: tuple[Part, ...] = ()
    symmetric: bool = False
    pair: tuple[Part, ...] = ()
    inside: str = ""

    def tight(self, level: int) -> str:
        """The text, which holds together as much as a level asks."""
        return enclosed(self.text, self.level, level)

    def turned(self, labels: Sequence[Label]) -> Part:
        """The part with its labels in another order."""
        if self.labels == tuple(labels):
            return self
        if self.symmetric:
            return replace(self, labels=tuple(labels))
        if self.chain:
            found = product([x.turned(x.labels[::-1]) for x in self.chain[::-1]])
            return replace(found, labels=tuple(labels))
        text = self.tight(ATOM)
        text = text.removesuffix(".T") if text.endswith(".T") else f"{text}.T"
        return replace(self, labels=tuple(labels), text=text, level=ATOM)

    def on_diagonal(self, label: Label) -> Part:
        """The diagonal of a matrix."""
        text = f"diag({self.text})"
        return Part((label,), text, ATOM, self.under, inside=self.text)

    def renamed(self, names: Mapping[Label, Label]) -> Part:
        """The part with other labels: the diagonal of a matrix if they are one."""
        labels = tuple(names.get(x, x) for x in self.labels)
        if len(labels) == 2 and labels[0] == labels[1]:
            return self.on_diagonal(labels[0])
        return replace(self, labels=labels)


def product(matrices: Sequence[Part]) -> Part:
    """The product of matrices, of which neighbours share a label."""
    chain = tuple(x for one in matrices for x in (one.chain or (one,)))
    labels = (matrices[0].labels[0], matrices[-1].labels[1])
    return Part(labels, " @ ".join(x.tight(MATMUL) for x in chain), MATMUL, chain=chain)


def diagonal(label: Label, vector: Part) -> Part:
    """The matrix with a vector on its diagonal."""
    return Part((label, label), f"diag({vector.text})", ATOM, symmetric=True)


def times(parts: Sequence[Part]) -> tuple[str, int]:
    """The elementwise product of parts, one after the other."""
    if len(parts) == 1 and not parts[0].under:
        return parts[0].text, parts[0].level
    over = _powers([part for part in parts if not part.under])
    under = _powers([part for part in parts if part.under])
    text = " * ".join(over) or "1"
    if under:
        text += f" / {under[0]}" if len(under) == 1 else f" / ({' * '.join(under)})"
    alone = len(over) == 1 and not under
    return text, POWER if alone and "**" in text else TIMES


def _powers(parts: Sequence[Part]) -> list[str]:
    """The texts of factors, one that occurs twice as its square."""
    count: dict[str, int] = {}
    tight = {part.text: part for part in parts}
    for part in parts:
        count[part.text] = count.get(part.text, 0) + 1
    return [
        tight[x].tight(POWER) if n == 1 else f"{tight[x].tight(ATOM)}**{n}"
        for x, n in count.items()
    ]


class Parts:
    """The factors of one product, of which labels are summed one after the other."""

    def __init__(
        self, parts: Sequence[Part], coefficient: Fraction, sizes: Mapping[Label, Dim]
    ) -> None:
        """Start with all factors."""
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
                text, level = times(own)
                plain = len(own) == 2 and not any(x.under for x in own)
                pair = tuple(own) if plain and len(own[0].labels) == 1 else ()
                self.parts.append(Part(own[0].labels, text, level, pair=pair))
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
        vectors = [part for part in own if len(part.labels) == 1]
        matrices = [part for part in own if len(part.labels) == 2]
        if len(own) == 1:
            others = {x for part in rest for x in part.labels}
            alone = [x for x in summed if x not in others]
            self.parts = [*rest, _total(own[0], label, alone)]
        elif len(matrices) == 2 and len(vectors) <= 1:
            scale = [diagonal(label, _alone(vector)) for vector in vectors]
            first, second = map(_alone, matrices)
            rows, columns = _other(first, label), _other(second, label)
            left, right = first.turned((rows, label)), second.turned((label, columns))
            self.parts = [*rest, product([left, *scale, right])]
        elif len(vectors) == 2 and not matrices:
            texts = [_alone(vector).tight(MATMUL) for vector in vectors]
            self.parts = [*rest, Part((), " @ ".join(texts), MATMUL)]
        elif len(matrices) == len(vectors) == 1:
            other = _other(matrices[0], label)
            matrix = _alone(matrices[0]).turned((other, label)).tight(MATMUL)
            text = f"{matrix} @ {_alone(vectors[0]).tight(MATMUL)}"
            self.parts = [*rest, Part((other,), text, MATMUL)]
        else:
            raise NoMatrixError

    def scalars(self) -> list[Part]:
        """The factors that are numbers."""
        return [part for part in self.parts if not part.labels]

    def with_label(self, *labels: Label) -> Part | None:
        """The part that has these labels alone, turned that way."""
        for part in self.parts:
            if sorted(part.labels) == sorted(labels):
                return _alone(part).turned(labels)
        return None

    def scaled(self, body: Part | None, ones: str) -> Part:
        """The numbers times what is left, or times `ones`."""
        labels = body.labels if body is not None else ()
        sign = "-" if self.coefficient < 0 else ""
        size = abs(self.coefficient)
        shown = Part((), number(size), ATOM)
        below: list[Part] = []
        if 1 < size.denominator <= LARGEST_DENOMINATOR:
            shown = Part((), number(Fraction(size.numerator)), ATOM)
            below = [Part((), str(size.denominator), ATOM, under=True)]
        numbers = [*([shown] if shown.text != "1" else []), *self.scalars(), *below]
        rest = body if body is not None else Part((), ones, ATOM) if ones else None
        if rest is not None and not numbers:
            text, level = rest.text, rest.level
        else:
            text, level = times(
                [*numbers, *([rest] if rest is not None else [])] or [shown]
            )
        if sign:
            text = sign + enclosed(text, level, TIMES)
            level = min(level, TIMES)
        return Part(labels, text, level)

    def laid_out(self, out: Sequence[Label]) -> Part:
        """What is left, with the axes of the result."""
        if not out:
            return self.scaled(None, "")
        if len(out) == 1:
            vector = self.with_label(*out)
            found = self.scaled(vector, f"ones({self.sizes[out[0]]})")
            return replace(found, labels=tuple(out))
        first, second = out
        matrix = self.with_label(first, second)
        rows, columns = self.with_label(first), self.with_label(second)
        sizes = [self.sizes[x] for x in out]
        if matrix is None:
            if rows is None and columns is None:
                found = self.scaled(None, f"ones(({sizes[0]}, {sizes[1]}))")
                return replace(found, labels=tuple(out))
            ones = [f"ones({size})" for size in sizes]
            left = rows.text if rows is not None else ones[0]
            right = columns.text if columns is not None else ones[1]
            whole = Part(tuple(out), f"outer({left}, {right})", ATOM)
        else:
            scales = [
                [diagonal(x, one)] if one is not None else []
                for x, one in ((first, rows), (second, columns))
            ]
            several = any(scales)
            whole = product([*scales[0], matrix, *scales[1]]) if several else matrix
        return self.scaled(whole, "")

    def diagonal(self, label: Label) -> Part:
        """A matrix with what is left on its diagonal."""
        vector = self.with_label(label)
        if vector is None:
            found = self.scaled(None, f"eye({self.sizes[label]})")
        else:
            found = self.scaled(Part((), f"diag({vector.text})", ATOM), "")
        return replace(found, labels=(0, 1))


def _alone(part: Part) -> Part:
    """A part that does not stand under a line."""
    if not part.under:
        return part
    return Part(part.labels, f"1 / {part.tight(POWER)}", TIMES)


def _other(part: Part, label: Label) -> Label:
    first, second = part.labels
    return second if first == label else first


def _total(part: Part, label: Label, summed: Sequence[Label]) -> Part:
    """The sum of one part over a label, or over both where both are summed."""
    own = _alone(part)
    if own.pair:
        pair = sorted(own.pair, key=lambda x: x.level < ATOM)
        return Part((), " @ ".join(x.tight(MATMUL) for x in pair), MATMUL)
    if len(own.labels) == 1 or all(x in summed for x in own.labels):
        if own.inside:
            return Part((), f"trace({own.inside})", ATOM)
        return Part((), f"sum({own.text})", ATOM)
    axis = own.labels.index(label)
    return Part((_other(own, label),), f"{own.tight(ATOM)}.sum({axis})", ATOM)
