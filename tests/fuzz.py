"""Random programs in bulk: `python -m tests.fuzz --seeds START:STOP`.

Each seed gives a program over the whole language, one whose derivatives have a
structure, and one of parts of its variable, which must store no place that stays empty.
A failing one is printed as a spec that reproduces it; where only empty places are
stored, it is counted and printed apart: `GAPS` in `tests/programs/sparse.py` has what
is known of that. Of every fourth seed the rows of each size come in blocks
(`tests/programs/rows.py`), and of every eighth no function may cost much more than it
has to (`tests/modelled.py`). With `--backend cupy` all that is done is to hold modules
for CuPy against those for NumPy, on the stand-in, and nothing is kept. Else the seeds
that ran, on which commit, how fast, and which features the programs use are kept in a
file.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tensorgen.emit import layout
from tests.made import as_printed
from tests.modelled import LISTED, cliffs
from tests.programs import judge, rows
from tests.programs.check_structured import LOOSE
from tests.programs.device import disagreements
from tests.programs.sparse import sparse_program
from tests.programs.structured import structured_program
from tests.programs.tree import RandomProgram
from tests.random_programs import program
from tests.test_structures import faults as structured_faults
from tests.test_structures import report as structured_report

RESULTS = Path("benchmarks/results/fuzz.txt")
COLUMNS = ("seeds", "commit", "programs", "failing", "seconds", "programs/s", "jobs")
PRICED = 8  # of so many seeds, one has its costs looked into
STORES_MORE = "places that stay empty"
SHRUNK = 3  # failing programs that are made smaller; the others are printed whole

LETTER = r"[ijklqrst]\d?"
# What a program uses, by its text.
FEATURES = {
    "index arrays": r"index: ",
    "array[index array]": r"\w\[(row|col)\]",
    "affine positions": rf"\[([^\]:]*, )?([nmp\d +-]*[+-] |2\*)?{LETTER} [+-] \w"
    rf"|\[[^\]:]*2\*{LETTER}",
    "derived shapes": r"shape: \[[^\]]*[+*]",
    "sums over indices": rf"sum\([^\n]*, {LETTER}[,)=]",
    "other reductions over indices": (
        rf"(mean|prod|max|min|norm|logsumexp)\([^\n]*, {LETTER}[,)=]"
    ),
    "ranges": r"=range\(",
    "conditions": r", [^,()]* (<|<=|!=|>|==) [^,()]*\)",
    "deltas and indicators": r"delta\(|\(\w+ <=? \w+\)",
    "inv, solve": r"\b(inv|solve)\(",
    "det, logdet, cholesky, expm": r"\b(det|logdet|cholesky|expm)\(",
    "stacks of matrices": r"(inv|solve|det|logdet|cholesky)\([^\n]*5\*eye\(",
    "cross": r"\bcross\(",
    "softmax, logsumexp": r"\b(log_)?softmax\(|logsumexp\(",
    "grad, jac": r"\b(grad|jac)\(",
    "hess, hvp": r"\b(hess|hvp)\(",
    "jvp, vjp": r"\b(jvp|vjp)\(",
    "composite functions": r"\b(gelu|silu|mish|elu|leaky_relu|huber|softsign|mse|bump"
    r"|bce_with_logits|cross_entropy|layer_norm|attention)\(",
    "kinks": r"\b(abs|relu|maximum|minimum|clip|where|max|min)\(",
    "where": r"    where: ",
    "several variables": r"wrt: \[\w+, ",
    "symmetric variables": r": symmetric\}",
    "Jacobians": r"emit: .*jacobian",
    "Hessians": r"emit: .*hessian",
    "products of derivatives": r"emit: .*(hvp|jvp|vjp)",
    "order 3": r"emit: .*\b3\b",
    "order 4": r"emit: .*\b4\b",
    "mixed lists": r"emit: \[.*\[",
    "problems": r"emit: .*problem",
    "parts of a variable": r"\[2\*h\]|\[2\*h, k\]",
}


class Outcome(NamedTuple):
    """What became of one program."""

    seed: int
    text: str
    faults: list[str]

    @property
    def is_loose(self) -> bool:
        """Whether all is right but that places are stored which stay empty."""
        return len(self.faults) == 1 and LOOSE in self.faults[0]


def outcomes(seed: int) -> list[Outcome]:
    """Run the programs of a seed."""
    layout.layout = as_printed  # it takes a third of the time
    general, structured = program(seed), structured_program(seed)
    parts = sparse_program(seed)
    wrong = judge.faults(general)
    if seed % 4 == 1 and not wrong:
        wrong = _device_faults(general, judge.MODES[seed // 4 % 3])
    if seed % 4 == 3 and not wrong:
        wrong = rows.faults(general)
    if seed % PRICED == 0 and not wrong and f"general {seed}" not in LISTED:
        wrong = cliffs(general.text)
    return [
        Outcome(seed, general.text, wrong),
        Outcome(seed, structured.text, structured_faults(structured)),
        Outcome(seed, parts.text, structured_faults(parts)),
    ]


def on_a_device(seed: int) -> list[Outcome]:
    """Run a program of a seed on the stand-in for CuPy, in one of the modes."""
    layout.layout = as_printed
    general = program(seed)
    faults = _device_faults(general, judge.MODES[seed % len(judge.MODES)])
    return [Outcome(seed, general.text, faults)]


def _device_faults(general: RandomProgram, mode: str) -> list[str]:
    arguments = {name: general.arguments[name] for name in general.used}
    try:
        return list(disagreements(general.text, arguments, mode))
    except Exception:
        return [f"on a device, {mode}: {traceback.format_exc(limit=-3)}"]


def features(text: str) -> Iterator[str]:
    """What a program uses."""
    yield "all"
    text = text.replace("  bump(t) = t / (1 + t**2)\n", "")
    yield from (name for name, shape in FEATURES.items() if re.search(shape, text))


def run(
    seeds: range, jobs: int, backend: str = "numpy"
) -> tuple[Counter[str], list[Outcome], float]:
    """Run programs; print what fails at once."""
    of = on_a_device if backend == "cupy" else outcomes
    used: Counter[str] = Counter()
    failing: list[Outcome] = []
    start = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for done, several in enumerate(pool.map(of, seeds, chunksize=4), 1):
            for outcome in several:
                used.update(features(outcome.text))
                if outcome.is_loose:
                    used[STORES_MORE] += 1
                    print(f"seed {outcome.seed}: {outcome.faults[0]}", flush=True)
                elif outcome.faults:
                    failing.append(outcome)
                    print(_report(outcome, len(failing) <= SHRUNK), flush=True)
            if done % 100 == 0:
                rate = used["all"] / (time.perf_counter() - start)
                print(
                    f"{done} seeds, {rate:.2f} programs/s, {len(failing)} failing",
                    flush=True,
                )
    return used, failing, time.perf_counter() - start


def _report(outcome: Outcome, shrinks: bool) -> str:
    if not shrinks or outcome.faults[0].startswith(rows.OF):
        return "\n".join([f"seed {outcome.seed}:", outcome.text, *outcome.faults])
    for made in (structured_program, sparse_program):
        if made(outcome.seed).text == outcome.text:
            return structured_report(made(outcome.seed))
    return judge.report(program(outcome.seed))


def record(path: Path, row: tuple[object, ...], used: Counter[str]) -> None:
    """Add a run to the file of results, and its features to the sums there."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [line.split() for line in lines if re.match(r"\d+:\d+ ", line)]
    total = Counter(used)
    for line in lines:
        if match := re.fullmatch(r"  (.+?)  +(\d+)", line):
            total[match[1]] += int(match[2])
    table = [COLUMNS, *rows, tuple(map(str, row))]
    text = ["".join(f"{cell:>12}" for cell in cells).strip() for cells in table]
    text = [f"{line.split()[0]:<14}" + _rest(line) for line in text]
    counts = [
        f"  {name:<32}{total[name]:>8}" for name in ("all", *FEATURES, STORES_MORE)
    ]
    path.write_text("\n".join([*text, "", "programs that use", *counts]) + "\n")


