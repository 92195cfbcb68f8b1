"""What is known of the nodes of a function under construction: values and names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorgen.arrays.arrays import Array, bound, variable
from tensorgen.arrays.statements import Let
from tensorgen.ir.nodes import Input, Node, Product, Ref
from tensorgen.lower.names import describe, read_name, stem
from tensorgen.lower.operands import Operand
from tensorgen.lower.plan import Plan
from tensorgen.lower.results import full
from tensorgen.lower.scatter import Write
from tensorgen.lower.writer import Writer
from tensorgen.operators.symmetry import Symmetry


class Values:
    """The arrays of the nodes that have been lowered, for those that use them.

    `writes` are what is added in place where it is used.
    """

    def __init__(
        self, plan: Plan, writer: Writer, root_names: Sequence[str | None]
    ) -> None:
        """Start without values; `root_names` are suggestions for the roots."""
        self.plan = plan
        self.writer = writer
        missing = len(plan.roots) - len(root_names)
        self.root_names = list(root_names) + [None] * missing
        self.values: dict[Node, Operand] = {}
        self.writes: dict[Node, Write] = {}
        self._bound: dict[Array, Array] = {}
        self._symmetry = Symmetry(promised=True)

    def operand(self, ref: Ref) -> Operand:
        """A use of a node as an expression under the labels of the use."""
        return self._known(ref.node).renamed(ref.labels.__getitem__)

    def whole(self, node: Node) -> Operand:
        """A node's array with all of its axes, in their order."""
        return full(self._known(node), node.dims)

    def _known(self, node: Node) -> Operand:
        """The text of a node, with what is known of its entries."""
        expr, last = self.values[node], (node.order - 2, node.order - 1)
        if {*expr.labels[-2:]} == {*last} and self._symmetry.parity(node, last) == 1:
            return replace(expr, symmetric=True)
        return expr

    def is_inline(self, node: Node) -> bool:
        """Whether a node's text is not the name of a variable."""
        return not self.values[node].is_name

    def new_array(self, node: Node, value: Array) -> Array:
        """Start a new array for `node` that further statements change."""
        name = self.name(node)
        self.writer.add(Let(name, value))
        return variable(name, value.dims, base=name)

    def let(self, node: Node, expr: Operand, suggestion: str | None = None) -> Operand:
        """Bind a name to the value of a node.

        Nodes that differ may come to one array: nothing is computed twice.
        """
        if expr.array not in self._bound:
            self._bound[expr.array] = self.bind(node, expr.array, suggestion)
        return Operand(self._bound[expr.array], expr.labels)

    def bind(self, node: Node, value: Array, suggestion: str | None = None) -> Array:
        """Bind a name of its own to the value of a node."""
        name = self.name(node, suggestion)
        self.writer.add(Let(name, value))
        return bound(name, value)

    def name(self, node: Node, suggestion: str | None = None) -> str:
        """A new name for the value of a node."""
        return self.writer.names.pick(self._candidates(node, suggestion))

    def _candidates(self, node: Node, suggestion: str | None) -> list[str]:
        """Names for a node: the user's, the caller's, or what the value is."""
        names = [self.plan.named.get(node), suggestion]
        if node in self.plan.roots:
            names.append(self.root_names[self.plan.roots.index(node)])
        names.append(self.plan.graph.suggestions.get(node))
        wanted = [name for name in names if name]
        if wanted:
            return wanted
        call = self.plan.origin.get(node, node)
        expr = self.values.get(node) if call is node else None
        word = read_name(expr.array) if expr is not None else None
        return [word or describe(call, self._name_of)]

    def _name_of(self, node: Node) -> str | None:
        """What the names of other values call this one."""
        if isinstance(node, Input):
            return node.name
        if node in self.plan.solved:
            return describe(node, self._name_of)
        expr = self.values.get(node)
        word = stem(expr.array) if expr is not None else None
        if word is None and isinstance(node, Product) and not node.inner:
            below = list(self.plan.operands(node))
            return self._name_of(below[0]) if len(below) == 1 else None
        return word
