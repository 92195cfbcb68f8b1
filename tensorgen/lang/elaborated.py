"""What elaboration makes of a function: its node, and what its code needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from tensorgen.calculus.kinds import (
    GRADIENT,
    JACOBIAN,
    PROBLEM,
    VALUE,
    Kind,
    all_emitted,
    by_sample,
)
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import CUT, Effort
from tensorgen.ir.nodes import Node, topological
from tensorgen.operators.functions.array import SizeCheck
from tensorgen.operators.promise_calls import bare
from tensorgen.operators.recurrences.recurrence import Steps, is_recurrence
from tensorgen.spec.model import FunctionSpec, InputSpec


@dataclass(frozen=True, slots=True)
class Local:
    """A value that a function defines under `where`: its name, formula and node."""

    name: str
    left: str
    formula: str
    node: Node


@dataclass(frozen=True, slots=True)
class ElaboratedFunction:
    """A function as a node, and what its generated code needs to know.

    The node's axes are those of the indices on the left side, in order, then those
    that the expression has of its own. `arguments` are the inputs that its text
    mentions, through other names too, and those in `wrt`, in the order of the file;
    `mentions` are all names that it mentions so. No shape of an argument gives its
    `sizes`, dims that it uses: they are arguments too. Of several `results`, each is a
    function with the same arguments, and the node is that of the first. `metrics` has
    the matrices of inner products by the names of variables, and by its own name that
    of its values. Where arguments have a `batch`, all of this is of one sample, but for
    a function that is `over` a batch.
    """

    spec: FunctionSpec
    node: Node
    arguments: tuple[InputSpec, ...]
    locals: tuple[Local, ...]
    checks: tuple[SizeCheck, ...]
    mentions: frozenset[str]
    sizes: tuple[str, ...] = ()
    results: tuple[ElaboratedFunction, ...] = ()
    metrics: Mapping[str, Node] = field(default_factory=dict)
    over: Dim | None = None

    @property
    def batch(self) -> Dim | None:
        """The number of samples, if any argument has one for each."""
        return next((x.batch for x in self.arguments if x.batch is not None), None)

    @property
    def alone(self) -> dict[str, ElaboratedFunction]:
        """Each of several results by its name; the function itself has none."""
        names = (x.name for x in self.spec.results)
        return dict(zip(names, self.results, strict=False)) or {"": self}

    @property
    def named(self) -> dict[Node, str]:
        """The names of values; what is promised of one does not change what it is."""
        own = {local.node: local.name for local in self.locals}
        return {bare(node): name for node, name in own.items()} | own

    @property
    def largest(self) -> str:
        """The name that most nodes stand below, but for those of names within."""
        below = {local.name: _below(local.node) for local in self.locals}
        below[self.spec.name] = _below(self.node)

        def own(name: str) -> int:
            smaller = [x for x in below.values() if x < below[name]]
            return len(below[name].difference(*smaller))

        return max(below, key=own)

    def too_large(self) -> str:
        """What would help where it takes too much work."""
        return f"most of it is '{self.largest}'; {CUT}"

    def within(
        self, effort: Effort, doing: str, steps: int
    ) -> AbstractContextManager[None]:
        """Count what is done for it: a `SpecError` where it takes too long."""
        return effort.on(self.spec.name_text, doing, steps, self.too_large)


def _below(node: Node) -> frozenset[Node]:
    """All nodes that a node is made of, those of steps too."""
    found = topological([node])
    stepping = {x.param("steps") for x in found if is_recurrence(x)}
    inner = [y for x in stepping if isinstance(x, Steps) for y in (*x.new, *x.made)]
    return frozenset(found).union(*map(_below, inner))


def requested(function: ElaboratedFunction) -> list[tuple[Kind, tuple[str, ...]]]:
    """The kinds to emit, in a fixed order, with the inputs of an order or mixed one."""
    spec = function.spec
    kinds = [emit.kind for emit in spec.emit]
    if not kinds:
        orders = {x.node.order for x in function.alone.values()}
        first = [GRADIENT] * (0 in orders) + [JACOBIAN] * bool(orders - {0})
        kinds = [VALUE, *first] if spec.wrt else [VALUE]
    by_name = [kind for kind in all_emitted(kinds) if kind is not PROBLEM]
    higher = [(emit.kind, emit.inputs) for emit in spec.emit if emit.inputs]
    found = [*((kind, ()) for kind in by_name if not kind.is_higher), *higher]
    if function.batch is None:
        return found
    return [(by_sample(kind), order) for kind, order in found]
