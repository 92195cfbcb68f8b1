"""What else is known of a function: stable forms, helpers, and its text for CUDA."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from tensorgen.arrays.device_functions import Calls
from tensorgen.arrays.scalar_text import CText, Speaker, Unsaid
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.operators.helpers.helper_table import HELPERS
from tensorgen.operators.stable import rules

_ELSEWHERE = ("near a number", "as exponentials")
"""Groups of rules that are taken only beside what stands in no pattern."""


@dataclass(frozen=True)
class StableForm:
    """A text that is computed as another one, and the condition, if there is one."""

    written: str
    computed: str
    condition: str = ""

    def __str__(self) -> str:
        told = f"{self.written} is computed as {self.computed}"
        return told + f", if {self.condition}" * bool(self.condition)


def stable_forms(name: str) -> list[StableForm]:
    """Return the rules that a function stands in, of functions that users call."""
    return [form for called, form in _forms() if name in called]


@cache
def _forms() -> list[tuple[set[str], StableForm]]:
    """The rules for users, each with the functions that it calls."""
    told = []
    for group, found in rules.groups().items():
        for rule in found if group not in _ELSEWHERE else ():
            sides = rule.left.strip(), rule.right.strip()
            called = {x for side in sides for x in _called(side)}
            if called <= {*FUNCTIONS} and _names(rule.left):
                condition = ast.unparse(rule.condition)
                if_ = "" if condition == "True" else condition
                told.append((called, StableForm(*sides, if_)))
    return told


def _called(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def _names(text: str) -> set[str]:
    tree = ast.parse(text, mode="eval")
    names = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}
    return names - {*_called(text), "inf"}


def helpers(code: str) -> list[str]:
    """Return the sources of the helpers that statements call, callees first."""
    found: dict[str, str] = {}

    def follow(text: str) -> None:
        names = [x.id for x in ast.walk(ast.parse(text)) if isinstance(x, ast.Name)]
        for name in names:
            if name in HELPERS and name not in found:
                found[name] = HELPERS[name].strip()
                follow(found[name])
                found[name] = found.pop(name)  # behind what it calls

    follow(code)
    return [*found.values()]


def in_cuda(code: str, names: Iterable[str]) -> tuple[str, list[str]]:
    """Return an expression of NumPy in CUDA, and the functions that it needs there.

    It is of one entry of each array of these names. The text is empty where kernels
    do not know how to say it.
    """
    calls = Calls()
    known = {x: CText(x) for x in names}
    speaker = Speaker(known, calls, lambda base: CText(f"({base.text})"))
    try:
        said = speaker.said(ast.parse(code, mode="eval").body)
    except Unsaid:
        return "", []
    needed = dict.fromkeys(x for own in calls.defined for x in own.all)
    return said.text, [function.source.strip() for function in needed]
