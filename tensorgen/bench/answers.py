"""Results compared with what they ought to be, before anything is timed.

Against JAX, number by number; where it has no counterpart, against the formula: a
result that is multiplied by directions is a derivative along them, which complex steps
and their differences tell at any size, a few values at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorgen.calculus.kinds import Kind
from tensorgen.lang import ElaboratedFunction
from tensorgen.verify.cases import Case
from tensorgen.verify.reference import HIGHEST, Reference, Unfit
from tensorgen.verify.verified_modules import Subject

Array = Any

JAX, FORMULA = "JAX", "the formula"
AGREEMENT = 1e-6
"""What numbers of JAX may differ by, relative to the largest one of an array."""

TOLERANCES = (1e-9, 1e-7, 1e-5, 1e-3, 1e-2)
"""What a derivative of each order along directions may, relative to its factors."""


@dataclass(frozen=True)
class Answer:
    """How far a result is off, and from what; why nothing was compared."""

    against: str = ""
    error: float = 0.0
    allowed: float = AGREEMENT
    reason: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the difference is more than rounding explains."""
        return bool(self.against) and not self.error <= self.allowed


def parts_of(kind: Kind, result: Any) -> Iterator[tuple[Kind, Any]]:
    """Yield what a function returned, kind by kind."""
    own = (*kind.lead, kind.beside[-1]) if kind.beside else kind.parts
    for k, part in enumerate(own):
        yield part, result[k] if len(own) > 1 else result


