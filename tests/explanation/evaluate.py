"""The value of a formula, as its tree says it, by loops."""

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np

from tensorgen.explanation.formula_tree import (
    Apply,
    Binary,
    Entry,
    Group,
    Name,
    Number,
    Raw,
    Sign,
    Tree,
    Unary,
)

FUNCTIONS: dict[str, Any] = {
    "softplus": lambda t: np.logaddexp(0, t),
    "sigmoid": lambda t: 1 / (1 + np.exp(-t)),
    "exp": np.exp,
    "max": max,
    "min": min,
}


def value(tree: Tree, known: Mapping[str, Any]) -> Any:
    """Return what a formula comes to where names are as `known`."""
    match tree:
        case Name(text=text):
            return known[text]
        case Number(text=text):
            return float(text) if "." in text else int(text)
        case Entry(base=Name(text="delta"), indices=(first, second)):
            return int(value(first, known) == value(second, known))
        case Entry(base=base, indices=indices):
            place = tuple(value(x, known) for x in indices)
            array = value(base, known)
            sides = zip(place, array.shape, strict=True)
            assert all(0 <= k < n for k, n in sides), "an entry that there is not"
            return array[place]
        case Apply(function=function, arguments=own):
            return FUNCTIONS[function](*(value(x, known) for x in own))
        case Group(inside=(inside,)):
            return value(inside, known)
        case Sign(index=index, low=low, high=high, body=body, if_=conditions):
            places = range(value(low, known), value(high, known) + 1)
            each = ({**known, index: k} for k in places)
            return sum(
                value(body, at) for at in each if all(value(x, at) for x in conditions)
            )
        case Unary(operator="-", operand=operand):
            return -value(operand, known)
        case Binary(operator="*" | "/") if not _holds(tree, known):
            return 0  # whatever its entries are, which may be none
        case Binary(operator=operator, left=left, right=right):
            return _binary(operator, value(left, known), value(right, known))
        case Group() | Raw() | Unary():
            raise AssertionError(f"no formula: {tree}")
        case _:
            assert_never(tree)


def _holds(tree: Tree, known: Mapping[str, Any]) -> bool:
    """Whether the conditions hold that a product has as factors."""
    match tree:
        case Binary(operator="*", left=left, right=right):
            return _holds(left, known) and _holds(right, known)
        case Binary(operator="/", left=left) | Unary(operand=left):
            return _holds(left, known)
        case Group(kind="[", inside=(inside,)):
            return bool(value(inside, known))
        case _:
            return True


def _binary(operator: str, left: Any, right: Any) -> Any:
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
        "**": lambda: left**right,
        "==": lambda: left == right,
        "<": lambda: left < right,
        "<=": lambda: left <= right,
    }[operator]()
