"""What a right side is, read as a step: entries of names that step, and items.

Entries of names that step together stand for states, those of the same step for what it
has made already. What else is taken at the index of the steps is an item: one of the
rows of an array that is known before.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field

from tensorgen.errors import Span
from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.lang.affine import affine_form
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.scope import Names, Thing
from tensorgen.lang.statement import Statement
from tensorgen.lang.subscripts import select
from tensorgen.lang.syntax import Expression, names_in, places_of, with_places
from tensorgen.operators.functions.array import Array
from tensorgen.spec.model import Definition


@dataclass(slots=True)
class Member:
    """A name that steps: what gives its first entries, and what all others.

    Entry `t + shift` is given by a step, at the place `axis` of the brackets; the other
    places are indices, or None for `:`.
    """

    name: str
    definition: Definition
    body: Expression
    axis: int = 0
    shift: int = 0
    others: list[Index | None] = field(default_factory=list)
    starts: dict[Dim, Array] = field(default_factory=dict)
    lags: int = 0
    value: Array | None = None

    @property
    def indices(self) -> list[Index]:
        """The indices on the left but that of the steps."""
        return [index for index in self.others if index is not None]

    @property
    def span(self) -> Span:
        """Where the name stands on the left of its step."""
        return self.definition.name_text.span()


@dataclass(slots=True)
class Stepping:
    """The names that step together, while their right sides are read."""

    members: dict[str, Member]
    index: Index
    low: Dim = field(default_factory=Dim)
    count: Dim = ONE
    backwards: bool = False
    states: dict[tuple[str, int], Input] = field(default_factory=dict)
    items: dict[Input, Node] = field(default_factory=dict)
    failed: bool = False
    needs: dict[str, list[str]] = field(default_factory=dict)
    by_entries: dict[int, tuple[ast.Call, ast.Call]] = field(default_factory=dict)
    followers: dict[str, Callable[[int], Array | None]] = field(default_factory=dict)
    """What entries so many steps back are, of names that follow from others."""

    # What a right side asks

    def entry(self, e: Statement, tree: ast.Subscript) -> tuple[bool, Array | None]:
        """Return the entries of an array in a step; whether this is for us comes first.

        Arrays that are not taken at the index of the steps are read as everywhere.
        """
        base = tree.value
        if isinstance(base, ast.Name) and base.id in self.members:
            return True, self._state(e, self.members[base.id], tree)
        own = names_in(tree.slice)
        if self.index.name not in own or e.scope.get(self.index.name) is not self.index:
            return False, None
        names = names_in(tree)
        # Without states it is read for all steps, places behind index arrays too.
        e.steps = self if names & {*self.members} else None
        try:
            array = e.value(base)
            found = None if array is None else select(e, array, tree)
        finally:
            e.steps = self
        if found is None or self.index not in found.batch:
            return True, found
        places = {*self.items, *self.states.values()}
        if not places.isdisjoint(topological([found.node])):
            message = "what a step computes is no array over all steps"
            e.fault(message, tree, hint="take entries of names, as in x[t]")
            return True, None
        return True, self.item(e, found)

    def number(self, e: Statement) -> Array:
        """The index of the steps as a number."""
        graph = e.build.graph
        rows = graph.sum(
            ("step",),
            [(1, graph.iota(self.count), ("step",)), (1, graph.size(self.low), ())],
        )
        return self.item(e, Array(rows, (self.index,)))

    def item(self, e: Statement, found: Array) -> Array:
        """The entries at one step of what has the index of the steps."""
        graph, index = e.build.graph, self.index
        batch = tuple(label for label in found.batch if label is not index)
        axes = [("axis", k) for k in range(found.order)]
        rows = graph.product((index, *batch, *axes), [(found.node, found.labels(axes))])
        for place, known in self.items.items():
            if known is rows:
                return Array(place, batch)
        place = graph.fresh(rows.dims[1:], (), index_bound(rows))
        self.items[place] = rows
        return Array(place, batch)

    def _state(self, e: Statement, member: Member, tree: ast.Subscript) -> Array | None:
        """The entry of a name that steps, of this step or of one before."""
        places = places_of(tree)
        if len(places) <= member.axis:
            message = f"'{member.name}' is given entry by entry along another axis"
            e.fault(message, tree, [(member.span, "here")])
            return None
        at = places.pop(member.axis)
        form = None if isinstance(at, ast.Slice) else affine_form(e, at)
        base = None if form is None else self._at(e, member, form, at)
        if form is None:
            message = f"'{member.name}' is computed step by step"
            hint = f"take an entry of an earlier step: {self.index.name} - 1"
            e.fault(message, at, [(member.span, "here")], hint)
        if base is None or not places:
            return base
        return select(e, base, with_places(tree, tree.value, places))

    def _at(
        self, e: Statement, member: Member, form: Form, at: ast.expr
    ) -> Array | None:
        if not form.terms:
            if form.const in member.starts:
                return member.starts[form.const]
            message = f"entry {form.const} of '{member.name}' is computed by a step"
            e.fault(message, at, [(member.span, "here")], "steps see earlier entries")
            return None
        shift = (form - Form.atom(self.index)).const.constant
        if form.terms != Form.atom(self.index).terms or shift is None:
            message = f"an entry of '{member.name}' is so many steps back"
            t = self.index.name
            hint = f"write {t}, plus or minus a number"
            if (form - Form.atom(self.index)).indices:
                hint += "; a state of the last entries is shifted by each step: "
                hint += f"c[{t} + 1, :] = concatenate([[new], c[{t}, :-1]])"
            e.fault(message, at, [(member.span, "here")], hint)
            return None
        lag = shift - member.shift if self.backwards else member.shift - shift
        if lag < 0:
            message = f"this entry of '{member.name}' is computed by a later step"
            e.fault(message, at, [(member.span, "here")])
            return None
        if lag == 0:
            return member.value
        if lag > len(member.starts):
            self._missing(e, member, lag, at)
            return None
        if member.name in self.followers:
            found = self.followers[member.name](lag)
            if found is not None:
                return found
        member.lags = max(member.lags, lag)
        return Array(self.states[member.name, lag])

    def _missing(self, e: Statement, member: Member, lag: int, at: ast.expr) -> None:
        first = [f"{member.name}[{k}] = ..." for k in range(lag)]
        known = f"{len(member.starts)} of these" if member.starts else "none"
        message = f"the first {lag} entries" if lag > 1 else "the first entry"
        verb = "have" if lag > 1 else "has"
        is_given = f"and {known} {'are' if len(member.starts) > 1 else 'is'} given"
        text = f"{message} of '{member.name}' {verb} to be given, {is_given}"
        e.fault(text, at, [(member.span, "a step")], f"add {', '.join(first)}")

    def is_now(self, e: Statement, other: Member, tree: ast.Subscript) -> bool:
        """Whether an entry of a name is one of the same step, where `e` reads it."""
        parts = places_of(tree)
        if len(parts) <= other.axis:
            return False
        form = affine_form(e, parts[other.axis])
        return form is not None and form == Form.atom(self.index) + other.shift

    # Derivatives by what a step has

    def by_entry(self, e: Statement, tree: ast.Call) -> tuple[ast.Call, Names] | None:
        """Return a derivative by an entry of a name that steps as one by a variable.

        A state is a variable in all that the step makes of it. What the step has made
        itself is one where the text mentions it, and nothing else may follow from it.
        The value of the name that the new text has is None where a fault was noted.
        """
        by, name = tree.args[1], ""
        if isinstance(by, ast.Subscript) and isinstance(by.value, ast.Name):
            name = by.value.id
        member = self.members.get(name)
        if member is None or not isinstance(by, ast.Subscript):
            return None
        parts = places_of(by)
        at = parts[member.axis] if len(parts) > member.axis else by
        form = None if at is by else affine_form(e, at)
        value = None
        # A first entry is one where nothing else that steps can have been made of it.
        others = names_in(tree.args[0]) & {*self.members} - {name}
        if form is None or (not form.terms and others):
            hint = f"such as {name}[{self.index.name}]"
            e.fault("a derivative in a step is by what a step has", by, hint=hint)
        elif self._may_vary(e, member, tree.args[0], by):
            value = self._at(e, member, form, at)
        variable = f"{name}[{form}]"
        is_made = form is not None and (
            not form.terms or form == Form.atom(self.index) + member.shift
        )
        if id(tree) not in self.by_entries:
            put = _Variable(e, member, form, variable)
            first = put.visit(deepcopy(tree.args[0])) if is_made else tree.args[0]
            args = [first, put.visit(deepcopy(by)), *tree.args[2:]]
            call = ast.copy_location(ast.Call(tree.func, args, tree.keywords), tree)
            # Both readings of a text read the same tree, which has its own indices.
            self.by_entries[id(tree)] = (tree, call)
        names = Names(e.names.file, dict(e.names.local), dict(e.names.again))
        names.local[variable] = Thing("an entry", value)
        if is_made:
            names.again[variable] = lambda names: names.local[variable]
        return self.by_entries[id(tree)][1], names

    def _may_vary(
        self, e: Statement, member: Member, tree: ast.expr, by: ast.Subscript
    ) -> bool:
        """Whether nothing in a text is made of an entry that is a variable there."""
        if not self.is_now(e, member, by):
            return True
        for part in (x for x in ast.walk(tree) if isinstance(x, ast.Subscript)):
            name = part.value.id if isinstance(part.value, ast.Name) else ""
            other = self.members.get(name)
            if other is None or other is member or not self.is_now(e, other, part):
                continue
            needed, waiting = {name}, [name]
            while waiting:
                fresh = {*self.needs.get(waiting.pop(), ())} - needed
                needed |= fresh
                waiting += fresh
            if member.name in needed:
                message = f"'{name}' follows from '{member.name}' in the same step"
                marks = [(e.expression.span(by), "the variable")]
                hint = f"write what '{name}' is in place of it"
                e.fault(message, part, marks, hint)
                return False
        return True

    def whole(self, e: Statement, name: str, tree: ast.expr) -> None:
        """Report a name that steps without an entry."""
        message = f"'{name}' is computed step by step, and is no whole array here"
        hint = f"take an entry, as in {name}[{self.index.name} - 1]"
        e.fault(message, tree, [(self.members[name].span, "here")], hint)


class _Variable(ast.NodeTransformer):
    """Puts a variable in the place of one entry of a name, wherever that stands."""

    def __init__(self, e: Statement, member: Member, form: Form | None, to: str):
        self.e, self.member, self.form, self.to = e, member, form, to

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        parts, axis = places_of(node), self.member.axis
        if not isinstance(node.value, ast.Name) or node.value.id != self.member.name:
            return node
        if len(parts) <= axis or affine_form(self.e, parts.pop(axis)) != self.form:
            return node
        variable = ast.copy_location(ast.Name(self.to, ast.Load()), node)
        return with_places(node, variable, parts) if parts else variable
