"""What may stand where somebody types: names, functions, keys and words.

Keys and the words that they take are those of the JSON Schema, names those that are
defined in the file and seen at the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tensorgen.editor.cursor import Cursor, cursor
from tensorgen.editor.hover import input_told
from tensorgen.editor.occurrences import sketch
from tensorgen.errors import Source
from tensorgen.explanation.function_reference import entries
from tensorgen.lang.elaborate_calls import SIGNATURES
from tensorgen.lang.statement import CONSTANTS
from tensorgen.spec.model import Definition, FunctionSpec, Spec
from tensorgen.spec.names import on_one_line
from tensorgen.spec.schema import EXPRESSION, Schema, spec_schema


@dataclass(frozen=True, slots=True)
class Proposal:
    """A word, what sort of thing it is, how it is called or defined, what it means."""

    word: str
    sort: str
    detail: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True)
class Proposals:
    """The words that may stand from `start` on."""

    start: int
    words: tuple[Proposal, ...]


def proposals(source: Source, offset: int) -> Proposals:
    """Return what may stand at an offset of a spec."""
    here = cursor(source, offset)
    if here is None:
        return Proposals(offset, ())
    spec = sketch(here.source)
    found = () if spec is None else _found(here, spec, offset)
    by_word = {x.word: x for x in reversed([*found])}
    return Proposals(here.start, tuple(by_word[x] for x in sorted(by_word)))


def _found(here: Cursor, spec: Spec, offset: int) -> Iterator[Proposal]:
    """Yield them, those that hide others first."""
    schemas = [*_schemas(here.path)]
    if here.is_key or here.opens:
        yield from _keys(schemas, here.others)
    if not here.is_key and any(_is_expression(x) for x in schemas):
        if here.of:
            yield from _attributes(here.of, spec)
        else:
            yield from _in_expression(here, spec, offset)
    if not here.is_key:
        yield from _enumerated(schemas)
    yield from _named(here, spec)


# Keys and words of the schema


@cache
def _schema() -> Schema:
    return spec_schema()


def _schemas(path: Iterable[str]) -> Iterator[Schema]:
    """Yield the schemas of which a value with these keys around it follows one."""
    found = [*_alternatives(_schema())]
    for key in path:
        found = [x for one in found for x in _below(one, key)]
    yield from found


def _alternatives(schema: Schema) -> Iterator[Schema]:
    """Yield a schema, or those that it refers to or is any of."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from _alternatives(_schema()["definitions"][name])
    yield schema
    for one in schema.get("anyOf", ()):
        yield from _alternatives(one)


def _below(schema: Schema, key: str) -> Iterator[Schema]:
    found: list[Any] = []
    if key == "[]":
        found.append(schema.get("items"))
    elif key in schema.get("properties", ()):
        found.append(schema["properties"][key])
    else:
        patterns = schema.get("patternProperties", {})
        found += [x for pattern, x in patterns.items() if re.search(pattern, key)]
        found.append(schema.get("additionalProperties"))
    for one in found:
        if isinstance(one, dict):
            yield from _alternatives(one)


def _keys(schemas: Iterable[Schema], others: Iterable[str]) -> Iterator[Proposal]:
    for schema in schemas:
        for key, value in schema.get("properties", {}).items():
            if key not in others:
                told = (x.get("description", "") for x in _alternatives(value))
                yield Proposal(key, "key", "", next(filter(None, told), ""))


def _enumerated(schemas: Iterable[Schema]) -> Iterator[Proposal]:
    for schema in schemas:
        for word in schema.get("enum", ()):
            if isinstance(word, bool):
                yield Proposal(str(word).lower(), "word")
            elif isinstance(word, str) and not word.isdigit():
                yield Proposal(word, "word")


def _is_expression(schema: Schema) -> bool:
    """Whether it takes an expression, or a block of definitions."""
    kinds = (EXPRESSION["type"], ["string", "null"])
    return schema.get("type") in kinds and "enum" not in schema


# Names


def _named(here: Cursor, spec: Spec) -> Iterator[Proposal]:
    """Yield the names that may stand where no expression does, but a name."""
    match here.path:
        case (
            ("inputs", _, "[]" | "index")
            | ("inputs", _, "batch", *_)
            | (_, _, "shape", *_)
            | ("external", _, "args", _, *_)
            | ("unknowns", _, "of", _, *_)
            | ("blocks",)
        ):
            yield from _dims(here, spec)
        case ("blocks", "functions", *_) | ("problem", "minimize" | "maximize"):
            yield from _functions(spec)
        case ("problem", "constraints") | ("problem", "constraints", "[]"):
            yield from _functions(spec)
        case (
            ("problem", "variables" | "sensitivity")
            | ("problem", "variables" | "sensitivity", "[]")
            | ("functions", _, "wrt")
            | ("functions", _, "wrt", "[]")
        ):
            yield from _variables(spec)
        case ("functions", name, "emit", str(), str()):
            own = [f for f in spec.functions if f.name == _bare(name)]
            wanted = {x.text.value for f in own for x in f.wrt}
            yield from (x for x in _inputs(spec) if x.word in wanted)
        case ("functions", name, "checkpoint") if here.is_key or here.opens:
            for function in spec.functions:
                if function.name == _bare(name):
                    yield from map(_defined, function.where)
        case ("blocks", _):
            yield from _dims(here, spec) if here.is_key else ()
        case ("blocks", _, _):
            yield from _inputs(spec)


