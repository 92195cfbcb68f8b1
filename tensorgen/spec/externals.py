"""The section `external`: functions that the generated module imports.

A spec is untrusted text, and what is called is a name in it. So a path is a list of
plain identifiers, and whoever generates says whether any are called at all.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Sequence

from tensorgen.errors import Faults, Span, Text
from tensorgen.ir.dims import Dim
from tensorgen.spec.expressions import read_expression
from tensorgen.spec.fields import (
    Field,
    read_doc,
    read_entries,
    read_fields,
    read_items,
    read_section,
)
from tensorgen.spec.model import BACKENDS, ExternalSpec, InputSpec
from tensorgen.spec.names import Namespace, check_name
from tensorgen.spec.shapes import Dims, read_shape
from tensorgen.spec.yaml_nodes import Mapping, Node, Scalar, describe, shorten

RULES = ("derivative", "vjp", "jvp")
_KEYS = ("call", "args", "shape", *RULES, "doc")
_FORM = "write phi: {call: package.module.phi, derivative: dphi(x)}"
_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST = 200
COTANGENT = "ct"


def read_externals(
    field: Field | None, dims: Dims, names: Namespace, faults: Faults
) -> tuple[ExternalSpec, ...]:
    """Return the functions in order; `dims` grows by those that shapes mention."""
    found = []
    for entry in read_section(field, _FORM, faults):
        good = check_name(entry.key, "a function", faults)
        if good:
            names.claim(entry.key, "a function from outside")
        own = _external(entry, dims, faults)
        if good and own is not None:
            found.append(own)
    return tuple(found)


def check_allowed(externals: Sequence[ExternalSpec], faults: Faults) -> None:
    """Report every function that nobody has allowed to be called."""
    for own in externals:
        paths = " and ".join(dict.fromkeys(path for _, path in own.calls))
        message = f"'{own.name}' calls {paths}, and code from outside is not allowed"
        hint = "gen --allow-external, or allow_external=True in Python, allows it"
        faults.add(message, own.call_span, hint=hint)


def check_backends(externals: Sequence[ExternalSpec], backends: Sequence[str]) -> None:
    """Raise a `SpecError` where a function has no path for one of the backends."""
    faults = Faults()
    for own in externals:
        for backend in backends:
            if backend not in dict(own.calls):
                message = f"'{own.name}' has no function for the backend '{backend}'"
                hint = f"name one beside the others, {backend}: package.function, or"
                hint += f" leave {backend} out of 'backends'"
                faults.add(message, own.call_span, hint=hint)
    faults.raise_if_any()


def _external(entry: Field, dims: Dims, faults: Faults) -> ExternalSpec | None:
    name = entry.key
    if not isinstance(entry.node, Mapping):
        message = f"the function '{name}' needs what it calls"
        faults.add(message, name.span(), hint=_FORM)
        return None
    fields = read_fields(entry.node, _KEYS, "a function from outside", faults)
    if "call" not in fields:
        if len(fields) == len(entry.node.pairs):
            faults.add(f"'{name}' has no 'call'", name.span(), hint=_FORM)
        return None
    calls = _calls(fields["call"], faults)
    arguments = _arguments(fields.get("args"), name, dims, faults)
    shape = None
    if "shape" in fields:
        shape = read_shape(fields["shape"].node, name, dims, faults)
        if shape is None:
            return None
    if calls is None or arguments is None:
        return None
    shaped = fields.get("args") is not None and isinstance(fields["args"].node, Mapping)
    if shaped != (shape is not None):
        message = f"'{name}' has shapes of its arguments or of its result alone"
        hint = (
            "args: {A: [m, n], b: [n]} go with shape: [m]; without, it is elementwise"
        )
        faults.add(message, name.span(), hint=hint)
        return None
    if shape is not None and not _follows(name, shape, arguments, faults):
        return None
    rules = _rules(fields, name, arguments, shape is not None, faults)
    if rules is None:
        return None
    span = fields["call"].node.span
    doc = read_doc(fields.get("doc"), faults)
    return ExternalSpec(name.value, name, calls, span, arguments, shape, rules, doc)


def _calls(field: Field, faults: Faults) -> tuple[tuple[str, str], ...] | None:
    """The paths by backend."""
    if not isinstance(field.node, Mapping):
        path = _path(field.node, field.key.span(), faults)
        return None if path is None else tuple((name, path) for name in BACKENDS)
    given = read_fields(field.node, BACKENDS, "'call'", faults)
    paths = {
        name: _path(given[name].node, given[name].key.span(), faults)
        for name in BACKENDS
        if name in given
    }
    if not field.node.pairs:
        hint = "write call: {numpy: package.phi, cupy: package.phi_on_a_device}"
        faults.add("'call' names no function", field.key.span(), hint=hint)
    found = tuple((name, path) for name, path in paths.items() if path is not None)
    return found if found and len(found) == len(paths) else None


def _path(node: Node, place: Span, faults: Faults) -> str | None:
    """A dotted path: a package or module, and the name of a function in it."""
    hint = "a path is of plain names with dots: package.module.function"
    if not isinstance(node, Scalar) or node.empty:
        message = f"'call' must be a path, not {describe(node)}"
        faults.add(message, place, hint=hint)
        return None
    text = node.text.strip()
    parts = text.value.split(".")
    fine = len(parts) > 1 and len(text.value) <= _LONGEST
    if fine and all(_PART.fullmatch(part) for part in parts):
        wrong = [p for p in parts if keyword.iskeyword(p) or p.startswith("__")]
        if not wrong:
            return text.value
        kind = (
            "a keyword of Python" if keyword.iskeyword(wrong[0]) else "a special name"
        )
        hint = f"'{shorten(wrong[0])}' is {kind}"
    faults.add(
        f"'{shorten(text.value)}' is no path to a function", node.span, hint=hint
    )
    return None


def _arguments(
    field: Field | None, name: Text, dims: Dims, faults: Faults
) -> tuple[InputSpec, ...] | None:
    if field is None:
        return (InputSpec("x", name, ()),)
    found = []
    if isinstance(field.node, Mapping):
        for entry in read_entries(field.node, faults):
            shape = read_shape(entry.node, entry.key, dims, faults)
            if not check_name(entry.key, "an argument", faults) or shape is None:
                return None
            found.append(InputSpec(entry.key.value, entry.key, shape))
    else:
        for node in read_items(field, faults):
            if not isinstance(node, Scalar):
                faults.add(f"a name is expected, not {describe(node)}", node.span)
                return None
            text = node.text.strip()
            if not check_name(text, "an argument", faults):
                return None
            found.append(InputSpec(text.value, text, ()))
    names = [x.name for x in found]
    twice = [x for x in found if names.count(x.name) > 1]
    if twice or not found:
        message = f"'{name}' has no arguments"
        if twice:
            message = f"'{name}' has two arguments '{twice[0].name}'"
        faults.add(message, field.key.span())
        return None
    return tuple(found)


def _follows(
    name: Text, shape: Sequence[Dim], arguments: Sequence[InputSpec], faults: Faults
) -> bool:
    """Whether an axis of an argument is as long as each size that the result has."""
    alone = {dim for x in arguments for dim in x.shape}
    symbols = [symbol for dim in shape for symbol in dim.symbols]
    for symbol in dict.fromkeys(symbols):
        if Dim.symbol(symbol) not in alone:
            message = f"the size '{symbol}' of '{name}' is that of no argument"
            hint = f"an argument with an axis of length {symbol} says how large it is"
            faults.add(message, name.span(), hint=hint)
            return False
    return True


def _rules(
    fields: dict[str, Field],
    name: Text,
    arguments: Sequence[InputSpec],
    shaped: bool,
    faults: Faults,
) -> tuple[tuple[str, str, Text], ...] | None:
    """What is said of derivatives: the kind of rule, the argument, the expression."""
    given = [rule for rule in RULES if rule in fields]
    if len(given) > 1 or (given and not shaped and given != ["derivative"]):
        message = f"'{name}' has rules of several kinds: {', '.join(given)}"
        if len(given) == 1:
            message = f"'{name}' is elementwise, and '{given[0]}' is for arrays"
        hint = "an elementwise function has a derivative; others that, a vjp or a jvp"
        faults.add(message, fields[given[-1]].key.span(), hint=hint)
        return None
    if not given:
        return ()
    ((rule, field),) = ((rule, fields[rule]) for rule in given)
    known = [x.name for x in arguments]
    own = {"vjp": [COTANGENT], "jvp": [f"d{x}" for x in known]}.get(rule, [])
    if taken := [x for x in own if x in known]:
        message = f"'{taken[0]}' is an argument of '{name}', and what a {rule} is given"
        faults.add(message, field.key.span(), hint="call the argument something else")
        return None
    if isinstance(field.node, Mapping) and rule != "jvp":
        entries = [
            *read_fields(field.node, known, f"'{rule}' of '{name}'", faults).values()
        ]
    elif rule == "jvp" or len(arguments) == 1:
        entries = [Field(arguments[0].name_text, field.node)]
    else:
        several = ", ".join(f"{x.name}: ..." for x in arguments)
        message = f"'{rule}' of '{name}' is by several arguments"
        faults.add(message, field.key.span(), hint=f"write {rule}: {{{several}}}")
        return None
    found = []
    for entry in entries:
        body = read_expression(entry.node, f"'{rule}'", field.key.span(), faults)
        if body is None:
            return None
        by = arguments[0].name if len(arguments) == 1 else entry.key.value
        found.append((rule, "" if rule == "jvp" else by, body))
    return tuple(found)
