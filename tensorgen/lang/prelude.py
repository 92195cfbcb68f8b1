"""The prelude: definitions that ship with tensorgen, written in its language."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from tensorgen.errors import Faults, InternalError, Text
from tensorgen.lang.scope import Macro
from tensorgen.lang.syntax import parse
from tensorgen.spec.clauses import read_left_side, split_statements


@cache
def prelude() -> dict[str, Macro]:
    """Return the definitions of `prelude.tg` by name."""
    path = files("tensorgen.lang") / "prelude.tg"
    text = Text.plain(path.read_text(encoding="utf-8"), "prelude.tg")
    faults = Faults()
    found: dict[str, Macro] = {}
    for statement in split_statements(text):
        equals = statement.value.index(" = ")
        side = read_left_side(
            statement.slice(0, equals), "a definition", faults, macro=True
        )
        body = parse(statement.slice(equals + 3).strip(), faults)
        if side is not None:
            parameters = tuple(p.value for p in side.parameters or ())
            name = side.name.value
            found[name] = Macro(name, parameters, body, shipped=True)
    if faults:
        raise InternalError("the prelude cannot be read")
    return found