def _bare(key: str) -> str:
    """The name of a function by its key, `f` of `f[i, j]`."""
    return key.partition("[")[0].strip()


def _inputs(spec: Spec) -> Iterator[Proposal]:
    for given in spec.inputs:
        yield Proposal(given.name, "input", "", input_told(given))


def _variables(spec: Spec) -> Iterator[Proposal]:
    """Yield the inputs to differentiate by."""
    reals = {x.name for x in spec.inputs if x.index is None}
    yield from (x for x in _inputs(spec) if x.word in reals)


def _dims(here: Cursor, spec: Spec) -> Iterator[Proposal]:
    """Yield the dims, but for the word that is being typed."""
    others = (x.value for x in spec.dim_places if x.positions[0] != here.start)
    for name in dict.fromkeys(others):
        yield Proposal(name, "dim", "a dim")


def _functions(spec: Spec) -> Iterator[Proposal]:
    for function in spec.functions:
        detail = "" if function.results else f"= {on_one_line(function.expr)}"
        yield Proposal(function.name, "function", detail, function.doc or "")


def _defined(definition: Definition) -> Proposal:
    inside = definition.parameters
    brackets = "[]" if inside is None else "()"
    if inside is None:
        inside = definition.places or definition.indices
    left = definition.name
    if inside is not None:
        within = ", ".join(x.value for x in inside)
        left += f"{brackets[0]}{within}{brackets[1]}"
    sort = "local" if definition.parameters is None else "function"
    return Proposal(definition.name, sort, f"{left} = {on_one_line(definition.body)}")


def _attributes(of: str, spec: Spec) -> Iterator[Proposal]:
    """Yield what may stand behind a dot."""
    for function in spec.functions:
        if function.name == of and function.results:
            yield from map(_defined, function.results)
            return
    yield Proposal("T", "word", "transposed")


def _in_expression(here: Cursor, spec: Spec, offset: int) -> Iterator[Proposal]:
    section, *rest = here.path
    if section == "functions":
        for function in spec.functions:
            if function.name == _bare(rest[0]):
                yield from _local(function, offset)
    elif section == "definitions":
        for definition in spec.definitions:
            if _is_in(offset, definition):
                yield from _bound(definition)
    elif section == "unknowns":
        for unknown in spec.unknowns:
            if unknown.name == rest[0]:
                yield from (
                    Proposal(x.name, "input", "", input_told(x))
                    for x in unknown.parameters
                )
    elif section == "external":
        for external in spec.externals:
            if external.name == rest[0]:
                yield from (Proposal(x.name, "index") for x in external.arguments)
    own = _bare(rest[0]) if rest else ""
    yield from (x for x in _of_file(here, spec) if x.word != own)
    yield from language()


def _local(function: FunctionSpec, offset: int) -> Iterator[Proposal]:
    """Yield what is defined above an offset in a function, and indices around it."""
    for text in function.indices or ():
        yield Proposal(text.value, "index", "an index")
    for definition in (*function.where, *function.results):
        if _is_in(offset, definition):
            yield from _bound(definition)
        if definition.body.span().end < offset or definition.gives_entries:
            yield _defined(definition)


def _is_in(offset: int, definition: Definition) -> bool:
    return definition.name_text.positions[0] <= offset <= definition.body.span().end


def _bound(definition: Definition) -> Iterator[Proposal]:
    """Yield the parameters or indices of a definition."""
    for text in definition.parameters or ():
        yield Proposal(text.value, "index", "a parameter")
    for text in definition.indices or ():
        yield Proposal(text.value, "index", "an index")


def _of_file(here: Cursor, spec: Spec) -> Iterator[Proposal]:
    yield from _inputs(spec)
    for unknown in spec.unknowns:
        yield Proposal(unknown.name, "input", "", input_told(unknown.given))
    for external in spec.externals:
        given = ", ".join(x.name for x in external.arguments)
        detail = f"{external.name}({given})"
        yield Proposal(external.name, "function", detail, external.doc or "")
    yield from map(_defined, spec.definitions)
    yield from _functions(spec)
    yield from _dims(here, spec)


@cache
def language() -> tuple[Proposal, ...]:
    """Return the functions and constants of the language."""
    found = [Proposal(x.name, "function", x.signature, x.doc) for x in entries()]
    found += [Proposal(x, "function", y) for x, y in SIGNATURES.items()]
    found.append(Proposal("range", "function", "sum(..., k=range(start, stop))"))
    return (*found, *(Proposal(x, "constant") for x in CONSTANTS))
