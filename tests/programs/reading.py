"""Reading the text of a program by Python: index notation and derivatives.

A text is rewritten once and compiled. A reduction over indices becomes a function of
its indices, called with the values they have at all its points at once, so that what
a condition or a range excludes is never computed; a derivative becomes a function of
what it is taken by. The ranges of indices are inferred here too, from numbers.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

Array = Any
REDUCTIONS = ("sum", "mean", "prod", "max", "min", "norm", "logsumexp")
DERIVATIVES = ("grad", "jac", "hess", "hvp", "jvp", "vjp")


class Meaningless(ValueError):
    """A text whose ranges do not follow, or that leaves an axis."""


@dataclass(frozen=True)
class Position:
    """An affine form of indices that stands in an axis of an array."""

    array: str
    axis: int
    letters: tuple[str, ...]
    form: CodeType

    def interval(
        self, letter: str, known: Mapping[str, tuple[int, int]], last: int, scope: Any
    ) -> tuple[int, int] | None:
        """The values of a letter for which the form stays in 0 ... last."""
        form = eval(self.form, dict(scope))
        zero = dict.fromkeys(self.letters, 0)
        base = form(**zero)
        slope = {x: form(**{**zero, x: 1}) - base for x in self.letters}
        low = high = base
        for other in self.letters:
            if other != letter:
                start, stop = known[other]
                ends = [slope[other] * start, slope[other] * (stop - 1)]
                low, high = low + min(ends), high + max(ends)
        # All of 0 <= low + slope * letter and high + slope * letter <= last.
        a = slope[letter]
        if a == 0:
            return None
        if a > 0:
            return -(low // a), (last - high) // a + 1
        return -((last - high) // -a), low // -a + 1


@dataclass(frozen=True)
class Binding:
    """What binds indices: a left side, or a reduction."""

    name: str
    outer: tuple[str, ...]
    letters: tuple[str, ...]
    ranges: Mapping[str, tuple[CodeType, tuple[str, ...]]]


@dataclass
class Reading:
    """A text that is ready to be evaluated."""

    bindings: list[Binding] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    compared: dict[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    inner: list[CodeType] = field(default_factory=list)
    code: CodeType | None = None

    def intervals(
        self, shapes: Callable[[str], Sequence[int]], scope: Mapping[str, Any]
    ) -> dict[str, tuple[int, int]]:
        """The range of each index, or its hull where it depends on others."""
        given = {x: r for b in self.bindings for x, r in b.ranges.items()}
        letters = [x for b in self.bindings for x in b.letters]
        known: dict[str, tuple[int, int]] = {}
        for alone in (True, False, False, False):
            for letter in letters:
                if letter in known:
                    continue
                if letter in given:
                    found = _hull(*given[letter], known, scope)
                else:
                    found = self._inferred(letter, known, alone, shapes, scope)
                if found is not None:
                    known[letter] = found
        for letter, dim in self.compared.items():
            known.setdefault(letter, (0, int(eval(dim, dict(scope)))))
        if missing := set(letters) - set(known):
            raise Meaningless(f"no range for {sorted(missing)}")
        return known

    def _inferred(
        self, letter: str, known: Any, alone: bool, shapes: Any, scope: Any
    ) -> tuple[int, int] | None:
        low, high, found = -(10**9), 10**9, False
        for at in self.positions:
            others = set(at.letters) - {letter}
            if letter not in at.letters or (alone and others) or others - set(known):
                continue
            last = shapes(at.array)[at.axis] - 1
            interval = at.interval(letter, known, last, scope)
            if interval is None:
                continue
            low, high = max(low, interval[0]), min(high, interval[1])
            found = True
        if not found:
            return None
        if letter in self.left:
            if not low <= 0:
                raise Meaningless(f"0 is outside of the range of {letter}")
            low = 0
        return low, max(high, low)


def _hull(
    code: CodeType, letters: tuple[str, ...], known: Any, scope: Any
) -> tuple[int, int] | None:
    if set(letters) - set(known):
        return None
    bounds = eval(code, dict(scope))
    ends = [(known[x][0], max(known[x][1] - 1, known[x][0])) for x in letters]
    corners = [bounds(*corner) for corner in itertools.product(*ends)]
    low, high = min(c[0] for c in corners), max(c[1] for c in corners)
    return low, max(low, high)


class _Rewriter(ast.NodeTransformer):
    """Rewrites index notation and derivatives; indices get names of their own."""

    def __init__(self, reading: Reading, indexed: Mapping[str, str]) -> None:
        self.reading = reading
        self.indexed = indexed  # index arrays and their dims
        self.names: dict[str, str] = {}
        self.outer: tuple[str, ...] = ()
        self.count = itertools.count()

    def bound(self, letters: Iterable[str]) -> tuple[str, ...]:
        """New names for letters, known from now on."""
        fresh = {x: f"{x}_{next(self.count)}" for x in letters}
        self.names = {**self.names, **fresh}
        self.outer = (*self.outer, *fresh.values())
        return tuple(fresh.values())

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.names.get(node.id, node.id), ast.Load())

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        # A number: of truth values NumPy's functions make half precision.
        return ast.BinOp(node, ast.Mult(), ast.Constant(1.0)) if self.outer else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in DERIVATIVES:
            return self.derivative(name, node)
        over = [arg for arg in node.args[1:] if _binds(arg)]
        ranges = {k.arg: k.value for k in node.keywords if _is_range(k.value)}
        if name in REDUCTIONS and (over or ranges):
            return self.reduction(name, node.args[0], over, ranges)
        node.args = [self.visit(arg) for arg in node.args]
        return node

    def reduction(
        self, name: str, body: ast.expr, over: list[ast.expr], ranges: Any
    ) -> ast.expr:
        names, outer = self.names, self.outer
        letters = [arg.id for arg in over if isinstance(arg, ast.Name)]
        new = self.bound([*letters, *ranges])
        given = {}
        for letter, call in ranges.items():
            bounds = [self.visit(arg) for arg in call.args]
            start = bounds[0] if len(bounds) == 2 else ast.Constant(0)
            limits = ast.Tuple([start, bounds[-1]], ast.Load())
            used = tuple(x for x in self.outer if x in _names(limits))
            given[self.names[letter]] = (_compiled(_function(used, limits)), used)
        conditions = [arg for arg in over if not isinstance(arg, ast.Name)]
        for condition in conditions:
            self.compare(condition)
        parts = [self.visit(part) for part in (body, *conditions)]
        functions = [_function(self.outer, part) for part in parts]
        number = len(self.reading.bindings)
        self.reading.bindings.append(Binding(name, outer, new, given))
        self.names, self.outer = names, outer
        return _call("__reduce__", ast.Constant(number), _tuple(outer), *functions)

    def compare(self, condition: ast.expr) -> None:
        """An index that is compared with an index array may have its dim."""
        if isinstance(condition, ast.Compare):
            left, right = condition.left, condition.comparators[0]
            for a, b in ((left, right), (right, left)):
                if isinstance(a, ast.Subscript) and isinstance(b, ast.Name):
                    dim = self.indexed.get(ast.unparse(a.value))
                    if dim is not None and b.id in self.names:
                        self.reading.compared[self.names[b.id]] = dim

    def derivative(self, name: str, node: ast.Call) -> ast.expr:
        inner, by = node.args[0], node.args[1]
        at: ast.expr = ast.Constant(None)
        if isinstance(by, ast.Subscript):
            places = by.slice.elts if isinstance(by.slice, ast.Tuple) else [by.slice]
            self.places(by.value, places)
            at = ast.Tuple([self.visit(place) for place in places], ast.Load())
            by = by.value
        function = _function(self.outer, self.visit(inner))
        self.reading.inner.append(_compiled(function))
        extra = [self.visit(arg) for arg in node.args[2:]]
        number = ast.Constant(len(self.reading.inner) - 1)
        what = (ast.Constant(name), number, ast.Constant(ast.unparse(by)))
        return _call("__derive__", *what, at, _tuple(self.outer), *extra)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not any(_names(place) & set(self.names) for place in places):
            node.value = self.visit(node.value)
            return node
        self.places(node.value, places)
        whole = _call("slice", ast.Constant(None))
        at = [whole if isinstance(p, ast.Slice) else self.visit(p) for p in places]
        value = self.visit(node.value)
        return _call("__at__", value, ast.Tuple(at, ast.Load()))

    def places(self, value: ast.expr, places: Sequence[ast.expr]) -> None:
        """Note the affine positions in the axes of a named array."""
        for axis, place in enumerate(places):
            inside = any(isinstance(x, ast.Subscript) for x in ast.walk(place))
            used = tuple(x for x in self.names if x in _names(place))
            if isinstance(value, ast.Name) and used and not inside:
                letters = tuple(self.names[x] for x in used)
                text = ast.parse(ast.unparse(place), mode="eval").body
                form = _compiled(_function(letters, _renamed(text, self.names)))
                found = Position(value.id, axis, letters, form)
                self.reading.positions.append(found)


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.names.get(node.id, node.id), ast.Load())


def _renamed(node: ast.expr, names: Mapping[str, str]) -> ast.expr:
    result: ast.expr = _Renamer(names).visit(node)
    return result


def _binds(arg: ast.expr) -> bool:
    """Whether an argument of a reduction is an index or a condition."""
    named = isinstance(arg, ast.Name) and arg.id != "inf"
    return named or isinstance(arg, ast.Compare)


def _is_range(value: ast.expr) -> bool:
    named = isinstance(value, ast.Call) and isinstance(value.func, ast.Name)
    return named and value.func.id == "range"  # type: ignore[attr-defined]


def _names(node: ast.expr) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _tuple(names: Iterable[str]) -> ast.Tuple:
    return ast.Tuple([ast.Name(x, ast.Load()) for x in names], ast.Load())


def _function(letters: Iterable[str], body: ast.expr) -> ast.Lambda:
    parameters = [ast.arg(x) for x in letters]
    return ast.Lambda(ast.arguments([], parameters, None, [], [], None, []), body)


def _compiled(node: ast.expr) -> CodeType:
    whole = ast.fix_missing_locations(ast.Expression(node))
    return compile(whole, "<program>", "eval")


@cache
def read(
    text: str, left: tuple[str, ...], indexed: tuple[tuple[str, str], ...]
) -> Reading:
    """Rewrite a text whose left side has these indices."""
    reading = Reading()
    rewriter = _Rewriter(reading, dict(indexed))
    reading.left = rewriter.bound(left)
    body = rewriter.visit(ast.parse(text, mode="eval").body)
    if left:
        reading.bindings.append(Binding("", (), reading.left, {}))
    reading.code = _compiled(_function(reading.left, body))
    return reading


class Runtime:
    """What a rewritten text calls: reductions, entries, derivatives."""

    def __init__(
        self,
        reading: Reading,
        scope: dict[str, Any],
        again: Callable[[Mapping[str, Array]], dict[str, Any]],
        xp: Any,
    ) -> None:
        self.reading, self.again, self.xp = reading, again, xp
        self.scope = self.filled(scope)
        self.ranges = reading.intervals(lambda name: np.shape(scope[name]), scope)

    def filled(self, scope: dict[str, Any]) -> dict[str, Any]:
        """A scope with what the text calls."""
        calls = {"__reduce__": self.reduce, "__at__": at, "__derive__": self.derive}
        return {**scope, **calls, "slice": slice, "__builtins__": {}}

    def value(self) -> Array:
        """The value of the text: over its left indices, or as it is."""
        assert self.reading.code is not None
        function = eval(self.reading.code, self.scope)
        if not self.reading.left:
            return function()
        spans = [self.ranges[x] for x in self.reading.left]
        shape = [stop - start for start, stop in spans]
        grid = np.meshgrid(*(np.arange(*s) for s in spans), indexing="ij")
        flat = function(*(letter.ravel() for letter in grid))
        whole = self.xp.broadcast_to(flat, (int(np.prod(shape)),))
        return self.xp.reshape(whole, shape)

    def reduce(
        self, number: int, outer: tuple[Array, ...], body: Any, *conditions: Any
    ) -> Array:
        binding = self.reading.bindings[number]
        points, owners = self.points(binding, outer)
        for condition in conditions:
            kept = np.broadcast_to(np.asarray(condition(*points)) != 0, owners.shape)
            points = [values[kept] for values in points]
            owners = owners[kept]
        count = len(outer[0]) if outer else 1
        values = self.xp.broadcast_to(body(*points), owners.shape)
        found = self.gathered(binding.name, values, owners, count)
        return found if outer else found[0]

    def points(
        self, binding: Binding, outer: tuple[Array, ...]
    ) -> tuple[list[Array], Array]:
        """The values of all indices at all points, and the outer point of each."""
        known = dict(zip(binding.outer, outer, strict=True))
        owners = np.arange(len(outer[0]) if outer else 1)
        waiting = list(binding.letters)
        while waiting:
            letter = next(
                x
                for x in waiting
                if x not in binding.ranges or set(binding.ranges[x][1]) <= set(known)
            )
            waiting.remove(letter)
            start, stop = self.ranges[letter]
            if letter in binding.ranges:
                code, used = binding.ranges[letter]
                start, stop = eval(code, self.scope)(*(known[x] for x in used))
            starts = np.broadcast_to(start, owners.shape)
            counts = np.maximum(np.broadcast_to(stop, owners.shape) - starts, 0)
            which = np.repeat(np.arange(len(owners)), counts)
            steps = np.arange(len(which)) - np.repeat(
                np.cumsum(counts) - counts, counts
            )
            known = {x: values[which] for x, values in known.items()}
            known[letter] = starts[which] + steps
            owners = owners[which]
        return [known[x] for x in (*binding.outer, *binding.letters)], owners

    def gathered(self, name: str, values: Array, owners: Array, count: int) -> Array:
        """Reduce the values of each outer point."""
        xp = self.xp
        if not count:
            return xp.zeros(0)
        member = (np.arange(count)[:, None] == owners) * 1.0
        if name in ("max", "min", "prod"):
            if name != "prod" and not member.any(axis=1).all():
                raise Meaningless("the largest of nothing")
            parts = (values[owners == k] for k in range(count))
            return xp.stack([getattr(xp, name)(part) for part in parts])
        if name == "logsumexp":
            return xp.log(member @ xp.exp(values))
        if name == "norm":
            return xp.sqrt(member @ (values * values))
        total = member @ values
        return total / member.sum(axis=1) if name == "mean" else total

    def derive(
        self, kind: str, number: int, by: str, place: Any, outer: Any, *extra: Array
    ) -> Array:
        """A derivative of an expression by an input, or by its entries."""
        xp, jacobian = self.xp, self.scope["__jacobian__"]
        variable = self.scope[by]

        def function(moved: Array) -> Array:
            scope = self.filled(self.again({by: moved}))
            inner = eval(self.reading.inner[number], scope)
            return xp.asarray(inner(*outer)) * 1.0

        def along(f: Any, direction: Array) -> Array:
            line = lambda s: f(variable + s * direction)  # noqa: E731
            return jacobian(line, np.zeros(()))

        if place is not None:
            count = len(outer[0])
            whole = xp.reshape(jacobian(function, variable), (count, -1))
            entry = np.ravel_multi_index(place, np.shape(variable))
            return whole[np.arange(count), entry]
        if kind in ("grad", "jac"):
            return jacobian(function, variable)
        if kind == "hess":
            return jacobian(lambda x: jacobian(function, x), variable)
        if kind == "hvp":
            return along(lambda x: jacobian(function, x), extra[0])
        if kind == "jvp":
            return along(function, extra[0])
        return xp.tensordot(extra[0], jacobian(function, variable), np.ndim(extra[0]))


def at(array: Array, places: tuple[Any, ...]) -> Array:
    """Return entries, all of them inside of their axes."""
    for place, length in zip(places, np.shape(array), strict=False):
        if not isinstance(place, np.ndarray) or not place.size:
            continue
        if place.min() < 0 or place.max() >= length:
            raise Meaningless("a position leaves its axis")
    return array[places]


def letters_of(reading: Reading) -> Iterator[str]:
    """The indices of a text."""
    for binding in reading.bindings:
        yield from binding.letters
