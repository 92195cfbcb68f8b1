"""Sparse matrices as what they are: lists of entries, of which no place has two."""

from __future__ import annotations

from tensorgen.ir.constraints import is_list
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Node, Product


def entries(graph: Graph, node: Node) -> Product | None:
    """A node that is a sparse matrix, or its transpose, times a number."""
    if not graph.pairs or not is_list(node) or len(node.factors) != 1:
        return None
    atoms = [atom for c in node.constraints for atom, _ in c.form.terms]
    places = [atom.node for atom in atoms if isinstance(atom, Lookup)]
    return node if all(place in graph.pairs for place in places) else None


def values(graph: Graph, matrix: Product) -> Node:
    """The entries of a sparse matrix, times its number."""
    ((inner, _),) = matrix.factors
    return graph.scale(inner, matrix.coefficient)
