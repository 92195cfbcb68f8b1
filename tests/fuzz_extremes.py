"""Naive texts at extreme points: `python -m tests.fuzz_extremes --seeds START:STOP`.

A failing text is made smaller and printed with what is wrong at which scale. How many
fail, of those promised to be stable and of the others, is kept in a file. Some seeds
are also of sums with low rank, whose base nearly vanishes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from tensorgen.emit import layout
from tests.extremes import judge, low_rank
from tests.extremes.grow import program
from tests.extremes.judge import Fault
from tests.extremes.tree import Program, smaller
from tests.fuzz import commit
from tests.made import as_printed

RESULTS = Path("benchmarks/results/fuzz_extremes.txt")
EACH = 5
"""Of so many seeds one is that of a sum with low rank too."""

CLASSES = ("promised", "not promised")


class Outcome(NamedTuple):
    """What became of one program."""

    program: Program
    faults: list[Fault]

    @property
    def of_class(self) -> str:
        """Whether the language promises that the text is stable."""
        return CLASSES[not self.program.tree.is_promised]


def outcome(seed: int) -> Outcome:
    """Run the program of a seed."""
    layout.layout = as_printed  # it takes a third of the time
    found = program(seed)
    return Outcome(found, list(judge.faults(found)))


def shrunk(found: Program, faults: list[Fault], budget: int = 40) -> Program:
    """The smallest program found that fails at the same scale in the same way."""
    kinds = {(fault.scale, fault.kind) for fault in faults}

    def fails_alike(candidate: Program) -> bool:
        got = judge.faults(candidate)
        return any((fault.scale, fault.kind) in kinds for fault in got)

    while budget > 0:
        for candidate in smaller(found):
            budget -= 1
            if candidate.wrt in candidate.words and fails_alike(candidate):
                found = candidate
                break
            if budget <= 0:
                break
        else:
            break
    return found


def run(seeds: range, jobs: int, shrinks: int) -> Iterator[Outcome]:
    """Run programs; print what fails at once, the first few made smaller."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for done, found in enumerate(pool.map(outcome, seeds, chunksize=4), 1):
            if found.faults:
                print(report(found, shrinks > 0), flush=True)
                shrinks -= 1
            if done % 100 == 0:
                print(f"{done} programs", flush=True)
            yield found


def report(found: Outcome, shrinks: bool) -> str:
    """A failing text and what is wrong with it."""
    text, faults = found.program.tree.text, found.faults
    lines = [f"seed {found.program.seed}, {found.of_class}, by {found.program.wrt}:"]
    lines.append(f"  {text}")
    if shrinks:
        small = shrunk(found.program, faults)
        lines += [f"  {small.tree.text}"] * (small.tree.text != text)
        faults = list(judge.faults(small))
    lines += [f"    {f.scale:g}: {f.kind}: {f.text}" for f in faults]
    return "\n".join(lines)


def table(seeds: str, found: list[Outcome], seconds: float) -> str:
    """Counts by class and by kind of the first fault."""
    lines = [f"seeds {seeds} on {commit()}, {seconds:.0f} seconds", ""]
    lines.append(f"{'':<28}" + "".join(f"{name:>14}" for name in CLASSES))
    counts: dict[str, Counter[str]] = {}
    for one in found:
        kind = one.faults[0].kind if one.faults else "right"
        counts.setdefault(kind, Counter())[one.of_class] += 1
    for kind in sorted(counts, key=lambda k: (k != "right", k)):
        lines.append(_row(kind, counts[kind]))
    total = sum(counts.values(), Counter())
    return "\n".join([*lines, _row("programs", total), ""])


def _row(name: str, counts: Counter[str]) -> str:
    return f"{name:<28}" + "".join(f"{counts[c]:>14}" for c in CLASSES)


def main(arguments: list[str]) -> int:
    """Run a range of seeds, print and keep what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:300", metavar="START:STOP")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--shrink", type=int, default=3, metavar="COUNT")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    start, stop = map(int, given.seeds.split(":"))
    begun = time.perf_counter()
    found = list(run(range(start, stop), given.jobs, given.shrink))
    sums = range(start, stop, EACH)
    lost = [fault for seed in sums for fault in low_rank.faults(seed)]
    for fault in lost:
        print(f"  {fault.scale:g}: {fault.kind}: {fault.text}")
    text = table(given.seeds, found, time.perf_counter() - begun)
    given.results.write_text(text)
    print(text)
    return int(bool(lost) or any(f.faults for f in found if f.of_class == CLASSES[0]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
