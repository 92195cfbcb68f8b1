"""Unknowns as nodes: what solves an equation, and the functions that find it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from tensorgen.calculus.kinds import GRADIENT, HESSIAN, VALUE
from tensorgen.errors import Text
from tensorgen.ir.dims import Dim, tuple_text
from tensorgen.ir.index_text import subscript
from tensorgen.ir.nodes import Call, Input, Node
from tensorgen.ir.rebuild import substituted
from tensorgen.lang.binding_calls import binds
from tensorgen.lang.elaborated import ElaboratedFunction
from tensorgen.lang.facts import Bounds
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.reach import positions
from tensorgen.lang.scope import Implicit, Names, Record, Thing
from tensorgen.lang.sizes import Known, check_filled, open_sizes
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import Expression, parse
from tensorgen.operators.functions import FUNCTIONS
from tensorgen.operators.functions.array import Array
from tensorgen.operators.recurrences.all_steps import AllSteps, has_rows
from tensorgen.operators.solved_arrays import leaves, unknown
from tensorgen.spec.model import Emit, FunctionSpec, InputSpec, Spec, UnknownSpec, Wrt
from tensorgen.spec.names import in_code, in_spec, unused
from tensorgen.spec.unknowns import each_of


@dataclass(frozen=True, slots=True)
class ElaboratedUnknown:
    """An unknown, and functions of it and of what its equation reads.

    `step` is Newton's; `measure` is what is made zero, or the least. The search begins
    at what `start` gives, if that is stated. One that is a function may be called for
    each index, and is found for all `rows` together: what does that is for `each`.
    """

    spec: UnknownSpec
    step: ElaboratedFunction
    measure: ElaboratedFunction
    start: ElaboratedFunction | None = None
    rows: Rows | None = None
    each: bool = False

    @property
    def functions(self) -> tuple[ElaboratedFunction, ...]:
        """Those that are emitted beside the one that solves."""
        start = () if self.start is None else (self.start,)
        return (self.measure, self.step, *start)

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes that finding it takes, which follow from no shape."""
        return self.measure.sizes

    @property
    def used(self) -> tuple[ElaboratedUnknown, ...]:
        """This one, and if it is called for each index, what finds all rows."""
        return (self, *(() if self.rows is None else self.rows.used))


@dataclass(frozen=True, slots=True)
class Texts:
    """What the texts of an unknown say, as nodes, and what they use.

    An equation in index notation is one for each value of `left`.
    """

    value: Node
    residual: Node
    start: Node | None
    record: Record
    left: tuple[str, ...] = ()


