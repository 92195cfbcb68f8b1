"""The cost model: what a plan costs for given sizes, by the prices that are planned.

Only the passes ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any, TypeVar, assert_never

from tensorgen.ir.constraints import Ranges, looked_up, solvable, solved
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Label,
    Map,
    Node,
    Product,
    Size,
    Sum,
    children,
    topological,
)
from tensorgen.ir.patterns import core_of
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.defined_calls import defined_of, is_defined
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.systems import is_system
from tensorgen.operators.promise_calls import is_promise
from tensorgen.operators.recurrences.recurrence import Recurrence, is_recurrence
from tensorgen.operators.solved_arrays import is_unknown
from tensorgen.passes.order.networks import Network, Plan
from tensorgen.passes.order.spans import Span, span
from tensorgen.prices import price_table
from tensorgen.prices.price_table import (
    CALL,
    ELIMINATION,
    ENTRY,
    FUNCTION,
    GATHERED,
    MASKED,
    MULTIPLY_ADD,
    NEWTON_STEPS,
    SCATTERED,
    SELECTION,
    TURNED,
)
from tensorgen.prices.thresholds import assumed

T = TypeVar("T")


def exponential_of(node: Node) -> Hashable:
    """What functions of one exponential have in common; None for others.

    Numbers have helpers of their own, which share none.
    """
    match node:
        case Map(function=function, args=(t,)) if node.order and ELEMENTWISE[
            function
        ].has("logistic"):
            coefficient, core = core_of(t.node)
            return abs(coefficient), core, t.labels
        case Call(operator=operator) if OPERATORS[operator].helped:
            return node.args, node.params
        case _:
            return None


def merge(out: float, every: Span, sums: bool, factors: int) -> float:
    """The cost of a product of `factors` over `every` value of all labels.

    The result has `out` entries; `sums` says whether labels are summed. Where there
    are no more terms than entries, deltas give them values: they say where factors are
    read. What index arrays read is priced as sums are, lest it be read again.
    """
    spent = CALL.planned + SCATTERED.planned * every.scattered
    spent += GATHERED.planned * every.gathered + MASKED.planned * every.masked
    if factors == 1 and every.gathered >= every.terms:
        return spent  # nothing is multiplied
    read = every.terms <= out and not (every.gathered or every.scattered)
    if read or not sums:
        return spent + ENTRY.planned * out * max(1, factors - 1)
    return spent + MULTIPLY_ADD.planned * every.terms + ENTRY.planned * out


def is_slice(node: Product) -> bool:
    """Whether a product shows entries of one array where they stand: `x[1:]`.

    Each summed label has a value at each place, and keeps to the array.
    """
    solved_for: set[Label] = set()
    ranges = Ranges.of(dict(enumerate(node.sizes)))
    for one in node.constraints:
        of = next((x for x in solvable(one) if x >= node.order), None)
        if of is None or of in solved_for or looked_up([one.form]):
            return False
        place, size = solved(one.form, of), node.sizes[of]
        if any(x >= node.order for x in place.labels):
            return False
        if not ranges.contain(place, (ZERO, size)):
            return False
        solved_for.add(of)
    return bool(solved_for) and len(solved_for) == len(node.inner)


def turned_terms(node: Sum) -> int:
    """How many terms are transposes of others: not all lie as the sum does."""
    return len(node.terms) - len({term.node for term in node.terms})


@dataclass(frozen=True)
class CostModel:
    """Costs for dim sizes: the hints, and `UNHINTED` for the rest.

    `ordered` remembers what `order_contractions` has made of nodes for these sizes,
    `trees` the best tree of each network of labels and their numbers, `known` what else
    has been found at these sizes. The dims `given`
    follow from the arguments: arrays of others cannot be made.
    """

    hints: Mapping[str, int]
    given: frozenset[str] = frozenset()
    ordered: dict[Node, Node] = field(default_factory=dict, compare=False, repr=False)
    trees: dict[Network, Plan] = field(default_factory=dict, compare=False, repr=False)
    known: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)
    _values: dict[Dim, int] = field(default_factory=dict, compare=False, repr=False)
    _sizes: dict[tuple[Dim, ...], float] = field(
        default_factory=dict, compare=False, repr=False
    )
    _works: dict[Node, float] = field(default_factory=dict, compare=False, repr=False)

    def once(self, what: Hashable, find: Callable[[], T]) -> T:
        """What is known at these sizes, found out the first time."""
        if what not in self.known:
            self.known[what] = find()
        found: T = self.known[what]
        return found

    def size(self, dims: Iterable[Dim]) -> float:
        """The number of entries of an array of these dims, at least one."""
        own = tuple(dims)
        if own not in self._sizes:
            try:
                self._sizes[own] = float(prod(max(1, self.value(dim)) for dim in own))
            except OverflowError:  # more than anybody could compute
                self._sizes[own] = inf
        return self._sizes[own]

    def knows(self, dim: Dim) -> bool:
        """Whether arguments give a size."""
        return self.given.issuperset(dim.sources)

    def value(self, dim: Dim) -> int:
        """The number that a dim stands for."""
        if dim not in self._values:
            self._values[dim] = dim.value(assumed(self.hints, dim.sources))
        return self._values[dim]

    def never_more(self, first: Dim, second: Dim) -> bool:
        """Whether one size is at most another, whatever sizes have no hint."""
        return (second - first).at(self.hints).is_nonnegative()

    def flops(self, node: Node) -> float:
        """The arithmetic of one node, operands given; a fused n-ary product at once."""
        match node:
            case Product(factors=factors) if factors:
                times = MULTIPLY_ADD.flops if node.inner else len(factors)
                return self.span(node).terms * times
            case Product():
                return 0.0
            case Sum():
                return self.size(node.dims) * len(node.terms)
            case Map():
                return self.size(node.dims)
            case Call(operator=name) if work := OPERATORS[name].work:
                matrices = node.args[-1]  # as many as a function is asked of
                side = self.size(matrices.dims[-1:])
                return self.size(matrices.dims) * side * work
            case Call() if is_promise(node):
                return 0.0
            case Call() if is_recurrence(node):
                steps = Recurrence.of(node).steps
                return self.size([steps.count]) * self.total_flops(steps.roots)
            case Call() if is_defined(node):
                results = defined_of(node).results
                return self.total_flops(results) / len(results)
            case Call() if is_system(node):  # what it is made of
                return sum(self.size(arg.dims) for arg in node.args)
            case Call(operator="solution") if not is_system(node.args[0]):
                side = self.size(node.dims[:1])
                return ELIMINATION * side**3
            case Call() if is_unknown(node):  # some of Newton's steps
                return NEWTON_STEPS * self.size(node.dims) ** 3
            case Call() if OPERATORS[node.operator].internal:
                return self.size(node.dims)
            case Call():
                return self._entries(node)
            case Input() | Constant() | Size() | Iota():
                return 0.0
            case _:
                assert_never(node)

    def work(self, node: Node) -> float:
        """The cost of one node, operands given."""
        found = self._works.get(node)
        if found is None:
            found = self._works[node] = self._work(node)
        return found

    def _work(self, node: Node) -> float:
        match node:
            case Product(factors=factors) if factors or node.constraints:
                span = self.span(node)
                if not (factors or span.scattered):
                    return 0.0
                if len(factors) == node.coefficient == 1 and is_slice(node):
                    return 0.0
                out, sums = self.size(node.dims), bool(node.inner)
                return merge(out, span, sums, len(factors))
            case Sum():
                read = ENTRY.planned * len(node.terms)
                read += TURNED.planned * turned_terms(node)
                return CALL.planned + self.size(node.dims) * read
            case Map(function=function):
                own = price_table.of_function(function).planned
                return CALL.planned + own * self.size(node.dims)
            case Call() if is_promise(node):
                return 0.0
            case Call() if is_recurrence(node):
                steps = Recurrence.of(node).steps
                return self.size([steps.count]) * self.total(steps.roots)
            case Call() if is_defined(node):
                results = defined_of(node).results
                return (CALL.planned + self.total(results)) / len(results)
            case Call() if OPERATORS[node.operator].internal:
                return CALL.planned + FUNCTION.planned * self.flops(node)
            case Call():
                scaled = 2 * ENTRY.planned if OPERATORS[node.operator].scales else 0.0
                entries = (FUNCTION.planned + scaled) * self._entries(node)
                return CALL.planned + entries + self.flops(node)
            case Product() | Input() | Constant() | Size() | Iota():
                return 0.0
            case _:
                assert_never(node)

    def _entries(self, node: Call) -> float:
        """How many entries a function of arrays goes through."""
        return max(self.size(node.args[0].dims), self.size(node.dims))

    def span(self, node: Product) -> Span:
        """How many terms a product adds up."""
        if not node.constraints:
            return Span(self.size(node.sizes))
        numbers = {x: self.size([dim]) for x, dim in enumerate(node.sizes)}
        labels = [ref.labels for ref in node.factors]
        return span(numbers, labels, node.constraints, range(node.order), numbers)

    def total(self, roots: Sequence[Node]) -> float:
        """The cost of all that `roots` need, each node once."""
        nodes = topological(roots)
        return sum(map(self.work, nodes)) - self.shared(nodes)

    def shared(self, nodes: Iterable[Node]) -> float:
        """What functions of one exponential save, which a helper computes together."""
        groups: dict[Hashable, list[Node]] = {}
        for node in nodes:
            if (own := exponential_of(node)) is not None:
                groups.setdefault(own, []).append(node)
        return sum(self._saved(group) for group in groups.values() if len(group) > 1)

    def _saved(self, group: Sequence[Node]) -> float:
        apart = [self.work(node) for node in group]
        entries = max(self.size(child.dims) for x in group for child in children(x))
        if isinstance(group[0], Call):
            more = CALL.planned + SELECTION.planned * entries
            together = max(apart) + more * (len(group) - 1)
        else:
            names = [node.function for node in group if isinstance(node, Map)]
            prices = price_table.of_bundle(names)
            together = CALL.planned + sum(x.planned for x in prices) * entries
        return max(sum(apart) - together, 0.0)

    def total_flops(self, roots: Sequence[Node]) -> float:
        """The arithmetic of all that `roots` need, each node once."""
        return sum(self.flops(node) for node in topological(roots))
