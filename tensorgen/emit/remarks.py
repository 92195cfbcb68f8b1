"""Remarks in the text of a module: a sentence above the statement that it is about.

Nothing that counts, compares or reads statements sees them: they are put where all else
stands, and each of them once in a module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tensorgen.calculus.kinds import PROBLEM
from tensorgen.emit.interface import Body
from tensorgen.emit.module import Module
from tensorgen.ir.remarks import Remarks, merged

_DEFINED = re.compile(r"(?:def|class) (\w+)")
_STATED = re.compile(r"( +)(.*?)(?: [-+*/]?= |$)")
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
    rows: list[str] = []
    done: set[str] = set()
    here: Remarks = {}
    is_doc = False
    for row in text.split("\n"):
        if named := _DEFINED.match(row):
            here = remarks.get(named[1], {})
        stated, quotes = _STATED.match(row), row.count('"""')
        if stated and not (is_doc or quotes):
            bound = {*_WORD.findall(stated[2])}
            for remark, names in here.items():
                fits = not (names and names.isdisjoint(bound))
                if fits and remark.sentence not in done and re.search(remark.form, row):
                    rows.append(f"{stated[1]}# {remark.sentence}")
                    done.add(remark.sentence)
        is_doc ^= quotes % 2 == 1
        rows.append(row)
    return "\n".join(rows)
