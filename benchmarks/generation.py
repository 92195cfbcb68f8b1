"""Measure how long the whole command `tensorgen gen SPEC -b numpy` takes.

Run it as `make bench`, or `python benchmarks/generation.py [--runs N]`; it writes
benchmarks/results/generation.txt, and exits 1 when a target is missed.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import report

LOGISTIC = report.ROOT / "examples" / "logistic_regression.yaml"
DEPTHS = (25, 50, 100, 200)


def network(depth: int, wrt: str, emit: str) -> str:
    """Return the spec of a tanh network with `depth` square layers.

    The loss is the cross-entropy of the last layer's softmax against `y`.
    """
    weights = ", ".join(f"W{i}: [n, n]" for i in range(1, depth + 1))
    hidden = ["      h1 = tanh(W1 @ x)"] + [
        f"      h{i} = tanh(W{i} @ h{i - 1})" for i in range(2, depth)
    ]
    return "\n".join(
        [
            "tensorgen: 1",
            "dims: {n: 64}",
            f"inputs: {{{weights}, x: [n], y: [n]}}",
            "functions:",
            "  loss:",
            "    where: |",
            *hidden,
            f"      z = W{depth} @ h{depth - 1}",
            "    expr: logsumexp(z) - y @ z",
            f"    wrt: {wrt}",
            f"    emit: {emit}",
            "",
        ]
    )


def deep(depth: int) -> str:
    """Return a network's spec with value and gradient with respect to all weights."""
    every = ", ".join(f"W{i}" for i in range(1, depth + 1))
    return network(depth, f"[{every}]", "[value, gradient]")


@dataclass(frozen=True)
class Task:
    """One command to measure, and the time that it may take."""

    name: str
    arguments: tuple[str, ...]
    limit: float | None

    def seconds(self) -> tuple[float, float]:
        """Run the command in a process of its own; return its time and CPU time."""
        start, used = time.perf_counter(), processor_time()
        subprocess.run(
            [sys.executable, "-m", "tensorgen", *self.arguments],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return time.perf_counter() - start, processor_time() - used


def processor_time() -> float:
    """Return the CPU time of all processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tasks(folder: Path) -> list[Task]:
    """Write the networks' specs into a folder, and return what is to be measured."""

    def gen(name: str, spec: Path, limit: float | None) -> Task:
        return Task(name, ("gen", str(spec), "-o", str(folder), "-b", "numpy"), limit)

    hessian = folder / "network_10.yaml"
    hessian.write_text(network(10, "W1", "[value, gradient, hessian]"))
    found = [
        Task("tensorgen --help", ("--help",), 0.3),
        gen("logistic regression", LOGISTIC, 1.5),
        gen("10 layers, value, gradient, Hessian in W1", hessian, 4.0),
    ]
    for depth in DEPTHS:
        spec = folder / f"network_{depth}.yaml"
        spec.write_text(deep(depth))
        limit = 15.0 if depth == 100 else None
        found.append(gen(f"{depth} layers, value, gradient in all", spec, limit))
    return found


def measure(runs: int) -> tuple[list[str], bool]:
    """Return the table's lines, and whether every target was met."""
    lines = [
        f"{'[s]':44s}{'median':>8s}{'least':>8s}{'most':>8s}{'CPU':>8s}{'target':>8s}"
    ]
    met = True
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(Path(folder)):
            times, used = zip(*(task.seconds() for _ in range(runs)), strict=True)
            median, least, most = report.spread(times)
            cpu, _, _ = report.spread(used)
            target = "" if task.limit is None else f"{task.limit:.1f}"
            met = met and (task.limit is None or median <= task.limit)
            figures = f"{median:8.2f}{least:8.2f}{most:8.2f}{cpu:8.2f}{target:>8s}"
            lines.append(f"{task.name:44s}{figures}")
            print(lines[-1], file=sys.stderr)
    return lines, met


def main() -> None:
    """Measure, write the results, and exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each command")
    runs = parser.parse_args().runs
    table, met = measure(runs)
    head = [
        "Time of the whole command `python -m tensorgen gen SPEC -b numpy`,",
        f"in a process of its own, {runs} runs: median, least and most; and the median",
        "of the CPU time, which other load disturbs less. Written by",
        f"`python benchmarks/generation.py --runs {runs}`.",
        "",
        *report.machine("numpy", "jinja2", "black", "PyYAML"),
        "",
    ]
    report.write("generation.txt", head + table)
    if not met:
        raise SystemExit("a target is missed")


if __name__ == "__main__":
    main()
