"""Recurrences that have checkpoints: what reads all states is made to read few.

This comes before derivatives are taken, which are then those of recurrences over runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.operators.recurrences.folds import folded
from tensorgen.operators.recurrences.runs import in_runs
from tensorgen.passes.steps.at_ends import at_ends


def keep_few_states(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` over runs of steps; ends: no such recurrence has a checkpoint."""
    return in_runs(graph, at_ends(graph, folded(graph, at_ends(graph, roots))))
