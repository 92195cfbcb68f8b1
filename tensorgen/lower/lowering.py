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
from tensorgen.arrays.arrays import Array, is_boxed, transposes, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.operations import Kind
from tensorgen.arrays.statements import Let
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
    Ref,
    Size,
    Sum,
    children,
    constant_value,
)
from tensorgen.lower.layout import ordered
from tensorgen.lower.maps import lower_call, lower_map
from tensorgen.lower.names import Names, describe, read_name, stem
from tensorgen.lower.operands import Operand, made, number, size
from tensorgen.lower.plan import Plan
from tensorgen.lower.products import ProductLowering
from tensorgen.lower.results import full, is_view, result
from tensorgen.lower.scatter import Write
from tensorgen.lower.sums import lower_sum
from tensorgen.lower.writer import Writer
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.symmetry import Symmetry

# What modules imported where they are used are called.
_REQUIRED = [
    *(row.requires for row in ELEMENTWISE.values()),
    *(row.requires for row in OPERATORS.values()),
]
LAZY = tuple(dict.fromkeys(name.rpartition(".")[2] for name in _REQUIRED if name))

# A longer text is broken up by naming its longest part, if that part is worth it.
LONGEST = 66
LONGEST_NESTED = 52
DEEPEST = 2
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
        missing = len(plan.roots) - len(root_names)
        self.root_names = list(root_names) + [None] * missing
        inputs = [node.name for node in self.plan.order if isinstance(node, Input)]
        taken = [*reserved, *inputs, *plan.symbols, alias, "dtype", "np", *LAZY]
        self.writer = Writer(alias, Names(taken))
        self.values: dict[Node, Operand] = {}
        self._turned: dict[tuple[Node, tuple[int, ...]], Operand] = {}
        self.symmetry = Symmetry(promised=True)
        self.writes: dict[Node, Write] = {}

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
                expr = self._statement(root, expr, self.root_names[k])
            if twice:
                held[root] = expr
            if expr.base is not None:
                shared[expr.base] = None
            returns.append(expr.array)
        return self.writer.code(returns)

    # What products, sums, maps and calls see

    def operand(self, ref: Ref) -> Operand:
        """A use of a node as an expression under the labels of the use."""
        return self._known(ref.node).renamed(ref.labels.__getitem__)

    def whole(self, node: Node) -> Operand:
        """A node's array with all of its axes, in their order."""
        return full(self._known(node), node.dims)

    def _known(self, node: Node) -> Operand:
        """The text of a node, with what is known of its entries."""
        expr, last = self.values[node], (node.order - 2, node.order - 1)
        if {*expr.labels[-2:]} == {*last} and self.symmetry.parity(node, last) == 1:
            return replace(expr, symmetric=True)
        return expr

    def is_inline(self, node: Node) -> bool:
        """Whether a node's text is not the name of a variable."""
        return not self.values[node].is_name

    def new_array(self, node: Node, value: Array) -> Array:
        """Start a new array for `node` that further statements change."""
        name = self.writer.names.pick(self._candidates(node, None))
        self.writer.add(Let(name, value))
        return variable(name, value.dims, base=name)

    # One node

    def _visit(self, node: Node) -> None:
        plan = self.plan
        named = node in plan.named
        often = plan.uses[node] > 1 and not plan.is_transparent(node)
        if plan.is_write(node) and not named and plan.uses[node] == 1:
            user = plan.user.get(node)
            if isinstance(user, Sum) and isinstance(node, Product):
                self.writes[node] = ProductLowering(self, node).write()
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
        while _is_long(self._text(node)):
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
            if operand not in self.writes and self.is_inline(operand):
                parts.update(self._parts(operand))
                if not (
                    self.plan.is_transparent(operand) or self.plan.is_leaf(operand)
                ):
                    parts[operand] = None
        return parts

    def _part(self, node: Node) -> Node | None:
        """The part whose naming leaves the shortest texts."""
        whole = len(self._text(node))
        best: tuple[int, Node] | None = None
        for part in self._parts(node):
            length = len(self._text(part))
            if length >= WORTH_A_NAME and not self.values[part].weak:
                left = max(length, whole - length)
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
        if node in self.writes or not self.is_inline(node):
            return False
        return not (self.plan.is_leaf(node) or self.plan.is_write(node))

    def _text(self, node: Node) -> str:
        return self.writer.printer.text(self.values[node].array)

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
                return ProductLowering(self, node).expression(want)
            case Sum():
                return lower_sum(self, node, want)
            case Map() | Call() if node in self.plan.expansions:
                return self.values[self.plan.expansions[node]]
            case Map():
                return lower_map(self, node, want)
            case Call():
                return lower_call(self, node)
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
        self._keep(node, self._statement(node, expr, None))

    def _is_free(self, node: Node) -> bool:
        """Whether nobody sees in which order a variable has its axes."""
        seen = node in self.plan.named or node in self.roots
        return node.order > 1 and not seen and self._is_pure(node)

    def _is_unfinished(self, node: Node) -> bool:
        """Whether a root must still be spread, converted or copied when returned."""
        expr = self.values[node]
        whole = expr.kind == "float" and len(expr.labels) == node.order
        return expr.base is not None or not whole

    def _statement(self, node: Node, expr: Operand, suggestion: str | None) -> Operand:
        name = self.writer.names.pick(self._candidates(node, suggestion))
        self.writer.add(Let(name, expr.array))
        base = name if expr.base is None else expr.base
        boxed = is_boxed(expr.array)
        own = variable(name, expr.array.dims, expr.kind, base, boxed)
        return Operand(own, expr.labels)

    def _candidates(self, node: Node, suggestion: str | None) -> list[str]:
        """Names for a node: the user's, the caller's, or what the value is."""
        names = [self.plan.named.get(node), suggestion]
        if node in self.roots:
            names.append(self.root_names[self.roots.index(node)])
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

    def _is_short(self, expr: Operand) -> bool:
        match expr.array.op:
            case operations.Copy(scalar=False):
                return True
            case operations.Permute(axes=axes):
                return axes == tuple(reversed(range(len(axes))))
            case _:
                return False


def _is_long(text: str) -> bool:
    """Whether a text is long, or long for parentheses within parentheses.

    Those of calls and subscripts do not count: they read from the left.
    """
    depth = deepest = 0
    nest: list[bool] = []
    for k, character in enumerate(text):
        if character in "([":
            before = text[k - 1] if k else " "
            nest.append(character == "(" and not (before.isalnum() or before in "_])"))
            depth += nest[-1]
            deepest = max(deepest, depth)
        elif character in ")]":
            depth -= nest.pop()
    return len(text) > (LONGEST if deepest < DEEPEST else LONGEST_NESTED)
