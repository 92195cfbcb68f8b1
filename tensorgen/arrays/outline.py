"""What functions of one formula share, as functions of their own.

    t, e = _loss_parts(w, X, y)
    return _loss_value(lam, w, t, e), _loss_grad(lam, w, X, y, t, e)

The code that returns most is taken apart into units, a name each with all that changes
it. What several results need are parts, what one needs alone is its own; a function
that returns fewer results calls what it needs. So value and derivatives are one text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import Array, below, bound, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.cost_line import Amount, held
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.speed import Speed
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Statement,
    When,
    bindings,
    everything,
    operands,
    reads,
)
from tensorgen.arrays.units import (
    Units,
    changed_to,
    dims_of,
    mentioned,
    named,
    variables_of,
)
from tensorgen.arrays.work import arithmetic
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
    where that is given.
    """

    of: str
    shared: bool
    takes: tuple[str, ...]
    code: Code
    outputs: tuple[str, ...] = ()
    held: str = ""

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


def outlined(
    whole: Code,
    results: Mapping[str, Sequence[int]],
    others: Mapping[str, tuple[Code, Sequence[str]]],
    sizes: Mapping[str, int],
    inputs: Sequence[str],
) -> tuple[Outline, dict[str, Code]] | None:
    """Take code apart, and say which of `others` are better made of its pieces.

    `results` has the places of arrays among what is returned, `others` the code of
    functions as they are and the results that they return. Those that would take longer
    stay as they are; of the others, what they do then is returned. None where no lines
    are saved. What pieces take of the `inputs` comes first, in their order.
    """
    freed, whole = whole, _kept(whole)
    cut = Units.of(whole)
    if cut is None or not _is_as_good(whole, freed, sizes):
        return None
    needs = {
        name: cut.closure(named([whole.returns[k] for k in places]))
        for name, places in results.items()
    }
    levels = cut.levels([*needs.values()])

    def part(names: Sequence[str]) -> Code:
        """The code for some results, whole levels at a time."""
        own = set[int]().union(*(needs[x] for x in names))
        own |= set[int]().union(*(x for x in levels if not x.isdisjoint(own)))
        returns = (whole.returns[k] for x in names for k in results[x])
        return Code(cut.statements(own), tuple(returns), whole.refusals)

    parts = {name: part(names) for name, (_, names) in others.items()}
    fitting = {
        name: code
        for name, code in parts.items()
        if _is_as_good(code, others[name][0], sizes)
    }
    if not fitting:
        return None
    used = [[*results], *(others[name][1] for name in fitting)]
    # What everybody needs of two levels is one.
    wanted = [set[int]().union(*(needs[x] for x in names)) for names in used]
    if all(level & own for own in wanted for level in levels[:2]):
        levels = [set[int]().union(*levels[:2]), *levels[2:]]
    levels = [level for level in levels if level]
    outline = _outline(cut, whole, results, needs, levels, used, inputs)
    before = len(whole.statements)
    before += sum(len(others[name][0].statements) for name in fitting)
    after = sum(
        len(piece.code.statements) + LINES_OF_A_FUNCTION for piece in outline.pieces
    )
    for names in used:
        after += len(outline.called(names))
        left = (outline.own[x] for x in names if x in outline.own)
        after += sum(len(code.statements) for code in left)
    if before - after < LINES_SAVED or after > SHARE_OF_LINES * before:
        return None
    return outline, fitting


def _is_as_good(code: Code, own: Code, sizes: Mapping[str, int]) -> bool:
    """Whether code takes no longer than a function does by itself, and holds no more.

    What loops take is told by their arithmetic alone.
    """
    known = assumed(
        sizes, [x for one in (code, own) for d in dims_of(one) for x in d.sources]
    )
    speed = Speed(known)
    frees = any(isinstance(line, Release) for line in everything(own.statements))
    flops, before = (int(Amount.of(arithmetic(x), sizes)) for x in (code, own))
    most, kept = (int(Amount.of(held(x, sizes), sizes)) for x in (code, own))
    return (
        flops <= SHARE_OF_A_WHOLE * before
        and most <= (SHARE_OF_FREED if frees else SHARE_OF_MEMORY) * kept
        and _time(code, speed) <= SHARE_OF_A_WHOLE * _time(own, speed)
    )


def _kept(code: Code) -> Code:
    """The same, where memory is given up when functions end."""

    def kept(lines: Sequence[Statement]) -> tuple[Statement, ...]:
        own = (line for line in lines if not isinstance(line, Release))
        return tuple(
            (
                replace(line, body=kept(line.body))
                if isinstance(line, Loop | When)
                else line
            )
            for line in own
        )

    return replace(code, statements=kept(code.statements))


