"""What functions of one formula share, as functions of their own.

    t, e = _loss_parts(w, X, y)
    return _loss_value(lam, w, t, e), _loss_grad(lam, w, X, y, t, e)

The code that returns most is taken apart into units, a name each with all that changes
it. What several results need are parts, what one needs alone is its own; a function
that returns fewer results calls what it needs. So value and derivatives are one text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from math import prod
from types import MappingProxyType

from tensorgen.arrays.arrays import Array, below, bound, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.cost_line import Amount, held
from tensorgen.arrays.forms import Forms, Places
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.reading import rows
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Statement,
    Store,
    bindings,
    everything,
    operands,
)
from tensorgen.arrays.units import (
    Expansion,
    Units,
    changed_to,
    dims_of,
    mentioned,
    named,
    takes,
    variables_of,
)
from tensorgen.arrays.work import arithmetic
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.prices.thresholds import (
    CALLS_SAVED,
    LINES_OF_A_FUNCTION,
    LINES_SAVED,
    MOST_OUTPUTS,
    SHARE_OF_A_WHOLE,
    SHARE_OF_FREED,
    SHARE_OF_LINES,
    SHARE_OF_MEMORY,
    assumed,
)


@dataclass(frozen=True)
class Piece:
    """A function: what it takes, what it does, and what it returns.

    `of` is the result that it is of, or the first of those that need it if it is
    `shared`. What it returns has the names `outputs`, as parts of an object `held`
    where that is given. Of a result that has several forms, `others` are those that
    come after the first. What is shared has the results that need it as `users`.
    """

    of: str
    shared: bool
    takes: tuple[str, ...]
    code: Code
    outputs: tuple[str, ...] = ()
    held: str = ""
    others: tuple[Code, ...] = ()
    users: tuple[str, ...] = ()

    @property
    def forms(self) -> tuple[Code, ...]:
        """Its code in each form."""
        return (self.code, *self.others)

    @property
    def given(self) -> tuple[str, ...]:
        """The names under which callers have what it returns."""
        return (self.held,) if self.held else self.outputs


@dataclass(frozen=True)
class Outline:
    """The pieces of a function that returns all `results`, in the order of calls."""

    pieces: tuple[Piece, ...]
    own: Mapping[str, Code]
    """What is left of results that are no piece, by their names."""
    returns: Mapping[str, tuple[Array | None, ...]]
    """What callers of a result's piece have at hand, and nothing for what it makes."""

    def called(self, results: Iterable[str]) -> list[Piece]:
        """The pieces that a function of some results calls."""
        wanted = {*results}
        codes = [self.own[x] for x in wanted if x in self.own]
        at_hand = (one for x in wanted for one in self.returns[x] if one)
        codes.append(Code((), tuple(at_hand)))
        found = [p for p in self.pieces if not p.shared and p.of in wanted]
        needed = {x for code in codes for x in takes(code)}
        needed |= {x for piece in found for x in piece.takes}
        for piece in reversed([p for p in self.pieces if p.shared]):
            if not needed.isdisjoint(piece.given):
                found.append(piece)
                needed |= {*piece.takes}
        return sorted(found, key=self.pieces.index)


@dataclass(frozen=True)
class Asked:
    """A function as it is: its code in each form, and the results that it returns."""

    forms: Sequence[Code]
    results: Sequence[str]


