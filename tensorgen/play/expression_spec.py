"""An expression and its variables as a spec, and what is said of the spec told of both.

Kinds of variables are guessed as MatrixCalculus.org does, by their letters: a to g are
scalars, h to z vectors, capitals matrices; but what is multiplied with `@` is no
scalar, and what is inverted is a matrix. A person's choice comes first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tensorgen.errors import Diagnostic, Faults, Source, Span
from tensorgen.frontends.declared import first_variable, order_by_letter
from tensorgen.frontends.open_axes import Axes
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.play.open_shapes import SIZES, Reader
from tensorgen.spec.written_scalars import is_plain

KINDS = ("scalar", "vector", "matrix", "symmetric", "size")
ORDERS: Mapping[str, str] = {
    "value": "value",
    "first": "",
    "second": "value, gradient, hessian, hvp",
}
"""What is emitted: nothing is said where the default is meant."""
EXPRESSION, MODULE = "expression", "formula"
CONSTANTS = ("pi", "e", "inf", "True", "False", "None")
_BREAKS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029\t]")
_SHAPE = re.compile(r"[\w\s,+*-]*", re.ASCII)
_WORD = re.compile(r"\b[A-Za-z]\w*\b(?!\s*\()", re.ASCII)


class FormError(ValueError):
    """What was sent is no form at all."""


@dataclass(frozen=True)
class Variable:
    """A name in an expression: of which kind, and the shape it has or was given."""

    name: str
    kind: str
    shape: str = ""
    chosen: bool = False

    @property
    def order(self) -> int:
        """How many axes its kind has."""
        return {"scalar": 0, "size": 0, "vector": 1}.get(self.kind, 2)

    @property
    def declared(self) -> str:
        """What the spec says of it."""
        if self.kind == "scalar" and not self.shape:
            return "scalar"
        whole = f"[{self.shape}]"
        if self.kind == "symmetric":
            return f"{{shape: {whole}, symmetric: true}}"
        return whole


@dataclass(frozen=True)
class Form:
    """What a person typed and chose: kinds, shapes, what is differentiated by."""

    expression: str
    kinds: Mapping[str, str]
    shapes: Mapping[str, str]
    by: tuple[str, ...] | None
    order: str

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Form:
        """Take a form from JSON; raises `FormError` where it is none."""
        expression, order = given.get("expression"), given.get("order", "first")
        by = given.get("by")
        kinds, shapes = given.get("kinds") or {}, given.get("shapes") or {}
        texts = [expression, *([] if by is None else _listed(by))]
        for one in (kinds, shapes):
            if not isinstance(one, dict):
                raise FormError("kinds and shapes are by names")
            texts += [*one, *one.values()]
        if not all(isinstance(x, str) for x in texts) or order not in ORDERS:
            raise FormError("a form consists of strings")
        if not set(kinds.values()) <= set(KINDS):
            raise FormError(f"kinds are {', '.join(KINDS)}")
        chosen = None if by is None else tuple(by)
        return cls(str(expression), kinds, shapes, chosen, order)


def _listed(given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise FormError("variables to differentiate by are a list")
    return given


@dataclass(frozen=True)
class Made:
    """The spec of a form, its variables, and where in it the expression starts.

    White space around the expression is left out there.
    """

    text: str
    variables: tuple[Variable, ...]
    by: tuple[str, ...]
    expression: str
    start: int

    def told(self, diagnostic: Diagnostic) -> Diagnostic:
        """Return a diagnostic of the spec with places of the expression, if it can."""
        spans = [diagnostic.span, *(span for span, _ in diagnostic.marks)]
        if not all(x is not None and self._holds(x) for x in spans):
            return diagnostic
        marks = tuple((self._moved(span), text) for span, text in diagnostic.marks)
        assert diagnostic.span is not None
        return replace(diagnostic, span=self._moved(diagnostic.span), marks=marks)

    def _holds(self, span: Span) -> bool:
        end = self.start + len(self.expression.strip())
        return self.start <= span.start and span.end <= end

    def _moved(self, span: Span) -> Span:
        source = Source(EXPRESSION, self.expression)
        left = len(self.expression) - len(self.expression.lstrip())
        by = left - self.start
        return Span(source, span.start + by, span.end + by)


def spec_of(form: Form) -> Made:
    """Return the spec that a form describes; raises `SpecError` for a wrong shape."""
    _check_shapes(form)
    # One line, of as many characters: so places in it are those of the typed text.
    expression = _BREAKS.sub(" ", form.expression)
    names = _Names(expression)
    variables = _with_shapes(form, names, [*_variables(form, names)])
    by = _by(form, variables)
    inputs = sorted(
        (x for x in variables if x.kind != "size"), key=lambda x: x.name not in by
    )
    function = next(x for x in ("f", "g", "h", "value_of") if x not in names.found)
    free = f"[{', '.join(names.free)}]" if names.free else ""
    rows = ["tensorgen: 1", f"module: {MODULE}"]
    rows += ["inputs:"] * bool(inputs)
    rows += [f"  {x.name}: {x.declared}" for x in inputs]
    own = expression.strip()
    block = "" if not own or is_plain(own) else "|\n      "
    rows += ["functions:", f"  {function}{free}:", f"    expr: {block}"]
    before = "\n".join(rows)
    rows = [before + own]
    if by:
        rows.append(f"    wrt: {by[0] if len(by) == 1 else '[' + ', '.join(by) + ']'}")
    if by and ORDERS[form.order]:
        rows.append(f"    emit: [{ORDERS[form.order]}]")
    text = "\n".join(rows) + "\n"
    return Made(text, (*variables,), by, expression, len(before))


def _check_shapes(form: Form) -> None:
    faults = Faults()
    for name, text in form.shapes.items():
        if not _SHAPE.fullmatch(text) or _BREAKS.search(text):
            span = Span(Source(f"shape of {name}", text), 0, len(text))
            hint = "sizes with commas between them, such as m, n"
            faults.add("this is no shape", span, hint=hint)
    faults.raise_if_any()


class _Names:
    """What an expression calls by name: variables, sizes, and indices."""

    def __init__(self, expression: str) -> None:
        self.found: dict[str, int] = {}
        """Variables, and how many axes they have at least."""
        self.sizes: dict[str, None] = {}
        self.tree: ast.expr | None = None
        self._bound: dict[str, None] = {}
        self.indices: dict[str, None] = {}
        try:
            self.tree = ast.parse(expression.strip(), mode="eval").body
            for node in _in_order(self.tree):
                if isinstance(node, ast.Name) and node.id not in CONSTANTS:
                    self.found.setdefault(node.id, 0)
            self._read(self.tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            # It is being typed, or wrong: names stand in it all the same.
            self.tree = None
            words = dict.fromkeys(_WORD.findall(expression))
            self.found = {x: 0 for x in words if x not in (*CONSTANTS, "T")}
        for name in (*self.indices, *self.sizes):
            self.found.pop(name, None)

    @property
    def free(self) -> list[str]:
        """Indices that no reduction binds: they stand on the left."""
        return [x for x in self.indices if x not in self._bound]

    def _read(self, tree: ast.expr) -> None:
        for node in _in_order(tree):
            match node:
                case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                    self._least(left, 1)
                    self._least(right, 1)
                case ast.Attribute(value=value):
                    self._least(value, 1)
                case ast.Subscript(value=value, slice=place):
                    self._entry(value, place)
                case ast.Call(func=ast.Name(id=name)):
                    self._call(name, node)

    def _least(self, node: ast.expr, order: int) -> None:
        """Take down how many axes a variable must have."""
        if isinstance(node, ast.Name):
            self.found[node.id] = max(order, self.found.get(node.id, 0))

    def _entry(self, value: ast.expr, place: ast.expr) -> None:
        places = place.elts if isinstance(place, ast.Tuple) else [place]
        self._least(value, len(places))
        for own in places:
            self.indices |= {
                x.id: None
                for x in ast.walk(own)
                if isinstance(x, ast.Name) and not isinstance(own, ast.Slice)
            }

    def _call(self, name: str, node: ast.Call) -> None:
        row = FUNCTIONS.get(name)
        if name in SIZES:
            self.sizes |= {x.id: None for x in node.args if isinstance(x, ast.Name)}
        elif row is not None and row.reduces:
            own = [x.id for x in node.args[1:] if isinstance(x, ast.Name)]
            own += [
                x.arg for x in node.keywords if x.arg and isinstance(x.value, ast.Call)
            ]
            self._bound |= dict.fromkeys(own)
            self.indices |= dict.fromkeys(own)
        elif row is not None and row.shape.startswith(("A.", "shape of A", "as of A ")):
            for first in node.args[:1]:
                self._least(first, 2)


def _in_order(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes as they are read, without names of functions."""
    yield tree
    for inner in ast.iter_child_nodes(tree):
        if not (isinstance(tree, ast.Call) and inner is tree.func):
            yield from _in_order(inner)


