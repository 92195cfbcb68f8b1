"""Bodies of functions over NumPy: assignments, known conditions, what is returned."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tensorgen.frontends.over_numpy.numpy_arguments import bind
from tensorgen.frontends.over_numpy.numpy_conditions import truth
from tensorgen.frontends.over_numpy.numpy_expressions import Expressions
from tensorgen.frontends.over_numpy.numpy_program import Program
from tensorgen.frontends.over_numpy.numpy_table import Signature, words
from tensorgen.frontends.over_numpy.numpy_values import Path, Row, Thing, Value, joined
from tensorgen.frontends.python_source import assigned

_LOOP = "write what it computes for all entries at once, as NumPy does"
_REFUSED: Mapping[type[ast.AST], tuple[str, str | None]] = {
    ast.For: ("a loop", _LOOP),
    ast.While: ("a loop", _LOOP),
    ast.With: ("'with'", "of such blocks np.errstate is read"),
    ast.Try: ("'try'", None),
    ast.Raise: ("'raise'", "it is reached whatever the arguments' values are"),
    ast.ClassDef: ("a class", None),
    ast.Global: ("'global'", None),
    ast.Nonlocal: ("'nonlocal'", None),
    ast.Delete: ("'del'", None),
    ast.Match: ("'match'", None),
    ast.Expr: ("a statement without a result", "its value is not used"),
}
_HARMLESS = ("function", "jit", "njit", "cache", "lru_cache")
"""Decorators that leave values what they are."""
_VIEWS = words("""
    asarray ascontiguousarray asanyarray ravel reshape transpose squeeze swapaxes
    moveaxis permute_dims diagonal diag expand_dims broadcast_to atleast_1d atleast_2d
    real astype
    """)
"""Functions whose results may be parts of their arguments."""


class Body:
    """One body, statement by statement, with the things that its names stand for."""

    def __init__(
        self, program: Program, function: ast.FunctionDef, names: Mapping[str, Thing]
    ) -> None:
        own = frozenset(assigned(function))
        self.reader = Expressions(program, own)
        self.reader.names.update(names)
        self.program, self.function = program, function
        # Names whose arrays may be those of others: writing into one writes into both.
        self._shared = {*names}

    def result(self) -> Value:
        """Return what the function returns; raises `SpecError`."""
        found = self._block(_without_docstring(self.function))
        if found is None:
            hint = "the last statement is 'return' and an expression"
            self.reader.fail("the function returns nothing", self.function, hint)
        thing, node = found
        if isinstance(thing, Row) and not thing.is_list:
            hint = "the value alone: derivatives are what is generated"
            self.reader.fail("several values are returned", node, hint)
        return self.reader.as_value(thing, node)

    def returned(self) -> Thing:
        """Return what a function that another one calls returns, tuples too."""
        found = self._block(_without_docstring(self.function))
        if found is None:
            self.reader.fail("the function returns nothing", self.function)
        return found[0]

    def _block(self, statements: Sequence[ast.stmt]) -> tuple[Thing, ast.expr] | None:
        for statement in statements:
            found = self._statement(statement)
            if found is not None:
                return found
        return None

    def _statement(self, node: ast.stmt) -> tuple[Thing, ast.expr] | None:
        match node:
            case ast.Return(value=ast.expr() as value):
                return self.reader.thing(value), value
            case ast.Assign(targets=targets, value=value):
                thing = self.reader.thing(value)
                for target in targets:
                    self._bind(target, thing, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, self.reader.thing(value), value)
            case ast.AugAssign():
                self._augmented(node)
            case ast.If():
                return self._branch(node)
            case ast.With(items=items, body=body) if self._are_about_errors(items):
                return self._block(body)
            case ast.FunctionDef():
                hint = "functions at the top of the file are read where they are called"
                self.reader.fail("a function inside of a function", node, hint)
            case ast.Assert():
                told = "assertions are left out: line {}"
                line = self.reader.file.span(node).line
                self.program.remarks[told.format(line)] = None
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Pass() | ast.Import() | ast.ImportFrom() | ast.AnnAssign():
                pass
            case _:
                what, why = _REFUSED.get(type(node), ("this statement", None))
                self.reader.fail(f"{what} cannot be read", node, why)
        return None

    def _branch(self, node: ast.If) -> tuple[Thing, ast.expr] | None:
        known = truth(self.reader, node.test)
        if known is None:
            hint = "np.where(condition, x, y) chooses by values"
            self.reader.fail("'if' needs what is known from shapes", node.test, hint)
        return self._block(node.body if known else node.orelse)

    def _are_about_errors(self, items: Sequence[ast.withitem]) -> bool:
        """Whether a block says how NumPy warns, which changes no value."""
        functions = [x.context_expr for x in items]
        return all(
            isinstance(x, ast.Call)
            and self.reader.thing(x.func) == Path("numpy.errstate")
            for x in functions
        )

    def _bind(self, target: ast.expr, thing: Thing, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self._named(target.id, thing, value, target)
            return
        if isinstance(target, ast.Tuple | ast.List):
            items = self._items(thing, value, len(target.elts))
            for inner, item in zip(target.elts, items, strict=True):
                self._bind(inner, item, value)
            return
        hint = "make a new array, by np.where, np.concatenate or np.stack"
        self.reader.fail("writing into an array cannot be read", target, hint)

    def _items(self, thing: Thing, node: ast.expr, count: int) -> Sequence[Thing]:
        """What is taken apart: a tuple, or an array of a known length."""
        if isinstance(thing, Value):
            shape = self.reader.shape(thing)
            if shape and shape[0].constant == count:
                named = thing
                if _is_computed(thing):
                    named = self._defined("parts", thing, node)
                texts = [
                    joined(self.reader.file, node, named.text, f"[{k}]")
                    for k in range(count)
                ]
                return [replace(named, text=text) for text in texts]
        if not isinstance(thing, Row) or len(thing.items) != count:
            self.reader.fail(f"this does not have {count} items for sure", node)
        return thing.items

    def _named(
        self, name: str, thing: Thing, value: ast.expr, target: ast.expr
    ) -> None:
        """Let a name stand for a thing; what is computed becomes a line."""
        self._shared.discard(name)
        if self._is_part(value):
            # It may be a part of what it mentions: x.T, x[1:], np.asarray(x).
            inner = {x.id for x in ast.walk(value) if isinstance(x, ast.Name)}
            self._shared |= {name, *inner}
        if isinstance(thing, Value) and _is_computed(thing):
            thing = self._defined(name, thing, target)
        self.reader.names[name] = thing

    def _is_part(self, node: ast.expr) -> bool:
        """Whether an array may be a part of one that it mentions."""
        match node:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Constant():
                return False
            case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(
                func=ast.Name(id=name)
            ):
                return name in _VIEWS or name in self.reader.file.helpers
        return True

    def _defined(self, name: str, thing: Value, node: ast.expr) -> Value:
        return self.program.define(name, thing, node)

    def _augmented(self, node: ast.AugAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Name):
            hint = "make a new array, by np.where, np.concatenate or np.stack"
            self.reader.fail("writing into an array cannot be read", target, hint)
        place = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        before = self.reader.value(place)
        if target.id in self._shared and self.reader.shape(before):
            hint = f"a new array is {target.id} = {target.id} + ..."
            self.reader.fail("this writes into an array that others see", node, hint)
        whole = ast.copy_location(ast.BinOp(place, node.op, node.value), node)
        self._named(target.id, self.reader.thing(whole), whole, target)


def inlined(reader: Expressions, function: ast.FunctionDef, node: ast.Call) -> Thing:
    """Return what a call of a function of the same file returns."""
    program = reader.program
    own = function.args
    for decorator in function.decorator_list:
        written = program.file.written(decorator).partition("(")[0]
        if written.rpartition(".")[2] not in _HARMLESS:
            hint = "a decorator may change what is called"
            reader.fail(f"'{function.name}' is decorated by {written}", node, hint)
    if own.vararg or own.kwarg:
        reader.fail(f"'{function.name}' takes any number of arguments", node)
    names = [x.arg for x in (*own.posonlyargs, *own.args, *own.kwonlyargs)]
    signature = Signature((*names,), frozenset())
    given = bind(reader, node, function.name, signature).found
    with program.reading(function.name, node):
        found = dict(defaults(program, function))
        for name, (thing, place) in given.items():
            found[name] = _argument(program, name, thing, place)
        missing = [name for name in names if name not in found]
        if missing:
            reader.fail(f"'{function.name}' needs '{missing[0]}'", node)
        return Body(program, function, found).returned()


def _argument(program: Program, name: str, thing: Thing, node: ast.expr) -> Thing:
    """What is computed gets the name of the parameter, and is read once."""
    if isinstance(thing, Value) and _is_computed(thing):
        return program.define(name, thing, node)
    return thing


def _is_computed(value: Value) -> bool:
    """Whether a value is more than a name, or a whole number that is known."""
    return value.whole is None and not value.text.value.isidentifier()


def defaults(
    program: Program, function: ast.FunctionDef
) -> Iterator[tuple[str, Thing]]:
    """Yield the parameters of a function that have a default, and what that is."""
    outer = Expressions(program, frozenset())
    for parameter, node in default_nodes(function):
        yield parameter.arg, outer.thing(node)


def default_nodes(function: ast.FunctionDef) -> Iterator[tuple[ast.arg, ast.expr]]:
    """Yield the parameters of a function that have a default, and its text's node."""
    own = function.args
    plain = [*own.posonlyargs, *own.args]
    behind = plain[len(plain) - len(own.defaults) :]
    yield from zip(behind, own.defaults, strict=True)
    for parameter, node in zip(own.kwonlyargs, own.kw_defaults, strict=True):
        if node is not None:
            yield parameter, node


def _without_docstring(function: ast.FunctionDef) -> list[ast.stmt]:
    return function.body[ast.get_docstring(function) is not None :]
