"""Recurrences as loops: one step, drafted once, over rows of arrays from before it.

A state of which all values are asked for is an array of them; one that only the next
step needs is a name, which each step gives to another array. All of a step is computed
before any name changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arrays import (
    Array,
    array,
    base,
    below,
    bound,
    replacing,
    variable,
)
from tensorgen.arrays.statements import Let, Loop, Statement, Store, operands, rebuilt
from tensorgen.ir.constraints import index_bound
from tensorgen.ir.dims import ONE, ZERO, Dim
from tensorgen.ir.nodes import (
    Call,
    Node,
    Product,
    Ref,
    children,
    constant_value,
    is_zero,
)
from tensorgen.lower.axes import ordered
from tensorgen.lower.draft import Draft, Repeat, Result, Row
from tensorgen.lower.operands import whole_of
from tensorgen.lower.plan import Plan
from tensorgen.lower.values import Values
from tensorgen.operators.recurrences.recurrence import (
    Recurrence,
    Runs,
    Steps,
    later,
    name_of,
    result_of,
    row_word,
)

Body = Callable[[Sequence[Node]], tuple[Plan, Draft, list[Result]]]
"""How a step is lowered."""


def repeat(
    known: Values, whole: Recurrence, results: Sequence[Call], body: Body
) -> None:
    """Draft a recurrence, of which some results are asked for."""
    steps, draft, graph = whole.steps, known.draft, known.plan.graph
    before = ONE if steps.backwards else ZERO
    asked = {result_of(call): call for call in results}
    reads: dict[str, Row] = {}
    writes: list[Row | None] = []
    words: dict[str, str | None] = {}
    for k, place in enumerate(steps.states):
        call, last = asked.get((k, True)), whole.last(graph, k)
        if word := name_of(graph, whole, k):
            graph.suggest(call or last, word)
        if call is None:
            own = draft.filled(last, known.whole(whole.starts[k]).array)
            row, after = Row(own, None), Row(own, None)
            if (k, False) in asked:
                known.values[asked[k, False]] = whole_of(own)
        else:
            own = draft.filled(call, array(ops.Fill(call.dims, 0)))
            row, after = Row(own, before), Row(own, ONE - before)
            ends = (steps.count, ZERO) if steps.backwards else (ZERO, steps.count)
            if not is_zero(whole.starts[k]):
                number = constant_value(whole.starts[k])
                start = known.whole(whole.starts[k]).array
                value = start if number is None else array(ops.Number(number))
                draft.add(Store(own, Row(own).index(ends[0]), (), "=", value))
            known.values[call] = whole_of(own)
            if (k, False) in asked:
                end = Row(own).at(ends[1], own)
                known.values[asked[k, False]] = whole_of(end)
        reads[place.name] = row
        writes.append(after)
        words[place.name] = word
        if word and children(steps.roots[k]):
            graph.suggest(steps.roots[k], later(steps.backwards, word))
    for k in range(len(steps.made)):
        call = asked.get((len(steps.states) + k, True))
        writes.append(None)
        if call is not None:
            own = draft.filled(call, array(ops.Fill(call.dims, 0)))
            writes[-1] = Row(own, runs=_runs(steps, steps.made[k]))
            known.values[call] = whole_of(own)
    for place, node in zip(steps.items, whole.rows, strict=True):
        reads[place.name] = _rows(known, node, _runs(steps, place))
        words[place.name] = row_word(graph, node)
    for place, node in zip(steps.fixed, whole.constants, strict=True):
        reads[place.name] = Row(_array(known, node), None)
        words[place.name] = row_word(graph, node)
    pairs = zip(steps.roots, writes, strict=True)
    kept = [(root, row) for root, row in pairs if row is not None]
    lowered = body([root for root, _ in kept])
    into = [row for _, row in kept]
    given = steps.count, steps.backwards, *lowered, reads, into, words, steps.runs
    draft.add(Repeat(*given))


def _runs(steps: Steps, node: Node) -> Runs | None:
    return steps.runs if steps.is_part(node) else None


def _rows(known: Values, node: Node, runs: Runs | None) -> Row:
    """The rows that steps take, where they stand: of `x[1:]` those of x are read."""
    match node:
        case Product(
            factors=(whole,), constraints=(tie,), coefficient=1, inner=(_,)
        ) if (tie.kind == "eq"):
            row, *rest = whole.labels
            sign = dict(tie.form.terms).get(row, 0)
            moves = {row: sign, 0: -sign}
            low = tie.form.const * -sign
            rows = whole.node.dims[0] - low - node.dims[0]
            inside = low.is_nonnegative() and rows.is_nonnegative()
            same = dict(tie.form.terms) == moves and rest == [*range(1, node.order)]
            if same and inside:  # what lies outside is zero
                return Row(_array(known, whole.node, True), low, runs)
    return Row(_array(known, node, True), runs=runs)


def _array(known: Values, node: Node, by_rows: bool = False) -> Array:
    """A variable for what is given to steps, maybe `by_rows`, each near together."""
    if index_bound(node) is None:
        found = known.whole(node)
    else:  # places, and no numbers
        axes = tuple(range(node.order))
        found = ordered(known.operand(Ref(node, axes)), axes)
    if found.is_name:
        return found.array
    apart = isinstance(found.array.op, ops.Permute) and found.array.op.axes[0] > 0
    value = array(ops.Copy(), found.array) if by_rows and apart else found.array
    return known.draft.variable(node, value)


def looped(
    one: Repeat,
    name: str,
    lines: Sequence[Statement],
    values: Sequence[Array],
    placed: Callable[[Array], Array],
    again: Callable[[str], str],
) -> Loop:
    """The loop over the statements of a step.

    `placed` has what arrays from before it have become, `again` gives another name.
    """
    at = Dim.symbol(name)
    given = {
        x.op.name: x
        for line in lines
        for x in below(operands(line))
        if isinstance(x.op, ops.Variable)
    }
    given |= {x.op.name: x for x in below(values) if isinstance(x.op, ops.Variable)}
    known: dict[Array, Array] = {}
    parts: list[Statement] = []
    for place, row in one.reads.items():
        if place not in given:
            continue
        found = row.at(at, placed(row.array))
        if row.runs is not None:
            called = again(f"{one.words[place] or 'item'}_run")
            parts.append(Let(called, found))
            found = bound(called, found)
        known[given[place]] = found
    for own in given.values():
        assert isinstance(own.op, ops.Variable)
        if own not in known and own.op.base in one.reads:
            real = base(known[given[own.op.base]]) if own.op.base in given else None
            known[own] = variable(own.op.name, own.dims, own.kind, real, own.op.boxed)
    change = replacing(known)
    body = [*parts, *(rebuilt(line, change) for line in lines)]
    rows, names = _stores(one, at, [change(value) for value in values], placed)
    body += [*rows, *_in_turn(names, again)]
    loop = Loop(name, ZERO, one.count, tuple(body), backwards=one.backwards)
    if one.runs is None:
        return loop
    (width,), runs = one.runs.width.symbols, one.runs
    return replace(loop, width=width, runs=(runs.total, runs.length))


def _stores(
    one: Repeat, at: Dim, values: Sequence[Array], placed: Callable[[Array], Array]
) -> tuple[list[Store], list[Store]]:
    """What a step leaves in rows, and under names."""
    rows: list[Store] = []
    names: list[Store] = []
    for row, value in zip(one.writes, values, strict=True):
        target = placed(row.array)
        if row.shift is None:
            names.append(_renewed(target, row.index(at), value))
        else:
            rows.append(Store(target, row.index(at), (), "=", value))
    return rows, names


def _renewed(target: Array, at: ops.Index, value: Array) -> Store:
    """What a name becomes: its own array with something added, or another one."""
    assert isinstance(target.op, ops.Variable)
    own = target.op.base == target.op.name and target.dims == value.dims
    match value.op:
        case ops.Add(signs=signs) if own and target in value.args:
            k = value.args.index(target)
            rest = [
                (sign, x)
                for j, (sign, x) in enumerate(zip(signs, value.args, strict=True))
                if j != k
            ]
            if signs[k] > 0 and not any(_reads(x, target) for _, x in rest):
                added = array(
                    ops.Add(tuple(sign for sign, _ in rest)), *(x for _, x in rest)
                )
                if len(rest) == 1 and rest[0][0] > 0:
                    added = rest[0][1]
                return Store(target, at, (), "+=", added)
    return Store(target, at, (), "is", value)


def _in_turn(stores: Sequence[Store], again: Callable[[str], str]) -> list[Statement]:
    """What names become, in an order in which none is read after it has changed."""
    waiting, done = list(stores), list[Statement]()
    while waiting:
        for store in waiting:
            others = [x for x in waiting if x is not store]
            if not any(_reads(x.value, store.target) for x in others):
                waiting.remove(store)
                done.append(store)
                break
        else:  # each reads another one
            store = waiting[0]
            assert isinstance(store.target.op, ops.Variable)
            name = again(store.target.op.name)
            done.append(Let(name, store.value))
            waiting[0] = replace(store, value=bound(name, store.value))
    return done


def _reads(value: Array, target: Array) -> bool:
    return any(x is target for x in below([value]))
