"""Solving with low rank besides a diagonal, blocks, or a band: Woodbury's formula."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.passes.stored import StoredTerm
from tensorgen.passes.views import Factor
from tensorgen.structure.coordinates import entry_lines
from tensorgen.structure.methods import Structure
from tensorgen.structure.ways import (
    Solver,
    block_call,
    core,
    once,
    shared_ties,
    size_text,
    ties_rows,
)


def low_rank(structure: Structure) -> Solver | None:
    """How to solve where some terms are outer products, and the others are easy."""
    terms = structure.tensor.terms
    base = [term for term in terms if term.ties or term.links]
    thin = [term for term in terms if term not in base]
    tied = shared_ties(structure, base)
    if not thin or not (tied or all(ties_rows(structure, term) for term in base)):
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
        made, names = _half_lines(structure, term, left, middle, names)
        lines += made
        sides.append(names[0])
        weights.append(names[1])
    np = structure.alias
    if len(thin) > 1:
        lines.append(f"side = {np}.hstack([{', '.join(sides)}])")
        lines.append(f"weight = {np}.concatenate([{', '.join(weights)}])")
        sides, weights = ["side"], ["weight"]
    more, piece, make = _base(structure, base, tied)
    lines = [*once(lines), *more]
    call = (
        f"return _LowRankFactorization("
        f"self, shift, lambda: {make}, {sides[0]}, {weights[0]})"
    )
    return Solver((*lines, call), (piece,))


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
        code = structure.code(core(structure, terms, axes), "diagonal", ["shift"])
        lines = structure.lines(code, f"diagonal = {code.returns[0]}")
        call = "_DiagonalFactorization(diagonal, self.columns, shift)"
        return list(lines), "diagonal", call
    if tied:
        made, call = block_call(structure, terms, tied, "shift")
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
) -> tuple[list[str], list[str]]:
    """Statements for the matrix L with a row an entry of x, and the weights c.

    The names that these then have are those of stored arrays where they are such.
    """
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
    height = size_text([structure.tensor.dims[a] for a in range(structure.rows)])
    width = size_text([sizes[x] for x in summed])
    lines: list[str] = []
    used: list[str] = []
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
        own = structure.lines(code, f"{name} = {value}")
        is_stored = value in structure.fields
        lines += own[:-1] if is_stored else own
        used.append(value if is_stored else name)
    return lines, used
