"""Which arrays equal themselves, or their negatives, with two axes swapped.

`(x[i] - x[j])**2` is symmetric because a difference changes its sign and a square does
not care. The proof looks at operands and labels alone: what is not shown is not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import cast

from tensorgen.ir.constraints import normal
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constraint,
    Input,
    Label,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    constant_value,
)
from tensorgen.ir.symmetric_axes import groups
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.capacitance import is_capacitance
from tensorgen.operators.matrices.distances import NAMES as DISTANCES

DEPTH_OF_PARITY = 60
"""How many nodes above one another are looked through."""

FLAT = 8
"""How many factors a product of products is looked at as."""

SUMMED = 4
"""Products with more summed labels are tried with these labels as they are."""

Swap = tuple[int, int]


def is_even(node: Node) -> bool:
    """Whether matrices equal their transposes, whatever the entries of inputs."""
    return Symmetry(promised=False).parity(node, (node.order - 2, node.order - 1)) == 1


def is_symmetric(node: Node) -> bool:
    """Whether matrices equal their transposes, as far as inputs keep their promises."""
    return Symmetry(promised=True).parity(node, (node.order - 2, node.order - 1)) == 1


def even_part(graph: Graph, node: Node, row: int, column: int, parity: int = 1) -> Node:
    """Return the mean of an array and itself with two axes swapped.

    The odd part, by a `parity` of -1, has a minus before what is swapped.
    """
    turned = list(range(node.order))
    turned[row], turned[column] = column, row
    half, axes = Fraction(1, 2), range(node.order)
    return graph.sum(axes, [(half, node, axes), (parity * half, node, turned)])


def even(graph: Graph, matrix: Node, x: Node, end: int) -> Node:
    """Return the even part of what varies like a matrix, itself where that is sure.

    The axes of the matrices of `x` end before its axis `end`.
    """
    swap = (end - 2, end - 1)
    if is_even(matrix) or Symmetry(promised=False).parity(x, swap) == 1:
        return x
    return even_part(graph, x, *swap)


class Symmetry:
    """What has been found out about nodes; `promised` trusts what the user promises."""

    def __init__(self, promised: bool) -> None:
        self.promised = promised
        self._known: dict[tuple[Node, Swap], int | None] = {}

    def parity(
        self, node: Node, swap: Swap, depth: int = DEPTH_OF_PARITY
    ) -> int | None:
        """Return 1 or -1 if swapping two axes gives that times the node, else None."""
        a, b = swap = (min(swap), max(swap))
        if depth == 0 or a < 0 or node.dims[a] != node.dims[b]:
            return None
        if (node, swap) not in self._known:
            self._known[node, swap] = self._found(node, swap, depth - 1)
        return self._known[node, swap]

    def _found(self, node: Node, swap: Swap, depth: int) -> int | None:
        matrix = swap == (node.order - 2, node.order - 1)
        match node:
            case Input() if self.promised:
                may = groups(node.properties, node.order)
                return 1 if any({*swap} <= {*group} for group in may) else None
            case Product():
                return self._product(node, swap, depth)
            case Sum():
                return self._sum(node, swap, depth)
            case Map():
                return self._map(node, swap, depth)
            case Call(operator="spd" | "symmetric", args=(inner,)):
                promised = matrix and self.promised
                return 1 if promised else self.parity(inner, swap, depth)
            case Call(args=(inner, *_)) if is_capacitance(node):
                return self.parity(inner, swap, depth)
            case Call(operator="sqrtm" | "logm") if matrix:
                return 1
            case Call(operator="inv" | "expm", args=(inner,)) if matrix:
                return 1 if self.parity(inner, swap, depth) == 1 else None
            case Call(operator="unpacked", args=(inner,)):
                return 1 if swap[0] >= inner.order - 1 else None
            case Call(operator=operator, args=(x, y, *_)) if operator in DISTANCES:
                return 1 if x == y else None
            case Call(args=(_,)) if "axes" in dict(node.params):
                return self._along_axes(node, swap, depth)
        return None

    def _along_axes(self, node: Call, swap: Swap, depth: int) -> int | None:
        """The parity of a function along axes under a swap of two others."""
        (x,), gone = node.args, cast(tuple[int, ...], node.param("axes"))
        kept = [axis for axis in range(x.order) if axis not in gone]
        if node.order == x.order:  # all axes are in the result
            inner = None if {*swap} & {*gone} else swap
        else:
            inner = (kept[swap[0]], kept[swap[1]]) if len(kept) == node.order else None
        sign = None if inner is None else self.parity(x, inner, depth)
        match node.operator:
            case "norm" | "rnorm":
                return None if sign is None else 1
            case "unit":
                return sign
        return 1 if sign == 1 else None

    def _product(self, node: Product, swap: Swap, depth: int) -> int | None:
        if any(_ties(constraint, swap) for constraint in node.constraints):
            return 1  # what is zero off the diagonal
        shapes = [(node.factors, node.sizes), flat(node)]
        for factors, sizes in shapes[: 1 + (shapes[0] != shapes[1])]:
            for renaming in involutions(node.order, sizes, swap):
                name = partial(_image, renaming)
                turned = {normal(c.renamed(name)) for c in node.constraints}
                if turned != set(node.constraints):
                    continue
                sign = self._refs(factors, renaming, depth)
                if sign is not None:
                    return sign
        return None

    def _refs(
        self, refs: Sequence[Ref], renaming: Mapping[Label, Label], depth: int
    ) -> int | None:
        """The sign with which renaming labels permutes the factors of a product."""
        sign, left = 1, list(refs)
        waiting = []
        for ref in refs:
            image = _renamed(ref, renaming)
            if image in left:
                left.remove(image)
            else:
                waiting.append(ref)
        for ref in waiting:
            own = self._ref(ref, renaming, depth)
            if own is None or ref not in left:
                return None
            left.remove(ref)
            sign *= own
        return sign

    def _ref(self, ref: Ref, renaming: Mapping[Label, Label], depth: int) -> int | None:
        """The parity of a use of a node under a renaming of labels."""
        image = _renamed(ref, renaming)
        if image == ref:
            return 1
        # A renaming swaps labels, hence axes: each pair of them is looked at by itself.
        moved = [k for k, x in enumerate(ref.labels) if image.labels[k] != x]
        axes = {ref.labels[k]: k for k in moved}
        if len(axes) != len(moved):  # a diagonal
            return None
        sign = 1
        for k in axes.values():
            other = axes.get(image.labels[k], k)
            own = self.parity(ref.node, (k, other), depth) if k != other else None
            if own is None:
                return None
            sign *= own if k < other else 1
        return sign

    def _sum(self, node: Sum, swap: Swap, depth: int) -> int | None:
        renaming = _renaming(swap)
        uses = {_content(t.ref): t.coefficient for t in node.terms}
        found: int | None = None
        for ref, coefficient in ((t.ref, t.coefficient) for t in node.terms):
            image = _content(_renamed(ref, renaming))
            if image != _content(ref) and image in uses:
                sign = {coefficient: 1, -coefficient: -1}.get(uses[image])
            else:
                sign = self._ref(ref, renaming, depth)
            if sign is None or found == -sign:
                return None  # one term that differs is enough
            found = sign
        return found

    def _map(self, node: Map, swap: Swap, depth: int) -> int | None:
        renaming = _renaming(swap)
        signs = [self._ref(ref, renaming, depth) for ref in node.args]
        if None in signs:
            return None
        if all(sign == 1 for sign in signs):
            return 1
        function = node.function
        if function == "pow" and signs[1] == 1:
            exponent = constant_value(node.args[1].node)
            if exponent is None or exponent.denominator != 1:
                return None
            return 1 if exponent % 2 == 0 else -1
        row = ELEMENTWISE[function]
        return 1 if row.has("even") else -1 if row.has("odd") else None


def _renaming(swap: Swap) -> dict[Label, Label]:
    return {swap[0]: swap[1], swap[1]: swap[0]}


def _renamed(ref: Ref, renaming: Mapping[Label, Label]) -> Ref:
    return Ref(ref.node, tuple(_image(renaming, x) for x in ref.labels))


def _content(ref: Ref) -> Hashable:
    """What a use shows: `u[0] v[1]` is no other array than `v[0] u[1]` turned."""
    node, labels = ref
    if not isinstance(node, Product) or node.constraints:
        return ref
    names = (*labels, *range(-len(node.inner), 0))
    factors = Counter(Ref(x, tuple(names[k] for k in own)) for x, own in node.factors)
    return node.coefficient, node.inner, frozenset(factors.items())


def _image(renaming: Mapping[Label, Label], label: Label) -> Label:
    return renaming.get(label, label)


def _ties(constraint: Constraint, swap: Swap) -> bool:
    """Whether a constraint is the delta of the two axes."""
    kind, form = constraint
    first, second = swap
    return kind == "eq" and form.terms == ((first, 1), (second, -1)) and form.const == 0


def flat(node: Product) -> tuple[tuple[Ref, ...], tuple[Dim, ...]]:
    """Return the factors of a product of products, and the sizes of all labels.

    So that `F @ K @ F.T` is seen as a whole. Labels are numbers, the node's axes first.
    """
    waiting, sizes = list(node.factors), list(node.sizes)
    factors: list[Ref] = []
    while waiting:
        inner, labels = ref = waiting.pop(0)
        room = len(waiting) + len(factors) < FLAT
        match inner:
            case Product(coefficient=1, constraints=()) if room:
                names = (*labels, *range(len(sizes), len(sizes) + len(inner.inner)))
                sizes += inner.inner
                waiting[:0] = [
                    Ref(node, tuple(names[x] for x in own))
                    for node, own in inner.factors
                ]
            case _:
                factors.append(ref)
    return tuple(factors), tuple(sizes)


def involutions(
    order: int, sizes: Sequence[Dim], swap: Swap
) -> Iterator[dict[Label, Label]]:
    """The swap, with summed labels as they are or with pairs of them swapped too."""
    base = _renaming(swap)
    yield base
    summed = range(order, len(sizes))
    if len(summed) > SUMMED:
        return
    pairs = [(x, y) for x, y in combinations(summed, 2) if sizes[x] == sizes[y]]
    for count in (1, 2):
        for chosen in combinations(pairs, count):
            labels = [x for pair in chosen for x in pair]
            if len(set(labels)) == len(labels):
                turned = {x: y for pair in chosen for x, y in (pair, pair[::-1])}
                yield {**base, **turned}
