"""Recurrences: arrays that are made a step at a time, each from those before it.

What a step does is a list of nodes over *places*, inputs that stand for what it is
given: the states that it starts from, the items of this step, and what is the same at
all steps. So a recurrence is the size of one step, however many there are. A call
stands for one result: all values of a state, the last one alone, or what is made beside
at each step. Calls that differ in this alone share their steps, and code computes them
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard, cast

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim, computed
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, Product, children, delta, topological
from tensorgen.ir.rebuild import substituted, without_words
from tensorgen.operators.matrices.definite import is_positive_definite
from tensorgen.operators.matrices.symmetry import is_symmetric
from tensorgen.operators.matrices.systems import FACTORED, is_system
from tensorgen.operators.table import Operator, same_dims

NAME = "recurrence"


@dataclass(frozen=True)
class Runs:
    """How `total` steps are cut: into `count` runs of `length` steps, the last shorter.

    A run of them is `width` long, a symbol that each run gives another value.
    """

    total: Dim
    length: Dim
    count: Dim
    width: Dim

    @staticmethod
    def of(total: Dim, length: int | None, end: str = "") -> Runs:
        """Runs of a `length`, or of about as many steps as there are runs.

        The names of their sizes end with `end`.
        """
        stride = Dim.of(length or computed("root", total, end=end))
        count = computed("runs", total, stride, end)
        return Runs(total, stride, count, computed("width", total, stride, end))

    def first(self, number: Dim) -> Dim:
        """The first step of a run."""
        return number * self.length


@dataclass(frozen=True)
class Steps:
    """What each of `count` steps does, first to last or `backwards`.

    `new` are the states after a step, `made` are further values of each. All are nodes
    over the places of `states`, `items` and `fixed`, and nothing else.

    Those with a `checkpoint` are to be cut into its runs. Where each step is a run of
    `runs`, items and what is made that are as long as a run are parts of arrays over
    all steps.
    """

    count: Dim
    backwards: bool
    states: tuple[Input, ...]
    items: tuple[Input, ...]
    fixed: tuple[Input, ...]
    new: tuple[Node, ...]
    made: tuple[Node, ...] = ()
    checkpoint: Runs | None = None
    runs: Runs | None = None

    def is_part(self, node: Node) -> bool:
        """Whether an item, or what is made, is as long as a run."""
        return self.runs is not None and node.dims[:1] == (self.runs.width,)

    def every(self, node: Node) -> tuple[Dim, ...]:
        """The dims of an item, or of what is made, over all steps."""
        if self.runs is not None and self.is_part(node):
            return (self.runs.total, *node.dims[1:])
        return (self.count, *node.dims)

    @property
    def places(self) -> tuple[Input, ...]:
        """All places, in the order of what they stand for."""
        return (*self.states, *self.items, *self.fixed)

    @property
    def roots(self) -> tuple[Node, ...]:
        """All that a step computes."""
        return (*self.new, *self.made)


def is_recurrence(node: Node) -> TypeGuard[Call]:
    """Whether a node is a result of a recurrence."""
    return isinstance(node, Call) and node.operator == NAME


def as_call(node: Node) -> Call:
    """A result of a recurrence, which is a call."""
    assert is_recurrence(node)
    return node


def everything(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield nodes, and those of the steps of recurrences among them."""
    known: set[Steps] = set()
    for node in nodes:
        yield node
        if is_recurrence(node):
            steps = cast(Steps, node.param("steps"))
            if steps not in known:
                known.add(steps)
                yield from everything(topological(steps.roots))


