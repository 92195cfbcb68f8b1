"""The class of a problem's points: what each of its members computes, from what."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tensorgen.emit import returned
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound_problems import BoundFunction, Following, Part
from tensorgen.emit.function_preamble import Plan, bindings, plan, taken_apart
from tensorgen.emit.interface import Function, Parameter, every, given
from tensorgen.emit.text import WIDTH, docstring, words


@dataclass(frozen=True, slots=True)
class Method:
    """A member of the class of points, as its template sees it."""

    name: str
    signature: str
    annotation: str
    docstring: str
    lines: list[str]


def members(bound: BoundFunction, backend: Backend) -> list[Method]:
    """Return the members, each after those that it uses."""
    sources = {
        p.name: "self._given" if p.name in bound.wrt or p.solved else "self._data"
        for p in given(bound.inputs)
    }
    sources |= {name: "self._data" for name in bound.held}
    scope = Scope(bound.inputs, bound.wrt, bound.taken, sources, backend)
    found = []
    for part in bound.shared:
        names, what = part.body.returns, part.kind.part
        text = f"Return what {what} and later methods share."
        if part.kind.argument:
            text = f"Return what {what} needs for every direction."
        rows = [
            *scope.reading(part),
            *split_rows(part.body.lines),
            f"return SimpleNamespace({keyed(names)})",
        ]
        name = f"_for_{part.name}"
        found.append(Method(name, "self", "SimpleNamespace", docstring([text]), rows))
        sources |= {name: f"self._for_{part.name}" for name in names}
    directions = [f"{name}: Array" for name in bound.directions]
    for part in bound.methods:
        found.append(
            Method(
                part.name,
                ", ".join(["self", *directions * bool(part.kind.argument)]),
                annotation(bound, part),
                docstring([part.kind.method]),
                [*scope.reading(part), *_finished(bound, part, backend.alias)],
            )
        )
    return found


def annotation(bound: BoundFunction, part: Part) -> str:
    """Return the type of what a member returns."""
    if bound.is_joint_jacobian(part):
        return "_JointJacobian"
    if part.function is not None:
        return returned.object_type(part.function)
    return returned.array_type(part.dims) if part.kind.by == "nothing" else "Array"


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a method finds what it reads.

    `sources` are the namespaces that hold values by name; what it reads of `inputs`
    also gives it sizes. The first of the inputs `typed` has the dtype of all.
    """

    inputs: Sequence[Parameter]
    typed: Sequence[str]
    taken: Container[str]
    sources: Mapping[str, str]
    backend: Backend

    def reading(self, part: Part | Following) -> list[str]:
        """Return the statements before those of a part: what it reads, and sizes."""
        body = part.body
        inputs = every(self.inputs)
        known = plan(inputs, body.dims)
        sizes, read = size_lines(inputs, known, body.dims)
        dtype = list(self.typed[:1]) * body.needs_dtype
        stated = [symbol for symbol in body.dims if symbol not in known.sources]
        names = {*part.reads, *read, *stated, *dtype}
        parts = [p for p in self.inputs if p.of is not None and p.name in names]
        forms = part.function.forms if isinstance(part, Part) and part.function else ()
        texts = [sizes, dtype, body.text, *(form.text for form in forms)]
        used = words(row for text in texts for row in text)
        # A node may read what its statements do not: ones of its shape alone.
        whole = {p.of.name for p in parts if p.of is not None and p.of.name in used}
        parts = [p for p in parts if p.name in used]
        names = whole | {name for name in names if name in used}
        names |= {p.of.name for p in parts if p.of is not None}
        return [
            *import_lines(part, self.backend),
            *self.unpacked(names),
            *taken_apart(parts),
            *sizes,
            *(f"dtype = {name}.dtype" for name in dtype),
            *["dtype = float"] * (body.needs_dtype and not dtype),
        ]

    def unpacked(self, wanted: Container[str]) -> list[str]:
        """Return the statements that bind what is wanted of the namespaces."""
        places: dict[str, list[str]] = {}
        for name, place in self.sources.items():
            if name in wanted:
                places.setdefault(place, []).append(name)
        return [
            line
            for place, names in places.items()
            for line in unpacked(place, names, self.taken)
        ]


def import_lines(part: Part | Following, backend: Backend) -> list[str]:
    """Return the imports of a part, set apart."""
    lines = [backend.import_line(module) for module in part.body.modules]
    return [*lines, ""] if lines else []


def split_rows(lines: Iterable[str]) -> list[str]:
    """Return statements line by line."""
    return [row for line in lines for row in line.split("\n")]


def keyed(names: Iterable[str]) -> str:
    """Return names as keyword arguments of what they stand for."""
    return ", ".join(f"{name}={name}" for name in names)


def unpacked(place: str, names: Sequence[str], taken: Container[str]) -> list[str]:
    """Return the statements that bind what a namespace holds, in a scope of names."""

    def line(place: str) -> str:
        values = ", ".join(f"{place}.{name}" for name in names)
        return f"{', '.join(names)} = {values}"

    if len(names) <= 2 and len(line(place)) <= WIDTH - 8:
        return [line(place)]
    short = place.removeprefix("self._")
    while short in taken and short != place:
        short += "_"
    first = [f"{short} = {place}"] * (short != place)
    if len(line(short)) <= WIDTH - 8:
        return [*first, line(short)]
    return [*first, *(f"{name} = {short}.{name}" for name in names)]


def size_lines(
    parameters: Sequence[Parameter], known: Plan, symbols: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return the statements that bind sizes, and the arguments they read."""
    needed = dict.fromkeys(symbols)
    # A size that was solved for is written with those known before it.
    for symbol in reversed(known.sources):
        if symbol in needed and symbol in known.solved:
            needed.update(dict.fromkeys(known.solved[symbol].dim.symbols))
    wanted = [symbol for symbol in known.sources if symbol in needed]
    read = [known.sources[symbol][1].name for symbol in wanted]
    holders = [p for p in parameters if p.name in read]
    return bindings(holders, known, wanted), read


def _finished(bound: BoundFunction, part: Part, alias: str) -> list[str]:
    """Return a method's own statements."""
    if part.function is None:
        return [*split_rows(part.body.lines), *_returned(bound, part, alias)]

    def blocks(function: Function, several: bool) -> list[str]:
        pairs = zip(bound.wrt, returned.objects(function), strict=True)
        parts = ", ".join(f'"{name}": {block}' for name, block in pairs)
        return [f"return _JointJacobian({{{parts}}})"]

    joint = bound.is_joint_jacobian(part)
    return returned.statements(
        part.function, blocks if joint else returned.return_lines
    )


def _returned(bound: BoundFunction, part: Part, alias: str) -> list[str]:
    values = part.body.returns
    if part.kind.by == "nothing":
        return [f"return {values[0]}"]
    orders = [len(p.dims) for name in bound.wrt for p in bound.inputs if p.name == name]
    flat = [
        value if order == 1 else f"{alias}.ravel({value})"
        for value, order in zip(values, orders, strict=True)
    ]
    text = flat[0] if len(flat) == 1 else f"{alias}.concatenate([{', '.join(flat)}])"
    return [f"return {text}"]
