"""Building a product in normal form: inlining, deltas, ranges, separation."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING, Any, Literal, cast

from tensorgen.ir.canonical import atom_key
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import (
    Affine,
    Atom,
    Constraint,
    Label,
    Lookup,
    Node,
    Product,
    Ref,
    affine,
    is_light,
)
from tensorgen.ir.vanish import implied

if TYPE_CHECKING:
    from tensorgen.ir.graph import Graph


def _solved(form: Affine, label: Atom) -> Affine:
    """What `form == 0` says of an atom whose coefficient is 1 or -1."""
    c = form.coefficient(label)
    rest = tuple((a, -c * d) for a, d in form.terms if a != label)
    return Affine(rest, form.const * -c)


def _unordered(constraint: Constraint) -> tuple[str, frozenset[object], Dim]:
    """A constraint as a value that the order of its terms does not change."""
    return constraint.kind, frozenset(constraint.form.terms), constraint.form.const


class ProductBuilder:
    """One product under construction, over integer labels of its own."""

    def __init__(self, graph: Graph) -> None:
        """Start with nothing; `build` fills the state once."""
        self.graph = graph
        self.coefficient = Fraction(1)
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
        constraints: Iterable[tuple[str, Mapping[Any, int], Dim | int]],
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
        for i, axis in enumerate(self.out):
            if axis in self.out[:i]:
                twin = self._fresh(None)
                self.out[i] = twin
                form = affine([(axis, 1), (twin, -1)])
                self.constraints.append(Constraint("eq", form))
        for name in sizes:
            label(name)
        self.coefficient = coefficient
        for node, labels in factors:
            self._add(node, tuple(label(name) for name in labels))
        for kind, terms, const in constraints:
            atoms: list[tuple[Atom, int]] = []
            for atom, c in terms.items():
                if isinstance(atom, Lookup):
                    inner = tuple(label(name) for name in atom.labels)
                    self.sizes.update(zip(inner, atom.node.dims, strict=True))
                    atoms.append((Lookup(atom.node, inner), c))
                else:
                    atoms.append((label(atom), c))
            form = affine(atoms, const)
            self.constraints.append(Constraint(cast(Literal["eq", "ge"], kind), form))
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

    def _add(self, node: Node, labels: tuple[Label, ...]) -> None:
        """Add a factor, inlining it if it is light."""
        self.sizes.update(zip(labels, node.dims, strict=True))
        if isinstance(node, Product):
            self.coefficient *= node.coefficient
            if is_light(node):
                names = dict(enumerate(labels))
                for k, dim in enumerate(node.inner):
                    names[node.order + k] = self._fresh(dim)
                for inner, axes in node.factors:
                    self._add(inner, tuple(names[a] for a in axes))
                for constraint in node.constraints:
                    form = constraint.form.renamed(names.__getitem__)
                    self.constraints.append(Constraint(constraint.kind, form))
                return
            if node.coefficient != 1:
                node = self.graph.intern_product(
                    node.dims,
                    Fraction(1),
                    node.factors,
                    node.constraints,
                    {node.order + k: d for k, d in enumerate(node.inner)},
                )
        self.factors.append(Ref(node, labels))

    def _finish(self) -> Node:
        self._simplify_constraints()
        dims = tuple(self.sizes[label] for label in self.out)
        if not self.coefficient:
            return self.graph.zeros(dims)
        self._count_unused()
        rewrites, found = self.graph.rewrites, tuple(self.factors)
        better = rewrites.product(self.graph, found) if rewrites else None
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
        constraints = [
            Constraint(c.kind, c.form.renamed(position.__getitem__))
            for c in self.constraints
        ]
        inner = {position[label]: self.sizes[label] for label in summed}
        return self.graph.intern_product(
            dims, self.coefficient, factors, constraints, inner
        )

    def _drop_implied(self) -> None:
        """Drop indicators outside of which a factor is zero anyway."""
        if any(constraint.kind == "ge" for constraint in self.constraints):
            known = {_unordered(c) for f in self.factors for c in implied(f)}
            kept = [c for c in self.constraints if _unordered(c) not in known]
            self.constraints = kept

    def _mentioned(self) -> set[Label]:
        found = {label for _, labels in self.factors for label in labels}
        return found.union(*(c.form.labels for c in self.constraints))

    def _count_unused(self) -> None:
        """A summed label that nothing mentions counts: it gives its size."""
        mentioned = self._mentioned().union(self.out)
        for label in sorted(set(self.sizes) - mentioned):
            size = self.sizes.pop(label)
            self._add(self.graph.size(size), ())

    # Constraints

    def _simplify_constraints(self) -> None:
        """Apply the delta rules until none fires; each removes a constraint or label.

        Substitution removes a label; everything else removes a constraint. So there
        are at most as many rounds as labels and constraints together.
        """
        while self._simplify_once():
            pass

    def _simplify_once(self) -> bool:
        kept: dict[Constraint, None] = {}
        self.graph.effort.spend(2 * len(self.constraints))
        for constraint in self.constraints:
            reduced = self._reduced(constraint)
            if reduced is False:
                self.coefficient = Fraction(0)
                return False
            if reduced is not None:
                kept[reduced] = None
        self.constraints = list(kept)
        if any(self._rename(c) or self._eliminate(c) for c in kept):
            return True
        return self._solve()

    def _reduced(self, constraint: Constraint) -> Constraint | Literal[False] | None:
        """None where ranges imply the constraint, False where they refute it."""
        kind, form = constraint
        # One order of atoms, or equal constraints would stand side by side.
        form = Affine(tuple(sorted(form.terms, key=atom_key)), form.const)
        if kind == "eq" and form.terms:
            divisor = gcd(*(c for _, c in form.terms))
            constant = form.const.constant
            if divisor > 1 and constant is not None:
                if constant % divisor:
                    return False
                terms = tuple((a, c // divisor) for a, c in form.terms)
                form = Affine(terms, Dim.of(constant // divisor))
            if form.terms[0][1] < 0:
                form = Affine(tuple((a, -c) for a, c in form.terms), -form.const)
        if not form.terms and form.const.constant is not None:
            value = form.const.constant
            holds = value == 0 if kind == "eq" else value >= 0
            return None if holds else False
        reach = form.bounds(self.sizes)
        if reach is not None:
            low, high = reach
            if kind == "ge" and (low.is_nonnegative() or self._implied(form)):
                return None
            # Empty ranges make a sum empty anyway, so a refuted constraint is zero.
            if (-high).is_positive() or (kind == "eq" and low.is_positive()):
                return False
        return Constraint(kind, form)

    def _implied(self, form: Affine) -> bool:
        """Whether a delta makes `form >= 0` hold, by what it says of one atom."""
        for kind, delta in self.constraints:
            for atom, c in delta.terms if kind == "eq" else ():
                if abs(c) == 1 and form.coefficient(atom):
                    reach = form.substituted(atom, _solved(delta, atom)).bounds(
                        self.sizes
                    )
                    if reach is not None and reach[0].is_nonnegative():
                        return True
        return False

    def _rename(self, constraint: Constraint) -> bool:
        """Unify the two labels of a plain delta `a == b` of equal dims."""
        kind, form = constraint
        if kind != "eq" or len(form.terms) != 2 or form.const != 0:
            return False
        (a, c), (b, d) = form.terms
        if isinstance(a, Lookup) or isinstance(b, Lookup) or (c, d) != (1, -1):
            return False
        if self.sizes[a] != self.sizes[b]:
            return False
        if a not in self.out or b not in self.out:
            gone, kept = (a, b) if a not in self.out else (b, a)
            self._replace(gone, kept)
            return True
        # Both are axes of the result: keep the delta, use the first label elsewhere.
        first, second = sorted((a, b), key=self.out.index)
        others = [c for c in self.constraints if c != constraint]
        if not any(second in labels for _, labels in self.factors) and not any(
            second in c.form.labels for c in others
        ):
            return False
        out, size = list(self.out), self.sizes[second]
        self._replace(second, first)
        self.out, self.sizes[second] = out, size
        self.constraints.append(constraint)
        return True

    def _replace(self, gone: Label, kept: Label) -> None:
        def name(label: Label) -> Label:
            return kept if label == gone else label

        self.factors = [Ref(n, tuple(map(name, xs))) for n, xs in self.factors]
        renamed = [Constraint(c.kind, c.form.renamed(name)) for c in self.constraints]
        self.constraints = list(dict.fromkeys(renamed))
        self.out = [name(label) for label in self.out]
        del self.sizes[gone]

    def _eliminate(self, constraint: Constraint) -> bool:
        """Solve a delta for a summed label that stands in constraints alone.

        Its range becomes two indicators, which vanish where they are implied.
        """
        kind, form = constraint
        if kind != "eq":
            return False
        used = set(self.out).union(*(labels for _, labels in self.factors))
        for other in self.constraints:
            for atom, _ in other.form.terms:
                if isinstance(atom, Lookup):
                    used.update(atom.labels)
        for atom, c in form.terms:
            if isinstance(atom, Lookup) or atom in used or abs(c) != 1:
                continue
            solved = _solved(form, atom)
            dim = self.sizes.pop(atom)
            minus = tuple((a, -d) for a, d in solved.terms)
            upper = Affine(minus, dim - 1 - solved.const)
            others = [
                Constraint(k.kind, k.form.substituted(atom, solved))
                for k in self.constraints
                if k != constraint
            ]
            bounds = [Constraint("ge", solved), Constraint("ge", upper)]
            self.constraints = others + bounds
            return True
        return False

    def _solve(self) -> bool:
        """Let every summed label stand in one delta at most (Gauss and Jordan).

        `delta(i, k) * delta(j, k)` becomes `delta(i, j) * delta(i, k)`, so that what a
        product says of the axes of its result stands in deltas of their own; so do two
        deltas with one entry of an index array. Each delta is solved for one atom at
        most, so a second round changes nothing.
        """
        before = list(self.constraints)
        pivots: set[int] = set()
        lookups: set[Lookup] = {
            atom
            for c in self.constraints
            for atom, _ in c.form.terms
            if isinstance(atom, Lookup)
        }
        # The order must not depend on what an earlier round has written where.
        ordered = sorted(lookups, key=lambda atom: (atom.node.serial, atom.labels))
        atoms: list[Atom] = [*sorted(set(self.sizes) - set(self.out)), *ordered]
        for label in atoms:
            places = [
                k
                for k, c in enumerate(self.constraints)
                if k not in pivots
                and c.kind == "eq"
                and abs(c.form.coefficient(label)) == 1
            ]
            if not places:
                continue
            pivot = places[0]
            pivots.add(pivot)
            solved = _solved(self.constraints[pivot].form, label)
            self.constraints = [
                (
                    c
                    if k == pivot or not c.form.coefficient(label)
                    else Constraint(c.kind, c.form.substituted(label, solved))
                )
                for k, c in enumerate(self.constraints)
            ]
        after = list(map(_unordered, self.constraints))
        return after != list(map(_unordered, before))

    # Separation

    def _separate(self) -> None:
        """Wrap what is not sparse, if deltas or broadcasts stand on the result.

        `d[i, j] = (sum_k A[i, k] * b[k]) * delta(i, j)` becomes one factor `r[i]`
        beside the delta, so that others can look through it at no cost.
        """
        out = set(self.out)
        outer = [c for c in self.constraints if set(c.form.labels) <= out]
        inner = [c for c in self.constraints if c not in outer]
        present = {label for _, labels in self.factors for label in labels}
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
