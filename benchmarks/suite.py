"""Problems beside peers, each size of each in a process of its own.

Run it as `make bench`, or `python benchmarks/suite.py [LETTER ...]`: a table and a plot
a set under benchmarks/results. Results are compared before anything is timed, and
contenders take turns on as many cores each. Without `--threads` all is measured on one,
and the largest size of each problem that we managed on two as well. What fails, or does
not fit into memory or time, has a row that says so.
"""

import argparse
import itertools
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import report
import sets
import tables
from cases import Case, Set
from measure import CALL
from nursery import Ended, Nursery
from tables import Row

HERE = Path(__file__).parent
PATHS = (str(HERE), str(report.ROOT))
PACKAGES = (
    *("numpy", "scipy", "jax", "torch", "autograd"),
    *("casadi", "statsmodels", "scikit-learn"),
)
MINUTES, LOOK = 35, 100  # a full run takes at most so long; a look, so many seconds
SLOW = ("torch.compile",)  # to start: not in a look
LONGEST = 240  # seconds of one process
STARTS = 2.0  # seconds of tracing and compiling, after which no larger size is tried
LATE = "out of time"
MEMORY = 12 * 2**30  # bytes, or three quarters of what the machine has

# What runs a process: by threads, first core, words, and seconds that it has.
Start = Callable[[int, int, Sequence[str], float], Ended]


