"""Reshapes as operands: sums over whole runs of their axes are of what they reshape."""

from __future__ import annotations

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.operators.reshape import reshape
from tensorgen.operators.stable import StableForms

M, N, K = (Dim.symbol(name) for name in "mnk")


def test_what_is_summed_along_whole_runs_of_axes_is_not_reshaped_there() -> None:
    graph = Graph(StableForms())
    x, y = graph.input("x", (M, N, K, K)), graph.input("y", (K,))
    turned = reshape(graph, x, (N, M, K * K))
    assert graph.einsum("ijp->", turned) is graph.einsum("ijkl->", x)
    rest = graph.einsum("ijkl->kl", x)
    assert graph.einsum("ijp->p", turned) is reshape(graph, rest, (K * K,))
    z = graph.input("z", (M, N, K))
    found = graph.einsum("ijk,k->", reshape(graph, z, (N, M, K)), y)
    assert found is graph.einsum("k,k->", graph.einsum("ijk->k", z), y)
