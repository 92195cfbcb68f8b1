"""Solving with Kronecker products, and with sums of them that share eigenvectors."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.object_operations import Made, Nothing, Pack, Reshape
from tensorgen.arrays.operations import Number
from tensorgen.ir.dims import count
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import Node
from tensorgen.ir.views import Factor
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.stored import StoredTerm
from tensorgen.structure.ways import LOCAL, SELF, SHIFT, Solver, aligned, numbers


def groups(structure: Structure) -> list[tuple[list[int], list[Factor]]] | None:
    """The factors of a single term by the axes they share, each closed under rows
    and columns; None if the term does not split so."""
    terms, r = structure.tensor.terms, structure.rows
    if len(terms) != 1 or terms[0].summed or terms[0].links:
        return None
    if aligned(structure, terms[0]) is None:
        return None
    whole = terms[0].factors
    axes = [{x % r for x in labels if isinstance(x, int)} for _, labels in whole]
    groups = [(own, [whole[k] for k in places]) for own, places in connected(axes)]
    scalars = [f for own, fs in groups if not own for f in fs]
    found = [(sorted(own), fs) for own, fs in groups if own]
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
    body = Body(structure, LOCAL)
    parts = []
    for k, (axes, factors) in enumerate(found):
        out = [*axes, *(a + r for a in axes)]
        node = graph.product(
            out,
            [
                *((structure.stored[n], labels) for n, labels in factors),
                *(term.numbers if k == 0 else ()),
            ],
            coefficient=term.coefficient if k == 0 else 1,
        )
        matrix = _matrix(body, axes, node, f"part{k + 1}")
        parts.append(array(Pack(), matrix, numbers(axes)))
    given = array(Pack(), *parts)
    made = array(Made("_KroneckerFactorization"), SELF, SHIFT, given)
    return Solver(body.returning(made))


def kronecker_sum(structure: Structure) -> Solver | None:
    """How to solve with a sum of products of few matrices, identities besides.

    `A[i, k] * delta[j, l] + delta[i, k] * B[j, l]`, or a product plus a multiple of the
    identity: the eigenvectors of A and B are those of the sum.
    """
    return _sum(structure, "_KroneckerFactorization", paired=False)


def pencil(structure: Structure) -> Solver | None:
    """How to solve with two matrices of the same axes: by generalised eigenvectors.

    `A[i, k] * B[j, l] + C[i, k] * D[j, l]`.
    """
    return _sum(structure, "_PencilFactorization", paired=True)


def _sum(structure: Structure, name: str, paired: bool) -> Solver | None:
    found = _matrices_of_sum(structure)
    if found is None:
        return None
    parts, products = found
    if paired != any(len(own) > 1 for own in parts.values()):
        return None
    order = sorted(parts)
    body = Body(structure, LOCAL)
    matrices = []
    for k, axes in enumerate(order):
        pairs = zip(parts[axes], ("part", "other"), strict=False)
        own = [_matrix(body, axes, node, f"{stem}{k + 1}") for node, stem in pairs]
        own += [array(Nothing())] * (paired and len(own) == 1)
        matrices.append(array(Pack(), *own, numbers(axes)))
    terms = []
    for k, (coefficient, scalars, acting) in enumerate(products):
        weight = _weight(body, coefficient, scalars, f"weight{k + 1}")
        if paired:  # which matrix of each part, where the second may be the identity
            chosen = [
                parts[axes].index(acting[axes]) if axes in acting else 1
                for axes in order
            ]
        else:  # which parts
            chosen = [order.index(axes) for axes in acting]
        terms.append(array(Pack(), weight, numbers(chosen)))
    given, weights = array(Pack(), *matrices), array(Pack(), *terms)
    return Solver(body.returning(array(Made(name), SELF, SHIFT, given, weights)))


Weighted = tuple[Fraction, list[Factor], dict[tuple[int, ...], Node]]
"""A term: its coefficient, its numbers, its matrices by the axes that they act on."""


def _matrices_of_sum(
    structure: Structure,
) -> tuple[dict[tuple[int, ...], list[Node]], list[Weighted]] | None:
    """The matrices of a sum by the axes that they act on, and its terms.

    None unless the terms are products of matrices, of which two at most act on the same
    axes, the identity included.
    """
    parts: dict[tuple[int, ...], list[Node]] = {}
    products: list[Weighted] = []
    for term in structure.tensor.terms:
        taken = _acting(structure, term)
        if taken is None:
            return None
        products.append((term.coefficient, *taken))
        for axes, node in taken[1].items():
            own = parts.setdefault(axes, [])
            own += [node] * (node not in own)
    acted = [a for axes in parts for a in axes]
    pairs = {axes: own for axes, own in parts.items() if len(own) > 1}
    if (
        not parts
        or structure.rows in map(len, parts)  # one matrix: as large as the Hessian
        or len(set(acted)) < len(acted)
        or any(not _is_pair(structure, own) for own in pairs.values())
        or any(axes not in acting for axes in pairs for *_, acting in products)
    ):
        return None
    return parts, products


def _weight(
    body: Body, coefficient: Fraction, scalars: Sequence[Factor], name: str
) -> Array:
    """The number that a term is multiplied by."""
    if not scalars:
        return array(Number(coefficient))
    node = body.structure.graph.product([], scalars, coefficient=coefficient)
    return body.value(node, name)


def _is_pair(structure: Structure, nodes: Sequence[Node]) -> bool:
    """Whether there are two matrices, and they are not each other's transposes."""
    if len(nodes) != 2:
        return False
    half = nodes[0].order // 2
    turned = [*range(half, 2 * half), *range(half)]
    return structure.graph.permute(nodes[0], turned) is not nodes[1]


def _acting(
    structure: Structure, term: StoredTerm
) -> tuple[list[Factor], dict[tuple[int, ...], Node]] | None:
    """The numbers of a term, and its matrices by the axes that they act on.

    None if it is not a product of matrices, with identities on all other axes.
    """
    r, tied = structure.rows, aligned(structure, term)
    if tied is None or term.summed or term.links:
        return None
    scalars = term.numbers
    factors: dict[tuple[int, ...], list[Factor]] = {}
    for node, labels in term.factors:
        axes = tuple(sorted({x % r for x in labels if isinstance(x, int)}))
        if not axes:
            scalars.append((structure.stored[node], ()))
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


def _matrix(body: Body, axes: Sequence[int], node: Node, name: str) -> Array:
    value = body.value(node, name)
    if len(axes) > 1:
        side = count([body.structure.tensor.dims[a] for a in axes])
        value = array(Reshape((side, side)), value)
    return body.let(name, value)
