"""Derivatives of definitions that stay calls are those of what they are written as."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tensorgen.calculus.derive import jvp, vjp
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.operators.defined_calls import Defined, is_defined, written_out
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import evaluate

N = Dim.of("n")
CUBE = np.random.default_rng(0).normal(size=(2, 3, 3, 3))


def turned(graph: Graph, x: Node) -> Node:
    """No symmetric operator: axes go round, and come back the other way."""
    return graph.sum("ijk", [(1, x, "ijk"), (1, x, "jki")])


def mirrored(graph: Graph, x: Node) -> Node:
    """A symmetric operator."""
    return graph.sum("ijk", [(1, x, "ijk"), (1, x, "kji")])


@pytest.mark.parametrize("text", [turned, mirrored])
def test_what_is_linear_is_pulled_back_by_its_transpose(
    text: Callable[[Graph, Node], Node],
) -> None:
    graph = Graph()
    place = graph.fresh((N, N, N), (), None)
    own = Defined("text", "{}", (place,), ("x",), (text(graph, place),), ("y",))
    x, d = (graph.input(name, (N, N, N)) for name in "xd")
    call, plain = own.of(graph, [x]), text(graph, x)
    found = []
    for node in (call, plain):
        roots = [jvp(graph, node, {x: d}), *vjp(graph, node, d, [x])]
        assert all(is_defined(root) == (node is call) for root in roots)
        roots = [written_out(graph, r) if is_defined(r) else r for r in roots]
        given = dict(zip("xd", CUBE, strict=True))
        found.append(evaluate(roots, given, FUNCTIONS, OPERATORS, {"n": 3}))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-14)
