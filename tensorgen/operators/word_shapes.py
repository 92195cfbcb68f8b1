"""What words for values look like: how long they are, and what they leave open."""

from __future__ import annotations

from fractions import Fraction

LONGEST = 20
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
MULTIPLES = {
    1: "{}",
    2: "twice_{}",
    Fraction(1, 2): "half_{}",
    -1: "neg_{}",
    -2: "neg_twice_{}",
    Fraction(-1, 2): "neg_half_{}",
}
NUMBERS = {1: "one", 2: "two", 3: "three"}


def fits(word: str) -> bool:
    """Whether a word is short enough for a name."""
    return letters(word) <= LONGEST and word.count("_") < _MOST_PARTS


def letters(word: str) -> int:
    """How long a word is to who reads it."""
    return len(word) - word.count("_")


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
    return is_generic(stem) or is_partial(stem) or stem.startswith(OF_ONE)


def power_word(arg: str | None, exponent: Fraction) -> str | None:
    """What a power of something that has a word is called, squares being powers."""
    if arg and arg.endswith(_SQUARED) and exponent == 2:
        arg, exponent = arg.removesuffix(_SQUARED), Fraction(4)
    form = POWERS.get(abs(exponent))
    return ("inv_" * (exponent < 0) + form.format(arg)) if arg and form else None
