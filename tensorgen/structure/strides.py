"""Places `c*p + r` in rows and columns: blocks of c neighbours along the diagonal."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from tensorgen.arrays.arrays import array
from tensorgen.arrays.object_operations import Made, Pack
from tensorgen.arrays.operations import Number, Size
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node, delta
from tensorgen.ir.views import Name
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.stored import StoredTerm
from tensorgen.structure.ways import LOCAL, SHIFT, Solver, numbers


class Stride(NamedTuple):
    """A block of `step` neighbours for each of `count` numbers."""

    step: int
    blocks: Dim


BLOCK, ROW, COLUMN = "block", "row", "column"


def strides(structure: Structure) -> Solver | None:
    """How to solve where each term has one entry in every block of some neighbours."""
    terms, stride = structure.tensor.terms, common_stride(structure)
    if stride is None:
        return None
    body = Body(structure, LOCAL)
    side = Dim.of(stride.step)
    sizes: dict[Name, Dim] = {BLOCK: stride.blocks, ROW: side, COLUMN: side}
    out = [BLOCK, ROW, COLUMN]
    parts = [(1, _blocks(structure, term, sizes), out) for term in terms]
    value = body.value(structure.graph.sum(out, parts, sizes), "blocks")
    neighbours = array(
        Pack(), array(Size(stride.blocks)), array(Number(Fraction(stride.step)))
    )
    made = array(
        Made("_BlockFactorization"),
        body.let("blocks", value),
        numbers([0, 1]),
        array(Number(Fraction(1))),
        neighbours,
        SHIFT,
    )
    return Solver(body.returning(made))


def common_stride(structure: Structure) -> Stride | None:
    """The blocks of neighbours that all terms are in, if there are such."""
    found = {_stride(structure, term) for term in structure.tensor.terms}
    return found.pop() if len(found) == 1 else None


def _stride(structure: Structure, term: StoredTerm) -> Stride | None:
    """The blocks that each have an entry of a term, at the same place in all."""
    if structure.rows != 1 or [link.axis for link in term.links] != [0, 1]:
        return None
    first, second = (link.form for link in term.links)
    if first.terms != second.terms or len(first.terms) != 1:
        return None
    ((label, step),) = first.terms
    if label not in term.elements:
        return None
    count = term.elements[label]
    inside = all(
        form.const.is_nonnegative() and (step - 1 - form.const).is_nonnegative()
        for form in (first, second)
    )
    return Stride(step, count) if inside and _fill(structure, count * step) else None


def _fill(structure: Structure, size: Dim) -> bool:
    return all(dim == size for dim in structure.tensor.dims)


def _blocks(structure: Structure, term: StoredTerm, sizes: dict[Name, Dim]) -> Node:
    """A term over the blocks, their rows and columns."""
    (number,) = term.elements
    row, column = (link.form.const for link in term.links)
    used = {x for _, labels in term.factors for x in labels}
    given = [link.constraint() for link in term.links if link.axis in used]
    axes = dict(enumerate(structure.tensor.dims))
    return structure.graph.product(
        [BLOCK, ROW, COLUMN],
        [
            (node, tuple(BLOCK if x == number else x for x in labels))
            for node, labels in structure.factors(term)
        ],
        coefficient=term.coefficient,
        constraints=[
            *(c.renamed(lambda x: BLOCK if x == number else x) for c in given),
            delta({ROW: 1}, -row),
            delta({COLUMN: 1}, -column),
        ],
        sizes={**sizes, **{x: dim for x, dim in axes.items() if x in used}},
    )
