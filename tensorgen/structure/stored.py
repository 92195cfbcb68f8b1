"""What a compressed derivative is: stored arrays, and deltas between axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import NamedTuple

from tensorgen.ir.constraints import eliminated
from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Constraint,
    Lookup,
    Node,
    affine,
    delta,
    topological,
)
from tensorgen.ir.views import Factor, Name
from tensorgen.operators.reshape import reshape
from tensorgen.passes.context import Kept
from tensorgen.passes.rates import sizes_in


def is_axis(label: Name) -> bool:
    """Whether a label is an axis of the tensor, and not summed."""
    return isinstance(label, int)


class Element(NamedTuple):
    """A summed label of index arrays: the number of an edge, a triangle, a rating."""

    number: int


class LaidOut(ABC):
    """A label that several axes give: an array along it stands for one of these.

    It is the only label of its array. The inputs that it is laid out `by` are kept too.
    """

    axes: tuple[Name, ...]

    @property
    def by(self) -> tuple[Node, ...]:
        """The inputs that say more than the array."""
        return ()

    @abstractmethod
    def laid_out(self, graph: Graph, node: Node, by: Sequence[Node] = ()) -> Node:
        """An array along the label, as one of the axes."""


def laid_out(
    graph: Graph, factors: Sequence[Factor], stored: Mapping[Node, Node] | None = None
) -> list[Factor]:
    """Factors of axes and summed labels alone, over other nodes if there are such."""

    def over(label: LaidOut) -> list[Node]:
        return [stored[x] if stored else x for x in label.by]

    return [
        (
            (labels[0].laid_out(graph, node, over(labels[0])), labels[0].axes)
            if labels and isinstance(labels[0], LaidOut)
            else (node, labels)
        )
        for node, labels in factors
    ]


@dataclass(frozen=True)
class Tie:
    """The delta `axis `second` == axis `first` + offset`."""

    first: int
    second: int
    offset: Dim

    @property
    def constraint(self) -> Constraint:
        """The delta of a product."""
        return delta({self.first: 1, self.second: -1}, self.offset)


def rooted(ties: Iterable[Tie]) -> tuple[tuple[Tie, ...], list[Dim]]:
    """Every tied axis tied to the first of its kind, whatever chain led there.

    And the distances of axes to themselves, which have to be zero but are not.
    """
    deltas = [tie.constraint for tie in ties]
    axes = sorted({x for delta in deltas for x in delta.form.labels}, reverse=True)
    found, distances = list[Tie](), list[Dim]()
    for _, form in eliminated(deltas, axes):
        if form.terms:
            first, second = sorted(form.labels)
            found.append(Tie(first, second, form.const * -form.coefficient(second)))
        elif form.const != 0:
            distances.append(form.const)
    return tuple(sorted(found, key=lambda tie: tie.second)), distances


@dataclass(frozen=True)
class Link:
    """The delta `axis == form`: a place that follows from labels and index arrays.

    A label is an axis that neither a tie nor a link gives, or an `Element`; `dims` are
    the sizes of the form's labels. The index arrays are kept.
    """

    axis: int
    form: Affine
    dims: tuple[Dim, ...]

    @property
    def labels(self) -> tuple[Name, ...]:
        """The labels that give the axis."""
        return self.form.labels

    @property
    def indices(self) -> tuple[Node, ...]:
        """The index arrays that give the axis."""
        atoms = (atom for atom, _ in self.form.terms)
        return tuple(atom.node for atom in atoms if isinstance(atom, Lookup))

    @property
    def sizes(self) -> dict[Name, Dim]:
        """The sizes of the labels."""
        return dict(zip(self.labels, self.dims, strict=True))

    def renamed(self, names: Mapping[Name, Name]) -> Link:
        """The link over labels, its axis among them, of other names."""
        axis = names.get(self.axis, self.axis)
        assert isinstance(axis, int)
        return Link(axis, self.form.renamed(lambda x: names.get(x, x)), self.dims)

    def constraint(
        self,
        stored: Mapping[Node, Node] | None = None,
        names: Mapping[Name, Name] | None = None,
    ) -> Constraint:
        """The delta of a product, over other nodes and labels of other names."""
        form = over(self.form, stored) if stored else self.form
        own = Constraint("eq", affine([(self.axis, 1)]) - form)
        return own.renamed(lambda x: names.get(x, x)) if names else own


def over(form: Affine, stored: Mapping[Node, Node]) -> Affine:
    """A form over other nodes in place of the index arrays."""
    terms = (
        (
            (Lookup(stored[atom.node], atom.labels), c)
            if isinstance(atom, Lookup)
            else (atom, c)
        )
        for atom, c in form.terms
    )
    return affine(terms, form.const)


@dataclass(frozen=True)
class StoredTerm:
    """`coefficient * prod(factors) * prod(ties) * prod(links)`: arrays that are kept.

    Labels that are integers are axes of the tensor; others are summed. No factor has
    the second axis of a tie. `scale` are numbers made of sizes, which nobody keeps.
    """

    coefficient: Fraction
    factors: tuple[Factor, ...]
    ties: tuple[Tie, ...]
    scale: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def numbers(self) -> list[Factor]:
        """The numbers made of sizes, as factors."""
        return [(node, ()) for node in self.scale]

    @property
    def elements(self) -> dict[Name, Dim]:
        """The summed labels of the links, in order, and their sizes."""
        pairs = (pair for link in self.links for pair in link.sizes.items())
        return {x: dim for x, dim in pairs if not is_axis(x)}

    def free(self, dims: Sequence[Dim]) -> dict[Name, Dim]:
        """The labels that number the entries in a tensor of dims `dims`, and their
        sizes, in the order that arrays have: entries of an element side by side."""
        given = {tie.second for tie in self.ties} | {link.axis for link in self.links}
        sizes: dict[Name, Dim] = {
            axis: dim for axis, dim in enumerate(dims) if axis not in given
        }
        asked = {x for link in self.links for x in link.labels}
        first = {x: dim for x, dim in sizes.items() if x in asked}
        return {**first, **self.elements, **sizes}

    @property
    def summed(self) -> tuple[Name, ...]:
        """The summed labels, in order."""
        labels = (x for _, xs in self.factors for x in xs if not is_axis(x))
        return tuple(dict.fromkeys([*labels, *self.elements]))


def values(
    graph: Graph,
    term: StoredTerm,
    dims: Sequence[Dim],
    factors: Sequence[Factor],
    stored: Mapping[Node, Node] | None = None,
    inside: Sequence[Constraint] = (),
    along: Iterable[Name] | None = None,
) -> Node:
    """Return the entries of a term, with an axis for each label that is free.

    Its factors are given as what stands for them, over `stored` index arrays. Deltas
    give the axes that follow from others, or from index arrays. Places that are not
    `inside` have zeros. There are fewer axes where it is said `along` which, all those
    that entries are `varying` along among them.
    """
    free = term.free(dims)
    used, given = _given(term, factors, stored)
    axes = [*free] if along is None else [*along]
    return graph.product(
        axes,
        factors,
        coefficient=term.coefficient,
        constraints=[*given, *inside],
        sizes={
            **{x: d for x, d in enumerate(dims) if x in used},
            **{x: d for x, d in free.items() if x in used or x in axes},
        },
    )


def varying(
    term: StoredTerm, factors: Sequence[Factor], inside: Sequence[Constraint] = ()
) -> set[Name]:
    """Return the labels that entries are not the same along, of those that are free."""
    used, given = _given(term, factors)
    return used.union(*(one.form.labels for one in (*given, *inside)))


def _given(
    term: StoredTerm,
    factors: Sequence[Factor],
    stored: Mapping[Node, Node] | None = None,
) -> tuple[set[Name], list[Constraint]]:
    """The labels of factors, and the deltas that give those which are not free."""
    used = {x for _, labels in factors for x in labels}
    given = []
    for tie in reversed(term.ties):
        if tie.second in used:
            used.add(tie.first)
            given.append(tie.constraint)
    given += [link.constraint(stored) for link in term.links if link.axis in used]
    return used, given


@dataclass(frozen=True)
class Compressed:
    """A derivative tensor of dims `dims` as a sum of stored terms.

    It may be an array of fewer axes with some of these in `parts`, in C order. Where
    looking for less took too long it was `stopped`. Its blocks were `read_as` another
    form.
    """

    dims: tuple[Dim, ...]
    terms: tuple[StoredTerm, ...]
    parts: tuple[tuple[Dim, ...], ...] = ()
    stopped: bool = False
    read_as: Compressed | None = None

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The dims of the array, whose axes are in parts."""
        if not self.parts:
            return self.dims
        return tuple(prod(part, start=ONE) for part in self.parts)

    def axes(self, first: int) -> int:
        """How many axes the first of the array are."""
        return sum(map(len, self.parts[:first])) if self.parts else first

    @property
    def arrays(self) -> tuple[Node, ...]:
        """The stored arrays, each once, in order; the index arrays after the others."""
        return kept(self.terms)

    @property
    def vanishes(self) -> bool:
        """Whether the tensor is zero, whatever the arguments."""
        return not any(term.coefficient for term in self.terms)

    @property
    def symbols(self) -> set[str]:
        """The sizes that are asked for beside the arrays."""
        dims = [*self.dims, *(d for x in self.terms for d in x.elements.values())]
        numbers = topological(node for x in self.terms for node in x.scale)
        found = {s for node in numbers for s in sizes_in(node)}
        return found.union(*(dim.symbols for dim in dims))

    @property
    def is_dense(self) -> bool:
        """Whether one array with all axes is all there is."""
        first, *rest = self.terms
        axes = tuple(range(len(self.dims)))
        return not rest and [xs for _, xs in first.factors] == [axes]

    def node(self, graph: Graph, stored: Mapping[Node, Node]) -> Node:
        """The whole tensor over other nodes in place of the stored arrays."""
        node = self.contracted(graph, stored, range(len(self.dims)), ())
        return reshape(graph, node, self.shape) if self.parts else node

    def cut_short(self) -> Compressed:
        """The same, where looking for less took too long."""
        return replace(self, stopped=True)

    def contracted(
        self,
        graph: Graph,
        stored: Mapping[Node, Node],
        out: Sequence[Name],
        others: Sequence[Factor],
        rename: Mapping[int, Name] | None = None,
    ) -> Node:
        """The tensor times `others`, with the labels `out` kept.

        The tensor's axes have the labels 0, 1, ..., or what `rename` makes of them.
        """
        names: dict[Name, Name] = {k: name for k, name in (rename or {}).items()}
        sizes: dict[Name, Dim] = {names.get(k, k): d for k, d in enumerate(self.dims)}
        for node, labels in others:
            sizes.update(zip(labels, node.dims, strict=True))
        terms = []
        for term in self.terms:
            held = [(stored[node], labels) for node, labels in term.factors]
            factors: list[Factor] = [
                (node, tuple(names.get(x, x) for x in labels))
                for node, labels in laid_out(graph, held, stored)
            ]
            factors += term.numbers
            # Tied axes may have been given one label: then the tie holds or not.
            constraints = [
                tie.constraint.renamed(lambda x: names.get(x, x)) for tie in term.ties
            ]
            constraints += [link.constraint(stored, names) for link in term.links]
            if _exclude(constraints):
                continue
            node = graph.product(
                out,
                [*factors, *others],
                coefficient=term.coefficient,
                constraints=constraints,
                sizes={**sizes, **term.elements},
            )
            terms.append((1, node, out))
        return graph.sum(out, terms, {x: sizes[x] for x in out})


def as_compressed(kept: Iterable[Kept | None]) -> tuple[Compressed | None, ...]:
    """What plans keep of tensors, of which passes need not know what it is."""
    return tuple(_as_compressed(tensor) for tensor in kept)


def _as_compressed(tensor: Kept | None) -> Compressed | None:
    assert tensor is None or isinstance(tensor, Compressed)
    return tensor


def _exclude(constraints: Sequence[Constraint]) -> bool:
    """Whether deltas never hold together: `i == 2*p` and `i == 2*p + 1`."""
    atoms = dict.fromkeys(x for c in constraints for x, _ in c.form.terms)
    forms = (form for _, form in eliminated(constraints, atoms))
    return any(form.const.constant for form in forms if not form.terms)


def kept(terms: Sequence[StoredTerm]) -> tuple[Node, ...]:
    """The arrays that terms keep, each once; index arrays after the others."""
    factors = {node: None for term in terms for node, _ in term.factors}
    links = (link for term in terms for link in term.links)
    indices = {node: None for link in links for node in link.indices}
    labels = (xs[0] for term in terms for _, xs in term.factors if xs)
    by = {node: None for x in labels if isinstance(x, LaidOut) for node in x.by}
    return tuple(factors | indices | by)