def outlined(
    whole: Code,
    places: Places,
    asked: Mapping[str, Asked],
    sizes: Mapping[str, int],
    inputs: Sequence[str],
    built: Mapping[str, int] = MappingProxyType({}),
    fixed: Collection[str] = (),
) -> tuple[Outline, dict[str, list[Code]]] | None:
    """Take code apart, and say which functions are better made of its pieces.

    The first that is `asked` for returns all results, which `whole` computes in all of
    their forms. Those that would take longer stay as they are; of the others, what
    they do then is returned, in each form. None where no lines are saved, or the first
    would take longer. What pieces take of the `inputs` comes first, in their order.
    What is `built` of a result's arrays, in so many lines, is built by a piece. Names
    that are `fixed` are what they are, others need no numbers in a shorter function.
    """
    ends = [x for x in whole.statements if isinstance(x, Release)]
    freed = frozenset(name for end in ends for name in end.names)
    whole = _kept(whole)
    cut = Units.of(whole, inputs, fixed)
    if cut is None:
        return None
    forms = Forms(cut, whole, places, freed, frozenset(fixed))
    fitting = _fitting(forms, asked, sizes)
    common = replace(forms, common=True)
    own = [len(cut.statements(level)) for level in common.levels if level]
    if len(fitting) < len(asked) and min(own, default=0) >= LINES_OF_A_FUNCTION:
        again = _fitting(common, asked, sizes)
        if len(again) > len(fitting):
            forms, fitting = common, again
    joined = replace(forms, joined=True)
    if joined.levels != forms.levels:
        again = _fitting(joined, asked, sizes)
        if again.keys() == fitting.keys():
            forms, fitting = joined, again
    if len(fitting) < 2 or next(iter(asked)) not in fitting:
        return None
    used = [asked[name].results for name in fitting]
    outline = _outline(forms, forms.called(used), used, inputs, built)
    before = sum(
        _lines(asked[name].forms, [built.get(x, 0) for x in asked[name].results])
        for name in fitting
    )
    after = sum(
        _lines(piece.forms, [0 if piece.shared else built.get(piece.of, 0)])
        for piece in outline.pieces
    )
    after += LINES_OF_A_FUNCTION * len(outline.pieces)
    for names in used:
        left = (outline.own[x] for x in names if x in outline.own)
        after += sum(_lines([code], ()) for code in left)
    if before - after < LINES_SAVED or after > SHARE_OF_LINES * before:
        return None
    return outline, fitting


def _fitting(
    forms: Forms, asked: Mapping[str, Asked], sizes: Mapping[str, int]
) -> dict[str, list[Code]]:
    """The code of functions that are as good when they are made of levels."""
    parts = {
        name: forms.parts(own.results, len(own.forms)) for name, own in asked.items()
    }
    return {
        name: codes
        for name, codes in parts.items()
        if all(map(partial(_is_as_good, sizes=sizes), codes, asked[name].forms))
    }


def _lines(forms: Sequence[Code], building: Sequence[int]) -> int:
    """How many lines a function takes in all of its forms, what they begin with once.

    So many are for `building` results of each form.
    """
    lines = [code.statements for code in forms]
    alike = takewhile(lambda row: len({*row}) == 1, zip(*lines, strict=False))
    again = sum(_rows(line) for line, *_ in alike) * (len(lines) - 1)
    whole = sum(_rows(line) for own in lines for line in own)
    return whole - again + len(lines) * sum(building)


def _rows(line: Statement) -> int:
    """How many lines a statement takes, those of a loop as one."""
    return max(map(rows, operands(line)), default=1)


def _is_as_good(code: Code, own: Code, sizes: Mapping[str, int]) -> bool:
    """Whether code takes no longer than a function does by itself, and holds no more.

    What loops take is told by their arithmetic alone.
    """
    known = assumed(
        sizes, [x for one in (code, own) for d in dims_of(one) for x in d.sources]
    )
    speed = Speed(known)
    frees = any(isinstance(line, Release) for line in everything(own.statements))
    flops, before = (
        int(Amount.of(arithmetic(x) + _added(x), sizes)) for x in (code, own)
    )
    most, kept = (int(Amount.of(held(x, sizes), sizes)) for x in (code, own))
    return (
        flops <= SHARE_OF_A_WHOLE * before
        and most <= (SHARE_OF_FREED if frees else SHARE_OF_MEMORY) * kept
        and _time(code, speed) <= SHARE_OF_A_WHOLE * _time(own, speed)
    )


def _added(code: Code) -> Dim:
    """How many numbers code adds in place outside of loops."""
    sizes = (
        prod(line.value.dims, start=ONE)
        for line in code.statements
        if isinstance(line, Store) and line.how != "="
    )
    return sum(sizes, ZERO)


def _kept(code: Code) -> Code:
    """The same, where memory is given up when functions end."""
    lines = (line for line in code.statements if not isinstance(line, Release))
    return replace(code, statements=tuple(lines))


def _time(code: Code, speed: Speed) -> float:
    """The time of all arrays that code makes outside of loops, each once."""
    lines = [line for line in code.statements if not isinstance(line, Loop)]
    roots = [one for line in lines for one in operands(line)]
    return sum(map(speed.work, below([*roots, *code.returns])))


def recalled(piece: Piece, code: Code, sizes: Mapping[str, int]) -> Code | None:
    """What is left of a function's code behind the call of a piece, which it repeats.

    None where it repeats little, or less than both would then compute, and where it
    would take longer or hold more.
    """
    freed, code = code, _kept(code)
    own, cut = Units.of(piece.code), Units.of(code)
    if own is None or cut is None:
        return None
    again, names = _repeated(own, cut, piece.code, code)
    twice = 0  # statements of both that the piece does not hand out
    while True:
        lines = cut.statements(u for u, _ in enumerate(cut.units) if u not in again)
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
    local = {x for line in lines for x, _ in bindings(line)}
    if len(code.statements) - len(lines) <= CALLS_SAVED + twice or (
        not piece.held and not local.isdisjoint(piece.outputs)
    ):
        return None
    whole = Code((*piece.code.statements, *lines), code.returns, code.refusals)
    if not _is_as_good(whole, freed, sizes):
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


