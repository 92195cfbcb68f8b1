"""Measure: sums of squared differences of rows are distances, all of them at once.

`sum_k (X[i, k] - Y[j, k])**2` is no table of differences i by j by k, nor a loop over
blocks of one: `squared_distances` multiplies rows, and keeps digits as differences do.
Weighted sums of squares, `sum_j W[i, j] * (X[i, k] - Y[j, k])**2`, are three products
of rows less their mean, as slopes of distances are two. Squares in a metric,
`sum_k,l (X[i, k] - Y[j, k]) * M[k, l] * (X[i, l] - Y[j, l])`, are `metric_distances`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple, cast

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Label,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    children,
    constant_value,
    topological,
)
from tensorgen.ir.rebuild import rebuild
from tensorgen.operators.matrices.definite import Sign, is_positive_definite, sign
from tensorgen.operators.matrices.distances import METRIC, PLAIN, SQUARED
from tensorgen.passes.context import Context
from tensorgen.passes.matrices.centre_differences import less_mean
from tensorgen.passes.views import is_sparse, is_square
from tensorgen.prices.thresholds import ROWS_OF_A_TABLE


class _Difference(NamedTuple):
    """`(by * (x - y))**power`, times others: x and y share the label of entries.

    The `table` is what has all differences.
    """

    table: Node
    by: Fraction
    x: Ref
    y: Ref
    entry: Label
    others: tuple[Ref, ...]
    power: int = 1

    @property
    def rows(self) -> tuple[Label, Label]:
        """The labels of the rows of both."""
        first, second = (
            next(label for label in ref.labels if label != self.entry)
            for ref in (self.x, self.y)
        )
        return first, second

    def is_table(self, sizes: Sequence[Dim]) -> bool:
        """Whether it has many rows of both, and is larger than all beside it."""
        few = (sizes[x].constant for x in self.rows)
        if any(number is not None and number <= ROWS_OF_A_TABLE for number in few):
            return False
        if any({*self.rows, self.entry} <= {*ref.labels} for ref in self.others):
            return False
        used = (self.x, self.y, *self.others)
        return sizes[self.entry].constant != 1 and not any(
            is_sparse(ref.node) for ref in used
        )


def measure_distances(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with sums of squared differences of rows, and norms, as calls.

    Ends: each product has fewer factors that are summed, and norms are gone.
    """
    graph = context.graph
    # Differences that are formed in any case have their norms from there.
    formed = {
        arg
        for node in topological(roots)
        if isinstance(node, Call) and node.operator in ("unit", "rnorm")
        for arg in node.args
    }

    tables = _tables(roots)
    opened: set[Node] = set()

    def visit(node: Node) -> Node:
        if isinstance(node, Call) and node.operator == "norm":
            return node if node.args[0] in formed else _of_norm(graph, node) or node
        if isinstance(node, Product) and node.inner:
            found = (
                _measured(graph, node, one)
                for one in _differences(node)
                if one.power > 1 or one.table not in tables
            )
            new = _in_metric(graph, node)
            new = new or next((new for new in found if new is not None), node)
            opened.update((new,) if new is not node else ())
            return new
        return _spread(graph, node, opened) if isinstance(node, Sum) else node

    return rebuild(graph, roots, visit)


def _tables(roots: Sequence[Node]) -> set[Node]:
    """The differences that are formed anyway: not all who read them add them up."""
    found: set[Node] = {node for node in roots if isinstance(node, Sum)}
    for node in topological(roots):
        if is_square(node) or (isinstance(node, Call) and node.operator == "norm"):
            continue
        added: set[Node] = set()
        if isinstance(node, Product) and node.inner:
            added = {one.table for one in _differences(node)}
        elif isinstance(node, Product):  # a multiple of differences is none of its own
            one = _difference(Ref(node, tuple(range(node.order))))
            added = {one.table} if one is not None else added
        found.update(x for x in children(node) if isinstance(x, Sum) and x not in added)
    return found


def _spread(graph: Graph, node: Sum, opened: set[Node]) -> Node:
    """The sum with the terms of products that became sums, for they may be alike."""
    parts: list[tuple[Fraction, Node, Sequence[Label]]] = []
    for by, ref in ((term.coefficient, term.ref) for term in node.terms):
        if ref.node in opened and isinstance(ref.node, Sum):
            own = [(term.coefficient, term.ref.under(ref)) for term in ref.node.terms]
            parts += [(by * c, part.node, part.labels) for c, part in own]
        else:
            parts.append((by, ref.node, ref.labels))
    return graph.sum(range(node.order), parts) if len(parts) > len(node.terms) else node


