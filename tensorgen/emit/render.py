"""From a `Module` to the text of a Python file.

Templates give the frame, black the layout. Neither decides anything: what depends on
the module is computed here and in the modules beside this one, as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tensorgen.arrays.number_text import size
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.reading import LINE
from tensorgen.arrays.statement_text import statement_texts
from tensorgen.emit import function_preamble, kernels, pieces, returned, unknown_solvers
from tensorgen.emit.backends import BACKENDS, Backend
from tensorgen.emit.constrained_classes import constrained
from tensorgen.emit.documentation import function_docstrings, module_docstring
from tensorgen.emit.framing import code, framed, header
from tensorgen.emit.imports import listed
from tensorgen.emit.interface import OPTIONAL, Function, Private, sizes_among
from tensorgen.emit.layout import finished
from tensorgen.emit.module import Module
from tensorgen.emit.problem_classes import Problem, problem
from tensorgen.emit.remarks import remarked, remarks_of
from tensorgen.emit.row_blocks import Over, over
from tensorgen.emit.seal import NOTHING
from tensorgen.emit.support import support_file, support_name, support_names
from tensorgen.emit.text import FILLED, docstring, file_name, literal, quoted_names
from tensorgen.errors import InternalError
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.spec.names import FRAME
from tensorgen.structure.classes import (
    DERIVATIVE_BASE,
    FEW_HESSIAN_BASE,
    HESSIAN_BASE,
    StructuredClass,
)


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A function as its template sees it: pieces of text, without indentation.

    Before it stands the class of what it returns, if that has `fields`.
    """

    name: str
    signature: str
    annotation: str
    docstring: str
    lines: list[str]
    fields: returned.Fields | None = None


def render(
    module: Module,
    laid_out: bool = True,
    tell: Callable[[], None] = lambda: None,
    shared: str | None = None,
    inputs: str = NOTHING,
) -> str:
    """Return the source of a generated module, laid out for a reader or not.

    A module of many functions takes its time to lay out: each is told of before. With
    `shared`, the prefix of the module that holds it, support code is imported. `inputs`
    is the checksum of what it is made of.
    """
    backend = BACKENDS[module.backend]
    own = module.constrained and constrained(module.constrained, backend)
    stated = sizes_among(pieces.parameters(module)) or (own and own.data.stated)
    ways, made = pieces.factorizations(module), kernels.of(module)
    context = {
        "functions": _views(module, backend),
        "fields": returned.all_fields(module),
        "helpers": pieces.helpers(module),
        "outside": pieces.outside(module),
        "kernels": kernels.sources(made, backend),
        "solvers": [unknown_solvers.view(s, backend) for s in module.solvers],
        "problems": _problems(module),
        "overs": [*_overs(module).values()],
        "constrained": own,
        "literals": _literals(module),
        "classes": [_class_view(c, Printer(backend.alias)) for c in module.classes],
        "factorizations": [way.template for way in ways],
        "pieces": {piece for way in ways for piece in way.pieces},
        "shared": shared is not None,
        **pieces.uses(module),
        "has_sizes": bool(stated),
    }
    beside: dict[str, Sequence[str]] = {}
    if shared is not None:
        beside[shared + support_name(backend)] = support_names(backend.name)
    top = _header(module, backend, shared is not None)
    text = remarked(code(backend, context), remarks_of(module))
    text = kernels.named(text, made)
    words = module_docstring(module.name, module.doc, pieces.parameters(module))
    exported = _exported(module)
    source = framed(backend, top, words, text, exported, beside)
    return finished(source, inputs, tell) if laid_out else source


def _views(module: Module, backend: Backend) -> list[FunctionView]:
    told = function_docstrings(module.functions)
    found: dict[str, FunctionView] = {}
    checked = _checked(module.functions, backend)
    for function, words in zip(module.functions, told, strict=True):
        check = checked.get(function.name)
        if check:
            found.setdefault(check.name, check)
        for own in function.calls:
            found.setdefault(own.name, _private(own, backend))
        found[function.name] = _view(function, words, backend, check)
    return [*found.values()]