def _outline(
    forms: Forms,
    levels: Sequence[set[int]],
    used: Sequence[Sequence[str]],
    inputs: Sequence[str],
    built: Collection[str],
) -> Outline:
    """The pieces: the shared levels, and results with statements of their own."""
    cut, whole = forms.cut, forms.whole
    shared = set[int]().union(*levels)
    taken = {*inputs, *cut.owner}
    pieces: list[Piece] = []
    own: dict[str, Code] = {}
    returns: dict[str, tuple[Array | None, ...]] = {}
    known: dict[Array, Array] = {}

    def piece(
        of: str, codes: Sequence[Code], outputs: tuple[str, ...] = (), held: str = ""
    ) -> Piece:
        order = {x: k for k, x in enumerate(inputs)}
        every = dict.fromkeys(x for code in codes for x in takes(code))
        found = sorted(every, key=lambda x: order.get(x, len(order)))
        first, *others = codes
        rest = tuple(others)
        return Piece(of, bool(outputs), tuple(found), first, outputs, held, rest)

    for level in levels:
        users = [x for x, own in forms.every.items() if not own.isdisjoint(level)]
        of = users[0]
        lines, outputs = cut.statements(level), cut.outputs(level, whole)
        values = {x: value for line in lines for x, value in bindings(line)}
        outer = tuple(bound(x, values[x]) for x in outputs)
        lines = forms.without_freed(lines, outputs)
        code = changed_to(Code(lines, outer), known)
        held = ""
        if len(outputs) > MOST_OUTPUTS and not _are_sizes(outputs, whole):
            held = "parts" if not pieces else f"{of}_parts"
            while held in taken:
                held += "_"
            taken.add(held)
        found = piece(of, [code], outputs, held)
        pieces.append(replace(found, users=tuple(users)))
        if held:
            known |= _parts_of(whole, outputs, held)
    for name in forms.places:
        rests = [changed_to(code, known) for code in forms.rests(name, shared)]
        codes = [forms.renamed(code) for code in rests]
        times = sum(name in names for names in used)
        returns[name] = ()
        if name in built or len(codes) > 1:
            pieces.append(piece(name, codes))
            continue
        (code,) = codes
        if _lines([code], ()) > 1 and times > 1:
            made = _made_by(code)
            returns[name] = tuple(None if x in made else x for x in code.returns)
            pieces.append(piece(name, [_returning(replace(code, returns=made))]))
        else:  # beside what is shared, names stay apart from that
            own[name] = _returning(rests[0])
    return Outline(tuple(pieces), own, returns)


def _parts_of(code: Code, outputs: Sequence[str], held: str) -> dict[Array, Array]:
    """Variables as parts of an object."""
    roots = [one for line in code.statements for one in operands(line)]
    found: dict[Array, Array] = {}
    for one in below([*roots, *code.returns]):
        op = one.op
        if isinstance(op, Variable) and op.name in outputs:
            names = (f"{held}.{x}" if x in outputs else x for x in (op.name, op.base))
            name, base = names
            found[one] = variable(str(name), one.dims, one.kind, base, op.boxed)
    return found


def _are_sizes(names: Iterable[str], code: Code) -> bool:
    """Whether one of some names is mentioned as a size."""
    mentioned = Needs(code.statements, code.returns).symbols
    counted = {x for line in everything(code.statements) for x in Needs([line]).symbols}
    return not {*mentioned, *counted}.isdisjoint(names)


def _made_by(code: Code) -> tuple[Array, ...]:
    """What code returns that is not at hand for who calls it."""
    own = {x for line in code.statements for x, _ in bindings(line)}
    return tuple(
        one
        for one in code.returns
        if not isinstance(one.op, Variable) or one.op.name in own
    )


def _returning(code: Code) -> Code:
    """The same without a name for what is returned at once."""
    if len(code.returns) == 1 and code.statements:
        last, op = code.statements[-1], code.returns[0].op
        if isinstance(last, Let) and isinstance(op, Variable) and op.name == last.name:
            return Code(code.statements[:-1], (last.value,), code.refusals)
    return code
