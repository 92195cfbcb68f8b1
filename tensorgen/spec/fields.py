"""Mappings as the reader meets them: known keys, or names that the user chose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as MappingOf
from dataclasses import dataclass
from types import MappingProxyType

from tensorgen.errors import Faults, Text, suggest
from tensorgen.spec.yaml_nodes import Listing, Mapping, Node, Scalar, describe, shorten


@dataclass(frozen=True, slots=True)
class Field:
    """A key and what stands under it."""

    key: Text
    node: Node

    @property
    def empty(self) -> bool:
        """Whether nothing stands there."""
        return isinstance(self.node, Scalar) and self.node.empty


def read_fields(
    node: Mapping,
    known: Sequence[str],
    what: str,
    faults: Faults,
    elsewhere: MappingOf[str, str] = MappingProxyType({}),
) -> dict[str, Field]:
    """Return the fields by key; reports unknown keys and keys given twice.

    Of keys that belong `elsewhere`, a hint says where.
    """
    fields: dict[str, Field] = {}
    above: Field | None = None
    for entry in read_entries(node, faults):
        key, before, above = entry.key.value, above, entry
        if key not in known and before is not None and before.empty and not node.flow:
            _report_stray(before, entry.key, faults)
        elif key not in known:
            faults.add(
                f"'{shorten(key)}' is not a key of {what}",
                entry.key.span(),
                hint=elsewhere.get(key) or _unknown_hint(entry, known, node),
            )
        elif key in fields:
            faults.add(
                f"the key '{key}' is given twice",
                entry.key.span(),
                marks=((fields[key].key.span(), "first here"), (entry.key.span(), "")),
            )
        else:
            fields[key] = entry
    return fields


def _unknown_hint(entry: Field, known: Sequence[str], node: Mapping) -> str:
    key = entry.key.value
    if key == "<<":
        return "a spec has no YAML merge keys"
    guess = suggest(key, known)
    after = entry.node.span.source.text[entry.key.span().end :].lstrip()
    if guess is None and node.flow and not after.startswith(":"):
        return "inside {...}, YAML cuts a text without quotes at ','"
    return guess or "its keys are " + ", ".join(known)


def read_entries(node: Mapping, faults: Faults) -> Iterator[Field]:
    """Yield the entries of a mapping, in order, whose keys are texts."""
    for key, value in node.pairs:
        if isinstance(key, Scalar):
            yield Field(key.text, value)
        else:
            faults.add(f"a name is expected, not {describe(key)}", key.span)


def read_section(
    field: Field | None,
    form: str,
    faults: Faults,
    *,
    may_be_empty: bool = True,
    parts: Sequence[str] = (),
) -> Iterator[Field]:
    """Yield the entries of a section whose keys the user chose; `form` shows one.

    An entry may have `parts`, which are reported where they stand beside it.
    """
    if field is None or (may_be_empty and field.empty):
        return
    if isinstance(field.node, Mapping):
        yield from _whole(read_entries(field.node, faults), parts, faults)
        return
    message = f"'{field.key}' must be a mapping, not {describe(field.node)}"
    if isinstance(field.node, Listing):
        form += ", without a dash"
    elif isinstance(field.node, Scalar) and ":" in field.node.text.value:
        form += ", with a space behind ':'"
    faults.add(message, field.key.span(), hint=form)


def _whole(
    entries: Iterable[Field], parts: Sequence[str], faults: Faults
) -> Iterator[Field]:
    """Yield entries but those of which all parts stand beside them."""
    above: Field | None = None
    lost = False
    for entry in entries:
        if above is not None and above.empty and entry.key.value in parts:
            if not lost:  # once for all of them
                _report_stray(above, entry.key, faults)
            lost = True
            continue
        if above is not None and not lost:
            yield above
        above, lost = entry, False
    if above is not None and not lost:
        yield above


def _report_stray(above: Field, key: Text, faults: Faults) -> None:
    """Report a key that stands beside the one that it should stand under."""
    own = f"'{shorten(above.key.strip().value)}'"
    message = f"'{shorten(key.value)}' stands beside {own}, not under it"
    hint = f"what belongs to {own} is indented further than {own}"
    marks = ((above.key.span(), "nothing is under this"), (key.span(), ""))
    faults.add(message, key.span(), marks=marks, hint=hint)


def read_names(nodes: Iterable[Node], faults: Faults) -> Iterator[Text]:
    """Yield the names that nodes are; reports what is none."""
    for node in nodes:
        if isinstance(node, Scalar):
            yield node.text.strip()
        else:
            faults.add(f"a name is expected, not {describe(node)}", node.span)


def read_text(field: Field, faults: Faults) -> Text | None:
    """Return the text under a key that takes one word."""
    if isinstance(field.node, Scalar) and not field.node.empty:
        return field.node.text.strip()
    message = f"'{field.key}' must be a string, not {describe(field.node)}"
    faults.add(message, field.key.span())
    return None


def read_doc(field: Field | None, faults: Faults) -> str | None:
    """Return the doc, as written but for white space around it."""
    if field is None or field.empty:
        return None
    text = read_text(field, faults)
    return text.value if text is not None and text.value else None


def read_items(field: Field, faults: Faults) -> tuple[Node, ...]:
    """Return the items under a key that takes one thing or a list of them."""
    match field.node:
        case Listing():
            return field.node.items
        case Scalar() if not field.node.empty:
            return (field.node,)
    message = f"'{field.key}' must be a name or a list, not {describe(field.node)}"
    faults.add(message, field.key.span())
    return ()
