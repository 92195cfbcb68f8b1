"""Problems beside code by hand, each in a process of its own.

Run it as `make suite`, or `python benchmarks/suite.py [NAME ...]`; it writes
benchmarks/results/suite.txt when all are run. Results are compared before anything is
timed; contenders take turns; peaks are what NumPy asks for while a call runs.
"""

import argparse
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import by_hand
import numpy as np
import report
from by_hand import Problem

SECONDS = 2.0  # about what the rounds of one problem take


def problems() -> Iterator[Problem]:
    """All problems, by file."""
    for found in pkgutil.iter_modules(by_hand.__path__):
        module = importlib.import_module(f"by_hand.{found.name}")
        yield from getattr(module, "PROBLEMS", [])


def measure(problem: Problem, quick: bool) -> dict[str, Any]:
    """Generate, compare and time one problem."""
    import tensorgen

    data = problem.data(np.random.default_rng(0))
    start = time.perf_counter()
    module: Any = tensorgen.load(problem.spec, mode=problem.mode)
    outcome: dict[str, Any] = {"generation": time.perf_counter() - start}
    if problem.call is None:
        function = getattr(module, problem.function)
        ours: Callable[[], Any] = lambda: function(**data)  # noqa: E731
    else:
        ours = problem.call(module, data)

    def hand() -> Any:
        return problem.hand(**data)

    agree(problem, ours(), hand())
    tasks = {"ours": ours, "hand": hand}
    outcome["peaks"] = {name: peak(task) for name, task in tasks.items()}
    once = max(report.timed(ours) + report.timed(hand), 1e-5)
    rounds = int(min(max(SECONDS / once, 7), 301)) if not quick else 5
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            times[name].append(report.timed(task))
    outcome["seconds"] = {
        name: report.spread(found)[0] for name, found in times.items()
    }
    outcome["least"] = {name: min(found) for name, found in times.items()}
    return outcome


def agree(problem: Problem, found: Any, expected: Any) -> None:
    """Raise unless both results are equal up to rounding."""
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        if not np.allclose(
            a, b, rtol=problem.agreement, atol=problem.agreement * np.abs(b).max()
        ):
            raise SystemExit(f"{problem.name}: off by {np.abs(a - b).max():.1e}")


def leaves(result: Any) -> list[Any]:
    """The arrays of a result."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    if hasattr(result, "dense"):
        result = result.dense()
    return [np.asarray(result)]


def peak(task: Callable[[], Any]) -> int:
    """How many bytes are held at once, at most, while a task runs."""
    tracemalloc.start()
    result = task()
    bytes_ = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del result
    return bytes_


def main() -> None:
    """Measure those asked for, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; all without")
    parser.add_argument("--quick", action="store_true", help="five rounds each")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        (problem,) = (p for p in problems() if p.name == options.one)
        print(json.dumps(measure(problem, options.quick)))
        return
    chosen = [
        p
        for p in problems()
        if not options.names or any(n.lower() in p.name.lower() for n in options.names)
    ]
    lines = report.machine("numpy", "scipy")
    lines += [
        "",
        f"{'problem':<32}{'ms: ours':>10}{'by hand':>10}{'ratio':>8}{'least':>8}"
        f"{'MB: ours':>9}{'by hand':>9}{'made in':>9}",
    ]
    print("\n".join(lines), flush=True)
    for problem in chosen:
        lines.append(row(problem.name, options.quick))
        print(lines[-1], flush=True)
    if not options.names:
        report.write("suite.txt", lines)


def row(name: str, quick: bool) -> str:
    """A line of the table, by a process of its own."""
    command = [sys.executable, __file__, "--one", name] + ["--quick"] * quick
    threads = {"OPENBLAS_NUM_THREADS": os.environ.get("THREADS", "1")}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=300,
            env=os.environ | threads | {"PYTHONPATH": str(Path(__file__).parent)},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{name:<32}  out of time"
    if done.returncode:
        return f"{name:<32}  {(done.stderr.strip().splitlines() or ['?'])[-1][:120]}"
    found = json.loads(done.stdout)
    a, b = found["seconds"]["ours"], found["seconds"]["hand"]
    least = found["least"]["ours"] / found["least"]["hand"]
    p, q = (found["peaks"][k] / 1e6 for k in ("ours", "hand"))
    return (
        f"{name:<32}{1e3 * a:>10.3f}{1e3 * b:>10.3f}{a / b:>8.2f}{least:>8.2f}"
        f"{p:>9.2f}{q:>9.2f}{found['generation']:>9.2f}"
    )


if __name__ == "__main__":
    main()
