"""The section `blocks`: which rows come in blocks, and what comes with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tensorgen.errors import Faults, Text, suggest
from tensorgen.ir.dims import Dim
from tensorgen.spec.fields import Field, read_entries, read_items, read_names
from tensorgen.spec.model import BlocksSpec, FunctionSpec, InputSpec
from tensorgen.spec.names import in_code
from tensorgen.spec.yaml_nodes import Mapping as Block
from tensorgen.spec.yaml_nodes import Scalar, describe

_FORM = "write 'blocks: m', or 'blocks: {m: {E: row}, functions: [f]}'"


def read_blocks(
    field: Field | None,
    dims: Mapping[str, Text],
    inputs: Sequence[InputSpec],
    functions: Sequence[FunctionSpec],
    faults: Faults,
) -> BlocksSpec | None:
    """Return which rows come in blocks, if the file says so without faults."""
    if field is None:
        return None
    if isinstance(field.node, Scalar) and not field.node.empty:
        text = field.node.text.strip()
        known = _is_dim(text, dims, inputs, faults)
        return BlocksSpec(in_code(text.value), text) if known else None
    if not isinstance(field.node, Block):
        message = f"'blocks' must be a dim or a mapping, not {describe(field.node)}"
        faults.add(message, field.key.span(), hint=_FORM)
        return None
    sizes: list[tuple[Text, list[tuple[Text, Text]]]] = []
    listed: tuple[Text, ...] = ()
    for entry in read_entries(field.node, faults):
        if entry.key.value == "functions":
            listed = _functions(entry, functions, faults)
        elif _is_dim(entry.key, dims, inputs, faults):
            sizes.append((entry.key, _along(entry, dims, inputs, faults)))
    if len(sizes) != 1:
        if sizes or not faults:
            place = sizes[1][0] if sizes else field.key
            message = "'blocks' names one dim whose rows come in blocks"
            faults.add(message, place.span(), hint=_FORM)
        return None
    ((text, pairs),) = sizes
    along = tuple((in_code(size.value), rows.value) for size, rows in pairs)
    places = tuple(place for pair in pairs for place in pair)
    return BlocksSpec(in_code(text.value), text, along, listed, places)


def _is_dim(
    text: Text, dims: Mapping[str, Text], inputs: Iterable[InputSpec], faults: Faults
) -> bool:
    """Whether some array has an axis of that size."""
    axes = {str(dim) for given in inputs for dim in given.shape}
    if text.value in dims and in_code(text.value) in axes:
        return True
    rows = [name for name in dims if in_code(name) in axes]
    hint = suggest(text.value, rows) or "the dims of axes are " + ", ".join(rows)
    message = f"'{text}' is not the size of an axis of an input"
    faults.add(message, text.span(), hint=hint if rows else None)
    return False


def _along(
    entry: Field, dims: Mapping[str, Text], inputs: Sequence[InputSpec], faults: Faults
) -> list[tuple[Text, Text]]:
    """The index arrays that say which row entries come with, each behind its dim."""
    if entry.empty:
        return []
    if not isinstance(entry.node, Block):
        message = f"'{entry.key}' must be a mapping, not {describe(entry.node)}"
        hint = "write 'E: row' under it: entries of E come with the row that row names"
        faults.add(message, entry.key.span(), hint=hint)
        return []
    found = []
    for one in read_entries(entry.node, faults):
        if not _is_dim(one.key, dims, inputs, faults):
            continue
        if one.key.value == entry.key.value:
            message = f"rows of {entry.key} do not come with other rows of {entry.key}"
            hint = "what a row is made of must be in it, or in entries of another size"
            faults.add(message, one.key.span(), hint=hint)
            continue
        for text in read_names([one.node], faults):
            if _names_rows(text, one.key, entry.key, inputs, faults):
                found.append((one.key, text))
    return found


def _names_rows(
    text: Text, size: Text, rows: Text, inputs: Sequence[InputSpec], faults: Faults
) -> bool:
    """Whether an input names a row for each entry of a size."""
    known = {given.name: given for given in inputs}
    given = known.get(text.value)
    if given is None:
        faults.add(
            f"'{text}' is not an input", text.span(), hint=suggest(text.value, known)
        )
        return False
    shape, bound = (Dim.symbol(in_code(size.value)),), Dim.symbol(in_code(rows.value))
    if given.index == bound and given.shape == shape:
        return True
    message = f"'{text}' does not name a row of {rows} for each entry of {size}"
    hint = f"write '{text}: {{shape: [{size}], index: {rows}}}' under 'inputs'"
    faults.add(message, text.span(), hint=hint)
    return False


def _functions(
    field: Field, functions: Sequence[FunctionSpec], faults: Faults
) -> tuple[Text, ...]:
    known = [function.name for function in functions]
    found = []
    for text in read_names(read_items(field, faults), faults):
        if text.value in known:
            found.append(text)
            continue
        hint = suggest(text.value, known) or "the functions are " + ", ".join(known)
        faults.add(f"'{text}' is not a function", text.span(), hint=hint)
    return tuple(found)
