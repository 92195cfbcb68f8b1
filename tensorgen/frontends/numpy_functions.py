"""Functions over NumPy, read as specs: the text is parsed, and nothing of it is run.

Array notation of the language has NumPy's meaning, so most of a function is copied;
what differs is translated, and what has no counterpart is a fault in the user's file.
Local names are lines of `where`, calls of functions of the same file are read in their
place, and shapes, of which some translations depend, are those that the language
proves (`known_shapes`).
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tensorgen.errors import Source, Span, SpecError, Text, fail, suggest
from tensorgen.frontends.declared_shapes import Declared, read_shape
from tensorgen.frontends.known_shapes import KnownShapes
from tensorgen.frontends.over_numpy.numpy_bodies import Body, default_nodes, defaults
from tensorgen.frontends.over_numpy.numpy_calls import called
from tensorgen.frontends.over_numpy.numpy_conditions import chosen, comparison, negation
from tensorgen.frontends.over_numpy.numpy_program import (
    Line,
    Program,
    Unbounded,
    mentioned,
    spec_name,
)
from tensorgen.frontends.over_numpy.numpy_subscripts import entries
from tensorgen.frontends.over_numpy.numpy_values import (
    FLOAT,
    INT,
    Thing,
    Value,
    joined,
    written_size,
)
from tensorgen.frontends.python_source import PythonFile
from tensorgen.frontends.spec_parts import FunctionPart, InputPart, SpecParts
from tensorgen.frontends.spec_text import Piece, SpecText
from tensorgen.frontends.translation import Translation
from tensorgen.spec.names import RESERVED_OF_INPUTS
from tensorgen.spec.read import read_spec
from tensorgen.spec.written_scalars import Flow, flow

_SPEC = "<spec>"
_READERS: Mapping[type[ast.AST], Callable[[Any, Any], Thing]] = {
    ast.Call: called,
    ast.Subscript: entries,
    ast.Compare: comparison,
    ast.BoolOp: chosen,
    ast.IfExp: chosen,
    ast.Not: negation,
}
"""What reads expressions that are no operations and no names."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for beside the function: shapes of arguments, and derivatives."""

    shapes: Mapping[str, str]
    wrt: tuple[str, ...] = ()
    emit: tuple[Flow, ...] = ()
    dims: Mapping[str, int] = field(default_factory=dict)
    module: str | None = None


@dataclass(frozen=True)
class Argument:
    """A parameter of the function that is an input of the spec, under its `name`."""

    parameter: str
    name: Text
    declared: Declared
    default: str | None = None


@dataclass(frozen=True)
class NumpyFunction:
    """A function that was read: its spec, and which input each parameter is.

    `place` is where its name stands, and `name` what the spec calls it.
    """

    name: str
    parts: SpecParts
    text: SpecText
    inputs: Mapping[str, str]
    place: Span
    remarks: tuple[str, ...] = ()

    def told(self, error: SpecError) -> SpecError:
        """Return an error about the spec as one about the file of Python."""
        return self.text.told(error, self.place)


def read_numpy_function(
    source: str,
    filename: str,
    shapes: Mapping[str, str],
    wrt: str | Sequence[str] = (),
    emit: Sequence[Flow] = (),
    *,
    name: str | None = None,
    dims: Mapping[str, int] | None = None,
) -> Translation:
    """Return a function over NumPy as a spec.

    `source` is the text of a file of Python, `name` that of a function in it if there
    are several, and `shapes` says of each argument how long its axes are, `"m n"`.
    `wrt`, `emit` and `dims` are those of specs. Raises `SpecError`, whose places are
    in the file, where something cannot be read.
    """
    file = PythonFile.parse(Source(filename, source))
    by = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    wanted = Wanted(shapes, by, tuple(emit), dims or {})
    found = read_function(file, file.function(name), wanted)
    return Translation(found.text.text, found.remarks)


def read_function(
    file: PythonFile, function: ast.FunctionDef, wanted: Wanted
) -> NumpyFunction:
    """Return one function of a file as a spec; raises `SpecError`."""
    arguments = _arguments(file, function, wanted)
    while True:
        try:
            return _read(file, function, wanted, arguments)
        except Unbounded as found:
            # How large integers may be follows from the first axis that they read.
            arguments = [
                (
                    _bounded(x, written_size(found.below))
                    if x.name.value == found.name
                    else x
                )
                for x in arguments
            ]


def _bounded(argument: Argument, below: str) -> Argument:
    return replace(argument, declared=replace(argument.declared, bound=below))


def _read(
    file: PythonFile,
    function: ast.FunctionDef,
    wanted: Wanted,
    arguments: Sequence[Argument],
) -> NumpyFunction:
    place = file.span(function)
    name = spec_name(function.name)
    by_parameter = {x.parameter: x.name.value for x in arguments}
    label = Text(name, file.source, (place.start,) * len(name) + (place.end,))
    probe = _parts(file, function, wanted, arguments, FunctionPart(label, "0"))
    text = probe.written(_SPEC)
    try:
        spec = read_spec(text.source)
    except SpecError as error:
        raise text.told(error, place) from None
    by = [by_parameter.get(x, x) for x in wanted.wrt]
    shapes = KnownShapes(spec, label, by)
    taken = {name, *by_parameter.values(), *(x for x, _ in spec.hints)}
    taken |= {x for i in spec.inputs for dim in i.shape for x in dim.symbols}
    unbounded = {x.name.value for x in arguments if _is_open(x)}
    program = Program(file, shapes, taken, frozenset(unbounded), _READERS)
    names: dict[str, Thing] = {
        x: thing for x, thing in defaults(program, function) if x not in by_parameter
    }
    for x in arguments:
        kind = INT if x.declared.is_whole else FLOAT
        names[x.parameter] = Value(x.name, kind=kind)
    result = Body(program, function, names).result()
    shapes.shape(result.text)
    lines = program.needed(result.text)
    if name in mentioned([result.text, *(line.text for line in lines)]):
        # It would be defined by itself: the language has a function of this name.
        name += "_"
        label = Text(name, file.source, (place.start,) * len(name) + (place.end,))
    read = label, lines, result.text
    body = _body(file, function, wanted, by, read)
    parts = _parts(file, function, wanted, arguments, body)
    text = parts.written(f"{os.path.basename(file.source.name)}: {name}")
    return NumpyFunction(name, parts, text, by_parameter, place, (*program.remarks,))


