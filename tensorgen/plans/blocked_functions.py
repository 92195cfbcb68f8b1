"""Functions in pieces as classes over blocks of rows, and what these have to know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tensorgen.calculus.kinds import HESSIAN, HVP
from tensorgen.emit.blocked import (
    BY_PASSES,
    BY_ROWS,
    VALUE_AND_GRADIENT,
    BlockedFunction,
    Pieces,
)
from tensorgen.emit.interface import Function, given, sizes_among
from tensorgen.emit.returned import annotation
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Input, Node, Product, Sum, children, topological
from tensorgen.passes.row_places import RowAxis
from tensorgen.plans.hessian_rows import DIAGONAL
from tensorgen.plans.row_pieces import RowFunction
from tensorgen.plans.rows_in_blocks import Refused


def blocked_functions(
    rows: Iterable[Iterable[RowFunction | Refused]],
    problems: Collection[str],
    functions: Iterable[Function],
) -> Iterator[BlockedFunction]:
    """Yield those functions with a problem whose methods all have pieces."""
    made = {function.name: function for function in functions}
    for own in rows:
        found = {x.whole.kind.name: x for x in own if isinstance(x, RowFunction)}
        first = found.get(VALUE_AND_GRADIENT)
        if first is not None and first.whole.source.spec.name in problems:
            yield _blocked(found, {x.whole.kind.name for x in own}, made)


def _blocked(
    found: Mapping[str, RowFunction],
    asked: Collection[str],
    made: Mapping[str, Function],
) -> BlockedFunction:
    """A function in pieces as a class over blocks, of kinds that are asked for."""
    methods: dict[str, Pieces] = {}
    counts: dict[str, str] = {}
    hessian, firsts = "", set[str]()
    ways = list[RowFunction]()
    value = found[VALUE_AND_GRADIENT]
    axis, whole = value.axis, value.whole
    known = {p.name: p for p in given(whole.parameters)}
    variables = [known[name] for name in whole.wrt]
    shards = {p.name: at for p in variables if (at := _rows_of(p.dims, axis))}
    for name in (VALUE_AND_GRADIENT, HESSIAN.name, HVP.name, DIAGONAL.name):
        own = found.get(name)
        if name == HESSIAN.name and name in asked and (own is None or own.stays):
            hessian = BY_PASSES if HVP.name in found else ""
            if not hessian or own is None or not own.apart:
                continue
            hessian = BY_ROWS
        if own is None:
            continue
        methods[name] = _pieces(own, shards)
        ways.append(own)
        counts |= own.counts
        firsts |= {own.first} - {""}
        if name == HESSIAN.name and own.finish is not None and not own.apart:
            hessian = annotation(made[own.finish.name])
    data = [p for p in given(whole.parameters) if p.name not in whole.wrt]
    rows = [p for p in data if any(map(axis.has, p.dims))]
    biased = next(filter(None, map(_bias, (x for x in ways if not x.apart))), "")
    axes: dict[str, tuple[str, int | None]] = {x: (x, None) for x in axis.sizes}
    axes |= {str(d): (p.name, k) for p in rows for k, d in enumerate(p.dims)}
    needed = [axis.size] * bool(firsts) + [size for size, _ in shards.values()]
    needed = [size for size in axis.sizes if size in {*needed, *counts.values()}]
    directions = {f"d{x}": at for x, at in shards.items() if HVP.name in methods}
    return BlockedFunction(
        whole.source.spec.name,
        tuple(variables),
        methods,
        tuple(rows),
        tuple(p for p in data if p not in rows),
        {size: axes[size] for size in needed},
        counts,
        next(iter(firsts), ""),
        hessian,
        biased,
        _sides(ways, [*counts, *axis.sizes]),
        {x: axes[x] for x in axis.sizes if x in _asked(ways)},
        shards | directions,
    )


def _rows_of(dims: Sequence[Dim], axis: RowAxis) -> tuple[str, int] | None:
    found = ((str(dim), k) for k, dim in enumerate(dims) if axis.has(dim))
    return next(found, None)


def _pieces(own: RowFunction, shards: Collection[str]) -> Pieces:
    """The functions that compute one, and which results stay with rows."""
    rounds = tuple(
        (r.start.name if r.start else None, r.partial.name) for r in own.rounds
    )
    finish = own.finish.name if own.finish else None
    if own.rows is None and not shards:
        return Pieces(rounds, finish)
    last = own.rounds[-1].partial.root_names if own.rounds else ()
    waits = own.rows is not None and bool(
        {p.name for p in own.rows.parameters} & {*last}
    )
    plan = own.whole.plan
    nodes = () if own.apart else zip(own.whole.root_names, plan.parts, strict=True)
    fields = {name: _rows_of(part[0].dims, own.axis) for name, part in nodes}
    return Pieces(
        rounds,
        finish,
        own.rows.name if own.rows else None,
        waits,
        tuple(fields),
        {name: at for name, at in fields.items() if at},
    )


def _asked(ways: Iterable[RowFunction]) -> set[str]:
    """The sizes that pieces take as arguments."""
    pieces = (x for own in ways for x in own.pieces)
    return {p.name for x in pieces for p in sizes_among(x.parameters)}


def _sides(
    ways: Sequence[RowFunction], others: Collection[str]
) -> dict[str, tuple[str, int]]:
    """The arrays and axes that tell sizes which pieces take, but for some others."""
    asked, found = _asked(ways) - {*others}, dict[str, tuple[str, int]]()
    for p in (p for own in ways for p in given(own.whole.parameters)):
        for k, dim in enumerate(p.dims):
            if str(dim) in asked:
                found.setdefault(str(dim), (p.name, k))
    return found


def _bias(row: RowFunction) -> str:
    """Why random blocks give no unbiased results, if they do not."""
    if len(row.rounds) > 1:
        return f"{row.whole.name} takes several passes over the rows"
    totals = {x for own in row.rounds for x in own.partial.root_names}
    for step in (x for own in row.rounds for x in own.steps):
        if step != "add":
            return f"{row.whole.name} is more than a sum over rows"
    if row.rows is not None and totals & {p.name for p in row.rows.parameters}:
        return f"rows of {row.whole.name} are made of sums over all rows"
    powers: dict[Node, int] = {}
    for node in topological(row.finish.plan.roots if row.finish else ()):
        below = [powers[x] for x in children(node)]
        if isinstance(node, Input):
            powers[node] = int(node.name in totals)
        elif isinstance(node, Product):
            powers[node] = sum(below)
        else:
            powers[node] = max(below, default=0) * (1 if isinstance(node, Sum) else 2)
    if max(powers.values(), default=0) > 1:
        return f"{row.whole.name} is no linear function of its sums over rows"
    return ""