class Unknown:
    """Elaborates one unknown, those that it needs being known and `solved`."""

    def __init__(
        self,
        session: Session,
        own: UnknownSpec,
        things: Mapping[str, Thing],
        spec: Spec,
        inputs: dict[str, Node],
        solved: Sequence[InputSpec],
    ) -> None:
        """Bind the names that its texts may mention."""
        self.session = session
        self.graph = session.graph
        self.own = own
        self.spec = spec
        self.solved = solved
        self.things = things
        name = inputs[own.name]
        assert isinstance(name, Input)
        self.name = name
        self.parameters = [
            cast(Input, self.graph.input(x.name, x.shape)) for x in own.parameters
        ]
        pairs = zip(own.parameters, self.parameters, strict=True)
        what = f"an argument of {own.name}"
        self.known = {
            **things,
            own.name: Thing("an unknown", Array(name)),
            **{x.name: Thing(what, Array(node)) for x, node in pairs},
        }

    def elaborate(
        self, body: Expression | None
    ) -> tuple[Thing, ElaboratedUnknown | None]:
        """Return what the name stands for, and the functions that come with it."""
        own, graph, failed = self.own, self.graph, Thing("an unknown", None)
        for parameter in own.parameters:
            if parameter.name in self.things:
                what = self.things[parameter.name].what
                message = f"'{parameter.name}' is {what}, and an argument of an unknown"
                self.session.faults.add(message, parameter.name_text.span())
                return failed, None
        if body is None:
            return failed, None
        statement = Statement(self.session, body, Names(self.known))
        left = self._left(statement)
        value, record = statement.elaborate(left), statement.record
        if value is None or not _fits(self.session, own, value, self.name):
            return failed, None
        residual = value.node
        if own.way == "fixed_point":
            residual = graph.add(residual, graph.scale(self.name, -1))
        elif own.way == "minimises":
            residual = self.session.differentiate.gradient(value.node, self.name)
        start = self._start(record)
        given = self.given(record)
        call = self.call(residual, record, given)
        sizes = _open(self.session, own, residual, record, given)
        if call is None or sizes is None:
            return failed, None
        check_filled(self.session.faults, f"'{own.name}'", own.body, residual, given)
        names = tuple(index.name for index in left)
        texts = Texts(value.node, residual, start, record, names)
        functions = self.functions(texts, call, given, sizes)
        if own.parameters:
            pairs = tuple((x.name, x.shape) for x in own.parameters)
            each = Rows(self, texts)
            implicit = Implicit(own.name, pairs, call, each.call)
            functions = replace(functions, rows=each)
            return Thing("an unknown", None, record, implicit=implicit), functions
        graph.name(call, own.name)
        known = {in_spec(x): own.given.name_text.span() for x in sizes}
        used = replace(
            record,
            unknowns={**record.unknowns, own.name: None},
            sizes={**record.sizes, **known},
        )
        return Thing("an unknown", Array(call), used), functions

    def _left(self, statement: Statement) -> list[Index]:
        """The indices for whose values there are equations: along its first axes.

        The order of equations is of no matter, but of two indices nothing says which
        entry of a fixed point is made.
        """
        names = left_out(statement.expression.tree, statement.names, self.own.name)
        most = {"equation": self.name.order, "fixed_point": 1, "minimises": 0}
        if len(names) > min(most[self.own.way], self.name.order):
            return []
        left = [Index(name, self.own.body.span(), True) for name in names]
        for index, size in zip(left, self.name.dims, strict=False):
            bounds = Bounds(Form.constant(0), Form.constant(size))
            statement.ranges.bounds[index] = bounds
        return left

    def _start(self, record: Record) -> Node | None:
        """Where the search begins, if that is stated; it belongs to the record."""
        text, faults = self.own.start, self.session.faults
        body = None if text is None else parse(text, faults)
        if text is None or body is None:
            return None
        known = {name: x for name, x in self.known.items() if name != self.own.name}
        statement = Statement(self.session, body, Names(known))
        value = statement.elaborate([])
        if value is None:
            return None
        if value.shape != self.name.dims:
            shape, own = tuple_text(value.shape), tuple_text(self.name.dims)
            message = f"'start' has shape {shape}, and '{self.own.name}' {own}"
            faults.add(message, text.span(), hint="such as zeros(n), ones(n)")
        record.merge(statement.record)
        return value.node

    def given(self, record: Record) -> tuple[InputSpec, ...]:
        """What the functions that come with an unknown are given beside it."""
        inputs = (i for i in self.spec.inputs if i.name in record.inputs)
        others = (x for x in self.solved if x.name in record.unknowns)
        parts = (part for i in inputs for part in i.parts)
        return (*self.own.parameters, *parts, *others)

    def call(
        self, residual: Node, record: Record, given: Sequence[InputSpec]
    ) -> Call | None:
        """The unknown itself: over its parameters, if it is a function."""
        own, graph, faults = self.own, self.graph, self.session.faults
        definite = own.way == "minimises"
        if not own.parameters:
            read = [x for x in leaves(residual) if x is not self.name]
            if not read:
                message = f"the equation of '{own.name}' depends on no input"
                hint = "an unknown follows from inputs; else it is a number to be given"
                faults.add(message, own.body.span(), hint=hint)
                return None
            return unknown(graph, self.name, residual, definite, read)
        sparse = [x.of.name for x in given if x.of is not None]
        if sparse:
            message = f"'{own.name}' is a function, and reads the sparse '{sparse[0]}'"
            faults.add(message, own.body.span(), hint="an unknown without 'of' may")
            return None
        values = [self.things[x] for x in record.unknowns]
        named = [thing.value.node for thing in values if thing.value is not None]
        inputs = [self.spec_input(x) for x in given if not x.unknown]
        texts = [
            f"{x.name}={{{k}}}" if x.unknown or x.default is not None else f"{{{k}}}"
            for k, x in enumerate(given)
        ]
        texts.sort(key=lambda text: "=" in text)
        solver = f"{own.name}_solve({', '.join(texts)})"
        read = [*inputs, *named]
        return unknown(graph, self.name, residual, definite, read, solver)

    def spec_input(self, given: InputSpec) -> Node:
        """Return the node of a parameter or an input."""
        value = self.known[given.name].value
        assert value is not None
        return value.node

    def functions(
        self,
        texts: Texts,
        call: Call,
        given: tuple[InputSpec, ...],
        sizes: tuple[str, ...] = (),
    ) -> ElaboratedUnknown:
        """The functions that are emitted beside the one that solves."""
        own, name, record = self.own, self.own.name, texts.record
        value, residual, start = texts.value, texts.residual, texts.start
        (step,) = substituted(
            self.graph,
            [self.session.differentiate.newton_step(call)],
            {call: self.name},
        )
        arguments = (replace(own.given, unknown=False), *given)
        checks, mentions = tuple(record.checks), frozenset(record.names)
        minimises, text = own.way == "minimises", own.body.value
        if own.way == "fixed_point":
            text = f"{text} - {subscript(name, texts.left)}"
        measure = f"{name}_{'objective' if minimises else 'residual'}"
        doc = {
            "equation": f"It is zero where `{name}` is the solution.",
            "fixed_point": f"It is zero where `{name}` is the fixed point.",
            "minimises": f"It is the least where `{name}` is the solution.",
        }[own.way]
        slope = f"hess({measure}, {name})" if minimises else f"jac({measure}, {name})"
        right = f"grad({measure}, {name})" if minimises else measure
        toward = f"Newton's step from `{name}` towards the solution."

        def function(
            end: str,
            text: str,
            doc: str,
            node: Node,
            arguments: tuple[InputSpec, ...] = arguments,
            by: Sequence[str] = (),
            left: Sequence[str] = (),
        ) -> ElaboratedFunction:
            made = _emitting(f"{name}_{end}", own.given, text, doc, by, left)
            rest = (), checks, mentions, sizes
            return ElaboratedFunction(made, node, arguments, *rest)

        first = function(
            measure.removeprefix(f"{name}_"),
            text,
            doc,
            value if minimises else residual,
            by=[name] * minimises,
            left=texts.left,
        )
        second = function("step", f"-solve({slope}, {right})", toward, step)
        third = None
        if start is not None and own.start is not None:
            doc = f"Where the search for `{name}` begins."
            third = function("start", own.start.value, doc, start, given)
        return ElaboratedUnknown(own, second, first, third)


