"""Recurrences that keep few of their states: what that saves in memory, and costs."""

import statistics
import tracemalloc
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import report

import tensorgen

Array = Any
ROUNDS = 5
SPEC = """
tensorgen: 1
module: checkpoints
dims: {n: 50, k: 2, T: 10000, K: 20, N: 10000}
inputs:
  A: [n, n]
  B: [n, k]
  u: [T, k]
  x0: [n]
  L: [K, K]
  c: [K]
  E: [N, K]
functions:
  network:
CHECKPOINT    where: |
      x[0] = x0
      x[t + 1] = tanh(A @ x[t] + B @ u[t])
    expr: sum(x**2)
    wrt: [A, B]
    emit: [value, gradient, hvp]
  hmm:
CHECKPOINT    where: |
      s[0] = c
      s[t + 1] = E[t] + logsumexp(s[t][:, None] + L, axis=0)
    expr: logsumexp(s[N])
    wrt: L
    emit: [value, gradient, hvp]
"""


def arguments() -> dict[str, dict[str, Array]]:
    """What the functions are given; directions too."""
    rng = np.random.default_rng(0)
    network = {
        "A": rng.normal(size=(50, 50)) / 9,
        "B": rng.normal(size=(50, 2)),
        "u": rng.normal(size=(10_000, 2)),
        "x0": rng.normal(size=50),
    }
    network |= {"dA": network["A"] / 3, "dB": network["B"] / 2}
    L, E = rng.normal(size=(20, 20)), rng.normal(size=(10_000, 20))
    return {"network": network, "hmm": {"L": L, "c": L[0], "E": E, "dL": L.T}}


def measured(made: list[ModuleType], name: str, given: dict[str, Array]) -> str:
    """A line for one function: megabytes at most, and milliseconds, of both."""
    own = {x: v for x, v in given.items() if x[0] != "d" or "hvp" in name}
    calls = [partial(getattr(module, name), **own) for module in made]
    peaks = []
    for call in calls:
        tracemalloc.start()
        call()
        peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for row, call in zip(times, calls, strict=True):
            row.append(1e3 * report.timed(call))
    all_, few = map(statistics.median, times)
    memory = "".join(f"{peak:10.2f}" for peak in peaks)
    return f"{name:16}{memory}{all_:12.1f}{few:10.1f}{few / all_:8.2f}"


def main() -> None:
    """Measure, and write the result file."""
    made = [ModuleType("checkpoints") for _ in range(2)]
    for module, key in zip(made, ("", "    checkpoint: sqrt\n"), strict=True):
        text = tensorgen.generate(SPEC.replace("CHECKPOINT", key))
        exec(compile(text, "checkpoints", "exec"), module.__dict__)
    lines = [
        *report.machine("numpy"),
        "",
        f"at most held, in megabytes, and milliseconds, medians of {ROUNDS} rounds",
        "that take turns: all states kept, and `checkpoint: sqrt`; 10,000 steps",
        "",
        f"{'':16}{'all':>10}{'few':>10}{'all':>12}{'few':>10}{'ratio':>8}",
    ]
    for case, given in arguments().items():
        for end in ("", "_grad", "_hvp"):
            lines.append(measured(made, case + end, given))
    report.write("checkpoints.txt", lines)


if __name__ == "__main__":
    main()
