"""Products in JAX: one `einsum` of what is left when deltas are solved.

A delta that gives a summed label makes slices or gathers of the factors that read it;
one that gives a label of the result says where entries are added. Conditions that do
not hold everywhere are factors, 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tensorgen.fields.doubles import Tabled
from tensorgen.ir import nodes
from tensorgen.ir.constraints import looked_up, solved, within
from tensorgen.ir.dims import ZERO
from tensorgen.ir.nodes import Affine, Call, Lookup, Node
from tensorgen.operators.references import Array

Operand = tuple[Array, list[int]]


class Product:
    """One product, and who has the values of what it multiplies."""

    def __init__(self, node: nodes.Product, walk: Tabled) -> None:
        self._jnp, self._node, self._walk = walk.field.library, node, walk
        self._sizes = walk.lengths(node.sizes)
        self._read: dict[int, Affine] = {}
        self._placed: dict[int, Affine] = {}
        self._masks: list[nodes.Constraint] = []
        self._solve()

    def _solve(self) -> None:
        deltas = [c.form for c in self._node.constraints if c.kind == "eq"]
        self._masks = [c for c in self._node.constraints if c.kind == "ge"]
        while deltas:
            form, *deltas = deltas
            others = [*deltas, *(c.form for c in self._masks)]
            others += [*self._read.values(), *self._placed.values()]
            label = self._chosen(form, others, summed=True)
            if label is not None:
                rest = solved(form, label)
                deltas = [x.substituted(label, rest) for x in deltas]
                self._masks = [
                    c._replace(form=c.form.substituted(label, rest))
                    for c in self._masks
                ]
                self._read = {
                    x: own.substituted(label, rest) for x, own in self._read.items()
                }
                self._placed = {
                    x: own.substituted(label, rest) for x, own in self._placed.items()
                }
                self._read[label] = rest
                self._masks += within(rest, (ZERO, self._node.sizes[label]))
                continue
            label = self._chosen(form, others, summed=False)
            if label is None:
                self._masks.append(nodes.Constraint("eq", form))
            else:
                self._placed[label] = solved(form, label)

    def _chosen(
        self, form: Affine, others: Sequence[Affine], summed: bool
    ) -> int | None:
        """A label that a delta determines, one of those that are summed or not."""
        # What stands within a lookup cannot be replaced by a form.
        fixed = looked_up([form, *others])
        for atom, coefficient in reversed(form.terms):
            if isinstance(atom, Lookup) or abs(coefficient) != 1 or atom in fixed:
                continue
            if summed and atom >= self._node.order:
                return int(atom)
            if summed or atom >= self._node.order or self._is_read(atom):
                continue
            if not any(atom in own.labels for own in others):
                return int(atom)
        return None

    def _is_read(self, label: int) -> bool:
        return label in self._placed or any(
            label in labels for _, labels in self._node.factors
        )

    def value(self) -> Array:
        """Return the product."""
        jnp, node = self._jnp, self._node
        scale = float(node.coefficient)
        factors = [self._factor(*x) for x in node.factors]
        masks = [own for c in self._masks for own in self._mask(c)]
        operands = [*self._solutions(factors), *masks]
        given = {x for _, labels in (*factors, *masks) for x in labels}
        kept = [x for x in range(node.order) if x not in self._placed]
        more = [x for own in self._placed.values() for x in own.labels]
        inner = [*dict.fromkeys([*kept, *more])]
        for label in range(node.order, len(self._sizes)):
            if label not in given and label not in self._read and label not in inner:
                scale *= self._sizes[label]
        known = [x for x in inner if x in given]
        found = jnp.asarray(scale)
        if operands:
            flat = [x for pair in operands for x in pair]
            found = scale * jnp.einsum(*flat, known)
        shape = [self._sizes[x] if x in given else 1 for x in inner]
        whole = [self._sizes[x] for x in inner]
        found = jnp.broadcast_to(found.reshape(shape), whole)
        return self._put(found, inner) if self._placed else found

    def _factor(self, ref: Node, labels: Sequence[int]) -> Operand:
        value, order = self._walk.values[ref], [*labels]
        forms = [self._read.get(x, Affine.atom(x)) for x in labels]
        if all(x not in self._read for x in labels):
            return value, order
        single = [own.terms[0] for own in forms if len(own.terms) == 1]
        atoms = [a for a, _ in single if not isinstance(a, Lookup)]
        if len({*atoms}) == len(forms):
            for axis, own in enumerate(forms):
                value = self._sliced(value, axis, own)
            return value, atoms
        grid = [*dict.fromkeys(x for own in forms for x in own.labels)]
        if not forms or not grid:
            place = tuple(int(self._walk.size(own.const)) for own in forms)
            return value[place], []
        places = tuple(self._places(own, grid) for own in forms)
        clipped = tuple(
            self._jnp.clip(x, 0, max(n - 1, 0))
            for x, n in zip(places, value.shape, strict=True)
        )
        lengths = [self._sizes[x] for x in grid]
        return self._jnp.broadcast_to(value[clipped], lengths), grid

    def _sliced(self, value: Array, axis: int, form: Affine) -> Array:
        """The entries of an axis at `c * label + const`, zeros outside."""
        ((label, step),) = form.terms
        count, start = self._sizes[label], self._walk.size(form.const)
        if (start, step, count) == (0, 1, value.shape[axis]):
            return value
        if not count:
            return value[(slice(None),) * axis + (slice(0),)]
        last = start + step * (count - 1)
        low, high = min(start, last), max(start, last)
        before, after = max(0, -low), max(0, high - value.shape[axis] + 1)
        if before or after:
            wide = [(before, after) if a == axis else (0, 0) for a in range(value.ndim)]
            value = self._jnp.pad(value, wide)
        places = slice(low + before, high + before + 1, abs(step))
        found = value[(slice(None),) * axis + (places,)]
        return found if step > 0 else self._jnp.flip(found, axis)

    def _places(self, form: Affine, grid: Sequence[int]) -> Array:
        """The values of a form over a grid; of NumPy's where it looks nothing up."""
        return self._walk.places(form, grid, self._sizes)

    def _mask(self, constraint: nodes.Constraint) -> list[Operand]:
        """A condition as a factor, unless it holds everywhere."""
        grid = [*constraint.form.labels]
        at = self._places(constraint.form, grid)
        holds = at == 0 if constraint.kind == "eq" else at >= 0
        if isinstance(holds, np.ndarray | np.bool_) and np.all(holds):
            return []
        lengths = [self._sizes[x] for x in grid]
        return [(self._jnp.broadcast_to(holds, lengths) * 1.0, grid)]

    def _put(self, found: Array, inner: Sequence[int]) -> Array:
        """Add entries where the labels of the result say."""
        jnp, order = self._jnp, self._node.order
        lengths = self._sizes[:order]
        places = []
        for label, length in enumerate(lengths):
            form = self._placed.get(label, Affine.atom(label))
            at = jnp.asarray(self._places(form, inner))
            places.append(jnp.where(at < 0, length, at))  # out of bounds: dropped
        zeros = jnp.zeros(lengths)
        return zeros.at[tuple(places)].add(found, mode="drop")

    def _solutions(self, operands: list[Operand]) -> list[Operand]:
        """Solve with a matrix where its inverse is multiplied by one other factor."""
        for k, (ref, _) in enumerate(self._node.factors):
            if not (isinstance(ref, Call) and ref.operator == "inv" and ref.order == 2):
                continue
            labels = operands[k][1]
            for axis, label in enumerate(labels):
                others = [
                    j for j, (_, x) in enumerate(operands) if j != k and label in x
                ]
                if len(others) == 1 and self._is_free(label, labels, operands):
                    matrix = self._walk.values[ref.args[0]]
                    new = self._solution(
                        matrix if axis else matrix.T,
                        labels[1 - axis],
                        label,
                        operands[others[0]],
                    )
                    rest = [x for j, x in enumerate(operands) if j not in (k, *others)]
                    return [*rest, new]
        return operands

    def _is_free(self, label: int, own: list[int], operands: list[Operand]) -> bool:
        """Whether a label is summed, occurs in two factors once, and nowhere else."""
        uses = sum(x.count(label) for _, x in operands)
        told = any(label in c.form.labels for c in self._masks)
        forms = [*self._read.values(), *self._placed.values()]
        told = told or any(label in form.labels for form in forms)
        return label >= self._node.order and uses == 2 and len({*own}) == 2 and not told

    def _solution(self, matrix: Array, new: int, label: int, other: Operand) -> Operand:
        jnp, (value, labels) = self._jnp, other
        axis = labels.index(label)
        columns = jnp.moveaxis(value, axis, 0)
        flat = columns.reshape(len(columns), -1)
        found = jnp.linalg.solve(matrix, flat).reshape(columns.shape)
        return found, [new, *labels[:axis], *labels[axis + 1 :]]
