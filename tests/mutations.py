"""Faults to put into modules of the compiler: one change of one expression each."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "tensorgen"
# What is broken: the table of functions, the rules, and a share of what the passes do.
TABLE = "operators/elementwise.py"
RULES = (
    *("operators/calls.py", "operators/reshape.py", "operators/scalar.py"),
    "operators/matrices/matrix_functions.py",
    *("operators/matrices/symmetry.py", "operators/matrices/definite.py"),
    *("operators/conditions/guards.py", "operators/stable/*.py", "calculus/*.py"),
    *("ir/constraints.py", "ir/product.py"),
)
TEXTS = "operators/stable/rules.tg", "operators/stable/rules.py"  # and who reads it
PASSES = "passes/**/*.py"
# They weigh plans and rewrite nothing: with a fault, plans are dearer, and still right.
NO_RULES = ("passes/cost.py", "passes/rates.py", "passes/order/spans.py")
SYMMETRIC = {"isinstance", "zip", "cast", "max", "min", "union"}


class Mutant(NamedTuple):
    """One fault: where it is, by a name that stays, and the text of the module.

    The line is of the module as it is, and 0 where the fault is in a text in it.
    """

    path: str
    name: str
    text: str
    line: int = 0


class Change(NamedTuple):
    """Another node for a child of a node."""

    parent: ast.AST
    field: str
    place: int | None
    node: ast.AST | None
    what: str

    @property
    def line(self) -> int:
        """The line of what is changed, or of what it stands in; 0 where none is."""
        child = getattr(self.parent, self.field)
        if self.place is not None:
            child = child[self.place]
        own: int = getattr(child, "lineno", 0)
        return own or getattr(self.parent, "lineno", 0)

    def apply(self) -> None:
        """Put the other node in place; None takes it away from its list."""
        if self.place is None:
            setattr(self.parent, self.field, self.node)
        elif self.node is None:
            getattr(self.parent, self.field).pop(self.place)
        else:
            getattr(self.parent, self.field)[self.place] = self.node


def mutants(seed: int, share: float) -> Iterator[Mutant]:
    """Yield a fault for each row, each rule, and a share of the passes' functions."""
    yield from _in_table(seed)
    yield from _in_texts(seed)
    for path in _files(*RULES):
        yield from _in_functions(path, seed, 1.0)
    for path in _files(PASSES):
        if path not in NO_RULES:
            yield from _in_functions(path, seed, share)


def _files(*patterns: str) -> list[str]:
    found = {path for pattern in patterns for path in PACKAGE.glob(pattern)}
    return sorted(path.relative_to(PACKAGE).as_posix() for path in found)


def _tree(path: str) -> ast.Module:
    return ast.parse((PACKAGE / path).read_text("utf-8"))


def _in_table(seed: int) -> Iterator[Mutant]:
    """Yield a fault in each partial derivative of the table of functions."""
    for number, (row_name, texts) in enumerate(_partials(_tree(TABLE))):
        for k, before in enumerate(texts):
            tree = _tree(TABLE)
            text = _partials(tree)[number][1][k]
            row = ast.parse(str(before.value), mode="eval")
            changes = list(_changes(row))
            choose = random.Random(f"{seed} {row_name} {k} {ast.unparse(before)}")
            if changes:
                choose.choice(changes).apply()
            else:
                row.body = ast.Constant(1)
            text.value = ast.unparse(row)
            what = f"{ast.unparse(before)} -> {ast.unparse(text)}"
            yield Mutant(
                TABLE, f"{TABLE}: {row_name}, derivative {k}: {what}", ast.unparse(tree)
            )


