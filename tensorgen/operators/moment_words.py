"""What moments are called, and what is made with them: statistics along axes.

    mean_x, x_centred, var_x, std_x, x_normalised, cov_x, cov_x_y, scatter_x

They are recognised by what is computed, so each word is true of the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from tensorgen.ir.dims import ONE, Dim
from tensorgen.ir.nodes import Call, Map, Node, Product, Ref, Size, Sum, constant_value
from tensorgen.operators.word_shapes import NameOf


class Averaged(NamedTuple):
    """What is averaged, over which of its axes, and where the others are then."""

    operand: Node
    axes: frozenset[int]
    kept: tuple[int | None, ...]


class _Quotient(NamedTuple):
    """A product over sizes: what is multiplied, and what it is all divided by."""

    factors: Sequence[Ref]
    divisor: Dim
    terms: Dim


def moment_words(node: Node, word: NameOf) -> Iterator[str]:
    """Yield words for a node that is a moment of something, the best first."""
    match node:
        case Sum():
            if (found := centred(node)) is not None:
                yield from _of(word(found.operand), "{}_centred", "centred")
            elif (spread := _variance(node)) is not None:
                yield from _of(word(spread), "var_{}", "variance")
            elif (whole := _projected(node)) is not None:
                yield from _of(word(whole), "{}_projected", "projected")
        case Product():
            yield from _of_product(node, word)
        case Map():
            if (spread := _deviation(node)) is not None:
                yield from _of(word(spread), "std_{}", "std")
        case _:
            pass


def _distances(node: Product) -> tuple[Node, Node] | None:
    """The arrays whose rows' squared distances a node is, each row of one to each."""
    if node.coefficient != 1 or node.constraints or node.order != 2:
        return None
    ((power, labels),) = node.factors if len(node.factors) == 1 else [(node, ())]
    if not isinstance(power, Map) or power.function != "pow" or len(labels) != 3:
        return None
    (base, axes), (exponent, _) = power.args
    if constant_value(exponent) != 2 or not isinstance(base, Sum):
        return None
    if [abs(t.coefficient) for t in base.terms] != [1, 1] or len(axes) != 3:
        return None
    one, other = base.terms
    if one.coefficient == other.coefficient or len(one.labels) != 2:
        return None
    entry = {*one.labels} & {*other.labels}
    summed = {x for x, label in zip(axes, labels, strict=True) if label >= node.order}
    apart = len({*one.labels} | {*other.labels}) == 3 and len(entry) == 1
    by_entry = {axes[k] for k in entry} == summed
    return (one.node, other.node) if apart and by_entry else None


def _of(name: str | None, form: str, alone: str) -> Iterator[str]:
    if name:
        yield form.format(name)
    yield alone


def _of_product(node: Product, word: NameOf) -> Iterator[str]:
    if (rows := _distances(node)) is not None:
        names = dict.fromkeys(map(word, rows))
        if None not in names:
            yield "_".join(["sq_dists", *map(str, names)])
        yield "sq_dists"
    if (spread := _variance(node)) is not None:
        yield from _of(word(spread), "var_{}", "variance")
    elif (root := _deviation(node)) is not None:
        yield from _of(word(root), "std_{}", "std")
    elif (found := mean(node)) is not None:
        yield from _of(word(found.operand), "mean_{}", "mean")
    elif (scaled := _normalised(node)) is not None:
        yield from _of(word(scaled), "{}_normalised", "normalised")
    else:
        yield from _of_centred(node, word)


def _of_centred(node: Product, word: NameOf) -> Iterator[str]:
    """Yield words for products of two centred arrays, summed over what is averaged."""
    over = _over_sizes(node)
    if over is None or len(over.factors) != 2 or not node.inner:
        return
    means = [centred(ref.node) for ref in over.factors]
    first, second = means
    if first is None or second is None or over.factors[0] == over.factors[1]:
        return
    for found, ref in zip((first, second), over.factors, strict=True):
        summed = {k for k, label in enumerate(ref.labels) if label >= node.order}
        if summed != found.axes:
            return
    names = [word(found.operand) for found in (first, second)]
    if None in names:
        return
    operands = "_".join(dict.fromkeys(map(str, names)))
    if _is_average(over):
        yield f"cov_{operands}"
    elif over.divisor == ONE and first == second:
        yield f"scatter_{operands}"


