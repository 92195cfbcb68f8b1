"""Brackets behind an array: positions of index notation, slices, `None`.

All of it is one product with affine deltas: `x[2*i + 1]` is the sum over p of
`delta(p - 2*i - 1) * x[p]`, and so is a slice, whose index is a new positional axis.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from tensorgen.ir.dims import ONE, Dim, tuple_text
from tensorgen.ir.nodes import Constraint, Node, Sum, affine, delta
from tensorgen.lang.affine import affine_form, constraint, size_form
from tensorgen.lang.ends import one_end
from tensorgen.lang.gathers import Gathered, gathered, placed
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.ranges import floor_divided
from tensorgen.lang.statement import Statement
from tensorgen.lang.syntax import places_of
from tensorgen.operators.functions.array import Array, Label, Misuse


@dataclass(slots=True)
class _View:
    """The product that a pair of brackets means, part by part."""

    axes: list[Label] = field(default_factory=list)
    out: list[Label] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    sizes: dict[Label, Dim] = field(default_factory=dict)
    indices: dict[Label, None] = field(default_factory=dict)
    gathered: Gathered | None = None
    joint: list[Label] = field(default_factory=list)

    def new_axis(self, dim: Dim) -> Label:
        """Add a positional axis to the result."""
        label = ("new", len(self.out))
        self.out.append(label)
        self.sizes[label] = dim
        return label

    def gather(self) -> list[Label]:
        """Return the axes of all index arrays, which are made once."""
        if self.gathered is not None and not self.joint:
            self.joint = [self.new_axis(dim) for dim in self.gathered.shape]
        return self.joint

    def fix(self, dim: Dim, equal: Constraint) -> None:
        """Add an axis whose place is given; `equal` is what it equals, negated."""
        label = ("axis", len(self.axes))
        self.axes.append(label)
        self.sizes[label] = dim
        form = equal.form + affine([(label, 1)])
        self.constraints.append(Constraint("eq", form))

    def apply(self, e: Statement, base: Array, distribute: bool) -> Array:
        """Build the product, or with `distribute` one for each term of a sum."""
        batch = tuple(dict.fromkeys((*base.batch, *self.indices)))
        out = (*batch, *self.out)
        sizes = dict(self.sizes)
        sizes.update(e.sizes(self.indices))
        graph = e.build.graph

        def part(node: Node, labels: tuple[Label, ...]) -> Node:
            return graph.product(
                out, [(node, labels)], constraints=self.constraints, sizes=sizes
            )

        labels = base.labels(self.axes)
        if not (distribute and isinstance(base.node, Sum)):
            return Array(part(base.node, labels), batch)
        # Fixed axes that a term lacks must still be summed over their one value.
        terms = []
        for term in base.node.terms:
            whole = graph.product(
                range(base.node.order),
                [(term.node, term.labels)],
                sizes=dict(enumerate(base.node.dims)),
            )
            terms.append((term.coefficient, part(whole, labels), out))
        return Array(graph.sum(out, terms), batch)


def subscript(e: Statement, tree: ast.Subscript) -> Array | None:
    """Return the entries of an array at positions."""
    if (other := one_end(e, tree)) is not None:
        return e.value(other)
    if e.steps is not None:
        ours, found = e.steps.entry(e, tree)
        if ours:
            return found
    base = e.value(tree.value)
    return None if base is None else select(e, base, tree)


def select(
    e: Statement, base: Array, tree: ast.Subscript, distribute: bool = False
) -> Array | None:
    """Apply the brackets of `tree` to the positional axes of `base`."""
    items = places_of(tree)
    taken = [item for item in items if not _is_special(item)]
    if sum(map(_is_ellipsis, items)) > 1:
        e.fault("'...' occurs twice between the brackets", tree)
        return None
    if len(taken) > base.order:
        shown = e.expression.source(tree.value)
        label = tuple_text(base.shape)
        axes = f"{base.order} ax{'i' if base.order == 1 else 'e'}s"
        message = f"'{shown}' has {axes} and {len(taken)} positions are given"
        new = any(map(_is_newaxis, taken))
        hint = "a new axis is written None: x[:, None]" if new else None
        e.fault(message, tree, [(e.expression.span(tree.value), label)], hint=hint)
        return None
    view = _View(gathered=gathered(e, items))
    fine, rest = view.gathered is not None, base.order - len(taken)
    if view.gathered is not None and view.gathered.first:
        view.gather()
    for item in items:
        if _is_ellipsis(item):
            while rest:
                _whole(view, base)
                rest -= 1
        elif isinstance(item, ast.Constant) and item.value is None:
            view.new_axis(ONE)
        else:
            length, before = base.shape[len(view.axes)], len(view.axes)
            add = _slice if isinstance(item, ast.Slice) else _position
            fine &= add(e, view, length, item, tree)
            if len(view.axes) == before:
                # After a fault: so that the next one is about the right axis.
                view.axes.append(None)
    while fine and len(view.axes) < base.order:
        _whole(view, base)
    return view.apply(e, base, distribute) if fine else None


def _is_newaxis(item: ast.expr) -> bool:
    name = item.attr if isinstance(item, ast.Attribute) else None
    return (item.id if isinstance(item, ast.Name) else name) == "newaxis"


def _is_ellipsis(item: ast.expr) -> bool:
    return isinstance(item, ast.Constant) and item.value is Ellipsis


def _is_special(item: ast.expr) -> bool:
    return _is_ellipsis(item) or (isinstance(item, ast.Constant) and item.value is None)


def _whole(view: _View, base: Array) -> None:
    dim = base.shape[len(view.axes)]
    view.axes.append(view.new_axis(dim))


def _position(
    e: Statement, view: _View, length: Dim, item: ast.expr, tree: ast.Subscript
) -> bool:
    """Add one position that is no slice."""
    if view.gathered is None:
        return False  # after a fault
    form = view.gathered.forms.get(item)
    if form is None:
        return _gather(e, view, item, length)
    if not form.terms:
        if form.const.constant is not None and form.const.constant < 0:
            form = form + length
        ok = _required(e, tree, [(Dim(), form.const), (form.const + 1, length)], item)
        view.fix(length, constraint(e, "eq", -form))
        return ok
    e.position(form, Form.constant(length - 1) - form, length, tree)
    view.indices.update(dict.fromkeys(form.mentioned))
    atom, c = form.terms[0]
    plain = len(form.terms) == 1 and c == 1 and form.const == 0
    if plain and isinstance(atom, Index) and _spans(e, atom, length):
        view.axes.append(atom)
        return True
    view.fix(length, constraint(e, "eq", -form))
    return True


def _spans(e: Statement, index: Index, length: Dim) -> bool:
    """Whether an index takes all places of an axis, so that it can label it."""
    return e.low(index) == 0 and e.size(index) == length


def _gather(e: Statement, view: _View, item: ast.expr, length: Dim) -> bool:
    """Add an index array with axes of its own, as in `U[row]`."""
    assert view.gathered is not None
    array, own = view.gathered.arrays[item]
    joint = view.gather()
    labels = [joint[k] for k in own if isinstance(k, int)]
    equal = placed(e, array, labels, length, item)
    if equal is None:
        return False
    view.indices.update(dict.fromkeys(array.batch))
    view.fix(length, equal)
    return True


def _required(
    e: Statement, tree: ast.expr, pairs: list[tuple[Dim, Dim]], place: ast.expr
) -> bool:
    """Demand `low <= high` for each pair."""
    for low, high in pairs:
        try:
            e.build.require(low, high, f"'{e.expression.source(tree)}'")
        except Misuse as misuse:
            e.misused(misuse, place, {})
            return False
    return True


# Slices


def _slice(
    e: Statement, view: _View, length: Dim, item: ast.expr, tree: ast.Subscript
) -> bool:
    assert isinstance(item, ast.Slice)
    stated = ONE if item.step is None else size_form(e, item.step)
    step = None if stated is None else stated.constant
    if step == 0 or step is None:
        e.fault("the step of a slice must be an integer other than 0", item)
        return False
    if step < 0:
        return _backwards(e, view, item, length, step)
    start = _limit(e, item.lower, Dim(), length)
    stop = _limit(e, item.upper, length, length)
    if start is None or stop is None:
        return False
    extent = stop - start
    if extent.terms:
        hint = "its length must not depend on an index: x[i:i + 3]"
        e.fault("the slice has no fixed length", item, hint=hint)
        return False
    count = floor_divided(extent.const + step - 1, step)
    if count is None:
        whole = str(extent.const)
        whole = f"({whole})" if " " in whole else whole
        hint = f"state the dim as a multiple: {step}*m in the place of {length}"
        message = f"the length {whole} / {step} is not affine in the dims"
        e.fault(message, item, hint=hint)
        return False
    pairs = [(Dim(), extent.const)]
    if start.terms:
        e.position(start, Form.constant(length) - stop, length + 1, tree)
        view.indices.update(dict.fromkeys(start.mentioned))
    else:
        pairs = [(Dim(), start.const), (start.const, stop.const), (stop.const, length)]
    if not _required(e, tree, pairs, item):
        return False
    if item.lower is item.upper is None and step == 1:
        view.axes.append(view.new_axis(length))
        return True
    new = view.new_axis(count)
    form = constraint(e, "eq", -start).form
    view.fix(length, Constraint("eq", form + affine([(new, -step)])))
    return True


def _backwards(
    e: Statement, view: _View, item: ast.Slice, length: Dim, step: int
) -> bool:
    count = floor_divided(length - step - 1, -step)
    if item.lower is not None or item.upper is not None or count is None:
        hint = "index notation does it: x[n - 1 - i]"
        e.fault("a backward slice with limits is not supported", item, hint=hint)
        return False
    new = view.new_axis(count)
    view.fix(length, delta({new: -step}, 1 - length))
    return True


def _limit(
    e: Statement, tree: ast.expr | None, default: Dim, length: Dim
) -> Form | None:
    """A limit of a slice; a literal below 0 counts from the end."""
    if tree is None:
        return Form.constant(default)
    form = affine_form(e, tree)
    if form is None:
        hint = "limits are affine forms of dims and indices"
        e.no_form(tree, "'{}' cannot limit a slice", hint)
        return None
    literal = form.const.constant
    if not form.terms and literal is not None and literal < 0:
        return form + length
    return form
