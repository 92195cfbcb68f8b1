"""The texts of a file, read: definitions, unknowns and functions by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tensorgen.errors import Faults, Text
from tensorgen.lang.grouping import Line, units
from tensorgen.lang.left_indices import with_left
from tensorgen.lang.syntax import Expression, names_in, parse
from tensorgen.spec.model import Definition, FunctionSpec, Spec, UnknownSpec


@dataclass(slots=True)
class Parsed:
    """A definition or function of the file with its texts read.

    What `steps` together, or is put together of its entries, is one of several names.
    """

    name: Text
    body: Expression | None
    where: tuple[tuple[Definition, Expression | None], ...] = ()
    definition: Definition | None = None
    function: FunctionSpec | None = None
    unknown: UnknownSpec | None = None
    metrics: tuple[tuple[str, Expression], ...] = ()
    steps: tuple[Line, ...] = ()
    reading: tuple[Parsed, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it defines, each once."""
        own = dict.fromkeys(definition.name for definition, _ in self.steps)
        return (*own,) or (self.name.value,)

    @property
    def expressions(self) -> Iterator[Expression]:
        """All of its texts."""
        for body in (
            *(body for _, body in (*self.where, *self.metrics, *self.steps)),
            self.body,
        ):
            if body is not None:
                yield body


def parse_texts(spec: Spec, faults: Faults) -> Iterator[Parsed]:
    """Yield what the file defines, what steps together as one."""
    lines = [(d, parse(d.body, faults)) for d in spec.definitions]
    together = _together(lines)
    for definition, body in lines:
        unit = together.get(definition.name, ())
        if not unit:
            yield Parsed(definition.name_text, body, definition=definition)
        elif definition is unit[0][0]:
            text = definition.name_text
            yield Parsed(text, None, definition=definition, steps=unit)
    for unknown in spec.unknowns:
        body = parse(unknown.body, faults)
        yield Parsed(unknown.given.name_text, body, unknown=unknown)
    dims = {name for name, _ in spec.hints}
    dims.update(s for i in spec.inputs for dim in i.shape for s in dim.symbols)
    for function in spec.functions:
        defined = (*function.where, *function.results)
        lines = [(d, parse(d.body, faults)) for d in defined]
        body = None if function.results else parse(function.expr, faults)
        lines, body = with_left(function, lines, body, dims)
        where = tuple(lines)
        texts = [(w.name, w.metric) for w in function.wrt]
        texts.append((function.name, function.metric))
        parsed = [(name, parse(x, faults)) for name, x in texts if x is not None]
        metrics = tuple((name, text) for name, text in parsed if text is not None)
        yield Parsed(
            function.name_text, body, where, function=function, metrics=metrics
        )


def _together(lines: Sequence[Line]) -> dict[str, tuple[Line, ...]]:
    """The definitions that are read as one, where some give entries, by their names."""
    if not any(definition.gives_entries for definition, _ in lines):
        return {}
    found = units([line for line in lines if line[0].parameters is None])
    return {
        definition.name: unit
        for unit in found
        if any(definition.gives_entries for definition, _ in unit)
        for definition, _ in unit
    }


def mentioned_names(item: Parsed) -> set[str]:
    """The names of a text that are not its own: what it binds itself is."""
    own = item.definition.parameters if item.definition is not None else None
    found = set[str]().union(*(names_in(x.tree) for x in item.expressions))
    return found - {parameter.value for parameter in own or ()}
