"""Definitions: `z = X @ w`, `t[i] = y[i]*z[i]`, `huber(t, d) = ...`.

They stand in a text block, a statement a line, or in a YAML mapping, where the
left sides are the keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tensorgen.errors import Faults, Span, Text
from tensorgen.operators.promise_calls import PROMISES
from tensorgen.spec.expressions import read_expression, tidy
from tensorgen.spec.fields import read_fields
from tensorgen.spec.model import Definition
from tensorgen.spec.names import check_name
from tensorgen.spec.yaml_nodes import Mapping, Node, Scalar, describe, shorten

_LEFT_SIDE = re.compile(
    r"(?P<name>[^\[\](),\s]+)\s*"
    r"(?:\[(?P<indices>[^\[\]]*)\]|\((?P<parameters>[^\[\]()]*)\))?"
)
_INDEX = re.compile(r"[^\W\d]\w*")
_EQUALS = re.compile(r"(?<![=<>!:])=(?!=)")


@dataclass(frozen=True, slots=True)
class LeftSide:
    """`name`, `name[i, k]`, `name[i, k=range(n)]`, `name[t + 1, i]` or `name(t, d)`.

    `ranges` has the text behind `=` of each index, None where there is none; `places`
    has all that stands between the brackets, where that is more than indices, as in
    `name[i, :]`.
    """

    name: Text
    indices: tuple[Text, ...] | None
    parameters: tuple[Text, ...] | None
    ranges: tuple[Text | None, ...] = ()
    places: tuple[Text, ...] = ()


def read_left_side(
    text: Text, what: str, faults: Faults, *, macro: bool = False, steps: bool = False
) -> LeftSide | None:
    """Return the parts of a left side; reports what is wrong with it.

    With `steps` it may say which entries it gives: `x[0]`, `x[t + 1]`.
    """
    text = text.strip()
    match = _LEFT_SIDE.fullmatch(text.value)
    if match is None:
        forms = "'name', 'name[i, k]'" + (" or 'name(x, y)'" if macro else "")
        message = f"'{shorten(text.value)}' cannot be the left side of {what}"
        faults.add(message, text.span(), hint=f"write {forms}")
        return None
    name = text.slice(*match.span("name"))
    good = check_name(name, what, faults)
    groups: dict[str, tuple[Text, ...] | None] = {}
    ranges: tuple[Text | None, ...] = ()
    places: tuple[Text, ...] = ()
    for group, each in (("indices", "an index"), ("parameters", "a parameter")):
        start, end = match.span(group)
        groups[group] = None
        if start >= 0:
            inside = text.slice(start, end)
            if group == "indices":
                pieces = tuple(piece.strip() for piece in _pieces(inside))
                more = [piece for piece in pieces if _is_place(piece)]
                if more and (steps or all(piece.value == ":" for piece in more)):
                    places = pieces
            pairs = _names(inside, each, faults, bool(places))
            groups[group] = tuple(name for name, _ in pairs)
            good = good and bool(pairs or places)
            if group == "indices":
                ranges = tuple(given for _, given in pairs)
    if groups["parameters"] is not None and not macro:
        hint = "macros with parameters belong under 'definitions'"
        if what == "a function":
            hint = "its arguments are the inputs that it mentions; " + hint
        faults.add(f"'{name}' cannot have parameters here", text.span(), hint=hint)
        return None
    return LeftSide(name, **groups, ranges=ranges, places=places) if good else None


def _is_place(piece: Text) -> bool:
    """Whether a part of a left side is the place of an entry rather than an index."""
    value = piece.value
    return bool(value) and "=" not in value and not _INDEX.fullmatch(value)


def _names(
    text: Text, what: str, faults: Faults, places: bool = False
) -> tuple[tuple[Text, Text | None], ...]:
    """Return the names between brackets, each with the range that an index states.

    An empty tuple where one is wrong. Other `places` are left out.
    """
    if not text.value.strip():
        at = text.positions[0]
        place = Span(text.source, at - 1, at)
        hint = "leave the brackets out"
        faults.add("there is nothing between the brackets", place, hint=hint)
        return ()
    found: list[tuple[Text, Text | None]] = []
    for piece in _pieces(text):
        name, given = piece.strip(), None
        if places and _is_place(name):
            continue
        if what == "an index" and "=" in piece.value:
            equals = piece.value.index("=")
            name, given = (
                piece.slice(0, equals).strip(),
                piece.slice(equals + 1).strip(),
            )
        if not check_name(name, what, faults):
            return ()
        if name.value in [n.value for n, _ in found]:
            faults.add(f"'{name}' occurs twice between the brackets", name.span())
            return ()
        found.append((name, given))
    return tuple(found)


def _pieces(text: Text) -> Iterator[Text]:
    """Yield what commas part that stand outside of parentheses."""
    start = depth = 0
    for at, char in enumerate(text.value):
        depth += (char == "(") - (char == ")")
        if char == "," and depth <= 0:
            yield text.slice(start, at)
            start = at + 1
    yield text.slice(start)


def read_clauses(
    node: Node, key: Text, faults: Faults, *, macro: bool
) -> tuple[Definition, ...]:
    """Return the definitions under `where` (or, with `macro`, `definitions`)."""
    if isinstance(node, Mapping):
        found = _from_mapping(node, faults, macro)
    elif isinstance(node, Scalar) and not node.empty:
        found = _from_block(node, key, faults, macro)
    else:
        hint = f"write '{key}: |' and below it lines of 'name = expression'"
        message = f"'{key}' must contain definitions, not {describe(node)}"
        faults.add(message, key.span(), hint=hint)
        return ()
    return tuple(d for d in found if d is not None)


def _from_mapping(
    node: Mapping, faults: Faults, macro: bool
) -> Iterator[Definition | None]:
    for key, value in node.pairs:
        if isinstance(key, Scalar):
            promise = None
            if isinstance(value, Mapping):
                promised = _promised(value, key.text, faults)
                if promised is None:
                    continue
                promise, value = promised
            place = key.span if promise is None else promise.span()
            body = read_expression(value, f"'{key.text}'", place, faults)
            found = _definition(key.text, body, faults, macro)
            if found is not None and promise is not None:
                found = _with_promise(found, promise, faults)
            yield found
        else:
            faults.add(f"a name is expected, not {describe(key)}", key.span)


def _promised(node: Mapping, name: Text, faults: Faults) -> tuple[Text, Node] | None:
    """Return the promise of `S: {spd: K + diag(s)}`, and what it is made of."""
    fields = read_fields(node, tuple(PROMISES), f"'{name.strip()}'", faults)
    if len(fields) > 1:
        one, other, *_ = fields
        hint = "what is spd is symmetric" if {one, other} == {*PROMISES} else None
        faults.add(
            f"'{name.strip()}' is one value, and has one promise",
            fields[other].key.span(),
            marks=((fields[one].key.span(), "first here"),),
            hint=hint,
        )
    if not node.pairs:
        hint = "write the expression, or {spd: expression}"
        faults.add(f"'{name.strip()}' has no expression", name.span(), hint=hint)
    if len(fields) != 1 or len(node.pairs) != 1:
        return None
    (field,) = fields.values()
    return field.key, field.node


def _with_promise(
    found: Definition, promise: Text, faults: Faults
) -> Definition | None:
    """A definition whose value is promised something, unless it has parameters."""
    if found.parameters is None:
        return replace(found, promise=promise)
    hint = f"promise it in the expression: {promise}(...)"
    message = f"'{found.name}' has parameters, and is no one value to promise this of"
    faults.add(message, promise.span(), hint=hint)
    return None


def _from_block(
    node: Scalar, key: Text, faults: Faults, macro: bool
) -> Iterator[Definition | None]:
    text = node.text
    many_lines = "\n" in node.span.source.text[node.span.start : node.span.end].strip()
    if many_lines and node.style != "|":
        hint = f"write '{key}: |', which keeps lines apart"
        span = Span(node.span.source, node.span.start, node.span.start + 1)
        faults.add(f"YAML joins the lines of this '{key}' into one", span, hint=hint)
        return
    for statement in split_statements(text):
        equals = _top_level_equals(statement.value)
        if equals is None:
            message = f"expected 'name = expression' under '{key}'"
            faults.add(message, statement.span())
            continue
        body: Text | None = statement.slice(equals + 1).strip()
        left = statement.slice(0, equals)
        if body is not None and not body.value:
            name = shorten(left.strip().value)
            faults.add(f"'{name}' has no expression", left.strip().span())
            body = None
        yield _definition(left, body, faults, macro)


def _definition(
    left: Text, body: Text | None, faults: Faults, macro: bool
) -> Definition | None:
    side = read_left_side(left, "a definition", faults, macro=macro, steps=True)
    if side is None or body is None:
        return None
    name = side.name
    places = (name.value, side.indices, side.parameters, body, name)
    return Definition(*places, ranges=side.ranges, places=side.places)


def split_statements(text: Text) -> Iterator[Text]:
    """Yield the statements of a block, each tidied to one line.

    A statement goes on over a line break inside of brackets, and onto lines that
    are indented more than its first one.
    """
    begin: int | None = None
    indent = depth = at = 0
    plain = Text("".join(_keep_lines(text)), text.source, text.positions)
    for line in plain.value.splitlines(keepends=True):
        own = len(line) - len(line.lstrip())
        if line.strip():
            if begin is not None and depth <= 0 and own <= indent:
                yield tidy(plain.slice(begin, at))
                begin = None
            if begin is None:
                begin, indent, depth = at, own, 0
            depth += sum((c in "([{") - (c in ")]}") for c in line)
        at += len(line)
    if begin is not None:
        yield tidy(plain.slice(begin))


def _keep_lines(text: Text) -> Iterator[str]:
    """Yield the characters with comments blanked out but line breaks kept."""
    comment = False
    for char in text.value:
        comment = char != "\n" and (comment or char == "#")
        yield "\n" if char == "\n" else " " if comment or char.isspace() else char


def _top_level_equals(statement: str) -> int | None:
    """Return where the `=` is that is no comparison and not inside of brackets."""
    for match in _EQUALS.finditer(statement):
        before = statement[: match.start()]
        if sum((c in "([{") - (c in ")]}") for c in before) == 0:
            return match.start()
    return None
