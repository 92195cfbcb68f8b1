"""What is computed of a block, as a function of its rows: the plain formula.

    def _loss_block(U, V, row, col, value):
        U_V = (U.take(row, axis=0) * V.take(col, axis=0)).sum(axis=1)
        residual = U_V - value
        return residual

A loop over blocks calls it with the rows of one, and adds up or stores what it returns:

    for block in _blocks(E, k, 16384):
        residual = _loss_block(U, V, row[block], col[block], value[block])
        loss += residual @ residual

Functions of one formula begin alike. What several of them make of a block is one
function, which computes nothing that any of them has no use for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import Array, array, below, bound, replacing, variable
from tensorgen.arrays.code import Code, code_of
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import Called
from tensorgen.arrays.operations import Index, Variable
from tensorgen.arrays.places import Slice
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Statement,
    Unpack,
    bindings,
    bound_names,
    changed,
    everything,
    operands,
    reads,
    rebuilt,
)
from tensorgen.arrays.units import Expansion, returning, symbols
from tensorgen.ir.dims import Dim
from tensorgen.prices.thresholds import MOST_OUTPUTS

LEAST = 2
"""The fewest statements that are worth a function."""


@dataclass(frozen=True)
class _Scene:
    """What functions are called that some `users` call, and a line about them.

    They take `inputs` first, in their order.
    """

    named: Callable[[Sequence[str]], tuple[str, str]]
    inputs: Sequence[str]


def blocked_along(code: Code) -> list[Dim]:
    """The sizes that code goes along by blocks."""
    loops = [line for line in code.statements if isinstance(line, Loop)]
    return [loop.high for loop in loops if loop.blocks is not None]


def blocks_apart(
    codes: Mapping[str, Code],
    named: Callable[[Sequence[str]], tuple[str, str]],
    inputs: Sequence[str],
) -> dict[str, Code]:
    """Return functions of one formula whose loops over blocks call others for these.

    `named` says what a function is called that some of them call, and what it is about.
    What these take of the `inputs` comes first, in their order.
    """
    scene = _Scene(named, inputs)
    loops = [
        _Loop.of(name, code, place)
        for name, code in codes.items()
        for place, line in enumerate(code.statements)
        if isinstance(line, Loop) and line.blocks is not None
    ]
    while best := _best_share(loops):
        _call(best, _Cut.of(best), scene)
    for one in loops:
        alone = _Share(one, one.lines, [one])
        if len(one.lines) >= LEAST and (cut := _Cut.of(alone)).is_plain:
            _call(alone, cut, scene)
    found = dict(codes)
    for one in loops:
        lines = list(found[one.owner].statements)
        lines[one.place] = one.statement
        found[one.owner] = replace(found[one.owner], statements=tuple(lines))
    return found


def _is_settled(body: Sequence[Statement], rest: Sequence[Statement]) -> bool:
    """Whether nothing that the rest reads of a block changes behind that."""
    last = {x: k for k, line in enumerate(body) for x in changed(line)}
    return all(
        last.get(x, -1) <= k
        for k, line in enumerate(body)
        if line in rest
        for x in reads(operands(line))
        if x not in changed(line)
    )


@dataclass(eq=False)
class _Loop:
    """A loop over blocks of a function, the `owner`.

    Of a block it `calls` functions for some of what it needs, computes the rest in
    `lines`, and leaves it to statements that change what is there from before the loop.
    """

    owner: str
    place: int
    loop: Loop
    calls: list[Statement]
    lines: list[Statement]
    rest: list[Statement]
    outside: Mapping[str, Array]
    """What is computed before the loop, over what it is computed of."""
    taken: frozenset[str]
    """The names that the function binds elsewhere."""

    @staticmethod
    def of(owner: str, code: Code, place: int) -> _Loop:
        """Take the loop at some place apart."""
        loop = code.statements[place]
        assert isinstance(loop, Loop)
        inner = {*bound_names(loop.body)}
        lines = [line for line in loop.body if changed(line) <= inner]
        rest = [line for line in loop.body if not changed(line) <= inner]
        if not _is_settled(loop.body, rest):
            lines, rest = [], list(loop.body)
        lines = [line for line in lines if not isinstance(line, Release)]
        before = code.statements[:place]
        others = [x for k, x in enumerate(code.statements) if k != place]
        taken = {*bound_names(everything(others))}
        fixed = {x for line in code.statements for x in changed(line)}
        values, outside = Expansion(code), dict[str, Array]()
        for line in before:
            for name, value in bindings(line):
                apart = variable(f"{owner}:{name}", value.dims)
                outside[name] = apart
            if isinstance(line, Let | Unpack) and not isinstance(line.value.op, Called):
                own = values.values_of(line)
                outside |= {x: v for x, v in own.items() if x not in fixed}
        return _Loop(owner, place, loop, [], lines, rest, outside, frozenset(taken))

    @property
    def statement(self) -> Loop:
        """The loop as it is now."""
        return replace(self.loop, body=(*self.calls, *self.lines, *self.rest))

    @property
    def is_plain(self) -> bool:
        """Whether its lines only give values names."""
        return all(isinstance(line, Let | Unpack) for line in self.lines)

    def expansion(self) -> tuple[Callable[[Array], Array], dict[str, Array]]:
        """What arrays are over what all functions know, and what lines bind."""
        values = Expansion(Code((self.loop,), ()))
        for name, value in self.outside.items():
            values.known |= dict.fromkeys(values.variables.get(name, ()), value)
        made: dict[str, Array] = {}
        for line in self.lines:
            assert isinstance(line, Let | Unpack)
            made |= values.values_of(line)
        return replacing(dict(values.known)), made


@dataclass(frozen=True)
class _Share:
    """Lines of a loop that some loops, this one among them, call a function for."""

    of: _Loop
    lines: Sequence[Statement]
    users: Sequence[_Loop]

    @property
    def saved(self) -> int:
        """How many lines are written once less often."""
        return len(self.lines) * (len(self.users) - 1)


def _best_share(loops: Sequence[_Loop]) -> _Share | None:
    """What most lines are saved by, if anything saves some."""
    plain = [one for one in loops if one.is_plain and one.lines]
    known = {one: one.expansion() for one in plain}
    made = {one: own for one, (_, own) in known.items()}
    parts: dict[_Loop, set[Array]] = {}
    for one, (expand, own) in known.items():
        roots = [x for line in one.rest for x in operands(line)]
        parts[one] = {*below([*own.values(), *map(expand, roots)])}
    best: _Share | None = None
    for one in plain:
        alike = [x for x in plain if _is_like(x.loop, one.loop)]
        users = [
            tuple(
                x
                for x in alike
                if all(made[one][y] in parts[x] for y, _ in bindings(line))
            )
            for line in one.lines
        ]
        for wanted in dict.fromkeys(users):
            pairs = zip(one.lines, users, strict=True)
            lines = _closed([line for line, own in pairs if {*wanted} <= {*own}], one)
            found = _agreeing(_Share(one, lines, wanted), made)
            if len(found.users) < 2 or len(lines) < LEAST:
                continue
            if (best is None or found.saved > best.saved) and _Cut.of(found).is_plain:
                best = found
    return best


def _closed(lines: Sequence[Statement], of: _Loop) -> list[Statement]:
    """Those of some lines that read nothing which the others of a loop make.

    A call with several results may be one of these, for a single result that is read.
    """
    left = {*bound_names(of.lines)}
    found: list[Statement] = []
    for line in lines:
        if left.isdisjoint(reads(operands(line))):
            found.append(line)
            left -= {x for x, _ in bindings(line)}
    return found


def _is_like(one: Loop, other: Loop) -> bool:
    """Whether blocks of two loops are of the same, by the same names."""
    names = (one.high, one.name, one.width, one.blocks and one.blocks.name)
    return names == (
        *(other.high, other.name, other.width),
        other.blocks and other.blocks.name,
    )


def _agreeing(share: _Share, made: Mapping[_Loop, Mapping[str, Array]]) -> _Share:
    """The same for loops that have all that is read under the same names.

    A name that stays may not be one that the function returns, for another value.
    """
    own = share.of
    inner = {*bound_names(share.lines)}
    read = {*reads([x for line in share.lines for x in operands(line)])} - inner
    users = [
        one
        for one in share.users
        if all(one.outside.get(x) is own.outside.get(x) for x in read)
        and all(made[one][x] is made[own][x] for x in inner & made[one].keys())
        and inner.isdisjoint(one.taken)
        and inner.isdisjoint(bound_names(one.calls))
    ]
    return replace(share, users=users)


@dataclass(frozen=True)
class _Cut:
    """What is `left` of each user's lines and rest, and what the function returns."""

    left: Mapping[_Loop, tuple[list[Statement], list[Statement]]]
    outputs: Mapping[str, Array]

    @staticmethod
    def of(share: _Share) -> _Cut:
        """Take the lines of a share out of all its users."""
        values = {x: v for line in share.lines for x, v in bindings(line)}
        made = {x: bound(x, v) for x, v in values.items()}
        left = {one: _left(one, share, made) for one in share.users}
        read = {x for rows in left.values() for x in _read(rows)}
        return _Cut(left, {x: one for x, one in made.items() if x in read})

    @property
    def is_plain(self) -> bool:
        """Whether a reader keeps in mind what is returned."""
        return len(self.outputs) <= MOST_OUTPUTS


