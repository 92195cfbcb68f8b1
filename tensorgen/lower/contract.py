"""Contractions as the plain call that an expert would write.

Labels of two operands are classified as batch (in both and kept), contracted (in
both and summed), left and right. The call and the orientation of its operands are
those with the fewest transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import is_sliding
from tensorgen.arrays.reading import binding
from tensorgen.arrays.templates import Level
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Label
from tensorgen.lower.axes import natural_order, ordered, summed, transposed
from tensorgen.lower.elementwise_products import Factor, multiply, raised
from tensorgen.lower.operands import Operand, as_float, count, made, matmul, product
from tensorgen.lower.plainness import (
    BROADCAST,
    ENTRYWISE,
    TENSORDOT,
    VECTOR_FIRST,
    misplaced,
    turned,
    written,
)
from tensorgen.lower.stacks import Sides, stacked

Candidate = tuple[float, Operand]
"""A call, and its price."""


def contract(
    factors: Sequence[Factor],
    coefficient: Fraction,
    keep: Collection[Label],
    sizes: Mapping[Label, Dim],
    want: Sequence[Label] | None = None,
) -> Operand:
    """The product of `factors`, summed over all labels of `sizes` not in `keep`."""
    gone = [label for label in sizes if label not in keep]
    present = {label for factor in factors for label in factor.operand.labels}
    outer = [f for f in factors if not set(f.operand.labels) & set(gone)]
    inner = [f for f in factors if set(f.operand.labels) & set(gone)]
    # A summed label that nothing bears counts.
    outer += [Factor(count(sizes[x])) for x in gone if x not in present]
    if not inner:
        return multiply(outer, coefficient, want)
    if _divides_one_out(inner):
        core = _multiplied(inner, set(gone), want)
    else:
        operands = _gathered(_operands(inner))
        core = _reduce(operands, set(keep), want)
    if not outer and coefficient == 1:
        return core
    return multiply([*outer, Factor(core)], coefficient, want)


def _multiplied(
    factors: Sequence[Factor], gone: Collection[Label], want: Sequence[Label] | None
) -> Operand:
    """The elementwise product, summed over `gone`: where these stand is no matter."""
    order = [x for x in natural_order([f.operand for f in factors]) if x not in gone]
    if want is not None and order == [label for label in want if label in order]:
        want = None
    return summed(multiply(factors, want=want), gone)


def _divides_one_out(inner: Sequence[Factor]) -> bool:
    """Whether a quotient is plainer than a product with a reciprocal."""
    alike = len({frozenset(f.operand.labels) for f in inner}) == 1
    return alike and len(inner) > 1 and any(f.exponent < 0 for f in inner)


def _operands(inner: Sequence[Factor]) -> list[Operand]:
    """Powers spelled out, masks applied to what they select from."""
    if len(inner) == 1 and (root := _root(inner[0])):
        return [root] * 2
    operands = [
        (
            product(Fraction(1), raised(as_float(f.operand), f.exponent))
            if f.exponent > 0
            else multiply([f])
        )
        for f in inner
        if not f.is_mask
    ]
    for factor in inner:
        if factor.is_mask:
            _apply_mask(factor.operand, operands)
    return [as_float(operand) for operand in operands]


def _root(factor: Factor) -> Operand | None:
    """What a factor is the square of, where that has a name or is a square itself."""
    operand, exponent = factor
    if exponent == 2:
        return operand if operand.is_name else None
    if not operand.labels or exponent not in (4, 8):
        return None
    (root,) = raised(as_float(operand), exponent / 2)
    return root


def _apply_mask(mask: Operand, operands: list[Operand]) -> None:
    """Select in the smallest operands that have the mask's labels, or in their span."""
    span = set(mask.labels)
    over = [x for x in operands if span <= set(x.labels)]
    under = [x for x in operands if span >= set(x.labels)]
    if not (over or under):
        operands.append(mask)
        return
    best = min(over, key=lambda x: len(x.labels)) if over else under[0]
    # What has the same axes is selected together, so that nothing excluded is left.
    alike = [x for x in operands if set(x.labels) == set(best.labels)]
    operands[:] = [x for x in operands if x not in alike]
    operands.append(multiply([Factor(mask), *map(Factor, alike)]))


