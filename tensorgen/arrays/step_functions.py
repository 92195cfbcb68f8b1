"""Steps that functions of one formula go through several times, as private functions.

    d_th, d_om = _cost_adjoint(dt, g, damping, cos_th, neg_dt_sin_th)

Tangents of a recurrence differ in what is added at each step alone, and so do adjoints:
each is one linear map, of what is given along the steps. Loops that are one text but
for what they read call one function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import (
    Array,
    array,
    below,
    bound,
    replacing,
    rewriting,
    variable,
)
from tensorgen.arrays.code import Code
from tensorgen.arrays.frugal import freed
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import Called
from tensorgen.arrays.operations import Add, Index, Multiply, Variable
from tensorgen.arrays.outline import rows_of
from tensorgen.arrays.reading import LONGEST, length, text_without_names
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Statement,
    Store,
    Unpack,
    bindings,
    everything,
    operands,
    reads,
    rebuilt,
)
from tensorgen.arrays.units import Units, called, named, renamed, returning, symbols
from tensorgen.ir.dims import Dim
from tensorgen.operators.word_shapes import without_derivative
from tensorgen.prices.thresholds import LINES_SAVED

Owner = tuple[str, str]
"""A formula, and a function of it."""
Describe = Callable[[str, Sequence[str], Loop | None], tuple[str, str]]
"""What a function is called that makes arrays of some names for a formula, and a line
about it; it may go through a loop."""
LEAST_ROWS, MOST_TAKEN, MOST_WORDS = 3, 5, 2
"""The least lines of a function without a loop, what it takes at most beside inputs,
and the most words for what it makes."""


@dataclass(frozen=True)
class _Steps:
    """A loop over steps, with all that makes what it changes, in a function's code."""

    owner: Owner
    places: tuple[int, ...]
    lines: tuple[Statement, ...]
    bound: tuple[str, ...]
    read: tuple[Array, ...]
    key: tuple[Statement, ...]
    """The lines, whatever their own names are and those of what they read."""

    @property
    def loop(self) -> Loop | None:
        """The loop itself, if it is one."""
        return next((line for line in self.lines if isinstance(line, Loop)), None)

    def is_apart_from(self, places: Collection[int]) -> bool:
        """Whether no statement of these places is among them."""
        return {*self.places}.isdisjoint(places)


def steps_apart(
    codes: Mapping[Owner, Code],
    describe: Describe,
    inputs: Sequence[str],
    words: Mapping[str, str] | None = None,
) -> dict[Owner, Code]:
    """Return those functions of a module that call others for steps of theirs.

    What these take of the `inputs` comes first, in their order. Functions of one
    formula go through the same steps for the same arrays in a function of their own.
    So is made what has a name among the `words`, by what it is called as a function.
    """
    plain = {name: _kept(code) for name, code in codes.items()}
    formulas = {formula for formula, _ in codes}
    alike: dict[tuple[Statement, ...], list[_Steps]] = {}
    for name, code in plain.items():
        # Who gives up memory says when: a function keeps it to its end.
        frees = any(isinstance(x, Release) for x in everything(codes[name].statements))
        named = words is not None and not frees
        for steps in _steps(name, code, named, inputs, formulas):
            alike.setdefault(steps.key, []).append(steps)
    calls: dict[Owner, dict[int, Statement | None]] = {}
    for found in sorted(alike.values(), key=_lines_saved, reverse=True):
        several = [x for x in found if x.is_apart_from(calls.get(x.owner, ()))]
        told = _told(several, words or {})
        # A formula of what all are given is a function anyway.
        alone = all(_name(x) in inputs for steps in several for x in steps.read)
        whole = told and formulas.issuperset(told) and alone
        if not several or _lines_saved(several) <= LINES_SAVED * (not whole):
            continue
        if not (told or several[0].loop):
            continue
        for steps, call in _calls(several, plain, describe, inputs, told):
            own = calls.setdefault(steps.owner, {})
            own |= dict.fromkeys(steps.places)
            own[steps.places[-1]] = call
    return {
        name: _calling(codes[name], plain[name], own) for name, own in calls.items()
    }