def _variables(form: Form, names: _Names) -> Iterator[Variable]:
    for name, least in names.found.items():
        guessed = (*KINDS[:2], *[KINDS[2]] * 9)[max(least, order_by_letter(name))]
        kind = form.kinds.get(name, guessed)
        yield Variable(name, kind, chosen=name in form.kinds)


def _with_shapes(
    form: Form, names: _Names, variables: list[Variable]
) -> list[Variable]:
    """Give variables the shapes that were typed, or that follow."""
    axes = Axes()
    for size in names.sizes:
        axes.named(size)
    own: dict[str, tuple[int, ...]] = {}
    for x in variables:
        if x.kind == "size":
            axes.named(x.name)
            continue
        typed = [part.strip() for part in form.shapes.get(x.name, "").split(",")]
        given = [axes.named(part) for part in typed if part]
        own[x.name] = (*given,) or tuple(axes.fresh() for _ in range(x.order))
        if x.kind == "symmetric" and len(own[x.name]) == 2:
            axes.join(*own[x.name])
    if names.tree is not None:
        Reader(axes, {**own, **dict.fromkeys(names.sizes, ())}).shape(names.tree)
    # Matrices come first: m by n, and vectors as long as one side.
    every = [x for given in sorted(own.values(), key=len, reverse=True) for x in given]
    called = axes.names(every, (*names.found, *names.indices, *CONSTANTS))
    return [
        replace(
            x,
            shape=form.shapes.get(x.name, "").strip()
            or ", ".join(called[axes.find(axis)] for axis in own.get(x.name, ())),
        )
        for x in variables
    ]


def _by(form: Form, variables: list[Variable]) -> tuple[str, ...]:
    """What is differentiated by: what was chosen, or x, w, or the first array."""
    known = [x.name for x in variables if x.kind != "size"]
    if form.order == "value":
        return ()
    if form.by is not None:
        return tuple(x for x in known if x in form.by)
    arrays = [x.name for x in variables if x.order]
    return first_variable(known, arrays)
