"""Which matrices are positive definite, as far as promises are kept.

What is neither promised nor shown is not known. `K + s**2 * eye(n)` is, for an `spd`
input K; so is `X.T @ X + lam * eye(n)` for a positive lam. Rounding does not enter: a
matrix whose smallest eigenvalue is lost to it is as good as singular for any way to
solve.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Label,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    constant_value,
    once,
)
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices import distances
from tensorgen.operators.matrices.capacitance import is_capacitance
from tensorgen.operators.matrices.symmetry import flat, involutions

DEPTH_OF_SIGNS = 20
"""How many nodes above one another are looked through."""


class Sign(IntEnum):
    """What is known of a number, or of the eigenvalues of a symmetric matrix."""

    UNKNOWN = 0
    NONNEGATIVE = 1
    POSITIVE = 2


def is_positive_definite(node: Node) -> bool:
    """Whether the matrices in the last two axes are, by promises and what they are."""
    return node.order >= 2 and matrix_sign(node) == Sign.POSITIVE


def matrix_sign(node: Node, depth: int = DEPTH_OF_SIGNS) -> Sign:
    """What is known of the eigenvalues of the matrices in the last two axes."""
    if not depth:
        return Sign.UNKNOWN
    match node:
        case Input() if "spd" in node.properties:
            return Sign.POSITIVE
        case Call(operator="spd"):
            return Sign.POSITIVE
        case Call(operator="symmetric", args=(inner,)):
            return matrix_sign(inner, depth - 1)
        case Call(args=(inner, *_)) if is_capacitance(node):
            return matrix_sign(inner, depth - 1)
        case Call(operator="inv", args=(inner,)):
            found = matrix_sign(inner, depth - 1)
            return found if found == Sign.POSITIVE else Sign.UNKNOWN
        case Sum(terms=terms):
            pair = _pair(node)
            if any(t.coefficient < 0 or {*t.labels[-2:]} != pair for t in terms):
                return Sign.UNKNOWN
            return _sign_of_sum(matrix_sign(t.node, depth - 1) for t in terms)
        case Product() if node.coefficient > 0 and node.constraints:
            return _diagonal(node, depth - 1)
        case Product() if node.coefficient > 0:
            return _product(node, depth - 1)
    return Sign.UNKNOWN


def sign(node: Node, depth: int = DEPTH_OF_SIGNS) -> Sign:
    """What is known of all entries of a node, which is found out once."""
    return once(node, (sign, depth), lambda: _sign(node, depth))


def _sign(node: Node, depth: int) -> Sign:
    value = constant_value(node)
    if value is not None:
        return Sign.POSITIVE if value > 0 else Sign(value == 0)
    if not depth:
        return Sign.UNKNOWN
    match node:
        case Constant():
            return Sign.POSITIVE
        case Size():
            return Sign.POSITIVE if node.value.is_positive() else Sign.UNKNOWN
        case Input():
            known = "positive" in node.properties, "nonnegative" in node.properties
            return Sign.POSITIVE if known[0] else Sign(known[1])
        case Map(function="pow", args=(base, exponent)):
            if sign(base.node, depth - 1) == Sign.POSITIVE:
                return Sign.POSITIVE
            number = constant_value(exponent.node) or 1
            return Sign(number % 2 == 0 and number > 0)
        case Map(function=function):
            row = ELEMENTWISE[function]
            return Sign(2 * row.has("positive") or row.has("nonnegative"))
        case Call(operator="norm" | "rnorm"):
            return Sign.NONNEGATIVE
        case Call(operator=name) if name in distances.NAMES:
            return Sign.NONNEGATIVE
        case Call(operator="softmax"):
            return Sign.POSITIVE
        case Sum(terms=terms):
            if any(term.coefficient < 0 for term in terms):
                return Sign.UNKNOWN
            return _sign_of_sum(sign(term.node, depth - 1) for term in terms)
        case Product() if node.coefficient > 0:
            zeros = node.inner or node.constraints  # a sum of none, or what is left out
            most = Sign.NONNEGATIVE if zeros else Sign.POSITIVE
            return min([most, *signs_of_powers(node.factors, depth - 1)])
    return Sign.UNKNOWN


def signs_of_powers(
    factors: Sequence[Ref], depth: int = DEPTH_OF_SIGNS
) -> Iterator[Sign]:
    """The signs of factors; one that stands an even number of times has no sign."""
    for ref, count in Counter(factors).items():
        found = sign(ref.node, depth)
        yield max(found, Sign.NONNEGATIVE) if count % 2 == 0 else found


def _sign_of_sum(signs: Iterable[Sign]) -> Sign:
    found = list(signs)
    return max(found) if all(found) else Sign.UNKNOWN


def _pair(node: Node) -> set[Label]:
    """The labels of a node's last two axes."""
    return {node.order - 2, node.order - 1}


