"""The cheapest exact way to solve with a compressed Hessian, read off its terms.

Each way is a class of the generated module that takes arrays in a standard layout; what
is written here brings the stored arrays into that layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tensorgen.emit.coordinates import entry_lines
from tensorgen.emit.text import tuple_text
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node
from tensorgen.passes.structure import StoredTerm
from tensorgen.passes.views import Factor, Name

if TYPE_CHECKING:
    from tensorgen.emit.structured import Structure

WIDE = 4
"""A band may reach this many times as far as it has diagonals."""

DENSE = "_DenseFactorization(self.matrix, self.columns, {shift})"


@dataclass(frozen=True, slots=True)
class Solver:
    """A factorization class, its template, and the statements that construct it.

    `ease` ranks structures by what a solve costs: joint Hessians eliminate the block
    of the lowest first. `needs` are the templates of classes that it falls back to.
    """

    class_name: str
    needs: tuple[str, ...]
    ease: int
    lines: tuple[str, ...]


def solver(structure: Structure) -> Solver | None:
    """Return how to solve, or None where nothing beats the dense matrix."""
    for attempt in (_diagonal, _blocks, _kronecker, _bands, _low_rank, _sparse):
        found = attempt(structure)
        if found is not None:
            return found
    return None


# What terms have in common


def _aligned(structure: Structure, term: StoredTerm) -> frozenset[int] | None:
    """The axes of x that deltas tie to themselves; None if others are tied."""
    r = structure.rows
    for tie in term.ties:
        if tie.first >= r or tie.second != tie.first + r or tie.offset != 0:
            return None
    return frozenset(tie.first for tie in term.ties)


def _shared_ties(structure: Structure, terms: Sequence[StoredTerm]) -> frozenset[int]:
    """The axes of x that every term ties to themselves, if that is all it ties."""
    found = [_aligned(structure, term) for term in terms]
    none: frozenset[int] = frozenset()
    return none.union(*(f or none for f in found[:1])).intersection(
        *(none if f is None else f for f in found)
    )


def _ties_rows(structure: Structure, term: StoredTerm) -> bool:
    """Whether a delta ties an axis of the rows to one of the columns."""
    return any(tie.first < structure.rows <= tie.second for tie in term.ties)


def _core(
    structure: Structure, terms: Sequence[StoredTerm], out: Sequence[int]
) -> Node:
    """The sum of the terms over the axes `out`; ties of other axes are left out."""
    graph, dims = structure.graph, structure.tensor.dims
    sizes: dict[Name, Dim] = {axis: dims[axis] for axis in out}
    parts = [
        graph.product(
            out,
            structure.factors(term),
            coefficient=term.coefficient,
            constraints=[
                ("eq", {tie.first: 1, tie.second: -1}, tie.offset)
                for tie in term.ties
                if tie.first in sizes and tie.second in sizes
            ],
            sizes=sizes,
        )
        for term in terms
    ]
    return graph.sum(out, [(1, part, out) for part in parts], sizes)


def _size(dims: Sequence[Dim]) -> str:
    return str(prod(dims, start=Dim.of(1)))


# The ways, the cheapest first


def _diagonal(structure: Structure) -> Solver | None:
    tied = _shared_ties(structure, structure.tensor.terms)
    if len(tied) != structure.rows:
        return None
    line = "return _DiagonalFactorization(self.diagonal(), self.columns, shift)"
    return Solver("_DiagonalFactorization", ("diagonal",), 0, (line,))


def _blocks(structure: Structure) -> Solver | None:
    terms = structure.tensor.terms
    tied = _shared_ties(structure, terms)
    if not tied or len(_groups(structure) or ()) > 1:
        return None
    lines, call = _block_call(structure, terms, tied, "shift")
    return Solver("_BlockFactorization", ("block",), 1, (*lines, f"return {call}"))


def _block_call(
    structure: Structure, terms: Sequence[StoredTerm], tied: frozenset[int], shift: str
) -> tuple[list[str], str]:
    """Statements for the blocks of some terms, and the call that factorises them."""
    r, dims = structure.rows, structure.tensor.dims
    first = sorted(tied)
    rest = [a for a in range(r) if a not in tied]
    labels = {x for term in terms for _, xs in term.factors for x in xs}
    numbered = first if labels & set(first) else []
    out = [*numbered, *rest, *(a + r for a in rest)]
    code = structure.code(_core(structure, terms, out), "blocks", ["shift"])
    side = _size([dims[a] for a in rest])
    count = _size([dims[a] for a in numbered])
    value = code.returns[0]
    if not (len(numbered) == len(rest) == 1):
        value = f"({value}).reshape({count}, {side}, {side})"
    lines = list(structure.lines(code, f"blocks = {value}"))
    if lines[-1].endswith(" = blocks"):
        lines[-1:] = []
    axes = tuple_text([str(a) for a in (*first, *rest)])
    call = f"_BlockFactorization(blocks, {axes}, {len(first)}, self.columns, {shift})"
    return lines, call


def _groups(structure: Structure) -> list[tuple[list[int], list[Factor]]] | None:
    """The factors of a single term by the axes they share, each closed under rows
    and columns; None if the term does not split so."""
    terms, r = structure.tensor.terms, structure.rows
    if len(terms) != 1 or terms[0].summed or _aligned(structure, terms[0]) is None:
        return None
    groups: list[tuple[set[int], list[Factor]]] = []
    for factor in terms[0].factors:
        axes = {x % r for x in factor[1] if isinstance(x, int)}
        touched = [g for g in groups if g[0] & axes]
        groups = [g for g in groups if not g[0] & axes]
        merged = axes.union(*(g[0] for g in touched))
        groups.append((merged, [f for g in touched for f in g[1]] + [factor]))
    scalars = [f for axes, fs in groups if not axes for f in fs]
    found = [(sorted(axes), fs) for axes, fs in groups if axes]
    if not found:
        return None
    found[0] = (found[0][0], found[0][1] + scalars)
    for own, factors in found:
        present = {x for _, xs in factors for x in xs}
        if present != {*own, *(a + r for a in own)}:
            return None
    return sorted(found, key=lambda group: group[0])


def _kronecker(structure: Structure) -> Solver | None:
    groups = _groups(structure)
    if groups is None or len(groups) < 2:
        return None
    (term,) = structure.tensor.terms
    r, dims, graph = structure.rows, structure.tensor.dims, structure.graph
    lines: list[str] = []
    parts = []
    for k, (axes, factors) in enumerate(groups):
        out = [*axes, *(a + r for a in axes)]
        node = graph.product(
            out,
            [
                *((structure.stored[n], labels) for n, labels in factors),
                *((node, ()) for node in term.scale if k == 0),
            ],
            coefficient=term.coefficient if k == 0 else 1,
        )
        name = f"part{k + 1}"
        code = structure.code(node, name, ["shift"])
        value = code.returns[0]
        if len(axes) > 1:
            side = _size([dims[a] for a in axes])
            value = f"({value}).reshape({side}, {side})"
        if value in structure.fields:
            lines.append(f"{value} = self.{value}")
            name = value
        else:
            lines += structure.lines(code, f"{name} = {value}")
        parts.append(f"({name}, {tuple_text([str(a) for a in axes])})")
    call = (
        f"return _KroneckerFactorization(({', '.join(parts)}), self.columns, shift, "
        f"lambda: {DENSE.format(shift='shift')})"
    )
    return Solver("_KroneckerFactorization", ("kronecker",), 2, (*_once(lines), call))


def _bands(structure: Structure) -> Solver | None:
    if structure.rows != 1:
        return None
    bands: dict[int, list[StoredTerm]] = {}
    for term in structure.tensor.terms:
        if len(term.ties) != 1 or term.ties[0].offset.constant is None:
            return None
        bands.setdefault(term.ties[0].offset.constant, []).append(term)
    reach = max(map(abs, bands))
    if reach > WIDE * len(bands):
        return None  # a band is stored whole, and would mostly hold zeros
    lines: list[str] = []
    entries = []
    for offset, terms in sorted(bands.items()):
        code = structure.code(_core(structure, terms, [0]), "band", ["shift"])
        lines += structure.lines(code, "")[:-1]
        entries.append(f"{offset}: {code.returns[0]}")
    call = f"return _BandFactorization({{{', '.join(entries)}}}, self.columns, shift)"
    return Solver("_BandFactorization", ("band",), 3, (*_once(lines), call))


def _low_rank(structure: Structure) -> Solver | None:
    terms = structure.tensor.terms
    base = [term for term in terms if term.ties]
    thin = [term for term in terms if not term.ties]
    tied = _shared_ties(structure, base)
    if not thin or not (tied or all(_ties_rows(structure, term) for term in base)):
        return None
    halves = [_mirrored(structure, term) for term in thin]
    if not all(halves):
        return None
    lines: list[str] = []
    sides, weights = [], []
    for k, (term, half) in enumerate(zip(thin, halves, strict=True)):
        assert half is not None
        left, middle = half
        names = [f"side{k + 1}", f"weight{k + 1}"]
        made = _half_lines(structure, term, left, middle, names)
        lines += made
        sides.append(names[0])
        weights.append(names[1])
    np = structure.alias
    if len(thin) > 1:
        lines.append(f"side = {np}.hstack([{', '.join(sides)}])")
        lines.append(f"weight = {np}.concatenate([{', '.join(weights)}])")
        sides, weights = ["side"], ["weight"]
    more, piece, make = _base(structure, base, tied)
    lines = [*_once(lines), *more]
    call = (
        f"return _LowRankFactorization(lambda: {make}, {sides[0]}, {weights[0]}, "
        f"self.columns, self.matvec, lambda: {DENSE.format(shift='shift')}, shift)"
    )
    needs = ("low_rank", piece)
    return Solver("_LowRankFactorization", needs, 4, (*lines, call))


def _base(
    structure: Structure, terms: Sequence[StoredTerm], tied: frozenset[int]
) -> tuple[list[str], str, str]:
    """Statements for the terms besides low rank; the template and the call it takes."""
    np = structure.alias
    if not terms:
        diagonal = f"{np}.zeros(self.columns, dtype=self.dtype)"
        call = f"_DiagonalFactorization({diagonal}, self.columns, shift)"
        return [], "diagonal", call
    axes = range(structure.rows)
    if len(tied) == structure.rows:
        code = structure.code(_core(structure, terms, axes), "diagonal", ["shift"])
        lines = structure.lines(code, f"diagonal = {code.returns[0]}")
        call = "_DiagonalFactorization(diagonal, self.columns, shift)"
        return list(lines), "diagonal", call
    if tied:
        made, call = _block_call(structure, terms, tied, "shift")
        return made, "block", call
    columns = range(structure.rows, structure.axes)
    entries = entry_lines(structure, terms, axes, columns)
    call = "_SparseFactorization(rows, columns, values, self.columns, shift)"
    return entries, "sparse", call


def _mirrored(
    structure: Structure, term: StoredTerm
) -> tuple[list[Factor], list[Factor]] | None:
    """The factors of `sum_s L[i, s] * c[s] * L[j, s]` as (those of L, those of c)."""
    r = structure.rows
    left: list[Factor] = []
    right: list[Factor] = []
    middle: list[Factor] = []
    for factor in term.factors:
        axes = [x for x in factor[1] if isinstance(x, int)]
        if not axes:
            middle.append(factor)
        elif all(x < r for x in axes):
            left.append(factor)
        elif all(x >= r for x in axes):
            right.append(factor)
        else:
            return None
    turned = [
        (node, tuple(x - r if isinstance(x, int) else x for x in labels))
        for node, labels in right
    ]

    def key(factor: Factor) -> tuple[int, str]:
        return factor[0].serial, str(factor[1])

    present = {x for _, labels in left for x in labels if isinstance(x, int)}
    if sorted(left, key=key) != sorted(turned, key=key) or len(present) != r:
        return None
    return left, middle


def _half_lines(
    structure: Structure,
    term: StoredTerm,
    left: Sequence[Factor],
    middle: Sequence[Factor],
    names: Sequence[str],
) -> list[str]:
    """Statements for the matrix L with a row an entry of x, and the weights c."""
    graph, np = structure.graph, structure.alias
    summed = term.summed
    sizes = {x: d for n, xs in term.factors for x, d in zip(xs, n.dims, strict=True)}
    out = [*range(structure.rows), *summed]
    side = graph.product(
        out,
        [(structure.stored[n], xs) for n, xs in left],
        sizes={x: sizes[x] for x in out},
    )
    weight = graph.product(
        summed,
        [
            *((structure.stored[n], xs) for n, xs in middle),
            *((node, ()) for node in term.scale),
        ],
        coefficient=term.coefficient,
        sizes={x: sizes[x] for x in summed},
    )
    height = _size([structure.tensor.dims[a] for a in range(structure.rows)])
    width = _size([sizes[x] for x in summed])
    lines: list[str] = []
    for node, name, shape in (
        (side, names[0], f"({height}, {width})"),
        (weight, names[1], f"({width},)"),
    ):
        code = structure.code(node, name, ["shift"])
        value = code.returns[0]
        if node is weight and not summed:
            value = f"{np}.full(1, {value}, dtype=self.dtype)"
        elif len(summed) != 1 or (node is side and structure.rows != 1):
            value = f"{np}.reshape({value}, {shape})"
        lines += structure.lines(code, f"{name} = {value}")
    return lines


def _sparse(structure: Structure) -> Solver | None:
    """Deltas between rows and columns in every term: a stencil, a band of blocks."""
    if not all(_ties_rows(structure, term) for term in structure.tensor.terms):
        return None
    line = "return _SparseFactorization(*self.coo(), self.columns, shift)"
    return Solver("_SparseFactorization", ("sparse",), 5, (line,))


def _once(lines: Sequence[str]) -> list[str]:
    """The statements without those that stand above already."""
    return list(dict.fromkeys(lines))
