"""Axes as text: transposing, aligning for broadcasting, diagonals, summing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from tensorgen.ir.nodes import Label
from tensorgen.lower.text import Expr, Level

# What a reader gives for an expression that needs no transpose.
_PLAINER = 8


def transposed(expr: Expr, labels: Sequence[Label]) -> Expr:
    """The array with its axes in the order `labels`, a permutation of its own."""
    wanted = tuple(labels)
    if wanted == expr.labels:
        return expr
    if expr.symmetric and wanted == (*expr.labels[:-2], *expr.labels[:-3:-1]):
        return replace(expr, labels=wanted)
    view = _view(expr, wanted)
    if expr.turned is not None and len(set(wanted)) == len(wanted):
        anew = expr.turned(wanted)
        if anew.labels == wanted and len(anew.text) < len(view.text) + _PLAINER:
            return anew
    return view


def _view(expr: Expr, wanted: tuple[Label, ...]) -> Expr:
    if wanted != expr.labels[::-1]:
        axes = ", ".join(str(expr.labels.index(label)) for label in wanted)
        return expr.becoming(f"{expr.at(Level.ATOM)}.transpose({axes})", wanted)
    if expr.upright is not None:
        text, level = expr.upright
        return expr.becoming(text, wanted, level)
    view = expr.becoming(f"{expr.at(Level.ATOM)}.T", wanted)
    return replace(view, upright=(expr.text, expr.level))


def ordered(expr: Expr, labels: Sequence[Label]) -> Expr:
    """The array with its axes in the order in which `labels` names them."""
    present = set(expr.labels)
    return transposed(expr, [label for label in labels if label in present])


def aligned(expr: Expr, target: Sequence[Label]) -> Expr:
    """The array as an operand that broadcasts against axes `target`.

    New axes are inserted only between and after its own: NumPy adds leading ones.
    """
    expr = ordered(expr, target)
    present = set(expr.labels)
    marks: list[str] = []
    for label in target:
        if label in present:
            marks.append(":")
        elif marks:
            marks.append("None")
    while marks and marks[-1] == ":":
        marks.pop()
    if not marks:
        return expr
    text = f"{expr.at(Level.ATOM)}[{', '.join(marks)}]"
    labels = tuple(target[target.index(expr.labels[0]) :])
    return expr.becoming(text, labels)


def transposes(text: str) -> int:
    """What the transposes in a text cost a reader, more so those of whole terms."""
    return text.count(".T") + text.count(").T") + 2 * text.count(".transpose(")


def natural_order(
    exprs: Sequence[Expr], want: Sequence[Label] | None = None
) -> tuple[Label, ...]:
    """The order of axes in which operands combine with the fewest transposes."""
    present = {label for expr in exprs for label in expr.labels}
    if want is not None:
        rest = sorted(present.difference(want))
        return tuple([label for label in want if label in present] + rest)
    order: list[Label] = []
    for expr in sorted(exprs, key=lambda e: -len(e.labels)):
        if not order:
            order = list(expr.labels)
    return (*order, *sorted(present.difference(order)))


def axis_argument(axes: Sequence[int], order: int) -> str:
    """The arguments of a reduction over `axes` of an array of `order` axes."""
    if len(axes) == order:
        return ""
    return f"axis={axes[0] if len(axes) == 1 else tuple(axes)}"


def summed(expr: Expr, gone: Collection[Label], method: str = "sum") -> Expr:
    """The sum over the labels `gone`."""
    axes = [axis for axis, label in enumerate(expr.labels) if label in gone]
    if not axes:
        return expr
    arguments = axis_argument(axes, len(expr.labels))
    labels = tuple(label for label in expr.labels if label not in gone)
    return Expr(f"{expr.at(Level.ATOM)}.{method}({arguments})", labels=labels)


def repeated(expr: Expr) -> bool:
    """Whether a label stands at several axes, which asks for a diagonal."""
    return len(set(expr.labels)) < len(expr.labels)
