"""Elements symmetric under the exchange of axes are held once a combination of indices.

The third derivative of a sum of functions of k variables has a k x k x k element for
each of them, of whose numbers k * (k + 1) * (k + 2) / 6 differ. An array is packed
where that is at most half of it, hence along three axes and more: contracting it puts
each number back in its places first, which takes about as long as the contraction. A
single array without an axis for elements stays whole: to find the places would take
ten times as long as to contract it, and it is whole when it is computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, Sum
from tensorgen.ir.rebuild import terms_of
from tensorgen.ir.views import Factor, Name
from tensorgen.operators.matrices.packing import packed, unpacked
from tensorgen.operators.matrices.symmetry import Symmetry
from tensorgen.passes.cost import CostModel
from tensorgen.prices.limits import (
    ADDED_TERMS,
    AXES_OF_A_LARGE_SUM,
    STEPS_OF_A_PROOF,
    TERMS_THAT_SHARE,
)
from tensorgen.structure.mirror_terms import Permutation
from tensorgen.structure.stored import LaidOut, StoredTerm, is_axis
from tensorgen.structure.take_apart import deep, distributed


@dataclass(frozen=True)
class Packed(LaidOut):
    """All labels of an array, the last `count` of which may be exchanged."""

    axes: tuple[Name, ...]
    size: Dim
    count: int

    def laid_out(self, graph: Graph, node: Node, by: Sequence[Node] = ()) -> Node:
        """The array with all of its axes."""
        return unpacked(graph, node, self.size, self.count)


def pack_terms(
    graph: Graph,
    terms: Sequence[StoredTerm],
    symmetries: Sequence[Permutation],
    cost: CostModel,
) -> list[StoredTerm]:
    """The terms, with what is symmetric packed where that halves it or better."""
    # No three axes are equal, or more arrays than anybody looks at.
    if len(symmetries) < 2 or len(terms) > TERMS_THAT_SHARE:
        return list(terms)
    proof = _Proof(graph, cost)
    found = []
    for term in terms:
        alone = len(terms) == len(term.factors) == 1 and not term.links
        given = _exchanged(term, symmetries) if alone else set()
        factors = [_packed(factor, given, proof) for factor in term.factors]
        found.append(replace(term, factors=tuple(factors)))
    return found


Pair = tuple[int, int]


def _exchanged(term: StoredTerm, symmetries: Sequence[Permutation]) -> set[Pair]:
    """Axes of the only array of a tensor which exchanges of the tensor's exchange."""
    ((_, labels),) = term.factors
    if any(tie.offset != 0 for tie in term.ties) or not all(map(is_axis, labels)):
        return set()
    first = {tie.second: tie.first for tie in term.ties}
    found = set[Pair]()
    for to in symmetries:
        moved = [to[x] if isinstance(x, int) else x for x in labels]
        image = [first.get(x, x) if isinstance(x, int) else x for x in moved]
        ties = {(to[tie.first], to[tie.second]) for tie in term.ties}
        kept = all(first.get(a, a) == first.get(b, b) for a, b in ties)
        changed = [k for k, x in enumerate(labels) if image[k] != x]
        if kept and len(changed) == 2 and {*image} == {*labels}:
            found |= {(changed[0], changed[1]), (changed[1], changed[0])}
    return found


