"""The array IR carries a backend of scalar loops: nothing in it is NumPy's text."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tensorgen.arrays.arrays import Array
from tensorgen.arrays.code import Code
from tensorgen.arrays.statements import Let
from tensorgen.ir.nodes import Node
from tensorgen.lower import lower
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.verify.interpret import evaluate
from tests.arrays.loop_printer import Unprintable, function
from tests.lower.support import RandomGraph, arguments

COMPILER = shutil.which("cc") or shutil.which("gcc")
SIZES = {"n": 3, "m": 2, "k": 4}
PROGRAMS = range(150)
HEADER = """#include <math.h>
#define SIZES long n, long m, long k
"""


@dataclass
class Program:
    """One random graph, lowered."""

    name: str
    roots: list[Node]
    code: Code
    given: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]


def programs() -> Iterator[Program]:
    for seed in PROGRAMS:
        grown = RandomGraph(seed, SIZES)
        roots = grown.grow(6)
        # As for a device: additions to places that repeat are one statement.
        code = lower(grown.graph, roots, slow_at=False)
        given = arguments(roots, SIZES, seed)
        yield Program(f"f{seed}", roots, code, given)


def buffer(value: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    shape = [max(dim.value(SIZES), 0) for dim in value.dims]
    return np.zeros(shape)


def run(library: ctypes.CDLL, program: Program) -> Sequence[np.ndarray]:
    given = [np.ascontiguousarray(x, dtype=float) for x in program.given.values()]
    lines = program.code.statements
    bound = [buffer(line.value) for line in lines if isinstance(line, Let)]
    results = [buffer(value) for value in program.code.returns]
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*given, *bound, *results)]
    library[program.name](*(ctypes.c_long(SIZES[s]) for s in "nmk"), *pointers)
    return results


@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_random_programs_run_as_scalar_loops(tmp_path: Path) -> None:
    texts, ready = [HEADER], []
    skipped: Counter[str] = Counter()
    for program in programs():
        try:
            texts.append(function(program.name, program.code, list(program.given)))
            ready.append(program)
        except Unprintable as error:
            skipped[str(error)] += 1
    source, target = tmp_path / "loops.c", tmp_path / "loops.so"
    source.write_text("\n".join(texts), encoding="utf-8")
    assert COMPILER is not None
    options = ["-O0", "-shared", "-fPIC", "-o", str(target), str(source), "-lm"]
    subprocess.run([COMPILER, *options], check=True)
    library = ctypes.CDLL(str(target))
    for program in ready:
        given = {name: np.asarray(value) for name, value in program.given.items()}
        with np.errstate(all="ignore"):
            expected = evaluate(program.roots, given, FUNCTIONS, OPERATORS, SIZES)
        for result, value in zip(run(library, program), expected, strict=True):
            scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
            np.testing.assert_allclose(
                result, value, rtol=1e-9, atol=1e-9 * scale, err_msg=program.name
            )
    # What calls a library is no loop; everything else is.
    print(f"{len(ready)} programs ran, {sum(skipped.values())} did not: {skipped}")
    assert len(ready) > len(PROGRAMS) // 2