def _gathered(operands: list[Operand]) -> list[Operand]:
    """At most two operands where scaling one by another leads there."""
    while len(operands) > 2:
        pair = next(
            (
                (k, j)
                for k, x in enumerate(operands)
                for j, y in sorted(
                    enumerate(operands), key=lambda item: len(item[1].labels)
                )
                if j != k and set(x.labels) <= set(y.labels)
            ),
            None,
        )
        if pair is None:
            break
        k, j = pair
        joint = multiply([Factor(operands[k]), Factor(operands[j])])
        operands = [x for i, x in enumerate(operands) if i not in pair]
        operands.append(joint)
    return operands


def _reduce(
    operands: list[Operand], keep: set[Label], want: Sequence[Label] | None
) -> Operand:
    if len(operands) == 1:
        return summed(operands[0], set(operands[0].labels) - keep)
    if len(operands) == 2:
        return pair(operands[0], operands[1], keep, want)
    return einsum(operands, keep, want)


@dataclass(frozen=True)
class Pair:
    """Two operands, each label of which is kept or in both of them."""

    a: Operand
    b: Operand
    sides: Sides
    keep: Collection[Label]
    want: Sequence[Label] | None

    @property
    def is_inner(self) -> bool:
        """Whether all labels are in both operands."""
        return not (self.sides.left or self.sides.right)

    @property
    def slides(self) -> bool:
        """Whether all but `einsum` would copy what windows share."""
        sliding = is_sliding(self.a.array) or is_sliding(self.b.array)
        return sliding and len(self.sides.contracted) > 1


@dataclass(frozen=True)
class Way:
    """A call for pairs that are as `applies` says; the cheapest way is taken."""

    applies: Callable[[Pair], bool]
    offers: Callable[[Pair], Iterable[Candidate]]


def pair(
    a: Operand, b: Operand, keep: Collection[Label], want: Sequence[Label] | None = None
) -> Operand:
    """The product of two arrays, summed over the labels not in `keep`."""
    a = summed(a, set(a.labels) - set(b.labels) - set(keep))
    b = summed(b, set(b.labels) - set(a.labels) - set(keep))
    both = [label for label in a.labels if label in b.labels]
    sides = Sides(
        [label for label in both if label in keep],
        [label for label in both if label not in keep],
        [label for label in a.labels if label not in both],
        [label for label in b.labels if label not in both],
    )
    given = Pair(a, b, sides, keep, want)
    if not sides.contracted:
        return multiply([Factor(a), Factor(b)], want=want)
    offers = [
        offer for way in WAYS if way.applies(given) for offer in way.offers(given)
    ]
    return min(offers, key=lambda offer: offer[0])[1]


def _scalar(a: Operand, b: Operand) -> Operand:
    if len(a.labels) == 1:
        return _form(b, a) or _form(a, b) or matmul(a, b, ())
    ways = [
        made(ops.InnerProduct(), (), a, ordered(b, a.labels)),
        made(ops.InnerProduct(), (), ordered(a, b.labels), b),
    ]
    return min(ways, key=turned)


def _form(applied: Operand, vector: Operand) -> Operand | None:
    """`x @ A @ y` for `x @ (A @ y)`, turned over where that saves a transpose."""
    op = applied.array.op
    if not isinstance(op, ops.MatMul | ops.Solve) or (
        isinstance(op, ops.Solve) and op.factored
    ):
        return None
    matrix, last = (Operand(x, tuple(range(x.order))) for x in applied.array.args)
    if (
        len(matrix.labels) != 2
        or len(last.labels) != 1
        or binding(matrix.array) < Level.ATOM
    ):
        return None
    first = vector.bearing((0,))
    if isinstance(matrix.array.op, ops.Permute):
        first, matrix, last = last, transposed(matrix, (1, 0)), first
    if isinstance(op, ops.Solve):
        return matmul(first, made(op, (1,), matrix, last), ())
    return matmul(matmul(first, matrix, (1,)), last, ())


def _entrywise(given: Pair) -> Iterator[Candidate]:
    """What takes no more than broadcasting reads better than a product of stacks."""
    factors = [Factor(given.a), Factor(given.b)]
    yield ENTRYWISE, _multiplied(factors, given.sides.contracted, given.want)


