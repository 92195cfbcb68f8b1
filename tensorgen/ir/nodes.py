"""The node kinds of the intermediate representation.

Every node is an array with positional axes. Operands refer to nodes through
labels, one a node's axis: equal labels are equal positions, whatever the order of
the axes, so transposing never needs a node of its own. Nodes are made by a `Graph`
alone, which interns them: equal means identical, and `==` is identity.

A product's label is an output axis when it is below the node's order, and summed
otherwise. Sums and maps know output labels only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import prod
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, assert_never, cast

from tensorgen.ir.affine_forms import AffineForm
from tensorgen.ir.dims import Dim

Label = int
T = TypeVar("T")


@dataclass(frozen=True, eq=False, slots=True)
class BaseNode:
    """An array with one `Dim` an axis; `serial` is the order of creation.

    `order`, the number of axes, and `operands` are found once, when a node is made:
    passes ask for them all the time. `known` is for what else is found out about a
    node, and holds for ever.
    """

    serial: int
    dims: tuple[Dim, ...]
    order: int = field(init=False, repr=False)
    operands: tuple[Node, ...] = field(init=False, repr=False)
    known: dict[object, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", len(self.dims))
        object.__setattr__(self, "operands", _operands(cast(Node, self)))


class Ref(NamedTuple):
    """A use of a node: `labels[a]` is the label of the node's axis `a`."""

    node: Node
    labels: tuple[Label, ...]

    def under(self, use: Ref) -> Ref:
        """Return an operand of a node, by its axes, in the labels of the node's use."""
        of = use.labels
        return Ref(self.node, tuple([of[axis] for axis in self.labels]))


class Lookup(NamedTuple):
    """The entry of an index array, as an atom of an affine form."""

    node: Node
    labels: tuple[Any, ...]


Atom = Label | Lookup


def labels_of(atom: Atom) -> tuple[Any, ...]:
    """The labels that an atom of a form has."""
    return atom.labels if isinstance(atom, Lookup) else (atom,)


class Affine(AffineForm[Any]):
    """An affine form of labels and of entries of index arrays.

    In a node labels are numbers; before, they may be any names.
    """

    __slots__ = ()

    @property
    def labels(self) -> tuple[Any, ...]:
        """All labels that the form mentions, those inside lookups included."""
        plain = tuple([atom for atom, _ in self.terms])
        if Lookup not in map(type, plain):  # nearly always
            return plain
        found: dict[Any, None] = {}
        for atom, _ in self.terms:
            if isinstance(atom, Lookup):
                found.update(dict.fromkeys(atom.labels))
            else:
                found[atom] = None
        return tuple(found)

    def renamed(self, name: Callable[[Any], Any]) -> Affine:
        """Return the form with every label replaced, merging equal atoms."""
        if len(self.terms) == 1 and type(self.terms[0][0]) is not Lookup:
            ((atom, coefficient),) = self.terms
            return Affine(((name(atom), coefficient),), self.const)
        terms = [
            (
                (
                    Lookup(atom.node, tuple(map(name, atom.labels)))
                    if isinstance(atom, Lookup)
                    else name(atom)
                ),
                coefficient,
            )
            for atom, coefficient in self.terms
        ]
        return self.of(terms, self.const)


affine = Affine.of


Kind = Literal["eq", "ge"]


