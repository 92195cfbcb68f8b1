"""Making a failing program smaller while it keeps failing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tests.programs import meaning
from tests.programs.tree import ATOM, Expr, RandomProgram, Statement


def shrink(
    program: RandomProgram, fails: Callable[[RandomProgram], bool], budget: int = 300
) -> RandomProgram:
    """Return a smaller program that `fails` too; tries at most `budget` of them."""
    smaller = True
    while smaller:
        smaller = False
        for candidate in _smaller(program):
            budget -= 1
            if budget < 0:
                return program
            if _is_sound(candidate) and fails(candidate):
                program, smaller = candidate, True
                break
    return program


def _is_sound(program: RandomProgram) -> bool:
    """Whether a program still means something and its variables still matter."""
    if not set(program.wrt) <= program.words or not program.binds_its_dims:
        return False
    try:
        with np.errstate(all="ignore"):
            value = meaning.value(program, program.arguments)
    except (ValueError, IndexError, TypeError, NameError, np.linalg.LinAlgError):
        return False
    return bool(np.all(np.isfinite(value)))


def _smaller(program: RandomProgram) -> Iterator[RandomProgram]:
    """Programs one step simpler, the boldest steps first."""
    if len(program.wrt) > 1:
        for name in program.wrt:
            yield replace(program, wrt=(name,))
    for statement in reversed(program.statements):
        for body in _smaller_bodies(program, statement):
            changed = replace(statement, body=body)
            yield _with(program, statement, changed).pruned()


def _smaller_bodies(program: RandomProgram, statement: Statement) -> Iterator[Expr]:
    body = statement.body
    for path, tree in body.subtrees():
        for k, below in tree.subtrees():
            if k and below.shape == tree.shape:
                yield body.replaced(path, below)
        if not tree.args or statement.indices or tree.template.startswith("sum({0}, "):
            continue
        for name in (*program.inputs, *(s.name for s in program.where)):
            shapes = {**program.inputs, **{s.name: s.shape for s in program.where}}
            if shapes[name] == tree.shape and name != statement.name:
                yield body.replaced(path, Expr(name, (), tree.shape, ATOM))


def _with(program: RandomProgram, old: Statement, new: Statement) -> RandomProgram:
    """The program with one statement exchanged."""
    if old == program.result:
        return replace(program, result=new)
    where = tuple(new if s == old else s for s in program.where)
    shared = tuple(new if s == old else s for s in program.shared)
    return replace(program, where=where, shared=shared)
