"""Deltas with constant offsets: a band of diagonals."""

from __future__ import annotations

from tensorgen.arrays.arrays import array
from tensorgen.arrays.objects import Made, Numbered
from tensorgen.passes.stored import StoredTerm
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.mirror_terms import mirrored
from tensorgen.structure.ways import COLUMNS, LOCAL, SHIFT, Solver, core

WIDE = 4
"""A band may reach this many times as far as it has diagonals."""


def bands(structure: Structure) -> Solver | None:
    """How to solve with a symmetric matrix of a few diagonals."""
    if structure.rows != 1:
        return None
    everything = structure.tensor.terms
    bands: dict[int, list[StoredTerm]] = {}
    for term in everything:
        if len(term.ties) != 1 or term.ties[0].offset.constant is None:
            return None
        (tie,) = term.ties
        if tie.offset != 0 and mirrored(term, (1, 0)) not in everything:
            return None
        if tie.first == 0:
            bands.setdefault(term.ties[0].offset.constant, []).append(term)
    if max(bands) > WIDE * (2 * len(bands) - (0 in bands)):
        return None  # a band is stored whole, and would mostly hold zeros
    body = Body(structure, LOCAL)
    entries = []
    for number, offset in enumerate(sorted(bands), 1):
        name = f"band{number}"
        value = body.value(core(structure, bands[offset], [0]), name)
        entries.append(body.let(name, value))
    table = array(Numbered(tuple(sorted(bands))), *entries)
    made = array(Made("_BandFactorization"), table, COLUMNS, SHIFT)
    return Solver(body.returning(made))
