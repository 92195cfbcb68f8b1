"""Array programs as scalar loops in C: a backend that has nothing of NumPy's.

Every entry is an expression of entries of variables; what sums is a loop before the
expression. What calls a library (factorisations, helpers) raises `Unprintable`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from tensorgen.arrays import operations as op
from tensorgen.arrays import places
from tensorgen.arrays.arrays import Array, array
from tensorgen.arrays.code import Code
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Scatter,
    Statement,
    Store,
    everything,
)
from tensorgen.ir.dims import ONE, ZERO, Dim

Indices = Sequence[str]

OF_ONE = (
    *("exp", "expm1", "log", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "sinh"),
    *("cosh", "tanh", "erf", "asin", "acos", "atan", "asinh", "floor"),
)
FUNCTIONS = {
    "where": "({0} ? {1} : {2})",
    "pow": "pow({0}, {1})",
    "relu": "fmax({0}, 0)",
    "abs": "fabs({0})",
    "maximum": "fmax({0}, {1})",
    "minimum": "fmin({0}, {1})",
    "sigmoid": "(1 / (1 + exp(-{0})))",
    "softplus": "(fmax({0}, 0) + log1p(exp(-fabs({0}))))",
    "sign": "(({0} > 0) - ({0} < 0))",
    "step": "({0} > 0 ? 1.0 : {0} == 0 ? 0.5 : 0.0)",
    "less": "({0} < {1})",
    "less_equal": "({0} <= {1})",
    "greater": "({0} > {1})",
    "greater_equal": "({0} >= {1})",
    "equal": "({0} == {1})",
    "not_equal": "({0} != {1})",
    "logical_and": "({0} && {1})",
    "logical_or": "({0} || {1})",
    "logical_not": "(!{0})",
    **{name: name + "({0})" for name in OF_ONE},
}
REDUCTIONS = {
    "max": ("-INFINITY", "{0} = fmax({0}, {1});"),
    "min": ("INFINITY", "{0} = fmin({0}, {1});"),
    "prod": ("1", "{0} *= {1};"),
    "any": ("0", "{0} = {0} || {1};"),
}
ADD = ("0", "{0} += {1};")


class Unprintable(Exception):
    """An operation that is no loop."""


def size(dim: Dim) -> str:
    """A size as an expression of long integers."""
    return f"({dim})"


class Loops:
    """The body of one function under construction."""

    def __init__(self) -> None:
        """Start without statements."""
        self.lines: list[str] = []
        self.count = 0

    def fresh(self, stem: str) -> str:
        """A name of its own."""
        self.count += 1
        return f"{stem}{self.count}"

    # Statements

    def statement(self, line: Statement) -> None:
        """Append the loops of a statement; what it binds has a buffer."""
        match line:
            case Let(name=name, value=value):
                self.fill(name, value)
            case Store(target=target, at=at, places=places, how=how, value=value):
                sign = "=" if how == "out=" else how
                self.change(array(at, target, *places), sign, value)
            case Loop():
                self.loop(line)
            case Scatter(target=target, at=at, places=places, value=value):
                self.change(array(at, target, *places), "+=", value)
            case Release():
                pass  # whoever calls has made the buffers
            case _:
                raise Unprintable(type(line).__name__)

    def loop(self, line: Loop) -> None:
        """Append a loop around the loops of statements."""
        at, high, step = line.name, size(line.high), size(line.step)
        head = f"long {at} = {size(line.low)}; {at} < {high}; {at} += {step}"
        if line.backwards:
            head = f"long {at} = {high} - 1; {at} >= {size(line.low)}; {at} -= 1"
        self.lines.append(f"for ({head}) {{")
        if line.width:
            most, rest = size(line.widest), size(line.left)
            self.lines.append(f"long {line.width} = {most} < {rest} ? {most} : {rest};")
        for inner in line.body:
            self.statement(inner)
        self.lines.append("}")

    def fill(self, name: str, value: Array) -> None:
        """Append the loops that compute every entry of a buffer."""

        def body(at: Indices) -> None:
            entry = self.entry(value, at)
            self.lines.append(f"{name}[{flat(at, value.dims)}] = {entry};")

        self.over(value.dims, body)

    def change(self, place: Array, how: str, value: Array) -> None:
        """Append the loops that change every entry of a part of a buffer."""

        def body(at: Indices) -> None:
            entry = self.entry(value, self.aligned(value, at))
            self.lines.append(f"{self.entry(place, at)} {how} {entry};")

        self.over(place.dims, body)

    def over(self, dims: Sequence[Dim], body: Callable[[Indices], None]) -> None:
        """Append loops around what `body` appends."""
        at = [self.fresh("i") for _ in dims]
        for name, dim in zip(at, dims, strict=True):
            self.lines.append(
                f"for (long {name} = 0; {name} < {size(dim)}; {name}++) {{"
            )
        body(at)
        self.lines.append("}" * len(dims))

    def reduced(
        self,
        dims: Sequence[Dim],
        entry: Callable[[Indices], str],
        how: tuple[str, str] = ADD,
    ) -> str:
        """Append the loops that reduce entries; return the name of the result."""
        name = self.fresh("r")
        self.lines.append(f"double {name} = {how[0]};")
        self.over(dims, lambda at: self.lines.append(how[1].format(name, entry(at))))
        return name

    # Entries

    def aligned(self, one: Array, at: Indices) -> Indices:
        """The place in an operand that broadcasts."""
        own = at[len(at) - one.order :]
        return ["0" if d == 1 else i for i, d in zip(own, one.dims, strict=True)]

    def entry(self, one: Array, at: Indices) -> str:
        """The entry at some place: of a variable's view, what may stand on the left."""
        if isinstance(one.op, op.Leaf):
            return self.leaf(one, one.op, at)
        if isinstance(one.op, op.Entrywise):
            args = [self.entry(arg, self.aligned(arg, at)) for arg in one.args]
            return self.entrywise(one.op, args)
        if isinstance(one.op, op.Contraction):
            return self.contraction(one, one.op, at)
        if isinstance(one.op, op.View):
            return self.view(one, one.op, at)
        if isinstance(one.op, op.Making):
            return self.making(one, one.op, at)
        raise Unprintable(type(one.op).__name__)

    def leaf(self, one: Array, leaf: op.Leaf, at: Indices) -> str:
        """A variable's entry, or a number."""
        match leaf:
            case op.Variable(name=name):
                return f"{name}[{flat(at, one.dims)}]"
            case op.Number(value=value):
                return real(value)
            case op.Truth(value=holds):
                return str(int(holds))
            case op.Constant(name=name):
                return {"pi": repr(math.pi), "e": repr(math.e)}.get(name, "INFINITY")
            case op.Size(dim=dim, clipped=clipped):
                text = f"(double){size(dim)}"
                return f"fmax({text}, 0)" if clipped else text

    def entrywise(self, kind: op.Entrywise, args: list[str]) -> str:
        """An operation of entries that stand in one place."""
        match kind:
            case op.Multiply(coefficient=coefficient, above=above):
                top = " * ".join([real(coefficient), *args[:above]])
                return f"({top}{''.join(f' / {x}' for x in args[above:])})"
            case op.Add(signs=signs):
                pairs = zip(signs, args, strict=True)
                return f"({' '.join('-+'[s > 0] + x for s, x in pairs)})"
            case op.Power(exponent=exponent):
                return f"pow({args[0]}, {real(exponent)})"
            case op.Conjunction():
                return f"({' && '.join(args)})"
            case op.Compare(sign=sign):
                return f"({args[0]} {sign} {args[1]})"
            case op.Bundle():
                raise Unprintable("a bundle")
            case op.Elementwise(function=name):
                if name not in FUNCTIONS:
                    raise Unprintable(name)
                return FUNCTIONS[name].format(*args)
            case op.AsFloat() | op.Python(function="float" | "int"):
                return args[0]
            case op.Python(function=name):
                return f"{name.removeprefix('math.')}({args[0]})"
            case op.FloatPower():
                return f"pow({args[0]}, {args[1]})"

    def contraction(self, one: Array, kind: op.Contraction, at: Indices) -> str:
        """A sum of products, or another reduction."""
        args = one.args
        match kind:
            case op.MatMul():
                return self.matmul(args[0], args[1], at)
            case op.Outer():
                return f"{self.entry(args[0], at[:1])} * {self.entry(args[1], at[1:])}"
            case op.InnerProduct():
                every = tuple(range(args[0].order))
                return self.einsum(args, (every, every), (), at)
            case op.TensorDot(left=left, right=right):
                first = tuple(range(args[0].order))
                pairs = dict(zip(right, left, strict=True))
                second = tuple(pairs.get(k, -1 - k) for k in range(args[1].order))
                kept = [k for k in first if k not in left]
                kept += [k for k in second if k < 0]
                return self.einsum(args, (first, second), kept, at)
            case op.Einsum(labels=labels, kept=kept):
                return self.einsum(args, labels, kept, at)
            case op.Trace():
                return self.reduced(
                    args[0].dims[:1], lambda i: self.entry(args[0], [i[0], i[0]])
                )
            case op.Reduce(axes=axes):
                return self.along(args[0], axes, at, ADD)
            case op.Accumulate(axis=axis):
                place = list(at)
                name, i = self.fresh("r"), self.fresh("i")
                self.lines.append(f"double {name} = 0;")
                self.lines.append(f"for (long {i} = 0; {i} <= {at[axis]}; {i}++) {{")
                place[axis] = i
                self.lines.append(f"{name} += {self.entry(args[0], place)}; }}")
                return name
            case op.Call(operator=name, axes=tuple() as axes) if name in REDUCTIONS:
                return self.along(args[0], axes, at, REDUCTIONS[name])
        raise Unprintable(str(kind))

    def along(
        self, one: Array, axes: tuple[int, ...], at: Indices, how: tuple[str, str]
    ) -> str:
        """A reduction over some axes."""

        def entry(inner: Indices) -> str:
            kept, gone = iter(at), iter(inner)
            place = [next(gone if k in axes else kept) for k in range(one.order)]
            return self.entry(one, place)

        return self.reduced([one.dims[a] for a in axes], entry, how)

    def matmul(self, left: Array, right: Array, at: Indices) -> str:
        """The sum over the last axis of `left`, and the last but one of `right`."""
        ends = (left.order > 1) + (right.order > 1)
        lead = at[: len(at) - ends]
        row = [at[len(lead)]] if left.order > 1 else []
        column = [at[-1]] if right.order > 1 else []

        def entry(inner: Indices) -> str:
            first = self.entry(left, self.aligned(left, [*lead, *row, *inner]))
            return f"{first} * " + self.entry(
                right, self.aligned(right, [*lead, *inner, *column])
            )

        return self.reduced(left.dims[-1:], entry)

    def einsum(
        self,
        args: Sequence[Array],
        labels: Sequence[Sequence[int]],
        kept: Sequence[int],
        at: Indices,
    ) -> str:
        """The sum of products over all labels that are not kept."""
        pairs = zip(labels, args, strict=True)
        sizes = {x: d for xs, a in pairs for x, d in zip(xs, a.dims, strict=True)}
        gone = [x for x in sizes if x not in kept]

        def entry(inner: Indices) -> str:
            place = dict(zip([*kept, *gone], [*at, *inner], strict=True))
            both = zip(args, labels, strict=True)
            return " * ".join(self.entry(a, [place[x] for x in xs]) for a, xs in both)

        return self.reduced([sizes[x] for x in gone], entry)

    def view(self, one: Array, kind: op.View, at: Indices) -> str:
        """An entry of what is looked at."""
        whole = one.args[0]
        match kind:
            case op.Permute(axes=axes):
                own = dict(zip(axes, at, strict=True))
                return self.entry(whole, [own[k] for k in range(whole.order)])
            case op.Expand(old=old):
                pairs = zip(at, old, strict=True)
                return self.entry(whole, [i for i, kept in pairs if kept])
            case op.Diagonal(first=first, second=second):
                rest = iter(at[:-1])
                twice = range(whole.order)
                place = [at[-1] if k in (first, second) else next(rest) for k in twice]
                return self.entry(whole, place)
            case op.Index():
                return self.entry(whole, self.indexed(one, kind, at))
            case op.Windows(axes=axes):
                place = list(at[: whole.order])
                for axis, i in zip(axes, at[whole.order :], strict=True):
                    place[axis] = f"({place[axis]} + {i})"
                return self.entry(whole, place)
            case op.Broadcast():
                return self.entry(whole, self.aligned(whole, at))

    def indexed(self, one: Array, kind: op.Index, at: Indices) -> list[str]:
        """The place in an array that a place in its part is."""
        whole, entries = one.args[0], list(one.args[1:])
        parts = list(kind.parts)
        spoken = sum(not isinstance(part, places.Mark) for part in parts)
        rest = [places.WHOLE] * (whole.order - spoken)
        dots = [k for k, p in enumerate(parts) if p == places.Mark("...")]
        k = dots[0] if dots else len(parts)
        parts[k : k + bool(dots)] = rest
        own = [
            k for k, p in enumerate(parts) if isinstance(p, places.At | places.Entries)
        ]
        order = max((x.order for x in entries), default=0)
        first = own[0] if own and own[-1] - own[0] < len(own) else 0
        made = sum(isinstance(p, places.Slice | places.Mark) for p in parts[:first])
        block, free = at[made : made + order], iter([*at[:made], *at[made + order :]])
        found: list[str] = []
        for part in parts:
            dim = whole.dims[len(found)] if len(found) < whole.order else ONE
            match part:
                case places.Slice(start=start, step=step):
                    low = "0" if step > 0 else f"({size(dim)} - 1)"
                    low = low if start is None else position(start, dim)
                    found.append(f"({low} + {step} * {next(free)})")
                case places.At(limit=limit):
                    found.append(position(limit, dim))
                case places.Entries():
                    place = entries.pop(0)
                    value = self.entry(place, self.aligned(place, block))
                    found.append(f"(long){value}")
                case places.Mark():
                    next(free)
        return found

    def making(self, one: Array, kind: op.Making, at: Indices) -> str:
        """An entry of a new array."""
        args = one.args
        match kind:
            case op.Fill(value=None):
                return self.entry(args[0], ())
            case op.Fill(value=value):
                return str(value)
            case op.Eye():
                return f"({at[0]} == {at[1]})"
            case op.Range(low=low):
                return f"({size(low)} + {at[0]})"
            case op.Triangle(shift=shift):
                return f"({at[1]} <= {at[0]} + {size(shift)})"
            case op.Diag():
                return f"({at[0]} == {at[1]} ? {self.entry(args[0], at[:1])} : 0)"
            case op.Trim(lower=lower, shift=shift):
                sign = "<=" if lower else ">="
                holds = f"{at[-1]} {sign} {at[-2]} + {size(shift)}"
                return f"({holds} ? {self.entry(args[0], at)} : 0)"
            case op.Pad(widths=widths):
                pairs = zip(at, widths, strict=True)
                place = [f"({i} - {size(before)})" for i, (before, _) in pairs]
                ends = zip(place, args[0].dims, strict=True)
                inside = " && ".join(f"{i} >= 0 && {i} < {size(d)}" for i, d in ends)
                if not isinstance(args[0].op, op.Variable):
                    raise Unprintable("padding of what is no variable")
                return f"({inside} ? {self.entry(args[0], place)} : 0)"
            case op.Concatenate(axis=axis):
                start, text = ZERO, "0"
                for part in args:
                    begin = size(start)
                    own = [*at[:axis], f"({at[axis]} - {begin})", *at[axis + 1 :]]
                    text = f"({at[axis]} >= {begin} ? {self.entry(part, own)} : {text})"
                    start += part.dims[axis]
                return text
            case op.Clip(last=last):
                return f"fmin(fmax({self.entry(args[0], at)}, 0), {size(last)})"
            case op.AsArray() | op.Unbox() | op.Copy():
                return self.entry(args[0], at)
            case op.Listed():
                raise Unprintable("a list is text alone")


