"""The reference interpreter: what nodes mean, slowly and obviously.

`tensorgen verify` holds modules against it, and tests every rewrite, so it takes no
shortcut: a product is spelled out over all values of all its labels before anything
is summed. Complex arguments pass through, so that a complex step differentiates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tensorgen.errors import InternalError
from tensorgen.fields.doubles import Doubles, Table, Tabled
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Call, Input, Node, Product, topological
from tensorgen.operators.references import Array
from tensorgen.operators.solved_arrays import equation_of, is_unknown

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def evaluate(
    nodes: Iterable[Node],
    arguments: Mapping[str, ArrayLike],
    functions: Table,
    operators: Table,
    sizes: Mapping[str, int] | None = None,
    field: type[Doubles] = Doubles,
) -> list[Array]:
    """Return the values of `nodes` for the named `arguments`.

    `functions` gives the elementwise functions of maps, `operators` those of calls.
    The dims follow from the shapes of the inputs below `nodes`; `sizes` gives those
    that no such input bears. Numbers are those of a `field`. Raises
    `InternalError` where a dim stays unknown or a value has not the shape that its node
    promises.
    """
    roots = list(nodes)
    inputs = [node for node in topological(roots) if isinstance(node, Input)]
    given = {name: np.asarray(value) for name, value in arguments.items()}
    known = dict(sizes or {})
    known.update(bind(((node.dims, given[node.name].shape) for node in inputs), known))
    numbers = field(functions, operators)
    own = SpelledOut(numbers, known, lambda node: given[node.name])
    with np.errstate(all="ignore"):
        return own.all(roots)


def bind(
    shapes: Iterable[tuple[Sequence[Dim], Sequence[int]]],
    known: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Return the dim symbols that make each pair of dims and lengths equal.

    Solves one linear equation at a time, those with one unknown symbol first.
    Raises `InternalError` where two lengths contradict each other.
    """
    sizes = dict(known or {})
    open_ = [pair for dims, shape in shapes for pair in zip(dims, shape, strict=True)]
    progress = True
    while open_ and progress:
        progress, later = False, []
        for dim, length in open_:
            unknown = [s for s in dim.symbols if s not in sizes]
            if not unknown:
                if dim.value(sizes) != length:
                    raise InternalError(f"{dim} is {dim.value(sizes)}, not {length}")
            elif len(unknown) == 1 and _is_linear(dim, unknown[0]):
                sizes[unknown[0]] = _solve(dim, unknown[0], sizes, length)
                later.append((dim, length))
                progress = True
            else:
                later.append((dim, length))
        progress = progress or len(later) < len(open_)
        open_ = later
    return sizes


def _is_linear(dim: Dim, symbol: str) -> bool:
    return all(monomial.count(symbol) <= 1 for monomial, _ in dim.terms)


def _solve(dim: Dim, symbol: str, sizes: Mapping[str, int], length: int) -> int:
    rest = dim.value({**sizes, symbol: 0})
    slope = dim.value({**sizes, symbol: 1}) - rest
    return (length - rest) // slope if slope else 0


def entries(node: Node, sizes: Mapping[str, int]) -> int:
    """How many numbers a product is spelled out to, as far as sizes are known."""
    if not isinstance(node, Product):
        return 0
    known = (dim for dim in node.sizes if sizes.keys() >= {*dim.sources})
    return prod(max(dim.value(sizes), 0) for dim in known)


class SpelledOut(Tabled):
    """Products spelled out, and equations solved."""

    def product(self, node: Product) -> Array:
        """All entries for all values of the labels, then summed."""
        lengths = self.lengths(node.sizes)
        total: Array = self.field.number(node.coefficient)
        for factor, labels in node.factors:
            found = self.aligned(self.values[factor], labels, len(lengths))
            # Laid out alike, and so summed alike, however the axes of factors stand.
            total = np.multiply(total, found, order="C")
        for kind, form in node.constraints:
            at = self.places(form, range(len(lengths)), lengths)
            # Selected, not multiplied: what is excluded may be infinite.
            total = np.where(at == 0 if kind == "eq" else at >= 0, total, 0.0)
        summed = tuple(range(node.order, len(lengths)))
        return np.broadcast_to(total, lengths).sum(axis=summed) if summed else total

    def called(self, node: Call, args: Sequence[Array]) -> Array:
        """The value of a function, or what solves an equation."""
        if is_unknown(node):
            return self._solution(node, args)
        return super().called(node, args)

    def _solution(self, node: Call, args: Sequence[Array]) -> Array:
        """What solves an equation, by Newton's steps; small parts may be complex."""
        equation = equation_of(node)

        def residual(y: Array, args: Iterable[Array]) -> Array:
            places = {equation.unknown: y} | dict(
                zip(equation.places, args, strict=True)
            )
            inner = self.inside(self.sizes, places.__getitem__)
            return inner.of(equation.residual)

        y = np.zeros(self.lengths(node.dims))
        real = [np.real(value) for value in args]
        for _ in range(99):
            unit = 1e-30j * np.eye(y.size).reshape(y.size, *y.shape)
            rows = [np.imag(residual(np.real(y) + e, real)) / 1e-30 for e in unit]
            slope = np.array(rows).reshape(y.size, y.size).T
            step = np.linalg.solve(slope, np.ravel(residual(y, args)))
            # Far steps lead anywhere.
            step = step / max(1.0, np.max(np.abs(np.real(step)), initial=0.0))
            y = y - step.reshape(y.shape)
            pairs = [(np.real(step), np.real(y)), (np.imag(step), np.imag(y))]
            largest = [[np.max(np.abs(x), initial=0.0) for x in pair] for pair in pairs]
            if all(moved <= 1e-12 * size for moved, size in largest):
                return y
        raise InternalError("Newton's iteration does not converge")
