"""Definitions as private functions: what code calls in place of their text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.code import Code, code_of
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import Called, Member
from tensorgen.arrays.statements import Let, Loop, Statement, Unpack
from tensorgen.arrays.units import returning, symbols
from tensorgen.arrays.written import written
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.ir.rebuild import substituted
from tensorgen.lower.value_names import Names
from tensorgen.operators.defined_calls import Defined
from tensorgen.spec.names import unused

Lower = Callable[[Sequence[Node], Sequence[str], Sequence[str]], Code]
"""How the text of a definition is lowered, of arguments and results of some names."""


@dataclass
class DefinedFunctions:
    """The functions of a module, by what they are of; names that are `taken` are not
    theirs.
    """

    taken: set[str] = field(default_factory=set)
    known: dict[Defined, Called] = field(default_factory=dict)

    def besides(self, taken: Collection[str]) -> DefinedFunctions:
        """Return the same where further names are taken."""
        return DefinedFunctions({*self.taken, *taken}, dict(self.known))

    def of(
        self, graph: Graph, own: Defined, avoided: Collection[str], lower: Lower
    ) -> Called:
        """The function of a definition, whose arguments bear no name `avoided`."""
        if own not in self.known:
            self.known[own] = self._made(graph, own, avoided, lower)
        return self.known[own]

    def _made(
        self, graph: Graph, own: Defined, avoided: Collection[str], lower: Lower
    ) -> Called:
        names = Names(
            [*avoided, *(x for at in own.places for d in at.dims for x in d.symbols)]
        )
        words = [names.pick([word]) for word in own.words]
        pairs = [*zip(own.places, words, strict=True)]
        known: dict[Node, Node] = {
            at: graph.input(word, at.dims, at.properties) for at, word in pairs
        }
        with graph.without_rewrites():
            roots = substituted(graph, own.results, known)
        code = returning(lower(roots, words, own.outputs))
        shapes = tuple(x.dims for x in own.results)
        found = Called(
            unused(f"_{own.name}", self.taken),
            own.told,
            tuple(words),
            tuple(sorted(symbols(code))),
            Needs(code.statements, code.returns).dtype,
            code,
            shapes,
            shapes[0] if len(shapes) == 1 else (),
        )
        # Of arguments of other shapes the text may be the same.
        for other in self.known.values():
            if _text(other) == _text(found):
                return replace(found, function=other.function)
        self.taken.add(found.function)
        return found


def _text(own: Called) -> tuple[object, ...]:
    """What is emitted of a function, but for its name."""
    text = written(code_of(own), "np")
    return own.about, own.takes, own.sizes, own.typed, text.lines, text.returns


def unpacked(lines: Sequence[Statement]) -> list[Statement]:
    """Statements in which one call gives all of its results that are read."""
    found: list[Statement] = []
    places: dict[Array, int] = {}
    for line in lines:
        if isinstance(line, Loop):
            found.append(replace(line, body=tuple(unpacked(line.body))))
            continue
        if not (isinstance(line, Let) and isinstance(line.value.op, Member)):
            found.append(line)
            continue
        (whole,) = line.value.args
        if not isinstance(whole.op, Called):
            found.append(line)
            continue
        names: list[str | None] = [None] * len(whole.op.shapes)
        if whole in places:
            before = found[places[whole]]
            assert isinstance(before, Unpack)
            names = [*before.names]
        names[line.value.op.place] = line.name
        if whole in places:
            found[places[whole]] = Unpack(tuple(names), whole)
        else:
            places[whole] = len(found)
            found.append(Unpack(tuple(names), whole))
    return found
