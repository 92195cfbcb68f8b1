"""Problem classes: a function bound to its data, on one flat vector."""

from __future__ import annotations

from dataclasses import dataclass

from tensorgen.calculus.kinds import GRADIENT, HESSIAN, HVP, JACOBIAN, PROBLEM, VALUE
from tensorgen.emit import returned
from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.bound_problems import BoundFunction
from tensorgen.emit.data import (
    Data,
    check_lines,
    conversion,
    data_of,
    early_checks,
    free_name,
)
from tensorgen.emit.documentation import shape_phrase
from tensorgen.emit.flat_vector import Layout, layout
from tensorgen.emit.function_preamble import plan, range_check, size_checks
from tensorgen.emit.interface import Parameter, arrays_among, every, given
from tensorgen.emit.point_classes import (
    Method,
    annotation,
    keyed,
    members,
    size_lines,
    unpacked,
)
from tensorgen.emit.row_blocks import Over
from tensorgen.emit.text import docstring, paragraph, words
from tensorgen.ir.dims import Dim


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem class as its template sees it: pieces of text, without indentation.

    `packing` checks the data with the `wrt` inputs, whose `layout` is how they lie in a
    flat vector; where their shapes follow neither from the data nor from its size,
    `pack` leaves them, `packs`. `checks` are for what only a point knows,
    which finds what `solving` says, `warm` from the last point. It `widens` its data
    for vectors of a wider dtype. Methods have the names of `scipy`, too; some are
    arguments where it is `minimized`. A class of its own is `over` blocks of rows.
    """

    name: str
    point: str
    function: str
    docstring: str
    data: Data
    widens: bool
    given: str
    solving: list[str]
    warm: str
    wrt: tuple[str, ...]
    sizes: tuple[str, ...]
    packing: list[str]
    layout: Layout
    checks: list[str]
    members: list[Method]
    wrt_signature: str
    packs: bool
    constant: bool
    value: str
    copied: bool
    hessian: str | None
    jacobian: str | None
    has_gradient: bool
    has_hvp: bool
    scipy: dict[str, str]
    minimized: dict[str, str]
    has_places: bool = False
    over: Over | None = None


def problem(
    bound: BoundFunction, backend_name: str, over: Over | None = None
) -> Problem:
    """Describe the problem class of a function."""
    data = [p for p in bound.inputs if p.name not in bound.wrt and not p.solved]
    unknowns = [p for name in bound.wrt for p in bound.inputs if p.name == name]
    solved = [p for p in bound.inputs if p.solved]
    known = plan(every(data))
    symbols = dict.fromkeys(s for p in unknowns for d in p.dims for s in d.symbols)
    sizes = tuple(s for s in symbols if s in known.sources)
    rows = layout(unknowns, known, sizes)
    if rows.packs:
        sizes = ()
    backend = BACKENDS[backend_name]
    hessian, jacobian = bound.method(HESSIAN), bound.method(JACOBIAN)
    name = PROBLEM.public_name(bound.function)
    dims = next(part.dims for part in bound.methods if part.kind is VALUE)
    scipy = _scipy(bound, dims) if backend_name == "numpy" else {}
    warm = free_name("before", bound) if solved and not rows.packs else ""
    return Problem(
        name=name,
        point=f"_{name.removesuffix('Problem')}Point",
        function=bound.function,
        docstring=_docstring(bound, unknowns),
        data=data_of(bound, data, sizes, backend),
        widens=any(p.index is None for p in given(arrays_among(data))),
        given=keyed([*bound.wrt, *(p.name for p in solved)]),
        solving=solving(bound, data, solved, warm),
        warm=warm,
        wrt=bound.wrt,
        sizes=sizes,
        packing=_packing(data, unknowns),
        layout=rows,
        checks=_late_checks(bound, data, unknowns),
        members=members(bound, backend),
        wrt_signature=", ".join(f"{name}: ArrayLike" for name in bound.wrt),
        packs=rows.packs,
        constant=bound.constant,
        value=returned.array_type(dims),
        # A scalar of NumPy cannot be written to.
        copied=bool(dims) or backend_name != "numpy",
        hessian=None if hessian is None else annotation(bound, hessian),
        jacobian=None if jacobian is None else annotation(bound, jacobian),
        has_gradient=bound.method(GRADIENT) is not None,
        has_hvp=bound.constant or bound.method(HVP) is not None,
        scipy=scipy,
        # Products instead of Hessians, which would become dense.
        minimized={} if dims else {x: own for x, own in scipy.items() if x != "hess"},
        over=over,
    )


def _scipy(bound: BoundFunction, dims: tuple[Dim, ...]) -> dict[str, str]:
    """Return methods by the names that SciPy has for them."""
    slope = JACOBIAN if dims else GRADIENT
    names = {"fun": VALUE, "jac": slope, "hess": HESSIAN, "hessp": HVP}
    found = {x: kind.name for x, kind in names.items() if bound.method(kind)}
    return found | ({"hessp": HVP.name} if bound.constant else {})


def _docstring(bound: BoundFunction, unknowns: list[Parameter]) -> str:
    rows = [f"    {p.name} : {shape_phrase(p.dims)}" for p in unknowns]
    also = " and what does not depend on the vector is computed"
    return docstring(
        [f"`{bound.function}` bound to its data, as a function of one flat vector."],
        ["The vector contains, raveled in C order and concatenated:", "", *rows],
        paragraph(
            f"The data are converted{also if bound.held else ''} once. "
            "What was computed at the last vector is cached until another one comes."
        ),
    )


# Statements of the constructors


def _packing(data: list[Parameter], unknowns: list[Parameter]) -> list[str]:
    """Return the statements that check the unknowns against the data they meet."""
    data = given(data)
    symbols = {s for p in unknowns for d in p.dims for s in d.symbols}
    met = [p for p in data if any(s in symbols for d in p.dims for s in d.symbols)]
    floating = [p for p in arrays_among(data) if p.index is None]
    if not any(p in floating for p in met):
        met = [*floating[:1], *met]  # for its dtype
    if symbols & {*plan(data).sources} != symbols & {*plan(met).sources}:
        met = data
    taken = [p.name for p in (*data, *unknowns)]
    read = unpacked("self._data", [p.name for p in met], taken) if met else []
    done = size_checks(data)
    return [*read, *(x for x in conversion([*met, *unknowns]) if x not in done)]


def solving(
    bound: BoundFunction, data: list[Parameter], solved: list[Parameter], warm: str
) -> list[str]:
    """Return the statements that find the unknowns of a point, `warm` from before."""
    read = words(p.solved for p in solved)
    rows = [f"{p.name} = {p.solved}" for p in solved]
    if warm:
        rows = [
            f"{p.name} = {p.solved[:-1]}, start={warm} and {warm}.{p.name})"
            for p in solved
        ]
    own = [p.name for p in given(data) if p.name in read]
    return [*(unpacked(free_name("data", bound), own, ()) if own else []), *rows]


def _late_checks(
    bound: BoundFunction, data: list[Parameter], unknowns: list[Parameter]
) -> list[str]:
    """Return the checks that need sizes which only a vector gives."""
    data = every(data)
    known = plan([*data, *unknowns])
    before = plan(data).sources
    early = early_checks(bound, [*before])
    checks = [c for c in bound.checks if c not in early]
    indices = [
        p
        for p in given(data)
        if p.index is not None and any(s not in before for s in p.index.symbols)
    ]
    symbols = [s for c in checks for s in c.symbols]
    symbols += [s for p in indices if p.index is not None for s in p.index.symbols]
    if not symbols:
        return []
    sizes, read = size_lines([*data, *unknowns], known, symbols)
    read += [p.name for p in indices]
    own = [name for name in dict.fromkeys(read) if name not in bound.wrt]
    return [
        *(unpacked(free_name("data", bound), own, ()) if own else []),
        *sizes,
        *(line for c in checks for line in check_lines(c)),
        *(line for p in indices for line in range_check(p, known)),
    ]