def _calling(before: Code, plain: Code, calls: Mapping[int, Statement | None]) -> Code:
    """Code with calls in place of some statements, freeing memory if it did before."""
    lines = (calls.get(k, line) for k, line in enumerate(plain.statements))
    found = replace(plain, statements=tuple(line for line in lines if line))
    freeing = any(isinstance(x, Release) for x in everything(before.statements))
    return freed(found) if freeing else returning(found)


def _kept(code: Code) -> Code:
    """Code that gives up no memory, also within loops."""

    def kept(lines: Sequence[Statement]) -> Iterator[Statement]:
        for line in lines:
            if isinstance(line, Loop):
                yield replace(line, body=tuple(kept(line.body)))
            elif not isinstance(line, Release):
                yield line

    return replace(code, statements=tuple(kept(code.statements)))


def _lines_saved(several: Sequence[_Steps]) -> int:
    """How many lines fewer there are where a function stands for what is alike."""
    times = len({(steps.owner[0], steps.read) for steps in several})
    return sum(map(rows_of, several[0].lines)) * (times - 1)


def _characters(lines: Sequence[Statement]) -> int:
    """How long the values of some statements are."""
    return sum(length(one) for line in lines for one in operands(line))


def _told(several: Sequence[_Steps], words: Mapping[str, str]) -> tuple[str, ...]:
    """What all that are alike make, in the user's words; nothing where these differ."""
    names = [words.get(x, x) for steps in several for x in steps.bound[-1:]]
    plain = dict.fromkeys(without_derivative(x) for x in names)
    told = tuple(x for x in plain if x in words.values())
    return told if len(told) == len(plain) <= MOST_WORDS else ()


def _steps(
    owner: Owner,
    code: Code,
    named: bool,
    inputs: Container[str],
    formulas: Container[str],
) -> Iterator[_Steps]:
    """Yield the loops over steps of a function, each with what it is about.

    Each name is as well, with what it alone is made of, if what is `named` is.
    """
    units = Units.of(code)
    for unit, names in units.in_order() if units else ():
        assert units is not None
        alone = frozenset({unit})
        loops = _loops(units, alone)
        if any(loop.width or loop.blocks for loop in loops):
            continue
        if len(loops) == 1:
            yield _like(owner, units, alone, names)
        elif not loops and len(names) == 1 and named:
            for cone in dict.fromkeys((units.cone(unit, code), alone)):
                found = _like(owner, units, cone, names)
                rows = sum(map(rows_of, found.lines))
                taken = [x for x in found.read if _name(x) not in inputs]
                whole = names[0] in formulas and not taken
                whole &= _characters(found.lines) >= LONGEST // 2
                few = len(taken) <= MOST_TAKEN and (rows >= LEAST_ROWS or whole)
                if few and not _loops(units, cone):
                    yield found


def _loops(units: Units, own: Collection[int]) -> list[Loop]:
    """The loops of some units."""
    lines = everything([units.lines[k] for unit in own for k in units.units[unit]])
    return [line for line in lines if isinstance(line, Loop)]


def _like(
    owner: Owner, units: Units, own: Collection[int], names: tuple[str, ...]
) -> _Steps:
    """Some units of a function that make what has some names."""
    places = tuple(sorted(k for unit in own for k in units.units[unit]))
    lines = tuple(units.lines[k] for k in places)
    inner = (x for line in everything(lines) for x, _ in bindings(line))
    numbers = {x: f"%{k}" for k, x in enumerate(dict.fromkeys((*names, *inner)))}
    known: dict[Array, Array] = {}
    read: dict[str, Array] = {}
    ordered = rewriting(_in_order)
    sorted_lines = [rebuilt(line, ordered) for line in lines]
    for one in below([x for line in sorted_lines for x in operands(line)]):
        if not isinstance(one.op, Variable):
            continue
        word = numbers.get(one.op.name)
        if word is None:
            read.setdefault(one.op.name, one)
            word = f"?{[*read].index(one.op.name)}"
        base = numbers.get(one.op.base, word) if one.op.base else one.op.base
        known[one] = variable(word, one.dims, one.kind, base, one.op.boxed)
    change = replacing(known)
    key = tuple(called(rebuilt(line, change), numbers) for line in sorted_lines)
    return _Steps(owner, places, lines, names, tuple(read.values()), key)


def _in_order(_: Array, one: Array) -> Array:
    """A product with its factors in an order that no names tell."""
    op = one.op
    if not isinstance(op, Multiply):
        return one
    above, below = one.args[: op.above], one.args[op.above :]
    return array(op, *sorted(above, key=text_without_names), *below)


