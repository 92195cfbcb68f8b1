"""NumPy's text of what is done entry by entry, as the text of C for one entry.

Numbers are of one type, `T`, and nothing in the text makes one of another: whole
numbers stand as they are, all others as `T(0.5)`. Powers are products.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from tensorgen.operators.helpers.scalar_functions import CONDITIONS

WIDEST = 2**31
"""Whole numbers beyond are no `int` of C."""
MOST_FACTORS = 4
"""Powers of more factors are left to `pow`."""


class Unsaid(Exception):
    """What C is not told here."""


class Tightness(IntEnum):
    """How tightly the outermost operation of a text of C binds."""

    CHOICE = 0
    OR = 1
    AND = 2
    COMPARE = 3
    SUM = 4
    TERM = 5
    UNARY = 6
    ATOM = 7


@dataclass(frozen=True, slots=True)
class CText:
    """An expression of C.

    What is `whole` is a whole number, written as one; a `condition` is no number.
    """

    text: str
    level: Tightness = Tightness.ATOM
    whole: bool = False
    condition: bool = False

    def at(self, least: Tightness) -> str:
        """The text, in parentheses if it binds less tightly."""
        return self.text if self.level >= least else f"({self.text})"

    @property
    def typed(self) -> CText:
        """The same as a number of type `T`."""
        return CText(f"T({self.text})") if self.whole or self.condition else self


_SIGNS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_JOINED = {
    ast.Add: ("+", Tightness.SUM),
    ast.Sub: ("-", Tightness.SUM),
    ast.Mult: ("*", Tightness.TERM),
    ast.Div: ("/", Tightness.TERM),
    ast.BitAnd: ("&&", Tightness.AND),
    ast.BitOr: ("||", Tightness.OR),
}


@dataclass(frozen=True)
class Speaker:
    """Says expressions of NumPy in C.

    `names` has what variables are, `function` tells what a function of NumPy is called
    and raises `Unsaid` where nobody knows; `hold` gives a name to what stands there
    more than once.
    """

    names: Mapping[str, CText]
    function: Callable[[str], str]
    hold: Callable[[CText], CText]

    def said(self, node: ast.expr) -> CText:
        """An expression in C."""
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return _whole(number)
            case ast.Constant(value=float(number)):
                return CText(f"T({number!r})")
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self._power(self.said(left), right)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _JOINED:
                return self._joined(op, self.said(left), self.said(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.said(operand)
                text = f"-{inner.at(Tightness.ATOM)}"
                return CText(text, Tightness.UNARY, inner.whole)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return _negated(self.said(operand))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = [self.said(x).at(Tightness.SUM) for x in (left, right)]
                text = f" {_SIGNS[type(op)]} ".join(sides)
                return CText(text, Tightness.COMPARE, condition=True)
            case ast.Call(func=func, args=args, keywords=[]):
                return self._called(func, args)
            case _:
                raise Unsaid(ast.unparse(node))

    def _joined(self, op: ast.operator, left: CText, right: CText) -> CText:
        sign, level = _JOINED[type(op)]
        logical = isinstance(op, ast.BitAnd | ast.BitOr)
        if logical:
            if not (left.condition and right.condition):
                raise Unsaid("numbers as conditions")
        else:  # conditions count as numbers
            left = left.typed if left.condition else left
            right = right.typed if right.condition else right
        if not logical and left.whole and right.whole:
            left = left.typed
        tighter = level if logical else Tightness(level + 1)
        text = f"{left.at(level)} {sign} {right.at(tighter)}"
        return CText(text, level, condition=logical)

    def _power(self, base: CText, exponent: ast.expr) -> CText:
        base = base.typed
        match exponent:
            case ast.Constant(value=0.5):
                return CText(f"sqrt({base.text})")
            case ast.Constant(value=int(count)) if 1 < count <= MOST_FACTORS:
                held = base if base.text.isidentifier() else self.hold(base)
                return CText(" * ".join([held.text] * count), Tightness.TERM)
        return CText(f"pow({base.text}, {self.said(exponent).typed.text})")

    def _called(self, func: ast.expr, args: list[ast.expr]) -> CText:
        if isinstance(func, ast.Attribute) and func.attr == "astype":
            inner = self.said(func.value)
            return CText(f"T({inner.text})")
        name, said = ast.unparse(func), [self.said(arg) for arg in args]
        if name == "np.logical_not":
            return _negated(said[0])
        if name == "np.where":
            return self._chosen(*said)
        called = self.function(name)
        listed = ", ".join(arg.typed.text for arg in said)
        return CText(f"{called}({listed})", condition=called in CONDITIONS)

    def _chosen(self, condition: CText, yes: CText, no: CText) -> CText:
        if not condition.condition:
            raise Unsaid("numbers as conditions")
        if yes.whole and no.whole:
            yes = yes.typed
        alike = yes.condition and no.condition
        if not alike:
            yes = yes.typed if yes.condition else yes
            no = no.typed if no.condition else no
        first = condition.at(Tightness.OR)
        text = f"{first} ? {yes.at(Tightness.OR)} : {no.at(Tightness.CHOICE)}"
        return CText(text, Tightness.CHOICE, condition=alike)


def _whole(number: int) -> CText:
    if abs(number) < WIDEST:
        return CText(str(number), whole=True)
    return CText(f"T({float(number)!r})")


def _negated(condition: CText) -> CText:
    if not condition.condition:
        raise Unsaid("numbers as conditions")
    return CText(f"!{condition.at(Tightness.ATOM)}", Tightness.UNARY, condition=True)
