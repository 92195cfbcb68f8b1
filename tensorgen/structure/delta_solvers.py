"""Solving by what deltas alone say: where the entries of a matrix are.

Deltas that tie axes of x to themselves make a diagonal, or blocks along it; with
constant offsets, a band of diagonals, or of blocks; between rows and columns in every
term, few entries in each row.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.object_operations import Answer, Made, Numbered, Pack, Reshape
from tensorgen.arrays.operations import Fill
from tensorgen.arrays.statements import Statement
from tensorgen.ir.dims import ONE, ZERO
from tensorgen.prices.thresholds import GAIN_OF_A_BAND, ROWS_OF_A_BLOCK
from tensorgen.structure.kronecker import groups
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.mirror_terms import mirrored
from tensorgen.structure.stored import StoredTerm, Tie
from tensorgen.structure.ways import (
    COLUMNS,
    LOCAL,
    SHIFT,
    Solver,
    block_factorization,
    core,
    shared_ties,
    ties_rows,
)


def diagonal(structure: Structure) -> Solver | None:
    """How to solve where deltas tie every axis."""
    tied = shared_ties(structure, structure.tensor.terms)
    if len(tied) != structure.rows:
        return None
    made = diagonal_factorization(array(Answer("diagonal")))
    return Solver(Body(structure).returning(made))


def diagonal_factorization(entries: Array) -> Array:
    """The factorization of a diagonal."""
    return array(Made("_DiagonalFactorization"), entries, COLUMNS, SHIFT)


def blocks(structure: Structure) -> Solver | None:
    """How to solve where the same deltas stand in every term."""
    terms = structure.tensor.terms
    tied = shared_ties(structure, terms)
    if not tied or len(groups(structure) or ()) > 1:
        return None
    body = Body(structure, LOCAL)
    return Solver(body.returning(block_factorization(body, terms, tied)))


def bands(structure: Structure) -> Solver | None:
    """How to solve with a symmetric matrix of a few diagonals along the first axis.

    Other axes number rows and columns of blocks, which are small or held whole.
    """
    r, dims = structure.rows, structure.tensor.dims
    everything = structure.tensor.terms
    if structure.tensor.parts and r > 1:
        return None
    bands: dict[int, list[StoredTerm]] = {}
    for term in everything:
        tie = _along(term.ties, r)
        if tie is None or term.links or tie.offset.constant is None:
            return None
        if tie.offset != 0 and mirrored(term, _exchange(r)) not in everything:
            return None
        if 0 in (tie.first, tie.offset):  # its mirror goes along
            bands.setdefault(tie.offset.constant, []).append(term)
    if max(bands) > GAIN_OF_A_BAND * (2 * len(bands) - (0 in bands)):
        return None  # a band is stored whole, and would mostly hold zeros
    side = prod(dims[1:r], start=ONE)
    whole = any(len(term.ties) == 1 for term in everything)
    if not whole and (side.constant is None or side.constant > ROWS_OF_A_BLOCK):
        return None
    body = Body(structure, LOCAL)
    entries = []
    out = [0, *range(1, r), *range(r + 1, 2 * r)]
    for number, offset in enumerate(sorted(bands), 1):
        name = f"band{number}"
        value = body.value(core(structure, bands[offset], out), name)
        if r > 2:
            value = array(Reshape((dims[0], side, side)), value)
        entries.append(body.let(name, value))
    table = array(Numbered(tuple(sorted(bands))), *entries)
    made = array(Made("_BandFactorization"), table, COLUMNS, SHIFT)
    return Solver(body.returning(made))


def _along(ties: Iterable[Tie], r: int) -> Tie | None:
    """What ties the first axes of rows and columns; None if others are tied to one."""
    found = [tie for tie in ties if {tie.first, tie.second} & {0, r}]
    alone = len(found) == 1 and {found[0].first, found[0].second} == {0, r}
    return found[0] if alone else None


def _exchange(r: int) -> tuple[int, ...]:
    """Rows and columns exchanged."""
    return *range(r, 2 * r), *range(r)


def sparse(structure: Structure) -> Solver | None:
    """Deltas between rows and columns in every term: a stencil, a band of blocks."""
    if not all(ties_rows(structure, term) for term in structure.tensor.terms):
        return None
    made = sparse_factorization(array(Answer("coo", several=True)))
    return Solver(Body(structure).returning(made))


def sparse_factorization(*entries: Array) -> Array:
    """The factorization of entries given by rows, columns and values."""
    return array(Made("_SparseFactorization"), *entries, COLUMNS, SHIFT)


def no_entries(structure: Structure) -> tuple[tuple[Statement, ...], ...]:
    """Return statements that give the values of what vanishes, and those of places."""
    none, nowhere = (array(Fill((ZERO,), 0, kind)) for kind in ("float", "int"))
    return tuple(
        Body(structure).returning(array(Pack(listed=True), one))
        for one in (none, array(Pack(), nowhere, nowhere))
    )