def _calls(
    several: Sequence[_Steps],
    codes: Mapping[Owner, Code],
    describe: Describe,
    inputs: Sequence[str],
    told: Sequence[str],
) -> Iterator[tuple[_Steps, Statement]]:
    """Yield steps that are alike, each with the call that stands for it."""
    first = several[0]
    asked = [_asked(steps, codes[steps.owner]) for steps in several]
    wanted = [k for k in range(len(first.bound)) if any(k in own for own in asked)]
    values = {x: value for line in first.lines for x, value in bindings(line)}
    outputs = [bound(first.bound[k], values[first.bound[k]]) for k in wanted]
    code = returning(Code(first.lines, tuple(outputs)))
    words = _words(several)
    takes = sorted(
        range(len(words)),
        key=lambda k: inputs.index(words[k]) if words[k] in inputs else len(inputs),
    )
    change = {
        str(_name(one)): word for one, word in zip(first.read, words, strict=True)
    }
    code = renamed(code, {x: word for x, word in change.items() if x != word})
    arrays = [x for x in first.read if x.order and x.kind == "float"]
    known = {
        s for x in arrays for dim in x.dims for s in dim.symbols if dim == Dim.symbol(s)
    }
    loops = {x.name for x in everything(first.lines) if isinstance(x, Loop)}
    made = [first.bound[k] for k in wanted] if first.loop else told
    op = Called(
        *describe(first.owner[0], made, first.loop),
        tuple(words[k] for k in takes),
        tuple(sorted(symbols(code) - known - loops)),
        Needs(code.statements, code.returns).dtype and not arrays,
        code,
        tuple(x.dims for x in outputs),
        outputs[0].dims if len(outputs) == 1 else (),
    )
    for steps, own in zip(several, asked, strict=True):
        call = array(op, *(steps.read[k] for k in takes))
        names = tuple(steps.bound[k] if k in own else None for k in wanted)
        single = isinstance(names[0], str) and len(names) == 1
        yield steps, Let(str(names[0]), call) if single else Unpack(names, call)


def _name(one: Array) -> str:
    assert isinstance(one.op, Variable)
    return one.op.name


def _asked(steps: _Steps, code: Code) -> set[int]:
    """Which of the names of steps others read."""
    others = (x for k, x in enumerate(code.statements) if k not in steps.places)
    read = {x for line in others for x in reads(operands(line))} | named(code.returns)
    return {k for k, x in enumerate(steps.bound) if x in read}


def _words(several: Sequence[_Steps]) -> list[str]:
    """What a function calls what it takes: the same of all, or what is done with it."""
    first = several[0]
    inner = {x for line in everything(first.lines) for x, _ in bindings(line)}
    names = [*map(_name, first.read)]
    words: list[str] = []
    for k, name in enumerate(names):
        word = name
        if len({steps.read[k] for steps in several}) > 1:
            word = next(_roles(first, name), name)
        taken = {*names, *words, *inner}
        words.append(word if word == name or word not in taken else name)
    return words


def _roles(steps: _Steps, name: str) -> Iterator[str]:
    """Yield what an array is to steps: where it comes in."""
    loop = steps.loop
    if loop is None:
        return
    last = "end" if loop.backwards else "start"
    for line in (*steps.lines, *loop.body):
        if isinstance(line, Store) and isinstance(line.target.op, Variable):
            target = _name(line.target)
            if _is_entry(line.value, name, 0):
                yield f"{target}_{last}"
            elif isinstance(line.value.op, Add) and line in loop.body:
                terms = zip(line.value.args, line.value.op.signs, strict=True)
                if any(sign > 0 and _is_entry(x, name, 1) for x, sign in terms):
                    yield f"{target}_source"


def _is_entry(one: Array, name: str, depth: int) -> bool:
    """Whether an array is a variable, or an entry of one."""
    if depth and isinstance(one.op, Index):
        one = one.args[0]
    return isinstance(one.op, Variable) and one.op.name == name


def kind_of_steps(names: Collection[str]) -> str:
    """What steps are that make arrays of these names: of tangents, or of adjoints."""
    if all(name.endswith("_dot") for name in names):
        return "tangent"
    return "adjoint" if all(name.startswith("d_") for name in names) else "steps"
