"""Whether what is emitted is what calculus states, function by function.

Both are computed with numbers modulo a prime, at random points of small sizes. The
algebra of passes, lowering and printing holds there as it does everywhere, and without
rounding: a polynomial of degree d that is not zero vanishes at a random point with a
probability of at most d / 2**61 (Schwartz, Zippel). Functions that are no algebra are
fixed random maps. Where a stable form has been recognised on the way, which is an
identity of these functions, the two differ there; then floating-point numbers decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from tensorgen.arrays.printer import Printer
from tensorgen.check.batches import Batch
from tensorgen.check.class_methods import Methods
from tensorgen.check.kernel_calls import callable_kernel
from tensorgen.check.meaning import MOST_ENTRIES, Meaning, TooLarge
from tensorgen.check.opaque import solvers
from tensorgen.check.reals import Reals
from tensorgen.check.residues import NoValue
from tensorgen.check.row_blocks import Composition
from tensorgen.check.sample_points import Domain, Point
from tensorgen.check.sparse_matrices import by_rows
from tensorgen.emit.interface import (
    Body,
    Holder,
    Parameter,
    Private,
    arrays_among,
    sizes_among,
)
from tensorgen.errors import InternalError, Remark, Span, SpecError
from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.operators.promise_calls import is_promise
from tensorgen.operators.references import Array
from tensorgen.operators.references.rounding import (
    explains,
    furthest,
    is_doubtful,
    largest,
)
from tensorgen.structure.classes import StructuredClass
from tensorgen.structure.stored import Compressed

AGREEMENTS = 2
"""Points at which an exact comparison must agree."""
EXACT_POINTS = 10
"""Points that are tried: at some, roots and quotients have no value."""
REAL_POINTS = 120
CONCLUSIVE = 6
"""Points that are tried with floating-point numbers, and those that have values."""
TOO_LARGE = f"an array of more than {MOST_ENTRIES:,} entries at small sizes"
NO_VALUE = "its formula has no value at any point that was tried"
TOLERANCE = 1e-6
"""How far floating-point numbers may differ, relative to the largest."""


@dataclass(frozen=True)
class Claim:
    """A function that is emitted, and the nodes that it is said to compute.

    `tensors` has what is kept of each root, as plans do, and `holders` what objects are
    made of the last ones. `inputs` are those of the spec by name, `checks` the sizes
    that the function refuses if they are negative, `place` is where the spec asks for
    it. What the bodies `before` return under its name is known to those that follow;
    they may call what finds the unknowns that `others` solve for. The body may call
    what is `private`. Arguments that earlier pieces make are what is `composed`. Of a
    `batch`, the nodes are stated of one sample.
    """

    name: str
    body: Body
    parameters: Sequence[Parameter]
    holders: Sequence[Holder]
    stated: Sequence[Node]
    tensors: Sequence[Compressed | None]
    inputs: Mapping[str, Node]
    place: Span
    checks: Sequence[Dim] = ()
    before: Sequence[Body] = ()
    others: Sequence[Node] = ()
    private: Sequence[Private] = ()
    composed: Composition | None = None
    batch: Batch | None = None


@dataclass
class Report:
    """What was found, by the names of functions; `unchecked` also says why."""

    exact: list[str] = field(default_factory=list)
    floating: list[str] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)

    def leave(self, claim: Claim, why: str) -> None:
        """Note that a function was not checked, which everybody is to be warned of."""
        self.unchecked[claim.name] = why
        told = f"{claim.name} was not checked: {why}"
        self.remarks.append(Remark(told, claim.place, "unchecked", True))


def check(
    claims: Sequence[Claim], classes: Sequence[StructuredClass], alias: str
) -> Report:
    """Hold each function of a module against what it is said to compute.

    `alias` is what the text calls its array module. Raises `InternalError` with the
    name of the first function that computes something else.
    """
    report = Report()
    judge = _Judge(claims, {c.name: c for c in classes}, alias)
    for claim in claims:
        name = claim.name
        try:
            if judge.is_exact(claim):
                report.exact.append(name)
            elif judge.is_close(claim):
                report.floating.append(name)
            else:
                report.leave(claim, NO_VALUE)
        except TooLarge:
            report.leave(claim, TOO_LARGE)
        except (InternalError, SpecError):
            raise
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            raise InternalError(f"the check of {name} failed: {why}") from error
    return report


def domain_of(claims: Sequence[Claim]) -> Domain:
    """Return where functions that are called together have values."""
    inputs = {x: None for claim in claims for x in claim.inputs.values()}
    dims = [d for node in inputs for d in node.dims]
    dims += [d for c in claims for p in c.parameters for d in p.dims]
    dims += [Dim.symbol(p.name) for c in claims for p in sizes_among(c.parameters)]
    least = [x.index for x in inputs if isinstance(x, Input) and x.index]
    bounds = [*dims, *(size for claim in claims for size in claim.checks)]
    symbols = sorted({s for dim in (*bounds, *least) for s in dim.symbols})
    pairs: dict[Node, dict[Node, None]] = {}
    for node in inputs:
        if isinstance(node, Input) and node.of is not None:
            pairs.setdefault(node.of, {})[node] = None
    stated = topological({x: None for claim in claims for x in claim.stated})
    promised = any(map(is_promise, stated))
    return Domain(symbols, bounds, least, [*pairs.items()], promised)


class _Judge:
    """Compares functions at points that all of them share."""

    def __init__(
        self,
        claims: Sequence[Claim],
        classes: Mapping[str, StructuredClass],
        alias: str,
    ) -> None:
        self.classes = classes
        self.printer = Printer(alias)
        domain = domain_of(claims)
        # Two entries of an index array are equal at one point, and differ at another.
        self.wide = 2 if domain.least else 1
        self.differs = False  # the last one that was compared modulo the prime
        self.points = {real: _Kept(domain.points(real)) for real in (False, True)}

    def is_exact(self, claim: Claim) -> bool:
        """Whether the two are equal modulo the prime."""
        agreed: list[Point] = []
        doubtful = self.differs = False
        larger = 0
        for point in islice(self.points[False], EXACT_POINTS):
            try:
                found = self.agrees(claim, point)
            except TooLarge:
                larger += 1
                continue
            if found is False and not point.field.outside:
                self.differs = True
                return False
            doubtful = doubtful or found is False
            agreed += [point] * (found is True)
            # Where roots are made up, what is equal may differ, but not the reverse.
            told = [
                x
                for x in agreed
                if not x.field.outside or not (doubtful or x.field.lost)
            ]
            wide = sum(x.is_wide for x in told)
            if len(told) >= AGREEMENTS and wide >= self.wide:
                return True
        if larger and not agreed and not doubtful:
            raise TooLarge
        return len(agreed) >= AGREEMENTS and not doubtful

    def is_close(self, claim: Claim) -> bool:
        """Whether the two are equal but for rounding, where both are finite."""
        right = wrong = 0
        for point in islice(self.points[True], REAL_POINTS):
            if not point.is_wide:
                continue
            found = self.agrees(claim, point)
            right += found is True
            wrong += found is False
            if right == AGREEMENTS and not wrong:
                return True
            if right + wrong == CONCLUSIVE:
                break
        if wrong > right or (self.differs and wrong == right > 0):
            raise InternalError(f"{claim.name} does not compute what calculus states")
        return right > 0

    def agrees(self, claim: Claim, point: Point) -> bool | None:
        """Whether all results are the same at a point; None if nobody can tell."""
        with np.errstate(all="ignore"):
            return self._agrees(claim, point)

    def _agrees(self, claim: Claim, point: Point) -> bool | None:
        try:
            stated = self._stated(claim, point)
        except (NoValue, np.linalg.LinAlgError):
            return None
        is_real = isinstance(point.field, Reals)
        if is_real and not all(np.isfinite(x).all() for x in stated):
            return None
        try:
            pairs = list(self._pairs(claim, point, stated))
        except (NoValue, np.linalg.LinAlgError):
            return None  # as where a matrix is not what it was promised to be
        # Of results that happen to have no entries, nobody can tell either.
        is_empty = bool(stated) and not any(x.size for x in stated)
        if is_empty and not all(map(_has_no_entries, claim.stated)):
            return None
        pairs = [(point.field.of(x), y) for x, y in pairs]
        if not is_real:
            return all(x.shape == y.shape and bool(np.all(x == y)) for x, y in pairs)
        return all(_close(x, y) for x, y in pairs) or self._explained(
            claim, point.near, pairs
        )

    def _explained(
        self, claim: Claim, near: Point, pairs: Sequence[tuple[Array, Array]]
    ) -> bool | None:
        """Whether what is stated is off by so much, as it is where it moves near by."""
        try:
            again = list(self._pairs(claim, near, self._stated(claim, near)))
        except (NoValue, np.linalg.LinAlgError):
            return None
        errors = [
            furthest(new, y) for (_, new), (_, y) in zip(again, pairs, strict=True)
        ]
        told = [_close(x, y, own) for (x, y), own in zip(pairs, errors, strict=True)]
        return None if None in told else all(told)

    def _stated(self, claim: Claim, point: Point) -> list[Array]:
        if claim.batch is not None:
            return claim.batch.stated(point, claim.stated)
        return [point.field.of(point.meaning.of(x)) for x in claim.stated]

    def _pairs(
        self, claim: Claim, point: Point, stated: Sequence[Array]
    ) -> Iterator[tuple[Array, Array]]:
        """What is computed beside what is stated."""
        values: dict[str, Any] = dict(point.sizes)
        nodes = topological([*claim.stated, *claim.others])
        found = solvers(nodes, point.field, point.meaning.lengths)
        values |= found
        parameters = arrays_among(claim.parameters)
        for p in parameters:
            node = claim.inputs.get(p.name) if p.role == "input" else None
            known = node.properties if isinstance(node, Input) else frozenset()
            values[p.name] = point.array(p.name, p.dims, known, p.index)
        if claim.composed is not None:
            values |= claim.composed.values(point)
        arguments = {p.name: np.array(values[p.name]) for p in parameters}
        values |= {name: array.copy() for name, array in arguments.items()}
        values |= {
            p.of.name: _matrix(p, values, point)
            for p in parameters
            if p.of is not None and p.index is None
        }
        bodies = [claim.body, *claim.before, *(own.body for own in claim.private)]
        kernels = {x.name: x for body in bodies for x in body.kernels}
        program = point.program
        found |= {name: callable_kernel(x, program) for name, x in kernels.items()}
        values |= found
        for own in claim.private:  # each may call those before it
            values[own.name] = partial(_called, own, point, dict(found))
            found = {**found, own.name: values[own.name]}
        for body in claim.before:
            inner = dict(values)
            point.program.run(body.lines, inner)
            values |= {name: inner[name] for name in body.returns}
        point.program.run(claim.body.lines, values)
        texts = (point.program.expression(text, values) for text in claim.body.returns)
        # Of what private functions return as objects there are several arrays.
        each = (x for one in texts for x in (one if isinstance(one, tuple) else [one]))
        first = len(stated) - len(claim.holders)
        for k, whole in enumerate(stated):
            tensor = claim.tensors[k]
            count = 1 if tensor is None else len(tensor.arrays)
            arrays = [next(each) for _ in range(count)]
            if tensor is None:
                yield arrays[0], whole
                continue
            yield _assembled(tensor, arrays, point), whole
            name = claim.holders[k - first].class_name if k >= first else None
            if name is not None:
                made = Methods(self.classes[name], arrays, point, self.printer)
                yield from made.pairs(whole)
        for name, before in arguments.items():
            yield values[name], before


def _called(
    own: Private, point: Point, known: Mapping[str, Any], *arguments: Any
) -> Any:
    """What a private function returns; an object by the names of its fields."""
    values = {**known, **dict(zip(own.takes, arguments, strict=True))}
    if own.makes:
        names = [name for name, _ in own.outputs]
        values[own.makes] = lambda *made: dict(zip(names, made, strict=True))
    return point.program.run([*own.reads, *own.body.lines], values)


def _matrix(part: Parameter, values: Mapping[str, Any], point: Point) -> Any:
    """A sparse matrix, as far as code knows it, given its values as a parameter."""
    assert part.of is not None
    name = part.of.name
    places = tuple(values[f"{name}_{x}"] for x in ("rows", "columns"))
    sides = (d.value(point.sizes) for d in part.of.dims)
    return by_rows(point, values[part.name], *places, *sides)


class _Kept:
    """What is made one after the other, and kept for whoever comes next."""

    def __init__(self, source: Any) -> None:
        self.source = iter(source)
        self.made: list[Point] = []

    def __iter__(self) -> Iterator[Point]:
        yield from self.made
        for point in self.source:
            self.made.append(point)
            yield point


def _has_no_entries(node: Node) -> bool:
    """Whether a node has none whatever sizes are."""
    return any(dim.constant == 0 for dim in node.dims)


def _close(x: Array, y: Array, error: float = 0.0) -> bool | None:
    """Whether numbers are what is stated, y, which is off by an error."""
    if x.shape != y.shape:
        return False
    # What is infinite or NaN has no size: beside it, nothing would be far off.
    size = max(map(largest, (x, y)))
    # Points are of the order of one.
    if is_doubtful(error, max(size, 1.0)):
        return None
    difference = float(np.max(np.abs(x - y), initial=0))
    return explains(difference, TOLERANCE, size, error)


def _assembled(tensor: Compressed, arrays: Sequence[Array], point: Point) -> Array:
    """The whole tensor over the arrays that are kept of it."""
    graph = Graph()
    stored = {
        node: graph.input(f"stored{k}", node.dims, index=index_bound(node))
        for k, node in enumerate(tensor.arrays)
    }
    given = dict(zip(stored.values(), arrays, strict=True))
    meaning = Meaning(point.program, point.sizes, lambda node: given[node])
    return meaning.of(tensor.node(graph, stored))
