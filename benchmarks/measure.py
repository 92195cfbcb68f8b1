"""Measure one case, in a process of its own: what `suite.py` forks for each.

Before a contender does what may take too long, its name is printed, and the system is
asked to end the process after some seconds: whoever reads knows who it was.
"""

import argparse
import ctypes
import gc
import importlib
import json
import resource
import signal
import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import sets
from cases import Case, Contender, Task, difference, reference
from tables import Row

CALL = 5.0  # seconds that a call may take
SHARE = 0.3  # seconds of timing for each contender
ROUNDS = 5, 101  # at least and at most; of slow calls 3
QUICK = 0.05, (3, 11)
WARM = 1.0  # seconds that a call takes which is worth another one before
INNER = 1e-4  # seconds that one timing should take, by repetition


def announce(name: str, seconds: float) -> None:
    """Say who is at work; without a word after so many seconds the process ends."""
    print(json.dumps({"at": name, "limit": seconds}), flush=True)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def measure(case: Case, skipped: Iterable[str], quick: bool) -> list[Row]:
    """Make, compare and time the contenders of a case; failures are rows as well."""
    try:
        tasks, rows = prepare(case, skipped)
        timing(tasks, rows, quick)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    timed = {name: row for name, row in rows.items() if row.seconds}
    if case.judge is not None and "tensorgen" in timed and not rows["tensorgen"].note:
        rows["tensorgen"].note = case.judge(timed)
    return list(rows.values())


def prepare(
    case: Case, skipped: Iterable[str]
) -> tuple[dict[str, Task], dict[str, Row]]:
    """Return what is to be timed, all of which gave the same, and the rows so far."""
    data = case.data(np.random.default_rng(0))
    tasks: dict[str, Task] = {}
    rows: dict[str, Row] = {}
    results: dict[str, list[Any]] = {}
    for contender in case.contenders:
        name = contender.name
        if name in skipped or contender.missing():
            continue
        announce(name, case.patience)
        rows[name] = Row(case.problem, case.dim, case.size, contender=name)
        try:
            start, worked = time.perf_counter(), time.process_time()
            tasks[name] = contender.make(data)
            found = tasks[name]()
            rows[name].first = time.perf_counter() - start
            rows[name].work = time.process_time() - worked
            results[name] = contender.result(found)
            del found
        except Exception as fault:
            rows[name].note = failure(fault)
    compare(case, rows, results)
    del results
    right = {name: task for name, task in tasks.items() if not rows[name].note}
    for name, task in list(right.items()):
        announce(name, 3 * CALL)
        try:
            rows[name].peak = peak(task)
        except Exception as fault:
            rows[name].note = failure(fault)
            del right[name]
    return right, rows


def failure(fault: Exception) -> str:
    """Return a fault in a line: memory, or what it says."""
    said = str(fault).strip().partition("\n")[0]
    if isinstance(fault, MemoryError) or "RESOURCE_EXHAUSTED" in said:
        return f"too large: {said.removeprefix('RESOURCE_EXHAUSTED: ')}"[:90]
    return f"failed: {type(fault).__name__}: {said}"[:90]


def compare(case: Case, rows: dict[str, Row], results: dict[str, list[Any]]) -> None:
    """Note the results that are wrong; whoever is noted is not timed."""
    against = reference(list(results))
    for name, found in results.items():
        if against and name != against:
            rows[name].note = difference(found, results[against], case.agreement)


def peak(task: Task) -> int:
    """Return the bytes held at once at most while a task runs.

    What NumPy asks for is counted; what others hold shows in the process as a whole.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):  # where the system keeps a peak that can be set back
        Path("/proc/self/clear_refs").write_text("5")
    before = held("VmRSS:")
    tracemalloc.start()
    result = task()
    rise = held("VmHWM:") - before
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del result
    # A thousand pages come and go without being asked for.
    return max(traced, rise if rise > 2**22 else 0)


def held(what: str) -> int:
    """Return a figure of the process's memory in bytes, 0 where it is not told."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(what):
                return 1024 * int(line.split()[1])
    return 0


def timing(tasks: dict[str, Task], rows: dict[str, Row], quick: bool) -> None:
    """Time the tasks in turns, each for its share of the time.

    Each round begins with another, and each turn with calls that are not timed: data,
    code and memory come back after the others', of whom nobody always follows the same.
    """
    share, (fewest, most) = QUICK if quick else (SHARE, ROUNDS)
    times: dict[str, list[float]] = {name: [] for name in tasks}
    inner = {}
    for name, task in tasks.items():
        announce(name, 3 * CALL)
        once = elapsed(task, 1)
        inner[name] = max(1, min(1000, int(INNER / max(once, 1e-7))))
        if once > CALL:
            rows[name].note = f"slow: one call, over {CALL:.0f} s"
        if once > share:
            times[name].append(once)
    gc.disable()
    order = list(tasks)
    for turn in range(most):
        first = turn % max(len(order), 1)
        for name in [*order[first:], *order[:first]]:
            task = tasks[name]
            done = times[name]
            least = 3 if sum(done) > share else fewest
            if rows[name].note or (sum(done) >= share and len(done) >= least):
                continue
            if inner[name] == 1:
                announce(name, 3 * CALL)
            if not done or done[-1] < WARM:
                elapsed(task, inner[name])
            done.append(elapsed(task, inner[name]))
    gc.enable()
    for name, done in times.items():
        rows[name].seconds, rows[name].least = statistics.median(done), min(done)


def elapsed(task: Callable[[], Any], repeat: int) -> float:
    """Return the seconds that a call takes, of so many in a row."""
    start = time.perf_counter()
    for _ in range(repeat):
        task()
    return (time.perf_counter() - start) / repeat


def absent(contenders: Iterable[Contender]) -> dict[str, str]:
    """Return which contenders lack a library, and which."""
    return {c.name: c.missing() for c in contenders if c.missing()}


def preload() -> None:
    """Import what any contender needs: processes that are forked then have it."""
    named = {
        library: None
        for chosen in sets.EVERY
        for case in chosen.cases()
        for contender in case.contenders
        for library in contender.libraries
    }
    for library in named:
        with suppress(ImportError):
            importlib.import_module(library)


def main(words: Sequence[str] | None = None) -> None:
    """Measure the case of that name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("letter")
    parser.add_argument("name")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--memory", type=int, help="bytes of address space")
    options = parser.parse_args(words)
    if options.memory:
        resource.setrlimit(resource.RLIMIT_AS, (options.memory, options.memory))
    (chosen,) = (s for s in sets.EVERY if s.letter == options.letter)
    (case,) = (c for c in chosen.cases() if c.name == options.name)
    print(json.dumps({"absent": absent(case.contenders)}), flush=True)
    rows = measure(case, options.without, options.quick)
    rows = [replace(row, threads=options.threads) for row in rows]
    print(json.dumps({"rows": [asdict(row) for row in rows]}), flush=True)


if __name__ == "__main__":
    main()
