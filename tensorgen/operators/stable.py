"""Numerically stable forms, recognised while the graph is built.

Every rule is an identity on the function's domain whose right side neither overflows
nor cancels where the left side does. A rule yields nodes that no rule of its kind
takes back, so recognition ends: each one removes an `exp`, a `log` or a power.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    Term,
    constant_value,
)
from tensorgen.operators import differences, lengths, powers, reshape
from tensorgen.operators.calls import apply as call
from tensorgen.operators.calls import kept_axes
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.masks import absorbed
from tensorgen.operators.scalar import apply, has_exact_power, power, times, total

Args = tuple[Ref, ...]
Rule = Callable[[Graph, Args], Ref | None]


class StableForms:
    """The rewrites of this module, as the graph wants them."""

    def map(self, graph: Graph, function: str, args: Args) -> Node | None:
        """Return a better node for `function(*args)`, aligned with its axes."""
        for rule in (*_MAP_RULES.get(function, ()), reshape.mapped(function)):
            found = rule(graph, args)
            if found is not None:
                labels = sorted({label for ref in args for label in ref.labels})
                sizes = {
                    label: dim
                    for ref in args
                    for label, dim in zip(ref.labels, ref.node.dims, strict=True)
                }
                return graph.product(labels, [found], sizes=sizes)
        return None

    def product(self, graph: Graph, factors: Args) -> list[Ref] | None:
        """Return a better list of factors, or None."""
        pairs = _pairs(factors)
        graph.effort.spend(len(pairs) // 4)
        for rules in (_PAIR_RULES, (_powers,)):
            for k, m in pairs:
                for rule in rules:
                    found = rule(graph, (factors[k], factors[m]))
                    if found is not None:
                        rest = [f for n, f in enumerate(factors) if n not in (k, m)]
                        return [*rest, *found]
        return None

    def sum(self, graph: Graph, terms: list[Term]) -> list[Term] | None:
        """Return a better list of terms, or None."""
        constants = [t for t in terms if constant_value(t.node) == 1]
        for term in terms if constants else ():
            better = _beside_one(graph, constants[0], term)
            if better is not None:
                return [t for t in terms if t not in (constants[0], term)] + [better]
        return differences.rewritten(graph, terms) or reshape.added(graph, terms)


def _pairs(factors: Args) -> list[tuple[int, int]]:
    """The places of two factors that a rule may have, in order.

    Products may be long, and few of their factors take part in any rule.
    """
    marked = [_takes_part(factor) for factor in factors]
    everywhere = range(len(factors))
    places = [k for k in everywhere if marked[k]]
    return [
        (k, m)
        for k in everywhere
        for m in (everywhere if marked[k] else places)
        if k != m
    ]


def _takes_part(ref: Ref) -> bool:
    """Whether a rule of two factors may have this one as either."""
    node = ref.node
    if isinstance(node, Map):
        return node.function in ("exp", "log", "pow", "where") or _is_condition(ref)
    return isinstance(node, Call) and node.operator == "reshape"


def _is(ref: Ref, function: str) -> bool:
    return isinstance(ref.node, Map) and ref.node.function == function


def arguments(ref: Ref) -> Args:
    """The arguments of a map, in the labels of its use."""
    assert isinstance(ref.node, Map)
    return tuple(
        Ref(arg.node, tuple(ref.labels[a] for a in arg.labels)) for arg in ref.node.args
    )


def _is_condition(ref: Ref) -> bool:
    """Whether every entry is 0 or 1."""
    return isinstance(ref.node, Map) and ELEMENTWISE[ref.node.function].boolean


def _exponent(ref: Ref) -> Fraction | None:
    """The exponent of a power with a rational exponent."""
    if _is(ref, "pow"):
        return constant_value(arguments(ref)[1].node)
    return None


def _negative(graph: Graph, ref: Ref) -> Ref:
    return times(graph, ref, coefficient=-1)


def _quotient(ref: Ref) -> list[Ref]:
    """The factors of an elementwise product in which something divides; else none."""
    node = ref.node
    if not isinstance(node, Product) or node.inner or node.constraints:
        return []
    factors = [Ref(n, tuple(ref.labels[a] for a in axes)) for n, axes in node.factors]
    return factors if any((_exponent(f) or 0) < 0 for f in factors) else []


def _same(graph: Graph, a: Ref, b: Ref) -> bool:
    """Whether two aligned refs are one value, in whatever order of axes."""
    if set(a.labels) != set(b.labels):
        return False
    return graph.product(b.labels, [a]) is b.node


def _one_plus(ref: Ref) -> Ref | None:
    """The t of `1 + t`, for a sum of two terms; t with coefficient 1."""
    node, labels = ref
    if isinstance(node, Sum) and len(node.terms) == 2:
        one = [t for t in node.terms if constant_value(t.node) == t.coefficient == 1]
        rest = [t for t in node.terms if constant_value(t.node) is None]
        if one and rest and rest[0].coefficient == 1:
            return Ref(rest[0].node, tuple(labels[a] for a in rest[0].labels))
    return None


def _sum_of_exps(ref: Ref) -> tuple[Ref, tuple[int, ...], Product] | None:
    """(z along its axes, the reduced axes, the product) of `sum(exp(z)) * sizes`."""
    node = ref.node
    if not isinstance(node, Product) or node.constraints or not node.inner:
        return None
    exps = [f for f in node.factors if _is(f, "exp")]
    rest = [f for f in node.factors if not _is(f, "exp")]
    if len(exps) != 1 or node.coefficient <= 0 or not all(map(_is_size_power, rest)):
        return None
    axes = exps[0].labels
    reduced = tuple(a for a, label in enumerate(axes) if label >= node.order)
    kept = tuple(label for label in axes if label < node.order)
    if len(set(axes)) != len(axes) or kept != tuple(range(node.order)):
        return None
    inner = exps[0].node
    return Ref(inner, tuple(range(inner.order))), reduced, node


def _is_size_power(ref: Ref) -> bool:
    if _is(ref, "pow"):
        ref = arguments(ref)[0]
    return isinstance(ref.node, Size)


# Rules of one map


def _log(graph: Graph, args: Args) -> Ref | None:
    (x,) = args
    if _is(x, "exp"):
        return arguments(x)[0]
    if _is(x, "sigmoid"):
        return apply(graph, "log_sigmoid", *arguments(x))
    if (t := _one_plus(x)) is not None:
        if _is(t, "exp"):
            return apply(graph, "softplus", *arguments(t))
        return apply(graph, "log1p", t)
    node, labels = x
    if isinstance(node, Sum) and len(node.terms) == 2:
        exps = [Ref(t.node, tuple(labels[a] for a in t.labels)) for t in node.terms]
        if all(t.coefficient == 1 for t in node.terms) and all(
            _is(e, "exp") for e in exps
        ):
            return apply(graph, "logaddexp", *(arguments(e)[0] for e in exps))
    if (found := _sum_of_exps(x)) is not None:
        z, axes, product = found
        (exponent,) = arguments(z)
        whole = graph.product(z.labels, [exponent], sizes=dict(enumerate(z.node.dims)))
        value = Ref(call(graph, "logsumexp", [whole], axes=axes), labels)
        rest = [f for f in product.factors if not _is(f, "exp")]
        scale = times(graph, *rest, coefficient=product.coefficient)
        return total(graph, [(1, value), (1, apply(graph, "log", scale))])
    if isinstance(node, Call) and node.operator == "softmax":
        (inside,) = node.args
        kept = tuple(labels[a] for a in kept_axes(node))
        log_sum = call(graph, "logsumexp", [inside], **dict(node.params))
        return total(graph, [(1, Ref(inside, labels)), (-1, Ref(log_sum, kept))])
    return None


def _log1p(graph: Graph, args: Args) -> Ref | None:
    if _is(args[0], "exp"):
        return apply(graph, "softplus", *arguments(args[0]))
    return None


def _root(graph: Graph, args: Args) -> Ref | None:
    if _exponent(args[0]) == 2:
        return apply(graph, "abs", arguments(args[0])[0])
    return None


def _pow(graph: Graph, args: Args) -> Ref | None:
    base, power_ref = args
    exponent = constant_value(power_ref.node)
    if exponent is None:
        return None
    if exponent == 1:
        return base
    value = constant_value(base.node)
    if exponent == 0:
        return Ref(graph.constant(1), ())
    if value and has_exact_power(value, exponent):
        return Ref(graph.constant(value**exponent.numerator), ())
    if exponent == Fraction(1, 2):
        return apply(graph, "sqrt", base)
    if exponent.denominator != 1:
        return None
    if _is_condition(base) and exponent > 0:
        return base
    if _is(base, "root") and exponent % 2 == 0:
        return power(graph, arguments(base)[0], exponent / 2)
    if _is(base, "abs") and exponent % 2 == 0:
        return power(graph, arguments(base)[0], exponent)
    inner = _exponent(base)
    if inner is not None and inner.denominator == 1:
        return power(graph, arguments(base)[0], inner * exponent)
    scale = base.node.coefficient if isinstance(base.node, Product) else Fraction(1)
    if scale not in (0, 1) and has_exact_power(scale, exponent):
        rest = power(graph, times(graph, base, coefficient=1 / scale), exponent)
        return times(graph, rest, coefficient=scale**exponent.numerator)
    if exponent < 0 and (factors := _quotient(base)):
        return times(graph, *(power(graph, factor, exponent) for factor in factors))
    t = _one_plus(base)
    if t is not None and _is(t, "exp") and exponent < 0:
        logistic = apply(graph, "sigmoid", _negative(graph, arguments(t)[0]))
        return power(graph, logistic, -exponent)
    return None


def _xlogy(graph: Graph, args: Args) -> Ref | None:
    value = constant_value(args[1].node)
    if value is not None and value > 0:
        return times(graph, args[0], apply(graph, "log", args[1]))
    return None


def _not(graph: Graph, args: Args) -> Ref | None:
    """The opposite of an equation; that of an order would differ where NaN stands."""
    (x,) = args
    if _is(x, "logical_not"):
        return arguments(x)[0]
    for function, opposite in (("equal", "not_equal"), ("not_equal", "equal")):
        if _is(x, function):
            return apply(graph, opposite, *arguments(x))
    return None


def _at_constant(point: int, value: int) -> Rule:
    """The rule f(point) = value."""

    def rule(graph: Graph, args: Args) -> Ref | None:
        if constant_value(args[0].node) == point:
            return Ref(graph.constant(value), ())
        return None

    return rule


_MAP_RULES: dict[str, tuple[Rule, ...]] = {
    "log": (_at_constant(1, 0), _log),
    "log1p": (_at_constant(0, 0), _log1p),
    "exp": (_at_constant(0, 1),),
    "sqrt": (_at_constant(0, 0), _at_constant(1, 1), _root),
    "root": (_at_constant(0, 0), _at_constant(1, 1), _root),
    "pow": (_pow,),
    "hypot": (lengths.hypot,),
    "rhypot": (lengths.rhypot,),
    "inverse": (lengths.inverse,),
    "power_slope": (powers.slope,),
    "power_curve": (powers.curve,),
    "xlogy": (_xlogy,),
    "logical_not": (_not,),
    "sin": (_at_constant(0, 0),),
    "cos": (_at_constant(0, 1),),
}


# Rules of two factors


def _exp_sigmoid(graph: Graph, pair: Args) -> list[Ref] | None:
    """exp(t) * sigmoid(-t)**k = sigmoid(t) * sigmoid(-t)**(k - 1)."""
    exp, other = pair
    if not _is(exp, "exp"):
        return None
    logistic, exponent = other, Fraction(1)
    if _is(other, "pow"):
        logistic, exponent = arguments(other)[0], _exponent(other) or Fraction(0)
    if not _is(logistic, "sigmoid") or exponent < 1:
        return None
    (t,) = arguments(exp)
    if not _same(graph, _negative(graph, t), arguments(logistic)[0]):
        return None
    result = [apply(graph, "sigmoid", t)]
    if exponent > 1:
        result.append(power(graph, logistic, exponent - 1))
    return result


def _softmax(graph: Graph, pair: Args) -> list[Ref] | None:
    """exp(z) / sum(exp(z)) = softmax(z)."""
    exp, other = pair
    if not _is(exp, "exp") or _exponent(other) != -1:
        return None
    denominator = arguments(other)[0]
    found = _sum_of_exps(denominator)
    if found is None or found[0].node is not exp.node:
        return None
    z, axes, product = found
    kept = tuple(x for a, x in enumerate(exp.labels) if a not in axes)
    if product.coefficient != 1 or len(product.factors) > 1:
        return None
    if kept != denominator.labels:
        return None
    (exponent,) = arguments(z)
    whole = graph.product(z.labels, [exponent], sizes=dict(enumerate(z.node.dims)))
    return [Ref(call(graph, "softmax", [whole], axes=axes), exp.labels)]


def _xlogx(graph: Graph, pair: Args) -> list[Ref] | None:
    """x * log(x), which is 0 at 0."""
    x, log = pair
    if _is(log, "log") and _same(graph, x, arguments(log)[0]):
        return [apply(graph, "xlogx", x)]
    return None


def _powers(graph: Graph, pair: Args) -> list[Ref] | None:
    """x**-a * x**b = x**(b - a), and 1 where a = b: the derivative of `s * g(x / s)`.

    At 0, where the quotient is no number, the result is that of the limit.
    """
    inverse, other = pair
    first, second = _exponent(inverse), _exponent(other) or Fraction(1)
    if first is None or first >= 0:
        return None
    base = arguments(inverse)[0]
    if base != (other if second == 1 else arguments(other)[0]):
        return None
    return [power(graph, base, first + second)] if first + second else []


_PAIR_RULES: tuple[Callable[[Graph, Args], list[Ref] | None], ...] = (
    _exp_sigmoid,
    _softmax,
    _xlogx,
    powers.squared_log,
    absorbed,
    reshape.merged,
)


# Rules of a term beside a constant


def _beside_one(graph: Graph, one: Term, term: Term) -> Term | None:
    """c * exp(t) - c, c - c * sigmoid(t) and c - c * tanh(t)**2 without cancelling."""
    if term.coefficient != -one.coefficient:
        return None
    ref = Ref(term.node, term.labels)
    if _is(ref, "exp"):
        return Term(term.coefficient, *apply(graph, "expm1", *arguments(ref)))
    if _is(ref, "sigmoid"):
        opposite = _negative(graph, arguments(ref)[0])
        return Term(one.coefficient, *apply(graph, "sigmoid", opposite))
    if _exponent(ref) == 2 and _is(arguments(ref)[0], "tanh"):
        inner = arguments(arguments(ref)[0])
        return Term(one.coefficient, *apply(graph, "sech2", *inner))
    return None
