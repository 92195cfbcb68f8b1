"""Names of values: the user's first, else from what a value is."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Collection, Iterable
from itertools import count

from tensorgen.arrays import operations
from tensorgen.arrays import operations as ops
from tensorgen.arrays.array_names import read_name
from tensorgen.arrays.arrays import Array, is_sliding
from tensorgen.arrays.object_operations import Reshape
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.word_shapes import multiple, power_word
from tensorgen.spec.names import RESERVED

INDICES = "ijklpqrst"
"""What vectors of integers are called."""
PLACES = ("t", "step")
"""What the places of steps are called."""


class Names:
    """Hands out identifiers, each once."""

    def __init__(self, reserved: Collection[str]) -> None:
        """Never hand out a name in `reserved`, nor one that Python or the frame has."""
        self._taken = {*reserved, *RESERVED, *dir(builtins)}
        self._last: dict[str, int] = {}
        self.stems: dict[str, str] = {}
        """What names are called that have a number."""

    def copy(self) -> Names:
        """Return what hands out others from here on."""
        own = Names(self._taken)
        own._last, own.stems = {**self._last}, {**self.stems}
        return own

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


def call_word(one: Array) -> str | None:
    """What a call or what it has been applied to is called; None for all others."""
    match one.op:
        case ops.Elementwise(function="where"):
            return "masked"
        case ops.Compare() | ops.Conjunction():
            return "mask"
        case ops.Clip():
            return f"clipped_{_seen(one.args[0]) or 'places'}"
        case ops.Trim(lower=lower):
            return "lower" if lower else "upper"
        case ops.Triangle():
            return "mask"
        case (
            ops.MatMul()
            | ops.TensorDot()
            | ops.Einsum()
            | ops.Outer()
            | ops.InnerProduct()
        ):
            return read_name(one) or "product"
        case ops.Reduce() | ops.Accumulate() | ops.MovingSum() | ops.SumByKey():
            return "sums" if one.order else "total"
        case ops.Solve():
            return "solution"
        case ops.Power(exponent=exponent):
            return power_word(_seen(one.args[0]), exponent) or "powers"
        case ops.Multiply(coefficient=times, above=above) if len(one.args) == 1:
            word = _seen(one.args[0])
            told = multiple(word, times if above else 1 / times) if word else None
            return told if above or not told else f"inv_{told}"
        case ops.Pad():
            return "padded"
        case Reshape() if is_sliding(one.args[0]):
            return "columns"
        case ops.Correlate():
            return "gathered"
        case operations.Call(operator=operator) if not OPERATORS[operator].view:
            return OPERATORS[operator].word or operator
        case _:
            return None


def _seen(one: Array) -> str | None:
    """What names call the array that one shows entries of."""
    while isinstance(one.op, ops.View):
        one = one.args[0]
    return stem(one)


def stem(one: Array) -> str | None:
    """What names of other values call this one."""
    return one.op.name if isinstance(one.op, ops.Variable) else read_name(one)