class Suite:
    """A run: what was measured so far decides what is tried next."""

    def __init__(
        self, quick: bool, seconds: float, start: Start, starts: float = STARTS
    ) -> None:
        """Take how long it may take, and what starts a process.

        A peer that takes more than `starts` seconds to start is not tried further.
        """
        self.starts = starts
        self.quick, self.end = quick, time.monotonic() + seconds
        self.start = start
        self.memory = min(MEMORY, available() * 3 // 4)
        self.history: dict[tuple[str, str, int], Row] = {}
        self.earlier: dict[tuple[str, str, int], Row] = {}

    def rows(
        self,
        letter: str,
        case: Case,
        threads: int,
        core: int = 0,
        without: Sequence[str] = (),
    ) -> list[Row]:
        """Return the rows of a case, of as many processes as it takes."""
        noted: dict[str, Row] = {}
        for contender in case.contenders:
            if reason := self.hopeless(case, contender.name, threads):
                noted[contender.name] = blank(case, contender.name, threads, reason)
        order = [c.name for c in case.contenders]
        found: list[Row] = []
        for _ in range(len(case.contenders) + 1):
            left = self.end - time.monotonic()
            if left <= 0:
                noted["tensorgen"] = blank(case, "tensorgen", threads, LATE)
                break
            found, culprit, reason = self.child(
                letter, case, threads, [*without, *noted], min(left, LONGEST), core
            )
            if not culprit:
                break
            if time.monotonic() >= self.end:  # it was not the culprit's own fault
                noted[order[0]] = blank(case, order[0], threads, LATE)
                break
            noted[culprit] = blank(case, culprit, threads, reason)
        together = sorted(
            [*noted.values(), *found], key=lambda row: order.index(row.contender)
        )
        for row in together:
            key = (case.problem, row.contender, threads)
            if key in self.history:
                self.earlier[key] = self.history[key]
            self.history[key] = row
        return together

    def glance(self, letter: str, case: Case, core: int) -> list[Row]:
        """Return and print the rows of a case, nothing where no time is left."""
        found = self.rows(letter, case, 1, core, SLOW)
        return found if found[0].note == LATE else show(found)

    def child(
        self,
        letter: str,
        case: Case,
        threads: int,
        without: list[str],
        seconds: float,
        core: int,
    ) -> tuple[list[Row], str, str]:
        """Run a process; return its rows, or who ended it and how."""
        words = [letter, case.name, f"--threads={threads}"]
        words += [f"--memory={self.memory}", *["--quick"] * self.quick]
        words += [f"--without={name}" for name in without]
        ended = self.start(threads, core, words, seconds)
        events = [json.loads(x) for x in ended.said.splitlines() if x.startswith("{")]
        for event in events:
            if "rows" in event:
                return [Row(**row) for row in event["rows"]], "", ""
        at = [event for event in events if "at" in event]
        name, limit = (at[-1]["at"], at[-1]["limit"]) if at else ("tensorgen", seconds)
        return [], str(name), how(ended.code, ended.fault, float(limit))

    def hopeless(self, case: Case, name: str, threads: int) -> str:
        """Return why a contender is not tried at a size, after the sizes before it."""
        last = self.history.get((case.problem, name, threads))
        if last is None or last.size >= case.size:
            return ""
        where = f"at {last.dim} = {last.size}"
        if last.note.startswith("too large"):
            return last.note if " at " in last.note else f"{last.note}, {where}"
        if last.note.startswith(("slow", "failed", "killed", "wrong")):
            return f"too large: {last.note}, {where}"
        started = (last.first or 0.0) - (last.seconds or 0.0)
        if started > self.starts and not name.startswith("tensorgen"):
            return f"not tried: it took {started:.0f} s to start {where}"
        if last.note.startswith("not tried"):
            return last.note
        before = self.earlier.get((case.problem, name, threads))
        for what, least, most, shown in (
            ("seconds", CALL / 50, 3 * CALL, "{:.2g} s"),
            ("peak", self.memory / 100, self.memory, "{:.2g} bytes"),
        ):
            # What is small says little of what is large.
            value = getattr(last, what)
            if (
                value
                and value > least
                and value * growth(before, last, what, case.size) > most
            ):
                return f"too large: took {shown.format(value)} {where}"
        return ""


def growth(before: Row | None, last: Row, what: str, size: int) -> float:
    """Return by what a figure is taken to grow from the last size: a power of it."""
    power = 2.0
    if before is not None and getattr(before, what) and before.size < last.size:
        steps = math.log(last.size / before.size)
        power = math.log(getattr(last, what) / getattr(before, what)) / steps
    return float((size / last.size) ** min(max(power, 1.0), 3.0))


def blank(case: Case, name: str, threads: int, note: str) -> Row:
    """Return a row without figures."""
    return Row(case.problem, case.dim, case.size, threads, name, note=note)


def how(code: int, fault: str, limit: float) -> str:
    """Return in a line how a process ended."""
    if code == -signal.SIGALRM:
        return f"too large: not done after {limit:.0f} s"
    if code == -signal.SIGKILL:
        return "too large: killed for its memory"
    if code < 0:
        said = "bad_alloc" in fault or "memory" in fault.lower()
        end = signal.Signals(-code).name
        return f"{'too large' if said else 'killed'}: ended by {end}"
    last = (fault.strip().splitlines() or ["no word"])[-1]
    return f"failed: {last}"[:90]


def environment(threads: int) -> dict[str, str]:
    """Return what tells all libraries how many threads they have."""
    count = str(threads)
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    own = dict.fromkeys(names, count)
    eigen = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    own["XLA_FLAGS"] = f"{eigen} intra_op_parallelism_threads={count}"
    own["JAX_PLATFORMS"] = "cpu"
    own["PYTHONDONTWRITEBYTECODE"] = (
        ""  # modules are compiled once, not in each process
    )
    return os.environ | own | {"PYTHONPATH": os.pathsep.join(PATHS)}


class Nurseries:
    """Processes by how many threads they have, and on which cores."""

    def __init__(self, module: str = "measure") -> None:
        """Start none yet; the module is what they run."""
        self.module = module
        self.known: dict[tuple[int, int], Nursery] = {}

    def __call__(
        self, threads: int, core: int, words: Sequence[str], seconds: float
    ) -> Ended:
        """Run a process on as many cores as threads: pools of threads are as large."""
        if (threads, core) not in self.known:
            own = Nursery(self.module, environment(threads))
            self.known[threads, core] = own
        return self.known[threads, core].run(words, seconds, cores(threads, core))

    def close(self) -> None:
        """End those who start processes."""
        for nursery in self.known.values():
            nursery.close()


def cores(threads: int, core: int) -> list[int]:
    """Return so many of the cores that we have, from one on."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    own = sorted(os.sched_getaffinity(0))
    return sorted({own[(core + k) % len(own)] for k in range(threads)})


def available() -> int:
    """Return the bytes of memory that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def whole(suite: Suite, chosen: Set, threads: tuple[int, ...]) -> list[Row]:
    """Return all rows of a set: every case on the first count of threads.

    On the second, the largest case of each problem at which ours has a figure, and who
    managed it. Small sizes come first, so that no problem takes the time of another.
    """
    cases = list(chosen.cases())
    rows: dict[tuple[str, int], list[Row]] = {}
    largest: dict[str, Case] = {}
    for case in by_turns(cases):
        found = show(suite.rows(chosen.letter, case, threads[0]))
        rows[case.name, threads[0]] = found
        if any(r.contender == "tensorgen" and r.seconds for r in found):
            largest[case.problem] = case
    for count in threads[1:]:
        for case in largest.values():
            failed = [r.contender for r in rows[case.name, threads[0]] if not r.seconds]
            found = show(suite.rows(chosen.letter, case, count, without=failed))
            rows[case.name, count] = found
    order = [(case.name, count) for case in cases for count in threads]
    return [row for key in order for row in rows.get(key, [])]


def by_turns(cases: list[Case]) -> list[Case]:
    """Return the smallest cases of all problems, then the next ones, and so on."""
    problems: dict[str, list[Case]] = {}
    for case in cases:
        problems.setdefault(case.problem, []).append(case)
    rounds = itertools.zip_longest(*problems.values())
    return [case for cases in rounds for case in cases if case is not None]


def show(rows: list[Row]) -> list[Row]:
    """Print rows as they come, and return them."""
    for row in rows:
        print(row.line(), flush=True)
    return rows


def write(chosen: Set, rows: list[Row]) -> None:
    """Write the table of a set."""
    lines = [
        chosen.title,
        "Medians and least times of calls in turns, peak memory of a call, and time",
        "of the first call with all that is generated, traced and compiled for it.",
        f"Written by `python benchmarks/suite.py {chosen.letter}`.",
        "",
        *report.machine(*PACKAGES),
        "",
        tables.head(),
        *(row.line() for row in rows),
    ]
    path = report.RESULTS / f"{chosen.name}.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def smallest(chosen: Set) -> list[Case]:
    """Return the first case of each problem."""
    first: dict[str, Case] = {}
    for case in chosen.cases():
        first.setdefault(case.problem, case)
    return list(first.values())


def look(chosen: list[Set], start: Start) -> list[Row]:
    """Return rows of the smallest size of each problem, two at a time."""
    suite = Suite(True, LOOK, start)
    queues = [[(s.letter, case) for case in smallest(s)] for s in chosen]
    turns = [q[k] for k in range(max(map(len, queues))) for q in queues if k < len(q)]
    count = os.cpu_count() or 1

    def taken(core: int) -> list[Row]:
        own = turns[core::count]
        return [row for task in own for row in suite.glance(*task, core)]

    with ThreadPoolExecutor(count) as pool:
        rows = [row for found in pool.map(taken, range(count)) for row in found]
    late = sum(row.note == LATE for row in rows)
    if late:
        print(f"out of time: {late} of {len(turns)} problems")
    return rows


def main() -> int:
    """Measure the sets asked for, or all; 1 where a result of ours is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    letters = [s.letter for s in sets.SETS]
    parser.add_argument("letters", nargs="*", choices=[*letters, []])
    parser.add_argument("--quick", action="store_true", help="a look; keeps nothing")
    parser.add_argument("--threads", type=int, choices=(1, 2), help="both without")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    options = parser.parse_args()
    chosen = [s for s in sets.SETS if s.letter in (options.letters or letters)]
    threads = (1, 2) if options.threads is None else (options.threads,)
    print("\n".join([*report.machine(*PACKAGES), "", tables.head()]), flush=True)
    start = Nurseries()
    try:
        if options.quick:
            return verdict(look(chosen, start))
        rows = measured(chosen, threads, 60 * options.minutes, start, write)
    finally:
        start.close()
    draw([s.name for s in chosen])
    return verdict(rows)


def measured(
    chosen: list[Set],
    threads: tuple[int, ...],
    seconds: float,
    start: Start,
    kept: Callable[[Set, list[Row]], None],
    starts: float = STARTS,
) -> list[Row]:
    """Measure sets one after another, of which `kept` writes tables; return all rows.

    What starts a process, and after how slow a start none is tried, are `Suite`'s.
    """
    last = time.monotonic() + seconds
    rows, left = [], sum(len(list(s.cases())) for s in chosen)
    for one in chosen:
        # A set may take twice as much of the time that is left as it has of the cases:
        # what comes last is measured as well.
        share = 2 * len(list(one.cases())) / left
        own = min(share, 1) * (last - time.monotonic())
        suite = Suite(False, own, start, starts)
        left -= len(list(one.cases()))
        rows += (found := whole(suite, one, threads))
        kept(one, found)
    return rows


def draw(names: list[str]) -> None:
    """Draw the plots of tables, where that is possible."""
    try:
        import plots
    except ImportError as fault:
        print(f"no plots: {fault}")
        return
    for name in names:
        plots.draw(name)


def verdict(rows: list[Row]) -> int:
    """Tell what of ours went wrong; 1 where that is anything but time and size."""
    bad = [
        row
        for row in rows
        if row.contender.startswith("tensorgen")
        and row.note.startswith(("wrong", "failed", "killed"))
    ]
    for row in bad:
        print(f"ours: {row.problem}, {row.dim} = {row.size}: {row.note}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
