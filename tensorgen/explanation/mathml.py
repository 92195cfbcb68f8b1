"""Formulas as MathML, which browsers lay out themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from unicodedata import lookup

from tensorgen.explanation import formula_tree as trees
from tensorgen.explanation.latex import GREEK, SPELLED, bare
from tensorgen.explanation.sum_ranges import Equation
from tensorgen.operators.told_places import ELSEWHERE

_OPERATORS = {
    "*": "\N{INVISIBLE TIMES}",
    "-": "\N{MINUS SIGN}",
    "<=": "\N{LESS-THAN OR EQUAL TO}",
    ">=": "\N{GREATER-THAN OR EQUAL TO}",
    "!=": "\N{NOT EQUAL TO}",
    "==": "=",
    "&": "\N{LOGICAL AND}",
    "|": "\N{LOGICAL OR}",
    "^": "\N{CIRCLED PLUS}",
    "~": "\N{NOT SIGN}",
}


def _greek(name: str) -> str:
    size = "SMALL" if name.islower() else "CAPITAL"
    return lookup(f"GREEK {size} LETTER {name.upper().replace('LAMBDA', 'LAMDA')}")


_GREEK = {name: _greek(SPELLED.get(name, name)) for name in (*GREEK, *SPELLED)}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def mathml(tree: trees.Tree, parts: Mapping[str, str]) -> str:
    """Return a formula as MathML; names that are `parts` have these classes."""
    return _Writer(parts).row(tree)


def displayed(*parts: str) -> str:
    """Return elements in a row as a formula on a line of its own."""
    return f'<math display="block"><mrow>{"".join(parts)}</mrow></math>'


def equation_mathml(told: Equation, parts: Mapping[str, str]) -> str:
    """Return an equation as MathML on a line of its own, but for its ranges."""
    known = {x: part for x, part in parts.items() if x not in told.indices}
    sides = mathml(trees.left_side(told), known), mathml(trees.read(told.body), known)
    elsewhere = f"<mtext>{ELSEWHERE}</mtext>" * told.tied
    return displayed("<mo>=</mo>".join(sides), elsewhere)


class _Writer:
    def __init__(self, parts: Mapping[str, str]) -> None:
        self.parts = parts

    def row(self, tree: trees.Tree) -> str:
        """A formula as one element."""
        return f"<mrow>{self.told(tree)}</mrow>"

    def told(self, tree: trees.Tree) -> str:
        """A formula as elements in a row."""
        match tree:
            case trees.Name(text=text):
                return self.name(text)
            case trees.Number(text=text):
                return f"<mn>{escape(text)}</mn>"
            case trees.Raw(text=text):
                return f"<mtext>{escape(text)}</mtext>"
            case trees.Entry(base=base, indices=indices):
                return (
                    f"<msub>{self.row(base)}<mrow>{self.listed(indices)}</mrow></msub>"
                )
            case trees.Apply():
                return self.apply(tree)
            case trees.Group(kind=kind, inside=inside):
                return self.enclosed(kind, self.listed(inside))
            case trees.Sign(index=index, low=low, high=high, body=body, if_=conditions):
                first = f"<mi>{escape(index)}</mi><mo>=</mo>{self.told(low)}"
                more = (f"<mo>,</mo>{self.told(x)}" for x in conditions)
                below = f"<mrow>{first}{''.join(more)}</mrow>"
                sign = f"<munderover><mo>∑</mo>{below}{self.row(high)}</munderover>"
                return sign + self.told(body)
            case trees.Unary(operator=operator, operand=operand):
                sign = escape(_OPERATORS.get(operator, operator))
                return f'<mo form="prefix">{sign}</mo>{self.told(operand)}'
            case trees.Binary():
                return self.binary(tree)

    def name(self, text: str) -> str:
        found = self.parts.get(text)
        shown = escape(_GREEK.get(text, text))
        return f'<mi class="{found}">{shown}</mi>' if found else f"<mi>{shown}</mi>"

    def listed(self, parts: Sequence[trees.Tree]) -> str:
        return "<mo>,</mo>".join(map(self.told, parts))

    def enclosed(self, kind: str, inside: str) -> str:
        return f"<mrow><mo>{kind}</mo>{inside}<mo>{_CLOSING[kind]}</mo></mrow>"

    def apply(self, tree: trees.Apply) -> str:
        inside = self.listed(tree.arguments)
        if tree.function == "sqrt":
            return f"<msqrt>{inside}</msqrt>"
        if tree.function == "abs":
            return f"<mrow><mo>|</mo>{inside}<mo>|</mo></mrow>"
        if tree.function == "norm" and not tree.over:
            return f"<mrow><mo>‖</mo>{inside}<mo>‖</mo></mrow>"
        name = f"<mi>{escape(tree.function)}</mi>"
        if tree.over:
            name = f"<msub>{name}<mi>{escape(tree.over)}</mi></msub>"
        return f"{name}<mo>\N{FUNCTION APPLICATION}</mo>{self.enclosed('(', inside)}"

    def binary(self, tree: trees.Binary) -> str:
        left, right = tree.left, tree.right
        if tree.operator == "/":
            return f"<mfrac>{self.row(bare(left))}{self.row(bare(right))}</mfrac>"
        if tree.operator == "**" and isinstance(left, trees.Entry):
            below = f"{self.row(left.base)}<mrow>{self.listed(left.indices)}</mrow>"
            return f"<msubsup>{below}{self.row(bare(right))}</msubsup>"
        if tree.operator == "**":
            return f"<msup>{self.row(left)}{self.row(bare(right))}</msup>"
        operator = _OPERATORS.get(tree.operator, tree.operator)
        if tree.operator == "*" and isinstance(right, trees.Number | trees.Unary):
            operator = "\N{DOT OPERATOR}"
        # A thin space, as TeX has it: names of several letters stand side by side.
        thin = ' rspace="0.167em"' if operator == _OPERATORS["*"] else ""
        return f"{self.told(left)}<mo{thin}>{escape(operator)}</mo>{self.told(right)}"
