"""What is known of the nodes of a function under construction."""

from __future__ import annotations

from dataclasses import replace

from tensorgen.ir.nodes import Node, Ref
from tensorgen.lower.draft import Draft
from tensorgen.lower.operands import Operand
from tensorgen.lower.plan import Plan
from tensorgen.lower.results import full
from tensorgen.lower.scatter import Write
from tensorgen.operators.matrices.symmetry import Symmetry
from tensorgen.operators.matrices.systems import is_system


class Values:
    """The arrays of the nodes that have been lowered, for those that use them.

    `writes` are what is added in place where it is used.
    """

    def __init__(self, plan: Plan, draft: Draft) -> None:
        self.plan = plan
        self.draft = draft
        self.values: dict[Node, Operand] = {}
        self.writes: dict[Node, tuple[Write, ...]] = {}
        self._symmetry = Symmetry(promised=True)

    def operand(self, ref: Ref) -> Operand:
        """A use of a node as an expression under the labels of the use."""
        return self._known(ref.node).renamed(ref.labels.__getitem__)

    def whole(self, node: Node) -> Operand:
        """A node's array with all of its axes, in their order; a system's object."""
        if is_system(node):
            return self.values[node]
        return full(self._known(node), node.dims)

    def _known(self, node: Node) -> Operand:
        """The value of a node, with what is known of its entries."""
        expr, last = self.values[node], (node.order - 2, node.order - 1)
        if {*expr.labels[-2:]} == {*last} and self._symmetry.parity(node, last) == 1:
            return replace(expr, symmetric=True)
        return expr

    def is_inline(self, node: Node) -> bool:
        """Whether a node's value stands where it is used."""
        return not self.values[node].is_name
