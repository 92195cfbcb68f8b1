"""Compare generated CuPy modules with JAX and PyTorch on a CUDA device.

Run it as `python benchmarks/device.py [--rounds N] [PROBLEM ...]` where CuPy and a
device are; JAX and PyTorch take part where they are installed with support for it. It
writes benchmarks/results/device.txt. Data are on the device before anything is timed,
every call is waited for, the contenders take turns within each round, and all have to
agree before. The small sizes measure what launching costs, not what computing does.
"""

import argparse
import importlib
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import device_others as others
import numpy as np
import report
from device_problems import PROBLEMS

import tensorgen

AGREEMENT = {"float64": 1e-8, "float32": 2e-3}  # relative to the largest entry
EMITTED = {
    "value and gradient": "value, gradient",
    "Hessian": "hessian",
    "compressed Hessian": "hessian",
    "blocks of the Hessian": "hessian",
    "blocks, Newton step": "gradient, hessian",
}

Task = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A task at a size, in one precision."""

    problem: str
    task: str
    sizes: dict[str, int]
    dtype: str = "float64"

    @property
    def title(self) -> str:
        """What a row of the table says."""
        sizes = ", ".join(f"{key} {size}" for key, size in self.sizes.items())
        return f"{self.problem}, {self.task}, {sizes}, {self.dtype}"


def cases() -> Iterator[Case]:
    """What is measured, in the order of the table."""
    both = ("float64", "float32")
    for dtype in both:
        for m, n in ((20000, 1000), (200, 10)):
            for task in ("value and gradient", "Hessian"):
                yield Case("logistic", task, {"m": m, "n": n}, dtype)
    for m in (10000, 100):
        sizes = {"m": m, "p": 1000, "k": 10}
        for task in ("blocks of the Hessian", "blocks, Newton step"):
            yield Case("factorisation", task, sizes)
    yield Case("network", "compressed Hessian", {"n": 200})
    yield Case("network", "Hessian", {"n": 40})
    for dtype in both:
        for n in (10_000_000, 10_000):
            yield Case("entrywise", "value and gradient", {"n": n}, dtype)
    ratings = {"users": 100_000, "items": 10_000, "k": 16, "e": 1_000_000}
    bundle = {"cameras": 100, "points": 20_000, "e": 100_000}
    for task in ("value and gradient", "compressed Hessian"):
        yield Case("ratings", task, ratings)
        yield Case("bundle adjustment", task, bundle)
    yield Case("small solves", "value and gradient", {"b": 100_000, "d": 4})
    for dtype in both:
        yield Case("attention", "value and gradient", {"n": 4096, "d": 64}, dtype)
    yield Case("rollout", "value and gradient", {"n": 64, "T": 200})


def data(case: Case) -> dict[str, Any]:
    """Return the arguments on the host, in the order of the spec's inputs."""
    found = PROBLEMS[case.problem].data(case.sizes, np.random.default_rng(0))
    return {
        key: a.astype(case.dtype) if a.dtype.kind == "f" else a
        for key, a in found.items()
    }


def generated(case: Case, given: dict[str, Any]) -> Task:
    """Return the task as the generated module does it, its result on the device."""
    text = PROBLEMS[case.problem].text(case.sizes, EMITTED[case.task])
    module = tensorgen.load(text, backend="cupy")

    def run() -> Any:
        if case.task == "value and gradient":
            return module.f_value_and_grad(**given)
        hessian = module.f_hess(**given)
        if case.task == "blocks, Newton step":
            return hessian.solve(module.f_grad(**given), shift=others.SHIFT)
        if case.task == "Hessian":
            return hessian.dense()
        # In a factored form the others have nothing to compare with but the product.
        return hessian if case.task == "compressed Hessian" else blocks(hessian)

    return run


def blocks(hessian: Any) -> Any:
    """The (m, k, k) array that the Hessian of a factorisation holds."""
    (block,) = (a for a in hessian.factors.values() if a.ndim == 3)
    return block


def waiting(run: Task, wait: Callable[[], Any]) -> Task:
    """Return a task that ends when the device has finished."""

    def task() -> Any:
        result = run()
        wait()
        return result

    return task


