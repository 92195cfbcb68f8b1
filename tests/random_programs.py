"""Random programs by seed: `program(seed)` is the same spec on every machine.

From the command line `python -m tests.random_programs --show SEED` prints one;
`python -m tests.fuzz --seeds START:STOP` runs many.
"""

from __future__ import annotations

import math
import random
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from tests.programs import meaning
from tests.programs.grow import Grower
from tests.programs.oracle import is_sure, jacobian, rests_on_derivatives
from tests.programs.tree import RandomProgram, Shape, Statement

VECTORS = ("x", "y", "z", "w")
MATRICES = ("A", "B", "C", "D")
MOST_ENTRIES = 14  # of the variables together: the oracle takes a step along each
LONGEST = 90  # the text of a program that is differentiated three times
FEW_ENTRIES = 5  # where a program holds derivatives itself


def program(seed: int) -> RandomProgram:
    """Return the random program of a seed."""
    rng = random.Random(seed)
    while True:
        found = _attempt(seed, rng)
        if found is not None:
            return found


def _attempt(seed: int, rng: random.Random) -> RandomProgram | None:
    """Grow a program; None where it does not depend on what it must."""
    sizes = {d: rng.choice((1, 2, 2, 3, 3, 4)) for d in "nmp"[: rng.choice((2, 2, 3))]}
    grower = Grower(rng, sizes)
    numbers = np.random.default_rng([seed, rng.getrandbits(32)])
    inputs = _inputs(grower, numbers)
    arguments = {name: grower.scope[name] for name in inputs}
    for k in range(rng.choice((0, 0, 0, 1))):
        grower.define(_statement(grower, f"g{k}", rng.choice((1, 2))))
    shared = tuple(grower.statements)
    for name in rng.sample(("u", "v", "h1", "res", "S"), rng.choice((0, 1, 1, 2))):
        grower.define(_statement(grower, name, rng.choice((1, 1, 2, 2))))
    result = _result(grower, rng)
    if result is None:
        return None
    found = RandomProgram(
        seed,
        sizes,
        inputs,
        frozenset(grower.positive),
        arguments,
        shared,
        tuple(grower.statements[len(shared) :]),
        result,
        (),
        grower.indexed,
        grower.promises,
    )
    if not is_sure(found):
        return None
    most = FEW_ENTRIES if rests_on_derivatives(found.pruned()) else MOST_ENTRIES
    return _with_wrt(found.pruned(), rng, most)


def _with_wrt(
    found: RandomProgram, rng: random.Random, most: int
) -> RandomProgram | None:
    """Choose what to differentiate by; None where nothing is small enough."""
    used = [name for name in found.used if name not in found.indexed]
    entries = {name: found.arguments[name].size for name in used}
    small = [name for name in entries if entries[name] <= most]
    rng.shuffle(small)
    if not small or not found.binds_its_dims:
        return None
    if rng.random() < 0.5:
        small.sort(key=lambda name: name not in found.promises)
    wrt = small[:1]
    if (
        len(small) > 1
        and rng.random() < 0.3
        and sum(entries[n] for n in small[:2]) <= most
    ):
        wrt = small[:2]
    order = tuple(name for name in found.inputs if name in wrt)
    promised = [name for name in order if name in found.promises]
    projected = frozenset(name for name in promised if rng.random() < 0.6)
    chosen = replace(found, wrt=order, projected=projected)
    chosen = replace(chosen, more=_more(chosen, rng))
    # Few programs that do not depend on their variables teach all there is to learn.
    constant = not np.any(jacobian(chosen, chosen.arguments))
    if constant and rng.random() < 0.9:
        return None
    return chosen if is_sure(chosen) else None


