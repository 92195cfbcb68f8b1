"""Names of products, sums and the like by what these are of."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import Array
from tensorgen.operators.word_shapes import fits, is_generic

SQUARE = ops.Power(Fraction(2))


def read_name(one: Array) -> str | None:
    """A name for a product or a triangle of variables: `Xt_r` for `X.T @ r`."""
    if isinstance(one.op, ops.Trim) and isinstance(one.args[0].op, ops.Variable):
        word = f"{'tril' if one.op.lower else 'triu'}_{one.args[0].op.name}"
        return word if fits(word) else None
    sides = [_side(arg) for arg in one.args] if isinstance(one.op, ops.MatMul) else []
    (left, turned), (right, also) = sides or ((None, ""), (None, ""))
    if left is None or right is None:
        return None
    if not one.order:
        word = f"{left}_dot_{right}"
        return word if fits(word) else None
    if is_generic(left) and is_generic(right):
        return "product"
    if is_generic(left) or is_generic(right):
        return f"product_{left if is_generic(right) else right}"
    word = f"{left}{turned}_{right}{also}"
    return word if fits(word) else None


def sum_name(one: Array) -> str:
    """A name for what is added up block by block: `r_squares` for `r @ r`.

    It says what has names that is added up, for there may be several.
    """
    sides = [_side(arg) for arg in one.args]
    first, *others = (name for name, _ in sides)
    word = None
    match one.op:
        case ops.MatMul() | ops.InnerProduct() if not one.order:
            told = "squares" if [first] == others else f"dot_{others[0]}"
            word = f"{first}_{told}" if first and others[0] else None
        case ops.MatMul() if first and others[0]:
            word = "_".join(f"{name}{turned}" for name, turned in sides)
        case ops.SumByKey() if first and others and others[0]:
            word = f"{first}_by_{others[0]}"
        case ops.Reduce() if first:
            word = f"{first}_{'sums' if one.order else 'sum'}"
        case ops.Reduce() if one.args[0].op == SQUARE and (
            own := stem(*one.args[0].args)
        ):
            word = f"{own}_squares"
    return word if word and fits(word) else "sums" if one.order else "total"


def steady_name(one: Array) -> str:
    """A name for what all blocks read: `a_over_b` for `a / b[:, None]`."""
    op, names = one.op, [stem(arg) for arg in one.args]
    word = None
    match op:
        case ops.Multiply():
            word = arithmetic_name(one)
        case ops.Elementwise(function=name) if all(names):
            word = "_".join([name, *map(str, names)])
        case ops.Reduce() if names[0]:
            word = f"{names[0]}_{'sums' if one.order else 'sum'}"
    return word if word and fits(word) else "steady"


def arithmetic_name(one: Array) -> str | None:
    """A name for a product, quotient or sum of arrays: of all operands, or of one."""
    op, names = one.op, [stem(arg) for arg in one.args]
    told = [name for name in names if name and not is_generic(name)]
    if isinstance(op, ops.Add):
        form, word = (
            ("{}_diff", "difference") if min(op.signs) < 0 else ("{}_sum", "total")
        )
        return _first([form.format(x) for x in told[:1]], word)
    if not isinstance(op, ops.Multiply):
        return None
    above, below = names[: op.above], names[op.above :]
    words = []
    if all(names) and op.coefficient == 1:
        over = ["over"] if above else ["inv"]
        words = ["_".join(map(str, [*above, *over * bool(below), *below]))]
    return _first([*words, *(f"weighted_{x}" for x in told[-1:])], "weighted")


def _first(words: Sequence[str], other: str) -> str:
    """The first word that is short enough, or another one."""
    return next(filter(fits, words), other)


def stem(one: Array) -> str | None:
    """The variable that an array shows entries of, if it is one or a view of one."""
    while isinstance(one.op, ops.View):
        one = one.args[0]
    return one.op.name if isinstance(one.op, ops.Variable) else None


def _side(one: Array) -> tuple[str | None, str]:
    """The variable that a side of a product is, and `t` if it is transposed."""
    turned = isinstance(one.op, ops.Permute) and one.order == 2
    op = one.args[0].op if turned else one.op
    return op.name if isinstance(op, ops.Variable) else None, "t" * turned
