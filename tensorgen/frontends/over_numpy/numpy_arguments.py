"""The arguments of a call to NumPy, by the names of NumPy's signature."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from tensorgen.errors import Text, suggest
from tensorgen.frontends.over_numpy.numpy_expressions import Expressions
from tensorgen.frontends.over_numpy.numpy_table import (
    ADDING,
    OF_CONDITIONS,
    STRUCTURAL,
    Signature,
    Template,
)
from tensorgen.frontends.over_numpy.numpy_values import (
    ATOM,
    BOOL,
    FLOAT,
    INT,
    Known,
    Path,
    Row,
    Thing,
    Value,
    bound,
    joined,
    level_of,
)
from tensorgen.ir.dims import Dim

DOUBLES = ("numpy.float64", "numpy.double", "numpy.float_", "builtins.float", "float64")
WHOLE = ("builtins.int", "numpy.int64", "numpy.intp", "int")
_PARTS = re.compile(r", (\w+)=(\w*)(?=[,)])|\b([A-Za-z_]\w*)\b(?![\w(=])")
_DEFAULTS: dict[str, tuple[object, ...]] = {
    "out": (None,),
    "where": (True,),
    "order": ("C", "K", "A"),
    "casting": ("same_kind",),
    "offset": (0,),
    "axis1": (0,),
    "axis2": (1,),
    "ddof": (0,),
}
"""Values of arguments that say what is meant without them."""


@dataclass
class Arguments:
    """What a call is given: things, and the parts of the file that they stand in."""

    reader: Expressions
    node: ast.Call
    name: str
    found: dict[str, tuple[Thing, ast.expr]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether an argument is given, and not None."""
        return name in self.found and self.found[name][0] != Known(None)

    def thing(self, name: str) -> Thing:
        """Return an argument; raises `SpecError` where it is missing."""
        if name not in self.found:
            self.reader.fail(f"{self.name} needs '{name}'", self.node)
        return self.found[name][0]

    def place(self, name: str) -> ast.expr:
        """Return the part of the file where an argument stands, or the call."""
        return self.found[name][1] if name in self.found else self.node

    def array(self, name: str) -> Value:
        """Return an argument that is an array, a number, or a list of these."""
        return self.reader.array(self.thing(name), self.place(name))

    def items(self, name: str) -> list[Value]:
        """Return the arrays of an argument that is a list or a tuple of them."""
        thing, place = self.thing(name), self.place(name)
        if not isinstance(thing, Row) or not thing.items:
            self.reader.fail("a list of arrays is expected", place)
        return [self.reader.array(item, place) for item in thing.items]

    def text(self, name: str, level: int = ATOM) -> Text:
        """Return an array's text, for a place where operations bind so tightly."""
        return bound(self.array(name), level, self.reader.file, self.place(name))

    def known(self, name: str, default: object) -> object:
        """Return an argument that has to be known, such as an axis or a flag."""
        return self._plain(self.thing(name), name) if self.has(name) else default

    def _plain(self, thing: Thing, name: str) -> object:
        if isinstance(thing, Known):
            return thing.value
        if isinstance(thing, Row):
            return tuple(self._plain(item, name) for item in thing.items)
        constant = None
        if isinstance(thing, Value) and thing.whole is not None:
            constant = thing.whole.constant
        if constant is None:
            hint = "write it out: what is computed depends on it"
            self.reader.fail(f"'{name}' is not known here", self.place(name), hint)
        return constant

    def axis(self, name: str, default: int) -> int:
        """Return an axis that has to be one number."""
        found = self.known(name, default)
        if isinstance(found, bool) or not isinstance(found, int):
            self.reader.fail("one axis is expected", self.place(name))
        return found

    def sizes(self, name: str) -> list[Text]:
        """Return the texts of a shape: one size, or a tuple of sizes."""
        thing, place = self.thing(name), self.place(name)
        items = thing.items if isinstance(thing, Row) else (thing,)
        return [self._size(item, place) for item in items]

    def _size(self, thing: Thing, place: ast.expr) -> Text:
        if isinstance(thing, Value) and thing.kind == INT:
            return thing.text
        hint = "sizes are numbers, x.shape[0] or len(x)"
        self.reader.fail("this is no size", place, hint)

    def length(self, name: str) -> Dim:
        """Return an argument that is a whole number that follows from sizes."""
        thing = self.thing(name)
        if isinstance(thing, Value) and thing.whole is not None:
            return thing.whole
        self.reader.fail("this is no whole number that is known", self.place(name))

    def kind(self) -> str:
        """Return what entries of `dtype` are; raises `SpecError` for other dtypes."""
        if not self.has("dtype"):
            return FLOAT
        thing = self.thing("dtype")
        name = thing.dotted if isinstance(thing, Path) else None
        if isinstance(thing, Known):
            name = str(thing.value)
        if name in WHOLE:
            return INT
        if name in DOUBLES:
            return FLOAT
        hint = "numbers are doubles: float, np.float64"
        self.reader.fail("there is no such dtype", self.place("dtype"), hint)

    def made(self, *parts: str | Text, level: int = ATOM, kind: str = FLOAT) -> Value:
        """Return a value that stands where the call does."""
        return Value(joined(self.reader.file, self.node, *parts), level, kind)

    def render(self, template: Template) -> Value:
        """Return the expression of a row with what is given in the place of names."""
        parts: list[str | Text] = []
        text, at = template.expression, 0
        kinds: list[str] = []
        for match in _PARTS.finditer(text):
            parts.append(text[at : match.start()])
            at = match.end()
            option, source, name = match.groups()
            if option is not None:
                parts += self._option(option, source)
            elif name not in template.signature.names:
                parts.append(name)
            else:
                value = self.array(name)
                kinds.append(value.kind)
                alone = text[match.start() - 1] in "( " and text[at : at + 1] in ",)"
                alone = alone and text[: match.start()].rstrip()[-1:] in ("(", ",")
                level = 0 if alone else ATOM
                parts.append(bound(value, level, self.reader.file, self.place(name)))
        kind = self._kind(kinds, template)
        level = level_of(template.tree)
        return self.made(*parts, text[at:], level=level, kind=kind)

    def _option(self, option: str, source: str) -> list[str | Text]:
        """The text of `axis=` where it is given, of `k=n`, or of `axis=0`."""
        if source.isdigit():
            return [f", {option}={source}"]
        name = source or option
        if not self.has(name):
            return []
        thing = self.thing(name)
        if isinstance(thing, Value):
            return [f", {option}=", thing.text]
        return [f", {option}={self._plain(thing, name)!r}"]

    def _kind(self, kinds: list[str], template: Template) -> str:
        """What the entries of the result are; some functions refuse conditions."""
        name = self.name.rpartition(".")[2]
        are_conditions = bool(kinds) and set(kinds) == {BOOL}
        if are_conditions and (
            name in OF_CONDITIONS or (template.elementwise and name not in STRUCTURAL)
        ):
            hint = "make numbers of them by astype(float)"
            self.reader.fail(
                f"{self.name} goes by other rules of conditions", self.node, hint
            )
        if name in ("isnan", "logical_not"):
            return BOOL
        if name not in STRUCTURAL:
            return FLOAT
        if are_conditions:
            return INT if name in ADDING else BOOL
        return FLOAT if FLOAT in kinds or not kinds else INT


