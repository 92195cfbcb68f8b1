"""What nodes mean over any numbers.

A product is contracted a label at a time, so that derivatives as calculus states them,
with their unit tensors, take little more than their results. Elementwise functions and
calls are what the templates of their rows say: what is emitted is read in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from tensorgen.check.emitted_text import Program
from tensorgen.check.opaque import solvers
from tensorgen.check.reals import Reals
from tensorgen.check.residues import PRIME, Residues, inverse, sign
from tensorgen.fields.evaluator import Evaluator, Labels
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Input, Node, Product
from tensorgen.operators.calls import OPERATORS, expansion
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.external_calls import external_of, is_external
from tensorgen.operators.promise_calls import PROMISES, is_promise
from tensorgen.operators.references import Array
from tensorgen.operators.solved_arrays import equation_of, is_unknown

MOST_ENTRIES = 40_000
"""What is larger at the small sizes of a check is not computed."""


class TooLarge(Exception):
    """An array of more entries than a check shall take."""


class Meaning(Evaluator[Residues | Reals]):
    """Values of nodes over the numbers of a program, where there are few of them."""

    def __init__(
        self,
        program: Program,
        sizes: Mapping[str, int],
        given: Callable[[Input], Array],
    ) -> None:
        """Remember all values; `given` makes those of inputs."""
        super().__init__(program.field, sizes, given)
        self.program = program
        # What calls expand to is nobody else's.
        self.graph = Graph()
        self.expansions: dict[Node, Node] = {}
        self.reading = Program(self.field, self.function)

    def lengths(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        """Dims as numbers; raises `TooLarge` where an array would have many entries."""
        found = super().lengths(dims)
        if math.prod(found) > MOST_ENTRIES or min(found, default=0) < 0:
            raise TooLarge
        return found

    def shaped(self, node: Node, value: Array, shape: tuple[int, ...]) -> Array:
        """A value over all entries of a node, also that of a call."""
        return np.broadcast_to(value, shape)

    # Products

    def product(self, node: Product) -> Array:
        """Summed a label at a time."""
        lengths = self.numbers(node.sizes)
        factors = [
            (self.field.of(self.values[x]), labels) for x, labels in node.factors
        ]
        for kind, form in node.constraints:
            labels = form.labels
            at = self.places(form, labels, lengths)
            at = np.broadcast_to(at, [lengths[label] for label in labels])
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
        return self.aligned(value, labels, len(out))

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

    # Functions

    def function(self, name: str) -> Callable[..., Array]:
        """What the template of a row says, or its expansion."""
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

    def called(self, node: Call, args: Sequence[Array]) -> Array:
        """What the template of a row says, or its expansion; a made-up solution."""
        row = OPERATORS[node.operator]
        if is_unknown(node):
            solver = solvers([node], self.field, self.lengths)
            return self._template(equation_of(node).solver, args, **solver)
        if is_external(node):
            outside = solvers([node], self.field, self.lengths)
            return self._template(external_of(node).template, args, **outside)
        if is_promise(node):
            (value,) = args
            kept = is_kept(self.field, node.operator, value)
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


def is_kept(field: Residues | Reals, what: str, matrices: Array) -> bool:
    """Whether matrices in the last two axes are symmetric, or positive definite.

    What is no promise of matrices holds of all arrays.
    """
    if what not in PROMISES:
        return True
    if not np.array_equal(matrices, np.swapaxes(matrices, -1, -2)):
        return False
    if what == "symmetric":
        return True
    if isinstance(field, Reals):
        return bool(np.all(np.linalg.eigvalsh(matrices) > 0))
    batch = np.ndindex(*matrices.shape[:-2])
    return all(_has_positive_pivots(matrices[place]) for place in batch)


def _has_positive_pivots(matrix: Array) -> bool:
    """Whether elimination meets positive residues alone, of which there are roots."""
    rest = matrix.copy()
    while len(rest):
        pivot, column = rest[0, 0], rest[1:, 0]
        if sign(pivot) <= 0:
            return False
        rest = (rest[1:, 1:] - np.outer(column, column) * inverse(pivot)) % PRIME
    return True


__all__ = ["MOST_ENTRIES", "Meaning", "TooLarge"]