def _inner(given: Pair) -> Iterator[Candidate]:
    yield 0, _scalar(given.a, given.b)


def _einsum(given: Pair) -> Iterator[Candidate]:
    yield 0, einsum([given.a, given.b], given.keep, given.want)


def _stacks(given: Pair) -> Iterable[Candidate]:
    return stacked(given.a, given.b, given.sides, given.want)


def _broadcast(given: Pair) -> Iterator[Candidate]:
    return ((BROADCAST + price, call) for price, call in _stacks(given))


def _matmul(given: Pair) -> Iterator[Candidate]:
    """`@` without a batch, over one label."""
    (c,) = given.sides.contracted
    for x, y in ((given.a, given.b), (given.b, given.a)):
        left = [label for label in x.labels if label != c]
        right = [label for label in y.labels if label != c]
        if (len(left) <= 1 or x.labels[-1] == c) and len(right) <= 1:
            whole = ordered(x, (*left, c)), ordered(y, (c, *right))
            yield _priced(matmul(*whole, (*left, *right)), given.want)
        if len(left) <= 1 < len(right) and y.labels[-2] == c:
            *lead, last = right
            call = matmul(ordered(x, (*left, c)), y, (*lead, *left, last))
            yield _priced(call, given.want)


def _priced(call: Operand, want: Sequence[Label] | None) -> Candidate:
    left, right = call.array.args
    first = VECTOR_FIRST * (left.order == 1 and right.order == 2)
    return turned(call) + misplaced(call.labels, want) + first, call


def _tensordots(given: Pair) -> Iterator[Candidate]:
    """`np.tensordot`, in the order of operands that gives the wanted axes."""
    for x, y in ((given.a, given.b), (given.b, given.a)):
        gone = given.sides.contracted
        labels = tuple(label for label in x.labels + y.labels if label not in gone)
        call = _tensordot(x, y, labels)
        price = TENSORDOT + turned(call) + misplaced(labels, given.want)
        yield price + written(call), call


def _tensordot(x: Operand, y: Operand, labels: tuple[Label, ...]) -> Operand:
    both = [label for label in x.labels if label not in labels]
    left = tuple(x.labels.index(label) for label in both)
    right = tuple(y.labels.index(label) for label in both)
    return made(ops.TensorDot(left, right), labels, x, y)


def einsum(
    operands: Sequence[Operand],
    keep: Collection[Label],
    want: Sequence[Label] | None = None,
) -> Operand:
    """The product of any operands, summed over the labels not in `keep`."""
    order = dict.fromkeys(label for x in operands for label in x.labels)
    kept = [x for x in dict.fromkeys(natural_order(operands, want)) if x in keep]
    place = {label: k for k, label in enumerate(order)}
    labels = tuple(tuple(place[x] for x in operand.labels) for operand in operands)
    op = ops.Einsum(labels, tuple(place[x] for x in kept))
    return made(op, tuple(kept), *operands)


WAYS = (
    Way(lambda p: p.is_inner and bool(p.sides.batch), _entrywise),
    Way(lambda p: p.is_inner and not p.sides.batch, _inner),
    Way(lambda p: not p.is_inner and p.slides, _einsum),
    Way(lambda p: _is_open(p) and bool(p.sides.batch), _stacks),
    Way(lambda p: _is_open(p) and bool(p.sides.batch) and _has_vector(p), _entrywise),
    Way(
        lambda p: _is_open(p) and not p.sides.batch and len(p.sides.contracted) == 1,
        _matmul,
    ),
    Way(lambda p: _is_open(p) and not p.sides.batch, _tensordots),
    Way(
        lambda p: _is_open(p)
        and not p.sides.batch
        and len(p.sides.contracted) == 1
        and not _has_vector(p),
        _broadcast,
    ),
)
"""The ways to contract a pair; the first of equals is taken."""


def _is_open(given: Pair) -> bool:
    return not (given.is_inner or given.slides)


def _has_vector(given: Pair) -> bool:
    """Whether an operand has no label of its own."""
    return not (given.sides.left and given.sides.right)
