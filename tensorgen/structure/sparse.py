"""Few entries in each row, by deltas between rows and columns; or none at all."""

from __future__ import annotations

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.object_operations import Answer, Made
from tensorgen.arrays.operations import Fill
from tensorgen.arrays.statements import Statement
from tensorgen.ir.dims import ZERO
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


def no_entries(structure: Structure) -> tuple[Statement, ...]:
    """Return statements that give the rows, columns and values of what vanishes."""
    values = (array(Fill((ZERO,), 0, kind)) for kind in ("int", "int", "float"))
    return Body(structure).returning(*values)