def _is_average(over: _Quotient) -> bool:
    return over.divisor in (over.terms, over.terms - 1) and over.terms != ONE


def mean(node: Node) -> Averaged | None:
    """What a node is the mean of, if it is one."""
    over = _over_sizes(node)
    if over is None or over.terms == ONE:
        return None
    (inner, labels), *weights = sorted(over.factors, key=lambda x: _is_share(x.node))
    order = node.order
    if weights:
        alike = over.divisor == ONE and [labels] == [x.labels for x in weights]
        if not (alike and _weighs(weights[0], order)):
            return None
    elif over.divisor != over.terms:
        return None
    if len({*labels}) < len(labels):
        return None
    kept = tuple(label if label < order else None for label in labels)
    return Averaged(inner, frozenset(k for k, x in enumerate(kept) if x is None), kept)


def _is_share(node: Node) -> bool:
    """Whether entries of a node add up to one."""
    return isinstance(node, Call) and node.operator == "softmax"


def _weighs(ref: Ref, order: int) -> bool:
    """Whether entries add up to one along the axes that are summed."""
    summed = tuple(k for k, label in enumerate(ref.labels) if label >= order)
    return (
        isinstance(ref.node, Call)
        and _is_share(ref.node)
        and ref.node.param("axes") == summed
    )


def centred(node: Node) -> Averaged | None:
    """What a node is less its own mean, if it is that."""
    if not isinstance(node, Sum) or len(node.terms) != 2:
        return None
    for whole, other in (node.terms, node.terms[::-1]):
        found = mean(other.node)
        if found is None or found.operand is not whole.node:
            continue
        at = [None if k is None else other.labels[k] for k in found.kept]
        aligned = all(x in (None, y) for x, y in zip(at, whole.labels, strict=True))
        if aligned and whole.coefficient == -other.coefficient == 1:
            return found
    return None


def _variance(node: Node) -> Node | None:
    """What a node is the variance of, or that and a number that keeps it from zero."""
    if isinstance(node, Sum):
        spreads = [x for x in node.terms if constant_value(x.node) is None]
        if len(spreads) != 1 or spreads[0].coefficient != 1 or len(node.terms) > 2:
            return None
        return _variance(spreads[0].node)
    over = _over_sizes(node)
    if over is None or not _is_average(over):
        return None
    match over.factors:
        case [Ref(node=Map(function="pow", args=(base, power))) as ref]:
            if constant_value(power.node) != 2 or base.labels != tuple(
                range(ref.node.order)
            ):
                return None
            inner, labels = base.node, ref.labels
        case [first, second] if first == second:
            inner, labels = first
        case _:
            return None
    found = centred(inner)
    summed = {k for k, label in enumerate(labels) if label >= node.order}
    return found.operand if found is not None and summed == found.axes else None


def _deviation(node: Node) -> Node | None:
    """What a node is the standard deviation of."""
    match node:
        case Map(function="sqrt", args=(square,)):
            return _variance(square.node)
        case Product(factors=(first, second), coefficient=times, inner=()):
            for norm, root in ((first.node, second.node), (second.node, first.node)):
                if times == 1 and (found := _normed(norm, root)) is not None:
                    return found
            return None
        case _:
            return None


def _normed(norm: Node, root: Node) -> Node | None:
    """What the norm is of what is centred, if it is over the root of how many."""
    match norm, root:
        case (
            Call(operator="norm", args=(inner,)),
            Map(
                function="pow",
                args=(Ref(node=Map(function="sqrt", args=(Ref(node=count),))), power),
            ),
        ) if (
            constant_value(power.node) == -1
        ):
            found, many = centred(inner), _size(count)
            if found is None or norm.param("axes") != tuple(sorted(found.axes)):
                return None
            terms = prod((inner.dims[k] for k in sorted(found.axes)), start=ONE)
            return found.operand if many in (terms, terms - 1) else None
        case _:
            return None


