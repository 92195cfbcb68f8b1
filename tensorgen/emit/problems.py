"""Problem classes: a function bound to its data, on one flat vector."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from tensorgen.calculus.kinds import (
    GRADIENT,
    HESSIAN,
    HVP,
    JACOBIAN,
    KINDS,
    PROBLEM,
    VALUE,
)
from tensorgen.emit import arguments, results
from tensorgen.emit.arguments import Plan, bindings, plan, range_check
from tensorgen.emit.backends import BACKENDS, Backend
from tensorgen.emit.bound import BoundFunction, Check, Part
from tensorgen.emit.documentation import shape_phrase
from tensorgen.emit.model import Body, Function, Parameter, every, given
from tensorgen.emit.text import WIDTH, docstring, literal, paragraph
from tensorgen.emit.vector_shapes import shapes


@dataclass(frozen=True, slots=True)
class Method:
    """A member of the class of points, as its template sees it."""

    name: str
    signature: str
    annotation: str
    docstring: str
    lines: list[str]


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem class as its template sees it: pieces of text, without indentation.

    `binding` converts and checks the data, `once` computes what follows from them, and
    `packing` checks them with the `wrt` inputs. `shapes` finds the shapes of these in
    a vector of `size` entries; where they follow neither from the data nor from that
    size, `pack` leaves them, `packs`. `checks` are for what only a point knows.
    """

    name: str
    point: str
    function: str
    docstring: str
    data: tuple[str, ...]
    floating: tuple[str, ...]
    held: str
    given: str
    holder: str
    wrt: tuple[str, ...]
    sizes: tuple[str, ...]
    binding: list[str]
    once: list[str]
    packing: list[str]
    shapes: list[str]
    checks: list[str]
    members: list[Method]
    data_signature: str
    wrt_signature: str
    packs: bool
    constant: bool
    value: str
    copied: bool
    hessian: str | None
    jacobian: str | None
    has_gradient: bool
    has_hvp: bool


def problem(bound: BoundFunction, backend_name: str) -> Problem:
    """Describe the problem class of a function."""
    data = [p for p in bound.inputs if p.name not in bound.wrt]
    unknowns = [p for name in bound.wrt for p in bound.inputs if p.name == name]
    known = plan(every(data))
    symbols = dict.fromkeys(s for p in unknowns for d in p.dims for s in d.symbols)
    sizes = tuple(s for s in symbols if s in known.sources)
    rows = shapes(unknowns, known, sizes)
    packs = "self._packed" in rows[-1]
    if packs:
        sizes = ()
    early = [c for c in bound.checks if all(s in known.sources for s in c.symbols)]
    needed = (*sizes, *bound.data.body.dims, *(s for c in early for s in c.symbols))
    read = {*bound.data.reads, *(known.sources[s][1].name for s in needed)}
    once = [p for p in every(data) if p.of is None or p.name in read]
    backend = BACKENDS[backend_name]
    hessian, jacobian = bound.method(HESSIAN), bound.method(JACOBIAN)
    name = PROBLEM.public_name(bound.function)
    return Problem(
        name=name,
        point=f"_{name.removesuffix('Problem')}Point",
        function=bound.function,
        docstring=_docstring(bound, unknowns),
        data=tuple(p.name for p in given(data)),
        floating=tuple(p.name for p in given(data) if p.index is None),
        held=_keyed((*(p.name for p in given(data)), *bound.data.body.returns)),
        given=_keyed(bound.wrt),
        holder=_holder(bound),
        wrt=bound.wrt,
        sizes=sizes,
        binding=[
            *_imports(bound.data, backend),
            *_conversion(once, dict.fromkeys(needed), bound.data.body.needs_dtype),
            *(line for check in early for line in _check(check)),
        ],
        once=_rows(bound.data.body.lines),
        packing=_packing(data, unknowns),
        shapes=rows,
        checks=_late_checks(bound, data, unknowns, early),
        members=_members(bound, backend),
        data_signature=_keywords(data),
        wrt_signature=", ".join(f"{name}: ArrayLike" for name in bound.wrt),
        packs=packs,
        constant=bound.constant,
        value=results.array_type(bound.dims),
        # A scalar of NumPy cannot be written to.
        copied=bool(bound.dims) or backend_name != "numpy",
        hessian=None if hessian is None else _annotation(bound, hessian),
        jacobian=None if jacobian is None else _annotation(bound, jacobian),
        has_gradient=bound.method(GRADIENT) is not None,
        has_hvp=bound.constant or bound.method(HVP) is not None,
    )


