"""The data of a problem: how they are taken, replaced, and what follows from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tensorgen.calculus.kinds import VALUE
from tensorgen.emit import function_preamble
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound_problems import BoundFunction, Check
from tensorgen.emit.function_preamble import plan, range_check
from tensorgen.emit.interface import (
    Body,
    Function,
    Parameter,
    arrays_among,
    every,
    given,
    sizes_among,
)
from tensorgen.emit.point_classes import (
    Scope,
    import_lines,
    size_lines,
    split_rows,
    unpacked,
)
from tensorgen.emit.text import ASSIGNED, literal
from tensorgen.spec.names import unused


@dataclass(frozen=True, slots=True)
class Data:
    """The data of a problem as templates see them.

    `binding` converts and checks them, `once` computes what follows from sizes alone,
    and `following` what follows from data that have changed; `held` is all that is kept
    but for that, the sizes that are `stated` first. `holder` and `changed` are
    arguments that no data are called like. Numbers are kept as `scalars` of NumPy,
    which arithmetic is quicker with than with arrays of no axis.
    """

    names: tuple[str, ...]
    stated: tuple[str, ...]
    floating: tuple[str, ...]
    scalars: tuple[str, ...]
    has_indices: bool
    binding: list[str]
    once: list[str]
    held: tuple[str, ...]
    following: list[str]
    holder: str
    changed: str
    signature: str
    update_signature: str
    updated: str


def data_of(
    bound: BoundFunction,
    data: Sequence[Parameter],
    sizes: Sequence[str],
    backend: Backend,
    double: bool = False,
) -> Data:
    """Describe data; their constructor needs `sizes`.

    They are kept in the dtype that they have in common, or in `double` precision.
    """
    once = [part for part in bound.data if not part.sources]
    known, own = plan(every(data)).sources, given(arrays_among(data))
    stated = tuple(p.name for p in sizes_among(data))
    early = early_checks(bound, [*known])
    needed = [*sizes, *(s for part in once for s in part.body.dims)]
    needed += [s for c in early for s in c.symbols]
    read = {known[symbol][1].name for symbol in needed if symbol in known}
    taken = [p for p in every(data) if p.of is None or p.name in read]
    dtype = any(part.body.needs_dtype for part in once)
    return Data(
        names=tuple(p.name for p in own),
        stated=stated,
        floating=tuple(p.name for p in own if p.index is None),
        scalars=tuple(
            p.name
            for p in own
            if not p.dims and p.index is None and backend.name == "numpy"
        ),
        has_indices=any(p.index is not None for p in own),
        binding=[
            *(line for part in once for line in import_lines(part, backend)),
            *conversion(taken, dict.fromkeys(needed), dtype and not double, False),
            *["dtype = float"] * (dtype and double),
            *(line for check in early for line in check_lines(check)),
        ],
        once=[row for part in once for row in split_rows(part.body.lines)],
        held=(*stated, *(x for part in once for x in part.body.returns)),
        following=_following(bound, data, backend),
        holder=free_name("data", bound),
        changed=free_name("changed", bound),
        signature=_signature(own, stated),
        update_signature=", ".join(f"{p.name}: {p.type} | None = None" for p in own),
        updated=", ".join(f'"{p.name}": {p.name}' for p in own),
    )


def _signature(data: Sequence[Parameter], stated: Sequence[str]) -> str:
    parts = [f"{name}: int" for name in stated]
    parts += [f"{p.name}: {p.type}" for p in data if p.default is None]
    parts += [
        f"{p.name}: {p.type} = {p.default}" for p in data if p.default is not None
    ]
    return ", ".join(["self", "*", *parts] if parts else ["self"])


def early_checks(bound: BoundFunction, known: Sequence[str]) -> list[Check]:
    """Return the conditions on sizes that are known before any vector is."""
    return [c for c in bound.checks if all(s in known for s in c.symbols)]


def check_lines(check: Check) -> list[str]:
    """Return the statements that refuse sizes."""
    return [
        f"if {check.wrong}:",
        f"    raise ValueError({literal(check.message, ASSIGNED - 8)})",
    ]


def free_name(name: str, bound: BoundFunction) -> str:
    """What an argument of a method is called that nothing computed there is called."""
    lines = " ".join(line for part in bound.data for line in part.body.lines)
    taken = bound.taken | {*re.findall(r"\w+", lines)}
    return unused(name, taken)


def conversion(
    parameters: Sequence[Parameter],
    sizes: Iterable[str] = (),
    dtype: bool = False,
    ranges: bool = True,
) -> list[str]:
    """Return the statements that a function of these arguments would start with.

    Without `ranges`, the entries of index arrays are not checked there.
    """
    # All are positional here: only the order of the checks depends on it.
    plain = tuple(replace(p, default=None) for p in parameters)
    body = Body((), (), tuple(sizes), needs_dtype=dtype)
    return function_preamble.lines(
        Function("", VALUE, plain, (), (), body), ranges=ranges
    )


def _following(
    bound: BoundFunction, data: Sequence[Parameter], backend: Backend
) -> list[str]:
    """Return the statements that compute what follows from data, where they changed."""
    holder = free_name("data", bound)
    own = given(arrays_among(data))
    stated = [p.name for p in sizes_among(data)]
    names = (*stated, *(p.name for p in own), *bound.held)
    floating = [p.name for p in own if p.index is None]
    places = dict.fromkeys(names, holder)
    scope = Scope(data, floating, bound.taken, places, backend)
    known = plan(every(data))
    found: list[str] = []

    def under(names: Sequence[str], rows: Iterable[str]) -> list[str]:
        several = ", ".join(f'"{name}"' for name in names)
        changed = free_name("changed", bound)
        test = f"{changed} & {{{several}}}"
        if len(names) == 1:
            test = f"{several} in {changed}"
        return [f"if {test}:", *(f"    {row}" if row else "" for row in rows)]

    for p in own:
        check = range_check(p, known)
        if p.index is not None and check:
            whole = [*own, *sizes_among(data)]
            sizes, read = size_lines(whole, plan(whole), p.index.symbols)
            read = [p.name, *read]
            first = unpacked(holder, list(dict.fromkeys(read)), ())
            found += under([p.name], [*first, *sizes, *check])
    for part in bound.data:
        if part.sources:
            stores = [f"{holder}.{name} = {name}" for name in part.body.returns]
            rows = [*scope.reading(part), *split_rows(part.body.lines), *stores]
            found += under(part.sources, rows)
    return found
