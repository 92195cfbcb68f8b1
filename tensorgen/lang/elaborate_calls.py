"""Calls: what a name in front of parentheses means, and its arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from math import prod

from tensorgen.errors import suggest
from tensorgen.ir.dims import ONE, tuple_text
from tensorgen.ir.nodes import Input, children
from tensorgen.lang import (
    binding_calls,
    conditions,
    declare_externals,
    derivatives,
    entrywise_slips,
    extremes,
    foreign_names,
    gaussian_means,
    kept_definitions,
)
from tensorgen.lang.bind_arguments import bind, counted
from tensorgen.lang.scope import Implicit, Macro, Names, Record, Thing
from tensorgen.lang.statement import Statement
from tensorgen.operators.called_values import call_result
from tensorgen.operators.functions import FUNCTIONS, Function
from tensorgen.operators.functions.array import Array, Misuse, union
from tensorgen.operators.reshape import reshape
from tensorgen.operators.solved_arrays import applied

SPECIAL: dict[str, Callable[[Statement, ast.Call], Array | None]] = {
    "delta": conditions.delta,
    **derivatives.FORMS,
    "taylor": derivatives.taylor,
    "gaussian_mean": gaussian_means.gaussian_mean,
}
SIGNATURES: dict[str, str] = {
    "delta": "delta(i, j)",
    **{name: derivatives.signature(name) for name in derivatives.FORMS},
    "taylor": derivatives.SIGNATURE,
    "gaussian_mean": gaussian_means.SIGNATURE,
}
"""How these are called."""


def call(e: Statement, tree: ast.Call) -> Array | None:
    """Return the value of a call."""
    if not isinstance(tree.func, ast.Name):
        _no_function(e, tree)
        return None
    name = tree.func.id
    e.session.graph.spelled.add(name)
    thing = e.names.get(name)
    if thing is not None and thing.macro is not None:
        return expand(e, thing.macro, tree)
    if thing is not None and thing.implicit is not None:
        return _solved(e, thing, thing.implicit, tree)
    if thing is not None and thing.external is not None:
        return declare_externals.call_external(e, thing, tree)
    if name in SPECIAL:
        return SPECIAL[name](e, tree)
    if name in FUNCTIONS:
        function = FUNCTIONS[name]
        if extremes.of_values(e, tree):
            parts = e.values(tree.args)
            return None if parts is None else extremes.extreme(e, tree, parts)
        if function.reduces and binding_calls.binds(function, tree):
            return binding_calls.reduction(e, function, tree)
        if function.along and binding_calls.follows(tree):
            return binding_calls.along(e, function, tree)
        return plain(e, function, tree)
    if name in e.session.prelude:
        return expand(e, e.session.prelude[name], tree)
    _unknown(e, tree, name, thing)
    return None


def _no_function(e: Statement, tree: ast.Call) -> None:
    hint = "a function is called by its name, as in exp(x)"
    inner = tree.func.func if isinstance(tree.func, ast.Call) else None
    if isinstance(inner, ast.Name | ast.Attribute):  # vmap(f)(x)
        own = inner.id if isinstance(inner, ast.Name) else inner.attr
        hint = str(foreign_names.MEANT.get(own, hint))
    elif (updated := _updated(e, tree)) is not None:
        hint = updated
    elif isinstance(tree.func, ast.Lambda):
        hint = "functions have names, under 'definitions': g(t) = ..."
    elif isinstance(tree.func, ast.Attribute) and tree.func.attr == "T":
        hint = f"a transpose is no call: {e.expression.source(tree.func)}"
    elif isinstance(tree.func, ast.Attribute):
        name, first = tree.func.attr, foreign_names.root(tree.func)
        source = e.expression.source
        arguments = [source(part) for part in (*tree.args, *tree.keywords)]
        close = foreign_names.MEANT.get(name)
        if first is None or first in e.scope or e.names.get(first):
            arguments = [source(tree.func.value), *arguments]
            # What stands before the dot would be lost.
            close = close and str(close)
        else:  # the name of a module
            close = close or suggest(name, FUNCTIONS)
        if name in FUNCTIONS or name in e.session.prelude:
            hint = f"write {name}({', '.join(arguments)})"
        else:
            hint = close or hint
    e.fault("this cannot be called", tree.func, hint=hint)


def _updated(e: Statement, tree: ast.Call) -> str | None:
    """Say how `x.at[p].set(v)` and `x.at[p].add(v)` of JAX are written."""
    match tree:
        case ast.Call(
            func=ast.Attribute(
                ast.Subscript(ast.Attribute(x, "at"), place), "set" | "add" as way
            ),
            args=[v],
        ):
            at = e.expression.source(place)
            several = isinstance(place, ast.Tuple) and not at.startswith("(")
            parts = [e.expression.source(x), f"({at})" if several else at]
            parts.append(e.expression.source(v))
            if way == "add":
                parts.append("accumulate=True")
            return f"write index_put({', '.join(parts)})"
    return None


def _unknown(e: Statement, tree: ast.Call, name: str, thing: Thing | None) -> None:
    known = (*FUNCTIONS, *SPECIAL, *e.session.prelude)
    hint = foreign_names.MEANT.get(name) or suggest(
        name, (*known, *(n for n in e.names if _is_macro(e, n)))
    )
    if thing is not None or name in e.scope:
        what = thing.what if thing is not None else "an index"
        hint = "write it without parentheses; brackets index it"
        if thing is not None and thing.what == "a function":
            hint = f"its value is written without arguments: {name}"
        e.fault(f"'{name}' is {what} and takes no arguments", tree.func, hint=hint)
    elif name == "range":
        hint = "a range bounds an index: sum(x[k], k=range(5))"
        e.fault("'range' is not a value", tree, hint=hint)
    else:
        e.fault(f"unknown function '{name}'", tree.func, hint=hint)


def _is_macro(e: Statement, name: str) -> bool:
    thing = e.names.get(name)
    return thing is not None and thing.macro is not None


def plain(e: Statement, function: Function, tree: ast.Call) -> Array | None:
    """Call a row of the table with the arguments as they stand."""
    ready: dict[str, Array] = {}
    if function.name == "where" and len(tree.args) == 3 and not tree.keywords:
        chosen, y = conditions.selection(e, *tree.args)
        if chosen is None or y is None:
            return None
        if conditions.is_zero_elsewhere(e, tree.args[0], chosen, y):
            return chosen
        if (found := conditions.at_places(e, tree.args[0], chosen, y)) is not None:
            return found
        if (turned := conditions.without_equals(tree, chosen)) is not tree:
            tree, chosen, y = turned, y, chosen
        ready = {"x": chosen, "y": y}
    arguments = bind(e, function, tree, ready)
    if arguments is None:
        return None
    places, values = arguments.places, arguments.values
    if function.name == "where":
        given = (values.get(part) for part in ("condition", "x", "y"))
        if (found := conditions.masked(e, *given)) is not None:
            return found
    if (x := extremes.of_number(tree, values)) is not None:
        other = e.value(tree.args[1])
        return None if other is None else extremes.extreme(e, tree, [x, other])
    entrywise_slips.note_argument(e, function.name, tree, values)
    if function.name in entrywise_slips.PRODUCTS and entrywise_slips.is_refused(
        e, ((places[x], values[x]) for x in values)
    ):
        return None
    try:
        return function.build(e.build, **arguments.values)
    except Misuse as misuse:
        misuse.hint = misuse.hint or entrywise_slips.of_two(function.name, tree)
        place = tree.func if not misuse.marks else tree
        e.misused(misuse, place, arguments.places)
        return None


def _solved(e: Statement, thing: Thing, own: Implicit, tree: ast.Call) -> Array | None:
    """Return an unknown at the arguments of a call."""
    values = e.values(tree.args)
    e.record.merge(thing.record)
    if tree.keywords or len(tree.args) != len(own.parameters):
        message = f"'{own.name}' takes {counted(len(own.parameters))}"
        e.fault(message, tree, hint=f"it is declared as {own}")
        return None
    if values is None:
        return None
    fine = True
    for (name, dims), value, part in zip(
        own.parameters, values, tree.args, strict=True
    ):
        if value.shape != dims:
            marks = [(e.expression.span(part), tuple_text(value.shape))]
            message = f"'{name}' of '{own.name}' has shape {tuple_text(dims)}"
            hint = None
            if len(value.shape) > len(dims):
                hint = f"one call has one solution: {own.name}({name}[t], ...) each t"
            elif len(value.shape) == len(dims) and all(d.constant for d in dims):
                shape = ", ".join(map(str, dims))
                hint = f"an input that is always so long has the shape [{shape}]"
            e.fault(message, part, marks, hint)
            fine = False
    if not fine:
        return None
    graph, batch = e.build.graph, union(values)
    if not batch:
        one = applied(graph, own.call, [x.node for x in values])
        graph.suggest(one, own.name)
        return Array(one)
    # All that the indices take are rows of one array, and solved for together.
    sizes = {k: d for x in values for k, d in zip(x.batch, x.node.dims, strict=False)}
    lengths = [sizes[k] for k in batch]
    count = prod(lengths, start=ONE)
    call = own.each(count)
    if call is None:
        message = f"'{own.name}' is solved for one at a time, not for each index"
        hint = "its equation has steps or calls that do not take rows; call it in the "
        hint += "step of a recurrence, as in x[t + 1] = ..."
        e.fault(message, tree, hint=hint)
        return None
    rows = []
    for x in values:
        axes = range(x.order)
        node = graph.product((*batch, *axes), [(x.node, x.labels(axes))], sizes=sizes)
        rows.append(reshape(graph, node, (count, *x.shape)))
    solved = applied(graph, call, rows)
    graph.suggest(solved, own.name)
    return Array(reshape(graph, solved, (*lengths, *solved.dims[1:])), batch)


def expand(e: Statement, macro: Macro, tree: ast.Call) -> Array | None:
    """Elaborate the text of a definition with arguments for its parameters."""
    values = e.values(tree.args)
    if tree.keywords or len(tree.args) != len(macro.parameters):
        count = len(tree.args) + len(tree.keywords)
        message = f"'{macro.name}' takes {counted(len(macro.parameters))}, not {count}"
        if tree.keywords:
            message = f"the arguments of '{macro.name}' have no names"
        e.fault(message, tree, hint=f"it is defined as {macro}")
        return None
    if values is None or macro.body is None:
        return None
    # Equal arguments give equal values, and deep definitions would take forever.
    key = (macro.name, macro.shipped, tuple(values))
    if key not in e.session.expanded:
        expanded = partial(_expanded, tree=tree)
        whole = None
        if macro.name in e.session.kept and not macro.shipped:
            whole = kept_definitions.called(e, macro, values, expanded)
        e.session.expanded[key] = whole or expanded(e, macro, values)
    value, record = e.session.expanded[key]
    e.record.merge(record)
    return value


def _variables(local: dict[str, Thing]) -> dict[str, Callable[[Names], Thing]]:
    """Which parameters stand for values that may be differentiated by, as they are.

    An input stays what it is: whatever mentions it follows. But with indices, each of
    their values is a variable of its own.
    """
    return {
        name: partial(_as_it_is, name)
        for name, thing in local.items()
        if thing.value is not None
        and (thing.value.batch or not isinstance(thing.value.node, Input))
    }


def _as_it_is(name: str, names: Names) -> Thing:
    return names.local[name]


def _expanded(
    e: Statement, macro: Macro, values: Sequence[Array], tree: ast.Call
) -> tuple[Array | None, Record]:
    assert macro.body is not None
    local = {
        parameter: Thing(f"a parameter of {macro.name}", value)
        for parameter, value in zip(macro.parameters, values, strict=True)
    }
    # Only the file's names and the parameters: nothing of the place of the call.
    names = Names({} if macro.shipped else e.names.file, local, _variables(local))
    callers = (*e.callers, (macro, e.expression.span(tree)))
    inner = type(e)(e.session, macro.body, names, callers, e.depth)
    value = inner.elaborate(())
    graph = e.session.graph
    if value is not None and macro.shipped and values:
        call_result(graph, macro.name, values[0].node, value.node)
    elif value is not None and not macro.shipped and children(value.node):
        graph.suggest(value.node, macro.name)
    return value, inner.record
