"""Deltas that tie axes of x to themselves: a diagonal, or blocks along it."""

from __future__ import annotations

from tensorgen.structure.kronecker import groups
from tensorgen.structure.methods import Structure
from tensorgen.structure.ways import Solver, block_call, shared_ties


def diagonal(structure: Structure) -> Solver | None:
    """How to solve where deltas tie every axis."""
    tied = shared_ties(structure, structure.tensor.terms)
    if len(tied) != structure.rows:
        return None
    line = "return _DiagonalFactorization(self.diagonal(), self.columns, shift)"
    return Solver((line,))


def blocks(structure: Structure) -> Solver | None:
    """How to solve where the same deltas stand in every term."""
    terms = structure.tensor.terms
    tied = shared_ties(structure, terms)
    if not tied or len(groups(structure) or ()) > 1:
        return None
    lines, call = block_call(structure, terms, tied, "shift")
    return Solver((*lines, f"return {call}"))
