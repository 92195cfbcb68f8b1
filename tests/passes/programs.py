"""Small functions of the calculus papers, built by hand for the tests of the passes."""

from dataclasses import dataclass

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.operators.calls import apply
from tensorgen.operators.stable import StableForms


@dataclass
class Network:
    """A network with tanh layers under a cross-entropy loss."""

    graph: Graph
    loss: Node
    weights: list[Node]


def network(depth: int) -> Network:
    graph = Graph(StableForms())
    h, y = graph.input("x", ["n"]), graph.input("y", ["n"])
    weights = []
    for layer in range(depth):
        weights.append(graph.input(f"W{layer}", ["n", "n"]))
        h = graph.einsum("ij,j->i", weights[-1], h)
        if layer < depth - 1:
            h = graph.map("tanh", "i", [(h, "i")])
    value = apply(graph, "logsumexp", [h], axes=(0,))
    inner = graph.einsum("i,i->", y, h)
    return Network(graph, graph.sum((), [(1, value, ()), (-1, inner, ())]), weights)


def chain() -> tuple[Graph, Node, Node]:
    """B @ tanh(sin(A @ x)): the graph, the function and x."""
    graph = Graph(StableForms())
    a, b = graph.input("A", ["q", "n"]), graph.input("B", ["p", "q"])
    x = graph.input("x", ["n"])
    z = graph.einsum("ij,j->i", a, x)
    h = graph.map("tanh", "i", [(graph.map("sin", "i", [(z, "i")]), "i")])
    return graph, graph.einsum("ij,j->i", b, h), x
