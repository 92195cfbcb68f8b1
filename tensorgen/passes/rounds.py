"""A round of local laws over a graph: what each of them may ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tensorgen.ir.laws import Law
from tensorgen.ir.nodes import Node, Product
from tensorgen.passes.context import Context
from tensorgen.passes.order.factor_sums import Effort
from tensorgen.passes.views import grows, is_entries


@dataclass(frozen=True)
class Round:
    """What is known of the nodes of a round.

    `named` has those with a name that are formed as arrays, `private` others that are
    used once, or applied to vectors alone; `again` applies all laws to a node that one
    of them has made.
    """

    context: Context
    effort: Effort
    named: set[Node]
    private: set[Node]
    again: Callable[[Node], Node]

    def opens(self, node: Node) -> bool:
        """Whether a product may be looked into where it is used.

        One that is used once may, and one that is larger than its factors: what it
        is made of is worth more than sharing it. So may a mere scaling. Where a mode
        sets the order, no contraction is looked into, and only what would be spread
        out: `s[k] * a[k, i] * b[k, j]` is folded while the sum over k is taken.
        """
        if not isinstance(node, Product) or node in self.named:
            return False
        if not self.context.cross_country:
            return is_entries(node) and grows(node, self.context.cost)
        if node in self.private or grows(node, self.context.cost):
            return True
        if node.inner or node.constraints:
            return False
        return any(set(ref.labels) != set(range(node.order)) for ref in node.factors)

    def opens_in(self, node: Product, factor: Node) -> bool:
        """Whether a product may be looked into in `node`, which may be a mere sum.

        What is made of entries to be added up, and for nothing else, is a contraction
        in any order: `sum_k a[i, k] * b[k]` multiplies nothing before.
        """
        if self.opens(factor):
            return True
        added_up = len(node.factors) == 1 and bool(node.inner)
        return added_up and factor in self.private and is_entries(factor)


@dataclass(frozen=True)
class Rule(Law):
    """A law for one node, whose operands have been rewritten."""

    run: Callable[[Round, Node], Node]
    in_all_modes: bool = False
