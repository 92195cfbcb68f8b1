"""One larger point a function: code is chosen by size, and small ones see but a part.

Sizes of a hundred or more are too many for every entry of every derivative, but not for
derivatives along a direction, of which a few evaluations of the reference know the
first and the second. What a module returns is projected on the same directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tensorgen.lang import ElaboratedFunction, Program
from tensorgen.operators.references import Array
from tensorgen.operators.references.rounding import largest
from tensorgen.verify.cases import Case
from tensorgen.verify.derivative_claims import (
    DIFFERENCES,
    FIRST,
    FORMULA,
    SECOND,
    SLOPES,
    VALUES,
    Part,
    Rows,
    blocks_of,
)
from tensorgen.verify.findings import Measure
from tensorgen.verify.object_claims import of_itself
from tensorgen.verify.points import WORST_NOISE, Point
from tensorgen.verify.reference import Known, NotFinite, Reference, Unfit


class Large(Point):
    """A point of which values and derivatives along directions are known."""

    def __init__(
        self, function: ElaboratedFunction, program: Program, case: Case
    ) -> None:
        """Compute values; raises `Unfit` where they are not finite, or noise."""
        self.function, self.case = function, case
        with np.errstate(all="ignore"):
            self.references: Mapping[str, Reference] = {
                name: Reference(own, case.values, case.sizes)
                for name, own in function.alone.items()
            }
            self.slopes = {
                name: own.slope(self.direction(0)) if own.wrt else Known(np.zeros(0))
                for name, own in self.references.items()
            }
        for known in (
            *(x.rounded for x in self.references.values()),
            *self.slopes.values(),
        ):
            if not np.all(np.isfinite(known.value)):
                raise NotFinite("a first derivative is not finite")
            if known.error > WORST_NOISE * max(largest(known.value), 1e-6):
                raise Unfit("rounding decides what is computed there")
        self._curvatures: dict[str, Known] = {}

    def curvature(self, name: str) -> Known:
        """Return the second derivative along both directions of a result."""
        if name not in self._curvatures:
            found = self.references[name].along(self.direction(0), self.direction(1))
            self._curvatures[name] = found
        return self._curvatures[name]


def _at(part: Part) -> Large:
    assert isinstance(part.point, Large)
    return part.point


def _along(part: Part, k: int) -> dict[str, Array]:
    """The k-th direction in each variable, in its subspace."""
    own = part.reference
    return own.parts(own.project(part.point.direction(k)))


def _projected(pairs: Iterator[tuple[Array, Array]]) -> tuple[Array, float]:
    """The sum of all products with directions, and how large its terms are."""
    total, size = np.zeros(()), 0.0
    for got, d in pairs:
        total = total + np.tensordot(got, d, d.ndim)
        terms = np.tensordot(np.abs(got), np.abs(d), d.ndim)
        size += largest(terms)
    return total, size


def _value(part: Part) -> Iterator[Measure]:
    got, wanted = part.array(part.got), part.reference.rounded
    yield Measure("value", FORMULA, got, wanted, VALUES, part.code)


def _first(part: Part) -> Iterator[Measure]:
    d, shape = _along(part, 0), part.reference.value.shape
    blocks = [(part.array(got), d[x]) for x, got, _ in part.by_input()]
    if any(got.shape != (*shape, *own.shape) for got, own in blocks):
        got, wanted = np.zeros(()), Known(np.ones(()))  # told at small points as well
        yield Measure("shape", "what is declared", got, wanted, 0.0, part.code)
        return
    found, scale = _projected(iter(blocks))
    yield _slope(part, found, scale)


def _slope(part: Part, found: Array, scale: float) -> Measure:
    wanted = _at(part).slopes[part.name]
    shaped = Known(wanted.value.reshape(part.reference.value.shape), wanted.error)
    return Measure("slope", SLOPES, found, shaped, FIRST, part.code, scale=scale)


def _jacobian(part: Part) -> Iterator[Measure]:
    d, shape = _along(part, 0), part.reference.value.shape
    on, total, scale = part.subject, np.zeros(part.reference.value.size), 0.0
    for x, got, code in part.by_input():
        found = on.numbers(got.matvec(on.array(d[x].ravel()))).ravel()
        total, scale = total + found, scale + largest(found)
        u = part.point.cotangent(part.name, 0).ravel()
        yield from of_itself(got, code, d[x].ravel(), u, on)
    yield _slope(part, total.reshape(shape), scale)


def _jvp(part: Part) -> Iterator[Measure]:
    found = part.array(part.got)
    if part.look == 0:  # along the other direction nothing is known
        yield _slope(part, found, largest(found))


def _vjp(part: Part) -> Iterator[Measure]:
    point, d = _at(part), _along(part, 0)
    found, scale = _projected((part.array(got), d[x]) for x, got, _ in part.by_input())
    total, error = 0.0, 0.0
    for name, slope in point.slopes.items():
        weights = np.ravel(point.cotangent(name, part.look))
        total += weights @ np.ravel(slope.value)
        error += slope.error * float(np.sum(np.abs(weights)))
    wanted = Known(np.asarray(total), error)
    yield Measure("slope", SLOPES, found, wanted, FIRST, part.code, scale=scale)


def _curvature(part: Part, found: Array, scale: float) -> Measure:
    known = _at(part).curvature(part.name)
    wanted = Known(known.value.reshape(found.shape), known.error)
    what, how = "curvature", part.code
    return Measure(what, DIFFERENCES, found, wanted, SECOND, how, scale=scale)


def _hvp(part: Part) -> Iterator[Measure]:
    u = _along(part, 1 - part.look)
    pairs = ((part.array(got), u[x]) for x, got, _ in part.by_input())
    yield _curvature(part, *_projected(pairs))


def _hessian(part: Part) -> Iterator[Measure]:
    own, on = part.reference, part.subject
    d, u = (own.project(part.point.direction(k)) for k in (0, 1))
    product = on.numbers(part.got.matvec(on.array(d)))
    yield _curvature(part, product @ u, float(np.abs(product) @ np.abs(u)))
    yield from of_itself(part.got, part.code, d, u, on)


def _dense_hessian(part: Part) -> Iterator[Measure]:
    d, u = _along(part, 0), _along(part, 1)
    total, scale = np.zeros(part.reference.value.shape), 0.0
    for a, b, got in blocks_of(part):
        found, size = _projected(iter([(part.array(got), d[b])]))
        rows, more = _projected(iter([(found, u[a])]))
        total, scale = total + rows, scale + max(size, more)
    yield _curvature(part, total, scale)


def _nothing(part: Part) -> Iterator[Measure]:
    return iter(())


ROWS: Rows = {
    "value": _value,
    "gradient": _first,
    "jacobian": _jacobian,
    "dense_jacobian": _first,
    "hessian": _hessian,
    "dense_hessian": _dense_hessian,
    "hvp": _hvp,
    "jvp": _jvp,
    "vjp": _vjp,
    "order": _nothing,
    "mixed": _nothing,
    "whole_order": _nothing,
}
"""What is measured of a part of each kind; of tensors of high order, nothing."""
