"""What functions of one formula share, as functions of their own.

    t, e = _loss_parts(w, X, y)
    return _loss_value(lam, w, t, e), _loss_grad(lam, w, X, y, t, e)

The code that returns most is taken apart into units, a name each with all that changes
it. What several results need are parts, what one needs alone is its own; a function
that returns fewer results calls what it needs. So value and derivatives are one text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from tensorgen.arrays.arrays import Array, below, bound, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.forms import Forms
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.reading import rows
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Statement,
    bindings,
    bound_names,
    everything,
    operands,
)
from tensorgen.arrays.units import changed_to, returning, takes
from tensorgen.prices.thresholds import MOST_OUTPUTS


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
    leads: Mapping[tuple[str, ...], Mapping[int, Code]] = field(default_factory=dict)
    """What functions of some results do themselves, as they need it alone of what the
    piece in a place makes."""

    def called(self, results: Sequence[str]) -> list[Piece]:
        """The pieces that a function of some results calls."""
        wanted, leads = {*results}, self.leads.get(tuple(results), {})
        codes = [self.own[x] for x in wanted if x in self.own]
        at_hand = (one for x in wanted for one in self.returns[x] if one)
        codes.append(Code((), tuple(at_hand)))
        found = [p for p in self.pieces if not p.shared and p.of in wanted]
        needed = {x for code in codes for x in takes(code)}
        needed |= {x for piece in found for x in piece.takes}
        shared = [p for p in self.pieces if p.shared]
        for k, piece in reversed([*enumerate(shared)]):
            if k in leads:
                needed |= {*takes(leads[k])}
            elif not needed.isdisjoint((*piece.given, *piece.outputs)):
                found.append(piece)
                needed |= {*piece.takes}
        return sorted(found, key=self.pieces.index)


def kept_to_the_end(code: Code) -> Code:
    """The same, where memory is given up when functions end."""
    lines = (line for line in code.statements if not isinstance(line, Release))
    return replace(code, statements=tuple(lines))


def lines_of(forms: Sequence[Code], building: Sequence[int] = ()) -> int:
    """How many lines a function takes in all of its forms, what they begin with once.

    So many are for `building` results of each form.
    """
    lines = [code.statements for code in forms]
    alike = takewhile(lambda row: len({*row}) == 1, zip(*lines, strict=False))
    again = sum(rows_of(line) for line, *_ in alike) * (len(lines) - 1)
    whole = sum(rows_of(line) for own in lines for line in own)
    return whole - again + len(lines) * sum(building)


def rows_of(line: Statement) -> int:
    """How many lines a statement takes."""
    if isinstance(line, Loop):
        return 1 + sum(map(rows_of, line.body))
    return max(map(rows, operands(line)), default=1)


class Outlining:
    """The pieces of levels, and of results with statements of their own.

    Of levels, functions of the results that are `led` do what they need themselves.
    """

    def __init__(
        self,
        forms: Forms,
        levels: Sequence[set[int]],
        inputs: Sequence[str],
        led: Sequence[Sequence[str]],
    ) -> None:
        self.forms, self.levels, self.inputs, self.led = forms, levels, inputs, led
        self.taken = {*inputs, *forms.cut.owner}
        needs = [set[int]().union(*(forms.every[x] for x in own)) for own in led]
        self.needs = needs
        # The levels that each of the led functions does not call, but begins with.
        self.skipped = [
            {k for k, level in enumerate(levels) if level & own and not level <= own}
            for own in needs
        ]
        self.parts: list[dict[Array, Array]] = []
        self.pieces: list[Piece] = []
        for level in levels:
            self.pieces.append(self._shared(level))

    def outline(self, used: Sequence[Sequence[str]], built: Collection[str]) -> Outline:
        """The outline of functions that have `used` results, some of them `built`."""
        own: dict[str, Code] = {}
        returns: dict[str, tuple[Array | None, ...]] = {}
        shared = set[int]().union(*self.levels)
        for name in self.forms.places:
            skipped = [
                skip
                for skip, names in zip(self.skipped, self.led, strict=True)
                if name in names
            ]
            change = self._known(skipped)
            rests = [changed_to(x, change) for x in self.forms.rests(name, shared)]
            codes = [self.forms.renamed(code) for code in rests]
            users = [names for names in used if name in names]
            times, beside = len(users), {x for names in users for x in names}
            returns[name] = ()
            # A function builds all of its results, or none.
            alone = times == 1 and not beside & {*built} - {name}
            if len(codes) > 1 or (name in built and (skipped or not alone)):
                self.pieces.append(self._piece(name, codes))
                continue
            (code,) = codes
            if skipped or (lines_of([code]) > 1 and times > 1):
                made = code.returns if skipped else _made_by(code)
                returns[name] = tuple(None if x in made else x for x in code.returns)
                code = returning(replace(code, returns=made))
                self.pieces.append(self._piece(name, [code]))
            else:  # beside what is shared, names stay apart from that
                own[name] = returning(rests[0])
        return Outline(tuple(self.pieces), own, returns, self._leads(used))

    def _known(self, skipped: Iterable[set[int]]) -> dict[Array, Array]:
        """Variables as parts of objects, where no caller has skipped their levels."""
        without = set[int]().union(*skipped)
        given = (own for k, own in enumerate(self.parts) if k not in without)
        return {x: part for own in given for x, part in own.items()}

    def _piece(
        self,
        of: str,
        codes: Sequence[Code],
        outputs: tuple[str, ...] = (),
        held: str = "",
    ) -> Piece:
        order = {x: k for k, x in enumerate(self.inputs)}
        every = dict.fromkeys(x for code in codes for x in takes(code))
        found = sorted(every, key=lambda x: order.get(x, len(order)))
        first, *others = codes
        rest = tuple(others)
        return Piece(of, bool(outputs), tuple(found), first, outputs, held, rest)

    def _shared(self, level: set[int]) -> Piece:
        """The piece of a level; of many outputs, as parts of an object."""
        cut, whole = self.forms.cut, self.forms.whole
        needs = zip(self.skipped, self.needs, strict=True)
        skipped = [skip for skip, own in needs if level <= own]
        users = [x for x, own in self.forms.every.items() if not own.isdisjoint(level)]
        of = users[0]
        lines, outputs = cut.statements(level), cut.outputs(level, whole)
        values = {x: value for line in lines for x, value in bindings(line)}
        outer = tuple(bound(x, values[x]) for x in outputs)
        lines = self.forms.without_freed(lines, outputs)
        code = changed_to(Code(lines, outer), self._known(skipped))
        held = ""
        if len(outputs) > MOST_OUTPUTS and not _are_sizes(outputs, whole):
            held = f"{of}_parts" if self.parts else "parts"
            while held in self.taken:
                held += "_"
            self.taken.add(held)
        self.parts.append(_parts_of(whole, outputs, held) if held else {})
        return replace(self._piece(of, [code], outputs, held), users=tuple(users))

    def _leads(
        self, used: Sequence[Sequence[str]]
    ) -> dict[tuple[str, ...], dict[int, Code]]:
        """What functions of results do themselves of levels, by the places of these.

        All of them do what is one line: a call would be one as well.
        """
        found = {}
        skips = dict(zip(map(tuple, self.led), self.skipped, strict=True))
        brief = {k for k, piece in enumerate(self.pieces) if is_brief(piece)}
        for names in map(tuple, used):
            own = set[int]().union(*(self.forms.every[x] for x in names))
            needed = {k for k in brief if not self.levels[k].isdisjoint(own)}
            skip = skips.get(names, set())
            change = self._known([skip])
            codes = {}
            for k in sorted(skip | needed):
                lines = self.forms.cut.statements(self.levels[k] & own)
                codes[k] = changed_to(Code(lines, ()), change)
            if codes:
                found[names] = codes
        return found


def is_brief(piece: Piece) -> bool:
    """Whether what functions share is a line of code, which has no need of a name."""
    lines = piece.code.statements
    return (
        piece.shared
        and not piece.held
        and len(lines) == len(piece.outputs) == 1
        and isinstance(lines[0], Let)
        and rows_of(lines[0]) == 1
    )


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
    mentioned = Needs(code.statements, code.returns).symbols
    counted = {x for line in everything(code.statements) for x in Needs([line]).symbols}
    return not {*mentioned, *counted}.isdisjoint(names)


def _made_by(code: Code) -> tuple[Array, ...]:
    """What code returns that is not at hand for who calls it."""
    own = {*bound_names(code.statements)}
    return tuple(
        one
        for one in code.returns
        if not isinstance(one.op, Variable) or one.op.name in own
    )