def _time(code: Code, speed: Speed) -> float:
    """The time of all arrays that code makes outside of loops, each once."""
    lines = [line for line in code.statements if not isinstance(line, Loop)]
    roots = [one for line in lines for one in operands(line)]
    return sum(map(speed.work, below([*roots, *code.returns])))


def recalled(piece: Piece, code: Code, sizes: Mapping[str, int]) -> Code | None:
    """What is left of a function's code behind the call of a piece, which it repeats.

    None where it repeats little, or would take longer so or hold more.
    """
    freed, code = code, _kept(code)
    own, cut = Units.of(piece.code), Units.of(code)
    if own is None or cut is None:
        return None
    same = {x: x for x in own.owner}
    known = {
        own.key(unit, same): unit for unit, places in enumerate(own.units) if places
    }
    known.pop(None, None)
    names: dict[str, str] = {}  # what is repeated, by its name in the piece
    again: dict[int, tuple[str, ...]] = {}
    for unit, places in sorted(enumerate(cut.units), key=lambda pair: pair[1]):
        found = known.get(cut.key(unit, names)) if places else None
        if found is not None:
            again[unit] = cut.bound(unit)
            names |= zip(cut.bound(unit), own.bound(found), strict=True)
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
    rest = Code(lines, code.returns, code.refusals)
    local = {x for line in lines for x, _ in bindings(line)}
    if len(code.statements) - len(lines) <= CALLS_SAVED or (
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


def _outline(
    cut: Units,
    whole: Code,
    results: Mapping[str, Sequence[int]],
    needs: Mapping[str, set[int]],
    levels: Sequence[set[int]],
    used: Sequence[Sequence[str]],
    inputs: Sequence[str],
) -> Outline:
    """The pieces: the shared levels, and results with statements of their own."""
    shared = set[int]().union(*levels)
    taken = {*inputs, *cut.owner}
    pieces: list[Piece] = []
    own: dict[str, Code] = {}
    returns: dict[str, tuple[Array | None, ...]] = {}
    known: dict[Array, Array] = {}

    def piece(
        of: str, code: Code, outputs: tuple[str, ...] = (), held: str = ""
    ) -> Piece:
        order = {x: k for k, x in enumerate(inputs)}
        found = sorted(takes(code), key=lambda x: order.get(x, len(order)))
        return Piece(of, bool(outputs), tuple(found), code, outputs, held)

    for level in levels:
        of = next(x for x, units in needs.items() if not units.isdisjoint(level))
        lines, outputs = cut.statements(level), _outputs(cut, level, whole)
        values = {x: value for line in lines for x, value in bindings(line)}
        outer = tuple(bound(x, values[x]) for x in outputs)
        code = changed_to(Code(lines, outer), known)
        held = ""
        if len(outputs) > MOST_OUTPUTS and not _are_sizes(outputs, whole):
            held = "parts" if not pieces else f"{of}_parts"
            while held in taken:
                held += "_"
            taken.add(held)
        pieces.append(piece(of, code, outputs, held))
        if held:
            known |= _parts_of(whole, outputs, held)
    for name, places in results.items():
        lines = cut.statements(needs[name] - shared)
        code = Code(lines, tuple(whole.returns[k] for k in places))
        code = changed_to(code, known)
        times = sum(name in names for names in used)
        if len(lines) > 1 and times > 1:
            made = _made_by(code)
            returns[name] = tuple(None if x in made else x for x in code.returns)
            code = replace(code, returns=made)
            pieces.append(piece(name, _returning(code)))
        else:
            returns[name] = ()
            own[name] = _returning(code)
    return Outline(tuple(pieces), own, returns)


def _outputs(cut: Units, level: set[int], whole: Code) -> tuple[str, ...]:
    """The names of some units that others read, in order."""
    rest = [k for u, unit in enumerate(cut.units) if u not in level for k in unit]
    seen = {x for k in rest for x in mentioned(cut.lines[k])}
    seen |= named(whole.returns)
    starts = {x: cut.units[u][0] for x, u in cut.owner.items() if u in level}
    return tuple(x for x in sorted(starts, key=starts.__getitem__) if x in seen)


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


def takes(code: Code) -> list[str]:
    """The arrays, and objects with arrays, that code takes, in the order of use."""
    roots = [one for line in code.statements for one in operands(line)]
    inner = {x for line in everything(code.statements) for x, _ in bindings(line)}
    found = (x.partition(".")[0] for x in reads([*roots, *code.returns]))
    named = {**dict.fromkeys(found)}
    sizes = {x for line in code.statements for x in Needs([line]).symbols}
    return [x for x in named if x not in inner and x not in sizes]
