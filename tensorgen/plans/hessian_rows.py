"""Hessians by variables that have rows: which parts of them stay with a block.

Where nothing couples the rows of such variables with each other, a block has what its
own rows are multiplied by: an object for each pair of variables one of which has rows.
So it can eliminate its rows, and what is left is a matrix of the other variables. All
else is multiplied by, and solved by products, for which the diagonal is a help.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tensorgen.calculus.kinds import GRADIENT
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Lookup, Node, topological
from tensorgen.ir.views import Name
from tensorgen.operators.reshape import reshape
from tensorgen.passes.optimise import optimise
from tensorgen.passes.rates import sizes_in
from tensorgen.passes.row_places import RowAxis
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner
from tensorgen.structure.stored import Compressed, StoredTerm, as_compressed

DIAGONAL = replace(
    GRADIENT,
    name="hessian_diagonal",
    called="{f}_hess_diagonal",
    summary="Diagonal of the Hessian of `{f}` with respect to {x}.",
    root="hess_diagonal",
    label="diagonal",
    method="",
    part="",
)
"""What products with a Hessian that stays with rows are preconditioned by."""


def stays_with_rows(planned: PlannedFunction, axis: RowAxis) -> list[bool] | None:
    """Return which pairs of variables of a Hessian stay with the rows of blocks.

    None where it is none, where no variable has rows, or where rows are coupled.
    """
    kind, plan = planned.kind, planned.plan
    if kind.by != "pair" or not kind.holder or kind.lead or planned.members:
        return None
    variables = [p for p in planned.parameters if p.name in planned.wrt]
    shards = {p.name for p in variables if any(map(axis.has, p.dims))}
    found = [not shards.isdisjoint(pair) for pair in planned.blocks]
    tensors = as_compressed(plan.tensors)
    for own, part, kept in zip(found, plan.parts, tensors, strict=True):
        if kept is not None and not _is_told(kept, own, axis):
            return None
        if own and kept is not None and not _is_local(kept, axis):
            return None
        if not own and any(map(axis.has, (d for x in part for d in x.dims))):
            return None  # a sum over rows that are kept apart
    return found if shards else None


def diagonal(planner: Planner, planned: PlannedFunction) -> PlannedFunction:
    """Return the diagonal of a Hessian, by each of its variables, as a function."""
    graph = planner.graph
    squares = [k for k, own in enumerate(planned.blocks) if planned.is_square(k)]
    tensors = as_compressed(planned.plan.tensors)
    roots = [
        _tied(graph, planned.plan.parts[k], tensors[k], planned.row_axes(k))
        for k in squares
    ]
    names = planned.wrt if len(squares) > 1 else ("",)
    return replace(
        planned,
        kind=DIAGONAL,
        plan=optimise(planner.context(), [roots]),
        root_names=tuple("_".join(["hess_diagonal", x]).rstrip("_") for x in names),
        tensors=range(0),
        stated=tuple(
            _tied(graph, (planned.stated[k],), None, planned.row_axes(k))
            for k in squares
        ),
        others=(),
        unpromised=(),
        undivided=None,
        kept=None,
    )


def _tied(
    graph: Graph, part: Sequence[Node], tensor: Compressed | None, rows: int
) -> Node:
    """The diagonal of a square tensor, given whole or by the arrays it is kept by."""
    if tensor is None:
        axes = (*range(rows), *range(rows))
        return graph.product(range(rows), [(part[0], axes)])
    first = tensor.axes(rows)
    stored = {node: node for node in tensor.arrays}
    tied: dict[int, Name] = {first + k: k for k in range(first)}
    node = tensor.contracted(graph, stored, range(first), (), tied)
    return reshape(graph, node, tensor.shape[:rows]) if tensor.parts else node


def _is_told(tensor: Compressed, own: bool, axis: RowAxis) -> bool:
    """Whether an object of a block, or else of all of them, is told its sizes right."""
    scales = topological(node for term in tensor.terms for node in term.scale)
    asked = {s for node in scales for s in sizes_in(node)} if own else tensor.symbols
    return asked.isdisjoint(axis.sizes)


def _is_local(tensor: Compressed, axis: RowAxis) -> bool:
    """Whether what a block keeps of a tensor is what the tensor is there.

    All rows in a term are the row of one label, those that are summed as well.
    """
    terms = (term for term in tensor.terms if term.coefficient)
    return all(len(_groups(term, tensor.dims, axis)) <= 1 for term in terms)


def _groups(
    term: StoredTerm, dims: Sequence[Dim], axis: RowAxis
) -> set[frozenset[Any]]:
    """The labels of rows of a term, those together that its deltas tie."""
    labels = {
        x for x, dim in (*enumerate(dims), *term.elements.items()) if axis.has(dim)
    }
    for node, own in term.factors:
        if any(map(axis.has, node.dims)):
            labels |= {x for x, d in zip(own, node.dims, strict=True) if axis.has(d)}
    group = {x: frozenset([x]) for x in labels}
    for one in _deltas(term):
        pair = [_row(atom, axis) for atom in one.equal_atoms]
        if pair and all(x in group for x in pair):
            both = group[pair[0]] | group[pair[1]]
            group |= dict.fromkeys(both, both)
    return set(group.values())


def _deltas(term: StoredTerm) -> Iterator[Constraint]:
    yield from (tie.constraint for tie in term.ties)
    yield from (link.constraint() for link in term.links)


def _row(atom: Any, axis: RowAxis) -> Any:
    """The label whose row an atom of a delta is the number of, if it is one."""
    if not isinstance(atom, Lookup):
        return atom
    named = atom.node in axis.along.values() and len(atom.labels) == 1
    return atom.labels[0] if named else None
