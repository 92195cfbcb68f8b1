"""Docstrings of generated functions: formula, arguments, result, structure, errors."""

from __future__ import annotations

from collections.abc import Iterable

from tensorgen.calculus.kinds import Kind
from tensorgen.emit.model import Function, Parameter, given
from tensorgen.emit.text import WIDTH, docstring, equation, paragraph
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.operators.system_helpers import IMPORTS

EVIDENT = 300
"""The longest structure that is repeated where its class is returned."""


def function_docstring(function: Function) -> str:
    """Return the docstring of a generated function, quotes included."""
    formulas = (*function.formula, *function.derivatives)
    return docstring(
        [_summary(function)],
        paragraph(function.doc) if function.doc else [],
        [row for text in formulas for row in equation(text)],
        [
            *told_arguments(function),
            *_section("Returns", _result(function)),
            *_structure(function),
            *_section("Raises", _errors(function)),
        ],
    )


def _summary(function: Function) -> str:
    """Return the first line, with as many names of inputs as fit."""
    for shown in range(len(function.wrt), -1, -1):
        text = function.kind.summary.format(
            f=function.function,
            x=_listing(function.wrt, shown),
            k=len(function.order),
            order=_listing(function.order),
        )
        if len(text) + len('    """') <= WIDTH:
            break
    return text


def _listing(names: tuple[str, ...], shown: int | None = None) -> str:
    """Return names in a row, or the first few and how many others there are."""
    quoted = [f"`{name}`" for name in names]
    if shown is not None and shown < len(names):
        others = len(names) - shown
        quoted[shown:] = [f"{others} {'others' if shown else 'inputs'}"]
    return " and ".join([", ".join(quoted[:-1]), *quoted[-1:]][len(quoted) < 2 :])


def _section(title: str, entries: Iterable[str]) -> list[str]:
    rows: list[str] = []
    for text in entries:
        indent = " " * (4 + len(text) - len(text.lstrip(" ")))
        rows += paragraph(text, indent, "    ")
    return [f"{title}:", *rows] if rows else []


def told_arguments(function: Function) -> list[str]:
    """Return the rows that describe the arguments, none where there are none."""
    rows: list[str] = []
    for parameter in (p for group in function.signature for p in group):
        rows += paragraph(_argument(parameter), "    ", "    ")
        if parameter.doc:
            rows += paragraph(parameter.doc, "        ")
        if parameter.sparse:
            values = next(p for p in function.parameters if p.of == parameter)
            told = f"{values.name} are its entries, row by row"
            rows += paragraph(told, "        ")
    return ["Arguments:", *rows] if rows else []


def _argument(parameter: Parameter) -> str:
    text = f"{parameter.name} : {shape_phrase(parameter.dims)}"
    if parameter.index is not None:
        bound = parameter.index - 1
        text = f"{parameter.name} : integers in 0 ... {bound}"
        text += f", shape {tuple_text(parameter.dims)}"
    if parameter.sparse:
        shape = tuple_text(parameter.dims)
        text = f"{parameter.name} : sparse matrix, shape {shape}"
    if parameter.solved:
        text += f", {parameter.solved} by default"
    elif parameter.default is not None:
        text += f", {parameter.default} by default"
    return text


def shape_phrase(dims: tuple[Dim, ...]) -> str:
    """Return "scalar" or "array, shape (m, n)"."""
    return f"array, shape {tuple_text(dims)}" if dims else "scalar"


def _result(function: Function) -> list[str]:
    kinds = function.kind.parts
    return [row for kind in kinds for row in _part(kind, function, len(kinds) > 1)]


def _part(kind: Kind, function: Function, named: bool) -> list[str]:
    """Describe what a kind returns, alone or beside others, whence it is `named`."""
    label = f"{kind.label}: " if named and kind.label else ""
    if function.results:
        parts = [(x, _part(kind, f, False)) for x, f in function.of_part(kind)]
        if any(name for name, _ in parts):
            rows = [row for x, own in parts for row in _indented(x, own)]
            return [label + "a tuple with the fields", *rows]
        return [
            label + row if k == 0 else row
            for _, own in parts
            for k, row in enumerate(own)
        ]

    def shape(*block: str) -> str:
        return shape_phrase(function.block_dims(kind, block))

    blocks = kind.blocks(function.wrt, function.order)
    if len(blocks) == 1:
        return [label + kind.returns.format(shape=shape(*blocks[0]))]
    if kind.by == "each":
        fields = [f"    {x}: {shape(x)}" for x in function.wrt]
        return [label + kind.returns.format(shape="a tuple with the fields"), *fields]
    if kind.by == "all":
        names = ", ".join(f'"{x}"' for x in blocks[-2])
        return [f"{kind.returns}, such as blocks[{names}]"]
    if kind.holder:
        return [f"{kind.returns}, over the inputs raveled and concatenated"]
    return ["a dictionary from pairs of inputs, such as `('a', 'b')`, to arrays of"] + [
        f"    ('{a}', '{b}'): {shape(a, b)}" for a in function.wrt for b in function.wrt
    ]


def _indented(name: str, rows: list[str]) -> list[str]:
    first, *others = rows
    return [f"    {name}: {first}", *(f"    {row}" for row in others)]


def _structure(function: Function) -> list[str]:
    """Say what each object holds, by the names of its blocks where it has several."""
    rows = _of_results(function)
    for choice in function.choices:
        rows.append(f"    if {choice.condition}, to hold less:")
        rows += [f"    {row}" for row in _of_results(choice.function)]
    return ["Structure:", *rows] if rows else []


def _of_results(function: Function) -> list[str]:
    """The structures of the objects of each result, by the names of several."""
    if not function.results:
        return _structures(function)
    rows = []
    for name, own in function.results:
        if own.holders:
            rows += [f"    {name}:", *(f"    {row}" for row in _structures(own))]
    return rows


def _structures(function: Function) -> list[str]:
    """The structure of each object: its name first, then the equation."""
    several, rows = len(function.holders) > 1, []
    for holder, block in zip(function.holders, function.blocks, strict=False):
        text = holder.structure
        if len(text) > EVIDENT:
            text = f"that of {holder.class_name}"
        first = f"{', '.join(block)}: " * several + (holder.words or text)
        rows += equation(first)
        if holder.words:
            rows += equation(text, "    " + "    " * several)
    return rows


def _errors(function: Function) -> list[str]:
    if not function.parameters:
        return []
    indices = any(p.index is not None for p in given(function.parameters))
    errors = ["TypeError: an argument that is not real numbers."]
    if indices:
        errors.append("ValueError: a wrong shape, or an index that is out of range.")
    else:
        errors.append("ValueError: an argument of a wrong shape.")
    if function.body.refusals:
        found = " or ".join(function.body.refusals)
        errors.append(f"LinAlgError: a matrix that is {found}.")
    if function.body.modules or not IMPORTS.keys().isdisjoint(function.body.helpers):
        errors.append("ImportError: SciPy is not installed.")
    return errors
