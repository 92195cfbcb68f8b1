"""Where the names of a spec stand: what each stands for, and where it is defined.

Told of the texts that the reader of specs found, and of the trees that the language has
of them; so it is known of specs with faults too, as far as these can be read. Names of
the file are one namespace, and local ones clash with these: only an index may bear a
name that is in use, that of a dim, and hides it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tensorgen.calculus.kinds import MIXED
from tensorgen.errors import Faults, Source, Span, SpecError, Text
from tensorgen.lang.binding_calls import is_range
from tensorgen.lang.elaborate_calls import SPECIAL
from tensorgen.lang.grouping import steps, units
from tensorgen.lang.left_indices import bound
from tensorgen.lang.prelude import prelude
from tensorgen.lang.syntax import Expression, parse
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.spec.externals import COTANGENT
from tensorgen.spec.model import (
    Definition,
    ExternalSpec,
    FunctionSpec,
    Spec,
    UnknownSpec,
)
from tensorgen.spec.read import sketch_spec

_WORD = re.compile(r"[A-Za-z]\w*")


@dataclass(frozen=True, eq=False, slots=True)
class Name:
    """What a name stands for in its scope; two of one spelling are different things."""

    name: str
    what: str

    @property
    def is_callable(self) -> bool:
        """Whether it stands before parentheses."""
        return self.what in _CALLED


_CALLED = ("a macro", "a function from outside", "an unknown function")


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place of a name; where it `defines` the name, it is no use of it."""

    span: Span
    name: Name
    defines: bool


Scope = Mapping[str, Name]


def is_of_language(name: str) -> bool:
    """Whether the language has a function of this name."""
    return name in FUNCTIONS or name in SPECIAL or name in prelude()


def sketch(source: Source) -> Spec | None:
    """Return what can be read of a spec, None where it is no YAML."""
    try:
        return sketch_spec(source, Faults(), allow_external=True)
    except SpecError:
        return None


@dataclass(frozen=True, slots=True)
class Reading:
    """All places of names in a spec, in their order, and its expressions."""

    occurrences: tuple[Occurrence, ...] = ()
    expressions: tuple[Expression, ...] = ()


@lru_cache(maxsize=8)
def reading(source: Source) -> Reading:
    """Return what can be read of a spec, which is nothing where it is no YAML."""
    spec = sketch(source)
    if spec is None:
        return Reading()
    reader = _Reader(spec)
    reader.read_all()
    found = sorted(reader.found.values(), key=lambda x: x.span.start)
    return Reading(tuple(found), tuple(reader.expressions))


def occurrences(source: Source) -> tuple[Occurrence, ...]:
    """Return all places of names in a spec, in their order."""
    return reading(source).occurrences


def occurrence(source: Source, offset: int) -> Occurrence | None:
    """Return the place of a name that a place of a spec is in, or just behind."""
    for found in occurrences(source):
        if found.span.start <= offset <= found.span.end:
            return found
    return None


def places(source: Source, name: Name) -> list[Occurrence]:
    """Return all places of a name."""
    return [found for found in occurrences(source) if found.name is name]


