"""Norms that have names, for texts of what divides by them.

Calculus has calls of their own for `1 / norm(x)` and `x / norm(x)`, which are right at
zero. A reader who knows `f = norm(x)` reads `1 / f`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from tensorgen.ir.nodes import Call, Node


class NamedNorms:
    """The norms among nodes, by what they are of."""

    def __init__(self, named: Iterable[Node]) -> None:
        self._found: dict[Hashable, Node] = {
            (x.args, x.params): x
            for x in named
            if isinstance(x, Call) and x.operator == "norm"
        }

    def below(self, node: Node) -> Node | None:
        """Return the norm that a call divides by, if it has a name."""
        if not isinstance(node, Call) or node.operator not in ("rnorm", "unit"):
            return None
        return self._found.get((node.args, node.params))