def _read(rows: Iterable[Sequence[Statement]]) -> set[str]:
    return {*reads([x for lines in rows for line in lines for x in operands(line)])}


def _call(share: _Share, cut: _Cut, scene: _Scene) -> None:
    """Make a function of some lines, and call it in all loops that need it."""
    users = [one.owner for one in share.users]
    made = _function(share, [*cut.outputs.values()], scene, users)
    if made is None:
        for one in share.users:  # as they stand, which is right as well
            one.rest, one.lines = [*one.lines, *one.rest], []
        return
    for one, (lines, rest) in cut.left.items():
        names = tuple(x if x in _read((lines, rest)) else None for x in cut.outputs)
        single = isinstance(names[0], str) and len(names) == 1
        call = Let(str(names[0]), made) if single else Unpack(names, made)
        one.calls.append(call)
        one.lines, one.rest = lines, rest


def _left(
    one: _Loop, share: _Share, variables: Mapping[str, Array]
) -> tuple[list[Statement], list[Statement]]:
    """The lines and the rest of a loop, where a function makes what is shared."""
    if one is share.of:
        return [line for line in one.lines if line not in share.lines], one.rest
    expand, own = one.expansion()
    theirs = share.of.expansion()[1]
    shared = {theirs[x]: variables[x] for x in variables}
    known: dict[Array, Array] = {}

    def change(one: Array) -> Array:
        if one not in known:
            found = shared.get(expand(one))
            if found is None:
                args = tuple(map(change, one.args))
                found = one if args == one.args else array(one.op, *args)
            known[one] = found
        return known[one]

    lines = [
        rebuilt(line, change)
        for line in one.lines
        if not all(own[x] in shared for x, _ in bindings(line))
    ]
    return lines, [rebuilt(line, change) for line in one.rest]


