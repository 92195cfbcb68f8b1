"""Solving with low rank besides a diagonal, blocks, or a band: Woodbury's formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.objects import Join, Later, Made, Pack, Reshape
from tensorgen.arrays.operations import Fill, Number
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import constant_value
from tensorgen.operators.symmetry import is_symmetric
from tensorgen.passes.stored import StoredTerm
from tensorgen.passes.views import Factor, Name
from tensorgen.structure.blocks import diagonal_factorization
from tensorgen.structure.coordinates import entries
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.sparse import sparse_factorization
from tensorgen.structure.ways import (
    LOCAL,
    SELF,
    SHIFT,
    Solver,
    block_factorization,
    core,
    count,
    shared_ties,
    ties_rows,
)


@dataclass(frozen=True, slots=True)
class Half:
    """What a term `sum_s L[i, s] * c[s] * L[j, s]` is made of: the factors of L and c.

    With a core it is `sum_st L[i, s] * c[s, t] * L[j, t]`, of which `core` are s and t.
    """

    left: list[Factor]
    middle: list[Factor]
    core: tuple[Name, ...] = ()


def low_rank(structure: Structure) -> Solver | None:
    """How to solve where some terms are outer products, and the others are easy."""
    return _low_rank(structure, cores=False)


def low_rank_with_cores(structure: Structure) -> Solver | None:
    """The same where matrices stand between the two sides of outer products."""
    return _low_rank(structure, cores=True)


def _low_rank(structure: Structure, cores: bool) -> Solver | None:
    terms = structure.tensor.terms
    base = [term for term in terms if term.ties or term.links]
    thin = [term for term in terms if term not in base]
    tied = shared_ties(structure, base)
    if not thin or not (tied or all(ties_rows(structure, term) for term in base)):
        return None
    halves = [half for term in thin if (half := _mirrored(structure, term))]
    if len(halves) < len(thin) or any(half.core for half in halves) != cores:
        return None
    body = Body(structure, LOCAL)
    sides, weights, width = [], [], Dim()
    for k, (term, half) in enumerate(zip(thin, halves, strict=True)):
        side, weight = _halves(body, term, half, str(k + 1))
        sides.append(side)
        weights.append(weight)
        width += count(_summed(term, half).values())
    if len(thin) > 1:
        height = count(structure.tensor.dims[: structure.rows])
        sides = [body.let("side", array(Join((height, width)), *sides))]
        if not cores:
            weights = [body.let("weight", array(Join((width,)), *weights))]
    if cores:
        weights = [array(Pack(), *weights)]
    piece, base_factorization = _base(body, base, tied)
    made = array(
        Made("_CoreFactorization" if cores else "_LowRankFactorization"),
        *(SELF, SHIFT, array(Later(), base_factorization), *sides, *weights),
    )
    return Solver(body.returning(made), (piece,))


def _base(
    body: Body, terms: Sequence[StoredTerm], tied: frozenset[int]
) -> tuple[str, Array]:
    """The factorization of the terms besides low rank, and its template."""
    structure = body.structure
    axes = range(structure.rows)
    if not terms:
        zeros = array(Fill(structure.tensor.dims[: structure.rows], 0))
        return "diagonal", diagonal_factorization(zeros)
    if len(tied) == structure.rows:
        value = body.value(core(structure, terms, axes), "diagonal")
        return "diagonal", diagonal_factorization(body.let("diagonal", value))
    if tied:
        return "block", block_factorization(body, terms, tied)
    columns = range(structure.rows, structure.axes)
    return "sparse", sparse_factorization(*entries(body, terms, axes, columns))


def _mirrored(structure: Structure, term: StoredTerm) -> Half | None:
    """A term of which the rows are multiplied by what the columns are."""
    r = structure.rows
    left: list[Factor] = []
    right: list[Factor] = []
    middle: list[Factor] = []
    for node, labels in term.factors:
        axes = [x for x in labels if isinstance(x, int)]
        if not axes:
            middle.append((node, labels))
        elif all(x < r for x in axes):
            left.append((node, labels))
        elif all(x >= r for x in axes):
            turned = (x - r if isinstance(x, int) else x for x in labels)
            right.append((node, tuple(turned)))
        else:
            return None
    present = {x for _, labels in left for x in labels if isinstance(x, int)}
    if len(present) != r:
        return None

    def key(factor: Factor) -> tuple[int, str]:
        return factor[0].serial, str(factor[1])

    if sorted(left, key=key) == sorted(right, key=key):
        return Half(left, middle)
    core = _core(left, right)
    if not core:
        return None
    sizes = dict.fromkeys(core, _sizes(term)[core[0]])
    matrix = structure.graph.product(core, middle, sizes=sizes)
    return Half(left, middle, core) if is_symmetric(matrix) else None


def _core(left: Sequence[Factor], right: Sequence[Factor]) -> tuple[Name, ...]:
    """The label of a factor, and what the same factor of the columns has for it."""
    if len(left) == len(right) == 1:
        (first, own), (second, others) = left[0], right[0]
        pairs = [(x, y) for x, y in zip(own, others, strict=False) if x != y]
        if first is second and len(pairs) == 1:
            return pairs[0]
    return ()


def _sizes(term: StoredTerm) -> dict[Name, Dim]:
    """The sizes of the labels of a term."""
    return {x: d for n, xs in term.factors for x, d in zip(xs, n.dims, strict=True)}


def _summed(term: StoredTerm, half: Half) -> dict[Name, Dim]:
    """The summed labels of a half, and their sizes."""
    sizes = _sizes(term)
    return {x: sizes[x] for x in half.core[:1] or term.summed}


def _halves(
    body: Body, term: StoredTerm, half: Half, number: str
) -> tuple[Array, Array]:
    """The matrix L with a row an entry of x, and the weights c; or the core."""
    structure = body.structure
    graph, summed = structure.graph, _summed(term, half)
    width = count(summed.values())
    dims = structure.tensor.dims[: structure.rows]
    side = graph.product(
        [*range(structure.rows), *summed],
        [(structure.stored[n], xs) for n, xs in half.left],
        sizes={**dict(enumerate(dims)), **summed},
    )
    weight = graph.product(
        half.core or [*summed],
        [
            *((structure.stored[n], xs) for n, xs in half.middle),
            *((node, ()) for node in term.scale),
        ],
        coefficient=term.coefficient,
        sizes={**summed, **dict.fromkeys(half.core, width)},
    )
    value = body.value(side, f"side{number}")
    if len(summed) != 1 or structure.rows != 1:
        value = array(Reshape((count(dims), width)), value)
    matrix = body.let(f"side{number}", value)
    if half.core:
        return matrix, body.let(f"core{number}", body.value(weight, f"core{number}"))
    known = None if summed else constant_value(weight)
    value = (
        body.value(weight, f"weight{number}") if known is None else array(Number(known))
    )
    if not summed or known is not None:
        value = array(Fill((width,)), value)
    elif len(summed) > 1:
        value = array(Reshape((width,)), value)
    return matrix, body.let(f"weight{number}", value)
