"""What it takes to read an expression, as a printer would write it."""

from __future__ import annotations

import re

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.operations import (
    Add,
    Concatenate,
    Expand,
    Index,
    Multiply,
    Permute,
    Variable,
)
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.templates import Level

LONGEST = 66
"""Characters of an expression, beyond which its longest part gets a name."""
LINE = 84
"""Characters of a statement that stands in a function, which is indented."""
LONGEST_NESTED = 52
"""The same where parentheses stand within parentheses, `DEEPEST` deep."""
DEEPEST = 2
ROW = 78
"""Characters of an expression that has a line of its own, between parentheses."""
MOST_TERMS = 6
"""Terms that a reader takes in at a glance where each has a line of its own."""
LONGEST_BESIDE = 36
"""Characters of what stands around a sum whose terms have lines of their own."""
WORD = 10
"""Characters of a name that is not an abbreviation, on the average."""

_PRINTER = Printer("np")
_ANY_NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?![\w(=])")
_NAME = re.compile(r"(?<![\w.])[^\W\d]\w{3,}(?![\w(=])")


def length(one: Array, words: bool = False) -> int:
    """How many characters an expression takes, in a library with a short name.

    With `words` all names that are words count alike.
    """
    return len(_read(one, words))


def _read(one: Array, words: bool) -> str:
    text = _PRINTER.text(one)
    return _NAME.sub("x" * WORD, text) if words else text


def text_without_names(one: Array) -> str:
    """An expression in which all names are one."""
    return _ANY_NAME.sub("x", _PRINTER.text(one))


def binding(one: Array) -> Level:
    """How tightly the outermost operation of an expression binds."""
    return _PRINTER.written(one).level


def transposes(one: Array) -> int:
    """What the transposes in an expression cost a reader, more so those of terms."""
    found = one.memo.get(transposes)
    if not isinstance(found, int):
        found = sum(map(transposes, one.args))
        if isinstance(one.op, Permute):
            plain = isinstance(one.args[0].op, Variable | Index | Expand)
            reverse = one.op.axes == tuple(reversed(range(one.order)))
            found += 1 if plain and reverse else 2
        one.memo[transposes] = found
    return found


def is_long(
    one: Array,
    longest: int = LONGEST,
    words: bool = False,
    nested: int = LONGEST_NESTED,
) -> bool:
    """Whether an expression takes too much, or much for parentheses within parentheses.

    Those of calls and subscripts do not count: they read from the left.
    """
    text = _read(one, words)
    depth = deepest = 0
    nest: list[bool] = []
    for k, character in enumerate(text):
        if character in "([":
            before = text[k - 1] if k else " "
            nest.append(character == "(" and not (before.isalnum() or before in "_])"))
            depth += nest[-1]
            deepest = max(deepest, depth)
        elif character in ")]":
            depth -= nest.pop()
    return len(text) > (longest if deepest < DEEPEST else nested)


def rows(one: Array) -> int:
    """How many lines an expression takes, the terms of a long sum one each."""
    if not is_long(one, words=True):
        return 1
    if not is_long(one, ROW, words=True, nested=ROW):
        return 3  # of its own, between parentheses
    inner = [one] if isinstance(one.op, Add) else one.args
    return 2 + sum(len(arg.args) for arg in inner if isinstance(arg.op, Add))


def is_laid_out(one: Array) -> bool:
    """Whether an expression reads well in several lines: as terms, a line each.

    They may stand in an expression that is short but for them. What has room in a line
    of its own is one. So are the parts of what is put together.
    """
    if not is_long(one, ROW, words=True, nested=LONGEST):
        return True
    if isinstance(one.op, Concatenate):
        long = any(is_long(x, words=True, nested=LONGEST) for x in one.args)
        return len(one.args) <= MOST_TERMS and not long
    return _is_of_terms(one, LONGEST_BESIDE)


def _is_of_terms(one: Array, beside: int) -> bool:
    """Whether few terms with room are all but so many characters of an expression."""
    if isinstance(one.op, Add):
        return len(one.args) <= MOST_TERMS and not any(
            is_long(x, ROW, words=True, nested=LONGEST) or _is_multiple(x)
            for x in one.args
        )
    longest = max(one.args, key=lambda arg: length(arg, words=True), default=one)
    left = beside + length(longest, words=True) - length(one, words=True)
    return one is not longest and left >= 0 and _is_of_terms(longest, left)


def _is_multiple(one: Array) -> bool:
    """Whether a product is multiplied by a number: with no name, a factor would be."""
    op = one.op
    if not isinstance(op, Multiply) or len(one.args) > 1 or abs(op.coefficient) == 1:
        return False
    return isinstance(one.args[0].op, Multiply)
