"""Measure how long the whole command `tensorgen gen SPEC -b numpy` takes.

Run it as `make bench`, or `python benchmarks/generation.py [--runs N] [--beside DIR]`;
it writes benchmarks/results/generation.txt, and exits 1 when a target is missed. With
`--beside`, the code of another checkout is measured in turns with this one's.
"""

import argparse
import os
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
EXAMPLES = ("gaussian_mixture", "attention_layer", "total_variation", "mesh_energy")
STEPS = 100


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


def recurrence(steps: int) -> str:
    """Return the spec of a state that is stepped forward, each step a line."""
    lines = [f"      x{k + 1} = tanh(A @ x{k} + b)" for k in range(steps)]
    return "\n".join(
        [
            "tensorgen: 1",
            "inputs: {A: [n, n], b: [n], x0: [n]}",
            "functions:",
            "  loss:",
            "    where: |",
            *lines,
            f"    expr: norm(x{steps})**2",
            "    wrt: [A, b, x0]",
            "    emit: [value, gradient, hvp]",
            "",
        ]
    )


@dataclass(frozen=True)
class Task:
    """One command to measure, and the time that it may take."""

    name: str
    arguments: tuple[str, ...]
    limit: float | None = None

    def seconds(self, code: Path, *more: str) -> tuple[float, float]:
        """Run the command in a process of its own; return its time and CPU time."""
        start, used = time.perf_counter(), processor_time()
        subprocess.run(
            [sys.executable, "-m", "tensorgen", *self.arguments, *more],
            check=True,
            cwd=code,
            # Modules are compiled once, as for anybody who runs the command twice.
            env={**os.environ, "PYTHONPATH": str(code), "PYTHONDONTWRITEBYTECODE": ""},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return time.perf_counter() - start, processor_time() - used


def processor_time() -> float:
    """Return the CPU time of all processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def commit(checkout: Path) -> str:
    """Return the commit that is checked out in a folder."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.check_output(command, cwd=checkout, text=True).strip()


def tasks(folder: Path) -> list[Task]:
    """Write the networks' specs into a folder, and return what is to be measured."""

    def gen(name: str, spec: Path, limit: float | None = None) -> Task:
        to = ("-o", str(folder), "-b", "numpy", "--force")
        return Task(name, ("gen", str(spec), *to), limit)

    def made(name: str, text: str) -> Path:
        spec = folder / f"{name}.yaml"
        spec.write_text(text)
        return spec

    hessian = made("network_10", network(10, "W1", "[value, gradient, hessian]"))
    seven = ", ".join(f"W{i}" for i in range(1, 8))
    joint = made("network_7", network(7, f"[{seven}]", "[value, gradient, hessian]"))
    softmax = "tensorgen: 1\ninputs: {x: [n]}\nfunctions:\n"
    softmax += "  f: {expr: softmax(x), wrt: x, emit: [6]}\n"
    return [
        Task("tensorgen --help", ("--help",), 0.3),
        gen("logistic regression", LOGISTIC, 1.5),
        *(
            gen(name.replace("_", " "), LOGISTIC.parent / f"{name}.yaml")
            for name in EXAMPLES
        ),
        gen("10 layers, value, gradient, Hessian in W1", hessian, 4.0),
        *(
            gen(
                f"{depth} layers, value, gradient in all",
                made(f"network_{depth}", deep(depth)),
                15.0 if depth == 100 else None,
            )
            for depth in DEPTHS
        ),
        gen("7 layers, joint Hessian", joint),
        gen("softmax, order 6", made("softmax", softmax)),
        gen(f"{STEPS} steps of a state", made("steps", recurrence(STEPS))),
    ]


def measure(runs: int, beside: Path | None) -> tuple[list[str], bool]:
    """Return the table's lines, and whether every target was met."""
    heads = ["median", "least", "most", "CPU", "no check", *["beside"] * bool(beside)]
    lines = [f"{'[s]':44s}" + "".join(f"{head:>9s}" for head in [*heads, "target"])]
    met = True
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks(Path(folder)):
            fast = ["--fast"] * (task.arguments[0] == "gen")
            whole, unchecked, other = [], [], []
            for _ in range(runs):
                whole.append(task.seconds(report.ROOT))
                unchecked.append(task.seconds(report.ROOT, *fast)[1])
                if beside is not None:
                    other.append(task.seconds(beside)[1])
            times, used = zip(*whole, strict=True)
            figures = [*report.spread(times), report.spread(used)[0]]
            figures += [report.spread(x)[0] for x in (unchecked, other) if x]
            target = "" if task.limit is None else f"{task.limit:.1f}"
            met = met and (task.limit is None or figures[0] <= task.limit)
            row = "".join(f"{figure:9.2f}" for figure in figures)
            lines.append(f"{task.name:44s}{row}{target:>9s}")
            print(lines[-1], file=sys.stderr)
    return lines, met


def main() -> None:
    """Measure, write the results, and exit 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each command")
    parser.add_argument("--beside", type=Path, help="another checkout")
    options = parser.parse_args()
    runs, beside = options.runs, options.beside
    table, met = measure(runs, beside)
    head = [
        "Time of the whole command `python -m tensorgen gen SPEC -b numpy`,",
        f"in a process of its own, {runs} runs: median, least and most; and medians of",
        "the CPU time, which other load disturbs less: of the whole command, without",
        "the check of what is written (`--fast`)"
        + (f", and of the code at {commit(beside)}." if beside else "."),
        f"Written by `python benchmarks/generation.py --runs {runs}"
        + (" --beside DIR`." if beside else "`."),
        "",
        *report.machine("numpy", "jinja2", "black", "PyYAML"),
        "",
    ]
    report.write("generation.txt", head + table)
    if not met:
        raise SystemExit("a target is missed")


if __name__ == "__main__":
    main()