def _function(
    share: _Share, outputs: Sequence[Array], scene: _Scene, users: Sequence[str]
) -> Array | None:
    """The call of a function for some lines; None where it reads blocks otherwise.

    It takes the rows of a block under the name of the whole array, unless it reads that
    as well.
    """
    loop, lines = share.of.loop, share.lines
    assert loop.blocks is not None
    inner = {*bound_names(lines)}
    every = [x for line in lines for x in operands(line)]
    rows = dict(_rows(every, loop.blocks.name))
    apart = replacing({one: variable("", one.dims, one.kind) for one in rows})
    others = [x for x in below(list(map(apart, every))) if isinstance(x.op, Variable)]
    given = {_name(x): x for x in others if _name(x) not in {"", *inner}}
    known: dict[Array, Array] = {}
    for one, name in rows.items():
        while name in given or name in inner:
            name += "_part"
        given[name] = one
        known[one] = variable(name, one.dims, one.kind, name)
    change = replacing(known)
    lines = [rebuilt(line, change) for line in lines]
    if any(_holds(x, loop.blocks.name) for line in lines for x in operands(line)):
        return None
    body = returning(Code(tuple(lines), tuple(outputs)))
    place = {x: k for k, x in enumerate(scene.inputs)}
    takes = sorted(
        given, key=lambda x: place.get(str(rows.get(given[x], x)), len(place))
    )
    op = Called(
        *scene.named(users),
        tuple(takes),
        tuple(sorted(symbols(body))),
        Needs(body.statements, body.returns).dtype,
        body,
        tuple(x.dims for x in outputs),
        outputs[0].dims if len(outputs) == 1 else (),
    )
    return array(op, *(given[x] for x in takes))


def _name(one: Array) -> str:
    assert isinstance(one.op, Variable)
    return one.op.name


def _rows(arrays: Sequence[Array], block: str) -> Iterator[tuple[Array, str]]:
    for one in below(arrays):
        own = isinstance(one.op, Index) and one.op.is_basic and _is_held(one.op, block)
        if own and isinstance(one.args[0].op, Variable):
            yield one, _name(one.args[0])


def _is_held(op: Index, block: str) -> bool:
    return any(isinstance(x, Slice) and x.held == block for x in op.parts)


def _holds(one: Array, block: str) -> bool:
    """Whether an array is made of entries at the places of a block."""
    return any(isinstance(x.op, Index) and _is_held(x.op, block) for x in below([one]))


def called_by(codes: Collection[Code]) -> list[Called]:
    """The functions of blocks that code calls, each behind those that it calls."""
    found: dict[Called, None] = {}
    for code in codes:
        lines = everything(code.statements)
        roots = [one for line in lines for one in operands(line)]
        for one in below([*roots, *code.returns]):
            if isinstance(one.op, Called):
                found |= dict.fromkeys([*called_by([code_of(one.op)]), one.op])
    return list(found)
