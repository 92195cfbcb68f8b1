"""Functions as each is lowered by itself: what those of one formula are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tensorgen.arrays.code import Code
from tensorgen.arrays.forms import Places
from tensorgen.arrays.reading import LINE
from tensorgen.arrays.written import Written
from tensorgen.calculus.kinds import GRADIENT, HESSIAN, JACOBIAN, JVP, VALUE, VJP, Kind
from tensorgen.emit import returned
from tensorgen.emit.interface import Choice, Function, Holder, Parameter
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node
from tensorgen.passes.context import Plan
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.problem_plans import Lowered

SHARED = {
    VALUE.name: ("value", "value"),
    GRADIENT.name: ("grad", "gradient"),
    JACOBIAN.name: ("jac", "Jacobian"),
    HESSIAN.name: ("hess", "Hessian"),
    JVP.name: ("jvp", "tangent"),
    VJP.name: ("vjp", "cotangent"),
}
"""The kinds that functions share, as names say them and as words."""


@dataclass(frozen=True)
class Form:
    """The code of one form of a function: what is planned, and `hints` for its sizes.

    `names` are what its arrays may be called, those that are `fresh` are no arguments.
    """

    plan: Plan
    names: Sequence[str]
    fresh: Sequence[bool]
    code: Written
    hints: Mapping[str, int]


@dataclass(frozen=True)
class Made:
    """A function as it is by itself, and how its roots are lowered."""

    planned: PlannedFunction
    function: Function
    forms: Sequence[Form]
    lowered: Lowered

    @property
    def codes(self) -> list[Code]:
        """Its code in each form."""
        return [form.code.code for form in self.forms]

    @property
    def words(self) -> list[str]:
        """What it returns, as names say it; nothing where that is not shared."""
        return _words(self.planned.kind)

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kinds of what it returns."""
        kind = self.planned.kind
        return dict(zip(self.words, kind.plain_parts, strict=True))

    @property
    def own(self) -> str:
        """The last of what it returns, whose form may depend on sizes."""
        return self.words[-1]

    @property
    def built(self) -> dict[str, int]:
        """The results that are objects, or tuples of arrays, and the lines of each."""
        wrt, order = self.planned.wrt, self.planned.order
        texts = map(returned.return_lines, self.function.forms)
        lines = max(sum(map(len, text)) for text in texts) // LINE + 1
        return {
            word: lines if kind.holder else 1
            for word, kind in self.kinds.items()
            if kind.holder or len(kind.blocks(wrt, order)) > 1
        }

    def name_of(self, word: str) -> str:
        """What a result that is one array may be called."""
        wrt, order = self.planned.wrt, self.planned.order
        before = self.words[: self.words.index(word)]
        counts = (len(self.kinds[x].blocks(wrt, order)) for x in before)
        return self.planned.root_names[sum(counts)]

    @property
    def places(self) -> dict[str, list[int]]:
        """The places of the arrays of each result among all that are returned."""
        found: dict[str, list[int]] = {}
        parts, place = iter(self.planned.plan.parts), 0
        for word, kind in self.kinds.items():
            found[word] = []
            for _ in kind.blocks(self.planned.wrt, self.planned.order):
                end = place + len(next(parts))
                found[word] += range(place, end)
                place = end
        return found

    @property
    def structures(self) -> list[list[tuple[object, ...]]]:
        """What is stored of the objects of each form."""

        def stored(holder: Holder) -> tuple[object, ...]:
            return holder.class_name, holder.fields, holder.sizes, holder.sides

        return [[*map(stored, form.holders)] for form in self.function.forms]

    def roots_of(self, other: Made) -> tuple[Node, ...]:
        """What another function computes for its results, if that returns them all."""
        places = other.places
        if other is self or not self.words or not {*self.words} <= {*places}:
            return self.forms[0].plan.roots
        roots = other.forms[0].plan.roots
        return tuple(roots[k] for word in self.words for k in places[word])

    @cached_property
    def whole(self) -> tuple[Code, Places]:
        """The code of all forms at once, and where the arrays of each result are."""
        first, *others = self.forms
        places = {word: [own] for word, own in self.places.items()}
        if not others:
            return first.code.code, places
        roots, names, fresh = [*first.plan.roots], [*first.names], [*first.fresh]
        start = places[self.own][0][0] if places[self.own][0] else len(roots)
        for other in others:
            more = other.plan.roots[start:]
            places[self.own].append([len(roots) + k for k, _ in enumerate(more)])
            roots += more
            names += other.names[start:]
            fresh += other.fresh[start:]
        return self.lowered(roots, names, fresh).code, places

    def returned_by(self, others: Mapping[str, Made]) -> Iterator[str]:
        """Yield the names of functions of the same arguments that return its result
        behind another."""
        if len(self.forms) > 1:
            return
        for name, other in others.items():
            if (
                other.words[1:] == self.words
                and len(other.forms) == 1
                and other.function.arguments == self.function.arguments
                and (other.planned.undivided is None)
                == (self.planned.undivided is None)
            ):
                yield name

    def is_like(self, other: Made) -> bool:
        """Whether it returns what another does, where sizes are the same, as that does.

        The other returns more.
        """
        places, own = other.places, self.places
        if not {*own} < {*places}:
            return False
        conditions = [
            [choice.condition for choice in made.function.choices]
            for made in (self, other)
        ]
        if other.own not in own:
            return not conditions[0]
        return (
            conditions[0] == conditions[1]
            and self.structures == other.structures
            and all(len(places[x]) == len(own[x]) for x in own)
        )


def fullest(made: Iterable[Made]) -> Made | None:
    """The function that returns most of what functions share."""
    plain = [own for own in made if own.words]
    return max(plain, key=lambda own: len(own.words), default=None)


def _words(kind: Kind) -> list[str]:
    names = [part.name for part in kind.plain_parts]
    shared = all(name in SHARED for name in names)
    return [SHARED[name][0] for name in names] if shared else []


def of_choices(
    result: Function,
    name: str,
    choices: Sequence[Choice],
    parameters: tuple[Parameter, ...],
) -> Function:
    """A result of a function in several forms, which has as many."""
    forms = tuple(
        replace(choice, function=dict(choice.function.results)[name])
        for choice in choices
    )
    return replace(result, choices=forms, parameters=parameters)


def smallest(less: Dim, than: Sequence[Dim]) -> str:
    """The condition that a size is smaller than others."""
    others = ", ".join(map(str, than))
    return f"{less} < {others if len(than) == 1 else f'min({others})'}"
