"""Printed formulas as the spec language has them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

_SUM = re.compile(r"\bsum_(?:([\w,]+)|\{([\w,]+): ([^{}]*)\}) ")
ELSEWHERE, OUTSIDE = ", else 0", ", terms out of range 0"
_CALL = re.compile(r"\b(max|min|logsumexp|norm|softmax)_(\w)\(")
_INDICATOR = re.compile(r"(?<![\w\]])\[([^\[\]]* <= [^\[\]]*)\]")


def equations(docstring: str) -> list[tuple[str, str]]:
    """The sides of the equations that a docstring starts with, parts before wholes.

    Every index runs over the entries of `x`, whatever else it stands at.
    """
    block = textwrap.dedent(docstring.split("\n\n")[1])
    lines = re.sub(r"\n +", " ", block).split("\n")
    sides = [line.removeprefix("where ").partition(" = ") for line in lines]
    # The function's own text stands before, where it is told for the first time.
    if re.fullmatch(r"f\d*", sides[0][0]):
        del sides[0]
    found = {left.partition("[")[0]: (left, right) for left, _, right in sides}
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        for other in re.findall(r"\bT\d+\b", found[name][1]):
            visit(other)
        order[name] = None

    for name in found:
        visit(name)
    return [_ranged(*found[name]) for name in order]


def _ranged(left: str, right: str) -> tuple[str, str]:
    if right.endswith(OUTSIDE):
        letters = re.findall(r"\b\w(?=[],])", left)
        right = _in_range(right.removesuffix(OUTSIDE), letters)
    if right.endswith(ELSEWHERE):
        left, right = _everywhere(left, right.removesuffix(ELSEWHERE))
    ones = [f" * x[{index}]**0" for index in re.findall(r"\b\w(?=[],])", left)]
    return left, f"({readable(right)})" + "".join(ones)


def _in_range(text: str, letters: Sequence[str]) -> str:
    """The same with each term as a sum over places, which are those in range."""
    terms, start = [""], 0
    while start < len(text):
        end = _end_of_term(text, start)
        terms[-1] += text[start:end]
        if end < len(text):
            terms.append(text[end : end + 3])
        start = end + 3
    found = ""
    for term in terms:
        sign, body = (term[:3], term[3:]) if term[:1] == " " else ("", term)
        for letter in letters:
            if re.search(rf"\b{letter} [-+] ", body):
                free = re.sub(rf"\b{letter}\b", "z", body)
                body = f"sum({readable(free)}, z, z == {letter})"
        found += f"{sign}({readable(body)})"
    return found


def _end_of_term(text: str, start: int) -> int:
    """Where the sign of the next term of a sum stands, or the text ends."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 and re.match(r" [-+] ", text[at:]):
            return at
    return len(text)


def _everywhere(left: str, right: str) -> tuple[str, str]:
    """The same of all entries, where some are told and others are zero."""
    name, indices = left.removesuffix("]").split("[")
    told, taken = indices.split(", "), re.findall(r"\w+", left + right)
    fresh = (x for x in "ijklmnpqrstuvw" if x not in taken)
    places = [x if x in told[:k] or " " in x else "" for k, x in enumerate(told)]
    own = [next(fresh) if place else x for place, x in zip(places, told, strict=True)]
    deltas = [f" * delta({x}, {y})" for x, y in zip(places, own, strict=True) if x]
    return f"{name}[{', '.join(own)}]", f"({right}){''.join(deltas)}"


def readable(text: str) -> str:
    """Write sums, reductions, deltas and indicators as calls."""
    while found := _SUM.search(text):
        end = _end_of_product(text, found.end())
        inside = text[found.end() : end]
        letters, conditions = found[1] or found[2], found[3]
        bound = [_bound(index, inside) for index in letters.split(",")]
        bound += conditions.split(", ") if conditions else []
        whole = f"sum({inside}, {', '.join(bound)})"
        text = text[: found.start()] + whole + text[end:]
    while found := _CALL.search(text):
        end = _closing(text, found.end())
        inside, index = text[found.end() : end], found[2]
        whole = f"{found[1]}({inside}, {index})"
        if found[1] == "softmax":
            total = re.sub(rf"\b{index}\b", "q", inside)
            whole = f"(exp({inside}) / sum(exp({total}), q))"
        text = text[: found.start()] + whole + text[end + 1 :]
    text = re.sub(r"\bdelta\[([^\[\]]*)\]", r"delta(\1)", text)
    text = re.sub(r"\bstep\(", "heaviside(", text)
    return _INDICATOR.sub(r"where(\1, 1, 0)", text)


def _bound(index: str, text: str) -> str:
    """A summed index, with a range where it stands at no array."""
    at = re.search(rf"(?<!delta)(?<=\w)\[[^\[\]]*\b{index}\b", text)
    return index if at else f"{index}=range(n)"


def _end_of_product(text: str, start: int) -> int:
    """Where the product ends that the sign of a sum stands before."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([") - (text[at] in ")]")
        ends = text[at] == "," or re.match(r" ([-+<>]|[=!<>]=) ", text[at:])
        if depth < 0 or (depth == 0 and ends):
            return at
    return len(text)


def _closing(text: str, start: int) -> int:
    """Where the parenthesis closes that was opened before `start`."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return at
    raise ValueError(text)
