"""Running lowered code, and random graphs to lower."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from tensorgen.arrays.statements import Let
from tensorgen.arrays.written import Written, written
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Constraint,
    Input,
    Kind,
    Lookup,
    Node,
    affine,
    topological,
)
from tensorgen.lower import lower
from tensorgen.operators.calls import apply
from tensorgen.operators.helpers.helper_table import HELPERS
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import evaluate

Arrays = dict[str, Any]


def as_text(graph: Graph, roots: Sequence[Node], **options: Any) -> Written:
    """Lower nodes, and write the code, for NumPy unless `add.at` is not slow."""
    alias = "np" if options.get("slow_at", True) else "cp"
    return written(lower(graph, roots, **options), alias)


@cache
def compiled(source: str) -> CodeType:
    """Compile a helper, for all code that calls it."""
    return compile(source, "<helper>", "exec")


def execute(
    code: Written,
    arrays: Mapping[str, Any],
    sizes: Mapping[str, int],
    dtype: str = "float64",
    bound: dict[str, Any] | None = None,
) -> list[Any]:
    """Run lowered code on arguments and return its results.

    What names are then bound to is added to `bound`.
    """
    space: dict[str, Any] = {"math": math, "np": np, "dtype": np.dtype(dtype)}
    waiting = [*code.helpers]
    while waiting:
        source = HELPERS[waiting.pop()]
        exec(compiled(source), space)
        called = re.findall(r"\b_\w+", source)
        waiting += [name for name in called if name in HELPERS and name not in space]
    space.update(arrays)
    space.update({name: sizes[name] for name in code.dims})
    source = "\n".join([*code.lines, f"_results = [{', '.join(code.returns)}]"])
    with np.errstate(all="ignore"):
        exec(source, space)
    if bound is not None:
        bound.update(space)
    return list(space["_results"])


def arguments(
    roots: Sequence[Node],
    sizes: Mapping[str, int],
    seed: int = 0,
    dtype: str = "float64",
) -> Arrays:
    """Random arguments for the inputs below `roots`."""
    rng = np.random.default_rng(seed)
    arrays: Arrays = {}
    for node in topological(roots):
        if isinstance(node, Input):
            shape = tuple(dim.value(sizes) for dim in node.dims)
            if node.index is not None:
                bound = node.index.value(sizes)
                arrays[node.name] = rng.integers(0, max(bound, 1), shape)
            else:
                array = rng.standard_normal(shape)
                if "spd" in node.properties:
                    array = array @ array.swapaxes(-1, -2) + np.eye(shape[-1])
                arrays[node.name] = array.astype(dtype)[()]
    return arrays


def check(
    graph: Graph,
    roots: Sequence[Node],
    sizes: Mapping[str, int],
    seed: int = 0,
    dtype: str = "float64",
) -> Written:
    """Hold lowered code against the interpreter: values, shapes, dtypes, aliases."""
    program = lower(graph, roots)
    code = written(program, "np")
    arrays = arguments(roots, sizes, seed, dtype)
    given = {name: np.array(value) for name, value in arrays.items()}
    bound: dict[str, Any] = {}
    results = execute(code, arrays, sizes, dtype, bound)
    for line in program.statements:
        if isinstance(line, Let) and line.name in bound:  # not released
            # An interval whose ends have passed each other is empty.
            found = tuple(max(dim.value(sizes), 0) for dim in line.value.dims)
            assert np.shape(bound[line.name]) == found, (line.name, line.value.dims)
    expected = evaluate(roots, given, FUNCTIONS, OPERATORS, sizes)
    tolerance = 1e-9 if dtype == "float64" else 2e-3
    listing = "\n".join([*code.lines, f"return {', '.join(code.returns)}"])
    for result, value in zip(results, expected, strict=True):
        assert np.shape(result) == value.shape, listing
        assert np.asarray(result).dtype == np.dtype(dtype), listing
        scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
        np.testing.assert_allclose(
            result, value, rtol=tolerance, atol=tolerance * scale, err_msg=listing
        )
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, given[name], err_msg=listing)
        for result in results:
            assert not np.shares_memory(result, array), listing
    for k, one in enumerate(results):
        assert not any(np.shares_memory(one, two) for two in results[:k]), listing
    return code


class RandomGraph:
    """Grows a random graph over a few inputs, with all kinds of nodes."""

    def __init__(self, seed: int, sizes: Mapping[str, int]) -> None:
        """Start from inputs whose dims are the names in `sizes`."""
        self.random = random.Random(seed)
        self.graph = Graph()
        self.sizes = sizes
        self.dims = [Dim.of(name) for name in sizes] + [Dim.of(name) for name in sizes]
        self.nodes: list[Node] = [self.graph.input("s", [])]
        for k in range(4):
            shape = [self.random.choice(self.dims) for _ in range(k % 3 + 1)]
            self.nodes.append(self.graph.input("uvwz"[k], shape))
        self.rows = [
            self.graph.input(f"row{k}", [self.random.choice(self.dims)], index=dim)
            for k, dim in enumerate(dict.fromkeys(self.dims))
        ]

    def grow(self, count: int) -> list[Node]:
        """Add nodes and return some of the last as roots."""
        makers = [self.product, self.product, self.sum, self.map]
        makers += [self.map, self.call, self.product]
        if 0 not in self.sizes.values():  # proofs about intervals assume sizes >= 1
            makers.append(self.affine)
        added: list[Node] = []
        for _ in range(count):
            node = self.random.choice(makers)()
            if node.order <= 4:
                self.nodes.append(node)
                added.append(node)
                if self.random.random() < 0.2:
                    self.graph.name(node, self.random.choice(["a", "b", "c", "d"]))
        found = added[-self.random.randint(1, 3) :]
        return found or [self.nodes[0]]

    def pick(self) -> Node:
        """A node, the later ones more often."""
        pool = self.nodes[-5:] if self.random.random() < 0.7 else self.nodes
        return self.random.choice(pool)

    def labelled(self, count: int) -> tuple[list[tuple[Node, list[int]]], list[Dim]]:
        """Factors with labels drawn from a small pool, and the labels' dims."""
        dims: list[Dim] = []
        factors = []
        for _ in range(count):
            node = self.pick()
            labels = []
            for dim in node.dims:
                same = [k for k, d in enumerate(dims) if d == dim]
                fresh = not same or (self.random.random() < 0.35 and len(dims) < 5)
                if fresh:
                    dims.append(dim)
                    labels.append(len(dims) - 1)
                else:
                    labels.append(self.random.choice(same))
            factors.append((node, labels))
        return factors, dims

    def coefficient(self) -> Fraction:
        """A rational, mostly a simple one."""
        texts = ["1", "1", "1", "-1", "2", "-2", "3", "1/2", "-1/3"]
        return Fraction(self.random.choice(texts))

    def product(self) -> Node:
        """A product of one to four factors with random labels."""
        factors, dims = self.labelled(self.random.choice([1, 1, 2, 2, 2, 3, 4]))
        labels = list(range(len(dims)))
        self.random.shuffle(labels)
        out = labels[: self.random.randint(0, min(3, len(labels)))]
        sizes: dict[Any, Dim] = {}
        if self.random.random() < 0.15:
            sizes["new"] = self.random.choice(self.dims)
            return self.graph.product(
                [*out, "new"], factors, coefficient=self.coefficient(), sizes=sizes
            )
        return self.graph.product(out, factors, coefficient=self.coefficient())

    def affine(self) -> Node:
        """A product with deltas, indicators and index arrays."""
        factors, dims = self.labelled(self.random.choice([0, 1, 1, 2]))
        while len(dims) < 2 or (len(dims) < 4 and self.random.random() < 0.5):
            dims.append(self.random.choice(self.dims))
        labels = list(range(len(dims)))
        constraints = []
        for _ in range(self.random.choice([1, 1, 2])):
            terms: dict[Any, int] = {}
            for label in self.random.sample(labels, min(len(labels), 3)):
                if len(terms) < 2 or self.random.random() < 0.3:
                    terms[label] = self.random.choice([1, -1, 1, -1, 2, -2])
            if self.random.random() < 0.25:
                row = self.random.choice(self.rows)
                fits = [k for k in labels if dims[k] == row.dims[0]]
                if fits:
                    terms[Lookup(row, (fits[0],))] = self.random.choice([1, -1])
            constant: Dim | int = self.random.choice([0, 0, 0, 1, -1, 2])
            if self.random.random() < 0.2:
                constant = self.random.choice(self.dims) - 1
            kinds: tuple[Kind, ...] = ("eq", "eq", "ge")
            kind = self.random.choice(kinds)
            constraints.append(Constraint(kind, affine(terms.items(), constant)))
        self.random.shuffle(labels)
        out = labels[: self.random.randint(0, min(3, len(labels)))]
        return self.graph.product(
            out,
            factors,
            coefficient=self.coefficient(),
            constraints=constraints,
            sizes=dict(enumerate(dims)),
        )

    def sum(self) -> Node:
        """A sum of terms that broadcast, permute and repeat."""
        first = self.pick()
        out = list(range(first.order))
        terms: list[tuple[Fraction, Node, list[int]]] = [
            (self.coefficient(), first, out)
        ]
        for _ in range(self.random.choice([1, 1, 2])):
            node = self.pick()
            free = list(out)
            self.random.shuffle(free)
            labels: list[int] = []
            for dim in node.dims:
                fits = [a for a in free if first.dims[a] == dim and a not in labels]
                labels += fits[:1]
            if len(labels) == node.order:
                terms.append((self.coefficient(), node, labels))
        if self.random.random() < 0.3:
            terms.append((self.coefficient(), self.graph.constant(1), []))
        return self.graph.sum(out, terms, dict(enumerate(first.dims)))

    def map(self) -> Node:
        """An elementwise function, with powers, quotients and conditions."""
        node = self.pick()
        axes = range(node.order)
        one, two = self.graph.constant(1), self.graph.constant(2)
        plain = ["sin", "tanh", "sigmoid", "softplus", "abs", "relu"]
        name = self.random.choice(
            [*plain, "pow2", "pow", "maximum", "where", "quotient"]
        )
        if name == "pow2":
            return self.graph.map("pow", axes, [(node, axes), (two, ())])
        if name == "pow":
            half = self.graph.constant(Fraction(self.random.choice([3, 1]), 2))
            bounded = self.graph.map("sigmoid", axes, [(node, axes)])
            return self.graph.map("pow", axes, [(bounded, axes), (half, ())])
        if name == "maximum":
            return self.graph.map("maximum", axes, [(node, axes), (one, ())])
        if name == "where":
            mask = self.graph.map("greater", axes, [(node, axes), (one, ())])
            kinds = [
                self.graph.map("where", axes, [(mask, axes), (node, axes), (two, ())])
            ]
            kinds += [mask, self.graph.product(axes, [(mask, axes), (node, axes)])]
            return self.random.choice(kinds)
        if name == "quotient":
            wave = self.graph.map("sin", axes, [(node, axes)])
            safe = self.graph.sum(axes, [(1, wave, axes), (2, one, ())])
            power = self.graph.constant(self.random.choice([-1, -1, -2]))
            inverse = self.graph.map("pow", axes, [(safe, axes), (power, ())])
            other = self.pick()
            factors = [(inverse, list(axes))]
            if other.dims == node.dims:
                factors.append((other, list(axes)))
            return self.graph.product(axes, factors)
        return self.graph.map(name, axes, [(node, axes)])

    def call(self) -> Node:
        """A reduction, or something solved with a well-conditioned matrix."""
        node = self.pick()
        square = node.order >= 2 and node.dims[-1] == node.dims[-2]
        if square:
            *_, i, j = axes = list(range(node.order))
            bounded = self.graph.map("tanh", axes, [(node, axes)])
            unit = self.graph.unit([node.dims[-1]])
            terms = [(1, bounded, axes), (9, unit, [i, j])]
            matrix = self.graph.sum(axes, terms)
            inverse = apply(self.graph, "inv", [matrix])
            other = self.pick()
            if other.order and other.dims[-1] == node.dims[-1]:
                rest = [f"x{k}" for k in range(other.order - 1)]
                inner = self.random.choice([i, j])
                left = [a for a in axes if a != inner]
                return self.graph.product(
                    [*left, *rest][:3] if len(rest) + len(left) <= 3 else left,
                    [(inverse, axes), (other, [*rest, inner])],
                )
            return self.random.choice([inverse, apply(self.graph, "logdet", [matrix])])
        if not node.order or 0 in self.sizes.values():
            return self.map()
        axis = self.random.randrange(node.order)
        name = self.random.choice(["softmax", "logsumexp", "max", "min", "prod"])
        every = tuple(range(node.order))
        return apply(
            self.graph, name, [node], axes=self.random.choice([(axis,), every])
        )
