"""Sums of exponentials, whatever stands beside them, seen as one thing.

`1 + w @ exp(x)`, `p * exp(a) + (1 - p) * exp(b)`, `sum(exp(e[j]), j, t[j] >= t[i])` and
`cosh(x)` all are sums of `coefficient * sum(weights * exp(exponent))`. Where all terms
are known to be positive, the sum is `exp(L)`, with L made of `logsumexp`, `logaddexp`
and `softplus`. Else it is `exp(level) * rest`: see `levels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import repeat

from tensorgen.ir.constraints import is_light
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constraint,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    constant_value,
)
from tensorgen.operators.calls import apply as call
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import apply, infinity, power, times, total
from tensorgen.operators.stable.factors import same
from tensorgen.operators.stable.match import (
    Args,
    Weighted,
    arguments,
    as_exponent,
    as_power,
    flat,
    is_condition,
    is_log_of_number,
    joined,
    renamed_call,
)


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


def summands(graph: Graph, ref: Ref, shares: bool = False) -> list[Summand] | None:
    """The terms of a sum of exponentials; None for what has no exponential.

    If asked for, what is surely below 1 counts as one too: `softmax` and `sigmoid`.
    """
    try:
        found = _Reader(graph, ref, shares).read(ref)
    except _TooManyError:
        return None
    return found if any(s.exponents for s in found) else None


_MOST_READ = 300
"""How many parts a value has at most that is still seen as one sum."""


class _TooManyError(Exception):
    """A value has too many parts."""


class _Reader:
    """Reads a value as summands, giving each summed label a number of its own."""

    def __init__(self, graph: Graph, ref: Ref, shares: bool) -> None:
        self.graph, self.shares = graph, shares
        self.free = max(ref.labels, default=-1) + 1
        self.left = _MOST_READ

    def read(self, ref: Ref) -> list[Summand]:
        node, half = ref.node, Fraction(1, 2)
        # What is used in several places is read in each.
        self.graph.effort.spend()
        self.left -= 1
        if not self.left:
            raise _TooManyError
        value = constant_value(node)
        if value is not None:
            return [Summand(value)]
        match node:
            case Map(function="exp" | "cosh" | "i0" | "pow"):
                if (exponent := as_exponent(self.graph, ref)) is not None:
                    return [Summand(exponents=((Fraction(1), exponent),))]
                if node.function == "pow":
                    return self._power(ref)
            case Map(function="sinh"):
                (t,) = arguments(ref)
                return [
                    Summand(half, exponents=((Fraction(1), t),)),
                    Summand(-half, exponents=((Fraction(-1), t),)),
                ]
            case Map(function="where"):
                condition, chosen, rest = arguments(ref)
                if constant_value(rest.node) == 0:
                    selected = Summand(weights=(condition,))
                    return [selected.times(s) for s in self.read(chosen)]
            case Call(operator="softmax") if self.shares:
                log = renamed_call(self.graph, "log_softmax", ref)
                return [Summand(exponents=((Fraction(1), log),))]
            case Map(function="sigmoid") if self.shares:
                log = apply(self.graph, "log_sigmoid", *arguments(ref))
                return [Summand(exponents=((Fraction(1), log),))]
            case Sum():
                return [
                    replace(s, coefficient=s.coefficient * t.coefficient)
                    for t in node.terms
                    for s in self.read(t.ref.under(ref))
                ]
            case Product():
                return self._product(ref, node)
        return [Summand(weights=(ref,))]

    def _power(self, ref: Ref) -> list[Summand]:
        """A power of one exponential, or of a positive sum of exponentials."""
        base, k = as_power(ref)
        parts = self.read(base) if base != ref else []
        if any(s.exponents for s in parts):
            if len(parts) == 1 and parts[0].is_plain and k.denominator == 1:
                return [parts[0].to_the(self.graph, k)]
            log = log_of_positive(self.graph, parts)
            if log is not None:
                return [Summand(exponents=((k, log),))]
        return [Summand(weights=(ref,))]

    def _product(self, ref: Ref, node: Product) -> list[Summand]:
        if (entry := self._entry(node)) is not None:
            return self.read(entry)
        names = dict(enumerate(ref.labels))
        sizes: dict[int, Dim] = {}
        for k, dim in enumerate(node.inner):
            names[node.order + k] = self.free
            sizes[self.free] = dim
            self.free += 1
        constraints = tuple(c.renamed(names.__getitem__) for c in node.constraints)
        dims = {names[k]: dim for k, dim in enumerate(node.sizes)}
        found = [Summand(node.coefficient, (), (), constraints, sizes, dims)]
        for inner, axes in node.factors:
            factor = Ref(inner, tuple(names[a] for a in axes))
            parts = self.read(factor)
            apart = len(found) > 1 and len(parts) > 1
            nested = any(map(_is_separable, found, repeat(parts)))
            if apart or nested or not any(s.exponents for s in parts):
                parts = [Summand(weights=(factor,))]
            found = [s.times(part) for s in found for part in parts]
        if (node.inner or node.constraints) and not any(s.exponents for s in found):
            # Sums and entries of others than exponentials are weights as they are.
            weight = Ref(self.graph.scale(node, 1 / node.coefficient), ref.labels)
            return [Summand(node.coefficient, (weight,))]
        return [_settled(self.graph, s) for s in found]

    def _entry(self, node: Product) -> Ref | None:
        """One entry of a function, as `exp(x)[0]`, as a function of entries."""
        if node.order or node.coefficient != 1 or not is_light(node):
            return None
        for inner, labels in node.factors:
            if isinstance(inner, Map):
                args = [
                    self.graph.product(
                        (),
                        [(arg.node, [labels[axis] for axis in arg.labels])],
                        constraints=node.constraints,
                        sizes=dict(enumerate(node.sizes)),
                    )
                    for arg in inner.args
                ]
                return apply(self.graph, inner.function, *(Ref(x, ()) for x in args))
        return None


def _settled(graph: Graph, s: Summand) -> Summand:
    """A summand without summed labels that deltas alone mention, and so give."""
    used = {x for ref in (*s.weights, *_values(s)) for x in ref.labels}
    tied = {x for c in s.constraints if c.kind == "eq" for x in c.form.labels}
    gone = [x for x in s.sizes if x in tied - used]
    if not gone:
        return s
    mentioned = {x for c in s.constraints for x in c.form.labels}
    labels = sorted(mentioned.difference(gone))
    mask = graph.product(
        labels,
        [],
        constraints=s.constraints,
        sizes={x: s.dims[x] for x in mentioned},
    )
    if not isinstance(mask, Product) or mask.factors or mask.inner:
        return s
    return replace(
        s,
        coefficient=s.coefficient * mask.coefficient,
        constraints=tuple(c.renamed(labels.__getitem__) for c in mask.constraints),
        sizes={x: dim for x, dim in s.sizes.items() if x not in gone},
        dims={x: dim for x, dim in s.dims.items() if x not in gone},
    )


def _is_separable(outer: Summand, parts: Sequence[Summand]) -> bool:
    """Whether sums inside of a sum lack labels that other factors of that have."""
    labels = {x for w in (*outer.weights, *_values(outer)) for x in w.labels}
    return any(
        s.sizes and any(x in labels and x not in s.dims for x in outer.sizes)
        for s in parts
    )


def _values(s: Summand) -> list[Ref]:
    return [ref for _, ref in s.exponents]


# Sums of which all terms are positive


def log_of_positive(graph: Graph, parts: Sequence[Summand]) -> Ref | None:
    """The logarithm of a sum of which each term is known to be positive."""
    if not all(_is_positive(s) and not is_too_wide(s) for s in parts):
        return None
    parts = sorted(parts, key=lambda s: not s.is_number)
    logs = [_log_of_term(graph, s) for s in parts]
    found = logs[0]
    for other in logs[1:]:
        found = _log_add(graph, found, other)
    return found


def looks_up(s: Summand) -> bool:
    """Whether entries of index arrays say what is summed."""
    deltas = (c for c in s.constraints if c.kind == "eq")
    atoms = (atom for c in deltas for atom, _ in c.form.terms)
    return any(isinstance(atom, Lookup) for atom in atoms)


def _is_positive(s: Summand) -> bool:
    maps = [w.node.function for w in s.weights if isinstance(w.node, Map)]
    vanishes = any(ELEMENTWISE[f].has("vanishes") for f in maps)
    return (
        s.coefficient > 0
        and all(_has_log(w.node) for w in s.numbers)
        and not (looks_up(s) or vanishes)
    )


def _has_log(node: Node) -> bool:
    """Whether a weight may be taken into an exponent.

    What may be zero, like `x**2`, has slopes there that its logarithm lacks.
    """
    return sign(node) == Sign.POSITIVE


def are_scales(x: Ref, parts: Sequence[Summand]) -> bool:
    """Whether exponentials are numbers beside an array, as in `1 + x[i] * exp(s)`.

    How large such a sum is `x` says as well: its level would cost the digits near 1.
    """
    scales = [s for s in parts if s.exponents]
    if _is_level(scales, [s for s in parts if not s.exponents]):
        return True
    beside = any(s.numbers for s in parts if not s.exponents)
    return len(scales) < len(parts) and all(
        s.is_plain
        and (beside or (s.numbers and x.labels))
        and not any(v.labels for v in _values(s))
        for s in scales
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


def _log_add(graph: Graph, a: Ref, b: Ref) -> Ref:
    """log(exp(a) + exp(b)); numbers are taken out of both."""
    if constant_value(a.node) == 0:
        return apply(graph, "softplus", b)
    if not a.labels and is_log_of_number(a):
        rest = apply(graph, "softplus", total(graph, [(1, b), (-1, a)]))
        return total(graph, [(1, a), (1, rest)])
    if same(graph, total(graph, [(-1, a)]), b):
        doubled = apply(graph, "log", Ref(graph.constant(2), ()))
        return total(graph, [(1, doubled), (1, apply(graph, "log_cosh", a))])
    return apply(graph, "logaddexp", a, b)


def log_of_weights(graph: Graph, s: Summand) -> list[Weighted]:
    """The logarithm of coefficient and weights, as terms of a sum."""
    if s.coefficient == 1 and not s.numbers:
        return []
    scale = times(graph, *s.numbers, coefficient=s.coefficient)
    return [(Fraction(1), apply(graph, "log", scale))]


def _log_of_term(graph: Graph, s: Summand) -> Ref:
    """log(coefficient * sum(weights * exp(exponent)))."""
    s = _without_idle_labels(graph, s)
    if not s.exponents and not s.constraints and not s.conditions:
        every = {x for w in s.weights for x in w.labels}.union(s.dims)
        labels = sorted(every - set(s.sizes))
        scale = graph.product(
            labels, s.weights, coefficient=s.coefficient, sizes=dict(s.dims)
        )
        return apply(graph, "log", Ref(scale, tuple(labels)))
    inside = tuple(w for w in s.numbers if set(w.labels) & set(s.sizes))
    outside = tuple(w for w in s.numbers if w not in inside)
    outer = log_of_weights(graph, replace(s, weights=outside))
    inner = log_of_weights(graph, Summand(weights=inside))
    exponent = selected(graph, s, joined(graph, [*s.exponents, *inner]))
    if s.sizes:
        exponent = reduced(graph, "logsumexp", exponent, s.sizes)
    return joined(graph, [(Fraction(1), exponent), *outer])


def _without_idle_labels(graph: Graph, s: Summand) -> Summand:
    """A sum over labels that nothing has is that many times what is summed."""
    used = {x for ref in (*s.weights, *_values(s)) for x in ref.labels}
    used.update(x for c in s.constraints for x in c.form.labels)
    counts = tuple(Ref(graph.size(d), ()) for x, d in s.sizes.items() if x not in used)
    sizes = {x: dim for x, dim in s.sizes.items() if x in used}
    dims = {x: dim for x, dim in s.dims.items() if x in sizes or x not in s.sizes}
    return replace(s, weights=s.weights + counts, sizes=sizes, dims=dims)


def selected(graph: Graph, s: Summand, exponent: Ref) -> Ref:
    """The exponent where it counts, and -inf elsewhere."""
    if not s.conditions and not s.constraints:
        return exponent
    return apply(graph, "where", _mask(graph, s), exponent, infinity(graph, -1))


def _mask(graph: Graph, s: Summand) -> Ref:
    """Conditions and constraints as one array of zeros and ones."""
    sizes = dict(s.dims)
    for node, axes in s.weights:
        sizes.update(zip(axes, node.dims, strict=True))
    used = {x for w in s.conditions for x in w.labels}
    used.update(x for c in s.constraints for x in c.form.labels)
    labels = sorted(used)
    mask = graph.product(
        labels,
        s.conditions,
        constraints=s.constraints,
        sizes={x: sizes[x] for x in used},
    )
    return Ref(mask, tuple(labels))


def reduced(graph: Graph, operator: str, ref: Ref, over: Mapping[int, Dim]) -> Ref:
    """Apply a reduction over labels of an array, which has them all."""
    assert over.keys() <= {*ref.labels}
    axes = tuple(a for a, x in enumerate(ref.labels) if x in over)
    kept = tuple(x for x in ref.labels if x not in over)
    return Ref(call(graph, operator, [ref.node], axes=axes), kept)