@dataclass(frozen=True)
class Recurrence:
    """Steps, and what they are given: first states, rows an item, and constants."""

    steps: Steps
    starts: tuple[Node, ...]
    rows: tuple[Node, ...]
    constants: tuple[Node, ...]

    @staticmethod
    def of(call: Call) -> Recurrence:
        """The recurrence of which a call is a result."""
        steps = cast(Steps, call.param("steps"))
        first, second = len(steps.states), len(steps.states) + len(steps.items)
        args = call.args
        return Recurrence(steps, args[:first], args[first:second], args[second:])

    @property
    def arguments(self) -> tuple[Node, ...]:
        """What the places stand for, in their order."""
        return (*self.starts, *self.rows, *self.constants)

    def history(self, graph: Graph, state: int) -> Node:
        """All values of a state, one more than there are steps, in order of place.

        The start is the first row, or the last of a recurrence that runs backwards.
        """
        rows = self.steps.count + 1
        return self._result(graph, state, (rows, *self.starts[state].dims), True)

    def last(self, graph: Graph, state: int) -> Node:
        """The value of a state after all steps."""
        return self._result(graph, state, self.starts[state].dims, False)

    def made(self, graph: Graph, number: int) -> Node:
        """What is made beside the states, a row a step."""
        dims = self.steps.every(self.steps.made[number])
        return self._result(graph, len(self.starts) + number, dims, True)

    def like(self, graph: Graph, call: Call) -> Node:
        """The result that a call is, of this recurrence."""
        return self.result(graph, *result_of(call))

    def result(self, graph: Graph, result: int, whole: bool) -> Node:
        """A state, at all steps or the last, or what is made, numbered after these."""
        if result >= len(self.starts):
            return self.made(graph, result - len(self.starts))
        return (self.history if whole else self.last)(graph, result)

    def _result(
        self, graph: Graph, result: int, dims: Sequence[Dim], whole: bool
    ) -> Node:
        known = {"steps": self.steps, "result": result, "whole": whole}
        return graph.call(NAME, self.arguments, dims, **known)

    def before(self, graph: Graph, state: int) -> Node:
        """The values of a state that steps start from, a row a step."""
        return self.before_of(graph, self.history(graph, state))

    def after(self, graph: Graph, state: int) -> Node:
        """The values of a state that steps end with, a row a step."""
        low = int(not self.steps.backwards)
        return part(graph, self.history(graph, state), low, self.steps.count)

    def before_of(self, graph: Graph, history: Node) -> Node:
        """The rows of a history that steps start from."""
        return part(graph, history, int(self.steps.backwards), self.steps.count)

    def at_last(self, graph: Graph, rows: Node) -> Node:
        """The row of a history that the last step makes."""
        at = Dim() if self.steps.backwards else self.steps.count
        return row(graph, rows, at)


def result_of(call: Call) -> tuple[int, bool]:
    """Which state a call is, or what is made, and whether at all steps."""
    return cast(int, call.param("result")), cast(bool, call.param("whole"))


def made_in_steps(node: Node) -> Node | None:
    """What each step makes of the rows that a node is, which are no state's."""
    if not is_recurrence(node):
        return None
    steps, (result, _) = cast(Steps, node.param("steps")), result_of(node)
    made = result - len(steps.states)
    return steps.made[made] if made >= 0 else None


def call_state(graph: Graph, whole: Recurrence, state: int, word: str) -> None:
    """Say what to call a state, and of steps that are the same elsewhere as well."""
    graph.suggest(whole.history(graph, state), word)
    graph.state_words.setdefault((whole.steps, state), word)


def name_of(graph: Graph, whole: Recurrence, state: int) -> str | None:
    """What a state is called."""
    for node in (whole.history(graph, state), whole.last(graph, state)):
        word = graph.names.get(node) or graph.suggestions.get(node)
        if word is not None:
            return word
    return graph.state_words.get((whole.steps, state))


def later(backwards: bool, name: str) -> str:
    """What a state is called after a step."""
    return f"{name}_prev" if backwards else f"{name}_next"


def row_word(graph: Graph, node: Node) -> str | None:
    """What rows are called after, and what is the same at all steps."""
    while True:
        name = graph.names.get(node) or graph.suggestions.get(node)
        if name is not None:
            return name
        match node:
            case Input(name=name):
                return name if name.isidentifier() else None
            case Product(factors=(only,)):
                node = only.node
            case _:
                return None


def part(graph: Graph, rows: Node, low: int, count: Dim) -> Node:
    """Rows of an array from `low` on."""
    axes = range(1, rows.order)
    return graph.product(
        ("step", *axes),
        [(rows, ("row", *axes))],
        constraints=[delta({"row": 1, "step": -1}, -low)],
        sizes={"step": count},
    )


def row(graph: Graph, rows: Node, at: Dim) -> Node:
    """A row of an array."""
    axes = range(1, rows.order)
    constraints = [delta({"row": 1}, -at)]
    return graph.product(axes, [(rows, ("row", *axes))], constraints=constraints)


# Making them


def place(graph: Graph, like: Node) -> Input:
    """A new place for what is like a node."""
    known = like.properties if isinstance(like, Input) else ()
    return graph.fresh(like.dims, known, index_bound(like))


@dataclass(frozen=True)
class State:
    """A state: its place, what it starts as, and what a step makes of it."""

    place: Input
    start: Node
    new: Node