def bind(
    reader: Expressions,
    node: ast.Call,
    name: str,
    signature: Signature,
    first: Thing | None = None,
) -> Arguments:
    """Return the arguments of a call by their names; raises `SpecError`.

    A method has its array as the `first`.
    """
    found = Arguments(reader, node, name)
    names = list(signature.names)
    if first is not None:
        assert isinstance(node.func, ast.Attribute)
        found.found[names.pop(0)] = first, node.func.value
    if len(node.args) > len(names):
        reader.fail(f"{name} takes no more arguments", node.args[len(names)])
    for own, part in zip(names, node.args, strict=False):
        found.found[own] = reader.thing(part), part
    for keyword in node.keywords:
        own = keyword.arg or "**"
        if own not in signature.names:
            hint = suggest(own, signature.names)
            hint = hint or f"known: {', '.join(signature.names)}"
            reader.fail(f"'{own}' of {name} cannot be read", keyword, hint)
        if own in found.found:
            reader.fail(f"'{own}' is given twice", keyword)
        found.found[own] = reader.thing(keyword.value), keyword.value
    for own in signature.refused & found.found.keys():
        _check_default(found, own)
    return found


def _check_default(found: Arguments, name: str) -> None:
    """Report an argument that is not read, unless it is given as it is by default."""
    if name == "dtype":
        if found.kind() == FLOAT:
            return
    elif found.known(name, None) in (None, *_DEFAULTS.get(name, ())):
        return
    found.reader.fail(f"'{name}' of {found.name} cannot be read", found.place(name))
