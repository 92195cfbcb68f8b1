"""The first lines of a generated function: conversion, checks, sizes.

The module's helper `_arrays` converts the arguments and checks every axis whose size
is a symbol or a number; it takes the text of any other size for a symbol of its own.
What such a size means is checked here, by lines specialised to the function: sizes are
read off axes that are plain symbols, then solved for, one unknown at a time, and what
is left is compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from math import gcd

from tensorgen.emit.interface import Function, Parameter, arrays_among, sizes_among
from tensorgen.emit.text import words
from tensorgen.ir.dims import Dim, tuple_text


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an argument whose size is neither a number nor a plain symbol."""

    parameter: Parameter
    position: int
    less: tuple[int, Axis] | None = None
    """How many times another axis is subtracted, which leaves fewer unknowns."""

    @property
    def dim(self) -> Dim:
        """The size as a polynomial."""
        dim = self.parameter.dims[self.position]
        return dim if self.less is None else dim - self.less[0] * self.less[1].dim

    @property
    def size(self) -> str:
        """The size as an expression of Python."""
        text = f"{self.parameter.name}.shape[{self.position}]"
        if self.less is None:
            return text
        times, other = self.less
        sign, count = "-+"[times < 0], f"{abs(times)} * " * (abs(times) != 1)
        return f"({text} {sign} {count}{other.size})"


@dataclass(slots=True)
class Plan:
    """Where each dim symbol comes from, in the order in which they become known.

    `sources` maps a symbol to the expression of its size and to the argument that
    sets it; `solved` are the axes that were solved for a symbol, `compared` those of
    which all symbols are known. Axes with two unknowns are in neither, unless what they
    add up to is `needed`: then one is `free`, and any number.
    """

    sources: dict[str, tuple[str, Parameter]] = field(default_factory=dict)
    solved: dict[str, Axis] = field(default_factory=dict)
    compared: list[Axis] = field(default_factory=list)
    free: dict[str, Axis] = field(default_factory=dict)


def plan(parameters: Iterable[Parameter], needed: Collection[str] = ()) -> Plan:
    """Find out how each dim symbol follows from the shapes of the arguments."""
    parameters = list(parameters)
    stated = {p.name: (p.name, p) for p in sizes_among(parameters)}
    result = Plan(dict(stated))
    waiting: list[Axis] = []
    for parameter in parameters:
        for position, dim in enumerate(parameter.dims):
            symbol = plain_symbol(dim)
            if symbol is not None and symbol not in stated:
                size = f"{parameter.name}.shape[{position}]"
                result.sources.setdefault(symbol, (size, parameter))
            elif dim.constant is None:
                waiting.append(Axis(parameter, position))
    while True:
        while (found := _next_solvable(waiting, result)) is not None:
            axis, symbol = found
            waiting.remove(axis)
            result.sources[symbol] = (_solution(axis, symbol), axis.parameter)
            result.solved[symbol] = axis
        if (reduced := _next_reduced(waiting, result, needed)) is not None:
            waiting.append(reduced)
            continue
        if (chosen := _next_free(waiting, result, needed)) is None:
            break
        axis, symbol, text = chosen
        result.sources[symbol] = (text, axis.parameter)
        result.free[symbol] = axis
    # `_arrays` has compared axes of one size with each other: one of them is enough.
    told = {axis.dim for axis in result.solved.values()}
    for axis in waiting:
        known = axis.less is None and not _unknown(axis.dim, result)
        if known and axis.dim not in told:
            result.compared.append(axis)
            told.add(axis.dim)
    return result


def plain_symbol(dim: Dim) -> str | None:
    """Return the symbol that the dim is, or None."""
    return str(dim) if dim.symbols == (str(dim),) else None


def _unknown(dim: Dim, known: Plan) -> list[str]:
    return [s for s in dim.symbols if s not in known.sources]


def _next_solvable(axes: list[Axis], known: Plan) -> tuple[Axis, str] | None:
    for axis in axes:
        unknown = _unknown(axis.dim, known)
        if len(unknown) == 1 and _coefficient(axis.dim, unknown[0]) is not None:
            return axis, unknown[0]
    return None


