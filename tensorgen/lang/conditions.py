"""Comparisons: elementwise conditions, or affine conditions on indices."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tensorgen.ir.nodes import Constraint, Kind, constant_value
from tensorgen.lang.affine import affine_form, constraint
from tensorgen.lang.ends import one_end
from tensorgen.lang.facts import Compared
from tensorgen.lang.index_forms import Entry, Form, Index
from tensorgen.lang.statement import Statement
from tensorgen.operators.conditions.positions import is_indicator, of_positions
from tensorgen.operators.functions.arithmetic import elementwise, times
from tensorgen.operators.functions.array import Array, Label, Misuse, number

_NAMES: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("less", "<"),
    ast.LtE: ("less_equal", "<="),
    ast.Gt: ("greater", ">"),
    ast.GtE: ("greater_equal", ">="),
    ast.Eq: ("equal", "=="),
    ast.NotEq: ("not_equal", "!="),
}


def _pairs(tree: ast.Compare) -> Iterator[tuple[ast.expr, ast.cmpop, ast.expr]]:
    """The single comparisons of a chain like a < b < c."""
    left = tree.left
    for op, right in zip(tree.ops, tree.comparators, strict=True):
        yield left, op, right
        left = right


def comparison(e: Statement, tree: ast.Compare) -> Array | None:
    """Return 1 where a comparison holds and 0 elsewhere."""
    result: Array | None = None
    for left, op, right in _pairs(tree):
        if type(op) not in _NAMES:
            e.fault("'in' and 'is' cannot be used in an expression", tree)
            return None
        values = e.values((left, right))
        if values is None:
            return None
        pair = ast.copy_location(ast.Compare(left, [op], [right]), tree)
        # In a step, indices are numbers that places are compared with.
        if e.steps is None and (affine := affine_conditions(e, pair)):
            one = indicator(e, affine)
            if result is not None:
                one = elementwise(e.build, "logical_and", [result, one])
            result = one
            continue
        if isinstance(op, ast.Eq):
            _note_compared(e, affine_form(e, left), affine_form(e, right))
        name, sign = _NAMES[type(op)]
        try:
            one = elementwise(e.build, name, values, f"'{sign}'", ("a", "b"))
            one = Array(of_positions(e.build.graph, one.node), one.batch)
            if result is not None:
                one = elementwise(e.build, "logical_and", [result, one])
        except Misuse as misuse:
            place = e.expression.operator(left, right, sign)
            e.misused(misuse, place, {"a": left, "b": right})
            return None
        result = one
    return result


def _note_compared(e: Statement, a: Form | None, b: Form | None) -> None:
    """Note an index that is compared with an index array: that may give its range."""
    if a is None or b is None or e.known is not None:
        return
    difference = a - b
    plain = [(atom, c) for atom, c in difference.terms if isinstance(atom, Index)]
    entries = [(atom, c) for atom, c in difference.terms if isinstance(atom, Entry)]
    if len(plain) == len(entries) == 1 and plain[0][1] == -entries[0][1]:
        (index, sign), (entry, _) = plain[0], entries[0]
        if abs(sign) == 1:
            shift = difference.const * sign
            e.ranges.compared.append(Compared(index, shift, entry.bound))


def affine_conditions(e: Statement, tree: ast.expr) -> list[tuple[Kind, Form]] | None:
    """Return the deltas and indicators that a condition on indices consists of.

    None means that it is no affine condition; `!=` is none either.
    """
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitAnd):
        left, right = affine_conditions(e, tree.left), affine_conditions(e, tree.right)
        return None if left is None or right is None else left + right
    if not isinstance(tree, ast.Compare):
        return None
    found: list[tuple[Kind, Form]] = []
    for left_side, op, right_side in _pairs(tree):
        if within := _band(e, left_side, op, right_side):
            found += within
            continue
        a, b = affine_form(e, left_side), affine_form(e, right_side)
        if a is None or b is None or not (a.terms or b.terms):
            return None
        match op:
            case ast.Lt():
                found.append(("ge", b - a - 1))
            case ast.LtE():
                found.append(("ge", b - a))
            case ast.Gt():
                found.append(("ge", a - b - 1))
            case ast.GtE():
                found.append(("ge", a - b))
            case ast.Eq():
                _note_compared(e, a, b)
                found.append(("eq", a - b))
            case _:
                return None
    return found


def selection(
    e: Statement, condition: ast.expr, x: ast.expr, y: ast.expr
) -> tuple[Array | None, Array | None]:
    """The two values of a `where`, each read where the condition chooses it."""
    match condition:
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=others):
            equal = ast.copy_location(ast.Compare(left, [ast.Eq()], others), condition)
            return selection(e, equal, y, x)[::-1]
    affine = affine_conditions(e, condition) or []
    holds = [g for kind, f in affine for g in ([f] if kind == "ge" else [f, -f])]
    fails: list[Form] = []
    if len(affine) == 1:
        ((kind, form),) = affine
        if kind == "ge":
            fails = [-form - 1]
        elif len(form.terms) == 1 and form.const == 0 and form.terms[0][1] == 1:
            # An index on the left begins at 0.
            fails = [form - 1] if all(i.left for i in form.indices) else []
    return e.value_where(x, holds), e.value_where(y, fails)


def at_places(e: Statement, condition: ast.expr, x: Array, y: Array) -> Array | None:
    """What a `where` is that chooses by places alone, and else is 0: a product."""
    if constant_value(y.node) != 0 or e.steps is not None:
        return None
    affine = affine_conditions(e, condition)
    return times(e.build, [indicator(e, affine), x]) if affine else None


def masked(e: Statement, *given: object) -> Array | None:
    """The same of arrays, where the condition is a comparison of positions."""
    condition, x, y = (part for part in given if isinstance(part, Array))
    if constant_value(y.node) != 0 or e.steps is not None:
        return None
    return times(e.build, [condition, x]) if is_indicator(condition.node) else None


def without_equals(tree: ast.Call, x: Array) -> ast.Call:
    """`where(i == j, 0, y)` as `where(i != j, y, 0)`: what is 0 stands last."""
    condition, first, second = tree.args
    match condition:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=others):
            if constant_value(x.node) == 0:
                other = ast.Compare(left, [ast.NotEq()], others)
                args = [ast.copy_location(other, condition), second, first]
                return ast.copy_location(ast.Call(tree.func, args, []), tree)
    return tree


def is_zero_elsewhere(e: Statement, condition: ast.expr, x: Array, y: Array) -> bool:
    """Whether a `where` selects nothing: its value is 0 where the condition fails.

    What is read beyond the end of an axis is 0 already, as an indicator that says so.
    """
    if constant_value(y.node) != 0 or e.known is None:
        return False
    affine = affine_conditions(e, condition)
    if not affine or any(i not in x.batch for _, f in affine for i in f.mentioned):
        return False
    constraints = [constraint(e, kind, form) for kind, form in affine]
    labels = x.labels([("axis", k) for k in range(x.order)])
    with_it = e.build.graph.product(
        labels, [(x.node, labels)], constraints=constraints, sizes=e.sizes(x.batch)
    )
    return with_it is x.node


def _band(
    e: Statement, left: ast.expr, op: ast.cmpop, right: ast.expr
) -> list[tuple[Kind, Form]]:
    """The two indicators of `abs(i - j) <= k` or of `k >= abs(i - j)`; else none."""
    match op:
        case ast.LtE() | ast.Lt():
            size, bound = left, right
        case ast.GtE() | ast.Gt():
            size, bound = right, left
        case _:
            return []
    match size:
        case ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[]):
            a, b = affine_form(e, inner), affine_form(e, bound)
        case _:
            return []
    if a is None or b is None or not a.terms:
        return []
    most = b - isinstance(op, ast.Lt | ast.Gt)
    return [("ge", most - a), ("ge", most + a)]


def split(tree: ast.expr) -> Iterator[ast.expr]:
    """The conditions that are joined by &."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitAnd):
        yield from split(tree.left)
        yield from split(tree.right)
    else:
        yield tree


