"""The elaboration of one statement: a syntax tree becomes an array of the graph.

A statement with indices is read twice by the same code. The first time the ranges of
its indices are unknown: their axes get provisional sizes, and every position, bound
and condition is noted. Then all ranges are solved together (`ranges`), and the second
reading builds the nodes. What the first one built is left to be forgotten.

Faults are noted as they are met and stand as None in place of a value, so that one
reading finds all that do not depend on each other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.errors import Faults, Mark, Remark, Span, Text, extended, suggest
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.lang import foreign_names
from tensorgen.lang.facts import Known, Position
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.ranges import Ranges
from tensorgen.lang.scope import Macro, Names, Record, Thing
from tensorgen.lang.syntax import DEEPEST, Expression
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.operators.functions.arithmetic import is_representable
from tensorgen.operators.functions.array import Array, Build, Label, Misuse, Place

CONSTANTS = ("pi", "e", "inf")
# Of definitions that call each other, a fault shows the innermost calls.
_MOST_CALLERS = 3
# Of a long file, a hint shows the first names alone.
_MOST_NAMES = 8
# A name of so few letters resembles many others.
_SHORT = 2


@dataclass
class Session:
    """What all statements of one file share; `read` gives the value of an operation.

    `variables` stand for values that are differentiated by, one for each number of
    derivatives that such a one stands `within`. For `reciprocals` of matrices another
    thing should be written where they are multiplied as inverses. Definitions that are
    `kept` stay calls, whose text is `read_once`.
    """

    graph: Graph
    differentiate: Differentiate
    faults: Faults
    prelude: dict[str, Macro]
    read: Callable[[Statement, ast.expr], Array | None]
    expanded: dict[object, tuple[Array | None, Record]] = field(default_factory=dict)
    variables: dict[Node, list[Node]] = field(default_factory=dict)
    within: int = 0
    remarks: dict[Remark, None] = field(default_factory=dict)
    reciprocals: dict[Node, str] = field(default_factory=dict)
    kept: Container[str] = ()
    read_once: dict[object, object] = field(default_factory=dict)


class Steps(Protocol):
    """The names that step together, where an expression is one of their steps."""

    @property
    def index(self) -> Index | None:
        """The index of the steps, if they have one."""
        ...

    @property
    def members(self) -> Container[str]:
        """The names."""
        ...

    def entry(self, e: Statement, tree: ast.Subscript) -> tuple[bool, Array | None]:
        """Return the entries of an array in a step; whether it is one comes first."""
        ...

    def number(self, e: Statement) -> Array:
        """Return the index of the steps as a number."""
        ...

    def by_entry(self, e: Statement, tree: ast.Call) -> tuple[ast.Call, Names] | None:
        """Return a derivative by an entry of a name as one by a variable, if it is."""
        ...

    def whole(self, e: Statement, name: str, tree: ast.expr) -> None:
        """Report a name without an entry."""
        ...


class Statement:
    """One reading of one expression; with `steps` it is that of a step."""

    def __init__(
        self,
        session: Session,
        expression: Expression,
        names: Names,
        callers: tuple[tuple[Macro, Span], ...] = (),
        depth: int = 0,
    ) -> None:
        self.session = session
        self.expression = expression
        self.names = names
        self.callers = callers
        self.depth = depth
        self.scope: dict[str, Index] = {}
        self.guards: list[Form] = []
        self.chosen: list[Form] = []
        self.ranges = Ranges()
        self.known: Known | None = None
        self.steps: Steps | None = None
        self._bound: dict[int, Index] = {}
        self._written: dict[tuple[object, ...], ast.expr] = {}
        self._begin()

    def _begin(self) -> None:
        self.record = Record()
        self.build = Build(self.session.graph, self.record.checks)

    # The two readings

    def elaborate(self, left: Sequence[Index]) -> Array | None:
        """Return the value, its first axes those of the indices on the left."""
        for index in left:
            self.check_index(index)
            self.scope[index.name] = index
        self.ranges.indices += left
        value = self.value(self.expression.tree)
        if value is None:
            return None
        if self.ranges.indices or self.ranges.positions:
            self.known = self.ranges.solve(self.session.faults)
            if self.known is None:
                return None
            self._begin()
            value = self.value(self.expression.tree)
            if value is None:
                return None
        self.record.checks.update(self.ranges.checks)
        return self.arranged(value, left, ()) if left else value

    def arranged(
        self, x: Array, front: Sequence[Index], back: Sequence[Index]
    ) -> Array:
        """Make indices into positional axes: some before all others, some behind."""
        gone = (*front, *back)
        batch = tuple(index for index in x.batch if index not in gone)
        axes = [("axis", k) for k in range(x.order)]
        node = self.build.graph.product(
            (*batch, *front, *axes, *back),
            [(x.node, x.labels(axes))],
            sizes={index: self.size(index) for index in gone},
        )
        return Array(node, batch)

    def promised(self, value: Array, promise: Text) -> Array | None:
        """The whole value with what a definition promises of it."""
        build = FUNCTIONS[promise.value].build
        try:
            return build(self.build, A=value)
        except Misuse as misuse:
            places: dict[Place, ast.expr] = {"A": self.expression.tree}
            self.misused(misuse, promise.span(), places)
            return None

    # Indices

    def low(self, index: Index) -> Dim:
        """The least value of an index."""
        return Dim() if self.known is None else self.known[index].low

    def size(self, index: Index) -> Dim:
        """How many values an index takes; a symbol of its own while unknown."""
        if self.known is None:
            return Dim.symbol(f"#{self.ranges.indices.index(index)}")
        return self.known[index].size

    def sizes(self, labels: Iterable[Label]) -> dict[Label, Dim]:
        """The sizes of labels that are indices of this statement.

        Others stand in values that were passed to a definition: with axes, so that
        their sizes are known without asking.
        """
        own = self.ranges.indices
        return {i: self.size(i) for i in labels if isinstance(i, Index) and i in own}

    def bind(
        self, tree: ast.expr | ast.keyword, name: str, hint: str | None = None
    ) -> Index | None:
        """Bind an index at a place of the tree, the same one in both readings."""
        index = self._bound.get(id(tree))
        if index is None:
            meant = hint if self._is_dim(name) else None
            index = Index(name, self.expression.span(tree), meant=meant)
            if not self.check_index(index, hint):
                return None
            self._bound[id(tree)] = index
            self.ranges.indices.append(index)
        self.scope[name] = index
        return index

    def check_index(self, index: Index, hint: str | None = None) -> bool:
        """Report an index that bears a name which is in use; that of a dim it hides."""
        thing = self.names.get(index.name)
        if thing is not None and thing.dim is None:
            message = f"'{index.name}' is {thing.what}, so no index can have its name"
            self.fault(message, index.span, hint=hint)
        elif index.name in self.scope:
            message = f"the index '{index.name}' is bound already"
            first = self.scope[index.name].span
            marks = [] if first is None else [(first, "here")]
            self.fault(message, index.span, marks, "give the inner one another name")
        else:
            return True
        return False

    def _is_dim(self, name: str) -> bool:
        thing = self.names.get(name)
        return thing is not None and thing.dim is not None

    @contextmanager
    def around(self, index: Index) -> Iterator[None]:
        """Read what stands around an index: in `n=range(n)` its stop is the dim."""
        hides = self._is_dim(index.name) and self.scope.get(index.name) is index
        if hides:
            del self.scope[index.name]
        yield
        if hides:
            self.scope[index.name] = index

    def position(self, low: Form, high: Form, length: Dim, tree: ast.expr) -> None:
        """Note that `low >= 0` and `high >= 0` must hold at a place."""
        if self.known is None:
            text, span = self.expression.source(tree), self.expression.span(tree)
            guards, chosen = (*self.guards, *self.chosen), tuple(self.chosen)
            position = Position(low, high, length, text, span, guards, chosen)
            self.ranges.positions.append(position)

    def value_where(self, tree: ast.expr, forms: Sequence[Form]) -> Array | None:
        """Return the value of a part that is read only where forms are nonnegative."""
        before = len(self.chosen)
        self.chosen += forms
        try:
            return self.value(tree)
        finally:
            del self.chosen[before:]

    def written(self, write: Callable[[], ast.expr], *of: object) -> ast.expr:
        """Return what is read in place of others, the same one in both readings."""
        if of not in self._written:
            self._written[of] = write()
        return self._written[of]

    # Faults

    def fault(
        self,
        message: str,
        place: ast.expr | ast.keyword | Span | None,
        marks: Iterable[Mark] = (),
        hint: str | None = None,
    ) -> None:
        """Note a fault; inside of a macro also where it was called."""
        span = self.expression.span(place) if isinstance(place, ast.AST) else place
        for macro, call in self.callers[: -_MOST_CALLERS - 1 : -1]:
            if macro.shipped:
                # A reader looks for the fault in the spec, not in the prelude.
                message, span, marks = f"in '{macro.name}': {message}", call, ()
                hint = hint and str(hint)  # what it says is not of this place
            else:
                marks = [*marks, (call, f"'{macro.name}' is used here")]
        self.session.faults.add(message, span, marks=marks, hint=hint)

    def misused(
        self, misuse: Misuse, place: ast.expr | Span, places: dict[Place, ast.expr]
    ) -> None:
        """Note that a builder cannot take its arguments."""
        marks = [
            (self.expression.span(places[at]), label)
            for at, label in misuse.marks
            if at in places
        ]
        self.fault(misuse.message, place, marks, misuse.hint)

    # Values

    def value(self, tree: ast.expr) -> Array | None:
        """Return the value of a part, or None where a fault was noted."""
        if self.depth >= DEEPEST:
            self.fault("the expression is nested too deeply", tree)
            return None
        self.session.graph.effort.spend(3)
        self.depth += 1
        try:
            value = self._value(tree)
        except Misuse as misuse:
            # Of a step on the way to the value, such as a reciprocal.
            self.misused(misuse, tree, {})
            return None
        finally:
            self.depth -= 1
        if value is None or is_representable(value.node):
            return value
        self.fault("a number in this is outside the range of float64", tree)
        return None

    def values(self, trees: Iterable[ast.expr]) -> list[Array] | None:
        """Return the values of parts, all of which are read whatever happens."""
        found = [self.value(tree) for tree in trees]
        good = [value for value in found if value is not None]
        return good if len(good) == len(found) else None

    def _value(self, tree: ast.expr) -> Array | None:
        if isinstance(tree, ast.Name):
            return self._name(tree)
        return self.session.read(self, tree)

    def _name(self, tree: ast.Name) -> Array | None:
        name = tree.id
        if name in self.scope:
            index = self.scope[name]
            if self.steps is not None and index is self.steps.index:
                return self.steps.number(self)
            return self._index_number(index)
        if self.steps is not None and name in self.steps.members:
            self.steps.whole(self, name, tree)
            return None
        thing = self.use(name, tree)
        if thing is not None:
            called = thing.macro or thing.implicit or thing.external
            if thing.results:
                hint = " or ".join(f"{name}.{result}" for result in thing.results)
                self.fault(f"'{name}' has several results", tree, hint=hint)
                return None
            if called is None:
                return thing.value
            hint = f"call it: {called}"
            self.fault(f"'{name}' is {thing.what} with parameters", tree, hint=hint)
        elif name in CONSTANTS:
            return Array(self.build.graph.named_constant(name))
        elif name in FUNCTIONS or name in self.session.prelude:
            shown = FUNCTIONS.get(name) or self.session.prelude[name]
            self.fault(f"'{name}' is a function", tree, hint=f"call it: {shown}")
        else:
            self.unknown(name, tree)
        return None

    def _index_number(self, index: Index) -> Array:
        graph, form = self.build.graph, self.ranges.value(index)
        out, low = form.indices, form.const
        terms: list[tuple[int, Node, tuple[Index, ...]]] = []
        for one in out:
            c = form.coefficient(one)
            terms.append((c, graph.iota(self.size(one)), (one,)))
            low = low + self.low(one) * c
        if low != 0:
            terms.append((1, graph.size(low), ()))
        return Array(graph.sum(out, terms), out)

    def use(self, name: str, tree: ast.expr) -> Thing | None:
        """Return what a name stands for, noting that the text mentions it."""
        thing = self.names.get(name)
        if thing is not None:
            self.record.merge(thing.record)
            self.record.names[name] = None
            if thing.dim is not None:
                self.record.sizes.setdefault(name, self.expression.span(tree))
        return thing

    def unknown(self, name: str, tree: ast.expr) -> None:
        """Report a name that stands for nothing."""
        known = [*self.scope, *self.names, *CONSTANTS]
        base, _, index = name.rpartition("_")
        meant = f"an entry is written {base}[{index}]" if base in known else None
        close = meant or suggest(name, known)
        if close is None or (meant is None and len(name) <= _SHORT):
            close = extended(close or self._there_are(), _declaring(name))
        hint = foreign_names.VALUES.get(name) or close
        if name in self.names.all:
            hint = f"'{name}' is defined further below: names see those above them"
        self.fault(f"unknown name '{name}'", tree, hint=hint)

    def _there_are(self) -> str:
        found = [*self.scope, *self.names]
        shown = [*found[:_MOST_NAMES], "..."] if found[_MOST_NAMES:] else found
        return f"there are {', '.join(shown)};" if found else ""

    def unknown_sizes(self, tree: ast.expr) -> bool:
        """Report the names in a size that stand for nothing, if any."""
        found = False
        for part in ast.walk(tree):
            if isinstance(part, ast.Name) and self._is_free(part.id):
                sizes = [x for x in self.names if self._is_dim(x)]
                there = f"the sizes are {', '.join(sizes)}; " if sizes else ""
                hint = suggest(part.id, sizes) or (
                    f"{there}another stands in the shape of an input, or under 'dims', "
                    f"as in dims: [{part.id}]"
                )
                hint = foreign_names.VALUES.get(part.id) or hint
                self.fault(f"unknown size '{part.id}'", part, hint=hint)
                found = True
        return found

    def unbound(self, tree: ast.expr) -> bool:
        """Report the names in a position that could only be indices, if any."""
        found = False
        for part in ast.walk(tree):
            if isinstance(part, ast.Name) and self._is_free(part.id):
                message = f"the index '{part.id}' is neither on the left side nor bound"
                hint = f"bind it by a reduction, as in sum(..., {part.id}), or name it"
                hint += f" on the left side, as in s[{part.id}]"
                close = foreign_names.VALUES.get(part.id) or suggest(
                    part.id, [*self.names]
                )
                self.fault(message, part, hint=close or hint)
                found = True
        return found

    def no_form(self, tree: ast.expr, message: str, hint: str) -> None:
        """Report a part that is no form of dims and indices: `{}` is what it says."""
        if not self.unbound(tree):
            self.fault(message.format(self.expression.source(tree)), tree, hint=hint)

    def _is_free(self, name: str) -> bool:
        return not (
            name in self.scope
            or self.names.get(name)
            or name in FUNCTIONS
            or name in self.session.prelude
        )


def _declaring(name: str) -> str:
    """How a name comes to be that is none yet."""
    return f"what is given is declared under 'inputs', as in {name}: scalar"
