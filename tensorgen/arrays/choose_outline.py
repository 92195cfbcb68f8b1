"""Which functions of one formula are made of what they share, and where that is cut.

Functions that would take longer, or hold more, stay as they are, or do themselves what
little they need. What takes as long with another result, as a gradient with its value,
is read of both: `loss_value_and_grad(w, X, y)[1]`. Of the ways to cut, the one that
leaves the fewest lines is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple

from tensorgen.arrays.as_good import Price, is_as_good, price_of
from tensorgen.arrays.code import Code
from tensorgen.arrays.forms import Forms, Places
from tensorgen.arrays.outline import (
    Outline,
    Outlining,
    is_brief,
    kept_to_the_end,
    lines_of,
    rows_of,
)
from tensorgen.arrays.statements import Release
from tensorgen.arrays.units import Units, mentioned
from tensorgen.prices.thresholds import (
    LINES_AT_A_GLANCE,
    LINES_OF_A_FUNCTION,
    LINES_SAVED,
    MOST_OUTPUTS,
    SHARE_OF_LINES,
)


@dataclass(frozen=True)
class Asked:
    """A function as it is: its code in each form, and the results that it returns.

    Any function `within` returns these too, of the same arguments.
    """

    forms: Sequence[Code]
    results: Sequence[str]
    within: Sequence[str] = ()


class Made(NamedTuple):
    """An outline, if there is one, and what functions do that are made of its pieces.

    What is read of what another function returns has its name `within`.
    """

    outline: Outline | None
    codes: Mapping[str, list[Code]]
    within: Mapping[str, str]


def outlined(
    whole: Code,
    places: Places,
    asked: Mapping[str, Asked],
    sizes: Mapping[str, int],
    inputs: Sequence[str],
    built: Mapping[str, int] = MappingProxyType({}),
    fixed: Collection[str] = (),
    besides: Callable[[Outline], int] = lambda _: 0,
) -> Made | None:
    """Take code apart, and say which functions are better made of its pieces.

    The first that is `asked` for returns all results, which `whole` computes in all of
    their forms. Those that would take longer stay as they are; of the others, what
    they do then is returned, in each form. None where no lines are saved, or the first
    would take longer. What pieces take of the `inputs` comes first, in their order.
    What is `built` of a result's arrays, in so many lines, is built by a piece, or by
    the one function that returns it. Names that are `fixed` are what they are, others
    need no numbers in a shorter function. Of an outline, so many lines are saved
    `besides`.
    """
    ends = [x for x in whole.statements if isinstance(x, Release)]
    freed = frozenset(name for end in ends for name in end.names)
    whole = kept_to_the_end(whole)
    cut = Units.of(whole, inputs, fixed)
    forms = None
    if cut is not None:
        forms = Forms(cut, whole, places, freed, frozenset(fixed))
    task = _Task(asked, sizes, inputs, built, besides)
    plain = task.best(forms, {})
    within = task.within(plain)
    best = task.best(forms, within)
    # What functions share is one text, but for few lines.
    apart = best is None and task.says_again(within)
    if plain and (apart or task.left({}, plain) < task.left(within, best)):
        within, best = {}, plain
    if best is None and not within:
        return None
    if best is None:
        return Made(None, {}, within)
    return Made(best.outline, best.fitting, within)


class _Way(NamedTuple):
    """An outline, the code of functions that fit it, and the lines of both."""

    outline: Outline
    fitting: dict[str, list[Code]]
    lines: int


@dataclass(frozen=True)
class _Task:
    """What is asked of an outline, and what functions take as they are."""

    asked: Mapping[str, Asked]
    sizes: Mapping[str, int]
    inputs: Sequence[str]
    built: Mapping[str, int]
    besides: Callable[[Outline], int]

    def best(self, forms: Forms | None, within: Mapping[str, str]) -> _Way | None:
        """The way that leaves the fewest lines of what is not `within` others.

        None where it hardly leaves fewer, or those others would take longer.
        """
        names = [name for name in self.asked if name not in within]
        if forms is None or len(names) < 2:
            return None
        ways = [self.way(forms, names)]
        apart = replace(forms, apart=True)
        joined = [level for level in forms.levels if level]
        if len(ways[0].fitting) < len(names) and apart.levels != joined:
            ways.append(self.way(apart, names))
        # Of what is made of pieces and of what stays as it is.
        best = min(ways, key=self.lines_more)
        if forms.cut.sums:
            freer = replace(forms.cut, free=forms.cut.free | forms.cut.sums)
            way = self.way(replace(forms, cut=freer), names)
            if self.lines_more(best) - self.lines_more(way) >= LINES_SAVED:
                best = way
        if len(best.fitting) < 2 or names[0] not in best.fitting:
            return None
        before = self.lines_before(best.fitting)
        # With what is within others, that is a smaller share of what there was.
        most = before if within else SHARE_OF_LINES * before
        lines = before + self.lines_more(best)
        if before - lines < LINES_SAVED or lines > most:
            return None
        slow = (not self.is_as_good(x, y, best) for x, y in within.items())
        return None if any(slow) else best

    def lines_more(self, way: _Way) -> int:
        """How many lines a way leaves more than there were: less than none, mostly."""
        return way.lines - self.lines_before(way.fitting) - self.besides(way.outline)

    def within(self, plain: _Way | None) -> dict[str, str]:
        """The functions that others return as well, with these.

        Those of few lines stand for themselves, unless they would be cut.
        """
        cut: Collection[str] = ()
        if plain is not None:
            results = {name: self.asked[name].results for name in plain.fitting}
            pieces = {x: plain.outline.called(own) for x, own in results.items()}
            cut = [x for x, own in pieces.items() if not all(map(is_brief, own))]
        return {
            name: other
            for name, own in self.asked.items()
            for other in own.within
            if (name in cut or self.lines_before([name]) > LINES_AT_A_GLANCE)
            and self.is_as_good(name, other)
        }

    def says_again(self, within: Collection[str]) -> bool:
        """Whether much of what the first function does stands in others as well."""
        _, *others = (name for name in self.asked if name not in within)
        return any(self.lines_before([x]) > LINES_AT_A_GLANCE for x in others)

    def is_as_good(self, name: str, other: str, way: _Way | None = None) -> bool:
        """Whether another function, made in a way, takes no longer than one alone."""
        prices = self.prices[other]
        if way is not None and other in way.fitting:
            prices = [price_of(code, self.sizes) for code in way.fitting[other]]
        return all(map(is_as_good, prices, self.prices[name]))

    def left(self, within: Collection[str], way: _Way | None) -> int:
        """All lines that are left in a way, one for what is `within` others."""
        made = {} if way is None else way.fitting
        others = [x for x in self.asked if x not in made and x not in within]
        lines = 0 if way is None else way.lines
        return lines + self.lines_before(others) + len(within)

    @cached_property
    def prices(self) -> dict[str, list[Price]]:
        """What each function takes by itself in each of its forms."""
        price = partial(price_of, sizes=self.sizes)
        return {name: [*map(price, own.forms)] for name, own in self.asked.items()}

    def lines_before(self, names: Iterable[str]) -> int:
        """How many lines some functions have by themselves."""
        found = [self.asked[name] for name in names]
        built = ([self.built.get(x, 0) for x in own.results] for own in found)
        return sum(lines_of(own.forms, x) for own, x in zip(found, built, strict=True))

    def way(self, forms: Forms, names: Sequence[str]) -> _Way:
        """Which of some functions fit levels, and what they are made of then."""
        fitting = self.fitting(forms, names)
        joined = replace(forms, joined=True)
        if joined.levels != forms.levels:
            again = self.fitting(joined, names)
            if again.keys() == fitting.keys():
                forms, fitting = joined, again
        levels = forms.called([self.asked[name].results for name in fitting])
        others = [x for x in names if x not in fitting]
        leading = [name for name in others if self.may_lead(forms, levels, name)]
        led = self.fitting(forms, leading, whole=False)
        used = [self.asked[name].results for name in (*fitting, *led)]
        alone = [self.asked[name].results for name in led]
        outline = Outlining(forms, levels, self.inputs, alone).outline(used, self.built)
        return _Way(outline, fitting | led, _lines_left(outline, used, self.built))

    def fitting(
        self, forms: Forms, names: Iterable[str], whole: bool = True
    ) -> dict[str, list[Code]]:
        """The code of functions that are as good when made of `whole` levels."""
        found = {}
        for name in names:
            own = self.asked[name]
            codes = forms.parts(own.results, len(own.forms), whole)
            prices = (price_of(code, self.sizes) for code in codes)
            if all(map(is_as_good, prices, self.prices[name])):
                found[name] = codes
        return found

    def may_lead(self, forms: Forms, levels: Sequence[set[int]], name: str) -> bool:
        """Whether a function may do itself what it needs of levels that make more.

        That is at most half of its lines, and its pieces take little of such a level.
        """
        cut, results = forms.cut, self.asked[name].results
        own = set[int]().union(*(forms.every[x] for x in results))
        led = [level for level in levels if level & own and not level <= own]
        rest = own.difference(*led)
        read = {x for line in cut.statements(rest) for x in mentioned(line)}
        taken = (read.intersection(cut.outputs(x, forms.whole)) for x in led)
        lines = sum(rows_of(x) for level in led for x in cut.statements(level & own))
        return (
            0 < 2 * lines <= self.lines_before([name])
            and len(self.asked[name].forms) == 1
            and all(len(x) <= MOST_OUTPUTS for x in taken)
        )


def _lines_left(
    outline: Outline, used: Sequence[Sequence[str]], built: Mapping[str, int]
) -> int:
    """The lines of pieces, and of what functions do of their results beside them."""
    pieces = [piece for piece in outline.pieces if not is_brief(piece)]
    lines = sum(
        lines_of(piece.forms, [0 if piece.shared else built.get(piece.of, 0)])
        for piece in pieces
    )
    lines += LINES_OF_A_FUNCTION * len(pieces)
    for names in used:
        left = (outline.own[x] for x in names if x in outline.own)
        lines += sum(lines_of([code]) for code in left)
    for leads in outline.leads.values():
        lines += sum(lines_of([code]) for code in leads.values())
    return lines
