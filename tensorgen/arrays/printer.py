"""Arrays as the text of NumPy, or of a library that is spelled like it.

Parentheses are set where a reader needs them: `@` always stands apart from `*`
and `-`, because `2 * A @ x` means `(2 * A) @ x`, which is rarely what is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import assert_never

from tensorgen.arrays import operations as ops
from tensorgen.arrays.arithmetic_text import power, product, total
from tensorgen.arrays.arrays import Array
from tensorgen.arrays.number_text import axis_argument, limit, number, shape, size
from tensorgen.arrays.object_operations import Object
from tensorgen.arrays.object_text import object_text
from tensorgen.arrays.places import At, Entries, Mark, Part, Slice, expanded
from tensorgen.arrays.templates import Level, Template, Text, template
from tensorgen.ir.dims import Dim
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.helpers.logistic import together
from tensorgen.operators.helpers.special import order_of

# Where a library takes arrays alone, and NumPy takes numbers too: places by function.
_ARRAYS_ALONE: dict[str, dict[str, tuple[int, ...]]] = {
    "cp": {"where": (0,), "polygamma": (0,)}
}
# Where `**` is the power of any two numbers, and a square is quicker.
_SLOW_POWERS = ("cp",)
LETTERS = "ijklmnpqrstuvwxyzabcdefghoIJKLMNPQRSTUVWXYZABCDEFGHO"


def call_template(op: ops.Call, one: Array) -> Template:
    """The template of a call.

    What walks along an axis may have axes that its first argument lacks.
    """
    walks = "along" in OPERATORS[op.operator].params
    walked = [one] if walks else one.args[:1]
    return row_template(op, walked[0].order if walked else 0)


def row_template(op: ops.Elementwise | ops.Call, order: int) -> Template:
    """The template of a row, with all that its operands do not say filled in."""
    if isinstance(op, ops.Elementwise):
        return template(ELEMENTWISE[op.function].numpy)
    text = op.text or OPERATORS[op.operator].numpy
    if op.axes is not None:
        argument = axis_argument(op.axes, order)
        text = text.replace("{axis}", f", {argument}" if argument else "")
    if op.reshapes:
        sizes = [size(dim).text for dim in told_shape(op)]
        text = text.replace("{shape}", ", ".join(sizes))
    return template(text)


def told_shape(op: ops.Call) -> tuple[Dim, ...]:
    """The shape that a call is told: a view along one axis finds its length itself."""
    alone = len(op.dims) == 1 and OPERATORS[op.operator].view
    return (Dim.of(-1),) if alone else op.dims


def windows(alias: str) -> str:
    """The function that makes windows. CuPy's own reads their sizes on the device."""
    own = alias != "np"
    return "_windows" if own else "np.lib.stride_tricks.sliding_window_view"


def lifted(op: ops.Elementwise, one: Array, alias: str) -> Iterator[int]:
    """The places of numbers that have to be arrays, for what a library asks of them.

    Helpers choose by what they are given, and choices are of arrays alone.
    """
    if alias in _ARRAYS_ALONE:
        known = _ARRAYS_ALONE[alias].get(op.function, ())
        helped = bool(row_template(op, one.order).helpers)
        for k, arg in enumerate(one.args):
            if arg.weak and (helped or k in known):
                yield k


def _chooses_numbers(one: Array) -> bool:
    """Whether Python can choose: a number by a condition of numbers."""
    is_choice = isinstance(one.op, ops.Elementwise) and one.op.function == "where"
    return is_choice and all(arg.weak for arg in one.args)


def _is_inner(one: Array) -> bool:
    """Whether NumPy's types call it a truth value, perhaps, which has no minus."""
    return isinstance(one.op, ops.InnerProduct)


