"""The functions of one formula, made of private ones where that is shorter.

What returns most is taken apart (`tensorgen.arrays.outline`): then value, gradient and
Hessian are one text, whoever asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import below
from tensorgen.arrays.code import Code
from tensorgen.arrays.cost_line import cost_line, held
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.outline import Outline, Piece, outlined, recalled
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statements import operands
from tensorgen.arrays.written import Written, written
from tensorgen.calculus.kinds import (
    GRADIENT,
    HESSIAN,
    JACOBIAN,
    VALUE,
    Kind,
    camel,
)
from tensorgen.emit.backends import Backend
from tensorgen.emit.interface import Body, Function, Private, every
from tensorgen.plans.formulas import cost_of
from tensorgen.plans.planned import PlannedFunction

SHARED = {
    VALUE.name: ("value", "value"),
    GRADIENT.name: ("grad", "gradient"),
    JACOBIAN.name: ("jac", "Jacobian"),
    HESSIAN.name: ("hess", "Hessian"),
}
"""The kinds that functions share, as names say them and as words."""

Made = tuple[PlannedFunction, Function, Written]


def share_code(
    made: Mapping[str, Made], sizes: Mapping[str, int], backend: Backend
) -> dict[str, Function]:
    """Return the functions that are others now, by their names.

    `made` are those of one formula that have one form, with the code of each.
    """
    plain = {name: own for name, own in made.items() if _words(own[0].kind)}
    if len(plain) < 2:
        return {}
    most = max(plain, key=lambda name: len(plain[name][0].kind.parts))
    planned, _, whole = plain[most]
    places = _places(planned)
    others = {
        name: (own.code, _words(other.kind))
        for name, (other, _, own) in plain.items()
        if {*_words(other.kind)} < {*places} and _is_alike(places, other)
    }
    inputs = [p.name for p in every(planned.parameters)]
    found = outlined(whole.code, places, others, sizes, inputs)
    if found is None:
        return {}
    outline, codes = found
    writer = _Writer(planned.source.spec.name, outline, backend)
    changed: dict[str, Function] = {}
    for name, code in {most: whole.code, **codes}.items():
        own, function, _ = plain[name]
        most_held = held(code, sizes)
        price = cost_of(cost_line(code, most_held, sizes), own.plan)
        other = writer.composed(function, _words(own.kind))
        body = replace(other.body, holds=most_held)
        changed[name] = replace(other, cost=price, body=body)
    return changed | _callers(made, changed, writer, sizes)


def _callers(
    made: Mapping[str, Made],
    changed: Mapping[str, Function],
    writer: _Writer,
    sizes: Mapping[str, int],
) -> dict[str, Function]:
    """Other functions that repeat what is shared, such as products with a Hessian."""
    found: dict[str, Function] = {}
    first = next((p for p in writer.outline.pieces if p.shared), None)
    for name, (_, function, own) in made.items():
        rest = first and name not in changed and recalled(first, own.code, sizes)
        if first and rest:
            found[name] = writer.calling(function, first, rest)
    return found


def _words(kind: Kind) -> list[str]:
    """What a function returns, as names say it; nothing where that is not shared."""
    names = [part.name for part in (kind.beside or (kind,))]
    shared = all(name in SHARED for name in names)
    return [SHARED[name][0] for name in names] if shared else []


def _places(planned: PlannedFunction) -> dict[str, list[int]]:
    """The places of the arrays of each result among all that are returned."""
    found: dict[str, list[int]] = {}
    parts, place = iter(planned.plan.parts), 0
    kinds = planned.kind.beside or (planned.kind,)
    for word, kind in zip(_words(planned.kind), kinds, strict=True):
        own = found[word] = []
        for _ in kind.blocks(planned.wrt, planned.order):
            own += [place + k for k, _ in enumerate(next(parts))]
            place = own[-1] + 1
    return found


def _is_alike(places: Mapping[str, Sequence[int]], other: PlannedFunction) -> bool:
    """Whether a function keeps as many arrays of what it returns."""
    return all(len(places[x]) == len(own) for x, own in _places(other).items())


@dataclass(frozen=True)
class _Writer:
    """Writes the pieces of an outline, and functions that call them."""

    function: str
    outline: Outline
    backend: Backend

    def name(self, piece: Piece) -> str:
        """What a piece is called."""
        if not piece.shared:
            return f"_{self.function}_{piece.of}"
        first = next(p for p in self.outline.pieces if p.shared)
        between = "" if piece is first else f"_{piece.of}"
        return f"_{self.function}{between}_parts"

    def doc(self, piece: Piece) -> str:
        """What a piece does."""
        told = dict(SHARED.values())
        results = [x for x in told if x in self._results]
        if not piece.shared:
            return f"Compute the {told[piece.of]} of `{self.function}`."
        users = [told[x] for x in results[results.index(piece.of) :]]
        return f"Compute what {_listed(users)} of `{self.function}` share."

    @property
    def _results(self) -> set[str]:
        """All that is returned by anybody."""
        return {p.of for p in self.outline.pieces} | {*self.outline.own}

    def made(self, piece: Piece) -> str:
        """The class of what a piece returns, if it has one."""
        return f"_{camel(self.name(piece)[1:])}" if piece.held else ""

    def private(self, piece: Piece) -> Private:
        """A piece as a function."""
        held = {p.held: self.made(p) for p in self.outline.pieces if p.held}
        text = written(piece.code, self.backend.alias)
        roots = [one for line in piece.code.statements for one in operands(line)]
        ops = [one.op for one in below([*roots, *piece.code.returns])]
        kinds_of = {op.name: op.kind for op in ops if isinstance(op, Variable)}
        made, returns = self.made(piece), ", ".join(text.returns)
        last = f"return {made}({returns})" if made else f"return {returns}"
        names = piece.outputs or map(str, range(len(text.returns)))
        kinds = [x.kind for x in piece.code.returns]
        return Private(
            self.name(piece),
            tuple((x, held.get(x) or _type(kinds_of[x])) for x in piece.takes),
            text.dims,
            self.doc(piece),
            tuple((x, _type(kind)) for x, kind in zip(names, kinds, strict=True)),
            Body(
                (*text.lines, last),
                (),
                text.dims,
                helpers=(*text.helpers, *self.backend.written(text.modules)),
                modules=self.backend.imported(text.modules),
                needs_dtype=text.needs_dtype,
            ),
            made,
        )

    def composed(self, function: Function, results: Sequence[str]) -> Function:
        """A function that calls pieces for some results."""
        called = self.outline.called(results)
        calls = {piece: self.private(piece) for piece in called}
        lines = [
            f"{', '.join(piece.given)} = {own.call}"
            for piece, own in calls.items()
            if piece.shared
        ]
        returns: list[str] = []
        texts: list[Written] = []
        for result in results:
            if result in self.outline.own:
                text = written(self.outline.own[result], self.backend.alias)
                texts.append(text)
                lines += text.lines
                returns += text.returns
                continue
            (piece,) = (p for p in called if not p.shared and p.of == result)
            made, call = piece.code.returns, calls[piece].call
            names = [
                x.op.name if isinstance(x.op, Variable) else f"{result}_{k}"
                for k, x in enumerate(made)
            ]
            if len(made) > 1:
                lines.append(f"{', '.join(names)} = {call}")
            else:
                names = [call]
            left, printer = iter(names), Printer(self.backend.alias)
            at_hand = self.outline.returns[result]
            returns += [printer.text(x) if x else next(left) for x in at_hand]
        return self._over(function, lines, returns, texts, calls)

    def calling(self, function: Function, piece: Piece, rest: Code) -> Function:
        """A function that calls a piece and does the rest itself."""
        own, text = self.private(piece), written(rest, self.backend.alias)
        lines = [f"{', '.join(piece.given)} = {own.call}", *text.lines]
        return self._over(function, lines, text.returns, [text], {piece: own})

    def _over(
        self,
        function: Function,
        lines: Sequence[str],
        returns: Sequence[str],
        texts: Sequence[Written],
        calls: Mapping[Piece, Private],
    ) -> Function:
        """A function with other lines, and what these need."""
        given = {x for piece in calls for x in piece.given}
        sizes = {x for text in texts for x in text.dims}
        sizes |= {x for own in calls.values() for x in own.sizes}
        sizes |= {x for holder in function.holders for x in holder.sizes}
        modules = _once(x for text in texts for x in text.modules)
        body = replace(
            function.body,
            lines=tuple(lines),
            returns=tuple(returns),
            dims=tuple(sorted(sizes - given)),
            helpers=(
                *_once(x for text in texts for x in text.helpers),
                *self.backend.written(modules),
            ),
            modules=self.backend.imported(modules),
            needs_dtype=any(x.needs_dtype for x in texts)
            or any(own.body.needs_dtype for own in calls.values()),
        )
        return replace(function, body=body, calls=tuple(calls.values()))


def _type(kind: str) -> str:
    """The type of an array by what its entries are."""
    return "Array" if kind == "float" else "Any"


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _listed(words: Sequence[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
