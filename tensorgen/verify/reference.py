"""What a function and its derivatives are at a point, by the interpreter alone.

Inputs to differentiate by are one flat vector x here, raveled in C order, and values
one flat vector f. First derivatives are complex steps, exact but for rounding; each
further order is a central difference of these, and says how far it can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tensorgen.calculus.metrics import axes_of
from tensorgen.errors import InternalError
from tensorgen.ir.nodes import Call, Node, topological
from tensorgen.lang import ElaboratedFunction
from tensorgen.operators.promise_calls import PROMISES, STOPPED
from tensorgen.operators.recurrences.recurrence import everything
from tensorgen.operators.references import Array
from tensorgen.operators.references.rounding import furthest, largest, moved
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.solved_arrays import equation_of, is_unknown
from tensorgen.verify.exact import exactly
from tensorgen.verify.interpret import entries, evaluate

STEP = 1e-30
"""Of complex steps: its square is nothing."""

STEPS = {1: 1e-3, 2: 4e-3, 3: 1e-2}
"""Of central differences, by how many are taken of each other."""

LARGEST, WIDEST = 2_000_000, 2_000
"""Entries of a product that is spelled out, and of all that is differentiated by."""

HIGHEST = 4
"""The highest order of derivatives that differences can resolve."""


OF_SYMMETRIC_PART = ("cholesky", "eigvalsh", "eigvecsh", "sqrtm", "logm")
"""Operators of the symmetric part of matrices, also where these are promised to be."""


class Unfit(Exception):
    """A point at which nothing can be compared, and why."""


class NotFinite(Unfit):
    """A point at which there are no numbers to compare."""


class TooLarge(Unfit):
    """Sizes at which the reference would take too long, whatever the numbers."""


@dataclass(frozen=True)
class Known:
    """A number or an array of them, and how far each may be off."""

    value: Array
    error: float = 0.0


def _reached(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield all nodes below some, those of steps and equations too."""
    for node in everything(topological(nodes)):
        yield node
        if is_unknown(node):
            yield from _reached([equation_of(node).residual])


class Interpreter:
    """The values of nodes for given inputs, with what is fixed between them.

    A value whose gradient is stopped stays what it was at the first point.
    """

    def __init__(self, nodes: Sequence[Node], sizes: Mapping[str, int]) -> None:
        """Refuse what only the module itself can compute."""
        called = {x.operator for x in _reached(nodes) if isinstance(x, Call)}
        if "external" in called:
            raise Unfit("it calls functions from outside, which the reference lacks")
        if {STOPPED, "unknown"} <= called:
            raise Unfit("the reference supports no constants within equations")
        if any(entries(x, sizes) > LARGEST for x in _reached(nodes)):
            raise TooLarge("its products have too many entries for the reference")
        self.nodes, self.sizes = nodes, sizes
        self._stopped: list[Array] | None = None
        self._operators = OPERATORS | {x: _of_even(x) for x in OF_SYMMETRIC_PART}

    def __call__(self, given: Mapping[str, Array]) -> list[Array]:
        """Return the values; raises `Unfit` where a promise is broken."""
        kept, made = self._stopped, list[Array]()
        old = iter(kept or ())

        def stopped(value: Array) -> Array:
            made.append(np.real(value) if kept is None else next(old))
            return made[-1]

        operators: dict[str, Callable[..., Array]]
        operators = {**self._operators, STOPPED: stopped}
        if kept is None:
            # Elsewhere is near by: there a promise may hold no more.
            operators |= {what: _promised(what) for what in PROMISES}
            operators |= {what: _looked_up(what) for what in _LOOKED_UP}
        try:
            found = evaluate(self.nodes, given, FUNCTIONS, operators, self.sizes)
        except (np.linalg.LinAlgError, InternalError, ZeroDivisionError) as error:
            raise Unfit(f"the reference has no value there: {error}") from error
        if kept is None:
            self._stopped = made
        return found


# Which argument has to be in order: what is emitted looks there by halves.
_LOOKED_UP = {"interval": 1, "count_within": 0, "count_below": 0}


def _looked_up(what: str) -> Callable[..., Array]:
    def looked_up(*args: Array, **params: object) -> Array:
        if np.any(np.diff(np.real(args[_LOOKED_UP[what]])) < 0):
            raise Unfit("knots, or other arrays that are searched, are not ascending")
        return np.asarray(OPERATORS[what](*args, **params))

    return looked_up


