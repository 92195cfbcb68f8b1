"""Fold: factors that the user gave a name as one value are that value.

    a * c / s**3, Z = c / s   ->   a * Z / s**2

Derivatives of a quotient are products of powers of what it reads, and what divides is
opened where powers cancel. So a unit vector, a share or a standardised column would be
gone, which an expert keeps: what is left is shorter, and read by its name. Derivatives
of named values stay what they are, too.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Node,
    Product,
    Ref,
    Size,
    children,
    once,
    topological,
    use_counts,
)
from tensorgen.ir.rebuild import renew
from tensorgen.ir.views import View
from tensorgen.operators.calls import apply
from tensorgen.operators.stable.factors import (
    DEPTH_OF_FACTORS,
    ONE,
    Factors,
    Powers,
    Sign,
    collect,
    raised,
)
from tensorgen.operators.stable.match import arguments, exponent, is_call, is_map
from tensorgen.operators.stable.powers import divides
from tensorgen.prices.limits import OPENED_FACTORS

ZERO = Fraction(0)


@dataclass(frozen=True)
class Whole:
    """A named quotient, and the powers in it of what is no size, the widest first."""

    node: Node
    coefficient: Fraction  # of what is opened in it
    powers: Powers
    values: tuple[tuple[Ref, Fraction], ...]

    @property
    def is_by_value(self) -> bool:
        """Whether it divides by more than sizes."""
        return any(e < 0 for _, e in self.values)

    @property
    def below(self) -> set[Node]:
        """The nodes that it is made of."""
        return once(self.node, Whole.below, lambda: {*topological([self.node])})


def named_quotients(graph: Graph, nodes: Iterable[Node]) -> list[Whole]:
    """Return the quotients among some nodes that have names.

    What is made of others comes behind these.
    """
    quotients = [x for x in nodes if x in graph.names and divides(x)]
    found = [once(x, Whole, partial(_whole, graph, x)) for x in quotients]
    wholes = [own for own in found if own is not None]
    return sorted(wholes, key=lambda own: (len(own.values) > 1, -own.node.order))


def _whole(graph: Graph, node: Node) -> Whole | None:
    own = Factors(ONE)
    if not isinstance(node, Product) or node.inner or node.constraints:
        return None
    if node.coefficient != 1:  # code has a multiple of it, by another name
        return None
    for ref in node.factors:
        collect(own, ref, ONE, DEPTH_OF_FACTORS, _Named(graph))
    if any(isinstance(x, Sign) for x in own.powers):
        return None
    values = [
        (x, e)
        for x, e in own.powers.items()
        if isinstance(x, Ref) and not isinstance(x.node, Size)
    ]
    values.sort(key=lambda pair: -len(pair[0].labels))
    if not values or {*values[0][0].labels} != {*range(node.order)}:
        return None
    return Whole(node, own.coefficient, own.powers, tuple(values))


@dataclass(frozen=True)
class _Named:
    """The nodes that the user named, or that are derivatives of such."""

    graph: Graph

    def __contains__(self, node: object) -> bool:
        return node in self.graph.names or node in self.graph.suggestions


def fold_quotients(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """Return `roots` over the named quotients that they are made of.

    Ends: each fold leaves a product of no more powers of arrays, and smaller ones.
    """
    uses, order = use_counts(roots), topological(roots)
    wholes = named_quotients(graph, order)
    private: set[Node] = set()

    def visit(old: Node, node: Node) -> Node:
        found = folded(graph, node, wholes, private)
        if uses[old] == 1 and old not in graph.names:
            private.add(found)
        return found

    return renew(graph, roots, visit) if wholes else [*roots]


def folded(
    graph: Graph, node: Node, wholes: Sequence[Whole], private: Container[Node]
) -> Node:
    """Return a product over quotients, where it has no more powers so.

    What is `private` in it is opened to see more of them. Quotients that are made of it
    are left out.
    """
    wholes = [own for own in wholes if node not in own.below]
    if not wholes or not isinstance(node, Product) or node.constraints:
        return node
    whole = _spread(graph, node, private)
    own = Factors(whole.coefficient)
    for ref in whole.factors:
        collect(own, ref, ONE, DEPTH_OF_FACTORS, _Named(graph))
    if not any(e < 0 for e in own.powers.values()):
        return node
    _merge_slopes(graph, own, wholes)
    found = own
    for quotient in wholes:
        while (after := next(_folds(found, quotient), None)) is not None:
            found = after
    if found is own:
        return node
    refs = [raised(graph, x, e) for x, e in found.powers.items()]
    sizes, scale = dict(enumerate(whole.sizes)), found.coefficient
    with graph.without_rewrites():
        return graph.product(range(node.order), refs, coefficient=scale, sizes=sizes)


def _spread(graph: Graph, node: Product, private: Container[Node]) -> Product:
    """A product seen n-ary: with all open that nobody else needs, or that adds up rows.

    What a sum that others need is merely multiplied by stands beside the sum.
    """
    for _ in range(DEPTH_OF_FACTORS):
        inside = [_inside(graph, x, private) for x, _ in node.factors]
        count = sum(1 if own is None else len(children(own)) for own in inside)
        if not any(inside) or count > OPENED_FACTORS:
            break
        view = View(node.coefficient, sizes=dict(enumerate(node.sizes)))
        for k, ((x, labels), own) in enumerate(zip(node.factors, inside, strict=True)):
            view.add(own or x, labels, ("factor", k) if own else None)
        with graph.without_rewrites():
            found = view.product(graph, range(node.order))
        if not isinstance(found, Product) or found.constraints:
            break
        node = found
    return node


def _inside(graph: Graph, node: Node, private: Container[Node]) -> Node | None:
    """The product that a factor is seen as; None where it stays."""
    if not isinstance(node, Product) or node.constraints or node in graph.names:
        return None
    every, inner = {*range(len(node.sizes))}, {*range(node.order, len(node.sizes))}
    rows = sum({*x.labels} == every for x in node.factors) > 1
    if node not in graph.suggestions and (node in private or rows):
        return node
    apart = [x for x in node.factors if inner.isdisjoint(x.labels)]
    if not inner or not any(_divides(x) for x in apart):
        return None
    if rows:
        return node
    rest = [x for x in node.factors if not inner.isdisjoint(x.labels)]
    kept = [k for k in range(node.order) if any(k in x.labels for x in rest)]
    with graph.without_rewrites():
        total = graph.product(kept, rest, sizes=dict(enumerate(node.sizes)))
        factors = [*apart, Ref(total, tuple(kept))]
        by, sizes = node.coefficient, dict(enumerate(node.dims))
        return graph.product(range(node.order), factors, coefficient=by, sizes=sizes)


def _divides(ref: Ref) -> bool:
    return bool(ref.labels) and (is_map(ref, "inverse") or (exponent(ref) or 0) < 0)


def _merge_slopes(graph: Graph, product: Factors, wholes: Sequence[Whole]) -> None:
    """Let slopes of norms, 1/norm but 0 at 0, be powers where others divide."""
    for ref, e in [*product.powers.items()]:
        slope = _slope(graph, ref) if isinstance(ref, Ref) else None
        if slope is None:
            continue
        norm, x = slope
        below = {norm: Factors(ONE, {norm: ONE})}
        for own in wholes:  # the norm times numbers
            if own.values == ((Ref(norm.node, (*range(norm.node.order),)), ONE),):
                rest = {y: -f for y, f in own.powers.items() if y != own.values[0][0]}
                at = Ref(own.node, norm.labels)
                below[at] = Factors(1 / own.coefficient, {at: ONE, **rest})
        for at, of in below.items():
            if product.powers.get(at, 0) < 0:
                product.raise_by(ref, -e)
                product.coefficient /= of.coefficient**e.numerator
                for y, f in of.powers.items():
                    product.raise_by(y, -e * f)
                if x is not None:
                    product.raise_by(x, e)
                break


def _slope(graph: Graph, ref: Ref) -> tuple[Ref, Ref | None] | None:
    """The norm of what is 1 over it, or times an array over it."""
    if is_map(ref, "inverse"):
        return arguments(ref)[0], None
    if not (is_call(ref, "rnorm") or is_call(ref, "unit")):
        return None
    call, scaled = ref.node, is_call(ref, "unit")
    assert isinstance(call, Call)
    (x,), axes = call.args, call.param("axes")
    assert isinstance(axes, tuple)
    kept = [label for k, label in enumerate(ref.labels) if k not in axes]
    labels = tuple(kept) if scaled else ref.labels
    norm = Ref(apply(graph, "norm", [x], axes=axes), labels)
    return norm, Ref(x, ref.labels) if scaled else None


def _folds(product: Factors, whole: Whole) -> Iterator[Factors]:
    """A product with a quotient, or 1 over it, in the place of powers, in each way."""
    (first, power), *others = whole.values
    for ref, e in product.powers.items():
        if not isinstance(ref, Ref) or ref.node is not first.node:
            continue
        turned = 1 if e * power > 0 else -1
        at: dict[Any, Any] = dict(zip(first.labels, ref.labels, strict=True))
        if _has(e, turned * power) and all(
            _has(product.powers.get(_placed(x, at), ZERO), turned * own)
            for x, own in others
        ):
            left = replace(product, powers=dict(product.powers))
            left.coefficient /= whole.coefficient**turned
            for x, own in whole.powers.items():
                left.raise_by(
                    _placed(x, at) if isinstance(x, Ref) else x, -turned * own
                )
            labels = tuple(at[axis] for axis in range(whole.node.order))
            left.raise_by(Ref(whole.node, labels), Fraction(turned))
            if _arrays(left) <= _arrays(product):
                yield left


def _arrays(product: Factors) -> int:
    """How many powers of arrays there are: numbers come together in the end."""
    return sum(not isinstance(x, Ref) or bool(x.labels) for x in product.powers)


def _placed(ref: Ref, at: dict[Any, Any]) -> Ref:
    return Ref(ref.node, tuple(at[x] for x in ref.labels))


def _has(e: Fraction, own: Fraction) -> bool:
    """Whether a power is as high as another one of the same sign."""
    return e * own > 0 and abs(e) >= abs(own)
