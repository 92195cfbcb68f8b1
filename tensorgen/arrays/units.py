"""Code as units: each name with all statements that change it."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tensorgen.arrays.arrays import Array, below, replacing, variable
from tensorgen.arrays.bundle import alone
from tensorgen.arrays.code import Code, changed_by
from tensorgen.arrays.memory import memory
from tensorgen.arrays.needs import Needs
from tensorgen.arrays.operations import Add, Index, Multiply, Number, Power, Variable
from tensorgen.arrays.statements import (
    Let,
    Loop,
    Release,
    Statement,
    Unpack,
    bindings,
    bound_names,
    changed,
    everything,
    operands,
    reads,
    rebuilt,
)
from tensorgen.ir.dims import Dim


@dataclass(frozen=True)
class Units:
    """Code as units: the places of the statements of each, in order."""

    lines: tuple[Statement, ...]
    units: tuple[tuple[int, ...], ...]
    owner: Mapping[str, int]
    """The unit that each name belongs to."""
    free: frozenset[int] = frozenset()
    """The units of entries of inputs or little more, made wherever they are read."""
    sums: frozenset[int] = frozenset()
    """The units of sums of numbers among the inputs, which may be `free` as well."""

    @staticmethod
    def of(
        code: Code, inputs: Collection[str] = (), fixed: Collection[str] = ()
    ) -> Units | None:
        """Cut code; None where what changes is read before.

        What has a `fixed` name is computed once.
        """
        lines = code.statements
        of: dict[str, int] = {}
        units: list[list[int]] = []
        last = {x: k for k, line in enumerate(lines) for x in changed(line)}
        for k, line in enumerate(lines):
            bound = [name for name, _ in bindings(line)]
            shown = [memory(value).op for _, value in bindings(line)]
            moved = {op.name for op in shown if isinstance(op, Variable)}
            later = any(last.get(x, -1) >= k for x in (*bound, *moved))
            touched = {*changed(line)} | (moved if later else set())
            joined = sorted({of[x] for x in touched if x in of})
            if not joined:
                joined = [len(units)]
                units.append([])
            first, *rest = joined
            for other in rest:
                units[first] += units[other]
                units[other] = []
                of = {x: first if own == other else own for x, own in of.items()}
            units[first].append(k)
            of |= dict.fromkeys(bound, first)
        returned, known = named(code.returns), {*inputs}
        free, sums = set[int](), set[int]()
        for line in lines:
            if not isinstance(line, Let) or line.name in returned:
                continue
            shows, alone = _shows(line.value, known), len(units[of[line.name]]) == 1
            cheap = line.name not in fixed and _is_cheap(line.value, known)
            if alone and (shows or cheap):
                free.add(of[line.name])
            elif alone and line.name not in fixed and _is_sum(line.value, known):
                sums.add(of[line.name])
            if alone and shows:
                known.add(line.name)
        cut = tuple(tuple(sorted(own)) for own in units)
        found = Units(lines, cut, of, frozenset(free), frozenset(sums))
        return found if found.is_settled() else None

    def is_settled(self) -> bool:
        """Whether nobody reads what is changed later on."""
        return all(
            self.units[own][-1] < min(self.units[k])
            or self.units[own][-1]
            < next(x for x in self.units[k] if own in self.read([x]))
            for k, unit in enumerate(self.units)
            if unit
            for own in self.read(unit)
            if own != k
        )

    def read(self, places: Iterable[int]) -> set[int]:
        """The units that statements read."""
        names = {x for k in places for x in mentioned(self.lines[k])}
        return {self.owner[x] for x in names if x in self.owner}

    def closure(self, names: Iterable[str], without: Container[int]) -> set[int]:
        """The units that names need, all in all, but for those `without`."""
        waiting = [self.owner[x] for x in names if x in self.owner]
        found: set[int] = set()
        while waiting:
            unit = waiting.pop()
            if unit not in found and unit not in without:
                found.add(unit)
                waiting += self.read(self.units[unit])
        return found

    def cone(self, unit: int, whole: Code) -> frozenset[int]:
        """A unit, and all units that it alone needs."""
        found, returned = {unit}, named(whole.returns)
        for k in reversed(range(len(self.units))):
            users = self._users.get(k)
            if users and users <= found and returned.isdisjoint(self.bound(k)):
                found.add(k)
        return frozenset(found)

    @cached_property
    def _users(self) -> dict[int, set[int]]:
        """The other units that read each."""
        found: dict[int, set[int]] = {}
        for user, places in enumerate(self.units):
            for unit in self.read(places) - {user}:
                found.setdefault(unit, set()).add(user)
        return found

    def levels(self, needs: Sequence[set[int]]) -> list[set[int]]:
        """What several results need, by the first of them."""
        levels: list[set[int]] = [set() for _ in needs]
        for unit in set[int]().union(*needs):
            users = [k for k, own in enumerate(needs) if unit in own]
            if len(users) > 1:
                levels[users[0]].add(unit)
        return levels

    def sets(self, needs: Sequence[set[int]]) -> list[set[int]]:
        """What several results need, by which they are: what more need comes first."""
        sets: dict[tuple[int, ...], set[int]] = {}
        for unit in sorted(set[int]().union(*needs)):
            users = tuple(k for k, own in enumerate(needs) if unit in own)
            sets.setdefault(users, set()).add(unit)
        order = sorted(sets, key=lambda users: (-len(users), users))
        return [sets[users] for users in order if len(users) > 1]

    def statements(self, units: Iterable[int]) -> tuple[Statement, ...]:
        """The statements of some units, in order, and the entries that they read."""
        own = {k for unit in units for k in self.units[unit]}
        while (
            fresh := {k for u in self.free & self.read(own) for k in self.units[u]}
            - own
        ):
            own |= fresh
        return tuple(self.lines[k] for k in sorted(own))

    def outputs(self, level: set[int], whole: Code) -> tuple[str, ...]:
        """The names of some units that others read, or who returns, in order."""
        rest = [k for u, unit in enumerate(self.units) if u not in level for k in unit]
        seen = {x for k in rest for x in mentioned(self.lines[k])}
        seen |= named(whole.returns)
        starts = {x: self.units[u][0] for x, u in self.owner.items() if u in level}
        return tuple(x for x in sorted(starts, key=starts.__getitem__) if x in seen)

    def bound(self, unit: int) -> tuple[str, ...]:
        """The names that a unit binds, in order."""
        lines = (self.lines[k] for k in self.units[unit])
        return tuple(dict.fromkeys(bound_names(lines)))

    def in_order(self) -> list[tuple[int, tuple[str, ...]]]:
        """The units, in the order of their first statements, and what they bind."""
        order = sorted((places, unit) for unit, places in enumerate(self.units))
        return [(unit, self.bound(unit)) for places, unit in order if places]

    def single(self, unit: int) -> Let | Unpack | None:
        """The statement of a unit that only gives a value a name, or several."""
        lines = [self.lines[k] for k in self.units[unit]]
        one = len(lines) == 1 and isinstance(lines[0], Let | Unpack)
        return lines[0] if one else None  # type: ignore[return-value]

    def key(self, unit: int, names: Mapping[str, str]) -> object:
        """What equal units share: their statements, whatever their own names are.

        What they read has other `names`, or is like nothing else.
        """
        lines = [self.lines[k] for k in self.units[unit]]
        if any(isinstance(line, Release) for line in everything(lines)):
            return None
        inner = (x for line in everything(lines) for x, _ in bindings(line))
        every = dict.fromkeys((*self.bound(unit), *inner))
        own = {x: f"%{k}" for k, x in enumerate(every)}
        known = {**{x: f"?{x}" for x in self.owner}, **names, **own}
        change: dict[Array, Array] = {}
        for one in variables_of(Code(tuple(lines), ())):
            op = one.op
            assert isinstance(op, Variable)
            if op.name in known:
                base = known.get(op.base, op.base) if op.base else op.base
                change[one] = variable(
                    known[op.name], one.dims, one.kind, base, op.boxed
                )
        found = [rebuilt(line, replacing(dict(change))) for line in lines]
        return tuple(called(line, own) for line in found)


class Expansion:
    """What values are made of, over what is no mere name for a value."""

    def __init__(self, code: Code) -> None:
        self.variables: dict[str, list[Array]] = {}
        for one in variables_of(code):
            assert isinstance(one.op, Variable)
            self.variables.setdefault(one.op.name, []).append(one)
        self.known: dict[Array, Array] = {}

    def values_of(self, line: Let | Unpack) -> dict[str, Array]:
        """The values that a statement gives names, which stand for them from here on.

        What is made together with others is what it is alone.
        """
        found: dict[str, Array] = {}
        for name, value in bindings(line):
            found[name] = replacing(dict(self.known))(alone(value))
            self.known |= dict.fromkeys(self.variables.get(name, ()), found[name])
        return found

    def call(self, names: Mapping[str, str]) -> None:
        """Call variables what they are called elsewhere."""
        for name, other in names.items():
            for one in self.variables.get(name, ()):
                op = one.op
                assert isinstance(op, Variable)
                base = other if op.base == name else op.base
                self.known[one] = variable(other, one.dims, one.kind, base, op.boxed)


def _shows(value: Array, inputs: Collection[str]) -> bool:
    """Whether a value is entries of an input, which no statement computes."""
    op = value.op
    if not isinstance(op, Index) or not op.is_basic or len(value.args) > 1:
        return False
    whole = value.args[0].op
    return isinstance(whole, Variable) and whole.name in inputs


def _is_sum(value: Array, inputs: Collection[str]) -> bool:
    """Whether a value is a sum of numbers, given or among the inputs."""
    leaves = [arg.op for arg in value.args if not isinstance(arg.op, Number)]
    return (
        isinstance(value.op, Add)
        and not value.dims
        and all(isinstance(op, Variable) and op.name in inputs for op in leaves)
    )


def _is_cheap(value: Array, inputs: Collection[str]) -> bool:
    """Whether a value is a square of an input, or a product of numbers among them.

    That is as soon computed again as handed over.
    """
    op, leaves = value.op, [arg.op for arg in value.args]
    square = isinstance(op, Power) and op.exponent == 2
    return (square or (isinstance(op, Multiply) and not value.dims)) and all(
        isinstance(leaf, Variable) and leaf.name in inputs for leaf in leaves
    )


def mentioned(line: Statement) -> set[str]:
    """The names that a statement reads or changes, those of sizes among them."""
    return {*reads(operands(line)), *Needs([line]).symbols}


def named(arrays: Iterable[Array]) -> set[str]:
    """The names that arrays mention, those of sizes among them."""
    found = tuple(arrays)
    return {*reads(found), *Needs([], found).symbols}


def variables_of(code: Code) -> list[Array]:
    """The variables that code mentions."""
    roots = [one for line in code.statements for one in operands(line)]
    every = below([*roots, *code.returns])
    return [one for one in every if isinstance(one.op, Variable)]


def changed_to(code: Code, known: Mapping[Array, Array]) -> Code:
    """Code over other variables."""
    return changed_by(code, replacing(dict(known)))


def dims_of(code: Code) -> list[Dim]:
    """All sizes, and how far loops go."""
    roots = [one for line in code.statements for one in operands(line)]
    dims = [dim for one in below([*roots, *code.returns]) for dim in one.dims]
    loops = (line for line in everything(code.statements) if isinstance(line, Loop))
    return [*dims, *(x for loop in loops for x in (loop.low, loop.high, loop.step))]


def renamed(code: Code, change: Mapping[str, str]) -> Code:
    """Code whose variables have other names; no size or loop may have one of them."""
    known: dict[Array, Array] = {}
    for one in variables_of(code):
        op = one.op
        assert isinstance(op, Variable)
        if not {op.name, op.base}.isdisjoint(change):
            name = change.get(op.name, op.name)
            base = op.base and change.get(op.base, op.base)
            known[one] = variable(name, one.dims, one.kind, base, op.boxed)
    found = changed_to(code, known)

    lines = tuple(called(line, change) for line in found.statements)
    return replace(found, statements=lines)


def called(line: Statement, change: Mapping[str, str]) -> Statement:
    """A statement that binds, or gives up, other names."""
    match line:
        case Let(name=name):
            return replace(line, name=change.get(name, name))
        case Unpack(names=names):
            return replace(line, names=tuple(x and change.get(x, x) for x in names))
        case Release(names=names):
            return Release(tuple(change.get(x, x) for x in names))
        case Loop(body=body):
            return replace(line, body=tuple(called(x, change) for x in body))
        case _:
            return line


def symbols(code: Code) -> set[str]:
    """The sizes that code mentions."""
    lines = everything(code.statements)
    inner = {x for line in lines for x in Needs([line]).symbols}
    return inner | {*Needs(code.statements, code.returns).symbols}


def takes(code: Code) -> list[str]:
    """The arrays, and objects with arrays, that code takes, in the order of use."""
    roots = [one for line in code.statements for one in operands(line)]
    inner = {*bound_names(everything(code.statements))}
    found = (x.partition(".")[0] for x in reads([*roots, *code.returns]))
    named = {**dict.fromkeys(found)}
    sizes = {x for line in code.statements for x in Needs([line]).symbols}
    # The dtype is handed on by itself.
    return [x for x in named if x not in inner and x not in sizes and x != "dtype"]


def returning(code: Code) -> Code:
    """The same without names for what is returned at once."""
    names = [
        one.op.name if isinstance(one.op, Variable) else "" for one in code.returns
    ]
    last = code.statements[-1] if code.statements else None
    match last:
        case Let(name=name) if names == [name]:
            pass
        case Unpack(names=made) if names == [*made]:
            pass
        case _:
            return code
    return Code(code.statements[:-1], (last.value,), code.refusals)
