"""Whether what is emitted is what calculus states, function by function.

Both are computed with numbers modulo a prime, at random points of small sizes. The
algebra of passes, lowering and printing holds there as it does everywhere, and without
rounding: a polynomial of degree d that is not zero vanishes at a random point with a
probability of at most d / 2**61 (Schwartz, Zippel). Functions that are no algebra are
fixed random maps. Where a stable form has been recognised on the way, which is an
identity of these functions, the two differ there; then floating-point numbers decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from tensorgen.arrays.printer import Printer
from tensorgen.check.entries import by_rows
from tensorgen.check.meaning import MOST_ENTRIES, Meaning, TooLarge
from tensorgen.check.methods import Methods
from tensorgen.check.opaque import solvers
from tensorgen.check.points import Point, points
from tensorgen.emit.model import Body, Holder, Parameter, arrays_among, sizes_among
from tensorgen.errors import InternalError, SpecError
from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.operators.promises import is_promise
from tensorgen.passes.stored import Compressed
from tensorgen.structure.classes import StructuredClass

Array = Any
AGREEMENTS = 2
"""Points at which an exact comparison must agree."""
EXACT_POINTS = 10
"""Points that are tried: at some, roots and quotients have no value."""
REAL_POINTS = 120
CONCLUSIVE = 6
"""Points that are tried with floating-point numbers, and those that have values."""
TOO_LARGE = f"an array of more than {MOST_ENTRIES:,} entries at small sizes"
TOLERANCE = 1e-6
"""How far floating-point numbers may differ, relative to the largest."""


@dataclass(frozen=True)
class Claim:
    """A function that is emitted, and the nodes that it is said to compute.

    `tensors` has what is kept of each root, as plans do, and `holders` what objects are
    made of the last ones. `inputs` are those of the spec by name, `checks` the sizes
    that the function refuses if they are negative. What the bodies `before` return
    under its own name is known to those that follow; they may call what finds the
    unknowns that `others` solve for.
    """

    name: str
    body: Body
    parameters: Sequence[Parameter]
    holders: Sequence[Holder]
    stated: Sequence[Node]
    tensors: Sequence[Compressed | None]
    inputs: Mapping[str, Node]
    checks: Sequence[Dim] = ()
    before: Sequence[Body] = ()
    others: Sequence[Node] = ()


@dataclass
class Report:
    """What was found, by the names of functions; `unchecked` also says why."""

    exact: list[str] = field(default_factory=list)
    floating: list[str] = field(default_factory=list)
    unchecked: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """What a user should know: nothing, if all functions were checked."""
        if not self.unchecked:
            return ""
        count, most = len(self.unchecked), 3
        total = count + len(self.exact) + len(self.floating)
        some = [f"{x} ({why})" for x, why in [*self.unchecked.items()][:most]]
        rest = [f"and {count - most} more"] * (count > most)
        were = "was" if count == 1 else "were"
        return f"{count} of {total} functions {were} not checked: " + ", ".join(
            some + rest
        )


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
                report.unchecked[name] = "no value at random points"
        except TooLarge:
            report.unchecked[name] = TOO_LARGE
        except (InternalError, SpecError):
            raise
        except Exception as error:
            # A fault of the check itself must not cost anybody a module.
            report.unchecked[name] = f"{type(error).__name__}: {error}"
    return report


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
        own = [*pairs.items()], any(map(is_promise, stated))
        self.points = {
            real: _Kept(points(symbols, bounds, least, real, *own))
            for real in (False, True)
        }

    def is_exact(self, claim: Claim) -> bool:
        """Whether the two are equal modulo the prime."""
        agreed: list[Point] = []
        doubtful = False
        larger = 0
        for point in islice(self.points[False], EXACT_POINTS):
            try:
                found = self.agrees(claim, point, _equal)
            except TooLarge:
                larger += 1
                continue
            if found is False and not point.field.outside:
                return False
            doubtful = doubtful or found is False
            agreed += [point] * (found is True)
            # Where roots are made up, what is equal may differ, but not the reverse.
            told = [
                x
                for x in agreed
                if not x.field.outside or not (doubtful or x.field.lost)
            ]
            if len(told) >= AGREEMENTS and any(x.is_wide for x in told):
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
            found = self.agrees(claim, point, _close)
            right += found is True
            wrong += found is False
            if right == AGREEMENTS and not wrong:
                return True
            if right + wrong == CONCLUSIVE:
                break
        if wrong > right:
            raise InternalError(f"{claim.name} does not compute what calculus states")
        return right > 0

    def agrees(
        self, claim: Claim, point: Point, same: Callable[[Array, Array], bool | None]
    ) -> bool | None:
        """Whether all results are the same at a point; None if nobody can tell."""
        try:
            with np.errstate(all="ignore"):
                stated = [point.field.of(point.meaning.of(x)) for x in claim.stated]
        except (ValueError, IndexError):
            return None  # the largest of no numbers
        try:
            with np.errstate(all="ignore"):
                pairs = list(self._pairs(claim, point, stated))
        except np.linalg.LinAlgError:
            return None  # a matrix that is not as it was promised to be
        except (ValueError, IndexError, ZeroDivisionError):
            return False  # shapes that do not go together
        found = [same(point.field.of(x), y) for x, y in pairs]
        if False in found:
            return False
        # Of results without entries, nobody can tell either.
        empty = bool(stated) and not any(x.size for x in stated)
        return None if None in found or empty else True

    def _pairs(
        self, claim: Claim, point: Point, stated: Sequence[Array]
    ) -> Iterator[tuple[Array, Array]]:
        """What is computed beside what is stated."""
        values: dict[str, Any] = dict(point.sizes)
        nodes = topological([*claim.stated, *claim.others])
        values |= solvers(nodes, point.field, point.meaning.lengths)
        parameters = arrays_among(claim.parameters)
        for p in parameters:
            node = claim.inputs.get(p.name) if p.role == "input" else None
            known = node.properties if isinstance(node, Input) else frozenset()
            values[p.name] = point.array(p.name, p.dims, known, p.index)
        arguments = {p.name: np.array(values[p.name]) for p in parameters}
        values |= {name: array.copy() for name, array in arguments.items()}
        values |= {
            p.of.name: _matrix(p, values, point)
            for p in parameters
            if p.of is not None and p.index is None
        }
        for body in claim.before:
            inner = dict(values)
            point.program.run(body.lines, inner)
            values |= {name: inner[name] for name in body.returns}
        point.program.run(claim.body.lines, values)
        texts = iter(claim.body.returns)
        first = len(stated) - len(claim.holders)
        for k, whole in enumerate(stated):
            tensor = claim.tensors[k]
            count = 1 if tensor is None else len(tensor.arrays)
            arrays = [
                point.program.expression(next(texts), values) for _ in range(count)
            ]
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


def _equal(x: Array, y: Array) -> bool:
    return x.shape == y.shape and bool(np.all(x == y))


def _close(x: Array, y: Array) -> bool | None:
    if x.shape != y.shape:
        return False
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return None
    scale = max(np.max(np.abs(x), initial=0), np.max(np.abs(y), initial=0))
    return bool(np.all(np.abs(x - y) <= TOLERANCE * scale))


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