def _more(found: RandomProgram, rng: random.Random) -> tuple[Any, ...]:
    """Derivatives of higher orders, mixed ones, or a problem, for some programs."""
    roll = rng.random()
    entries = found.arguments[found.wrt[0]].size
    outputs = math.prod(found.sizes.get(dim, 4) for dim in found.result.shape)
    # Derivatives of high orders of long expressions have thousands of terms.
    length = sum(len(str(statement)) for statement in found.live)
    if roll < 0.12 and len(found.wrt) == 1 and entries <= 4 and outputs <= 4:
        if length > LONGEST:
            return ()
        return (3, 4) if entries <= 3 and length <= LONGEST / 2 else (3,)
    if roll < 0.22 and not found.projected:
        few = [name for name in found.wrt if found.arguments[name].size <= 4]
        if few and outputs <= 4:
            count = rng.choice((2, 2, 3, 3, 4)) if length <= LONGEST else 2
            mixed = tuple(rng.choice(few) for _ in range(count))
            return (tuple(sorted(mixed, key=mixed.index)),)
    if roll < 0.32:
        return ("problem",)
    return ()


def _inputs(grower: Grower, numbers: np.random.Generator) -> dict[str, Shape]:
    """Two to six inputs that together bear all dims, some of them index arrays."""
    rng, dims = grower.rng, list(grower.sizes)
    shapes: list[Shape] = []
    while {dim for shape in shapes for dim in shape} != set(dims):
        shapes = []
        for _ in range(rng.choice((2, 2, 3, 3))):
            order = rng.choice((0, 1, 1, 1, 2, 2, 2, 3))
            shapes.append(tuple(rng.choice(dims) for _ in range(order)))
    if rng.random() < 0.15:
        shapes.append((rng.choice(dims),) * 2)
    if rng.random() < 0.25:
        a, b = rng.choice(dims), rng.choice(("", *dims))
        dim = f"{a} + {b} - 1" if b not in ("", a) else f"2*{a}"
        grower.derived[dim] = (a, "" if dim.startswith("2") else b)
        shapes.append((dim,))
    pools = {
        0: iter("abcd"),
        1: iter(VECTORS),
        2: iter(MATRICES),
        3: iter(("T", "W", "Q", "P")),
    }
    found = {next(pools[len(shape)]): shape for shape in shapes}
    for name, shape in found.items():
        lengths = [meaning.length(dim, grower.sizes) for dim in shape]
        positive = rng.random() < 0.2
        array = numbers.uniform(0.4 if positive else -1.5, 1.5, lengths)
        square = len(shape) == 2 and shape[0] == shape[1]
        if square and not positive and rng.random() < 0.4:
            grower.promises[name] = rng.choice(("symmetric", "spd"))
            array = (array + array.T) / 2
            if grower.promises[name] == "spd":
                array = array @ array / 2 + np.eye(len(array))
        grower.add(name, shape, array)
        grower.inputs.append(name)
        if positive:
            grower.positive.add(name)
    if rng.random() < 0.4:
        name = rng.choice(("row", "col"))
        found[name] = tuple(rng.choice(dims) for _ in range(rng.choice((1, 1, 1, 2))))
        dim = rng.choice(dims)
        lengths = [grower.sizes[d] for d in found[name]]
        entries = numbers.integers(0, grower.sizes[dim], lengths)
        grower.add_indices(name, found[name], dim, entries)
    return found


def _statement(grower: Grower, name: str, depth: int) -> Statement:
    """A definition, in either notation."""
    roll = grower.rng.random()
    statement = None
    if roll < 0.04:
        statement = grower.derivatives.elementwise(name)
    elif roll < 0.45:
        statement = grower.indices.statement(name, depth)
    if statement is not None:
        return statement
    order = grower.rng.choice((0, 1, 1, 2, 2))
    shape = tuple(grower.some_dim() for _ in range(order))
    return Statement(name, grower.grow(shape, depth), shape)


def _result(grower: Grower, rng: random.Random) -> Statement | None:
    """The function itself; it is called f."""
    roll = rng.random()
    if roll < 0.2:
        statement = grower.indices.statement("f", 2)
        return statement if statement and len(statement.shape) < 3 else None
    order = 0 if roll < 0.7 else 1 if roll < 0.9 else 2
    shape = tuple(grower.some_dim() for _ in range(order))
    return Statement("f", grower.grow(shape, rng.choice((2, 2, 3, 3))), shape)


def main(arguments: list[str]) -> int:
    """Show a program."""
    if arguments[:1] != ["--show"] or len(arguments) != 2:
        print("usage: python -m tests.random_programs --show SEED", file=sys.stderr)
        return 2
    shown = program(int(arguments[1]))
    print(shown.text)
    print(f"sizes = {dict(shown.sizes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
