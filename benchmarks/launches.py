"""What modules for CuPy launch: `PYTHONPATH=. python benchmarks/launches.py`.

Counted are the calls of CuPy by each function of the examples that launch something, on
the stand-in of the tests; a view is none, and a kernel is one. Before are those of the
same modules where only helpers have kernels. What the host waits for is counted too:
checks of index arrays, of solutions, and what a loop asks for. The table is
benchmarks/results/launches.txt.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import report

from tensorgen.emit.backends import BACKENDS
from tensorgen.errors import Source
from tensorgen.pipeline import compile_spec
from tests.device.agreement import Pair
from tests.device.cases import EXAMPLES, Case
from tests.device.library import execute, stand_in


def without_kernels(text: str) -> tuple[str, str]:
    """The modules of a spec as they are without kernels."""
    plain = replace(BACKENDS["cupy"], fuses=False)
    given = ["numpy", "cupy"], "cross-country", False
    with patch.dict(BACKENDS, cupy=plain):
        made = compile_spec(Source("<text>", text), *given, support="inline")
    ours, theirs = made.values()
    return ours, theirs


class Counted(NamedTuple):
    """What a call launches, and how often the host waits in it."""

    launches: int
    waits: int


def launches(name: str, fuses: bool = True) -> dict[str, Counted]:
    """The launches of each function of an example, with kernels or without."""
    text = (EXAMPLES / f"{name}.yaml").read_text(encoding="utf-8")
    case = Case(name, text)
    numpys, cupys = case.sources() if fuses else without_kernels(text)
    with stand_in() as cupy, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        pair = Pair(case, execute(numpys), execute(cupys), cupy)
        config = importlib.import_module("cupy._config")
        found = {}
        for function in pair.functions():
            given = pair.arguments(function)
            theirs = {key: pair.on_device(value) for key, value in given.items()}
            config.launched.clear()
            before = config.waits
            getattr(pair.theirs, function)(**theirs)
            waits = config.waits - before
            found[function] = Counted(config.launched.total(), waits)
        return found


def table(names: list[str]) -> Iterator[str]:
    """Lines of what is launched before and after, by example and function."""
    yield f"{'':42}{'before':>8}{'after':>8}{'waits':>8}"
    whole = [0, 0, 0]
    for name in names:
        before, after = launches(name, fuses=False), launches(name)
        for function in before:
            row = before[function].launches, *after[function]
            whole = [a + b for a, b in zip(whole, row, strict=True)]
            yield _line(f"{name}.{function}", row)
    yield _line("all", whole)


def _line(name: str, row: Sequence[int]) -> str:
    return f"{name:42}" + "".join(f"{count:8}" for count in row)


def main() -> None:
    """Count, and keep the table."""
    lines = [*table(sorted(path.stem for path in EXAMPLES.glob("*.yaml")))]
    print("\n".join(lines))
    (report.RESULTS / "launches.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
