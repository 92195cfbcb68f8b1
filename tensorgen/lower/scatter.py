"""Values that deltas spread over a larger array: written, not multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Label
from tensorgen.lower.constraints import plain_label, single_label
from tensorgen.lower.elementwise import Factor, multiply
from tensorgen.lower.indexing import Indexer
from tensorgen.lower.layout import aligned
from tensorgen.lower.text import Expr, product


@dataclass(frozen=True)
class Write:
    """Entries `core` that stand at the positions `forms` of an array of zeros."""

    dims: tuple[Dim, ...]
    forms: tuple[Affine, ...]
    core: Expr
    indexer: Indexer

    def permuted(self, axes: Sequence[int], dims: Sequence[Dim]) -> Write:
        """The entries as part of an array with axes `dims`, of which `axes` are ours.

        They are repeated along the axes that are not.
        """
        forms: list[Affine] = []
        fresh = 1 + max((x for form in self.forms for x in form.labels), default=0)
        ranges = self.indexer.ranges
        ranges = replace(ranges, intervals=dict(ranges.intervals))
        for axis, dim in enumerate(dims):
            if axis in axes:
                forms.append(self.forms[list(axes).index(axis)])
            else:
                forms.append(Affine(((fresh, 1),), ZERO))
                ranges.intervals[fresh] = (ZERO, dim)
                fresh += 1
        indexer = Indexer(self.indexer.writer, ranges, self.indexer.looked)
        return Write(tuple(dims), tuple(forms), self.core, indexer)

    def diagonal(self) -> Expr | None:
        """The array as a plain `np.diag` or `np.eye`, where it is one."""
        if len(self.dims) != 2 or self.dims[0] != self.dims[1]:
            return None
        first, second = map(plain_label, self.forms)
        if first is None or first != second:
            return None
        if self.indexer.ranges.intervals[first] != (ZERO, self.dims[0]):
            return None
        writer = self.indexer.writer
        core = writer.as_float(self.core)
        if core.labels == (first,):
            return Expr(writer.np("diag", core.text), labels=(0, 1))
        size, dtype = writer.size(self.dims[0]).text, writer.dtype()
        unit = Expr(writer.np("eye", size, f"dtype={dtype}"), labels=(0, 1))
        if core.text == "1":
            return unit
        return product(Fraction(1), [core, unit])

    def zeros(self) -> str:
        """The text of the array that the entries are written to."""
        writer = self.indexer.writer
        shape = writer.shape(self.dims)
        return writer.np("zeros", shape, f"dtype={writer.dtype()}")

    def onto(
        self, name: str, scale: Fraction = Fraction(1), fresh: bool = False
    ) -> None:
        """Append the statement that adds `scale` times the entries to `name`.

        `fresh` tells that the array is still all zeros.
        """
        writer = self.indexer.writer
        at = self.indexer.subscript(list(self.forms), self.dims)
        core = writer.as_float(self.core)
        if at.safe and self._is_injective():
            size = scale if fresh else abs(scale)
            value = aligned(multiply(writer, [Factor(core)], size), at.labels)
            sign = "=" if fresh else "+=" if scale > 0 else "-="
            text = at.text or "..."
            writer.lines.append(f"{name}[{text}] {sign} {value.text}")
            return
        value = aligned(multiply(writer, [Factor(core)], scale), at.labels)
        parts = [_as_index(part) for part in at.parts]
        while parts[-1] == "slice(None)":
            parts.pop()
        index = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
        writer.lines.append(writer.np("add.at", name, index, value.text))

    def _is_injective(self) -> bool:
        """Whether no two entries are written to one place."""
        alone: set[Label] = set()
        for form in self.forms:
            one = single_label(form)
            if one is not None:
                alone.add(one[0])
        return all(x in alone for form in self.forms for x in form.labels)


def _as_index(part: str) -> str:
    """A slice as an object, for where it stands outside brackets."""
    if ":" not in part or "[" in part:
        return part
    limits = [limit or "None" for limit in part.split(":")]
    return "slice(None)" if part == ":" else f"slice({', '.join(limits)})"
