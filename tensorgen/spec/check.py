"""What holds between the parts of a file: names that would meet in one place."""

from __future__ import annotations

from tensorgen.errors import Text
from tensorgen.spec.model import Definition, FunctionSpec, InputSpec
from tensorgen.spec.names import Namespace

_SUFFIXES = {
    "value": "",
    "gradient": "_grad",
    "jacobian": "_jac",
    "hessian": "_hess",
    "dense_jacobian": "_jac_dense",
    "dense_hessian": "_hess_dense",
    "hvp": "_hvp",
    "jvp": "_jvp",
    "vjp": "_vjp",
}


def check_names(
    inputs: dict[str, InputSpec],
    definitions: tuple[Definition, ...],
    functions: tuple[FunctionSpec, ...],
    names: Namespace,
) -> None:
    """Report names that clash beyond the one namespace of the file."""
    for definition in definitions:
        for index in definition.indices or ():
            names.check_index(index)
    for function in functions:
        _check_local_names(function, names)
        _check_arguments(function, inputs, names)
    _check_emitted_names(functions, names)


def _check_local_names(function: FunctionSpec, names: Namespace) -> None:
    local: dict[str, Text] = {}
    for definition in function.where:
        text = definition.name_text
        if definition.name in names.owners:
            names.clash(text, "a local definition", *names.owners[definition.name])
        elif definition.name in local:
            first = local[definition.name]
            names.clash(text, "a local definition", "a local definition", first)
        local.setdefault(definition.name, text)
    sides = [function.indices, *(d.indices for d in function.where)]
    for index in (index for side in sides for index in side or ()):
        if index.value in local:
            names.clash(index, "an index", "a local definition", local[index.value])
        else:
            names.check_index(index)


def _check_arguments(
    function: FunctionSpec, inputs: dict[str, InputSpec], names: Namespace
) -> None:
    """Report directions and cotangents that bear the name of an input."""
    for emit in function.emit:
        added: dict[str, str] = {}
        if emit.kind in ("hvp", "jvp"):
            added = {f"d{w.name}": f"the direction of '{w.name}'" for w in function.wrt}
        elif emit.kind == "vjp":
            added = {"ct": "the cotangent"}
        for name, what in added.items():
            if name in inputs:
                place = inputs[name].name_text.span()
                names.faults.add(
                    f"'{emit.kind}' names {what} '{name}', which is an input",
                    emit.text.span(),
                    marks=((emit.text.span(), ""), (place, "the input")),
                    hint=f"rename the input '{name}'",
                )


def _check_emitted_names(functions: tuple[FunctionSpec, ...], names: Namespace) -> None:
    """Report `f_grad`, a function, beside `f` with its gradient.

    Where `emit` is left to its default, what is emitted is known only later.
    """
    owners = {f.name: f for f in functions}
    for function in functions:
        for name in emitted_names(function):
            owner = owners.setdefault(name, function)
            if owner is function:
                continue
            places = (owner.name_text.span(), function.name_text.span())
            names.faults.add(
                f"the generated name '{name}' would stand for two things",
                places[1],
                marks=tuple((place, f"gives '{name}'") for place in places),
                hint="rename one of the functions",
            )


def emitted_names(function: FunctionSpec) -> tuple[str, ...]:
    """Return the names that the function's `emit` gives in the generated module."""
    name = function.name
    kinds = [emit.kind for emit in function.emit]
    found: list[str] = []
    for emit in function.emit:
        if emit.kind in _SUFFIXES:
            found.append(name + _SUFFIXES[emit.kind])
        elif emit.kind == "order":
            found.append(f"{name}_d{emit.order}")
        elif emit.kind == "mixed":
            found.append("_".join([name, "d", *(emit.inputs or ())]))
        elif emit.kind == "problem":
            found.append(class_name(name) + "Problem")
    if "value" in kinds and "gradient" in kinds:
        found.append(f"{name}_value_and_grad")
        if "hessian" in kinds:
            found.append(f"{name}_value_grad_hess")
    return tuple(found)


def class_name(name: str) -> str:
    """Return the name in CamelCase: `my_loss` gives `MyLoss`."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