def _next_reduced(
    axes: list[Axis], known: Plan, needed: Collection[str]
) -> Axis | None:
    """Return an axis less a multiple of another one, with one unknown symbol left."""
    found = [axis for axis in axes if axis.less is None]
    for axis, other in permutations(found, 2):
        unknown = _unknown(axis.dim, known)
        for symbol in unknown if {*unknown} & {*needed} else ():
            a, b = (_coefficient(x.dim, symbol) for x in (axis, other))
            if a is None or b not in (1, -1):
                continue
            reduced = Axis(axis.parameter, axis.position, (a * b, other))
            left = _unknown(reduced.dim, known)
            if len(left) == 1 and _coefficient(reduced.dim, left[0]) is not None:
                return reduced
    return None


def _next_free(
    axes: list[Axis], known: Plan, needed: Collection[str]
) -> tuple[Axis, str, str] | None:
    """Return an axis that alone has its unknown symbols, one of them, and a value.

    Whatever follows from the arguments is then made of the sum that the axis gives, so
    that any whole numbers of that sum do.
    """
    for axis in axes:
        unknown = _unknown(axis.dim, known)
        others = [s for a in axes if a.dim != axis.dim for s in _unknown(a.dim, known)]
        if not {*unknown} & {*needed} or {*unknown} & {*others}:
            continue
        if len(unknown) > 2:
            return axis, unknown[-1], "0"
        a, b = (_coefficient(axis.dim, s) or 0 for s in unknown)
        if not a or not b:
            continue
        # The last but one symbol is such that what is left is a multiple of b.
        common = gcd(a, b)
        times = pow(b // common, -1, abs(a // common))
        rest = axis.dim - a * Dim.symbol(unknown[0]) - b * Dim.symbol(unknown[1])
        over = f" // {common}" * (common != 1)
        text = f"{times} * ({_difference(axis.size, rest)}){over}" if times else "0"
        return axis, unknown[1], text
    return None


def _coefficient(dim: Dim, symbol: str) -> int | None:
    """Return c where the dim is `c*symbol + rest`, if it has that form."""
    terms = [(m, c) for m, c in dim.terms if symbol in m]
    return int(terms[0][1]) if [m for m, _ in terms] == [(symbol,)] else None


def _solution(axis: Axis, symbol: str) -> str:
    coefficient = _coefficient(axis.dim, symbol)
    assert coefficient is not None
    rest = axis.dim - coefficient * Dim.symbol(symbol)
    text = f"{rest} - {axis.size}" if coefficient < 0 else _difference(axis.size, rest)
    if abs(coefficient) == 1:
        return text
    return f"({text})" * (rest != 0) + text * (rest == 0) + f" // {abs(coefficient)}"


def _difference(size: str, rest: Dim) -> str:
    """Return `size - rest`, the size first."""
    if rest == 0:
        return size
    text = str(-rest)
    return f"{size} - {text[1:]}" if text[0] == "-" else f"{size} + {text}"


def lines(function: Function, checks: bool = True, ranges: bool = True) -> list[str]:
    """Return the statements that convert and check the arguments and bind sizes.

    With `checks`, a solution that is given is checked where callers ask for that; with
    `ranges`, the entries of index arrays are.
    """
    every = function.arguments
    parameters, stated = arrays_among(every), sizes_among(every)
    parts = [p for p in function.parameters if p.of is not None]
    wanted = {*function.body.dims, *function.body.positive, *function.compared}
    known = plan([*every, *parts], wanted)
    indices = [p for p in parameters if p.index is not None and ranges]
    axes = [*known.solved.values(), *known.compared]
    needed = {
        *wanted,
        *(s for p in indices if p.index is not None for s in p.index.symbols),
        # What is wrong with one axis is told with the whole shape.
        *(s for axis in axes for d in axis.parameter.dims for s in d.symbols),
    }
    result = [line for p in parameters for line in _entry_check(p, parts)]
    result += bindings(parameters, known, [s for s in known.sources if s in needed])
    whole = dict.fromkeys(
        axis.parameter
        for axis in known.compared
        if not any(_unknown(d, known) for d in axis.parameter.dims)
    )
    for axis in axes:
        if axis not in known.compared or axis.parameter not in whole:
            result += _comparison(axis, known)
    result += [_shape_check(p, known) for p in whole]
    for parameter in indices:
        result += range_check(parameter, known)
    result += _positive(function, known)
    read = words([*result, *(row for f in function.forms for row in f.text)])
    apart = taken_apart([p for p in parts if p.name in read])
    found = [
        line
        for p in parameters
        if p.solved
        for line in (f"if {p.name} is None:", f"    {p.name} = {p.solved}")
    ]
    solved = [p for p in parameters if p.solved and checks]
    result += [line for p in solved for line in _solution_check(p)]
    first = [*size_checks(stated), *found]
    if parameters:
        first.append(_conversion(parameters))
    last = [*function.refused, *_dtype(function, parameters)]
    return [*first, *apart, *result, *last]


def checks(function: Function) -> list[str]:
    """Return the statements that convert and check arguments, and return them.

    None for arguments that callers need not give as they are, or that are no arrays.
    """
    own = function.arguments
    if any(p.role != "input" or p.sparse or p.solved for p in own):
        return []
    body = replace(function.body, dims=(), positive=(), needs_dtype=False)
    names = ", ".join(p.name for p in own)
    return [*lines(replace(function, body=body, choices=())), f"return [{names}]"]


def lines_behind(function: Function, name: str) -> list[str]:
    """Return the statements that have arguments checked by a function of some name."""
    own = function.arguments
    known, names = plan(own), [p.name for p in own]
    needed = {*function.body.dims, *function.body.positive}
    for symbol in reversed([*known.sources]):  # what a size is solved for by comes too
        if symbol in needed and symbol in known.solved:
            needed |= {*known.solved[symbol].dim.symbols}
    target = f"{', '.join(names)}{',' * (len(names) == 1)}"
    return [
        f"{target} = {name}({', '.join(names)})",
        *bindings(own, known, [s for s in known.sources if s in needed]),
        *_positive(function, known),
        *_dtype(function, own),
    ]


def _positive(function: Function, known: Plan) -> list[str]:
    """Return the checks of sizes that a proof took to be at least 1."""
    found = []
    for symbol in function.body.positive:
        stated = known.sources[symbol][1].role == "size"
        size = _set_by(known, (symbol,)) * (not stated)
        message = _f_string(f"{symbol}: expected a size of at least 1, got 0", size)
        found += [f"if {symbol} < 1:", f"    raise ValueError({message})"]
    return found


def _dtype(function: Function, parameters: Sequence[Parameter]) -> list[str]:
    floating = [p.name for p in parameters if p.index is None]
    bound = f"dtype = {floating[0]}.dtype" if floating else "dtype = float"
    return [bound] * function.body.needs_dtype


def size_checks(parameters: Iterable[Parameter]) -> list[str]:
    """Return the statements that make sizes Python's integers."""
    own = sizes_among(parameters)
    return [f'{p.name} = _size("{p.name}", {p.name})' for p in own]


def _solution_check(parameter: Parameter) -> list[str]:
    """Return the check that an unknown that is given solves its equation."""
    name = parameter.name
    step = parameter.solved.replace("_solve(", f"_step({name}, ", 1)
    return ["if check:", f'    _checked_solution("{name}", {name}, {step})']


def _entry_check(parameter: Parameter, parts: Sequence[Parameter]) -> list[str]:
    """Return the check of an array that has a number for each entry of a matrix."""
    name = parameter.name
    return [
        line
        for part in parts
        if part.dims == parameter.dims and part.index is None
        for line in (
            f"if {name}.shape != {part.name}.shape:",
            "    raise ValueError(",
            f'        f"{name}: expected shape {{{part.name}.shape}}, "',
            f'        f"a number for each entry of the matrix, got {{{name}.shape}}"',
            "    )",
        )
    ]


def taken_apart(parts: Sequence[Parameter]) -> list[str]:
    """Return the statements that bind what sparse matrices are in code."""
    groups: dict[tuple[Parameter | None, str], list[Parameter]] = {}
    for part in parts:
        own = part.source if part.source.endswith("_pairs") else ""
        groups.setdefault((part.of, own), []).append(part)
    return [
        f"{', '.join(p.name for p in group)} = "
        + (source or ", ".join(p.source for p in group))
        for (_, source), group in groups.items()
    ]


def _conversion(parameters: list[Parameter]) -> str:
    names = ", ".join(p.name for p in parameters)
    indices = [f'"{p.name}"' for p in parameters if p.index is not None]
    arguments = [f"{p.name}=({_value(p)},{_dims(p)})" for p in parameters]
    target = names if len(parameters) > 1 else f"({names},)"
    return f"{target} = _arrays({', '.join(indices + arguments)})"


def _value(parameter: Parameter) -> str:
    name = parameter.name
    return f'_entries("{name}", {name})' if parameter.sparse else name


def _dims(parameter: Parameter) -> str:
    return ",".join(
        f" {d}" if d.constant is not None else f' "{d}"' for d in parameter.dims
    )


def bindings(parameters: list[Parameter], known: Plan, needed: list[str]) -> list[str]:
    """Bind the needed symbols, several at once where an argument has just those."""
    result: list[str] = []
    unbound = [s for s in needed if known.sources[s][1].role != "size"]
    for parameter in parameters:
        symbols = [plain_symbol(dim) for dim in parameter.dims]
        several = len(symbols) > 1 and len(set(symbols)) == len(symbols)
        if several and all(symbol in unbound for symbol in symbols):
            unbound = [symbol for symbol in unbound if symbol not in symbols]
            result.append(f"{', '.join(map(str, symbols))} = {parameter.name}.shape")
    for symbol in unbound:
        text = f"{symbol} = {known.sources[symbol][0]}"
        if symbol in known.free:
            text += f"  # of {known.free[symbol].dim}, only the sum matters"
        result.append(text)
    return result


def _comparison(axis: Axis, known: Plan) -> list[str]:
    dim, size = axis.dim, axis.size
    tied = any(given is axis for given in known.free.values())
    solved = [s for s in known.solved if known.solved[s] is axis]
    conditions = [f"{size} != {dim}"]
    if solved:
        (symbol,) = solved
        coefficient = _coefficient(dim, symbol)
        rest = dim - (coefficient or 0) * Dim.symbol(symbol)
        exact = coefficient in (1, -1)
        grows = coefficient == 1 and (rest.constant or 0) <= 0
        grows = tied or (grows and rest.constant is not None)
        negative = [] if grows else [f"{symbol} < 0"]
        conditions = negative + ([] if exact else conditions)
    if not conditions:
        return []
    return [
        f"if {' or '.join(conditions)}:",
        f"    raise ValueError({_shape_message(axis, known, solved)})",
    ]


def _shape_check(parameter: Parameter, known: Plan) -> str:
    shape = tuple_text([str(dim) for dim in parameter.dims])
    symbols = dict.fromkeys(s for d in parameter.dims for s in d.symbols)
    reason = _f_string(_set_by(known, symbols))
    name = parameter.name
    return f'_check_shape("{name}", {name}, "{shape}", {shape}, {reason})'


def _shape_message(axis: Axis, known: Plan, solved: list[str]) -> str:
    parameter = axis.parameter
    others = [s for d in parameter.dims for s in d.symbols if s not in solved]
    resolved = [s for s in dict.fromkeys(others) if s in known.sources]
    expected = tuple_text(parameter.dims)
    if solved:
        expected += f" with {solved[0]} >= 0"
    elif not [d for d in parameter.dims if _unknown(d, known)]:
        expected += f" = {tuple_text([f'{{{d}}}' for d in parameter.dims])}"
    text = (
        f"{parameter.name}: expected shape {expected}, got {{{parameter.name}.shape}}"
    )
    return _f_string(text, _set_by(known, resolved))


def range_check(parameter: Parameter, known: Plan) -> list[str]:
    """Return the check of an index array's entries, if its bound is known."""
    index = parameter.index
    if index is None or _unknown(index, known):
        return []
    if any({*index.symbols} & {*axis.dim.symbols} for axis in known.free.values()):
        return []
    by = _set_by(known, index.symbols)
    name = parameter.name
    return [f'_check_range("{name}", {name}, {index}, {_f_string(by)})']


def _set_by(known: Plan, symbols: Iterable[str]) -> str:
    setters = {s: known.sources[s][1] for s in symbols}
    return ", ".join(
        f"{s} = {{{s}}} was {'given' if p.role == 'size' else f'set by {p.name}'}"
        for s, p in setters.items()
    )


def _f_string(*parts: str) -> str:
    """Return the parts as one f-string, or as several where that would be long."""
    texts = [part for part in parts if part]
    texts = [text + "; " for text in texts[:-1]] + texts[-1:]
    if sum(map(len, texts)) < 60:
        texts = ["".join(texts)]
    return " ".join(f'f"{t}"' if "{" in t else f'"{t}"' for t in texts)
