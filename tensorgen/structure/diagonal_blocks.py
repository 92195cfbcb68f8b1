"""Deltas that tie axes of x to themselves: a diagonal, or blocks along it."""

from __future__ import annotations

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.object_operations import Answer, Made
from tensorgen.structure.kronecker import groups
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.ways import (
    COLUMNS,
    LOCAL,
    SHIFT,
    Solver,
    block_factorization,
    shared_ties,
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
