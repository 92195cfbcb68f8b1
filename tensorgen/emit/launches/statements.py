"""Goes through the statements of functions of a module, as Python would run them.

Of what is not known before the module runs, nothing has to be: a loop is run once and
counts as often as it is repeated, of two ways the longer one counts, and one that
raises does not. Arguments are arrays that are large enough not to be empty. Sums are of
few entries each, and matrices fit into one block.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tensorgen.emit.launches.calls import Calls, Given
from tensorgen.emit.launches.counts import Count, Counter, Uncountable
from tensorgen.emit.launches.expressions import Scope, joined
from tensorgen.emit.launches.law import KERNELS
from tensorgen.emit.launches.values import (
    Class,
    Closure,
    Device,
    Host,
    Instance,
    Launcher,
    Path,
    Several,
    Shape,
    Value,
    is_on_device,
)
from tensorgen.ir.dims import Dim

SUMS = "_Sums"
"""The class of modules whose objects add up what a kernel makes."""
SWEEPS = "sweeps"
"""How often a loop runs that doubles what it reaches."""
_DEEPEST = 40


class _Raised(Exception):
    """What is reached raises."""


class _Returned(Exception):
    """What is reached returns."""

    def __init__(self, value: Value) -> None:
        self.value = value


def launches_of(source: str, helpers: Collection[str] = ()) -> dict[str, Count | None]:
    """Return what each public function of a module launches, by the text of that.

    Functions that are `helpers` call sizes otherwise than their callers do. None stands
    for what depends on more than sizes, as on how many steps a solver takes.
    """
    module = _Module(ast.parse(source), helpers)
    found: dict[str, Count | None] = {}
    for name, node in module.functions.items():
        if not name.startswith("_") and name not in helpers:
            try:
                found[name] = module.count(node)
            except Uncountable:
                found[name] = None
    return found


class _Module(Calls):
    """What the names of a module stand for."""

    def __init__(self, tree: ast.Module, helpers: Collection[str]) -> None:
        super().__init__()
        self.counter = Counter()
        self.helpers = helpers
        self.functions: dict[str, ast.FunctionDef] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.scope: Scope = {}
        self.depth = 0
        for node in tree.body:
            self._meet(node)

    def _meet(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef(name=name):
                self.functions[name] = node
                self.scope[name] = Closure(node, self.scope)
            case ast.ClassDef(name=name):
                self.classes[name] = node
                self.scope[name] = Class(node)
            case ast.Import() | ast.ImportFrom():
                self.scope.update(_imported(node))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
                last = func.attr if isinstance(func, ast.Attribute) else None
                last = func.id if isinstance(func, ast.Name) else last
                is_kernel = last in KERNELS or last == SUMS
                self.scope[name] = Launcher() if is_kernel else Host()

    def count(self, node: ast.FunctionDef) -> Count:
        """What a public function launches that is given all of its arguments."""
        self.counter = Counter()
        function = Closure(node, self.scope)
        names = [x.arg for x in (*node.args.args, *node.args.kwonlyargs)]
        given = {x: Device() for x in names if not _is_switch(node, x)}
        self.entered(function, Given((), dict(given)))
        return self.counter.found

    def known(self, name: str) -> Value:
        """What a name of the module stands for, or one of Python's own."""
        found: Value = self.scope.get(name, Host())
        return found

    def entered(self, function: Closure | Class, given: Given) -> Value:
        """What a function gives, or an object of a class whose `__init__` is run."""
        if isinstance(function, Class):
            made = Instance(function.node)
            if init := self._found(function.node, "__init__"):
                own = Closure(init, self.scope, (made,))
                self.entered(own, given)
            else:
                names = [*_fields(function.node)]
                made.attributes.update(zip(names, given.values, strict=False))
                made.attributes.update(given.named)
            return made
        if self.depth == _DEEPEST:
            raise Uncountable("functions that call each other")
        scope = dict(function.scope) if function.scope is not self.scope else {}
        scope.update(self._bound_arguments(function, given))
        self.depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.value(function.node.body, scope)
            scope[_WITHIN] = function.node.name
            self.run(function.node.body, scope)
        except _Returned as returned:
            return returned.value
        finally:
            self.depth -= 1
        return Host(None)

    def _bound_arguments(self, function: Closure, given: Given) -> Scope:
        own = function.node.args
        names = [x.arg for x in (*own.posonlyargs, *own.args)]
        values = [*function.first, *given.values]
        scope: Scope = dict(zip(names, values, strict=False))
        if own.vararg:
            scope[own.vararg.arg] = Several(tuple(values[len(names) :]))
        known = {*names, *(x.arg for x in own.kwonlyargs)}
        scope |= {x: value for x, value in given.named.items() if x in known}
        if own.kwarg:
            others = (v for x, v in given.named.items() if x not in known)
            scope[own.kwarg.arg] = Several(tuple(others))
        for name, default in _defaults(own):
            if name not in scope:
                scope[name] = self.value(default, self.scope)
        return scope

    def member(self, of: Instance, name: str) -> Value:
        """An attribute of an object, or a method."""
        if name in of.attributes:
            found: Value = of.attributes[name]
            return found
        method = self._found(of.of, name)
        if method is None:
            raise Uncountable(f"an attribute {name} that is not known")
        own = Closure(method, self.scope, (of,))
        kinds = [ast.unparse(x) for x in method.decorator_list]
        if any("property" in x or "Cached" in x for x in kinds):
            return self.entered(own, Given((), {}))
        return own if "staticmethod" not in kinds else replace(own, first=())

    def _found(self, of: ast.ClassDef, name: str) -> ast.FunctionDef | None:
        """A method of a class, or of what that inherits from."""
        for node in of.body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
        for base in of.bases:
            inner = self.classes.get(ast.unparse(base).partition("[")[0])
            if inner and (found := self._found(inner, name)):
                return found
        return None

    # Statements

    def run(self, nodes: Sequence[ast.stmt], scope: Scope) -> None:
        """Run statements one after the other."""
        for k, node in enumerate(nodes):
            if isinstance(node, ast.If):
                self._if(node, nodes[k + 1 :], scope)
                return
            self._statement(node, scope)

    def _if(self, node: ast.If, rest: Sequence[ast.stmt], scope: Scope) -> None:
        truth = self.truth(node.test, scope)
        ways = [*node.body, *rest], [*node.orelse, *rest]
        if truth is None and _raises(node.body):
            truth = False
        if truth is None and _raises(node.orelse):
            truth = True
        if truth is not None:
            self.run(ways[not truth], scope)
            return
        scopes = dict(scope), dict(scope)
        one, other = self.counter.either(
            lambda: self._end(ways[0], scopes[0]), lambda: self._end(ways[1], scopes[1])
        )
        if one is None and other is None:
            names = scopes[0].keys() & scopes[1].keys()
            scope.update({x: joined(scopes[0][x], scopes[1][x]) for x in names})
            return
        found = [x for x in (one, other) if x is not None]
        raise _Returned(joined(found[0], found[-1]))

    def _end(self, nodes: Sequence[ast.stmt], scope: Scope) -> Value | None:
        """What some statements return, None where they do not."""
        try:
            self.run(nodes, scope)
        except _Returned as returned:
            return returned.value
        return None

    def _statement(self, node: ast.stmt, scope: Scope) -> None:
        match node:
            case ast.Return(value=value):
                raise _Returned(self.value(value, scope) if value else Host(None))
            case ast.Assign(targets=targets, value=value):
                found = self.value(value, scope)
                for target in targets:
                    self.assign(target, found, scope)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, self.value(value, scope), scope)
            case ast.AugAssign():
                self._change(node, scope)
            case ast.Expr(value=value):
                self.value(value, scope)
            case ast.For():
                over = self.value(node.iter, scope)
                if _leaves(node.body) and not isinstance(over, Several):
                    raise Uncountable("a loop that ends before its end")
                self.looped(
                    node.target, over, scope, lambda: self.run(node.body, scope)
                )
            case ast.While():
                self._while(node, scope)
            case ast.With(body=body) | ast.Try(body=body):
                self.run(body, scope)
            case ast.FunctionDef(name=name):
                scope[name] = Closure(node, scope)
            case ast.Import() | ast.ImportFrom():
                scope.update(_imported(node))
            case ast.Raise():
                raise Uncountable("what raises")
            case ast.Pass() | ast.Delete() | ast.Assert():
                return
            case _:
                raise Uncountable(f"{type(node).__name__} is not read")

    def _while(self, node: ast.While, scope: Scope) -> None:
        if _leaves(node.body):
            raise Uncountable("a loop that ends before its end")
        before = self.counter.found
        self.truth(node.test, scope)
        if self.counter.found != before:
            raise Uncountable("a loop that looks at entries")
        self.counter.repeated(Dim.symbol(SWEEPS), lambda: self.run(node.body, scope))

    def _change(self, node: ast.AugAssign, scope: Scope) -> None:
        """Change what stands on the left; a view of it is changed where it is."""
        right = self.value(node.value, scope)
        target = node.target
        if not isinstance(target, ast.Subscript):
            left = self.value(target, scope)
            self.assign(target, self.operated(node.op, left, right), scope)
            return
        of, key = self.value(target.value, scope), self.value(target.slice, scope)
        if not isinstance(of, Device):
            return
        part = self.entries(of, key)
        self.operated(node.op, part, right)
        if is_on_device(key):
            self._store(key)

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Bind what stands on the left of an assignment."""
        match target:
            case ast.Name(id=name):
                scope[name] = self._called(name, value, scope)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part, inner in zip(parts, _unpacked(value, parts), strict=True):
                    own = part.value if isinstance(part, ast.Starred) else part
                    self.assign(own, inner, scope)
            case ast.Subscript(value=of, slice=key):
                where = self.value(key, scope)
                if isinstance(self.value(of, scope), Device):
                    self._store(where)
            case ast.Attribute(value=of, attr=name):
                inside = self.value(of, scope)
                if isinstance(inside, Instance):
                    inside.attributes[name] = value

    def _store(self, key: Value) -> None:
        self.counter.launch()
        parts = key.values if isinstance(key, Several) else (key,)
        if any(isinstance(x, Device) and x.is_mask for x in parts):
            self.counter.wait()

    def _called(self, name: str, value: Value, scope: Scope) -> Value:
        """A value that is bound to a name: functions call sizes as all others do."""
        is_open = isinstance(value, Host) and value.is_size and value.dim is None
        if is_open and scope.get(_WITHIN) not in self.helpers:
            return Host(Dim.symbol(name), is_size=True)
        return value


_WITHIN = "def"
"""Where a scope says in which function it is."""


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Value]]:
    for one in node.names:
        if isinstance(node, ast.Import):
            name = one.name if one.asname else one.name.partition(".")[0]
        else:
            name = f"{node.module}.{one.name}"
        yield one.asname or one.name.partition(".")[0], Path(name)


def _fields(of: ast.ClassDef) -> Iterator[str]:
    """The names of what a tuple with names holds."""
    for node in of.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _is_switch(node: ast.FunctionDef, name: str) -> bool:
    """Whether a parameter is one that says how, not an array."""
    told = dict(_defaults(node.args)).get(name)
    return isinstance(told, ast.Constant) and isinstance(told.value, bool)


def _defaults(own: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    plain = [*own.posonlyargs, *own.args]
    with_default = plain[len(plain) - len(own.defaults) :]
    for one, default in zip(with_default, own.defaults, strict=True):
        yield one.arg, default
    for one, told in zip(own.kwonlyargs, own.kw_defaults, strict=True):
        if told is not None:
            yield one.arg, told


def _unpacked(value: Value, parts: Sequence[ast.expr]) -> Sequence[Value]:
    """The values of several names."""
    if isinstance(value, Several) and len(value.values) == len(parts):
        return value.values
    if isinstance(value, Shape):
        return [Host(is_size=True) for _ in parts]
    if isinstance(value, Device):
        return [Device() for _ in parts]
    if isinstance(value, Host):
        return [Host() for _ in parts]
    raise Uncountable("so many names for what is not known")


def _raises(nodes: Sequence[ast.stmt]) -> bool:
    return bool(nodes) and isinstance(nodes[-1], ast.Raise)


def _leaves(nodes: Sequence[ast.stmt]) -> bool:
    kinds: tuple[type[Any], ...] = (ast.Break, ast.Continue, ast.Return)
    return any(isinstance(x, kinds) for node in nodes for x in ast.walk(node))
