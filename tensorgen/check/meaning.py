"""What nodes mean over any numbers.

A product is contracted a label at a time, so that derivatives as calculus states them,
with their unit tensors, take little more than their results. Elementwise functions and
calls are what the templates of their rows say: what is emitted is read in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, assert_never, cast

import numpy as np

from tensorgen.check import promises
from tensorgen.check.opaque import solvers
from tensorgen.check.program import Program
from tensorgen.check.residues import store
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constant,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    topological,
)
from tensorgen.operators.calls import OPERATORS, expansion
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.externals import external_of, is_external
from tensorgen.operators.promises import is_promise
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    is_recurrence,
    result_of,
)
from tensorgen.operators.unknowns import equation_of, is_unknown

Array = Any
Labels = tuple[int, ...]
MOST_ENTRIES = 40_000
"""What is larger at the small sizes of a check is not computed."""


class TooLarge(Exception):
    """An array of more entries than a check shall take."""


class Meaning:
    """Values of nodes at one point: sizes, and the values of inputs."""

    def __init__(
        self,
        program: Program,
        sizes: Mapping[str, int],
        given: Callable[[Input], Array],
    ) -> None:
        """Remember all values; `given` makes those of inputs."""
        self.program = program
        self.field = program.field
        self.sizes = sizes
        self.given = given
        self.values: dict[Node, Array] = {}
        # What calls expand to is nobody else's.
        self.graph = Graph()
        self.expansions: dict[Node, Node] = {}
        self.reading = Program(self.field, self._elementwise)

    def of(self, root: Node) -> Array:
        """The value of a node."""
        waiting = topological([root], self.values)
        for node in waiting:
            self.lengths(node.dims)  # nothing is begun that cannot end
        for node in waiting:
            found = np.asarray(self._value(node))
            self.values[node] = np.broadcast_to(found, self.lengths(node.dims))
        return self.values[root]

    def lengths(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        """Dims as numbers; raises `TooLarge` where an array would have many entries."""
        found = tuple(dim.value(self.sizes) for dim in dims)
        if math.prod(found) > MOST_ENTRIES or min(found, default=0) < 0:
            raise TooLarge
        return found

    def _value(self, node: Node) -> Array:
        match node:
            case Input():
                return self.given(node)
            case Constant():
                return self.field.constant(node.name)
            case Size():
                return self.field.of(node.value.value(self.sizes))
            case Iota():
                return self.field.of(np.arange(*self.lengths(node.dims)))
            case Product():
                return self._product(node)
            case Sum():
                return self._sum(node)
            case Map():
                aligned = [
                    self._aligned(self.values[arg], labels, node.order)
                    for arg, labels in node.args
                ]
                return self._elementwise(node.function)(*aligned)
            case Call():
                return self._call(node)
            case _:
                assert_never(node)

    # Products and sums

    def _product(self, node: Product) -> Array:
        lengths = tuple(dim.value(self.sizes) for dim in node.sizes)
        factors = [
            (self.field.of(self.values[x]), labels) for x, labels in node.factors
        ]
        for kind, form in node.constraints:
            at, labels = self._affine(form, lengths)
            factors.append(
                (self.field.of(at == 0 if kind == "eq" else at >= 0), labels)
            )
        total = self.field.number(node.coefficient)
        for label in self._order(range(node.order, len(lengths)), factors, lengths):
            own = [f for f in factors if label in f[1]]
            factors = [f for f in factors if label not in f[1]]
            if not own:
                total = self.field.reduced(total * lengths[label])
                continue
            factors.append(self._contracted(own, {label}, lengths))
        out = tuple(range(node.order))
        value, labels = self._contracted([*factors, (total, ())], set(), lengths)
        return self._aligned(value, labels, len(out))

    def _order(
        self,
        labels: Sequence[int],
        factors: Sequence[tuple[Array, Labels]],
        lengths: Sequence[int],
    ) -> list[int]:
        """The summed labels, those first whose factors have the fewest entries."""
        groups = [frozenset(labels) for _, labels in factors]
        left, found = list(labels), []
        while left:
            joint = {
                x: frozenset[int]().union(*(g for g in groups if x in g)) for x in left
            }
            best = min(left, key=lambda x: math.prod(lengths[y] for y in joint[x]))
            groups = [g for g in groups if best not in g] + [joint[best] - {best}]
            left.remove(best)
            found.append(best)
        return found

    def _contracted(
        self,
        factors: Sequence[tuple[Array, Labels]],
        gone: set[int],
        lengths: Sequence[int],
    ) -> tuple[Array, Labels]:
        """The product of factors, summed over labels that no other has."""
        value, labels = factors[0]
        for k, (other, theirs) in enumerate(factors[1:], 2):
            joint = tuple(dict.fromkeys((*labels, *theirs)))
            last = tuple(x for x in joint if x not in gone or k < len(factors))
            if math.prod(lengths[x] for x in joint) > MOST_ENTRIES:
                raise TooLarge
            value = np.einsum(value, list(labels), other, list(theirs), list(last))
            value, labels = self.field.reduced(value), last
        kept = tuple(x for x in dict.fromkeys(labels) if x not in gone)
        if kept != labels:
            value = self.field.reduced(np.einsum(value, list(labels), list(kept)))
        return value, kept

    def _affine(self, form: Affine, lengths: Sequence[int]) -> tuple[Array, Labels]:
        """The values of a form for all values of its labels."""
        labels = form.labels
        grid = dict(
            zip(labels, np.indices([lengths[x] for x in labels], int), strict=True)
        )
        # Of any size: what wraps would be 0 in a wrong place.
        total = np.full([lengths[x] for x in labels], 0, dtype=object)
        total += form.const.value(self.sizes)
        for atom, coefficient in form.terms:
            if isinstance(atom, Lookup):
                entries = self.values[atom.node]
                found = entries[tuple(grid[x] for x in atom.labels)]
                total = total + coefficient * np.asarray(found).astype(object)
            else:
                total = total + coefficient * grid[atom].astype(object)
        return total, labels

    def _sum(self, node: Sum) -> Array:
        total = self.field.of(np.zeros(self.lengths(node.dims), int))
        for coefficient, term, labels in node.terms:
            value = self._aligned(self.field.of(self.values[term]), labels, node.order)
            total = total + self.field.reduced(self.field.number(coefficient) * value)
        return self.field.reduced(total)

    def _aligned(self, value: Array, labels: Labels, order: int) -> Array:
        """An array whose axes have labels, such that axis k has the label k."""
        if len(set(labels)) < len(labels):
            kept = sorted(set(labels))
            value, labels = np.einsum(value, list(labels), kept), tuple(kept)
        places = sorted(range(len(labels)), key=labels.__getitem__)
        value = np.asarray(value).transpose(places)
        return value[tuple(slice(None) if k in labels else None for k in range(order))]

    # Functions

    def _elementwise(self, name: str) -> Callable[..., Array]:
        return partial(self._applied, name)

    def _applied(self, name: str, *args: Array) -> Array:
        row = ELEMENTWISE[name]
        if row.expand:
            return self.reading.expression(
                row.expand, dict(zip("xyz", args, strict=False))
            )
        return self._template(row.numpy, args)

    def _template(self, text: str, args: Sequence[Array], **more: Any) -> Array:
        names = [f"_{k}" for k in range(len(args))]
        values = {**dict(zip(names, args, strict=True)), **more}
        for k, name in enumerate(names):
            text = text.replace(f"{{{k}}}", name)
        return self.program.expression(text, values)

    def _call(self, node: Call) -> Array:
        args = [self.values[arg] for arg in node.args]
        row = OPERATORS[node.operator]
        if is_recurrence(node):
            return self._recurrence(node, args)
        if is_unknown(node):
            solver = solvers([node], self.field, self.lengths)
            return self._template(equation_of(node).solver, args, **solver)
        if is_external(node):
            outside = solvers([node], self.field, self.lengths)
            return self._template(external_of(node).template, args, **outside)
        if is_promise(node):
            (value,) = args
            kept = promises.holds(self.field, node.operator, value)
            return value if kept else self.field.beyond(value)
        if row.expand is not None:
            if node not in self.expansions:
                found = expansion(self.graph, node)
                assert found is not None
                self.expansions[node] = found
            return self.of(self.expansions[node])
        text = row.numpy
        params = dict(node.params)
        if "axes" in params:
            text = text.replace("{axis}", f", axis={params['axes']}")
        if along := params.get("along"):
            text = text.replace("{axis}", f", axis={cast(tuple[int], along)[0]}")
        if "shape" in params:
            text = text.replace("{shape}", "*_shape")
        return self._template(text, args, _shape=self.lengths(node.dims))

    def _recurrence(self, node: Call, args: Sequence[Array]) -> Array:
        """A result of steps, each of which is computed by itself."""
        whole, (result, every) = Recurrence.of(node), result_of(node)
        steps = whole.steps
        first, second = len(steps.states), len(steps.states) + len(steps.items)
        made = result - first
        states = [self.field.of(start) for start in args[:first]]
        (count,) = self.lengths([steps.count])
        found = self.field.of(np.zeros(self.lengths(node.dims), int))
        order = [*range(count)][:: -1 if steps.backwards else 1]
        if every and made < 0:
            store(found, count if steps.backwards else 0, states[result])
        pairs = [*zip(steps.items, args[first:second], strict=True)]
        for at in order:
            sizes, part = dict(self.sizes), slice(0)
            if steps.runs is not None:
                low = steps.runs.first(Dim.of(at)).value(sizes)
                total, length = self.lengths([steps.runs.total, steps.runs.length])
                part = slice(low, min(low + length, total))
                sizes[str(steps.runs.width)] = part.stop - low
            rows = [rows[part if steps.is_part(x) else at] for x, rows in pairs]
            given = dict(
                zip(steps.places, [*states, *rows, *args[second:]], strict=True)
            )
            inner = Meaning(self.program, sizes, given.__getitem__)
            roots = [*steps.new, *steps.made[made : made + 1][: made >= 0]]
            values = [self.field.of(inner.of(root)) for root in roots]
            states = values[:first]
            if made >= 0:
                is_part = steps.is_part(steps.made[made])
                store(found, part if is_part else at, values[-1])
            elif every:
                store(found, at + (not steps.backwards), states[result])
        return found if every else states[result]


__all__ = ["MOST_ENTRIES", "Meaning", "TooLarge"]
