"""All passes, in order; the plan that the cost model prefers wins.

Why this order. Laws that need what the user wrote come first: the transpose of a
symmetric matrix. Then chains of products are flattened, for a derivative's structure
and the best order of its factors can only be seen in one n-ary product. The structure
is taken while deltas still stand beside the factors: ordering would multiply them. They
say, too, who reads how much of what. Then comes what regroups factors, since ordering
leaves pairs; then the order; and last what pairs alone show: one product may begin with
a pair that another makes, terms share an operand again, elementwise pairs are fused,
and products that the order made may be transposes of one another.

A pass that pays only sometimes is optional: the plans with and without it both go on.
So do the ways to differentiate that optimisation starts from; `cheapest` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from tensorgen.ir.nodes import Node
from tensorgen.ir.remarks import Remark
from tensorgen.passes.choose_plan import cheapest, without_hope
from tensorgen.passes.context import Context, Pass, Plan, of_roots
from tensorgen.passes.matrices.apply_inverses import apply_in_numbers, apply_inverses
from tensorgen.passes.matrices.join_entries import join_entries
from tensorgen.passes.matrices.measure_distances import measure_distances
from tensorgen.passes.matrices.mirror_products import mirror_products
from tensorgen.passes.matrices.open_promises import open_promises
from tensorgen.passes.matrices.select_entries import select_entries
from tensorgen.passes.matrices.solve_by_structure import solve_by_structure
from tensorgen.passes.matrices.use_symmetry import use_symmetry
from tensorgen.passes.order.flatten_products import (
    contract_sums,
    flatten_products,
    has_large_sums,
)
from tensorgen.passes.order.fuse_elementwise import fuse_elementwise
from tensorgen.passes.order.nest_bounds import nest_bounds
from tensorgen.passes.order.order_contractions import order_contractions
from tensorgen.passes.readings.take_entries import take_entries
from tensorgen.passes.readings.whole_keys import whole_keys
from tensorgen.passes.readings.widen_late import widen_late
from tensorgen.passes.scalars.clip_selections import clip_selections
from tensorgen.passes.scalars.drop_steps import drop_steps
from tensorgen.passes.scalars.open_divisors import open_divisors
from tensorgen.passes.scalars.pair_slopes import pair_slopes
from tensorgen.passes.scalars.select_terms import select_terms
from tensorgen.passes.scalars.turn_signs import turn_signs
from tensorgen.passes.sharing.add_narrow import add_narrow
from tensorgen.passes.sharing.factor_pairs import factor_pairs
from tensorgen.passes.sharing.gather_steady import gather_steady
from tensorgen.passes.sharing.pair_transposes import pair_transposes
from tensorgen.passes.sharing.plan_definitions import plan_definitions
from tensorgen.passes.sharing.scatter_sums import scatter_sums
from tensorgen.passes.sharing.share_factors import share_factors
from tensorgen.passes.sharing.share_products import share_products
from tensorgen.passes.sharing.share_scales import share_scales
from tensorgen.passes.sharing.share_sums import share_sums
from tensorgen.passes.sharing.share_values import share_values
from tensorgen.passes.sharing.spread_last import spread_last
from tensorgen.passes.sharing.turn_walks import turn_walks
from tensorgen.passes.steps.shorten_steps import shorten_steps
from tensorgen.passes.stored_parts import compressed, is_to_read, read
from tensorgen.prices.limits import STEPS_TO_SHARE
from tensorgen.prices.thresholds import SHARE_OF_LAST


def optimise(context: Context, ways: Sequence[Sequence[Node]]) -> Plan:
    """Return the cheapest plan among those of equivalent lists of roots."""
    return cheapest(context, candidates(context, ways))


def candidates(context: Context, ways: Sequence[Sequence[Node]]) -> list[Plan]:
    """Return the plans for equivalent lists of roots, after all passes."""
    plans = [Plan.of(way) for way in ways]
    for law in PASSES:
        plans = [after for plan in plans for after in law.applied(context, plan)]
        plans = law.left(context, plans)
    return plans


def _flattened(context: Context, plan: Plan) -> Plan:
    run = partial(flatten_products, context, plan.roots)
    flat = context.graph.effort.attempt(run, None) or contract_sums(context, plan.roots)
    derived = plan.roots if context.cross_country else ()
    return replace(plan.over(flat), derived=derived)


def _contracted(context: Context, plan: Plan) -> list[Plan]:
    """The plan in the order of its mode, where sums over formed products are dearer."""
    other = replace(plan.over(contract_sums(context, plan.roots)), last=True)
    least = SHARE_OF_LAST * context.price(plan.roots)
    return [other] if context.price(other.roots) <= least else []


def _entries_taken(context: Context, plan: Plan) -> Plan:
    after = plan.over(take_entries(context, plan.roots))
    rows = zip(plan.formulas, plan.tensors, after.parts, strict=True)
    # What has no structure reads best so, too.
    formulas = [part[0] if tensor is None else x for x, tensor, part in rows]
    return replace(after, formulas=tuple(formulas))


def _ordered(context: Context, roots: Sequence[Node]) -> list[Node]:
    return order_contractions(context.graph, roots, context.cost)


def _planned(context: Context, roots: Sequence[Node]) -> Sequence[Node]:
    """How to compute the nodes of a step."""
    return optimise(context, [roots]).roots


SYMMETRY = Pass(
    "use_symmetry",
    law="S[j, i] = S[i, j] for a symmetric S",
    needs="differentiation is over: entries of a symmetric input were independent",
    ends="each use of a matrix is turned at most once",
    run=of_roots(use_symmetry),
)
GATHERING = Pass(
    "gather_steady",
    law="a * b * c = (a * b) * c, where a and b change less often than c",
    needs="it is known what changes how often",
    ends="a product or sum that is gathered has fewer operands",
    run=of_roots(gather_steady),
)
PASSES = (
    Pass(
        "plan_definitions",
        law="f(x) = g(x), where g computes what f does",
        needs="definitions that are called, as the calculus made them",
        ends="each is planned once",
        run=of_roots(lambda context, roots: plan_definitions(context, roots, _planned)),
        patient=True,
    ),
    Pass(
        "shorten_steps",
        law="f(g(u[t]), x[t]) = f(v[t], x[t]), where v[t] = g(u[t]) for all t",
        needs="what a step computes without its states; rows that are not much larger",
        ends="each recurrence is replaced twice",
        run=of_roots(lambda context, roots: shorten_steps(context, roots, _planned)),
        patient=True,
    ),
    Pass(
        "widen_late",
        law="f(x[i + k]) = y[i + k], where y = f(x)",
        needs="maps as they were stated: products take windows apart",
        ends="what reads windows moves towards the roots",
        run=of_roots(widen_late),
    ),
    SYMMETRY,
    Pass(
        "open_promises",
        law="spd(A) = A, and f(B) = f(spd(B)) for a B that is so by promises in it",
        needs="products and sums have used the symmetry that was promised",
        ends="promises stand below functions of matrices alone",
        run=of_roots(open_promises),
        patient=True,
    ),
    Pass(
        "open_divisors",
        law="x / (r / n) = n * x / r for a number r / n with a name",
        needs="derivatives as they were stated, over what was named",
        ends="no such divisor is left",
        run=of_roots(open_divisors),
        optional=True,
    ),
    Pass(
        "flatten_products",
        law="(A * B) * C = A * B * C, (A + D) * B = A * B + D * B and back",
        needs="products as differentiation left them; a mode's own keep their order",
        ends="a fixed number of rounds",
        run=_flattened,
        optional=True,
        instead=_contracted,
        patient=True,
    ),
    Pass(
        "turn_walks",
        law="sum_j a[j] * (T.T @ w)[j] = sum_i (T @ a)[i] * w[i], T @ a known",
        needs="products of sums, and walks in them",
        ends="each use has a walk less",
        run=of_roots(turn_walks),
        optional=True,
    ),
    Pass(
        "compress",
        law="a derivative tensor is what its structure says of the arrays it keeps",
        needs="one sum of n-ary products; formulas show what it is before",
        ends="each tensor is taken apart once",
        run=compressed,
        patient=True,
    ),
    Pass(
        "read_blocks",
        law="A[i, a, b] = D[i, a, i, b] for D[i, a, k, b] = A[i, a, b] * delta(i, k)",
        needs="tensors taken apart, and as the calculus left them",
        ends="each tensor is read once",
        run=partial(read, apart=False),
        when=is_to_read,
        optional=True,
    ),
    Pass(
        "read_entries",
        law="A[i, 0, 1] = D[i, 0, i, 1] for D[i, a, k, b] = A[i, a, b] * delta(i, k)",
        needs="tensors taken apart, and as the calculus left them",
        ends="each tensor is read once",
        run=partial(read, apart=True),
        when=is_to_read,
        optional=True,
    ),
    Pass(
        "take_entries",
        law="(A @ B)[i, i] = sum_k A[i, k] * B[k, i], and likewise for sums and maps",
        needs="n-ary products; tensors taken apart, which are known by places",
        ends="what is read moves towards the inputs",
        run=_entries_taken,
    ),
    Pass(
        "flatten_parts",
        law="(A + D) * B = A * B + D * B and back",
        needs="the arrays of a tensor, whose sums have no deltas between its axes",
        ends="a fixed number of rounds",
        run=of_roots(flatten_products),
        when=lambda _, plan: has_large_sums(plan),
        optional=True,
    ),
    # Flattening, of parts too, contracts with symmetric matrices from the other side.
    replace(SYMMETRY, when=lambda _, plan: bool(plan.derived) or plan.is_read),
    Pass(
        "measure_distances",
        law="sum_k (X[i, k] - Y[j, k])**2 = squared_distances(X, Y)[i, j]",
        needs="n-ary products; formulas, which show what is summed",
        ends="each product has fewer factors that are summed",
        run=of_roots(measure_distances),
    ),
    Pass(
        "join_entries",
        law="sum_e,f v[e] * v[f] * delta(r[e], r[f]) = sum_p v[a[p]] * v[b[p]]",
        needs="all deltas in one product; pairs of equal entries that are known",
        ends="each product compares entries of an index array once less",
        remark=Remark(
            "products of two entries of a row, for each such pair",
            r"_row_first\]|_column_first\]|_pairs\b",
        ),
        run=of_roots(lambda context, roots: join_entries(context.graph, roots)),
        patient=True,
    ),
    Pass(
        "solve_by_structure",
        law="a matrix is what its few entries make it",
        needs="deltas of matrices, and formulas that show them as they are",
        ends="each matrix is looked at once",
        run=of_roots(solve_by_structure),
    ),
    Pass(
        "select_entries",
        law="inv(A)[i, i + 1] is what selected inversion gives",
        needs="matrices as objects; all deltas that read an inverse in one product",
        ends="each product reads an inverse less",
        run=of_roots(select_entries),
    ),
    Pass(
        "apply_in_numbers",
        law="u @ inv(A) @ v = inv(A).T @ u @ v",
        needs="n-ary products, which have no order yet",
        ends="a number keeps no inverse that can be applied",
        remark=Remark(
            "one solve with the transpose, in place of several",
            r"\bsolve\(.*(?:\.T,|transposed=True)",
        ),
        run=of_roots(apply_in_numbers),
        optional=True,
    ),
    GATHERING,
    Pass(
        "share_factors",
        law="a * b * c = (a * b) * c, where several products multiply a and b",
        needs="n-ary products",
        ends="each round leaves fewer factors over all products",
        run=of_roots(share_factors),
    ),
    Pass(
        "share_scales",
        law="sum_k a * s * d = sum_k a * (s * d), where several products scale d by s",
        needs="n-ary products; derivatives that have a name",
        ends="numbers that scale get fewer over all products",
        run=of_roots(share_scales),
    ),
    Pass(
        "pair_transposes",
        law="t[i, j] + t[j, i] = T[i, j] + T[j, i] with one T",
        needs="terms that are dense arrays",
        ends="T has fewer terms, and none of them transposes another",
        remark=Remark(
            "a term and its transpose, of which one is computed",
            r"\b([\w.]+) \+ \1\.T\b",
        ),
        run=of_roots(pair_transposes),
        optional=True,
    ),
    Pass(
        "scatter_sums",
        law="d[i] * sum_l u[l] * delta(i, a[l]) = sum_l (d[a] * u)[l] * delta(i, a[l])",
        needs="n-ary products; several terms that one index array adds",
        ends="each step leaves a term less",
        run=of_roots(scatter_sums),
        when=lambda context, plan: context.cross_country,
        steps=STEPS_TO_SHARE,
    ),
    Pass(
        "nest_bounds",
        law="sum_i v[i] * [j <= i] * [k <= i] = s[max(j, k)], s being running sums",
        needs="n-ary products, whose bounds are all there",
        ends="each sum has a bound less",
        run=of_roots(nest_bounds),
    ),
    Pass(
        "order_contractions",
        law="a product is any tree of products of two",
        needs="n-ary products: what is grouped here stays so",
        ends="each product is replaced by smaller ones, which are not revisited",
        remark=Remark(
            "from the right: the cheapest order of these products",
            r"@ \([\w.]+ @ (?:[^()+-]|\([^()]*\))*\)",
        ),
        run=of_roots(_ordered),
        left=without_hope,
        patient=True,
    ),
    Pass(
        "apply_inverses",
        law="sum_j inv(A)[i, j] * delta(j, k + 1) * b[k] = inv(A) @ shifted(b)",
        needs="pairs: what an inverse is applied to is one array",
        ends="an inverse keeps no delta",
        run=of_roots(apply_inverses),
    ),
    Pass(
        "share_products",
        law="a * b * c * d = (a * b * c) * d, where a * b * c or a transpose is there",
        needs="pairs, seen n-ary where they are used once; a lower modelled cost",
        ends="each step lowers the cost",
        run=of_roots(share_products),
    ),
    Pass(
        "factor_pairs",
        law="A @ B + C @ B = (A + C) @ B, and likewise for a condition i < j",
        needs="pairs, whose operands stand for many factors; a lower modelled cost",
        ends="each step leaves fewer factors over all terms",
        run=of_roots(factor_pairs),
    ),
    Pass(
        "share_sums",
        law="a + b - c + d = s + d, where s = a + b - c is there",
        needs="sums as they are computed",
        ends="a sum has fewer terms",
        run=of_roots(share_sums),
    ),
    Pass(
        "share_values",
        law="a * (b * c) = (a * b) * c, of which one is there",
        needs="products and sums as they are computed",
        ends="nodes only go, but for multiples of others",
        run=of_roots(share_values),
    ),
    Pass(
        "spread_last",
        law="d[i] * (a[i] - b[i] * c[j]) = (d * a)[i] - (d * b)[i] * c[j]",
        needs="products and sums as they are computed, those that are there shared",
        ends="what replaces an array takes less",
        run=of_roots(spread_last),
    ),
    Pass(
        "fuse_elementwise",
        law="(a * b) * c = a * b * c for arrays of one shape",
        needs="an inner product without a name that is used once",
        ends="each fusion removes a node",
        run=of_roots(fuse_elementwise),
    ),
    GATHERING,  # fusing has joined what is elementwise
    SYMMETRY,  # ordering makes products that are transposes of others
    Pass(
        "mirror_products",
        law="sum_k x[k, i] * s[k] * x[k, j] = sum_k z[k, i] * z[k, j], z = sqrt(s) * x",
        needs="pairs as they are computed, and weights that are never negative",
        ends="a product of a matrix and itself has no weights",
        remark=Remark(
            "Z.T @ Z is symmetric: BLAS computes one triangle",
            r"\b([\w.]+)\.T @ \1\b|\b([\w.]+) @ \2\.T\b",
        ),
        run=of_roots(mirror_products),
    ),
    Pass(
        "whole_keys",
        law="sum_l v[l] * delta(i + 1, a[l]) = s[i + 1], where s has all i",
        needs="products in their last order, which would read only what is asked for",
        ends="each sum has all keys of an index array more",
        run=of_roots(whole_keys),
    ),
    Pass(
        "add_narrow",
        law="A[i, j] + b[i] + c[i] = A[i, j] + (b + c)[i]",
        needs="all terms in one sum; terms that are not written in place",
        ends="a sum has fewer terms",
        run=of_roots(add_narrow),
    ),
    Pass(
        "drop_steps",
        law="step(b - a) * (a - minimum(a, b)) = 0",
        needs="factors in common found: what vanishes is one sum",
        ends="products only go",
        run=of_roots(drop_steps),
    ),
    Pass(
        "select_terms",
        law="m * a + ~m * b = where(m, a, b) for a condition m",
        needs="sums as they are computed: a selection is no product",
        ends="each selection leaves a term less",
        run=of_roots(select_terms),
    ),
    Pass(
        "clip_selections",
        law="where(x <= b, f(x), s * x + k) = f(t) + s * (x - t), t = minimum(x, b)",
        needs="selections as they are; differentiation is over: equals share a slope",
        ends="each selection is looked at once, alone and within another",
        remark=Remark(
            "both branches in one: the argument stops where they meet",
            r"\b(?:clip|minimum|maximum)\(",
            ("clip",),
        ),
        run=of_roots(clip_selections),
    ),
    Pass(
        "turn_signs",
        law="-(a - b) = b - a",
        needs="differences as they are computed, and all who read them",
        ends="each sum is looked at once",
        run=of_roots(turn_signs),
    ),
    Pass(
        "pair_slopes",
        law="sigmoid(t) * sigmoid(-t) = sigmoid_slope(t), and likewise Mills' ratio's",
        needs="products in their last order: stable forms do not know the slope",
        ends="each pair leaves a factor less",
        run=of_roots(pair_slopes),
    ),
)
