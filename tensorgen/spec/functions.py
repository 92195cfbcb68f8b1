"""The section `functions`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tensorgen.calculus.kinds import PROBLEM, STANDARD_ERRORS, VJP
from tensorgen.errors import Faults, Text, suggest
from tensorgen.spec.clauses import LeftSide, read_clauses, read_left_side
from tensorgen.spec.emits import read_emit, read_wrt
from tensorgen.spec.expressions import read_expression
from tensorgen.spec.fields import (
    Field,
    read_doc,
    read_entries,
    read_fields,
    read_section,
)
from tensorgen.spec.model import (
    Checkpoint,
    Definition,
    Emit,
    FunctionSpec,
    InputSpec,
    Wrt,
)
from tensorgen.spec.names import Namespace
from tensorgen.spec.yaml_nodes import Listing, Mapping, Node, Scalar, describe

FUNCTION_KEYS = ("doc", "where", "checkpoint", "expr", "wrt", "emit")
METRIC = "metric"
"""A key as well, but a name that functions may have themselves."""
_INDEXED = re.compile(r"\s*(?P<key>expr)\s*(?P<indices>\[.*\])\s*")
_IMPLICIT = ("unknown", "root", "fixed_point", "equation", "minimises")


def read_functions(
    field: Field | None, inputs: dict[str, InputSpec], names: Namespace, faults: Faults
) -> tuple[FunctionSpec, ...]:
    """Return the functions in order."""
    functions: list[FunctionSpec] = []
    form = "write name: expression"
    entries = read_section(field, form, faults, may_be_empty=False, parts=FUNCTION_KEYS)
    above: Field | None = None
    for entry in entries:
        above, before = entry, above
        if before is not None and _belongs(entry, before, faults):
            above = before
            continue
        side = read_left_side(entry.key, "a function", faults)
        if side is not None:
            names.claim(side.name, "a function")
        function = _function(entry, side, inputs, faults)
        if function is not None:
            functions.append(function)
    return tuple(functions)


def _belongs(entry: Field, above: Field, faults: Faults) -> bool:
    """Report what is no function, but a key of the one above that it lacks."""
    key, node = entry.key.value, above.node
    if not isinstance(node, Mapping) or node.flow or isinstance(entry.node, Mapping):
        return False
    own = {name.text.value for name, _ in node.pairs if isinstance(name, Scalar)}
    if key not in FUNCTION_KEYS or key in own:
        return False
    name = above.key.strip()
    message = f"'{key}' stands beside '{name}', not under it"
    hint = f"indent it as far as '{sorted(own)[0]}'" if own else None
    faults.add(message, entry.key.span(), hint=hint)
    return True


def _function(
    entry: Field, side: LeftSide | None, inputs: dict[str, InputSpec], faults: Faults
) -> FunctionSpec | None:
    """Return one function, or None where it has no name or no expression."""
    if not isinstance(entry.node, Mapping):
        what = f"'{entry.key.strip()}'"
        expr = read_expression(entry.node, what, entry.key.span(), faults)
        if side is None or expr is None:
            return None
        name = side.name
        plain = None, (), expr, (), (), side.ranges, side.places
        return FunctionSpec(name.value, name, side.indices, *plain)
    known = (*FUNCTION_KEYS, METRIC, *_IMPLICIT)
    node = _without_indices(entry.key, entry.node, faults)
    fields = read_fields(node, known, "a function", faults)
    results = _results(fields.get("expr"), side, faults)
    expr = fields["expr"].key if results else _expr(entry.key, fields, faults)
    where: tuple[Definition, ...] = ()
    if "where" in fields and not fields["where"].empty:
        field = fields["where"]
        where = read_clauses(field.node, field.key, faults, macro=False)
    kept = read_checkpoints(fields.get("checkpoint"), (*where, *results), faults)
    doc = read_doc(fields.get("doc"), faults)
    wrt = read_wrt(fields.get("wrt"), inputs, faults)
    sound = "wrt" not in fields or _count(fields["wrt"]) == len(wrt)
    emit = read_emit(fields.get("emit"), wrt if sound else None, faults)
    _check_problem(emit, wrt, results, faults)
    metric = _metric(fields.get(METRIC), emit, results, faults)
    if side is None or expr is None:
        return None
    name = side.name
    kinds = tuple(one for one in emit if one.kind is not STANDARD_ERRORS)
    rest = doc, where, expr, wrt, kinds, side.ranges, side.places, results, kept, metric
    more = len(kinds) < len(emit)
    return FunctionSpec(name.value, name, side.indices, *rest, standard_errors=more)


def _without_indices(name: Text, node: Mapping, faults: Faults) -> Mapping:
    """The keys of a function, of which `expr[i]` is the expression all the same."""
    pairs: list[tuple[Node, Node]] = []
    for key, value in node.pairs:
        found = isinstance(key, Scalar) and _INDEXED.fullmatch(key.text.value)
        if isinstance(key, Scalar) and found:
            free, short = found["indices"], name.value.partition("[")[0].strip()
            message = "the indices of a function follow its name"
            hint = f"write '{short}{free}:', and 'expr:' below it"
            place = key.text.slice(*found.span("indices")).span()
            faults.add(message, place, hint=hint)
            text = key.text.slice(*found.span("key"))
            key = Scalar(text.span(), text, key.style)
        pairs.append((key, value))
    return replace(node, pairs=tuple(pairs))


def _results(
    field: Field | None, side: LeftSide | None, faults: Faults
) -> tuple[Definition, ...]:
    """Return the results of a function whose `expr` is a mapping, none otherwise."""
    if field is None or not isinstance(field.node, Mapping) or not field.node.pairs:
        return ()
    found = read_clauses(field.node, field.key, faults, macro=False)
    if side is not None and side.indices:
        hint = f"each result has its own, as in '{found[0].name}[i]'" if found else None
        message = f"'{side.name}' has several results, and no indices itself"
        faults.add(message, side.name.span(), hint=hint)
    for result in found:
        if result.places:
            message = f"the result '{result.name}' is a whole value, not an entry"
            hint = "a recurrence belongs under 'where', and a result can be its name"
            faults.add(message, result.name_text.span(), hint=hint)
    return tuple(result for result in found if not result.places)


def _check_problem(
    emit: tuple[Emit, ...],
    wrt: tuple[Wrt, ...],
    results: tuple[Definition, ...],
    faults: Faults,
) -> None:
    """Report a problem class of a function with several results, or with a metric."""
    metric = next((x.text for x in wrt if x.metric is not None), None)
    for one in emit:
        if metric is not None and one.kind is PROBLEM:
            message = f"a problem has no metric, as that of '{metric}'"
            hint = "solvers take a gradient to be that of the Euclidean inner product"
            faults.add(message, one.text.span(), hint=hint)
        if results and one.kind is PROBLEM:
            message = "a problem is of one result, and this function has several"
            hint = "write a function of its own for the one that the problem is of"
            faults.add(message, one.text.span(), hint=hint)


def _metric(
    field: Field | None,
    emit: tuple[Emit, ...],
    results: tuple[Definition, ...],
    faults: Faults,
) -> Text | None:
    """Return the metric of a function's values, of one result that has an adjoint."""
    if field is None:
        return None
    if results:
        message = "a metric is of the values of one result"
        hint = "write a function of its own for the one that it is of"
        faults.add(message, field.key.span(), hint=hint)
    elif all(one.kind is not VJP for one in emit):
        message = "the metric of values is for the adjoint, and there is none"
        hint = "emit: [vjp]; that of an input stands in 'wrt: {x: {metric: W}}'"
        faults.add(message, field.key.span(), hint=hint)
    return read_expression(field.node, "'metric'", field.key.span(), faults)


def _expr(name: Text, fields: dict[str, Field], faults: Faults) -> Text | None:
    planned = [fields[key].key for key in _IMPLICIT if key in fields]
    for key in planned:
        message = "what an equation determines is no function, but an unknown"
        hint = "unknowns: {y: {shape: [n], equation: ...}}, and 'y' in any 'expr'"
        faults.add(message, key.span(), hint=hint)
    if "expr" in fields:
        return read_expression(fields["expr"].node, "'expr'", name.span(), faults)
    if not planned:
        hint = "add 'expr: ' and its expression"
        message = f"the function '{name.strip()}' has no 'expr'"
        faults.add(message, name.span(), hint=hint)
    return None


def _count(field: Field) -> int:
    return len(field.node.items) if isinstance(field.node, Listing) else 1


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
