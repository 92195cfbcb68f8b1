"""Remarks in the text of a module: a sentence above the statement that it is about.

Nothing that counts, compares or reads statements sees them: they are put where all else
stands, and each of them once in a module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tensorgen.calculus.kinds import PROBLEM
from tensorgen.emit.interface import Body
from tensorgen.emit.module import Module
from tensorgen.ir.remarks import RETURNED, Remarks, merged

_DEFINED = re.compile(r"(?:def|class) (\w+)")
_BOUND = re.compile(rf"\s*({RETURNED}\b|.*? (?=[-+*/]?= )|.*out=\w+)")
_WORD = re.compile(r"[^\W\d]\w*")


def remarks_of(module: Module) -> dict[str, Remarks]:
    """What is to be told in functions and classes of a module, by their names.

    A private function may have been taken out of any function of its formula.
    """
    found: dict[str, Remarks] = {}
    formulas: dict[str, Remarks] = {}
    for function in module.functions:
        own = found[function.name] = _told(form.body for form in function.forms)
        so_far = formulas.get(function.function, {})
        formulas[function.function] = merged([so_far, own])
    for function in module.functions:
        for private in function.calls:
            found[private.name] = formulas[function.function]
    bound = {PROBLEM.public_name(x.function): x for x in module.problems}
    if module.constrained:
        bound[module.constrained.name] = module.constrained.bound
    for name, problem in bound.items():
        point = f"_{name.removesuffix('Problem')}Point"
        found[name] = found[point] = _told(problem.bodies)
    return found


def _told(bodies: Iterable[Body]) -> Remarks:
    return merged(body.remarks for body in bodies)


def remarked(text: str, remarks: Mapping[str, Remarks]) -> str:
    """Return the text of definitions with the remarks on each, told once in all."""
    found: list[str] = []
    done: set[str] = set()
    here: Remarks = {}
    is_doc = False
    rows = text.split("\n")
    for k, row in enumerate(rows):
        if named := _DEFINED.match(row):
            here = remarks.get(named[1], {})
        quotes = row.count('"""')
        is_statement = _indent(row) and not (is_doc or quotes or "def " in row)
        for remark, names in here.items() if is_statement else ():
            if remark.sentence in done or not re.search(remark.form, row):
                continue
            if not names or not names.isdisjoint(_bound(rows, k)):
                found.append(f"{row[: _indent(row)]}# {remark.sentence}")
                done.add(remark.sentence)
        is_doc ^= quotes % 2 == 1
        found.append(row)
    return "\n".join(found)


def _bound(rows: Sequence[str], k: int) -> set[str]:
    """The names that stand on the left of a statement, and of those inside of it."""
    end = k + 1
    while end < len(rows) and _indent(rows[end]) > _indent(rows[k]):
        end += 1
    left = (_BOUND.match(row) for row in rows[k:end])
    return {word for own in left if own for word in _WORD.findall(own[1])}


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())
