"""The graph: interning constructors that keep a cheap normal form.

What holds of every node made here:
- a product carries no delta that only renames a summed label, no constraint that its
  ranges imply, no label that nothing mentions, and no factor that merely scales,
  transposes, slices or broadcasts another node;
- what is not sparse about a product with deltas on its output is one factor;
- a sum has no equal terms, no zero terms and no single term;
- summed labels are canonical, so renamed copies are one node.
Products of products and sums of sums are never flattened (repeated squaring would
grow exponentially); the passes view them n-ary within bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeVar, cast

from tensorgen.ir.aliases import turned
from tensorgen.ir.canonical import canonical_labels, constraint_key
from tensorgen.ir.constraints import Simplified, normal
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import Effort
from tensorgen.ir.node_rewrites import Rewrites
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Constraint,
    Input,
    Iota,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    Term,
    constant_value,
    delta,
    is_zero,
)
from tensorgen.ir.product import ProductBuilder
from tensorgen.ir.remarks import Remark

Name = Hashable
Number = int | Fraction
N = TypeVar("N", bound=Node)


class Graph:
    """Makes and interns nodes. Labels in its arguments are any hashable names."""

    def __init__(
        self, rewrites: Rewrites | None = None, effort: Effort | None = None
    ) -> None:
        """Start an empty graph that recognises `rewrites`, and counts its `effort`."""
        self.rewrites = rewrites
        self.effort = effort or Effort()
        self.simplified: dict[Hashable, tuple[Simplified | None, int]] = {}
        """What has become of constraints, and the steps that it took."""
        self._products: dict[Hashable, Node] = {}
        self._sums: dict[Hashable, Node] = {}
        self._maps: dict[Hashable, Node] = {}
        self._constants: dict[Hashable, Node] = {}
        self.names: dict[Node, str] = {}
        self.suggestions: dict[Node, str] = {}
        self.derived: dict[Node, str] = {}
        """What derivatives are called where no word says what they are."""
        self.state_words: dict[tuple[Hashable, int], str] = {}  # of steps, by number
        self.remarks: dict[Node, dict[Remark, None]] = {}
        self.spelled: set[str] = set()
        """The functions that are called in expressions."""
        self.stated: dict[Node, None] = {}
        """What functions are made of, which is not called after derivatives of it."""
        self.pairs: dict[Node, dict[Node, None]] = {}  # of index arrays
        self._interned: dict[object, Node] = {}

    # Leaves

    def input(
        self,
        name: str,
        dims: Sequence[Dim | int | str],
        properties: Iterable[str] = (),
        index: Dim | None = None,
        of: Node | None = None,
    ) -> Node:
        """Return the argument `name`; of pairs, first the one of their first places."""
        shape = tuple(map(Dim.of, dims))
        node = self._intern(Input, shape, name, frozenset(properties), index, of)
        if of is not None:
            self.pairs.setdefault(of, {})[node] = None
        return node

    def fresh(
        self, dims: Sequence[Dim], properties: Iterable[str], index: Dim | None
    ) -> Input:
        """Return an input that no other node mentions, of a name that nobody gives."""
        name = f"#{len(self._interned)}"
        return cast(Input, self.input(name, dims, properties, index))

    def constant(self, value: Number, dims: Sequence[Dim] = ()) -> Node:
        """Return the array whose entries all are the rational `value`."""
        key = value.numerator, value.denominator, tuple(dims)
        node = self._constants.get(key)
        if node is None:
            node = self._intern(Product, key[2], Fraction(value), (), (), ())
            self._constants[key] = node
        return node

    def named_constant(self, name: str) -> Node:
        """Return `pi`, `e` or `inf`."""
        return self._intern(Constant, (), name)

    def size(self, value: Dim) -> Node:
        """Return the value of a dim polynomial as a scalar."""
        if value.constant is not None:
            return self.constant(value.constant)
        return self._intern(Size, (), value)

    def iota(self, dim: Dim) -> Node:
        """Return the vector 0, 1, ..., dim - 1."""
        return self._intern(Iota, (dim,))

    # Products

    @contextmanager
    def without_rewrites(self) -> Iterator[None]:
        """Make nodes as they are written, and recognise nothing in them."""
        before, self.rewrites = self.rewrites, None
        try:
            yield
        finally:
            self.rewrites = before

    @property
    def serial(self) -> int:
        """The number of the next node that is made."""
        return len(self._interned)

    def product(
        self,
        out: Sequence[Name],
        factors: Iterable[tuple[Node, Sequence[Name]]],
        *,
        coefficient: Number = 1,
        constraints: Iterable[Constraint] = (),
        sizes: Mapping[Any, Dim] | None = None,
    ) -> Node:
        """Return `out <- coefficient * sum(prod(factors) * prod(constraints))`.

        Labels are any names, those of `constraints` and of lookups in them as well.
        `sizes` gives the dims of labels that stand in no factor. A label repeated in
        `out` gives a diagonal.
        """
        parts = tuple((node, tuple(labels)) for node, labels in factors)
        forms = tuple(constraints)
        dims = tuple((sizes or {}).items())
        # Two integers, which hash faster than a rational.
        scale = coefficient.numerator, coefficient.denominator
        key = (tuple(out), parts, scale, forms, dims)
        # Passes ask for the same product again and again: four times in five.
        self.effort.spend(1 + len(parts) // 8)
        known = self._products.get(key)
        if known is None:
            self.effort.spend(10 + 2 * len(parts) + 5 * len(forms))
            own = (
                coefficient if type(coefficient) is Fraction else Fraction(coefficient)
            )
            known = ProductBuilder(self).build(out, parts, own, forms, dict(dims))
            self._products[key] = known
        return known

    def einsum(self, subscripts: str, *nodes: Node, coefficient: Number = 1) -> Node:
        """Return a product in the letters of `subscripts`, as in `ij,jk->ik`."""
        inputs, _, out = subscripts.replace(" ", "").partition("->")
        pairs = zip(nodes, inputs.split(","), strict=True)
        return self.product(out, pairs, coefficient=coefficient)

    def scale(self, node: Node, coefficient: Number) -> Node:
        """Return `coefficient * node`."""
        axes = range(node.order)
        return self.product(axes, [(node, axes)], coefficient=coefficient)

    def unscaled(self, node: Product) -> Node:
        """Return a product, which is not zero, without its coefficient."""
        if node.coefficient == 1:
            return node
        return self._intern(
            *(Product, node.dims, Fraction(1)),
            *(node.factors, node.constraints, node.inner),
        )

    def permute(self, node: Node, axes: Sequence[int]) -> Node:
        """Return `node` with axes in the order `axes`, as `np.transpose` does."""
        return self.product(axes, [(node, range(node.order))])

    def unit(self, dims: Sequence[Dim]) -> Node:
        """Return the unit tensor of dims + dims: one delta an axis."""
        r = len(dims)
        return self.product(
            range(2 * r),
            [],
            constraints=[delta({a: 1, r + a: -1}) for a in range(r)],
            sizes={a: dims[a % r] for a in range(2 * r)} if r else {},
        )

    def zeros(self, dims: Sequence[Dim]) -> Node:
        """Return the zero array."""
        return self.constant(0, dims)

    # Sums and maps

    def sum(
        self,
        out: Sequence[Name],
        terms: Iterable[tuple[Number, Node, Sequence[Name]]],
        sizes: Mapping[Any, Dim] | None = None,
    ) -> Node:
        """Return `out <- sum(coefficient * node)`; terms broadcast over `out`.

        `sizes` gives the dims of labels of `out` that no term has.
        """
        position = {label: axis for axis, label in enumerate(out)}
        known: dict[int, Dim] = {position[k]: d for k, d in (sizes or {}).items()}
        refs, aligned, scales = list[Ref](), list[Term](), list[tuple[int, int]]()
        for c, node, labels in terms:
            ref = self._aligned(node, tuple([position[label] for label in labels]))
            known.update(zip(ref.labels, ref.node.dims, strict=True))
            refs.append(ref)
            scales.append((c.numerator, c.denominator))
            aligned.append(Term(c if type(c) is Fraction else Fraction(c), *ref))
        dims = tuple(known[axis] for axis in range(len(out)))
        key = (tuple(scales), tuple(refs), dims, self.rewrites is None)
        # Passes ask for the same sum again and again: three times in four.
        self.effort.spend(1 + len(aligned) // 8)
        found = self._sums.get(key)
        if found is None:
            self.effort.spend(3 + 2 * len(aligned))
            found = self._sums[key] = self._sum(dims, aligned)
        return found

    def _sum(self, dims: tuple[Dim, ...], terms: list[Term]) -> Node:
        kept = self._merged(terms)
        if self.rewrites is not None:
            while (better := self.rewrites.sum(self, kept)) is not None:
                kept = self._merged(better)
        kept.sort(key=lambda t: (t.node.serial, t.labels))
        if len(kept) < 2:
            factor = kept[0].coefficient if kept else 0
            refs, everything = [t.ref for t in kept], dict(enumerate(dims))
            return self.product(
                range(len(dims)), refs, coefficient=factor, sizes=everything
            )
        used = sorted({axis for term in kept for axis in term.labels})
        narrow = {axis: k for k, axis in enumerate(used)}
        # All terms broadcast along an axis: let one product broadcast their sum.
        inner = self._intern(
            Sum,
            tuple(dims[axis] for axis in used),
            tuple(t._replace(labels=tuple(narrow[a] for a in t.labels)) for t in kept),
        )
        return self._broadcast(inner, used, dims)

    def add(self, *nodes: Node) -> Node:
        """Return the sum of nodes of one shape."""
        axes = range(nodes[0].order)
        return self.sum(
            axes, [(1, node, axes) for node in nodes], dict(enumerate(nodes[0].dims))
        )

    def map(
        self,
        function: str,
        out: Sequence[Name],
        args: Iterable[tuple[Node, Sequence[Name]]],
        sizes: Mapping[Any, Dim] | None = None,
    ) -> Node:
        """Return `out <- function(*args)`, elementwise; arguments broadcast."""
        position = {label: axis for axis, label in enumerate(out)}
        known: dict[int, Dim] = {position[k]: d for k, d in (sizes or {}).items()}
        refs = []
        for node, labels in args:
            ref = self._aligned(node, tuple(position[label] for label in labels))
            known.update(zip(ref.labels, ref.node.dims, strict=True))
            refs.append(self._narrow(ref))
        self.effort.spend(5)
        dims = tuple(known[axis] for axis in range(len(out)))
        used = sorted({axis for ref in refs for axis in ref.labels})
        narrow = {axis: k for k, axis in enumerate(used)}
        compact = tuple(Ref(n, tuple(narrow[a] for a in axes)) for n, axes in refs)
        key = (function, compact, self.rewrites is None)
        # Passes ask for the same map again and again, as for products.
        inner = self._maps.get(key)
        if inner is None:
            better = self.rewrites and self.rewrites.map(self, function, compact)
            inner = self._maps[key] = better or self._intern(
                Map, tuple(dims[axis] for axis in used), function, compact
            )
        return self._broadcast(inner, used, dims)

    def call(
        self, operator: str, args: Sequence[Node], dims: Sequence[Dim], **params: object
    ) -> Call:
        """Return a call; `operators` knows the shapes and makes the arguments."""
        known = tuple(sorted(params.items()))
        return self._intern(Call, tuple(dims), operator, tuple(args), known)

    def name(self, node: Node, name: str) -> Node:
        """Give a value the user's name; the first stays, and no pass looks into it."""
        self.names.setdefault(node, name)
        if view := turned(node):
            self.suggest(view[0], name)
        return node

    def suggest(self, node: Node, name: str) -> None:
        """Say what to call a value, no mere number, if it gets a statement."""
        if constant_value(node) is None:
            self.suggestions.setdefault(node, name)

    def remark(self, node: Node, remark: Remark) -> None:
        """Say what is to be told of the form that a value has."""
        self.remarks.setdefault(node, {})[remark] = None

    def forget(self) -> None:
        """Let go of all nodes, and they of one another: nobody asks for them again.

        They mention each other: all would wait for a collector that looks at each.
        """
        for node in self._interned.values():
            node.known.clear()
        for made in (self._interned, self._products, self._sums, self._maps):
            made.clear()
        self.simplified.clear()

    def better_factors(self, factors: tuple[Ref, ...]) -> list[Ref] | None:
        """Return the factors of a product in a stable form, where there is one."""
        return self.rewrites.product(self, factors) if self.rewrites else None

    def better_sum(
        self, factors: tuple[Ref, ...], summed: Collection[int], fresh: int
    ) -> list[Ref] | None:
        """Return factors that are summed over less; see `Rewrites.contraction`."""
        rules = self.rewrites if summed else None
        return rules.contraction(self, factors, summed, fresh) if rules else None

    def intern_product(
        self,
        dims: tuple[Dim, ...],
        coefficient: Fraction,
        factors: Sequence[Ref],
        constraints: Sequence[Constraint],
        inner: Mapping[int, Dim],
    ) -> Node:
        """Intern a product that is in normal form but for the names of its labels."""
        rank, named, sizes = len(dims), list(factors), inner
        if len(inner) > 1:  # a single one has its name already
            names = canonical_labels(rank, list(inner), factors, constraints)
            at = names.__getitem__
            named = [Ref(n, tuple(map(at, labels))) for n, labels in factors]
            constraints = [c.renamed(at) for c in constraints]
            sizes = {names[label]: dim for label, dim in inner.items()}
        named.sort(key=lambda ref: (ref.node.serial, ref.labels))
        deltas = sorted(map(normal, constraints), key=constraint_key)
        return self._intern(
            Product,
            dims,
            coefficient,
            tuple(named),
            tuple(deltas),
            tuple(sizes[rank + k] for k in range(len(sizes))),
        )

    def _intern(self, kind: type[N], dims: tuple[Dim, ...], *fields: object) -> N:
        # Two integers hash faster than a rational, which only products start with.
        scale = fields[0] if kind is Product else None
        key: tuple[object, ...] = (kind, dims, fields)
        if isinstance(scale, Fraction):
            key = (kind, dims, scale.as_integer_ratio(), fields[1:])
        node = self._interned.get(key)
        if node is None:
            make: Any = kind
            node = make(len(self._interned), dims, *fields)
            self._interned[key] = node
        return cast(N, node)

    def _broadcast(self, node: Node, axes: Sequence[int], dims: Sequence[Dim]) -> Node:
        if len(axes) == len(dims):
            return node
        everything = dict(enumerate(dims))
        return self.product(range(len(dims)), [(node, axes)], sizes=everything)

    def _merged(self, terms: Iterable[Term]) -> list[Term]:
        """Add up the coefficients of equal terms, and drop zeros."""
        total: dict[Ref, Fraction] = {}
        for coefficient, node, labels in terms:
            scale, ref = self._split(coefficient, Ref(node, labels))
            if scale:
                total[ref] = total[ref] + scale if ref in total else scale
        return [Term(c, *ref) for ref, c in total.items() if c]

    def _aligned(self, node: Node, labels: tuple[int, ...]) -> Ref:
        """Let a product take the diagonal where a label stands twice."""
        axes = tuple(dict.fromkeys(labels))
        if len(axes) < len(labels):
            node = self.product(axes, [(node, labels)])
        return Ref(node, axes)

    def _narrow(self, ref: Ref) -> Ref:
        """Look through a product that only transposes or broadcasts one node."""
        node, labels = ref
        if not isinstance(node, Product):
            return ref
        present = {x for _, axes in node.factors for x in axes}
        present.update(x for c in node.constraints for x in c.form.labels)
        kept = [axis for axis in range(node.order) if axis in present]
        if len(kept) < node.order:
            # It broadcasts along some axes: what is left says the same.
            core = self.product(
                kept,
                node.factors,
                coefficient=node.coefficient,
                constraints=node.constraints,
                sizes={x: node.sizes[x] for x in sorted(present)},
            )
            return self._narrow(Ref(core, tuple(labels[a] for a in kept)))
        if node.constraints or node.inner:
            return ref
        if len(node.factors) == 1 and node.coefficient == 1:
            inner, axes = node.factors[0]
            if len(set(axes)) == len(axes):
                return Ref(inner, tuple(labels[a] for a in axes))
        return ref

    def _split(self, coefficient: Fraction, ref: Ref) -> tuple[Fraction, Ref]:
        """Take the coefficient out of a term, and its mere broadcasting."""
        node, labels = ref
        if isinstance(node, Product):
            if is_zero(node):
                return Fraction(0), ref
            if node.coefficient != 1:
                coefficient *= node.coefficient
                node = self.unscaled(node)
        return coefficient, self._narrow(Ref(node, labels))
