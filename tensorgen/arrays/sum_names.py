"""Names of products and sums by what these are of."""

from __future__ import annotations

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.operations import (
    InnerProduct,
    MatMul,
    Permute,
    Reduce,
    SumByKey,
    Variable,
)
from tensorgen.operators.words import fits, is_generic


def read_name(one: Array) -> str | None:
    """A name for a plain matrix product of variables: `Xt_r` for `X.T @ r`."""
    sides = [_side(arg) for arg in one.args] if isinstance(one.op, MatMul) else []
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
    """A name for what is added up block by block: `r_squares` for `r @ r`."""
    plain = "sums" if one.order else "total"
    names = [name for name, _ in map(_side, one.args)]
    first = names[0] if names else None
    word = read_name(one)
    match one.op:
        case MatMul() | InnerProduct() if not one.order and names[0] == names[1]:
            word = first and f"{first}_squares"
        case Reduce() | SumByKey():
            word = first and f"{first}_{'sums' if one.order else 'sum'}"
    known = word and fits(word) and not any(x and is_generic(x) for x in names)
    return str(word) if known else plain


def _side(one: Array) -> tuple[str | None, str]:
    """The variable that a side of a product is, and `t` if it is transposed."""
    turned = isinstance(one.op, Permute) and one.order == 2
    op = one.args[0].op if turned else one.op
    return op.name if isinstance(op, Variable) else None, "t" * turned
