"""Products: factors read, masked, contracted; entries written where deltas say."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from tensorgen.arrays.arrays import array, variable
from tensorgen.arrays.object_operations import Times
from tensorgen.arrays.operations import Diagonal, Fill, Kind, Trace, Triangle, Trim
from tensorgen.ir.constraints import Ranges, index_bound, looked_up
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Constraint,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    constant_value,
)
from tensorgen.lower.axes import ordered, repeated
from tensorgen.lower.bounded_sums import take_bounded_sums
from tensorgen.lower.contract import contract
from tensorgen.lower.elementwise_products import Factor, conjunction, multiply, select
from tensorgen.lower.indexing import Indexer
from tensorgen.lower.maps import may_be_complex
from tensorgen.lower.operands import Operand, as_float, made
from tensorgen.lower.plan import Plan, solve_partner
from tensorgen.lower.reads import Read
from tensorgen.lower.scatter import Write, is_injective
from tensorgen.lower.solve_constraints import plain_label
from tensorgen.lower.solve_systems import solve
from tensorgen.lower.sparse_products import MatrixProduct, matrix_product
from tensorgen.lower.taps import Tapped
from tensorgen.lower.values import Values
from tensorgen.lower.windowed import windowed
from tensorgen.operators.matrices.symmetry import is_even


class ProductLowering:
    """One product on its way to text."""

    def __init__(self, known: Values, node: Product) -> None:
        self.known = known
        self.draft = known.draft
        self.node = node

    def expression(self, want: Sequence[Label] | None = None) -> Operand:
        """The text of the product; the name of a new array if it is written."""
        multiple = self.known.plan.multiples.get(self.node)
        if multiple is not None:
            ratio, other = multiple
            whole = Ref(other, tuple(range(other.order)))
            factor = Factor(self.known.operand(whole))
            return multiply([factor], ratio, want)
        if taps := self.tapped():
            reads = [
                self._windowed(*pair)
                for pair in zip(self.node.factors, taps.reads, strict=True)
            ]
            indexer = Indexer(self.draft, taps.ranges, self._looked)
            return windowed(indexer, self.node, taps, reads, self.known.plan.hints)
        if self.known.plan.is_write(self.node):
            return self._written()
        if found := matrix_product(self.node, self.known.plan.matrices):
            return self._times(found)
        if self.node.constraints:
            return self._read(want)
        if solved := self._solved(want):
            return solved
        if traced := self._traced():
            return traced
        if index_bound(self.node) is not None:
            return self._looked(self.node.factors[0])
        factors = [self._factor(ref) for ref in self.node.factors]
        if self.node.order == 2 and self.node.inner and is_even(self.node):
            # Either order of the axes is right: take the one that reads better.
            either = self._contracted(factors, None)
            return either.bearing((0, 1)) if len(either.labels) == 2 else either
        return self._contracted(factors, want)

    def _contracted(
        self, factors: Sequence[Factor], want: Sequence[Label] | None
    ) -> Operand:
        node = self.node
        inner = {node.order + k: dim for k, dim in enumerate(node.inner)}
        keep = range(node.order)
        return contract(factors, node.coefficient, keep, inner, want)

    # Windows

    def tapped(self) -> Tapped | None:
        """The taps of a product that sums over windows."""
        plan, factors = self.known.plan, self.node.factors
        if not factors or matrix_product(self.node, plan.matrices):
            return None
        found = plan.tapped(self.node)
        if found is None:
            return None
        # What a mask excludes must reach nothing, zeros around it included.
        masks = any(self.known.operand(ref).kind == "bool" for ref in factors)
        return None if masks and found.is_padded else found

    def _windowed(self, ref: Ref, forms: Sequence[Affine]) -> Read:
        base, axes, exponent = self._power(Ref(ref.node, tuple(range(len(forms)))))
        whole = self._looked(Ref(base, axes))
        if exponent != 1:
            whole = multiply([Factor(whole, exponent)])
        whole = whole if whole.kind == "bool" else as_float(whole)
        return Read(whole, tuple(forms[axis] for axis in whole.labels))

    # Factors

    def _factor(self, ref: Ref) -> Factor:
        """A factor as an operand, a power of one where it is written in place."""
        base, labels, exponent = self._power(ref)
        operand = self.known.operand(Ref(base, labels))
        return Factor(self._distinct(operand), exponent)

    def _power(self, ref: Ref) -> tuple[Node, tuple[Label, ...], Fraction]:
        node, labels = ref
        if isinstance(node, Map) and node.function == "pow":
            exponent = constant_value(node.args[1].node)
            if (
                exponent is not None
                and self.known.is_inline(node)
                and not may_be_complex(node.args[0].node, exponent)
            ):
                base, axes = node.args[0]
                return base, tuple(labels[axis] for axis in axes), exponent
        return node, labels, Fraction(1)

    def _distinct(self, operand: Operand) -> Operand:
        """The diagonal of an array that bears a label twice."""
        while repeated(operand):
            labels = operand.labels
            label = next(x for x in labels if labels.count(x) > 1)
            first = labels.index(label)
            second = labels.index(label, first + 1)
            rest = [x for axis, x in enumerate(labels) if axis not in (first, second)]
            operand = made(Diagonal(first, second), (*rest, label), operand)
        return operand

    def _traced(self) -> Operand | None:
        """The sum of a matrix's diagonal."""
        node = self.node
        if len(node.factors) != 1 or len(node.inner) != 1 or node.order:
            return None
        operand = as_float(self.known.operand(node.factors[0]))
        if len(operand.labels) != 2:
            return None
        trace = made(Trace(), (), operand)
        return multiply([Factor(trace)], node.coefficient)

    # Inverses

    def _solved(self, want: Sequence[Label] | None) -> Operand | None:
        """A contraction with an inverse as a solve."""
        node, plan = self.node, self.known.plan
        for k, (inverse, labels) in enumerate(node.factors):
            other = solve_partner(node, k) if inverse in plan.solved else None
            if other is None or not isinstance(inverse, Call):
                continue
            *batch, row, column = labels
            factor = plan.factors.get(inverse.args[0])
            matrix = self.known.whole(factor or inverse.args[0])
            matrix = matrix.renamed((*batch, column, row).__getitem__)
            right = self.known.whole(other.node).renamed(other.labels.__getitem__)
            keep = range(node.order)
            sizes = {
                **dict(zip(labels, inverse.dims, strict=True)),
                **dict(zip(other.labels, other.node.dims, strict=True)),
            }
            factored = factor is not None
            solution = solve(matrix, labels, right, keep, sizes, factored)
            rest = [
                ref for j, ref in enumerate(node.factors) if j != k and ref != other
            ]
            factors = [*(self._factor(ref) for ref in rest), Factor(solution)]
            return multiply(factors, node.coefficient, want)
        return None

    # Sparse matrices

    def _times(self, found: MatrixProduct) -> Operand:
        rest = [x for x in found.other.labels if x != found.column]
        operand = as_float(self.known.operand(found.other))
        right = ordered(operand, [found.column, *rest])
        labels = (found.row, *rest)
        op = Times(tuple(self.node.dims[x] for x in labels), found.transposed)
        matrix = Operand(variable(found.name, ()), ())
        return multiply(
            [Factor(made(op, labels, matrix, right))], self.node.coefficient
        )

    # Constraints

    def _read(self, want: Sequence[Label] | None) -> Operand:
        solution = self.known.plan.solution(self.node)
        axes = solution.axes(self.node.dims)
        assert axes is not None
        indexer = Indexer(self.draft, solution.ranges, self._looked)
        core = self._core(indexer, axes, want)
        return core.renamed(
            {label: axis for axis, label in enumerate(axes)}.__getitem__
        )

    def writes(self) -> tuple[Write, ...]:
        """The product as entries to be written into an array of zeros."""
        solution = self.known.plan.solution(self.node)
        inner = [ref.node for ref in self.node.factors]
        first = self.known.writes.get(inner[0]) if inner else None
        if first is not None:
            labels = [plain_label(form) for form in solution.reads[0]]
            return tuple(one.within(solution, labels, self.node) for one in first)
        indexer = Indexer(self.draft, solution.ranges, self._looked)
        keep = indexer.layout(solution.writes, self.node.dims)
        order = [*range(len(keep))]
        if not is_injective(solution.writes):  # what is added has the keys first
            keys = looked_up(solution.writes)
            order.sort(key=lambda axis: keep[axis] not in keys)
        core = self._core(indexer, keep, order)
        places = tuple(solution.writes)
        return (Write(self.node.dims, places, core, indexer, self.node),)

    def _written(self) -> Operand:
        write, *others = self.writes()
        # What is no part of an index array reads the first entry, for nothing.
        kind: Kind = "float" if index_bound(self.node) is None else "int"
        if not others:
            if plain := write.diagonal():
                return plain
            if kind == "float" and (sums := write.by_key()) is not None:
                return sums
        zeros = array(Fill(self.node.dims, 0, kind))
        whole = self.draft.filled(self.node, zeros)
        for one in (write, *others):
            one.onto(whole, fresh=True)
        return Operand(whole, tuple(range(self.node.order)))

    def _core(
        self, indexer: Indexer, keep: Sequence[Label], want: Sequence[Label] | None
    ) -> Operand:
        """The entries over the labels `keep`, in the order that `want` has of them."""
        solution = self.known.plan.solution(self.node)
        factors, is_index = [], index_bound(self.node) is not None
        for ref, forms in zip(self.node.factors, solution.reads, strict=True):
            if is_index:  # nothing adds up what is one entry
                forms = [_fixed(form, solution.ranges, keep) for form in forms]
            factors.append(self._selected(indexer, ref, forms))
        masks = list(solution.masks)
        gone = take_bounded_sums(indexer, factors, masks, keep)
        masks = [m for m in masks if not self._trimmed(m, indexer, factors)]
        factors += [Factor(self._mask(mask, indexer)) for mask in masks]
        if is_index:
            # A part of an index array keeps its integers.
            entries, *others = (factor.operand for factor in factors)
            return select(conjunction(others), entries) if others else entries
        order = None if want is None else [keep[axis] for axis in want]
        sizes = {
            label: high - low
            for label, (low, high) in solution.ranges.intervals.items()
            if label not in keep and label not in gone
        }
        return contract(factors, self.node.coefficient, keep, sizes, order)

    def _looked(self, ref: Ref) -> Operand:
        """The entries of an array, each label once."""
        return self._distinct(self.known.operand(ref))

    def _selected(self, indexer: Indexer, ref: Ref, forms: list[Affine]) -> Factor:
        base, axes, exponent = self._power(Ref(ref.node, tuple(range(len(forms)))))
        whole = self._looked(Ref(base, axes))
        mine = [forms[axis] for axis in whole.labels]
        dims = [ref.node.dims[axis] for axis in whole.labels]
        return Factor(indexer.read(whole, mine, dims), exponent)

    def _mask(self, mask: Constraint, indexer: Indexer) -> Operand:
        band = _band(mask, indexer)
        if band is None:
            return indexer.mask(mask)
        row, column, offset = band
        rows, columns = (indexer.ranges.intervals[x][1] for x in (row, column))
        return made(Triangle(rows, columns, offset), (row, column))

    def _trimmed(
        self, mask: Constraint, indexer: Indexer, factors: list[Factor]
    ) -> bool:
        """Apply a triangular mask to a matrix among the factors."""
        band = _band(mask, indexer)
        if band is None:
            return False
        row, column, offset = band
        for k, factor in enumerate(factors):
            operand = factor.operand
            last = operand.labels[-2:]
            if operand.kind != "float":
                continue
            if last not in ((row, column), (column, row)):
                continue
            lower = last == (row, column)
            trim = Trim(lower, offset if lower else -offset)
            operand = multiply([factor])
            factors[k] = Factor(made(trim, operand.labels, operand))
            return True
        return False


