"""The key `batch` of inputs: functions are of one sample, and code is of all samples.

A file has one batch axis at most. Its size is that of nothing else: what is written of
one sample knows nothing of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tensorgen.errors import Faults, Text
from tensorgen.ir.dims import Dim
from tensorgen.spec.fields import Field, read_items
from tensorgen.spec.model import InputSpec
from tensorgen.spec.names import in_spec
from tensorgen.spec.shapes import Dims, read_size
from tensorgen.spec.yaml_nodes import Listing, describe

_FORM = "write batch: [B], of a size that no shape mentions"


def read_batch(
    fields: Mapping[str, Field], sparse: bool, dims: Dims, faults: Faults
) -> Dim | None:
    """Return the size of the batch axis of an input that says so without faults."""
    field = fields.get("batch")
    if field is None:
        return None
    for key, what in (("sparse", "a sparse matrix"), ("default", "what has a default")):
        if key in fields and (sparse or key != "sparse"):
            message = f"{what} is the same for all samples, and has no 'batch'"
            marks = ((x.key.span(), "") for x in (field, fields[key]))
            faults.add(message, field.key.span(), marks=marks)
            return None
    items = read_items(field, faults)
    if isinstance(field.node, Listing) and len(items) != 1:
        faults.add("there is one batch axis", field.node.span, hint=_FORM)
    if len(items) != 1:
        return None
    size = read_size(items[0], dims, faults)
    if size is not None and (len(size.symbols) != 1 or size != _named(size)):
        message = f"a batch axis has a size by name, not {describe(items[0])}"
        faults.add(message, items[0].span, hint=_FORM)
        return None
    return size


def _named(size: Dim) -> Dim:
    return Dim.symbol(size.symbols[0])


def check_samples(inputs: Sequence[InputSpec], faults: Faults) -> None:
    """Report a second batch axis, and shapes that have the size of the first."""
    batched = [given for given in inputs if given.batch is not None]
    if not batched:
        return
    first, *others = batched
    size = first.batch
    assert size is not None
    name = in_spec(str(size))
    for other in others:
        if other.batch != size:
            message = f"a file has one batch axis, and this is '{other.batch}'"
            marks = ((x.name_text.span(), "") for x in (first, other))
            faults.add(message, other.name_text.span(), marks=marks)
    for given in inputs:
        mentioned = [*given.shape, *([] if given.index is None else [given.index])]
        if not any(name in map(in_spec, dim.symbols) for dim in mentioned):
            continue
        message = f"'{given.name}' is of one sample, and {name} is how many there are"
        hint = f"no size of a sample mentions {name}"
        if given.shape[:1] == (size,) and given.batch is None:
            rest = ", ".join(map(str, given.shape[1:]))
            shape = f"[{rest}]" if rest else "scalar"
            hint = f"write {given.name}: {{shape: {shape}, batch: [{name}]}}"
        faults.add(message, given.name_text.span(), hint=hint)


def check_no_batch(blocks: Text, inputs: Sequence[InputSpec], faults: Faults) -> None:
    """Report a batch beside rows in blocks."""
    given = next((x.name for x in inputs if x.batch is not None), None)
    if given is not None:
        message = f"rows of '{blocks}' come in blocks, and '{given}' has a batch"
        hint = "a batch is in one memory; blocks of samples are calls of their own"
        faults.add(message, blocks.span(), hint=hint)
