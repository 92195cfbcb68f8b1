"""The layout of generated modules, which is black's.

Most statements are printed as black would have them. It is given the others, one by
one, for it takes its time with whatever it is given: those that are too long for a
line, and those of which some spelling is not black's.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from tensorgen.emit.seal import sealed
from tensorgen.emit.text import WIDTH
from tensorgen.errors import InternalError


def finished(source: str, inputs: str, tell: Callable[[], None] = lambda: None) -> str:
    """Return a module's source laid out and sealed, with the checksum of its inputs.

    One of many functions takes its time: each is told of before.
    """
    parts = []
    for part in _definitions(source):
        tell()
        parts.append(layout(*part))
    # Two empty lines, as there are around what stands at the margin.
    return sealed("\n\n".join(parts), inputs)


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of generated code."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise InternalError(f"a generated module is no Python: {error}") from error


class _Part(NamedTuple):
    """A part of a source: its text and statements, and how many lines are above it."""

    text: str
    body: list[ast.stmt]
    above: int


def _definitions(source: str) -> Iterator[_Part]:
    """Cut a source before the functions and classes that an empty line sets apart.

    What is none of them is cut off from those that it stands behind.
    """
    lines = source.split("\n")
    cuts = [0]
    bodies: list[list[ast.stmt]] = [[]]
    before: ast.stmt | None = None
    for node in parsed(source).body:
        above = node.lineno - 1
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            above = min(d.lineno for d in (node, *node.decorator_list)) - 1
        elif not isinstance(before, ast.FunctionDef | ast.ClassDef):
            above = 0
        if above and not lines[above - 1].strip():
            cuts.append(above)
            bodies.append([])
        bodies[-1].append(node)
        before = node
    for body, (start, end) in zip(bodies, pairwise([*cuts, len(lines)]), strict=True):
        # Without empty lines around it, what is laid out already is formatted once.
        while start < end and not lines[start]:
            start += 1
        yield _Part("\n".join(lines[start:end]).rstrip("\n") + "\n", body, start)


_SPELT_OTHERWISE = re.compile(
    r"""
    \w\*\w                      # a * b
    | -[\w.]+\*\*                # -(a**b)
    | \w,[ ]=[ ] | [ ]=[ ]\w+,$  # (a,) = ..., ... = (a,)
    | :[\w.]+[ ]?[-+*/(\[]        # x[a : b + c]
    | [-+*/][ ][\w.]+: | [)\]]:[^ ] | [)\]]:$(?<!\):)
    | :\w+\. | \.\w+:
    """,
    re.X,
)
"""What stands in a statement that black spells in another way."""


_IN_BRACKETS = re.compile(r"[\w)\]]\[$", re.M)
"""A line that ends within the brackets of a place: `... + cos_angle[`."""


class _Span(NamedTuple):
    """The lines of a statement, or of what stands above a body."""

    start: int
    end: int
    is_head: bool


def layout(source: str, body: list[ast.stmt] | None = None, above: int = 0) -> str:
    """Return the source as black lays it out, the same for all its versions.

    What is parsed already is a `body`, with so many lines `above` it.
    """
    lines = [line.rstrip() for line in source.split("\n")]
    body = parsed(source).body if body is None else body
    for span in reversed([*_spans(body, lines, above)]):
        own = lines[span.start : span.end]
        if len(own) > 1 or len(own[0]) > WIDTH or _SPELT_OTHERWISE.search(own[0]):
            lines[span.start : span.end] = _statement(own, span.is_head)
    return "\n".join(lines)


def _spans(body: list[ast.stmt], lines: list[str], above: int) -> Iterator[_Span]:
    """The statements of a body and of the bodies in it, in order, but for texts."""
    for node in body:
        start, end = node.lineno - 1 - above, (node.end_lineno or node.lineno) - above
        inner = [part for part in _bodies(node) if part]
        if inner and inner[0][0].lineno > node.lineno:
            head = start + 1
            while not lines[head - 1].partition("  #")[0].endswith(":"):
                head += 1
            yield _Span(start, head, True)
            for part in inner:
                yield from _spans(part, lines, above)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield _Span(start, end, False)


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The bodies of a statement; those of exceptions too."""
    for name in ("body", "handlers", "orelse", "finalbody"):
        found = getattr(node, name, None) or ()
        if name == "handlers":
            for handler in found:
                yield from _bodies(handler)
        elif isinstance(found, list):
            yield found


def _statement(lines: list[str], is_head: bool) -> list[str]:
    """The lines of one statement at its depth."""
    first = lines[0].lstrip()
    depth = len(lines[0]) - len(first)
    text = "\n".join(line[depth:] for line in lines)
    # It has other words before the condition, which takes as much of the line.
    spelt = text.replace("elif ", "  if ", 1) if first.startswith("elif ") else text
    shift = len(spelt) - len(spelt.lstrip())
    body = "\n    pass" * is_head
    room = WIDTH - depth - shift
    source = spelt.lstrip() + body + "\n"
    found = _laid_out(source, room)
    if _IN_BRACKETS.search(found) and source.isascii() and not is_head:
        others = [_laid_out(turned, room) for turned in _turned(source)]
        found = min([found, *others], key=_count_in_brackets)
    made = found.rstrip("\n").split("\n")[: -1 if is_head else None]
    if shift:
        made[0] = "el" + made[0]
    return [" " * depth + line if line else line for line in made]


def _count_in_brackets(source: str) -> int:
    return len(_IN_BRACKETS.findall(source))


def _turned(source: str) -> Iterator[str]:
    """Yield a statement with two terms or two factors the other way around.

    Either way it is the same to the last bit. Black breaks one line between the two,
    and the other, which a bracket opens, within the brackets of a place.
    """
    node = getattr(parsed(source).body[0], "value", None)
    while isinstance(node, ast.BinOp):
        one, op = node.left, node.op
        # Three are added in their order.
        of_two = not isinstance(one, ast.BinOp) or not isinstance(op, type(one.op))
        if isinstance(op, ast.Add | ast.Mult) and of_two:
            start, between = _place(source, node)[0], _place(source, one)[1]
            sign, end = "+*"[isinstance(op, ast.Mult)], _place(source, node)[1]
            at = source.index(sign, between)
            first, second = source[start:at].strip(), source[at + 1 : end].strip()
            yield f"{source[:start]}{second} {sign} {first}{source[end:]}"
        node = one if isinstance(op, ast.Add | ast.Sub) else None


def _place(source: str, node: ast.expr) -> tuple[int, int]:
    """Where an expression begins in a source and where it ends, in characters."""
    lines = [*accumulate((len(x) for x in source.splitlines(True)), initial=0)]
    start = lines[node.lineno - 1] + node.col_offset
    return start, lines[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)


@lru_cache(maxsize=1 << 12)
def _laid_out(source: str, width: int) -> str:
    import black
    from black.mode import TargetVersion

    try:
        # Named, not guessed from what a part of a module happens to use.
        versions = {TargetVersion.PY311}
        mode = black.Mode(line_length=width, target_versions=versions)
        return black.format_str(source, mode=mode)
    except ValueError as error:
        raise InternalError(f"a generated module is no Python: {error}") from error
