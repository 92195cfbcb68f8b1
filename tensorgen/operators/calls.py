"""The table of functions of whole arrays, with derivatives as products.

Each rule gives `d out / d operand` in labels: the node's axes are 0, 1, ..., labels
that both share are the batch (leading axes, or the axes that a reduction keeps).
`solve` is no row: it is the product `inv(A)[i, k] * B[k, j]`, and lowering solves.
Sources: Giles, Collected Matrix Derivative Results (2008), for inv, det and logdet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Node, Ref
from tensorgen.operators import external_calls, promise_calls, reshape, solved_arrays
from tensorgen.operators.conditions.bounds import may_be_infinite
from tensorgen.operators.defined_calls import ROW as DEFINED
from tensorgen.operators.entries import entries, values
from tensorgen.operators.matrices import (
    capacitance,
    distances,
    inverses,
    matrix_functions,
    matrix_series,
    packing,
    spectral,
    systems,
)
from tensorgen.operators.recurrences import recurrence as recurrences
from tensorgen.operators.reductions_by_blocks import (
    as_it_is,
    axes_of,
    exp_sum_of_block,
    has_some,
    kept_axes,
    largest_of_block,
    log_softmax_by_sums,
    logsumexp_by_sums,
    operand_labels,
    reduced_dims,
    smallest_of_block,
    softmax_by_sums,
    two_entries,
    weighted,
)
from tensorgen.operators.scalar import apply as apply_map
from tensorgen.operators.scalar import power, ref, times, total
from tensorgen.operators.scans import (
    by_key,
    intervals,
    keys,
    places,
    ranks,
    running,
    triangles,
)
from tensorgen.operators.scans.monoids import all_but_two, ties
from tensorgen.operators.table import Operator, Partial, no_partials, same_dims

Params = Mapping[str, object]


def apply(graph: Graph, operator: str, args: Sequence[Node], **params: object) -> Node:
    """Return a call of a row of the table; its row gives the dims of the result."""
    if operator == "supremum":
        return _supremum(graph, args, axes_of(params))
    row = OPERATORS[operator]
    if row.params == ("axes",):
        (x,), axes, reduced = args, axes_of(params), partial(_reduced, graph, operator)
        found = running.over_triangle(graph, operator, x, axes, reduced)
        if found is None and operator == "logsumexp":
            found = keys.over_keys(graph, x, axes)
        if operator == "any":
            found = ranks.any_within(graph, x, axes)
        found = found or keys.by_key(graph, operator, x, axes, reduced)
        if found is not None:
            return found
    if operator == "norm" and len(axes_of(params)) == args[0].order > 1:
        # The zeros of a sparse matrix count for nothing.
        matrix = entries(graph, args[0])
        if matrix is not None:
            return apply(graph, "norm", [values(graph, matrix)], axes=(0,))
    found = row.by_parts(graph, args[0], apply) if row.by_parts else None
    if found is not None:
        return found
    dims = row.dims(args, params)
    return graph.call(operator, args, dims, **params)


def _reduced(graph: Graph, operator: str, x: Node, axes: tuple[int, ...]) -> Node:
    return apply(graph, operator, [x], axes=axes)


def _supremum(graph: Graph, args: Sequence[Node], axes: tuple[int, ...]) -> Node:
    """The largest entries, which are -inf where an axis may have none."""
    found = apply(graph, "max", args, axes=axes)
    if not isinstance(found, Call) or found.operator != "max" or has_some(found):
        return found
    return graph.call("supremum", found.args, found.dims, axes=axes)


# Matrix functions, batched over leading axes


def _scalar_dims(args: Sequence[Node], params: Params) -> tuple[Dim, ...]:
    return args[0].dims[:-2]


def _inv_partials(graph: Graph, node: Call) -> list[Partial]:
    # d C = -C dA C: C[i, j] by A[k, l] is -C[i, k] C[l, j].
    *batch, i, j = range(node.order)
    left, right = (*batch, i, "k"), (*batch, "l", j)
    return [
        Partial(
            node.args[0],
            (*batch, "k", "l"),
            Fraction(-1),
            ((node, left), (node, right)),
        )
    ]


def _logdet_partials(graph: Graph, node: Call) -> list[Partial]:
    # log|det A| by A[k, l] is inv(A)[l, k].
    batch = tuple(range(node.order))
    inverse = apply(graph, "inv", node.args)
    factors = ((inverse, (*batch, "l", "k")),)
    return [Partial(node.args[0], (*batch, "k", "l"), factors=factors)]


def _det_partials(graph: Graph, node: Call) -> list[Partial]:
    (logdet,) = _logdet_partials(graph, node)
    batch = tuple(range(node.order))
    return [logdet._replace(factors=((node, batch), *logdet.factors))]


# Reductions over the axes `axes`


def _weighted_by(operator: str) -> Callable[[Graph, Call], list[Partial]]:
    """The rule of a reduction whose gradient is a function over the same axes."""

    def partials(graph: Graph, node: Call) -> list[Partial]:
        return weighted(node, over(graph, operator, node))

    return partials


def _softmax_partials(graph: Graph, node: Call) -> list[Partial]:
    # p[i] by x[j] is p[i] delta(i, j) - p[i] p[j] along the reduced axes.
    axes, other = two_entries(node)
    return [
        Partial(node.args[0], axes, factors=((node, axes),)),
        Partial(node.args[0], other, Fraction(-1), ((node, axes), (node, other))),
    ]


def _log_softmax_partials(graph: Graph, node: Call) -> list[Partial]:
    # x[i] - logsumexp(x) by x[j] is delta(i, j) - p[j].
    axes, other = two_entries(node)
    softmax = over(graph, "softmax", node)
    return [
        Partial(node.args[0], axes),
        Partial(node.args[0], other, Fraction(-1), ((softmax, other),)),
    ]


def _extremum_partials(graph: Graph, node: Call) -> list[Partial]:
    # Ties share equally.
    (x,) = node.args
    kept = kept_axes(node)
    hit, count = ties(graph, ref(x), Ref(node, kept), kept)
    share = power(graph, Ref(count, kept), -1)
    return weighted(node, times(graph, hit, share).node)


def _median_partials(graph: Graph, node: Call) -> list[Partial]:
    # It is the mean of the last entry of the lower half and the first of the upper.
    halves = [over(graph, f"{half}_median", node) for half in ("lower", "upper")]
    return [
        partial._replace(coefficient=Fraction(1, 2))
        for half in halves
        for partial in _extremum_partials(graph, cast(Call, half))
    ]


def over(graph: Graph, operator: str, node: Call) -> Node:
    """Return another function of the same argument over the same axes."""
    return apply(graph, operator, node.args, **dict(node.params))


# The norm, its gradient and one over it (0 at 0) are closed under differentiation, and
# no square or cube of a norm leaves the range of floats where the result does not.


def _unit_partials(graph: Graph, node: Call) -> list[Partial]:
    # u[i] by x[j] is (delta(i, j) - u[i] u[j]) / norm(x).
    axes, other = two_entries(node)
    inverse = (over(graph, "rnorm", node), kept_axes(node))
    return [
        Partial(node.args[0], axes, factors=(inverse,)),
        Partial(
            node.args[0], other, Fraction(-1), ((node, axes), (node, other), inverse)
        ),
    ]


def _rnorm_partials(graph: Graph, node: Call) -> list[Partial]:
    labels, axes = operand_labels(node), tuple(range(node.order))
    unit = (over(graph, "unit", node), labels)
    return [
        Partial(node.args[0], labels, Fraction(-1), (unit, (node, axes), (node, axes)))
    ]


def _prod_others_partials(graph: Graph, node: Call) -> list[Partial]:
    (x,), gone = node.args, axes_of(dict(node.params))
    twins = tuple(range(x.order, x.order + len(gone)))

    def others(without: Node) -> Node:
        return apply(graph, "prod_others", [without], axes=twins)

    return all_but_two(graph, x, gone, others)


# Values in terms of others, for emission


def _shifted(graph: Graph, node: Call) -> tuple[Node, Ref, Node, Node]:
    """The largest entry, what is above it, the exponentials of that and their sum.

    Nothing is taken off where the largest entry is infinite. Else its exponential is 1:
    only of entries that are all -inf, and of none, the sum would be 0, and is 1, whose
    logarithm changes nothing.
    """
    (x,) = node.args
    kept = kept_axes(node)
    largest = over(graph, "supremum", node)
    infinite = is_guarded(node)
    level = apply_map(graph, "level", ref(largest)).node if infinite else largest
    shifted = total(graph, [(1, ref(x)), (-1, Ref(level, kept))])
    graph.suggest(shifted.node, "shifted")
    exps = apply_map(graph, "exp", shifted).node
    exp_sum = graph.product(kept, [(exps, range(x.order))])
    if infinite:
        exp_sum = apply_map(graph, "nonzero", ref(exp_sum)).node
        graph.suggest(exp_sum, "exp_sums" if kept else "exp_sum")
    return largest, shifted, exps, exp_sum


def exponentials(graph: Graph, node: Call) -> Node:
    """What softmax and its logarithms are made of, which others may have a use for."""
    with graph.without_rewrites():
        return _shifted(graph, node)[2]


def is_guarded(node: Call) -> bool:
    """Whether a largest entry may be infinite, or there may be none."""
    return may_be_infinite(node.args[0]) or not has_some(node)


def _expand_logsumexp(graph: Graph, node: Call) -> Node:
    largest, _, _, exp_sum = _shifted(graph, node)
    return graph.add(largest, apply_map(graph, "log", ref(exp_sum)).node)


def _expand_softmax(graph: Graph, node: Call) -> Node:
    _, _, exps, exp_sum = _shifted(graph, node)
    inverse = power(graph, Ref(exp_sum, kept_axes(node)), -1)
    return times(graph, ref(exps), inverse).node


def _expand_log_softmax(graph: Graph, node: Call) -> Node:
    # The shift goes first: it is what x and its logsumexp have in common.
    _, shifted, _, exp_sum = _shifted(graph, node)
    log_sum = apply_map(graph, "log", Ref(exp_sum, kept_axes(node)))
    return total(graph, [(1, shifted), (-1, log_sum)]).node


def _expand_rnorm(graph: Graph, node: Call) -> Node:
    return apply_map(graph, "inverse", ref(over(graph, "norm", node))).node


def _expand_unit(graph: Graph, node: Call) -> Node:
    norm = Ref(over(graph, "norm", node), kept_axes(node))
    return times(graph, ref(node.args[0]), apply_map(graph, "inverse", norm)).node


# The templates of reductions take `axis={axis}`; the keyword is left out where the
# argument is reduced whole.
_OverAxes = partial(Operator, params=("axes",))
_OfMatrix = partial(Operator, matrix_axes=2)
_Share = partial(_OverAxes, helped=True, rowwise=True)
_OfSome = partial(_OverAxes, of_some=True)
_Joined = partial(_OverAxes, of_block=as_it_is)

_ANY = "any", reduced_dims, no_partials, "np.any({0}{axis})"
_NORM = "norm", reduced_dims, _weighted_by("unit"), "_norm({0}{axis})"
_RNORM = "rnorm", reduced_dims, _rnorm_partials
_ROWS = (
    _OfMatrix(
        "inv",
        same_dims,
        _inv_partials,
        "np.linalg.inv({0})",
        refuses="singular",
        work=2.0,
        regular=True,
        by_parts=inverses.inverse,
        coefficient=matrix_series.inverse,
    ),
    _OfMatrix(
        "det",
        _scalar_dims,
        _det_partials,
        "np.linalg.det({0})",
        work=2.0,
        regular=True,
        by_parts=inverses.det,
    ),
    _OfMatrix(
        "logdet",
        _scalar_dims,
        _logdet_partials,
        "np.linalg.slogdet({0})[1]",
        work=2.0,
        regular=True,
        by_parts=inverses.logdet,
    ),
    _Share(
        "logsumexp",
        reduced_dims,
        _weighted_by("softmax"),
        expand=_expand_logsumexp,
        by_reductions=logsumexp_by_sums,
    ),
    _Share(
        "softmax",
        same_dims,
        _softmax_partials,
        expand=_expand_softmax,
        by_reductions=softmax_by_sums,
    ),
    _Share(
        "log_softmax",
        same_dims,
        _log_softmax_partials,
        expand=_expand_log_softmax,
        by_reductions=log_softmax_by_sums,
    ),
    *(
        _OfSome(
            name,
            reduced_dims,
            _extremum_partials,
            f"np.{name}({{0}}{{axis}})",
            rowwise=True,
            of_block=of_block,
            step=step,
        )
        for name, of_block, step in (
            ("max", largest_of_block, "maximum"),
            ("min", smallest_of_block, "minimum"),
        )
    ),
    # What is taken off sums of exponentials: the largest entry, -inf where none is.
    _OverAxes(
        "supremum",
        reduced_dims,
        no_partials,
        "_supremum({0}{axis})",
        word="max",
        internal=True,
        rowwise=True,
        of_block=as_it_is,
        step="maximum",
    ),
    # The sum of exponentials above the largest entry, which blocks have of their own.
    _OverAxes(
        *("exp_sum", reduced_dims, no_partials, ""),
        expand=exp_sum_of_block,
        internal=True,
        of_block=exp_sum_of_block,
        step="exp_sum",
    ),
    _OfSome("median", reduced_dims, _median_partials, "np.median({0}{axis})"),
    *(
        _OverAxes(
            f"{half}_median",
            reduced_dims,
            _extremum_partials,
            f'np.quantile({{0}}, 0.5{{axis}}, method="{side}")',
        )
        for half, side in (("lower", "lower"), ("upper", "higher"))
    ),
    # Of conditions, and so without a derivative.
    _Joined(*_ANY, boolean=True, step="logical_or"),
    _Joined(*_NORM, step="hypot"),
    _OverAxes(
        *("unit", same_dims, _unit_partials),
        expand=_expand_unit,
        scales=True,
        by_reductions=_expand_unit,
    ),
    _OverAxes(*_RNORM, expand=_expand_rnorm, by_reductions=_expand_rnorm),
    _Joined(
        *("prod", reduced_dims, _weighted_by("prod_others"), "np.prod({0}{axis})"),
        step="multiply",
    ),
    _OverAxes(
        "prod_others",
        same_dims,
        _prod_others_partials,
        "_prod_others({0}{axis})",
        spare=1,
    ),
    DEFINED,
    *external_calls.ROWS,
    *matrix_functions.ROWS,
    *packing.ROWS,
    *places.ROWS,
    *intervals.ROWS,
    *promise_calls.ROWS,
    *capacitance.ROWS,
    *triangles.ROWS,
    *spectral.ROWS,
    *systems.ROWS,
    reshape.ROW,
    *by_key.ROWS,
    *recurrences.ROWS,
    *distances.ROWS,
    solved_arrays.ROW,
)

OPERATORS: dict[str, Operator] = {row.name: row for row in _ROWS}


def expansion(graph: Graph, node: Node) -> Node | None:
    """Return what a call is in terms of other nodes; None where it is plain."""
    if not isinstance(node, Call) or not (expand := OPERATORS[node.operator].expand):
        return None
    # What stable forms would recognise here is what is being expanded.
    with graph.without_rewrites():
        return expand(graph, node)
