"""What the passes work on, and what they may ask while they do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from tensorgen.ir.effort import PASS
from tensorgen.ir.graph import Graph
from tensorgen.ir.laws import Law
from tensorgen.ir.nodes import Node, topological
from tensorgen.passes.cost import CostModel
from tensorgen.passes.rates import Rate, Rates
from tensorgen.prices.thresholds import CALLS_OF_A_PROBLEM


class Kept(Protocol):
    """What is kept of a derivative tensor: to passes, arrays."""

    @property
    def arrays(self) -> tuple[Node, ...]:
        """The arrays, each once, in order."""

    @property
    def symbols(self) -> set[str]:
        """The sizes that are asked for beside the arrays."""

    @property
    def read_as(self) -> Kept | None:
        """What the arrays were read in the place of: it holds as much, or little more,
        and both are compared by what they cost."""

    def cut_short(self) -> Kept:
        """The same, where looking for less took too long."""


Compress = Callable[[Graph, Node, CostModel, Node], Kept]
"""What is kept of a derivative tensor, flattened and as it was before."""

Read = Callable[[Graph, Kept, CostModel, Node, bool], Kept]
"""What is kept of a derivative tensor, read off the tensor as it was before: whole
blocks, or entries apart."""

System = Callable[[Graph, Node, CostModel], Node | None]
"""A matrix as what solves by its structure; None where it has none."""


@dataclass(frozen=True)
class Context:
    """Where nodes are made, what they cost, and what is asked for.

    Without `cross_country` contractions keep the order that their mode gave them, and
    nothing is compressed. With `rates`, what changes less often is computed apart. The
    roots at the positions `compressed` are derivative tensors, of which only what these
    functions keep is computed; those of `readings` may read it off the tensors. The
    last `doubtful` roots may never be asked for. `entries` are the sizes that sparse
    matrices bring along: no array has two of them. Systems are solved by what `system`
    sees in their matrices. `told` hears what each pass makes of a plan.
    """

    graph: Graph
    cost: CostModel = field(default_factory=lambda: CostModel({}))
    rates: Rates | None = None
    cross_country: bool = True
    compressed: Mapping[int, Compress] = field(default_factory=dict)
    readings: Mapping[int, Read] = field(default_factory=dict)
    doubtful: int = 0
    entries: frozenset[str] = frozenset()
    system: System | None = None
    told: Callable[[Law, Plan, Plan], None] | None = None

    def certain(self, roots: Sequence[Node]) -> list[Node]:
        """What is computed whatever is asked for, operands first."""
        return topological(roots[: len(roots) - self.doubtful])

    def price(self, roots: Sequence[Node]) -> float:
        """The cost of a call: all that is needed, of what never changes a share."""
        nodes = topological(roots)
        whole = [node for node in nodes if not self._is_steady(node)]
        return sum(map(self.work, nodes)) - self.cost.shared(whole)

    def work(self, node: Node) -> float:
        """The share of one node in the cost of a call, operands given."""
        share = CALLS_OF_A_PROBLEM if self._is_steady(node) else 1
        return self.cost.work(node) / share

    def _is_steady(self, node: Node) -> bool:
        return self.rates is not None and self.rates.of(node) == Rate.DATA


@dataclass(frozen=True)
class Plan:
    """What to compute for a list of roots.

    `parts` has the nodes of each root: itself, or the arrays that its structure in
    `tensors` keeps. `formulas` has each root in the form that reads best, `derived`
    as the calculus left it, if it has been flattened. A `last` plan has to be far
    cheaper than others. What is `lost` to another one is kept for its tensors alone: no
    pass goes on with it.
    """

    parts: tuple[tuple[Node, ...], ...]
    tensors: tuple[Kept | None, ...]
    formulas: tuple[Node, ...]
    derived: tuple[Node, ...] = ()
    last: bool = False
    lost: bool = False

    @staticmethod
    def of(roots: Sequence[Node]) -> Plan:
        """The plan to compute roots as they stand."""
        parts = tuple((node,) for node in roots)
        return Plan(parts, (None,) * len(roots), tuple(roots))

    @property
    def roots(self) -> tuple[Node, ...]:
        """All nodes to compute, in order."""
        return tuple(node for part in self.parts for node in part)

    @property
    def is_read(self) -> bool:
        """Whether arrays of tensors are as the calculus left them."""
        return not self.derived and any(t is not None for t in self.tensors)

    def at(self, places: Iterable[int]) -> Plan:
        """The part of the plan that computes some of its roots."""
        own = tuple(places)
        return Plan(
            tuple(self.parts[k] for k in own),
            tuple(self.tensors[k] for k in own),
            tuple(self.formulas[k] for k in own),
            tuple(self.derived[k] for k in own) if self.derived else (),
        )

    def over(self, roots: Iterable[Node]) -> Plan:
        """The same plan with other nodes in the places of its roots."""
        left = iter(roots)
        parts = tuple(tuple(next(left) for _ in part) for part in self.parts)
        return replace(self, parts=parts)

    def with_part(self, k: int, other: Plan) -> Plan:
        """The same plan, with one of its roots as another plan has it."""
        parts, tensors, formulas = [*self.parts], [*self.tensors], [*self.formulas]
        parts[k], tensors[k] = other.parts[k], other.tensors[k]
        formulas[k] = other.formulas[k]
        return replace(
            self, parts=tuple(parts), tensors=tuple(tensors), formulas=tuple(formulas)
        )

    def saves(self, k: int, cost: CostModel) -> bool:
        """Whether one of the roots is stored in less than all its entries."""
        tensor, held = self.tensors[k], self.at([k]).held(cost)
        return tensor is not None and held < cost.size(self.formulas[k].dims)

    def held(self, cost: CostModel) -> float:
        """How many numbers the roots are, or what blocks of them were read as."""
        parts = (
            part if tensor is None or tensor.read_as is None else tensor.read_as.arrays
            for part, tensor in zip(self.parts, self.tensors, strict=True)
        )
        return sum(cost.size(node.dims) for part in parts for node in part)


@dataclass(frozen=True)
class Pass(Law):
    """A law for all nodes of a plan.

    An `optional` pass leaves the plan without it a candidate, beside another one that
    may be `instead`. Of all plans after it those are `left` that may win. One that is
    not `patient` gives up after so many `steps`, and leaves the plan as it is.
    """

    run: Callable[[Context, Plan], Plan]
    when: Callable[[Context, Plan], bool] = lambda context, plan: True
    optional: bool = False
    instead: Callable[[Context, Plan], list[Plan]] = lambda context, plan: []
    left: Callable[[Context, list[Plan]], list[Plan]] = lambda context, plans: plans
    patient: bool = False
    steps: int = PASS

    def applied(self, context: Context, plan: Plan) -> list[Plan]:
        """The plans to go on with."""
        if plan.lost or not self.when(context, plan):
            return [plan]
        run = partial(self.run, context, plan)
        attempt = context.graph.effort.attempt
        after = run() if self.patient else attempt(run, plan, self.steps)
        same = after.parts == plan.parts
        if self.remark is not None and not same:
            graph, before = context.graph, {*topological(plan.roots)}
            for node in topological(after.roots):
                if not (node in before or node in graph.stated):
                    graph.remark(node, self.remark)
        if context.told is not None:
            context.told(self, plan, after)
        several = self.optional and not context.graph.effort.hurried
        if same or not several:
            return [after]
        return [after, plan, *self.instead(context, plan)]


def of_roots(
    rewrite: Callable[[Context, Sequence[Node]], Iterable[Node]],
) -> Callable[[Context, Plan], Plan]:
    """A rewriting of roots as one of plans."""
    return lambda context, plan: plan.over(rewrite(context, plan.roots))
