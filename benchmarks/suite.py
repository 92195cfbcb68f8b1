"""Problems beside code by hand, each in a process of its own.

Run it as `make suite`, or `python benchmarks/suite.py [NAME ...]`; it writes
benchmarks/results/suite.txt when all are run. Results are compared before anything is
timed; contenders take turns; peaks are what NumPy asks for while a call runs, beside
what the model says of it. JAX compiles before anything is timed, which is told apart.
All have as many threads. What fails has a row that says how.
"""

import argparse
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import by_hand
import by_hand.problem
import numpy as np
import report
from by_hand import Problem

SECONDS = 2.0  # about what the rounds of one problem take
SLOW, QUICK = 20.0, 110.0  # the most seconds of a problem and of all, for a look
PATHS = (str(Path(__file__).parent), str(report.ROOT))


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

    tasks = {"ours": ours, "hand": hand}
    expected = hand()
    agree(problem, ours(), expected)
    outcome["peaks"] = {name: peak(task) for name, task in tasks.items()}
    outcome["largest"] = max(
        sum(x.nbytes for x in leaves([*data.values()])),
        sum(x.nbytes for x in leaves(expected)),
        outcome["peaks"]["hand"],
    )
    if problem.call is None:
        outcome["model"] = modelled(problem, data)
    if problem.jax is not None:
        try:
            peer = by_jax(problem, data)
            start = time.perf_counter()
            found = peer()
            outcome["compilation"] = time.perf_counter() - start
            agree(problem, found, expected)
            tasks["jax"] = peer
        except (Exception, SystemExit) as fault:
            outcome["fault"] = f"JAX: {type(fault).__name__}: {fault}"[:100]
    once = max(sum(report.timed(task) for task in tasks.values()), 1e-5)
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


def modelled(problem: Problem, data: by_hand.problem.Data) -> int:
    """How many bytes a function holds at most, by the model."""
    from tensorgen.arrays.price import ELIDED, peak
    from tests.prices import Prices

    prices = Prices(problem.spec)
    return 8 * peak(prices.codes[problem.function], prices.sizes(data), ELIDED)


def by_jax(problem: Problem, data: by_hand.problem.Data) -> Callable[[], Any]:
    """The same by JAX: what it compiles, waiting for its result."""
    import jax

    jax.config.update("jax_enable_x64", True)
    loss, places = problem.jax, tuple(range(problem.variables))
    assert loss is not None
    argnums = places if len(places) > 1 else 0
    derived = jax.hessian if problem.twice else jax.value_and_grad
    compiled = jax.jit(derived(loss, argnums=argnums))
    given = [jax.numpy.asarray(data[x]) for x in inspect.signature(loss).parameters]
    return lambda: jax.block_until_ready(compiled(*given))


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
    parser.add_argument("--threads", type=int, choices=(1, 2), default=1)
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
    lines = report.machine("numpy", "scipy", "jax")
    lines += [
        f"threads  {options.threads}",
        "",
        f"{'problem':<28}{'ms: ours':>10}{'by hand':>10}{'ratio':>8}{'least':>8}"
        f"{'JAX':>10}{'ratio':>8}{'MB: ours':>10}{'model':>9}{'by hand':>9}"
        f"{'made in':>9}{'JAX':>6}",
    ]
    print("\n".join(lines), flush=True)
    larger = []
    end = time.monotonic() + (QUICK if options.quick else inf)
    for problem in chosen:
        line, excess = row(problem, options.quick, options.threads, end)
        lines.append(line)
        larger += [excess] * bool(excess)
        print(line, flush=True)
    if larger:
        head = "more than twice the largest of arguments, result and what is by hand:"
        lines += ["", head, *larger]
        print("\n".join(["", head, *larger]))
    if not options.names and not options.quick:
        report.write("suite.txt", lines)


def row(problem: Problem, quick: bool, threads: int, end: float) -> tuple[str, str]:
    """A line of the table, by a process of its own, and why it takes much memory."""
    name = problem.name
    command = [sys.executable, __file__, "--one", name] + ["--quick"] * quick
    # XLA's threads are those of its pool, which is as large as the processors allow.
    count = str(threads)
    flags = f"--xla_cpu_multi_thread_eigen={str(threads > 1).lower()}"
    names = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
    own = dict.fromkeys(names, count)
    own["XLA_FLAGS"] = f"{flags} intra_op_parallelism_threads={count}"
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=max(min(SLOW if quick else 300, end - time.monotonic()), 0),
            env=os.environ | own | {"PYTHONPATH": os.pathsep.join(PATHS)},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{name:<28}  out of time", ""
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["?"])[-1][:120]
        return f"{name:<28}  {said}", ""
    found = json.loads(done.stdout)
    peaks, most = found["peaks"], 2 * found["largest"]
    excess = ""
    if peaks["ours"] > most:
        times = 2 * peaks["ours"] / most
        excess = f"  {name}, {times:.1f} times: {problem.larger or 'no reason known'}"
    return table_row(name, found), excess


def table_row(name: str, found: dict[str, Any]) -> str:
    """What was measured, as a line; a peer's fault at its end."""
    seconds, peaks = found["seconds"], found["peaks"]
    a, b = seconds["ours"], seconds["hand"]
    least = found["least"]["ours"] / found["least"]["hand"]
    line = f"{name:<28}{1e3 * a:>10.3f}{1e3 * b:>10.3f}{a / b:>8.2f}{least:>8.2f}"
    if "jax" in seconds:
        line += f"{1e3 * seconds['jax']:>10.3f}{a / seconds['jax']:>8.2f}"
    else:
        line += f"{'-':>10}{'-':>8}"
    line += f"{peaks['ours'] / 1e6:>10.2f}"
    line += f"{found['model'] / 1e6:>9.2f}" if "model" in found else f"{'-':>9}"
    line += f"{peaks['hand'] / 1e6:>9.2f}{found['generation']:>9.2f}"
    line += f"{found['compilation']:>6.2f}" if "compilation" in found else ""
    return line + (f"  {found['fault']}" if "fault" in found else "")


if __name__ == "__main__":
    main()
