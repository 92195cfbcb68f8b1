"""Calls of index notation: reductions bind indices, `softmax(q[i, k], k)` follows one.

`sum(f, i, j, k=range(..), condition, ...)` evaluates f with the indices in scope and
makes their axes the last positional ones; the row of the table then reduces over them
as over any axes. What bounds and conditions leave out goes along as a mask.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from tensorgen.ir.nodes import Kind
from tensorgen.lang.affine import affine_form, size_form
from tensorgen.lang.bind_arguments import bind
from tensorgen.lang.conditions import affine_conditions, indicator, split
from tensorgen.lang.entrywise_slips import LARGER
from tensorgen.lang.facts import Bounds
from tensorgen.lang.index_forms import Form, Index
from tensorgen.lang.ranges import floor_divided
from tensorgen.lang.statement import Statement
from tensorgen.operators.functions import Function
from tensorgen.operators.functions.arithmetic import elementwise, is_condition
from tensorgen.operators.functions.array import Array, Misuse
from tensorgen.operators.functions.reductions import Mask

# What a name that is no index may be meant for, behind the first argument.
_AXIS = "an axis is a number: axis=0"


def states_condition(tree: ast.expr) -> bool:
    """Whether a part is written as a condition, or as several that are joined."""
    match tree:
        case ast.Compare():
            return True
        case ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return True
        case ast.UnaryOp(op=ast.Invert()):
            return True
    return False


def _is_index(function: Function, k: int, tree: ast.expr) -> bool:
    if not isinstance(tree, ast.Name):
        return False
    return not (function.name == "norm" and k == 0 and tree.id == "inf")


def binds(function: Function, tree: ast.Call) -> bool:
    """Whether a call of a reduction binds indices or has conditions."""
    names = {p.name for p in function.parameters}
    if not tree.args:
        return False
    return any(
        _is_index(function, k, part) or states_condition(part)
        for k, part in enumerate(tree.args[1:])
    ) or any(keyword.arg not in names for keyword in tree.keywords)


@dataclass(slots=True)
class _Binding:
    """What stands behind the first argument of a reduction."""

    indices: list[Index] = field(default_factory=list)
    affine: list[tuple[Kind, Form]] = field(default_factory=list)
    others: list[Array] = field(default_factory=list)
    rest: list[ast.expr] = field(default_factory=list)
    keywords: list[ast.keyword] = field(default_factory=list)


def reduction(e: Statement, function: Function, tree: ast.Call) -> Array | None:
    """Return a reduction over indices that it binds."""
    outer = dict(e.scope)
    guards = len(e.guards)
    try:
        binding = _bind(e, function, tree)
        body = None if binding is None else e.value(tree.args[0])
    finally:
        e.scope = outer
        del e.guards[guards:]
    if binding is None or body is None:
        return None
    return _reduced(e, function, tree, binding, body)


def _bind(e: Statement, function: Function, tree: ast.Call) -> _Binding | None:
    """Read indices, then bounds, then conditions: each may mention those before."""
    found = _Binding()
    names = {p.name for p in function.parameters}
    fine = True
    conditions: list[ast.expr] = []
    for k, part in enumerate(tree.args[1:]):
        if states_condition(part):
            conditions += split(part)
        elif isinstance(part, ast.Name) and _is_index(function, k, part):
            index = e.bind(part, part.id, LARGER.get(function.name, _AXIS))
            fine &= index is not None
            found.indices += [index] if index is not None else []
        else:
            found.rest.append(part)
    ranges: list[tuple[Index, ast.expr]] = []
    for keyword in tree.keywords:
        if keyword.arg in names:
            found.keywords.append(keyword)
        elif keyword.arg is not None and is_range(keyword.value):
            index = e.bind(keyword, keyword.arg)
            fine &= index is not None
            if index is not None:
                found.indices.append(index)
                ranges.append((index, keyword.value))
        else:
            message = f"'{function.name}' has no argument '{keyword.arg or '**'}'"
            hint = f"it is called as {function}, and k=range(5) bounds an index"
            e.fault(message, keyword, hint=hint)
            fine = False
    for index, part in ranges:
        more = bounded(e, index, part)
        fine &= more is not None
        for form in more or ():
            _hold(e, found, "ge", form)
    if fine and not found.indices:
        e.fault(
            "a condition needs an index that is bound here",
            conditions[0],
            hint=f"{function.name}(..., i, condition); where(...) selects anywhere",
        )
        return None
    for part in conditions:
        fine &= _condition(e, found, part)
    return found if fine else None


def is_range(tree: ast.expr) -> bool:
    """Whether a part is written as a range."""
    match tree:
        case ast.Call(func=ast.Name(id="range")):
            return True
    return False


def bounded(e: Statement, index: Index, tree: ast.expr) -> list[Form] | None:
    """Note the bounds of an index, and what they guard; None after a fault.

    Returns what else is not negative: an index has one low and one high bound, of
    which others leave less, and so does the end of a range with a stride.
    """
    assert isinstance(tree, ast.Call)
    if tree.keywords or len(tree.args) not in (1, 2, 3):
        message = "a range takes a stop, or a start and a stop, or these and a stride"
        e.fault(message, tree)
        return None
    alone = len(tree.args) == 1
    with e.around(index):
        lows = [Form.constant(0)] if alone else _bounds(e, tree.args[0], "max")
        highs = _bounds(e, tree.args[0 if alone else 1], "min")
        stride = _stride(e, tree.args[2]) if len(tree.args) == 3 else 1
    if lows is None or highs is None or stride is None:
        return None
    if stride > 1 and len(lows) > 1:
        message = "a range with a stride has one start"
        e.fault(message, tree.args[0], hint="state the others as conditions")
        return None
    # What does not depend on other indices says most of how long the axis is.
    low, high = (next((f for f in x if not f.terms), x[0]) for x in (lows, highs))
    if low.terms or high.terms:
        # Where anything is evaluated, the range is not empty.
        e.guards.append(high - 1 - low)
    own, within = Form.atom(index), Bounds(low, high)
    left = [f for f in highs if f != high]
    if stride > 1:
        own = e.ranges.strided[index] = own.scaled(stride) + low
        size = high - low
        count = None if size.terms else floor_divided(size.const + stride - 1, stride)
        if count is None:
            left = highs
        within = Bounds(Form.constant(0), size if count is None else size.of((), count))
    e.ranges.bounds[index] = within
    more = [*(own - f for f in lows if f != low), *(f - 1 - own for f in left)]
    e.ranges.parted.update({index: None} if more else {})
    return more


def _bounds(e: Statement, tree: ast.expr, several: str) -> list[Form] | None:
    """Read the start of a range, which may be a `max`, or the stop, a `min`."""
    parts = [tree]
    match tree:
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args, keywords=[]):
            parts = args if name == several else parts
    forms: list[Form] = []
    for part in parts:
        form = affine_form(e, part)
        if form is None or len(form.indices) < len(form.terms):
            hint = "a range starts at one, or max(...) of some; it stops at min(...)"
            e.no_form(part, "the bound '{}' is not affine in dims and indices", hint)
            return None
        forms.append(form)
    return forms


def _stride(e: Statement, tree: ast.expr) -> int | None:
    size = size_form(e, tree)
    stride = None if size is None else size.constant
    if stride is not None and stride > 0:
        return stride
    hint = "reverse positions instead: x[n - 1 - i]" if stride else None
    e.fault("the stride of a range is a positive integer", tree, hint=hint)
    return None


def _condition(e: Statement, found: _Binding, tree: ast.expr) -> bool:
    """Read one condition, as affine forms if it is that."""
    affine = affine_conditions(e, tree)
    if affine is None:
        value = e.value(tree)
        if value is None:
            return False
        if value.order or not is_condition(value.node):
            e.fault("a condition compares single entries", tree)
            return False
        found.others.append(value)
        return True
    for kind, form in affine:
        _hold(e, found, kind, form)
    return True


def _hold(e: Statement, found: _Binding, kind: Kind, form: Form) -> None:
    """Note an affine condition, and what it guards."""
    found.affine.append((kind, form))
    both = [form] if kind == "ge" else [form, -form]
    e.guards += both
    for index in found.indices:
        if e.known is None:
            e.ranges.conditions += [(index, f) for f in both]


def _reduced(
    e: Statement, function: Function, tree: ast.Call, binding: _Binding, body: Array
) -> Array | None:
    """Call the row on the body, whose last axes are those of the bound indices."""
    call = ast.Call(tree.func, [tree.args[0], *binding.rest], binding.keywords)
    arguments = bind(e, function, ast.copy_location(call, tree), {"x": body})
    if arguments is None:
        return None
    if "axis" in arguments.values or "keepdims" in arguments.values:
        message = "'axis' and 'keepdims' do not go together with indices"
        hint = "an axis is reduced by an index too: sum(X[i, j], j)"
        e.fault(message, arguments.places.get("axis", tree), hint=hint)
        return None
    indices = binding.indices
    x = e.arranged(body, (), indices)
    count = len(indices)
    axes = tuple(range(x.order - count, x.order))
    try:
        arguments.values.update(x=x, axis=axes, mask=_mask(e, binding))
        return function.build(e.build, **arguments.values)
    except Misuse as misuse:
        e.misused(misuse, tree, arguments.places)
        return None


def _mask(e: Statement, binding: _Binding) -> Mask:
    """What bounds that depend on indices and conditions leave of the axes."""
    indices = tuple(binding.indices)
    affine = list(binding.affine)
    for index in indices:
        if e.ranges.dependent(index):
            low, high = e.ranges.bounds[index]
            form = Form.atom(index)
            affine += [("ge", form - low), ("ge", high - 1 - form)]
    weight = indicator(e, affine, indices) if affine else None
    condition: Array | None = None
    for value in binding.others:
        value = e.arranged(value, (), indices)
        if condition is not None:
            value = elementwise(e.build, "logical_and", [condition, value])
        condition = value
    return Mask(weight, condition)


# Functions that keep the index


def follows(tree: ast.Call) -> bool:
    """Whether a call like softmax(q[i, k], k) names indices to work along."""
    return any(isinstance(part, ast.Name) for part in tree.args[1:])


def along(e: Statement, function: Function, tree: ast.Call) -> Array | None:
    """Return a function along the axes of indices in scope, which stay."""
    body = e.value(tree.args[0])
    if body is None:
        return None
    indices: list[Index] = []
    for part in tree.args[1:]:
        if not isinstance(part, ast.Name) or part.id not in e.scope:
            message = f"'{function.name}' keeps its index, so it cannot bind one"
            hint = "name indices of the left side or of a reduction around it"
            e.fault(message, part, hint=hint)
            return None
        indices.append(e.scope[part.id])
    for index in indices:
        if index in e.ranges.parted:
            message = f"the range of '{index.name}' leaves out some of an axis"
            hint = f"{function.name}(where(..., x, -inf), {index.name}) leaves out some"
            e.fault(message, tree, hint=hint)
            return None
    missing = [i for i in indices if i not in body.batch]
    if missing or tree.keywords:
        message = f"'{function.name}' takes indices of its first argument, or axis="
        e.fault(message, tree)
        return None
    x = e.arranged(body, (), indices)
    axes = tuple(range(x.order - len(indices), x.order))
    axis = axes[0] if len(axes) == 1 else axes
    result = function.build(e.build, x=x, axis=axis)
    return _named(e, result, indices)


def _named(e: Statement, x: Array, indices: Sequence[Index]) -> Array:
    """Make the last positional axes those of indices again."""
    kept = [("axis", k) for k in range(x.order - len(indices))]
    batch = (*x.batch, *indices)
    node = e.build.graph.product(
        (*batch, *kept), [(x.node, (*x.batch, *kept, *indices))]
    )
    return Array(node, batch)
