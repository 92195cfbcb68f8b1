"""Expressions of a function over NumPy, read as expressions of the language."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from tensorgen.errors import Text, suggest
from tensorgen.frontends.over_numpy.numpy_program import Program
from tensorgen.frontends.over_numpy.numpy_table import NUMBERS, canonical
from tensorgen.frontends.over_numpy.numpy_values import (
    ATOM,
    BOOL,
    COMPARE,
    FLOAT,
    INT,
    LEVELS,
    OR,
    SIGNS,
    UNARY,
    Helper,
    Known,
    Method,
    Path,
    Row,
    Thing,
    Value,
    bound,
    joined,
    sign,
    whole_number,
)
from tensorgen.frontends.python_source import Meant
from tensorgen.ir.dims import Dim

_DECIMAL = re.compile(r"(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?")
_LOOP = "write what it computes for all entries at once, as NumPy does"
_REFUSED: Mapping[type[ast.AST], tuple[str, str | None]] = {
    ast.ListComp: ("a comprehension", _LOOP),
    ast.SetComp: ("a comprehension", _LOOP),
    ast.DictComp: ("a comprehension", _LOOP),
    ast.GeneratorExp: ("a comprehension", _LOOP),
    ast.Lambda: ("a lambda", "write a function at the top of the file, which is read"),
    ast.NamedExpr: ("':='", "assign the name on a line of its own"),
    ast.Await: ("'await'", None),
    ast.JoinedStr: ("a formatted text", None),
    ast.Dict: ("a dictionary", "use one name for each array"),
    ast.Set: ("a set", None),
    ast.Starred: ("'*' in front of a value", "write the values out"),
}
_BITS = "whole numbers are not taken bit by bit; powers are written **"
_MATRIX_OF_CONDITIONS = "of two conditions NumPy makes a condition: use astype(float)"


class Expressions:
    """Reads the expressions of one body, in which `names` stand for things.

    Names that are `assigned` somewhere in it are no others.
    """

    def __init__(self, program: Program, assigned: frozenset[str]) -> None:
        self.program = program
        self.file = program.file
        self.names: dict[str, Thing] = {}
        self.assigned = assigned

    def fail(self, message: str, node: ast.AST, hint: str | None = None) -> NoReturn:
        """Raise a `SpecError` about a part."""
        self.file.fail(message, node, hint)

    # Things and values

    def value(self, node: ast.expr) -> Value:
        """Return what must be an array or a number."""
        return self.as_value(self.thing(node), node)

    def as_value(self, thing: Thing, node: ast.AST) -> Value:
        """Return a thing that must be an array or a number."""
        if isinstance(thing, Value):
            return thing
        written = self.file.written(node)
        if isinstance(thing, Row):
            hint = f"an array of these is np.array({written})"
            self.fail("a list or a tuple is no array here", node, hint)
        if isinstance(thing, Path | Helper | Method):
            self.fail(f"{written} is a function or a module", node, "call it")
        self.fail(f"{written} is no array and no number", node)

    def array(self, thing: Thing, node: ast.AST) -> Value:
        """Return what NumPy makes an array of: a list of numbers or arrays too."""
        if not isinstance(thing, Row):
            return self.as_value(thing, node)
        if not thing.items:
            self.fail("an array without entries", node)
        values = [self.array(item, node) for item in thing.items]
        parts: list[str | Text] = ["["]
        for k, one in enumerate(values):
            parts += [", "] * (k > 0) + [one.text]
        kinds = {one.kind for one in values}
        kind = kinds.pop() if len(kinds) == 1 else FLOAT if FLOAT in kinds else INT
        return Value(joined(self.file, node, *parts, "]"), ATOM, kind)

    def shape(self, value: Value) -> tuple[Dim, ...]:
        """Return the shape of a value."""
        return self.program.shapes.shape(value.text)

    def thing(self, node: ast.expr) -> Thing:
        """Return what an expression stands for; raises `SpecError`."""
        with self.program.deeper(node):
            return self._thing(node)

    def _thing(self, node: ast.expr) -> Thing:
        others = self.program.readers.get(type(node))
        if others is not None:
            return others(self, node)
        match node:
            case ast.Constant():
                return self._constant(node)
            case ast.Name():
                return self._name(node)
            case ast.Tuple() | ast.List():
                items = tuple(self.thing(item) for item in node.elts)
                return Row(items, isinstance(node, ast.List))
            case ast.BinOp():
                return self._chain(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Attribute():
                return self._attribute(node)
        what, hint = _REFUSED.get(type(node), ("this", None))
        self.fail(f"{what} cannot be read", node, hint)

    # Leaves

    def _constant(self, node: ast.Constant) -> Thing:
        given = node.value
        if isinstance(given, bool) or not isinstance(given, int | float | complex):
            return Known(given)
        if isinstance(given, complex):
            self.fail("complex numbers are not part of the language", node)
        if isinstance(given, int):
            return whole_number(self.file, node, Dim.of(given))
        start, end = self.file.ends(node)
        written = self.file.source.text[start:end]
        text = written if _DECIMAL.fullmatch(written) else repr(given)
        return Value(joined(self.file, node, text))

    def _name(self, node: ast.Name) -> Thing:
        name = node.id
        found = self.names.get(name)
        if found is not None:
            if isinstance(found, Value):
                if found.whole is not None:
                    return whole_number(self.file, node, found.whole)
                # A name is read where it stands.
                return replace(found, text=joined(self.file, node, found.text.value))
            return found
        if name in self.assigned:
            self.fail(f"'{name}' has no value yet", node)
        return self.global_name(node)

    def global_name(self, node: ast.Name) -> Thing:
        """Return what a name of the file, of a library or of Python stands for."""
        name, file = node.id, self.file
        if name in file.closure:
            return self._meant(file.closure[name], node)
        if name in file.helpers:
            return Helper(file.helpers[name])
        if name in file.constants:
            with self.program.reading(name, node):
                outer = Expressions(self.program, frozenset())
                return outer.thing(file.constants[name])
        if name in file.paths:
            return Path(file.paths[name])
        if name in file.outside:
            return self._meant(file.outside[name], node)
        if name in ("np", "numpy"):
            return Path("numpy")
        if name in BUILTINS:
            return Path(f"builtins.{name}")
        known = [*self.names, *file.helpers, *file.constants, *file.paths]
        hint = suggest(name, known) or (
            "names are arguments, local names, and the numbers, functions and imports "
            "at the top of the file"
        )
        self.fail(f"unknown name '{name}'", node, hint)

    def _meant(self, meant: Meant, node: ast.Name) -> Thing:
        if isinstance(meant, str):
            return Path(meant)
        if meant is None:
            hint = "make an array an argument"
            message = f"'{node.id}' is no number, and no function of NumPy's"
            self.fail(message, node, hint)
        return self.number(meant, node)

    def whole(self, node: ast.AST, size: Dim) -> Value:
        """Return a size as a number that stands where a part of the file does."""
        return whole_number(self.file, node, size)

    def number(self, given: float, node: ast.AST) -> Value:
        """Return a number that stands in no text."""
        if isinstance(given, int):
            return whole_number(self.file, node, Dim.of(given))
        level = UNARY if repr(given).startswith("-") else ATOM
        return Value(joined(self.file, node, repr(given)), level)

    # Operations

    def _chain(self, node: ast.BinOp) -> Value:
        """The value of a chain like a + b - c; long ones are not nested here."""
        steps = [node]
        while isinstance(steps[-1].left, ast.BinOp):
            steps.append(steps[-1].left)
        value = self.value(steps[-1].left)
        for step in reversed(steps):
            right = self.value(step.right)
            value = self.operated(step, type(step.op), value, right)
        return value

    def operated(
        self, node: ast.expr, op: type[ast.operator], left: Value, right: Value
    ) -> Value:
        """Return what an operator makes of two values."""
        if op not in SIGNS:
            self.fail("there is no such operator", node, _BITS)
        both = left.kind == right.kind == BOOL
        if op in (ast.BitAnd, ast.BitOr) and not both:
            hint = "comparisons need parentheses: (a < b) & (c < d)"
            self.fail(f"'{SIGNS[op]}' is for two conditions", node, hint)
        if both and op in (ast.Add, ast.Sub, ast.MatMult):
            self.fail(
                f"'{SIGNS[op]}' of two conditions is no number",
                node,
                _MATRIX_OF_CONDITIONS,
            )
        is_negative = op is ast.Pow and right.text.value.startswith("-")
        if is_negative and left.kind != FLOAT and left.whole is None:
            hint = "NumPy refuses it: write 1 / x, or make x an array of floats"
            self.fail("a whole number to a negative power", node, hint)
        if left.whole is not None and right.whole is not None:
            size = _whole(op, left.whole, right.whole)
            if size is not None:
                return whole_number(self.file, node, size)
        kind = FLOAT if op is ast.Div or FLOAT in (left.kind, right.kind) else INT
        kind = FLOAT if is_negative else kind
        kind = BOOL if both and op in (ast.BitAnd, ast.BitOr, ast.Mult) else kind
        return self.between(node, left, right, (SIGNS[op], LEVELS[op], kind))

    def between(
        self, node: ast.expr, left: Value, right: Value, of: tuple[str, int, str]
    ) -> Value:
        """Return two values with an operator between them.

        Of it the sign, how tightly it binds, and of which kind the result is are given.
        """
        operands = _operands(node)
        written, level, kind = of
        first, second = level, level + 1
        if written == "**":
            first, second = ATOM, UNARY
        elif level == COMPARE:
            first = second = OR
        blank = " " * (written != "**")
        text = joined(
            self.file,
            node,
            bound(left, first, self.file, operands[0]),
            blank,
            sign(self.file, *operands, written),
            blank,
            bound(right, second, self.file, operands[1]),
        )
        return Value(text, level, kind)

    def _unary(self, node: ast.UnaryOp) -> Thing:
        if isinstance(node.op, ast.Not):
            return self.program.readers[ast.Not](self, node)
        return self.signed(node, node.op, self.value(node.operand), node.operand)

    def signed(
        self, node: ast.expr, op: ast.unaryop, value: Value, operand: ast.expr
    ) -> Value:
        """Return `-x`, `+x` or `~x`."""
        if isinstance(op, ast.Invert) != (value.kind == BOOL):
            hint = "~ is for conditions, and - for numbers: use astype(float)"
            self.fail("this sign is not for such a value", node, hint)
        if isinstance(op, ast.UAdd):
            return value
        if isinstance(op, ast.USub) and value.whole is not None:
            return whole_number(self.file, node, -value.whole)
        written = "~" if isinstance(op, ast.Invert) else "-"
        inner = bound(value, UNARY, self.file, operand)
        return Value(joined(self.file, node, written, inner), UNARY, value.kind)

    def _attribute(self, node: ast.Attribute) -> Thing:
        owner, name = self.thing(node.value), node.attr
        if isinstance(owner, Path):
            return self._member(node, f"{owner.dotted}.{name}")
        if owner == Known("finfo") and name in _LIMITS:
            return self.number(_LIMITS[name], node)
        if isinstance(owner, Row) and name in ("sign", "logabsdet"):
            return owner.items[name != "sign"]
        if not isinstance(owner, Value):
            return Method(owner, name)
        if name == "T":
            inner = bound(owner, ATOM, self.file, node.value)
            return Value(joined(self.file, node, inner, ".T"), ATOM, owner.kind)
        if name in ("shape", "ndim", "size"):
            dims = self.shape(owner)
            sizes = tuple(whole_number(self.file, node, dim) for dim in dims)
            if name == "shape":
                return Row(sizes)
            size = Dim.of(len(dims) if name == "ndim" else 1)
            for dim in dims if name == "size" else ():
                size = size * dim
            return whole_number(self.file, node, size)
        if name == "dtype":
            return Known("float64" if owner.kind == FLOAT else owner.kind)
        return owner if name == "real" else Method(owner, name)

    def _member(self, node: ast.Attribute, dotted: str) -> Thing:
        known = canonical(dotted)
        if known == "numpy.newaxis":
            return Known(None)
        if known in NUMBERS:
            return Value(joined(self.file, node, NUMBERS[known]))
        if known == "numpy.nan":
            self.fail("NaN is no number of the language", node)
        return Path(dotted)


_LIMITS = {"eps": 2.0**-52, "tiny": 2.0**-1022, "max": 1.7976931348623157e308}
BUILTINS = frozenset(
    ("abs", "sum", "min", "max", "len", "float", "int", "bool", "pow", "round")
)
"""Names of Python's that are known."""


def _operands(node: ast.expr) -> tuple[ast.expr, ast.expr]:
    """The operands of an operator, or of the function of NumPy that is one."""
    match node:
        case ast.BinOp(left=left, right=right):
            return left, right
        case ast.Compare(left=left, comparators=[right, *_]):
            return left, right
        case ast.Call(args=[left, right, *_]):
            return left, right
    return node, node


def _whole(op: type[ast.operator], left: Dim, right: Dim) -> Dim | None:
    """What an operator makes of whole numbers that follow from sizes, if it is one."""
    if op is ast.Add:
        return left + right
    if op is ast.Sub:
        return left - right
    if op is ast.Mult:
        return left * right
    a, b = left.constant, right.constant
    if a is None or b is None:
        return None
    if op is ast.FloorDiv and b:
        return Dim.of(a // b)
    if op is ast.Mod and b:
        return Dim.of(a % b)
    if op is ast.Pow and 0 <= b <= 64 and abs(a) <= 64:
        return Dim.of(a**b)
    return None