class _Proof:
    """What is known of the symmetry of arrays, from their operands and terms."""

    def __init__(self, graph: Graph, cost: CostModel) -> None:
        self.graph = graph
        self.cost = cost
        self.known = Symmetry(promised=True)
        self.spread: dict[Node, list[Node]] = {}

    def holds(self, node: Node, a: int, b: int) -> bool:
        """Whether an array stays what it is with two axes swapped."""
        return self.known.parity(node, (a, b)) == 1 or self._permutes(node, a, b)

    def _permutes(self, node: Node, a: int, b: int) -> bool:
        """Whether swapping two axes of a sum of products permutes its terms."""
        terms, axes = self.terms(node), range(node.order)
        turned = [self.graph.permute(x, _swapped(axes, a, b)) for x in terms]
        return Counter(terms) == Counter(
            deep(x).product(self.graph, axes) for x in turned
        )

    def terms(self, node: Node) -> list[Node]:
        """The terms of sums of sums, as n-ary products; of too many, the array."""
        if node not in self.spread:
            run = partial(self._terms, node)
            found = self.graph.effort.attempt(run, [node], STEPS_OF_A_PROOF)
            self.spread[node] = found
        return self.spread[node]

    def _terms(self, node: Node) -> list[Node]:
        def parts(factor: Node) -> list[Node] | None:
            large = isinstance(factor, Sum) and factor.order >= AXES_OF_A_LARGE_SUM
            return terms_of(self.graph, factor) if large else None

        waiting, found = [node], list[Node]()
        while waiting:
            first = waiting.pop()
            more = distributed(self.graph, first, parts)
            if more is None:
                found.append(deep(first).product(self.graph, range(node.order)))
            else:
                waiting += more
            if len(waiting) + len(found) > ADDED_TERMS:
                return [node]
        return found


def _swapped(axes: Sequence[int], a: int, b: int) -> list[int]:
    return [{a: b, b: a}.get(axis, axis) for axis in axes]


def _packed(factor: Factor, given: set[Pair], proof: _Proof) -> Factor:
    """A factor packed along its largest group of axes, if that pays."""
    node, labels = factor
    if isinstance(node, Input) or any(isinstance(x, LaidOut) for x in labels):
        return factor
    own = _group(node, given, proof)
    others = [axis for axis in range(node.order) if axis not in own]
    if not own or not others:
        return factor
    order = [*others, *own]
    whole = proof.graph.permute(node, order)
    terms = proof.terms(whole)
    pushed = [_pushed(proof, term, len(own)) for term in terms]
    parts = [part for part in pushed if part is not None]
    made = packed(proof.graph, whole, len(own))
    if len(parts) == len(terms):
        made = proof.graph.add(*parts)
    if 2 * proof.cost.size(made.dims) > proof.cost.size(node.dims):
        return factor
    axes = tuple(labels[axis] for axis in order)
    return made, (Packed(axes, node.dims[order[-1]], len(own)),)


def _group(node: Node, given: set[Pair], proof: _Proof) -> list[int]:
    """The most axes, three or more, that may be exchanged at will; none if too few."""
    found: list[int] = []
    for dim in dict.fromkeys(node.dims):
        left = [axis for axis in range(node.order) if node.dims[axis] == dim]
        while len(left) > max(2, len(found)):
            own = [left.pop(0)]
            for a in own:  # which grows: exchanges of two make all of a group
                for b in left:
                    if (a, b) in given or proof.holds(node, a, b):
                        own.append(b)
                left = [b for b in left if b not in own]
            if len(own) > max(2, len(found)):
                found = sorted(own)
    return found


def _pushed(proof: _Proof, term: Node, count: int) -> Node | None:
    """A term packed along its last axes before it is multiplied by what lacks them.

    `sum_s W[i, s] * V[s, a] * V[s, b] * V[s, c]` is the product of W with the others,
    which are packed. None where nothing lacks the axes, or the others are more.
    """
    rest, whole = term.order - count, deep(term)
    own = range(rest, term.order)
    inside = [f for f in whole.factors if not {*own}.isdisjoint(f[1])]
    outside = [f for f in whole.factors if f not in inside]
    kept = {*range(rest)}.union(*(labels for _, labels in outside))
    lead = [x for x in dict.fromkeys(x for _, xs in inside for x in xs) if x in kept]
    dims = [*(whole.sizes[x] for x in lead), *term.dims[rest:]]
    more = proof.cost.size(dims) > proof.cost.size(term.dims)
    if whole.constraints or not outside or more:
        return None
    sizes = {axis: term.dims[axis] for axis in own}  # a term may lack one
    element = proof.graph.product([*lead, *own], inside, sizes=sizes)
    inner = packed(proof.graph, element, count)
    return proof.graph.product(
        [*range(rest), "packed"],
        [*outside, (inner, (*lead, "packed"))],
        coefficient=whole.coefficient,
        sizes={axis: term.dims[axis] for axis in range(rest)},
    )
