"""Faults to put into emitted modules: one change of one expression each."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

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

    What is `shared` by several functions can be found in any of them. The name says
    the function and what its statement becomes: no fault elsewhere changes it.
    """

    where: str
    shared: bool
    name: str
    tree: ast.Module
    change: Change

    @property
    def text(self) -> str:
        """The text of the module with the fault in it."""
        with _put(self.change):
            return ast.unparse(self.tree)


def planted(text: str, module: str, every: int) -> list[Planted]:
    """Return a module with a fault in it: one of so many, each drawn by its own name.

    Faults of calls are few beside those of what is computed: four times as many are
    drawn of these.
    """
    tree = ast.parse(text)
    found: dict[str, Planted] = {}
    for where, shared, owner, function in _bodies(tree):
        for change in _changes(function, with_calls=not (shared or owner)):
            name = f"{owner}{function.name}: {change.what}"
            share = 4 / every if change.of_call else 1 / every
            if _drawn(f"{module} {name}") < share:
                found.setdefault(name, Planted(where, shared, name, tree, change))
    return [*found.values()]


def _drawn(name: str) -> float:
    """Return a number from 0 to 1 that is as good as random, and the name's own."""
    return int.from_bytes(sha256(name.encode()).digest()[:8]) / 2**64


class Change(NamedTuple):
    """A node to put where another one is, and what a statement becomes by that."""

    place: Place
    new: ast.AST
    what: str = ""
    of_call: bool = False


@contextmanager
def _put(change: Change) -> Iterator[None]:
    """Put a node where another one is, for as long as the context lasts."""
    parent, field, index = change.place
    held: Any = vars(parent) if index is None else getattr(parent, field)
    key: Any = field if index is None else index
    old, held[key] = held[key], change.new
    try:
        yield
    finally:
        held[key] = old


def _changes(function: ast.FunctionDef, with_calls: bool) -> Iterator[Change]:
    for statement in function.body:
        if _computes(statement):
            for inner, place, old in _inside(statement):
                before = _line(inner)
                for new in _others(old):
                    change = Change(place, new)
                    with _put(change):
                        after = _line(inner)
                    if before != after:
                        yield change._replace(what=f"{before} -> {after}")
    if with_calls:
        for what, place, new in _calls(function):
            yield Change(place, new, what, of_call=True)


def _line(statement: ast.stmt) -> str:
    """The text of a statement, of one that holds others the first line."""
    return ast.unparse(statement).partition("\n")[0]


def _bodies(tree: ast.Module) -> Iterator[tuple[str, bool, str, ast.FunctionDef]]:
    """Yield public functions, what points of problems compute, what objects hold.

    Each is behind what can find faults in it, whether that is all that calls it, and
    the name of its class with a dot.
    """
    names = {x.name for x in tree.body if isinstance(x, ast.ClassDef)}
    for node in tree.body:
        match node:
            case ast.FunctionDef(name) if not name.startswith("_"):
                yield name, False, "", node
            case ast.FunctionDef(name) if not name.startswith(CHECKS):
                yield name, True, "", node
            case ast.ClassDef(name) if name.endswith("Point"):
                own = name.removeprefix("_").removesuffix("Point")
                own = own if own in names else f"{own}Problem"
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and inner.name != "__init__":
                        yield own, False, f"{name}.", inner
            case ast.ClassDef(name) if name[0] != "_" and "Error" not in name:
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and (
                        inner.name in (*METHODS, "lb", "ub", "cl", "cu")
                    ):
                        yield name, True, f"{name}.", inner


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
            for _, place, old in _inside(statement):
                match old:
                    case ast.Call(ast.Name("_arrays"), _, keywords):
                        yield from _unbound(place, old, keywords)
        if _computes(statement) and text.split()[0] in returned:
            for _, place, old in _inside(statement):
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


def _inside(
    root: ast.AST, statement: ast.stmt | None = None
) -> Iterator[tuple[ast.stmt, Place, ast.AST]]:
    """Yield what is in a node: in which statement, where, and what."""
    within = root if isinstance(root, ast.stmt) else statement
    assert within is not None
    for field, value in ast.iter_fields(root):
        if field in ("op", "ops", "ctx", "annotation", "keywords", "targets"):
            continue
        for index, child in (
            enumerate(value) if isinstance(value, list) else [(None, value)]
        ):
            if isinstance(child, ast.AST):
                yield within, (root, field, index), child
                yield from _inside(child, within)


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
