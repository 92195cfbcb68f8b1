"""From a `Module` to the text of a Python file.

Templates give the frame, black the layout. Neither decides anything: what depends on
the module is computed here and in the modules beside this one, as text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tensorgen.arrays.number_text import size
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.statement_text import statement_text
from tensorgen.calculus.kinds import HESSIAN, JACOBIAN, ORDER
from tensorgen.emit import arguments, results, solvers
from tensorgen.emit.backends import BACKENDS, Backend
from tensorgen.emit.constrained import Constrained, constrained
from tensorgen.emit.documentation import function_docstring
from tensorgen.emit.model import OPTIONAL, Body, Function, Helper, Parameter, given
from tensorgen.emit.module import Module
from tensorgen.emit.problems import Problem, problem
from tensorgen.emit.seal import sealed
from tensorgen.emit.templates import environment
from tensorgen.emit.text import (
    WIDTH,
    docstring,
    equation,
    file_name,
    literal,
    paragraph,
)
from tensorgen.errors import InternalError
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.spec.names import FRAME
from tensorgen.structure.classes import (
    DERIVATIVE_BASE,
    FEW_HESSIAN_BASE,
    HESSIAN_BASE,
    StructuredClass,
)
from tensorgen.structure.table import in_order
from tensorgen.structure.ways import Row


@dataclass(frozen=True, slots=True)
class FunctionView:
    """A function as its template sees it: pieces of text, without indentation."""

    name: str
    signature: str
    annotation: str
    docstring: str
    lines: list[str]


def render(
    module: Module, laid_out: bool = True, tell: Callable[[], None] = lambda: None
) -> str:
    """Return the source of a generated module, laid out for a reader or not.

    A module of many functions takes its time to lay out: each is told of before.
    """
    backend = BACKENDS[module.backend]
    printer, ways = Printer(backend.alias), _factorizations(module)
    source = (
        environment(backend.folder)
        .get_template("module.py.j2")
        .render(
            module=module,
            backend=backend,
            np=backend.alias,
            header=_header(module, backend),
            docstring=_module_docstring(module),
            functions=[_view(f, backend) for f in module.functions],
            fields=results.all_fields(module),
            helpers=_helpers(module),
            problems=_problems(module),
            solvers=[solvers.view(s, backend) for s in module.solvers],
            solver_helpers=solvers.helpers(module.solvers),
            constrained=_constrained(module),
            literals=_literals(module),
            exported=_exported(module),
            classes=[_class_view(c, printer) for c in module.classes],
            factorizations=[way.template for way in ways],
            pieces={piece for way in ways for piece in way.pieces},
            **_uses(module),
        )
    )
    if not laid_out:
        return source
    parts = []
    for part in _definitions(source):
        tell()
        parts.append(layout(part))
    # Two empty lines, as there are around what stands at the margin.
    return sealed("\n\n".join(parts))


def _definitions(source: str) -> Iterator[str]:
    """Cut a source before the functions and classes that an empty line sets apart."""
    lines = source.split("\n")
    cuts = [0]
    try:
        body = ast.parse(source).body
    except SyntaxError as error:
        raise InternalError(f"a generated module is no Python: {error}") from error
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            above = min(d.lineno for d in (node, *node.decorator_list)) - 1
            if above and not lines[above - 1].strip():
                cuts.append(above)
    for start, end in pairwise([*cuts, len(lines)]):
        # Without empty lines around it, what is laid out already is formatted once.
        yield "\n".join(lines[start:end]).strip("\n") + "\n"


def layout(source: str) -> str:
    """Return the source as black lays it out, the same for all its versions."""
    import black
    from black.mode import TargetVersion

    try:
        # Named, not guessed from what a part of a module happens to use.
        versions = {TargetVersion.PY311}
        mode = black.Mode(line_length=WIDTH, target_versions=versions)
        return black.format_str(source, mode=mode)
    except ValueError as error:
        raise InternalError(f"a generated module is no Python: {error}") from error


def _view(function: Function, backend: Backend) -> FunctionView:
    body = function.body
    return FunctionView(
        name=function.name,
        signature=signature(function).replace(OPTIONAL, backend.optional),
        annotation=results.annotation(function),
        docstring=function_docstring(function),
        lines=[
            *map(backend.import_line, body.modules),
            *[""] * bool(body.modules),
            *arguments.lines(function),
            *results.statements(function, results.return_lines),
        ],
    )


def signature(function: Function) -> str:
    """Return the text of a function's parameters."""
    plain, keyword = function.signature
    parts = [_annotated(p) for p in plain]
    checks = ["check: bool = False"] * any(p.solved for p in keyword)
    named = [*map(_annotated, keyword), *checks]
    return ", ".join([*parts, "*", *named] if named else parts)


