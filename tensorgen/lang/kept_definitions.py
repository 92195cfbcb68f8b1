"""Definitions that are called as what they are, and not written out at each call.

Which are worth a look is told by the texts alone; which are called often enough, by the
nodes. Their text is read once for arguments of some shapes, over places.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from tensorgen.calculus.derive import vjp
from tensorgen.errors import Faults
from tensorgen.ir.constraints import index_bound
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, constant_value, topological
from tensorgen.lang.parsed import Parsed, parse_texts
from tensorgen.lang.scope import Macro, Record
from tensorgen.lang.statement import Statement
from tensorgen.operators.conditions.guards import guard
from tensorgen.operators.defined_calls import Defined, closed, defined_of, is_defined
from tensorgen.operators.external_calls import is_external
from tensorgen.operators.functions.array import Array, union
from tensorgen.operators.promise_calls import is_promise
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    everything,
    is_recurrence,
    place,
)
from tensorgen.operators.solved_arrays import is_unknown
from tensorgen.operators.word_shapes import Entry, fits, says_little
from tensorgen.operators.words import describe
from tensorgen.prices.thresholds import CALLS_OF_A_DEFINITION, LEAST_OF_A_DEFINITION
from tensorgen.spec.model import Spec

_OPERATION = ast.BinOp | ast.Call | ast.Compare


def worth_a_look(spec: Spec) -> list[str]:
    """The definitions that are called and do something, by the text."""
    items = [*parse_texts(spec, Faults())]
    macros = {
        item.name.value: item
        for item in items
        if item.definition is not None and item.definition.parameters is not None
    }
    called = _called(items)
    return [
        name
        for name, item in macros.items()
        if _operations(item) >= LEAST_OF_A_DEFINITION and name in called
    ]


def called_often(graph: Graph, root: Node) -> set[str]:
    """The definitions that a function, or one of its steps, calls at several places.

    What is its own pullback is called once more by its adjoint.
    """
    found: set[str] = set()
    steps = {
        Recurrence.of(x).steps
        for x in everything(topological([root]))
        if is_recurrence(x)
    }
    waiting = [(root,), *(x.roots for x in steps)]
    seen: set[Defined] = set()
    while waiting:
        calls = [x for x in topological(waiting.pop()) if is_defined(x)]
        fresh = {defined_of(x): None for x in calls if defined_of(x) not in seen}
        seen.update(fresh)
        waiting += [x.results for x in fresh]  # one may call others
        names = Counter(defined_of(x).name for x in calls)
        names.update(defined_of(x).name for x in calls if _is_symmetric(graph, x))
        found.update(x for x, n in names.items() if n >= CALLS_OF_A_DEFINITION)
    return found


def _is_symmetric(graph: Graph, call: Call) -> bool:
    """Whether a call pulls a cotangent back by a call of the same definition."""
    bar = graph.fresh(call.dims, (), None)
    pulled = (vjp(graph, call, bar, [x])[0] for x in call.args if x.order)
    return any(is_defined(x) and defined_of(x) is defined_of(call) for x in pulled)


def _called(items: Iterable[Parsed]) -> set[str]:
    return {
        node.func.id
        for item in items
        for text in item.expressions
        for node in ast.walk(text.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def _operations(item: Parsed) -> int:
    trees = [node for x in item.expressions for node in ast.walk(x.tree)]
    return sum(isinstance(node, _OPERATION) for node in trees)


# Calls


@dataclass(frozen=True)
class _Read:
    """A definition that has been read for arguments of some shapes.

    Of the arguments it takes those that are no numbers, then what else it reads. The
    result has the axes of indices that are `batch` among those of the arguments.
    """

    of: Defined
    outer: tuple[Node, ...]
    batch: tuple[int, ...]
    record: Record


Expand = Callable[[Statement, Macro, Sequence[Array]], tuple[Array | None, Record]]
"""How the text of a definition is elaborated."""


def called(
    e: Statement, macro: Macro, values: Sequence[Array], expand: Expand
) -> tuple[Array, Record] | None:
    """Return a call of a definition, and what its text uses; None if it can be none."""
    if any(index_bound(x.node) is not None for x in values):
        return None
    labels = {label: k for k, label in enumerate(union(values))}
    alike = tuple(
        (x.node.dims, tuple(labels[k] for k in x.batch), _number(x.node))
        for x in values
    )
    known = e.session.read_once
    key = macro.name, alike
    if key not in known:
        known[key] = _read(e, macro, values, expand)
    read = known[key]
    if not isinstance(read, _Read):
        return None
    given = [x.node for x in values if _number(x.node) is None]
    graph = e.session.graph
    node = read.of.of(graph, [*given, *read.outer])
    graph.suggest(node, _word(graph, macro, given))
    back = {k: label for label, k in labels.items()}
    return Array(node, tuple(back[k] for k in read.batch)), read.record


def _word(graph: Graph, macro: Macro, given: Sequence[Node]) -> str:
    """What a call is called: after its argument, unless that says too much."""
    if len(given) != 1:
        return macro.name
    (node,) = given
    name = node.name if isinstance(node, Input) else graph.names.get(node)
    word = f"{macro.name}_{name}"
    return word if name and fits(word) else macro.name


def _told(graph: Graph, node: Node) -> str:
    """What a value is called that a text reads, and that has no name."""

    def name_of(one: Node | Entry) -> str | None:
        if isinstance(one, Entry):
            return None
        return one.name if isinstance(one, Input) else graph.names.get(one)

    words = describe(node, name_of)
    return next((x for x in words if fits(x) and not says_little(x)), "given")


def _number(node: Node) -> Node | None:
    return node if constant_value(node) is not None else None


def _read(
    e: Statement, macro: Macro, values: Sequence[Array], expand: Expand
) -> _Read | None:
    graph = e.session.graph
    over = [
        x if _number(x.node) is not None else Array(place(graph, x.node), x.batch)
        for x in values
    ]
    value, record = expand(e, macro, over)
    if value is None:
        return None
    words = {
        x.node: name
        for name, x in zip(macro.parameters, over, strict=True)
        if isinstance(x.node, Input) and _number(x.node) is None
    }
    told = partial(_told, graph)
    text, words, outer = closed(graph, value.node, words, graph.names.get, told)
    if any(index_bound(x) is not None for x in outer) or _is_closed(text):
        return None
    text = guard(graph, text, [*words]).get(text, text)
    about = f"Compute `{macro}`."
    own = Defined(
        macro.name, about, (*words,), (*words.values(),), (text,), (macro.name,)
    )
    numbers = {label: k for k, label in enumerate(union(values))}
    batch = tuple(numbers[k] for k in value.batch)
    return _Read(own, tuple(outer), batch, record)


def _is_closed(text: Node) -> bool:
    """Whether a text has something that is planned or looked into as a whole."""
    return any(
        isinstance(x, Call)
        and (is_recurrence(x) or is_unknown(x) or is_external(x) or is_promise(x))
        for x in topological([text])
    )
