"""The text of an expression as a Python syntax tree that keeps its places.

Python's parser reads the text and nothing ever runs it. What Python's grammar allows
and the language does not is left to the elaboration, which accepts a list of node
kinds; what Python's parser cannot read is explained here.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction

from tensorgen.errors import Faults, Span, Text
from tensorgen.lang.foreign_signs import TRANSPOSE, find_slip, written_sign

LONGEST = 100_000
DEEPEST = 80
# float64 ends near 1e308; beyond that a decimal would only fill memory.
_LARGEST_EXPONENT = 400
_MOST_DIGITS = 1000
_EXPONENT = re.compile(r"[eE]([+-]?\d+)$")
_RANGE = re.compile(r"(?<=\w)\s*(?<![=<>!:])(=)\s*range\s*\(")
_CLOSING = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Expression:
    """A parsed text."""

    text: Text
    tree: ast.expr

    def _offsets(self, tree: ast.AST) -> tuple[int, int]:
        return _range(self.text.value, tree)

    def span(self, tree: ast.AST) -> Span:
        """Where a part of the expression stands in the file."""
        return self.text.span(*self._offsets(tree))

    def first(self, tree: ast.AST, name: str) -> Text:
        """The name that a part begins with, in its place: k of `k=range(5)`."""
        start, _ = self._offsets(tree)
        return self.text.slice(start, start + len(name))

    def last(self, tree: ast.AST, name: str) -> Text:
        """The name that a part ends with, in its place: loss of `f.loss`."""
        _, end = self._offsets(tree)
        return self.text.slice(end - len(name), end)

    def source(self, tree: ast.AST) -> str:
        """The text of a part, in one line and shortened."""
        start, end = self._offsets(tree)
        text = " ".join(self.text.value[start:end].split())
        return text if len(text) <= 40 else text[:37] + "..."

    def operator(self, left: ast.AST, right: ast.AST, sign: str) -> Span:
        """Where the operator between two operands stands."""
        begin, end = self._offsets(left)[1], self._offsets(right)[0]
        at = self.text.value.find(sign, begin, end)
        return self.text.span(at, at + len(sign)) if at >= 0 else self.span(right)

    def number(self, tree: ast.Constant) -> Fraction | None:
        """The exact value of a number as it is written, None if nothing holds it."""
        start, end = self._offsets(tree)
        written = self.text.value[start:end].replace("_", "")
        if isinstance(tree.value, int):
            return Fraction(tree.value)
        if tree.value == math.inf:
            return None
        exponent = _EXPONENT.search(written)
        if len(written) > _MOST_DIGITS:
            return None
        if exponent and abs(int(exponent[1])) > _LARGEST_EXPONENT:
            return None
        return Fraction(written)


def names_in(tree: ast.AST) -> set[str]:
    """Return the names that a part mentions."""
    return {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}


def places_of(tree: ast.Subscript) -> list[ast.expr]:
    """Return what stands between brackets, place by place."""
    whole = tree.slice
    return list(whole.elts) if isinstance(whole, ast.Tuple) else [whole]


def with_places(
    tree: ast.Subscript, base: ast.expr, places: Sequence[ast.expr]
) -> ast.Subscript:
    """Return other brackets behind another part, which stand where `tree` does."""
    whole = places[0] if len(places) == 1 else ast.Tuple([*places], ast.Load())
    made = ast.Subscript(base, ast.copy_location(whole, tree.slice), ast.Load())
    return ast.copy_location(made, tree)


def _range(text: str, tree: ast.AST) -> tuple[int, int]:
    """The first and last offset of a node in the text that `parse` wrapped."""
    lines = text.split("\n")

    def offset(line: int, column: int) -> int:
        # Line 1 is the parenthesis that `parse` adds; columns count UTF-8 bytes.
        row = line - 2
        if not 0 <= row < len(lines):
            return 0 if row < 0 else len(text)
        before = sum(len(earlier) + 1 for earlier in lines[:row])
        if lines[row].isascii():
            return before + min(column, len(lines[row]))
        encoded = lines[row].encode("utf-8", "replace")[:column]
        return before + len(encoded.decode("utf-8", "replace"))

    assert isinstance(tree, ast.expr | ast.keyword)
    end_line, end_column = tree.end_lineno, tree.end_col_offset
    start = offset(tree.lineno, tree.col_offset)
    if end_line is None or end_column is None:
        return start, start
    return start, offset(end_line, end_column)


def parse(text: Text, faults: Faults) -> Expression | None:
    """Return the syntax tree of an expression, or None with faults reported."""
    value = text.value
    if not value.strip():
        faults.add("an expression is missing", text.span())
        return None
    if len(value) > LONGEST:
        faults.add(
            f"an expression is longer than {LONGEST} characters", text.span(0, 1)
        )
        return None
    if not _scanned(text, faults):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _tree(value)
    except SyntaxError as error:
        _explain(text, error, faults)
        return None
    except (RecursionError, MemoryError, ValueError):
        faults.add("the expression is nested too deeply or too long", text.span(0, 1))
        return None
    if isinstance(tree, ast.Tuple) and not tree.elts and tree.lineno == 1:
        # The parentheses around a comment alone.
        faults.add("an expression is missing", text.span())
        return None
    return Expression(text, tree)


def _tree(value: str) -> ast.expr:
    """Return what Python's parser reads, or reads where all ranges stand last.

    An index has its range by name, so that nothing depends on what stands behind it,
    which Python refuses all the same.
    """
    try:
        return _python(value)
    except SyntaxError as error:
        starts = [match.start(1) for match in _RANGE.finditer(value)]
        if "positional argument follows keyword" not in (error.msg or "") or not starts:
            raise
        # `k<range(n)` for `k=range(n)`: as long, and nobody compares a range.
        other = "".join("<" if at in starts else c for at, c in enumerate(value))
        tree = _python(other)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            ranges = [part for part in call.args if _is_stated(part)]
            call.args = [part for part in call.args if part not in ranges]
            call.keywords = [*map(_keyword, ranges), *call.keywords]
    return tree


def _python(value: str) -> ast.expr:
    # Inside parentheses an expression may go on over line breaks.
    return ast.parse(f"(\n{value}\n)", mode="eval").body


def _is_stated(tree: ast.expr) -> bool:
    """Whether a part says `k<range(...)`."""
    match tree:
        case ast.Compare(
            left=ast.Name(),
            ops=[ast.Lt()],
            comparators=[ast.Call(func=ast.Name(id="range"))],
        ):
            return True
    return False


def _keyword(tree: ast.expr) -> ast.keyword:
    assert isinstance(tree, ast.Compare) and isinstance(tree.left, ast.Name)
    made = ast.keyword(tree.left.id, tree.comparators[0])
    return ast.copy_location(made, tree)


def _scanned(text: Text, faults: Faults) -> bool:
    """Look for what has an explanation of its own: characters, brackets, `=`."""
    opened: list[tuple[str, int]] = []
    quote = ""
    value = text.value
    for at, char in enumerate(value):
        place = text.span(at, at + 1)
        if quote:
            quote = "" if char == quote or (char, quote) == ("\n", "#") else quote
        elif char == "#" or char in "\"'":
            quote = char
        elif char in "([{":
            opened.append((char, at))
            if len(opened) > DEEPEST:
                faults.add("the expression is nested too deeply", place)
                return False
        elif char in _CLOSING:
            if not opened or opened[-1][0] != _CLOSING[char]:
                marks = [(place, "")]
                if opened:
                    first = text.span(opened[-1][1], opened[-1][1] + 1)
                    marks.append((first, "opened here"))
                faults.add(f"'{char}' closes nothing", place, marks=marks)
                return False
            opened.pop()
        elif char == "=" and not opened and _is_assignment(value, at):
            hint = "'==' compares; a name is defined on a line of its own under 'where'"
            faults.add("'=' cannot be used in an expression", place, hint=hint)
            return False
        elif not (char.isascii() and (char.isprintable() or char in "\n\t")):
            hint = written_sign(value, at)
            faults.add(f"'{char}' cannot be used in an expression", place, hint=hint)
            return False
    if opened or quote not in ("", "#"):
        at = opened[-1][1] if opened else value.rindex(quote)
        transposed = value[at] == "'" and value[:at].rstrip()[-1:].isalnum()
        faults.add(
            f"'{value[at]}' is never closed",
            text.span(at, at + 1),
            hint=TRANSPOSE if transposed else None,
        )
        return False
    return True


def _is_assignment(value: str, at: int) -> bool:
    before = value[at - 1] if at else " "
    return before not in "=<>!:" and value[at + 1 : at + 2] != "="


def _explain(text: Text, error: SyntaxError, faults: Faults) -> None:
    """Report what Python's parser stumbled over."""
    lines = text.value.split("\n")
    row = (error.lineno or 2) - 2
    place = len(text.value.rstrip())
    if 0 <= row < len(lines):
        before = sum(len(line) + 1 for line in lines[:row])
        place = min(before + max((error.offset or 1) - 1, 0), place)
    said = error.msg or ""
    hint = None
    message = "the expression cannot be read from here on"
    if place >= len(text.value.rstrip()):
        message = "the expression ends too early"
    elif "positional argument follows keyword" in said:
        message = "a positional argument follows a named one"
        hint = "named arguments such as axis=0 and k=range(5) come last"
    elif "comma" in said:
        hint = "is an operator or a comma missing?"
    elif "leading zeros" in said or "decimal literal" in said:
        message = "this number cannot be read"
    elif "too many" in said or "Exceeds the limit" in said:
        message = "the expression is nested too deeply, or a number is too long"
    # Python marks all of what misses a comma, and the last digit of a bad number.
    end = place + max((error.end_offset or 0) - (error.offset or 0), 1) + 1
    slip = find_slip(text.value, end)
    if slip is not None:
        place, hint = slip
    elif text.value[place : place + 1] == "\\" or "line continuation" in said:
        hint = "solve(A, b) solves A @ x = b"
    faults.add(message, text.span(place, place + 1), hint=hint)


# Texts in which something stands in the place of names


class _Replaced(ast.NodeTransformer):
    """Puts parts in the places of names, wherever these stand."""

    def __init__(self, parts: Mapping[str, ast.expr | str]) -> None:
        self.parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self.parts.get(node.id)
        if isinstance(part, str):
            return parsed(part, node)
        return node if part is None else deepcopy(part)


def parsed(text: str, place: ast.expr) -> ast.expr:
    """Return the tree of a text that is in no file: it stands where another does."""
    tree = ast.parse(text, mode="eval").body
    for part in ast.walk(tree):
        ast.copy_location(part, place)
    return tree


def with_parts(tree: ast.expr, parts: Mapping[str, ast.expr | str]) -> ast.expr:
    """Return a tree with parts in the places of names."""
    found: ast.expr = _Replaced(parts).visit(deepcopy(tree))
    return found


def with_index(body: Expression, old: str, new: str | int) -> Expression:
    """Return an expression with an index or a number in place of an index."""
    if old == new:
        return body
    return replace(body, tree=with_parts(body.tree, {old: str(new)}))
