"""The text of generated code, read by a whitelist and run over any numbers.

What is run is what is printed, so a fault of a printer is a fault of the program. Text
that has anything else in it than what is told here is `Unread`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import add, mul, sub
from typing import Any

import numpy as np

from tensorgen.check.library import library
from tensorgen.check.residues import holds, store
from tensorgen.check.walks import Field

Value = Any
_BUILTINS = (max, min, range, reversed, slice, bool, int)
PYTHON: dict[str, Callable[..., Value]] = {f.__name__: f for f in _BUILTINS}
SYMBOLS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
VIEWS = ("transpose", "reshape", "flatten", "ravel", "take")


class Unread(Exception):
    """Text that is not known to be what is printed."""


class Returned(Exception):
    """The end of a function."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


@lru_cache(maxsize=4096)
def parsed(text: str) -> tuple[ast.stmt, ...]:
    """The statements of a text."""
    return tuple(ast.parse(text).body)


class Program:
    """Runs statements over the numbers of a field."""

    def __init__(
        self, field: Field, named: Callable[[str], Callable[..., Value]] | None = None
    ) -> None:
        """Know the functions of the field; `named` gives others by plain names."""
        self.field = field
        self.known = library(field)
        self.named = named

    def run(self, lines: Sequence[str], values: dict[str, Value]) -> Value:
        """Run statements, which change `values`; return what they return."""
        try:
            for line in lines:
                for statement in parsed(line):
                    self.statement(statement, values)
        except Returned as end:
            return end.value
        return None

    def expression(self, text: str, values: Mapping[str, Value]) -> Value:
        """The value of an expression."""
        (statement,) = parsed(text.strip())
        if not isinstance(statement, ast.Expr):
            raise Unread(text)
        return self.value(statement.value, values)

    # Statements

    def statement(self, node: ast.stmt, values: dict[str, Value]) -> None:
        """Run a statement."""
        match node:
            case ast.Assign(targets=targets, value=value):
                found = self.value(value, values)
                for target in targets:
                    self.assign(target, found, values)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value, values), values)
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                array = self.value(target.value, values)
                at = self.value(target.slice, values)
                added = self.value(value, values)
                found = self.binary(op, self.part(array, at), added)
                store(array, at, found)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                values[name] = self.binary(op, values[name], self.value(value, values))
            case ast.Expr(value=ast.Call() as call):
                self.value(call, values)
            case ast.If(test=test, body=body, orelse=[]):
                if np.all(self.value(test, values)):
                    for inner in body:
                        self.statement(inner, values)
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as call, body=body):
                for place in self.value(call, values):
                    values[name] = place
                    for inner in body:
                        self.statement(inner, values)
            case ast.Delete(targets=targets):
                for target in targets:
                    if not isinstance(target, ast.Name):
                        raise Unread(ast.unparse(node))
                    del values[target.id]
            case ast.Return(value=ast.expr() as value):
                raise Returned(self.value(value, values))
            case _:
                raise Unread(ast.unparse(node))

    def assign(self, target: ast.expr, value: Value, values: dict[str, Value]) -> None:
        """Bind names, or store entries."""
        match target:
            case ast.Name(id=name):
                values[name] = value
            case ast.Tuple(elts=targets):
                for one, part in zip(targets, value, strict=True):
                    self.assign(one, part, values)
            case ast.Subscript(value=array, slice=at):
                whole = self.value(array, values)
                place = self.value(at, values)
                is_number = whole.dtype == self.field.dtype
                store(whole, place, self.field.of(value) if is_number else value)
            case _:
                raise Unread(ast.unparse(target))

    # Expressions

    def value(self, node: ast.expr, values: Mapping[str, Value]) -> Value:
        """The value of an expression."""
        match node:
            case ast.Constant(value=float() as number):
                return Fraction(repr(number))
            case ast.Constant(value=constant):
                return constant
            case ast.Name(id=name):
                if name in values:
                    return values[name]
                return self.field.dtype if name == "dtype" else self.function(name)
            case ast.Attribute():
                return self.attribute(node, values)
            case ast.BinOp(left=left, op=op, right=right):
                sides = self.value(left, values), self.value(right, values)
                return self.binary(op, *sides)
            case ast.UnaryOp(op=op, operand=operand):
                return self.unary(op, self.value(operand, values))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sides = self.value(left, values), self.value(right, values)
                return self.compared(SYMBOLS[type(op)], *sides)
            case ast.IfExp(test=test, body=first, orelse=second):
                return self.value(first if self.value(test, values) else second, values)
            case ast.Subscript(value=whole, slice=at):
                return self.part(self.value(whole, values), self.value(at, values))
            case ast.Call():
                return self.call(node, values)
            case ast.Tuple(elts=parts):
                return tuple(self.value(part, values) for part in parts)
            case ast.List(elts=parts):
                return [self.value(part, values) for part in parts]
            case ast.Dict(keys=[*keys], values=parts) if None not in keys:
                found = [self.value(key, values) for key in keys if key]
                made = [self.value(part, values) for part in parts]
                return dict(zip(found, made, strict=True))
            case ast.Slice(lower=a, upper=b, step=c):
                return slice(*(x and self.value(x, values) for x in (a, b, c)))
            case ast.Lambda(args=ast.arguments(args=[]), body=body):
                return lambda: self.value(body, values)
            case _:
                raise Unread(ast.unparse(node))

    def function(self, name: str) -> Callable[..., Value]:
        """A function without a module."""
        if self.named is not None:
            return self.named(name)
        if name in PYTHON:
            return PYTHON[name]
        if name == "float":
            return lambda x: x
        if name in self.known:
            return self.known[name]
        raise Unread(name)

    def attribute(self, node: ast.Attribute, values: Mapping[str, Value]) -> Value:
        """A part of a module or of an array."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in values:
            if node.attr in ("pi", "e", "inf"):
                return self.field.constant(node.attr)
            if ast.unparse(node).endswith("add.at"):
                return self.known["_add_at"]
            if node.attr in self.known:
                return self.known[node.attr]
            raise Unread(ast.unparse(node))
        owner = self.value(node.value, values)
        if isinstance(owner, Mapping):
            return owner[node.attr]
        if isinstance(owner, slice) and node.attr in ("start", "stop"):
            return getattr(owner, node.attr)
        if node.attr in ("T", "shape", "size", "ndim"):
            return getattr(owner, node.attr)
        if node.attr == "dtype":
            return self.field.dtype
        raise Unread(ast.unparse(node))

    def call(self, node: ast.Call, values: Mapping[str, Value]) -> Value:
        """The value of a call."""
        args: list[Value] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args += self.value(arg.value, values)
            else:
                args.append(self.value(arg, values))
        named = {str(k.arg): self.value(k.value, values) for k in node.keywords}
        if isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if not isinstance(owner, ast.Name | ast.Attribute) or self.is_value(
                owner, values
            ):
                return self.method(self.value(owner, values), node.func, args, named)
        function = self.value(node.func, values)
        out = named.pop("out", None)
        found = function(*args, **named)
        if out is None:
            return found
        out[...] = self.field.of(found)
        return out

    def is_value(self, node: ast.expr, values: Mapping[str, Value]) -> bool:
        """Whether a name, or what it has, is no module."""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        return not isinstance(node, ast.Name) or node.id in values

    def method(
        self, owner: Value, node: ast.Attribute, args: list[Value], named: Any
    ) -> Value:
        """The value of a method of an array, or of an object."""
        name = node.attr
        if isinstance(owner, Mapping):
            return owner[name](*args, **named)
        if name == "sum":
            return self.known["sum"](owner, *args, **named)
        if name == "copy":
            return np.array(owner)
        if name == "astype":
            # Always a new array, which may be changed.
            found = owner.astype(int) if args == [int] else self.field.of(owner)
            return found.copy() if found is owner else found
        if name in VIEWS:
            return getattr(np.asarray(owner), name)(*args, **named)
        raise Unread(ast.unparse(node))

    def part(self, whole: Value, at: Value) -> Value:
        """The entries at some place; a number stays an array, a view."""
        found = whole[at]
        if isinstance(whole, np.ndarray) and not isinstance(found, np.ndarray):
            return whole[(*at, ...) if isinstance(at, tuple) else (at, ...)]
        return found

    # Arithmetic

    def is_integer(self, x: Value) -> bool:
        """Whether a value is an index or a size, or an array of these."""
        if isinstance(x, np.ndarray | np.generic):
            return x.dtype.kind in "iu"
        return isinstance(x, int) and not isinstance(x, bool)

    def binary(self, op: ast.operator, x: Value, y: Value) -> Value:
        """The value of an operation with two sides."""
        whole = self.is_integer(x) and self.is_integer(y)
        of, reduced = self.field.of, self.field.reduced
        match op:
            case ast.Add() if isinstance(x, tuple):
                return x + y
            case ast.Add():
                return self.exact(add, x, y) if whole else reduced(of(x) + of(y))
            case ast.Sub():
                return self.exact(sub, x, y) if whole else reduced(of(x) - of(y))
            case ast.Mult():
                return self.exact(mul, x, y) if whole else reduced(of(x) * of(y))
            case ast.FloorDiv() if whole:
                return x // y
            case ast.Mod() if whole:
                return x % y
            case ast.Div():
                return self.field.divided(x, y)
            case ast.Pow():
                return self.field.power(x, y)
            case ast.MatMult():
                return self.known["matmul"](x, y)
            case ast.BitAnd():
                return (np.asarray(x) != 0) & (np.asarray(y) != 0)
            case ast.BitOr():
                return (np.asarray(x) != 0) | (np.asarray(y) != 0)
            case _:
                raise Unread(type(op).__name__)

    def exact(self, operation: Callable[[Value, Value], Value], *args: Value) -> Value:
        """Integers, or numbers of the field where they leave 64 bits and would wrap."""
        if not any(isinstance(x, np.ndarray | np.generic) for x in args):
            return operation(*args)
        found = np.asarray(operation(*(np.asarray(x, dtype=object) for x in args)))
        try:
            return found.astype(np.int64)
        except OverflowError:
            return self.field.of(self.field.reduced(found))

    def unary(self, op: ast.unaryop, x: Value) -> Value:
        """The value of an operation with one side."""
        match op:
            case ast.USub():
                return (
                    -x if self.is_integer(x) else self.field.reduced(-self.field.of(x))
                )
            case ast.UAdd():
                return np.array(x)
            case ast.Not():
                return not x
            case ast.Invert():
                return np.asarray(x) == 0
            case _:
                raise Unread(type(op).__name__)

    def compared(self, symbol: str, x: Value, y: Value) -> Value:
        """Where a comparison holds; indices have an order of their own."""
        if self.is_integer(x) and self.is_integer(y):
            wide = np.asarray(x, dtype=object), np.asarray(y, dtype=object)
            return holds(symbol, np.asarray(wide[0] - wide[1]))
        return self.field.compared(symbol, x, y)
