"""Formulas in index notation, in which every sum says from where to where.

A summed index that an equation fixes is replaced by what fixes it, and a condition says
where that is in range: `x[i - 1] * [0 < i]` is zero where there is no entry. Other
deltas and indicators limit the ranges of sums, as Urban and van der Smagt write it:
`sum_{k=max(0, i - 5)}^{min(n - 1, i + 2)}` (Automatic differentiation for tensor
algebras, 2017).

Signs of summation are marked, so that formulas can be read again without guessing
(`formula_tree.py`): `sum_k⟨low…high⟩`, with another character for each space inside.
What else must hold follows the range of the last one, `sum_{l=0, row[l] == i}^{E - 1}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tensorgen.ir.constraints import Ranges, looked_up, solved
from tensorgen.ir.dims import Dim
from tensorgen.ir.index_text import Index, combine, one_points, solved_labels, subscript
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Input,
    Label,
    Node,
    Product,
    affine,
    children,
    topological,
)
from tensorgen.operators.index_notation import FormulaPrinter
from tensorgen.operators.named_norms import NamedNorms
from tensorgen.operators.told_places import ELSEWHERE, tied_axes

SPACE = "\N{OPEN BOX}"
"""Stands for a space at which no line ends."""
MARKED = re.compile(r"([^\W_]+)⟨([^…⟩]*)…([^⟩]*)⟩")
CONDITIONS = re.compile(r": ([^{}]*)\}")
_OVER = rf"{MARKED.pattern}(?:,{MARKED.pattern})*"
SIGN = re.compile(rf"sum_(?:{_OVER}|\{{{_OVER}{CONDITIONS.pattern}) ")
_PLAIN = re.compile(r"sum_\{(?P<index>\w+)=(?P<low>[^{}]*)\}\^\{(?P<high>[^{}]*)\}\s")


@dataclass(frozen=True)
class Equation:
    """`name[indices] = body` over all places below `dims`; the body has marks.

    Entries at other indices are zero if it says so of places that are `tied` alone.
    """

    name: str
    indices: tuple[str, ...]
    dims: tuple[Dim, ...]
    body: str
    node: Node
    tied: bool = False

    @property
    def left(self) -> str:
        """What stands left of the sign."""
        return subscript(self.name, self.indices)

    @property
    def free(self) -> list[tuple[str, Dim]]:
        """The indices that run by themselves, and how far."""
        rows = dict(zip(self.indices, self.dims, strict=True))
        return [(index, dim) for index, dim in rows.items() if index.isidentifier()]

    @property
    def ranges(self) -> str:
        """The ranges of the indices on the left: `0 <= i, j < n`."""
        found: dict[str, list[str]] = {}
        for index, dim in self.free:
            found.setdefault(str(dim), []).append(index)
        texts = (f"0 <= {', '.join(own)} < {dim}" for dim, own in found.items())
        return "; ".join(texts)

    @property
    def text(self) -> str:
        """The equation for a reader; no line ends inside of the sign of a sum."""
        return f"{self.left} = {plain(self.body)}{ELSEWHERE * self.tied}"


def plain(marked: str) -> str:
    """Return a formula without marks, `sum_{k=0}^{n - 1}` for each index."""

    def sign(found: re.Match[str]) -> str:
        *others, last = MARKED.findall(found[0])
        told = CONDITIONS.search(found[0])
        more = f", {told[1]}".replace(" ", SPACE) if told else ""
        rows = [*((x, "") for x in others), (last, more)]
        signs = (f"sum_{{{x}={low}{own}}}^{{{high}}}" for (x, low, high), own in rows)
        return " ".join(signs) + SPACE

    return SIGN.sub(sign, marked)


def marked(text: str) -> str:
    """Return a formula with marks again, of what `plain` made of it."""

    def sign(found: re.Match[str]) -> str:
        low, conditions = _parted(found["low"])
        own = f"{found['index']}⟨{low}…{found['high']}⟩".replace(" ", SPACE)
        return f"sum_{{{own}: {conditions}}} " if conditions else f"sum_{own} "

    return _PLAIN.sub(sign, text.replace(SPACE, " "))


def _parted(text: str) -> tuple[str, str]:
    """What stands before the first comma outside of brackets, and behind it."""
    for found in re.finditer(", ", text):
        before = text[: found.start()]
        if all(before.count(a) == before.count(b) for a, b in ("()", "[]")):
            return before, text[found.end() :]
    return text, ""


def equations(
    named: Sequence[tuple[str, Node]], names: Mapping[Node, str]
) -> list[Equation]:
    """Return what nodes are, then the named values and parts that these mention."""
    own = dict(named)
    printer = _RangePrinter([node for _, node in named], names, own)
    found = printer.all(named)
    rows = _mentioned([node for _, node in named], names, own)
    # By themselves: what is being defined is not explained by its own name.
    others = _RangePrinter([node for _, node in rows], printer.names, dict(rows))
    return found + others.all(rows)


def _mentioned(
    roots: Iterable[Node], names: Mapping[Node, str], own: Mapping[str, Node]
) -> list[tuple[str, Node]]:
    """The named values that formulas of roots rest on, those of these included."""
    starts = [child for root in roots for child in children(root)]
    norms = NamedNorms(names)
    below = reversed(topological(starts))
    every = dict.fromkeys(x if x in names else norms.below(x) for x in below)
    found = (x for x in every if x is not None)
    rows = ((names[x], x) for x in found if not isinstance(x, Input))
    return [(name, node) for name, node in rows if name not in own]


class _RangePrinter(FormulaPrinter):
    """Writes formulas with the range of each summed index."""

    def all(self, named: Sequence[tuple[str, Node]]) -> list[Equation]:
        """What nodes are, then the parts that have got names."""
        found = [self.equation(name, node) for name, node in named]
        for node in self.where:  # which grows meanwhile
            found.append(self.equation(self.names[node], node))
        return found

    def equation(self, name: str, node: Node) -> Equation:
        """What a node is."""
        at, fixed = tied_axes(self.axes(node), node)
        indices = tuple(map(str, at))
        return Equation(name, indices, node.dims, self.body(node, at), node, fixed)

    def fixed(self, node: Product) -> tuple[dict[Label, Affine], list[Constraint]]:
        """What fixes summed labels, and what says that it is in range."""
        found, constraints = solved_labels(node)
        checks, constraints = one_points(node, found, constraints)
        return found, [*constraints, *checks]

    def signs(
        self,
        node: Product,
        bound: Mapping[Label, str],
        constraints: list[Constraint],
        indices: Mapping[Label, Index],
    ) -> tuple[list[str], list[Constraint]]:
        """The summed letters with their ranges, and what limits none of them."""
        known = {*range(node.order), *bound}
        limits: dict[Label, list[list[Affine]]] = {
            label: [[affine([])], [affine([], node.sizes[label] - 1)]]
            for label in bound
        }
        left = []
        for constraint in constraints:
            label = _limited(constraint.form, bound, known)
            if label is None:
                left.append(constraint)
                continue
            value = solved(constraint.form, label)
            sign = constraint.form.coefficient(label)
            for side in (0, 1) if constraint.kind == "eq" else (int(sign < 0),):
                limits[label][side].append(value)
        ranges = Ranges.of(dict(enumerate(node.sizes)))
        signs = []
        for label, letter in bound.items():
            texts = [
                self._limit(_needed(forms, ranges, word), word, indices)
                for word, forms in zip(("max", "min"), limits[label], strict=True)
            ]
            signs.append(f"{letter}⟨{'…'.join(texts)}⟩".replace(" ", SPACE))
        return signs, left

    def _limit(
        self, forms: Sequence[Affine], word: str, indices: Mapping[Label, Index]
    ) -> str:
        found = [combine(form, indices, self.entry) for form in forms]
        texts = list(dict.fromkeys(map(str, found)))
        return texts[0] if len(texts) == 1 else f"{word}({', '.join(texts)})"


def _limited(
    form: Affine, bound: Iterable[Label], known: Iterable[Label]
) -> Label | None:
    """The last of the summed labels that a form limits by what stands before it."""
    inside = looked_up([form])
    mentioned = {*form.labels}
    if not mentioned <= {*known}:
        return None
    summed = [x for x in bound if x in mentioned]
    last = summed[-1] if summed else None
    if last is None or last in inside or abs(form.coefficient(last)) != 1:
        return None
    return last


def _needed(forms: Sequence[Affine], ranges: Ranges, word: str) -> list[Affine]:
    """The limits that no other one makes superfluous."""
    kept: list[Affine] = []
    for k, form in enumerate(forms):
        others, sign = [*forms[k + 1 :], *kept], 1 if word == "max" else -1
        if not any(ranges.keep_nonnegative((x - form).scaled(sign)) for x in others):
            kept.append(form)
    return kept
