"""The sections `dims` and `inputs`."""

from __future__ import annotations

from fractions import Fraction

from tensorgen.errors import Faults, Text, suggest
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.symmetric_axes import promised
from tensorgen.spec.batches import check_samples, read_batch
from tensorgen.spec.exact_numbers import read_number
from tensorgen.spec.fields import (
    Field,
    read_doc,
    read_entries,
    read_fields,
    read_section,
    read_text,
)
from tensorgen.spec.model import PROPERTIES, InputSpec
from tensorgen.spec.names import Namespace, check_name
from tensorgen.spec.shapes import LARGEST, Dims, read_shape, read_size
from tensorgen.spec.yaml_nodes import Listing, Mapping, Node, Scalar, describe

_KEYS = ("shape", "doc", "default", "index", "sparse", "batch", *PROPERTIES)
_YES = ("true", "True", "yes", "on")
_NO = ("false", "False", "no", "off")
_IMPLIED = {"spd": "symmetric", "positive": "nonnegative"}


def read_dims(
    field: Field | None, names: Namespace, faults: Faults
) -> tuple[Dims, dict[str, int | None]]:
    """Return the dims that are listed, and their size hints."""
    dims = Dims()
    hints: dict[str, int | None] = {}
    if field is None:
        return dims, hints
    for key, node in _dim_entries(field, faults):
        if not check_name(key, "a dim", faults):
            continue
        names.claim(key, "a dim")
        dims.note(key)
        hints[key.value] = _hint(key, node, faults)
    return dims, hints


def _dim_entries(field: Field, faults: Faults) -> list[tuple[Text, Node | None]]:
    match field.node:
        case Mapping():
            return [(e.key, e.node) for e in read_entries(field.node, faults)]
        case Listing():
            bad = [i for i in field.node.items if not isinstance(i, Scalar)]
            for item in bad:
                faults.add(f"a name is expected, not {describe(item)}", item.span)
            names = [i.text for i in field.node.items if isinstance(i, Scalar)]
            return [(name, None) for name in names]
    message = f"'dims' must be a mapping or a list, not {describe(field.node)}"
    hint = "write {m: 2000, n: 1000}, or [m, n] without size hints"
    faults.add(message, field.key.span(), hint=hint)
    return []


def _hint(name: Text, node: Node | None, faults: Faults) -> int | None:
    if node is None or (isinstance(node, Scalar) and node.empty):
        return None
    if isinstance(node, Scalar):
        if node.text.value in ("null", "~"):
            return None
        number = read_number(node.text.value)
        if number is not None and number > LARGEST:
            faults.add(f"the size hint of '{name}' is too large", node.span)
            return None
        if number is not None and number.denominator == 1 and number >= 1:
            return int(number)
    message = f"the size hint of '{name}' must be a positive integer"
    place = node.span if isinstance(node, Scalar) else name.span()
    faults.add(f"{message}, not {describe(node)}", place)
    return None


def read_inputs(
    field: Field | None, dims: Dims, names: Namespace, faults: Faults
) -> tuple[InputSpec, ...]:
    """Return the inputs in order; `dims` grows by those that shapes mention."""
    inputs: list[InputSpec] = []
    for entry in read_section(field, "write name: shape", faults, parts=_KEYS):
        good = check_name(entry.key, "an input", faults)
        if good:
            names.claim(entry.key, "an input")
        found = _input(entry, dims, faults)
        if good:
            inputs.append(found)
        if good and found.sparse:
            sizes = (str(dim) for part in found.parts for dim in part.shape)
            for own in dict.fromkeys([*(part.name for part in found.parts), *sizes]):
                end = own.removeprefix(found.name)
                what = f"the {end[1:].replace('_', ' ')} of '{entry.key}'"
                names.claim(entry.key.extended(end), what)
    check_samples(inputs, faults)
    return tuple(inputs)


def _input(entry: Field, dims: Dims, faults: Faults) -> InputSpec:
    """Return one input; where its shape is wrong, with a scalar's in its place."""
    name, node = entry.key, entry.node
    if not isinstance(node, Mapping):
        return InputSpec(name.value, name, read_shape(node, name, dims, faults) or ())
    fields = read_fields(node, _KEYS, "an input", faults)
    shape = None
    if "shape" in fields:
        shape = read_shape(fields["shape"].node, name, dims, faults)
    else:
        hint = "write shape: [m, n], or shape: scalar"
        faults.add(f"the input '{name}' has no shape", name.span(), hint=hint)
    index = None
    if "index" in fields:
        index = read_size(fields["index"].node, dims, faults)
        _check_index_array(fields, faults)
    properties = _properties(fields, shape, faults)
    default = _default(fields, name, shape, faults)
    doc = read_doc(fields.get("doc"), faults)
    sparse = _is_sparse(fields, name, shape, faults)
    batch = read_batch(fields, sparse, dims, faults)
    known = doc, default, properties, index, sparse
    return InputSpec(name.value, name, shape or (), *known, batch=batch)


