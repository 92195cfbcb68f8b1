"""Programs whose rows of a size come in blocks, held against all rows at once.

Of each size of a program, the functions that have pieces are computed by them, at cuts
into blocks of one row, of seven, and of all, with an empty block among them.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator, Mapping
from functools import reduce
from inspect import signature
from typing import Any

import numpy as np

from tensorgen.calculus.kinds import VALUE
from tensorgen.errors import Source
from tensorgen.ir.nodes import Input
from tensorgen.plans.row_pieces import RowFunction
from tests.programs import meaning
from tests.programs.tree import RandomProgram
from tests.row_blocks.pieces import Whole, cut_among

Array = Any
ROWS = 9
CUTS = [*range(1, ROWS + 1)], [0, 7, ROWS], [ROWS]
TOLERANCE = 1e-8
OF = "rows of"  # a size, where what is wrong has to do with these


def faults(program: RandomProgram) -> list[str]:
    """What is wrong with the pieces of a program."""
    found: list[str] = []
    whole = Whole(Source(f"seed {program.seed}", program.text))
    for size in sizes_in_blocks(whole):
        try:
            rows = cut_among(whole.in_pieces(size, whole.kinds))
            module = whole.module(rows)
            wrong = [x for row in rows for x in _wrong(program, module, row)]
            found += [f"{OF} {size}: {x}" for x in wrong]
        except Exception:
            found.append(f"{OF} {size}: {traceback.format_exc(limit=-3)}")
    return found


def sizes_in_blocks(whole: Whole) -> list[str]:
    """The sizes of which some function of a program is in pieces itself."""
    values = [row for row in whole.kinds if row[1] is VALUE]
    return [x for x in whole.sizes if cut_among(whole.in_pieces(x, values))]


def _wrong(program: RandomProgram, module: Any, row: RowFunction) -> Iterator[str]:
    name = row.whole.name
    given = arguments(program, row.axis.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = _called(module, name, given)
        if row.rows is not None and _has_objects(whole):
            return  # as objects of blocks, which the check has held
        want = _arrays(whole)
        if not all(np.all(np.isfinite(x)) for x in want):
            return  # whoever is out of his domain may be anything
        for ends in CUTS:
            got = computed(program, module, row, given, ends)
            for k, (one, other) in enumerate(zip(got, want, strict=True)):
                scale = max(float(np.max(np.abs(other), initial=0.0)), 1e-2)
                alike = one.shape == other.shape
                error = np.max(np.abs(one - other), initial=0.0) if alike else np.inf
                if not error <= TOLERANCE * scale:
                    told = f"is\n{one!r}\ninstead of\n{other!r}"
                    yield f"result {k} of {name} in blocks up to {ends} {told}"


def arguments(program: RandomProgram, size: str) -> dict[str, Array]:
    """Arguments with more rows of a size, and directions in them."""
    sizes = {**program.sizes, size: ROWS}
    random = np.random.default_rng(program.seed)
    found: dict[str, Array] = {**sizes}
    for name, shape in program.inputs.items():
        lengths = [meaning.length(dim, sizes) for dim in shape]
        if name in program.indexed:
            found[name] = random.integers(0, sizes[program.indexed[name]], lengths)
            if program.indexed[name] == size and len(shape) == 1:
                found[name].sort()  # entries that come along are as blocks have them
            continue
        array = random.uniform(0.4 if name in program.positive else -1.5, 1.5, lengths)
        if name in program.promises:
            array = (array + array.T) / 2
            if program.promises[name] == "spd":
                array = array @ array / 2 + np.eye(len(array))
        found[name] = array
        found[f"d{name}"] = random.uniform(-1, 1, lengths)
    shape = program.result.shape
    found["ct"] = random.uniform(-1, 1, [meaning.length(x, sizes) for x in shape])
    return found


def computed(
    program: RandomProgram,
    module: Any,
    row: RowFunction,
    given: Mapping[str, Array],
    ends: list[int],
) -> list[Array]:
    """The results of a function by its pieces, those of rows along all rows."""
    axis, sizes = row.axis, {**program.sizes, row.axis.size: ROWS}
    known: dict[str, Any] = {name: sizes[x] for name, x in row.counts.items()}
    dims = {p.name: p.dims for p in row.whole.parameters}
    blocks = []
    for start, stop in zip([0, *ends], ends, strict=False):
        places = {axis.size: np.arange(start, stop)}
        for size, node in axis.along.items():
            assert isinstance(node, Input)
            at = given[node.name]
            places[size] = np.flatnonzero((at >= start) & (at < stop))
        block = {**given, row.first: start}
        block |= {size: len(own) for size, own in places.items()}
        for name, own in dims.items():
            for k, dim in enumerate(own):
                if axis.has(dim):
                    block[name] = block[name].take(places[str(dim)], axis=k)
            if program.indexed.get(name) == axis.size:
                block[name] = block[name] - start
        blocks.append(block)
    for one in row.rounds:
        if one.start is not None:
            known |= _called(module, one.start.name, {**given, **known})._asdict()
        parts = [_called(module, one.partial.name, {**x, **known}) for x in blocks]
        known |= reduce(lambda total, part: total.joined(part), parts)._asdict()
    finished, along = [], []
    if row.finish is not None:
        finished = _arrays(_called(module, row.finish.name, {**given, **known}))
    if row.rows is not None:
        name = row.rows.name
        several = [_arrays(_called(module, name, {**x, **known})) for x in blocks]
        along = [list(own) for own in zip(*several, strict=True)]
    if not along:
        return finished
    # Entries that come along are in the order of their blocks.
    axes = [axis.axis_of(node) for node in row.whole.plan.roots]
    return [
        finished.pop(0) if k is None else np.concatenate(along.pop(0), axis=k)
        for k in axes
    ]


def _called(module: Any, name: str, given: Mapping[str, Array]) -> Any:
    function = getattr(module, name)
    return function(**{x: given[x] for x in signature(function).parameters})


def _arrays(results: Any) -> list[Array]:
    """Results one by one, as arrays."""
    if hasattr(results, "dense"):
        results = results.dense()
    if isinstance(results, dict):
        results = tuple(results.values())
    if isinstance(results, tuple):
        return [array for one in results for array in _arrays(one)]
    return [np.asarray(results)]


def _has_objects(results: Any) -> bool:
    if isinstance(results, tuple):
        return any(map(_has_objects, results))
    return hasattr(results, "dense")
