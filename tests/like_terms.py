"""Sums in emitted functions that could be shorter: terms that meet their like.

A value that has a name may be a sum as well, `L_diff = L - X / 2`, which is read with
the terms that it stands beside. Where terms cancel something is computed in vain; where
they only add up the name may be needed by others, and is counted if nothing else reads
it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction

from tests.taken_twice import changed_names

Terms = list[tuple[Fraction, str, str]]
"""Coefficients, what they multiply, and the name through which a term was read."""


def like_terms(text: str) -> Iterator[tuple[str, str]]:
    """Yield functions of a module, and the sums with like terms of each."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            for found in _unmerged(function):
                yield function.name, found


def _unmerged(function: ast.FunctionDef) -> Iterator[str]:
    times = Counter(changed_names(function))
    moving = {name for name, k in times.items() if k > 1}
    uses = Counter(
        x.id
        for x in ast.walk(function)
        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)
    )
    sums: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as value):
                if times[name] == 1 and _reads(value).isdisjoint(moving):
                    sums[name] = value
    inner: set[ast.AST] = set()
    for node in ast.walk(function):
        if not isinstance(node, ast.BinOp) or not isinstance(
            node.op, ast.Add | ast.Sub
        ):
            continue
        chain = node in inner
        inner |= {x for x in (node.left, node.right) if isinstance(x, ast.BinOp)}
        if not chain and _reads(node).isdisjoint(moving) and _meets(node, sums, uses):
            yield ast.unparse(node)


def _meets(node: ast.expr, sums: Mapping[str, ast.expr], uses: Counter[str]) -> bool:
    found: dict[str, list[tuple[Fraction, str]]] = {}
    for c, text, by in _terms(node, sums):
        found.setdefault(text, []).append((c, by))
    for alike in found.values():
        total = sum(c for c, _ in alike)
        names = {by for _, by in alike if by}
        if len(alike) > 1 and (not total or all(uses[x] == 1 for x in names)):
            return True
    return False


def _terms(
    node: ast.expr,
    sums: Mapping[str, ast.expr],
    scale: Fraction = Fraction(1),
    by: str = "",
) -> Terms:
    """The terms of a sum, those of sums with names too."""
    match node:
        case ast.BinOp(left=x, op=ast.Add() | ast.Sub() as op, right=y):
            sign = 1 if isinstance(op, ast.Add) else -1
            return [*_terms(x, sums, scale, by), *_terms(y, sums, sign * scale, by)]
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return _terms(x, sums, -scale, by)
        case ast.BinOp(
            left=ast.Constant(value=int() | float() as k), op=ast.Mult(), right=y
        ):
            return _terms(y, sums, Fraction(k) * scale, by)
        case ast.Name(id=name) if name in sums and not by:
            return _terms(sums[name], sums, scale, name)
    return [(scale, ast.unparse(node), by)]


def _reads(node: ast.AST) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