def _checked(
    functions: Sequence[Function], backend: Backend
) -> dict[str, FunctionView]:
    """What checks the arguments of functions that have the same, where that is long."""
    alike: dict[tuple[str, ...], list[Function]] = {}
    for function in functions:
        if function.within is not None:
            continue
        own = function_preamble.checks(function)
        if len(own) > 2 or sum(map(len, own[:-1])) > LINE:
            alike.setdefault((function.function, *own), []).append(function)
    # As the helper is typed that converts them.
    indexed = any(p.index is not None for f in functions for p in f.parameters)
    found: dict[str, FunctionView] = {}
    for (formula, *own), users in alike.items():
        view = FunctionView(
            f"_{formula}_arguments",
            ", ".join(f"{p.name}: {p.type}" for p in users[0].arguments),
            f"list[{backend.any_array if indexed else 'Array'}]",
            docstring([f"Return the arguments of `{formula}` as arrays, checked."]),
            own,
        )
        if len(users) > 1 and view.name not in {x.name for x in found.values()}:
            found |= {function.name: view for function in users}
    return found


def _private(own: Private, backend: Backend) -> FunctionView:
    body, types, built = own.body, [type_ for _, type_ in own.outputs], own.builds
    typed = [f"{name}: {type_}" for name, type_ in own.arrays]
    typed += [f"{name}: int" for name in own.sizes]
    typed += ["dtype: Any"] * body.needs_dtype
    several = f"tuple[{', '.join(types)}]" if len(types) > 1 else types[0]
    several = returned.annotation(built) if built else several
    lines = [row for line in body.lines for row in line.split("\n")]
    made = returned.Fields(
        own.makes, own.name, f"What `{own.name}` returns.", own.outputs
    )
    return FunctionView(
        own.name,
        ", ".join(typed),
        own.makes or several,
        docstring([own.doc]),
        [
            *map(backend.import_line, body.modules),
            *[""] * bool(body.modules),
            *own.reads,
            *(returned.statements(built, returned.return_lines) if built else lines),
        ],
        made if own.makes else None,
    )


def _view(
    function: Function, words: str, backend: Backend, check: FunctionView | None
) -> FunctionView:
    body = function.body
    first = function_preamble.lines(function)
    if check:
        first = function_preamble.lines_behind(function, check.name)
    lines = [
        *map(backend.import_line, body.modules),
        *[""] * bool(body.modules),
        *first,
        *returned.statements(function, returned.return_lines),
    ]
    if function.within is not None:
        name, place = function.within
        lines = [f"return {name}({_as_given(function)})[{place}]"]
    return FunctionView(
        name=function.name,
        signature=signature(function).replace(OPTIONAL, backend.optional),
        annotation=returned.annotation(function),
        docstring=words,
        lines=lines,
    )


def _as_given(function: Function) -> str:
    """A function's own arguments, for another that takes the same."""
    plain, keyword = function.signature
    named = [*(p.name for p in keyword), *["check"] * _may_check(function)]
    return ", ".join([*(p.name for p in plain), *(f"{x}={x}" for x in named)])


def signature(function: Function) -> str:
    """Return the text of a function's parameters."""
    plain, keyword = function.signature
    parts = [p.declared for p in plain]
    checks = ["check: bool = False"] * _may_check(function)
    named = [*(p.declared for p in keyword), *checks]
    return ", ".join([*parts, "*", *named] if named else parts)


def _may_check(function: Function) -> bool:
    """Whether callers may ask for a check of what they say solves an equation."""
    return any(p.solved for p in function.signature[1])


def _header(module: Module, backend: Backend, shared: bool) -> list[str]:
    source = file_name(re.split(r"[/\\]", module.spec_name)[-1])
    lazy = [*map(backend.spell, _lazy_modules(module, shared))]
    paths = [path for h in pieces.outside(module) for path in h.modules]
    packages = dict.fromkeys(path.partition(".")[0] for path in paths)
    needs = ", ".join([backend.title, *packages])
    if shared:
        needs += f" and {support_file(backend)}"
    else:
        for way in pieces.factorizations(module):
            lazy += way.imports.get(backend.name, ())
    return header(module.version, source, module.spec_hash, needs, lazy)


