"""Inverses of matrices that solve by structure, applied to something: solutions.

What deltas shift or gather goes with the array that the inverse is applied to: else
entries of the inverse would be read, all of them, where one solution is all that is
needed. Numbers `u @ inv(A) @ v` come first, while their products are n-ary: pairs would
have said already what the inverse is applied to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tensorgen.ir.nodes import Call, Label, Node, Product, Ref, topological
from tensorgen.ir.rebuild import carry_names, with_operands, with_parts
from tensorgen.ir.views import opened
from tensorgen.operators.matrices.definite import is_positive_definite
from tensorgen.operators.matrices.systems import solution
from tensorgen.passes.context import Context
from tensorgen.passes.matrices.select_entries import is_inverse

ROUNDS = 3
"""Numbers choose again once it is known what the others have chosen."""

FORCED = 1000
"""What a solution that has to be taken counts, against those that may be."""


def apply_in_numbers(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with solutions in place of inverses in numbers alone.

    A number `u @ inv(A) @ v` takes the one of two solutions that others take too.
    """
    return _chosen(context, roots, numbers=True)


def apply_inverses(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with solutions in place of inverses that are applied."""
    return _chosen(context, roots, numbers=False)


def _chosen(context: Context, roots: Sequence[Node], numbers: bool) -> list[Node]:
    """Choose solutions until nobody chooses another one."""
    wanted: Counter[Node] = Counter()
    found = list(roots)
    if not any(isinstance(x, Call) and x.operator == "inv" for x in topological(found)):
        return found
    for _ in range(ROUNDS):
        asked: Counter[Node] = Counter()
        found = _rewritten(context, roots, numbers, wanted, asked)
        if asked == wanted:
            break
        wanted = asked
    return found


def _rewritten(
    context: Context,
    roots: Sequence[Node],
    numbers: bool,
    wanted: Counter[Node],
    asked: Counter[Node],
) -> list[Node]:
    """Take the solutions that are most wanted; count what is asked for.

    Of `numbers` alone, if so; what else there is says what it will ask for.
    """
    graph, new = context.graph, dict[Node, Node]()
    for node in topological(roots):
        made = with_operands(graph, node, new)
        if isinstance(made, Product):
            views = [k for k, ref in enumerate(made.factors) if _is_view(ref.node)]
            whole = opened(graph, made, views) if views else made
            applied = _applied(context, whole, wanted, asked) or made
            made = made if numbers and node.order else applied
        carry_names(graph, node, made)
        new[node] = made
    return [new[root] for root in roots]


def _is_view(node: Node) -> bool:
    """Whether deltas pick some entries of an inverse."""
    return (
        isinstance(node, Product)
        and len(node.factors) == 1
        and _is_inverse(node.factors[0].node)
    )


def _is_inverse(node: Node) -> bool:
    """Whether a node is the inverse of an object's matrix, or of an array.

    Definite arrays have a factor, which other laws know how to use.
    """
    if not isinstance(node, Call) or node.operator != "inv" or node.order != 2:
        return False
    return is_inverse(node) or not is_positive_definite(node.args[0])


def _applied(
    context: Context, node: Node, wanted: Counter[Node], asked: Counter[Node]
) -> Node | None:
    if not isinstance(node, Product):
        return None
    for k, (inner, labels) in enumerate(node.factors):
        own = is_inverse(inner) or (_is_inverse(inner) and _is_read(node, labels))
        if own and len({*labels}) == 2:
            ways = [_to(context, node, k, x) for x in reversed(labels)]
            found = [way for way in ways if way is not None]
            for solved, _ in found:
                asked[solved] += 1 if len(found) > 1 else FORCED
            if found:
                _, made = max(found, key=lambda way: wanted[way[0]])
                return _applied(context, made, wanted, asked) or made
    return None


def _is_read(node: Product, labels: Sequence[Label]) -> bool:
    """Whether deltas pick some entries of an array: it is not multiplied by whole."""
    picked = (x for at in node.constraints for x in at.form.labels)
    return not {*labels}.isdisjoint(picked)


def _to(
    context: Context, node: Product, k: int, contracted: int
) -> tuple[Node, Node] | None:
    """The inverse, factor k, applied along a label to all that hangs on this.

    The solution, and the product with it; None where that is neither a vector nor a
    matrix.
    """
    inverse = node.factors[k]
    (result,) = (x for x in inverse.labels if x != contracted)
    rest = [ref for place, ref in enumerate(node.factors) if place != k]
    groups = [{*ref.labels} for ref in rest]
    groups += [{*at.form.labels} for at in node.constraints]
    reached = {contracted}
    for _ in groups:
        reached |= {
            x
            for group in groups
            if group & reached
            for x in group
            if x >= node.order and x != result
        }
    mine = [bool(group & reached) for group in groups]
    used = set().union(*(group for group, own in zip(groups, mine, strict=True) if own))
    free = sorted(x for x in used if x < node.order or x == result)
    factors = [ref for ref, own in zip(rest, mine, strict=False) if own]
    columns = int(is_inverse(inverse.node))  # of an array the inverse is no more
    if contracted < node.order or len(free) > columns or not factors:
        return None
    graph, dims = context.graph, dict(enumerate(node.sizes))
    ties = list(zip(node.constraints, mine[len(rest) :], strict=True))
    right = graph.product(
        [contracted, *free],
        factors,
        constraints=[at for at, own in ties if own],
        sizes={x: dims[x] for x in used},
    )
    system = inverse.node
    assert isinstance(system, Call)
    turned = inverse.labels[0] == contracted
    found = solution(graph, system.args[0], right, turned)
    others = [ref for ref, own in zip(rest, mine, strict=False) if not own]
    # The number stays outside, so that others share the solution.
    left = [at for at, own in ties if not own]
    return found, with_parts(graph, node, [Ref(found, (result, *free)), *others], left)
