"""Shapes: lists of sizes, each affine in dims, such as `[n + k - 1, 2*m]`.

Parsed with Python's grammar and never evaluated as Python.
"""

from __future__ import annotations

import ast
import warnings

from tensorgen.errors import Faults, SpecError, Text, fail
from tensorgen.ir.dims import Dim
from tensorgen.spec.expressions import tidy
from tensorgen.spec.names import check_name, in_code
from tensorgen.spec.yaml_nodes import Listing, Node, Scalar, describe

_LONGEST = 200
LARGEST = 10**15
_HINT = "a size is an integer, a dim, or sums and multiples of them: n + 2*k - 1"


class Dims(dict[str, Text]):
    """The dims that occur, in order, each with its first place; `places` has all."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Text] = []

    def note(self, place: Text) -> None:
        """Take up a place of a dim."""
        self.setdefault(place.value, place)
        self.places.append(place)


def read_shape(
    node: Node, name: Text, dims: Dims, faults: Faults
) -> tuple[Dim, ...] | None:
    """Return the shape that a node gives for `name`, noting the dims it mentions."""
    if isinstance(node, Scalar):
        if node.text.value == "scalar":
            return ()
        message = f"the shape of '{name}' must be a list of sizes, not {describe(node)}"
        hint = "write [m, n] for an array, [n] for a vector, scalar for a number"
        faults.add(message, name.span() if node.empty else node.span, hint=hint)
        return None
    if not isinstance(node, Listing):
        message = f"the shape of '{name}' must be a list of sizes, not a mapping"
        faults.add(message, name.span())
        return None
    sizes = [read_size(item, dims, faults) for item in node.items]
    good = [size for size in sizes if size is not None]
    return tuple(good) if len(good) == len(sizes) else None


def read_size(node: Node, dims: Dims, faults: Faults) -> Dim | None:
    """Return one size."""
    if not isinstance(node, Scalar):
        message = f"a size is expected, not {describe(node)}"
        faults.add(message, node.span, hint=_HINT)
        return None
    text = tidy(node.text)
    found = Dims()
    try:
        size = _Size(text, found).read()
    except SpecError as error:
        faults.extend(error.diagnostics)
        return None
    good = [check_name(place, "a dim", faults) for place in found.values()]
    for place in found.places:
        dims.note(place)
    return size if all(good) else None


class _Size:
    """Reads one size from the tree of Python's parser."""

    def __init__(self, text: Text, found: Dims) -> None:
        self.text = text
        self.found = found

    def read(self) -> Dim:
        size = self._size(self._parse())
        if size.constant is not None and size.constant < 0:
            fail("a size cannot be negative", self.text.span())
        return size

    def _parse(self) -> ast.expr:
        # The parser counts columns in bytes, so other letters are refused first.
        if not self.text.value.isascii() or len(self.text.value) > _LONGEST:
            fail("this is not a size", self.text.span(), hint=_HINT)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.text.value, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            fail("this is not a size", self.text.span(), hint=_HINT)

    def _size(self, node: ast.expr) -> Dim:
        match node:
            case ast.Constant(value=int() as value) if type(value) is int:
                size = Dim.of(value)
            case ast.Name(id=name):
                self.found.note(self._place(node))
                size = Dim.symbol(in_code(name))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                size = -self._size(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                size = self._size(operand)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                size = self._size(left) + self._size(right)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                size = self._size(left) - self._size(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                size = self._size(left) * self._size(right)
            case _:
                fail("this is not a size", self._place(node).span(), hint=_HINT)
        # At once, since products of sums could grow without bound.
        if size.degree > 1:
            fail("a size must be affine in dims", self._place(node).span(), hint=_HINT)
        if not all(-LARGEST <= c <= LARGEST for _, c in size.terms):
            fail("this size is too large", self._place(node).span())
        return size

    def _place(self, node: ast.expr) -> Text:
        return self.text.slice(node.col_offset, node.end_col_offset)
