"""Random programs by seed: `program(seed)` is the same spec on every machine.

From the command line `python -m tests.random_programs --show SEED` prints one, and
`--seeds START:STOP` runs the tests of `test_random_programs.py` on a range.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace

import numpy as np

from tests.programs.grow import Grower
from tests.programs.oracle import jacobian
from tests.programs.tree import RandomProgram, Shape, Statement

VECTORS = ("x", "y", "z", "w")
MATRICES = ("A", "B", "C", "D")
MOST_ENTRIES = 14  # of the variables together: the oracle takes a step along each


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
    inputs = _inputs(rng, list(sizes))
    numbers = np.random.default_rng([seed, rng.getrandbits(32)])
    for name, shape in inputs.items():
        positive = rng.random() < 0.2
        low = 0.4 if positive else -1.5
        array = numbers.uniform(low, 1.5, [sizes[dim] for dim in shape])
        grower.add(name, shape, array)
        grower.inputs.add(name)
        if positive:
            grower.positive.add(name)
    arguments = {name: grower.scope[name] for name in inputs}
    shared = [
        _statement(grower, f"g{k}", rng.choice((1, 2)))
        for k in range(rng.choice((0, 0, 0, 1)))
    ]
    names = rng.sample(("u", "v", "h1", "res", "S"), rng.choice((0, 1, 1, 2)))
    where = [_statement(grower, name, rng.choice((1, 1, 2, 2))) for name in names]
    result = _result(grower, rng)
    if result is None:
        return None
    found = RandomProgram(
        seed,
        sizes,
        inputs,
        frozenset(grower.positive),
        arguments,
        tuple(shared),
        tuple(where),
        result,
        (),
    )
    return _with_wrt(found.pruned(), rng)


def _with_wrt(found: RandomProgram, rng: random.Random) -> RandomProgram | None:
    """Choose what to differentiate by; None where nothing is small enough."""
    entries = {n: found.arguments[n].size for n in found.used}
    small = [name for name in entries if entries[name] <= MOST_ENTRIES]
    rng.shuffle(small)
    if not small or not found.binds_its_dims:
        return None
    wrt = small[:1]
    if (
        len(small) > 1
        and rng.random() < 0.3
        and sum(entries[n] for n in small[:2]) <= MOST_ENTRIES
    ):
        wrt = small[:2]
    chosen = replace(found, wrt=tuple(name for name in found.inputs if name in wrt))
    # Few programs that do not depend on their variables teach all there is to learn.
    constant = not np.any(jacobian(chosen, chosen.arguments))
    return None if constant and rng.random() < 0.9 else chosen


def _inputs(rng: random.Random, dims: list[str]) -> dict[str, Shape]:
    """Two to five inputs that together bear all dims."""
    shapes: list[Shape] = []
    while {dim for shape in shapes for dim in shape} != set(dims):
        shapes = []
        for _ in range(rng.choice((2, 2, 3, 3))):
            order = rng.choice((0, 1, 1, 1, 2, 2, 2, 3))
            shapes.append(tuple(rng.choice(dims) for _ in range(order)))
    pools = {
        0: iter("abcd"),
        1: iter(VECTORS),
        2: iter(MATRICES),
        3: iter(("T", "W", "Q", "P")),
    }
    return {next(pools[len(shape)]): shape for shape in shapes}


def _statement(grower: Grower, name: str, depth: int) -> Statement:
    """A definition, in either notation."""
    if grower.rng.random() < 0.35:
        statement = grower.indexed.statement(name, depth)
        if statement is not None:
            grower.add(name, statement.shape, grower.checked(statement))
            return statement
    order = grower.rng.choice((0, 1, 1, 2, 2))
    shape = tuple(grower.some_dim() for _ in range(order))
    return _array_statement(grower, name, shape, depth)


def _array_statement(grower: Grower, name: str, shape: Shape, depth: int) -> Statement:
    grower.indexed.letters = {}
    body = grower.grow(shape, depth)
    statement = Statement(name, body, shape, (), dict(grower.indexed.letters))
    grower.add(name, shape, grower.checked(statement))
    return statement


def _result(grower: Grower, rng: random.Random) -> Statement | None:
    """The function itself; it is called f."""
    roll = rng.random()
    if roll < 0.15:
        statement = grower.indexed.statement("f", 2)
        return statement if statement and len(statement.shape) < 3 else None
    order = 0 if roll < 0.7 else 1 if roll < 0.9 else 2
    shape = tuple(grower.some_dim() for _ in range(order))
    grower.indexed.letters = {}
    body = grower.grow(shape, rng.choice((2, 2, 3, 3)))
    return Statement("f", body, shape, (), dict(grower.indexed.letters))


def main(arguments: list[str]) -> int:
    """Show a program or test a range of them."""
    if arguments[:1] == ["--show"]:
        shown = program(int(arguments[1]))
        print(shown.text)
        print(f"sizes = {dict(shown.sizes)}")
        return 0
    import pytest

    return pytest.main(
        ["-q", "-n", "auto", "tests/test_random_programs.py", *arguments]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
