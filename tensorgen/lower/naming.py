"""Which values deserve a name, and which name: from a draft to statements.

A value gets a statement of its own if it is used more than once, which the draft says,
or if what it stands in would be too long. Nothing here changes how a value is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorgen.arrays.arrays import Array, below, bound, replacing
from tensorgen.arrays.operations import Copy, Permute, Variable
from tensorgen.arrays.reading import LONGEST, is_long, length
from tensorgen.arrays.statements import Let, Statement, operands, rebuilt
from tensorgen.ir.nodes import Input, Node, Product, Sum, children
from tensorgen.lower.draft import Draft, Result, Value
from tensorgen.lower.layout import permuted
from tensorgen.lower.names import Names, describe, read_name, stem
from tensorgen.lower.plan import Plan

WORTH_A_NAME = 10
# So many operands fill a line with the shortest of names: none would help.
MOST_OPERANDS = LONGEST // 4
# What vectors of integers are called.
INDICES = "ijklpqrst"


class Naming:
    """The statements of a draft, one by one."""

    def __init__(
        self, plan: Plan, names: Names, root_names: Sequence[str | None]
    ) -> None:
        """Take names from `names`; `root_names` are suggestions for the roots."""
        self.plan = plan
        self.names = names
        missing = len(plan.roots) - len(root_names)
        self.root_names = [*root_names, *([None] * missing)]
        self.lines: list[Statement] = []
        self._final: dict[Array, Array] = {}
        self._change = replacing(self._final)
        self._values: dict[Node, Array] = {}
        self._inline: dict[Array, Node] = {}
        self._bound: dict[Array, Array] = {}

    def run(
        self, draft: Draft, results: Sequence[Result]
    ) -> tuple[list[Statement], list[Array]]:
        """Return the statements, and an expression for each result."""
        used = dict.fromkeys(below(_roots(draft, results)))
        for step in draft.steps:
            if not isinstance(step, Value):
                self._effect(rebuilt(step, self._change))
            elif step.variable is not None:
                self._final[step.variable] = self._variable(step)
            elif step.array in used and step.node is not None:
                self._stands(step.node, step.array)
        return self.lines, self._returned(results)

    def name(self, k: int) -> str:
        """A new name for result `k`."""
        return self._picked(self.plan.roots[k], self.root_names[k])

    def _effect(self, line: Statement) -> None:
        """Append a change, with names for parts of what is too long in it."""
        known: dict[Array, Array] = {}
        for one in operands(line):
            known[one] = self._shortened(None, one)
        self.lines.append(rebuilt(line, known.__getitem__))

    # Values

    def _variable(self, step: Value) -> Array:
        """Give a value a statement of its own, or the variable that holds the same."""
        value = self._change(step.array)
        if step.node is None:
            return self._let(self.names.pick(INDICES), value)
        if step.filled:
            own = self._let(self._picked(step.node), value)
        else:
            self._values[step.node] = value
            value = self._shortened(step.node, value)
            if value not in self._bound:
                name = self._picked(step.node)
                self._bound[value] = self._let(name, value)
            own = self._bound[value]
        self._values[step.node] = own
        return own

    def _stands(self, node: Node, drafted: Array) -> None:
        """Have a value stand where it is used."""
        value = self._change(drafted)
        self._values[node] = value
        value = self._final[drafted] = self._shortened(node, value)
        if not (self.plan.is_transparent(node) or self.plan.is_leaf(node)):
            self._inline.setdefault(value, node)

    def _shortened(self, node: Node | None, value: Array) -> Array:
        """The value of a node, with names for parts of it while it is too long."""
        if isinstance(node, Sum | Product) and len(children(node)) > MOST_OPERANDS:
            return value
        while is_long(value):
            part = self._part(node, value)
            if part is None:
                break
            own = self._part_named(part)
            value = self._rewritten(value, part, own)
            if node is not None:
                self._values[node] = value
        return value

    def _part(self, node: Node | None, value: Array) -> Array | None:
        """The part whose naming leaves the shortest texts."""
        whole = length(value)
        best: tuple[int, Array] | None = None
        for part in dict.fromkeys(_inside(value)):
            found = self._inline.get(part)
            if found is None or found is node or part.weak:
                continue
            own = length(part)
            if own >= WORTH_A_NAME:
                left = max(own, whole - own)
                if best is None or left <= best[0]:
                    best = (left, part)
        return best[1] if best else None

    def _part_named(self, part: Array) -> Array:
        """Name a part, with its axes as they were before they were turned."""
        node, axes = self._inline[part], tuple(range(part.order))
        value = part
        if isinstance(part.op, Permute):
            axes, (value,) = part.op.axes, part.args
        if value not in self._bound:
            self._bound[value] = self._let(self._picked(node), value)
        own = self._values[node] = permuted(self._bound[value], axes)
        return own

    def _rewritten(self, value: Array, part: Array, own: Array) -> Array:
        """A value with a variable in place of a part, and so all that is around it."""
        known = {part: own}
        found = replacing(known)(value)
        for old, new in known.items():
            if old is not new and old in self._inline and old is not part:
                node = self._inline[old]
                self._inline.setdefault(new, node)
                self._values[node] = new
        return found

    # Results

    def _returned(self, results: Sequence[Result]) -> list[Array]:
        returns: list[Array] = []
        held: dict[Node, Array] = {}
        roots = [result.root for result in results]
        for k, (root, fresh) in enumerate((x.root, x.fresh) for x in results):
            value = self._change(results[k].array)
            # Several results read better by name, and a view of two is one object.
            twice = root.order and not fresh and roots.count(root) > 1
            plain = isinstance(value.op, Variable) or (_is_short(value) and not twice)
            if root in held and not fresh:
                value = held[root]
            elif len(results) > 1 and not plain:
                # Results share no memory, so equal ones are not one.
                value = self._let(self._picked(root, self.root_names[k]), value)
            if twice:
                held[root] = value
            returns.append(value)
        return returns

    # Names

    def _let(self, name: str, value: Array) -> Array:
        self.lines.append(Let(name, value))
        return bound(name, value)

    def _picked(self, node: Node, suggestion: str | None = None) -> str:
        """A new name for a node: the user's, the caller's, or what the value is."""
        names = [self.plan.named.get(node), suggestion]
        if node in self.plan.roots:
            names.append(self.root_names[self.plan.roots.index(node)])
        names.append(self.plan.graph.suggestions.get(node))
        if not any(names):
            call = self.plan.origin.get(node, node)
            value = self._values.get(node) if call is node else None
            word = read_name(value) if value is not None else None
            names = [word or describe(call, self._name_of)]
        return self.names.pick([name for name in names if name])

    def _name_of(self, node: Node) -> str | None:
        """What the names of other values call this one."""
        if isinstance(node, Input):
            return node.name
        if node in self.plan.solved:
            return describe(node, self._name_of)
        value = self._values.get(node)
        word = stem(value) if value is not None else None
        if word is None and isinstance(node, Product) and not node.inner:
            below = list(self.plan.operands(node))
            return self._name_of(below[0]) if len(below) == 1 else None
        return word


def _roots(draft: Draft, results: Sequence[Result]) -> list[Array]:
    """What is computed whoever uses it."""
    found: list[Array] = []
    for step in draft.steps:
        if not isinstance(step, Value):
            found += operands(step)
        elif step.variable is not None:
            found.append(step.array)
    return [*found, *(result.array for result in results)]


def _inside(value: Array) -> Iterator[Array]:
    """Yield what a value is made of, from the left."""
    for one in value.args:
        yield from _inside(one)
        yield one


def _is_short(value: Array) -> bool:
    match value.op:
        case Copy(scalar=False):
            return True
        case Permute(axes=axes):
            return axes == tuple(reversed(range(len(axes))))
        case _:
            return False