def _is_sparse(
    fields: dict[str, Field], name: Text, shape: tuple[Dim, ...] | None, faults: Faults
) -> bool:
    """Whether an input is a sparse matrix; a matrix that cannot be is reported."""
    if "sparse" not in fields or not _is_true(fields["sparse"], faults):
        return False
    for key in ("index", "default", "symmetric", "spd"):
        if key in fields:
            message = f"a sparse matrix cannot have '{key}'"
            faults.add(message, fields[key].key.span())
    if shape is not None and len(shape) != 2:
        given = f"the shape of '{name}' is {tuple_text(shape)}"
        message = f"only a matrix can be 'sparse', and {given}"
        faults.add(message, fields["sparse"].key.span())
    return shape is not None and len(shape) == 2


def _check_index_array(fields: dict[str, Field], faults: Faults) -> None:
    for key in ("default", *PROPERTIES):
        if key in fields:
            message = f"an index array cannot have '{key}'"
            faults.add(message, fields[key].key.span())


def _default(
    fields: dict[str, Field], name: Text, shape: tuple[Dim, ...] | None, faults: Faults
) -> Fraction | None:
    field = fields.get("default")
    if field is None or (text := read_text(field, faults)) is None:
        return None
    if shape:
        message = f"only a scalar can have a default, and '{name}' is an array"
        faults.add(message, field.key.span())
        return None
    number = read_number(text.value)
    if number is None:
        message = f"the default of '{name}' must be a number, not '{text}'"
        faults.add(message, text.span())
    return number


def _properties(
    fields: dict[str, Field], shape: tuple[Dim, ...] | None, faults: Faults
) -> frozenset[str]:
    found: list[str] = []
    own = fields.get("symmetric")
    groups = None if own is None else _exchanged(own, shape, faults)
    if own is not None and groups is not None:
        found += groups
        fields = {key: field for key, field in fields.items() if field is not own}
        if "spd" in fields and groups != ["symmetric"]:
            message = "what is 'spd' is symmetric along its last two axes alone"
            faults.add(message, own.key.span())
    for name in PROPERTIES:
        if name not in fields or not _is_true(fields[name], faults):
            continue
        found += [name, _IMPLIED.get(name, name)]
        square = shape is None or (len(shape) >= 2 and shape[-1] == shape[-2])
        if name in ("symmetric", "spd") and not square:
            message = f"only a square matrix can be '{name}'"
            faults.add(message, fields[name].key.span())
    return frozenset(found)


def _exchanged(
    field: Field, shape: tuple[Dim, ...] | None, faults: Faults
) -> list[str] | None:
    """Return what is promised of groups of axes, None where `symmetric` names none."""
    node = field.node
    if isinstance(node, Scalar) and node.text.value == "all":
        given = [tuple(range(len(shape or ())))]
    elif isinstance(node, Listing):
        nested = [item for item in node.items if isinstance(item, Listing)]
        lists = nested if nested and len(nested) == len(node.items) else [node]
        given = [tuple(_axis(item, shape, faults) for item in x.items) for x in lists]
    else:
        return None
    if shape is None or -1 in (axes := [axis for group in given for axis in group]):
        return []
    message, hint = "", "axes are counted from 0: [0, 1, 2], or [[0, 1], [2, 3]]"
    if len({*axes}) < len(axes):
        message = "an axis can be exchanged in one group only"
    elif not all(len(group) > 1 for group in given):
        message = "axes are exchanged two or more at a time"
    for group in given:
        if len({shape[axis] for axis in group}) > 1:
            sizes = tuple_text(tuple(shape[axis] for axis in group))
            message = f"axes that may be exchanged have one size, not {sizes}"
    if message:
        faults.add(message, node.span, hint=hint)
        return []
    return [promised(group, len(shape)) for group in given]


def _axis(node: Node, shape: tuple[Dim, ...] | None, faults: Faults) -> int:
    """Return the number of an axis, -1 with a fault noted."""
    text = node.text.value if isinstance(node, Scalar) else ""
    order = len(shape or ())
    if text.isdecimal() and (shape is None or int(text) < order):
        return int(text)
    message = f"an axis is a number from 0 to {order - 1}, not {describe(node)}"
    faults.add(message, node.span)
    return -1


def _is_true(field: Field, faults: Faults) -> bool:
    text = field.node.text if isinstance(field.node, Scalar) else None
    value = None if text is None else text.value
    if value in _YES or value in _NO:
        return value in _YES
    whole = ["all"] * (field.key.value == "symmetric")
    words = ["true", "false", *whole]
    guess = suggest(value, words, text.span()) if text and value else None
    message = f"'{field.key}' must be true or false, not {describe(field.node)}"
    hint = f"write {field.key}: true" + ", or all, or the axes: [0, 1, 2]" * len(whole)
    faults.add(message, field.key.span(), hint=guess or hint)
    return False
