"""Functions of one array that share most of what they take, made by a helper.

    softplus_t, sigmoid_t = _softplus_and_sigmoid(t)

They are logistic, of one exponential; or about what is normal between two ends.

What is sigmoid(-t) of one sign is `complement` of the other. Alone a function stays the
call that it is, which reads better.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from tensorgen.arrays.arrays import Array, array, below, bound, replacing
from tensorgen.arrays.code import Code
from tensorgen.arrays.memory import changing
from tensorgen.arrays.object_operations import Member, Results
from tensorgen.arrays.operations import Bundle, Call, Elementwise, Multiply, Variable
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Return,
    Statement,
    Unpack,
    bindings,
    operands,
    reads,
    rebuilt,
)
from tensorgen.operators.calls import OPERATORS
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.helpers import shares
from tensorgen.operators.helpers.logistic import FORMS
from tensorgen.operators.helpers.special import BETWEEN, order_of
from tensorgen.operators.word_shapes import COMPLEMENT

SAME = {
    "softplus": ("softplus", 1),
    "log_sigmoid": ("log_sigmoid", 1),
    "sigmoid": ("sigmoid", 1),
    "sigmoid_slope": ("slope", 1),
}
"""What a function is called in a bundle, and times which number."""
OPPOSITE = {
    "softplus": ("log_sigmoid", -1),
    "log_sigmoid": ("softplus", -1),
    "sigmoid": ("complement", 1),
    "sigmoid_slope": ("slope", 1),
}
"""The same of a function of minus the argument."""

LONGEST = 24
"""Characters of a name that is of no user."""


_ALONE = {
    **{own: (function, True) for function, (own, _) in SAME.items()},
    "complement": ("sigmoid", False),
}
"""Functions of bundles as functions, of the argument or of minus the argument."""


_COMPLEMENTS = {"sigmoid_{}": "sigmoid_neg_{}", "sigmoid_neg_{}": "sigmoid_{}"}
"""Words of values that add up to one."""


class Along(NamedTuple):
    """An array, axes of it, and whether it may be infinite."""

    of: Array
    axes: tuple[int, ...]
    guards: bool


class Between(NamedTuple):
    """Two ends and their distance."""

    ends: tuple[Array, ...]


Key = Array | Along | Between


class Part(NamedTuple):
    """A function of an array, or of minus the array."""

    one: Array
    function: str
    positive: bool


def bundled(
    code: Code, again: Callable[[str], str], kept: Collection[str] = ()
) -> Code:
    """Return code in which helpers make several logistic functions of an array.

    `again` gives names; names among `kept` stay.
    """
    own = _Bundling(changing(code.statements), again, kept)
    *lines, end = own.lines([*code.statements, Return(code.returns)])
    assert isinstance(end, Return)
    return replace(code, statements=tuple(lines), returns=end.values)


def alone(one: Array) -> Array:
    """A value by itself, if it is one of several that are made together."""
    if not isinstance(one.op, Member):
        return one
    (whole,) = one.args
    match whole.op:
        case Bundle(functions=functions) if len(whole.args) > 1:
            return array(Elementwise(functions[one.op.place]), *whole.args)
        case Bundle(functions=functions):
            (t,) = whole.args
            upward = _upward(t)
            name, positive = _ALONE[functions[one.op.place]]
            if (upward is t) != positive and name != "sigmoid_slope":
                upward = array(Multiply(Fraction(-1), 1), upward)
            return array(Elementwise(name), upward)
        case Results(shapes=shapes, axes=axes) if whole.op.is_helper:
            (x,) = whole.args
            guards, functions = shares.told(whole.op.function)
            name = functions[one.op.place]
            text = f"{shares.helper_of([name], guards)}({{0}}{{axis}})"
            along = tuple(range(x.order)) if axes is None else axes
            return array(Call(name, shapes[one.op.place], along, text=text), x)
        case _:
            return one


def _members(line: Statement) -> Iterator[tuple[Key, Part]]:
    """Yield functions in a statement that share an exponential, by what they are of."""
    for one in below(operands(line)):
        match one.op:
            case Elementwise(function=name) if ELEMENTWISE[name].has("logistic"):
                pass
            case Bundle(functions=(name,)):
                pass
            case Elementwise(function=name) if name in BETWEEN:
                yield Between(one.args), Part(one, name, True)
                continue
            case Call(operator=name, axes=tuple() as axes, text=text) if OPERATORS[
                name
            ].helped:
                (t,) = one.args
                guards = text.startswith(shares.helper_of((name,), True))
                yield Along(t, axes, guards), Part(one, name, True)
                continue
            case _:
                continue
        (t,) = one.args
        if one.order and not t.weak:
            upward = _upward(t)
            yield upward, Part(one, name, upward is t)


def _upward(t: Array) -> Array:
    """The argument of a function without a minus."""
    if not isinstance(t.op, Multiply) or t.op.coefficient >= 0:
        return t
    op = replace(t.op, coefficient=-t.op.coefficient)
    bare = op == Multiply(Fraction(1), 1) and len(t.args) == 1
    return t.args[0] if bare else array(op, *t.args)


class _Bundling:
    """The bundles of a function."""

    def __init__(
        self, moving: set[str], again: Callable[[str], str], kept: Collection[str]
    ) -> None:
        """Leave alone what is of names that are `moving`: some statement changes it."""
        self.moving, self.again, self.kept = moving, again, kept

    def lines(self, lines: Sequence[Statement]) -> list[Statement]:
        """Some lines with bundles; those of a loop have bundles of their own."""
        members: dict[Key, dict[Array, Part]] = {}
        for line in lines:
            for key, member in [] if isinstance(line, Loop) else _members(line):
                if self.moving.isdisjoint(reads(member.one.args)):
                    members.setdefault(key, {})[member.one] = member
        named = {x.value: x.name for x in lines if isinstance(x, Let)}
        change: dict[Array, Array] = {}
        made: dict[Array, Unpack] = {}
        for key, found in members.items():
            if len(found) > 1:
                line, values = self._unpacked(key, [*found.values()], named)
                change |= values
                made |= dict.fromkeys(found, line)
        after: list[Statement] = []
        waiting = {*made.values()}

        def make(parts: Sequence[Array]) -> None:
            """Append the bundles that parts need, those that these need before them."""
            for one in below(parts):
                bundle = made.get(one)
                if bundle is not None and bundle in waiting:
                    waiting.discard(bundle)
                    make(bundle.value.args)
                    after.append(rebuilt(bundle, replacing(dict(change))))

        for line in lines:
            make(operands(line))
            if isinstance(line, Let) and line.value in change:
                continue
            line = rebuilt(line, replacing(dict(change)))
            if isinstance(line, Loop):
                line = replace(line, body=tuple(self.lines(line.body)))
            after.append(line)
        return after

    def _unpacked(
        self, key: Key, members: Sequence[Part], named: Mapping[Array, str]
    ) -> tuple[Unpack, dict[Array, Array]]:
        """The statement that makes functions, and what has their values from then."""
        own = {x.one: named.get(x.one, "") for x in members}
        value, ways = (
            _of_axes(key, members)
            if isinstance(key, Along)
            else (
                _between(key, members)
                if isinstance(key, Between)
                else _logistic(key, members)
            )
        )
        names = {
            way.word: own[x.one]
            for x, way in zip(members, ways, strict=True)
            if way.times > 0 and own[x.one] in self.kept
        }
        users = dict(names)
        in_order = sorted(ways, key=lambda way: way.place)
        words = [*dict.fromkeys(way.word for way in in_order)]
        stem = _stem(key, words)
        for word in words:
            if word not in names:
                opposite = users.get(_COMPLEMENTS.get(word, ""))
                told = COMPLEMENT.format(opposite) if opposite else word.format(stem)
                name = told.rstrip("_")
                names[word] = name if name in own.values() else self.again(name)
        if isinstance(value.op, Bundle) and isinstance(key, Between):
            words = [*value.op.functions]  # of which some may be for nobody
        bundle = Unpack(tuple(names.get(word, "") for word in words), value)
        made = {name: bound(name, value) for name, value in bindings(bundle)}
        change: dict[Array, Array] = {}
        for member, way in zip(members, ways, strict=True):
            value = made[names[way.word]]
            if way.times < 0:
                value = array(Multiply(Fraction(-1), 1), value)
            change[member.one] = value
            if own[member.one]:
                change[bound(own[member.one], member.one)] = value
        return bundle, change


class Way(NamedTuple):
    """A value as one of several, times a number, and what that one is called."""

    place: int
    word: str
    times: int = 1


def _of_axes(key: Along, members: Sequence[Part]) -> tuple[Array, list[Way]]:
    """Softmax and its logarithms along axes, of one exponential."""
    functions = [x for x in shares.FORMS if x in {m.function for m in members}]
    shapes = {m.function: m.one.dims for m in members}
    axes = key.axes if len(key.axes) < key.of.order else None
    made = Results(
        shares.helper_of(functions, key.guards),
        tuple(shapes[x] for x in functions),
        axes=axes,
    )
    ways = [Way(functions.index(m.function), f"{m.function}_{{}}") for m in members]
    return array(made, key.of), ways


def _between(key: Between, members: Sequence[Part]) -> tuple[Array, list[Way]]:
    """What is normal between two ends, and its derivatives, of one helper."""
    order = order_of(m.function for m in members)
    functions = tuple(x for x in BETWEEN if order_of([x]) <= order)
    ways = [Way(functions.index(m.function), m.function) for m in members]
    return array(Bundle(functions), *key.ends), ways


def _logistic(t: Array, members: Sequence[Part]) -> tuple[Array, list[Way]]:
    """Logistic functions of an array, of one exponential.

    They are made of minus the array where fewer have to change their sign then.
    """
    minus = [x.one.args[0] for x in members if not x.positive]
    plans = [(t, _told(members, True))]
    plans += [(one, _told(members, False)) for one in minus[:1]]
    of, told = min(plans, key=lambda x: sum(times < 0 for _, times in x[1]))
    if len(minus) == len(members):
        of, told = plans[1]
    functions = tuple(x for x in FORMS if x in {function for function, _ in told})
    ways = [Way(functions.index(f), _word(f, of is t), times) for f, times in told]
    return array(Bundle(functions), of), ways


def _told(members: Sequence[Part], positive: bool) -> list[tuple[str, int]]:
    """What each is called in a bundle of the array, or of minus the array."""
    return [(SAME if x.positive == positive else OPPOSITE)[x.function] for x in members]


def _word(function: str, positive: bool) -> str:
    """What a value of a bundle is called, with room for what it is of."""
    if function == "complement":
        function, positive = "sigmoid", not positive
    return (
        f"{function}_{{}}"
        if positive or function == "slope"
        else f"{function}_neg_{{}}"
    )


def _stem(key: Key, words: Sequence[str]) -> str:
    """What names call an array: as much of its name as is short enough for all."""
    if isinstance(key, Between):
        return ""
    of = key.of if isinstance(key, Along) else key
    parts = of.op.name.split("_") if isinstance(of.op, Variable) else []
    longest = max(len(word.format("")) for word in words)
    while parts and longest + len("_".join(parts)) > LONGEST:
        parts.pop()
    return "_".join(parts)
