"""What names of values claim to be done, held against the expressions that they name.

A word such as `squared` or `minus` has to be seen in the statements that make a value,
unless it stands in the name of an operand, is the user's, or part of what a derivative
or a norm is of: `neg_jac_z` says what a value is, not how it is computed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tensorgen.operators.word_shapes import is_generic, says_little

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.MatMult: "@",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
SUMS = r"sum|add|dot|einsum|bincount|correlate|accumulate|logaddexp|filtered|trace|norm"
FILL = "np.zeros"
"""What makes an array that others fill."""
CLAIMS: dict[str, str] = {
    "plus": r"\+|-",
    "minus": r"-",
    "sum": rf"\+|-|@|{SUMS}",
    "sums": rf"\+|@|{SUMS}",
    "diff": r"-|diff",
    "difference": r"-|diff",
    "total": rf"\+|-|@|{SUMS}",
    "over": r"/|inverse|inv\b|solve|\*\*",
    "ratio": r"/|inverse|inv\b|\*",
    "inv": r"/|inverse|inv\b|solve|\*\*|norm|exp.* -",  # 1 / s is exp(-log_s)
    "squared": r"\*\*|\*|@|square|dot|distances|norm",
    "cubed": r"\*\*|\*",
    "fourth": r"\*\*|\*",
    "sqrt": r"sqrt|\*\*|norm|hypot",
    "hypot": r"sqrt|hypot|norm",
    "exp": r"exp|cosh|sinh|sigmoid|softmax",
    "log": r"log|where|expit",
    "neg": r"-",
    "twice": r"\b2\b|\b2\.0\b",
    "half": r"0\.5|/|sqrt.*0\.25",
    "product": rf"@|\*|/|{SUMS}|solve",
    "weighted": rf"@|\*|/|{SUMS}|solve|where|tri",
    "scaled": r"\*|/|-",
    "solved": r"solve|inv|@|tensordot",
    "gathered": r"\[|take",
    "scattered": r"by_key|add\.at|bincount|\[",
    "by": r"by_key|add_?\.?at|bincount|\[|take",
    "masked": r"where|tri|&|mask|\*|\[",
    "padded": r"pad|zeros|ones|concatenate|\[",
    "joined": r"concatenate|stack|zeros|full|\[|\+",
    "sym": r"\+",
    "skew": r"-",
    "powers": r"\*\*|/|\*",
}
"""By what text of operations, calls and numbers each word may be borne out."""
_DERIVATIVE = re.compile(r"(^|_)(d|jac)_|_dot($|_)|_adjoint|^d[A-Za-z]|^r(norm|hypot)_")


def false_claims(text: str, words: str) -> Iterator[str]:
    """Yield the names of a module that claim what is not done, and what they name.

    The identifiers in `words` are the user's, who may call things as he likes.
    """
    users = set(re.findall(r"[^\W\d]\w*", words))
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        for name, made in _made(function).items():
            if name in users:
                continue
            operations = " ".join(x for one in made for x in _operations(one))
            read = users | {x for one in made for x in _names(one)}
            if operations in ("", FILL) or (
                says_little(name) and any(map(is_generic, read))
            ):
                continue  # what has no word may stand for what the name tells of
            if _leaves_out(name, made):
                yield f"{function.name}: {name} = {'; '.join(map(ast.unparse, made))}"
            for claim in _claims(name, read - {name}):
                if not re.search(CLAIMS[claim], operations):
                    shown = "; ".join(map(ast.unparse, made))
                    yield f"{function.name}: {name} = {shown}"


def _made(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    """The expressions that make each name of a function, in place too."""
    found: dict[str, list[ast.expr]] = {}
    for one in ast.walk(function):
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name(id=name))], value=value
            ):
                found.setdefault(name, []).append(value)
            case ast.AugAssign(
                target=ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)),
                op=op,
                value=value,
            ):
                changed = ast.BinOp(left=ast.Name(id=name), op=op, right=value)
                found.setdefault(name, []).append(changed)
            case ast.Expr(value=ast.Call(args=[shown, *_]) as call):
                if name := _viewed(shown):
                    found.setdefault(name, []).append(call)
            case _:
                pass
    return {
        name: made
        for name, made in found.items()
        if not any(_is_told(value) for value in made)
    }


def _viewed(value: ast.expr) -> str:
    """The name of the array that a view shows: `x` of `x.transpose(1, 0)`."""
    match value:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=inner) | ast.Subscript(value=inner):
            return _viewed(inner)
        case ast.Call(func=ast.Attribute(value=inner)):
            return _viewed(inner)
        case _:
            return ""


def _is_told(value: ast.expr) -> bool:
    """Whether another function of the module names the value, or fills it."""
    if isinstance(value, ast.Attribute):
        return True
    call = value.func if isinstance(value, ast.Call) else None
    return isinstance(call, ast.Name) and call.id.endswith(("_parts", "_grad"))


def _operations(value: ast.expr) -> Iterator[str]:
    for one in ast.walk(value):
        match one:
            case ast.BinOp(op=op):
                yield BINARY.get(type(op), "?")
            case ast.UnaryOp(op=ast.USub()):
                yield "-"
            case ast.Constant(value=int() | float() as number):
                yield str(number)
            case ast.Call(func=func):
                yield ast.unparse(func)
            case ast.Subscript():
                yield "["
            case _:
                pass


def _names(value: ast.expr) -> Iterator[str]:
    for one in ast.walk(value):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr


def _leaves_out(name: str, made: list[ast.expr]) -> bool:
    """Whether a name tells the sum of one array, where it is multiplied by others."""
    summed = name.removeprefix("sum_")
    read = {x for one in made for x in _names(one)}
    products = [
        one
        for value in made
        for one in ast.walk(value)
        if (isinstance(one, ast.BinOp) and isinstance(one.op, ast.MatMult))
        or (isinstance(one, ast.Call) and ast.unparse(one.func) == "np.vdot")
    ]
    factors = [side for one in products for side in _sides(one)]
    others = {x for side in factors for x in _names(side)} - {summed}
    return summed != name and summed in read and bool(others - {"np", "parts"})


def _sides(one: ast.BinOp | ast.Call) -> list[ast.expr]:
    return [one.left, one.right] if isinstance(one, ast.BinOp) else one.args


def _claims(name: str, known: set[str]) -> list[str]:
    """The words of a name that are in no name of what it is made of."""
    stem = re.sub(r"(_\d+)+$", "", name)
    if stem in known or _DERIVATIVE.search(stem):
        return []
    told = {part for word in known for part in word.split("_")}
    if told & {"inv", "ratio", "rnorm"}:
        told |= {"inv", "over", "ratio"}
    return [x for x in stem.split("_") if x in CLAIMS and x not in told]