def _promised(what: str) -> Callable[[Array], Array]:
    def promised(value: Array) -> Array:
        real = np.real(value)
        holds = np.allclose(real, np.swapaxes(real, -1, -2), rtol=1e-12, atol=1e-12)
        if what == "spd":
            holds = holds and bool(np.all(np.linalg.eigvalsh(real) > 1e-9))
        if not holds:
            raise Unfit(f"what is promised to be {PROMISES[what]} is not")
        return value

    return promised


def _of_even(operator: str) -> Callable[[Array], Array]:
    return lambda a: OPERATORS[operator]((a + np.swapaxes(a, -1, -2)) / 2)


class Reference:
    """One function, or one result of several, at one point."""

    def __init__(
        self,
        function: ElaboratedFunction,
        given: Mapping[str, Array],
        sizes: Mapping[str, int],
        most: bool = False,
    ) -> None:
        """Look at the function at the point where inputs are as `given`.

        Where not even all of the value is finite, only `most` of it is looked at.
        """
        self._function = function
        self.given = dict(given)
        self.wrt = tuple(wrt.name for wrt in function.spec.wrt)
        self.shapes = {x: np.shape(given[x]) for x in self.wrt}
        self._spaces = {w.name: w.subspace for w in function.spec.wrt if w.subspace}
        self._metrics = dict(function.metrics)
        self._metric = self._metrics.pop(function.spec.name, None)
        self._dims = {x.name: x.shape for x in function.arguments}
        self._run = Interpreter([function.node], sizes)
        self._sizes = sizes
        self.value: Array = np.real(self._run(self.given)[0])
        self._holds: Callable[[Array], Any] = np.any if most else np.all
        if self.value.size and not self._holds(np.isfinite(self.value)):
            raise NotFinite("the value is not finite")

    @cached_property
    def x(self) -> Array:
        """The point, flat."""
        return self.flat(self.given)

    @cached_property
    def scale(self) -> float:
        """How large entries of the point are, at least 1e-3."""
        return max(float(np.max(np.abs(self.x), initial=0.0)), 1e-3)

    def expected(self, order: int) -> float:
        """How large derivatives of an order are at least taken to be, for rounding."""
        value = largest(self.value)
        return 1e-2 * value / self.scale**order

    def flat(self, parts: Mapping[str, Array]) -> Array:
        """Return what belongs to each variable as one vector."""
        every = [np.ravel(np.asarray(parts[x], float)) for x in self.wrt]
        return np.concatenate([np.zeros(0), *every])

    def parts(self, flat: Array) -> dict[str, Array]:
        """Return what belongs to each variable of a vector, the last axis of `flat`."""
        found, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + int(np.prod(shape, dtype=int))
            found[name] = flat[..., start:stop].reshape((*flat.shape[:-1], *shape))
            start = stop
        return found

    def _at(self, x: Array) -> Array:
        moved = {**self.given, **self.parts(x)}
        return np.ravel(self._run(moved)[0])

    def _slope(self, x: Array, direction: Array) -> Array:
        """The derivative along a direction, by a complex step.

        Products with infinite constants have no complex numbers, but real ones.
        """
        found = np.imag(self._at(x + STEP * 1j * direction)) / STEP
        if np.all(np.isfinite(found)):
            return found
        h = STEPS[1] * self.scale / max(float(np.max(np.abs(direction))), 1e-300)
        return _central(lambda k: np.real(self._at(x + k * h * direction)), h)

    def _columns(self, x: Array) -> Array:
        if len(x) > WIDEST:
            raise TooLarge("it has too many variables for the reference")
        columns = [self._slope(x, unit) for unit in np.eye(len(x))]
        return np.array(columns).reshape(len(x), self.value.size).T

    def look(self, most: float) -> None:
        """Raise `Unfit` where the last bits of inputs move values more than `most`."""
        for known in (self.measured, self.jacobian):
            if known.error > most * max(largest(known.value), 1e-6):
                raise Unfit("rounding decides what is computed there")

    @cached_property
    def measured(self) -> Known:
        """The value, and how far the last bits of the inputs move it."""
        exact = self.exact
        value = self.value if exact is None else exact
        return Known(value, self.rounded.error)

    @cached_property
    def rounded(self) -> Known:
        """The value in doubles, and how far the last bits of the inputs move it."""
        return Known(self.value, furthest(self._near.value, self.value))

    @cached_property
    def exact(self) -> Array | None:
        """The value of many digits, rounded; None where that is impossible."""
        found = exactly(self._function.node, self.given, self._sizes)
        if found is None or not np.all(np.isfinite(found) >= np.isfinite(self.value)):
            return None
        return found.reshape(self.value.shape)

    def slope(self, direction: Array) -> Known:
        """Return the derivative along a direction of x's subspaces."""
        d, near = self.project(direction), self._near
        found = self._slope(self.x, d)
        return Known(found, furthest(near._slope(near.x, d), found))

    @cached_property
    def jacobian(self) -> Known:
        """The derivative, a row for each entry of f and a column for each of x."""
        found = self._projected(self._columns(self.x))
        if found.size and not self._holds(np.isfinite(found)):
            raise NotFinite("a first derivative is not finite")
        new = self._projected(self._near._columns(self._near.x))
        return Known(found, furthest(new, found))

    @cached_property
    def _near(self) -> Reference:
        """The same function where the last bits of all inputs differ."""
        near = {
            name: x if np.asarray(x).dtype.kind in "iu" else moved(x)
            for name, x in self.given.items()
        }
        return Reference(self._function, near, self._sizes, self._holds is np.any)

    def second(self, direction: Array) -> Known:
        """Return the derivative of `jacobian` along a direction of x's subspaces."""
        d = self.project(direction)

        def along(x: Array) -> Array:
            return self._projected(self._columns(x))

        return self._differences(along, [d])

    def along(self, *directions: Array) -> Known:
        """Return the derivative of f along several directions, one after another."""
        first, *rest = map(self.project, directions)
        return self._differences(lambda x: self._slope(x, first), rest)

    def _differences(
        self, what: Callable[[Array], Array], directions: Sequence[Array]
    ) -> Known:
        """Central differences of the fourth order; what a wider step moves is error."""
        if not directions:
            return Known(what(self.x))
        step = STEPS[len(directions)] * self.scale
        near, far = (
            self._nested(what, self.x, directions, h) for h in (step, 2 * step)
        )
        if near.size and not self._holds(np.isfinite(near + far)):
            raise NotFinite("a derivative is not finite")
        # The wider step is off by sixteen times as much, or by less noise.
        return Known(near, largest(near - far))

    def _nested(
        self,
        what: Callable[[Array], Array],
        x: Array,
        directions: Sequence[Array],
        step: float,
    ) -> Array:
        if not directions:
            return what(x)
        d, *rest = directions
        length = max(float(np.max(np.abs(d), initial=0.0)), 1e-300)
        h = step / length

        def at(k: int) -> Array:
            return self._nested(what, x + k * h * d, rest, step)

        return _central(at, h)

    def project(self, vectors: Array) -> Array:
        """Project the last axis on the subspaces of the variables."""
        return self._projected(np.asarray(vectors, float))

    def _projected(self, rows: Array) -> Array:
        if not self._spaces:
            return rows
        parts = self.parts(rows)
        for name, space in self._spaces.items():
            parts[name] = SPACES[space](parts[name])
        return self._joined(rows, parts)

    def vectors(self, rows: Array) -> Array:
        """Return derivatives, in the last axis, as vectors of the inner products."""
        if not self._metrics:
            return rows
        parts = self.parts(rows)
        for name, matrix in self._metrics.items():
            (inner,) = Interpreter([matrix], self._sizes)(self.given)
            axes = axes_of(matrix, self._dims[name])
            assert axes is not None
            own = parts[name].reshape(-1, len(inner), max(self._rest(name, axes), 1))
            parts[name] = np.linalg.solve(np.real(inner), own)
        return self._joined(rows, parts)

    def lowered(self, cotangent: Array) -> Array:
        """Return what a vector of values, in their inner product, pairs them with."""
        if self._metric is None:
            return np.ravel(cotangent)
        (inner,) = Interpreter([self._metric], self._sizes)(self.given)
        return np.ravel(np.real(inner) @ np.reshape(cotangent, (len(inner), -1)))

    def _rest(self, name: str, axes: int) -> int:
        return int(np.prod(self.shapes[name][axes:], dtype=int))

    def _joined(self, rows: Array, parts: Mapping[str, Array]) -> Array:
        lead = rows.shape[:-1]
        return np.concatenate(
            [parts[x].reshape((*lead, -1)) for x in self.wrt], axis=-1
        )


def _central(at: Callable[[int], Array], h: float) -> Array:
    """The central difference of the fourth order, of steps h."""
    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h)


def _symmetric(g: Array) -> Array:
    return (g + np.swapaxes(g, -1, -2)) / 2


def _skew(g: Array) -> Array:
    return (g - np.swapaxes(g, -1, -2)) / 2


def _diagonal(g: Array) -> Array:
    return g * np.eye(g.shape[-1])


SPACES: Mapping[str, Callable[[Array], Array]] = {
    "symmetric": _symmetric,
    "skew": _skew,
    "diagonal": _diagonal,
    "lower": np.tril,
}
"""The projections on subspaces, by their names in specs."""
