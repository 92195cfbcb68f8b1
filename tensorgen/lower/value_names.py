"""Names of values: the user's first, else from what a value is."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Collection, Iterable
from itertools import count

from tensorgen.arrays import operations
from tensorgen.arrays.arrays import Array, is_sliding
from tensorgen.arrays.object_operations import Reshape
from tensorgen.arrays.operations import (
    Accumulate,
    Correlate,
    Einsum,
    Elementwise,
    InnerProduct,
    MatMul,
    MovingSum,
    Outer,
    Pad,
    Permute,
    Power,
    Reduce,
    Solve,
    SumByKey,
    TensorDot,
    Triangle,
    Trim,
    Variable,
    View,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.word_shapes import fits, is_generic, power_word
from tensorgen.spec.names import RESERVED


class Names:
    """Hands out identifiers, each once."""

    def __init__(self, reserved: Collection[str]) -> None:
        """Never hand out a name in `reserved`, nor one that Python or the frame has."""
        self._taken = {*reserved, *RESERVED, *dir(builtins)}
        self._last: dict[str, int] = {}
        self.stems: dict[str, str] = {}
        """What names are called that have a number."""

    def pick(self, candidates: Iterable[str]) -> str:
        """The first candidate that is free, else the first one with a number."""
        known = [name for name in candidates if name.isidentifier()] or ["value"]
        for name in known:
            if self.is_free(name):
                break
        else:
            stem = known[0]
            for k in count(self._last.get(stem, 1) + 1):
                if self.is_free(name := f"{stem}_{k}"):
                    self._last[stem] = k
                    self.stems[name] = stem
                    break
        self._taken.add(name)
        return name

    def is_free(self, name: str) -> bool:
        """Whether nothing has a name yet."""
        return (
            name not in self._taken
            and not keyword.iskeyword(name)
            and not keyword.issoftkeyword(name)
        )


def read_name(one: Array) -> str | None:
    """A name for a product or a triangle of variables: `Xt_r` for `X.T @ r`."""
    if isinstance(one.op, Trim) and isinstance(one.args[0].op, Variable):
        word = f"{'tril' if one.op.lower else 'triu'}_{one.args[0].op.name}"
        return word if fits(word) else None
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


def _side(one: Array) -> tuple[str | None, str]:
    """The variable that a side of a product is, and `t` if it is transposed."""
    turned = isinstance(one.op, Permute) and one.order == 2
    op = one.args[0].op if turned else one.op
    return op.name if isinstance(op, Variable) else None, "t" * turned


def call_word(one: Array) -> str | None:
    """What a call or what it has been applied to is called; None for all others."""
    match one.op:
        case Elementwise(function="where"):
            return "masked"
        case Trim(lower=lower):
            return "lower" if lower else "upper"
        case Triangle():
            return "mask"
        case MatMul() | TensorDot() | Einsum() | Outer() | InnerProduct():
            return read_name(one) or "product"
        case Reduce() | Accumulate() | MovingSum() | SumByKey():
            return "sums" if one.order else "total"
        case Solve():
            return "solution"
        case Power(exponent=exponent):
            return power_word(_seen(one.args[0]), exponent) or "powers"
        case Pad():
            return "padded"
        case Reshape() if is_sliding(one.args[0]):
            return "columns"
        case Correlate():
            return "gathered"
        case operations.Call(operator=operator) if not OPERATORS[operator].view:
            return OPERATORS[operator].word or operator
        case _:
            return None


def _seen(one: Array) -> str | None:
    """What names call the array that one shows entries of."""
    while isinstance(one.op, View):
        one = one.args[0]
    return stem(one)


def stem(one: Array) -> str | None:
    """What names of other values call this one."""
    return one.op.name if isinstance(one.op, Variable) else read_name(one)
