"""What docstrings say that functions and their derivatives are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tensorgen.emit.text import equation
from tensorgen.ir.dims import COMPUTED
from tensorgen.ir.index_text import subscript
from tensorgen.ir.nodes import Node, children, topological
from tensorgen.lang import ElaboratedFunction
from tensorgen.operators.index_notation import inlined
from tensorgen.operators.matrix_notation import matrix_notation
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    Steps,
    is_recurrence,
    result_of,
)
from tensorgen.passes.context import Plan
from tensorgen.spec.model import FunctionSpec
from tensorgen.structure.stored import as_compressed


def formulas_of(plan: Plan, names: Mapping[Node, str]) -> Iterator[Node]:
    """Roots as their formulas say them, or as computed where only that has names."""
    said = _said([*plan.formulas, *plan.roots], names)
    for formula, tensor, part in zip(
        plan.formulas, as_compressed(plan.tensors), plan.parts, strict=True
    ):
        if tensor is not None and not tensor.is_dense:
            yield formula
        else:
            (computed,) = part
            yield computed if said[computed] - said[formula] else formula


def shortest(
    name: str, node: Node, names: Mapping[Node, str], by_index: bool
) -> str | None:
    """Return the equation of a result, in the user's names alone.

    It is in matrix notation unless the spec is written `by_index`. None where there is
    no short one.
    """
    text = None if by_index else matrix_notation(node, names, [name])
    return inlined(name, node, names) if text is None else f"{name} = {text}"


class Teller:
    """Writes equations of results, each in a few lines at most.

    No equation takes more lines than there is `room` for, and a result with the values
    that it names no more than twice as many. One that would is told by values of the
    code, called by the `words` that they have there: `where d_D[i, j] = ...`, once for
    all results.
    """

    def __init__(
        self,
        names: Mapping[Node, str],
        words: Mapping[Node, str],
        by_index: bool,
        room: int,
    ) -> None:
        """Know the names that readers know, and how many lines a result may take."""
        self.names, self.words = names, words
        self.by_index, self.room = by_index, room
        self.told: dict[str, Node] = {}
        self.called: dict[str, list[Node]] = {}
        for node, word in words.items():
            self.called.setdefault(word, []).append(node)

    def all(
        self, results: Sequence[Sequence[tuple[str, Node]]]
    ) -> list[list[str] | None]:
        """Return the equations of each result, which may be either of some nodes.

        What is told of one shortens others, those before it as well.
        """
        found: dict[int, list[str]] = {}
        before = -1
        while before < len(found):
            before = len(found)
            for k, ways in enumerate(results):
                if k not in found and (told := self.first(ways)) is not None:
                    found[k] = told
        return [found.get(k) for k in range(len(results))]

    def first(self, ways: Iterable[tuple[str, Node]]) -> list[str] | None:
        """Return the equations of the first of some nodes that are short."""
        for words in ({}, self.words):
            for name, node in ways:
                told = self._equations(name, node, words)
                if told is not None:
                    return told
        return None

    def _equations(
        self, name: str, node: Node, words: Mapping[Node, str]
    ) -> list[str] | None:
        """What a node is, then the values that this mentions; None if that is long."""
        known = {**words, **self.names}
        waiting, told, found = {name: node}, dict(self.told), list[str]()
        while waiting:
            own = next(iter(waiting))
            one = waiting.pop(own)
            inside = _frontier(one, known)
            if any(is_recurrence(x) and x not in known for x in inside):
                return None
            others = {x: word for x, word in known.items() if x is not one}
            text = shortest(own, one, others, self.by_index)
            if text is None:
                return None
            found.append(text if own == name else f"where {text}")
            lines = [len(equation(row, "")) for row in found]
            if max(lines) > self.room or sum(lines) > 2 * self.room:
                return None
            said = {*re.findall(r"\w+", text.partition(" = ")[2])}
            for word in (x for x in self.called if words and x in said):
                values = self.called[word]
                values = [x for x in values if x in inside] or values
                if {told.get(word, values[0]), *values} != {values[0]}:
                    return None  # two values of one name
                told[word] = values[0]
                if word in self.told or word in waiting or _is_in(word, found):
                    continue
                if is_recurrence(values[0]):
                    found.append(f"where {word} = what the code computes in steps")
                elif values[0] is not one:
                    waiting[word] = values[0]
        self.told = told
        return found


def _is_in(word: str, equations: Iterable[str]) -> bool:
    """Whether a value is defined already."""
    start = re.compile(rf"where {word}\b[^=]* = ")
    return any(start.match(row) for row in equations)


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


def steps_of(roots: Iterable[Node]) -> list[Steps]:
    """The steps of all recurrences, apart from those inside of others."""
    found = (x for x in topological(roots) if is_recurrence(x))
    return list(dict.fromkeys(Recurrence.of(x).steps for x in found))


def cost_of(bill: str, plan: Plan) -> str:
    """What a function costs, and what it stores of the states of recurrences."""
    kept = _states_of(plan)
    return f"{bill}, including {kept}" if kept else bill


def _states_of(plan: Plan) -> str:
    """What is kept of the states of recurrences, where that grows with the steps."""
    found: dict[str, None] = {}
    for node in topological(plan.roots):
        if not is_recurrence(node):
            continue
        steps, (result, every) = Recurrence.of(node).steps, result_of(node)
        if not every or result >= len(steps.states):
            continue
        if steps.runs is None:
            found[f"all states of {steps.count} steps"] = None
            continue
        length = str(steps.runs.length)
        if length in COMPUTED:
            length = f"isqrt({COMPUTED[length].of}) + 1"
        text = f"of {steps.runs.total} steps every state of one run of {length}, and"
        found[f"{text} the first of each run"] = None
    return "; ".join(found)


def text_of(function: ElaboratedFunction) -> tuple[str, ...]:
    """The text of the function: its local values, then itself, if it is one."""
    rows = [f"{local.left} = {local.formula}" for local in function.locals]
    return (*rows, *[equation_of(function.spec)] * (not function.results))


def equation_of(spec: FunctionSpec) -> str:
    """A function as its file has it, without its local values."""
    return f"{subscript(spec.name, spec.places or spec.indices or ())} = {spec.expr}"