def _normalised(node: Product) -> Node | None:
    """What is centred and divided by its deviation, if a node is that."""
    if node.inner or node.constraints or len(node.factors) != 2:
        return None
    for first, second in (node.factors, node.factors[::-1]):
        found = centred(first.node)
        match second.node:
            case Map(function="pow", args=(base, power)) if found is not None:
                divides = constant_value(power.node) == -1
                if divides and _deviation(base.node) is found.operand:
                    return found.operand
            case _:
                pass
    return None


def _projected(node: Sum) -> Node | None:
    """What a node is less its part along vectors of length one."""
    if len(node.terms) != 2:
        return None
    for whole, other in (node.terms, node.terms[::-1]):
        part = other.node
        if not isinstance(part, Product) or part.inner or part.constraints:
            continue
        if whole.coefficient != 1 or other.coefficient * part.coefficient != -1:
            continue
        if len(part.factors) != 2:
            continue
        for vector, dot in (part.factors, part.factors[::-1]):
            if _is_part_along(whole.ref, vector.under(other.ref), dot.under(other.ref)):
                return whole.node
    return None


def _is_part_along(whole: Ref, vector: Ref, dot: Ref) -> bool:
    """Whether unit vectors are multiplied by their products with an array."""
    match vector.node, dot.node:
        case (
            Call(operator="unit") as unit,
            Product(factors=(one, other), constraints=(), coefficient=times) as product,
        ) if times == 1 and {one.node, other.node} == {unit, whole.node}:
            uses = {one.node: one.labels, other.node: other.labels}
        case _:
            return False
    summed = tuple(k for k, x in enumerate(uses[unit]) if x >= product.order)
    at = {label: dot.labels[label] for label in range(product.order)}
    at |= {uses[unit][k]: vector.labels[k] for k in summed}
    return unit.param("axes") == summed and all(
        tuple(at.get(x) for x in uses[ref.node]) == ref.labels
        for ref in (whole, vector)
    )


def _over_sizes(node: Node) -> _Quotient | None:
    """A product that is summed over axes, and divided by sizes."""
    if not isinstance(node, Product) or node.constraints:
        return None
    if node.coefficient.numerator != 1:
        return None
    factors: list[Ref] = []
    divisor = Dim.of(node.coefficient.denominator)
    for ref in node.factors:
        size = _divided_by(ref.node)
        if size is None:
            factors.append(ref)
        else:
            divisor *= size
    inner = node.inner
    match factors:
        case [Ref(node=Product() as summed, labels=labels)] if not inner:
            if summed.constraints or summed.coefficient != 1:
                return None
            inner = summed.inner
            new = range(node.order, node.order + len(inner))
            factors = [x.under(Ref(summed, (*labels, *new))) for x in summed.factors]
        case _:
            pass
    return _Quotient(factors, divisor, prod(inner, start=ONE))


def _divided_by(node: Node) -> Dim | None:
    """The size by which a factor divides."""
    match node:
        case Map(function="pow", args=(base, exponent)):
            return _size(base.node) if constant_value(exponent.node) == -1 else None
        case _:
            return None


def _size(node: Node) -> Dim | None:
    """A number that is made of sizes."""
    match node:
        case Size(value=value):
            return value
        case Product(factors=factors, coefficient=number) if number.denominator == 1:
            sizes = [_size(ref.node) for ref in factors]
            known = [size for size in sizes if size is not None]
            whole = len(known) == len(sizes) and not (node.inner or node.constraints)
            return prod(known, start=Dim.of(number.numerator)) if whole else None
        case Sum(terms=terms):
            sizes = [_size(term.node) for term in terms]
            total = Dim()
            for term, size in zip(terms, sizes, strict=True):
                if size is None or term.coefficient.denominator != 1:
                    return None
                total += size * term.coefficient.numerator
            return total
        case _:
            return None
