"""The reference interpreter, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tensorgen.errors import InternalError
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import bind, evaluate

n, m = Dim.of("n"), Dim.of("m")


def test_dims_are_found_from_shapes_whatever_their_order() -> None:
    shapes = [((n + m - 1, n * m), (6, 12)), ((2 * n,), (6,))]
    assert bind(shapes) == {"n": 3, "m": 4}


def test_contradicting_shapes_are_refused() -> None:
    with pytest.raises(InternalError, match="n is 3, not 4"):
        bind([((n,), (3,)), ((n,), (4,))])
    with pytest.raises(InternalError, match="2\\*n is 4, not 5"):
        bind([((2 * n,), (5,))])


def test_a_dim_that_no_argument_gives_is_refused_unless_given() -> None:
    graph = Graph()
    node = graph.zeros((n,))
    with pytest.raises(InternalError, match="the dim n"):
        evaluate([node], {}, {}, {})
    (zeros,) = evaluate([node], {}, {}, {}, {"n": 2})
    np.testing.assert_array_equal(zeros, [0.0, 0.0])


def test_all_leaves_have_values() -> None:
    graph = Graph()
    nodes = [
        graph.named_constant("pi"),
        graph.size(n * n - 1),
        graph.iota(n),
        graph.constant(-2, (n,)),
    ]
    pi, size, iota, two = evaluate(nodes, {}, {}, {}, {"n": 3})
    assert pi == np.pi
    assert size == 8.0
    np.testing.assert_array_equal(iota, [0.0, 1.0, 2.0])
    np.testing.assert_array_equal(two, [-2.0, -2.0, -2.0])


def test_a_wrong_shape_from_an_operator_is_noticed() -> None:
    graph = Graph()
    x = graph.input("x", (n,))
    node = graph.call("total", [x], ())
    with pytest.raises(InternalError, match="a Call of shape"):
        evaluate([node], {"x": [1.0, 2.0]}, {}, {"total": lambda x: x})


def test_a_complex_step_differentiates_through_all_kinds_of_nodes() -> None:
    graph = Graph()
    a, x = graph.input("A", (n, n)), graph.input("x", (n,))
    z = graph.map("tanh", "i", [(graph.einsum("ij,j->i", a, x), "i")])
    f = graph.add(graph.einsum("i,i->", z, x), graph.call("logdet", [a], ()))
    matrix, vector = np.array([[2.0, 1.0], [0.5, 3.0]]), np.array([0.3, -0.7])
    step = matrix + 1e-30j * np.array([[0.0, 1.0], [0.0, 0.0]])
    (value,) = evaluate([f], {"A": step, "x": vector}, FUNCTIONS, OPERATORS)
    t = matrix @ vector
    by_hand = vector[0] * vector[1] / np.cosh(t[0]) ** 2 + np.linalg.inv(matrix)[1, 0]
    assert value.imag / 1e-30 == pytest.approx(by_hand, rel=1e-14)


def test_values_are_given_in_the_order_asked_for() -> None:
    graph = Graph()
    x = graph.input("x", (n,))
    total = graph.einsum("i->", x)
    values = evaluate([total, x, total], {"x": [1, 2]}, {}, {})
    assert [np.shape(v) for v in values] == [(), (2,), ()]
    assert values[0] == 3.0