def flat(at: Indices, dims: Sequence[Dim]) -> str:
    """The position of an entry in C order."""
    text = "0"
    for i, dim in zip(at, dims, strict=True):
        text = i if text == "0" else f"({text} * {size(dim)} + {i})"
    return text


def position(limit: places.Limit, dim: Dim) -> str:
    """A position on an axis of size `dim`; negative numbers count from its end."""
    constant = limit.position.constant
    from_end = constant is not None and constant < 0 and not limit.clipped
    text = size(limit.position + dim if from_end else limit.position)
    if limit.clipped:
        text = f"({text} > 0 ? {text} : 0)"
    if limit.most is None:
        return text
    most = size(limit.most)
    return f"({text} < {most} ? {text} : {most})"


def real(value: Fraction) -> str:
    """A rational as a double."""
    return f"({value.numerator}.0 / {value.denominator}.0)"


def function(name: str, code: Code, arguments: Sequence[str]) -> str:
    """The C function that runs code over buffers: arguments, bound names, results."""
    loops = Loops()
    for line in code.statements:
        loops.statement(line)
    for k, value in enumerate(code.returns):
        loops.fill(f"result{k}", value)
    every = everything(code.statements)
    bound = [line.name for line in every if isinstance(line, Let)]
    results = [f"result{k}" for k in range(len(code.returns))]
    buffers = [f"double *{x}" for x in (*arguments, *bound, *results)]
    body = "\n".join(loops.lines)
    return f"void {name}(SIZES, {', '.join(buffers)}) {{\n{body}\n}}\n"