class Constraint(NamedTuple):
    """A 0/1 factor of a product: the delta `form == 0` or indicator `form >= 0`."""

    kind: Kind
    form: Affine

    def renamed(self, name: Callable[[Any], Any]) -> Constraint:
        """Return the constraint with every label replaced."""
        return Constraint(self.kind, self.form.renamed(name))

    def over(self, look_up: Callable[[Lookup], Lookup]) -> Constraint:
        """Return the constraint with every entry of an index array replaced."""
        terms = [
            (look_up(atom) if isinstance(atom, Lookup) else atom, c)
            for atom, c in self.form.terms
        ]
        return Constraint(self.kind, affine(terms, self.form.const))

    def compared(self, kind: Kind) -> tuple[tuple[Any, Any], ...]:
        """Two atoms, in either order, if it is of their difference and a size alone."""
        terms = self.form.terms
        if self.kind != kind or len(terms) != 2 or {c for _, c in terms} != {1, -1}:
            return ()
        (first, _), (second, _) = terms
        return (first, second), (second, first)

    @property
    def equal_atoms(self) -> tuple[Any, ...]:
        """The two atoms that a delta says are equal; of anything else none."""
        pairs = self.compared("eq") if self.form.const == 0 else ()
        return pairs[0] if pairs else ()


def delta(terms: Mapping[Any, int], const: Dim | int = 0) -> Constraint:
    """Return what is 1 where `sum(coefficient * atom) + const` is 0."""
    return Constraint("eq", affine(terms.items(), const))


def indicator(terms: Mapping[Any, int], const: Dim | int = 0) -> Constraint:
    """Return what is 1 where `sum(coefficient * atom) + const` is not negative."""
    return Constraint("ge", affine(terms.items(), const))


