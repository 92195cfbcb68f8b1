"""Functions that the check knows nothing of but that they are functions.

Equal arguments give equal values, and nothing else is said of them: what finds an
unknown, which takes as many steps as it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from tensorgen.check.residues import Residues, random
from tensorgen.check.walks import Field
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node
from tensorgen.operators.external_calls import external_of, is_external
from tensorgen.operators.recurrences.recurrence import everything
from tensorgen.operators.references import Array
from tensorgen.operators.solved_arrays import equation_of, is_unknown


def opaque(field: Field, name: str, shape: Sequence[int], *args: Array) -> Array:
    """The value of a function: a fixed random map of the entries of its arguments."""
    entries = [x for arg in args for x in np.ravel(field.of(arg)).tolist()]
    count = int(np.prod(shape, dtype=int))
    if isinstance(field, Residues):
        found = [random(name, k, *map(int, entries)) for k in range(count)]
        return np.array(found, dtype=object).reshape(shape)
    phases = np.arange(1.0, count + 1)[:, None] * np.sqrt(
        np.arange(2, len(entries) + 2)
    )
    return np.cos(phases @ np.array(entries, float)).reshape(shape)


def _external(
    field: Field, name: str, shape: Sequence[int] | None, *args: Array
) -> Array:
    """The value of a function from outside, which is never called here."""
    if shape is not None:
        return opaque(field, name, shape, *args)
    every = np.broadcast_arrays(*map(field.of, args))
    found = [
        opaque(field, name, (), *each)
        for each in zip(*map(np.ravel, every), strict=True)
    ]
    return np.array([x[()] for x in found], every[0].dtype).reshape(every[0].shape)


def _solver(
    field: Field,
    name: str,
    shapes: Mapping[tuple[int, ...], Sequence[int]],
    *args: Array,
    **more: Array,
) -> Array:
    """The value of what finds an unknown, whose first argument says how many rows."""
    return opaque(field, name, shapes[np.shape(args[0])], *args, *more.values())


def solvers(
    nodes: Iterable[Node],
    field: Field,
    lengths: Callable[[Sequence[Dim]], Sequence[int]],
) -> dict[str, Callable[..., Array]]:
    """The functions that find the unknowns which nodes solve for, by their names."""
    found: dict[str, Callable[..., Array]] = {}
    shapes: dict[str, dict[tuple[int, ...], Sequence[int]]] = {}
    for node in everything(nodes):
        if is_unknown(node):
            name = equation_of(node).solver.partition("(")[0]
            known = shapes.setdefault(name, {})
            known[tuple(lengths(node.args[0].dims))] = lengths(node.dims)
            found[name] = partial(_solver, field, name, known)
    return found | outside(nodes, field, lengths)


def outside(
    nodes: Iterable[Node],
    field: Field,
    lengths: Callable[[Sequence[Dim]], Sequence[int]],
) -> dict[str, Callable[..., Array]]:
    """What stands for functions from outside, by the names of what calls them."""
    found: dict[str, Callable[..., Array]] = {}
    for node in filter(is_external, everything(nodes)):
        for own in external_of(node).reached():
            sides = None if own.dims is None else lengths(own.dims)
            found[own.helper] = partial(_external, field, own.name, sides)
    return found
