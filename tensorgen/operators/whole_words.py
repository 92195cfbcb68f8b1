"""Words that say all of what a value is, and so all that is done with its operands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from fractions import Fraction
from math import isqrt

from tensorgen.ir.nodes import (
    Call,
    Constant,
    Iota,
    Label,
    Lookup,
    Map,
    Node,
    Product,
    Ref,
    Size,
    Sum,
    constant_value,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.moment_words import moment_words
from tensorgen.operators.recurrences.recurrence import made_in_steps
from tensorgen.operators.sum_words import sum_words
from tensorgen.operators.word_shapes import (
    POWERS,
    TINY,
    Entry,
    NameOf,
    fits,
    is_generic,
    is_partial,
    multiple,
    power_word,
    scaled,
)

_VARIANTS = {
    **dict.fromkeys(("finite_exp", "large_exp", "low_exp"), "exp"),
    "sigmoid_slope": "slope",
}
"""Functions that differ from others where these have no value, and a shorter word."""


def word_of(node: Node | Entry, name_of: NameOf, depth: int) -> str | None:
    """What names of other values call this one, if that can be said in short."""
    name = name_of(node)
    if name:
        return name if name.isidentifier() and not is_generic(name) else None
    if isinstance(node, Entry):
        return None
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

    def word(one: Node | Entry) -> str | None:
        return word_of(one, name_of, depth)

    yield from moment_words(node, word)
    match node:
        case Map():
            yield from _of_map(node, word)
        case Product():
            own = entries(node)

            def factor(one: Node) -> str | None:
                if one not in own:
                    return word(one)
                return name_of(own[one]) or _numbered(word(one), own[one].place)

            yield from _of_entries(node, name_of)
            yield from _of_product(node, factor)
        case Sum(terms=terms):
            yield from sum_words(terms, word)
        case Call(operator=operator) if not made_in_steps(node):
            row = OPERATORS[operator]
            if node.args and (arg := word(node.args[row.named_by])):
                yield f"{row.word or operator}_{arg}"


def entries(node: Product) -> dict[Node, Entry]:
    """The arrays of which a product has one entry each as a factor."""
    pinned = _pinned(node)
    times = Counter(ref.node for ref in node.factors)
    return {
        one: Entry(one, tuple(pinned[x] for x in labels))
        for one, labels in node.factors
        if labels and times[one] == 1 and {*labels} <= pinned.keys()
    }


def _numbered(name: str | None, place: Sequence[int]) -> str | None:
    """What an entry of an array is called: `h2` for `h[2]`."""
    if name is None or name[-1].isdigit() or not all(0 <= k < 10 for k in place):
        return name
    return name + "".join(map(str, place))


def _pinned(node: Product) -> dict[Label, int]:
    """The labels for which a product has one place only."""
    pinned = {}
    for kind, (terms, const) in node.constraints:
        if kind == "eq" and len(terms) == 1 and const.constant is not None:
            pinned[terms[0][0]] = -const.constant * terms[0][1]
    return pinned


def _of_entries(node: Product, name_of: NameOf) -> Iterator[str]:
    """Yield words for a number that is a product of entries, of one array perhaps."""
    pinned = _pinned(node)
    if node.order or not {x for ref in node.factors for x in ref.labels} <= {*pinned}:
        return
    times = Counter(
        Entry(one, tuple(pinned[x] for x in labels)) if labels else one
        for one, labels in node.factors
    )
    names = [(name_of(one), e) for one, e in times.items()]
    if len(names) > 1 and all(name for name, _ in names):
        yield "_".join(POWERS.get(e, "{}").format(name) for name, e in names)


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
    if node.function == "level":
        yield from _of_level(node.args[0].node, word)
        return
    if own := ELEMENTWISE[node.function].word:
        yield own
        return
    arg = word(node.args[0].node)
    if function_word(node.function) == "exp" and (
        raised := _power_of_logarithm(node.args[0].node, word)
    ):
        yield raised
    if node.function == "sqrt" and (legs := _legs(node.args[0].node, word)):
        yield legs
    if node.function == "pow" and len(node.args) == 2:
        exponent = constant_value(node.args[1].node)
        if exponent is not None and (raised := power_word(arg, exponent)):
            yield raised
        elif arg and exponent is None and (power := word(node.args[1].node)):
            yield f"{arg}_to_{power}"
    elif arg:
        yield f"{function_word(node.function)}_{arg}"


def _of_level(node: Node, word: NameOf) -> Iterator[str]:
    """Yield words for what exponents are taken off before they are exponentiated."""
    if isinstance(node, Call) and (name := word(node.args[0])):
        yield f"peak_{name}"
    yield "peak"


def _power_of_logarithm(node: Node, word: NameOf) -> str | None:
    """What the exponential of a multiple of `log_x` is called: a power of x."""
    match node:
        case Product(
            factors=(Ref(node=log),), coefficient=times, inner=(), constraints=()
        ) if (times != 1):
            name = word(log) or ""
            base = name.removeprefix("log_")
            return power_word(base, times) if base != name else None
        case _:
            return None


def function_word(name: str) -> str:
    """What values of an elementwise function are called; variants alike."""
    return ELEMENTWISE[name].word or _VARIANTS.get(name, name)


def _legs(node: Node, word: NameOf) -> str:
    """What the root of two squares is called; nothing for the root of all else."""
    if not isinstance(node, Sum) or len(node.terms) != 2:
        return ""
    names = []
    form = "hypot_{}"
    for term in node.terms:
        number = constant_value(term.node)
        if number is not None and 0 < number * term.coefficient < TINY:
            form = "smooth_abs_{}"  # it keeps the root from zero, where it has a kink
            continue
        side = _side(term.node)
        name = word(side) if side is not None else None
        name = multiple(name, _root(term.coefficient)) if name else None
        if name is None:
            return ""
        names.append(name)
    return form.format("_".join(names))


def _root(number: Fraction) -> Fraction:
    """The root of a square of numbers; nothing for all others."""
    roots = (Fraction(isqrt(abs(x))) for x in number.as_integer_ratio())
    above, below = roots
    root = above / below
    return root if root**2 == number else Fraction(0)


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
        yield scaled(node.coefficient, text)
    elif len({ref.node for ref in node.factors}) == 1 < len(node.dims):
        yield from _of_itself(node, word)
    elif not node.inner and node.coefficient == 1:
        yield from _of_ratio(node, word)


def _of_itself(node: Product, word: NameOf) -> Iterator[str]:
    """Yield words for products of an array and itself, by other axes."""
    name = word(node.factors[0].node)
    if name and len(node.factors) == 2 and node.coefficient == 1:
        yield f"gram_{name}" if node.inner else f"outer_{name}"


def _factors(node: Product, word: NameOf, sums: Product | None = None) -> str:
    """What is multiplied, and what it is divided by; nothing if a word lacks.

    What `sums` it, if anything, makes it a contraction. Nor is anything said where two
    factors have one word, as entries of an array may, or are one array by different
    axes. A column is called by its number: `x0_squared` for `x[:, 0] @ x[:, 0]`.
    """
    seen = [_in_part(node, ref) for ref in node.factors]
    factors = Counter((one, place) for one, place, _ in seen)
    if len({*seen}) > len(factors):
        return ""
    above: list[str] = []
    below: list[str] = []
    whole, at = node, tuple(range(len(node.sizes)))
    if sums is not None:
        whole, at = sums, (*sums.factors[0].labels, *[-1] * len(node.inner))
    uses = {x: tuple(at[label] for label in own) for x, own in node.factors[::-1]}
    for one, place in sorted(factors, key=lambda x: _rank(whole, x[0], uses[x[0]])):
        found = _numbered(word(one), place)
        if found is None or is_partial(found) or (_is_sum(found) and len(factors) > 1):
            return ""
        divides = isinstance(one, Map) and found.startswith("inv_")
        found = found.removeprefix("inv_" if divides else "product_")
        found = POWERS.get(factors[one, place], "{}").format(found)
        (below if divides else above).append(found)
    if len({*above, *below}) < len(factors):
        return ""
    above.sort(key=lambda name: not name.startswith("inv_"))
    ends = node.factors[0].labels, node.factors[-1].labels
    paired = len(above) == 2 and node.inner and {*ends[0]} == {*ends[1]}
    text = ("_dot_" if paired else "_").join(above)
    if not below:
        return text
    divisor = "_".join(below)
    if text.endswith(f"_over_{divisor}"):
        return f"{text}_squared"
    return f"{text}_over_{divisor}" if above else f"inv_{divisor}"


def _in_part(node: Product, ref: Ref) -> tuple[Node, tuple[int, ...], Sequence[Label]]:
    """A factor of a contraction, the places at which it is taken, and its other labels.

    An entry has a word of its own, and what is not summed mostly needs none.
    """
    pinned = _pinned(node)
    others = tuple(x for x in ref.labels if x not in pinned)
    given = sum(constraint.kind == "eq" for constraint in node.constraints)
    if not others or len(node.inner) <= given:
        return ref.node, (), ref.labels
    return ref.node, tuple(pinned[x] for x in ref.labels if x in pinned), others


def _rank(node: Product, one: Node, labels: Sequence[Label]) -> tuple[int, int]:
    """Where a factor stands: in contractions as in matrix products, rows first."""
    rows, columns = node.order - 2, node.order - 1
    right = not (rows in labels and columns not in labels)
    if not node.inner:
        return 0, 0
    stacked = any({rows, columns} <= {*ref.labels} for ref in node.factors)
    plain = node.order == 2 and not stacked
    return (right, -one.order) if plain else (-one.order, right)


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
    of_matrix = len(labels) == 2 and node.order == 1
    sums = ("row_sums" if labels[0] == 0 else "column_sums") if of_matrix else ""
    if node.inner and not arg:
        if sums:
            yield sums
    elif not arg:
        return
    elif node.inner:
        # A product that is summed is a contraction, which is called by its factors.
        if node.order and isinstance(inner, Product) and _factors(inner, word) == arg:
            yield _factors(inner, word, node)
        else:
            yield f"{arg}_sums" if node.order else f"sum_{arg}"
            if sums:
                yield f"{arg}_{sums}"  # of both ways the second one
    elif len({*labels}) < len(labels):
        yield f"diagonal_{arg}"
    else:
        yield scaled(node.coefficient, arg)


def _of_constraints(node: Product, word: NameOf) -> Iterator[str]:
    """Yield words for entries of an operand, or for what puts it somewhere."""
    ties = [constraint for constraint in node.constraints if constraint.kind == "eq"]
    if not node.factors and len(node.constraints) == len(ties) == 1:
        tie = ties[0].form
        reads = any(isinstance(atom, Lookup) for atom, _ in tie.terms)
        tied = sorted(times for _, times in tie.terms) == [-1, 1]
        plain = tied and not (tie.const.terms or node.inner)
        if plain and node.order == 2 and node.coefficient == 1:
            yield "one_hot" if reads else "eye"
        return
    text = _factors(node, word) if node.factors else ""
    if not text:
        return
    if len(ties) < len(node.constraints):
        if len(node.inner) <= len(ties) and node.coefficient == 1:
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
    text = scaled(node.coefficient, text)
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