@dataclass(frozen=True, eq=False, slots=True)
class Input(BaseNode):
    """A named argument; `index` bounds the entries of an index array.

    Two inputs that are `of` an index array are all pairs of places at which it has one
    entry: the first of each pair, and the second.
    """

    name: str
    properties: frozenset[str] = frozenset()
    index: Dim | None = None
    of: Node | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Constant(BaseNode):
    """A named number that has no exact rational value: `pi`, `e` or `inf`."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class Size(BaseNode):
    """The value of a dim polynomial, as a scalar."""

    value: Dim


@dataclass(frozen=True, eq=False, slots=True)
class Iota(BaseNode):
    """The vector `0, 1, ..., size - 1`: an index used as a number."""


@dataclass(frozen=True, eq=False, slots=True)
class Product(BaseNode):
    """The n-ary Einstein product `coefficient * sum(prod(factors))`.

    Labels from `order` on are summed, over `inner` dims. Labels below that stand in
    no factor broadcast. A product without factors is a constant array.
    """

    coefficient: Fraction
    factors: tuple[Ref, ...]
    constraints: tuple[Constraint, ...]
    inner: tuple[Dim, ...]

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """The dim of every label."""
        return self.dims + self.inner


class Term(NamedTuple):
    """A term of a sum: `coefficient * node`, aligned by labels."""

    coefficient: Fraction
    node: Node
    labels: tuple[Label, ...]

    @property
    def ref(self) -> Ref:
        """The use of the node."""
        return Ref(self.node, self.labels)


@dataclass(frozen=True, eq=False, slots=True)
class Sum(BaseNode):
    """The n-ary sum of aligned terms; a term may lack labels (it broadcasts)."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Map(BaseNode):
    """An elementwise function of aligned arguments; `function` names its row."""

    function: str
    args: tuple[Ref, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Call(BaseNode):
    """A general function of whole arrays; `operator` names its row."""

    operator: str
    args: tuple[Node, ...]
    params: tuple[tuple[str, object], ...] = ()

    def param(self, name: str) -> object:
        """Return the parameter `name`."""
        return dict(self.params)[name]


Node: TypeAlias = Input | Constant | Size | Iota | Product | Sum | Map | Call
"""Every kind of node: what takes them apart can be complete, and mypy sees to it."""


def children(node: Node) -> tuple[Node, ...]:
    """The operands of a node, in order, with repeats; index arrays included."""
    return node.operands


def _operands(node: Node) -> tuple[Node, ...]:
    match node:
        case Product():
            found = [ref.node for ref in node.factors]
            if node.constraints:
                atoms = [atom for c in node.constraints for atom, _ in c.form.terms]
                found += [atom.node for atom in atoms if isinstance(atom, Lookup)]
            return tuple(found)
        case Sum():
            return tuple([term.node for term in node.terms])
        case Map():
            return tuple([ref.node for ref in node.args])
        case Call():
            return node.args
        case Input() | Constant() | Size() | Iota():
            return ()
        case _:
            assert_never(node)


def topological(
    roots: Iterable[Node], known: Collection[Node] = frozenset()
) -> list[Node]:
    """All nodes below `roots`, operands before their users, without recursion.

    Nodes that are `known` are left out, and what only they need.
    """
    roots = tuple(roots)
    if known or not roots:
        return _walked(roots, known)
    # One pass after the other asks for the same: four times in five.
    first = roots[0].known
    asked, found = first.get(topological, ((), []))
    if asked != roots:
        found = _walked(roots, known)
        first[topological] = roots, found
    return list(found)


def _walked(roots: Sequence[Node], known: Collection[Node]) -> list[Node]:
    order: dict[Node, None] = {}
    stack = list(roots)[::-1]
    while stack:
        node = stack[-1]
        if node not in order and node not in known:
            below = [c for c in node.operands if c not in order]
            if known:
                below = [c for c in below if c not in known]
            if below:
                stack += below[::-1]
                continue
            order[node] = None
        stack.pop()
    return list(order)


def unknown(what: object, root: Node) -> Iterator[Node]:
    """Yield the nodes below `root` of which `what` is not known, operands first.

    It has to be known of each before the next is asked for; nothing is looked at below
    a node of which it is.
    """
    stack = [root]
    while stack:
        node = stack[-1]
        if what not in node.known:
            below = [c for c in node.operands if what not in c.known]
            if below:
                stack += below[::-1]
                continue
            yield node
        stack.pop()


def only_below(first: Node, second: Node) -> tuple[list[Node], list[Node]]:
    """The nodes below, or at, one of two nodes and not the other.

    The latest nodes come first, for operands are older: the search ends where what is
    left is below both.
    """
    own: dict[bool, list[Node]] = {True: [], False: []}
    sides = {first: {True}}
    sides.setdefault(second, set()).add(False)
    waiting = [(-node.serial, node) for node in sides]
    heapify(waiting)
    single = 2 * (first is not second)
    while single:
        _, node = heappop(waiting)
        at = sides[node]
        if len(at) == 1:
            single -= 1
            own[min(at)].append(node)
        for child in dict.fromkeys(children(node)):
            if child not in sides:
                sides[child] = set()
                heappush(waiting, (-child.serial, child))
            before = len(sides[child])
            sides[child] |= at
            single += (len(sides[child]) == 1) - (before == 1)
    return own[True], own[False]


def inputs_of(roots: Iterable[Node]) -> list[Input]:
    """Return the arguments that nodes are made of, those in their deltas as well."""
    return [node for node in topological(roots) if isinstance(node, Input)]


def use_counts(roots: Iterable[Node]) -> Counter[Node]:
    """How often each node is an operand of the nodes below `roots`, or one of these."""
    roots = list(roots)
    return Counter(
        [*roots, *(child for node in topological(roots) for child in children(node))]
    )


def entries(nodes: Iterable[Node]) -> Dim:
    """How many numbers arrays hold."""
    return sum((prod(node.dims, start=Dim.of(1)) for node in nodes), Dim())


def once(node: Node, what: object, find: Callable[[], T]) -> T:
    """What is known of a node, found out the first time."""
    known = node.known
    if what not in known:
        known[what] = find()
    found: T = known[what]
    return found


def is_zero(node: Node) -> bool:
    """Whether a node is the zero array."""
    return isinstance(node, Product) and not node.coefficient


def constant_value(node: Node) -> Fraction | None:
    """The value of an array whose entries all are one rational, else None."""
    if isinstance(node, Product) and not (node.factors or node.constraints):
        return node.coefficient
    return None
