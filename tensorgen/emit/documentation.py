"""Docstrings of generated functions: formula, arguments, result, structure, errors.

What all functions of a module share is said once: the meaning of arguments and common
errors at its top, the text of a function of the spec where that is first met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tensorgen.calculus.kinds import Kind
from tensorgen.emit.interface import Function, Parameter, arrays_among, sizes_among
from tensorgen.emit.text import FILLED, WIDTH, docstring, equation, filled, paragraph
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.operators.helpers.systems import IMPORTS

EVIDENT = 300
"""The longest structure that is repeated where its class is returned."""


_DELTAS = re.compile(r"delta\[|sum_\{|\[[^]]*<=? ")


@dataclass(slots=True)
class Told:
    """What docstrings have said of one function of the spec, and the first of them."""

    first: str
    texts: set[str] = field(default_factory=set)

    def new(self, texts: Iterable[str]) -> list[str]:
        """Return those of some texts that are told for the first time."""
        found = [text for text in texts if text not in self.texts]
        self.texts.update(found)
        return found


def module_docstring(
    name: str, doc: str | None, parameters: Iterable[Parameter]
) -> str:
    """Return the docstring of a module, with the arguments of its functions."""
    rows = paragraph(doc or "")
    # An unknown is an argument like others of the functions that find it.
    by_role = sorted(parameters, key=lambda p: p.role == "unknown")
    own = list({p.name: p for p in by_role}.values())
    inputs = [p for p in own if p.role in ("input", "unknown", "size")]
    directions = [p.name for p in own if p.role == "direction"]
    entries = [row for p in inputs for row in _argument(p)]
    if directions:
        text = f"{', '.join(directions)} : directions in these, of their shapes"
        entries += paragraph(text, "    ", "    ")
    cotangents = [p for p in by_role if p.role == "cotangent"]
    if cotangents:
        more = dict.fromkeys(p.doc for p in cotangents if p.doc)
        text = "; ".join(["ct : the cotangent, of the shape of the value", *more])
        entries += paragraph(text, "    ", "    ")
    return docstring(
        rows if any(rows) else [f"Functions of {name}."],
        [
            *(["Arguments:", *entries] if entries else []),
            *_section("Raises", _always_raised(own)),
        ],
    )


def function_docstrings(functions: Iterable[Function]) -> list[str]:
    """Return the docstrings of a module's functions; what one has said is said once."""
    told: dict[str, Told] = {}
    return [
        function_docstring(f, told.setdefault(f.function, Told(f.name)))
        for f in functions
    ]


def function_docstring(function: Function, told: Told | None = None) -> str:
    """Return the docstring of a generated function, quotes included."""
    told = told or Told(function.name)
    doc = told.new([function.doc] if function.doc else [])
    formulas = told.new(function.formula)
    of_one = ["Of one sample:"] * bool(formulas and function.over)
    elsewhere = told.first not in (function.name, function.function)
    derivatives = told.new(function.derivatives)
    of_all = ["Of all samples:"] * bool(of_one and derivatives)
    if not of_all:
        formulas += derivatives
        derivatives = []
    more = f"Formulas: `tensorgen explain SPEC {function.name}`"
    stated = f"`{function.function}` is stated in `{told.first}`."
    return docstring(
        [summary(function)],
        [row for text in doc for row in paragraph(text)],
        [*of_one, *(row for text in formulas for row in equation(text))],
        [*of_all, *(row for text in derivatives for row in equation(text))],
        [
            *[stated] * (elsewhere and bool(function.formula)),
            *[more] * function.more,
            *filled("Arguments: ", [_brief(p) for p in function.arguments]),
            *_section("Returns", _result(function)),
            *_structure(function),
            *_section("Cost", _costs(function)),
            *_section("Raises", _errors(function)),
        ],
    )


def summary(function: Function) -> str:
    """Return the first line of a docstring, with as many names of inputs as fit."""
    for shown in range(len(function.wrt), -1, -1):
        text = function.kind.summary.format(
            f=function.function,
            x=_listing(function.wrt, shown),
            k=len(function.order),
            order=_listing(function.order),
        )
        if function.over is not None:
            text = f"{text[:-1]}, by sample."
        if len(text) + len('    """') <= WIDTH:
            break
    return text


def _listing(names: tuple[str, ...], shown: int | None = None) -> str:
    """Return names in a row, or the first few and how many others there are."""
    quoted = [f"`{name}`" for name in names]
    if shown is not None and shown < len(names):
        others = len(names) - shown
        word = ("other" if shown else "input") + "s" * (others > 1)
        quoted[shown:] = [f"{others} {word}"]
    return " and ".join([", ".join(quoted[:-1]), *quoted[-1:]][len(quoted) < 2 :])


def _section(title: str, entries: Sequence[str]) -> list[str]:
    if len(entries) == 1:
        return paragraph(f"{title}: {entries[0]}", hanging="    ")
    rows: list[str] = []
    for text in entries:
        indent = " " * (4 + len(text) - len(text.lstrip(" ")))
        rows += paragraph(text, indent, "    ")
    return [f"{title}:", *rows] if rows else []


def _costs(function: Function) -> list[str]:
    """What the function takes, and each other form of it."""
    told = [function.cost] * bool(function.cost)
    return told + [
        f"    if {x.condition}: {x.function.cost}"
        for x in function.choices
        if x.function.cost and told
    ]


def _brief(parameter: Parameter) -> str:
    """The name and the shape of an argument, which the module describes."""
    if parameter.role == "size":
        return parameter.name
    text = f"{parameter.name} {tuple_text(parameter.dims)}"
    if parameter.index is not None:
        text += f" in 0 ... {parameter.index - 1}"
    return text + " sparse" * parameter.sparse


