"""Blocks read off a derivative as the calculus left it, where their places are.

To see that a Hessian is block diagonal takes one sum of products: `w * (a - b)` stands
as `w * a` and `w * b` in it, and where nothing joins them again, both are computed, and
have to cancel. Where it is known that D[i, a, k, b] is zero off the diagonal of i and
k, the blocks are what is on it,

    A[i, a, b] = D[i, a, i, b],

made of Jacobians that are read there too, in which sums are still sums. Blocks of few
entries, as of the parameters of each subject of a study, may be read entry by entry:

    A[i, 0, 1] = D[i, 0, i, 1]

is what forward mode gives along unit vectors, a tangent for each column, without what
depends on other columns alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod

from tensorgen.ir.at import At, Place
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Affine, Node, Sum, affine, delta, is_zero
from tensorgen.ir.rebuild import terms_of
from tensorgen.ir.views import Name
from tensorgen.operators.called_values import call_column
from tensorgen.passes.context import Kept
from tensorgen.passes.cost import CostModel
from tensorgen.prices.limits import ENTRIES_READ
from tensorgen.structure.groupings import held
from tensorgen.structure.mirror_terms import Permutation
from tensorgen.structure.stored import Compressed, StoredTerm, as_compressed
from tensorgen.structure.take_apart import deep


def read_blocks(
    graph: Graph,
    kept: Kept,
    cost: CostModel,
    derived: Node,
    apart: bool,
    symmetries: Sequence[Permutation] = (),
) -> Kept:
    """Return a tensor whose blocks are read off it as it was `derived`.

    What is `kept` already, unless all of it stands in blocks of one kind, which hold no
    more; or unless these are few entries that have a place each, if they are to be read
    `apart`.
    """
    (found,) = as_compressed([kept])
    wide = None if found is None else _widest(found)
    if found is None or wide is None:
        return kept
    read = _Reading(graph, found, wide, derived)
    if apart:
        few = 1 < prod(read.sides.values()) <= ENTRIES_READ
        if not few or not all(
            _is_placed(graph, x, wide, read.sides) for x in found.terms
        ):
            return kept
        # One half of a symmetric block may be read of fewer rows, or fewer columns.
        halves = [
            read.entries_apart(symmetries, backward) for backward in (False, True)
        ]
        core = min(halves, key=lambda block: cost.total([block]))
    elif wide.ties and read.free.keys() > {tie.first for tie in wide.ties}:
        core = read.whole()
    else:
        return kept  # a diagonal, or the tensor as it was
    term = StoredTerm(Fraction(1), ((core, tuple(read.free)),), wide.ties)
    whole = Compressed(found.dims, (term,), stopped=found.stopped, read_as=found)
    more = held(whole.arrays, cost) > held(found.arrays, cost)
    return kept if more or is_zero(core) else whole


def _widest(found: Compressed) -> StoredTerm | None:
    """The term in whose blocks all others stand, if there is one.

    Others stand there only if that is seen at once: on diagonals of few places.
    """
    wide = min(found.terms, key=lambda term: len(term.ties))
    if found.parts or any(tie.offset != 0 for tie in wide.ties):
        return None
    sides = _sides(wide.free(found.dims))
    for term in found.terms:
        more = {*term.ties} - {*wide.ties}
        if (
            term.links
            or not {*wide.ties} <= {*term.ties}
            or not all(tie.first in sides and tie.second in sides for tie in more)
        ):
            return None
    return wide


def _is_placed(
    graph: Graph, term: StoredTerm, wide: StoredTerm, sides: Collection[Name]
) -> bool:
    """Whether deltas say where the parts of a term stand in a block."""
    ties = {*term.ties} - {*wide.ties}
    tied = {x for tie in ties for x in (tie.first, tie.second)}
    waiting = {*sides} - tied
    for node, labels in term.factors:
        own = {axis for axis, x in enumerate(labels) if x in waiting}
        if not _places(graph, node, own):
            return False
        waiting -= {*labels}
    return not waiting


def _places(graph: Graph, node: Node, axes: Collection[Name]) -> bool:
    """Whether each term has deltas that say where it stands along axes of a node."""
    for part in terms_of(graph, node):
        view = deep(part)
        forms = [c.form for c in view.constraints if c.kind == "eq"]
        left = {*axes} - {form.terms[0][0] for form in forms if len(form.terms) == 1}
        for factor, labels in view.factors if left else ():
            own = {axis for axis, x in enumerate(labels) if x in left}
            if own and isinstance(factor, Sum) and _places(graph, factor, own):
                left -= {*labels}
        if left:
            return False
    return True


def _sides(free: Mapping[Name, Dim]) -> dict[Name, int]:
    """The axes of a block, of as many places whatever the sizes."""
    return {x: d.constant for x, d in free.items() if d.constant is not None}


class _Reading(At):
    """A derivative at places of its blocks; what is read is called after tangents."""

    def __init__(
        self, graph: Graph, found: Compressed, wide: StoredTerm, derived: Node
    ) -> None:
        """Read what is `derived` where the ties of the widest term hold."""
        self.free = wide.free(found.dims)
        self.sides = _sides(self.free)
        super().__init__(graph, self.free)
        self.derived = derived
        self.first = {tie.second: tie.first for tie in wide.ties}
        self._sums = set[Node]()

    def whole(self) -> Node:
        """The array of all blocks."""
        return self.of(self.derived, self._place({}))

    def entries_apart(self, symmetries: Sequence[Permutation], backward: bool) -> Node:
        """The array of all entries; what exchanges lead to one another is read once."""
        known: dict[Place, Node] = {}
        sides = self.sides
        labels = [x for x in self.free if x not in sides]
        entries = [*product(*map(range, sides.values()))]
        parts = []
        for entry in reversed(entries) if backward else entries:
            at = dict(zip(sides, entry, strict=True))
            place = self._place(at)
            if place not in known:
                node = self.of(self.derived, place)
                known.update(dict.fromkeys(_orbit(place, symmetries), node))
            part = self.graph.product(
                [*self.free],
                [(known[place], labels)],
                constraints=[delta({x: 1}, -k) for x, k in at.items()],
                sizes=self.free,
            )
            parts.append((1, part, [*self.free]))
        return self.graph.sum([*self.free], parts, self.free)

    def found(self, node: Node, place: Place) -> Node:
        """The entries at a place, called after the column that they are."""
        made = self._signed(super().found(node, place))
        forms = [form for form in place if form is not None and not form.terms]
        numbers = [form.const.constant for form in forms]
        if node is not self.derived:
            own = [number for number in numbers if number is not None]
            call_column(self.graph, node, made, own)
        return made

    def _signed(self, node: Node) -> Node:
        """A sum, or what is there already with a minus: columns may be opposites."""
        if not isinstance(node, Sum):
            return node
        axes, sizes = range(node.order), dict(enumerate(node.dims))
        terms = [(-x.coefficient, x.node, x.labels) for x in node.terms]
        other = self.graph.sum(axes, terms, sizes)
        if other in self._sums or all(x.coefficient < 0 for x in node.terms):
            self._sums.add(other)
            return self.graph.product(axes, [(other, axes)], coefficient=-1)
        self._sums.add(node)
        return node

    def _place(self, at: Mapping[Name, int]) -> Place:
        """The index along each axis of the tensor, for an entry of a block."""
        forms: list[Affine] = []
        for axis in range(self.derived.order):
            first = self.first.get(axis, axis)
            forms.append(affine([], at[first]) if first in at else affine([(first, 1)]))
        return tuple(forms)


def _orbit(place: Place, symmetries: Sequence[Permutation]) -> list[Place]:
    """The places that exchanges of axes lead to."""
    found = [place]
    for one in found:  # which grows meanwhile
        for to in symmetries:
            other = tuple(one[k] for k in to)
            if other not in found:
                found.append(other)
    return found
