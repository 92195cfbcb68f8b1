"""Solving with low rank besides a diagonal, blocks, or a band: Woodbury's formula."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.objects import Join, Later, Made, Reshape
from tensorgen.arrays.operations import Fill, Number
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import constant_value
from tensorgen.passes.stored import StoredTerm
from tensorgen.passes.views import Factor, Name
from tensorgen.structure.blocks import diagonal_factorization
from tensorgen.structure.coordinates import entries
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.sparse import sparse_factorization
from tensorgen.structure.ways import (
    LOCAL,
    SELF,
    SHIFT,
    Solver,
    block_factorization,
    core,
    count,
    shared_ties,
    ties_rows,
)


def low_rank(structure: Structure) -> Solver | None:
    """How to solve where some terms are outer products, and the others are easy."""
    terms = structure.tensor.terms
    base = [term for term in terms if term.ties or term.links]
    thin = [term for term in terms if term not in base]
    tied = shared_ties(structure, base)
    if not thin or not (tied or all(ties_rows(structure, term) for term in base)):
        return None
    halves = [_mirrored(structure, term) for term in thin]
    if not all(halves):
        return None
    body = Body(structure, LOCAL)
    sides, weights, width = [], [], Dim()
    for k, (term, half) in enumerate(zip(thin, halves, strict=True)):
        assert half is not None
        side, weight = _halves(body, term, *half, str(k + 1))
        sides.append(side)
        weights.append(weight)
        width += count(_summed(term).values())
    if len(thin) > 1:
        height = count(structure.tensor.dims[: structure.rows])
        sides = [body.let("side", array(Join((height, width)), *sides))]
        weights = [body.let("weight", array(Join((width,)), *weights))]
    piece, base_factorization = _base(body, base, tied)
    made = array(
        Made("_LowRankFactorization"),
        *(SELF, SHIFT, array(Later(), base_factorization), *sides, *weights),
    )
    return Solver(body.returning(made), (piece,))


def _base(
    body: Body, terms: Sequence[StoredTerm], tied: frozenset[int]
) -> tuple[str, Array]:
    """The factorization of the terms besides low rank, and its template."""
    structure = body.structure
    axes = range(structure.rows)
    if not terms:
        zeros = array(Fill(structure.tensor.dims[: structure.rows], 0))
        return "diagonal", diagonal_factorization(zeros)
    if len(tied) == structure.rows:
        value = body.value(core(structure, terms, axes), "diagonal")
        return "diagonal", diagonal_factorization(body.let("diagonal", value))
    if tied:
        return "block", block_factorization(body, terms, tied)
    columns = range(structure.rows, structure.axes)
    return "sparse", sparse_factorization(*entries(body, terms, axes, columns))


def _mirrored(
    structure: Structure, term: StoredTerm
) -> tuple[list[Factor], list[Factor]] | None:
    """The factors of `sum_s L[i, s] * c[s] * L[j, s]` as (those of L, those of c)."""
    r = structure.rows
    left: list[Factor] = []
    right: list[Factor] = []
    middle: list[Factor] = []
    for factor in term.factors:
        axes = [x for x in factor[1] if isinstance(x, int)]
        if not axes:
            middle.append(factor)
        elif all(x < r for x in axes):
            left.append(factor)
        elif all(x >= r for x in axes):
            right.append(factor)
        else:
            return None
    turned = [
        (node, tuple(x - r if isinstance(x, int) else x for x in labels))
        for node, labels in right
    ]

    def key(factor: Factor) -> tuple[int, str]:
        return factor[0].serial, str(factor[1])

    present = {x for _, labels in left for x in labels if isinstance(x, int)}
    if sorted(left, key=key) != sorted(turned, key=key) or len(present) != r:
        return None
    return left, middle


def _summed(term: StoredTerm) -> dict[Name, Dim]:
    """The summed labels of a term, and their sizes."""
    sizes = {x: d for n, xs in term.factors for x, d in zip(xs, n.dims, strict=True)}
    return {x: sizes[x] for x in term.summed}


def _halves(
    body: Body,
    term: StoredTerm,
    left: Sequence[Factor],
    middle: Sequence[Factor],
    number: str,
) -> tuple[Array, Array]:
    """The matrix L with a row an entry of x, and the weights c."""
    structure = body.structure
    graph, summed = structure.graph, _summed(term)
    dims = structure.tensor.dims[: structure.rows]
    side = graph.product(
        [*range(structure.rows), *summed],
        [(structure.stored[n], xs) for n, xs in left],
        sizes={**dict(enumerate(dims)), **summed},
    )
    weight = graph.product(
        [*summed],
        [
            *((structure.stored[n], xs) for n, xs in middle),
            *((node, ()) for node in term.scale),
        ],
        coefficient=term.coefficient,
        sizes=summed,
    )
    width = count(summed.values())
    value = body.value(side, f"side{number}")
    if len(summed) != 1 or structure.rows != 1:
        value = array(Reshape((count(dims), width)), value)
    matrix = body.let(f"side{number}", value)
    known = None if summed else constant_value(weight)
    value = (
        body.value(weight, f"weight{number}") if known is None else array(Number(known))
    )
    if not summed or known is not None:
        value = array(Fill((width,)), value)
    elif len(summed) > 1:
        value = array(Reshape((width,)), value)
    return matrix, body.let(f"weight{number}", value)
