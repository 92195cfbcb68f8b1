"""What words for values look like: how long they are, and what they leave open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from tensorgen.ir.nodes import Node


class Entry(NamedTuple):
    """An entry of an array, as a factor of a product that looks through it."""

    array: Node
    place: tuple[int, ...]


NameOf = Callable[[Any], str | None]
"""What the names of other values call a `Node` or an `Entry`, if it has a name."""
LONGEST = 20
LONGER = 24
"""Letters of what says all of a value for which no shorter word says anything."""
_MOST_PARTS = 6

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
    "joined",
)
OF_ONE = ("weighted_", "product_", "scaled_", "solved_")
"""How names start that are made of one operand of several."""
POWERS = {
    Fraction(1, 2): "sqrt_{}",
    1: "{}",
    2: "{}_squared",
    3: "{}_cubed",
    4: "{}_fourth",
    5: "{}_fifth",
    6: "{}_sixth",
}
_SQUARED = "_squared"
ADJOINT, TANGENT, JACOBIAN = "d_{}", "{}_dot", "jac_{}"
"""What derivatives are called after what they are of."""
COMPLEMENT = "one_minus_{}"
TIMES = {"neg_": Fraction(-1), "twice_": Fraction(2), "half_": Fraction(1, 2)}
"""Words for multiples, which are said of what comes after them."""
MULTIPLES = tuple(map(Fraction, ("1", "-1", "2", "1/2", "-2", "-1/2")))
"""What multiples have words, the plainest first."""
NUMBERS = {Fraction(1, 2): "half"} | {
    Fraction(k): word for k, word in enumerate(("one", "two", "three", "four"), 1)
}
TINY = Fraction(1, 100)
"""What numbers are less than that keep others from zero."""


def number_word(number: Fraction) -> str | None:
    """What a positive number is called, whatever keeps it from what it is nearly."""
    if number < TINY:
        return "eps"
    near = (word for k, word in NUMBERS.items() if abs(number - k) < TINY**2)
    return next(near, None)


def fits(word: str, most: int = LONGEST) -> bool:
    """Whether a word is short enough for a name."""
    return letters(word) <= most and word.count("_") < _MOST_PARTS


def letters(word: str) -> int:
    """How long a word is to who reads it."""
    return len(word) - word.count("_")


def multiple(word: str, times: Fraction | int) -> str | None:
    """What a multiple of something that has a word is called, if in plain words."""
    for head, own in TIMES.items():
        if word.startswith(head):
            return multiple(word.removeprefix(head), own * times)
    if times not in MULTIPLES:
        return None
    heads = [head for head, own in TIMES.items() if own in (abs(times), times)]
    sign = "neg_" * (times < -1 or -1 < times < 0)
    return "".join([sign, *heads, word])


def joined(words: Sequence[str]) -> str:
    """What is called that has several values: `p_q_args` has `p_logits`, `q_arg`."""
    heads = [word.removesuffix("_logits").removesuffix("_arg") for word in words]
    if any(head == word for head, word in zip(heads, words, strict=True)):
        heads = list(words)
    more = "_args" * (heads != list(words))
    return "_".join(dict.fromkeys(heads)) + more


def is_derivative(word: str) -> bool:
    """Whether a word says of what a value is the derivative, or its negative."""
    word = word.removeprefix("neg_")
    forms = (form.partition("{}") for form in (ADJOINT, TANGENT, JACOBIAN))
    return any(word.startswith(a) and word.endswith(b) for a, _, b in forms)


def without_derivative(word: str) -> str:
    """What a value is called whose derivative has a word, or another one's number."""
    for form in (ADJOINT, TANGENT, JACOBIAN):
        before, _, after = form.partition("{}")
        if word.startswith(before) and word.endswith(after):
            word = word.removeprefix(before).removesuffix(after)
    stem, _, number = word.rpartition("_")
    return stem if number.isdecimal() else word


def scaled(number: Fraction, word: str) -> str:
    """What a multiple of something that has a word is called."""
    return multiple(word, number) or f"scaled_{word}"


def is_partial(name: str) -> bool:
    """Whether a name tells one of several terms that are added up."""
    return name.endswith(("_sum", "_diff", "_term"))


def is_raised(name: str) -> bool:
    """Whether a name ends with a power."""
    return name.split("_")[-1] in ("squared", "cubed", "fourth", "fifth", "sixth")


def is_generic(name: str) -> bool:
    """Whether a name says of what kind a value is, and no more."""
    return name.split("_")[0] in _GENERIC or "_values" in name


def says_little(name: str) -> bool:
    """Whether a name says of a value no more than its kind, or what one operand is."""
    stem = name.rstrip("_0123456789")
    return is_generic(stem) or is_partial(stem) or stem.startswith(OF_ONE)


def power_word(arg: str | None, exponent: Fraction) -> str | None:
    """What a power of something that has a word is called, squares being powers."""
    if arg and arg.endswith(_SQUARED) and exponent == 2:
        arg, exponent = arg.removesuffix(_SQUARED), Fraction(4)
    form = POWERS.get(abs(exponent))
    return ("inv_" * (exponent < 0) + form.format(arg)) if arg and form else None
