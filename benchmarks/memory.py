"""What the functions of set H hold, as modelled and as measured, beside code by hand.

Run it by `make bench`, or `python benchmarks/memory.py`; needs no quiet machine. It
fails where the model is off by more than a fifth, or where a function takes more than
twice the largest of its arguments, its result and the function by hand.
"""

import gc
import inspect
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import report

sys.path.insert(0, str(report.ROOT))

from by_hand.problem import Problem
from sets.hand import problems

import tensorgen
from tensorgen.arrays.memory import peak
from tensorgen.prices.thresholds import ELIDED
from tests.modelled import Prices

NEAR, SMALL, MUCH = 0.2, 4096, 2.0


def held(task: Callable[[], Any]) -> int:
    """The most bytes that a call holds at a time, after a first one."""
    task()
    gc.collect()
    tracemalloc.start()
    task()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


def rows() -> Iterator[tuple[Problem, int, int, int, int]]:
    """What problems hold: modelled, measured, by hand, and as arguments and results."""
    for problem in problems():
        if problem.call or not problem.function or problem.mode != "cross-country":
            continue
        prices, module = Prices(problem.spec), tensorgen.load(problem.spec)
        data = problem.data(np.random.default_rng(0))
        function = getattr(module, problem.function)
        own, other = (
            {x: data[x] for x in inspect.signature(f).parameters if x in data}
            for f in (function, problem.hand)
        )
        sizes = prices.sizes(own)
        modelled = 8 * peak(prices.codes[problem.function], sizes, ELIDED)
        given = sum(np.asarray(x).nbytes for x in own.values())
        measured, hand = held(partial(function, **own)), held(
            partial(problem.hand, **other)
        )
        yield problem, modelled, measured, hand, given


def main() -> None:
    """Write the table, and say what is out of bounds."""
    lines = report.machine("numpy")
    lines += ["", "Megabytes that a call holds beside its arguments, at the most", ""]
    lines.append(f"{'problem':<36}{'model':>10}{'measured':>10}{'by hand':>10}")
    wrong = []
    for problem, modelled, measured, hand, given in rows():
        far = abs(modelled - measured) > max(NEAR * measured, SMALL)
        much = measured > MUCH * max(hand, given)
        if far or much:
            wrong.append(problem.name)
        numbers = [x / 1e6 for x in (modelled, measured, hand)]
        figures = "".join(f"{x:>10.3f}" for x in numbers)
        lines.append(f"{problem.name:<36}{figures}")
    report.write("memory.txt", lines)
    if wrong:
        sys.exit(f"out of bounds: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
