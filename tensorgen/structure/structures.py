"""The structures, those that are cheapest to solve with first."""

from __future__ import annotations

from collections.abc import Collection

from tensorgen.structure.delta_solvers import bands, blocks, diagonal, sparse
from tensorgen.structure.kronecker import kronecker, kronecker_sum, pencil
from tensorgen.structure.low_rank import low_rank
from tensorgen.structure.methods import Structure
from tensorgen.structure.strides import strides
from tensorgen.structure.toeplitz import keep_toeplitz, toeplitz, toeplitz_product
from tensorgen.structure.ways import Row, Solver

_REFINED = ("refined", "norm_estimate")
# CuPy eliminates in sparse matrices on the host, by SciPy.
_SPARSE = {
    "numpy": ("scipy.linalg", "scipy.sparse"),
    "cupy": ("cupyx.scipy.sparse", "scipy"),
}

STRUCTURES = (
    Row("diagonal", diagonal, "_DiagonalFactorization", "diagonal", ease=0),
    Row("blocks", blocks, "_BlockFactorization", "block", ease=1),
    Row("blocks of neighbours", strides, "_BlockFactorization", "block", ease=1),
    Row("Kronecker product", kronecker, "_KroneckerFactorization", "kronecker", ease=2),
    Row("Kronecker sum", kronecker_sum, "_KroneckerFactorization", "kronecker", ease=2),
    Row(
        "pencil",
        pencil,
        "_PencilFactorization",
        "pencil",
        ease=2,
        needs=("kronecker",),
        pieces=_REFINED,
    ),
    Row(
        "band",
        bands,
        "_BandFactorization",
        "band",
        ease=3,
        after=("sparse",),
        imports={**_SPARSE, "numpy": ("scipy.linalg",)},
    ),
    Row(
        "low rank",
        low_rank,
        "_LowRankFactorization",
        "low_rank",
        ease=4,
        pieces=_REFINED,
    ),
    Row(
        "Toeplitz",
        toeplitz,
        "_ToeplitzFactorization",
        "toeplitz",
        ease=5,
        imports={"numpy": ("scipy.linalg",), "cupy": ("scipy.linalg",)},
        keep=keep_toeplitz,
        product=toeplitz_product,
        pieces=_REFINED,
    ),
    Row("sparse", sparse, "_SparseFactorization", "sparse", ease=5, imports=_SPARSE),
)


def solved(structure: Structure) -> tuple[Row, Solver] | None:
    """Return how to solve, or None where nothing beats the dense matrix."""
    for row in STRUCTURES:
        found = row.solve(structure)
        if found is not None:
            return row, found
    return None


def templates(row: Row, solver: Solver) -> tuple[str, ...]:
    """The templates of all classes that a way to solve may make."""
    return row.template, *row.needs, *solver.needs


def in_order(needed: Collection[str]) -> list[Row]:
    """One row for each template, those that others build upon first."""
    found: dict[str, Row] = {}
    rows = {row.template: row for row in reversed(STRUCTURES)}

    def add(name: str) -> None:
        for other in (*rows[name].needs, *rows[name].after):
            add(other)
        found[name] = rows[name]

    for row in STRUCTURES:
        add(row.template)
    return [row for name, row in found.items() if name in needed]
