"""Definitions that stay one thing: calls of what the spec gave a name and parameters.

A call has what stands for the parameters, and for what else the text mentions, as its
arguments; its parameter is the text as nodes over *places*, inputs that stand for them.
Calculus makes others of it: a tangent is a call of what the tangents of the text are, a
cotangent a call of what pulls one back to all arguments together. Code has a function
for each. Whoever looks for structure inside has to read the text in place of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeGuard, cast

from tensorgen.ir.constraints import is_light
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Input,
    Map,
    Node,
    Product,
    Sum,
    children,
    topological,
)
from tensorgen.ir.rebuild import substituted
from tensorgen.operators.recurrences.recurrence import place
from tensorgen.operators.table import Operator

NAME = "defined"


@dataclass(eq=False)
class Defined:
    """A definition, or what calculus makes of one: `results` over the `places`.

    Code calls it `name`, its places by their `words` and the results `outputs`, which
    stand for the braces in a line that says what it is `about`. `made` remembers what
    has been made of it.
    """

    name: str
    about: str
    places: tuple[Input, ...]
    words: tuple[str, ...]
    results: tuple[Node, ...]
    outputs: tuple[str, ...]
    made: dict[Hashable, Made] = field(default_factory=dict, repr=False)

    @property
    def told(self) -> str:
        """What it does, in a line."""
        *others, last = [f"`{x}`" for x in self.outputs]
        return self.about.format(f"{', '.join(others)} and {last}" if others else last)

    def once(self, what: Hashable, make: Callable[[], Made]) -> Made:
        """What has been made of it before, or is made now."""
        if what not in self.made:
            self.made[what] = make()
        return self.made[what]

    def of(self, graph: Graph, args: Sequence[Node], result: int = 0) -> Node:
        """A call, for one of the results."""
        params = {"of": self, "result": result}
        return graph.call(NAME, args, self.results[result].dims, **params)

    def at(
        self, graph: Graph, roots: Sequence[Node], args: Sequence[Node]
    ) -> list[Node]:
        """Nodes over the places as nodes over what these stand for."""
        known: dict[Node, Node] = dict(zip(self.places, args, strict=True))
        return substituted(graph, roots, known)


class Made(NamedTuple):
    """What is made of a definition: what is called, and of which arguments.

    It takes those at some positions among the arguments of what it is made of, and
    further ones behind these.
    """

    defined: Defined
    takes: tuple[int, ...]

    def of(self, graph: Graph, args: Sequence[Node], result: int = 0) -> Node:
        """A call, for one of the results."""
        return self.defined.of(graph, [args[k] for k in self.takes], result)


def is_defined(node: Node) -> TypeGuard[Call]:
    """Whether a node is a call of a definition."""
    return isinstance(node, Call) and node.operator == NAME


def defined_of(call: Call) -> Defined:
    """Return what is called."""
    return cast(Defined, call.param("of"))


def result_of(call: Call) -> int:
    """Which of its results a call is."""
    return cast(int, call.param("result"))


def made_of(
    own: Defined,
    kind: str,
    about: str,
    results: Sequence[Node],
    places: Sequence[Input],
    words: Sequence[str],
    outputs: Sequence[str],
) -> Made:
    """What is made of a definition, of those of the places that it reads."""
    read = {*topological(results)}
    takes = tuple(k for k, at in enumerate(places) if at in read)
    found = Defined(
        f"{own.name}_{kind}" if kind else own.name,
        about,
        tuple(places[k] for k in takes),
        tuple(words[k] for k in takes),
        tuple(results),
        tuple(outputs),
    )
    return Made(found, takes)


def only(own: Defined, asked: Sequence[int]) -> Made:
    """Return a definition with some of its results alone."""
    if len(asked) == len(own.results):
        return Made(own, (*range(len(own.places)),))
    results = [own.results[k] for k in asked]
    outputs = [own.outputs[k] for k in asked]
    rest = own.about, results, own.places, own.words, outputs
    return own.once(("only", *asked), lambda: made_of(own, "", *rest))


def planned(own: Defined, plan: Callable[[Sequence[Node]], Sequence[Node]]) -> Defined:
    """Return a definition whose results are computed as a `plan` says."""

    def make() -> Made:
        found = replace(own, results=tuple(plan(own.results)), made={})
        made = found.made["planned"] = Made(found, (*range(len(own.places)),))
        return made

    return own.once("planned", make).defined


def is_planned(own: Defined) -> bool:
    """Whether a definition is what was planned."""
    return "planned" in own.made and own.made["planned"].defined is own


def written_out(graph: Graph, call: Call) -> Node:
    """What a call stands for."""
    own = defined_of(call)
    return own.at(graph, [own.results[result_of(call)]], call.args)[0]


def closed(
    graph: Graph,
    root: Node,
    given: Mapping[Input, str],
    word: Callable[[Node], str | None],
    told: Callable[[Node], str],
) -> tuple[Node, dict[Input, str], list[Node]]:
    """Return a text over places alone: with further ones for all else that it reads.

    `given` are the places that it has, with their words. What is read elsewhere is an
    input or has a `word`, and stands for itself; of what is but a part of such a one,
    the whole is given. Other values are called what is `told` of them.
    """
    order = topological([root])
    inner: set[Node] = {*given}
    for node in order:
        if any(x in inner for x in children(node)):
            inner.add(node)
    waiting = [root] if root not in inner else []
    for node in order:
        if node in inner:
            waiting += [x for x in children(node) if x not in inner]
    outer: dict[Node, str] = {}
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop(0)
        if node in seen:
            continue
        seen.add(node)
        own = node.name if isinstance(node, Input) else word(node)
        if own is not None:
            outer[node] = own
        elif children(node) and not (is_light(node) or _is_of_numbers(node)):
            outer[node] = told(node)
        else:
            waiting += children(node)
    at = {node: place(graph, node) for node in outer}
    known: dict[Node, Node] = {**at}
    (text,) = substituted(graph, [root], known)
    words = {**given, **{at[node]: own for node, own in outer.items()}}
    return text, words, [*outer]


def _is_of_numbers(node: Node) -> bool:
    """Whether a number is made of others, which takes no time."""
    plain = isinstance(node, Product | Sum | Map) and not node.order
    return plain and not any(x.order for x in children(node))


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    return cast(Defined, params["of"]).results[cast(int, params["result"])].dims


ROW = Operator(NAME, _dims, (), params=("of", "result"))
"""All arguments are differentiated together: see `calculus.defined_rules`."""
