"""Turn walks: a product with one walk is one with its transpose, where that is known.

With `m[i] = sum_j T[i, j] a[j]`, the sums `sum_j a[j] * (T.T @ w)[j]` are
`sum_i m[i] * w[i]`. Such pairs stand in Hessians: of Cox's likelihood the running means
of what is known of patients, times their running shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constraint,
    Label,
    Node,
    Product,
    Ref,
    Sum,
    topological,
)
from tensorgen.ir.rebuild import rebuild, with_factors, with_parts
from tensorgen.operators.scans.triangles import axis_along, own_axes, transposed
from tensorgen.passes.context import Context


def turn_walks(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with walks in products that their transposes have made already.

    Ends: each use has a walk less, and its product is a plain one.
    """
    graph = context.graph

    def visit(node: Node) -> Node:
        return _turned(graph, node) if isinstance(node, Product) else node

    return rebuild(graph, roots, visit)


def _turned(graph: Graph, node: Product) -> Node:
    for place, ref in enumerate(node.factors):
        for walk in _terms(ref):
            found = _without(graph, node, place, walk)
            if found is not None:
                return found
    return node


def _terms(ref: Ref) -> Iterator[Ref]:
    """The walks that a factor is, or adds up."""
    node = ref.node
    terms = [t.ref.under(ref) for t in node.terms] if isinstance(node, Sum) else [ref]
    for term in terms:
        if isinstance(term.node, Call) and transposed(term.node):
            yield term


def _without(graph: Graph, node: Product, place: int, walk: Ref) -> Node | None:
    """A product with a walk at one place, or in a sum there, by the transpose of it."""
    call = walk.node
    assert isinstance(call, Call)
    along = walk.labels[axis_along(call)]
    if along < node.order:
        return None
    factors, constraints = _read_along(graph, node, along)
    others = [k for k, f in enumerate(factors) if along in f.labels and k != place]
    tied = any(along in c.form.labels for c in constraints)
    if tied or len(others) != 1:
        return None
    (other,) = others
    mean = _known(call, factors[other], walk.labels)
    if mean is None:
        return None
    turned = list(factors)
    turned[other] = Ref(mean, factors[other].labels)
    turned[place] = Ref(call.args[2], walk.labels)
    product = with_parts(graph, node, turned, constraints)
    whole = node.factors[place]
    if not isinstance(whole.node, Sum):
        return product
    (term,) = (t for t in whole.node.terms if t.ref.under(whole) == walk)
    rest = [t for t in whole.node.terms if t is not term]
    dims = dict(enumerate(whole.node.dims))
    left = list(node.factors)
    left[place] = Ref(graph.sum(range(whole.node.order), rest, dims), whole.labels)
    kept, axes = with_factors(graph, node, left), range(node.order)
    parts = [(term.coefficient, product, axes), (Fraction(1), kept, axes)]
    return graph.sum(axes, parts, dict(enumerate(node.dims)))


def _read_along(
    graph: Graph, node: Product, along: Label
) -> tuple[list[Ref], list[Constraint]]:
    """Factors and constraints, with a factor that a delta reads along a label as such.

    So `X[p, i] * delta(p, n - k - 1)` is a view of X with the axes k and i.
    """
    factors, constraints = list(node.factors), list(node.constraints)
    ties = [c for c in constraints if along in c.form.labels]
    if len(ties) != 1 or len(ties[0].form.terms) != 2 or ties[0].kind != "eq":
        return factors, constraints
    label, *more = (x for x in ties[0].form.labels if x != along)
    if more:  # an index array reads along the label
        return factors, constraints
    having = [k for k, ref in enumerate(factors) if label in ref.labels]
    rest = [c for c in constraints if c is not ties[0]]
    elsewhere = label < node.order or any(label in c.form.labels for c in rest)
    if elsewhere or len(having) != 1 or along in factors[having[0]].labels:
        return factors, constraints
    ref = factors[having[0]]
    labels = tuple(along if x == label else x for x in ref.labels)
    sizes = {x: node.sizes[x] for x in (*labels, *ref.labels)}
    view = graph.product(labels, [ref], constraints=ties, sizes=sizes)
    factors[having[0]] = Ref(view, labels)
    return factors, rest


def _known(call: Call, other: Ref, labels: Sequence[Label]) -> Call | None:
    """The transposed walk over another factor, if what is walked over holds it."""
    for node in topological([call.args[2]]):
        if not isinstance(node, Call) or node.operator != transposed(call):
            continue
        z, level, walked = node.args
        if (z, level) != call.args[:2] or walked is not other.node:
            continue
        pairs = zip(own_axes(node), own_axes(call), strict=True)
        if all(other.labels[a] == labels[b] for a, b in pairs):
            return node
    return None
