"""Products evaluated entry by entry in plain Python: the oracle of the IR's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Kind, Node, affine
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify

SIZES = {"n": 3, "m": 2}
Form = tuple[Kind, Mapping[str, int], int]
Array = Any


@dataclass(frozen=True)
class Literal:
    """A product as it is said: names of operands, labels, and constraints."""

    out: tuple[str, ...]
    factors: tuple[tuple[str, tuple[str, ...]], ...]
    constraints: tuple[Form, ...]
    sizes: Mapping[str, Dim]
    coefficient: Fraction = Fraction(1)

    def build(self, graph: Graph, operands: Mapping[str, Node]) -> Node:
        """Build the node with a graph."""
        return graph.product(
            self.out,
            [(operands[name], labels) for name, labels in self.factors],
            coefficient=self.coefficient,
            constraints=[
                Constraint(kind, affine(terms.items(), const))
                for kind, terms, const in self.constraints
            ],
            sizes=self.sizes,
        )

    def value(self, operands: Mapping[str, Array]) -> Array:
        """Loop over all values of all labels and add up."""
        lengths = {label: dim.value(SIZES) for label, dim in self.sizes.items()}
        result = np.zeros([lengths[label] for label in self.out])
        for values in product(*map(range, lengths.values())):
            at = dict(zip(lengths, values, strict=True))
            if not all(_holds(form, at) for form in self.constraints):
                continue
            entry = float(self.coefficient)
            for name, labels in self.factors:
                entry *= operands[name][tuple(at[label] for label in labels)]
            result[tuple(at[label] for label in self.out)] += entry
        return result


def _holds(form: Form, at: Mapping[str, int]) -> bool:
    kind, terms, const = form
    value = sum(c * at[label] for label, c in terms.items()) + const
    return value == 0 if kind == "eq" else value >= 0


def value(
    node: Node, arguments: Mapping[str, Array], sizes: Mapping[str, int] = SIZES
) -> Array:
    """Verify a node and interpret it."""
    verify([node])
    return evaluate([node], arguments, FUNCTIONS, OPERATORS, sizes)[0]


def integers(dims: Sequence[Dim], seed: int) -> Array:
    """Return small integers, so that sums of products are exact."""
    random = np.random.default_rng(seed)
    return random.integers(-3, 4, [dim.value(SIZES) for dim in dims]) * 1.0