class Answers:
    """What the functions of one function of a spec ought to return at a point."""

    def __init__(
        self, function: ElaboratedFunction, case: Case, subject: Subject
    ) -> None:
        """Know the variables; the formula is evaluated when it is asked for."""
        self._function, self._case, self._on = function, case, subject
        self._wrt = tuple(x.name for x in function.spec.wrt)
        self._references: dict[str, Reference] | str | None = None

    def against_jax(self, kind: Kind, result: Any, found: Sequence[Array]) -> Answer:
        """Compare a result with the numbers of JAX."""
        worst = 0.0
        own = [
            x for part, got in parts_of(kind, result) for x in self._whole(part, got)
        ]
        for got, wanted in zip(own, found, strict=True):
            worst = max(worst, _difference(got, wanted))
        return Answer(JAX, worst)

    def _whole(self, part: Kind, got: Any) -> list[Array]:
        """What was returned of one kind as arrays: one an input, or a pair of them."""
        single, wrt, array = len(self._wrt) == 1, self._wrt, self._on.numbers
        if part.by == "nothing":
            return [array(got)]
        if part.by == "each":
            each = [got] if single else [getattr(got, x) for x in wrt]
            return [array(x.dense() if part.holder else x) for x in each]
        if single:
            return [array(got.dense() if part.holder else got)]
        pairs = [(a, b) for a in wrt for b in wrt]
        if part.holder:
            return [array(got.blocks[pair].dense()) for pair in pairs]
        return [array(got[pair]) for pair in pairs]

    def against_formula(
        self, kind: Kind, order: tuple[str, ...], result: Any, given: Mapping[str, Any]
    ) -> Answer:
        """Compare what is left of a result along directions with the formula's."""
        worst, allowed = 0.0, TOLERANCES[0]
        try:
            if self._function.metrics and kind.name != "value":
                raise Unfit("it is a vector of another inner product")
            least = {k: self._expected(k) for k in range(len(TOLERANCES))}
            for got, wanted, scale, steps in self._along(kind, order, result, given):
                error = _difference(got, wanted, max(scale, least[steps]))
                if error / TOLERANCES[steps] >= worst / allowed:
                    worst, allowed = error, TOLERANCES[steps]
        except Unfit as error:
            return Answer(reason=str(error))
        return Answer(FORMULA, worst, allowed)

    def _along(
        self, kind: Kind, order: tuple[str, ...], result: Any, given: Mapping[str, Any]
    ) -> Iterator[tuple[Array, Array, float, int]]:
        """What is got and wanted, what that is relative to, and of which order."""
        known = self._known()
        own = next(iter(known.values()))
        d, u = (own.project(self._numbers(k, len(own.x))) for k in (1, 2))
        for part, got in parts_of(kind, result):
            if part.argument == "cotangent":
                cts = [np.ravel(x) for x in given.values()]
                for mine, one in self._each(own, got, d):
                    pairs = zip(cts, known.values(), strict=True)
                    wanted = sum(ct @ np.ravel(x.along(one).value) for ct, x in pairs)
                    yield mine @ one, wanted, _length(mine) * _length(one), 1
                continue
            for name, x in known.items():
                if part.scalar and x.value.ndim:
                    continue
                one = getattr(got, name) if name else got
                yield from self._one(part, order, one, x, (d, u), given)

    def _one(
        self,
        part: Kind,
        order: tuple[str, ...],
        got: Any,
        own: Reference,
        directions: tuple[Array, Array],
        given: Mapping[str, Any],
    ) -> Iterator[tuple[Array, Array, float, int]]:
        d, u = directions
        shape, array = own.value.shape, self._on.numbers
        if part.argument == "direction":
            along = own.flat(dict(zip(self._wrt, given.values(), strict=True)))
        if part.name == "value":
            yield array(got), own.value, _size(own.value), 0
        elif part.name == "jvp":
            wanted = own.along(along).value.reshape(shape)
            yield array(got), wanted, _size(own.value, wanted), 1
        elif part.name == "hvp":
            for mine, one in self._each(own, got, u):
                wanted = own.along(one, along).value[0]
                yield mine @ one, wanted, _length(mine) * _length(one), 2
        elif part.name == "gradient":
            for mine, one in self._each(own, got, d):
                wanted = own.along(one).value[0]
                yield mine @ one, wanted, _length(mine) * _length(one), 1
        elif part.name in ("jacobian", "dense_jacobian"):
            parts, found = own.parts(d), np.zeros(own.value.size)
            for x, one in self._by_input(part, got).items():
                flat = parts[x].ravel()
                if part.holder:
                    found = found + array(one.matvec(self._on.array(flat))).ravel()
                else:
                    found = found + array(one).reshape(-1, flat.size) @ flat
            wanted = own.along(d).value
            yield found, wanted, _size(wanted), 1
        elif part.name == "hessian":
            product = array(got.matvec(self._on.array(d))).ravel()
            wanted = own.along(d, u).value[0]
            yield product @ u, wanted, _length(product) * _length(u), 2
        elif part.name == "order" and len(order) <= HIGHEST:
            single = own.parts(d)[order[0]]
            found = array(got.contract(*[self._on.array(single)] * len(order)))
            wanted = own.along(*[d] * len(order)).value
            yield found.ravel(), wanted, _size(wanted), len(order)
        else:
            raise Unfit("this kind is compared by verify alone")

    def _each(
        self, own: Reference, got: Any, direction: Array
    ) -> Iterator[tuple[Array, Array]]:
        """What belongs to each input, and a direction in which it moves alone."""
        several, parts = len(self._wrt) > 1, own.parts(direction)
        arrays = {x: getattr(got, x) if several else got for x in self._wrt}
        numbers = {x: self._on.numbers(one) for x, one in arrays.items()}
        for x in self._wrt:
            yield tuple(
                own.flat({y: every[y] * (x == y) for y in self._wrt})
                for every in (numbers, parts)
            )

    def _by_input(self, part: Kind, got: Any) -> dict[str, Any]:
        several = len(self._wrt) > 1
        found = {x: getattr(got, x) if several else got for x in self._wrt}
        if part.holder:
            return found
        return {x: self._on.numbers(one) for x, one in found.items()}

    def _expected(self, order: int) -> float:
        """How large derivatives of an order are at least taken to be, for rounding."""
        return max(x.expected(order) for x in self._known().values())

    def _known(self) -> dict[str, Reference]:
        """The formula of each result, under its name; raises `Unfit`."""
        if self._references is None:
            function = self._function
            every = function.results or (function,)
            names = [x.name for x in function.spec.results] or [""]
            try:
                self._references = {
                    name: Reference(own, self._case.values, self._case.sizes)
                    for name, own in zip(names, every, strict=True)
                }
            except Unfit as error:
                self._references = str(error)
        if isinstance(self._references, str):
            raise Unfit(self._references)
        return self._references

    def _numbers(self, k: int, count: int) -> Array:
        return np.random.default_rng(k).uniform(-1, 1, count)


def _difference(got: Array, wanted: Array, scale: float = 0.0) -> float:
    got, wanted = np.asarray(got), np.asarray(wanted)
    if got.shape != wanted.shape or not np.all(np.isfinite(got)):
        return float("inf")
    largest = max(scale, _size(wanted)) or 1.0
    return float(np.max(np.abs(got - wanted), initial=0.0)) / largest


def _size(*arrays: Array) -> float:
    return max(float(np.max(np.abs(x), initial=0.0)) for x in arrays)


def _length(flat: Array) -> float:
    return float(np.linalg.norm(flat))
