"""What docstrings say that functions and their derivatives are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tensorgen.ir.index_text import subscript
from tensorgen.ir.nodes import Node, children, topological
from tensorgen.lang import ElaboratedFunction
from tensorgen.passes.context import Plan
from tensorgen.spec.model import FunctionSpec


def formulas_of(plan: Plan, names: Mapping[Node, str]) -> Iterator[Node]:
    """Roots as their formulas say them, or as computed where only that has names."""
    said = _said([*plan.formulas, *plan.roots], names)
    for formula, tensor, part in zip(
        plan.formulas, plan.tensors, plan.parts, strict=True
    ):
        if tensor is not None and not tensor.is_dense:
            yield formula
        else:
            (computed,) = part
            yield computed if said[computed] - said[formula] else formula


def _said(roots: Sequence[Node], names: Mapping[Node, str]) -> dict[Node, set[str]]:
    """The names that the formula of each node mentions."""
    said: dict[Node, set[str]] = {}
    for node in topological(roots):
        below = set(children(node))
        said[node] = {names[x] for x in below if x in names}
        said[node].update(*(said[x] for x in below if x not in names))
    return said


def text_of(function: ElaboratedFunction) -> tuple[str, ...]:
    """The text of the function: its local values, then itself, if it is one."""
    rows = [f"{local.left} = {local.formula}" for local in function.locals]
    return (*rows, *[equation_of(function.spec)] * (not function.results))


def equation_of(spec: FunctionSpec) -> str:
    """A function as its file has it, without its local values."""
    return f"{subscript(spec.name, spec.places or spec.indices or ())} = {spec.expr}"
