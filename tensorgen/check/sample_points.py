"""Where programs are compared: small sizes, and values of all inputs."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import ceil
from typing import Any

import numpy as np

from tensorgen.check.emitted_text import Program
from tensorgen.check.meaning import Meaning
from tensorgen.check.reals import Reals
from tensorgen.check.residues import PRIME, Residues
from tensorgen.check.walks import Field
from tensorgen.fields.symmetric_entries import exchangeable
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Input, Node
from tensorgen.ir.symmetric_axes import groups
from tensorgen.operators.references import Array
from tensorgen.operators.references.rounding import moved

TRIES = 200
FEW = 4
"""The smallest of larger sizes, at which loops turn more than once."""
FAR_OUT = 12
"""Places that an axis of random length hardly has."""


def some_sizes(
    symbols: Sequence[str],
    bounds: Iterable[Dim],
    least: Iterable[Dim],
    seed: int,
    few: int = 2,
) -> dict[str, int] | None:
    """Random small sizes with `bounds` not negative and `least` positive, if found.

    Even seeds give sizes that tell axes apart as far as there are few, with two entries
    and more also where a size is a difference: windows overlap then. Odd seeds give
    axes of one entry as well. Where they tell axes apart, `few` is the smallest.
    """
    rng = random.Random(f"sizes {seed}")
    bounds, least = list(bounds), list(least)
    # The smaller they are, the more likely nothing is too large, and roots have values.
    most = 3 if seed < 4 or seed >= MIXED else 2 if seed < 6 else 1
    made = [dim for dim in bounds if dim.constant is None]
    # Triangles of a mesh have three corners, which must not lie in one line.
    more = {s: 3 for dim in least for s in dim.symbols}
    # An entry far out, such as `x[128]`, needs as long an axis.
    more |= {s: least_of for s, least_of in _floors(bounds) if least_of > FAR_OUT}
    for attempt in range(TRIES):
        is_wide = seed % 2 == 0 and attempt < TRIES // 2
        # Long windows need long axes.
        longer = attempt // 20 * (1 + attempt // 40)
        if is_wide:
            some = [*range(few, few + most + longer)] * len(symbols)
            is_least = attempt < 20 and seed < MIXED and few == 2
            chosen = some[: len(symbols)] if is_least else some
            numbers = rng.sample(chosen, len(symbols))
        else:
            high = most + longer
            numbers = [rng.randint(1, high) for _ in symbols]
        sizes = dict(zip(symbols, numbers, strict=True))
        sizes = {s: size + more.get(s, 0) for s, size in sizes.items()}
        if attempt == TRIES // 2:
            sizes = dict.fromkeys(symbols, 2)
        fits = all(dim.value(sizes) >= 2 * is_wide for dim in made)
        if fits and _fit(bounds, least, sizes):
            return sizes
    return None


def _floors(bounds: Iterable[Dim]) -> Iterator[tuple[str, int]]:
    """The sizes below which a bound of one size is negative."""
    for dim in bounds:
        if len(dim.symbols) == 1 and dim.degree == 1:
            (symbol,) = dim.symbols
            first, second = (dim.value({symbol: k}) for k in (0, 1))
            if second > first:
                yield symbol, ceil(-first / (second - first))


def _fit(bounds: Iterable[Dim], least: Iterable[Dim], sizes: Mapping[str, int]) -> bool:
    """Whether sizes can be those of arrays."""
    fits = all(dim.value(sizes) >= 0 and _is_whole(dim, sizes) for dim in bounds)
    return fits and all(dim.value(sizes) > 0 for dim in least)


def _is_whole(dim: Dim, sizes: Mapping[str, int]) -> bool:
    top, below = dim.whole
    return top.value(sizes) % below == 0


class Point:
    """Values of inputs over the numbers of a field, and of nodes once asked for."""

    def __init__(
        self,
        field: Field,
        sizes: Mapping[str, int],
        seed: int,
        pairs: Sequence[tuple[Node, Iterable[Node]]] = (),
        promised: bool = False,
        is_moved: bool = False,
    ) -> None:
        """Choose nothing yet: inputs get values when they are first read.

        But for `pairs` of places at which an index array is the same. Where something
        is `promised` of what is made of inputs, half of the points have matrices that
        are definite, and other numbers that are positive; at a quarter, matrices have
        distances of points. Where it `is_moved`, the last bits of all numbers are
        others.
        """
        self.given = dict(sizes), seed, pairs, promised
        self.is_moved = is_moved
        self.is_kind = promised and seed // 2 % 2 == 0
        # What is promised of a kernel holds of distances, and of few other matrices.
        self.is_far = promised and seed // 2 % 4 == 3 and isinstance(field, Reals)
        self.field = field
        self.sizes = dict(sizes)
        self.seed = seed
        self.program = Program(field)
        self.meaning = Meaning(self.program, self.sizes, self.input)
        self.chosen: dict[tuple[str, tuple[int, ...]], Array] = {}
        # Axes of one entry hide what is wrong with them.
        self.is_wide = seed % 2 == 0
        matrices: dict[tuple[Dim, ...], list[Input]] = {}
        for given, _ in pairs:
            assert isinstance(given, Input)
            matrices.setdefault(given.dims, []).append(given)
        for sides in matrices.values():
            self._scatter(sides)
        for given, inputs in pairs:
            self._pair(given, inputs)

    @cached_property
    def near(self) -> Point:
        """The same point but for the last bits of its numbers."""
        return Point(Reals(), *self.given, is_moved=True)

    def _scatter(self, sides: Sequence[Input]) -> None:
        """Choose where a sparse matrix has entries: each in a place of its own.

        The first has others in its row and in its column.
        """
        rng = random.Random(f"{sides[0].name} {self.seed}")
        bounds = [max(x.index.value(self.sizes), 1) for x in sides if x.index]
        starts = [rng.randrange(bound) for bound in bounds]
        every = list(np.ndindex(*bounds))
        rng.shuffle(every)
        # What differs least from the first comes first, up to one of each kind.
        apart = [[k for k, x in enumerate(at) if x != starts[k]] for at in every]
        order = [apart.index(way) for way in ([], [0], [1]) if way in apart]
        order += [k for k in range(len(every)) if k not in order]
        (size,) = sides[0].dims
        count = min(size.value(self.sizes), len(every))
        self.sizes[str(size)] = count
        found = np.array([every[k] for k in order[:count]], dtype=int)
        for node, column in zip(sides, found.reshape(count, -1).T, strict=True):
            self.chosen[node.name, column.shape] = column

    def _pair(self, given: Node, inputs: Iterable[Node]) -> None:
        assert isinstance(given, Input)
        entries = self.input(given)
        found = np.argwhere(entries[:, None] == entries).T
        for node, made in zip(inputs, found, strict=True):
            assert isinstance(node, Input)
            (size,) = node.dims
            self.sizes[str(size)] = len(made)
            self.chosen[node.name, made.shape] = made

    def input(self, node: Input) -> Array:
        """The value of an input."""
        return self.array(node.name, node.dims, node.properties, node.index)

    def array(
        self,
        name: str,
        dims: Sequence[Dim],
        properties: frozenset[str] = frozenset(),
        index: Dim | None = None,
    ) -> Array:
        """The value of what has a name and dims: always the same."""
        shape = self.meaning.lengths(dims)
        square = len(dims) > 1 and dims[-1] == dims[-2]
        if self.is_kind:
            properties |= {"spd" if square else "positive"}
        elif self.is_far and square:
            properties |= {DISTANCES}
        if (name, shape) not in self.chosen:
            rng = random.Random(f"{name} {shape} {self.seed}")
            if index is not None:
                bound = max(index.value(self.sizes), 1)
                is_element = len(dims) > 1 and dims[-1].constant is not None
                made = self._places(shape, bound, rng, is_element)
            else:
                made = self._numbers(shape, properties, rng)
            self.chosen[name, shape] = made
        return self.chosen[name, shape]

    def _places(
        self, shape: Sequence[int], bound: int, rng: random.Random, is_element: bool
    ) -> Array:
        """Entries of an index array, different ones in a row that is an element's.

        Elsewhere the last is the first again: what adds up must not be replaced. As
        their order must not be another, it is the second of three at most points, and
        of two every other time.
        """
        found = np.zeros(shape, dtype=int)
        if not found.size:
            return found
        for row in found.reshape(-1, shape[-1] if shape else 1):
            some = rng.sample(range(bound), min(bound, len(row)))
            row[:] = np.resize(some, len(row))
            if not self.is_wide or is_element:
                continue
            if self.seed % 12 in (0, 4) or (len(row) == 2 and self.seed % 4 == 0):
                row[-1] = row[0]
            elif len(row) > 2:
                row[1] = row[0]
        return found

    def _entries(self, shape: Sequence[int], make: Any) -> Array:
        found = np.zeros(shape, dtype=self.field.dtype)
        for at in np.ndindex(*shape):
            found[at] = make()
        return found

    def _numbers(
        self, shape: Sequence[int], properties: frozenset[str], rng: random.Random
    ) -> Array:
        made = self._matrices(shape, properties, rng)
        return exchangeable(made, groups(properties, len(shape)))

    def _matrices(
        self, shape: Sequence[int], properties: frozenset[str], rng: random.Random
    ) -> Array:
        region = self._region(rng)
        made = self._entries(shape, lambda: self._number(rng, region))
        if self.is_mixed and made.ndim and rng.randrange(2):
            made = np.sort(made, axis=-1)[..., :: -1 if rng.randrange(2) else 1]
        if self.is_moved:
            made = moved(made)
        if properties & {"positive", "nonnegative"}:
            made = self.field.reduced(made * made)
        turned = np.swapaxes(made, -1, -2) if len(shape) > 1 else made
        if "spd" in properties:
            # A product of triangles has positive pivots in any field.
            lower = made * np.tri(shape[-1]).astype(int)
            return self.field.reduced(lower @ np.swapaxes(lower, -1, -2))
        if DISTANCES in properties:
            return np.abs(made[..., :1] - turned[..., :1, :])
        if "symmetric" in properties:
            return self.field.reduced(made + turned)
        return made

    def _region(self, rng: random.Random) -> tuple[float, float]:
        if self.is_mixed:
            return rng.choice(REGIONS)
        return REGIONS[self.seed % len(REGIONS)]

    @property
    def is_mixed(self) -> bool:
        """Whether inputs have values of their own kinds: levels that rise, shares."""
        return self.seed >= MIXED and isinstance(self.field, Reals)

    def _number(self, rng: random.Random, region: tuple[float, float]) -> Any:
        if isinstance(self.field, Residues):
            # If roots of anything have no value, those of positive numbers may have.
            return pow(rng.randrange(1, PRIME), 1 + self.seed // 2 % 2, PRIME)
        return rng.uniform(*region)


DISTANCES = "distances"
"""What a point may know of a matrix, which no spec says."""
REGIONS = ((0.1, 0.9), (-1.5, 1.5), (1.1, 2.5), (0.02, 0.2), (-3.0, -0.2))
"""Where functions have values: which one, nobody knows of a formula."""
MIXED = 4 * len(REGIONS)
"""From this seed on, each input is somewhere else, some rise, and sizes are larger."""


@dataclass(frozen=True)
class Domain:
    """Where functions have values: sizes by their bounds, and what inputs are."""

    symbols: Sequence[str]
    bounds: Sequence[Dim]
    least: Sequence[Dim]
    pairs: Sequence[tuple[Node, Iterable[Node]]] = ()
    promised: bool = False

    def points(self, real: bool) -> Iterator[Point]:
        """Yield points without end; none where no sizes are found."""
        for seed in count():
            sizes = some_sizes(self.symbols, self.bounds, self.least, seed)
            if sizes is None:
                return
            field = Reals() if real else Residues()
            yield Point(field, sizes, seed, self.pairs, self.promised)

    def apart(self) -> list[Point]:
        """Return two points for runs: few entries, then more, and the largest first.

        The first is definite and positive, the second is what inputs promise.
        """
        first = some_sizes(self.symbols, self.bounds, self.least, 0)
        if first is None:
            return []
        # Code is chosen by which of two sizes is larger.
        order = sorted(first, key=first.__getitem__, reverse=True)
        second: dict[str, int] | None = dict(zip(order, count(FEW), strict=False))
        if second is not None and not _fit(self.bounds, self.least, second):
            second = some_sizes(self.symbols, self.bounds, self.least, 2, FEW)
        made = [Point(Reals(), first, 0, self.pairs, True)]
        if second not in (first, None):
            made.append(Point(Reals(), second, 2, self.pairs, True))
        return made
