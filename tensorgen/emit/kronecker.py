"""Solving with Kronecker products, and with sums of them that share eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorgen.emit.text import tuple_text
from tensorgen.emit.ways import DENSE, Solver, aligned, once, size_text
from tensorgen.ir.nodes import Node
from tensorgen.passes.structure import StoredTerm
from tensorgen.passes.views import Factor

if TYPE_CHECKING:
    from tensorgen.emit.structured import Structure


def groups(structure: Structure) -> list[tuple[list[int], list[Factor]]] | None:
    """The factors of a single term by the axes they share, each closed under rows
    and columns; None if the term does not split so."""
    terms, r = structure.tensor.terms, structure.rows
    if len(terms) != 1 or terms[0].summed or terms[0].links:
        return None
    if aligned(structure, terms[0]) is None:
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


def kronecker(structure: Structure) -> Solver | None:
    """How to solve with a product of matrices that act on different axes."""
    found = groups(structure)
    if found is None or len(found) < 2:
        return None
    (term,) = structure.tensor.terms
    r, graph = structure.rows, structure.graph
    lines: list[str] = []
    parts = []
    for k, (axes, factors) in enumerate(found):
        out = [*axes, *(a + r for a in axes)]
        node = graph.product(
            out,
            [
                *((structure.stored[n], labels) for n, labels in factors),
                *((node, ()) for node in term.scale if k == 0),
            ],
            coefficient=term.coefficient if k == 0 else 1,
        )
        made, name = _matrix(structure, axes, node, f"part{k + 1}")
        lines += made
        parts.append(f"({name}, {tuple_text([str(a) for a in axes])})")
    call = (
        f"return _KroneckerFactorization(({', '.join(parts)}), self.columns, shift, "
        f"lambda: {DENSE.format(shift='shift')})"
    )
    return Solver("_KroneckerFactorization", ("kronecker",), 2, (*once(lines), call))


def kronecker_sum(structure: Structure) -> Solver | None:
    """How to solve with a sum of products of the same matrices, identities besides.

    `A[i, k] * delta[j, l] + delta[i, k] * B[j, l]`, or a product plus a multiple of the
    identity: the eigenvectors of A and B are those of the sum.
    """
    parts: dict[tuple[int, ...], Node] = {}
    weights: list[tuple[list[Node], list[tuple[int, ...]]]] = []
    for term in structure.tensor.terms:
        taken = _acting(structure, term)
        if taken is None:
            return None
        scalars, acting = taken
        for axes, node in acting.items():
            if parts.setdefault(axes, node) is not node:
                return None
        weights.append((scalars, list(acting)))
    order = sorted(parts)
    acted = [a for axes in order for a in axes]
    if not parts or len(set(acted)) < len(acted):
        return None
    lines: list[str] = []
    matrices, terms = [], []
    for k, axes in enumerate(order):
        made, name = _matrix(structure, axes, parts[axes], f"part{k + 1}")
        lines += made
        matrices.append(f"({name}, {tuple_text([str(a) for a in axes])})")
    products = zip(structure.tensor.terms, weights, strict=True)
    for k, (term, (scalars, present)) in enumerate(products):
        weight = structure.graph.product(
            [], [(node, ()) for node in scalars], coefficient=term.coefficient
        )
        code = structure.code(weight, f"weight{k + 1}", ["shift"])
        *made, _ = structure.lines(code, f"weight = {code.returns[0]}")
        lines += made
        own = tuple_text([str(order.index(axes)) for axes in present])
        terms.append(f"({code.returns[0]}, {own})")
    call = (
        f"return _KroneckerFactorization({tuple_text(matrices)}, self.columns, shift, "
        f"lambda: {DENSE.format(shift='shift')}, {tuple_text(terms)})"
    )
    return Solver("_KroneckerFactorization", ("kronecker",), 2, (*once(lines), call))


def _acting(
    structure: Structure, term: StoredTerm
) -> tuple[list[Node], dict[tuple[int, ...], Node]] | None:
    """The numbers of a term, and its matrices by the axes that they act on.

    None if it is not a product of matrices, with identities on all other axes.
    """
    r, tied = structure.rows, aligned(structure, term)
    if tied is None or term.summed or term.links:
        return None
    scalars: list[Node] = list(term.scale)
    factors: dict[tuple[int, ...], list[Factor]] = {}
    for node, labels in term.factors:
        axes = tuple(sorted({x % r for x in labels if isinstance(x, int)}))
        if not axes:
            scalars.append(structure.stored[node])
        else:
            factors.setdefault(axes, []).append((structure.stored[node], labels))
    covered = sorted([*tied, *(a for axes in factors for a in axes)])
    if covered != list(range(r)):
        return None
    acting = {}
    for axes, own in factors.items():
        out = [*axes, *(a + r for a in axes)]
        if {x for _, labels in own for x in labels} != set(out):
            return None
        acting[axes] = structure.graph.product(out, own)
    return scalars, acting


def _matrix(
    structure: Structure, axes: Sequence[int], node: Node, name: str
) -> tuple[list[str], str]:
    """Statements for the matrix that acts on some axes, and its name."""
    code = structure.code(node, name, ["shift"])
    value = code.returns[0]
    if len(axes) > 1:
        side = size_text([structure.tensor.dims[a] for a in axes])
        value = f"({value}).reshape({side}, {side})"
    if value in structure.fields:
        return [f"{value} = self.{value}"], value
    return list(structure.lines(code, f"{name} = {value}")), name
