"""What a spec defines, as an outline: functions with their local names and results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tensorgen.editor.occurrences import sketch
from tensorgen.errors import Faults, Source, Span, SpecError, Text
from tensorgen.ir.dims import tuple_text
from tensorgen.spec.model import Definition, InputSpec
from tensorgen.spec.names import on_one_line
from tensorgen.spec.yaml_nodes import Listing, Mapping, Node, Scalar
from tensorgen.spec.yaml_tree import read_tree


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name, the sort of thing it is, all that is said of it, and what is within."""

    name: str
    sort: str
    detail: str
    whole: Span
    own: Span
    within: tuple[Symbol, ...] = ()


def symbols(source: Source) -> list[Symbol]:
    """Return what a spec defines, in the order of the file."""
    spec = sketch(source)
    if spec is None:
        return []
    ends = dict(_ends(source))

    def symbol(
        text: Text, sort: str, detail: str = "", within: Iterable[Symbol] = ()
    ) -> Symbol:
        own = text.span()
        whole = Span(source, own.start, max(ends.get(own.start, 0), own.end))
        return Symbol(text.value, sort, detail, whole, own, tuple(within))

    found = [symbol(place, "dim") for place in _firsts(spec.dim_places)]
    for given in spec.inputs:
        found.append(symbol(given.name_text, "input", _shape(given)))
    for unknown in spec.unknowns:
        found.append(symbol(unknown.given.name_text, "input", _shape(unknown.given)))
    for external in spec.externals:
        found.append(symbol(external.name_text, "function", external.calls[0][1]))
    found += map(_defined, spec.definitions)
    for function in spec.functions:
        within = map(_defined, (*function.where, *function.results))
        detail = "" if function.results else on_one_line(function.expr)
        found.append(symbol(function.name_text, "function", detail, within))
    if spec.problem is not None:
        found.append(symbol(spec.problem.name_text, "problem"))
    return sorted(found, key=lambda one: one.own.start)


def _firsts(texts: Iterable[Text]) -> Iterable[Text]:
    found: dict[str, Text] = {}
    for text in texts:
        found.setdefault(text.value, text)
    return found.values()


def _shape(given: InputSpec) -> str:
    return tuple_text(given.shape) if given.shape else "scalar"


def _defined(definition: Definition) -> Symbol:
    own, body = definition.name_text.span(), definition.body.span()
    sort = "local" if definition.parameters is None else "function"
    whole = Span(own.source, own.start, max(own.end, body.end))
    detail = on_one_line(definition.body)
    return Symbol(definition.name, sort, detail, whole, own)


def _ends(source: Source) -> Iterator[tuple[int, int]]:
    """Yield where keys begin, and where what stands under them ends."""
    try:
        waiting: list[Node] = [read_tree(source, Faults())]
    except SpecError:
        return
    while waiting:
        match waiting.pop():
            case Listing(items=items):
                waiting += items
            case Mapping(pairs=pairs):
                for key, value in pairs:
                    waiting.append(value)
                    if isinstance(key, Scalar):
                        end = len(source.text[: value.span.end].rstrip())
                        yield key.text.positions[0], end
