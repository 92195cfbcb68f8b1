"""Building a product in normal form: inlining, deltas, ranges, separation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from tensorgen.ir.constraints import (
    Ranges,
    Simplified,
    System,
    index_bound,
    is_light,
    is_list,
    is_scattered,
    looked_up,
    normal,
    solvable,
    solved,
)
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.effort import Effort
from tensorgen.ir.nodes import (
    Constraint,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    affine,
    delta,
)
from tensorgen.ir.vanish import implied

ONE = Fraction(1)


class Maker(Protocol):
    """What a product under construction asks of the graph that it becomes a node of."""

    effort: Effort
    simplified: dict[Hashable, tuple[Simplified | None, int]]

    def size(self, value: Dim) -> Node:
        """Return a dim as a number."""

    def iota(self, dim: Dim) -> Node:
        """Return the vector 0, 1, ..., dim - 1."""

    def sum(
        self,
        out: Sequence[Label],
        terms: Iterable[tuple[int, Node, Sequence[Label]]],
    ) -> Node:
        """Return a sum of arrays, each with labels of its own."""

    def zeros(self, dims: Sequence[Dim]) -> Node:
        """Return an array of zeros."""

    def unscaled(self, node: Product) -> Node:
        """Return a product, which is not zero, without its coefficient."""

    def better_factors(self, factors: tuple[Ref, ...]) -> list[Ref] | None:
        """Return the factors in a stable form, where there is one."""

    def better_sum(
        self, factors: tuple[Ref, ...], summed: Collection[int], fresh: int
    ) -> list[Ref] | None:
        """Return factors that are summed over less, where there are any."""

    def intern_product(
        self,
        dims: tuple[Dim, ...],
        coefficient: Fraction,
        factors: Sequence[Ref],
        constraints: Sequence[Constraint],
        inner: Mapping[int, Dim],
    ) -> Node:
        """Intern a product that is in normal form but for the names of its labels."""


def _base_entry(ref: Ref) -> Node | None:
    """The entry of an array that a factor is a power of."""
    match ref.node:
        case Map(function="pow", args=((Product(factors=[_]) as base, ()), _)):
            return base if is_light(base) else None
    return None


class ProductBuilder:
    """One product under construction, over integer labels of its own."""

    def __init__(self, graph: Maker) -> None:
        """Start with nothing; `build` fills the state once."""
        self.graph = graph
        self.coefficient = ONE
        self.factors: list[Ref] = []
        self.constraints: list[Constraint] = []
        self.sizes: dict[Label, Dim] = {}
        self.out: list[Label] = []
        self._next = 0

    def build(
        self,
        out: Sequence[Hashable],
        factors: Iterable[tuple[Node, Sequence[Hashable]]],
        coefficient: Fraction,
        constraints: Iterable[Constraint],
        sizes: Mapping[Any, Dim],
    ) -> Node:
        """Return the interned node; see `Graph.product`."""
        names: dict[Hashable, Label] = {}

        def label(name: Hashable) -> Label:
            if name not in names:
                names[name] = self._fresh(sizes.get(name))
            return names[name]

        for name in out:
            self.out.append(label(name))
        repeated = len(names) < len(self.out)
        for i, axis in enumerate(self.out) if repeated else ():
            if axis in self.out[:i]:
                twin = self._fresh(None)
                self.out[i] = twin
                self.constraints.append(delta({axis: 1, twin: -1}))
        for name in sizes:
            label(name)
        self.coefficient = coefficient
        factors = [*factors]
        alone = sum(is_scattered(node) for node, _ in factors) == 1
        for node, labels in factors:
            self._add(node, tuple(label(name) for name in labels), alone)
        for constraint in constraints:
            own = constraint.renamed(label)
            self.constraints.append(own)
            for atom, _ in own.form.terms:
                if isinstance(atom, Lookup):
                    self.sizes.update(zip(atom.labels, atom.node.dims, strict=True))
        for i, axis in enumerate(self.out):
            if axis not in self.sizes:  # a repeated output label: same dim as its twin
                twin = next(
                    atom
                    for c in self.constraints
                    if axis in c.form.labels
                    for atom in c.form.labels
                    if atom != axis
                )
                self.sizes[self.out[i]] = self.sizes[twin]
        return self._finish()

    def _fresh(self, dim: Dim | None) -> Label:
        self._next += 1
        if dim is not None:
            self.sizes[self._next - 1] = dim
        return self._next - 1

    def _add(self, node: Node, labels: tuple[Label, ...], alone: bool = False) -> None:
        """Add a factor, inlining it if it is light, or a list of entries.

        One whose entries are products is inlined `alone`: repeated squaring would grow.
        """
        self.sizes.update(zip(labels, node.dims, strict=True))
        if isinstance(node, Product):
            if node.coefficient != 1:
                self.coefficient *= node.coefficient
            if is_light(node) or is_list(node) or (alone and is_scattered(node)):
                names = dict(enumerate(labels))
                for k, dim in enumerate(node.inner):
                    names[node.order + k] = self._fresh(dim)
                for inner, axes in node.factors:
                    self._add(inner, tuple(names[a] for a in axes))
                name = names.__getitem__
                self.constraints += [c.renamed(name) for c in node.constraints]
                return
            node = self.graph.unscaled(node)
        self.factors.append(Ref(node, labels))

    def _finish(self) -> Node:
        if self.constraints:
            self._simplify()
        dims = tuple(self.sizes[label] for label in self.out)
        empty = not all([dim.terms for dim in self.sizes.values()])
        if not self.coefficient or empty:
            return self.graph.zeros(dims)
        self._count_unused()
        better = (
            self._beside_powers()
            or self.graph.better_factors(tuple(self.factors))
            or self._summed()
        )
        if better is not None:
            self.factors = []
            for node, labels in better:
                self._add(node, labels)
            return self._finish()
        self._drop_implied()
        self._separate()
        if not self.constraints and len(self.factors) == 1 and self.coefficient == 1:
            node, labels = self.factors[0]
            if list(labels) == self.out:
                return node
        position = {label: axis for axis, label in enumerate(self.out)}
        rank = len(self.out)
        summed = sorted(x for x in self._mentioned() if x not in position)
        position.update({label: rank + k for k, label in enumerate(summed)})
        factors = [Ref(n, tuple(position[x] for x in xs)) for n, xs in self.factors]
        constraints = [c.renamed(position.__getitem__) for c in self.constraints]
        inner = {position[label]: self.sizes[label] for label in summed}
        return self.graph.intern_product(
            dims, self.coefficient, factors, constraints, inner
        )

    def _beside_powers(self) -> list[Ref] | None:
        """Better factors where an entry stands beside its own power: `v[0] / v[0]`.

        The entry was looked through, and is a number of its own for this.
        """
        entries = set(filter(None, map(_base_entry, self.factors)))
        if not entries:
            return None
        factors, left = list(self.factors), list(self.constraints)
        uses = Counter(x for _, labels in factors for x in labels)
        for k, (node, labels) in enumerate(factors):
            own = [c for c in left if not set(c.form.labels).isdisjoint(labels)]
            alone = all(uses[x] == 1 for x in labels) and len(own) == len(labels)
            if not labels or not alone or any(len(c.form.terms) > 1 for c in own):
                continue
            place = {label: axis for axis, label in enumerate(labels)}
            pinned = [c.renamed(place.__getitem__) for c in own]
            inner = dict(enumerate(node.dims))
            ref = Ref(node, tuple(inner))
            entry = self.graph.intern_product((), Fraction(1), [ref], pinned, inner)
            if entry in entries:
                factors[k] = Ref(entry, ())
                # Where the product stands along its axes is still to be said.
                summed = [c for c in own if {*c.form.labels}.isdisjoint(self.out)]
                left = [c for c in left if c not in summed]
        better = factors != self.factors and self.graph.better_factors(tuple(factors))
        if not better:
            return None
        self.constraints = left
        gone = {x for _, labels in self.factors for x in labels}
        gone -= {x for _, labels in factors for x in labels}.union(self.out)
        self.sizes = {x: dim for x, dim in self.sizes.items() if x not in gone}
        return better

    def _summed(self) -> list[Ref] | None:
        """Factors that are summed over other labels, which take the place of some."""
        kept = {*self.out, *(x for c in self.constraints for x in c.form.labels)}
        gone = {x for _, labels in self.factors for x in labels} - kept
        better = self.graph.better_sum(tuple(self.factors), gone, self._next)
        if better is not None:
            used = {x for _, labels in better for x in labels}
            self._next = max([self._next, *(x + 1 for x in used)])
            for label in gone - used:
                del self.sizes[label]
        return better

    def _simplify(self) -> None:
        """Apply the delta rules, which may make the product zero."""
        single = {label for label, dim in self.sizes.items() if dim.constant == 1}
        if single:  # the only place along such an axis is 0
            self.constraints = [
                Constraint(
                    c.kind,
                    affine(
                        (x for x in c.form.terms if x[0] not in single), c.form.const
                    ),
                )
                for c in self.constraints
            ]
        self._apply_deltas()
        while self.coefficient and self._compose():
            self._apply_deltas()

    def _apply_deltas(self) -> None:
        inside = tuple({label: None for _, xs in self.factors for label in xs})
        dims = self.sizes.values()
        what = *map(tuple, (self.constraints, self.sizes, dims, self.out)), inside
        effort, known = self.graph.effort, self.graph.simplified
        # The same few patterns stand beside most factors: three times in four.
        if what in known:
            found, steps = known[what]
            effort.spend(steps)
        else:
            before = effort.spent
            system = System(self.constraints, self.sizes, self.out, inside)
            fits = system.simplify(effort)
            found = system.simplified if fits else None
            known[what] = found, effort.spent - before
        if found is None:
            self.coefficient = Fraction(0)
            return
        constraints, sizes, names = found
        self.constraints, self.sizes = list(constraints), dict(sizes)
        name = names.__getitem__
        self.factors = [Ref(n, tuple(map(name, xs))) for n, xs in self.factors]

    def _compose(self) -> bool:
        """Make an entry at an entry, `y[a]` where `a = t[e]`, one of an array `y[t]`.

        Only for a summed label that stands in no factor: it goes.
        """
        looked = looked_up(c.form for c in self.constraints)
        looked.difference_update(self.out, *(labels for _, labels in self.factors))
        ranges = Ranges.of(self.sizes)
        for constraint in self.constraints if looked else ():
            for label in solvable(constraint):
                value = solved(constraint.form, label)
                if label not in looked or label in value.labels:
                    continue
                if not ranges.contain(value, (ZERO, self.sizes[label])):
                    continue
                rest = [c for c in self.constraints if c != constraint]
                given = self._nearest(constraint, rest)
                found = [self._composed(c, label, given) for c in rest]
                made = [c for c in found if c is not None]
                if len(made) == len(rest):
                    self.constraints = made
                    del self.sizes[label]
                    return True
        return False

    def _nearest(self, given: Constraint, others: Sequence[Constraint]) -> Constraint:
        """A delta with an entry, or with an equal one whose labels give more axes.

        `con[row[e]]` is `con[row[k]]` where these rows are equal: what is added up over
        e alone is then added up by row.
        """

        def axes(constraint: Constraint) -> int:
            own = looked_up([constraint.form])
            forms = [c.form for c in others if own & looked_up([c.form])]
            given = {x for form in forms for x, _ in form.terms}
            return len((given | own).intersection(self.out))

        equal = [given]
        for entry in (a for a, _ in given.form.terms if isinstance(a, Lookup)):
            for kind, (terms, const) in others:
                atoms = [atom for atom, _ in terms if isinstance(atom, Lookup)]
                plain = kind == "eq" and const == 0 and sum(c for _, c in terms) == 0
                if plain and len(atoms) == len(terms) == 2 and entry in atoms:
                    twin = atoms[atoms[0] == entry]
                    form = given.form.substituted(entry, affine([(twin, 1)]))
                    equal.append(Constraint(given.kind, form))
        return max(equal, key=axes)

    def _composed(
        self, constraint: Constraint, label: Label, given: Constraint
    ) -> Constraint | None:
        """A constraint without a label that a delta gives; None if that cannot be."""
        value = solved(given.form, label)
        form = constraint.form.substituted(label, value)
        for atom, _ in form.terms:
            if not isinstance(atom, Lookup) or label not in atom.labels:
                continue
            others = (*atom.labels, *value.labels)
            own = [x for x in dict.fromkeys(others) if x != label]
            sizes = {x: self.sizes[x] for x in (*own, label)}
            factor = [(atom.node, atom.labels)]
            builder = ProductBuilder(self.graph)
            node = builder.build(own, factor, Fraction(1), [given], sizes)
            if index_bound(node) is None:
                return None
            form = form.substituted(atom, affine([(Lookup(node, tuple(own)), 1)]))
        return Constraint(constraint.kind, form)

    def _drop_implied(self) -> None:
        """Drop indicators outside of which a factor is zero anyway."""
        if any(constraint.kind == "ge" for constraint in self.constraints):
            known = {normal(c) for f in self.factors for c in implied(f)}
            self.constraints = [c for c in self.constraints if normal(c) not in known]

    def _in_factors(self) -> set[Label]:
        return {label for _, labels in self.factors for label in labels}

    def _mentioned(self) -> set[Label]:
        return self._in_factors().union(*(c.form.labels for c in self.constraints))

    def _count_unused(self) -> None:
        """A summed label that no factor has counts: it gives its size, or a part of it.

        One inequality may bound it, as in the running sums of ones: `i + 1` hold for
        `j <= i`.
        """
        for label in sorted(self.sizes.keys() - self._in_factors().union(self.out)):
            own = [c for c in self.constraints if label in c.form.labels]
            if label in self._in_factors():  # what has been counted depends on it
                continue
            if not own:
                size = self.sizes.pop(label)
                self._add(self.graph.size(size), ())
            elif len(own) == 1 and own[0].kind == "ge":
                self._count_bounded(label, own[0])

    def _count_bounded(self, label: Label, bound: Constraint) -> None:
        """Count the places of a label up to a bound that lies inside, or from it on."""
        size, step = self.sizes[label], bound.form.coefficient(label)
        # Entries of index arrays are no places of axes.
        is_plain = not any(isinstance(atom, Lookup) for atom, _ in bound.form.terms)
        if not is_plain or step not in (1, -1):
            return
        count = bound.form.without(label) + (1 if step < 0 else size)
        if not Ranges.of(self.sizes).contain(count, (ZERO, size + 1)):
            return
        axes = tuple(x for x, _ in count.terms)
        terms = [(c, self.graph.iota(self.sizes[x]), [x]) for x, c in count.terms]
        terms.append((1, self.graph.size(count.const), []))
        self.constraints.remove(bound)
        del self.sizes[label]
        self._add(self.graph.sum(axes, terms), axes)

    # Separation

    def _separate(self) -> None:
        """Wrap what is not sparse, if deltas or broadcasts stand on the result.

        `d[i, j] = (sum_k A[i, k] * b[k]) * delta(i, j)` becomes one factor `r[i]`
        beside the delta, so that others can look through it at no cost.
        """
        out = set(self.out)
        present = {label for _, labels in self.factors for label in labels}
        if not self.constraints and out <= present:  # nearly always
            return
        outer = [c for c in self.constraints if out.issuperset(c.form.labels)]
        inner = [c for c in self.constraints if c not in outer]
        present.update(label for c in inner for label in c.form.labels)
        axes = [label for label in self.out if label in present]
        if not outer and len(axes) == len(self.out):
            return
        if len(self.factors) <= 1 and present <= out:
            return
        builder = ProductBuilder(self.graph)
        builder.factors, builder.constraints = self.factors, inner
        builder.out, builder._next = axes, self._next
        builder.sizes = {label: self.sizes[label] for label in present}
        core = builder._finish()
        self.factors, self.constraints = [], outer
        self.sizes = {label: self.sizes[label] for label in self.out}
        self._add(core, tuple(axes))