class _Reader:
    """Goes through all texts of a spec once."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.found: dict[int, Occurrence] = {}
        self.expressions: list[Expression] = []
        self.file: dict[str, Name] = {}
        self.results: dict[str, dict[str, Name]] = {}

    def read_all(self) -> None:
        """Find all of them: first what is defined in the file, for all texts."""
        spec = self.spec
        self._define_file()
        for text in spec.dim_places:
            self.mention(text)
        self._lines(spec.definitions, {}, {})
        for unknown in spec.unknowns:
            self._unknown(unknown)
        for external in spec.externals:
            self._external(external)
        for function in spec.functions:
            self._function(function)
        self._sections()

    def define(self, text: Text, what: str, scope: dict[str, Name]) -> Name:
        """Note that a text names something, in a scope where it may stand already."""
        name = scope.setdefault(text.value, Name(text.value, what))
        self.note(text.span(), name, True)
        return name

    def mention(self, text: Text, *scopes: Scope) -> None:
        """Note what a text names in the innermost of scopes, or in the file."""
        for scope in (*scopes, self.file):
            if name := scope.get(text.value):
                self.note(text.span(), name)
                return

    def note(self, span: Span, name: Name, defines: bool = False) -> None:
        """Note one place of a name."""
        self.found.setdefault(span.start, Occurrence(span, name, defines))

    def _define_file(self) -> None:
        spec = self.spec
        for given in spec.inputs:
            self.define(given.name_text, "an input", self.file)
        for unknown in spec.unknowns:
            what = "an unknown function" if unknown.parameters else "an unknown"
            self.define(unknown.given.name_text, what, self.file)
        for external in spec.externals:
            self.define(external.name_text, "a function from outside", self.file)
        for definition in spec.definitions:
            what = "a definition" if definition.parameters is None else "a macro"
            self.define(definition.name_text, what, self.file)
        for function in spec.functions:
            self.define(function.name_text, "a function", self.file)
            own = self.results.setdefault(function.name, {})
            for result in function.results:
                self.define(result.name_text, "a result", own)
        for text in spec.dim_places:
            if text.value not in self.file:
                self.define(text, "a dim", self.file)

    def is_dim(self, text: Text) -> bool:
        """Whether a text names a dim."""
        name = self.file.get(text.value)
        return name is not None and name.what == "a dim"

    def _lines(
        self, definitions: Sequence[Definition], outer: Scope, local: Scope
    ) -> None:
        """Read definitions, around which there are indices of the left side.

        What steps together does so along one index.
        """
        entries = Counter(definition.name for definition in definitions)
        lines = [(d, parse(d.body, Faults())) for d in definitions]
        for unit in units([x for x in lines if x[0].parameters is None]):
            scope: dict[str, Name] = {}
            for definition, body in unit:
                own = scope if steps(unit) else {}
                some = definition.gives_entries or entries[definition.name] > 1
                self._left(definition, own, local, some)
                if body is not None:
                    self.read(body, {**outer, **own}, local)
        for definition, body in lines:
            if definition.parameters is not None:
                scope = {}
                for text in definition.parameters:
                    self.define(text, "a parameter", scope)
                if body is not None:
                    self.read(body, scope, local)

    def _left(
        self,
        side: Definition | FunctionSpec,
        scope: dict[str, Name],
        local: Scope,
        some: bool,
    ) -> None:
        """Read a left side, whose indices come into scope: a dim is none of some."""
        indices = side.indices or ()
        for text in indices:
            if some and self.is_dim(text):
                self.mention(text)
            else:
                self.define(text, "an index", scope)
        for stated in side.ranges:
            if stated is not None:
                self.expression(stated, scope, local, inside=False)
        starts = {text.positions[0] for text in indices}
        for place in side.places:
            if place.value != ":" and place.positions[0] not in starts:
                self._place(place, scope, local)

    def _place(self, text: Text, scope: dict[str, Name], local: Scope) -> None:
        """Read `t + 1` of `x[t + 1]`: what is known otherwise is no index."""
        body = parse(text, Faults())
        if body is None:
            return
        self.expressions.append(body)
        for part in ast.walk(body.tree):
            if isinstance(part, ast.Name):
                place = body.first(part, part.id)
                if part.id in scope or not (part.id in local or part.id in self.file):
                    self.define(place, "an index", scope)
                else:
                    self.mention(place, local)

    def _function(self, function: FunctionSpec) -> None:
        outer: dict[str, Name] = {}
        self._left(function, outer, {}, False)
        # In lines of `where` a dim is what it is everywhere else.
        lines = {x: name for x, name in outer.items() if x not in self.file}
        local: dict[str, Name] = dict(self.results[function.name])
        for definition in function.where:
            self.define(definition.name_text, "a local name", local)
        self._lines((*function.where, *function.results), lines, local)
        if not function.results:
            self.expression(function.expr, outer, local)
        for wrt in function.wrt:
            self.mention(wrt.text)
            if wrt.metric is not None:
                self.expression(wrt.metric, {}, local)
        if function.metric is not None:
            self.expression(function.metric, {}, local)
        for emit in function.emit:
            if emit.kind is MIXED:
                self._words(emit.text)
        for checkpoint in function.checkpoints:
            if checkpoint.name is not None:
                self.mention(checkpoint.text, local)

    def _words(self, text: Text) -> None:
        for found in _WORD.finditer(text.value):
            self.mention(text.slice(*found.span()))

    def _unknown(self, unknown: UnknownSpec) -> None:
        scope: dict[str, Name] = {}
        for given in unknown.parameters:
            self.define(given.name_text, "a parameter", scope)
        for text in (unknown.body, unknown.start):
            if text is not None:
                self.expression(text, scope, {})

    def _external(self, external: ExternalSpec) -> None:
        """Read its rules; in these, directions and cotangents hide what is outside."""
        scope: dict[str, Name] = {}
        for given in external.arguments:
            if given.name_text.value == given.name:
                self.define(given.name_text, "an argument", scope)
        made = (COTANGENT, *(f"d{x.name}" for x in external.arguments))
        for name in (*made, *(x.name for x in external.arguments)):
            scope.setdefault(name, Name(name, "an argument"))
        for _, _, text in external.rules:
            self.expression(text, scope, {})

    def _sections(self) -> None:
        """Read what `problem` and `blocks` say of names of the file."""
        if (problem := self.spec.problem) is not None:
            for name in (problem.objective, *problem.parameters):
                self.mention(name)
            for limited in (*problem.variables, *problem.constraints):
                self.mention(limited.name_text)
                for text in (limited.lower, limited.upper):
                    if text is not None:
                        self.expression(text, {}, {})
        if (blocks := self.spec.blocks) is not None:
            for text in (blocks.size_text, *blocks.functions, *blocks.places):
                self.mention(text)

    def expression(
        self, text: Text, scope: Scope, local: Scope, inside: bool = True
    ) -> None:
        """Note the names of an expression; not `inside` are its own indices visible.

        The range that an index states says what the dim is of which it has the name.
        """
        body = parse(text, Faults())
        if body is not None:
            self.read(body, scope if inside else self.seen_around(scope, scope), local)

    def read(self, body: Expression, scope: Scope, local: Scope) -> None:
        """Note the names of an expression that has been parsed."""
        self.expressions.append(body)
        _Uses(self, body, local).read(body.tree, scope)

    def seen_around(self, scope: Scope, hiding: Iterable[str]) -> Scope:
        """What is seen where indices do not hide the dims that they are named like."""
        return {x: y for x, y in scope.items() if x not in hiding or x not in self.file}


@dataclass(frozen=True, slots=True)
class _Uses:
    """The names of one expression."""

    reader: _Reader
    body: Expression
    local: Scope

    def read(self, tree: ast.AST, scope: Scope) -> None:
        """Note the names of a part, where indices are in scope."""
        match tree:
            case ast.Name():
                self.reader.mention(self.body.first(tree, tree.id), scope, self.local)
            case ast.Call(func=ast.Name() as called):
                self._called(called)
                self._arguments(tree, scope)
            case ast.Attribute(value=ast.Name() as of, attr=attr):
                result = self.reader.results.get(of.id, {}).get(attr)
                if result is not None:
                    self.reader.note(self.body.last(tree, attr).span(), result)
                self.read(of, scope)
            case _:
                for part in ast.iter_child_nodes(tree):
                    self.read(part, scope)

    def _called(self, tree: ast.Name) -> None:
        """Note what is called, if the file defines it: a value is never called."""
        name = self.reader.file.get(tree.id)
        if name is not None and (name.is_callable or not is_of_language(tree.id)):
            self.reader.mention(self.body.first(tree, tree.id))

    def _arguments(self, tree: ast.Call, scope: Scope) -> None:
        inner, own = dict(scope), dict[str, Name]()
        binding = [x for x in bound(tree) if not _is_plain(x)]
        for part in binding:
            place = self._bound(part)
            self.reader.define(place, "an index", own)
        inner |= own
        for argument in tree.args:
            if argument not in binding:
                self.read(argument, inner)
        for keyword in tree.keywords:
            seen: Scope = scope
            if keyword in binding:
                # In n=range(n) the stop is the dim.
                seen = self.reader.seen_around(inner, (keyword.arg or "",))
            self.read(keyword.value, seen)

    def _bound(self, part: ast.Name | ast.keyword) -> Text:
        """The place of an index that a call binds."""
        if isinstance(part, ast.Name):
            return self.body.first(part, part.id)
        return self.body.first(part, part.arg or "")


def _is_plain(part: ast.Name | ast.keyword) -> bool:
    """Whether what may bind an index is an argument like others: `axis=0`, `inf`."""
    if isinstance(part, ast.keyword):
        return part.arg is None or not is_range(part.value)
    return part.id == "inf"
