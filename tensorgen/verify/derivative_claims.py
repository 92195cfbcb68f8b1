"""What holds of each kind of derivative, and of what an emitted function returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorgen.calculus.kinds import KINDS, Kind
from tensorgen.operators.references import Array
from tensorgen.verify.emitted_calls import Arguments, arguments
from tensorgen.verify.exact import DIGITS
from tensorgen.verify.findings import Measure
from tensorgen.verify.object_claims import array, hessian, jacobian, of_shape, tensor
from tensorgen.verify.points import Point, looks
from tensorgen.verify.reference import HIGHEST, Known, Reference
from tensorgen.verify.verified_modules import Subject

VALUES, FIRST, SECOND, HIGHER = 1e-10, 1e-9, 1e-7, 1e-5
"""Relative tolerances by order, beside what the reference is off by."""

LOOKS = 2
"""How many directions are tried at each point."""

FORMULA = "the formula"
SLOPES = "complex steps"
DIFFERENCES = "differences of complex steps"


@dataclass(frozen=True)
class Part:
    """A part of what a function returned: of one result, of one kind.

    `look` says which direction or cotangent the function was given, if any.
    """

    kind: Kind
    order: tuple[str, ...]
    got: Any
    code: str
    name: str
    reference: Reference
    point: Point
    subject: Subject
    look: int = 0

    def by_input(self) -> Iterator[tuple[str, Any, str]]:
        """Yield what there is by each input: a field each of several."""
        names = self.reference.wrt
        for x in names:
            if len(names) == 1:
                yield x, self.got, self.code
            else:
                yield x, getattr(self.got, x), f"{self.code}.{x}"

    def array(self, found: Any) -> Array:
        """What the backend returned as an array of NumPy's."""
        return self.subject.numbers(found)


Rows = Mapping[str, Callable[[Part], Iterator[Measure]]]
"""What is measured of a part, by the name of its kind."""


def compared(
    point: Point, kind: Kind, order: tuple[str, ...], subject: Subject, rows: Rows
) -> Iterator[tuple[Arguments, Measure]]:
    """Call an emitted function, and yield what is measured of what it returns.

    What that is for each kind of part, `rows` says. Raises what the function raises;
    `AttributeError` also where something is missing.
    """
    name = kind.public_name(point.function.spec.name, order)
    for look in range(LOOKS if kind.argument else 1):
        given = called(point, kind, look)
        result = given.call(subject, name)
        for measure in measured(point, kind, order, subject, rows, result, look):
            yield given, measure


def measured(
    point: Point,
    kind: Kind,
    order: tuple[str, ...],
    subject: Subject,
    rows: Rows,
    result: Any,
    look: int = 0,
) -> Iterator[Measure]:
    """Yield what is measured of what a function has returned."""
    own = kind.plain_parts
    for k, part in enumerate(own):
        several = len(own) > 1
        got = result[k] if several else result
        code = f"result[{k}]" if several else "result"
        one = Part(part, order, got, code, "", point.any, point, subject, look)
        yield from _of_part(one, rows)


def called(point: Point, kind: Kind, look: int = 0) -> Arguments:
    """Return the arguments of a function of some kind, directions and the like too."""
    more = looks(point.function, kind, point.case, look)
    return arguments(point.function, point.case, more)


def _of_part(whole: Part, rows: Rows) -> Iterator[Measure]:
    measured = rows[_row(whole.kind)]
    if whole.kind.argument == "cotangent":
        yield from measured(whole)
        return
    for name, reference in whole.point.chosen(whole.kind):
        part = replace(whole, name=name, reference=reference)
        if name:
            got, code = getattr(whole.got, name), f"{whole.code}.{name}"
            part = replace(part, got=got, code=code)
        yield from measured(part)


def _row(kind: Kind) -> str:
    """The row of a kind: of a sample, derivatives are arrays, and no objects."""
    dense = f"dense_{kind.name}"
    return dense if not kind.holder and dense in KINDS else kind.name


def _value(part: Part) -> Iterator[Measure]:
    got, wanted = part.array(part.got), part.reference.measured
    yield Measure("value", formula(part.reference), got, wanted, VALUES, part.code)


def formula(own: Reference) -> str:
    """Say what values are compared with."""
    return FORMULA if own.exact is None else f"{FORMULA}, {DIGITS} digits"


def _first(
    part: Part, what: str, rows: Array, lead: tuple[int, ...]
) -> Iterator[Measure]:
    """Arrays by each input that are these rows, of which there are `lead`."""
    error = part.reference.jacobian.error
    wanted = part.reference.parts(rows)
    largest = float(np.max(np.abs(rows), initial=0.0))
    for x, got, code in part.by_input():
        block = wanted[x].reshape((*lead, *part.reference.shapes[x]))
        known = Known(block, error * max(1, len(rows)))
        scale = max(1e-3 * largest, part.reference.expected(1))
        yield Measure(what, SLOPES, part.array(got), known, FIRST, code, scale=scale)


def _gradient(part: Part) -> Iterator[Measure]:
    rows = part.reference.vectors(part.reference.jacobian.value)
    yield from _first(part, "gradient", rows, ())


def _dense_jacobian(part: Part) -> Iterator[Measure]:
    shape = part.reference.value.shape
    yield from _first(part, "Jacobian", part.reference.jacobian.value, shape)


def _jvp(part: Part) -> Iterator[Measure]:
    own, d = part.reference, part.point.direction(part.look)
    wanted = (own.jacobian.value @ own.project(d)).reshape(own.value.shape)
    known = Known(wanted, own.jacobian.error * max(1, d.size))
    yield Measure("tangent", SLOPES, part.array(part.got), known, FIRST, part.code)


