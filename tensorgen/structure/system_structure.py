"""Matrices that functions solve with, by the structure that they have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

from tensorgen.ir.constraints import Ranges
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Affine, Constraint, Node, affine, delta
from tensorgen.ir.views import Factor, Name
from tensorgen.operators.matrices.definite import is_positive_definite
from tensorgen.operators.matrices.symmetry import Symmetry
from tensorgen.operators.matrices.systems import Entries, banded, sparse, toeplitz
from tensorgen.operators.promise_calls import bare
from tensorgen.passes.cost import CostModel
from tensorgen.prices.thresholds import (
    GAIN_OF_A_BAND,
    GAIN_OF_A_RULE,
    ROWS_OF_A_RECURSION,
)
from tensorgen.structure.compress import compress
from tensorgen.structure.stored import Compressed, StoredTerm, laid_out, values
from tensorgen.structure.toeplitz import keep_toeplitz
from tensorgen.structure.ways import ties_sides


def system(graph: Graph, matrix: Node, cost: CostModel) -> Node | None:
    """Return a matrix as an object that solves by its structure, if it has one."""
    few = bare(matrix)
    found = cost.once((_few, few), partial(_few, graph, few, cost))
    return found or _steady(graph, matrix, cost)


def _steady(graph: Graph, matrix: Node, cost: CostModel) -> Node | None:
    """A matrix of equal diagonals; the recursion breaks down unless it is definite."""
    if cost.value(matrix.dims[0]) < ROWS_OF_A_RECURSION:
        return None
    found = keep_toeplitz(graph, bare(matrix)) if is_positive_definite(matrix) else None
    if found is None:
        return None
    ((column, _),) = found[0].factors
    return toeplitz(graph, column)


def _few(graph: Graph, matrix: Node, cost: CostModel) -> Node | None:
    found = compress(graph, matrix, cost)
    if found.is_dense or found.vanishes:
        return None
    size, rows = matrix.dims[0], found.axes(1)
    offsets = None if found.parts else _offsets(found.terms)
    if offsets is not None:
        reach = max(map(abs, offsets))
        if GAIN_OF_A_RULE * reach >= cost.value(size):
            return None
        bands = {s: _band(graph, size, s, ts) for s, ts in offsets.items()}
        symmetric = all(bands[s] is bands.get(-s) for s in bands)
        return banded(graph, size, bands, symmetric)
    if not all(ties_sides(term, rows) for term in found.terms):
        return None
    count = sum(cost.size(term.free(found.dims).values()) for term in found.terms)
    if GAIN_OF_A_RULE * count > cost.size(found.dims):
        return None
    entries = [_entries(graph, found, term) for term in found.terms]
    return sparse(graph, found.dims[:rows], entries, _are_symmetric(entries))


def _are_symmetric(entries: Sequence[Entries]) -> bool:
    """Whether rows and columns can be exchanged, of each or of two together."""
    known = Symmetry(promised=True)

    def is_even(one: Entries) -> bool:
        if one.row == one.column:
            return True
        labels = {x: x for x in range(len(one.sizes))}
        for p, q in combinations(range(len(one.sizes)), 2):
            swap = {**labels, p: q, q: p}.__getitem__
            if tuple(form.renamed(swap) for form in one.row) == one.column:
                return known.parity(one.values, (p, q)) == 1
        return False

    rest = [one for one in entries if not is_even(one)]
    return all(one._replace(row=one.column, column=one.row) in rest for one in rest)


def _offsets(terms: Sequence[StoredTerm]) -> dict[int, list[StoredTerm]] | None:
    """The terms by the diagonals that they stand on; None if that is no band."""
    found: dict[int, list[StoredTerm]] = {}
    for term in terms:
        if len(term.ties) != 1 or term.links:
            return None
        offset = term.ties[0].offset.constant
        if offset is None:
            return None
        found.setdefault(offset, []).append(term)
    return found if max(map(abs, found)) <= GAIN_OF_A_BAND * len(found) else None


def _factors(graph: Graph, term: StoredTerm) -> list[Factor]:
    return laid_out(graph, term.factors) + term.numbers


def _band(graph: Graph, size: Dim, s: int, terms: Sequence[StoredTerm]) -> Node:
    """The entries of a diagonal; a number, where they are the same everywhere."""
    parts = []
    for term in terms:
        factors = _factors(graph, term)
        used = {x for _, labels in factors for x in labels}
        starts = {axis: max(sign * s, 0) for axis, sign in ((0, -1), (1, 1))}
        given = {axis: start for axis, start in starts.items() if axis in used}
        out = ("k",) if given else ()
        part = graph.product(
            out,
            factors,
            coefficient=term.coefficient,
            constraints=[delta({x: 1, "k": -1}, -start) for x, start in given.items()],
            sizes={"k": size - abs(s)} if out else {},
        )
        parts.append((1, part, out))
    longest = max((out for _, _, out in parts), key=len)
    return graph.sum(longest, parts)


def _entries(graph: Graph, tensor: Compressed, term: StoredTerm) -> Entries:
    """A term by values over the labels that number its entries, and their places."""
    free = term.free(tensor.dims)
    forms: dict[Name, Affine] = {x: affine([(x, 1)]) for x in free}
    forms |= {link.axis: link.form for link in term.links}
    for tie in term.ties:
        forms[tie.second] = forms[tie.first] + affine([], tie.offset)
    inside = [*_inside(tensor, free, forms)]
    found = values(graph, term, tensor.dims, _factors(graph, term), inside=inside)
    number = {x: k for k, x in enumerate(free)}
    places = [forms[x].renamed(number.__getitem__) for x in range(len(tensor.dims))]
    rows = tensor.axes(1)
    sides = tuple(places[:rows]), tuple(places[rows:])
    return Entries(found, *sides, tuple(free.values()))


def _inside(
    tensor: Compressed, free: Mapping[Name, Dim], forms: Mapping[Name, Affine]
) -> Iterator[Constraint]:
    """That places are inside of axes that others follow, where they may not be.

    Beyond the end of a single axis there is nothing, but the next row is beyond the
    end of the last of several.
    """
    if not tensor.parts:
        return
    for axis, dim in enumerate(tensor.dims):
        if axis in free:
            continue
        form = forms[axis]
        low, high = Ranges.of(free).bounds(form) or (Dim.of(-1), dim)
        if not low.is_nonnegative():
            yield Constraint("ge", form)
        if not (dim - 1 - high).is_nonnegative():
            yield Constraint("ge", -form + (dim - 1))