def _diagonal(node: Product, depth: int) -> Sign:
    """A matrix that a delta of its axes makes diagonal, by what stands on it."""
    if node.inner or len(node.constraints) > 1:
        return Sign.UNKNOWN
    ((kind, form),) = node.constraints
    terms = dict(form.terms)
    if kind != "eq" or form.const != 0 or set(terms) != _pair(node):
        return Sign.UNKNOWN
    if sum(terms.values()) or max(terms.values()) != 1:
        return Sign.UNKNOWN
    return min([Sign.POSITIVE, *(sign(ref.node, depth) for ref in node.factors)])


def _product(node: Product, depth: int) -> Sign:
    """Positive numbers times a definite matrix, or `A.T @ A` or `A.T @ K @ A`."""
    pair = _pair(node)
    factors, sizes = flat(node)
    mine = [ref for ref in factors if pair & {*ref.labels}]
    rest = [ref for ref in factors if ref not in mine]
    match mine:
        case []:  # the same number everywhere
            return min([Sign.NONNEGATIVE, *_signs(rest, depth)])
        case [ref] if {*ref.labels[-2:]} == pair and not pair & {*ref.labels[:-2]}:
            most = Sign.NONNEGATIVE if len(sizes) > node.order else Sign.POSITIVE
            return min([most, matrix_sign(ref.node, depth), *_signs(rest, depth)])
        case [first, second]:
            found = _congruence(first, second, rest, node.order, depth)
            return found or _mirrored(node, factors, sizes, depth)
    return Sign.UNKNOWN


def _mirrored(
    node: Product, factors: Sequence[Ref], sizes: Sequence[Dim], depth: int
) -> Sign:
    """A product of factors on the side of the rows, and the same on the other."""
    rows = node.order - 2
    for renaming in involutions(node.order, sizes, (rows, rows + 1)):
        side, reached = set[Label](), {rows}
        while side != reached:
            side = reached
            reached = side.union(
                *(
                    {x for x in ref.labels if x in renaming}
                    for ref in factors
                    if side & {*ref.labels}
                )
            )
        if any(renaming[x] in side for x in side):
            continue
        mine = [ref for ref in factors if side & {*ref.labels}]
        images = [
            Ref(ref.node, tuple(renaming.get(x, x) for x in ref.labels)) for ref in mine
        ]
        left = list(factors)
        for ref in (*mine, *images):
            if ref not in left:
                break
            left.remove(ref)
        else:
            if not any(x in renaming for ref in left for x in ref.labels):
                return min([Sign.NONNEGATIVE, *_signs(left, depth)])
    return Sign.UNKNOWN


def _congruence(
    first: Ref, second: Ref, rest: Sequence[Ref], order: int, depth: int
) -> Sign:
    """Two uses of one array, and between them a semidefinite matrix, or none."""
    ends = {order - 2: order - 1, order - 1: order - 2}
    for middle in (None, *(ref for ref in rest if ref.node.order >= 2)):
        inner = middle.labels[-2:] if middle else ()
        swap = ends | dict(zip(inner, inner[::-1], strict=True))
        turned = tuple(swap.get(label, label) for label in first.labels)
        if second != Ref(first.node, turned):
            continue
        others = [ref for ref in rest if ref is not middle]
        if any({*inner} & {*ref.labels} for ref in others):
            return Sign.UNKNOWN
        between = [matrix_sign(middle.node, depth)] if middle else []
        return min([Sign.NONNEGATIVE, *between, *_signs(others, depth)])
    return Sign.UNKNOWN


def _signs(refs: Iterable[Ref], depth: int) -> list[Sign]:
    return [*signs_of_powers(list(refs), depth)]
