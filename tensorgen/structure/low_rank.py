"""Solving with low rank besides a diagonal, blocks, or a band: Woodbury's formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.object_operations import Join, Later, Made, Pack, Reshape
from tensorgen.arrays.operations import Fill, Number
from tensorgen.ir.dims import Dim, count
from tensorgen.ir.nodes import Node, constant_value
from tensorgen.ir.views import Factor, Name
from tensorgen.operators.matrices.symmetry import is_symmetric
from tensorgen.structure.coordinates import entries
from tensorgen.structure.delta_solvers import (
    diagonal_factorization,
    sparse_factorization,
)
from tensorgen.structure.gram import gram
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.stored import LaidOut, StoredTerm
from tensorgen.structure.ways import (
    LOCAL,
    SELF,
    SHIFT,
    Solver,
    block_factorization,
    core,
    shared_ties,
    ties_rows,
)


@dataclass(frozen=True, slots=True)
class Half:
    """A term `sum_s L[i, s] * c[s] * L[j, s]`: the nodes of L and c.

    With a core it is `sum_st L[i, s] * c[s, t] * L[j, t]`. L has the axes of the rows,
    then `width`, the dims of s.
    """

    side: Node
    weight: Node
    width: tuple[Dim, ...]
    core: bool = False


def low_rank(structure: Structure) -> Solver | None:
    """How to solve where some terms are outer products, and the others are easy.

    Matrices may stand between the two sides of a product: its cores.
    """
    terms = structure.tensor.terms
    base = [term for term in terms if term.ties or term.links or gram(term)]
    thin = [term for term in terms if term not in base]
    tied = shared_ties(structure, base)
    if not thin or not (tied or all(ties_rows(structure, term) for term in base)):
        return None
    halves = _halves(structure, thin, even=not base or len(tied) == structure.rows)
    if halves is None:
        return None
    body = Body(structure, LOCAL)
    sides, weights, width = [], [], Dim()
    for k, half in enumerate(halves):
        side, weight = _computed(body, half, str(k + 1))
        sides.append(side)
        weights.append(weight)
        width += count(half.width)
    if len(halves) > 1:
        height = count(structure.tensor.dims[: structure.rows])
        sides = [body.let("side", array(Join((height, width)), *sides))]
    piece, base_factorization = _base(body, base, tied)
    made = array(
        Made("_LowRankFactorization"),
        *(SELF, SHIFT, array(Later(), base_factorization)),
        *(*sides, array(Pack(), *weights)),
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
    sides = axes, range(structure.rows, structure.axes)
    return "sparse", sparse_factorization(*entries(body, terms, sides))


def _halves(
    structure: Structure, terms: Sequence[StoredTerm], even: bool
) -> list[Half] | None:
    """Terms of which the rows are multiplied by what the columns are.

    Or terms that are so together: two that are transposes of one another, or, where the
    terms are known to be `even`, symmetric as a whole, the mean of what is left and its
    transpose. None where there are others.
    """
    found: list[Half] = []
    waiting = list(terms)
    while waiting:
        term, *waiting = waiting
        parts = _apart(structure, term)
        if parts is None:
            return None
        half = _mirrored(structure, term, *parts)
        if half is not None:
            found.append(half)
            continue
        turned = _whole(structure, term, turned=True)
        other = next((x for x in waiting if _whole(structure, x) is turned), None)
        if other is not None:
            waiting.remove(other)
        elif even:
            term = replace(term, coefficient=term.coefficient / 2)
        else:
            return None
        found += _crossed(structure, term, *parts)
    return found


Sides = tuple[list[Factor], list[Factor], list[Factor]]


def _apart(structure: Structure, term: StoredTerm) -> Sides | None:
    """The factors of the rows, those in between, and those of the columns as of rows.

    None where a factor has axes of both, or a label that stands for several.
    """
    r = structure.rows
    left: list[Factor] = []
    middle = term.numbers
    right: list[Factor] = []
    for node, labels in term.factors:
        axes = [x for x in labels if isinstance(x, int)]
        if any(isinstance(x, LaidOut) for x in labels):
            return None
        held = structure.stored[node]
        if not axes:
            middle.append((held, labels))
        elif all(x < r for x in axes):
            left.append((held, labels))
        elif all(x >= r for x in axes):
            turned = (x - r if isinstance(x, int) else x for x in labels)
            right.append((held, tuple(turned)))
        else:
            return None
    return left, middle, right


def _mirrored(
    structure: Structure,
    term: StoredTerm,
    left: list[Factor],
    middle: list[Factor],
    right: list[Factor],
) -> Half | None:
    """A term of which the rows are multiplied by what the columns are."""

    def key(factor: Factor) -> tuple[int, str]:
        return factor[0].serial, str(factor[1])

    same = sorted(left, key=key) == sorted(right, key=key)
    core = () if same else _core(left, right)
    if not (same or core):
        return None
    sizes = _dims(term.factors)
    summed = core[:1] or term.summed
    width = {x: sizes[x] for x in summed}
    weight = structure.graph.product(
        core or summed,
        middle,
        coefficient=term.coefficient,
        sizes={x: sizes[summed[0]] for x in core} or width,
    )
    if core and not is_symmetric(weight):
        return None
    side = _side(structure, left, width)
    return Half(side, weight, tuple(width.values()), bool(core))


def _crossed(
    structure: Structure,
    term: StoredTerm,
    left: list[Factor],
    middle: list[Factor],
    right: list[Factor],
) -> list[Half]:
    """A term and its transpose: `(u + v) (u + v)' - (u - v) (u - v)'`, halved."""
    graph, sizes = structure.graph, _dims(term.factors)
    width = {x: sizes[x] for _, xs in right for x in xs if not isinstance(x, int)}
    first = _side(structure, [*left, *middle], width)
    second = _side(structure, right, width)
    axes, half = range(first.order), term.coefficient / 2
    dims = tuple(width.values())
    return [
        Half(
            graph.sum(axes, [(1, first, axes), (sign, second, axes)]),
            graph.constant(sign * half, dims),
            dims,
        )
        for sign in (1, -1)
    ]


def _side(
    structure: Structure, factors: Sequence[Factor], width: dict[Name, Dim]
) -> Node:
    """The matrix L with a row an entry of x."""
    dims = structure.tensor.dims[: structure.rows]
    return structure.graph.product(
        [*range(structure.rows), *width],
        factors,
        sizes={**dict(enumerate(dims)), **width, **_dims(factors)},
    )


def _whole(structure: Structure, term: StoredTerm, turned: bool = False) -> Node:
    r, dims = structure.rows, structure.tensor.dims
    out = [*range(r, 2 * r), *range(r)] if turned else [*range(2 * r)]
    return structure.graph.product(
        out,
        structure.factors(term),
        coefficient=term.coefficient,
        sizes=dict(enumerate(dims)),
    )


def _core(left: Sequence[Factor], right: Sequence[Factor]) -> tuple[Name, ...]:
    """The summed label of a factor, and what the same one of the columns has for it."""
    if len(left) == len(right) == 1:
        (first, own), (second, others) = left[0], right[0]
        pairs = [(x, y) for x, y in zip(own, others, strict=False) if x != y]
        summed = not any(isinstance(x, int) for pair in pairs for x in pair)
        if first is second and len(pairs) == 1 and summed:
            return pairs[0]
    return ()


def _dims(factors: Sequence[Factor]) -> dict[Name, Dim]:
    return {x: d for n, xs in factors for x, d in zip(xs, n.dims, strict=True)}


def _computed(body: Body, half: Half, number: str) -> tuple[Array, Array]:
    """The matrix L with a row an entry of x, and the weights c; or the core."""
    structure = body.structure
    width = count(half.width)
    value = body.value(half.side, f"side{number}")
    if len(half.width) != 1 or structure.rows != 1:
        height = count(structure.tensor.dims[: structure.rows])
        value = array(Reshape((height, width)), value)
    matrix = body.let(f"side{number}", value)
    if half.core:
        core = body.value(half.weight, f"core{number}")
        return matrix, body.let(f"core{number}", core)
    known = constant_value(half.weight)
    value = (
        body.value(half.weight, f"weight{number}")
        if known is None
        else array(Number(known))
    )
    if not half.width or known is not None:
        value = array(Fill((width,)), value)
    elif len(half.width) > 1:
        value = array(Reshape((width,)), value)
    return matrix, body.let(f"weight{number}", value)