def _docstring(bound: BoundFunction, unknowns: list[Parameter]) -> str:
    rows = [f"    {p.name} : {shape_phrase(p.dims)}" for p in unknowns]
    also = " and what does not depend on the vector is computed"
    return docstring(
        [f"`{bound.function}` bound to its data, as a function of one flat vector."],
        ["The vector holds, raveled in C order and concatenated:", "", *rows],
        paragraph(
            f"The data are converted{also if bound.data.body.returns else ''} once. "
            "What was computed at the last vector is kept until another one comes."
        ),
    )


def _keywords(data: list[Parameter]) -> str:
    parts = [
        f"{p.name}: {'Any' if p.sparse else 'ArrayLike'}"
        + (f" = {p.default}" if p.default is not None else "")
        for p in given(data)
    ]
    return ", ".join(["self", "*", *parts] if parts else ["self"])


def _keyed(names: Iterable[str]) -> str:
    return ", ".join(f"{name}={name}" for name in names)


# Statements of the constructors


def _conversion(
    parameters: Sequence[Parameter], sizes: Iterable[str] = (), dtype: bool = False
) -> list[str]:
    """Return the statements that a function of these arguments would start with."""
    # All are positional here: only the order of the checks depends on it.
    plain = tuple(replace(p, default=None) for p in parameters)
    body = Body((), (), tuple(sizes), needs_dtype=dtype)
    return arguments.lines(Function("", VALUE, plain, (), (), body))


def _packing(data: list[Parameter], unknowns: list[Parameter]) -> list[str]:
    """Return the statements that check the unknowns against the data they meet."""
    data = given(data)
    symbols = {s for p in unknowns for d in p.dims for s in d.symbols}
    met = [p for p in data if any(s in symbols for d in p.dims for s in d.symbols)]
    floating = [p for p in data if p.index is None]
    if not any(p in floating for p in met):
        met = [*floating[:1], *met]  # for its dtype
    if symbols & {*plan(data).sources} != symbols & {*plan(met).sources}:
        met = data
    taken = [p.name for p in (*data, *unknowns)]
    read = _unpacked("self._data", [p.name for p in met], taken) if met else []
    return [*read, *_conversion([*met, *unknowns])]


def _check(check: Check) -> list[str]:
    return [f"if {check.wrong}:", f"    raise ValueError({literal(check.message)})"]


def _late_checks(
    bound: BoundFunction,
    data: list[Parameter],
    unknowns: list[Parameter],
    early: list[Check],
) -> list[str]:
    """Return the checks that need sizes which only a vector gives."""
    data = every(data)
    known = plan([*data, *unknowns])
    checks = [c for c in bound.checks if c not in early]
    before = plan(data).sources
    indices = [
        p
        for p in given(data)
        if p.index is not None and any(s not in before for s in p.index.symbols)
    ]
    symbols = [s for c in checks for s in c.symbols]
    symbols += [s for p in indices if p.index is not None for s in p.index.symbols]
    if not symbols:
        return []
    sizes, read = _sizes([*data, *unknowns], known, symbols)
    read += [p.name for p in indices]
    own = [name for name in dict.fromkeys(read) if name not in bound.wrt]
    return [
        *(_unpacked(_holder(bound), own, ()) if own else []),
        *sizes,
        *(line for c in checks for line in _check(c)),
        *(line for p in indices for line in range_check(p, known)),
    ]


def _holder(bound: BoundFunction) -> str:
    """What a point calls the data that it is made with."""
    name, taken = "data", _taken(bound)
    while name in taken:
        name += "_"
    return name


def _taken(bound: BoundFunction) -> set[str]:
    """The names that the methods of a point bind: inputs, sizes, values held."""
    sizes = {s for p in bound.inputs for dim in p.dims for s in dim.symbols}
    held = (name for part in (bound.data, *bound.shared) for name in part.body.returns)
    return {*(p.name for p in every(bound.inputs)), *sizes, *held}


# The members of a point


