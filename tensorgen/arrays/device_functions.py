"""Helpers of modules as functions of C, of one number each, for kernels to call.

They are read from the very text that modules hold for arrays: statements that bind
names to what is done entry by entry, and what is returned. So each is said once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from tensorgen.arrays.scalar_text import CText, Speaker, Unsaid
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.helpers.helper_table import HELPERS
from tensorgen.operators.helpers.scalar_functions import IN_C, WRITTEN_OUT

CALLED = frozenset(
    [
        *IN_C.values(),
        *(name.rpartition(".")[2] for name in WRITTEN_OUT),
        *(name.removeprefix("_") for name in HELPERS),
    ]
)
"""What functions are called in C, or may be: no variable is called so."""

_AUGMENTED = {ast.Mult: "*=", ast.Div: "/=", ast.Add: "+=", ast.Sub: "-="}


@dataclass(frozen=True)
class DeviceFunction:
    """A function of C: its `name` there, what it is `of` in NumPy, and its source.

    `uses` are the functions that it calls.
    """

    name: str
    of: str
    source: str
    uses: tuple[DeviceFunction, ...] = ()

    @property
    def constant(self) -> str:
        """What modules call its source."""
        return f"_{self.name.upper()}"

    @property
    def all(self) -> tuple[DeviceFunction, ...]:
        """What it calls, itself last."""
        found = dict.fromkeys(x for own in self.uses for x in own.all)
        return (*found, self)


@dataclass
class Calls:
    """What functions of NumPy are called in C, and those that have to be defined."""

    defined: dict[DeviceFunction, None] = field(default_factory=dict)

    def __call__(self, name: str) -> str:
        """The name in C of a function of NumPy, or of a helper."""
        if name in IN_C:
            return IN_C[name]
        found = device_function(name)
        self.defined[found] = None
        return found.name


@cache
def device_function(name: str) -> DeviceFunction:
    """A function of NumPy that C lacks, or a helper; `Unsaid` if it cannot be read."""
    source = WRITTEN_OUT.get(name) or HELPERS.get(name)
    if source is None:
        raise Unsaid(name)
    (tree,) = ast.parse(source).body
    if not isinstance(tree, ast.FunctionDef):
        raise Unsaid(name)
    own, calls = tree.name.removeprefix("_"), Calls()
    takes = [arg.arg for arg in tree.args.args]
    lines = "\n".join(f"    {line}" for line in _lines(tree, takes, calls))
    given = ", ".join(f"T {x}" for x in takes)
    head = f"template <typename T>\n__device__ T {own}({given}) {{\n"
    last = name.rpartition(".")[2]
    return DeviceFunction(own, last, f"{head}{lines}\n}}\n", tuple(calls.defined))


def _lines(tree: ast.FunctionDef, takes: list[str], calls: Calls) -> Iterator[str]:
    names = {x: CText(x) for x in takes}
    changes = (x.target for x in tree.body if isinstance(x, ast.AugAssign))
    changed = {x.id for x in changes if isinstance(x, ast.Name)}
    for node in tree.body:
        held: list[str] = []

        def hold(text: CText, held: list[str] = held) -> CText:
            name = "base" if not held else f"base_{len(held) + 1}"
            held.append(f"const T {name} = {text.text};")
            return CText(name)

        speaker = Speaker(names, calls, hold)
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                said = speaker.said(value)
                kind = "bool" if said.condition else "T"
                const = "" if name in changed else "const "
                line = f"{const}{kind} {name} = {said.text};"
                names[name] = CText(name, condition=said.condition)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value) if (
                type(op) in _AUGMENTED
            ):
                line = f"{name} {_AUGMENTED[type(op)]} {speaker.said(value).text};"
            case ast.Return(value=ast.expr() as value):
                line = f"return {speaker.said(value).text};"
            case _:
                raise Unsaid(ast.unparse(node))
        yield from held
        yield line


@cache
def launches_of(function: str) -> int:
    """How many operations a row takes over arrays; 0 if it is not known in C."""
    row = ELEMENTWISE[function]
    if not row.numpy:
        return 0
    text = row.numpy
    names = {f"x{k}": CText(f"x{k}", condition=k in row.conditions) for k in range(3)}
    for k in range(3):
        text = text.replace(f"{{{k}}}", f"x{k}")
    calls = Calls()
    tree = ast.parse(text, mode="eval").body
    try:
        Speaker(names, calls, lambda held: held).said(tree)
    except Unsaid:
        return 0
    within = (x for f in calls.defined for x in f.all if f.of.startswith("_"))
    return _operations(tree) + sum(x.source.count("(") - 1 for x in within)


def _operations(tree: ast.AST) -> int:
    kinds = ast.BinOp | ast.UnaryOp | ast.Compare | ast.Call
    return sum(isinstance(x, kinds) for x in ast.walk(tree))
