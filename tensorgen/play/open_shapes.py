"""The shapes that an expression leaves open: its axes, and which of them are as long.

Nothing is checked here: that is the language's business, which is asked afterwards. An
axis of which nothing is known has a length of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files

from tensorgen.errors import Text
from tensorgen.frontends.open_axes import Axes
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.spec.clauses import split_statements

Shape = tuple[int, ...] | None
"""The axes of a value by number; None where nobody knows."""


class Reader:
    """Reads expressions over variables of known shapes, and joins axes."""

    def __init__(self, axes: Axes, variables: Mapping[str, Shape]) -> None:
        self.axes = axes
        self.variables = variables
        self._indices: dict[str, int] = {}

    def shape(self, node: ast.expr) -> Shape:
        """Return the shape of a value; axes that must be as long are joined."""
        match node:
            case ast.Constant():
                return ()
            case ast.Name(id=name):
                return self.variables.get(name, ())
            case ast.UnaryOp(operand=operand):
                return self.shape(operand)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return self.product(self.shape(left), self.shape(right))
            case ast.BinOp(left=left, right=right):
                return self.together([self.shape(left), self.shape(right)])
            case ast.Compare(left=left, comparators=others):
                return self.together([self.shape(x) for x in (left, *others)])
            case ast.Attribute(value=value, attr="T"):
                found = self.shape(value)
                return None if found is None else found[::-1]
            case ast.Subscript(value=value, slice=place):
                return self.entry(self.shape(value), place)
            case ast.Call(func=ast.Name(id=name)):
                return self.call(name, node)
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.expr):
                self.shape(inner)
        return None

    def together(self, shapes: Sequence[Shape]) -> Shape:
        """Join shapes as broadcasting does, from behind."""
        known = [x for x in shapes if x is not None]
        longest = max(known, key=len, default=())
        for shape in known:
            for one, other in zip(shape[::-1], longest[::-1], strict=False):
                self.axes.join(one, other)
        return longest if len(known) == len(shapes) else None

    def product(self, left: Shape, right: Shape) -> Shape:
        """Join the axes over which `@` sums."""
        if not left or not right:
            return None
        self.axes.join(left[-1], right[-2:][0])
        if len(left) > 2 or len(right) > 2:
            return None
        return (*left[:-1], *right[1:][-1:])

    def entry(self, shape: Shape, place: ast.expr) -> Shape:
        """Join the axes that are read at the same index; slices say nothing."""
        places = place.elts if isinstance(place, ast.Tuple) else [place]
        if shape is None or len(places) > len(shape):
            return None
        for axis, own in zip(shape, places, strict=False):
            if isinstance(own, ast.Name) and own.id not in self.variables:
                self.axes.join(axis, self._indices.setdefault(own.id, axis))
            elif not isinstance(own, ast.Slice):
                self.shape(own)
        if all(isinstance(x, ast.Name | ast.Constant | ast.BinOp) for x in places):
            return shape[len(places) :]
        return None

    def call(self, name: str, node: ast.Call) -> Shape:
        """Return the shape of a call, by what the table of functions says of it."""
        if name in _prelude():
            names, body = _prelude()[name]
            given = dict(zip(names, map(self.shape, node.args), strict=False))
            return Reader(self.axes, given).shape(body)
        row = FUNCTIONS.get(name)
        if row is None or not node.args or isinstance(node.args[0], ast.Starred):
            return None
        if row.reduces:
            return self.reduced(node)
        if name in _MADE:
            return _MADE[name](self, node.args)
        if row.shape not in _RULES or (row.shape == _GIVEN_ORDER and node.args[1:]):
            for argument in node.args:
                self.shape(argument)
            return None
        return _RULES[row.shape](self, [self.shape(x) for x in node.args])

    def reduced(self, node: ast.Call) -> Shape:
        """The shape behind a reduction, over all axes, one axis or an index."""
        shape = self.shape(node.args[0])
        options = {x.arg: x.value for x in node.keywords}
        if "keepdims" in options:
            return None
        bound = [x for x in node.args[1:] if isinstance(x, ast.Name | ast.Compare)]
        if bound or options.keys() - {"axis", "ord", "ddof"}:
            return shape
        if "axis" not in options:
            return ()
        try:
            axis = ast.literal_eval(options["axis"])
        except ValueError:
            return None
        if shape is None or not isinstance(axis, int) or not shape:
            return None
        axis %= len(shape)
        return shape[:axis] + shape[axis + 1 :]

    def square(self, shape: Shape) -> Shape:
        """Join both axes of a matrix."""
        if shape is not None and len(shape) > 1:
            self.axes.join(shape[-2], shape[-1])
        return shape

    def solved(self, shapes: Sequence[Shape]) -> Shape:
        """Join what `solve(A, b)` needs."""
        matrix, right = self.square(shapes[0]), (*shapes, None)[1]
        self.product(matrix, right)
        return right

    def sizes(self, given: Sequence[ast.expr]) -> Shape:
        """The shape that has these lengths."""
        found = []
        for size in given:
            name = size.id if isinstance(size, ast.Name) else None
            found.append(self.axes.named(name) if name else self.axes.fresh())
        return (*found,)


def _cut(shape: Shape, count: int) -> Shape:
    return None if shape is None else shape[: len(shape) - count]


def _diagonal(shape: Shape) -> Shape:
    if shape is None or len(shape) > 2:
        return None
    return shape * 2 if len(shape) == 1 else shape[:1]


def _outer(shapes: Sequence[Shape]) -> Shape:
    sides = [x for x in shapes if x is not None and len(x) == 1]
    return (*sides[0], *sides[1]) if len(sides) == 2 else None


def _reversed(shape: Shape) -> Shape:
    return None if shape is None else shape[::-1]


_GIVEN_ORDER = "A.shape in that order"
_RULES: Mapping[str, Callable[[Reader, list[Shape]], Shape]] = {
    "broadcast": lambda reader, shapes: reader.together(shapes),
    "shape of x": lambda reader, shapes: shapes[0],
    "shape of A": lambda reader, shapes: reader.square(shapes[0]),
    "A.shape[:-1]": lambda reader, shapes: _cut(reader.square(shapes[0]), 1),
    "A.shape[:-2]": lambda reader, shapes: _cut(reader.square(shapes[0]), 2),
    "A.shape[2:]": lambda reader, shapes: _cut(reader.square(shapes[0]), 2),
    "as of A @ b": lambda reader, shapes: reader.solved(shapes),
    "as of a @ b": lambda reader, shapes: reader.product(*shapes[:2]),
    "a.shape[:-1] + the rest of b": lambda reader, shapes: reader.product(*shapes[:2]),
    "()": lambda reader, shapes: _cut(reader.together(shapes), 2),
    "(size of a, size of b)": lambda reader, shapes: _outer(shapes),
    "(n, n) or (n,)": lambda reader, shapes: _diagonal(shapes[0]),
    _GIVEN_ORDER: lambda reader, shapes: _reversed(shapes[0]),
    "A.shape, its last two swapped": lambda reader, shapes: _reversed(shapes[0]),
}
"""What a row of the table of functions says of a shape, as a rule."""

_MADE: Mapping[str, Callable[[Reader, list[ast.expr]], Shape]] = {
    "eye": lambda reader, given: reader.sizes((given * 2)[:2]),
    "ones": lambda reader, given: reader.sizes(given),
    "zeros": lambda reader, given: reader.sizes(given),
    "arange": lambda reader, given: reader.sizes(given[:1]),
}
"""The shapes of what is made of sizes alone."""
SIZES = (*_MADE, "range")
"""What is called with sizes alone."""


@cache
def _prelude() -> dict[str, tuple[list[str], ast.expr]]:
    """The definitions of the prelude: parameters and what they stand for."""
    text = files("tensorgen.lang").joinpath("prelude.tg").read_text(encoding="utf-8")
    found = {}
    for statement in split_statements(Text.plain(text, "prelude.tg")):
        left, _, body = statement.value.partition(" = ")
        call = ast.parse(left, mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        names = [x.id for x in call.args if isinstance(x, ast.Name)]
        found[call.func.id] = (names, ast.parse(body, mode="eval").body)
    return found