def _of_norm(graph: Graph, node: Call) -> Node | None:
    """The norms of all differences of two rows."""
    (whole,), axes = node.args, cast(tuple[int, ...], node.param("axes"))
    if whole.order != 3 or len(axes) != 1:
        return None
    one = _difference(Ref(whole, (0, 1, 2)))
    if one is None or one.entry not in axes or not one.is_table(whole.dims):
        return None
    if any({*ref.labels} - {one.entry} for ref in one.others):
        return None
    out = [axis for axis in range(3) if axis != one.entry]
    call = _call(graph, one, PLAIN, [(ref.node, ref.labels) for ref in one.others])
    return graph.product(out, [(call, one.rows)], coefficient=abs(one.by))


def _measured(graph: Graph, node: Product, one: _Difference) -> Node | None:
    """The product with something else in the place of a square, if that is less."""
    found = None
    if one.entry >= node.order and one.power == 2:
        found = _distances(graph, node, one)
    if found is None and any(row >= node.order for row in one.rows):
        return _weighted(graph, node, one)
    return found


def _distances(graph: Graph, node: Product, one: _Difference) -> Node | None:
    """The product with distances of rows, if what weighs their entries is a square."""
    weights = Counter(ref for ref in one.others if one.entry in ref.labels)
    if any(ref.labels != (one.entry,) for ref in weights):
        return None
    roots = [_root(graph, ref, count) for ref, count in weights.items()]
    scales = [(root, (one.entry,)) for root in roots if root is not None]
    if len(scales) < len(weights):
        return None
    call = _call(graph, one, SQUARED, scales)
    rest = [ref for ref in one.others if ref not in weights]
    return _instead(graph, node, one, [*rest, (call, one.rows)], 1)


def _call(
    graph: Graph,
    one: _Difference,
    name: str,
    scales: Sequence[tuple[Node, Sequence[Label]]],
) -> Node:
    """A call for distances of rows whose entries are scaled."""
    x, y = args = _sides(graph, one)
    if scales:
        sizes = {one.entry: x.dims[1]}
        args.append(graph.product((one.entry,), scales, sizes=sizes))
        name = f"scaled_{name}"
    return graph.call(name, args, (x.dims[0], y.dims[0]))


def _sides(graph: Graph, one: _Difference) -> list[Node]:
    """The two matrices whose rows are compared."""
    pairs = zip(one.rows, (one.x, one.y), strict=True)
    return [graph.product((row, one.entry), [ref]) for row, ref in pairs]


def _in_metric(graph: Graph, node: Product) -> Node | None:
    """The product with distances in a metric, if it has a square in one."""
    uses = Counter(x for ref in node.factors for x in ref.labels)
    uses.update(x for c in node.constraints for x in c.form.labels)
    for metric in node.factors:
        inside = all(x >= node.order and uses[x] == 2 for x in metric.labels)
        if len({*metric.labels}) != 2 or not inside:
            continue
        if not is_positive_definite(metric.node) or _is_inverse(metric.node):
            continue
        sides = [r for r in node.factors if not {*r.labels}.isdisjoint(metric.labels)]
        if len(sides) != 3:
            continue
        one, other = (_difference(r) for r in sides if r is not metric)
        if one is None or other is None or one.others or other.others:
            continue
        alike = one.x.node is other.x.node and one.y.node is other.y.node
        if not alike or one.rows != other.rows or not one.is_table(node.sizes):
            continue
        x, y = _sides(graph, one)
        rest = [r for r in node.factors if r not in sides]
        call = graph.call(METRIC, [x, y, metric.node], (x.dims[0], y.dims[0]))
        return graph.product(
            range(node.order),
            [*rest, (call, one.rows)],
            coefficient=node.coefficient * one.by * other.by,
            constraints=node.constraints,
            sizes={
                x: dim for x, dim in enumerate(node.sizes) if x not in metric.labels
            },
        )
    return None


def _is_inverse(node: Node) -> bool:
    """Whether a matrix keeps more digits if it is applied than if it is formed."""
    return isinstance(node, Call) and node.operator == "inv"


