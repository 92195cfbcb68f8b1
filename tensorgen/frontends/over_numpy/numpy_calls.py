"""Calls of a function over NumPy: rows of the table, and what depends on shapes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from tensorgen.errors import Text, suggest
from tensorgen.frontends.over_numpy.numpy_arguments import Arguments, bind
from tensorgen.frontends.over_numpy.numpy_bodies import inlined
from tensorgen.frontends.over_numpy.numpy_conditions import compared
from tensorgen.frontends.over_numpy.numpy_conditions import condition as as_condition
from tensorgen.frontends.over_numpy.numpy_expressions import Expressions
from tensorgen.frontends.over_numpy.numpy_matrix_calls import MATRIX_CALLS
from tensorgen.frontends.over_numpy.numpy_shape_calls import SHAPE_CALLS
from tensorgen.frontends.over_numpy.numpy_table import (
    BUILTINS,
    METHODS,
    OPERATORS,
    ROWS,
    WRITING,
    Signature,
    canonical,
)
from tensorgen.frontends.over_numpy.numpy_values import (
    ATOM,
    BOOL,
    FLOAT,
    INT,
    Helper,
    Known,
    Method,
    Path,
    Row,
    Thing,
    whole_number,
)

_OTHERS = {
    "argmax": "positions that depend on values have no derivatives",
    "argmin": "positions that depend on values have no derivatives",
    "any": "the result of a function is a number, not a condition",
    "all": "the result of a function is a number, not a condition",
    "nansum": "leave entries out by np.where(np.isnan(x), 0, x)",
    "nanmean": "leave entries out by np.where(np.isnan(x), 0, x)",
    "vectorize": "write what it computes for all entries at once",
    "apply_along_axis": "write what it computes for all entries at once",
    "meshgrid": "x[:, None] and y[None, :] broadcast against each other",
}


def called(reader: Expressions, node: ast.Call) -> Thing:
    """Return what a call stands for; raises `SpecError`."""
    for part in node.args:
        if isinstance(part, ast.Starred):
            reader.fail("'*' in front of arguments cannot be read", part)
    function = reader.thing(node.func)
    if isinstance(function, Helper):
        return inlined(reader, function.node, node)
    if isinstance(function, Method):
        return _method(reader, function, node)
    if not isinstance(function, Path):
        reader.fail(f"{reader.file.written(node.func)} is no function", node.func)
    dotted = function.dotted
    if dotted.startswith("builtins."):
        name = dotted.removeprefix("builtins.")
        if name in _BUILTINS:
            return _BUILTINS[name](reader, node)
        dotted = BUILTINS.get(name, dotted)
    return _called(reader, node, dotted, None)


def _method(reader: Expressions, method: Method, node: ast.Call) -> Thing:
    name = method.name
    if name in WRITING:
        hint = f"np.{name}(x) makes a new array" if name == "sort" else None
        reader.fail(f"'.{name}' writes into its array", node.func, hint)
    if name not in METHODS:
        hint = suggest(name, METHODS)
        reader.fail(f"there is no method '.{name}' that is read", node.func, hint)
    return _called(reader, node, f"numpy.{name}", method.owner)


def _called(
    reader: Expressions, node: ast.Call, dotted: str, first: Thing | None
) -> Thing:
    known_as = canonical(dotted)
    package, _, name = known_as.rpartition(".")
    if package == "numpy" and name in OPERATORS and first is None:
        return _operator(reader, node, name)
    if known_as in ROWS:
        row = ROWS[known_as]
        return bind(reader, node, dotted, row.signature, first).render(row)
    special = CALLS.get(known_as)
    if special is None:
        known = [x.rpartition(".")[2] for x in (*ROWS, *CALLS)]
        hint = _OTHERS.get(name) or suggest(name, known)
        if package.partition(".")[0] not in ("numpy", "scipy", "builtins"):
            hint = (
                "functions of NumPy, SciPy and Python's math are read, and those at "
                "the top of the same file"
            )
        reader.fail(f"{dotted} is not among the functions that are read", node, hint)
    signature, build = special
    if signature.names[-1].startswith("*"):
        return build(_variadic(reader, node, dotted, signature, first))
    return build(bind(reader, node, dotted, signature, first))


def _variadic(
    reader: Expressions,
    node: ast.Call,
    name: str,
    signature: Signature,
    first: Thing | None,
) -> Arguments:
    """The arguments of a function whose last ones are as many as there are."""
    *plain, rest = signature.names
    many = (f"*{k}" for k in range(len(node.args)))
    own = Signature((*plain, *many, rest[1:]), frozenset())
    found = bind(reader, node, name, own, first)
    more = [x for x in found.found if x.startswith("*")]
    if more:
        items = tuple(found.found[x][0] for x in more)
        thing: Thing = Row(items)
        if len(items) == 1 and isinstance(items[0], Row):
            thing = items[0]
        found.found[rest[1:]] = thing, found.found[more[0]][1]
    return found


def _operator(reader: Expressions, node: ast.Call, name: str) -> Thing:
    signature = Signature.of("x1, x2, out!, where!, dtype!")
    found = bind(reader, node, f"numpy.{name}", signature)
    left, right = found.array("x1"), found.array("x2")
    op = OPERATORS[name]
    if issubclass(op, ast.operator):
        return reader.operated(node, op, left, right)
    return compared(reader, node, op, left, right)


# Functions of Python's


def _len(reader: Expressions, node: ast.Call) -> Thing:
    thing = bind(reader, node, "len", Signature.of("x")).thing("x")
    if isinstance(thing, Row):
        return reader.number(len(thing.items), node)
    shape = reader.shape(reader.as_value(thing, node))
    if not shape:
        reader.fail("a number has no length", node)
    return whole_number(reader.file, node, shape[0])


def _sum(reader: Expressions, node: ast.Call) -> Thing:
    found = bind(reader, node, "sum", Signature.of("a, start!"))
    value = found.array("a")
    if not reader.shape(value):
        reader.fail("a number cannot be added up", node)
    kind = INT if value.kind == BOOL else value.kind
    return found.made("sum(", value.text, ", axis=0)", kind=kind)


def _extreme(name: str) -> Callable[[Expressions, ast.Call], Thing]:
    def build(reader: Expressions, node: ast.Call) -> Thing:
        if node.keywords:
            reader.fail("this cannot be read", node.keywords[0])
        if len(node.args) == 1:
            found = bind(reader, node, name, Signature.of("a"))
            value = found.array("a")
            if len(reader.shape(value)) != 1:
                hint = f"np.{name} is of arrays"
                reader.fail(f"'{name}' is of one vector here", node, hint)
            return found.made(f"{name}(", value.text, ")", kind=value.kind)
        found = bind(reader, node, name, Signature.of("a, b"))
        pair = [found.array("a"), found.array("b")]
        if any(map(reader.shape, pair)):
            hint = f"entry by entry it is np.{name}imum(a, b)"
            reader.fail(f"'{name}' is of numbers here", node, hint)
        numbers = [None if x.whole is None else x.whole.constant for x in pair]
        known = [x for x in numbers if x is not None]
        if len(known) == len(pair):
            return reader.number(max(known) if name == "max" else min(known), node)
        kind = FLOAT if FLOAT in {x.kind for x in pair} else INT
        texts = (pair[0].text, ", ", pair[1].text)
        return found.made(f"{name}imum(", *texts, ")", kind=kind)

    return build


def _int(reader: Expressions, node: ast.Call) -> Thing:
    found = bind(reader, node, "int", Signature.of("x"))
    value = found.array("x")
    if value.whole is None:
        reader.fail("a cast to integers cuts values", node, "np.floor(x)")
    return value


_BUILTINS: Mapping[str, Callable[[Expressions, ast.Call], Thing]] = {
    "len": _len,
    "int": _int,
    "sum": _sum,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "round": lambda reader, node: _called(reader, node, "numpy.round", None),
}


# Entry by entry, and along axes


def _where(given: Arguments) -> Thing:
    condition, x, y = (given.array(name) for name in ("condition", "x", "y"))
    test = as_condition(given.reader, condition, given.place("condition"))
    kind = x.kind if x.kind == y.kind else FLOAT if FLOAT in (x.kind, y.kind) else INT
    return given.made("where(", test, ", ", x.text, ", ", y.text, ")", kind=kind)


def _clip(given: Arguments) -> Thing:
    for name, other in (("min", "a_min"), ("max", "a_max")):
        if other in given.found:
            given.found[name] = given.found.pop(other)
    a = given.array("a")
    low, high = given.has("min"), given.has("max")
    if low and high:
        low_text, high_text = given.text("min", 0), given.text("max", 0)
        return given.made("clip(", a.text, ", ", low_text, ", ", high_text, ")")
    if low or high:
        name, limit = ("maximum", "min") if low else ("minimum", "max")
        return given.made(f"{name}(", a.text, ", ", given.text(limit, 0), ")")
    return a


def _round(given: Arguments) -> Thing:
    decimals = given.axis("decimals", 0)
    a = given.array("a")
    if decimals == 0:
        return given.made("round(", a.text, ")", kind=a.kind)
    given.reader.fail("decimals cannot be read", given.place("decimals"))


def _average(given: Arguments) -> Thing:
    a, axis = given.array("a"), given.known("axis", None)
    option = "" if axis is None else f", axis={axis!r}"
    if not given.has("weights"):
        return given.made("mean(", a.text, option, ")")
    weights = given.array("weights")
    shapes = [given.reader.shape(x) for x in (a, weights)]
    if shapes[0] != shapes[1]:
        hint = "weights of the shape of the array are read"
        given.reader.fail("weights of another shape", given.place("weights"), hint)
    inner = given.text("a"), " * ", given.text("weights")
    return given.made(
        *("sum(", *inner, option, ") / sum(", weights.text, option, ")"), level=ATOM - 3
    )


def _along(name: str, default: int | None) -> Callable[[Arguments], Thing]:
    """A function along an axis that takes all entries in a row where it has none."""

    def build(given: Arguments) -> Thing:
        a = given.array("a")
        axis = given.known("axis", default)
        if "axis" in given.found and not given.has("axis"):
            axis = None
        order = len(given.reader.shape(a))
        option = f", axis={axis!r}"
        parts: list[str | Text] = [a.text]
        if axis is None:
            option, parts = "", ["ravel(", a.text, ")"] if order != 1 else [a.text]
        kind = INT if a.kind == BOOL and name != "sort" else a.kind
        return given.made(f"{name}(", *parts, option, ")", kind=kind)

    return build


def _finfo(given: Arguments) -> Thing:
    given.kind()
    return Known("finfo")


_ENTRIES = {
    "numpy.where": ("condition, x, y", _where),
    "numpy.clip": ("a, min, max, a_min, a_max, out!", _clip),
    "numpy.round": ("a, decimals, out!", _round),
    "numpy.around": ("a, decimals, out!", _round),
    "numpy.average": ("a, axis, weights, returned!, keepdims!", _average),
    "numpy.cumsum": ("a, axis, dtype!, out!", _along("cumsum", None)),
    "numpy.cumprod": ("a, axis, dtype!, out!", _along("cumprod", None)),
    "numpy.sort": ("a, axis, kind!, order!, stable!", _along("sort", -1)),
    "numpy.finfo": ("dtype", _finfo),
}
CALLS: dict[str, tuple[Signature, Callable[[Arguments], Thing]]] = {
    name: (Signature.of(signature), build)
    for table in (_ENTRIES, MATRIX_CALLS, SHAPE_CALLS)
    for name, (signature, build) in table.items()
}