def _is_open(argument: Argument) -> bool:
    return argument.declared.is_whole and argument.declared.bound is None


def _arguments(
    file: PythonFile, function: ast.FunctionDef, wanted: Wanted
) -> list[Argument]:
    """The parameters that are inputs; raises `SpecError` where a shape is missing."""
    own = function.args
    for starred in (own.vararg, own.kwarg):
        if starred is not None:
            hint = "write the arguments out"
            file.fail("any number of arguments cannot be read", starred, hint)
    parameters = [*own.posonlyargs, *own.args, *own.kwonlyargs]
    known = [x.arg for x in parameters]
    _check_names(file, function, wanted, known)
    given = {parameter.arg: node for parameter, node in default_nodes(function)}
    found: list[Argument] = []
    taken: set[str] = set()
    for parameter in parameters:
        default = None
        if parameter.arg in given:
            default = _default(given[parameter.arg])
            if parameter.arg not in wanted.shapes and default is None:
                continue  # None, True, a text: known, and no input
        elif parameter.arg not in wanted.shapes:
            hint = f'say how long its axes are: {parameter.arg}="m n", "" for a number'
            message = f"the shape of '{parameter.arg}' is not stated"
            file.fail(message, parameter, hint)
        place = _place(file, function, parameter.arg) or file.span(parameter)
        written = wanted.shapes.get(parameter.arg, "")
        declared = read_shape(_text(written, place))
        name = _input_name(parameter.arg, taken)
        taken.add(name)
        text = joined(file, parameter, name)
        found.append(Argument(parameter.arg, text, declared, default))
    return found


def _check_names(
    file: PythonFile, function: ast.FunctionDef, wanted: Wanted, known: Sequence[str]
) -> None:
    for what, names in (("shapes", [*wanted.shapes]), ("wrt", [*wanted.wrt])):
        for name in names:
            if name not in known:
                hint = suggest(name, known) or f"its arguments: {', '.join(known)}"
                if name == "batch":
                    hint = 'say of which arguments there are samples: x="n batch: B"'
                own = name if what == "shapes" else what
                place = _place(file, function, own) or file.span(function)
                message = f"'{function.name}' has no argument '{name}'"
                fail(message, place, hint=hint)


def _input_name(parameter: str, taken: set[str]) -> str:
    name = spec_name(parameter)
    while name in RESERVED_OF_INPUTS or name in taken:
        name += "_"
    return name


def _default(node: ast.expr) -> str | None:
    """The number that is a default, as text, None for anything else."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return repr(value)


def _place(file: PythonFile, function: ast.FunctionDef, keyword: str) -> Span | None:
    """Where a decorator says something: `w` of `@tensorgen.function(w="n")`."""
    for decorator in function.decorator_list:
        for own in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if own.arg == keyword:
                return file.span(own.value)
    return None


def _text(written: str, place: Span) -> Text:
    """A text that stands somewhere, be it written there in the same way or not."""
    inside = place.source.text[place.start : place.end]
    at = inside.find(written)
    if at >= 0:
        start = place.start + at
        return Text(
            written, place.source, tuple(range(start, start + len(written) + 1))
        )
    rest = (place.start,) * (len(written) - 1) + (max(place.end - 1, place.start),)
    return Text(written, place.source, (*rest[: len(written)], place.end))


# Parts of the spec


def _parts(
    file: PythonFile,
    function: ast.FunctionDef,
    wanted: Wanted,
    arguments: Sequence[Argument],
    body: FunctionPart,
) -> SpecParts:
    inputs = []
    for x in arguments:
        place = _place(file, function, x.parameter) or x.name.span()
        entry = _text(x.declared.written(x.default), place)
        inputs.append(InputPart(x.name, entry, x.declared.written(x.default)))
    module = wanted.module or spec_name(function.name)
    dims: dict[str, int | None] = {**wanted.dims}
    return SpecParts(module, dims=dims, inputs=inputs, functions=[body])


def _body(
    file: PythonFile,
    function: ast.FunctionDef,
    wanted: Wanted,
    by: Sequence[str],
    read: tuple[Text, Sequence[Line], Text],
) -> FunctionPart:
    name, lines, result = read
    docstring = ast.get_docstring(function)
    doc = docstring.split("\n\n")[0] if docstring else None
    asked: dict[str, Piece] = {}
    for key, values in (("wrt", by), ("emit", wanted.emit)):
        if values:
            written = flow(values[0] if key == "wrt" and len(by) == 1 else [*values])
            place = _place(file, function, key) or file.span(function)
            asked[key] = _text(written, place)
    where = [(line.name, line.text) for line in lines]
    return FunctionPart(name, result, doc, where, **asked)
