"""What a function of one sample may be, whose arguments come in a batch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from tensorgen.calculus.kinds import ALL, PROBLEM
from tensorgen.errors import Faults, Span, Text
from tensorgen.ir.nodes import Node
from tensorgen.lang.scope import Record
from tensorgen.operators.batches import called_in_text, told, without_batch
from tensorgen.spec.model import FunctionSpec, InputSpec
from tensorgen.spec.names import in_spec

A_PROBLEM = "a problem"
ONE_BY_ONE = "without 'batch', call it for each sample"


def check_batch(
    faults: Faults,
    function: FunctionSpec,
    arguments: Sequence[InputSpec],
    record: Record,
    nodes: Iterable[Node],
    inputs: Mapping[str, Node],
) -> bool:
    """Whether a function has no batch, or may have one; reports why it has none."""
    given = next((x for x in arguments if x.batch is not None), None)
    if given is None or given.batch is None:
        return True
    size, name = in_spec(str(given.batch)), f"'{function.name}'"
    before = len(faults.diagnostics)
    if size in record.sizes:
        message = f"{name} is of one sample, and {size} is how many there are"
        hint = f"what takes all samples is a function without 'batch: [{size}]'"
        faults.add(message, record.sizes[size], hint=hint)
    if any(x.unknown for x in arguments):
        message = f"{name} has a batch, and unknowns are found for one sample"
        faults.add(message, function.name_text.span(), hint=ONE_BY_ONE)
        return False
    for emit in function.emit:
        if emit.kind is PROBLEM:
            message = f"{A_PROBLEM} is of one sample, and this function has a batch"
            faults.add(message, emit.text.span(), hint=_of_all(given))
        elif emit.kind is ALL:
            message = "of a batch, derivatives by several inputs are named one by one"
            hint = f"name the inputs of one: [{', '.join(emit.inputs)}]"
            faults.add(message, emit.text.span(), hint=hint)
    samples = [inputs[x.name] for x in arguments if x.batch is not None]
    for call in without_batch(nodes, samples):
        message, called = f"{name} has no batch: {told(call)}", called_in_text(call)
        faults.add(message, _place(function, called), hint=ONE_BY_ONE)
    return len(faults.diagnostics) == before


def check_one_sample(
    faults: Faults, what: str, place: Text, arguments: Iterable[InputSpec]
) -> None:
    """Report `what` reads an argument that has a batch, and is of one sample."""
    given = next((x for x in arguments if x.batch is not None), None)
    if given is not None:
        read = f"reads '{given.name}', which has a batch"
        hint = _of_all(given) if what == A_PROBLEM else ONE_BY_ONE
        faults.add(f"{what} is of one sample, and {read}", place.span(), hint=hint)


def _of_all(given: InputSpec) -> str:
    """What to write where one problem is wanted, of all samples or of each."""
    axes = ", ".join(in_spec(str(x)) for x in (given.batch, *given.shape))
    return (
        f"without 'batch', solve one for each sample; one of all minimises a sum over "
        f"samples, and takes {given.name}: [{axes}]"
    )


def _place(function: FunctionSpec, call: str) -> Span:
    """Where a text calls a function; its name where no text does by that name."""
    texts = [function.expr, *(x.body for x in (*function.where, *function.results))]
    for text in texts:
        found = re.search(rf"\b{call}\b", text.value)
        if found is not None:
            return text.slice(*found.span()).span()
    return function.name_text.span()
