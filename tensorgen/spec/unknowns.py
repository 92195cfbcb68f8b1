"""The section `unknowns`: what is given by an equation."""

from __future__ import annotations

from tensorgen.errors import Faults, Text
from tensorgen.spec.expressions import read_expression
from tensorgen.spec.fields import (
    Field,
    read_doc,
    read_entries,
    read_fields,
    read_section,
)
from tensorgen.spec.model import WAYS, InputSpec, UnknownSpec
from tensorgen.spec.names import Namespace, check_name
from tensorgen.spec.shapes import Dims, read_shape
from tensorgen.spec.yaml_nodes import Mapping

_KEYS = ("of", "shape", *WAYS, "start", "doc")
_FORM = "write y: {shape: [n], equation: tanh(W @ y + x) - y}"


def read_unknowns(
    field: Field | None, dims: Dims, names: Namespace, faults: Faults
) -> tuple[UnknownSpec, ...]:
    """Return the unknowns in order; `dims` grows by those that shapes mention."""
    found = []
    for entry in read_section(field, _FORM, faults, parts=_KEYS):
        good = check_name(entry.key, "an unknown", faults)
        unknown = _unknown(entry, dims, faults)
        if good:
            names.claim(entry.key, "an unknown")
            rows = unknown is not None and bool(unknown.parameters)
            for name in made_for(entry.key.value, rows):
                end = name.removeprefix(entry.key.value)
                what = f"a function emitted for the unknown '{entry.key}'"
                names.claim(entry.key.extended(end), what)
        if good and unknown is not None:
            found.append(unknown)
    return tuple(found)


def each_of(name: str) -> str:
    """Return what the rows are called that a function solves for together."""
    return f"{name}_each"


def made_for(name: str, rows: bool = False) -> tuple[str, ...]:
    """Return the names of the functions that are emitted for an unknown.

    Of one that is a function, for `rows` of its arguments too.
    """
    objective = f"{name}_objective"
    ends = ("solve", "start", "step", "residual")
    return (
        *(f"{name}_{end}" for end in ends),
        *(objective, f"{objective}_grad", f"{objective}_hess"),
        *(made_for(each_of(name)) if rows else ()),
    )


def _unknown(entry: Field, dims: Dims, faults: Faults) -> UnknownSpec | None:
    name = entry.key
    if not isinstance(entry.node, Mapping):
        message = f"the unknown '{name}' needs a shape and an equation"
        faults.add(message, name.span(), hint=_FORM)
        return None
    fields = read_fields(entry.node, _KEYS, "an unknown", faults)
    shape = None
    if "shape" in fields:
        shape = read_shape(fields["shape"].node, name, dims, faults)
    else:
        hint = "write shape: [n], or shape: scalar"
        faults.add(f"the unknown '{name}' has no shape", name.span(), hint=hint)
    ways = [way for way in WAYS if way in fields]
    if not ways and len(fields) < len(entry.node.pairs):
        return None  # a key that is wrong may be the one that is missed
    if len(ways) != 1:
        message = f"the unknown '{name}' has no equation"
        if ways:
            message = f"the unknown '{name}' is given by several: {', '.join(ways)}"
        hint = "one of 'equation' (= 0), 'fixed_point' (= itself), 'minimises'"
        faults.add(message, name.span(), hint=hint)
        return None
    (way,) = ways
    body = read_expression(fields[way].node, f"'{way}'", name.span(), faults)
    start = None
    if "start" in fields:
        start = read_expression(fields["start"].node, "'start'", name.span(), faults)
    parameters = _parameters(fields.get("of"), name, dims, faults)
    doc = read_doc(fields.get("doc"), faults)
    if shape is None or body is None:
        return None
    given = InputSpec(name.value, name, shape, doc, unknown=True)
    return UnknownSpec(given, way, body, parameters, start)


def _parameters(
    field: Field | None, name: Text, dims: Dims, faults: Faults
) -> tuple[InputSpec, ...]:
    """Return what an unknown is a function of, with the shapes that these have."""
    if field is None:
        return ()
    if not isinstance(field.node, Mapping) or not field.node.pairs:
        message = f"'of' names the arguments of '{name}', with their shapes"
        faults.add(message, field.key.span(), hint="write of: {x: [n], t: scalar}")
        return ()
    found = []
    for entry in read_entries(field.node, faults):
        shape = read_shape(entry.node, entry.key, dims, faults)
        if check_name(entry.key, "an argument", faults) and shape is not None:
            found.append(InputSpec(entry.key.value, entry.key, shape))
    return tuple(found)
