"""What a value is, in words: its operands' names, and what is done with them.

A word that says all of it comes first, then words that say part of it, for where the
first is too long or taken, and last the kind of value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

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
    children,
    constant_value,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.recurrences.recurrence import made_in_steps
from tensorgen.operators.sum_words import is_joined
from tensorgen.operators.whole_words import function_word, placed, whole, word_of
from tensorgen.operators.word_shapes import (
    LONGER,
    LONGEST,
    OF_ONE,
    NameOf,
    fits,
    is_derivative,
    is_partial,
    power_word,
    says_little,
)

_MOST_SUBJECTS = 6
_PLAIN = 3
"""Parts of a word that stands for a value of which it is but one operand."""
SUMS = "{}_sums"
"""What sums along axes are called."""
PLACED = ("eye", "one_hot")
"""Words of matrices that say where others stand, and nothing of what they are."""
DEEPEST = 3
"""Values without a name inside of each other that a word tells of."""


def describe(node: Node, name_of: NameOf, derived: str | None = None) -> list[str]:
    """Words for what a node is, in the names of its operands; the best comes first.

    A derivative is called after what it is `derived` of where no word says all of it,
    or none as short.
    """
    told = [derived] if derived else []
    found = [*whole(node, name_of, DEEPEST)]
    short = next((len(word) for word in found if fits(word)), LONGEST)
    first = derived and is_derivative(derived) and len(derived) < short
    found = [*told, *found] if first else [*found, *told]
    for most in (LONGEST, LONGER):
        words = [word for word in found if fits(word, most)]
        if any(not says_little(word) for word in words):
            return list(dict.fromkeys(words))  # with a number rather than by a part
    form = _form(node)
    told_of = _subjects(node, name_of, DEEPEST) if form else iter(())
    if form == SUMS:  # of one of the terms alone
        told_of = (word for word in told_of if not is_partial(word))
    parts = [word if form == _form_of(word) else form.format(word) for word in told_of]
    return [x for x in dict.fromkeys([*words, *parts, kind(node)]) if fits(x)]


def _form(node: Node) -> str:
    """What is said of a value that is called by one of its operands."""
    match node:
        case Sum(terms=terms):
            if is_joined(terms):
                return "joined_{}"
            minus = any(term.coefficient < 0 for term in terms)
            return "{}_diff" if minus else "{}_sum"
        case Product(inner=inner, factors=factors, constraints=constraints):
            if any(
                isinstance(ref.node, Call) and _inverts(ref.node) for ref in factors
            ):
                return "solved_{}"
            if index := _key(node):
                return f"weighted_{{}}_by_{index}" if len(factors) > 1 else SUMS
            fixed = sum(constraint.kind == "eq" for constraint in constraints)
            if len(inner) > fixed:
                if len(factors) > 1:
                    return "product_{}"
                return SUMS if node.order else "sum_{}"
            if len(factors) > 1:
                return "weighted_{}" if node.order else "{}_term"
            return "weighted_{}" if constraints and not inner else ""
        case Map(function="where"):
            return "masked_{}"
        case Map(function="pow", args=(_, exponent)):
            power = constant_value(exponent.node)
            return (power is not None and power_word("{}", power)) or ""
        case Map(function=function):
            return f"{ELEMENTWISE[function].word or function}_{{}}"
        case Call(operator=operator):
            word = OPERATORS[operator].word or operator
            return "" if made_in_steps(node) else f"{word}_{{}}"
        case _:
            return ""


def _divides(node: Node) -> bool:
    """Whether a factor is one over something."""
    if not isinstance(node, Map) or node.function != "pow":
        return False
    exponent = constant_value(node.args[1].node)
    return exponent is not None and exponent < 0


def _inverts(node: Node) -> bool:
    return isinstance(node, Call) and node.operator == "inv"


def _subjects(node: Node, name_of: NameOf, depth: int) -> Iterator[str]:
    """Yield words of what a value is made of, the largest operands first."""
    operands = [one for one in _operands(node) if one.order >= min(node.order, 1)]
    operands.sort(key=lambda one: (-one.order, isinstance(one, Call)))
    operands = operands[:_MOST_SUBJECTS]
    words = [word_of(one, name_of, depth) for one in operands]
    for word in words if not isinstance(node, Map | Call) else ():
        plain = word is not None and word.count("_") < _PLAIN
        if word and plain and not is_partial(word) and word not in PLACED:
            yield word
    for one, word in zip(operands, words, strict=True):
        if word is None and depth:
            # Factors of a factor are factors of the product, but where it is alone.
            alone = isinstance(node, Product) and len(node.factors) == 1
            inside = isinstance(node, Map | Call) or isinstance(one, Sum) or alone
            same = type(one) is type(node) and not alone
            form = _form(one) if inside and not same else "{}"
            if form:
                yield from map(form.format, _subjects(one, name_of, depth - 1))


def _form_of(word: str) -> str:
    return next((f"{head}{{}}" for head in OF_ONE if word.startswith(head)), "")


def _operands(node: Node) -> list[Node]:
    """What values are made of: no index arrays, nor conditions."""
    match node:
        case Product(factors=factors):
            return list(dict.fromkeys(ref.node for ref in factors))
        case Map(function="where", args=args):
            return list(dict.fromkeys(ref.node for ref in args[1:]))
        case _:
            return list(children(node))


def _key(node: Product) -> str:
    """The name of the index array by which a product adds up; nothing if none."""
    atoms = [atom for c in node.constraints for atom, _ in c.form.terms]
    keys = (
        children(atom.node)[0] if len(children(atom.node)) == 1 else atom.node
        for atom in atoms
        if isinstance(atom, Lookup)
        if any(label >= node.order for label in atom.labels)
    )
    names = (key.name for key in keys if isinstance(key, Input))
    return next((name for name in names if name.isidentifier()), "")


def _moved(node: Product) -> str:
    """What entries are where deltas say from where they come or where they go."""
    tied = [atom for c in node.constraints for atom, _ in c.form.terms]
    lookups = [atom for atom in tied if isinstance(atom, Lookup)]
    if not node.factors:
        return "mask" if any(c.kind == "ge" for c in node.constraints) else "eye"
    if not node.inner:
        return "spread"
    if index := _key(node):
        return f"sums_by_{index}"
    if any(label >= node.order for atom in lookups for label in atom.labels):
        return "scattered"
    if lookups:
        return "gathered"
    own = {label for ref in node.factors for label in ref.labels}
    for c in node.constraints:
        if placed(node, [x for x, _ in c.form.terms if isinstance(x, int)], own):
            return "padded"
    return "weighted" if len(node.factors) > 1 else "scaled"


def kind(node: Node) -> str:
    """What kind of value a node is."""
    match node:
        case Map(function=function):
            if function in ("pow", "where"):
                return "powers" if function == "pow" else "masked"
            word = function_word(function)
            return word if ELEMENTWISE[function].word else f"{word}_values"
        case Sum(terms=terms):
            if is_joined(terms):
                return "joined"
            minus = any(term.coefficient < 0 for term in terms)
            return "difference" if minus else "total"
        case Product():
            if node.constraints:
                return _moved(node)
            if node.inner:
                return "sums" if len(node.factors) == 1 else "product"
            if len(node.factors) <= 1:
                return "scaled"
            return (
                "ratio" if any(_divides(x.node) for x in node.factors) else "weighted"
            )
        case Call(operator=operator):
            own = made_in_steps(node)
            if own:  # of sums and products there are many
                return kind(own) if isinstance(own, Map) else "kept"
            return OPERATORS[operator].word or operator
        case Iota():
            return "positions"
        case Input(name=name):
            return name
        case Constant() | Size():
            return "value"
        case _:
            assert_never(node)
