"""Words that say all of what is added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tensorgen.ir.nodes import Iota, Lookup, Map, Node, Product, Term, constant_value
from tensorgen.operators.word_shapes import (
    LONGER,
    NameOf,
    fits,
    is_partial,
    is_raised,
    multiple,
    number_word,
    scaled,
)


def sum_words(terms: Sequence[Term], word: NameOf) -> Iterator[str]:
    """Yield words for terms and what is done with them, the best first."""
    if len(terms) == 2:
        yield from _of_pair(terms, word)
        yield from _of_alike(terms, word)
    elif len(terms) > 2:
        yield from _of_stencil(terms, word)
    if len(terms) > 1 and (text := _listed(terms, word)):
        yield text
    if _is_shifted(terms):
        yield "shifted"


def _listed(terms: Sequence[Term], word: NameOf) -> str | None:
    """Terms joined by what is done with them, in the order of the text."""
    text, parts, joined = "", list[str](), is_joined(terms)
    last = -1 if not joined else 1  # in a sum what was made last, and is longest, leads
    for term in sorted(
        terms, key=lambda t: (t.coefficient < 0, -t.node.order, last * t.node.serial)
    ):
        part = _term(term, word)
        if part is None or part in parts or is_partial(part):
            return None
        sign = "minus" if term.coefficient < 0 else "and" if joined else "plus"
        parts.append(part)
        text += f"_{sign}_{part}" if text else f"{'neg_' * (sign == 'minus')}{part}"
        if not fits(text, LONGER):
            return None
    return text.removeprefix("one_minus_one_minus_")


def _is_shifted(terms: Sequence[Term]) -> bool:
    """Whether a sum is of exponents less what is taken off of them."""
    levels = [
        term.coefficient < 0
        for term in terms
        if isinstance(term.node, Map) and term.node.function == "level"
    ]
    return levels == [True] and len(terms) > 1


def _of_alike(terms: Sequence[Term], word: NameOf) -> Iterator[str]:
    """Yield words for two values whose words end alike, which is said once."""
    first, second = sorted(terms, key=lambda term: -term.coefficient)
    if first.coefficient != 1 or abs(second.coefficient) != 1 or is_joined(terms):
        return
    names = [(word(term.node) or "").partition("_") for term in (first, second)]
    (one, _, end), (other, _, same) = names
    # What is done with each of them is not done with both.
    if end and end == same and not is_partial(end) and not is_raised(end):
        yield f"{one}_{'minus' if second.coefficient < 0 else 'plus'}_{other}_{end}"


def is_joined(terms: Sequence[Term]) -> bool:
    """Whether each term stands in places of its own, as those of a concatenation."""
    return len(terms) > 1 and all(_is_placed(term.node) for term in terms)


def _is_placed(node: Node) -> bool:
    if not isinstance(node, Product):
        return False
    own = {label for ref in node.factors for label in ref.labels}
    return any(
        constraint.kind == "eq"
        and not any(isinstance(atom, Lookup) for atom, _ in constraint.form.terms)
        and any(
            label < node.order and label not in own
            for label, _ in constraint.form.terms
            if isinstance(label, int)
        )
        for constraint in node.constraints
    )


def _of_pair(terms: Sequence[Term], word: NameOf) -> Iterator[str]:
    """Yield words for a matrix and its transpose, and for a difference of entries."""
    first, second = terms
    apart = isinstance(first.node, Iota) and isinstance(second.node, Iota)
    if apart and first.coefficient == -second.coefficient:
        yield scaled(abs(first.coefficient), "offsets")
    if (whole := _off_diagonal(first, second) or _off_diagonal(second, first)) and (
        name := word(whole.node)
    ):
        yield scaled(whole.coefficient, f"offdiag_{name}")
    if (rolled := _rolled(first, second)) and (name := word(rolled)):
        yield f"rolled_{name}"
    name, other = word(first.node), word(second.node)
    sign, size = first.coefficient * second.coefficient, abs(first.coefficient)
    turned = first.node is second.node and len(first.labels) > 1
    if turned and {size, abs(second.coefficient)} == {Fraction(1, 2)}:
        if name:
            yield f"sym_{name}" if sign > 0 else f"skew_{name}"
        yield "symmetric_part" if sign > 0 else "skew_part"
    if name is None or name != other or is_partial(name):
        return
    if first.node is second.node:
        if len(first.labels) < 2 or size != abs(second.coefficient):
            return
        if size == 1 and first.coefficient > 0 and len(first.labels) == 2:
            yield f"{name}_plus_{name}t" if sign > 0 else f"{name}_minus_{name}t"
    elif sign == -1 and size == 1:
        yield f"diff_{name}"


def _rolled(first: Term, second: Term) -> Node | None:
    """The array of which both terms show what is left of it, each where it goes."""
    match first.node, second.node:
        case (
            Product(factors=(one,), constraints=(here,)),
            Product(factors=(other,), constraints=(there,)),
        ) if (
            one.node is other.node and one.node.dims == first.node.dims
        ):
            moved = here.form.const - there.form.const
            axes = [
                axis
                for axis, label in enumerate(one.labels)
                if isinstance(label, int) and dict(here.form.terms).get(label)
            ]
            same = (
                here.kind == there.kind == "eq" and here.form.terms == there.form.terms
            )
            whole = [one.node.dims[axis] in (moved, -moved) for axis in axes]
            alike = first.coefficient == second.coefficient == 1 and first.labels == (
                second.labels
            )
            return one.node if same and alike and whole == [True] else None
        case _:
            return None


def _off_diagonal(whole: Term, other: Term) -> Term | None:
    """A term, if the other one takes the diagonal from its matrix."""
    node = other.node
    if not isinstance(node, Product) or node.inner or len(node.factors) != 1:
        return None
    deltas = [dict(c.form.terms) for c in node.constraints if not c.form.const.terms]
    tied = deltas in ([{0: 1, 1: -1}], [{0: -1, 1: 1}])
    (inner, labels), times = node.factors[0], node.coefficient * other.coefficient
    same = inner is whole.node and whole.labels == other.labels
    taken = {*labels} <= {0, 1} and times == -whole.coefficient
    alone = len(node.constraints) == 1 and inner.order == 2
    return whole if tied and same and taken and alone else None


def _of_stencil(terms: Sequence[Term], word: NameOf) -> Iterator[str]:
    """Yield words for entries of an array less those of its neighbours."""
    numbers = sorted((term.coefficient for term in terms), key=abs)
    names = {word(term.node) for term in terms}
    if len(names) > 1 or None in names or sum(numbers) != 0:
        return
    (name,) = names
    if len({*numbers[:-1]}) == 1:  # neighbours on both sides of a slope differ
        yield f"laplacian_{name}" if len(terms) > 3 else f"second_diff_{name}"


def _term(term: Term, word: NameOf) -> str | None:
    """What a term is called, multiples of few kinds included."""
    number = constant_value(term.node)
    size = abs(term.coefficient)
    if number is not None:
        return number_word(size * abs(number))
    found = word(term.node)
    return multiple(found, size) if found else None
