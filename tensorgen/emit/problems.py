"""Problem classes: a function bound to its data, on one flat vector."""

from __future__ import annotations

from dataclasses import dataclass

from tensorgen.emit import arguments, results
from tensorgen.emit.arguments import Plan, plan, shape_text
from tensorgen.emit.documentation import shape_phrase
from tensorgen.emit.model import Body, Function, Kind, Module, Parameter
from tensorgen.emit.text import docstring, paragraph
from tensorgen.errors import InternalError
from tensorgen.ir.dims import ONE, Dim


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem class as its template sees it: pieces of text, without indentation.

    `binding` converts and checks the data, `packing` these and the `wrt` inputs;
    `shapes` finds the shapes of the inputs in a vector `v`. Where they follow neither
    from the data nor from the length of the vector, `pack` leaves them, `packs`.
    """

    name: str
    function: str
    docstring: str
    data: tuple[str, ...]
    floating: tuple[str, ...]
    wrt: tuple[str, ...]
    kinds: frozenset[Kind]
    sizes: tuple[str, ...]
    binding: list[str]
    packing: list[str]
    shapes: list[str]
    data_signature: str
    wrt_signature: str
    entries: str
    directions: str
    passed: str
    packs: bool
    value: str


def problem(module: Module, function: str) -> Problem:
    """Describe the problem class of a function of the module."""
    family = [f for f in module.functions if f.function == function and f.wrt]
    if not family:
        raise InternalError(f"{function} has nothing that a problem could call")
    wrt = family[0].wrt
    inputs = [p for p in family[0].parameters if p.role == "input"]
    data = [p for p in inputs if p.name not in wrt]
    unknowns = [family[0].parameter(name) for name in wrt]
    known = plan(data)
    symbols = dict.fromkeys(s for p in unknowns for d in p.dims for s in d.symbols)
    sizes = tuple(s for s in symbols if s in known.sources)
    shapes = _shapes(unknowns, known, sizes)
    packs = "self._packed" in shapes[-1]
    if packs:
        sizes = ()
    return Problem(
        name=results.camel(function) + "Problem",
        function=function,
        docstring=_docstring(function, unknowns),
        data=tuple(p.name for p in data),
        floating=tuple(p.name for p in data if p.index is None),
        wrt=wrt,
        kinds=frozenset(f.kind for f in module.functions if f.function == function),
        sizes=sizes,
        binding=_checks(data, sizes),
        packing=_checks([*data, *unknowns]),
        shapes=shapes,
        data_signature=_keywords(data),
        wrt_signature=", ".join(f"{name}: ArrayLike" for name in wrt),
        entries=", ".join(f'"{p.name}": {p.name}' for p in data),
        directions=(
            ", ".join(f"d{name}" for name in wrt) if wrt[1:] else f"(d{wrt[0]},)"
        ),
        passed=", ".join(f"d{name}=d{name}" for name in wrt),
        packs=packs,
        value=results.array_type(family[0].dims),
    )


def _docstring(function: str, unknowns: list[Parameter]) -> str:
    rows = [f"    {p.name} : {shape_phrase(p.dims)}" for p in unknowns]
    return docstring(
        [f"`{function}` bound to its data, as a function of one flat vector."],
        ["The vector holds, raveled in C order and concatenated:", "", *rows],
        paragraph(
            "Arrays of the data are converted once. What was computed at the last "
            "vector is kept until another one comes."
        ),
    )


def _keywords(data: list[Parameter]) -> str:
    parts = [
        f"{p.name}: ArrayLike" + (f" = {p.default}" if p.default is not None else "")
        for p in data
    ]
    return ", ".join(["self", "*", *parts] if parts else ["self"])


def _checks(parameters: list[Parameter], sizes: tuple[str, ...] = ()) -> list[str]:
    """Return the statements that a function of these arguments would start with."""
    body = Body((), (), sizes)
    # All are positional here: only the order of the checks depends on it.
    plain = tuple(Parameter(p.name, p.dims, index=p.index) for p in parameters)
    return arguments.lines(Function("", "value", plain, (), (), body))


def _shapes(
    unknowns: list[Parameter], known: Plan, sizes: tuple[str, ...]
) -> list[str]:
    """Return the statements that give the shapes of the inputs in a flat vector."""
    shapes = ", ".join(shape_text(p.dims) for p in unknowns)
    lines = [f"{', '.join(sizes)}{',' * (len(sizes) == 1)} = self._sizes"] * bool(sizes)
    found = (s for p in unknowns for d in p.dims for s in d.symbols)
    missing = [s for s in dict.fromkeys(found) if s not in known.sources]
    if missing:
        solution = _solution(unknowns, missing)
        if solution is None:
            message = '"v: the data do not give its shapes; call pack first"'
            return [
                "if self._packed is None:",
                f"    raise ValueError({message})",
                "shapes = self._packed",
            ]
        lines.append(f"{missing[0]} = {solution}")
    return [*lines, f"shapes = [{shapes}]"]


def _solution(unknowns: list[Parameter], symbols: list[str]) -> str | None:
    """Return the one unknown symbol as an expression of `size`, if it is linear."""
    total = Dim()
    for parameter in unknowns:
        count = ONE
        for dim in parameter.dims:
            count = count * dim
        total = total + count
    symbol, *others = symbols
    if others or any(m.count(symbol) > 1 for m, _ in total.terms):
        return None
    factor = Dim(
        (tuple(s for s in m if s != symbol), c) for m, c in total.terms if symbol in m
    )
    rest = Dim.symbol("v.size") - Dim((m, c) for m, c in total.terms if symbol not in m)
    if factor == 1:
        return str(rest)
    dividend = str(rest) if len(rest.terms) == 1 else f"({rest})"
    return f"{dividend} // max({factor}, 1)"