def spreads(plan: Plan, node: Product) -> bool:
    """Whether a product only spreads one array, all of it, over a larger one.

    What that array is spread from may then be written to its last place at once.
    """
    if len(node.factors) != 1 or not plan.is_write(node) or plan.tapped(node):
        return False
    solution = plan.solution(node)
    labels = [plain_label(form) for form in solution.reads[0]]
    whole = all(
        x is not None and solution.ranges.intervals[x] == (ZERO, dim)
        for x, dim in zip(labels, node.factors[0].node.dims, strict=True)
    )
    summed = {x for form in solution.writes for x in form.labels} < {*labels}
    atoms = (atom for form in solution.writes for atom, _ in form.terms)
    if any(isinstance(atom, Lookup) for atom in atoms):
        return False  # the place in an index array is that in the array itself
    return whole and len({*labels}) == len(labels) and not (solution.masks or summed)


def _fixed(form: Affine, ranges: Ranges, keep: Sequence[Label]) -> Affine:
    """A form in which labels that have one value, and are not kept, are that value."""
    for label in form.labels:
        low, stop = ranges.intervals[label]
        if label not in keep and stop - low == 1:
            form = form.substituted(label, Affine.constant(low))
    return form


def _band(mask: Constraint, indexer: Indexer) -> tuple[Label, Label, Dim] | None:
    """`(i, j, k)` of an indicator `j <= i + k` over whole axes."""
    kind, form = mask
    labels = {c: atom for atom, c in form.terms if isinstance(atom, int)}
    if kind != "ge" or len(form.terms) != 2 or set(labels) != {1, -1}:
        return None
    row, column = labels[1], labels[-1]
    if any(indexer.ranges.intervals[x][0] != ZERO for x in (row, column)):
        return None
    return row, column, form.const