def _rest(line: str) -> str:
    return "".join(f"{cell:>12}" for cell in line.split()[1:])


def commit() -> str:
    """The commit that ran, with a plus sign if something was changed."""
    git = ("git", "rev-parse", "--short", "HEAD"), ("git", "status", "--porcelain")
    head, status = (
        subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for command in git
    )
    changed = any(str(RESULTS) not in line for line in status.splitlines())
    return (head.strip() or "unknown") + "+" * changed


def main(arguments: list[str]) -> int:
    """Run a range of seeds, print and keep what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:300", metavar="START:STOP")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--backend", choices=["numpy", "cupy"], default="numpy")
    given = parser.parse_args(arguments)
    start, stop = map(int, given.seeds.split(":"))
    used, failing, seconds = run(range(start, stop), given.jobs, given.backend)
    count = used["all"]
    rate = f"{count / seconds:.2f}"
    row = (given.seeds, commit(), count, len(failing), round(seconds), rate, given.jobs)
    if given.backend == "numpy":
        record(given.results, row, used)
    for name, number in used.most_common():
        print(f"{name:<32}{number:>8}")
    print(f"{count} programs, {len(failing)} failing, {rate} programs/s")
    print("failing seeds:", sorted({outcome.seed for outcome in failing}) or "none")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