def _lazy_modules(module: Module, shared: bool) -> Iterable[str]:
    for body in pieces.bodies(module):
        yield from body.modules
    for helper in pieces.outside(module):
        yield from helper.modules
    if shared:
        return
    for helper in pieces.helpers(module):
        yield from helper.modules
    if pieces.uses(module)["has_matrix"]:
        yield from ("scipy.sparse", "scipy.sparse.linalg")


def _problems(module: Module) -> list[Problem]:
    overs = _overs(module)
    return [
        problem(bound, module.backend, overs.get(bound.function))
        for bound in module.problems
    ]


def _overs(module: Module) -> dict[str, Over]:
    return {own.function: over(own) for own in module.blocked}


def _literals(module: Module) -> list[int]:
    sizes = {
        dim.constant
        for parameter in pieces.parameters(module)
        for dim in parameter.dims
    }
    return sorted(size for size in sizes if size is not None)


def _exported(module: Module) -> list[str]:
    names = [function.name for function in module.functions]
    names += [f.name for f in returned.all_fields(module)]
    names += [s.name for s in module.solvers]
    names += [p.name for p in _problems(module)]
    names += [own.name for own in _overs(module).values()]
    names += [module.constrained.name] if module.constrained else []
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InternalError(f"two results of one name: {', '.join(twice)}")
    given = [*names, *(p.name for f in module.functions for p in f.parameters)]
    if hiding := [name for name in dict.fromkeys(given) if name in FRAME]:
        raise InternalError(f"names that the module uses itself: {', '.join(hiding)}")
    return sorted([*names, *["NotConverged"] * bool(module.solvers)], key=listed)


def _class_view(c: StructuredClass, printer: Printer) -> dict[str, object]:
    """Return what the template of a derivative class needs, as text."""
    columns = [_shape(dims) for dims in c.columns]
    fixed = [name for name in c.fields if name not in (c.linear or ())]
    title = f"{_capital(c.words)}."
    if len(title) > FILLED:  # what is where, `structure` says
        title = re.sub(r" at \(.*?(?=;|\.$)", "", title)
    return {
        "name": c.name,
        "base": c.base,
        "docstring": docstring([title]),
        "title": title,
        "structure_literal": literal(f"{c.words}: {c.structure}"),
        "vanishes": c.vanishes,
        "sparse": c.sparse or c.vanishes,
        "fields": [
            (name, "Any" if name in c.integers else "Array") for name in c.fields
        ],
        "field_names": quoted_names(c.fields),
        "index_fields": c.integers and quoted_names(c.integers),
        "fixed": fixed and quoted_names(fixed),
        "ease": c.ease,
        "hessian": c.base in (HESSIAN_BASE, FEW_HESSIAN_BASE),
        "few": c.few,
        "higher": c.base == DERIVATIVE_BASE,
        "rows": _shape(c.rows),
        "rows_unpack": _unpack(c.sizes, c.rows),
        "columns": tuple_text(columns) if c.base == DERIVATIVE_BASE else columns[0],
        "columns_unpack": _unpack(c.sizes, [dim for dims in c.columns for dim in dims]),
        "methods": [
            (method, statement_texts(printer, method.body)) for method in c.methods
        ],
    }


def _unpack(sizes: Sequence[str], dims: Sequence[Dim]) -> str:
    """Return what the sizes that dims need are bound to, if there are any."""
    needed = {symbol for dim in dims for symbol in dim.symbols}
    names = [size if size in needed else "_" for size in sizes]
    return tuple_text(names)[1:-1] if needed else ""


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _shape(dims: Sequence[Dim]) -> str:
    return tuple_text([size(dim).text for dim in dims])
