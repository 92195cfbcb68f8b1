"""One exponential for all logistic functions of one array.

    sigmoid(t) * sigmoid(-t) = e / (1 + e)**2    with e = exp(-abs(t))

and so on: `operators/stable/rules.tg` has what each is by itself.
Each keeps all of its digits, and e never overflows. Alone a function stays the call
that it is, which reads better.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeGuard

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, topological
from tensorgen.ir.rebuild import carry_names, with_factors, with_operands
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.scalar import apply, power, ref, times, total
from tensorgen.operators.stable.rules import fit
from tensorgen.passes.context import Context


def share_exponentials(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with several logistic functions of an array made of one `exp`.

    Numbers are left alone. Ends: what is made has no logistic function.
    """
    graph = context.graph
    order = topological(roots)
    functions: dict[Node, list[Map]] = {}
    for node in order:
        if _is_logistic(node):
            functions.setdefault(_upward(graph, node)[0], []).append(node)
    shared = {x for found in functions.values() if len(found) > 1 for x in found}
    new: dict[Node, Node] = {}
    with graph.without_rewrites():  # which would see what the sums are of
        for node in order if shared else ():
            if isinstance(node, Product):
                new[node] = _product(graph, node, shared, new)
            elif node in shared:
                new[node] = _of_exponential(graph, with_operands(graph, node, new))
            else:
                new[node] = with_operands(graph, node, new)
            carry_names(graph, node, new[node])
    return [new.get(root, root) for root in roots]


def _is_logistic(node: Node) -> TypeGuard[Map]:
    return (
        isinstance(node, Map)
        and node.order > 0
        and ELEMENTWISE[node.function].has("logistic")
    )


def _upward(graph: Graph, node: Map) -> tuple[Node, bool]:
    """The argument of a function without a minus, and whether it had none."""
    t = graph.product(range(node.order), node.args)
    if isinstance(t, Product) and t.coefficient < 0:
        return graph.scale(t, -1), False
    return t, True


def _exponential(graph: Graph, t: Ref) -> Ref:
    """exp(-abs(t)), which is at most 1."""
    size = times(graph, apply(graph, "abs", t), coefficient=-1)
    e = apply(graph, "exp", size)
    graph.suggest(e.node, "e")
    return e


def _of_exponential(graph: Graph, node: Node) -> Node:
    """A logistic function by the exponential of minus the size of its argument."""
    if not _is_logistic(node):
        return node
    e = _exponential(graph, ref(_upward(graph, node)[0]))
    found = fit(graph, "logistic functions", ref(node))
    assert found is not None
    whole = found.whole(graph)
    if node.function == "sigmoid":
        _below(graph, e, -1)  # which gets its name
    return whole.node


def _below(graph: Graph, e: Ref, exponent: int) -> Ref:
    """A power of 1 + e."""
    whole = total(graph, [(1, Ref(graph.constant(1), ())), (1, e)])
    graph.suggest(whole.node, "one_plus_e")
    return power(graph, whole, exponent)


def _product(
    graph: Graph, node: Product, shared: Collection[Node], new: dict[Node, Node]
) -> Node:
    """A product over new factors, in which the two parts of a weight are one."""
    refs: list[Ref] = []
    waiting: dict[tuple[Node, bool, tuple[int, ...]], list[Ref]] = {}
    for old, labels in node.factors:
        found = Ref(new[old], labels)
        if not (old in shared and isinstance(old, Map) and old.function == "sigmoid"):
            refs.append(found)
            continue
        t, is_plus = _upward(graph, old)
        if waiting.get((t, not is_plus, labels)):
            waiting[t, not is_plus, labels].pop()
            own = with_operands(graph, old, new)
            assert isinstance(own, Map)
            e = _exponential(graph, ref(_upward(graph, own)[0]))
            both = [e, _below(graph, e, -2)]
            # Where constraints say what is read of it, the weight is one array.
            parts = [times(graph, *both)] if node.constraints else both
            refs += [part.under(found) for part in parts]
        else:
            waiting.setdefault((t, is_plus, labels), []).append(found)
    rest = [x for found in waiting.values() for x in found]
    return with_factors(graph, node, [*refs, *rest])
