"""What the ways to solve share: what they are, and what terms have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from tensorgen.arrays.arrays import Array, array, variable
from tensorgen.arrays.object_operations import Attribute, Made, Pack, Reshape
from tensorgen.arrays.operations import Number
from tensorgen.arrays.statements import Statement
from tensorgen.ir.dims import ONE, Dim, count
from tensorgen.ir.graph import Graph
from tensorgen.ir.groups import connected
from tensorgen.ir.nodes import Node
from tensorgen.ir.views import Name
from tensorgen.structure.gram import gram
from tensorgen.structure.methods import Body, Structure
from tensorgen.structure.stored import StoredTerm


@dataclass(frozen=True, slots=True)
class Solver:
    """The statements that construct a factorization.

    `needs` are the templates of classes that it falls back to.
    """

    body: tuple[Statement, ...]
    needs: tuple[str, ...] = ()


Keep = Callable[[Graph, Node], list[StoredTerm] | None]


@dataclass(frozen=True, slots=True)
class Row:
    """A structure: how it is recognised, and how one solves with it.

    `solve` returns None for what has another structure. The class `factorization` is
    in `template`, which `needs` others and stands `after` some if they are there;
    `pieces` are the templates of what several of them use.
    `imports` has the modules that it imports where they are used, for each backend.
    `ease` ranks structures by what a solve costs: joint Hessians eliminate the block of
    the lowest first.

    What is stored of most structures are the factors of terms and the deltas between
    their axes. Others say what they `keep` of a symmetric matrix, if it is one of
    theirs, and how to multiply, where there is a better way than by the whole term.
    """

    name: str
    solve: Callable[[Structure], Solver | None]
    factorization: str
    template: str
    ease: int
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    imports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    keep: Keep | None = None
    product: Callable[[Structure], Array] | None = None


def aligned(structure: Structure, term: StoredTerm) -> frozenset[int] | None:
    """The axes of x that deltas tie to themselves; None if others are tied."""
    r = structure.rows
    for tie in term.ties:
        if tie.first >= r or tie.second != tie.first + r or tie.offset != 0:
            return None
    tied = frozenset(tie.first for tie in term.ties)
    return tied if all(link.axis in tied for link in term.links) else None


def shared_ties(structure: Structure, terms: Sequence[StoredTerm]) -> frozenset[int]:
    """The axes of x that every term ties to themselves, if that is all it ties."""
    found = [aligned(structure, term) for term in terms]
    none: frozenset[int] = frozenset()
    return none.union(*(f or none for f in found[:1])).intersection(
        *(none if f is None else f for f in found)
    )


def ties_rows(structure: Structure, term: StoredTerm) -> bool:
    """Whether deltas tie an axis of the rows to one of the columns, or fix one.

    Those of a sparse matrix do, which is multiplied by its transpose.
    """
    return gram(term) is not None or ties_sides(term, structure.rows)


def ties_sides(term: StoredTerm, rows: int) -> bool:
    """The same where the first `rows` axes are those of the rows.

    Labels and entries of index arrays tie, where they are those of one element.
    """
    if any(not link.labels for link in term.links):
        return True
    tied: list[set[Name]] = [{tie.first, tie.second} for tie in term.ties]
    tied += [{link.axis, *link.labels} for link in term.links]
    return any(
        min(axes) < rows <= max(axes)
        for group, _ in connected(tied)
        if (axes := [x for x in group if isinstance(x, int)])
    )


def few_a_row(structure: Structure) -> bool:
    """Whether no size changes how many entries a row or a column has, but few have."""
    dims, most = structure.tensor.dims, 16
    for term in structure.tensor.terms if not structure.tensor.vanishes else ():
        if any(link.labels for link in term.links):
            return False
        fixed = {link.axis for link in term.links}
        groups = connected({tie.first, tie.second} for tie in term.ties)
        tied = {
            axis
            for axes, _ in groups
            if min(axes) < structure.rows <= max(axes)
            for axis in axes
        }
        free = [dim for a, dim in enumerate(dims) if a not in tied | fixed]
        count = prod(free, start=ONE).constant
        if count is None or count > most:
            return False
    return True


def core(structure: Structure, terms: Sequence[StoredTerm], out: Sequence[int]) -> Node:
    """The sum of the terms over the axes `out`; ties of other axes are left out.

    But a factor may bear an axis that is so far from one of `out`.
    """
    graph, dims = structure.graph, structure.tensor.dims
    sizes: dict[Name, Dim] = {axis: dims[axis] for axis in out}
    parts = [
        graph.product(
            out,
            structure.factors(term),
            coefficient=term.coefficient,
            constraints=[
                tie.constraint
                for tie in term.ties
                if {tie.first, tie.second} <= {*out, *_axes(term)}
            ]
            + [link.constraint(structure.stored) for link in term.links],
            sizes={**sizes, **term.elements},
        )
        for term in terms
    ]
    return graph.sum(out, [(1, part, out) for part in parts], sizes)


def _axes(term: StoredTerm) -> set[Name]:
    return {x for _, labels in term.factors for x in labels}


def numbers(values: Sequence[int]) -> Array:
    """A tuple of whole numbers."""
    return array(Pack(), *(array(Number(Fraction(k))) for k in values))


COLUMNS = array(Attribute("columns"))
SHIFT = variable("shift", ())
SELF = variable("self", ())
LOCAL = ("shift",)
"""What `factorize` calls its arguments."""


def block_factorization(
    body: Body, terms: Sequence[StoredTerm], tied: frozenset[int]
) -> Array:
    """The factorization of some terms, a block for each value of the `tied` axes."""
    structure = body.structure
    r, dims = structure.rows, structure.tensor.dims
    first = sorted(tied)
    rest = [a for a in range(r) if a not in tied]
    labels = {x for term in terms for _, xs in term.factors for x in xs}
    labels.update(link.axis for term in terms for link in term.links)
    numbered = first if labels & set(first) else []
    out = [*numbered, *rest, *(a + r for a in rest)]
    value = body.value(core(structure, terms, out), "blocks")
    side = count([dims[a] for a in rest])
    if not (len(numbered) == len(rest) == 1):
        shape = (count([dims[a] for a in numbered]), side, side)
        value = array(Reshape(shape), value)
    return array(
        Made("_BlockFactorization"),
        body.let("blocks", value),
        numbers([*first, *rest]),
        array(Number(Fraction(len(first)))),
        COLUMNS,
        SHIFT,
    )
