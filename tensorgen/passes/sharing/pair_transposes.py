"""Terms of a sum that are transposes of one another are computed once.

    a[i] * b[j] + b[i] * a[j] + ...  =  T[i, j] + T[j, i] + ...  with T = a[i] * b[j]

and likewise for the permutations of three axes and more. The product rule makes such
terms wherever a variable occurs twice. Terms that are permuted alike share one T.
Sparse terms stay as they are, for T would be a dense array. Ends: T has fewer terms,
and no term of T is a transpose of another by the same permutation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from fractions import Fraction
from itertools import chain, permutations
from math import factorial

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Sum, Term
from tensorgen.ir.patterns import pattern_of
from tensorgen.ir.rebuild import rebuild
from tensorgen.ir.views import View
from tensorgen.passes.context import Context
from tensorgen.passes.views import is_sparse
from tensorgen.prices.limits import PERMUTATIONS_A_SUM

Permutation = tuple[int, ...]


def pair_transposes(context: Context, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` with terms that permute one another as one term and its uses."""

    turned = Turns(context.graph)

    def visit(node: Node) -> Node:
        return _paired(context.graph, node, turned) if isinstance(node, Sum) else node

    return rebuild(context.graph, roots, visit)


Turned = tuple[Fraction, Node]


class Turns:
    """Terms with their axes permuted, each made once: orbits meet them often."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[tuple[Node, Permutation], Node] = {}

    def __call__(self, term: Term, to: Sequence[int]) -> Turned:
        """A term with its axes permuted, the same for equal arrays."""
        key = term.node, tuple(to[axis] for axis in term.labels)
        if key not in self.known:
            view = View()
            view.add(*key, "inner")
            self.known[key] = view.product(self.graph, range(len(to)))
        return term.coefficient, self.known[key]


def _paired(graph: Graph, node: Sum, turned: Turns) -> Node:
    axes = range(node.order)
    waiting = _candidates(node)
    place = {turned(term, axes): term for term in waiting}
    if len(place) < len(waiting):  # two of them are equal, seen through transposes
        seen = [Term(*turned(t, axes), tuple(axes)) for t in waiting]
        kept = [term for term in node.terms if term not in waiting]
        merged = graph.sum(axes, [*kept, *seen])
        return _paired(graph, merged, turned) if isinstance(merged, Sum) else merged
    shared: list[tuple[list[Term], list[Permutation]]] = []
    taken: set[Term] = set()
    for group in _groups(node.dims) if waiting else ():
        while (found := next(_orbits(turned, place, group), None)) is not None:
            shared.append(found)
            terms, used = found
            for term in terms:
                taken |= {place.pop(turned(term, to)) for to in used}
    if not taken:
        return node
    rest = [term for term in node.terms if term not in taken]
    for terms, used in shared:
        core = graph.sum(axes, terms)
        rest += [Term(Fraction(1), core, to) for to in used]
    return graph.sum(axes, rest)


def _candidates(node: Sum) -> list[Term]:
    """Terms that may be permutations of others: of one pattern."""
    if node.order < 2 or len(node.terms) < 2:
        return []
    kinds = {
        term: (term.coefficient, _pattern(term.node))
        for term in node.terms
        if len(term.labels) == node.order and not is_sparse(term.node)
    }
    counts = Counter(kinds.values())
    found = [term for term, kind in kinds.items() if counts[kind] > 1]
    return sorted(found, key=_turns)


def _turns(term: Term) -> int:
    """How many factors a term has transposed."""
    view = View()
    view.add(term.node, term.labels, "inner")
    places = [[x for x in xs if isinstance(x, int)] for _, xs in view.factors]
    return sum(own != sorted(own) for own in places)


def _pattern(node: Node) -> Hashable:
    """What all permutations of a node have in common."""
    return pattern_of(node).key if isinstance(node, Product) else node


def _orbits(
    turned: Turns, place: dict[Turned, Term], group: Sequence[Permutation]
) -> Iterator[tuple[list[Term], list[Permutation]]]:
    """Terms whose permutations are there as well, with the permutations they share."""
    for first in place.values():
        used = _uses(turned, place, first, group)
        if len(used) < 2:
            continue
        terms = [first]
        gone = {turned(first, to) for to in used}
        for key, term in place.items():
            images = {turned(term, to) for to in used}
            fresh = images <= place.keys() and not images & gone
            if key not in gone and fresh and len(images) == len(used):
                terms.append(term)
                gone |= images
        yield terms, used


def _uses(
    turned: Turns, place: dict[Turned, Term], term: Term, group: Sequence[Permutation]
) -> list[Permutation]:
    """A permutation for each of the images of a term; none if some image is missing."""
    images: dict[Turned, Permutation] = {}
    for to in group:
        image = turned(term, to)
        if image not in place:
            return []
        images.setdefault(image, to)
    return [*images.values()]


def _groups(dims: Sequence[Dim]) -> Iterator[list[Permutation]]:
    """Groups of permutations of axes that leave the dims as they are.

    Those of blocks of axes, as those of an input are, then those of two axes.
    """
    order = len(dims)
    for count in range(order, 1, -1):
        size = order // count
        blocks = [tuple(range(k * size, (k + 1) * size)) for k in range(count)]
        alike = {tuple(dims[axis] for axis in block) for block in blocks}
        if (
            count * size == order
            and len(alike) == 1
            and factorial(count) <= PERMUTATIONS_A_SUM
        ):
            yield [tuple(chain(*ordered)) for ordered in permutations(blocks)]
    for second in range(order):
        for first in range(second):
            if dims[first] == dims[second]:
                swapped = list(range(order))
                swapped[first], swapped[second] = second, first
                yield [tuple(range(order)), tuple(swapped)]
