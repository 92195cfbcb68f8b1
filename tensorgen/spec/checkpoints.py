"""The key `checkpoint` of a function: which recurrences keep few of their states."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.errors import Faults, Text, suggest
from tensorgen.spec.fields import Field, read_entries
from tensorgen.spec.model import Checkpoint, Definition
from tensorgen.spec.yaml_nodes import Mapping, Node, Scalar, describe

ROOT = "sqrt"


def read_checkpoints(
    field: Field | None, where: Sequence[Definition], faults: Faults
) -> tuple[Checkpoint, ...]:
    """Return what `sqrt` says of all names that step, and `{x: 50}` of one."""
    if field is None:
        return ()
    if not isinstance(field.node, Mapping):
        found = [_checkpoint(None, field.key, field.node, faults)]
        return tuple(x for x in found if x is not None)
    known = list(dict.fromkeys(d.name for d in where))
    given: dict[str, Checkpoint | None] = {}
    for entry in read_entries(field.node, faults):
        name = entry.key.strip()
        if name.value not in known:
            hint = suggest(name.value, known) or (
                "recurrences are defined under 'where'"
                + (f": {', '.join(known)}" if known else "")
            )
            message = f"'{name}' is no name under 'where'"
            faults.add(message, name.span(), hint=hint)
        elif name.value in given:
            faults.add(f"the checkpoint of '{name}' is given twice", name.span())
        else:
            own = _checkpoint(name.value, name, entry.node, faults)
            given[name.value] = own
    if not field.node.pairs:
        message = "'checkpoint' names nothing"
        faults.add(message, field.key.span(), hint=f"write {{x: {ROOT}}}")
    return tuple(x for x in given.values() if x is not None)


def _checkpoint(
    name: str | None, key: Text, node: Node, faults: Faults
) -> Checkpoint | None:
    hint = f"write {ROOT}, or after how many steps a state is stored: 100"
    if not isinstance(node, Scalar) or node.empty:
        message = f"'{key}' takes {ROOT} or a number of steps, not {describe(node)}"
        faults.add(
            message, node.span if isinstance(node, Scalar) else key.span(), hint=hint
        )
        return None
    text = node.text.strip()
    if text.value == ROOT:
        return Checkpoint(name, key, None)
    try:
        length = int(text.value)
    except ValueError:
        faults.add(f"'{text}' is no checkpoint", text.span(), hint=hint)
        return None
    if length < 1:
        faults.add("a state is stored after 1 step at least", text.span(), hint=hint)
        return None
    return Checkpoint(name, key, length)
