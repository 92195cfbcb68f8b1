"""Faults to put into emitted modules: one change of one expression each."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass

METHODS = ("dense", "_apply", "diagonal", "coo", "_factorized")
"""Methods of Hessians of some structure."""

Place = tuple[ast.AST, str, int | None]


@dataclass(frozen=True)
class Planted:
    """A module with one fault: in which function or class, and which."""

    where: str
    what: str
    text: str

    @property
    def name(self) -> str:
        """What tells it from others of its module."""
        return f"{self.where}: {self.what}"


def planted(text: str, count: int) -> list[Planted]:
    """Return so many modules with a fault each, spread over what they compute."""
    total = len([*_changes(ast.parse(text))])
    chosen = sorted(random.Random(0).sample(range(total), min(count, total)))
    found = []
    for number in chosen:
        tree = ast.parse(text)
        where, what, (parent, field, index), new = [*_changes(tree)][number]
        if index is None:
            setattr(parent, field, new)
        else:
            getattr(parent, field)[index] = new
        ast.fix_missing_locations(tree)
        found.append(Planted(where, what, ast.unparse(tree)))
    return found


def _changes(tree: ast.Module) -> Iterator[tuple[str, str, Place, ast.AST]]:
    """Yield where a fault can be, what it is, and the node that makes it."""
    for where, function in _bodies(tree):
        for statement in function.body:
            if _computes(statement):
                for place, old in _inside(statement):
                    for new in _others(old):
                        before, after = ast.unparse(old), ast.unparse(new)
                        if before != after:
                            yield where, f"{before} -> {after}", place, new


def _bodies(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield public functions, what points of problems compute, what Hessians hold."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name) if not name.startswith("_"):
                yield name, node
            case ast.ClassDef(name) if name.endswith("Point"):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and inner.name != "__init__":
                        yield name.removeprefix("_").replace("Point", "Problem"), inner
            case ast.ClassDef(name) if name[0] != "_" and name.endswith("Hessian"):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and inner.name in METHODS:
                        yield f"{name.removesuffix('Hessian').lower()}_hess", inner


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
        case ast.Call(_, [first, second, *rest]):
            other = copy.copy(node)
            other.args = [second, first, *rest]
            yield other
