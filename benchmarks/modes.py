"""Compare the three orders in which the chain rule's products can be multiplied.

Run it as `make bench`, or `python benchmarks/modes.py [--rounds N]`; it writes
benchmarks/results/modes.txt: the arithmetic that the cost model counts, and the time
that the generated function takes. The modes take turns within each round.
"""

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import report
from numpy.typing import NDArray

import tensorgen
from tensorgen.calculus.expressions import Differentiate
from tensorgen.calculus.requests import MODES, Mode
from tensorgen.errors import Source
from tensorgen.ir.graph import Graph
from tensorgen.lang import elaborate
from tensorgen.operators.stable import StableForms
from tensorgen.passes.cost import CostModel
from tensorgen.planner import Planner
from tensorgen.spec.read import read_spec

AGREEMENT = 1e-10  # relative, of all modes, before anything is timed


@dataclass(frozen=True)
class Program:
    """A function whose derivative is measured, and the sizes of its dims."""

    name: str
    kind: str  # of the derivative, as `emit` calls it
    call: str  # the generated function
    sizes: dict[str, int]
    inputs: dict[str, str]  # the dims of each, a letter each
    body: str

    def spec(self) -> str:
        """Return the text of its spec."""
        dims = ", ".join(f"{name}: {size}" for name, size in self.sizes.items())
        inputs = ", ".join(
            f"{name}: [{', '.join(dims)}]" for name, dims in self.inputs.items()
        )
        head = f"tensorgen: 1\ndims: {{{dims}}}\ninputs: {{{inputs}}}\nfunctions:\n"
        return f"{head}  f:\n{self.body}    wrt: x\n    emit: {self.kind}\n"

    def arguments(self) -> dict[str, NDArray[np.float64]]:
        """Return random arguments, scaled so that no function saturates."""
        rng = np.random.default_rng(0)
        shapes = {k: [self.sizes[d] for d in dims] for k, dims in self.inputs.items()}
        return {
            name: rng.standard_normal(shape) / np.sqrt(shape[-1])
            for name, shape in shapes.items()
        }


PROGRAMS = (
    Program(
        "chain B @ tanh(sin(A @ x)), Jacobian",
        "dense_jacobian",
        "f_jac_dense",
        {"p": 500, "q": 500, "n": 500},
        {"x": "n", "A": "qn", "B": "pq"},
        "    expr: B @ tanh(sin(A @ x))\n",
    ),
    Program(
        "autoencoder with a narrow waist, Jacobian",
        "dense_jacobian",
        "f_jac_dense",
        {"n": 500, "h": 500, "k": 10},
        {"x": "n", "A": "hn", "B": "kh", "C": "hk", "D": "nh"},
        "    expr: D @ tanh(C @ tanh(B @ tanh(A @ x)))\n",
    ),
    Program(
        "network with three layers, gradient",
        "gradient",
        "f_grad",
        {"n": 200, "h": 200, "c": 10},
        {"x": "n", "W1": "hn", "W2": "hh", "W3": "ch", "y": "c"},
        "    where: |\n      z = W3 @ tanh(W2 @ tanh(W1 @ x))\n"
        "    expr: logsumexp(z) - y @ z\n",
    ),
    Program(
        "network with three layers, Hessian",
        "dense_hessian",
        "f_hess_dense",
        {"n": 100, "h": 100, "c": 10},
        {"x": "n", "W1": "hn", "W2": "hh", "W3": "ch", "y": "c"},
        "    where: |\n      z = W3 @ tanh(W2 @ tanh(W1 @ x))\n"
        "    expr: logsumexp(z) - y @ z\n",
    ),
)


def flops(program: Program, mode: Mode) -> float:
    """Return the arithmetic of the plan for the derivative, as the model counts it."""
    spec = read_spec(Source("<benchmark>", program.spec()))
    graph = Graph(StableForms())
    elaborated = elaborate(spec, graph, Differentiate(graph))
    (function,) = elaborated.functions
    plans = Planner(graph, spec, elaborated, function, mode).plans()
    (plan,) = (p.plan for p in plans if p.name == program.call)
    return CostModel(program.sizes).total_flops(plan.roots)


def milliseconds(program: Program, rounds: int) -> dict[Mode, float]:
    """Return the median time of the generated function in each mode."""
    arguments = program.arguments()
    modules = {mode: tensorgen.load(program.spec(), mode=mode) for mode in MODES}
    functions: dict[Mode, Any] = {
        mode: getattr(module, program.call) for mode, module in modules.items()
    }
    expected = functions["reverse"](**arguments)
    for mode, function in functions.items():
        error = np.max(np.abs(function(**arguments) - expected))
        if not error <= AGREEMENT * np.max(np.abs(expected)):
            raise SystemExit(f"{program.name}: {mode} is off by {error:.1e}")
    times: dict[Mode, list[float]] = {mode: [] for mode in MODES}
    for _ in range(rounds):
        for mode, function in functions.items():
            start = time.perf_counter()
            function(**arguments)
            times[mode].append(1e3 * (time.perf_counter() - start))
    return {mode: report.spread(found)[0] for mode, found in times.items()}


def rows(program: Program, rounds: int) -> list[str]:
    """Return the table's lines for one program."""
    time_of = milliseconds(program, rounds)
    sizes = ", ".join(f"{name} = {size}" for name, size in program.sizes.items())
    lines = [f"{program.name}: {sizes}"]
    for mode in MODES:
        lines.append(
            f"  {mode:16s}{flops(program, mode) / 1e6:12.3f}{time_of[mode]:12.3f}"
        )
    return [*lines, ""]


def main() -> None:
    """Measure all programs and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=51, help="of each measurement")
    rounds = parser.parse_args().rounds
    head = [
        "Derivatives in the three modes: modelled arithmetic in millions of flops,",
        f"and the median time of {rounds} interleaved rounds in ms.",
        f"Written by `python benchmarks/modes.py --rounds {rounds}` on one thread.",
        "",
        *report.machine("numpy"),
        "",
        f"{'':18s}{'Mflop':>12s}{'ms':>12s}",
    ]
    table = [line for program in PROGRAMS for line in rows(program, rounds)]
    report.write("modes.txt", head + table[:-1])


if __name__ == "__main__":
    main()
