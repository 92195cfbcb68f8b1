"""Functions in pieces as classes over blocks of rows, and what these have to know."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tensorgen.calculus.kinds import HESSIAN, HVP
from tensorgen.emit.interface import Function, given, sizes_among
from tensorgen.emit.returned import annotation
from tensorgen.emit.row_blocks import (
    BY_PASSES,
    VALUE_AND_GRADIENT,
    BlockedFunction,
    Pieces,
)
from tensorgen.ir.nodes import Input, Node, Product, Sum, children, topological
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
            blocked = _blocked(found, made)
            if blocked is not None:
                yield blocked


def _blocked(
    found: Mapping[str, RowFunction], made: Mapping[str, Function]
) -> BlockedFunction | None:
    """A function in pieces as a class over blocks, unless variables have rows."""
    methods: dict[str, Pieces] = {}
    counts: dict[str, str] = {}
    hessian, firsts = "", set[str]()
    ways = list[RowFunction]()
    for name in (VALUE_AND_GRADIENT, HESSIAN.name, HVP.name):
        own = found.get(name)
        if own is None:
            continue
        if own.finish is None or own.rows is not None:
            if name != HESSIAN.name:
                return None
            hessian = BY_PASSES if HVP.name in found else ""
            continue
        rounds = (
            (r.start.name if r.start else None, r.partial.name) for r in own.rounds
        )
        methods[name] = Pieces(tuple(rounds), own.finish.name)
        ways.append(own)
        counts |= own.counts
        firsts |= {own.first} - {""}
        if name == HESSIAN.name:
            hessian = annotation(made[own.finish.name])
    value = found[VALUE_AND_GRADIENT]
    axis, whole = value.axis, value.whole
    data = [p for p in given(whole.parameters) if p.name not in whole.wrt]
    rows = [p for p in data if any(map(axis.has, p.dims))]
    if firsts and axis.size not in counts.values():
        counts = {f"all_{axis.size}": axis.size, **counts}
    biased = next(filter(None, map(_bias, ways)), "")
    axes = {str(d): (p.name, k) for p in rows for k, d in enumerate(p.dims)}
    ranked = sorted(counts.items(), key=lambda row: row[1] != axis.size)
    told = {name: axes[size] for name, size in ranked}
    return BlockedFunction(
        whole.source.spec.name,
        whole.wrt,
        axis.size,
        methods,
        tuple(rows),
        tuple(p for p in data if p not in rows),
        told,
        next(iter(firsts), ""),
        hessian,
        biased,
        _sides(ways, [*told, *axis.sizes]),
        {x: axes[x] for x in axis.sizes if x in _asked(ways)},
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
