"""Flatten, distribute, factor: the shape in which the best order can be found.

Derivatives come as products of products along every chain. Viewed as one n-ary
product, their contraction order decides the mode of each chain (cross-country).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorgen.ir.nodes import (
    Input,
    Lookup,
    Node,
    Product,
    Sum,
    children,
    topological,
    use_counts,
)
from tensorgen.ir.rebuild import renew
from tensorgen.passes.context import Context, Plan
from tensorgen.passes.order.distribute_products import distribute_products
from tensorgen.passes.order.factor_sums import Effort, Factored, factor_sum
from tensorgen.passes.order.mask_factors import mask_factors
from tensorgen.passes.order.merge_sums import merge_sums
from tensorgen.passes.order.open_products import open_products
from tensorgen.passes.order.reshape_back import reshape_back
from tensorgen.passes.order.separate_products import separate_products
from tensorgen.passes.order.spell_scalings import spell_scalings
from tensorgen.passes.rounds import Round, Rule
from tensorgen.passes.views import degree
from tensorgen.prices.limits import FLATTENING_ROUNDS


def flatten_products(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with chains of products flattened and sums rearranged.

    A later round sees what an earlier one has uncovered.
    """
    factored: Factored = context.cost.once(flatten_products, dict)
    current, effort = list(roots), Effort(factored=factored)
    for _ in range(FLATTENING_ROUNDS):
        before, current = current, _round(context, current, effort, RULES)
        if before == current:
            break
    return current


def contract_sums(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with products that are summed, and no larger ones before.

    This is what no function does without, in one round: index notation spells `A @ B`
    as a sum over products of entries.
    """
    own = replace(context, cross_country=False)
    return _round(own, roots, Effort(), (OPENING,))


def has_large_sums(plan: Plan) -> bool:
    """Whether a sum on the way to a tensor's arrays is larger than they are, or no
    array has been flattened."""
    if not any(tensor is not None for tensor in plan.tensors):
        return False
    if plan.is_read:
        return True
    nodes = topological(plan.roots)
    ends = [*plan.roots, *(node for node in nodes if isinstance(node, Input))]
    most = max(degree(node.dims) for node in ends)
    return any(isinstance(x, Sum) and degree(x.dims) > most for x in nodes)


def _round(
    context: Context, roots: Sequence[Node], effort: Effort, laws: Sequence[Rule]
) -> list[Node]:
    """All rules for each node, operands first."""
    order = topological(roots)
    uses = use_counts(roots)
    rules = [r for r in laws if r.in_all_modes or context.cross_country]

    def rewritten(node: Node) -> Node:
        for rule in rules:
            node = rule.run(known, node)
        return node

    def visit(old: Node, node: Node) -> Node:
        found = rewritten(node)
        if old in named:
            named.add(found)
        elif uses[old] == 1 or old in applied:
            known.private.add(found)
        return found

    # A name keeps what is formed together, but does not make it formed.
    named = _formed(roots, order) & context.graph.names.keys()
    known = Round(context, effort, named, set(), rewritten)
    applied = _applied(roots, order)
    return renew(context.graph, roots, visit)


def _formed(roots: Sequence[Node], order: Sequence[Node]) -> set[Node]:
    """The nodes with a use that is not a factor within a contraction."""
    formed = set(roots)
    for node in reversed(order):
        own: set[Node] = set()
        summed = isinstance(node, Product) and (node.inner or node not in formed)
        if isinstance(node, Product) and summed and not _is_gather(node):
            own.update(ref.node for ref in node.factors)
        formed.update(child for child in children(node) if child not in own)
    return formed


def _is_gather(node: Product) -> bool:
    """Whether a product reads entries of an array at places that another one says."""
    atoms = (atom for c in node.constraints for atom, _ in c.form.terms)
    return len(node.factors) == 1 and any(isinstance(atom, Lookup) for atom in atoms)


def _applied(roots: Sequence[Node], order: Sequence[Node]) -> set[Node]:
    """The matrix products that are only ever applied to vectors, however often.

    To multiply by one factor after the other takes less than to form them.
    """
    others = set(roots)
    for node in order:
        if not (
            isinstance(node, Product)
            and node.order < 2
            and any(ref.node.order == 1 for ref in node.factors)
        ):
            others.update(children(node))
    # What a delta takes the place of is not summed.
    return {
        node
        for node in order
        if isinstance(node, Product)
        and len(node.inner) > len(node.constraints)
        and node not in others
    }


def _factored(known: Round, node: Node) -> Node:
    if not isinstance(node, Sum):
        return node
    graph, cost = known.context.graph, known.context.cost

    def opens(term: Node) -> bool:
        """Whether to look into a term; one with a delta on one factor too."""
        if not isinstance(term, Product) or len(term.factors) != 1 or term.inner:
            return known.opens(term)
        (core, _), *_ = term.factors
        return not isinstance(core, Product) or known.opens(core)

    return factor_sum(graph, node, cost, opens, effort=known.effort)


OPENING = Rule(
    "open_products",
    law="(A * B) * C = A * B * C",
    needs="an inner product that is used once, or larger than its factors",
    ends="each step has one product less",
    run=open_products,
    in_all_modes=True,
)
RULES = (
    Rule(
        "spell_scalings",
        law="sum_k unit(A)[i, k] * b[k] = (sum_k A[i, k] * b[k]) / norm[i]",
        needs="a scaled array that is used once",
        ends="no expansion has a scaled array",
        run=spell_scalings,
    ),
    OPENING,
    Rule(
        "reshape_back",
        law="sum_l reshape(T)[l] * v[l] = sum_(a, b) T[a, b] * reshape(v)[a, b]",
        needs="a T with deltas; all else that is summed over l as one array",
        ends="each step has a merged axis less that is summed over",
        run=reshape_back,
        in_all_modes=True,
    ),
    Rule(
        "mask_factors",
        law="sum_j where(m, a * b, 0) = sum_j where(m, a, 0) * b",
        needs="a factor with all axes of m; others that are finite; half the cost",
        ends="each step has a selection of fewer axes",
        run=mask_factors,
        in_all_modes=True,
    ),
    Rule(
        "distribute_products",
        law="(A + D) * B = A * B + D * B",
        needs="a sum of deltas or broadcasts; open factors, to see what is there",
        ends="the terms of a sum are fewer than its nodes; so many in all",
        run=distribute_products,
        in_all_modes=True,
    ),
    Rule(
        "merge_sums",
        law="(A + B) + C = A + B + C",
        needs="an inner sum that is used once",
        ends="each step has one sum less",
        run=merge_sums,
        in_all_modes=True,
    ),
    Rule(
        "factor_sums",
        law="A * D + B * D = (A + B) * D",
        needs="all terms in one sum; a lower modelled cost by a margin",
        ends="each step lowers the number of factors over all terms",
        run=_factored,
    ),
    Rule(
        "separate_products",
        law="A[i, k] * B[k, j] * x[l] = (A @ B)[i, j] * x[l]",
        needs="a product that is larger than its factors, or would be",
        ends="groups share no summed label",
        run=separate_products,
    ),
)
