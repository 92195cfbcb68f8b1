"""Which support code a module needs: helpers, pieces of the frame, factorizations."""

from __future__ import annotations

from collections.abc import Iterable

from tensorgen.calculus.kinds import HESSIAN, JACOBIAN, ORDER
from tensorgen.emit import returned, unknown_solvers
from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.blocked import BY_PASSES, BY_ROWS
from tensorgen.emit.interface import (
    Body,
    Function,
    Helper,
    Parameter,
    arrays_among,
    given,
)
from tensorgen.emit.module import Module
from tensorgen.errors import InternalError
from tensorgen.structure.classes import DERIVATIVE_BASE, HESSIAN_BASE
from tensorgen.structure.structures import in_order
from tensorgen.structure.ways import Row


def bodies(module: Module) -> list[Body]:
    """Everything that is computed anywhere in the module."""
    limits = module.constrained.limits if module.constrained else ()
    problems = (body for bound in module.bound for body in bound.bodies)
    return [
        *(function.body for function in module.functions),
        *(own.body for own in module.private),
        *problems,
        *(side.body for side in limits),
    ]


def helpers(module: Module) -> list[Helper]:
    """Return the helpers that bodies use, also through others, in their order."""
    used = _used(module)
    return [helper for helper in module.helpers if helper.name in used]


def outside(module: Module) -> list[Helper]:
    """Return what bodies use to call functions from outside."""
    used = _used(module)
    return [helper for helper in module.outside if helper.name in used]


def _used(module: Module) -> dict[str, Helper]:
    known = {helper.name: helper for helper in (*module.helpers, *module.outside)}
    waiting = [name for body in bodies(module) for name in body.helpers]
    joined = (text for f in returned.all_fields(module) for text in f.joined)
    waiting += [name for text in joined for name in known if f"{name}(" in text]
    alias = BACKENDS[module.backend].alias
    waiting += [name for c in module.classes for name in c.helpers(alias)]
    if module.standard_errors and BACKENDS[module.backend].banded:
        bands = {"band", "sparse"} & {row.template for row in factorizations(module)}
        waiting += ["_Banded"] * bool(bands)
    waiting += ["_magnitude"] * bool(module.solvers and "_magnitude" in known)
    used: dict[str, Helper] = {}
    while waiting:
        name = waiting.pop()
        if name not in known:
            raise InternalError(f"a body uses the helper {name}, which does not exist")
        if name not in used:
            used[name] = known[name]
            waiting += known[name].uses
    return used


def parameters(module: Module) -> Iterable[Parameter]:
    """All parameters, sparse matrices as callers know them."""
    return given(parts(module))


def parts(module: Module) -> Iterable[Parameter]:
    """All parameters, sparse matrices as what they are in code."""
    for function in module.functions:
        yield from function.parameters
    for bound in module.bound:
        yield from bound.inputs


def uses(module: Module) -> dict[str, bool]:
    """Say which pieces of the frame the module needs."""
    made = [f for bound in module.bound for f in bound.functions]
    forms = [*module.forms, *made]
    used = returned.used_classes(forms)
    bases = {c.base for c in module.classes}
    joint = [f for f in forms if returned.result_class(f) == returned.JOINT]
    every = [*bodies(module), *(f.body for f in forms)]
    sparse_joint = [f for f in joint if returned.is_sparse_joint(f)]
    dense = bool(used & {JACOBIAN.holder, HESSIAN.holder})
    by_matrices = any(c.by_matrices for c in module.classes)
    scale = any(c.linear is None for c in module.classes)
    higher = bool({ORDER.holder, returned.JOINT_DERIVATIVE} & used)
    hessian = bool(used & {HESSIAN.holder, returned.JOINT} or HESSIAN_BASE in bases)
    structured = bool(bases - {DERIVATIVE_BASE})
    matrix = hessian or dense or structured
    by_blocks = {own.hessian for own in module.blocked}
    return {
        "has_arguments": any(arrays_among(parameters(module))),
        "has_indices": any(p.index is not None for p in parameters(module)),
        "has_sparse": any(p.sparse for p in parameters(module)),
        "has_pairs": any(p.source.endswith("_pairs") for p in parts(module)),
        "has_times": by_matrices
        or any(".times(" in row for body in every for row in body.text),
        "has_gram": by_matrices,
        "has_replacements": any(
            arrays_among(p.inputs)[len(p.wrt) :] for p in module.bound
        ),
        "has_points": bool(module.bound),
        "has_row_blocks": bool(module.blocked),
        "has_shards": any(own.shards for own in module.blocked),
        "has_passes": bool(by_blocks & {BY_PASSES, BY_ROWS}),
        "has_row_solves": BY_ROWS in by_blocks,
        "has_objects": matrix or higher or bool(bases),
        "has_matrix": matrix,
        "has_jacobian": dense,
        "has_hessian": hessian,
        "has_inverse_diagonal": module.standard_errors,
        "has_dense_hessian": HESSIAN.holder in used,
        "has_structured": structured,
        "has_joined": any(
            {"low_rank", "sparse"} <= {*c.factorizations} for c in module.classes
        ),
        "has_index_fields": any(c.integers for c in module.classes),
        "has_structured_hessian": HESSIAN_BASE in bases,
        "has_structured_derivative": DERIVATIVE_BASE in bases,
        "has_scale": scale,
        "has_multiple_text": scale or dense or higher,
        "has_products": any(not c.few for c in module.classes),
        "has_joint": bool(joint),
        "has_sparse_joint": bool(sparse_joint),
        "has_other_joint": len(sparse_joint) < len(joint),
        "has_joint_jacobian": any(
            p.is_joint_jacobian(part) for p in module.bound for part in p.methods
        ),
        "has_higher": higher,
        "has_joint_derivative": returned.JOINT_DERIVATIVE in used,
        "has_solvers": bool(module.solvers),
        **unknown_solvers.helpers(module.solvers),
    }


def factorizations(module: Module) -> list[Row]:
    """Return the ways to solve that the module's classes name, one a template."""
    needed = {piece for c in module.classes for piece in c.factorizations}
    made = [f for bound in module.bound for f in bound.functions]
    for function in (*module.forms, *made):
        if returned.result_class(function) == returned.JOINT:
            needed |= {"sparse"} if _sparse_together(module, function) else set()
    if module.constrained is not None and module.constrained.moved is not None:
        needed.add("sparse")
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