def _annotated(parameter: Parameter) -> str:
    text = f"{parameter.name}: {parameter.type}"
    return text if parameter.default is None else f"{text} = {parameter.default}"


# The stubs of NumPy tell neither what a reduction returns nor scalars from arrays.
_TYPES = '# mypy: disable-error-code="no-any-return, return-value"'


def _header(module: Module, backend: Backend) -> list[str]:
    source = file_name(re.split(r"[/\\]", module.spec_name)[-1])
    rows = [
        f"# Generated by tensorgen {module.version} from {source} "
        f"(sha256 {module.spec_hash[:12]}); do not edit."
    ]
    lazy = dict.fromkeys(map(backend.spell, _lazy_modules(module)))
    for way in _factorizations(module):
        lazy |= dict.fromkeys(way.imports.get(backend.name, ()))
    needs = f"# Needs {backend.title}"
    if not lazy:
        return [*rows, needs + " alone.", _TYPES]
    names = ", ".join(lazy)
    return [*rows, f"{needs} alone; imported where used: {names}.", _TYPES]


def _bodies(module: Module) -> list[Body]:
    """Everything that is computed anywhere in the module."""
    limits = module.constrained.limits if module.constrained else ()
    problems = (body for bound in module.bound for body in bound.bodies)
    return [
        *(function.body for function in module.functions),
        *problems,
        *(side.body for side in limits),
    ]


def _lazy_modules(module: Module) -> Iterable[str]:
    for body in _bodies(module):
        yield from body.modules
    for helper in _helpers(module):
        yield from helper.modules
    if _uses(module)["has_matrix"]:
        yield from ("scipy.sparse", "scipy.sparse.linalg")


def _module_docstring(module: Module) -> str:
    rows = paragraph(module.doc or "")
    return docstring(rows if any(rows) else [f"Functions of {module.name}."])


def _helpers(module: Module) -> list[Helper]:
    """Return the helpers that bodies use, also through others, in their order."""
    known = {helper.name: helper for helper in module.helpers}
    waiting = [name for body in _bodies(module) for name in body.helpers]
    waiting += [name for c in module.classes for name in c.helpers]
    used: dict[str, Helper] = {}
    while waiting:
        name = waiting.pop()
        if name not in known:
            raise InternalError(f"a body uses the helper {name}, which does not exist")
        if name not in used:
            used[name] = known[name]
            waiting += known[name].uses
    return [helper for helper in module.helpers if helper.name in used]


def _problems(module: Module) -> list[Problem]:
    return [problem(bound, module.backend) for bound in module.problems]


def _constrained(module: Module) -> Constrained | None:
    if module.constrained is None:
        return None
    return constrained(module.constrained, BACKENDS[module.backend])


def _literals(module: Module) -> list[int]:
    sizes = {
        dim.constant for parameter in _parameters(module) for dim in parameter.dims
    }
    return sorted(size for size in sizes if size is not None)


def _parameters(module: Module) -> Iterable[Parameter]:
    return given(_parts(module))


def _parts(module: Module) -> Iterable[Parameter]:
    """All parameters, sparse matrices as what they are in code."""
    for function in module.functions:
        yield from function.parameters
    for bound in module.bound:
        yield from bound.inputs


def _exported(module: Module) -> list[str]:
    names = [function.name for function in module.functions]
    names += [f.name for f in results.all_fields(module)]
    names += [s.name for s in module.solvers]
    names += [p.name for p in _problems(module)]
    names += [module.constrained.name] if module.constrained else []
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise InternalError(f"two results of one name: {', '.join(twice)}")
    given = [*names, *(p.name for f in module.functions for p in f.parameters)]
    if hiding := [name for name in dict.fromkeys(given) if name in FRAME]:
        raise InternalError(f"names that the module uses itself: {', '.join(hiding)}")
    return [*names, *["NotConverged"] * bool(module.solvers)]