class Printer:
    """Writes arrays for the array module called `alias`."""

    def __init__(self, alias: str) -> None:
        """Write calls as `alias.function(...)`."""
        self.alias = alias

    def text(self, one: Array) -> str:
        """The text of an array."""
        return self.written(one).text

    def written(self, one: Array) -> Text:
        """The text of an array, with how tightly it binds."""
        found = one.memo.get(self.alias)
        if not isinstance(found, Text):
            found = one.memo[self.alias] = self._write(one)
        return found

    def _write(self, one: Array) -> Text:
        op = one.op
        args = [self.written(arg) for arg in one.args]
        if isinstance(op, ops.Leaf):
            return self._leaf(op)
        if isinstance(op, ops.Entrywise):
            return self._entrywise(op, one, args)
        if isinstance(op, ops.Contraction):
            return self._contraction(op, one, args)
        if isinstance(op, ops.View):
            return self._view(op, one, args)
        if isinstance(op, Object):
            return object_text(op, args, self.alias)
        return self._making(op, args)

    def call(self, function: str, *arguments: str) -> Text:
        """A call of the array module."""
        return Text(f"{self.alias}.{function}({', '.join(filter(None, arguments))})")

    def _leaf(self, op: ops.Leaf) -> Text:
        match op:
            case ops.Variable(name=name):
                return Text(name)
            case ops.Number(value=value):
                return number(value)
            case ops.Truth(value=holds):
                return Text(str(holds))
            case ops.Constant(name=name):
                return Text(f"{self.alias}.{name}")
            case ops.Size(dim=dim, clipped=clipped):
                text = size(dim)
                return Text(f"max({text.text}, 0)") if clipped else text
            case _:
                assert_never(op)

    def _entrywise(self, op: ops.Entrywise, one: Array, args: list[Text]) -> Text:
        match op:
            case ops.Multiply(coefficient=coefficient, above=above):
                if coefficient == -1 and above and _is_inner(one.args[0]):
                    numbers = [number(coefficient), *args[:above]]
                    return product(Fraction(1), numbers, args[above:])
                return product(coefficient, args[:above], args[above:])
            case ops.Add(signs=signs):
                return total(list(zip(signs, args, strict=True)))
            case ops.Power(exponent=exponent):
                if self.alias in _SLOW_POWERS and exponent == 2 and not one.weak:
                    return self.call("square", args[0].text)
                return power(args[0], exponent)
            case ops.Conjunction():
                return Text(" & ".join(arg.at(Level.SUM) for arg in args), Level.BIT)
            case ops.Compare(sign=sign):
                left, right = (arg.at(Level.SUM) for arg in args)
                return Text(f"{left} {sign} {right}", Level.COMPARE)
            case ops.Elementwise(function="pow"):
                first, second = (arg.at(Level.ATOM) for arg in args)
                return Text(f"{first} ** {second}", Level.POWER)
            case ops.Elementwise(function="logical_not") if one.args[0].weak:
                return Text(f"not {args[0].at(Level.COMPARE)}", Level.COMPARE)
            case ops.Elementwise():
                for k in lifted(op, one, self.alias):
                    kind = "dtype=dtype" if one.args[k].kind == "float" else ""
                    args[k] = self.call("asarray", args[k].text, kind)
                return row_template(op, one.order).fill(self.alias, args)
            case ops.Bundle(functions=functions) if len(args) > 1:
                listed = ", ".join(arg.text for arg in args)
                return Text(f"_normal_between({listed}, {order_of(functions)})")
            case ops.Bundle(functions=functions):
                return Text(f"{together(functions)}({args[0].text})")
            case ops.AsFloat():
                return Text(f"{args[0].at(Level.ATOM)}.astype(dtype)")
            case ops.Python(function="float") if _chooses_numbers(one.args[0]):
                condition, yes, no = (self.text(arg) for arg in one.args[0].args)
                return Text(f"{yes} if {condition} else {no}", Level.COMPARE)
            case ops.Python(function=name):
                return Text(f"{name}({args[0].text})")
            case ops.FloatPower():
                return self.call("float_power", *(arg.text for arg in args))
            case _:
                assert_never(op)

    def _contraction(self, op: ops.Contraction, one: Array, args: list[Text]) -> Text:
        texts = [arg.text for arg in args]
        match op:
            case ops.MatMul():
                left, right = args
                # A chain stands without parentheses where it runs leftwards.
                chain = left.level == Level.MATMUL
                first = left.text if chain else left.at(Level.POWER)
                return Text(f"{first} @ {right.at(Level.POWER)}", Level.MATMUL)
            case ops.Outer():
                return self.call("outer", *texts)
            case ops.InnerProduct():
                return self.call("vdot", *texts)
            case ops.TensorDot(left=left, right=right):
                return self.call("tensordot", *texts, _pairs(one, left, right))
            case ops.Einsum():
                return self.call(
                    "einsum",
                    _subscripts(op),
                    *texts,
                    "optimize=True" if len(texts) > 2 else "",
                )
            case ops.Trace():
                return self.call("trace", *texts)
            case ops.Reduce(axes=axes):
                along = axis_argument(axes, one.args[0].order)
                return Text(f"{args[0].at(Level.ATOM)}.sum({along})")
            case ops.Accumulate(axis=axis):
                along = "" if one.order == 1 else f"axis={axis}"
                return self.call("cumsum", *texts, along)
            case ops.MovingSum(length=length, axis=axis):
                least = [texts[0], size(length).text]
                if op.before != 0 or op.after != 0:
                    least += [size(op.before).text, size(op.after).text]
                along = "" if one.order == 1 else f"axis={axis}"
                return Text(f"_moving_sum({', '.join(filter(None, [*least, along]))})")
            case ops.Correlate(before=before, after=after):
                if before != 0 or after != 0:
                    texts += [size(before).text, size(after).text]
                return Text(f"_correlate({', '.join(texts)})")
            case ops.SumByKey(shape=sizes):
                first, *keys = texts
                key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
                lengths = [size(dim).text for dim in sizes]
                return Text(f"{op.helper}({', '.join([first, key, *lengths])})")
            case ops.Solve(factored=True):
                return Text(f"_cholesky_solve({', '.join(texts)})")
            case ops.Solve():
                return self.call("linalg.solve", *texts)
            case ops.Call():
                return call_template(op, one).fill(self.alias, args)
            case _:
                assert_never(op)

    def _view(self, op: ops.View, one: Array, args: list[Text]) -> Text:
        first = args[0]
        match op:
            case ops.Permute(axes=axes):
                if axes == tuple(reversed(range(one.order))):
                    return Text(f"{first.at(Level.ATOM)}.T")
                order = ", ".join(map(str, axes))
                return Text(f"{first.at(Level.ATOM)}.transpose({order})")
            case ops.Expand(old=old):
                if (text := self._expanded(old, one.args[0], first)) is not None:
                    return text
                marks = [":" if kept else "None" for kept in old]
                return Text(f"{first.at(Level.ATOM)}[{joined(marks)}]")
            case ops.Diagonal(first=a, second=b):
                at = [f"axis1={a}", f"axis2={b}"] if one.args[0].order > 2 else []
                return self.call("diagonal", first.text, *at)
            case ops.Index() if (axis := op.taken) is not None:
                # Several times as fast as brackets, for more than vectors.
                return Text(f"{first.at(Level.ATOM)}.take({args[1].text}, axis={axis})")
            case ops.Index():
                places = joined(self.places(op, args[1:]))
                return Text(f"{first.at(Level.ATOM)}[{places or '...'}]")
            case ops.Windows(shape=sizes, axes=axes):
                few = len(axes) < one.args[0].order
                along = f"axis={axes[0] if len(axes) == 1 else axes}" if few else ""
                told = [text for text in (first.text, shape(sizes), along) if text]
                return Text(f"{windows(self.alias)}({', '.join(told)})")
            case ops.Broadcast(shape=sizes):
                return self.call("broadcast_to", first.text, shape(sizes))
            case _:
                assert_never(op)

    def _expanded(self, old: Sequence[bool], inner: Array, first: Text) -> Text | None:
        """New axes in the brackets of the slice that they are put into."""
        op = inner.op
        if not isinstance(op, ops.Index) or not inner.order:
            return None
        if not all(isinstance(part, Slice | At) for part in op.parts):
            return None
        places = self.places(op, ())
        brackets = f"[{joined(places)}]"
        if not first.text.endswith(brackets):
            return None  # it has a name
        marks = expanded(op.parts, places, inner.order, old)
        return Text(f"{first.text.removesuffix(brackets)}[{joined(marks)}]")

    def places(self, op: ops.Index, entries: Sequence[Text]) -> list[str]:
        """What stands in brackets, axis by axis."""
        waiting = iter(entries)
        return [place_text(part, waiting) for part in op.parts]

    def _making(self, op: ops.Making, args: list[Text]) -> Text:
        texts = [arg.text for arg in args]
        match op:
            case ops.Fill(shape=sizes, value=None):
                return self.call("full", shape(sizes), *texts, "dtype=dtype")
            case ops.Fill(shape=sizes, value=value):
                name = "ones" if value else "zeros"
                kind = "dtype" if op.kind == "float" else op.kind
                return self.call(name, shape(sizes), f"dtype={kind}")
            case ops.Eye(size=side):
                kind = "dtype" if op.kind == "float" else op.kind
                return self.call("eye", size(side).text, f"dtype={kind}")
            case ops.Range(low=low, high=high, real=real):
                ends = [size(end).text for end in (low, high)]
                whole = low == 0
                return self.call("arange", *ends[whole:], "dtype=dtype" if real else "")
            case ops.Triangle(rows=rows, columns=columns, shift=shift):
                square = rows == columns and shift == 0
                ends = [size(dim).text for dim in (rows, columns, shift)]
                kept = ends[:1] if square else ends[:2] if shift == 0 else ends
                return self.call("tri", *kept, "dtype=bool")
            case ops.Diag():
                return self.call("diag", *texts)
            case ops.Trim(lower=lower, shift=shift):
                by = "" if shift == 0 else size(shift).text
                return self.call("tril" if lower else "triu", *texts, by)
            case ops.Pad(widths=widths):
                pairs = [f"({size(a).text}, {size(b).text})" for a, b in widths]
                joined = pairs[0] if len(pairs) == 1 else f"({', '.join(pairs)})"
                return self.call("pad", *texts, joined)
            case ops.Concatenate(axis=axis):
                listed = f"[{', '.join(text.text for text in args)}]"
                return self.call("concatenate", listed, f"axis={axis}" if axis else "")
            case ops.Listed(shape=sides, typed=typed):
                width = len(args) if len(sides) < 2 else int(sides[1].constant or 1)
                lines = [args[k : k + width] for k in range(0, len(args), width)]
                found = [f"[{', '.join(x.text for x in line)}]" for line in lines]
                listed = found[0] if len(sides) < 2 else f"[{', '.join(found)}]"
                return self.call("array", listed, "dtype=dtype" * typed)
            case ops.Clip(last=last):
                return self.call("clip", *texts, "0", size(last).text)
            case ops.AsArray():
                return self.call("asarray", *texts, "dtype=dtype")
            case ops.Unbox():
                return Text(f"{args[0].at(Level.ATOM)}[()]")
            case ops.Copy(scalar=True):
                return Text(f"+{args[0].at(Level.ATOM)}", Level.UNARY)
            case ops.Copy():
                return Text(f"{args[0].at(Level.ATOM)}.copy()")
            case _:
                assert_never(op)


