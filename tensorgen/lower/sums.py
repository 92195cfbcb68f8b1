"""Sums: signs, common coefficients, and entries added in place."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.arrays.arrays import array
from tensorgen.arrays.operations import Copy, Fill
from tensorgen.ir.nodes import Input, Label, Ref, Sum, Term
from tensorgen.lower.elementwise import Factor, multiply
from tensorgen.lower.layout import aligned, natural_order
from tensorgen.lower.operands import Operand, as_float, product, total
from tensorgen.lower.results import full
from tensorgen.lower.values import Values


def lower_sum(known: Values, node: Sum, want: Sequence[Label] | None = None) -> Operand:
    """The text of a sum; the name of a new array if entries are added in place."""
    spread = [term for term in node.terms if term.node in known.writes]
    dense = [term for term in node.terms if term.node not in known.writes]
    if not spread:
        return add(known, dense, want)
    axes = tuple(range(node.order))
    if dense:
        start = full(add(known, dense, axes), node.dims)
        # What another variable holds must not be changed.
        first = start.array if start.base is None else array(Copy(), start.array)
    else:
        first = array(Fill(node.dims, 0))
    whole = known.draft.filled(node, first)
    for k, (coefficient, inner, labels) in enumerate(spread):
        write = known.writes[inner].permuted(labels, node.dims)
        write.onto(whole, coefficient, fresh=not dense and k == 0)
    return Operand(whole, axes)


def add(known: Values, terms: Sequence[Term], want: Sequence[Label] | None) -> Operand:
    """The sum of terms: what is positive and large first, numbers last."""
    operands = [as_float(known.operand(Ref(term.node, term.labels))) for term in terms]
    target = natural_order(operands, want)
    entries = sorted(zip(terms, operands, strict=True), key=lambda entry: _rank(*entry))
    sizes = {abs(term.coefficient) for term, _ in entries}
    common = sizes.pop() if len(sizes) == 1 and len(entries) > 1 else Fraction(1)
    positive = any(term.coefficient > 0 for term, _ in entries)
    if not positive and common != 1:
        common = -common
    parts: list[tuple[int, Operand]] = []
    for term, operand in entries:
        coefficient = term.coefficient / common
        sign = 1 if coefficient > 0 else -1
        scaled = multiply([Factor(operand)], abs(coefficient), target)
        parts.append((sign, aligned(scaled, target)))
    joint = total(parts)
    if common != 1:
        joint = product(common, [joint])
    labels = tuple(
        label for label in target if any(label in e.labels for e in operands)
    )
    return joint.bearing(labels)


def _rank(term: Term, operand: Operand) -> tuple[object, ...]:
    """Positive before negative, arrays before numbers, computed before given."""
    given = isinstance(term.node, Input)
    size = -len(operand.labels)
    return (term.coefficient < 0, operand.weak, size, given, term.node.serial)
