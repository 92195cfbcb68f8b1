"""Random graphs of all node kinds, grown beside their values."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np

from tensorgen.errors import InternalError
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Input, Kind, Node, affine
from tensorgen.operators import calls
from tensorgen.operators.recurrences.recurrence import State, recurrence
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.solved_arrays import leaves, unknown
from tensorgen.operators.stable import StableForms
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify

Array = Any
SIZES = {"n": 3, "m": 2}
n, m = Dim.of("n"), Dim.of("m")
SHAPES = {"x": (n,), "y": (m,), "A": (n, m), "B": (n, n), "s": ()}
UNARY = ("sin", "tanh", "sigmoid", "softplus", "atan", "cos", "asinh")
BINARY = ("logaddexp", "less")


class RandomGraph:
    """A graph, its inputs with values, and a pool of nodes grown from them."""

    def __init__(
        self,
        seed: int,
        steps: int = 9,
        recurrent: bool = False,
        implicit: bool = False,
    ) -> None:
        """Grow `steps` nodes, each from inputs and earlier ones."""
        self.random = random.Random(seed)
        self.implicit = implicit
        self.graph = Graph(StableForms())
        numbers = np.random.default_rng(seed)
        self.inputs = {name: self.graph.input(name, d) for name, d in SHAPES.items()}
        self.arguments: dict[str, Array] = {
            name: numbers.uniform(-1, 1, [dim.value(SIZES) for dim in dims])
            for name, dims in SHAPES.items()
        }
        self.pool: list[Node] = list(self.inputs.values())
        ways: list[Callable[[], Node | None]] = [
            *([self.product] * 6),
            *([self.sum, self.map] * 3),
            *(self.reduction, self.matrix),
        ]
        self.inside = False
        if recurrent:
            ways += [self.recurrence] * 6
        if implicit:
            ways += [self.unknown] * 6
        while len(self.pool) < len(SHAPES) + steps:
            node = self.random.choice(ways)()
            if node is not None and node.order < 4 and self.is_sound(node):
                self.pool.append(node)

    def values(self, nodes: list[Node], **changed: Array) -> list[Array]:
        """Interpret nodes at the arguments, some of them changed."""
        arguments = {**self.arguments, **changed}
        return evaluate(nodes, arguments, FUNCTIONS, OPERATORS, SIZES)

    def is_sound(self, node: Node) -> bool:
        """Whether a node is lawful and of a moderate size."""
        verify([node])
        near = {x: a * (1 + 1e-6) for x, a in self.arguments.items()}
        try:
            (value,) = self.values([node])
            # An unknown that jumps to another solution has no derivative.
            (other,) = self.values([node], **near) if self.implicit else (value,)
        except (InternalError, ValueError, np.linalg.LinAlgError):  # or no entry
            return False
        return bool(
            np.all(np.isfinite(value))
            and np.max(np.abs(value), initial=0) < 20
            and np.allclose(value, other, 1e-2, 1e-2)
        )

    def pick(self) -> Node:
        """A node, a late one rather than an early one."""
        k = max(self.random.randrange(len(self.pool)) for _ in range(2))
        return self.pool[k]

    def labelled(self, node: Node, known: dict[int, Dim]) -> list[int]:
        """Labels for the axes of a node, old ones or new ones."""
        labels = []
        for dim in node.dims:
            fitting = [x for x, d in known.items() if d == dim]
            if fitting and self.random.random() < 0.6:
                labels.append(self.random.choice(fitting))
            else:
                labels.append(len(known))
                known[len(known)] = dim
        return labels

    def product(self) -> Node | None:
        known: dict[int, Dim] = {}
        count = self.random.choice((1, 2, 2, 3))
        nodes = [self.pick() for _ in range(count)]
        factors = [(node, self.labelled(node, known)) for node in nodes]
        if self.random.random() < 0.3:
            known[len(known)] = self.random.choice((n, m, n - 1))
        if len(known) > 6:
            return None
        out = [x for x in known if self.random.random() < 0.45]
        self.random.shuffle(out)
        constraints = []
        if len(known) > 1 and self.random.random() < 0.35:
            a, b = self.random.sample(list(known), 2)
            kinds: tuple[Kind, ...] = ("eq", "eq", "ge")
            kind = self.random.choice(kinds)
            shift = self.random.choice((0, 0, 1, -1))
            constraints.append(Constraint(kind, affine([(a, 1), (b, -1)], shift)))
        scale = self.random.choice((1, 1, -1, 2))
        return self.graph.product(
            out, factors, coefficient=scale, constraints=constraints, sizes=known
        )

    def aligned(self, count: int) -> tuple[list[int], list[tuple[Node, list[int]]]]:
        """Nodes aligned with the axes of the largest of them."""
        nodes = [self.pick() for _ in range(count)]
        top = max(nodes, key=lambda node: node.order)
        fitting = []
        for node in nodes:
            labels: list[int] = []
            for dim in node.dims:
                free = [
                    k for k, d in enumerate(top.dims) if d == dim and k not in labels
                ]
                if free:
                    labels.append(self.random.choice(free))
            if len(labels) == node.order:
                fitting.append((node, labels))
        fitting.append((top, list(range(top.order))))
        return list(range(top.order)), fitting

    def sum(self) -> Node:
        axes, nodes = self.aligned(2)
        terms = [(self.random.choice((1, 1, -1, 2)), *pair) for pair in nodes]
        return self.graph.sum(axes, terms)

    def map(self) -> Node:
        axes, nodes = self.aligned(2)
        roll = self.random.random()
        if roll < 0.5:
            return self.graph.map(self.random.choice(UNARY), axes, nodes[-1:])
        if roll < 0.7:
            number = self.graph.constant(self.random.choice((2, 3)))
            return self.graph.map("pow", axes, [nodes[-1], (number, [])])
        return self.graph.map(self.random.choice(BINARY), axes, [nodes[0], nodes[-1]])

    def reduction(self) -> Node | None:
        node = self.pick()
        if not node.order:
            return None
        size = self.random.randint(1, node.order)
        axes = tuple(sorted(self.random.sample(range(node.order), size)))
        name = self.random.choice(("logsumexp", "softmax", "max"))
        return calls.apply(self.graph, name, [node], axes=axes)

    def matrix(self) -> Node | None:
        square = [node for node in self.pool if node.order == 2 and node.dims == (n, n)]
        node = self.random.choice(square)
        bounded = self.graph.map("tanh", "ij", [(node, "ij")])
        shifted = self.graph.sum(
            "ij", [(1, bounded, "ij"), (4, self.graph.unit((n,)), "ij")]
        )
        name = self.random.choice(("inv", "inv", "logdet", "det"))
        return calls.apply(self.graph, name, [shifted])

    def unknown(self) -> Node | None:
        """What solves an equation that is grown like everything else."""
        like = self.pick()
        if self.inside or like.order > 2:
            return None
        outer, self.inside = self.pool, True
        name = self.graph.input(f"u{len(outer)}", like.dims)
        self.pool = [*self.random.sample(outer, min(3, len(outer))), self.inputs["B"]]
        self.pool += [name, name]
        ways = [self.product, self.product, self.sum, self.map, self.matrix]
        for _ in range(self.random.choice((2, 4, 6))):
            node = self.random.choice(ways)()
            if node is not None and node.order < 4:
                self.pool.append(node)
        fitting = [x for x in self.pool if x.dims == like.dims and x is not name]
        self.pool, self.inside = outer, False
        axes = range(like.order)
        pulled = self.graph.scale(name, -3)
        if not fitting:
            return None
        new = self.graph.map("sin", axes, [(fitting[-1], axes)])
        residual = self.graph.add(pulled, new, like)
        read = [x for x in leaves(residual) if x is not name]
        if not read:
            return None
        return unknown(self.graph, cast(Input, name), residual, False, read)

    def recurrence(self) -> Node | None:
        """A result of steps that are grown like everything else."""
        if self.inside and self.random.random() < 0.7:
            return None
        # As n is 3, no step and one are among them.
        count = self.random.choice((n, m, n - 1, n - 2, n - 3))
        outer, inside, self.inside = self.pool, self.inside, True
        rows = [x for x in outer if x.order and x.dims[0] == count]
        rows = self.random.sample(rows, min(len(rows), self.random.choice((0, 1, 2))))
        items = {self.graph.fresh(x.dims[1:], (), None): x for x in rows}
        starts = [self.pick() for _ in range(self.random.choice((1, 1, 2)))]
        starts = [x for x in starts if x.order < 3]
        places = [self.graph.fresh(x.dims, (), None) for x in starts]
        self.pool = [*self.random.sample(outer, min(3, len(outer))), self.inputs["B"]]
        self.pool += [*items, *places]
        ways: list[Callable[[], Node | None]] = [
            *(self.product, self.product, self.sum, self.map, self.map),
            *(self.reduction, self.matrix, self.recurrence),
        ]
        for _ in range(self.random.choice((2, 4, 6))):
            node = self.random.choice(ways)()
            if node is not None and node.order < 3:
                self.pool.append(node)
        states = []
        for start, place in zip(starts, places, strict=True):
            fitting = [x for x in self.pool if x.dims == start.dims]
            new = self.random.choice(fitting[-3:])
            if self.random.random() < 0.7:
                new = self.graph.add(self.graph.scale(place, Fraction(1, 2)), new)
            bounded = self.graph.map("sin", range(new.order), [(new, range(new.order))])
            states.append(State(place, start, bounded))
        made = self.pool[-1:] if self.random.random() < 0.4 else []
        self.pool, self.inside = outer, inside
        if not states:
            return None
        backwards = self.random.random() < 0.4
        whole = recurrence(self.graph, count, backwards, states, items, made)
        number = self.random.randrange(len(states))
        results = [whole.history(self.graph, number), whole.last(self.graph, number)]
        if made:
            results.append(whole.made(self.graph, 0))
        return self.random.choice(results)
