"""How much the check compares: `python -m tests.self_check --seeds START:STOP`.

Each seed gives a program over the whole language and one whose derivatives have a
structure. Counted are functions that are compared exactly, in floating point, and not
at all, and the share of the check in the time of a generation without layout.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from tensorgen import pipeline
from tensorgen.check import Report, check
from tensorgen.errors import Source
from tensorgen.plans import claims
from tests.programs.structured import StructuredProgram, structured_program
from tests.programs.tree import RandomProgram
from tests.random_programs import program

RESULTS = Path("benchmarks/results/self_check.txt")
MAKERS: dict[str, Callable[[int], RandomProgram | StructuredProgram]] = {
    "whole language": program,
    "structured": structured_program,
}
COLUMNS = ("programs", "exactly", "floating", "not at all", "time of the check")


def outcome(given: tuple[str, int]) -> tuple[str, Counter[str], list[str]]:
    """What the check says of a program, and of which functions it says nothing."""
    kind, seed = given
    found: Counter[str] = Counter()
    unchecked: list[str] = []

    def timed(*claimed: Any) -> Report:
        start = time.process_time()
        told = check(*claimed)
        found["check"] = int(1e6 * (time.process_time() - start))
        return told

    def hear(_: str, told: Report) -> None:
        found["exactly"] = len(told.exact)
        found["floating"] = len(told.floating)
        found["not at all"] = len(told.unchecked)
        unchecked.extend(f"{seed}: {x}: {why}" for x, why in told.unchecked.items())

    vars(claims).update(check=timed)
    start = time.process_time()
    source = Source(f"seed {seed}", MAKERS[kind](seed).text)
    pipeline.compile_spec(source, ["numpy"], "cross-country", False, report=hear)
    found["time"] = int(1e6 * (time.process_time() - start))
    return kind, found, unchecked


def main() -> None:
    """Count, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:200", metavar="START:STOP")
    seeds = parser.parse_args().seeds
    totals: dict[str, Counter[str]] = {kind: Counter() for kind in MAKERS}
    lines = [f"seeds {seeds}", "".join(f"{x:>18}" for x in COLUMNS)]
    context = multiprocessing.get_context("spawn")
    jobs = product(MAKERS, range(*map(int, seeds.split(":"))))
    unseen: list[str] = []
    with ProcessPoolExecutor(mp_context=context) as pool:
        for kind, found, unchecked in pool.map(outcome, jobs, chunksize=4):
            totals[kind] += found + Counter(programs=1)
            unseen += [f"{kind}, seed {text}" for text in unchecked]
    for kind, total in totals.items():
        count = sum(total[x] for x in COLUMNS[1:4])
        shares = [f"{total[x]} ({total[x] / count:.1%})" for x in COLUMNS[1:4]]
        cells = [kind, *shares, f"{total['check'] / total['time']:.1%}"]
        lines.append("".join(f"{x:>18}" for x in cells))
    text = "\n".join([*lines, *unseen]) + "\n"
    print(text, end="")
    RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