def _argument(parameter: Parameter) -> list[str]:
    """Name, shape and meaning of an argument, in one line where they fit."""
    if parameter.role == "size":
        return [f"    {parameter.name} : integer from 0 on, a size"]
    text = f"{parameter.name} : {shape_phrase(parameter.dims)}"
    if parameter.index is not None:
        bound = parameter.index - 1
        text = f"{parameter.name} : integers in 0 ... {bound}"
        text += f", shape {tuple_text(parameter.dims)}"
    if parameter.sparse:
        shape = tuple_text(parameter.dims)
        text = f"{parameter.name} : sparse matrix, shape {shape}"
        text += "; its entries count row by row"
    if parameter.solved:
        text += f", {parameter.solved} by default"
    elif parameter.default is not None:
        text += f", {parameter.default} by default"
    doc = (parameter.doc or "").strip()
    if doc and "\n" not in doc:
        text, doc = f"{text}; {doc}", ""
    return [
        *paragraph(text, "    ", "    "),
        *(paragraph(doc, "        ") if doc else []),
    ]


def shape_phrase(dims: tuple[Dim, ...]) -> str:
    """Return "scalar" or "array, shape (m, n)"."""
    return f"array, shape {tuple_text(dims)}" if dims else "scalar"


def _result(function: Function) -> list[str]:
    kinds = function.kind.parts
    return [row for kind in kinds for row in _part(kind, function, len(kinds) > 1)]


def _part(kind: Kind, function: Function, named: bool) -> list[str]:
    """Describe what a kind returns, alone or beside others, whence it is `named`."""
    label = f"{kind.label}: " if named and kind.label and not kind.holder else ""
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
    if len(blocks) == 1 or kind.only:
        return [label + kind.returns.format(shape=shape(*blocks[0]))]
    if kind.by == "each":
        dims = (tuple_text(function.block_dims(kind, (x,))) for x in function.wrt)
        each = ", ".join(f"{x} {d}" for x, d in zip(function.wrt, dims, strict=True))
        return [label + kind.returns.format(shape=f"a tuple of arrays, {each}")]
    if kind.by == "all":
        names = ", ".join(f'"{x}"' for x in blocks[-2])
        return [f"{kind.returns}, such as blocks[{names}]"]
    if kind.holder:
        return [f"{kind.returns}, over the inputs raveled and concatenated"]
    text = "a dictionary from pairs of inputs, such as `('a', 'b')`, to arrays of"
    return [label + text] + [
        f"    ('{a}', '{b}'): {shape(a, b)}" for a in function.wrt for b in function.wrt
    ]


def _indented(name: str, rows: list[str]) -> list[str]:
    first, *others = rows
    return [f"    {name}: {first}", *(f"    {row}" for row in others)]


def _structure(function: Function) -> list[str]:
    """Say what each object holds, by the names of its blocks where it has several."""
    rows = _of_results(function)
    if not function.results and len(rows) > 1 and _is_dense(function):
        rows = [["dense"]]
    if len(rows) == 1 and not function.choices:
        first, *more = rows[0]
        return [*equation(f"Structure: {first}", ""), *more]
    found = [row for first, *more in rows for row in (*equation(first), *more)]
    for choice in function.choices:
        found.append(f"    if {choice.condition}, to save memory:")
        for first, *more in _of_results(choice.function):
            found += [f"    {row}" for row in (*equation(first), *more)]
    return ["Structure:", *found] if found else []


def _is_dense(function: Function) -> bool:
    return all(h.structure == "dense" for f in function.forms for h in f.holders)


def _of_results(function: Function) -> list[list[str]]:
    """The structures of the objects of each result, by the names of several."""
    if not function.results:
        return _structures(function)
    rows = []
    for name, own in function.results:
        found = _structures(own)
        if found:
            rows.append([f"{name}:", *(f"    {x}" for row in found for x in row)])
    return rows


def _structures(function: Function) -> list[list[str]]:
    """The structure of each object: its name first, then the equation.

    Of one among several the class has the equation.
    """
    several, rows = len(function.holders) > 1, []
    for holder, block in zip(function.holders, function.blocks, strict=False):
        text = holder.structure
        if len(text) > EVIDENT:
            text = f"that of {holder.class_name}"
        first = f"{', '.join(block)}: " * several + (holder.words or text)
        # Deltas are said in words; else the equation tells what is stored.
        if not holder.words or several or _DELTAS.search(holder.structure):
            rows.append([first])
        elif len(first) + len(text) < FILLED - len("Structure: : "):
            rows.append([f"{first}: {text}"])
        else:
            rows.append([first, *equation(text)])
    return rows


def _always_raised(parameters: Sequence[Parameter]) -> list[str]:
    """What all functions with arguments raise."""
    arrays, stated = arrays_among(parameters), sizes_among(parameters)
    types = ["what is not real numbers"] * bool(arrays)
    types += ["a size that is no integer"] * bool(stated)
    values = ["a wrong shape"] * bool(arrays)
    values += ["an index out of range"] * any(p.index is not None for p in arrays)
    values += ["a size below 0"] * bool(stated)
    if not types:
        return []
    return [
        f"TypeError for {' or '.join(types)}, ValueError for {' or '.join(values)}."
    ]


def _errors(function: Function) -> list[str]:
    errors = ["TypeError, ValueError"] if function.parameters else []
    if function.body.refusals:
        found = " or ".join(function.body.refusals)
        errors.append(f"LinAlgError: a matrix that is {found}")
    bodies = [function.body, *(own.body for own in function.calls)]
    helpers = {x for body in bodies for x in body.helpers}
    if any(body.modules for body in bodies) or not helpers.isdisjoint(IMPORTS):
        errors.append("ImportError: SciPy is not installed")
    return [f"{'; '.join(errors)}."] if errors else []
