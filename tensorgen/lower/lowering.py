"""From nodes to statements: one pass in reading order.

A node gets a statement of its own if the user named it, if it is used more than once
or if the text around it would become too long; else it stands where it is used.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from tensorgen.arrays import operations
from tensorgen.arrays.arrays import Array, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.frugal import frugal
from tensorgen.arrays.operations import Kind
from tensorgen.arrays.reading import LONGEST, is_long, length, transposes
from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Size,
    Sum,
    children,
    constant_value,
)
from tensorgen.lower.layout import ordered
from tensorgen.lower.maps import lower_call, lower_map
from tensorgen.lower.names import Names
from tensorgen.lower.operands import Operand, made, number, size
from tensorgen.lower.plan import Plan
from tensorgen.lower.products import ProductLowering
from tensorgen.lower.results import is_view, result
from tensorgen.lower.sums import lower_sum
from tensorgen.lower.values import Values
from tensorgen.lower.writer import Writer
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE

# What modules imported where they are used are called.
_REQUIRED = [
    *(row.requires for row in ELEMENTWISE.values()),
    *(row.requires for row in OPERATORS.values()),
]
LAZY = tuple(dict.fromkeys(name.rpartition(".")[2] for name in _REQUIRED if name))

WORTH_A_NAME = 10
# So many operands fill a line with the shortest of names: none would help.
MOST_OPERANDS = LONGEST // 4


def lower(
    graph: Graph,
    roots: Sequence[Node],
    *,
    reserved: Collection[str] = (),
    root_names: Sequence[str | None] = (),
    fresh: bool | Sequence[bool] = True,
    variables: Collection[str] = (),
    facts: Sequence[Dim] = (),
    alias: str = "np",
) -> Code:
    """Return statements that compute `roots`, one expression for each.

    Inputs are variables under their own names. `reserved` are further names not to
    use, `root_names` suggestions for the roots that get a statement. Roots that are
    `fresh` share no memory with inputs or with each other, others none with the inputs
    that are `variables`. `facts` are polynomials in dims that the caller has checked to
    be nonnegative. The array module is called `alias`.
    """
    plan = Plan(graph, roots, facts)
    lowering = Lowering(plan, reserved, root_names, alias)
    flags = [fresh] * len(roots) if isinstance(fresh, bool) else list(fresh)
    return lowering.run(flags, variables)


class Lowering:
    """The function under construction, node by node."""

    def __init__(
        self,
        plan: Plan,
        reserved: Collection[str],
        root_names: Sequence[str | None],
        alias: str,
    ) -> None:
        """Start the function that computes the roots of `plan`."""
        self.plan = plan
        self.roots = plan.roots
        inputs = [node.name for node in self.plan.order if isinstance(node, Input)]
        taken = [*reserved, *inputs, *plan.symbols, alias, "dtype", "np", *LAZY]
        self.writer = Writer(alias, Names(taken))
        self.known = Values(plan, self.writer, root_names)
        self.values, self.writes = self.known.values, self.known.writes
        self._turned: dict[tuple[Node, tuple[int, ...]], Operand] = {}

    def run(self, fresh: Sequence[bool], variables: Collection[str]) -> Code:
        """Write all statements and return them with the roots' expressions."""
        for node in self.plan.order:
            self._visit(node)
            if isinstance(node, Call) and OPERATORS[node.operator].refuses:
                self.writer.refusals[OPERATORS[node.operator].refuses] = None
        shared: dict[str, None] = {
            node.name: None for node in self.plan.order if isinstance(node, Input)
        }
        returns: list[Array] = []
        held: dict[Node, Operand] = {}
        for k, root in enumerate(self.roots):
            if root in held and not fresh[k]:
                returns.append(held[root].array)
                continue
            expr = self.values[root]
            if fresh[k] or index_bound(root) is None:
                own = fresh[k] or is_view(root, expr, variables)
                expr = result(expr, root.dims, shared, own)
            # Several results read better by name, and a view of two is one object.
            twice = root.order and not fresh[k] and self.roots.count(root) > 1
            alone = self._is_short(expr) and not twice
            if len(self.roots) > 1 and not expr.is_name and not alone:
                name = self.known.root_names[k]
                # Results share no memory, so equal ones are not one.
                expr = Operand(self.known.bind(root, expr.array, name), expr.labels)
            if twice:
                held[root] = expr
            if expr.base is not None:
                shared[expr.base] = None
            returns.append(expr.array)
        return frugal(
            self.writer.code(returns), self._result_name, [*self.plan.named.values()]
        )

    def _result_name(self, k: int) -> str:
        """A name for a result that has none."""
        return self.known.name(self.roots[k], self.known.root_names[k])

    # One node

    def _visit(self, node: Node) -> None:
        plan = self.plan
        named = node in plan.named
        often = plan.uses[node] > 1 and not plan.is_transparent(node)
        if plan.is_write(node) and not named and plan.uses[node] == 1:
            user = plan.user.get(node)
            if isinstance(user, Sum) and isinstance(node, Product):
                self.writes[node] = ProductLowering(self.known, node).write()
                return
        own = self._has_statement(node, named or often) and not plan.is_leaf(node)
        self._render(node)
        last = plan.uses[node] == 1 and node in self.roots
        later = last and self._is_unfinished(node)
        if own and not self.values[node].weak and not later:
            self._store(node)

    def _has_statement(self, node: Node, wanted: bool) -> bool:
        """What is returned alone stands behind `return`; several have names."""
        call = self.plan.origin.get(node)
        if call is not None and self.plan.uses[node] == 1:
            node = call
        if node not in self.roots or self.plan.uses[node] > 1:
            return wanted
        return len(self.roots) > 1

    def _render(self, node: Node) -> None:
        """Find the text of a node, naming parts of it while it is too long."""
        self._write(node)
        if self.values[node].is_name or self.plan.is_write(node):
            return
        if isinstance(node, Sum | Product) and len(children(node)) > MOST_OPERANDS:
            return
        while is_long(self.values[node].array):
            part = self._part(node)
            if part is None:
                return
            self._store(part)
            self._refresh(node, part)
            self._write(node)

    def _write(self, node: Node) -> None:
        """Write the text of a node, in the order of its axes."""
        axes = tuple(range(node.order))
        expr = self._expression(node, axes)
        if node.order > 1 and self._is_pure(node):
            expr = replace(expr, turned=partial(self._turn, node))
        self._keep(node, expr)

    def _turn(self, node: Node, axes: tuple[int, ...]) -> Operand:
        """The text of a node with its axes in another order.

        Kept, for every way to write a user asks for it, and each asks its operands.
        """
        key = (node, axes)
        if key not in self._turned:
            self._turned[key] = self._expression(node, axes)
        return self._turned[key]

    def _keep(self, node: Node, expr: Operand) -> None:
        """Have a node written so, and what turned texts said of it before forgotten."""
        if node in self.values:
            self._turned.clear()
        self.values[node] = expr

    def _is_pure(self, node: Node) -> bool:
        """Whether writing a node anew repeats no statement."""
        match node:
            case Product():
                return not node.constraints
            case Sum(terms=terms):
                return not any(term.node in self.writes for term in terms)
            case _:
                return isinstance(node, Map)

    def _parts(self, node: Node) -> dict[Node, None]:
        """What is written inline below a node, at any depth."""
        parts: dict[Node, None] = {}
        for operand in self.plan.operands(node):
            if operand not in self.writes and self.known.is_inline(operand):
                parts.update(self._parts(operand))
                if not (
                    self.plan.is_transparent(operand) or self.plan.is_leaf(operand)
                ):
                    parts[operand] = None
        return parts

    def _part(self, node: Node) -> Node | None:
        """The part whose naming leaves the shortest texts."""
        whole = length(self.values[node].array)
        best: tuple[int, Node] | None = None
        for part in self._parts(node):
            own = length(self.values[part].array)
            if own >= WORTH_A_NAME and not self.values[part].weak:
                left = max(own, whole - own)
                if best is None or left <= best[0]:
                    best = (left, part)
        return best[1] if best else None

    def _refresh(self, node: Node, part: Node) -> bool:
        """Write what stands inline around a part anew, now that it has a name.

        Whether a node has the part inline, at any depth.
        """
        found = False
        for operand in dict.fromkeys(self.plan.operands(node)):
            if operand is part:
                found = True
            elif self._is_rewritten(operand) and self._refresh(operand, part):
                self._write(operand)
                found = True
        return found

    def _is_rewritten(self, node: Node) -> bool:
        """Whether a node's text stands where it is used, and repeats no statement."""
        if node in self.writes or not self.known.is_inline(node):
            return False
        return not (self.plan.is_leaf(node) or self.plan.is_write(node))

    def _expression(self, node: Node, want: tuple[int, ...] | None) -> Operand:
        self.plan.graph.effort.spend(5 + 3 * len(children(node)))
        value = constant_value(node)
        if value is not None:
            return number(value)
        match node:
            case Input():
                kind: Kind = "float" if node.index is None else "int"
                labels = tuple(range(node.order))
                own = variable(node.name, node.dims, kind, base=node.name)
                return Operand(own, labels)
            case Constant():
                return made(operations.Constant(node.name), ())
            case Size():
                return size(node.value)
            case Iota():
                return made(operations.Range(ZERO, node.dims[0], real=True), (0,))
            case Product():
                return ProductLowering(self.known, node).expression(want)
            case Sum():
                return lower_sum(self.known, node, want)
            case Map() | Call() if node in self.plan.expansions:
                return self.values[self.plan.expansions[node]]
            case Map():
                return lower_map(self.known, node, want)
            case Call():
                return lower_call(self.known, node)
            case _:
                assert_never(node)

    # Statements

    def _store(self, node: Node) -> None:
        """Give a node a statement of its own."""
        expr = self.values[node]
        if expr.is_name:
            return
        if set(expr.labels) == set(range(node.order)):
            expr = ordered(expr, range(node.order))
            natural = self._expression(node, None) if self._is_free(node) else expr
            if transposes(natural.array) < transposes(expr.array):
                expr = natural
        self._keep(node, self.known.let(node, expr))

    def _is_free(self, node: Node) -> bool:
        """Whether nobody sees in which order a variable has its axes."""
        seen = node in self.plan.named or node in self.roots
        return node.order > 1 and not seen and self._is_pure(node)

    def _is_unfinished(self, node: Node) -> bool:
        """Whether a root must still be spread, converted or copied when returned."""
        expr = self.values[node]
        whole = expr.kind == "float" and len(expr.labels) == node.order
        return expr.base is not None or not whole

    def _is_short(self, expr: Operand) -> bool:
        match expr.array.op:
            case operations.Copy(scalar=False):
                return True
            case operations.Permute(axes=axes):
                return axes == tuple(reversed(range(len(axes))))
            case _:
                return False