def _fits(session: Session, own: UnknownSpec, value: Array, name: Input) -> bool:
    """Whether an equation has the shape of its unknown; what is minimised, none."""
    wanted = () if own.way == "minimises" else name.dims
    if value.shape == wanted:
        return True
    shape = tuple_text(value.shape)
    message = f"the equation of '{own.name}' has shape {shape}"
    hint = f"as many equations as unknowns: '{own.name}' has shape {tuple_text(wanted)}"
    if own.way == "minimises":
        message = f"'{own.name}' minimises what has shape {shape}"
        hint = "only a scalar can be the least"
    session.faults.add(message, own.body.span(), hint=hint)
    return False


def _open(
    session: Session,
    own: UnknownSpec,
    residual: Node,
    record: Record,
    given: tuple[InputSpec, ...],
) -> tuple[str, ...] | None:
    """Return the sizes that follow from nothing that the equation reads.

    They are arguments too; None where one of an unknown that is a function is, since
    what calls it has none.
    """
    # Sparse matrices give sizes whole; other unknowns may have to be found.
    plain = [y for x in given if not x.unknown for y in (x, *filter(None, [x.of]))]
    known = Known(dim for x in plain for dim in x.shape)
    missing = [s for dim in own.given.shape for s in known.missing(dim)]
    missing += open_sizes([residual], record, plain)
    found = tuple(dict.fromkeys(missing))
    for symbol in found if own.parameters else ():
        message = (
            f"the dim '{in_spec(symbol)}' follows from no argument of '{own.name}'"
        )
        hint = f"an input of shape [{in_spec(symbol)}] in it determines its size"
        session.faults.add(message, own.given.name_text.span(), hint=hint)
    return None if found and own.parameters else found


