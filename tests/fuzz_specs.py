"""Hostile specs in bulk: `python -m tests.fuzz_specs --seeds START:STOP`.

Each seed gives a spec that was changed (bytes, tokens, lines, names, injected texts,
YAML structure), one that was grown from the grammar with the wrong types, or a walk of
small edits. All must end in a module that runs or in a diagnostic. What ends otherwise
is made smaller, printed with its seed, and kept in a folder; the seeds that ran, on
which commit, and what became of them are kept in a file.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz import commit
from tests.hostile.seeds import WAYS, Outcome
from tests.hostile.smaller import smaller
from tests.hostile.workers import bounded, run

RESULTS = Path("benchmarks/results/fuzz_specs.txt")
FAILING = Path("build/hostile")
SLOW = 5.0  # seconds of CPU that are worth a word
_SHRUNK = 2  # of failures of one kind; the others are counted
COLUMNS = (
    *("seeds", "commit", "specs", "modules", "diagnostics", "failing", "slow"),
    *("hours", "specs/s"),
)


class Tally:
    """What became of the specs so far."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.kinds: Counter[str] = Counter()
        self.ways: Counter[str] = Counter()
        self.failures: Counter[tuple[str, str]] = Counter()
        self.slow = 0

    def add(self, outcome: Outcome) -> None:
        """Count an outcome; print and keep what failed or was slow."""
        verdict = outcome.verdict
        kind = "failing" if verdict.fails else verdict.kind
        self.kinds[kind] += 1
        self.ways[outcome.way] += 1
        if verdict.seconds > SLOW and not verdict.fails:
            self.slow += 1
            self._keep(outcome, f"slow-{outcome.seed}", outcome.data)
            print(f"slow: seed {outcome.seed}, {verdict.seconds:.1f} s", flush=True)
        if verdict.fails:
            self.failures[verdict.signature] += 1
            if self.failures[verdict.signature] <= _SHRUNK:
                self._report(outcome)

    @property
    def count(self) -> int:
        """How many specs there were."""
        return sum(self.kinds.values())

    def rate(self) -> float:
        """Specs in a second."""
        return self.count / (time.perf_counter() - self.start)

    def _report(self, outcome: Outcome) -> None:
        verdict, data = outcome.verdict, outcome.data
        if verdict.kind not in ("TooSlow", "Ended", "MemoryError"):
            data = smaller(data, lambda d: bounded(d).signature == verdict.signature)
        path = self._keep(outcome, f"{verdict.kind}-{outcome.seed}", data)
        print(f"seed {outcome.seed} ({outcome.way}): {verdict.kind}, {verdict.where}")
        print(f"{verdict.detail}--- {path}\n{data[:2000]!r}", flush=True)

    def _keep(self, outcome: Outcome, name: str, data: bytes) -> Path:
        FAILING.mkdir(parents=True, exist_ok=True)
        path = FAILING / f"{name}.yaml"
        path.write_bytes(data)
        return path


def record(path: Path, row: tuple[object, ...], ways: Counter[str]) -> None:
    """Add a run to the file of results, and its ways to the sums there."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [line.split() for line in lines if re.match(r"\d+:\d+ ", line)]
    total = Counter(ways)
    for line in lines:
        if match := re.fullmatch(r"  (.+?)  +(\d+)", line):
            total[match[1]] += int(match[2])
    table = [COLUMNS, *rows, tuple(map(str, row))]
    text = [
        f"{cells[0]:<16}" + "".join(f"{c:>13}" for c in cells[1:]) for cells in table
    ]
    counts = [f"  {way:<16}{total[way]:>10}" for way in dict.fromkeys(WAYS)]
    sums = [sum(int(row[k]) for row in table[1:]) for k in (2, 5)]
    text += ["", f"specs in all: {sums[0]}, failing: {sums[1]}", "", "by way"]
    path.write_text("\n".join([*text, *counts]) + "\n")


def main(arguments: list[str]) -> int:
    """Run a range of seeds, print and keep what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:3000", metavar="START:STOP")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args(arguments)
    start, stop = map(int, given.seeds.split(":"))
    tally = Tally()
    for outcome in run(range(start, stop), given.jobs):
        tally.add(outcome)
        if tally.count % 1000 == 0:
            print(
                f"{tally.count} specs, {tally.rate():.1f} specs/s, {dict(tally.kinds)}",
                flush=True,
            )
    kinds = tally.kinds
    hours = (time.perf_counter() - tally.start) / 3600
    row = (
        *(given.seeds, commit(), tally.count, kinds["module"], kinds["diagnostic"]),
        *(kinds["failing"], tally.slow, f"{hours:.2f}", f"{tally.rate():.1f}"),
    )
    record(given.results, row, tally.ways)
    for signature, number in tally.failures.most_common():
        print(f"{number:>6}  {': '.join(signature)}")
    print(f"{tally.count} specs, {dict(kinds)}, {tally.rate():.1f} specs/s")
    return 1 if kinds["failing"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
