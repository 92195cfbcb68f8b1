"""Compiling with a fault in the compiler, and whether it is told."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

import pytest

from tensorgen import pipeline
from tensorgen.check import Report, check
from tensorgen.errors import InternalError, Source
from tensorgen.plans import claims


def compiled(spec: str) -> tuple[str, str]:
    """Return a module without its texts, and what the check says against it."""
    head = "" if "tensorgen:" in spec else "tensorgen: 1\n"
    source = Source("witness", head + spec)
    complaints: list[str] = []

    def heard(*given: Any) -> Report:
        try:
            return check(*given)
        except InternalError as error:
            complaints.append(str(error))
            return Report()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(claims, "check", heard)
        patch.setattr(claims, "run", lambda *given: None)  # it would raise before
        made = pipeline.compile_spec(source, ["numpy"], "cross-country", False)
    return code("".join(made.values())), "\n".join(complaints)


@cache
def sound(spec: str) -> str:
    """The module of a spec, compiled when there is no fault yet."""
    text, complaint = compiled(spec)
    assert not complaint
    return text


def code(text: str) -> str:
    """A module without the texts in it: formulas have many right spellings.

    Subscripts of `einsum` stay.
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = node.value if "->" in node.value else ""
    return ast.unparse(tree)


def is_seen(spec: str, right: str) -> bool:
    """Whether a fault that changes the code is told; it may change nothing."""
    text, complaint = compiled(spec)
    if text == right:
        return False
    assert complaint, "nobody noticed"
    return True
