"""Where functions are compared: small sizes, and inputs that keep their promises."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tensorgen.errors import InternalError
from tensorgen.fields.symmetric_entries import exchangeable
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Call, Map, Node, Product, Size, Sum, topological
from tensorgen.ir.symmetric_axes import groups
from tensorgen.lang import ElaboratedFunction
from tensorgen.operators.recurrences.recurrence import Steps, everything
from tensorgen.operators.references import Array
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.operators.solved_arrays import is_unknown
from tensorgen.spec.model import InputSpec
from tensorgen.verify.interpret import bind, evaluate

POOLS = ((1,), (2,), (3, 4), (3, 2, 5), (4, 3, 2, 5), (2, 3, 5, 7))
"""Sizes of the first points, the later ones and so on; pools grow where none fit."""

FIRST = 2
"""Of these the first have loops that may run once, or never."""

REGIONS = ((0.1, 0.9), (-1.5, 1.5), (1.1, 2.5), (0.02, 0.4), (-2.0, -0.2))
"""Where functions have values: which one, nobody knows of a formula."""

SMALLEST_ATTEMPT = 6
"""The attempt with the smallest numbers: there are two a region."""

LARGEST = 2000
"""Entries of the largest array of a point, where smaller sizes do."""

WIDEST = 60
"""Entries of all that is differentiated by, likewise."""

HUNDREDS = (131, 103, 113, 107)
"""Sizes of the larger point: no code that is chosen by size looks the same there."""

LARGER_ARGUMENT, WIDE, STEPS = 20_000, 400, 12
"""Of the larger point: entries of its largest argument, of all that is differentiated
by, and steps of recurrences."""

ATTEMPTS = 60

MANY = 100_000
"""Entries from which on numbers are drawn at once, and others for it."""


@dataclass(frozen=True)
class Case:
    """Sizes, and values of all inputs by their names, parts of sparse ones too."""

    sizes: Mapping[str, int]
    values: Mapping[str, Array]
    seed: str

    def told(self) -> str:
        """What it is, for a person."""
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        return f"seed {self.seed}" + (f"; {sizes}" if sizes else "")


class Sizes:
    """The sizes that a function can be called with."""

    def __init__(self, function: ElaboratedFunction) -> None:
        self._function = function
        given = function.arguments
        whole = dict.fromkeys(x.of or x for x in given)
        dims = [dim for x in whole for dim in _dims(x)]
        found = {s: None for dim in dims for s in dim.sources}
        self.symbols = tuple(dict.fromkeys([*found, *function.sizes]))
        self._shapes = [tuple(x.shape) for x in whole]
        nodes = [x.node for x in function.alone.values()]
        known = {*self.symbols}
        every_node = [*everything(topological(nodes))]
        every = dict.fromkeys(d for n in every_node for d in _of_node(n))
        self._is_plain = not any(is_unknown(x) for x in every_node)
        self._spread = [
            dims
            for x in every_node
            for dims in [x.sizes if isinstance(x, Product) else x.dims]
            if known.issuperset(s for dim in dims for s in dim.sources)
        ]
        self._numbers = [x for x in topological(nodes) if _follows(x, known)]
        self._dims = [d for d in (*every, *dims) if known.issuperset(d.sources)]
        self._steps = [
            count
            for x in every_node
            for count in _counts(x)
            if known.issuperset(count.sources)
        ]
        self._least = [x.index for x in whole if x.index is not None]
        self._wrt = [x for x in given if x.name in {w.name for w in function.spec.wrt}]
        # Corners of an element ought to differ.
        self._wide = [
            (x.index, x.shape[-1].constant)
            for x in whole
            if x.index is not None and x.shape and x.shape[-1].constant is not None
        ]

    def fit(self, sizes: Mapping[str, int]) -> bool:
        """Whether no axis is shorter than nothing, and checks of sizes pass.

        Numbers that follow from sizes have to be finite, be it that nothing reads them.
        """
        if any(dim.value(sizes) < 0 for dim in self._dims):
            return False
        if any(dim.value(sizes) < 1 for dim in self._least):
            return False
        numbers = evaluate(self._numbers, {}, FUNCTIONS, OPERATORS, sizes)
        if not all(np.isfinite(number) for number in numbers):
            return False
        for check in self._function.checks:
            if check.whole:
                top, below = check.size.whole
                if top.value(sizes) % below:
                    return False
            elif check.size.value(sizes) < 0:
                return False
        return True

    def weight(self, sizes: Mapping[str, int]) -> tuple[int, int]:
        """The entries of the largest argument, and of what is differentiated by."""
        counts = [_count(shape, sizes) for shape in self._shapes]
        own = [_count(x.shape, sizes) for x in self._wrt if x.of is None]
        return max(counts, default=1), sum(own)

    def some(self, seed: int) -> Iterator[dict[str, int]]:
        """Yield sizes for the points of one seed, small ones first, without end."""
        rng, seen = random.Random(f"sizes {seed}"), list[dict[str, int]]()
        for k in range(1_000_000):
            found = self._chosen(rng, POOLS[min(k, len(POOLS) - 1)], k >= FIRST, seen)
            if found is not None:
                seen.append(found)
                yield found
            elif k >= len(POOLS):
                return

    def large(self, seed: int) -> dict[str, int] | None:
        """Return sizes of a hundred and more, as many as the reference can handle."""
        small = [*islice(self.some(seed), FIRST + 1)]
        if not small or not self.symbols or not self._is_plain:
            return None
        sizes, found = small[-1], None
        for k, symbol in enumerate(self.symbols):
            more = {**sizes, symbol: HUNDREDS[k % len(HUNDREDS)]}
            if self.fit(more) and self._stands(more):
                sizes = found = more
        return found

    def _stands(self, sizes: Mapping[str, int]) -> bool:
        """Whether a dozen evaluations are quick."""
        if any(n.value(sizes) > STEPS for n in self._steps):
            return False
        largest, wide = self.weight(sizes)
        shapes = [_count(shape, sizes) for shape in self._spread]
        return (
            largest <= LARGER_ARGUMENT
            and wide <= WIDE
            and sum(shapes) <= LARGER_ARGUMENT * 10
        )

    def _chosen(
        self,
        rng: random.Random,
        pool: Sequence[int],
        loops: bool,
        seen: Sequence[Mapping[str, int]],
    ) -> dict[str, int] | None:
        for attempt in range(ATTEMPTS):
            more = [*pool, *range(2, 2 + attempt // 4)]
            numbers = [rng.choice(more) for _ in self.symbols]
            if attempt == 0 and len(pool) > 1:
                # Told apart as far as there are few.
                own = rng.sample(pool, len(pool))
                numbers = [own[k % len(own)] for k in range(len(self.symbols))]
            sizes = dict(zip(self.symbols, numbers, strict=True))
            if not self.fit(sizes):
                continue
            largest, wide = self.weight(sizes)
            fine = largest <= LARGEST and wide <= WIDEST and sizes not in seen
            fine = fine and all(i.value(sizes) >= c for i, c in self._wide)
            if loops:
                fine = fine and all(n.value(sizes) >= 2 for n in self._steps)
            if fine or attempt >= ATTEMPTS * 3 // 4:
                return sizes
        return None


def _dims(given: InputSpec) -> list[Dim]:
    return [*given.shape, *([] if given.index is None else [given.index])]


def _counts(node: Node) -> Iterator[Dim]:
    """Yield how many steps a node takes, if it is a recurrence."""
    if isinstance(node, Call) and node.operator == "recurrence":
        steps = node.param("steps")
        assert isinstance(steps, Steps)
        yield steps.count


def _follows(node: Node, known: set[str]) -> bool:
    """Whether a node is a function of sizes alone, and these are known."""
    if not isinstance(node, Map) or node.order:
        return False
    below = topological([node])
    if not all(isinstance(x, Map | Product | Size | Sum) for x in below):
        return False
    if not any(isinstance(x, Size) for x in below):
        return False
    dims = [d for x in below for d in (*_of_node(x), *_value(x))]
    return known.issuperset(s for dim in dims for s in dim.sources)


def _value(node: Node) -> list[Dim]:
    return [node.value] if isinstance(node, Size) else []


def _of_node(node: Node) -> Iterator[Dim]:
    yield from node.dims
    if isinstance(node, Product):
        yield from node.sizes
    if isinstance(node, Size) and all(c >= 0 for _, c in node.value.terms):
        yield node.value


def _count(shape: Sequence[Dim], sizes: Mapping[str, int]) -> int:
    return int(np.prod([dim.value(sizes) for dim in shape], dtype=int))


def case(
    inputs: Sequence[InputSpec], sizes: Mapping[str, int], seed: str, attempt: int
) -> Case:
    """Return a point of some sizes; each `attempt` looks elsewhere.

    Every second one has matrices that are definite, and other numbers above zero and in
    order: what is promised of values that are made of them holds more often there.
    """
    known, values = dict(sizes), dict[str, Array]()
    is_kind = attempt % 2 == 1
    low, high = REGIONS[attempt // 2 % len(REGIONS)]
    for given in dict.fromkeys(x.of or x for x in inputs):
        rng = random.Random(f"{given.name} {seed} {attempt}")
        shape = tuple(dim.value(known) for dim in given.shape)
        properties = set(given.properties)
        if is_kind:
            square = len(shape) > 1 and given.shape[-1] == given.shape[-2]
            properties |= {"spd" if square else "positive"}
        if given.sparse:
            _scatter(given, shape, rng, known, values, low, high)
        elif given.index is not None:
            element = len(shape) > 1 and given.shape[-1].constant is not None
            values[given.name] = _places(
                shape, max(given.index.value(known), 1), rng, element
            )
        else:
            made = _numbers(rng, int(np.prod(shape, dtype=int)), low, high)
            made = _promised(made.reshape(shape), properties)
            # Thresholds, knots and times mostly have to stand in order.
            values[given.name] = np.sort(made) if is_kind and made.ndim == 1 else made
    return Case(known, values, seed)


def _numbers(rng: random.Random, count: int, low: float, high: float) -> Array:
    if count >= MANY:
        return np.random.default_rng(rng.getrandbits(64)).uniform(low, high, count)
    return np.array([rng.uniform(low, high) for _ in range(count)])


def _promised(made: Array, properties: set[str]) -> Array:
    """Numbers of few digits, for people to read, that are what is promised."""
    if "spd" in properties:
        turned = np.swapaxes(made, -1, -2)
        made = made @ turned + made.shape[-1] * np.eye(made.shape[-1])
        made = (made + np.swapaxes(made, -1, -2)) / 2
    elif "symmetric" in properties:
        made = made + np.swapaxes(made, -1, -2)
    made = exchangeable(made, groups(properties, made.ndim))
    if properties & {"positive", "nonnegative"} and "spd" not in properties:
        made = np.abs(made) + 0.01
    return np.round(made, 4)


def _places(
    shape: Sequence[int], bound: int, rng: random.Random, element: bool
) -> Array:
    """Entries of an index array, different ones in a row that is an element's.

    The first and the last that there can be are among them. Elsewhere than in elements
    some are the same: what adds up must not be replaced.
    """
    found = np.zeros(shape, dtype=int)
    width = shape[-1] if element else found.size
    for row in found.reshape(-1, width) if found.size else ():
        ends = [*dict.fromkeys(rng.sample((0, bound - 1), 2))]
        others = rng.sample(range(1, max(bound - 1, 1)), max(bound - 2, 0))
        some = [*ends, *others][: len(row)]
        if not element and len(some) > (2 if len(row) > 2 else rng.choice((1, 2))):
            some[-1] = some[0]
        own = np.resize(some, len(row)).tolist()
        rng.shuffle(own)
        row[:] = own
    return found


def _scatter(
    given: InputSpec,
    shape: Sequence[int],
    rng: random.Random,
    known: dict[str, int],
    values: dict[str, Array],
    low: float,
    high: float,
) -> None:
    """Choose entries of a sparse matrix, row by row: half, or as many as known."""
    every = shape[0] * shape[1]
    count = min(known.get(given.part("entries"), (every + 1) // 2), every)
    chosen = np.array(sorted(rng.sample(range(every), count)), dtype=int)
    known[given.part("entries")] = count
    numbers = _numbers(rng, count, low, high)
    values[given.part("values")] = _promised(numbers, set(given.properties))
    rows, columns = np.divmod(chosen, max(shape[1], 1))
    for one, places in (("row", rows), ("column", columns)):
        values[given.part(f"{one}s")] = places
        pairs = _alike(places)
        known[given.part(f"{one}_pairs")] = len(pairs)
        values[given.part(f"{one}_first")] = pairs[:, 0]
        values[given.part(f"{one}_second")] = pairs[:, 1]


def _alike(places: Array) -> Array:
    """Return the pairs of positions at which entries are equal, in order, as rows."""
    _, which, counts = np.unique(places, return_inverse=True, return_counts=True)
    order = np.argsort(which, kind="stable")
    starts, own = np.cumsum(counts) - counts, counts[which]
    first = np.repeat(np.arange(len(places)), own)
    nth = np.arange(len(first)) - np.repeat(np.cumsum(own) - own, own)
    return np.stack([first, order[starts[which[first]] + nth]], axis=1)


def given_case(inputs: Sequence[InputSpec], data: Mapping[str, Array]) -> Case:
    """Return the point that data from a file make.

    Sizes may be among them, and a sparse matrix is given by its parts, X_values, X_rows
    and X_columns. Raises `ValueError` if an input is missing, or shapes contradict.
    """
    data = {**data, **{k: x for own in inputs for k, x in _pairs(own, data).items()}}
    values: dict[str, Array] = {}
    for given in inputs:
        if given.name in data:
            kind = float if given.index is None else int
            values[given.name] = np.asarray(data[given.name]).astype(kind)
        elif given.default is not None:
            values[given.name] = np.asarray(float(given.default))
        elif not given.unknown:
            raise ValueError(f"the data have no '{given.name}'")
        found, axes = values.get(given.name), len(given.shape)
        if found is not None and found.ndim != axes:
            told = f"'{given.name}' has {found.ndim} axes, and not {axes}"
            told += ": give one sample of the batch" if given.batch is not None else ""
            raise ValueError(told)
    pairs = [(x.shape, values[x.name].shape) for x in inputs if x.name in values]
    named = {k: int(x) for k, x in data.items() if k not in values and np.ndim(x) == 0}
    try:
        return Case(bind(pairs, named), values, "of the data")
    except InternalError as error:
        raise ValueError(f"inconsistent shapes: {error}") from error


def _pairs(given: InputSpec, data: Mapping[str, Array]) -> dict[str, Array]:
    """The pairs of entries of a sparse matrix that one row or column has."""
    if given.of is None or given.pairs is None or given.pairs not in data:
        return {}
    places = np.asarray(data[given.pairs])
    first = given.name.endswith("_first")
    return {given.name: _alike(places)[:, 0 if first else 1]}
