"""Where products read arrays: at few places, where deltas or equal labels fix axes."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from tensorgen.ir.constraints import looked_up, solvable, solved
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Label,
    Node,
    Product,
    Ref,
    affine,
    once,
)
from tensorgen.ir.rebuild import with_parts
from tensorgen.passes.cost import CostModel
from tensorgen.prices.thresholds import GAIN_OF_A_RULE


class Reading(NamedTuple):
    """A factor whose axes are `forms` of fewer labels, by deltas of the product.

    `sizes` are those of the labels that are left, `ties` the deltas.
    """

    node: Product
    place: int
    forms: tuple[Affine, ...]
    sizes: dict[Label, Dim]
    ties: tuple[Constraint, ...]

    @property
    def factor(self) -> Ref:
        """What is read."""
        return self.node.factors[self.place]

    def is_few(self, cost: CostModel) -> bool:
        """Whether far fewer entries are read than there are."""
        whole = cost.size(self.factor.node.dims)
        return GAIN_OF_A_RULE * self.entries(cost) <= whole

    def entries(self, cost: CostModel) -> float:
        """How many entries are read."""
        return cost.size(self.sizes.values())

    def replaced(
        self, graph: Graph, new: Ref, extra: Collection[Constraint] = ()
    ) -> Node:
        """The product with another factor for what was read, of its labels.

        A tie stays where something else mentions the axis that it fixes.
        """
        node, used = self.node, _elsewhere(self.node, self.place, self.ties)
        fixed = {*self.factor.labels} - {*self.sizes}
        refs = [new if k == self.place else ref for k, ref in enumerate(node.factors)]
        constraints = [c for c in node.constraints if c not in self.ties]
        constraints += [t for t in self.ties if {*t.form.labels} & fixed & used]
        return with_parts(graph, node, refs, [*constraints, *extra])


def reading(node: Product, place: int, by_deltas: bool = True) -> Reading | None:
    """Return how a product reads one of its factors; None where it reads it whole."""
    # Plans have most products in common, and each asks twice.
    find = partial(_reading, node, place, by_deltas)
    return once(node, (reading, place, by_deltas), find)


def _reading(node: Product, place: int, by_deltas: bool) -> Reading | None:
    labels = node.factors[place].labels
    if not (by_deltas and node.constraints) and len({*labels}) == len(labels):
        return None
    used = _elsewhere(node, place, node.constraints)
    forms: dict[Label, Affine] = {}
    ties: list[Constraint] = []
    # What nobody else mentions is fixed first.
    for x in sorted({*labels}, key=lambda x: (x in used, -x)):
        for tie in node.constraints if by_deltas else ():
            if tie in ties or x not in solvable(tie) or x in looked_up([tie.form]):
                continue
            value = solved(tie.form, x)
            if {*value.labels} & {*forms}:
                continue
            forms = {y: form.substituted(x, value) for y, form in forms.items()}
            forms[x] = value
            ties.append(tie)
            break
    axes = tuple(forms.get(x, affine([(x, 1)])) for x in labels)
    left = {x: node.sizes[x] for form in axes for x in form.labels}
    if (len({*labels}) == len(labels) and not ties) or {*left} & {*forms}:
        return None
    return Reading(node, place, axes, dict(sorted(left.items())), tuple(ties))


def _elsewhere(node: Product, place: int, ties: Collection[Constraint]) -> set[Label]:
    """The labels of the result, of other factors, and of constraints but the ties."""
    rest = [ref.labels for k, ref in enumerate(node.factors) if k != place]
    rest += [c.form.labels for c in node.constraints if c not in ties]
    return set(range(node.order)).union(*rest)
