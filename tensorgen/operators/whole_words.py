"""Words that say all of what a value is, and so all that is done with its operands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from fractions import Fraction

from tensorgen.ir.nodes import (
    Call,
    Constant,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    Term,
    constant_value,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.word_shapes import (
    MULTIPLES,
    NUMBERS,
    POWERS,
    fits,
    is_generic,
    is_partial,
    negated,
    power_word,
)

NameOf = Callable[[Node], str | None]
"""What the names of other values call a node, if it has a name."""

_VARIANTS = dict.fromkeys(("finite_exp", "large_exp", "low_exp"), "exp")
"""Functions that differ from others where these have no value."""


def word_of(node: Node, name_of: NameOf, depth: int) -> str | None:
    """What names of other values call this one, if that can be said in short."""
    name = name_of(node)
    if name:
        return name if name.isidentifier() and not is_generic(name) else None
    if isinstance(node, Constant):
        return node.name
    if isinstance(node, Iota):
        return "positions"
    if isinstance(node, Size):
        return str(node.value) if str(node.value).isidentifier() else None
    words = whole(node, name_of, depth - 1) if depth else iter(())
    return next((word for word in words if fits(word)), None)


def whole(node: Node, name_of: NameOf, depth: int) -> Iterator[str]:
    """Yield words that say all that is done with the operands of a node."""

    def word(one: Node) -> str | None:
        return word_of(one, name_of, depth)

    match node:
        case Map():
            yield from _of_map(node, word)
        case Product():
            yield from _of_product(node, word)
        case Sum(terms=terms):
            yield from _of_sum(terms, word)
        case Call(operator=operator):
            if node.args and (arg := word(node.args[0])):
                yield f"{OPERATORS[operator].word or operator}_{arg}"


def _of_sum(terms: Sequence[Term], word: NameOf) -> Iterator[str]:
    """Terms joined by what is done with them, in the order of the text."""
    if len(terms) == 2:
        yield from _of_pair(terms, word)
    elif len(terms) > 2:
        yield from _of_stencil(terms, word)
    text, parts, joined = "", list[str](), is_joined(terms)
    for term in sorted(
        terms, key=lambda t: (t.coefficient < 0, -t.node.order, -t.node.serial)
    ):
        part = _term(term, word)
        if part is None:
            return
        sign = "minus" if term.coefficient < 0 else "and" if joined else "plus"
        if part in parts or is_partial(part):
            return
        parts.append(part)
        text += f"_{sign}_{part}" if text else part
        if not fits(text):
            return
    if len(terms) > 1:
        yield text


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


def _of_stencil(terms: Sequence[Term], word: NameOf) -> Iterator[str]:
    """Yield words for entries of an array less those of its neighbours."""
    numbers = sorted((term.coefficient for term in terms), key=abs)
    names = {word(term.node) for term in terms}
    if len(names) > 1 or None in names or sum(numbers) != 0:
        return
    (name,) = names
    if {abs(number) for number in numbers[:-1]} == {abs(numbers[0])}:
        yield f"laplacian_{name}" if len(terms) > 3 else f"second_diff_{name}"


def _term(term: Term, word: NameOf) -> str | None:
    """What a term is called, multiples of few kinds included."""
    number = constant_value(term.node)
    size = abs(term.coefficient)
    if number is not None:
        return NUMBERS.get(int(size * number)) if size * number in NUMBERS else None
    found = word(term.node)
    form = MULTIPLES.get(size)
    return form.format(found) if found and form else None


def _of_choice(node: Map, word: NameOf) -> Iterator[str]:
    """Yield words for what a condition chooses: of a value, or a number elsewhere."""
    values = [ref.node for ref in node.args[1:] if not _is_number(ref.node)]
    names = [word(one) for one in values]
    if not values:
        yield "log_mask" if constant_value(node.args[1].node) == 0 else "mask"
    elif None not in names:
        first, *rest = (str(name).removeprefix("masked_") for name in names)
        yield "_or_".join([first, *rest]) if rest else f"masked_{first}"


def _is_number(node: Node) -> bool:
    """Whether a node is a number that is known, infinity included."""
    if isinstance(node, Product) and not node.constraints:
        return all(_is_number(ref.node) for ref in node.factors)
    return isinstance(node, Constant)


def _of_map(node: Map, word: NameOf) -> Iterator[str]:
    if node.function == "where":
        yield from _of_choice(node, word)
        return
    if own := ELEMENTWISE[node.function].word:
        yield own
        return
    arg = word(node.args[0].node)
    if node.function == "pow" and len(node.args) == 2:
        exponent = constant_value(node.args[1].node)
        if exponent == Fraction(1, 2) and (legs := _legs(node.args[0].node, word)):
            yield f"hypot_{legs}"
        if exponent is not None and (raised := power_word(arg, exponent)):
            yield raised
    elif arg:
        yield f"{function_word(node.function)}_{arg}"


def function_word(name: str) -> str:
    """What values of an elementwise function are called; variants alike."""
    return ELEMENTWISE[name].word or _VARIANTS.get(name, name)


def _legs(node: Node, word: NameOf) -> str:
    """What two values are called whose squares a node adds; nothing for all others."""
    if not isinstance(node, Sum) or len(node.terms) != 2:
        return ""
    names = []
    for term in node.terms:
        side = _side(term.node)
        name = word(side) if side is not None and term.coefficient == 1 else None
        if not name:
            return ""
        names.append(name)
    return "_".join(names)


def _side(node: Node) -> Node | None:
    """What a node is the square of, if it is one."""
    match node:
        case Map(function="pow", args=(side, power)):
            return side.node if constant_value(power.node) == 2 else None
        case Product(factors=(first, second), coefficient=times) if times == 1:
            same = first == second and not (node.inner or node.constraints)
            return first.node if same else None
        case _:
            return None


def _of_product(node: Product, word: NameOf) -> Iterator[str]:
    if node.constraints:
        yield from _of_constraints(node, word)
    elif len(node.factors) == 1:
        yield from _of_multiple(node, word)
    elif node.factors and (text := _factors(node, word)):
        yield MULTIPLES.get(node.coefficient, "scaled_{}").format(text)
    elif len({ref.node for ref in node.factors}) == 1 < len(node.dims):
        yield from _of_itself(node, word)
    elif not node.inner and node.coefficient == 1:
        yield from _of_ratio(node, word)


def _of_itself(node: Product, word: NameOf) -> Iterator[str]:
    """Yield words for products of an array and itself, by other axes."""
    name = word(node.factors[0].node)
    if name and len(node.factors) == 2 and node.coefficient == 1:
        yield f"gram_{name}" if node.inner else f"outer_{name}"


def _factors(node: Product, word: NameOf) -> str:
    """What is multiplied, and what it is divided by; nothing if a word lacks.

    Nor is anything said where two factors have one word, as entries of an array may, or
    are one array by different axes.
    """
    factors = Counter(ref.node for ref in node.factors)
    if len({*node.factors}) > len(factors):
        return ""
    above: list[str] = []
    below: list[str] = []
    for one in sorted(factors, key=lambda one: -one.order * bool(node.inner)):
        found = word(one)
        if found is None or is_partial(found) or (_is_sum(found) and len(factors) > 1):
            return ""
        divides = isinstance(one, Map) and found.startswith("inv_")
        found = found.removeprefix("inv_" if divides else "product_")
        found = POWERS.get(factors[one], "{}").format(found)
        (below if divides else above).append(found)
    if len({*above, *below}) < len(factors):
        return ""
    above.sort(key=lambda name: not name.startswith("inv_"))
    first, second = node.factors[0].labels, node.factors[-1].labels
    paired = len(above) == 2 and node.inner and {*first} == {*second}
    text = ("_dot_" if paired else "_").join(above)
    if not below:
        return text
    divisor = "_".join(below)
    return f"{text}_over_{divisor}" if above else f"inv_{divisor}"


def _of_ratio(node: Product, word: NameOf) -> Iterator[str]:
    """Yield words for what nothing says but that one value divides it."""
    names = [word(ref.node) or "" for ref in node.factors]
    below = [name for name in names if name.startswith("inv_")]
    if len(names) == 2 and len(below) == 1 and not is_partial(below[0]):
        yield f"ratio_to_{below[0].removeprefix('inv_')}"


def _is_sum(word: str) -> bool:
    """Whether a word would read as a sum of products among factors."""
    return "_plus_" in word or "_minus_" in word


def _of_multiple(node: Product, word: NameOf) -> Iterator[str]:
    """Yield words for a multiple of an operand, for sums of it, and its diagonal."""
    inner, labels = node.factors[0]
    arg = word(inner)
    if node.inner and not arg:
        if len(labels) == 2 and node.order == 1:
            yield "row_sums" if labels[0] == 0 else "column_sums"
    elif not arg:
        return
    elif node.inner:
        # A product that is summed is a contraction, which is called by its factors.
        summed = isinstance(inner, Product) and _factors(inner, word) == arg
        yield (arg if summed else f"{arg}_sums") if node.order else f"sum_{arg}"
    elif len({*labels}) < len(labels):
        yield f"diagonal_{arg}"
    else:
        form = MULTIPLES.get(node.coefficient, "scaled_{}")
        yield negated(arg) if node.coefficient == -1 else form.format(arg)


def _of_constraints(node: Product, word: NameOf) -> Iterator[str]:
    """Yield words for entries of an operand, or for what puts it somewhere."""
    text = _factors(node, word) if node.factors else ""
    if not text:
        return
    if any(constraint.kind != "eq" for constraint in node.constraints):
        if not node.inner and node.coefficient == 1:
            yield f"masked_{text}"
        return
    own = {label for ref in node.factors for label in ref.labels}
    form = "{}"
    for constraint in node.constraints:
        atoms = [atom for atom, _ in constraint.form.terms]
        for atom in atoms:
            if isinstance(atom, Lookup):
                index = word(atom.node)
                if index is None:
                    return
                if any(label >= node.order for label in atom.labels):
                    text += f"_by_{index}"
                elif len(node.factors) == 1:
                    text += f"_{index}"
        if not any(isinstance(atom, Lookup) for atom in atoms):
            form = placed(node, atoms, own) or form
    times = MULTIPLES.get(node.coefficient, "scaled_{}")
    text = negated(text) if node.coefficient == -1 else times.format(text)
    yield form.format(text)
    yield text  # where there is no room to say that it is zero elsewhere


def placed(node: Product, labels: Sequence[int], own: Container[int]) -> str:
    """How to call what a delta puts somewhere; nothing for entries that it takes."""
    new = [label for label in labels if label not in own]
    old = [label for label in labels if label in own]
    if len(new) == 2 and not old:
        return "{}_eye"
    if len(new) != 1 or len(old) != 1:
        return ""
    if old[0] < node.order:
        return "diag_{}"
    sizes = node.sizes
    return "padded_{}" * (sizes[new[0]] - sizes[old[0]]).is_positive()
