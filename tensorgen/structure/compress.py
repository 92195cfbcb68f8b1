"""Compress: a derivative as its last sum of products, and what of it is stored.

`compress` leaves the deltas of a Jacobian, a Hessian or a higher derivative alone and
groups the factors beside them: factors are contracted where the result is smaller than
what it is made of, and kept apart where it would grow. What comes out is the structure:

- one factor with a delta for every axis: a diagonal;
- deltas for some axes: blocks, one a value of the tied axes;
- factors that share no axis: a Kronecker product, or a product with outer vectors;
- two factors joined by a summed label: low rank;
- deltas with offsets: bands;
- deltas with entries of index arrays: a block for each element of a graph or a mesh;
- deltas that give axes by any form of labels, such as `i == 2*p + 1`: entries whose
  places follow by rule, where these are much fewer than those of an array;
- two entries of one row of a sparse matrix: that matrix, and a factor along its rows;
- one factor with all axes: a dense array, where nothing is smaller.

The paper moves the unit tensor of the first partial to the end for the same effect
(Laue et al. 2020, section 3.3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, is_zero
from tensorgen.ir.rebuild import terms_of
from tensorgen.ir.ties import ties
from tensorgen.ir.views import Factor
from tensorgen.passes.cost import CostModel
from tensorgen.passes.matrices.join_entries import join_entries
from tensorgen.passes.order.factor_sums import factor_sum
from tensorgen.prices.limits import (
    LINKED_TERMS,
    SPREAD_FACTORS,
    STEPS_BY_TIES,
    TERMS_BY_TIES,
    TERMS_SPREAD_IN_ALL,
    TERMS_THAT_SHARE,
)
from tensorgen.prices.thresholds import GAIN_OF_A_RULE, GAIN_OF_ROOM
from tensorgen.structure.add_terms import (
    absorb_terms,
    block_size,
    merge_terms,
    most_apart,
    pattern_of,
)
from tensorgen.structure.gram import take_grams
from tensorgen.structure.groupings import groupings, held
from tensorgen.structure.link_elements import (
    has_links,
    linked_terms,
    most_entries,
    ruled_terms,
    tied_terms,
)
from tensorgen.structure.mirror_terms import Permutation, mirror_terms
from tensorgen.structure.open_reshapes import open_reshapes
from tensorgen.structure.open_windows import open_windows
from tensorgen.structure.pack_terms import pack_terms
from tensorgen.structure.part_axes import parted, parts
from tensorgen.structure.stored import Compressed, StoredTerm, kept
from tensorgen.structure.structures import STRUCTURES
from tensorgen.structure.take_apart import Parts, spread, take_apart


def compress(
    graph: Graph,
    node: Node,
    cost: CostModel,
    derived: Node | None = None,
    symmetries: Sequence[Permutation] = (),
) -> Compressed:
    """Return what to store of a flattened derivative tensor.

    Dense, if the structure would hold as much. By `symmetries` of its axes the tensor
    stays what it is. `derived` is the tensor as it was before it was flattened: a sum
    over elements is still one there.
    """
    whole = node
    (node,) = join_entries(graph, [whole])
    found = _compress(graph, node, cost, derived, symmetries)
    products = take_grams(graph, whole)
    if products is not None:
        terms, rest = products
        others: tuple[StoredTerm, ...] = ()
        if not is_zero(rest):
            (rest,) = join_entries(graph, [rest])
            others = _compress(graph, rest, cost, None, symmetries).terms
        found = _least([found, Compressed(node.dims, (*others, *terms))], cost)
    for opened in (open_reshapes(graph, derived or node), open_windows(graph, node)):
        if opened not in (derived or node, node):
            other = _compress(graph, opened, cost, None, symmetries)
            found = _least([found, other], cost)
    # Where a symmetry exchanges axes, all of them would have to have the same parts.
    axes = parts(derived or node) if node.order > 1 and not symmetries else None
    if axes is None or not found.is_dense:
        return found
    apart = parted(graph, derived or node, axes)
    finer = apart and _compress(graph, apart, cost, None, ())
    if not finer or GAIN_OF_A_RULE * held(finer.arrays, cost) > cost.size(node.dims):
        return found
    return replace(finer, parts=axes)


def _least(forms: Sequence[Compressed], cost: CostModel) -> Compressed:
    """The first of those that hold least."""
    return min(forms, key=lambda form: held(form.arrays, cost))


def _compress(
    graph: Graph,
    node: Node,
    cost: CostModel,
    derived: Node | None,
    symmetries: Sequence[Permutation],
) -> Compressed:
    """What to store of a tensor whose axes are as they are."""
    axes = tuple(range(node.order))
    dense = Compressed(node.dims, (StoredTerm(Fraction(1), ((node, axes),), ()),))
    if is_zero(node) and axes:
        return _vanishing(graph, node.dims)
    if node.order < 2:
        return dense
    by_terms = partial(_by_terms, graph, node, cost, derived, symmetries)
    if len(symmetries) < 2 or has_links(derived or node):
        return by_terms(dense)
    # Of high orders there are too many terms to be spread before they are added up.
    best = dense
    for wider in (False, True):
        if all(array.order < 2 for array in best.arrays):
            return best
        tied = partial(_by_ties, graph, best, derived or node, cost, symmetries, wider)
        best = graph.effort.attempt(tied, best, STEPS_BY_TIES)
    return graph.effort.attempt(partial(by_terms, best), best)


def _by_terms(
    graph: Graph,
    node: Node,
    cost: CostModel,
    derived: Node | None,
    symmetries: Sequence[Permutation],
    best: Compressed,
) -> Compressed:
    """The tensor by the terms of its last sum, where that holds less."""
    common = factor_sum(
        graph, node, cost, lambda term: isinstance(term, Product), root=True
    )
    terms = terms_of(graph, node)
    forms = [terms_of(graph, common)]
    loose = _all_spread(graph, terms, large=False)
    if loose is not None:
        forms.insert(0, loose)
    looser = loose and _all_spread(graph, terms, large=True)
    if looser and all(
        len(take_apart(graph, x).factors) <= SPREAD_FACTORS for x in looser
    ):
        forms.append(looser)
    choices = [[[take_apart(graph, x)] for x in form] for form in forms]
    few = [form for form in forms if len(form) <= LINKED_TERMS]
    choices += linked_terms(graph, derived or node, few)
    found = [_compressed(graph, node.dims, c, cost, symmetries) for c in choices]
    if (1, 0) in symmetries:
        own = [row.keep(graph, node) for row in STRUCTURES if row.keep is not None]
        found += [Compressed(node.dims, tuple(terms)) for terms in own if terms]
    # Of equals one with common factors outside, but for a dense one.
    ranked = [best, *found] if best.is_dense else [*found, best]
    best = _least(ranked, cost)
    if any(ties(array, every=False) for array in best.arrays):
        tied = partial(_by_ties, graph, best, derived or node, cost, symmetries, True)
        best = graph.effort.attempt(tied, best, STEPS_BY_TIES)
    ruled = partial(_by_rule, graph, best, derived or node, few, cost, symmetries)
    return graph.effort.attempt(ruled, None) or best


def _by_ties(
    graph: Graph,
    best: Compressed,
    node: Node,
    cost: CostModel,
    symmetries: Sequence[Permutation],
    wider: bool,
) -> Compressed:
    """The tensor by terms of different ties, where that holds less."""
    choices = tied_terms(graph, node, wider)
    found = [_compressed(graph, best.dims, c, cost, symmetries) for c in choices]
    short = [form for form in found if len(form.terms) <= TERMS_BY_TIES]
    return _least([best, *short], cost)


def _by_rule(
    graph: Graph,
    best: Compressed,
    node: Node,
    forms: Sequence[Sequence[Node]],
    cost: CostModel,
    symmetries: Sequence[Permutation],
) -> Compressed | None:
    """The tensor as entries whose places follow by rule, where these are much fewer."""
    arrays = [array for array in best.arrays if array.order > 1]
    known: dict[Node, float] = {}
    if not any(
        GAIN_OF_A_RULE * most_entries(x, cost, known) <= cost.size(x.dims)
        for x in arrays
    ):
        return None
    limit = held(best.arrays, cost) / GAIN_OF_A_RULE
    whole = cost.size(best.dims) / GAIN_OF_A_RULE
    found = []
    for choice in ruled_terms(graph, node, forms):
        form = _compressed(graph, best.dims, choice, cost, symmetries)
        count = sum(cost.size(term.free(best.dims).values()) for term in form.terms)
        if count <= whole and held(form.arrays, cost) <= limit:
            found.append(form)
    return _least(found, cost) if found else None


def _vanishing(graph: Graph, dims: tuple[Dim, ...]) -> Compressed:
    """A tensor of zeros: one number is kept, so that the object has a dtype."""
    number: Factor = (graph.constant(1), ())
    return Compressed(dims, (StoredTerm(Fraction(0), (number,), ()),))


def _all_spread(graph: Graph, terms: Sequence[Node], large: bool) -> list[Node] | None:
    """All that terms are sums of; None where it is too much to look at."""
    found: list[Node] = []
    for k, term in enumerate(terms):
        found += spread(graph, term, large)
        if len(found) + len(terms) - k - 1 > TERMS_SPREAD_IN_ALL:
            return None
    return found


def _compressed(
    graph: Graph,
    dims: tuple[Dim, ...],
    views: Sequence[Sequence[Parts]],
    cost: CostModel,
    symmetries: Sequence[Permutation],
) -> Compressed:
    """The terms grouped and added up; of each the ways to take it apart are given."""
    patterns = [pattern_of(ways[0]) for ways in views]
    counts = Counter(patterns)
    choices = [
        [
            grouping
            for way in ways
            for grouping in groupings(
                graph, way, cost, whole=counts[pattern] > most_apart(pattern)
            )
        ]
        for ways, pattern in zip(views, patterns, strict=True)
    ]
    merged = merge_terms(graph, _chosen(choices, cost), dims, cost)
    if not merged:
        return _vanishing(graph, dims)
    apart, together = (
        Compressed(dims, (*pack_terms(graph, own, symmetries, cost),))
        for terms in (merged, absorb_terms(graph, merged, dims))
        for own in [mirror_terms(terms, symmetries)]
    )
    # Terms that stand apart say more, and mirror one another; but not in small blocks.
    small = any(block_size(x.dims) > 1 for x in together.arrays)
    gain = 1 if small else GAIN_OF_ROOM
    gains = gain * held(together.arrays, cost) <= held(apart.arrays, cost)
    return together if gains else apart


def _chosen(
    choices: Sequence[Sequence[StoredTerm]], cost: CostModel
) -> list[StoredTerm]:
    """A grouping for each term: the smallest, but for arrays that other terms hold."""

    def alone(term: StoredTerm) -> float:
        return held(kept([term]), cost)

    chosen = [min(ways, key=alone) for ways in choices]
    if len(chosen) > TERMS_THAT_SHARE:
        return chosen
    for k, ways in enumerate(choices):
        rest = [term for m, term in enumerate(chosen) if m != k]

        def total(term: StoredTerm, rest: Sequence[StoredTerm] = rest) -> float:
            return held(kept([*rest, term]), cost)

        # What is held already is read nevertheless, in each product: a sum of outer
        # products may take many times as long. What is of elements is read by them.
        most = GAIN_OF_ROOM * alone(chosen[k])
        near = (way for way in ways if way.elements or alone(way) <= most)
        chosen[k] = min(near, key=total)
    return chosen
