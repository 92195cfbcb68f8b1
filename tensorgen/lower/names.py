"""Names of values: the user's first, else from what a value is."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from typing import assert_never

from tensorgen.arrays import operations
from tensorgen.arrays.arrays import Array, is_sliding
from tensorgen.arrays.objects import Reshape
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
    Reduce,
    Solve,
    TensorDot,
    Triangle,
    Trim,
    Variable,
)
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Size,
    Sum,
    Term,
    constant_value,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.spec.names import RESERVED

_LONGEST = 18
_MOST_PARTS = 3

# Words for a kind of value; names are not built upon them.
_GENERIC = (
    "weighted",
    "scaled",
    "total",
    "difference",
    "product",
    "sums",
    "gathered",
    "spread",
    "powers",
)


class Names:
    """Hands out identifiers, each once."""

    def __init__(self, reserved: Collection[str]) -> None:
        """Never hand out a name in `reserved`, nor one that Python or the frame has."""
        self._taken = {*reserved, *RESERVED, *dir(builtins)}
        self._last: dict[str, int] = {}

    def pick(self, candidates: Iterable[str]) -> str:
        """The first candidate that is free, else the first one with a number."""
        known = [name for name in candidates if name.isidentifier()] or ["value"]
        for name in known:
            if self._free(name):
                break
        else:
            stem = known[0]
            for k in count(self._last.get(stem, 1) + 1):
                if self._free(name := f"{stem}_{k}"):
                    self._last[stem] = k
                    break
        self._taken.add(name)
        return name

    def _free(self, name: str) -> bool:
        return (
            name not in self._taken
            and not keyword.iskeyword(name)
            and not keyword.issoftkeyword(name)
        )


def read_name(one: Array) -> str | None:
    """A name for a plain matrix product of variables: `Xt_r` for `X.T @ r`."""
    sides = [_side(arg) for arg in one.args] if isinstance(one.op, MatMul) else []
    (left, turned), (right, also) = sides or ((None, ""), (None, ""))
    if left is None or right is None:
        return None
    if not one.order:
        return f"{left}_dot_{right}"
    if _is_generic(left) and _is_generic(right):
        return "product"
    if _is_generic(left) or _is_generic(right):
        return f"product_{left if _is_generic(right) else right}"
    word = f"{left}{turned}_{right}{also}"
    return word if len(word) <= _LONGEST else None


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
        case Reduce() | Accumulate() | MovingSum():
            return "sums" if one.order else "total"
        case Solve():
            return "solution"
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


def stem(one: Array) -> str | None:
    """What names of other values call this one."""
    return one.op.name if isinstance(one.op, Variable) else read_name(one)


def describe(node: Node, name_of: Callable[[Node], str | None]) -> str:
    """A short word for what a node is, in terms of the names of its operands."""
    word = _describe(node, name_of)
    fits = word and len(word) <= _LONGEST and word.count("_") <= _MOST_PARTS
    return word if word and fits else _kind(node)


def _describe(node: Node, name_of: Callable[[Node], str | None]) -> str | None:
    match node:
        case Map():
            return _describe_map(node, name_of)
        case Product():
            return _describe_product(node, name_of)
        case Sum(terms=terms):
            return _describe_sum(terms, name_of)
        case Call():
            arg = name_of(node.args[0])
            word = OPERATORS[node.operator].word or node.operator
            return f"{word}_{arg}" if arg else word
        case _:
            return None


def _describe_sum(
    terms: Sequence[Term], name_of: Callable[[Node], str | None]
) -> str | None:
    """Two names joined by what is done with them, in the order of the text."""
    if len(terms) != 2:
        return None
    first, second = sorted(
        terms, key=lambda t: (t.coefficient < 0, -t.node.order, -t.node.serial)
    )
    left, right = name_of(first.node), name_of(second.node)
    if not left or not right or _is_generic(left) or _is_generic(right):
        return None
    if first.coefficient != 1 or abs(second.coefficient) != 1:
        return None
    return f"{left}_{'plus' if second.coefficient > 0 else 'minus'}_{right}"


def _is_generic(name: str) -> bool:
    return name.split("_")[0] in _GENERIC or "_values" in name


def _describe_map(node: Map, name_of: Callable[[Node], str | None]) -> str | None:
    if word := ELEMENTWISE[node.function].word:
        return word
    arg = name_of(node.args[0].node)
    if node.function == "pow" and len(node.args) == 2:
        exponent = constant_value(node.args[1].node)
        words = {2: "squared", 3: "cubed", -1: "inverse"}
        if arg and exponent in words:
            return f"{arg}_{words[int(exponent)]}"
        return "powers"
    plain = arg and not _is_generic(arg) and arg.count("_") < 2
    return f"{node.function}_{arg if plain else 'values'}"


def _describe_product(node: Product, name_of: Callable[[Node], str | None]) -> str:
    if node.constraints:
        return _kind(node)
    if len(node.factors) == 1 and node.inner:
        inner, labels = node.factors[0]
        arg = name_of(inner)
        if not node.order:
            return f"sum_{arg}" if arg else "total"
        if len(labels) == 2 and node.order == 1:
            return "row_sums" if labels[0] == 0 else "column_sums"
        return f"{arg}_sums" if arg else "sums"
    names = [name_of(ref.node) for ref in node.factors if ref.node.order]
    parts = [name.removeprefix("product_") for name in names if name]
    known = [name for name in parts if name.isidentifier() and not _is_generic(name)]
    known.sort(key=lambda name: not name.startswith("inv_"))
    if len(names) == len(known) > 1:
        return "_".join(dict.fromkeys(known))
    if len(names) == len(known) == 1:
        labels = max((ref.labels for ref in node.factors), key=len)
        word = "scaled" if len({*labels}) == len(labels) else "diagonal"
        return f"{word}_{known[0]}"
    return f"{_kind(node)}_{known[0]}" if len(known) == 1 else _kind(node)


def _kind(node: Node) -> str:
    match node:
        case Map(function=function):
            if function == "pow":
                return "powers"
            return ELEMENTWISE[function].word or f"{function}_values"
        case Sum(terms=terms):
            minus = any(term.coefficient < 0 for term in terms)
            return "difference" if minus else "total"
        case Product():
            if node.constraints:
                return "spread" if not node.inner else "gathered"
            if node.inner:
                return "sums" if len(node.factors) == 1 else "product"
            if len(node.factors) <= 1:
                return "scaled"
            return "weighted"
        case Call(operator=operator):
            return OPERATORS[operator].word or operator
        case Iota():
            return "positions"
        case Input(name=name):
            return name
        case Constant() | Size():
            return "value"
        case _:
            assert_never(node)
