"""The functions of one formula, made of private ones where that is shorter.

What returns most is taken apart (`tensorgen.arrays.choose_outline`): then value,
gradient and Hessian are one text, whoever asks for them.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tensorgen.arrays.arrays import Array, below
from tensorgen.arrays.choose_outline import Asked, outlined
from tensorgen.arrays.code import Code
from tensorgen.arrays.cost_line import cost_line, held
from tensorgen.arrays.object_operations import ASKED
from tensorgen.arrays.operations import Variable
from tensorgen.arrays.outline import Outline, Piece, is_brief, lines_of
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.reading import LINE
from tensorgen.arrays.repeats import pieces_recalled
from tensorgen.arrays.statements import Release, Statement, bound_names, operands
from tensorgen.arrays.units import returning, symbols, takes, variables_of
from tensorgen.arrays.written import Written, written
from tensorgen.calculus.kinds import camel
from tensorgen.emit import returned
from tensorgen.emit.backends import Backend
from tensorgen.emit.interface import Body, Function, Private, chosen, every
from tensorgen.errors import listed
from tensorgen.plans.block_functions import block_functions
from tensorgen.plans.kept_states import cost_of
from tensorgen.plans.lowered_functions import SHARED, Form, Made, fullest
from tensorgen.plans.read_sizes import bound_by, read_sizes
from tensorgen.spec.names import unused


def share_code(
    made: Mapping[str, Made],
    sizes: Mapping[str, int],
    backend: Backend,
    fixed: Collection[str],
    taken: set[str],
    form: str = "",
) -> dict[str, Function]:
    """Return the functions that are others now, by their names.

    `made` are those of one formula, as each is by itself. Names that are `fixed` are
    those of the user; what is `taken` are private functions, these among them then.
    """
    plain = {name: own for name, own in made.items() if own.words}
    most = fullest(made.values())
    if most is None or len(plain) < 2:
        return {}
    like = {name: own for name, own in plain.items() if own.is_like(most)}
    own = {made.planned.name: made for made in (most, *like.values())}
    asked = {
        name: Asked(one.codes, one.words, [*one.returned_by(own)])
        for name, one in own.items()
    }
    whole, places = most.whole
    inputs = [p.name for p in every(most.planned.parameters)]
    others = [x.codes[0] for name, x in made.items() if name not in own]

    def besides(outline: Outline) -> int:
        """How many lines fewer those functions have that repeat its pieces."""
        found = ((code, pieces_recalled(outline, code, sizes)) for code in others)
        return sum(
            lines_of([code]) - lines_of([rest]) - len(pieces)
            for code, (pieces, rest) in found
        )

    found = outlined(whole, places, asked, sizes, inputs, most.built, fixed, besides)
    if found is None:
        return {}
    changed: dict[str, Function] = {}
    if found.outline is not None:
        names = _names(most.planned.source.spec.name + form, found.outline, taken)
        taken |= {*names.values()}
        writer = _Writer(most, found.outline, names, backend)
        for name, codes in found.codes.items():
            changed[name] = writer.composed(made[name], codes, sizes)
        known = {*changed, *found.within}
        changed |= _callers(made, known, writer, sizes)
    for name, other in found.within.items():
        whole_of = changed.get(other, made[other].function)
        changed[name] = _read_of(made[name], made[other], whole_of)
    return changed


def _read_of(made: Made, other: Made, whole: Function) -> Function:
    """A function that returns one of the results of another, which is the `whole`."""
    (word,) = made.words
    place = other.words.index(word)
    texts = whole.body.returns
    own = [texts[place]] if whole.composed else [texts[k] for k in other.places[word]]
    return replace(
        made.function,
        body=replace(whole.body, returns=tuple(own)),
        calls=whole.calls,
        composed=whole.composed,
        cost=whole.cost,
        within=(whole.name, place),
    )


def _callers(
    made: Mapping[str, Made],
    changed: Container[str],
    writer: _Writer,
    sizes: Mapping[str, int],
) -> dict[str, Function]:
    """Other functions that repeat what is shared, such as products with a Hessian."""
    found: dict[str, Function] = {}
    for name, own in made.items():
        if name in changed or len(own.forms) > 1:
            continue
        pieces, rest = pieces_recalled(writer.outline, own.codes[0], sizes)
        if not pieces:
            continue
        lines: list[Statement] = []
        for piece in pieces.values():
            # What the piece does not hand out is gone when it has returned.
            local = {*bound_names(piece.code.statements)}
            end = Release(tuple(sorted(local.difference(piece.outputs))))
            lines += [*piece.code.statements, end]
        whole = Code((*lines, *rest.statements), rest.returns)
        body = replace(own.function.body, holds=held(whole, sizes))
        cost = stated_cost(own.forms[0], whole, sizes)
        function = replace(own.function, cost=cost, body=body)
        found[name] = writer.calling(function, pieces, rest)
    return found


@dataclass(frozen=True)
class _Writer:
    """Writes the pieces of an outline, and functions that call them."""

    most: Made
    outline: Outline
    names: Mapping[Piece, str]
    backend: Backend

    @property
    def function(self) -> str:
        """The name of the formula."""
        return self.most.planned.source.spec.name

    def doc(self, piece: Piece) -> str:
        """What a piece does."""
        told = dict(SHARED.values())
        if not piece.shared:
            return f"Compute the {told[piece.of]} of `{self.function}`."
        users = [told[x] for x in piece.users]
        return f"Compute what {listed(users)} of `{self.function}` share."

    def made(self, piece: Piece) -> str:
        """The class of what a piece returns, if it has one."""
        name = self.names[piece]
        return (
            f"_{camel(name[1:])}{name[len(name.rstrip('_')) :]}" if piece.held else ""
        )

    def private(self, piece: Piece, form: int = 0) -> Private:
        """A piece as a function; its arrays are those of one form."""
        held = {p.held: self.made(p) for p in self.outline.pieces if p.held}
        # Of what several kernels make, names are all that is returned.
        bare = piece.shared and not piece.held and not self.backend.fuses
        codes = map(returning, piece.forms) if bare else piece.forms
        texts = [
            written(code, self.backend.alias, self.backend.fuses) for code in codes
        ]
        every = [one for code in piece.forms for one in variables_of(code)]
        ops = [one.op for one in every]
        types = {op.name: self._type(op) for op in ops if isinstance(op, Variable)}
        built = self._built(piece, texts)
        own = min(form, len(texts) - 1)
        code, text = piece.forms[own], texts[own]
        made, returns = self.made(piece), ", ".join(text.returns)
        last = f"return {made}({returns})" if made else f"return {returns}"
        names = piece.outputs or map(str, range(len(text.returns)))
        body = _union(texts, self.backend)
        sizes = sorted({*body.dims, *(built.body.dims if built else ())})
        arrays = self._arrays(every, piece.takes)
        first = read_sizes(arrays, sizes)
        sizes = [x for x in sizes if x not in bound_by(first)]
        if body.needs_dtype and arrays:
            first.append(f"dtype = {next(iter(arrays))}.dtype")
        body = replace(
            body, lines=(*text.lines, last), needs_dtype=body.needs_dtype and not arrays
        )
        return Private(
            self.names[piece],
            tuple((x, held.get(x) or types[x]) for x in piece.takes),
            tuple(sizes),
            self.doc(piece),
            tuple(zip(names, map(self._type, code.returns), strict=True)),
            body,
            made,
            built,
            tuple(first),
        )

    def _arrays(self, every: Iterable[Array], takes: Sequence[str]) -> dict[str, Array]:
        """The arrays of numbers that a piece takes, and behind them those in parts."""
        named = {x.op.name: x for x in every if isinstance(x.op, Variable)}
        inside = (x for x in named if "." in x and x.partition(".")[0] in takes)
        given = {x: named[x] for x in (*takes, *inside) if x in named}
        return {
            x: one
            for x, one in given.items()
            if one.order and one.kind == "float" and self._type(one) != "Any"
        }

    @cached_property
    def _objects(self) -> set[str]:
        """The names of what is asked for products and solutions, and is no array."""
        codes = [code for piece in self.outline.pieces for code in piece.forms]
        roots: list[Array] = []
        for code in (*codes, *self.outline.own.values()):
            roots += (x for line in code.statements for x in operands(line))
            roots += code.returns
        asked = [one.args[0].op for one in below(roots) if isinstance(one.op, ASKED)]
        names = [op.name for op in asked if isinstance(op, Variable)]
        return {name.rpartition(".")[2] for name in names}

    def _type(self, one: Array | Variable) -> str:
        """The type of an array by what its entries are."""
        op = one.op if isinstance(one, Array) else one
        name = op.name.rpartition(".")[2] if isinstance(op, Variable) else ""
        plain = one.kind == "float" and name not in self._objects
        return returned.array_type(one.dims) if plain else "Any"

    def _built(self, piece: Piece, texts: Sequence[Written]) -> Function | None:
        """The function whose results a piece returns as callers get them."""
        if piece.shared or piece.of not in self.most.built:
            return None
        most, kind = self.most, self.most.kinds[piece.of]
        forms = []
        for text, whole in zip(texts, most.function.forms, strict=False):
            holders = whole.holders if piece.of == most.own else ()
            inside = (s for holder in holders for s in holder.sizes)
            body = Body(text.lines, text.returns, (*text.dims, *inside))
            forms.append(
                replace(whole, kind=kind, body=body, holders=holders, choices=())
            )
        first, *others = forms
        choices = [
            replace(choice, function=own)
            for choice, own in zip(most.function.choices, others, strict=False)
        ]
        compared = [d for x in most.planned.others for d in (x.less, *x.than)]
        sizes = [s for d in compared for s in d.symbols] if choices else []
        return chosen(first, choices, sizes)

    def composed(
        self, made: Made, codes: Sequence[Code], sizes: Mapping[str, int]
    ) -> Function:
        """A function that calls pieces for its results, in each of its forms."""
        function = made.function
        forms = [
            self._composed(
                replace(own, cost=stated_cost(form, code, sizes)), made.words, k
            )
            for k, (own, form, code) in enumerate(
                zip(function.forms, made.forms, codes, strict=True)
            )
        ]
        first, *others = forms
        choices = tuple(
            replace(choice, function=own)
            for choice, own in zip(function.choices, others, strict=True)
        )
        body = replace(first.body, holds=held(codes[0], sizes))
        return replace(first, body=body, choices=choices)

    def _composed(
        self, function: Function, results: Sequence[str], form: int
    ) -> Function:
        called = self.outline.called(results)
        leads = self.outline.leads.get(tuple(results), {})
        calls = {piece: self.private(piece, form) for piece in called}
        codes = [self.outline.own[x] for x in results if x in self.outline.own]
        codes += leads.values()
        given = (self.outline.returns.get(x, ()) for x in results)
        codes.append(Code((), tuple(x for row in given for x in row if x)))
        read = {x for code in codes for x in (*takes(code), *symbols(code))}
        read |= {x for own in calls.values() for x in own.takes}
        parts = {x: f"{p.held}.{x}" for p in called if p.held for x in p.outputs}
        read |= {part.partition(".")[0] for x, part in parts.items() if x in read}
        lines: list[str] = []
        returns: dict[str, list[str]] = {}
        texts: list[Written] = []
        for k, piece in enumerate(p for p in self.outline.pieces if p.shared):
            if k in leads:
                texts.append(self._written(leads[k], kept=read))
                lines += texts[-1].lines
            elif piece in calls:
                call = calls[piece].called(parts)
                lines.append(f"{_bound(piece, read)} = {call}")
        for result in results:
            if result in self.outline.own:
                text = self._written(self.outline.own[result], result, read)
                texts.append(text)
                lines += text.lines
                returns[result] = [*text.returns]
                continue
            (piece,) = (p for p in called if not p.shared and p.of == result)
            own, printer = [calls[piece].called(parts)], Printer(self.backend.alias)
            at_hand = self.outline.returns[result] or (None,)
            returns[result] = [printer.text(x) if x else own.pop() for x in at_hand]
        every = [text for row in returns.values() for text in row]
        # What has parts is built behind the body.
        builds = any(x in self.outline.own for x in results if x in self.most.built)
        if len(results) > 1 and (builds or len(", ".join(every)) > LINE):
            for result, row in returns.items():
                if (
                    result in self.outline.own
                    and len(row) == 1
                    and not row[0].isidentifier()
                ):
                    lines.append(f"{self.most.name_of(result)} = {row[0]}")
                    row[0] = self.most.name_of(result)
        every = [text for row in returns.values() for text in row]
        found = self._over(function, lines, every, texts, calls)
        return _builds(found) if builds else found

    def _written(
        self, code: Code, result: str = "", kept: Collection[str] = ()
    ) -> Written:
        """The text of what a function does itself, of one result or of all."""
        backend, many = self.backend, len(code.returns)
        names = [self.most.name_of(result)] if result and many == 1 else []
        return written(code, backend.alias, backend.fuses, names, kept)

    def calling(
        self, function: Function, pieces: Mapping[Piece, Piece], rest: Code
    ) -> Function:
        """A function that calls pieces, by what it calls them, and does the rest."""
        calls = {piece: self.private(piece) for piece in pieces}
        text = self._written(rest)
        read = {*takes(rest), *symbols(rest)}
        read |= {x for own in calls.values() for x in own.takes}
        lines = [
            f"{_bound(pieces[x], read)} = {own.called()}" for x, own in calls.items()
        ]
        lines += text.lines
        return _builds(self._over(function, lines, text.returns, [text], calls))

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
        own = _union(texts, self.backend)
        sizes = {*own.dims, *(x for private in calls.values() for x in private.sizes)}
        codes = [code for piece in calls for code in piece.forms]
        inner = block_functions([*codes, *(x.code for x in texts)], self.backend)
        body = replace(
            own,
            lines=tuple(lines),
            returns=tuple(returns),
            dims=tuple(sorted(sizes - given)),
            positive=function.body.positive,
            needs_dtype=own.needs_dtype
            or any(private.body.needs_dtype for private in calls.values()),
            refusals=function.body.refusals,
            holds=function.body.holds,
            remarks=function.body.remarks,
        )
        every = (*inner, *calls.values())
        return replace(function, body=body, calls=every, composed=True)


def _builds(function: Function) -> Function:
    """A function that builds what it returns, which may need sizes."""
    inside = (s for holder in function.holders for s in holder.sizes)
    dims = tuple(sorted({*function.body.dims, *inside}))
    return replace(function, body=replace(function.body, dims=dims), composed=False)


def _bound(piece: Piece, read: Container[str]) -> str:
    """What a call of a piece is bound to, by what is read of it."""
    return ", ".join(x if x in read else "_" for x in piece.given)


def _names(formula: str, outline: Outline, taken: Collection[str]) -> dict[Piece, str]:
    """What pieces are called, by no name that those of another formula have."""
    found: dict[Piece, str] = {}
    for piece in outline.pieces:
        if is_brief(piece):
            continue
        first = not any(other.shared for other in found)
        between = "" if piece.shared and first else f"_{piece.of}"
        name = f"_{formula}{between}{'_parts' * piece.shared}"
        if name in found.values():  # some results that share more have it
            name = f"_{'_'.join([formula, *piece.users])}_parts"
        found[piece] = unused(name, taken)
    return found


def _union(texts: Sequence[Written], backend: Backend) -> Body:
    modules = _once(x for text in texts for x in text.modules)
    helpers = _once(x for text in texts for x in text.helpers)
    return Body(
        (),
        (),
        _once(x for text in texts for x in text.dims),
        helpers=(*helpers, *backend.written(modules)),
        modules=backend.imported(modules),
        needs_dtype=any(text.needs_dtype for text in texts),
        kernels=tuple(dict.fromkeys(x for text in texts for x in text.kernels)),
    )


def stated_cost(form: Form, code: Code, sizes: Mapping[str, int]) -> str:
    """What is said of what code of a form takes and stores."""
    known = {**sizes, **form.hints}
    return cost_of(cost_line(code, held(code, known), known), form.plan)


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
