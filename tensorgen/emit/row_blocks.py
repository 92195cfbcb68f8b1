"""Classes of functions whose data come in blocks of rows, on one flat vector."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tensorgen.calculus.kinds import HVP, camel
from tensorgen.emit.blocked import BlockedFunction, Told
from tensorgen.emit.data import conversion
from tensorgen.emit.documentation import shape_phrase
from tensorgen.emit.flat_vector import Layout, layout
from tensorgen.emit.function_preamble import Plan, plan
from tensorgen.emit.interface import arranged, every
from tensorgen.emit.text import docstring, paragraph, quoted_names
from tensorgen.ir.dims import tuple_text


@dataclass(frozen=True, slots=True)
class Over:
    """Such a class as its template sees it.

    `tables` are attributes of the class by their names, and `measured` the sizes that
    the `layout` of a flat vector reads.
    """

    name: str
    base: str
    docstring: str
    names: str
    ways: list[tuple[str, str]]
    tables: list[tuple[str, str]]
    first: str
    signature: str
    given: str
    known: str
    hessian: str
    hvp: bool
    biased: str
    variables: tuple[str, ...]
    pack_signature: str
    packing: str
    layout: Layout
    measured: str


def over(own: BlockedFunction) -> Over:
    """Describe the class of a function whose rows come in blocks."""
    plain, keyword = arranged(own.known)
    named = [p.declared for p in (*plain, *keyword)]
    known = ", ".join(f'"{p.name}": {p.name}' for p in (*plain, *keyword))
    data = [*own.blocked, *own.known]
    told = plan(every(data))
    for size in own.lengths:
        told.sources.setdefault(size, ("", own.variables[0]))
    symbols = dict.fromkeys(s for p in own.variables for d in p.dims for s in d.symbols)
    sizes = tuple(s for s in symbols if s in told.sources)
    rows = layout(own.variables, told, sizes)
    variables = tuple(p.name for p in own.variables)
    tables = {
        "_lengths": _places(own.lengths),
        "_counts": _texts(own.counts),
        "_sides": _places(own.sides),
        "_own_sides": _places(own.own_sides),
        "_shards": _places(own.shards),
    }
    if own.shards:
        fields = {name: way.fields for name, way in own.methods.items() if way.fields}
        pairs = (f'"{name}": {quoted_names(x)}' for name, x in fields.items())
        along = {x: at for way in own.methods.values() for x, at in way.along.items()}
        tables |= {"_fields": f"{{{', '.join(pairs)}}}", "_along": _places(along)}
    return Over(
        f"{camel(own.function)}Over",
        "_ShardedRowBlocks" if own.shards else "_RowBlocks",
        _docstring(own),
        quoted_names(variables),
        [(name, way.text) for name, way in own.methods.items()],
        [(name, text) for name, text in tables.items() if text],
        own.first,
        ", ".join(["*", *named, "map: Any = map"]),
        "".join(f", {p.name}={p.name}" for p in (*plain, *keyword)),
        f"{{{known}}}",
        own.hessian,
        HVP.name in own.methods,
        own.biased,
        variables,
        ", ".join(f"{name}: ArrayLike" for name in variables),
        conversion(own.variables)[0],
        rows,
        "" if rows.packs else _measured(own, told, sizes),
    )


def _docstring(own: BlockedFunction) -> str:
    names = [p.name for p in own.blocked]
    told = [
        x for x, (_, axis) in {**own.lengths, **own.own_sides}.items() if axis is None
    ]
    also = f", and {', '.join(told)}, how many it has" if told else ""
    rows = [f"    {p.name} : {shape_phrase(p.dims)}" for p in own.variables]
    shards = [p.name for p in own.variables if p.name in own.shards]
    note = ", those of " + ", ".join(shards) + " in the order of the blocks"
    vector = "The vector contains, raveled in C order and concatenated"
    return docstring(
        [f"`{own.function}` over blocks of rows, a function of one flat vector."],
        [*paragraph(f"{vector}{note if shards else ''}:"), "", *rows],
        paragraph(
            f"A block has its rows of {', '.join(names)}{also}: a dictionary of these, "
            "or a callable that returns one, which is called in each round. `map` may "
            "be that of a pool of processes, or any other that keeps the order."
        ),
    )


def _measured(own: BlockedFunction, told: Plan, sizes: Sequence[str]) -> str:
    """The sizes that a vector's layout reads, as a tuple of Python."""
    texts = []
    for size in sizes:
        text, parameter = told.sources[size]
        if size in own.lengths:
            texts.append(f'self._bounds["{size}"][-1]')
        elif parameter.role == "size":
            texts.append(f'self._known["{size}"]')
        else:
            texts.append(re.sub(r"(\w+)\.shape", r'self._shapes["\1"]', text))
    return tuple_text(texts) if texts else ""


def _texts(names: Mapping[str, str]) -> str:
    pairs = (f'"{x}": "{y}"' for x, y in names.items())
    return f"{{{', '.join(pairs)}}}" if names else ""


def _places(told: Told) -> str:
    """The arrays and axes that tell sizes, as the text of a dictionary."""
    rows = (f'"{x}": ("{of}", {axis})' for x, (of, axis) in told.items())
    return f"{{{', '.join(rows)}}}" if told else ""
