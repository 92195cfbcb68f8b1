"""Arrays of a product, and the positions at which it reads their axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import array
from tensorgen.arrays.operations import Index
from tensorgen.arrays.places import Slice
from tensorgen.ir.nodes import Affine, Label, Node
from tensorgen.lower.draft import Draft
from tensorgen.lower.operands import Operand
from tensorgen.lower.padding import Width, padded


@dataclass(frozen=True)
class Read:
    """An array, and the positions at which its axes are read."""

    whole: Operand
    forms: tuple[Affine, ...]

    @property
    def labels(self) -> tuple[Label, ...]:
        """All labels of the positions."""
        return tuple(dict.fromkeys(x for form in self.forms for x in form.labels))

    def held(self, draft: Draft, node: Node) -> Read:
        """The array in memory, which is a value of `node`."""
        if self.whole.base is not None or self.whole.weak:
            return self
        own = draft.variable(node, self.whole.array)
        return replace(self, whole=Operand(own, self.whole.labels))

    def widened(self, draft: Draft, widths: Sequence[Width]) -> Read:
        """The array with zeros around it, in memory."""
        whole = padded(self.whole, widths)
        if whole is self.whole:
            return self
        own = draft.variable(None, whole.array)
        return replace(self, whole=Operand(own, whole.labels))

    def forwards(self, taps: Sequence[Label]) -> Read:
        """The array turned over along axes that are read backwards from a tap on."""
        turned = [
            len(form.terms) > 1 and any(c < 0 for x, c in form.terms if x not in taps)
            for form in self.forms
        ]
        if not any(turned):
            return self
        dims = self.whole.array.dims
        parts = tuple(Slice(step=-1 if turn else 1) for turn in turned)
        view = array(Index(parts, dims), self.whole.array)
        forms = tuple(
            -form + (dim - 1) if turn else form
            for form, dim, turn in zip(self.forms, dims, turned, strict=True)
        )
        return Read(replace(self.whole, array=view, turned=None), forms)
