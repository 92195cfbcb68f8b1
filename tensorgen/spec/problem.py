"""The section `problem`: what to minimise, over what, and between which bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tensorgen.calculus.kinds import camel
from tensorgen.errors import Faults, Text, suggest
from tensorgen.spec.emits import is_real_input
from tensorgen.spec.expressions import read_expression
from tensorgen.spec.fields import (
    Field,
    read_doc,
    read_entries,
    read_fields,
    read_items,
    read_names,
    read_text,
)
from tensorgen.spec.model import FunctionSpec, InputSpec, Limited, ProblemSpec
from tensorgen.spec.names import check_name
from tensorgen.spec.yaml_nodes import Listing, Node, describe
from tensorgen.spec.yaml_nodes import Mapping as Block

_KEYS = (
    *("name", "doc", "minimize", "maximize", "variables", "constraints"),
    "sensitivity",
)
_LIMITS = ("lower", "upper", "equal")
_FORM = "write 'minimize: f' and 'variables: x' under it, each on its line"


def read_problem(
    field: Field | None,
    module: str | None,
    inputs: Mapping[str, InputSpec],
    functions: tuple[FunctionSpec, ...],
    faults: Faults,
) -> ProblemSpec | None:
    """Return the constrained problem of a file, if it has one without faults."""
    if field is None:
        return None
    if not isinstance(field.node, Block):
        message = f"'problem' must be a mapping, not {describe(field.node)}"
        faults.add(message, field.key.span(), hint=_FORM)
        return None
    fields = read_fields(field.node, _KEYS, "a problem", faults)
    place = field.key
    name = camel(module or "") + "Problem"
    if "name" in fields and (text := read_text(fields["name"], faults)) is not None:
        name, place = text.value, text
        check_name(text, "a problem", faults)
    doc = read_doc(fields.get("doc"), faults)
    known = {function.name: function for function in functions}
    objective = _objective(field.key, fields, known, faults)
    variables = _variables(field.key, fields.get("variables"), inputs, faults)
    constraints = _constraints(fields.get("constraints"), known, faults)
    parameters = _parameters(fields.get("sensitivity"), variables, inputs, faults)
    if objective is None or not variables:
        return None
    rest = "maximize" in fields, variables, constraints, parameters
    return ProblemSpec(name, place, doc, objective, *rest)


def _parameters(
    field: Field | None,
    variables: tuple[Limited, ...],
    inputs: Mapping[str, InputSpec],
    faults: Faults,
) -> tuple[Text, ...]:
    """Return the inputs that an optimum moves with."""
    found: dict[str, Text] = {}
    for text in read_names(read_items(field, faults), faults) if field else ():
        if text.value in found:
            faults.add(f"'{text}' occurs twice in 'sensitivity'", text.span())
        elif text.value in {x.name for x in variables}:
            message = f"'{text}' is a variable, and an optimum moves with data"
            hint = "name inputs that are no variables"
            faults.add(message, text.span(), hint=hint)
        elif is_real_input(text, dict(inputs), faults):
            if inputs[text.value].sparse:
                message = f"'{text}' is sparse, and a parameter is dense"
                faults.add(message, text.span(), hint="name dense inputs")
            found[text.value] = text
    return tuple(found.values())


def _objective(
    key: Text,
    fields: Mapping[str, Field],
    known: Mapping[str, FunctionSpec],
    faults: Faults,
) -> Text | None:
    given = [fields[sense] for sense in ("minimize", "maximize") if sense in fields]
    if not given:
        hint = "add 'minimize: ' and the name of a scalar function"
        faults.add("the problem has no 'minimize'", key.span(), hint=hint)
        return None
    if len(given) > 1:
        marks = tuple((field.key.span(), "") for field in given)
        message = "a problem has 'minimize' or 'maximize', not both"
        faults.add(message, given[1].key.span(), marks=marks)
    text = read_text(given[0], faults)
    return text if text is not None and _is_function(text, known, faults) else None


def _is_function(text: Text, known: Mapping[str, FunctionSpec], faults: Faults) -> bool:
    if text.value in known:
        return True
    hint = suggest(text.value, known)
    if hint is None and known:
        hint = "the functions are " + ", ".join(known)
    faults.add(f"'{text}' is not a function", text.span(), hint=hint)
    return False


def _variables(
    key: Text, field: Field | None, inputs: Mapping[str, InputSpec], faults: Faults
) -> tuple[Limited, ...]:
    found: dict[str, Limited] = {}
    if field is None:
        hint = "add 'variables: ' and the inputs to choose"
        faults.add("the problem has no 'variables'", key.span(), hint=hint)
        return ()
    for text, node in _entries(field, faults):
        if text.value in found:
            faults.add(f"'{text}' occurs twice in 'variables'", text.span())
        elif is_real_input(text, dict(inputs), faults):
            if inputs[text.value].sparse:
                message = f"a variable is dense, and '{text}' is sparse"
                hint = "the vector of a problem has no pattern"
                faults.add(message, text.span(), hint=hint)
            lower, upper = _limits(text, node, "a variable", faults)
            found[text.value] = Limited(text.value, text, lower, upper)
    if isinstance(field.node, Listing | Block) and not found and not faults:
        faults.add("'variables' names none", field.key.span())
    return tuple(found.values())


def _constraints(
    field: Field | None, known: Mapping[str, FunctionSpec], faults: Faults
) -> tuple[Limited, ...]:
    found: dict[str, Limited] = {}
    if field is None or field.empty:
        return ()
    for text, node in _entries(field, faults):
        if text.value in found:
            hint = "give both bounds at once: {lower: 0, upper: 1}"
            faults.add(f"'{text}' is constrained twice", text.span(), hint=hint)
        elif _is_function(text, known, faults):
            count = len(faults.diagnostics)
            lower, upper = _limits(text, node, "a constraint", faults)
            if lower is upper is None and len(faults.diagnostics) == count:
                hint = "say between what it lies: {lower: 0}, {upper: 1} or {equal: 0}"
                faults.add(f"'{text}' is not constrained", text.span(), hint=hint)
            found[text.value] = Limited(text.value, text, lower, upper)
    return tuple(found.values())


def _entries(field: Field, faults: Faults) -> Iterator[tuple[Text, Node | None]]:
    """Yield names with what is said of them: a mapping, or names alone."""
    if isinstance(field.node, Block):
        for entry in read_entries(field.node, faults):
            yield entry.key.strip(), None if entry.empty else entry.node
        return
    for name in read_names(read_items(field, faults), faults):
        yield name, None


def _limits(
    name: Text, node: Node | None, what: str, faults: Faults
) -> tuple[Text | None, Text | None]:
    """Return the lower and the upper bound that `{lower: ..., upper: ...}` says."""
    if node is None:
        return None, None
    if not isinstance(node, Block):
        message = f"the bounds of '{name}' must be a mapping, not {describe(node)}"
        hint = f"write {name}: {{lower: ..., upper: ...}} or {{equal: ...}}"
        faults.add(message, name.span(), hint=hint)
        return None, None
    fields = read_fields(node, _LIMITS, what, faults)
    found = {
        key: read_expression(field.node, f"'{key}'", field.key.span(), faults)
        for key, field in fields.items()
    }
    if "equal" in fields and len(fields) > 1:
        other = next(key for key in fields if key != "equal")
        message = f"'{name}' has both 'equal' and '{other}'"
        faults.add(message, fields[other].key.span())
    equal = found.get("equal")
    return found.get("lower", equal), found.get("upper", equal)