def _weighted(graph: Graph, node: Product, one: _Difference) -> Node:
    """Weighted sums of squares of `x - y` as those of `x**2 - 2 * x * y + y**2`.

    Of `x - y` alone as those of both.
    """
    x, y = (less_mean(graph, ref, one.x, one.rows[0]) for ref in (one.x, one.y))
    parts: list[tuple[int, tuple[Ref, ...]]] = [(1, (x,)), (-1, (y,))]
    if one.power == 2:
        parts = [(1, (x, x)), (-2, (x, y)), (1, (y, y))]
    axes = range(node.order)
    terms = [_instead(graph, node, one, [*one.others, *pair], by) for by, pair in parts]
    return graph.sum(axes, [(1, term, axes) for term in terms])


def _instead(
    graph: Graph,
    node: Product,
    one: _Difference,
    factors: Sequence[tuple[Node, Sequence[Label]]],
    by: int,
) -> Node:
    """The product of other factors, times a number.

    A sum over rows that no factor has any more counts them; one over the entries that
    distances have taken in does not.
    """
    asked = {x for _, labels in factors for x in labels} | {*range(len(node.sizes))}
    if not any(one.entry in labels for _, labels in factors):
        asked -= {one.entry} - {*range(node.order)}
    return graph.product(
        range(node.order),
        factors,
        coefficient=node.coefficient * one.by**one.power * by,
        constraints=node.constraints,
        sizes={x: dim for x, dim in enumerate(node.sizes) if x in asked},
    )


def _differences(node: Product) -> Iterator[_Difference]:
    """Yield differences in a product, and their squares, with what else it multiplies.

    Must not fire where few pairs of rows are left, as those of neighbours.
    """
    tied = {x for c in node.constraints for x in c.form.labels}
    paired = {x for c in node.constraints if c.kind == "eq" for x in c.form.labels}
    for k, ref in enumerate(node.factors):
        rest = [*node.factors[:k], *node.factors[k + 1 :]]
        base, power = _base(ref), 2
        if base is None and ref in rest:
            rest.remove(ref)
            base = ref
        elif base is None:
            base, power = ref, 1
        one = _difference(base)
        if one is None or one.entry in tied or not paired.isdisjoint(one.rows):
            continue
        found = one._replace(others=(*rest, *one.others * power), power=power)
        if found.is_table(node.sizes) and not _is_beside_another(found):
            yield found


def _is_beside_another(one: _Difference) -> bool:
    """Whether other entries of the same differences are a factor, in a table anyway."""
    others = (_difference(ref) for ref in one.others)
    tables = (x for x in others if x is not None and x.entry != one.entry)
    return one.power == 1 and any({*x.rows} == {*one.rows} for x in tables)


def _base(ref: Ref) -> Ref | None:
    """What a factor is the square of, in the labels of a product."""
    node = ref.node
    return node.args[0].under(ref) if is_square(node) else None


def _difference(whole: Ref) -> _Difference | None:
    """The difference of two matrices that share their entries, if it is one."""
    node = whole.node
    if isinstance(node, Product) and not (node.inner or node.constraints):
        factors = [ref.under(whole) for ref in node.factors]
        sums = [ref for ref in factors if isinstance(ref.node, Sum)]
        found = _difference(sums[0]) if len(sums) == 1 else None
        if found is None:
            return None
        others = [ref for ref in factors if ref is not sums[0]]
        return found._replace(by=found.by * node.coefficient, others=tuple(others))
    if not isinstance(node, Sum) or len(node.terms) != 2:
        return None
    one, other = node.terms
    x, y = one.ref.under(whole), other.ref.under(whole)
    common = {*x.labels} & {*y.labels}
    matrices = all(ref.node.order == len({*ref.labels}) == 2 for ref in (x, y))
    if one.coefficient + other.coefficient != 0 or not matrices or len(common) != 1:
        return None
    return _Difference(node, one.coefficient, x, y, common.pop(), ())


def _root(graph: Graph, ref: Ref, count: int) -> Node | None:
    """What weights are the squares of, up to signs; None if some may be negative."""
    node, exponent = ref.node, Fraction(count, 2)
    if isinstance(node, Map) and node.function == "pow":
        power = constant_value(node.args[1].node)
        if power is not None and power.denominator == 1 and power % 2 == 0:
            node, exponent = node.args[0].node, exponent * power
    if exponent.denominator != 1 and sign(node) == Sign.UNKNOWN:
        return None
    return graph.map("pow", (0,), [(node, (0,)), (graph.constant(exponent), ())])
