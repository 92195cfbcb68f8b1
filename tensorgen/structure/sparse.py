"""Deltas between rows and columns: few entries in each row."""

from __future__ import annotations

from tensorgen.structure.methods import Structure
from tensorgen.structure.ways import Solver, ties_rows


def sparse(structure: Structure) -> Solver | None:
    """Deltas between rows and columns in every term: a stencil, a band of blocks."""
    if not all(ties_rows(structure, term) for term in structure.tensor.terms):
        return None
    line = "return _SparseFactorization(*self.coo(), self.columns, shift)"
    return Solver((line,))
