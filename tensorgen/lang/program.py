"""From a checked spec to nodes: all functions of a file, each after those it needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from graphlib import CycleError, TopologicalSorter

from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.kinds import result_name
from tensorgen.errors import Faults, Remark, SpecError, Text
from tensorgen.ir.effort import READING, Effort
from tensorgen.ir.graph import Graph
from tensorgen.ir.index_text import subscript
from tensorgen.ir.nodes import Call, Map, Node, Product, Sum
from tensorgen.lang.batches import check_batch, check_one_sample
from tensorgen.lang.choose_checkpoints import Unit, checkpointed
from tensorgen.lang.declare_externals import declare, externals_of
from tensorgen.lang.elaborate_problem import elaborate_problem
from tensorgen.lang.elaborate_unknowns import ElaboratedUnknown, Unknown
from tensorgen.lang.elaborated import ElaboratedFunction, Local
from tensorgen.lang.elaborated_problem import ElaboratedProblem
from tensorgen.lang.grouping import steps, units
from tensorgen.lang.index_forms import Index
from tensorgen.lang.inner_products import elaborate_metrics
from tensorgen.lang.kept_definitions import called_often, worth_a_look
from tensorgen.lang.leaves import inputs_of, leaves_of
from tensorgen.lang.parsed import Parsed, mentioned_names, parse_texts
from tensorgen.lang.prelude import prelude
from tensorgen.lang.read_parts import read_value
from tensorgen.lang.recurrences import elaborate_steps
from tensorgen.lang.scope import Macro, Names, Record, Thing
from tensorgen.lang.sides import Noted, in_places, note_range
from tensorgen.lang.sizes import check_axes, check_emit, check_filled, open_sizes
from tensorgen.lang.statement import Session, Statement
from tensorgen.lang.syntax import Expression
from tensorgen.operators.conditions.guards import guard
from tensorgen.operators.conditions.narrow import narrowed
from tensorgen.operators.functions.array import Array, SizeCheck
from tensorgen.operators.stable import StableForms
from tensorgen.spec.model import Definition, FunctionSpec, Spec
from tensorgen.spec.names import on_one_line

SHORTER = (
    "definitions that use others several times grow with every level; what is alike "
    "many times is written once, over an index"
)
COUPLED = (
    "unknowns that need each other are one: y of shape [n + m], with its equations in "
    "concatenate([...]), and y[:n] and y[n:] in place of them"
)


@dataclass(frozen=True, slots=True)
class Program:
    """All functions of a spec over one graph."""

    spec: Spec
    graph: Graph
    inputs: dict[str, Node]
    functions: tuple[ElaboratedFunction, ...]
    unknowns: tuple[ElaboratedUnknown, ...] = ()
    problem: ElaboratedProblem | None = None
    remarks: tuple[Remark, ...] = ()

    @property
    def generated(self) -> tuple[ElaboratedFunction, ...]:
        """The functions of the file, and those for its unknowns and its problem."""
        more = (f for unknown in self.unknowns for f in unknown.functions)
        moved = None if self.problem is None else self.problem.moved
        return (*self.functions, *more, *([moved.function] if moved else []))

    @property
    def checks(self) -> tuple[SizeCheck, ...]:
        """All size conditions, each once."""
        return tuple(dict.fromkeys(c for f in self.functions for c in f.checks))


def program_of(
    spec: Spec, watch: Callable[[str], None] | None = None
) -> tuple[Graph, Program]:
    """Return the nodes of all functions over a graph of their own.

    `watch` hears what is being done. Raises a `SpecError` with all faults.
    """
    graph = Graph(StableForms(), Effort(watch))
    variables = {wrt.name for function in spec.functions for wrt in function.wrt}
    return graph, elaborate(spec, graph, Differentiate(graph, variables))


def with_calls(spec: Spec, graph: Graph) -> Program | None:
    """Return the program in which definitions stay calls that are called several times.

    None if there is no such definition.
    """
    names: Collection[str] = worth_a_look(spec)
    variables = {wrt.name for function in spec.functions for wrt in function.wrt}
    while names:
        own = elaborate(spec, graph, Differentiate(graph, variables), names)
        used = {x for f in own.functions for x in called_often(graph, f.node)}
        if used.issuperset(names):
            return own
        names = [name for name in names if name in used]
    return None


def elaborate(
    spec: Spec, graph: Graph, differentiate: Differentiate, kept: Collection[str] = ()
) -> Program:
    """Return the nodes of all functions; raises a `SpecError` with all faults.

    Definitions that are `kept` stay calls.
    """
    faults = Faults()
    session = Session(graph, differentiate, faults, prelude(), read_value, kept=kept)
    inputs = inputs_of(spec, graph)
    things: dict[str, Thing] = leaves_of(spec, graph, inputs)
    things |= externals_of(spec, graph)
    parsed = {name: item for item in parse_texts(spec, faults) for name in item.names}
    found: dict[str, ElaboratedFunction] = {}
    solved: dict[str, ElaboratedUnknown] = {}
    names = _ordered(parsed, things, faults)
    for name in names:
        definition = parsed[name].definition
        if definition is not None and definition.parameters is not None:
            things[name] = _macro(definition, parsed[name].body)
    declare(session, spec, things)
    for name in names:
        item = parsed[name]
        if name in things:
            continue  # made with another one
        try:
            with graph.effort.on(item.name, "reading it", READING, SHORTER):
                made, function = _elaborated(
                    session, item, things, spec, inputs, solved
                )
                things.update(made)
        except SpecError as error:
            faults.extend(error.diagnostics)
            things |= dict.fromkeys(item.names, Thing("a function", None))
            continue
        if function is not None:
            found[name] = function
    for own in solved.values():
        of, read = own.spec.given.name_text, own.step.arguments
        check_one_sample(faults, f"the unknown '{of}'", of, read)
    given = [x.spec.given for x in solved.values()]
    problem = elaborate_problem(session, spec, things, inputs, given)
    faults.raise_if_any()
    functions = tuple(found[function.name] for function in spec.functions)
    unknowns = tuple(x for own in solved.values() for x in own.used)
    for x in (own.spec.given for own in unknowns):
        inputs[x.name] = graph.input(x.name, x.shape)
    moved = problem.moved if problem else None
    for multiplier in moved.multipliers if moved else ():
        inputs[multiplier.name] = graph.input(multiplier.name, multiplier.shape)
    told = tuple(session.remarks)
    return Program(spec, graph, inputs, functions, unknowns, problem, told)


def _elaborated(
    session: Session,
    item: Parsed,
    things: dict[str, Thing],
    spec: Spec,
    inputs: dict[str, Node],
    solved: dict[str, ElaboratedUnknown],
) -> tuple[dict[str, Thing], ElaboratedFunction | None]:
    """Elaborate one name of the file, those that it needs being known.

    Or several names that are made together.
    """
    definition, name = item.definition, item.name.value
    if item.steps:
        found = elaborate_steps(session, item.steps, Names(things))
        return {x: Thing("a definition", *own) for x, own in found.items()}, None
    if item.unknown is not None:
        before = [x.spec.given for x in solved.values()]
        # Whose text reads the unknown means the variable here, whatever it did before.
        own = replace(session, expanded={})
        one = Unknown(own, item.unknown, things, spec, inputs, before)
        for inner in item.reading:
            one.known |= _elaborated(own, inner, one.known, spec, inputs, solved)[0]
        thing, unknown = one.elaborate(item.body)
        solved.update({} if unknown is None else {name: unknown})
        return {name: thing}, None
    if definition is None:
        thing, function = _function(session, item, things, spec, inputs, solved)
        return {name: thing}, function
    if definition.parameters is not None:
        return {name: _macro(definition, item.body)}, None
    value, record = _define(session, definition, item.body, Names(things))
    return {name: Thing("a definition", value, record)}, None


def _ordered(
    parsed: dict[str, Parsed], things: dict[str, Thing], faults: Faults
) -> list[str]:
    """Names after those they need; what needs itself is reported and left out."""
    needs = {}
    for name, item in parsed.items():
        mentioned = mentioned_names(item)
        own = {*item.names} if item.steps else set[str]()
        if item.unknown is not None:
            own = {name, *(x.name for x in item.unknown.parameters)}
        needs[name] = [other for other in parsed if other in mentioned - own]
    for name, item in parsed.items():
        if item.unknown is not None:
            reading = _reading(name, needs, parsed)
            read = [x for inner in (name, *reading) for x in needs[inner]]
            needs[name] = [x for x in dict.fromkeys(read) if x not in (name, *reading)]
            parsed[name] = replace(item, reading=tuple(parsed[x] for x in reading))
    while True:
        try:
            return list(TopologicalSorter(needs).static_order())
        except CycleError as error:
            # Each name of the cycle needs the one before it.
            cycle = [str(name) for name in reversed(error.args[1])]
            first = min(cycle, key=list(parsed).index)
            start = cycle.index(first)
            ring = [*cycle[start:-1], *cycle[:start], first]
            message = f"'{first}' is defined by itself: {' -> '.join(ring)}"
            hint = COUPLED if any(parsed[x].unknown for x in cycle) else None
            faults.add(message, parsed[first].name.span(), hint=hint)
            for name in dict.fromkeys(cycle):
                del needs[name]
                what = "a definition" if parsed[name].definition else "a function"
                what = "an unknown" if parsed[name].unknown else what
                macro = _spoilt(parsed[name])
                things[name] = Thing(what, macro=macro)
            needs = {n: [x for x in xs if x in needs] for n, xs in needs.items()}


def _reading(
    name: str, needs: Mapping[str, Sequence[str]], parsed: Mapping[str, Parsed]
) -> list[str]:
    """What an unknown needs that reads the unknown itself, each after what it needs."""
    if name in needs[name]:
        return []
    plain = {x: ys for x, ys in needs.items() if x == name or not parsed[x].unknown}

    def reached(ways: Mapping[str, Sequence[str]]) -> set[str]:
        found, waiting = set[str](), [name]
        while waiting:
            fresh = [x for x in ways.get(waiting.pop(), ()) if x not in found]
            found.update(fresh)
            waiting += fresh
        return found

    back: dict[str, list[str]] = {}
    for x, ys in plain.items():
        for y in ys:
            back.setdefault(y, []).append(x)
    both = reached(plain) & reached(back) - {name}
    inner = {x: [y for y in plain[x] if y in both] for x in plain if x in both}
    try:
        return list(TopologicalSorter(inner).static_order())
    except CycleError:
        return []  # told as what it is


def _spoilt(item: Parsed) -> Macro | None:
    """A macro without a body, whose calls have no value and are no further faults."""
    if item.definition is None or item.definition.parameters is None:
        return None
    return _macro(item.definition, None).macro


def _macro(definition: Definition, body: Expression | None) -> Thing:
    parameters = tuple(p.value for p in definition.parameters or ())
    macro = Macro(definition.name, parameters, body)
    return Thing("a definition", macro=macro)


def _define(
    session: Session,
    defined: Definition | FunctionSpec,
    body: Expression | None,
    names: Names,
) -> tuple[Array | None, Record]:
    """Elaborate `name = body` or `name[i, k] = body`."""
    if body is None:
        return None, Record()
    statement = Statement(session, body, names)
    left = [Index(text.value, text.span(), left=True) for text in defined.indices or ()]
    stated = _stated(statement, left, defined.ranges)
    value = None if stated is None else statement.elaborate(left)
    if stated is not None:
        statement.record.merge(stated)
    if value is not None:
        value = in_places(statement, value, defined)
    promised = defined.promise if isinstance(defined, Definition) else None
    if value is not None and promised is not None:
        value = statement.promised(value, promised)
    if value is not None and isinstance(value.node, Product | Sum | Map | Call):
        session.graph.name(value.node, defined.name)
    return value, statement.record


def _stated(
    statement: Statement, left: Sequence[Index], ranges: Sequence[Text | None]
) -> Record | None:
    """Note the ranges that indices on the left state, and what their texts mention.

    None where one is wrong.
    """
    record = Record()
    try:
        for index, text in zip(left, ranges, strict=False):
            if text is not None:
                record.merge(note_range(statement, index, text))
    except SpecError as error:
        statement.session.faults.extend(error.diagnostics)
    except Noted:
        pass
    else:
        return record
    return None


def _function(
    session: Session,
    item: Parsed,
    things: dict[str, Thing],
    spec: Spec,
    inputs: dict[str, Node],
    solved: Mapping[str, ElaboratedUnknown],
) -> tuple[Thing, ElaboratedFunction | None]:
    """Elaborate a function with its `where`, whose names see those above them."""
    assert item.function is not None
    function, record = item.function, Record()
    returned = frozenset(x.name for x in function.results)
    names = Names(things, texts=tuple(item.expressions), returned=returned)
    local, complete = _locals(session, item, names, record)
    if function.results:
        of = {x.name: names.local[x.name] for x in function.results}
        thing = Thing("a function", None, record, results=of)
    else:
        value, used = _define(session, function, item.body, names)
        record.merge(used)
        thing = Thing("a function", value, record)
        of = {"": thing}
    arrays = [x.value for x in of.values() if x.value is not None]
    # Who uses the function needs nothing of its metrics.
    outer, record = record, Record()
    record.merge(outer)
    values = (x.node for x in arrays)
    spaces = {**inputs, **dict(zip([function.name], values, strict=False))}
    metrics = elaborate_metrics(session, item.metrics, names, spaces, record)
    if not complete or len(arrays) < len(of) or metrics is None:
        return thing, None
    chosen = {**record.inputs, **{w.text.value: None for w in function.wrt}}
    given = tuple(i for i in spec.inputs if i.name in chosen)
    unknown = [x for name, x in solved.items() if name in record.unknowns]
    own = tuple(part for i in given for part in i.parts)
    arguments = (*own, *(x.spec.given for x in unknown))
    nodes = [value.node for value in arrays]
    # An unknown says nothing of sizes: it may have to be found, which takes its own.
    shown = open_sizes(nodes, record, (*given, *own))
    sizes = tuple(dict.fromkeys((*shown, *(s for x in unknown for s in x.sizes))))
    check_emit(session.faults, function, arrays)
    if not check_batch(session.faults, function, arguments, record, nodes, inputs):
        return thing, None
    for value in arrays:
        check_axes(session.faults, function, value, arguments)
        name, place = f"'{function.name}'", function.name_text
        check_filled(session.faults, name, place, value.node, arguments)
    new = dict[Node, Node]()
    facts = [check.size for check in record.checks]
    nodes = [narrowed(session.graph, node, facts) for node in nodes]
    for node in nodes:
        new |= guard(session.graph, node, [inputs[w.name] for w in function.wrt])
    nodes = [new.get(node, node) for node in nodes]
    seen = tuple(replace(x, node=new.get(x.node, x.node)) for x in local)
    rest = arguments, seen, tuple(record.checks), frozenset(record.names), sizes
    results = tuple(
        ElaboratedFunction(_one(function, x), node, *rest, metrics=metrics)
        for x, node in zip(function.results, nodes, strict=False)
    )
    return thing, ElaboratedFunction(function, nodes[0], *rest, results, metrics)


def _locals(
    session: Session, item: Parsed, names: Names, record: Record
) -> tuple[list[Local], bool]:
    """Elaborate what a function defines; whether all of it has a value comes last."""
    local: list[Local] = []
    complete = True
    assert item.function is not None
    names.all.update(dict.fromkeys(line.name for line, _ in item.where))
    for unit in checkpointed(session.faults, units(item.where), item.function):
        values = _defined(session, unit, names)
        for name, (value, used) in values.items():
            names.again[name] = partial(_again, session, unit, name)
            record.merge(used)
            names.local[name] = Thing("a local definition", value, used)
            complete = complete and value is not None
        for definition, _ in unit.lines:
            value, _ = values[definition.name]
            if value is None:
                continue
            formula = on_one_line(definition.body)
            if definition.promise is not None:
                formula = f"{definition.promise}({formula})"
            left = subscript(
                definition.name, definition.places or definition.indices or ()
            )
            local.append(Local(definition.name, left, formula, value.node))
    return local, complete


def _again(session: Session, unit: Unit, name: str, names: Names) -> Thing:
    """Elaborate a local definition where names above it stand for something else."""
    return Thing("a local definition", *_defined(session, unit, names)[name])


def _defined(
    session: Session, unit: Unit, names: Names
) -> dict[str, tuple[Array | None, Record]]:
    """Elaborate a local definition, or what steps together."""
    if steps(unit.lines):
        return elaborate_steps(session, unit.lines, names, unit.checkpoint)
    ((definition, text),) = unit.lines
    return {definition.name: _define(session, definition, text, names)}


def _one(function: FunctionSpec, result: Definition) -> FunctionSpec:
    """One of several results as a function of its own."""
    return replace(
        function,
        name=result_name(function.name, result.name),
        indices=result.indices,
        ranges=result.ranges,
        places=result.places,
        expr=result.body,
        doc=None,
        results=(),
    )
