"""What index arrays give one key: the masks that compare keys, the largest entries.

Of `sum_j exp(u[j]) * delta(g[i], g[j])` the largest exponent is that of a key, found
once for all that have it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Constraint, Lookup, Map, Node, Product, Ref
from tensorgen.operators.scalar import apply
from tensorgen.operators.table import Operator, Partial

Keys = tuple[Lookup, Lookup]


def compared(mask: Ref) -> Keys | None:
    """The two entries that are equal where a mask holds, if it is that of a delta."""
    node = mask.node
    if not isinstance(node, Product) or node.factors or node.inner:
        return None
    if node.coefficient != 1 or len(node.constraints) != 1:
        return None
    return equated(node.constraints[0].renamed(mask.labels.__getitem__))


def equated(constraint: Constraint) -> Keys | None:
    """The two entries, below one bound, that a delta says are equal."""
    kind, (terms, const) = constraint
    if kind != "eq" or const != 0 or sorted(c for _, c in terms) != [-1, 1]:
        return None
    (first, _), (second, _) = terms
    if not (isinstance(first, Lookup) and isinstance(second, Lookup)):
        return None
    alike = index_bound(first.node) == index_bound(second.node)
    return (first, second) if alike else None


def over_keys(graph: Graph, x: Node, axes: Sequence[int]) -> Node | None:
    """Return logsumexp over axes of `where(a[i] == b[j], z[j], -inf)` as one by key.

    Must not fire where z has the axis i: it is a table of pairs then.
    """
    whole = _turned(x)
    if not (isinstance(whole.node, Map) and whole.node.function == "where"):
        return None
    mask, z, rest = (arg.under(whole) for arg in whole.node.args)
    keys = compared(mask)
    if keys is None or not is_minus_infinity(rest.node):
        return None
    summed = [entry for entry in keys if {*entry.labels} <= {*axes}]
    if len(summed) != 1 or not {*axes} <= {*z.labels, *summed[0].labels}:
        return None
    (own,) = summed
    other = next(entry for entry in keys if entry != own)
    if {*other.labels} & {*z.labels, *axes}:
        return None
    out = [axis for axis in range(x.order) if axis not in axes]
    exps = apply(graph, "exp", z)
    sums = graph.product(out, [exps, mask], sizes=dict(enumerate(x.dims)))
    return apply(graph, "log", Ref(sums, tuple(range(len(out))))).node


def _turned(x: Node) -> Ref:
    """An array, or what it has with axes in another order, in its own axes."""
    if isinstance(x, Product) and x.coefficient == 1 and len(x.factors) == 1:
        (factor,) = x.factors
        if sorted(factor.labels) == [*range(x.order)] and not x.constraints:
            return factor
    return Ref(x, tuple(range(x.order)))


def is_minus_infinity(node: Node) -> bool:
    """Whether a node is minus infinity."""
    if not isinstance(node, Product) or node.coefficient != -1 or node.inner:
        return False
    factors = [ref.node for ref in node.factors]
    return len(factors) == 1 and getattr(factors[0], "name", "") == "inf"


def largest(graph: Graph, x: Ref, own: Lookup, read: Lookup) -> Ref:
    """Return the largest entries of x at the keys that are read, -inf without any.

    Its labels are those of `own`, in whose place stand those of `read`.
    """
    (label,) = own.labels
    rest = tuple(a for a in x.labels if a != label)
    sizes = dict(zip(x.labels, x.node.dims, strict=True))
    turned = graph.product((label, *rest), [x], sizes=sizes)
    args = [turned, own.node, read.node]
    node = graph.call("max_by_key", args, _dims(args, {}))
    return Ref(node, (*read.labels, *rest))


def _dims(args: Sequence[Node], params: Mapping[str, object]) -> tuple[Dim, ...]:
    x, _, read = args
    return (*read.dims, *x.dims[1:])


def _no_partials(graph: Graph, node: Call) -> list[Partial]:
    # It is the level of a sum, which does not depend on it.
    return []


ROW = Operator(
    "max_by_key",
    _dims,
    _no_partials,
    "_max_by_key({0}, {1}, {2})",
    keyed=True,
)