def contenders(case: Case) -> dict[str, Task]:
    """Return the task as each contender that is here does it, and what bounds it."""
    cupy = importlib.import_module("cupy")
    wait = cupy.cuda.Device().synchronize
    host = data(case)
    given = {key: cupy.asarray(value) for key, value in host.items()}
    found = {"tensorgen": waiting(generated(case, given), wait)}
    made: dict[str, Callable[[], Task | None]] = {
        "JAX": lambda: others.jax_task(case.problem, case.task, host),
        "PyTorch": lambda: others.torch_task(
            case.problem, case.task, host, compiled=False
        ),
        "compiled": lambda: others.torch_task(
            case.problem, case.task, host, compiled=True
        ),
    }
    for name, make in made.items():
        try:
            task = make()
        except Exception:
            _cannot(case, name)
            continue
        if task:
            found[name] = task
    for task_name, bound in PROBLEMS[case.problem].limits:
        if task_name == case.task:
            found["limit"] = waiting(bound(cupy, given), wait)
    return found


def _cannot(case: Case, name: str) -> None:
    print(f"{case.title}: {name} cannot run it", file=sys.stderr)
    traceback.print_exc(limit=1)


def check(case: Case, tasks: dict[str, Task]) -> None:
    """Drop contenders that cannot run, and raise unless all agree.

    The first call also compiles kernels.
    """
    expected = None
    for name in [name for name in tasks if name != "limit"]:
        try:
            result = tasks[name]()
        except Exception:
            if name == "tensorgen":
                raise
            _cannot(case, name)
            del tasks[name]
            continue
        if case.task == "compressed Hessian":
            continue
        arrays = others.to_host(result)
        expected = expected or arrays
        for ours, theirs in zip(expected, arrays, strict=True):
            error = np.max(np.abs(ours.ravel() - theirs.ravel()))
            error /= np.max(np.abs(ours))
            if not error <= AGREEMENT[case.dtype]:
                raise SystemExit(f"{case.title}: {name} is off by {error:.1e}")


def measure(case: Case, rounds: int) -> str:
    """Return a line of the table."""
    tasks = contenders(case)
    check(case, tasks)
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            times[name].append(report.timed(task))
    median = {name: report.spread(found)[0] for name, found in times.items()}
    figures = [f"{1e3 * median[k]:10.3f}" if k in median else f"{'-':>10}" for k in ALL]
    ratios = [
        f"{median['tensorgen'] / median[k]:11.2f}" if k in median else f"{'-':>11}"
        for k in ALL[1:]
    ]
    return f"{case.title:84s}{''.join(figures)}{''.join(ratios)}"


ALL = ("tensorgen", "JAX", "PyTorch", "compiled", "limit")


def main() -> None:
    """Measure all cases and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31, help="of each measurement")
    parser.add_argument("problems", nargs="*", help="some of them; all by default")
    given = parser.parse_args()
    try:
        name = others.device_name()
    except Exception as error:
        sys.exit(f"no CUDA device to measure on: {error}")
    lines = [
        f"Median times of {given.rounds} interleaved rounds in ms, each call waited",
        "for, and tensorgen's times over the others'. A compressed Hessian has no",
        "counterpart; blocks are made by vmap of a row's Hessian in JAX and PyTorch.",
        "PyTorch is eager `torch.func`; compiled is `torch.compile`. The limit is that",
        "of cuBLAS or of a copy: the task's bare products, or as many bytes moved.",
        f"Written by `python benchmarks/device.py --rounds {given.rounds}`.",
        "",
        *report.machine("numpy", *others.packages()),
        f"device   {name}",
        "",
        f"{'':84s}"
        + "".join(f"{c:>10s}" for c in ALL)
        + "".join(f"{'/ ' + c:>11s}" for c in ALL[1:]),
    ]
    for case in cases():
        if not given.problems or case.problem in given.problems:
            lines.append(measure(case, given.rounds))
            print(lines[-1], flush=True)
    report.write("device.txt", lines)


if __name__ == "__main__":
    main()