def _emitting(
    name: str,
    of: InputSpec,
    text: str,
    doc: str,
    by: Sequence[str],
    left: Sequence[str],
) -> FunctionSpec:
    """A function as a file would have it, with derivatives `by` the unknown."""
    place = of.name_text
    kinds = (VALUE, GRADIENT, HESSIAN) if by else (VALUE,)
    emit = tuple(Emit(kind, (), place) for kind in kinds)
    wrt = tuple(Wrt(x, "", place) for x in by)
    expr = Text.plain(" ".join(text.split()))
    indices = tuple(Text.plain(x) for x in left) or None
    return FunctionSpec(name, place, indices, doc, (), expr, wrt, emit)


class Rows:
    """An unknown that is a function, of rows of its arguments: one solution a row."""

    def __init__(self, one: Unknown, texts: Texts) -> None:
        self.one = one
        self.texts = texts
        self.calls: dict[Dim, Call | None] = {}

    def call(self, count: Dim) -> Call | None:
        """Return the call that finds so many rows, None where there can be none."""
        if count not in self.calls:
            found = self._of(count)
            self.calls[count] = None if found is None else found[0]
        return self.calls[count]

    @property
    def used(self) -> tuple[ElaboratedUnknown, ...]:
        """The functions of as many rows as are given, if there is any call."""
        if not any(self.calls.values()):
            return ()
        taken = {s for x in self.one.known for s in (x, in_code(x))}
        found = self._of(Dim.symbol(unused("count", taken)))
        return () if found is None else (replace(found[1], each=True),)

    def _of(self, count: Dim) -> tuple[Call, ElaboratedUnknown] | None:
        one, texts = self.one, self.texts
        graph, own = one.graph, one.own
        given = of_rows(own.given, count, each_of(own.name))
        parameters = tuple(of_rows(x, count, x.name) for x in own.parameters)
        spec = replace(own, given=given, parameters=parameters)
        inputs = {spec.name: graph.input(spec.name, given.shape)}
        rows = Unknown(one.session, spec, one.things, one.spec, inputs, one.solved)
        places = (one.name, *one.parameters)
        if not all(has_rows(x, places) for x in (texts.value, texts.residual)):
            return None
        known = dict(zip(places, (rows.name, *rows.parameters), strict=True))
        at = AllSteps(graph, count, known)
        residual = at.of(texts.residual)
        value = at.total(texts.value) if own.way == "minimises" else residual
        start = None if texts.start is None else at.of(texts.start)
        every = Texts(value, residual, start, texts.record)
        read = rows.given(texts.record)
        call = rows.call(residual, texts.record, read)
        return None if call is None else (call, rows.functions(every, call, read))


def of_rows(given: InputSpec, count: Dim, name: str) -> InputSpec:
    """Return what has so many rows, each like what is given."""
    return replace(given, name=name, shape=(count, *given.shape))


def left_out(tree: ast.expr, names: Names, own: str) -> list[str]:
    """The free indices of an expression that says what `own` is.

    They are in the order of entries of `own` that have all of them, such as `W[i, j]`;
    without any, in that of the text.
    """
    found = [*dict.fromkeys(_free(tree, names, frozenset()))]
    for part, items in positions(tree):
        if isinstance(part.value, ast.Name) and part.value.id == own:
            taken = [item.id for item in items if isinstance(item, ast.Name)]
            if sorted(taken) == sorted(found):
                return taken
    return found


def _free(tree: ast.AST, names: Names, bound: frozenset[str]) -> Iterator[str]:
    """The names in brackets that stand for nothing but indices around all."""
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        function = FUNCTIONS.get(tree.func.id)
        if function is not None and function.reduces and binds(function, tree):
            behind = (x.id for x in tree.args[1:] if isinstance(x, ast.Name))
            bound |= {*behind, *(x.arg for x in tree.keywords if x.arg is not None)}
    if isinstance(tree, ast.Subscript):
        yield from _free(tree.value, names, bound)
        for name in (x.id for x in ast.walk(tree.slice) if isinstance(x, ast.Name)):
            if not (name in bound or names.get(name) or name in FUNCTIONS):
                yield name
        return
    for child in ast.iter_child_nodes(tree):
        yield from _free(child, names, bound)
