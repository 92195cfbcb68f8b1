"""Elementwise functions of sparse matrices that are 0 at 0: of the entries alone."""

from __future__ import annotations

import numpy as np

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Product, Ref, constant_value
from tensorgen.operators.entries import entries, values
from tensorgen.operators.references.rows import FUNCTIONS
from tensorgen.operators.stable.match import Args, Rule


def mapped(function: str) -> Rule:
    """The rule f(A) = sum_e f(v[e]) * delta(i, row[e]) * delta(j, column[e])."""

    def rule(graph: Graph, args: Args) -> Ref | None:
        lists = [entries(graph, arg.node) for arg in args]
        numbers = [constant_value(arg.node) for arg in args]
        found = [node for node in lists if node is not None]
        known = [value is not None for value in numbers]
        if len(found) != 1 or sum(known) != len(args) - 1:
            return None
        with np.errstate(all="ignore"):
            at_zero = FUNCTIONS[function](*(float(value or 0) for value in numbers))
        if at_zero != 0:
            return None
        ((whole, labels),) = [a for a, x in zip(args, lists, strict=True) if x]
        assert isinstance(whole, Product)
        ((_, (entry,)),) = whole.factors
        scaled = Ref(values(graph, whole), (0,))
        own = [scaled if node else arg for arg, node in zip(args, lists, strict=True)]
        node = graph.product(
            range(whole.order),
            [(graph.map(function, (0,), own), (entry,))],
            constraints=whole.constraints,
            sizes=dict(enumerate(whole.sizes)),
        )
        return Ref(node, labels)

    return rule
