"""What docstrings say that functions and their derivatives are."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from tensorgen.arrays.statements import bound_names, everything
from tensorgen.emit.interface import Function
from tensorgen.emit.text import WIDTH, equation
from tensorgen.errors import listed
from tensorgen.ir.index_text import subscript
from tensorgen.ir.nodes import Call, Input, Node, children, topological
from tensorgen.lang import ElaboratedFunction
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrix_notation import matrix_notation
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    is_recurrence,
    result_of,
)
from tensorgen.operators.told_equations import inlined
from tensorgen.passes.context import Plan
from tensorgen.passes.steps.accumulate import FILTERS
from tensorgen.plans.lowered_functions import Made
from tensorgen.spec.model import FunctionSpec
from tensorgen.structure.stored import as_compressed


def formulas_of(plan: Plan, names: Mapping[Node, str]) -> Iterator[Node]:
    """Roots as their formulas say them, or as computed where only that has names."""
    return (first for first, *_ in forms_of(plan, names))


def forms_of(plan: Plan, names: Mapping[Node, str]) -> Iterator[tuple[Node, ...]]:
    """The formula of each root, and the root as computed where that is all of it.

    What names more of what has names comes first.
    """
    said = _said([*plan.formulas, *plan.roots], names)
    for formula, tensor, part in zip(
        plan.formulas, as_compressed(plan.tensors), plan.parts, strict=True
    ):
        if tensor is not None and not tensor.is_dense:
            yield (formula,)
        else:
            (computed,) = part
            is_named = said[computed] - said[formula]
            yield (computed, formula) if is_named else (formula, computed)


def shortest(
    name: str, node: Node, names: Mapping[Node, str], by_index: bool
) -> str | None:
    """Return the equation of a result, in the user's names alone.

    It is in matrix notation unless the spec is written `by_index`. None where there is
    no short one.
    """
    text = None if by_index else matrix_notation(node, names, [name])
    return f"{name} = {text}" if text is not None else inlined(name, node, names)


Words = Mapping[Node, str]
"""What values are called."""


class Result(NamedTuple):
    """What a function returns: nodes that are its value, each in another form.

    Of a structure they are the formula alone; what is `stored` of it has names, and
    `made` says what that is.
    """

    name: str
    nodes: tuple[Node, ...]
    stored: tuple[tuple[str, tuple[Node, ...]], ...] = ()
    made: str = ""


def results_of(
    function: Function, made: Made, lead: Made | None, names: Mapping[Node, str]
) -> Iterator[Result]:
    """What a function returns, as calculus states it and as code computes it.

    It may be made of pieces of another one, the `lead`.
    """
    form, planned = made.forms[0], made.planned
    computed = [form.plan.roots]
    if lead is not None and len(own := made.roots_of(lead)) == len(form.names):
        computed.append(own)
    formulas, start = list(formulas_of(form.plan, names)), 0
    holders = dict(zip(planned.tensors, function.holders, strict=False))
    for k, part in enumerate(form.plan.parts):
        places = range(start, start + len(part))
        start += len(part)
        nodes = [tuple(dict.fromkeys(own[at] for own in computed)) for at in places]
        name, holder = planned.root_names[k], holders.get(k)
        if holder is None or holder.class_name is None:
            yield Result(name, tuple(dict.fromkeys((formulas[k], *nodes[0]))))
            continue
        several = len(holders) > 1
        told = "" if several else f"{name}{holder.structure[1:]}"
        fields = (f"{name}.{x}" if several else x for x in holder.fields)
        rows = zip(fields, nodes, strict=True)
        stored = tuple(row for row in rows if not isinstance(row[1][0], Input))
        yield Result(name, (formulas[k],), stored, told)


BRIEF, LONG = 2, 3
"""Lines of an equation that is read at once; of one that others mention, at most."""
DEEPEST = 4
"""Brackets inside one another in an equation that is read at once."""
LONGEST_TERM = 3 * 76
"""The most characters of a term that is not harder to read than the code."""


class Teller:
    """Writes equations of results, each in a few lines at most.

    A result is told in the user's names if there is `room` for that. Else it is told by
    values of the code, called by the words that they have there, and so are these, as
    long as there is room: `where d_D[i, j] = ...`, once for all results.
    """

    def __init__(
        self,
        names: Mapping[Node, str],
        words: Sequence[Words],
        by_index: bool,
        room: int,
    ) -> None:
        """Know the names that readers know, and how many lines a result may take.

        Of several `words` for values of the code the first that do are taken.
        """
        self.names = names
        self.words: Sequence[Words] = [{}, *words]
        self.by_index, self.room = by_index, room
        self.told: dict[Node, str] = {}
        self.explained = set[str]()

    def equations(self, result: Result) -> list[str] | None:
        """Return the equations of a result, or of what is stored of it.

        None where all are long.
        """
        if result.stored:
            brief = self.first(result.name, result.nodes, BRIEF)
            if found := brief or self._stored(result):
                return found
        return self.first(result.name, result.nodes, self.room)

    def _stored(self, result: Result) -> list[str]:
        """Return the equations of what is stored; nothing if most of it has none."""
        found: list[str] = []
        untold: list[str] = []
        for name, nodes in result.stored:
            if (told := self._shortest(name, nodes, BRIEF, self.words)) is not None:
                found += told.rows
            else:
                untold.append(name)
        if 2 * len(untold) >= len(result.stored):
            return []
        found += [f"{name} = what the code computes" for name in untold]
        if not result.made or _lines([result.made]) > self.room - BRIEF:
            return found
        return [result.made, *where(found)]

    def first(self, name: str, nodes: Sequence[Node], most: int) -> list[str] | None:
        """Return the equations of one of some nodes, and of what these mention.

        As long as there is room. None where the first takes more lines than `most`.
        """
        if (told := self._shortest(name, nodes, most, self.words)) is None:
            return None
        told_of: dict[Node | None, _Told] = {None: told}
        room, waiting = self.room - told.lines, self._mentioned(told)
        for node, word, words in waiting:  # which grows meanwhile
            if node in self.told or node in nodes or not room:
                continue
            told = self._shortest(word, [node], min(LONG, room), words)
            if told is not None:
                self.told[node] = word
                told_of[node] = told
                room -= told.lines
                waiting += self._mentioned(told)
        self._drop_unclear(told_of, nodes)
        if None not in told_of:
            return None
        first, *others = told_of.values()
        said = [x for own in told_of.values() for x in self._mentioned(own)]
        rest = self._explained([word for node, word, _ in said if node not in nodes])
        return [*first.rows, *where(row for own in others for row in own.rows), *rest]

    def _drop_unclear(
        self, told_of: dict[Node | None, _Told], nodes: Sequence[Node]
    ) -> None:
        """Drop equations that mention what none tells and is but made of operations.

        A reader would know nothing of it; derivatives, and other ideas, say what they
        are.
        """
        ideas = {word for own in self.words[1:2] for word in own.values()}
        while True:
            known = {*self.names.values(), *self.told.values(), *ideas}
            unclear = [
                node
                for node, told in told_of.items()
                for one, word, _ in self._mentioned(told)
                if one not in nodes and word not in known
            ]
            for node in dict.fromkeys(unclear):
                del told_of[node]
                if node is not None:
                    del self.told[node]
            if not unclear:
                return

    def _explained(self, words: Sequence[str]) -> list[str]:
        """What the words are that no equation tells: derivatives of what has a name."""
        known = {*self.names.values(), *self.told.values(), *self.explained}
        found = []
        for kind, text in _DERIVATIVES:
            left = [word for word in dict.fromkeys(words) if word not in known]
            own = {x: m[1] for x in left if (m := kind.fullmatch(x)) and m[1] in known}
            known |= own.keys()
            if own:
                found.append(text.format(listed([*own]), listed([*own.values()])))
        self.explained |= known
        return found

    def _shortest(
        self, name: str, nodes: Sequence[Node], most: int, words: Sequence[Words]
    ) -> _Told | None:
        """What one of some nodes is: the first brief text, or the shortest.

        None where all take more lines than `most`.
        """
        found: list[_Told] = []
        for k, own in enumerate(words):
            known = {**own, **self.told, **self.names}
            for node in nodes:
                rows = self._equation(name, node, known)
                if rows and _is_plain(rows):
                    found.append(_Told(rows, words[k:]))
                    if found[-1].lines <= min(BRIEF, most) and _depth(rows) <= DEEPEST:
                        return found[-1]
        best = min(found, key=lambda own: own.lines, default=_Told([], ()))
        several = len(best.rows) if len(best.rows) > 1 else 0
        fits = best.rows and best.lines <= max(most, BRIEF * several)
        return best if fits else None

    def _mentioned(self, told: _Told) -> list[tuple[Node, str, Sequence[Words]]]:
        """The values of the code that equations name."""
        text = " ".join(row.partition(" = ")[2] for row in told.rows)
        nodes = {word: node for node, word in told.words[0].items()}
        said = dict.fromkeys(re.findall(r"\w+", text))
        return [(nodes[x], x, told.words) for x in said if x in nodes]

    def _equation(self, name: str, node: Node, known: Words) -> list[str]:
        """What a node is; nothing where nothing says that."""
        if self.names.get(node, name) != name:
            return [f"{name} = {self.names[node]}"]
        if known.get(node, name).endswith("]"):  # a row of what has a name
            return [f"{name} = {known[node]}"]
        inside = (x for x in _frontier(node, known) if x not in known)
        if any(_is_unsaid(x) for x in (node, *inside)):
            return []
        others = {x: word for x, word in known.items() if x is not node}
        text = shortest(name, node, others, self.by_index)
        return text.split("\n") if text else []


class _Told(NamedTuple):
    """Equations of one value, and what further values may be told by."""

    rows: list[str]
    words: Sequence[Words]

    @property
    def lines(self) -> int:
        """The lines that they take."""
        return _lines(self.rows)


_DERIVATIVES = (
    (re.compile(r"d_(\w+)_dot"), "where {}: how the derivative by {} changes"),
    (re.compile(r"neg_d_(\w+)"), "where {}: derivative by {}, times -1"),
    (re.compile(r"d_(\w+)"), "where {}: derivative by {}"),
    (re.compile(r"(\w+)_dot"), "where {}: derivative of {} along the direction"),
)
"""How derivatives of values that have names are called, and what is said of them."""


def where(rows: Iterable[str]) -> list[str]:
    """Equations that say what others mention."""
    return [f"where {row.removeprefix('where ')}" for row in rows]


def _is_plain(rows: Sequence[str]) -> bool:
    """Whether equations have lines that fit, and terms of a few lines at most."""
    lines = [line for row in where(rows) for line in equation(row)]
    return all(len(line) <= WIDTH - 4 for line in lines) and all(
        len(term) <= LONGEST_TERM for row in rows for term in _terms(row)
    )


def _depth(rows: Iterable[str]) -> int:
    """How many parentheses stand inside one another."""
    steps = ((c == "(") - (c == ")") for row in rows for c in row)
    return max(accumulate(steps), default=0)


def _terms(text: str) -> Iterator[str]:
    """The terms of an equation, and those of a sum that is a factor."""
    depth, start = 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 2 and text[at : at + 3] in (" + ", " - "):
            yield text[start:at]
            start = at
    yield text[start:]


def _lines(rows: Iterable[str]) -> int:
    return sum(len(equation(row)) for row in rows)


def words_of(function: Function, made: Made, lead: Made | None) -> dict[Node, str]:
    """The values that a function, or what it calls, gives names to.

    It may be made of pieces of another one, the `lead`, whose names these have.
    """
    here = _bound(function.body.lines)
    there = _bound(line for own in function.calls for line in own.body.lines)
    own = made.forms[0].code.code.called
    if lead is None or function is made.function:
        found = _among(own, here | there)
    elif function.composed:
        found = _among(_without_numbers(lead), here | there)
    else:
        found = _among(own, here - there) | _among(_without_numbers(lead), there)
    return found | _last_states(found, made, lead)


def _last_states(
    words: Mapping[Node, str], made: Made, lead: Made | None
) -> dict[Node, str]:
    """States after all steps, which are rows of the arrays that have all of them."""
    every = {
        (Recurrence.of(x), result_of(x)[0]): word
        for x, word in words.items()
        if is_recurrence(x) and result_of(x)[1]
    }
    if not every:
        return {}
    roots = [*made.forms[0].plan.roots, *(lead.forms[0].plan.roots if lead else ())]
    found: dict[Node, str] = {}
    for node in topological(roots):
        if is_recurrence(node) and not result_of(node)[1]:
            own, (state, _) = Recurrence.of(node), result_of(node)
            if (own, state) in every:
                last = "0" if own.steps.backwards else str(own.steps.count)
                found[node] = f"{every[own, state]}[{last}]"
    return found


def _among(called: Mapping[Node, str], names: Container[str]) -> dict[Node, str]:
    """Values that are called by one of some names, and by none of a function."""
    return {
        node: name
        for node, name in called.items()
        if name in names and not (name in ELEMENTWISE or name in OPERATORS)
    }


def _without_numbers(made: Made) -> dict[Node, str]:
    """Values but those whose names numbers tell apart, which pieces may lack."""
    code, _ = made.whole
    bound = {*bound_names(everything(code.statements))}
    short = {x.rpartition("_")[0] for x in bound if _NUMBER.search(x)} & bound
    rows = code.called.items()
    return {node: name for node, name in rows if _NUMBER.sub("", name) not in short}


_NUMBER = re.compile(r"_\d+$")
_BINDING = re.compile(r"^ *(\w+(?:, \w+)*) = ")


def _bound(lines: Iterable[str]) -> set[str]:
    found = (_BINDING.match(row) for text in lines for row in text.split("\n"))
    return {name for own in found if own for name in own[1].split(", ")}


def _is_unsaid(node: Node) -> bool:
    """Whether code alone says what a node is: steps, or what only passes make."""
    if not isinstance(node, Call):
        return False
    made = node.operator in (*FILTERS, *FILTERS.values())
    return made or is_recurrence(node) or OPERATORS[node.operator].internal


def _frontier(node: Node, known: Mapping[Node, str]) -> list[Node]:
    """The nodes that the formula of one mentions or is made of, as far as names go."""
    found, waiting = dict[Node, None](), [*children(node)]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = None
            waiting += [] if one in known else children(one)
    return [*found]


def _said(roots: Sequence[Node], names: Mapping[Node, str]) -> dict[Node, set[str]]:
    """The names that the formula of each node mentions."""
    said: dict[Node, set[str]] = {}
    for node in topological(roots):
        below = set(children(node))
        said[node] = {names[x] for x in below if x in names}
        said[node].update(*(said[x] for x in below if x not in names))
    return said


def text_of(function: ElaboratedFunction) -> tuple[str, ...]:
    """The text of the function: its local values, then itself, if it is one."""
    rows = [f"{local.left} = {local.formula}" for local in function.locals]
    return (*rows, *[equation_of(function.spec)] * (not function.results))


def equation_of(spec: FunctionSpec) -> str:
    """A function as its file has it, without its local values."""
    return f"{subscript(spec.name, spec.places or spec.indices or ())} = {spec.expr}"
