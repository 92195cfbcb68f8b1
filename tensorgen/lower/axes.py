"""Axes in order: transposing, aligning for broadcasting, diagonals, summing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.operations import Expand, Permute, Reduce
from tensorgen.arrays.reading import transposes
from tensorgen.ir.nodes import Label
from tensorgen.lower.operands import Operand, made


def transposed(operand: Operand, labels: Sequence[Label]) -> Operand:
    """The array with its axes in the order `labels`, a permutation of its own."""
    wanted = tuple(labels)
    if wanted == operand.labels:
        return operand
    if operand.symmetric and wanted == (*operand.labels[:-2], *operand.labels[:-3:-1]):
        return replace(operand, labels=wanted)
    axes = tuple(operand.labels.index(label) for label in wanted)
    view = Operand(permuted(operand.array, axes), wanted)
    if operand.turned is not None and len(set(wanted)) == len(wanted):
        anew = operand.turned(wanted)
        if anew.labels == wanted and transposes(anew.array) <= transposes(view.array):
            return anew
    return view


def permuted(one: Array, axes: tuple[int, ...]) -> Array:
    """The axes in another order, of which two orders make one."""
    if isinstance(one.op, Permute):
        axes = tuple(one.op.axes[a] for a in axes)
        one = one.args[0]
    return one if axes == tuple(range(one.order)) else array(Permute(axes), one)


def ordered(operand: Operand, labels: Sequence[Label]) -> Operand:
    """The array with its axes in the order in which `labels` names them."""
    present = set(operand.labels)
    return transposed(operand, [label for label in labels if label in present])


def aligned(operand: Operand, target: Sequence[Label]) -> Operand:
    """The array as an operand that broadcasts against axes `target`.

    New axes are inserted only between and after its own: NumPy adds leading ones.
    """
    operand = ordered(operand, target)
    present = set(operand.labels)
    old: list[bool] = []
    for label in target:
        if label in present or old:
            old.append(label in present)
    if all(old):
        return operand
    labels = tuple(target[target.index(operand.labels[0]) :])
    return made(Expand(tuple(old)), labels, operand)


def natural_order(
    operands: Sequence[Operand], want: Sequence[Label] | None = None
) -> tuple[Label, ...]:
    """The order of axes in which operands combine with the fewest transposes."""
    present = {label for operand in operands for label in operand.labels}
    if want is not None:
        rest = sorted(present.difference(want))
        return tuple([label for label in want if label in present] + rest)
    order: list[Label] = []
    for operand in sorted(operands, key=lambda x: -len(x.labels)):
        if not order:
            order = list(operand.labels)
    return (*order, *sorted(present.difference(order)))


def summed(operand: Operand, gone: Collection[Label]) -> Operand:
    """The sum over the labels `gone`."""
    axes = tuple(a for a, label in enumerate(operand.labels) if label in gone)
    if not axes:
        return operand
    labels = tuple(label for label in operand.labels if label not in gone)
    return made(Reduce(axes), labels, operand)


def repeated(operand: Operand) -> bool:
    """Whether a label stands at several axes, which asks for a diagonal."""
    return len(set(operand.labels)) < len(operand.labels)