def _members(bound: BoundFunction, backend: Backend) -> list[Method]:
    sources = {p.name: "self._given" for p in given(bound.inputs)}
    sources |= {name: "self._given" for name in bound.data.body.returns}
    members = []
    for part in bound.shared:
        names = part.body.returns
        text = f"Return what {KINDS[part.name].part} and later methods share."
        if part.name == bound.methods[-1].name:
            text = f"Return what {KINDS[part.name].part} needs for every direction."
        members.append(
            Method(
                f"_for_{part.name}",
                "self",
                "SimpleNamespace",
                docstring([text]),
                [
                    *_lines(bound, part, sources, backend),
                    *_rows(part.body.lines),
                    f"return SimpleNamespace({_keyed(names)})",
                ],
            )
        )
        sources |= {name: f"self._for_{part.name}" for name in names}
    for part in bound.methods:
        directions = [f"d{name}: Array" for name in bound.wrt]
        kind = KINDS[part.name]
        along = kind.argument == "direction"
        members.append(
            Method(
                part.name,
                ", ".join(["self", *directions * along]),
                _annotation(bound, part),
                docstring([kind.method]),
                [
                    *_lines(bound, part, sources, backend),
                    *_finished(bound, part, backend.alias),
                ],
            )
        )
    return members


def _annotation(bound: BoundFunction, part: Part) -> str:
    if part.name == JACOBIAN.name and len(bound.wrt) > 1:
        return "_JointJacobian"
    if part.function is not None:
        return results.object_type(part.function)
    return results.array_type(bound.dims) if part.name == VALUE.name else "Array"


def _lines(
    bound: BoundFunction, part: Part, sources: dict[str, str], backend: Backend
) -> list[str]:
    """Return the statements before those of a part: what it reads, and sizes."""
    body = part.body
    inputs = every(bound.inputs)
    known, taken = plan(inputs, body.dims), _taken(bound)
    sizes, read = _sizes(inputs, known, body.dims)
    dtype = [bound.wrt[0]] * body.needs_dtype
    names = {*part.reads, *read, *dtype}
    parts = [p for p in bound.inputs if p.of is not None and p.name in names]
    wanted = names | {p.of.name for p in parts if p.of is not None}
    places: dict[str, list[str]] = {}
    for name, place in sources.items():
        if name in wanted:
            places.setdefault(place, []).append(name)
    return [
        *_imports(part, backend),
        *(
            line
            for place, names in places.items()
            for line in _unpacked(place, names, taken)
        ),
        *arguments.taken_apart(parts),
        *sizes,
        *(f"dtype = {name}.dtype" for name in dtype),
    ]


def _imports(part: Part, backend: Backend) -> list[str]:
    lines = [backend.import_line(module) for module in part.body.modules]
    return [*lines, ""] if lines else []


def _rows(lines: Sequence[str]) -> list[str]:
    return [row for line in lines for row in line.split("\n")]


def _unpacked(place: str, names: Sequence[str], taken: Container[str]) -> list[str]:
    """Return the statements that bind what a namespace holds, in a scope of names."""

    def line(place: str) -> str:
        values = ", ".join(f"{place}.{name}" for name in names)
        return f"{', '.join(names)} = {values}"

    if len(names) <= 2 and len(line(place)) <= WIDTH - 8:
        return [line(place)]
    short = place.removeprefix("self._")
    while short in taken:
        short += "_"
    if len(line(short)) <= WIDTH - 8:
        return [f"{short} = {place}", line(short)]
    return [f"{short} = {place}", *(f"{name} = {short}.{name}" for name in names)]


def _sizes(
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
        return [*_rows(part.body.lines), *_returned(bound, part, alias)]

    def blocks(function: Function) -> list[str]:
        pairs = zip(bound.wrt, results.objects(function), strict=True)
        parts = ", ".join(f'"{name}": {block}' for name, block in pairs)
        return [f"return _JointJacobian({{{parts}}})"]

    joint = part.name == JACOBIAN.name and len(bound.wrt) > 1
    return results.statements(part.function, blocks if joint else results.return_lines)


def _returned(bound: BoundFunction, part: Part, alias: str) -> list[str]:
    values = part.body.returns
    if part.name == VALUE.name:
        return [f"return {values[0]}"]
    orders = [len(p.dims) for name in bound.wrt for p in bound.inputs if p.name == name]
    flat = [
        value if order == 1 else f"{alias}.ravel({value})"
        for value, order in zip(values, orders, strict=True)
    ]
    text = flat[0] if len(flat) == 1 else f"{alias}.concatenate([{', '.join(flat)}])"
    return [f"return {text}"]