def _vjp(part: Part) -> Iterator[Measure]:
    """Of all results together, <v, J u> = <J' v, u> included: J is the same."""
    rows = sum(
        own.lowered(part.point.cotangent(name, part.look)) @ own.jacobian.value
        for name, own in part.point.references.items()
    )
    yield from _first(part, "cotangent", part.reference.vectors(rows), ())


def _second_parts(part: Part, known: Known) -> Iterator[Measure]:
    rows = part.reference.vectors(known.value[0])
    wanted = part.reference.parts(rows)
    scale = 1e-3 * float(np.max(np.abs(rows), initial=0.0))
    scale = max(scale, part.reference.expected(2))
    for x, got, code in part.by_input():
        block = Known(wanted[x], known.error)
        found = part.array(got)
        yield Measure("product", DIFFERENCES, found, block, SECOND, code, scale=scale)


def _hvp(part: Part) -> Iterator[Measure]:
    yield from _second_parts(part, part.point.second(part.name, part.look))


def _hessian(part: Part) -> Iterator[Measure]:
    known = [part.point.second(part.name, k) for k in range(LOOKS)]
    ds = [part.point.direction(k) for k in range(LOOKS)]
    shapes = part.reference.shapes
    yield from hessian(part.got, part.code, known, ds, shapes, part.subject)


def _jacobian(part: Part) -> Iterator[Measure]:
    own = part.reference
    wanted, shape = own.parts(own.jacobian.value), own.value.shape
    error = own.jacobian.error
    for x, got, code in part.by_input():
        block = wanted[x].reshape(own.value.size, -1)
        known = Known(block, error * max(1, block.shape[1]))
        d = own.parts(part.point.direction(0))[x].ravel()
        u = part.point.cotangent(part.name, 0).ravel()
        yield from jacobian(
            got, code, known, d, u, (*shape, *own.shapes[x]), part.subject
        )


def _dense_hessian(part: Part) -> Iterator[Measure]:
    own = part.reference
    whole = np.zeros((own.value.size, len(own.x), len(own.x)))
    starts = _starts(own)
    for a, b, got in blocks_of(part):
        found = part.array(got)
        rows, columns = (slice(*starts[x]) for x in (a, b))
        code = f"{part.code}[{a!r}, {b!r}]" if len(own.wrt) > 1 else part.code
        shape = (*own.value.shape, *own.shapes[a], *own.shapes[b])
        if found.shape != shape:
            yield of_shape(found, shape, f"{code}.shape")
            return
        sides = whole[:, rows, columns].shape
        whole[:, rows, columns] = found.reshape(sides)
    several = len(own.wrt) > 1
    code = _joined_code(own) if several else f"{part.code}.reshape(-1, len(d), len(d))"
    for k in range(LOOKS):
        d, known = part.point.direction(k), part.point.second(part.name, k)
        got = whole @ d
        yield Measure(
            "times d", DIFFERENCES, got, known, SECOND, f"{code} @ d", {"d": d}
        )
    turned = Known(np.swapaxes(whole, 1, 2))
    yield Measure("symmetry", "itself", whole, turned, FIRST, code, {"d": d})


def blocks_of(part: Part) -> Iterator[tuple[str, str, Any]]:
    """Yield the dense second derivatives by each pair of inputs."""
    for a in part.reference.wrt:
        for b in part.reference.wrt:
            yield a, b, part.got[a, b] if isinstance(part.got, dict) else part.got


def _joined_code(own: Reference) -> str:
    def block(a: str, b: str) -> str:
        sides = own.value.size, _size(own, a), _size(own, b)
        return f"result[{a!r}, {b!r}].reshape{sides}"

    rows = (f"[{', '.join(block(a, b) for b in own.wrt)}]" for a in own.wrt)
    return f"np.block([{', '.join(rows)}])"


def _size(own: Reference, name: str) -> int:
    return int(np.prod(own.shapes[name], dtype=int))


def _starts(own: Reference) -> dict[str, tuple[int, int]]:
    found, start = {}, 0
    for name in own.wrt:
        stop = start + _size(own, name)
        found[name] = (start, stop)
        start = stop
    return found


def _higher(part: Part) -> Iterator[Measure]:
    """Tensors of an order above two, along directions, one a place."""
    blocks: Mapping[tuple[str, ...], Any]
    if part.kind.name == "whole_order":
        blocks = {
            p: part.got.blocks[p]
            for p in part.kind.blocks(part.reference.wrt, part.order)
        }
    else:
        blocks = {part.order: part.got}
    for names, got in blocks.items():
        code = part.code
        if part.kind.name == "whole_order":
            code += f".blocks[{names!r}]"
        directions = [_only(part, x, k) for k, x in enumerate(names)]
        known = None
        if len(names) <= HIGHEST:
            known = part.reference.along(*directions)
        own = [
            part.reference.parts(d)[x] for d, x in zip(directions, names, strict=True)
        ]
        shape = part.reference.value.shape
        if part.kind.holder:
            yield from tensor(got, code, known, own, shape, part.subject)
        else:
            yield from array(part.array(got), code, known, own, shape)


def _only(part: Part, name: str, k: int) -> Array:
    """A direction in which one input moves alone."""
    parts = part.reference.parts(part.point.direction(k))
    own = {x: d if x == name else 0 * d for x, d in parts.items()}
    return part.reference.flat(own)


ROWS: Rows = {
    "value": _value,
    "gradient": _gradient,
    "jacobian": _jacobian,
    "dense_jacobian": _dense_jacobian,
    "hessian": _hessian,
    "dense_hessian": _dense_hessian,
    "hvp": _hvp,
    "jvp": _jvp,
    "vjp": _vjp,
    "order": _higher,
    "mixed": _higher,
    "whole_order": _higher,
}
"""What is measured of a part of each kind; adjoints are of all results together."""
