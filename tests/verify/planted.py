"""Faults to put into emitted modules: one change of one expression each."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

METHODS = (
    *("dense", "_apply", "diagonal", "_values", "_places"),
    *("_factorized", "_scaled", "contract"),
)
"""Methods of derivatives of some structure."""

GIVEN = ("_arrays", "_array", "_real", "_integers", "_columns", "_pattern", "_shape")
CHECKS = (
    *GIVEN,
    "_check",
    "_require",
    "_norm",
    "_replacement",
    "_parts",
    "_add_at",
    "_sum_by_key",
    "_sum_rows_by_key",
)
"""How names of functions begin that compute nothing."""

SYMMETRIC = ("vdot", "logaddexp", "maximum", "minimum", "hypot", "multiply", "add")
"""Functions whose arguments can be exchanged."""

Place = tuple[ast.AST, str, int | None]


@dataclass(frozen=True)
class Planted:
    """A module with one fault: in which function or class, and which.

    What is `shared` by several functions can be found in any of them.
    """

    where: str
    shared: bool
    what: str
    text: str

    @property
    def name(self) -> str:
        """What tells it from others of its module."""
        return f"{self.where}: {self.what}"


def planted(text: str, count: int) -> list[Planted]:
    """Return so many modules with a fault each, spread over what they compute."""
    found, rng = [], random.Random(0)
    tree = ast.parse(text)
    every = [*_changes(tree)]
    # Faults of calls are few beside those of what is computed: a third are such.
    calls = [k for k, x in enumerate(every) if x.of_call]
    others = [k for k, x in enumerate(every) if not x.of_call]
    some = rng.sample(calls, min(count // 3, len(calls)))
    rest = rng.sample(others, min(count - len(some), len(others)))
    for number in sorted(some + rest):
        change = every[number]
        old = _put(change.place, change.new)
        text = ast.unparse(tree)
        found.append(Planted(change.where, change.shared, change.what, text))
        _put(change.place, old)
    return found


def _put(place: Place, new: ast.AST) -> ast.AST:
    """Put a node where another one is, which is returned."""
    parent, field, index = place
    old: ast.AST
    if index is None:
        old = getattr(parent, field)
        setattr(parent, field, new)
    else:
        old = getattr(parent, field)[index]
        getattr(parent, field)[index] = new
    return old


class Change(NamedTuple):
    """Where a fault can be, what it is, and the node that makes it."""

    where: str
    shared: bool
    what: str
    place: Place
    new: ast.AST
    of_call: bool = False


def _changes(tree: ast.Module) -> Iterator[Change]:
    for where, shared, function in _bodies(tree):
        for statement in function.body:
            if _computes(statement):
                for place, old in _inside(statement):
                    for new in _others(old):
                        before, after = ast.unparse(old), ast.unparse(new)
                        if before != after:
                            what = f"{before} -> {after}"
                            yield Change(where, shared, what, place, new)
        if not where.endswith(("Problem", "Portfolio")) and not shared:
            for what, place, new in _calls(function):
                yield Change(where, shared, what, place, new, of_call=True)


def _bodies(tree: ast.Module) -> Iterator[tuple[str, bool, ast.FunctionDef]]:
    """Yield public functions, what points of problems compute, what objects hold."""
    names = {x.name for x in tree.body if isinstance(x, ast.ClassDef)}
    for node in tree.body:
        match node:
            case ast.FunctionDef(name) if not name.startswith("_"):
                yield name, False, node
            case ast.FunctionDef(name) if not name.startswith(CHECKS):
                yield name, True, node
            case ast.ClassDef(name) if name.endswith("Point"):
                own = name.removeprefix("_").removesuffix("Point")
                own = own if own in names else f"{own}Problem"
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and inner.name != "__init__":
                        yield own, False, inner
            case ast.ClassDef(name) if name[0] != "_" and "Error" not in name:
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and (
                        inner.name in (*METHODS, "lb", "ub", "cl", "cu")
                    ):
                        yield name, True, inner


def _calls(function: ast.FunctionDef) -> Iterator[tuple[str, Place, ast.AST]]:
    """Yield faults of how a function is called: checks, defaults, precision."""
    defaults = function.args.kw_defaults
    for k, default in enumerate(defaults):
        if isinstance(default, ast.Constant) and isinstance(default.value, float):
            wrong = ast.Constant(1.5 * default.value + 0.1)
            yield "another default", (function.args, "kw_defaults", k), wrong
    returned = ast.unparse(function.body[-1]).split()
    for k, statement in enumerate(function.body):
        text = ast.unparse(statement)
        if text.startswith("_check_range"):
            yield f"no {text}", (function, "body", k), ast.Pass()
        if "_arrays(" in text:
            for place, old in _inside(statement):
                match old:
                    case ast.Call(ast.Name("_arrays"), _, keywords):
                        yield from _unbound(place, old, keywords)
        if _computes(statement) and text.split()[0] in returned:
            for place, old in _inside(statement):
                match old:
                    case ast.Call(ast.Attribute(_, "zeros"), _, keywords) if any(
                        x.arg == "dtype" for x in keywords
                    ):
                        other = copy.copy(old)
                        other.keywords = [x for x in keywords if x.arg != "dtype"]
                        yield f"no dtype in {ast.unparse(old)}", place, other


def _unbound(
    place: Place, call: ast.Call, keywords: list[ast.keyword]
) -> Iterator[tuple[str, Place, ast.AST]]:
    """Yield calls in which an axis is no more as long as that of another argument."""
    dims = [ast.unparse(x) for k in keywords for x in getattr(k.value, "elts", [])[1:]]
    for k, keyword in enumerate(keywords):
        match keyword.value:
            case ast.Tuple([value, *own]):
                for axis, dim in enumerate(own):
                    name = ast.unparse(dim)
                    if name[0] == "'" and dims.count(name) > 1:
                        others = [*own[:axis], ast.Constant("other"), *own[axis + 1 :]]
                        new = copy.copy(call)
                        new.keywords = list(keywords)
                        tied = ast.Tuple([value, *others], ast.Load())
                        new.keywords[k] = ast.keyword(keyword.arg, tied)
                        yield f"{keyword.arg} as long as it likes", place, new


def _computes(statement: ast.stmt) -> bool:
    """Whether a statement is no docstring, check or conversion of arguments."""
    text = ast.unparse(statement)
    if text.startswith(("_check", "if ", "raise", "'", '"')) or "_arrays(" in text:
        return False
    return not text.partition(" = ")[2].startswith(("given.", "self."))


def _inside(root: ast.AST) -> Iterator[tuple[Place, ast.AST]]:
    for field, value in ast.iter_fields(root):
        if field in ("op", "ops", "ctx", "annotation", "keywords", "targets"):
            continue
        for index, child in (
            enumerate(value) if isinstance(value, list) else [(None, value)]
        ):
            if isinstance(child, ast.AST):
                yield (root, field, index), child
                yield from _inside(child)


def _others(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(bool()):
            return
        case ast.Constant(int(number)):
            yield ast.Constant(number + 1)  # a wrong number, an end that is one off
        case ast.Constant(float(number)):
            yield ast.Constant(1.5 * number)
        case ast.BinOp(left, ast.Add(), right):
            yield ast.BinOp(left, ast.Sub(), right)
            yield left  # a term is dropped
        case ast.BinOp(left, ast.Sub(), right):
            yield ast.BinOp(left, ast.Add(), right)
        case ast.BinOp(left, ast.Mult(), right):
            yield right  # so is a factor
        case ast.BinOp(left, ast.MatMult() | ast.Div() as op, right):
            yield ast.BinOp(right, op, left)
        case ast.UnaryOp(ast.USub(), operand):
            yield operand
        case ast.Attribute(value, "T"):
            yield value  # a factor is not transposed
        case ast.Call(ast.Attribute(_, name)) if name in SYMMETRIC:
            return
        case ast.Call(ast.Name("isinstance")):
            return
        case ast.Call(_, [first, second, *rest]):
            other = copy.copy(node)
            other.args = [second, first, *rest]
            yield other
