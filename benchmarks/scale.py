"""Rows in blocks against all rows at once: what blocks, engines and files cost.

Run it by `PYTHONPATH=. python benchmarks/scale.py [--rows M] [--columns N]`; it writes
benchmarks/results/scale.txt. BLAS has one thread everywhere, as workers give it, and so
has JAX. Data are those of examples/beyond_memory, and have to fit into memory several
times: scikit-learn, JAX and the plain problem take all rows at once. Each fit starts at
zero and ends where the norm of the gradient of the mean loss is below 1e-6, measured by
the plain problem. dask-ml, which is in no extra, asks for an environment of its own.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pieces
import report

sys.path.insert(0, str(report.ROOT / "examples" / "beyond_memory"))

from rows_in_files import files, module
from scale_peers import Goal
from scale_peers import fits as others
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from tensorgen.engines import dask_map, executor_map, mpi_map, npy_rows, zarr_rows

WORKERS = 2
SMALL = 1e-6
REPEATS = 3
LAM = 1e-3
EMPTY = 2000  # blocks of few rows, which cost what a block costs


def least(call: Callable[[], Any]) -> float:
    """Return the least of a few times, after a first call."""
    call()
    return min(report.timed(call) for _ in range(REPEATS))


def engines(stack: ExitStack) -> Iterator[tuple[str, list[Any]]]:
    """Yield maps by their names: as they are, and with a task a block.

    What they run on is stopped in the end.
    """
    from distributed import Client, LocalCluster

    yield "one process", [map]
    pool = stack.enter_context(ThreadPoolExecutor(WORKERS))
    yield f"{WORKERS} threads", [executor_map(pool), executor_map(pool, together=1)]
    processes = stack.enter_context(ProcessPoolExecutor(WORKERS))
    both = executor_map(processes), executor_map(processes, together=1)
    yield f"{WORKERS} processes", [*both]
    about = {"dashboard_address": ":0", "silence_logs": 50}
    cluster = LocalCluster(n_workers=WORKERS, threads_per_worker=1, **about)
    client = stack.enter_context(Client(stack.enter_context(cluster)))
    both = dask_map(client), dask_map(client, together=1)  # type: ignore[assignment]
    yield f"Dask, {WORKERS} processes", [*both]


def newton(loss: Any, size: int) -> tuple[Any, int]:
    """Return a minimum and how often rows were gone through."""
    v, passes = np.zeros(size), 1
    _, g = loss.fun_and_grad(v)
    while np.linalg.norm(g) > SMALL:
        v = v - loss.hess(v).solve(g)
        _, g = loss.fun_and_grad(v)
        passes += 2
    return v, passes


class Plain:
    """The problem that has all rows, under the names of one over blocks."""

    def __init__(self, problem: Any) -> None:
        self.fun_and_grad = problem.value_and_gradient
        self.hess = problem.hessian


def a_block(model: Any, columns: int, over: Any) -> float:
    """Return the seconds of a block of few rows, in memory."""
    rng = np.random.default_rng(0)
    few = {"X": rng.standard_normal((2, columns)), "y": np.ones(2)}
    return gradient(model.LossProblem.over([few] * EMPTY, map=over), columns) / EMPTY


def driver(model: Any, columns: int) -> float:
    """Return the seconds that a block takes besides its piece, in this process.

    Of the processor: a few microseconds are less than what other programs take.
    """
    few = {"X": np.ones((2, columns)), "y": np.ones(2)}
    piece, numbers = model.loss_value_and_grad_partial1, iter(range(99))
    over = model.LossProblem.over([few] * EMPTY)

    def seconds(call: Callable[[Any], Any]) -> float:
        point, start = np.full(columns, 1e-3 * next(numbers)), time.process_time()
        call(point)
        return time.process_time() - start

    def pieces(point: Any) -> None:
        for _ in range(EMPTY):
            piece(point, **few)

    alone, all_ = zip(
        *((seconds(pieces), seconds(over.fun_and_grad)) for _ in range(20)),
        strict=True,
    )
    return float(min(all_) - min(alone)) / EMPTY


def gradient(loss: Any, columns: int) -> float:
    """Return the least time of value and gradient, never at the same vector."""
    numbers = iter(range(99))
    return least(lambda: loss.fun_and_grad(np.full(columns, 1e-3 * next(numbers))))


def on_ranks(folder: Path, columns: int) -> float:
    """Return the seconds of a block on ranks of MPI."""
    beside = os.path.dirname(sys.executable)
    mpiexec = shutil.which("mpiexec", path=beside) or "mpiexec"
    own = [sys.executable, __file__, "--ranks", str(folder), "--columns", str(columns)]
    command = [mpiexec, "-n", str(WORKERS), *own]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(run.stdout.split()[0])


def blocks_cost(
    model: Any, folder: Path, columns: int, found: list[tuple[str, list[Any]]]
) -> list[str]:
    """Return rows about blocks that are nearly empty."""
    title = f"Microseconds a block, of {EMPTY} blocks of two rows of {columns} columns"
    lines = ["", title, "", f"{'map':<32}{'gradient':>10}{'one a task':>12}"]
    own = f"{1e6 * driver(model, columns):.1f}"
    lines.append(f"{'one process, besides the piece':<32}{own:>10}")
    for name, maps in found:
        times = [a_block(model, columns, over) for over in maps]
        first, *one = [f"{1e6 * seconds:.0f}" for seconds in times]
        lines.append(f"{name:<32}{first:>10}{''.join(one):>12}".rstrip())
    seconds = on_ranks(folder, columns)
    lines.append(f"{f'MPI, {WORKERS} ranks':<32}{1e6 * seconds:>10.0f}")
    return lines


def passes_cost(ways: dict[str, Any], columns: int, size: float) -> list[str]:
    """Return rows about one pass: value and gradient, and Hessian."""
    lines = ["", f"Seconds a pass over {size / 1e9:.2f} GB of rows", ""]
    lines.append(f"{'rows':<32}{'gradient':>10}{'GB/s':>8}{'Hessian':>10}")
    v = np.full(columns, 0.01)
    for name, loss in ways.items():
        first, second = gradient(loss, columns), report.timed(partial(loss.hess, v))
        speed = size / 1e9 / first
        lines.append(f"{name:<32}{first:>10.2f}{speed:>8.2f}{second:>10.2f}")
    return lines


def fits(
    model: Any, ways: dict[str, Any], data: dict[str, Any], columns: int
) -> list[str]:
    """Return rows about whole fits, beside scikit-learn's."""
    problem = model.LossProblem(**data, lam=LAM)
    lines = ["", f"Seconds to a gradient of norm {SMALL:.0e}", ""]
    lines.append(f"{'fit':<32}{'seconds':>10}{'passes':>8}{'norm':>11}")

    def row(name: str, seconds: float, passes: Any, v: Any) -> None:
        norm = np.linalg.norm(problem.gradient(v))
        lines.append(f"{name:<32}{seconds:>10.2f}{passes:>8}{norm:>11.1e}")

    for name, loss in ways.items():
        start = time.perf_counter()
        v, passes = newton(loss, columns)
        row(f"Newton, {name}", time.perf_counter() - start, passes, v)
    for name in ("all at once", "npy, one process"):
        start = time.perf_counter()
        found = minimize(
            ways[name].fun_and_grad,
            np.zeros(columns),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 0, "gtol": SMALL / columns**0.5},
        )
        row(f"L-BFGS, {name}", time.perf_counter() - start, found.nfev, found.x)
    goal = Goal(SMALL, LAM, WORKERS, problem.gradient)
    for other in others(data, goal):
        if isinstance(other, str):
            lines.append(other)
        else:
            row(*other)
    return lines


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--ranks", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ranks:
        from mpi4py import MPI

        over = mpi_map(MPI.COMM_WORLD)
        seconds = a_block(module(options.ranks), options.columns, over)
        print(seconds if MPI.COMM_WORLD.Get_rank() == 0 else "", end="")
        return
    with threadpool_limits(1):
        report.write("scale.txt", tables(options.rows, options.columns))


