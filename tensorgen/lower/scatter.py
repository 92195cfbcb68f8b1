"""Values that deltas spread over a larger array: written, not multiplied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import Affine, Label
from tensorgen.lower.constraints import plain_label, single_label
from tensorgen.lower.elementwise import Factor, multiply
from tensorgen.lower.indexing import Indexer, Subscript
from tensorgen.lower.layout import aligned
from tensorgen.lower.text import Expr, product
from tensorgen.lower.windows import window_axes

# Array modules in which `add.at` is fast for vectors alone: NumPy takes 7 to 10 ns an
# entry of a matrix, and 0.7 ns of a vector.
SLOW_AT = ("np",)


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
        core = writer.as_float(self.core)
        injective = self._is_injective()
        if not injective and writer.alias in SLOW_AT and self._windows(name, scale):
            return
        at = self.indexer.subscript(list(self.forms), self.dims)
        if at.safe and injective:
            size = scale if fresh else abs(scale)
            value = aligned(multiply(writer, [Factor(core)], size), at.labels)
            sign = "=" if fresh else "+=" if scale > 0 else "-="
            text = at.text or "..."
            writer.lines.append(f"{name}[{text}] {sign} {value.text}")
            return
        value = multiply(writer, [Factor(core)], scale)
        along = len(self.dims) == len(value.labels) == len(at.labels) == 1
        if writer.alias in SLOW_AT and not (along and at.safe):
            self._add_by_entry(name, at, value)
            return
        value = aligned(value, at.labels)
        text = writer.np("add.at", name, _joined(map(_as_index, at.parts)), value.text)
        # An array without entries has no place to clip positions to.
        writer.lines.append(text if at.safe else f"if {name}.size:\n    {text}")

    def _windows(self, name: str, scale: Fraction) -> bool:
        """Append a call of the helper that adds to windows, if there is such a view."""
        writer, forms = self.indexer.writer, list(self.forms)
        axes = window_axes(self.indexer.ranges, forms, self.dims)
        if axes is None:
            return False
        array = Expr(name, labels=tuple(range(len(self.dims))), base=name)
        view = self.indexer.windows(array, forms, self.dims, axes, written=True)
        if view.base != name:
            return False  # a copy
        core = writer.as_float(self.core)
        value = aligned(multiply(writer, [Factor(core)], scale), view.labels)
        pairs = [tuple(map(view.labels.index, pair)) for pair in axes.values()]
        writer.helpers["_add_to_windows"] = None
        writer.lines.append(f"_add_to_windows({view.text}, {value.text}, {pairs})")
        return True

    def _add_by_entry(self, name: str, at: Subscript, value: Expr) -> None:
        """Append a call of the helper, with the axes that are indexed put first."""
        slices = [_is_slice(part) for part in at.parts]
        first = [axis for axis, sliced in enumerate(slices) if not sliced]
        rest = [axis for axis, sliced in enumerate(slices) if sliced]
        index = _joined(at.parts[axis] for axis in first)
        kept = [at.parts[axis] if slices[axis] else ":" for axis in range(len(slices))]
        target = name if set(kept) == {":"} else f"{name}[{', '.join(kept)}]"
        if [*first, *rest] != list(range(len(slices))):
            axes = ", ".join(map(str, [*first, *rest]))
            turned = ".T" if len(slices) == 2 else f".transpose({axes})"
            target += turned
        along = [x for axis in rest for x in self.forms[axis].labels]
        labels = [x for x in at.labels if x not in along] + along
        writer = self.indexer.writer
        writer.helpers["_add_at"] = None
        writer.lines.append(
            f"_add_at({target}, {index}, {aligned(value, labels).text})"
        )

    def _is_injective(self) -> bool:
        """Whether no two entries are written to one place."""
        alone: set[Label] = set()
        for form in self.forms:
            one = single_label(form)
            if one is not None:
                alone.add(one[0])
        return all(x in alone for form in self.forms for x in form.labels)


def _joined(parts: Iterable[str]) -> str:
    """Positions as one index, without whole axes at the end."""
    kept = list(parts)
    while kept[-1] == "slice(None)":
        kept.pop()
    return kept[0] if len(kept) == 1 else f"({', '.join(kept)})"


def _is_slice(part: str) -> bool:
    return ":" in part and "[" not in part


def _as_index(part: str) -> str:
    """A slice as an object, for where it stands outside brackets."""
    if not _is_slice(part):
        return part
    limits = [limit or "None" for limit in part.split(":")]
    return "slice(None)" if part == ":" else f"slice({', '.join(limits)})"
