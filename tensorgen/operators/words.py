"""What a value is, in words: its operands' names, and what is done with them.

A word that says all of it comes first, then words that say part of it, for where the
first is too long or taken, and last the kind of value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from fractions import Fraction
from typing import assert_never

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    Term,
    children,
    constant_value,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE

LONGEST = 20
_LONGEST_PARTIAL = 18
_MOST_PARTS = 6
_PLAIN = 3
"""Parts of a word that stands for a value of which it is but one operand."""
_DEEPEST = 3
"""Values without a name inside of each other that a word tells of."""

# Words for a kind of value; names are not built upon them.
_GENERIC = (
    "weighted",
    "scaled",
    "total",
    "difference",
    "product",
    "sums",
    "gathered",
    "scattered",
    "spread",
    "powers",
)
_OF_ONE = ("weighted_", "product_", "scaled_", "solved_", "padded_", "centred_")
"""How names start that are made of one operand of several."""
_POWERS = {
    Fraction(1, 2): "sqrt_{}",
    1: "{}",
    2: "{}_squared",
    3: "{}_cubed",
    4: "{}_fourth",
}
_SQUARED = "_squared"
_MULTIPLES = {
    1: "{}",
    2: "twice_{}",
    Fraction(1, 2): "half_{}",
    -1: "neg_{}",
    -2: "neg_twice_{}",
    Fraction(-1, 2): "neg_half_{}",
}
_NUMBERS = {1: "one", 2: "two", 3: "three"}

ADJOINT, TANGENT, JACOBIAN = "d_{}", "{}_dot", "jac_{}"
"""What derivatives are called after what they are of."""

NameOf = Callable[[Node], str | None]


def describe(node: Node, name_of: NameOf, derived: str | None = None) -> list[str]:
    """Words for what a node is, in the names of its operands; the best comes first.

    A derivative is called after what it is `derived` of where no word says all of it.
    """
    form = _form(node)
    parts = [form.format(word) for word in _subjects(node, name_of, _DEEPEST) if form]
    parts = [word for word in parts if len(word) <= _LONGEST_PARTIAL]
    told = [derived] if derived else []
    words = [*_whole(node, name_of, _DEEPEST), *told, *parts, kind(node)]
    return [word for word in dict.fromkeys(words) if fits(word)]


def call_derivative(graph: Graph, form: str, node: Node, derivative: Node) -> None:
    """Say what to call a derivative: after what it is of, if that has a word.

    `form` has a place for the word: `ADJOINT`, or `TANGENT`. What is of a value that
    the user named bears the name always, others where nothing says what they are.
    """

    def name_of(one: Node) -> str | None:
        name = one.name if isinstance(one, Input) else graph.names.get(one)
        return name or graph.suggestions.get(one) or graph.derived.get(one)

    if node in graph.names:
        graph.suggest(derivative, form.format(graph.names[node]))
        return
    # What some entries of an array are called says nothing of their derivative.
    if isinstance(node, Product) and node.constraints:
        return
    word = _word(node, name_of, _DEEPEST)
    if word and fits(form.format(word)):
        graph.derived.setdefault(derivative, form.format(word))


def call_column(
    graph: Graph, jacobian: Node, column: Node, place: Sequence[int]
) -> None:
    """Say what to call a column of a Jacobian: a tangent, with the column's number.

    Without numbers it is part of what the Jacobian is called.
    """
    head, _, tail = JACOBIAN.partition("{}")
    for told in (graph.suggestions, graph.derived):
        word = told.get(jacobian, "")
        if word.startswith(head) and constant_value(column) is None:
            of = TANGENT.format(word.removeprefix(head).removesuffix(tail))
            word = "_".join([of, *map(str, place)]) if place else word
            if fits(word):
                told.setdefault(column, word)


def fits(word: str) -> bool:
    """Whether a word is short enough for a name."""
    return len(word) <= LONGEST and word.count("_") < _MOST_PARTS


def negated(word: str) -> str:
    """What the negative of something that has a word is called."""
    return word.removeprefix("neg_") if word.startswith("neg_") else f"neg_{word}"


def is_partial(name: str) -> bool:
    """Whether a name tells one of several terms that are added up."""
    return name.endswith(("_sum", "_diff", "_term"))


def is_generic(name: str) -> bool:
    """Whether a name says of what kind a value is, and no more."""
    return name.split("_")[0] in _GENERIC or "_values" in name


def says_little(name: str) -> bool:
    """Whether a name says of a value no more than its kind, or what one operand is."""
    stem = name.rstrip("_0123456789")
    return is_generic(stem) or is_partial(stem) or stem.startswith(_OF_ONE)


def _word(node: Node, name_of: NameOf, depth: int) -> str | None:
    """What names of other values call this one, if that can be said in short."""
    name = name_of(node)
    if name:
        return name if name.isidentifier() and not is_generic(name) else None
    if isinstance(node, Constant):
        return node.name
    if isinstance(node, Size):
        return str(node.value) if str(node.value).isidentifier() else None
    words = _whole(node, name_of, depth - 1) if depth else iter(())
    return next((word for word in words if fits(word)), None)


def _whole(node: Node, name_of: NameOf, depth: int) -> Iterator[str]:
    """Yield words that say all that is done with the operands of a node."""

    def word(one: Node) -> str | None:
        return _word(one, name_of, depth)

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


def _form(node: Node) -> str:
    """What is said of a value that is called by one of its operands."""
    match node:
        case Sum(terms=terms):
            minus = any(term.coefficient < 0 for term in terms)
            return "{}_diff" if minus else "{}_sum"
        case Product(inner=inner, factors=factors, constraints=constraints):
            if any(
                isinstance(ref.node, Call) and _inverts(ref.node) for ref in factors
            ):
                return "solved_{}"
            fixed = sum(constraint.kind == "eq" for constraint in constraints)
            if len(inner) > fixed:
                form = "product_{}" if len(factors) > 1 else "{}_sums"
                return form if node.order else "sum_{}"
            if len(factors) > 1:
                return "weighted_{}" if node.order else "{}_term"
            return "padded_{}" if constraints and not inner else ""
        case Map(function=function) if function != "pow":
            return f"{ELEMENTWISE[function].word or function}_{{}}"
        case Call(operator=operator):
            return f"{OPERATORS[operator].word or operator}_{{}}"
        case _:
            return ""


def _inverts(node: Node) -> bool:
    return isinstance(node, Call) and node.operator == "inv"


def _subjects(node: Node, name_of: NameOf, depth: int) -> Iterator[str]:
    """Yield words of what a value is made of, the largest operands first."""
    operands = [one for one in children(node) if one.order >= min(node.order, 1)]
    operands.sort(key=lambda one: (-one.order, isinstance(one, Call)))
    operands = operands[:_MOST_PARTS]
    words = [_word(one, name_of, depth) for one in operands]
    for word in words if not isinstance(node, Map | Call) else ():
        if word is not None and word.count("_") < _PLAIN and not is_partial(word):
            yield word
    for one, word in zip(operands, words, strict=True):
        if word is None and depth:
            inside = isinstance(node, Map | Call) or isinstance(one, Sum)
            form = _form(one) if inside and type(one) is not type(node) else "{}"
            if form:
                yield from map(form.format, _subjects(one, name_of, depth - 1))


def _of_sum(terms: Sequence[Term], word: NameOf) -> Iterator[str]:
    """Terms joined by what is done with them, in the order of the text."""
    text, parts = "", list[str]()
    for term in sorted(
        terms, key=lambda t: (t.coefficient < 0, -t.node.order, -t.node.serial)
    ):
        part = _term(term, word)
        if part is None:
            return
        sign = "minus" if term.coefficient < 0 else "plus"
        if part in parts or is_partial(part):
            return
        parts.append(part)
        text += f"_{sign}_{part}" if text else part
        if not fits(text):
            return
    if len(terms) > 1:
        yield text


def _term(term: Term, word: NameOf) -> str | None:
    """What a term is called, multiples of few kinds included."""
    number = constant_value(term.node)
    size = abs(term.coefficient)
    if number is not None:
        return _NUMBERS.get(int(size * number)) if size * number in _NUMBERS else None
    found = word(term.node)
    form = _MULTIPLES.get(size)
    return form.format(found) if found and form else None


def _of_map(node: Map, word: NameOf) -> Iterator[str]:
    if own := ELEMENTWISE[node.function].word:
        yield own
        return
    arg = word(node.args[0].node)
    if node.function == "pow" and len(node.args) == 2:
        exponent = constant_value(node.args[1].node)
        if exponent is not None and (raised := power_word(arg, exponent)):
            yield raised
    elif arg:
        yield f"{node.function}_{arg}"


def power_word(arg: str | None, exponent: Fraction) -> str | None:
    """What a power of something that has a word is called, squares being powers."""
    if arg and arg.endswith(_SQUARED) and exponent == 2:
        arg, exponent = arg.removesuffix(_SQUARED), Fraction(4)
    form = _POWERS.get(abs(exponent))
    return ("inv_" * (exponent < 0) + form.format(arg)) if arg and form else None


def _of_product(node: Product, word: NameOf) -> Iterator[str]:
    if node.constraints:
        yield from _of_constraints(node, word)
    elif len(node.factors) == 1:
        yield from _of_multiple(node, word)
    elif node.factors and (text := _factors(node, word)):
        yield _MULTIPLES.get(node.coefficient, "scaled_{}").format(text)


def _factors(node: Product, word: NameOf) -> str:
    """What is multiplied, and what it is divided by; nothing if a word lacks.

    Nor is anything said where two factors have one word, as entries of an array may.
    """
    factors = Counter(ref.node for ref in node.factors)
    above: list[str] = []
    below: list[str] = []
    for one in sorted(factors, key=lambda one: -one.order * bool(node.inner)):
        found = word(one)
        if found is None or is_partial(found) or (_is_sum(found) and len(factors) > 1):
            return ""
        divides = isinstance(one, Map) and found.startswith("inv_")
        found = found.removeprefix("inv_" if divides else "product_")
        found = _POWERS.get(factors[one], "{}").format(found)
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
        form = _MULTIPLES.get(node.coefficient, "scaled_{}")
        yield negated(arg) if node.coefficient == -1 else form.format(arg)


def _of_constraints(node: Product, word: NameOf) -> Iterator[str]:
    """Yield words for entries of an operand, or for what puts it somewhere."""
    text = _factors(node, word) if node.factors else ""
    if not text or any(constraint.kind != "eq" for constraint in node.constraints):
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
            form = _placed(node, atoms, own) or form
    yield form.format(text)


def _placed(node: Product, labels: Sequence[int], own: Container[int]) -> str:
    """How to call what a delta puts somewhere; nothing for entries that it takes."""
    new = [label for label in labels if label not in own]
    old = [label for label in labels if label in own]
    if len(new) != 1 or len(old) != 1:
        return ""
    if old[0] < node.order:
        return "diag_{}"
    sizes = node.sizes
    return "padded_{}" * (sizes[new[0]] - sizes[old[0]]).is_positive()


def _moved(node: Product) -> str:
    """What entries are where deltas say from where they come or where they go."""
    tied = [atom for c in node.constraints for atom, _ in c.form.terms]
    lookups = [atom for atom in tied if isinstance(atom, Lookup)]
    if not node.inner:
        return "spread"
    if any(label >= node.order for atom in lookups for label in atom.labels):
        return "scattered"
    return "gathered"


def kind(node: Node) -> str:
    """What kind of value a node is."""
    match node:
        case Map(function=function):
            if function == "pow":
                return "powers"
            return ELEMENTWISE[function].word or f"{function}_values"
        case Sum(terms=terms):
            minus = any(term.coefficient < 0 for term in terms)
            return "difference" if minus else "total"
        case Product():
            if node.constraints:
                return _moved(node)
            if node.inner:
                return "sums" if len(node.factors) == 1 else "product"
            if len(node.factors) <= 1:
                return "scaled"
            return "weighted"
        case Call(operator=operator):
            return OPERATORS[operator].word or operator
        case Iota():
            return "positions"
        case Input(name=name):
            return name
        case Constant() | Size():
            return "value"
        case _:
            assert_never(node)
