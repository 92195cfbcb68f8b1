"""The layout of generated modules, which is black's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

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
        parts.append(layout(part))
    # Two empty lines, as there are around what stands at the margin.
    return sealed("\n\n".join(parts), inputs)


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of generated code."""
    try:
        return ast.parse(source)
    except SyntaxError as error:
        raise InternalError(f"a generated module is no Python: {error}") from error


def _definitions(source: str) -> Iterator[str]:
    """Cut a source before the functions and classes that an empty line sets apart."""
    lines = source.split("\n")
    cuts = [0]
    for node in parsed(source).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            above = min(d.lineno for d in (node, *node.decorator_list)) - 1
            if above and not lines[above - 1].strip():
                cuts.append(above)
    for start, end in pairwise([*cuts, len(lines)]):
        # Without empty lines around it, what is laid out already is formatted once.
        yield "\n".join(lines[start:end]).strip("\n") + "\n"


def layout(source: str) -> str:
    """Return the source as black lays it out, the same for all its versions."""
    return _laid_out(source)


# Most definitions of a module are those of the frame, which modules have in common.
@lru_cache(maxsize=1 << 10)
def _laid_out(source: str) -> str:
    import black
    from black.mode import TargetVersion

    try:
        # Named, not guessed from what a part of a module happens to use.
        versions = {TargetVersion.PY311}
        mode = black.Mode(line_length=WIDTH, target_versions=versions)
        return black.format_str(source, mode=mode)
    except ValueError as error:
        raise InternalError(f"a generated module is no Python: {error}") from error
