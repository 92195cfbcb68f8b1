"""What the builders of functions work on: arrays with named leading axes.

The axes that carry an index of index notation come first and bear labels (`batch`);
the positional axes that NumPy's rules are about follow. So `q[i, :]` has the batch
`(i,)` and the shape of its second axis alone, and every builder serves both notations.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from tensorgen.ir.dims import ONE, Dim, tuple_text
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Lookup, Node, delta

Label = Hashable
Place = str | tuple[str, int]
Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """A node whose first axes bear the labels `batch`."""

    node: Node
    batch: tuple[Label, ...] = ()

    @property
    def shape(self) -> Shape:
        """The dims of the positional axes."""
        return self.node.dims[len(self.batch) :]

    @property
    def order(self) -> int:
        """The number of positional axes."""
        return len(self.node.dims) - len(self.batch)

    def labels(self, positional: Iterable[Label]) -> tuple[Label, ...]:
        """The labels of all axes, given those of the positional ones."""
        return (*self.batch, *positional)


class Misuse(Exception):
    """Arguments that a function cannot take; the caller knows where they stand.

    `marks` pairs an argument (its parameter, or that and its number among several)
    with what is said of it.
    """

    def __init__(
        self,
        message: str,
        marks: Sequence[tuple[Place, str]] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.marks = tuple(marks)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class SizeCheck:
    """What a generated function checks when it runs: `size >= 0`.

    With `whole` it is that `size`, a quotient such as `n // 2`, leaves no remainder.
    """

    size: Dim
    message: str
    whole: bool = False


def verdict(size: Dim) -> Literal["always", "check", "never"]:
    """Whether `size >= 0` holds for all dims from 0 on, for none from 1 on, or else.

    A proof that rests on dims being at least 1 asks for a check, since arrays of
    length 0 are arguments like others.
    """
    if all(coefficient >= 0 for _, coefficient in size.terms):
        return "always"
    return "never" if (-size).is_positive() else "check"


def condition(size: Dim) -> str:
    """Return `size >= 0` without minus signs, e.g. `m + 1 <= n`."""
    size, _ = size.whole
    left = Dim((monomial, -c) for monomial, c in size.terms if c < 0)
    right = Dim((monomial, c) for monomial, c in size.terms if c > 0)
    return f"{left} <= {right}"


@dataclass(slots=True)
class Build:
    """A graph to build in, and the size conditions met on the way."""

    graph: Graph
    checks: dict[SizeCheck, None] = field(default_factory=dict)

    def require(
        self, low: Dim | int, high: Dim | int, what: str, at: Place | None = None
    ) -> None:
        """Demand `low <= high`: prove it, refute it, or note it to be checked."""
        holds = verdict(Dim.of(high) - Dim.of(low))
        if holds == "never":
            marks = [] if at is None else [(at, f"{low} > {high}")]
            raise Misuse(f"{what} needs {low} <= {high}", marks)
        if holds == "check":
            size = Dim.of(high) - Dim.of(low)
            self.checks[SizeCheck(size, f"{what} needs {condition(size)}")] = None

    def quotient(self, size: Dim, divisor: int, what: str) -> Dim:
        """Return `size // divisor`, a size itself; that nothing is left is checked."""
        text = f"{what} needs {size} to be a multiple of {divisor}"
        found = size * Fraction(1, divisor)
        self.checks[SizeCheck(found, text, whole=True)] = None
        return found

    def equal(self, a: Dim, b: Dim, what: str, at: Place | None = None) -> None:
        """Demand `a == b`: prove it, refute it, or note it to be checked."""
        differences = (a - b, b - a)
        if a != b and "never" in map(verdict, differences):
            raise Misuse(what, [] if at is None else [(at, f"{a} is not {b}")])
        for size in differences if a != b else ():
            self.checks[SizeCheck(size, what)] = None


def union(arrays: Iterable[Array]) -> tuple[Label, ...]:
    """The labels of all batches, in the order in which they first occur."""
    return tuple(dict.fromkeys(label for array in arrays for label in array.batch))


def number(build: Build, value: int | Fraction) -> Array:
    """Return a rational number."""
    return Array(build.graph.constant(value))


def product(
    build: Build,
    out: Sequence[Label],
    operands: Iterable[tuple[Array, Sequence[Label]]],
    *,
    coefficient: int | Fraction = 1,
    constraints: Iterable[Constraint] = (),
    sizes: Mapping[Label, Dim] | None = None,
) -> Array:
    """Return the product of operands by labels of their positional axes."""
    pairs = list(operands)
    batch = union(array for array, _ in pairs)
    node = build.graph.product(
        (*batch, *out),
        [(array.node, array.labels(labels)) for array, labels in pairs],
        coefficient=coefficient,
        constraints=constraints,
        sizes=sizes,
    )
    return Array(node, batch)


OLD = "old"
"""The label of an axis of which the entries move."""


def replaced(
    build: Build, x: Array, axis: int, constraint: Constraint, length: Dim
) -> Array:
    """Replace an axis, now `OLD`, by one of a length that a constraint ties to it."""
    labels: list[Label] = list(range(x.order))
    labels[axis] = OLD
    return product(
        build,
        range(x.order),
        [(x, labels)],
        constraints=[constraint],
        sizes={axis: length},
    )


def taken(
    build: Build, x: Array, labels: Sequence[Label], at: Array, shift: int = 0
) -> Array:
    """The entries of x that an index array takes along `OLD`, or so far behind them."""
    axes = range(at.order)
    place = Lookup(at.node, at.labels(axes))
    batch = union([x, at])
    sizes: dict[Label, Dim] = dict(zip(place.labels, at.node.dims, strict=True))
    node = build.graph.product(
        (*batch, *axes),
        [(x.node, x.labels(labels))],
        constraints=[delta({OLD: 1, place: -1}, -shift)],
        sizes=sizes,
    )
    return Array(node, batch)


def squeeze_axes(build: Build, x: Array, axes: Sequence[int]) -> Array:
    """Drop axes of length 1."""
    if not axes:
        return x
    kept = [a for a in range(x.order) if a not in axes]
    # A delta rather than a sum over one entry: so nothing is added up.
    return product(
        build,
        kept,
        [(x, range(x.order))],
        constraints=[delta({axis: 1}) for axis in axes],
    )


def insert_axes(build: Build, x: Array, axes: Sequence[int], order: int) -> Array:
    """Make an array of `order` axes whose `axes` are new, of length 1."""
    if not axes:
        return x
    kept = [a for a in range(order) if a not in axes]
    return product(build, range(order), [(x, kept)], sizes=dict.fromkeys(axes, ONE))


def common_shape(shapes: Sequence[Shape]) -> Shape | None:
    """The shape to which all broadcast, or None; only a literal 1 is stretched."""
    result: list[Dim] = []
    for back in range(max(map(len, shapes), default=0)):
        dims = [shape[-1 - back] for shape in shapes if back < len(shape)]
        wide = [dim for dim in dims if dim != 1] or [ONE]
        if any(dim != wide[0] for dim in wide):
            return None
        result.insert(0, wide[0])
    return tuple(result)


def align(
    build: Build,
    arrays: Sequence[Array],
    what: str,
    places: Sequence[Place] | None = None,
    trailing: Sequence[int] | None = None,
) -> tuple[Shape, list[tuple[Array, tuple[Label, ...]]]]:
    """Broadcast the leading axes of arrays, all but the last `trailing` of each.

    Returns the common shape and each array with the labels of those axes, which are
    the numbers of the axes of the result. Axes that are stretched are dropped. Arrays
    without `places` are operands with numbers.
    """
    tails = trailing or [0] * len(arrays)
    heads = [a.shape[: a.order - t] for a, t in zip(arrays, tails, strict=True)]
    shape = common_shape(heads)
    if shape is None:
        at = places or [("operand", k) for k in range(len(arrays))]
        marks = [(p, tuple_text(x.shape)) for p, x in zip(at, arrays, strict=True)]
        raise Misuse(f"shapes do not match in {what}", marks)
    aligned: list[tuple[Array, tuple[Label, ...]]] = []
    for array, head in zip(arrays, heads, strict=True):
        offset = len(shape) - len(head)
        stretched = [k for k, d in enumerate(head) if d != shape[offset + k]]
        labels = tuple(offset + k for k in range(len(head)) if k not in stretched)
        aligned.append((squeeze_axes(build, array, stretched), labels))
    return shape, aligned


def spread(build: Build, x: Array, shape: Shape, labels: Sequence[Label]) -> Array:
    """Broadcast `x`, whose axes have numbers of axes as labels, to `shape`."""
    return product(build, range(len(shape)), [(x, labels)], sizes=by_axis(shape))


def by_axis(shape: Shape) -> dict[Label, Dim]:
    """The dims of the axes 0, 1, ..."""
    return dict(enumerate(shape))


def shorter(m: Dim, n: Dim) -> Dim:
    """The smaller one of two sizes of a matrix."""
    if (m - n).is_nonnegative():
        return n
    if (n - m).is_nonnegative():
        return m
    hint = "a size that is not smaller is stated as a sum: [n + k, n]"
    raise Misuse(f"which of {m} and {n} is shorter is not known", [("A", "")], hint)
