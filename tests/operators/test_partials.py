"""Partial derivatives of calls, whatever axes they keep, and what calls expand to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tensorgen.calculus.derive import jacobian
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.operators.calls import OPERATORS, apply, expansion
from tensorgen.operators.references.rows import FUNCTIONS
from tensorgen.operators.references.rows import OPERATORS as REFERENCE
from tensorgen.verify.interpret import evaluate
from tests.ir.verify import verify

Array = Any
Axes = tuple[int, ...] | None

SIZES = {"k": 2, "m": 3, "n": 4}
K, M, N = (Dim.symbol(name) for name in "kmn")
RANDOM = np.random.default_rng(4)

PLAIN = [
    name
    for name, row in OPERATORS.items()
    if not (isinstance(row.derivative, tuple) or row.internal)
    if not (row.keyed or row.places or row.params not in ((), ("axes",)))
    if name != "stop_gradient"  # whose derivative is none
]
REDUCED = [name for name in PLAIN if OPERATORS[name].params == ("axes",)]
EXPANDED = [name for name in REDUCED if OPERATORS[name].expand]
CASES: list[tuple[str, tuple[Dim, ...], Axes]] = [
    *((name, (K, M, M), None) for name in PLAIN if name not in REDUCED),
    *((name, (K, M, N), axes) for name in REDUCED for axes in ((1,), (0, 2))),
]


def call(graph: Graph, name: str, x: Node, axes: Axes) -> Node:
    """A row of an array, over these axes if it takes any."""
    return (
        apply(graph, name, [x]) if axes is None else apply(graph, name, [x], axes=axes)
    )


def value(node: Node, x: Array) -> Array:
    """Verify a node and interpret it."""
    verify([node])
    return evaluate([node], {"x": x}, FUNCTIONS, REFERENCE, SIZES)[0]


def entries(dims: Sequence[Dim]) -> Array:
    """Random entries, far from each other and from those of singular matrices."""
    found = RANDOM.permutation(np.linspace(-1.5, 2, dims[0].value(SIZES) * 12))
    found = found[: np.prod([dim.value(SIZES) for dim in dims])]
    found = found.reshape([dim.value(SIZES) for dim in dims])
    return found + 4 * np.eye(3) if dims[-1] == dims[-2] else found


def slopes(node: Node, x: Array) -> Array:
    """The Jacobian by complex steps, axes of x last."""
    columns = []
    for place in np.ndindex(*x.shape):
        moved = x.astype(complex)
        moved[place] += 1e-30j
        columns.append(np.imag(value(node, moved)) / 1e-30)
    return np.stack(columns, -1).reshape(*columns[0].shape, *x.shape)


@pytest.mark.parametrize(("name", "dims", "axes"), CASES)
def test_the_jacobian_is_what_a_complex_step_gives(
    name: str, dims: tuple[Dim, ...], axes: Axes
) -> None:
    graph = Graph()
    x = graph.input("x", dims)
    node, at = call(graph, name, x, axes), entries(dims)
    (found,) = jacobian(graph, node, [x], "forward")
    np.testing.assert_allclose(value(found, at), slopes(node, at), 1e-9, 1e-12)


@pytest.mark.parametrize("name", PLAIN)
def test_so_is_the_derivative_of_the_jacobian(name: str) -> None:
    graph = Graph()
    dims = (M, N) if name in REDUCED else (M, M)
    x = graph.input("x", dims)
    node = call(graph, name, x, (1,) if name in REDUCED else None)
    (first,) = jacobian(graph, node, [x], "forward")
    (second,) = jacobian(graph, first, [x], "forward")
    at = entries(dims)
    np.testing.assert_allclose(value(second, at), slopes(first, at), 1e-8, 1e-11)


@pytest.mark.parametrize("axes", [(1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("name", EXPANDED)
def test_what_a_call_is_emitted_as_has_its_value(name: str, axes: Axes) -> None:
    graph = Graph()
    node = call(graph, name, graph.input("x", (K, M, N)), axes)
    written = expansion(graph, node)
    assert written is not None
    at = entries((K, M, N))
    np.testing.assert_allclose(value(written, at), value(node, at), 1e-12)


def test_both_in_the_middle_share_the_slope_of_a_median_and_equals_their_part() -> None:
    graph = Graph()
    x = graph.input("x", (M, N))
    (found,) = jacobian(graph, call(graph, "median", x, (1,)), [x], "forward")
    at = np.array([[4.0, 1, 2, 3], [0, 2, 0, 5], [1, 1, 1, 2]])
    half, third = 1 / 2, 1 / 3
    shares = [[0, 0, half, half], [half / 2, half, half / 2, 0], [third] * 3 + [0]]
    expected = np.einsum("ij,ik->ijk", np.eye(3), shares)
    np.testing.assert_allclose(value(found, at), expected, rtol=1e-15)


@pytest.mark.parametrize("name", ["max", "min"])
def test_ties_share_the_slope_of_an_extreme_equally(name: str) -> None:
    graph = Graph()
    x = graph.input("x", (M, N))
    (found,) = jacobian(graph, call(graph, name, x, (1,)), [x], "forward")
    at = np.array([[1.0, 1, 1, 1], [0, 2, 0, 2], [3, 1, 2, 1]])
    hit = at == getattr(at, name)(1, keepdims=True)
    expected = np.einsum("ij,ik->ijk", np.eye(3), hit / hit.sum(1, keepdims=True))
    np.testing.assert_array_equal(value(found, at), expected)


@pytest.mark.parametrize("name", ["norm", "unit", "rnorm"])
def test_rows_of_zeros_have_norms_without_slope(name: str) -> None:
    graph = Graph()
    x = graph.input("x", (M, N))
    (found,) = jacobian(graph, call(graph, name, x, (1,)), [x], "forward")
    at = np.array([[0.0, 0, 0, 0], [3, 0, 0, 4], [0, 0, 0, 0]])
    slope = value(found, at)
    assert np.isfinite(slope).all()
    assert not slope[[0, 2]].any() and slope[1].any()
