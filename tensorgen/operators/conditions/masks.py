"""Masks as clauses: where a node is read, in the axes of that node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tensorgen.ir.between import without_wider
from tensorgen.ir.constraints import Ranges, solvable
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constraint,
    Input,
    Label,
    Map,
    Node,
    Product,
    Ref,
    constant_value,
    topological,
)
from tensorgen.ir.rebuild import sizes_of
from tensorgen.ir.vanish import masks_of
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.calls import apply as call
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.reductions_by_blocks import kept_axes
from tensorgen.operators.scalar import apply, operands


class Clause(NamedTuple):
    """A mask that holds wherever a node is read.

    `axes` are the axes of the node that the mask's axes are. Inputs in `spared` are
    read where the mask fails as well, so it excludes nothing of them; nor does it of
    the nodes in `shared`, whose same entries are, each with the axes of the mask.
    """

    mask: Node
    axes: tuple[int, ...]
    spared: frozenset[Node] = frozenset()
    shared: frozenset[tuple[Node, tuple[int, ...]]] = frozenset()


Context = tuple[Clause, ...]
"""Masks that all hold."""


def of_operand(context: Context, labels: Sequence[Label]) -> Context:
    """The masks that an operand with these labels can tell apart, in its axes."""
    return tuple(
        clause._replace(axes=tuple(labels.index(a) for a in clause.axes))
        for clause in context
        if set(clause.axes) <= set(labels)
    )


def of_factor(
    graph: Graph,
    node: Product,
    deltas: Iterable[Constraint],
    context: Context,
    labels: Sequence[Label],
) -> Context:
    """The masks that a factor of a product can tell apart, its places seen by deltas.

    Where `q[i, j + 1]` is read if `i <= j`, its entry at i and p is if `i < p`.
    """
    given = _given([c for c in deltas if c.kind == "eq"], labels)
    found = []
    for clause in context:
        apart = [given.get(axis) for axis in clause.axes if axis not in labels]
        if None in apart or not apart:
            continue
        held = tuple(dict.fromkeys(c for one in apart for c in one or ()))
        seen = {*clause.axes, *(x for c in held for x in c.form.labels)}
        axes = tuple(x for x in dict.fromkeys(labels) if x in seen)
        sizes = {x: node.sizes[x] for x in seen}
        factors = [Ref(clause.mask, clause.axes)]
        mask = _narrowest(graph, axes, factors, held, sizes)
        if constant_value(mask) is None:
            found.append(Clause(mask, tuple(map(labels.index, axes)), clause.spared))
    return (*of_operand(context, labels), *found)


def _given(
    deltas: Sequence[Constraint], labels: Sequence[Label]
) -> dict[Label, tuple[Constraint, ...]]:
    """The labels whose place those of a factor give, each with the deltas that do."""
    given: dict[Label, tuple[Constraint, ...]] = dict.fromkeys(labels, ())
    count = 0
    while count < len(given):
        count = len(given)
        for delta in deltas:
            new = [x for x in delta.form.labels if x not in given]
            if len(new) == 1 and delta.form.coefficient(new[0]):
                others = [c for x in delta.form.labels if x in given for c in given[x]]
                given[new[0]] = (delta, *others)
    return given


def covers(context: Context, labels: Sequence[Label]) -> bool:
    """Whether an operand with these labels can tell all masks apart."""
    return all(set(clause.axes) <= set(labels) for clause in context)


def alike(masks: Context, others: Context) -> bool:
    """Whether two lists of masks exclude the same."""
    mine, theirs = ({clause[:2] for clause in x} for x in (masks, others))
    return mine == theirs


def projected(
    graph: Graph, context: Context, labels: Sequence[Label], spared: frozenset[Node]
) -> Context:
    """The masks of an operand with these labels, in its axes, `spared` by new ones.

    Where masks have axes besides, it is read if they hold at any place along those.
    """
    known = set(labels)
    apart = [clause for clause in context if not set(clause.axes) <= known]
    groups = [
        tuple(clause for clause in apart if set(clause.axes) - known <= set(axes))
        for _, axes, *_ in beyond(context, labels)
    ]
    largest = [g for g in groups if not any(set(g) < set(other) for other in groups)]
    found = [_anywhere(graph, group, labels) for group in dict.fromkeys(largest)]
    new = [clause._replace(spared=clause.spared | spared) for clause in found]
    return (*of_operand(context, labels), *new)


def beyond(context: Context, labels: Sequence[Label]) -> Context:
    """The masks made of data that have some of these labels for axes, and others.

    Ranges are none of them: they hide hardly any place along all of another axis.
    """
    return tuple(
        clause
        for clause in context
        if 0 < len(set(clause.axes) & set(labels)) < len(set(clause.axes))
        and any(isinstance(node, Input) for node in topological([clause.mask]))
    )


def together(graph: Graph, masks: Context) -> Ref:
    """Masks as one condition, in which ranges are one as well."""
    plain = [clause for clause in masks if _is_range(clause.mask)]
    rest = [Ref(*clause[:2]) for clause in masks if clause not in plain]
    if plain:
        parts = [Ref(clause.mask, clause.axes) for clause in plain]
        axes = tuple(dict.fromkeys(axis for clause in plain for axis in clause.axes))
        rest.insert(0, Ref(_narrowest(graph, axes, parts), axes))
    joint, *others = rest
    for mask in others:
        joint = apply(graph, "logical_and", joint, mask)
    return joint


def _narrowest(
    graph: Graph,
    axes: Sequence[Label],
    masks: Sequence[Ref],
    deltas: Sequence[Constraint] = (),
    sizes: Mapping[Label, Dim] | None = None,
) -> Node:
    """A product of masks, of whose ranges none implies another."""
    mask = graph.product(axes, masks, constraints=deltas, sizes=sizes or {})
    if not (isinstance(mask, Product) and _is_range(mask)):
        return mask
    own = sizes_of(mask)
    kept = without_wider(mask.constraints, Ranges.of(own).keep_nonnegative)
    return graph.product(range(mask.order), [], constraints=kept, sizes=own)


def _is_range(mask: Node) -> bool:
    return isinstance(mask, Product) and not (mask.factors or mask.inner)


def _anywhere(graph: Graph, masks: Context, labels: Sequence[Label]) -> Clause:
    """Where masks hold together at any place along the axes that are no labels."""
    joint = together(graph, masks)
    gone = tuple(k for k, axis in enumerate(joint.labels) if axis not in labels)
    kept = tuple(labels.index(axis) for axis in joint.labels if axis in labels)
    spared = frozenset[Node]().union(*(mask.spared for mask in masks))
    return Clause(call(graph, "any", [joint.node], axes=gone), kept, spared)


def axes_of_argument(node: Call) -> tuple[Label, ...]:
    """For each axis of a call's argument that of the result; new ones count from -1."""
    arg = node.args[0]
    kept: dict[int, int] = {}
    if OPERATORS[node.operator].work and len(node.args) == 1:
        kept = {axis: axis for axis in range(arg.order - 2)}
    elif "axes" in dict(node.params):
        axes = kept_axes(node)
        same = node.order == arg.order
        kept = {axis: axis if same else k for k, axis in enumerate(axes)}
    return tuple(kept.get(axis, -1 - axis) for axis in range(arg.order))


