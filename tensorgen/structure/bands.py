"""Deltas with constant offsets: a band of diagonals."""

from __future__ import annotations

from tensorgen.passes.stored import StoredTerm
from tensorgen.structure.methods import Structure
from tensorgen.structure.mirror_terms import mirrored
from tensorgen.structure.ways import Solver, core, once

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
    lines: list[str] = []
    entries: list[str] = []
    for offset, terms in sorted(bands.items()):
        name = f"band{len(entries) + 1}"
        code = structure.code(core(structure, terms, [0]), name, ["shift"])
        lines += structure.lines(code, f"{name} = {code.returns[0]}")
        # A stored array goes by its own name.
        if code.returns[0] in structure.fields:
            lines[-1:], name = [], code.returns[0]
        entries.append(f"{offset}: {name}")
    call = f"return _BandFactorization({{{', '.join(entries)}}}, self.columns, shift)"
    return Solver((*once(lines), call))
