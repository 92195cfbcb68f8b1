"""Code that repeats a piece of an outline: it calls the piece, and does the rest.

Both are compared by what they compute, whatever of it has a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tensorgen.arrays.arrays import Array, bound, variable
from tensorgen.arrays.as_good import is_as_good, price_of
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.outline import Outline, Piece, kept_to_the_end
from tensorgen.arrays.statements import Let, bound_names
from tensorgen.arrays.units import (
    Expansion,
    Units,
    changed_to,
    mentioned,
    named,
    variables_of,
)
from tensorgen.prices.thresholds import CALLS_SAVED


def pieces_recalled(
    outline: Outline, code: Code, sizes: Mapping[str, int]
) -> tuple[dict[Piece, Piece], Code]:
    """The pieces that other code repeats, as these are called there, and the rest."""
    pieces: dict[Piece, Piece] = {}
    waiting = {x for piece in outline.pieces for x in piece.given}
    for piece in outline.pieces:
        named = piece if piece.shared else _named(piece, code)
        if named is None or not waiting.isdisjoint(piece.takes):
            continue
        rest = recalled(named, code, sizes)
        if rest is not None:
            pieces[piece] = named
            waiting -= {*piece.given}
            code = rest
    return pieces, code


def _named(piece: Piece, code: Code) -> Piece | None:
    """A piece that makes one array, which has the name that it has in other code.

    None where that is no result of the code, or more than an array is made.
    """
    forms, returns = piece.forms, piece.code.returns
    if len(forms) > 1 or len(returns) > 1 or not code.returns:
        return None
    (value,), first = returns, code.returns[0]
    if not isinstance(first.op, Variable) or first.dims != value.dims:
        return None
    name = first.op.name
    if name in {*bound_names(piece.code.statements)}:
        return None
    lines = (*piece.code.statements, Let(name, value))
    return replace(piece, code=Code(lines, (bound(name, value),)), outputs=(name,))


def recalled(piece: Piece, code: Code, sizes: Mapping[str, int]) -> Code | None:
    """What is left of a function's code behind the call of a piece, which it repeats.

    None where it repeats little, or less than both would then compute, and where it
    would take longer or hold more.
    """
    freed, code = code, kept_to_the_end(code)
    own, cut = Units.of(piece.code), Units.of(code)
    if own is None or cut is None:
        return None
    again, names = _repeated(own, cut, piece.code, code)
    twice = 0  # statements of both that the piece does not hand out
    while True:
        lines = cut.statements(cut.closure(named(code.returns), again))
        read = {x for line in lines for x in mentioned(line)} | named(code.returns)
        hidden = [
            unit
            for unit, bound_ in again.items()
            if any(x in read and names[x] not in piece.outputs for x in bound_)
        ]
        if not hidden:
            break
        for unit in hidden:
            del again[unit]
            twice += len(cut.units[unit])
    rest = Code(lines, code.returns, code.refusals)
    local = {*bound_names(lines)}
    if len(code.statements) - len(lines) <= CALLS_SAVED + twice or (
        not piece.held and not local.isdisjoint(piece.outputs)
    ):
        return None
    whole = Code((*piece.code.statements, *lines), code.returns, code.refusals)
    if not is_as_good(price_of(whole, sizes), price_of(freed, sizes)):
        return None
    change: dict[Array, Array] = {}
    held_in = f"{piece.held}." * bool(piece.held)
    for one in variables_of(code):
        op = one.op
        assert isinstance(op, Variable)
        if op.name in names and op.name in read and op.name not in local:
            name = f"{held_in}{names[op.name]}"
            shared = op.base and name
            change[one] = variable(name, one.dims, one.kind, shared, op.boxed)
    return changed_to(rest, change)


def _repeated(
    own: Units, cut: Units, piece: Code, code: Code
) -> tuple[dict[int, tuple[str, ...]], dict[str, str]]:
    """The units of code that a piece has too, and what their names are in the piece.

    They are the same by what they compute, whatever of it has a name: in one `q**2`
    stands where in the other `q_squared` does.
    """
    same = {x: x for x in own.owner}
    alike = {
        own.key(unit, same): unit for unit, places in enumerate(own.units) if places
    }
    alike.pop(None, None)
    values: dict[Array, str] = {}
    theirs = Expansion(piece)
    for unit, _ in own.in_order():
        if (line := own.single(unit)) is not None:
            for name, value in theirs.values_of(line).items():
                values.setdefault(value, name)
    again: dict[int, tuple[str, ...]] = {}
    names: dict[str, str] = {}
    ours = Expansion(code)
    for unit, bound_ in cut.in_order():
        line = cut.single(unit)
        made = {} if line is None else ours.values_of(line)
        if made and all(value in values for value in made.values()):
            names |= {name: values[value] for name, value in made.items()}
        elif (other := alike.get(cut.key(unit, names))) is not None:
            names |= zip(bound_, own.bound(other), strict=True)
            ours.call(dict(zip(bound_, own.bound(other), strict=True)))
        else:
            continue
        again[unit] = bound_
    return again, names
