"""Deltas between rows and columns: few entries in each row."""

from __future__ import annotations

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.objects import Answer, Made
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.ways import COLUMNS, SHIFT, Solver, ties_rows


def sparse(structure: Structure) -> Solver | None:
    """Deltas between rows and columns in every term: a stencil, a band of blocks."""
    if not all(ties_rows(structure, term) for term in structure.tensor.terms):
        return None
    made = sparse_factorization(array(Answer("coo", several=True)))
    return Solver(Body(structure).returning(made))


def sparse_factorization(*entries: Array) -> Array:
    """The factorization of entries given by rows, columns and values."""
    return array(Made("_SparseFactorization"), *entries, COLUMNS, SHIFT)
