"""What a function is differentiated by, and what is emitted for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import comb

from tensorgen.calculus.kinds import (
    ALL,
    HESSIAN,
    KINDS,
    MIXED,
    NAMED,
    ORDER,
    PROBLEM,
    ROWS,
    STANDARD_ERRORS,
    VALUE,
    Kind,
)
from tensorgen.errors import Faults, Text, did_you_mean, listed, suggest
from tensorgen.operators.matrices.subspaces import SUBSPACES
from tensorgen.spec.expressions import read_expression
from tensorgen.spec.fields import (
    Field,
    read_entries,
    read_fields,
    read_items,
    read_text,
)
from tensorgen.spec.model import Emit, InputSpec, Wrt
from tensorgen.spec.yaml_nodes import Listing, Mapping, Node, Scalar, describe

_HIGHEST_ORDER = 9
_MOST_BLOCKS = 50
_WHOLE = re.compile(r"[+-]?[0-9]+")
_LOW_ORDERS = {
    "1": "the first derivative is 'gradient' or 'jacobian'",
    "2": "the second derivative is 'hessian' or 'dense_hessian'",
}


def read_wrt(
    field: Field | None, inputs: dict[str, InputSpec], faults: Faults
) -> tuple[Wrt, ...]:
    """Return the inputs to differentiate by, in the order in which they stand."""
    found: dict[str, Wrt] = {}
    for text, said in _entries(field, faults):
        name = text.value
        if name in found:
            faults.add(f"'{name}' occurs twice in 'wrt'", text.span())
        elif is_real_input(text, inputs, faults):
            subspace = said if isinstance(said, str) else ""
            metric = None if isinstance(said, str) else said
            if metric is not None and not inputs[name].shape:
                message = f"'{name}' is a scalar, whose inner product is a number"
                faults.add(message, text.span(), hint="multiply what is emitted by it")
            if subspace and not _is_square(inputs[name]):
                shape = ", ".join(map(str, inputs[name].shape))
                message = f"'{name}' is no square matrix: its shape is ({shape})"
                faults.add(message, text.span())
            if said and inputs[name].sparse:
                message = f"'{name}' is sparse: its derivative is by its stored entries"
                faults.add(message, text.span())
            # A sparse matrix is differentiated by its entries.
            found[name] = Wrt(inputs[name].parts[0].name, subspace, text, metric)
    return tuple(found.values())


def _is_square(given: InputSpec) -> bool:
    return len(given.shape) == 2 and given.shape[0] == given.shape[1]


def _entries(field: Field | None, faults: Faults) -> Iterator[tuple[Text, str | Text]]:
    """Yield the names, with the subspace where `{K: symmetric}` stands for `K`.

    Or with the text of the metric.
    """
    if field is not None and isinstance(field.node, Mapping):
        items: tuple[Node, ...] = (field.node,)
    else:
        items = read_items(field, faults) if field is not None else ()
    for node in items:
        if isinstance(node, Scalar):
            yield node.text.strip(), ""
        elif isinstance(node, Mapping) and not node.pairs:
            hint = "{K: symmetric} requests a derivative on symmetric matrices"
            faults.add("this names no input", node.span, hint=hint)
        elif isinstance(node, Mapping):
            for entry in read_entries(node, faults):
                if isinstance(entry.node, Mapping):
                    metric = _metric(entry, entry.node, faults)
                    if metric is not None:
                        yield entry.key, metric
                    continue
                value = read_text(entry, faults)
                if value is not None and value.value in SUBSPACES:
                    yield entry.key, value.value
                elif value is not None:
                    takes = "it takes " + ", ".join(SUBSPACES)
                    hint = suggest(value.value, SUBSPACES) or takes
                    message = f"'{value}' cannot be stated of '{entry.key}' in 'wrt'"
                    faults.add(message, value.span(), hint=hint)
        else:
            faults.add(f"a name is expected, not {describe(node)}", node.span)


def _metric(entry: Field, node: Mapping, faults: Faults) -> Text | None:
    """Return the metric of `{x: {metric: W}}`; reports all else."""
    known = ("metric", *SUBSPACES)
    fields = read_fields(node, known, f"'{entry.key}' in 'wrt'", faults)
    both = [own.key for key, own in fields.items() if key in SUBSPACES]
    if both:
        message = f"'{both[0]}' is stated by itself, not together with a metric"
        hint = (
            f"{{{entry.key}: {both[0]}}}; in the inner product of a matrix the "
            "gradient on a subspace is not the projected one"
        )
        faults.add(message, both[0].span(), hint=hint)
        return None
    if "metric" not in fields:
        return None
    field = fields["metric"]
    return read_expression(field.node, "'metric'", field.key.span(), faults)


def is_real_input(text: Text, inputs: dict[str, InputSpec], faults: Faults) -> bool:
    """Whether a name is that of an input to differentiate by; reports it if not."""
    name = text.value
    if name not in inputs:
        hint = suggest(name, inputs)
        if hint is None and inputs:
            own = [x for x, given in inputs.items() if not given.unknown]
            hint = "the inputs are " + ", ".join(own)
        faults.add(f"'{name}' is not an input", text.span(), hint=hint)
        return False
    if inputs[name].unknown:
        message = f"'{name}' is an unknown, which follows from inputs"
        hint = "differentiate by what its equation reads, or make it an input"
        faults.add(message, text.span(), hint=hint)
        return False
    if inputs[name].index is not None:
        message = f"'{name}' is an index array, and integers have no derivative"
        faults.add(message, text.span())
        return False
    return True


def read_emit(
    field: Field | None, wrt: tuple[Wrt, ...] | None, faults: Faults
) -> tuple[Emit, ...]:
    """Return what is to be emitted, without repetitions.

    `wrt` is None where it is wrong, which has been said: then no entry is said to
    be wrong for lack of an input.
    """
    names = None if wrt is None else {w.text.value: w.name for w in wrt}
    entries = [w.text.value for w in wrt or () if w.name != w.text.value]
    found: dict[tuple[Kind, tuple[str, ...]], Emit] = {}
    for node in read_items(field, faults) if field is not None else ():
        emit = _emit(node, names, faults)
        if emit is None:
            continue
        key = (emit.kind, emit.inputs)
        if key in found:
            faults.add("this occurs twice in 'emit'", node.span)
        found.setdefault(key, emit)
        if emit.kind is PROBLEM and entries:
            message = f"a problem is by dense inputs, and '{entries[0]}' is sparse"
            hint = "its vector has no pattern; the functions take the matrix itself"
            faults.add(message, emit.text.span(), hint=hint)
    _check_standard_errors([*found.values()], faults)
    return tuple(found.values())


def _check_standard_errors(emits: list[Emit], faults: Faults) -> None:
    """Report that Hessians are asked for more where there is none."""
    kinds = [emit.kind for emit in emits]
    others = {kind for kind in kinds if kind is not STANDARD_ERRORS}
    if STANDARD_ERRORS in kinds and HESSIAN not in others and others != {PROBLEM}:
        text = emits[kinds.index(STANDARD_ERRORS)].text
        message = f"'{text}' is what a Hessian gives, and none is emitted"
        faults.add(message, text.span(), hint=f"add '{HESSIAN.name}' to 'emit'")


def _emit(node: Node, wrt: dict[str, str] | None, faults: Faults) -> Emit | None:
    match node:
        case Scalar():
            text = node.text.strip()
            if _WHOLE.fullmatch(text.value):
                return _order(text, wrt, faults)
            return _named(text, wrt, faults)
        case Listing():
            return _mixed(node, wrt, faults)
    faults.add(f"'emit' takes names and numbers, not {describe(node)}", node.span)
    return None


def _named(text: Text, wrt: dict[str, str] | None, faults: Faults) -> Emit | None:
    name = text.value
    if name not in NAMED:
        hint = _of_function(name) or suggest(name, NAMED)
        hint = hint or "it takes " + ", ".join(NAMED)
        if name in (wrt or ()):
            hint = f"a mixed derivative is a list inside the list: [[{name}, {name}]]"
        faults.add(f"'{name}' cannot be emitted", text.span(), hint=hint)
        return None
    kind = KINDS[name]
    if kind is not VALUE and wrt == {}:
        _report_no_wrt(text, faults)
        return None
    return Emit(kind, (), text)


def _of_function(name: str) -> str:
    """The hint for the name of what is emitted, as `value_and_grad`."""
    called = "{f}_" + name
    kind = next((x for x in ROWS if called == x.called or name == x.name), None)
    if kind is None or kind.is_higher:
        return ""
    if not kind.beside and len(kind.plain_parts) == 1:
        return did_you_mean(kind.plain_parts[0].name)
    asked = listed([f"'{part.name}'" for part in kind.plain_parts])
    return f"that comes with {asked}" if kind.beside else f"did you mean {asked}?"


def _order(text: Text, wrt: dict[str, str] | None, faults: Faults) -> Emit | None:
    short = len(text.value) <= 3  # int() refuses thousands of digits
    order = int(text.value) if short else _HIGHEST_ORDER + 1
    if not 3 <= order <= _HIGHEST_ORDER:
        message = f"an order in 'emit' is an integer from 3 to {_HIGHEST_ORDER}"
        faults.add(message, text.span(), hint=_LOW_ORDERS.get(text.value))
        return None
    if wrt == {}:
        _report_no_wrt(text, faults)
        return None
    if wrt is not None and len(wrt) > 1:
        count = comb(len(wrt) + order - 1, order)
        if count <= _MOST_BLOCKS:
            return Emit(ALL, (next(iter(wrt.values())),) * order, text)
        hint = f"name the inputs of one: [{', '.join(([*wrt] * order)[:order])}]"
        message = f"there are {count} derivatives of order {order} by {len(wrt)} inputs"
        faults.add(message, text.span(), hint=hint)
        return None
    # Where `wrt` is wrong, nothing is emitted, but repetitions are found.
    return Emit(ORDER, (next(iter((wrt or {}).values()), ""),) * order, text)


def _mixed(node: Listing, wrt: dict[str, str] | None, faults: Faults) -> Emit | None:
    names = [item.text.strip() for item in node.items if isinstance(item, Scalar)]
    if len(names) != len(node.items) or not 2 <= len(names) <= _HIGHEST_ORDER:
        message = f"a mixed derivative is a list of 2 to {_HIGHEST_ORDER} inputs"
        faults.add(message, node.span)
        return None
    strangers = [n for n in names if wrt is not None and n.value not in wrt]
    for name in strangers:
        hint = suggest(name.value, wrt or ()) or f"add {name} to 'wrt'"
        faults.add(f"'{name}' is not in 'wrt'", name.span(), hint=hint)
    if strangers:
        return None
    first, last = names[0].positions[0], names[-1].positions[-1]
    source = names[0].source
    text = Text(source.text[first:last], source, tuple(range(first, last + 1)))
    own = wrt or {}
    return Emit(MIXED, tuple(own.get(n.value, n.value) for n in names), text)


def _report_no_wrt(text: Text, faults: Faults) -> None:
    hint = "add 'wrt: ' and the inputs to differentiate by"
    faults.add(f"'{text}' needs a 'wrt'", text.span(), hint=hint)