def indicator(
    e: Statement, conditions: list[tuple[Kind, Form]], axes: tuple[Index, ...] = ()
) -> Array:
    """Return 1 where all affine conditions hold; `axes` become positional, last."""
    mentioned: dict[Label, None] = {}
    constraints: list[Constraint] = []
    for kind, form in conditions:
        mentioned.update(dict.fromkeys(form.mentioned))
        constraints.append(constraint(e, kind, form))
    batch = tuple(label for label in mentioned if label not in axes)
    out = (*batch, *axes)
    sizes = e.sizes(out)
    node = e.build.graph.product(out, [], constraints=constraints, sizes=sizes)
    return Array(node, batch)


def delta(e: Statement, tree: ast.Call) -> Array | None:
    """Return 1 where two affine forms of indices are equal."""
    if len(tree.args) != 2 or tree.keywords:
        e.fault("delta takes two arguments: delta(i, j)", tree)
        return None
    if (other := one_end(e, tree)) is not None:
        return e.value(other)
    forms = [affine_form(e, part) for part in tree.args]
    for part, form in zip(tree.args, forms, strict=True):
        if form is None:
            hint = "delta takes indices and dims; where(a == b, 1, 0) takes any values"
            e.no_form(part, "'{}' is not affine in indices and dims", hint)
    a, b = forms
    if a is None or b is None:
        return None
    _note_compared(e, a, b)
    difference = a - b
    if not difference.terms:
        constant = difference.const.constant
        if constant is not None:
            return number(e.build, int(constant == 0))
        sizes = [Array(e.build.graph.size(form.const)) for form in (a, b)]
        return elementwise(e.build, "equal", sizes)
    return indicator(e, [("eq", difference)])