def _pairs(one: Array, left: tuple[int, ...], right: tuple[int, ...]) -> str:
    """The argument `axes` of `tensordot`, a number where the axes stand together."""
    order, count = one.args[0].order, len(left)
    last = tuple(range(order - count, order))
    if left == last and right == tuple(range(count)):
        return f"axes={count}"
    return f"axes={(left[0], right[0]) if count == 1 else (left, right)}"


def _subscripts(op: ops.Einsum) -> str:
    order = dict.fromkeys(label for labels in op.labels for label in labels)
    letter = dict(zip(order, LETTERS, strict=False))
    inputs = ",".join("".join(letter[x] for x in labels) for labels in op.labels)
    return f'"{inputs}->{"".join(letter[x] for x in op.kept)}"'


def place_text(part: Part, entries: Iterator[Text]) -> str:
    """A place in brackets; what it looks up is the next of some `entries`."""
    match part:
        case Slice(held=str(name)):
            return name
        case Slice(start=start, stop=stop, step=step):
            low, high = ("" if x is None else limit(x) for x in (start, stop))
            return f"{low}:{high}{'' if step == 1 else f':{step}'}"
        case At(limit=position):
            return limit(position)
        case Entries():
            return next(entries).text
        case Mark(text=text):
            return text
        case _:
            assert_never(part)


def joined(places: Sequence[str]) -> str:
    """Places without whole axes at the end, where these are understood."""
    kept = list(places)
    while kept and kept[-1] == ":" and "..." not in kept:
        kept.pop()
    return ", ".join(kept)
