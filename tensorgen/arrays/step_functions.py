"""Steps that functions of one formula go through several times, as private functions.

    d_th, d_om = _cost_adjoint(dt, g, damping, cos_th, neg_dt_sin_th)

Tangents of a recurrence differ in what is added at each step alone, and so do adjoints:
each is one linear map, of what is given along the steps. Loops that are one text but
for what they read call one function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.arrays import Array, array, below, bound, replacing, variable
from tensorgen.arrays.code import Code
from tensorgen.arrays.frugal import freed
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.object_operations import Called
from tensorgen.arrays.operations import Add, Index, Variable
from tensorgen.arrays.outline import rows_of
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
from tensorgen.prices.thresholds import LINES_SAVED

Owner = tuple[str, str]
"""A formula, and a function of it."""
Describe = Callable[[str, Sequence[str], bool], tuple[str, str]]
"""What a function is called that makes arrays of some names for a formula, and a line
about it; it may go backwards."""


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
    def loop(self) -> Loop:
        """The loop itself."""
        return next(line for line in self.lines if isinstance(line, Loop))


def steps_apart(
    codes: Mapping[Owner, Code], describe: Describe, inputs: Sequence[str]
) -> dict[Owner, Code]:
    """Return those functions of a module that call others for steps of theirs.

    What these take of the `inputs` comes first, in their order. Functions of one
    formula go through the same steps for the same arrays in a function of their own.
    """
    plain = {name: _kept(code) for name, code in codes.items()}
    alike: dict[tuple[Statement, ...], list[_Steps]] = {}
    for name, code in plain.items():
        for steps in _steps(name, code):
            alike.setdefault(steps.key, []).append(steps)
    calls: dict[Owner, dict[int, Statement | None]] = {}
    for several in alike.values():
        times = len({(steps.owner[0], steps.read) for steps in several})
        if sum(map(rows_of, several[0].lines)) * (times - 1) <= LINES_SAVED:
            continue
        for steps, call in _calls(several, plain, describe, inputs):
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
    return freed(found) if freeing else found


def _kept(code: Code) -> Code:
    """Code that gives up no memory, also within loops."""

    def kept(lines: Sequence[Statement]) -> Iterator[Statement]:
        for line in lines:
            if isinstance(line, Loop):
                yield replace(line, body=tuple(kept(line.body)))
            elif not isinstance(line, Release):
                yield line

    return replace(code, statements=tuple(kept(code.statements)))


def _steps(owner: Owner, code: Code) -> Iterator[_Steps]:
    """Yield the loops over steps of a function, each with what it is about."""
    units = Units.of(code)
    for unit, names in units.in_order() if units else ():
        assert units is not None
        lines = tuple(code.statements[k] for k in units.units[unit])
        loops = [line for line in everything(lines) if isinstance(line, Loop)]
        if len(loops) == 1 and not (loops[0].width or loops[0].blocks):
            yield _like(owner, units.units[unit], lines, names)


def _like(
    owner: Owner,
    places: tuple[int, ...],
    lines: tuple[Statement, ...],
    names: tuple[str, ...],
) -> _Steps:
    inner = (x for line in everything(lines) for x, _ in bindings(line))
    own = {x: f"%{k}" for k, x in enumerate(dict.fromkeys((*names, *inner)))}
    known: dict[Array, Array] = {}
    read: dict[str, Array] = {}
    for one in below([x for line in lines for x in operands(line)]):
        if not isinstance(one.op, Variable):
            continue
        word = own.get(one.op.name)
        if word is None:
            read.setdefault(one.op.name, one)
            word = f"?{[*read].index(one.op.name)}"
        base = own.get(one.op.base, word) if one.op.base else one.op.base
        known[one] = variable(word, one.dims, one.kind, base, one.op.boxed)
    change = replacing(known)
    key = tuple(called(rebuilt(line, change), own) for line in lines)
    return _Steps(owner, places, lines, names, tuple(read.values()), key)


def _calls(
    several: Sequence[_Steps],
    codes: Mapping[Owner, Code],
    describe: Describe,
    inputs: Sequence[str],
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
    made = [first.bound[k] for k in wanted]
    arrays = [x for x in first.read if x.order and x.kind == "float"]
    known = {
        s for x in arrays for dim in x.dims for s in dim.symbols if dim == Dim.symbol(s)
    }
    op = Called(
        *describe(first.owner[0], made, first.loop.backwards),
        tuple(words[k] for k in takes),
        tuple(sorted(symbols(code) - known - {first.loop.name})),
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
    last = "end" if steps.loop.backwards else "start"
    for line in (*steps.lines, *steps.loop.body):
        if isinstance(line, Store) and isinstance(line.target.op, Variable):
            target = _name(line.target)
            if _is_entry(line.value, name, 0):
                yield f"{target}_{last}"
            elif isinstance(line.value.op, Add) and line in steps.loop.body:
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
