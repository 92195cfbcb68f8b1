"""The cheapest exact way to solve with a compressed Hessian, read off its terms.

Each way is a class of the generated module that takes arrays in a standard layout; what
is written here brings the stored arrays into that layout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorgen.emit.kronecker import groups, kronecker, kronecker_sum
from tensorgen.emit.low_rank import low_rank
from tensorgen.emit.ways import (
    Solver,
    block_call,
    core,
    once,
    shared_ties,
    ties_rows,
)
from tensorgen.passes.mirror_terms import mirrored
from tensorgen.passes.structure import StoredTerm

if TYPE_CHECKING:
    from tensorgen.emit.structured import Structure

WIDE = 4
"""A band may reach this many times as far as it has diagonals."""


def solver(structure: Structure) -> Solver | None:
    """Return how to solve, or None where nothing beats the dense matrix."""
    for attempt in (
        _diagonal,
        _blocks,
        kronecker,
        kronecker_sum,
        _bands,
        low_rank,
        _sparse,
    ):
        found = attempt(structure)
        if found is not None:
            return found
    return None


# The ways, the cheapest first


def _diagonal(structure: Structure) -> Solver | None:
    tied = shared_ties(structure, structure.tensor.terms)
    if len(tied) != structure.rows:
        return None
    line = "return _DiagonalFactorization(self.diagonal(), self.columns, shift)"
    return Solver("_DiagonalFactorization", ("diagonal",), 0, (line,))


def _blocks(structure: Structure) -> Solver | None:
    terms = structure.tensor.terms
    tied = shared_ties(structure, terms)
    if not tied or len(groups(structure) or ()) > 1:
        return None
    lines, call = block_call(structure, terms, tied, "shift")
    return Solver("_BlockFactorization", ("block",), 1, (*lines, f"return {call}"))


def _bands(structure: Structure) -> Solver | None:
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
    return Solver("_BandFactorization", ("band",), 3, (*once(lines), call))


def _sparse(structure: Structure) -> Solver | None:
    """Deltas between rows and columns in every term: a stencil, a band of blocks."""
    if not all(ties_rows(structure, term) for term in structure.tensor.terms):
        return None
    line = "return _SparseFactorization(*self.coo(), self.columns, shift)"
    return Solver("_SparseFactorization", ("sparse",), 5, (line,))