def _partials(tree: ast.Module) -> list[tuple[str, list[ast.Constant]]]:
    """Return the name of each row, and the texts of its derivatives."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("Row"), [name, ast.Tuple(texts), *_]):
                # An empty text stands for a derivative that there is none of.
                constants = [t for t in texts if isinstance(t, ast.Constant) if t.value]
                found.append((ast.unparse(name).strip("'"), constants))
    return found


def _in_texts(seed: int) -> Iterator[Mutant]:
    """Yield a fault in each rule of scalars that is written as text."""
    path, reader = TEXTS
    source = (PACKAGE / reader).read_text("utf-8")
    reading = '(files(__package__) / "rules.tg").read_text(encoding="utf-8")'
    assert source.count(reading) == 1, f"{reader} reads {path} in another way"
    whole = (PACKAGE / path).read_text("utf-8").replace("\n        ", " ")
    lines = whole.splitlines()
    for number, line in enumerate(lines):
        pattern, arrow, rest = line.partition(" -> ")
        if line.startswith("#") or not arrow:
            continue
        result, *condition = rest.partition(" if ")
        tree = ast.parse(result.strip(), mode="eval")
        faults = ["# never fires", *[pattern + arrow + result] * any(condition)]
        for k in range(len([*_changes(tree)])):
            tree = ast.parse(result.strip(), mode="eval")
            [*_changes(tree)][k].apply()
            faults.append("".join([pattern, arrow, ast.unparse(tree), *condition]))
        fault = random.Random(f"{seed} {line}").choice(faults)
        others = lines[number + 1 :]
        if fault == faults[0] and others and others[0].startswith("    at "):
            others.pop(0)  # the points of a rule that is gone are none of the last one
        broken = source.replace(
            reading, repr("\n".join([*lines[:number], fault, *others]))
        )
        yield Mutant(reader, f"{path}: {_short(f'{line} => {fault}')}", broken)


def _in_functions(path: str, seed: int, share: float) -> Iterator[Mutant]:
    names = [name for name, _ in _functions(_tree(path))]
    number = max(2, round(share * len(names)))
    chosen = set(names)
    if number < len(names):
        chosen = set(random.Random(f"{seed} {path}").sample(names, number))
    for position, (name, function) in enumerate(_functions(_tree(path))):
        if name in chosen:
            count = len(_faults(function))
            wanted = min(count, _rules(function) if share == 1 else 1)
            choose = random.Random(f"{seed} {path} {name}")
            for k in sorted(choose.sample(range(count), wanted)):
                tree = _tree(path)
                change = _faults(_functions(tree)[position][1])[k]
                line = change.line or function.lineno
                change.apply()
                text = ast.unparse(ast.fix_missing_locations(tree))
                yield Mutant(path, f"{path}: {name}, {k}: {change.what}", text, line)


def _faults(function: ast.FunctionDef) -> list[Change]:
    return [*_changes(function), *_never(function)]


def _rules(function: ast.FunctionDef) -> int:
    """Return about how many rules a function has."""
    return 1 + ((function.end_lineno or 0) - function.lineno) // 30


def _functions(tree: ast.Module) -> list[tuple[str, ast.FunctionDef]]:
    found = []
    for node in tree.body:
        match node:
            case ast.FunctionDef(name):
                found.append((name, node))
            case ast.ClassDef(name, body=body):
                inner = [n for n in body if isinstance(n, ast.FunctionDef)]
                found += [(f"{name}.{n.name}", n) for n in inner]
    return found


def _never(function: ast.FunctionDef) -> Iterator[Change]:
    """A rule that never fires."""
    if function.returns is not None and "| None" in ast.unparse(function.returns):
        last = function.body[-1]
        if not (isinstance(last, ast.Return) and len(function.body) <= 2):
            yield Change(
                function, "body", 0, ast.parse("return None").body[0], "never fires"
            )


def _changes(root: ast.AST) -> Iterator[Change]:
    """Yield all faults of one expression or statement below a node."""
    for field, value in ast.iter_fields(root):
        if field in ("annotation", "returns", "decorator_list", "op", "ops", "ctx"):
            continue
        children = (
            list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        )
        for index, child in children:
            if not isinstance(child, ast.AST) or _is_beside_the_point(child):
                continue
            for other, what in _others(child):
                yield Change(root, field, index, other, what)
            yield from _changes(child)


def _is_beside_the_point(node: ast.AST) -> bool:
    """Whether a node says something, and does nothing."""
    if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr | ast.arguments):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _others(node: ast.AST) -> Iterator[tuple[ast.AST | None, str]]:
    """Yield what may stand for a node, and what that is."""
    for other in _variants(node):
        shown = ast.unparse(other)
        before = ast.unparse(node)
        if shown != before:
            yield other, _short(f"{before} -> {shown}")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) < 120 else f"{line[:58]} ... {line[-58:]}"


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    other: ast.AST
    match node:
        case ast.Constant(bool()):
            return
        case ast.Constant(int(number)):
            yield ast.Constant(number + 1)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            yield operand
        case ast.BinOp(left, op, right) if not _is_text(left, right):
            swaps = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr}
            if type(op) in swaps:
                yield ast.BinOp(left, swaps[type(op)](), right)
            if not isinstance(op, ast.BitOr):
                yield left
        case ast.Compare(left, [op], rights):
            yield ast.Compare(left, [_NEGATED[type(op)]()], rights)
        case ast.BoolOp(op, values):
            for k in range(len(values)):
                rest = values[:k] + values[k + 1 :]
                yield ast.BoolOp(op, rest) if len(rest) > 1 else rest[0]
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Tuple([_, _, *_] as elements) | ast.List([_, _, *_] as elements):
            if isinstance(node.ctx, ast.Load):
                for change in _of_list(node, elements):
                    yield type(node)(change, ast.Load())
        case ast.Call(function, [*_, first, second] as args):
            called = ast.unparse(function).rpartition(".")[2]
            if called not in SYMMETRIC and _are_alike(first, second):
                other = copy.copy(node)
                other.args = [*args[:-2], second, first]
                yield other
        case ast.Call(ast.Name("any" | "all" as name)):
            other = copy.copy(node)
            other.func = ast.Name("all" if name == "any" else "any", ast.Load())
            yield other
        case ast.If(test):
            other = copy.copy(node)
            other.test = ast.UnaryOp(ast.Not(), test)
            yield other
        case ast.comprehension(ifs=[_, *_]):
            other = copy.copy(node)
            other.ifs = []
            yield other


def _of_list(
    node: ast.Tuple | ast.List, elements: list[ast.expr]
) -> Iterator[list[ast.expr]]:
    starred = any(isinstance(e, ast.Starred) for e in elements)
    if starred or isinstance(node, ast.List) or _are_alike(*elements):
        yield elements[:-1]
    if isinstance(node, ast.List):
        return  # of factors or terms, in any order
    for k, (first, second) in enumerate(pairwise(elements)):
        if _are_alike(first, second) and isinstance(first, _LABELS):
            yield [*elements[:k], second, first, *elements[k + 2 :]]


def _are_alike(*nodes: ast.expr) -> bool:
    """Whether nodes look as if each could stand for each other, labels above all."""
    first, *rest = nodes
    if any(type(node) is not type(first) for node in rest):
        return False
    if isinstance(first, ast.Attribute):
        return False
    return not any(isinstance(n, ast.Name) and len(n.id) > 2 for n in nodes)


_LABELS = (ast.Constant, ast.Name, ast.Starred, ast.UnaryOp, ast.BinOp)


def _is_text(*nodes: ast.expr) -> bool:
    return any(
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        for node in nodes
    )


_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
