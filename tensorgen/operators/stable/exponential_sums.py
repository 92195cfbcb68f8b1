"""Sums of exponentials, whatever stands beside them, seen as one thing.

`1 + w @ exp(x)`, `p * exp(a) + (1 - p) * exp(b)`, `sum(exp(e[j]), j, t[j] >= t[i])` and
`cosh(x)` all are sums of `coefficient * sum(weights * exp(exponent))`. Where all terms
are known to be positive, the sum is `exp(L)`, with L made of `logsumexp`, `logaddexp`
and `softplus`. Else it is `exp(level) * rest`: see `levels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import repeat

from tensorgen.ir.at import At
from tensorgen.ir.constraints import Ranges, is_light, solvable, solved
from tensorgen.ir.dims import ZERO, Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Affine,
    Call,
    Map,
    Node,
    Product,
    Ref,
    Sum,
    affine,
    constant_value,
)
from tensorgen.operators.calls import apply as call
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import apply, infinity, times
from tensorgen.operators.stable.match import (
    Weighted,
    arguments,
    as_exponent,
    as_power,
    factors_as_read,
    joined,
    renamed_call,
)
from tensorgen.operators.stable.rules import rewritten
from tensorgen.operators.stable.summands import Summand, is_too_wide, looks_up


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
        if (part := self._part(node)) is not None:
            return self.read(part.under(ref))
        names = dict(enumerate(ref.labels))
        sizes: dict[int, Dim] = {}
        for k, dim in enumerate(node.inner):
            names[node.order + k] = self.free
            sizes[self.free] = dim
            self.free += 1
        constraints = tuple(c.renamed(names.__getitem__) for c in node.constraints)
        dims = {names[k]: dim for k, dim in enumerate(node.sizes)}
        factors = [Ref(x, tuple(names[a] for a in axes)) for x, axes in node.factors]
        _, views = factors_as_read(self.graph, ref)
        if views != [ref]:  # entries are read, and nothing is summed
            constraints, sizes, factors = (), {}, views
            dims = dict(zip(ref.labels, node.dims, strict=True))
        found = [Summand(node.coefficient, (), (), constraints, sizes, dims)]
        for factor in factors:
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

    def _part(self, node: Product) -> Ref | None:
        """A part of an array of products, as `(w * exp(x))[1:]`, by parts of these.

        Nothing is summed there: a delta says which entry each is.
        """
        if not node.constraints or node.coefficient != 1 or not is_light(node):
            return None
        ((whole, labels),) = node.factors or ((node, ()),)
        if not isinstance(whole, Product | Map) or is_light(whole):
            return None
        outer = dict(enumerate(node.dims))
        known, place = Ranges.of(outer), list[Affine]()
        for label, dim in zip(labels, whole.dims, strict=True):
            deltas = [c.form for c in node.constraints if label in solvable(c)]
            form = solved(deltas[0], label) if deltas else affine([(label, 1)])
            if not {*form.labels} <= {*outer} or not known.contain(form, (ZERO, dim)):
                return None
            place.append(form)
        # A delta that is left says where entries are, and there are none elsewhere.
        if len(node.constraints) != len(node.inner) or len(set(labels)) < len(labels):
            return None
        at = At(self.graph, outer)
        found = at.of(whole, tuple(place))
        return Ref(found, tuple(at.labels(place))) if found is not node else None

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
    used = {x for ref in (*s.weights, *s.values) for x in ref.labels}
    tied = {x for c in s.constraints if c.kind == "eq" for x in c.form.labels}
    gone = [x for x in s.sizes if x in tied - used]
    if not gone:
        return s
    mentioned = {x for c in s.constraints for x in c.form.labels}
    labels = sorted(mentioned.difference(gone))
    mask = graph.product(
        labels, [], constraints=s.constraints, sizes={x: s.dims[x] for x in mentioned}
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
    labels = {x for w in (*outer.weights, *outer.values) for x in w.labels}
    return any(
        s.sizes and any(x in labels and x not in s.dims for x in outer.sizes)
        for s in parts
    )


# Sums of which all terms are positive


def log_of_positive(graph: Graph, parts: Sequence[Summand]) -> Ref | None:
    """The logarithm of a sum of which each term is known to be positive."""
    if not all(_is_positive(s) and not is_too_wide(s) for s in parts):
        return None
    parts = sorted(parts, key=lambda s: not s.is_number)
    logs = [_log_of_term(graph, s) for s in parts]
    found = logs[0]
    for other in logs[1:]:
        found = rewritten(
            graph, "sums of two exponentials", "logaddexp", (found, other)
        ) or apply(graph, "logaddexp", found, other)
    return found


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
    used = {x for ref in (*s.weights, *s.values) for x in ref.labels}
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