def entries(side: Ref) -> Iterator[Ref]:
    """What is read, entry by entry, for each entry of a side; and the side itself."""
    waiting, seen = [side], {side}
    while waiting:
        one = waiting.pop()
        yield one
        fresh = [x for x in operands(one) or () if x not in seen]
        seen.update(fresh)
        waiting += fresh


def excludes(node: Node) -> bool:
    """Whether a node leaves something out that stands below it."""
    if isinstance(node, Product):
        return any(c.kind == "ge" for c in node.constraints)
    return isinstance(node, Map) and node.function == "where"


def clauses(graph: Graph, condition: Ref) -> Iterator[Clause]:
    """The masks that all hold where a condition does."""
    node, labels = condition
    parts: list[Ref] = []
    if isinstance(node, Map) and node.function == "logical_and":
        parts = list(node.args)
    elif isinstance(node, Product) and node.coefficient == 1 and not node.inner:
        found = ranges(graph, sizes_of(node), node.constraints)
        parts = [*node.factors, *map(Ref._make, found.values())]
    elif constant_value(node) is None:
        yield Clause(node, labels)
    for part in parts:
        mine = part.under(condition)
        plain = isinstance(part.node, Product) and not part.node.factors
        yield from [Clause(*mine)] if plain else clauses(graph, mine)


def ranges(
    graph: Graph, sizes: Mapping[Label, Dim], constraints: Sequence[Constraint]
) -> dict[Constraint, tuple[Node, tuple[int, ...]]]:
    """Constraints over labels of these sizes as masks, with these for axes.

    What sizes decide hides all or nothing.
    """
    found = {}
    for constraint in constraints:
        labels = tuple(sorted(set(constraint.form.labels)))
        if not labels:
            continue
        own = {label: sizes[label] for label in labels}
        mask = graph.product(labels, [], constraints=[constraint], sizes=own)
        found[constraint] = (mask, labels)
    return found


def absorbed(graph: Graph, pair: tuple[Ref, ...]) -> list[Ref] | None:
    """A condition beside what is 0 wherever it fails, or beside itself."""
    condition, other = pair
    node = condition.node
    if not (isinstance(node, Map) and ELEMENTWISE[node.function].boolean):
        return None
    return [other] if condition == other or condition in masks_of(other) else None


def with_views(graph: Graph, node: Product) -> tuple[list[Ref], tuple[Constraint, ...]]:
    """The factors of a product as they are read, and the constraints that are left.

    In `w[i, p] * delta(p, j + 1)` the factor is `w[i, j + 1]`, with the labels i and j.
    """
    rest = list(node.constraints)
    uses = Counter(x for ref in node.factors for x in set(ref.labels))
    uses.update(x for c in rest for x in set(c.form.labels))
    views: list[Ref] = []
    for factor in node.factors:
        deltas = []
        for constraint in list(rest):
            for label in solvable(constraint):
                own = factor.labels.count(label) == 1 and label >= node.order
                if own and uses[label] == 2:
                    deltas.append((label, constraint))
                    rest.remove(constraint)
                    break
        views.append(_view(graph, node, factor, deltas) if deltas else factor)
    if [view.node for view in views] == [node]:  # it is such a view itself
        return list(node.factors), node.constraints
    return views, tuple(rest)


def _view(
    graph: Graph, node: Product, factor: Ref, deltas: Sequence[tuple[Label, Constraint]]
) -> Ref:
    """A factor at the positions that deltas say, each of one of its labels."""
    gone = [label for label, _ in deltas]
    seen = [*factor.labels, *(x for _, delta in deltas for x in delta.form.labels)]
    labels = tuple(x for x in dict.fromkeys(seen) if x not in gone)
    view = graph.product(
        labels,
        [factor],
        constraints=[delta for _, delta in deltas],
        sizes={x: node.sizes[x] for x in seen},
    )
    return Ref(view, labels)
