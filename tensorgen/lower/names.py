"""Names of values: the user's first, else from what a value is."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable, Collection, Iterable
from itertools import count

from tensorgen.ir.nodes import (
    Call,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Sum,
    constant_value,
)

_LONGEST = 16
_WORDS = {"greater": "mask", "less": "mask", "greater_equal": "mask"}
_WORDS |= {"less_equal": "mask", "equal": "mask", "not_equal": "mask"}
_WORDS |= {"logical_and": "mask", "logical_or": "mask", "logical_not": "mask"}
_WORDS |= {"where": "selected", "maximum": "larger", "minimum": "smaller"}


class Names:
    """Hands out identifiers, each once."""

    def __init__(self, reserved: Collection[str]) -> None:
        """Never hand out a name in `reserved`, nor one that Python has."""
        self._taken = {*reserved, *dir(builtins)}

    def pick(self, candidates: Iterable[str]) -> str:
        """The first candidate that is free, else the first one with a number."""
        known = list(candidates)
        for name in known:
            if self._free(name):
                break
        else:
            name = next(
                numbered for k in count(2) if self._free(numbered := f"{known[0]}_{k}")
            )
        self._taken.add(name)
        return name

    def _free(self, name: str) -> bool:
        return (
            name not in self._taken
            and name.isidentifier()
            and not keyword.iskeyword(name)
            and not keyword.issoftkeyword(name)
        )


def describe(node: Node, name_of: Callable[[Node], str | None]) -> str:
    """A short word for what a node is, in terms of the names of its operands."""
    word = _describe(node, name_of)
    return word if word and len(word) <= _LONGEST else _kind(node)


def _describe(node: Node, name_of: Callable[[Node], str | None]) -> str | None:
    match node:
        case Map():
            return _describe_map(node, name_of)
        case Product():
            return _describe_product(node, name_of)
        case Sum(terms=(first, second)):
            left, right = name_of(first.node), name_of(second.node)
            if left and right and first.coefficient == second.coefficient == 1:
                return f"{left}_plus_{right}"
            if left and right and first.coefficient == -second.coefficient == 1:
                return f"{left}_minus_{right}"
            return None
        case Call():
            arg = name_of(node.args[0])
            return f"{node.operator}_{arg}" if arg else node.operator
        case _:
            return None


def _describe_map(node: Map, name_of: Callable[[Node], str | None]) -> str | None:
    if node.function in _WORDS:
        return _WORDS[node.function]
    arg = name_of(node.args[0].node)
    if node.function == "pow" and len(node.args) == 2:
        exponent = constant_value(node.args[1].node)
        words = {2: "squared", 3: "cubed", -1: "inverse"}
        if arg and exponent in words:
            return f"{arg}_{words[int(exponent)]}"
        return "powers"
    if arg:
        return f"{node.function}_{arg}"
    suffix = {Sum: "sum", Product: "product"}.get(type(node.args[0].node), "value")
    return f"{node.function}_{suffix}"


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
    known = [name for name in names if name]
    if len(names) == len(known) and known:
        return "_".join(dict.fromkeys(known))
    return f"{_kind(node)}_{known[0]}" if len(known) == 1 else _kind(node)


def _kind(node: Node) -> str:
    match node:
        case Map(function=function):
            return _WORDS.get(function, "powers" if function == "pow" else function)
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
            return operator
        case Iota():
            return "positions"
        case Input(name=name):
            return name
        case _:
            return "value"
