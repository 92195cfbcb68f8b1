"""Compare generated CuPy modules with JAX and PyTorch on a CUDA device.

Run it as `python benchmarks/device.py [--rounds N]` where CuPy and a device are; JAX
and PyTorch take part where they are installed with support for it. It writes
benchmarks/results/device.txt. Data are on the device before anything is timed, every
call is waited for, the contenders take turns within each round, and all have to agree
before. The small sizes measure what launching costs, not what computing does.
"""

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import device_others as others
import numpy as np
import report

import tensorgen

SPECS = {
    "logistic": (
        "w: [n], X: [m, n], y: [m]",
        "sum(log(1 + exp(-y * (X @ w)))) + 0.001 * norm(w)**2",
        "w",
    ),
    "factorisation": (
        "U: [m, k], V: [p, k], T: [m, p], O: [m, p]",
        "sum(O * (T - U @ V.T)**2)",
        "U",
    ),
    "network": ("", "", "W"),  # its layers are written out below
}
AGREEMENT = {"float64": 1e-9, "float32": 1e-3}  # relative to the largest entry

Task = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A task at a size, in one precision; `spec` says which function."""

    title: str
    spec: str
    task: str
    sizes: dict[str, int]
    dtype: str = "float64"


def cases() -> Iterator[Case]:
    """What is measured, in the order of the table."""
    for dtype in ("float64", "float32"):
        for m, n in ((20000, 1000), (200, 10)):
            for task in ("value and gradient", "Hessian"):
                yield Case(f"{m} x {n}", "logistic", task, {"m": m, "n": n}, dtype)
    for m in (10000, 100):
        sizes = {"m": m, "p": 1000, "k": 10}
        for task in ("blocks of the Hessian", "blocks, Newton step"):
            yield Case(f"{m} x 1000, rank 10", "factorisation", task, sizes)
    yield Case("10 layers, n = 200", "network", "compressed Hessian", {"n": 200})
    yield Case("10 layers, n = 40", "network", "Hessian", {"n": 40})


def text(spec: str, sizes: dict[str, int]) -> str:
    """The text of a spec, with its sizes as hints."""
    inputs, expr, wrt = SPECS[spec]
    where = ""
    if spec == "network":
        deep = ", ".join(f"D{i}: [n, n]" for i in range(2, others.LAYERS + 1))
        inputs = f"W: [n, n], {deep}, x: [n], y: [n]"
        layers = ["h1 = tanh(W @ x)"]
        layers += [f"h{i} = tanh(D{i} @ h{i - 1})" for i in range(2, others.LAYERS + 1)]
        where = "    where: |\n" + "".join(f"      {row}\n" for row in layers)
        expr = f"sum((h{others.LAYERS} - y)**2)"
    return (
        f"tensorgen: 1\ndims: {sizes}\ninputs: {{{inputs}}}\nfunctions:\n  f:\n{where}"
        f"    expr: {expr}\n    wrt: {wrt}\n    emit: [value, gradient, hessian]\n"
    )


def data(case: Case) -> dict[str, Any]:
    """Return the arguments on the host, in the order of the spec's inputs."""
    rng = np.random.default_rng(0)
    sizes = case.sizes
    if case.spec == "logistic":
        X = rng.standard_normal((sizes["m"], sizes["n"]))
        w = rng.standard_normal(sizes["n"]) / np.sqrt(sizes["n"])
        found = {"w": w, "X": X, "y": np.sign(X @ w + rng.standard_normal(len(X)))}
    elif case.spec == "factorisation":
        shape = (sizes["m"], sizes["p"])
        found = {
            "U": rng.standard_normal((sizes["m"], sizes["k"])),
            "V": rng.standard_normal((sizes["p"], sizes["k"])),
            "T": rng.standard_normal(shape),
            "O": (rng.random(shape) < 0.5).astype(float),
        }
    else:
        n = sizes["n"]
        names = ["W", *(f"D{i}" for i in range(2, others.LAYERS + 1))]
        found = {key: rng.standard_normal((n, n)) / np.sqrt(n) for key in names}
        found |= {"x": rng.standard_normal(n), "y": rng.standard_normal(n)}
    return {key: value.astype(case.dtype) for key, value in found.items()}


def generated(case: Case, host: dict[str, Any]) -> Task:
    """Return the task as the generated module does it, its result on the device."""
    cupy = importlib.import_module("cupy")
    module = tensorgen.load(text(case.spec, case.sizes), backend="cupy")
    arguments = [cupy.asarray(value) for value in host.values()]

    def run() -> Any:
        if case.task == "value and gradient":
            return module.f_value_and_grad(*arguments)[1]
        hessian = module.f_hess(*arguments)
        if case.task == "blocks, Newton step":
            return hessian.solve(module.f_grad(*arguments), shift=others.SHIFT)
        if case.task == "Hessian":
            return hessian.dense()
        # In a factored form the others have nothing to compare with but the product.
        return hessian if case.task == "compressed Hessian" else blocks(hessian)

    return waiting(run, cupy.cuda.Device().synchronize)


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
    """Return the task as each contender that is here does it."""
    host = data(case)
    found = {"tensorgen": generated(case, host)}
    if case.task == "compressed Hessian":
        return found
    for name, make in (("JAX", others.jax_task), ("PyTorch", others.torch_task)):
        if task := make(case.spec, case.task, host):
            found[name] = task
    return found


def check(case: Case, tasks: dict[str, Task]) -> None:
    """Raise unless all agree; the first call also compiles kernels."""
    results = {name: task() for name, task in tasks.items()}
    if len(results) == 1:
        return
    arrays = {name: others.to_host(result) for name, result in results.items()}
    expected = arrays["tensorgen"].ravel()
    for name, array in arrays.items():
        error = np.max(np.abs(array.ravel() - expected)) / np.max(np.abs(expected))
        if not error <= AGREEMENT[case.dtype]:
            raise SystemExit(f"{case.title}, {case.task}: {name} is off by {error:.1e}")


def measure(case: Case, rounds: int) -> str:
    """Return a line of the table."""
    tasks = contenders(case)
    check(case, tasks)
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - start)
    median = {name: report.spread(found)[0] for name, found in times.items()}
    what = f"{case.spec}, {case.title}, {case.task}, {case.dtype}"
    figures = [f"{1e3 * median[k]:10.3f}" if k in median else f"{'-':>10}" for k in ALL]
    ratios = [
        f"{median['tensorgen'] / median[k]:10.2f}" if k in median else f"{'-':>10}"
        for k in ALL[1:]
    ]
    return f"{what:66s}{''.join(figures)}{''.join(ratios)}"


ALL = ("tensorgen", "JAX", "PyTorch")


def main() -> None:
    """Measure all cases and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=31, help="of each measurement")
    rounds = parser.parse_args().rounds
    try:
        name = others.device_name()
    except Exception as error:
        sys.exit(f"no CUDA device to measure on: {error}")
    head = [
        f"Median times of {rounds} interleaved rounds in ms, each call waited for, and",
        "tensorgen's times over the others'. tensorgen's compressed Hessian has no",
        "counterpart; blocks are made by vmap of a row's Hessian in JAX and PyTorch.",
        f"Written by `python benchmarks/device.py --rounds {rounds}`.",
        "",
        *report.machine("numpy", *others.packages()),
        f"device   {name}",
        "",
        f"{'':66s}"
        + "".join(f"{c:>10s}" for c in (*ALL, *(f"/ {c}" for c in ALL[1:]))),
    ]
    report.write("device.txt", head + [measure(case, rounds) for case in cases()])


if __name__ == "__main__":
    main()
