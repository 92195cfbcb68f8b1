"""What expressions launch, and where what they give is."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tensorgen.emit.launches.counts import Counter, Uncountable
from tensorgen.emit.launches.values import (
    Closure,
    Device,
    Host,
    Instance,
    Path,
    Range,
    Several,
    Shape,
    Value,
    is_on_device,
)
from tensorgen.ir.dims import Dim

Scope = dict[str, Any]
_VIEWED = ("T", "real", "imag", "mT")
_MASKS = (ast.BitAnd, ast.BitOr, ast.BitXor)


class Expressions:
    """Goes through expressions; who inherits from it says what calls and names are."""

    counter: Counter
    read: dict[type[ast.expr], Callable[[Any, Scope], Value]]

    def __init__(self) -> None:
        self.read = {
            ast.Attribute: self._attribute,
            ast.BinOp: self._binary,
            ast.BoolOp: self._boolean,
            ast.Call: self.called,
            ast.Compare: self._compared,
            ast.Constant: lambda node, scope: Host(_constant(node.value)),
            ast.Dict: lambda node, scope: self._several(node.values, scope),
            ast.DictComp: lambda node, scope: self._listed(node, node.value, scope),
            ast.GeneratorExp: lambda node, scope: self._listed(node, node.elt, scope),
            ast.IfExp: self._chosen,
            ast.JoinedStr: lambda node, scope: Host(),
            ast.Lambda: lambda node, scope: Closure(node, dict(scope)),
            ast.List: lambda node, scope: self._several(node.elts, scope),
            ast.ListComp: lambda node, scope: self._listed(node, node.elt, scope),
            ast.Name: self._named,
            ast.NamedExpr: self._bound,
            ast.Set: lambda node, scope: self._several(node.elts, scope),
            ast.SetComp: lambda node, scope: self._listed(node, node.elt, scope),
            ast.Slice: self._slice,
            ast.Starred: lambda node, scope: self.value(node.value, scope),
            ast.Subscript: self._subscript,
            ast.Tuple: lambda node, scope: self._several(node.elts, scope),
            ast.UnaryOp: self._unary,
        }

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """What an expression gives; what it launches is counted."""
        reads = self.read.get(type(node))
        if reads is None:
            raise Uncountable(f"{type(node).__name__} is not read")
        return reads(node, scope)

    def known(self, name: str) -> Value:
        """What a name stands for that is no variable."""
        raise NotImplementedError

    def called(self, node: ast.Call, scope: Scope) -> Value:
        """What a call gives."""
        raise NotImplementedError

    def applied(self, function: Value, given: Sequence[Value]) -> Value:
        """What a function of the module gives of some values."""
        raise NotImplementedError

    def member(self, of: Instance, name: str) -> Value:
        """An attribute of an object, or a method."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Bind what stands on the left of an assignment."""
        raise NotImplementedError

    def truth(self, node: ast.expr, scope: Scope) -> bool | None:
        """Whether a condition holds, None where nobody knows."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self.truth(node.operand, scope)
            return None if inner is None else not inner
        value = self.value(node, scope)
        if isinstance(value, Device):
            self.counter.wait()
            return None
        if isinstance(value, Host):
            return value.truth
        return bool(value.values) if isinstance(value, Several) else True

    def _named(self, node: ast.Name, scope: Scope) -> Value:
        found: Value = scope[node.id] if node.id in scope else self.known(node.id)
        return found

    def _bound(self, node: ast.NamedExpr, scope: Scope) -> Value:
        value = self.value(node.value, scope)
        self.assign(node.target, value, scope)
        return value

    def _several(self, nodes: Sequence[ast.expr | None], scope: Scope) -> Value:
        found: list[Value] = []
        for node in filter(None, nodes):
            value = self.value(node, scope)
            spread = isinstance(node, ast.Starred) and isinstance(value, Several)
            found += value.values if spread else [value]  # type: ignore[union-attr]
        return Several(tuple(found))

    def _slice(self, node: ast.Slice, scope: Scope) -> Value:
        for part in filter(None, (node.lower, node.upper, node.step)):
            self.value(part, scope)
        return Host()

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Value:
        if isinstance(node.op, ast.Not):
            truth = self.truth(node, scope)
            return Host() if truth is None else Host(truth)
        value = self.value(node.operand, scope)
        if isinstance(value, Device):
            self.counter.launch()
            return Device(value.dims, value.is_mask)
        if isinstance(value, Host) and value.dim is not None:
            return Host(-value.dim) if isinstance(node.op, ast.USub) else Host()
        return Host()

    def _binary(self, node: ast.BinOp, scope: Scope) -> Value:
        sides = self.value(node.left, scope), self.value(node.right, scope)
        return self.operated(node.op, *sides)

    def operated(self, op: ast.operator, left: Value, right: Value) -> Value:
        """What an operator gives."""
        if isinstance(left, Device) or isinstance(right, Device):
            self.counter.launch()
            return Device(is_mask=isinstance(op, _MASKS))
        if isinstance(left, Instance) or isinstance(right, Instance):
            raise Uncountable("an operator of an object")
        if isinstance(left, Several) and isinstance(right, Several):
            return Several((*left.values, *right.values))
        if not isinstance(left, Host) or not isinstance(right, Host):
            return Host()
        a, b = left.dim, right.dim
        if a is None or b is None:
            return Host()
        match op:
            case ast.Add():
                return Host(a + b)
            case ast.Sub():
                return Host(a - b)
            case ast.Mult():
                return Host(a * b)
            case _:
                return Host()

    def _boolean(self, node: ast.BoolOp, scope: Scope) -> Value:
        """What a condition of several is; each is looked at, though one may do."""
        ends = isinstance(node.op, ast.Or)
        found: list[bool | None] = []
        for part in node.values:
            truth = self.truth(part, scope)
            if truth is ends and None not in found:
                return Host(ends)
            found.append(truth)
        return Host() if None in found else Host(found[-1])

    def _compared(self, node: ast.Compare, scope: Scope) -> Value:
        sides = [self.value(x, scope) for x in (node.left, *node.comparators)]
        if all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            same = _are_same(*sides)
            if same is None:
                return Host()
            return Host(same is isinstance(node.ops[0], ast.Is))
        if any(isinstance(x, Device) for x in sides):
            for _ in node.ops:
                self.counter.launch()
            return Device(is_mask=True)
        if isinstance(node.ops[0], ast.Eq) and len(sides) == 2:
            a, b = (x.value if isinstance(x, Host) else None for x in sides)
            if isinstance(a, str) and isinstance(b, str):
                return Host(a == b)
        return Host()

    def _chosen(self, node: ast.IfExp, scope: Scope) -> Value:
        truth = self.truth(node.test, scope)
        if truth is not None:
            return self.value(node.body if truth else node.orelse, scope)
        one, other = self.counter.either(
            lambda: self.value(node.body, scope), lambda: self.value(node.orelse, scope)
        )
        return joined(one, other)

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Value:
        of, name = self.value(node.value, scope), node.attr
        match of:
            case Path():
                return Path(f"{of.name}.{name}")
            case Instance():
                return self.member(of, name)
            case Device() if name == "shape":
                return Shape() if of.dims is None else _shape(of.dims)
            case Device() if name == "size":
                return Host(is_size=True)
            case Device() if name in _VIEWED:
                turned = of.dims and of.dims[::-1]
                return Device(turned if name == "T" else None, of.is_mask)
            case _:
                return Host()

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Value:
        of, key = self.value(node.value, scope), self.value(node.slice, scope)
        match of:
            case Device():
                return self.entries(of, key)
            case Shape():
                return Host(is_size=True)
            case Several() if isinstance(key, Host) and key.dim is not None:
                place = key.dim.constant
                if place is None or not -len(of.values) <= place < len(of.values):
                    raise Uncountable("a place that is not known")
                return of.values[int(place)]
            case Several():
                return Several(of.values)
            case _:
                return Host()

    def entries(self, of: Device, key: Value) -> Value:
        """What is read of an array: a view, unless arrays say where."""
        if is_on_device(key):
            self.counter.launch()
            parts = key.values if isinstance(key, Several) else (key,)
            if any(isinstance(x, Device) and x.is_mask for x in parts):
                self.counter.wait()
        return Device(is_mask=of.is_mask)

    def _listed(self, node: Any, element: ast.expr, scope: Scope) -> Value:
        own = dict(scope)
        found: list[Value] = []

        def run(left: Sequence[ast.comprehension]) -> None:
            if not left:
                found.append(self.value(element, own))
                return
            first, *others = left

            def inside() -> None:
                for test in first.ifs:
                    self.truth(test, own)
                run(others)

            self.looped(first.target, self.value(first.iter, own), own, inside)

        run(node.generators)
        return Several(tuple(found))

    def looped(
        self, target: ast.expr, over: Value, scope: Scope, body: Callable[[], None]
    ) -> None:
        """Run the body of a loop over some values: once for each, or many times."""
        for times, value in _items(over):
            self.assign(target, value, scope)
            self.counter.repeated(times, body)


def _constant(value: Any) -> Any:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return Dim.of(value) if is_number else value


def _shape(dims: Sequence[Dim | None]) -> Several:
    return Several(
        tuple(Host(is_size=True) if dim is None else Host(dim) for dim in dims)
    )


def _are_same(one: Value, other: Value) -> bool | None:
    """Whether two values are one object, where one of them is None."""
    for a, b in ((one, other), (other, one)):
        if isinstance(a, Host) and a.value is None:
            if isinstance(b, Host):
                return b.value is None if b.truth is not None else None
            return False
    return None


def joined(one: Value, other: Value) -> Value:
    """What is known of a value that is one of two."""
    if one == other:
        return one
    if isinstance(one, Device) and isinstance(other, Device):
        return Device()
    if isinstance(one, Device) or isinstance(other, Device):
        return Device()
    if not isinstance(one, Several) or not isinstance(other, Several):
        return Host()
    if len(one.values) != len(other.values):
        return Host()
    return Several(tuple(map(joined, one.values, other.values)))


def _items(over: Value) -> Iterator[tuple[Dim, Value]]:
    match over:
        case Several():
            yield from ((Dim.of(1), value) for value in over.values)
        case Range(times=times) if times is not None:
            yield times, Host()
        case Range(few=True):
            yield Dim.of(1), Host()
        case Device(dims=dims) if dims and dims[0] is not None:
            yield dims[0], Device()
        case _:
            raise Uncountable("a loop over what is not known")
