"""Memory that all blocks of a loop compute in, instead of asking for it each time.

What a matrix product makes of a block is large enough that it goes back to the system
when nobody asks for it any more, and comes again for the next block, page by page:

    space = np.zeros((step, n))
    for start in range(0, m, step):
        width = min(step, m - start)
        residual = space[:width]
        np.matmul(U[start : start + width], V.T, out=residual)
        np.subtract(T[start : start + width], residual, out=residual)
        f += np.vdot(residual, residual)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tensorgen.arrays.arrays import Array, array, base, bound, variable
from tensorgen.arrays.operations import Entrywise, Fill, Index, MatMul
from tensorgen.arrays.out_text import last_operation
from tensorgen.arrays.overwrite import changing
from tensorgen.arrays.places import WHOLE, Limit, Slice
from tensorgen.arrays.statements import Change, Let, Statement, Store, operands, rebuilt
from tensorgen.ir.dims import Dim


class Buffers:
    """Statements of a block that compute what is large in memory from before the loop.

    Blocks are `width` wide, most of them `step`; `is_large` tells which arrays are.
    """

    def __init__(
        self,
        width: Dim,
        step: Dim,
        is_large: Callable[[Array], bool],
        again: Callable[[str], str],
    ) -> None:
        """Start without any; `again` gives names."""
        self.width, self.step = width, step
        self.is_large, self.again = is_large, again
        self.memory: list[Statement] = []  # what stands before the loop
        self._lines: list[Statement] = []
        self._uses: Counter[Array] = Counter()  # that are still to come
        self._made: dict[Array, Array] = {}
        self._own: dict[Array, None] = {}  # variables that others read no part of

    def used(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        """The statements of a block, if a matrix product makes large arrays in it."""
        parts = [*_mentions([one for line in body for one in operands(line)])]
        if not any(isinstance(one.op, MatMul) and self._fits(one) for one in parts):
            return tuple(body)
        self._uses.update(parts)
        viewed = {base(line.value) for line in body if isinstance(line, Let)}
        for line in body:
            match line:
                case Let(name=name, value=value) if self._fits(value):
                    found = self._filled(value, name)
                    self._own |= {found: None} if name not in viewed else {}
                case Store(value=value, how="="):  # its last operation has memory
                    self._lines.append(replace(line, value=self._inside(value)))
                case _:
                    self._lines.append(rebuilt(line, self._placed))
            self._uses.subtract(_mentions(operands(line)))
        return tuple(self._lines)

    def _fits(self, one: Array) -> bool:
        """Whether an array of a block is large, and made in memory that is given."""
        if self.width not in one.dims or one.order < 2 or one.kind != "float":
            return False
        return self.is_large(one) and last_operation(one) is not None

    def _placed(self, one: Array) -> Array:
        """An array, the large parts of which stand in memory of the loop's."""
        if not self._fits(one):
            return self._inside(one)
        if one not in self._made:
            self._made[one] = self._filled(one, None)
        return self._made[one]

    def _inside(self, one: Array) -> Array:
        args = tuple(map(self._placed, one.args))
        return one if args == one.args else array(one.op, *args)

    def _filled(self, one: Array, name: str | None) -> Array:
        """The variable that an array is computed in, of a name if one is given."""
        place = self._overwritten(one, name)
        args = [
            self._memory(arg, name) if k == place else self._placed(arg)
            for k, arg in enumerate(one.args)
        ]
        own = self._taken(one, name) if place is None else args[place]
        at, value = Index((WHOLE,) * one.order, one.dims), array(one.op, *args)
        how: Change = "out="
        if place is not None:
            how, value = changing(value, place)
        self._lines.append(Store(own, at, (), how, value))
        return own

    def _overwritten(self, one: Array, name: str | None) -> int | None:
        """The operand in whose memory an array is made, if nobody reads it any more."""
        if not isinstance(one.op, Entrywise):
            return None
        for k, arg in enumerate(one.args):
            last = arg.dims == one.dims and self._uses[arg] == 1
            if last and (self._fits(arg) or (arg in self._own and name is None)):
                return k
        return None

    def _memory(self, one: Array, name: str | None) -> Array:
        return one if one in self._own else self._filled(one, name)

    def _taken(self, one: Array, name: str | None) -> Array:
        """A variable that stands for as much memory as an array takes."""
        space, own = self.again("space"), name or self.again("block")
        whole = tuple(self.step if dim == self.width else dim for dim in one.dims)
        self.memory.append(Let(space, array(Fill(whole, 0))))
        part = Slice(stop=Limit(self.width))
        parts = tuple(part if dim == self.width else WHOLE for dim in one.dims)
        buffer = variable(space, whole, base=space)
        self._lines.append(Let(own, array(Index(parts, one.dims), buffer)))
        return bound(own, one)


def _mentions(arrays: Sequence[Array]) -> Iterator[Array]:
    """Yield arrays as often as their text stands there."""
    for one in arrays:
        yield one
        yield from _mentions(one.args)