def tables(rows: int, columns: int) -> list[str]:
    """Return all lines of the result."""
    load = os.getloadavg()[0]
    packages = "numpy scipy scikit-learn jax dask dask-ml mpi4py zarr"
    lines = report.machine(*packages.split())
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder)
        model = module(place)
        paths = files(place, rows, columns)
        data = {name: np.load(path) for name, path in paths.items()}
        size = float(sum(array.nbytes for array in data.values()))
        found = list(engines(stack))
        lines += [f"size     {rows} rows of {columns} columns"]
        lines += blocks_cost(model, place, columns, found)
        blocks = npy_rows(paths)
        over = model.LossProblem.over
        ways = {"all at once": Plain(model.LossProblem(**data, lam=LAM))}
        ways["blocks in memory"] = over([block() for block in blocks], lam=LAM)
        for name, (engine, *_) in found:
            ways[f"npy, {name}"] = over(blocks, lam=LAM, map=engine)
        ways["zarr, one process"] = over(zarr(place, data), lam=LAM)
        lines += passes_cost(ways, columns, size)
        lines += fits(model, ways, data, columns)
    lines += pieces.rows()
    lines += [
        "",
        f"Blocks: {len(blocks)}. Files were read before: they are in the cache",
    ]
    lines[-1] += " of the system."
    if load > 1:
        beside = f"Taken beside other programs: load {load:.0f}"
        lines += [f"{beside} on {os.cpu_count()} CPUs."]
    return lines


def zarr(folder: Path, data: dict[str, Any]) -> Any:
    """Return blocks of the same rows in Zarr, in chunks as large as blocks of files."""
    import zarr

    for name, array in data.items():
        chunks = min(75_000, len(array)), *array.shape[1:]
        stored = zarr.create_array(
            str(folder / f"{name}.zarr"),
            shape=array.shape,
            chunks=chunks,
            dtype="f8",
            compressors=None,  # random digits have nothing to gain
        )
        stored[:] = array
    return zarr_rows({name: folder / f"{name}.zarr" for name in data})


if __name__ == "__main__":
    main()