def _uses(module: Module) -> dict[str, bool]:
    """Say which pieces of the frame the module needs."""
    made = [f for bound in module.bound for f in bound.functions]
    used = results.used_classes([*module.forms, *made])
    bases = {c.base for c in module.classes}
    joint = [
        function
        for function in (*module.forms, *made)
        if results.result_class(function) == results.JOINT
    ]
    bodies = [*_bodies(module), *(f.body for f in (*module.forms, *made))]
    sparse_joint = [f for f in joint if results.is_sparse_joint(f)]
    dense = bool(used & {JACOBIAN.holder, HESSIAN.holder})
    by_matrices = any(c.by_matrices for c in module.classes)
    hessian = bool(used & {HESSIAN.holder, results.JOINT} or HESSIAN_BASE in bases)
    return {
        "has_arguments": any(_parameters(module)),
        "has_indices": any(p.index is not None for p in _parameters(module)),
        "has_sparse": any(p.sparse for p in _parameters(module)),
        "has_pairs": any(p.source.endswith("_pairs") for p in _parts(module)),
        "has_times": by_matrices
        or any(".times(" in row for body in bodies for row in body.text),
        "has_gram": by_matrices,
        "has_replacements": any(p.inputs[len(p.wrt) :] for p in module.bound),
        "has_numbers": any(
            "math." in row
            for row in (
                *(row for f in module.forms for row in f.body.lines),
                *(row for f in module.forms for row in f.body.returns),
                *(helper.source for helper in _helpers(module)),
            )
        ),
        "has_matrix": hessian or dense or bool(bases),
        "has_jacobian": dense,
        "has_hessian": hessian,
        "has_dense_hessian": HESSIAN.holder in used,
        "has_structured": bool(bases),
        "has_structured_hessian": HESSIAN_BASE in bases,
        "has_structured_derivative": DERIVATIVE_BASE in bases,
        "has_products": any(not c.few for c in module.classes),
        "has_joint": bool(joint),
        "has_sparse_joint": bool(sparse_joint),
        "has_other_joint": len(sparse_joint) < len(joint),
        "has_joint_jacobian": any(
            p.is_joint_jacobian(part) for p in module.bound for part in p.methods
        ),
        "has_higher": bool({ORDER.holder, results.JOINT_DERIVATIVE} & used),
        "has_joint_derivative": results.JOINT_DERIVATIVE in used,
    }


def _factorizations(module: Module) -> list[Row]:
    """Return the ways to solve that the module's classes name, one a template."""
    needed = {piece for c in module.classes for piece in c.factorizations}
    made = [f for bound in module.bound for f in bound.functions]
    for function in (*module.forms, *made):
        if results.result_class(function) == results.JOINT:
            needed |= {"sparse"} if _sparse_together(module, function) else set()
    return in_order(needed)


def _sparse_together(module: Module, function: Function) -> bool:
    """Whether two inputs that are coupled have sparse blocks alone."""
    classes = {c.name: c for c in module.classes}
    held = zip(function.blocks, function.holders, strict=False)
    found = {block: classes.get(holder.class_name or "") for block, holder in held}
    sparse = {block for block, c in found.items() if c and (c.sparse or c.vanishes)}
    return any(
        c is not None and not c.vanishes and {(a, a), (a, b), (b, b)} <= sparse
        for (a, b), c in found.items()
        if a != b
    )


def _class_view(c: StructuredClass, printer: Printer) -> dict[str, object]:
    """Return what the template of a derivative class needs, as text."""
    columns = [_shape(dims) for dims in c.columns]
    return {
        "name": c.name,
        "base": c.base,
        "docstring": docstring([f"{_capital(c.words)}."], equation(c.structure, "")),
        "title": f"{_capital(c.words)}.",
        "structure_literal": literal(f"{c.words}: {c.structure}"),
        "vanishes": c.vanishes,
        "sparse": c.sparse or c.vanishes,
        "fields": [
            (name, "Any" if name in c.integers else "Array") for name in c.fields
        ],
        "field_names": tuple_text([f'"{name}"' for name in c.fields]),
        "ease": c.ease,
        "hessian": c.base in (HESSIAN_BASE, FEW_HESSIAN_BASE),
        "few": c.few,
        "higher": c.base == DERIVATIVE_BASE,
        "unpack": ", ".join(c.sizes) + "," * (len(c.sizes) == 1),
        "rows": _shape(c.rows),
        "rows_use": any(dim.symbols for dim in c.rows),
        "columns": tuple_text(columns) if c.base == DERIVATIVE_BASE else columns[0],
        "columns_use": any(dim.symbols for dims in c.columns for dim in dims),
        "methods": [
            (method, [statement_text(printer, line) for line in method.body])
            for method in c.methods
        ],
    }


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _shape(dims: Sequence[Dim]) -> str:
    return tuple_text([size(dim).text for dim in dims])
