"""A term of a sum of exponentials, and what is known of such terms by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Input, Lookup, Map, Ref
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import power
from tensorgen.operators.stable.match import Args, Weighted, flat, is_condition, joined


@dataclass(frozen=True)
class Summand:
    """`coefficient * sum(prod(weights) * exp(sum(exponents)))`.

    It is summed over the labels that have `sizes`, where `constraints` and the
    conditions among the weights hold.
    """

    coefficient: Fraction = Fraction(1)
    weights: Args = ()
    exponents: tuple[Weighted, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    sizes: Mapping[int, Dim] = field(default_factory=dict)
    dims: Mapping[int, Dim] = field(default_factory=dict)  # of all that it mentions

    def times(self, other: Summand) -> Summand:
        """Return the product of two summands with labels of their own."""
        return Summand(
            self.coefficient * other.coefficient,
            self.weights + other.weights,
            self.exponents + other.exponents,
            self.constraints + other.constraints,
            {**self.sizes, **other.sizes},
            {**self.dims, **other.dims},
        )

    def to_the(self, graph: Graph, k: Fraction) -> Summand:
        """Return a whole power of a summand that sums over nothing."""
        return Summand(
            self.coefficient**k.numerator,
            tuple(power(graph, w, k) for w in self.weights),
            tuple((c * k, ref) for c, ref in self.exponents),
            dims=self.dims,
        )

    @property
    def is_plain(self) -> bool:
        """Whether it sums over nothing, and stands everywhere."""
        return not self.sizes and not self.constraints

    @property
    def conditions(self) -> Args:
        """The weights that select."""
        return tuple(filter(is_condition, self.weights))

    @property
    def numbers(self) -> Args:
        """The weights that scale."""
        return tuple(w for w in self.weights if not is_condition(w))

    @property
    def values(self) -> list[Ref]:
        """What the exponents are made of."""
        return [ref for _, ref in self.exponents]

    @property
    def is_number(self) -> bool:
        """Whether it is its coefficient alone."""
        return not (self.weights or self.exponents or self.dims)

    def apart(self) -> tuple[Summand, list[Weighted]]:
        """Return it without the terms of the exponent that stand outside, and these."""
        every = [(c * k, x) for c, ref in self.exponents for k, x in flat(ref)]
        outside = [t for t in every if not self.sizes.keys() & {*t[1].labels}]
        inside = tuple(t for t in every if t not in outside)
        return replace(self, exponents=inside), outside

    def exponent(self, graph: Graph) -> Ref:
        """The exponent, which is 0 where there is none."""
        if not self.exponents:
            return Ref(graph.constant(0), ())
        return joined(graph, self.exponents)


def looks_up(s: Summand) -> bool:
    """Whether entries of index arrays say what is summed."""
    deltas = (c for c in s.constraints if c.kind == "eq")
    atoms = (atom for c in deltas for atom, _ in c.form.terms)
    return any(isinstance(atom, Lookup) for atom in atoms)


def are_scales(x: Ref, parts: Sequence[Summand]) -> bool:
    """Whether exponentials scale larger arrays, as in `1 + x[i] * exp(s)`.

    A number, or one for each column of a matrix whose rows `x` are. How large such a
    sum is `x` says as well: its level would cost the digits near 1.
    """
    scales = [s for s in parts if s.exponents]
    if _is_level(scales, [s for s in parts if not s.exponents]):
        return True
    others = [w for s in parts if not s.exponents for w in s.numbers]
    # What is taken away may cancel.
    beside = all(s.coefficient > 0 for s in parts) and any(map(_is_of_array, others))
    return len(scales) < len(parts) and all(
        s.is_plain
        and (beside or (s.numbers and x.labels))
        and all(_is_smaller(v, s.numbers) for v in s.values)
        for s in scales
    )


def _is_smaller(value: Ref, weights: Sequence[Ref]) -> bool:
    """Whether it is a number, or has fewer axes than one of the weights beside it."""
    return not value.labels or any({*value.labels} < {*w.labels} for w in weights)


def _is_of_array(weight: Ref) -> bool:
    """Whether it is an array or, as in a step, an entry: no number of the caller's."""
    node = weight.node
    return bool(weight.labels) or not (
        isinstance(node, Input) and node.name.isidentifier()
    )


def _is_level(scales: Sequence[Summand], others: Sequence[Summand]) -> bool:
    """Whether no exponential exceeds 1, beside a number that is positive for sure.

    As in `c + (1 - c) * sigmoid(t)`: it neither overflows nor vanishes as it stands.
    What is taken away may cancel.
    """
    if any(s.coefficient < 0 for s in (*scales, *others)):
        return False
    return any(
        s.is_plain
        and not s.conditions
        and s.coefficient > 0
        and all(sign(w.node) == Sign.POSITIVE for w in s.numbers)
        for s in others
    ) and all(
        sign(ref.node) if c < 0 else _is_log_of_share(ref)
        for s in scales
        for c, ref in s.exponents
    )


def _is_log_of_share(ref: Ref) -> bool:
    """Whether it is the logarithm of a number between 0 and 1."""
    logs = ("log_sigmoid", "log_ndtr")
    return isinstance(ref.node, Map) and ref.node.function in logs


def is_too_wide(s: Summand) -> bool:
    """Whether exponents beside weights make a larger array than each of them is."""
    operands = [*s.weights, *(ref for _, ref in s.exponents)]
    widest = max((len(set(x.labels)) for x in operands), default=0)
    return len({x for ref in operands for x in ref.labels}) > max(widest, 2)
