"""What emitted functions take twice: an expression that stands in two places of one.

Sums and products are taken whole, for a part of one is no value that code holds. What
reads as well twice as its name would is left out: views, a number with a view, and what
follows from sizes; so is memory that is asked for anew each time. What statements
change is not the same in two places.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

SHORT = 10
"""Characters of an expression that nobody minds to read twice."""
VIEWS = ("T", "transpose", "reshape", "diagonal", "broadcast_to", "astype")
MEMORY = (
    "zeros",
    "empty",
    "ones",
    "full",
    "copy",
    "arange",
    "range",
    "reversed",
    "indices",
)
APART = (ast.Raise, ast.FunctionDef, ast.Lambda, ast.JoinedStr, ast.ExceptHandler)
"""What does not run with the statements around it, or computes nothing."""
NUMBERS = ("sqrt", "log", "len", "max", "min")
"""Functions that are taken of sizes as well."""


def taken_twice(text: str) -> Iterator[tuple[str, str]]:
    """Yield functions of a module, and what stands twice in each."""
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            for body in _ways(function):
                for found in _repeated(function, body):
                    yield function.name, found


def _ways(function: ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    """The statements of a function, and what runs in their place where they fail."""
    yield function.body
    for node in ast.walk(function):
        if isinstance(node, ast.ExceptHandler):
            yield node.body


def _repeated(function: ast.FunctionDef, body: Sequence[ast.stmt]) -> list[str]:
    moving = {
        name for name, times in Counter(changed_names(function)).items() if times > 1
    }
    sizes = {*_sizes(function)}
    seen = Counter[str]()
    waiting: list[ast.AST] = [*reversed(body)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, APART):
            continue
        if isinstance(node, ast.expr) and _counts(node, sizes):
            text = ast.unparse(node)
            names = {x.id for x in ast.walk(node) if isinstance(x, ast.Name)}
            if len(text) > SHORT and names.isdisjoint(moving):
                seen[text] += 1
                if seen[text] > 1:
                    continue  # what it is made of stands twice for this alone
        waiting += reversed([*_parts(node)])
    return [text for text, times in seen.items() if times > 1]


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The operands of an expression, those of a chain all at once."""
    for child in ast.iter_child_nodes(node):
        same = isinstance(child, ast.BinOp) and isinstance(node, ast.BinOp)
        if same and _kind(child) == _kind(node):
            yield from _parts(child)
        else:
            yield child


def _kind(node: ast.AST) -> str:
    """Whether a node is of a sum, or of a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return "sum"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        return "product"
    return ""


def _counts(node: ast.expr, sizes: set[str]) -> bool:
    """Whether an expression computes something that could have a name."""
    if _is_of_sizes(node, sizes):
        return False
    match node:
        case ast.BinOp(left=k, op=ast.Mult(), right=x) if _is_of_sizes(k, set()):
            return not _is_view(x)
        case ast.BinOp(left=x, op=ast.Add() | ast.Sub(), right=ast.Constant()):
            return not _is_view(x)
        case ast.UnaryOp(operand=x):
            return not _is_view(x)
        case ast.BinOp() | ast.Compare():
            return True
        case ast.Call():
            return _called(node) not in MEMORY and not _is_view(node)
    return isinstance(node, ast.Subscript) and not _is_view(node)


def _called(node: ast.Call) -> str:
    func = node.func
    return func.attr if isinstance(func, ast.Attribute) else ast.unparse(func)


def _is_view(node: ast.expr) -> bool:
    """Whether an expression shows entries of what has a name."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=x) | ast.Subscript(value=x):
            return _is_view(x)
        case ast.Call(func=ast.Attribute(value=x, attr=name), args=args):
            if name in VIEWS:
                return _is_view(args[0] if ast.unparse(x) == "np" else x)
    return False


def _is_of_sizes(node: ast.expr, sizes: set[str]) -> bool:
    """Whether a number follows from sizes alone."""
    match node:
        case ast.Name(id=name):
            return name in sizes or name in ("np", "math")
        case ast.Constant():
            return True
        case ast.Call(args=args):
            return _called(node) in NUMBERS and all(
                _is_of_sizes(x, sizes) for x in args
            )
        case ast.BinOp(left=x, right=y):
            return _is_of_sizes(x, sizes) and _is_of_sizes(y, sizes)
        case ast.UnaryOp(operand=x):
            return _is_of_sizes(x, sizes)
        case ast.Attribute(value=ast.Name(id="np"), attr="pi"):
            return True
    return False


def _sizes(function: ast.FunctionDef) -> Iterator[str]:
    """Names of sizes: those that shapes bind, and parameters without a shape."""
    for arg in (*function.args.args, *function.args.kwonlyargs):
        if arg.annotation is not None and ast.unparse(arg.annotation) == "int":
            yield arg.arg
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            value = (
                node.value.value
                if isinstance(node.value, ast.Subscript)
                else node.value
            )
            if isinstance(value, ast.Attribute) and value.attr in ("shape", "sizes"):
                yield from (
                    x.id for x in ast.walk(node.targets[0]) if isinstance(x, ast.Name)
                )


def changed_names(function: ast.FunctionDef) -> Iterator[str]:
    """The names that statements bind or change, as often as they do."""
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Subscript(value=x, ctx=ast.Store()):
                yield from 2 * [_base(x)]
            case ast.AugAssign(target=x):
                yield from 2 * [_base(x)]
            case ast.keyword(arg="out", value=x):
                yield from 2 * [_base(x)]
            case ast.Call(args=[x, *_]) if _called(node) in ("at", "_add_at"):
                yield from 2 * [_base(x)]
            case ast.For(target=target):
                for inner in ast.walk(target):
                    yield from 2 * [_base(inner)]


def _base(node: ast.AST) -> str:
    match node:
        case ast.Subscript(value=x) | ast.Attribute(value=x):
            return _base(x)
        case ast.Name(id=name):
            return name
    return ""
