"""Logarithms of what nearly cancels, made of logarithms of the parts."""

from __future__ import annotations

from tensorgen.ir.graph import Graph
from tensorgen.operators.scalar import apply, ref, total
from tensorgen.operators.stable import StableForms


def test_one_less_the_exponential_of_a_gap_of_exponentials_reads_its_logarithm() -> (
    None
):
    graph = Graph(StableForms())
    a, b = (ref(graph.input(name, ("n",))) for name in "ab")
    gap = [(1, apply(graph, "exp", b)), (-1, apply(graph, "exp", a))]
    found = apply(graph, "log1mexp", total(graph, gap))
    inner = apply(graph, "log1mexp", total(graph, [(1, b), (-1, a)]))
    log_of_gap = total(graph, [(1, a), (1, inner)])
    assert found == apply(graph, "log_icloglog", log_of_gap)
