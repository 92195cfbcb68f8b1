"""How long calls take, measured in turns, and their peak memory."""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Task = Callable[[], Any]

INNER = 1e-4
"""Seconds that one timing should take, by repetition."""

FEWEST, MOST = 5, 1001
"""Timings of each task; of slow ones three."""


@dataclass(frozen=True)
class Times:
    """Seconds that calls of one task took: the median and the least."""

    median: float
    least: float
    count: int


def timed(tasks: Mapping[str, Task], seconds: float) -> dict[str, Times]:
    """Time tasks in turns, each for its share of seconds.

    Each has been called before. In turns, for what else the machine does then falls on
    all of them alike.
    """
    inner, done = dict[str, int](), dict[str, list[float]]()
    for name, task in tasks.items():
        once = _elapsed(task, 1)
        inner[name] = max(1, min(1000, int(INNER / max(once, 1e-7))))
        done[name] = [once] if once > seconds else []
    was = gc.isenabled()
    gc.disable()
    try:
        for _ in range(MOST):
            open_ = [x for x in tasks if not _is_enough(done[x], inner[x], seconds)]
            for name in open_:
                if len(tasks) > 1 and inner[name] > 1:
                    tasks[name]()  # the data come back to the cache
                done[name].append(_elapsed(tasks[name], inner[name]))
            if not open_:
                break
    finally:
        if was:
            gc.enable()
    return {
        name: Times(statistics.median(own), min(own), len(own))
        for name, own in done.items()
    }


def _is_enough(done: list[float], inner: int, seconds: float) -> bool:
    spent = sum(done) * inner
    return spent >= seconds and len(done) >= (3 if spent > 2 * seconds else FEWEST)


def _elapsed(task: Task, repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        task()
    return (time.perf_counter() - start) / repeat


def peak(task: Task) -> int:
    """Return the peak memory of NumPy in bytes while a task runs.

    What is there before does not count, its result does.
    """
    tracemalloc.start()
    try:
        result = task()
        found = tracemalloc.get_traced_memory()[1]
        del result
    finally:
        tracemalloc.stop()
    return found
