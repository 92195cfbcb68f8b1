"""What is emitted for a function: the plans of its public functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tensorgen.calculus.kinds import Blocks, Kind, camel
from tensorgen.check import Batch, Composition
from tensorgen.emit.interface import Parameter
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Node
from tensorgen.lang import ElaboratedFunction
from tensorgen.passes.context import Plan


@dataclass(frozen=True)
class OtherPlan:
    """How to compute a function where `less` is smaller than the sizes `than`.

    `hints` are sizes of that kind. What is `filled` is the tensor of the first plan,
    made dense.
    """

    plan: Plan
    less: Dim
    than: tuple[Dim, ...]
    hints: Mapping[str, int]
    filled: bool = False


@dataclass(frozen=True)
class PlannedFunction:
    """One public function: what it computes, from which arguments.

    `stated` are its roots as calculus first states them, before any pass; `unpromised`
    are matrices whose inverse would be cheaper if more were known of what low rank is
    added to, and whether this is a diagonal. The first of `others` whose sizes are as
    it needs them, which no hint says, replaces the plan. Where it is `filled`, sparse
    matrices are made dense on the way, as the result is. Where a matrix is inverted by
    its parts and these cancel, which no size says, it is computed as `undivided`. A
    `piece` of another function may read what earlier pieces made, `handed` on to it by
    name; what is `composed` of all of them is stated of the function itself.
    Definitions stay calls in what is `kept`, if anything is. Over a `batch`, what is
    stated is of one sample, and all else of all samples.
    """

    source: ElaboratedFunction
    kind: Kind
    wrt: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    plan: Plan
    root_names: tuple[str, ...]
    tensors: range
    order: tuple[str, ...] = ()
    stated: tuple[Node, ...] = ()
    others: tuple[OtherPlan, ...] = ()
    unpromised: tuple[tuple[str, bool], ...] = ()
    members: tuple[Member, ...] = ()
    shown: str = ""
    filled: bool = False
    piece: bool = False
    handed: Mapping[str, Node] = field(default_factory=dict)
    composed: Composition | None = None
    undivided: PlannedFunction | None = None
    kept: PlannedFunction | None = None
    batch: Batch | None = None

    @property
    def name(self) -> str:
        """Its name in Python."""
        return self.kind.public_name(self.source.spec.name, self.order)

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return self.shown or self.name

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans of all its forms."""
        return (self.plan, *(other.plan for other in self.others))

    @property
    def blocks(self) -> Blocks:
        """The inputs that each derivative tensor is differentiated by."""
        return self.kind.blocks(self.wrt, self.order)

    def _axes(self, name: str) -> int:
        return len(next(p for p in self.parameters if p.name == name).dims)

    def is_square(self, block: int) -> bool:
        """Whether a block is the Hessian with respect to one input."""
        first, *others = self.blocks[block]
        return others == [first]

    def row_axes(self, block: int) -> int:
        """The number of axes of a block's rows."""
        rows = self.blocks[block][:1] if self.kind.by == "pair" else ()
        return self.source.node.order + sum(map(self._axes, rows))

    def input_axes(self, block: int) -> list[int]:
        """The number of axes of each input of a block of higher order."""
        return [self._axes(name) for name in self.blocks[block]]

    def class_name(self, block: int) -> str:
        """What the class of a block is called, such as LossHessian."""
        name = camel(self.source.spec.name) + self.kind.holder
        several = len(self.wrt) > 1 or self.kind.is_higher
        return name + "".join(map(camel, self.blocks[block])) * several


@dataclass(frozen=True)
class Member:
    """What is planned of one result of several, from the roots at these places.

    What is of all results, as adjoints are, has no name.
    """

    name: str
    planned: PlannedFunction
    places: tuple[int, ...]