def recurrence(
    graph: Graph,
    count: Dim,
    backwards: bool,
    states: Sequence[State],
    items: Mapping[Input, Node],
    made: Sequence[Node] = (),
    checkpoint: Runs | None = None,
    runs: Runs | None = None,
) -> Recurrence:
    """Return the recurrence of states, whose steps may mention any nodes.

    `items` gives the rows that places stand for. What no place is part of gets one, as
    it is the same at all steps. `checkpoint` and `runs` are as in `Steps`.
    """
    roots = [*(state.new for state in states), *made]
    order = topological(roots)
    inner: set[Node] = {*(state.place for state in states), *items}
    used = inner & set(order)
    closed: set[Node] = set()
    for node in order:
        below = children(node)
        if any(child in inner for child in below):
            inner.add(node)
        elif not isinstance(node, Input) and all(child in closed for child in below):
            closed.add(node)
    seen = [x for node in order if node in inner for x in children(node)]
    known_at = inner | closed
    outer = dict.fromkeys(x for x in (*seen, *roots) if x not in known_at)
    known: dict[Node, Node] = {}
    spots: dict[str, list[Input]] = {"state": [], "item": [], "fixed": []}

    def spot(kind: str, like: Node, dims: Sequence[Dim]) -> Input:
        name = f"{kind} {len(spots[kind])}"
        known = like.properties if isinstance(like, Input) else _promises(like)
        found = cast(Input, graph.input(name, dims, known, index_bound(like)))
        spots[kind].append(found)
        return found

    for state in states:
        known[state.place] = spot("state", state.place, state.start.dims)
    rows: dict[Node, Input] = {}
    for own, given in items.items():
        if own in used:
            if given not in rows:
                rows[given] = spot("item", own, own.dims)
            known[own] = rows[given]
    for node in outer:
        known[node] = spot("fixed", node, node.dims)
    # States of all recurrences have the same places: what is there is named already.
    with without_words(graph, but_new=True):
        new = substituted(graph, roots, known)
    places = tuple(spots["state"]), tuple(spots["item"]), tuple(spots["fixed"])
    after, others = tuple(new[: len(states)]), tuple(new[len(states) :])
    steps = Steps(count, backwards, *places, after, others, checkpoint, runs)
    starts = tuple(state.start for state in states)
    for k, state in enumerate(states):  # one that is made anew keeps its words
        if state.place in graph.suggestions:
            graph.state_words.setdefault((steps, k), graph.suggestions[state.place])
    return Recurrence(steps, starts, tuple(rows), tuple(outer))


def _promises(node: Node) -> tuple[str, ...]:
    """What is known of a matrix, for its place to know."""
    if node.order != 2 or node.dims[0] != node.dims[1]:
        return ()
    known = (FACTORED,) if is_system(node) else ()
    if is_positive_definite(node):
        return (*known, "spd")
    return (*known, "symmetric") if is_symmetric(node) else known


@dataclass(frozen=True)
class Opened:
    """A recurrence over places of its own, for others to be made of its steps."""

    whole: Recurrence
    states: tuple[Input, ...]
    items: tuple[Input, ...]
    fixed: tuple[Input, ...]
    new: tuple[Node, ...]
    made: tuple[Node, ...]

    @property
    def moving(self) -> tuple[Input, ...]:
        """The places of what differs from step to step."""
        return (*self.states, *self.items)

    def given(self, graph: Graph) -> dict[Input, Node]:
        """The rows that places stand for, those of states too."""
        numbers = range(len(self.states))
        before = [self.whole.before(graph, k) for k in numbers]
        rows = (*before, *self.whole.rows)
        return dict(zip((*self.states, *self.items), rows, strict=True))

    @property
    def constants(self) -> dict[Node, Node]:
        """What the places of what is the same at all steps stand for."""
        return dict(zip(self.fixed, self.whole.constants, strict=True))


def opened(graph: Graph, whole: Recurrence) -> Opened:
    """Give the steps of a recurrence places that nothing else has."""
    steps = whole.steps
    own = tuple(place(graph, x) for x in steps.places)
    words = [name_of(graph, whole, k) for k in range(len(steps.states))]
    words += [row_word(graph, x) for x in (*whole.rows, *whole.constants)]
    for at, word in zip(own, words, strict=True):
        if word is not None:
            graph.suggest(at, word)
    first, second = len(steps.states), len(steps.states) + len(steps.items)
    roots = substituted(graph, steps.roots, dict(zip(steps.places, own, strict=True)))
    return Opened(
        whole,
        *(own[:first], own[first:second], own[second:]),
        new=tuple(roots[: len(steps.new)]),
        made=tuple(roots[len(steps.new) :]),
    )


# The table


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    steps = cast(Steps, params["steps"])
    result, whole = cast(int, params["result"]), cast(bool, params["whole"])
    if result >= len(steps.states):
        return steps.every(steps.made[result - len(steps.states)])
    dims = args[result].dims
    return (steps.count + 1, *dims) if whole else dims


ROWS = (
    # All arguments are differentiated together: see `calculus.recurrences`.
    Operator(NAME, _dims, (), params=("steps", "result", "whole")),
    # What some recurrences are, found out after differentiation.
    Operator("running_product", same_dims, (), "np.cumprod({0}, axis=0)"),
    Operator("filtered", same_dims, (), "_filtered({0}, {1})"),
    Operator("filtered_back", same_dims, (), "_filtered({0}, {1}, back=True)"),
    Operator("filtered_by", same_dims, (), "_filtered_by({0}, {1})", spare=3),
    Operator(
        "filtered_back_by", same_dims, (), "_filtered_by({0}, {1}, back=True)", spare=3
    ),
)
