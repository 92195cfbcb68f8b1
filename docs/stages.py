"""Follow one derivative through the compiler, printing what each stage makes of it.

    python docs/stages.py [SPEC [FUNCTION]]

The Hessian of a scalar function, or the Jacobian of another, is followed; without
arguments that of the loss in examples/logistic_regression.yaml, which architecture.md
explains.
"""

import argparse
from pathlib import Path

from tensorgen.arrays.written import written
from tensorgen.calculus.differentiate import Differentiate
from tensorgen.calculus.kinds import HESSIAN, JACOBIAN
from tensorgen.calculus.requests import Mode, gradient, hessians, jacobians
from tensorgen.errors import Source, SpecError
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node
from tensorgen.lang import elaborate
from tensorgen.lower import lower
from tensorgen.operators.index_notation import dump, equation
from tensorgen.operators.stable import StableForms
from tensorgen.passes.cost import CostModel
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner
from tensorgen.spec.read import read_spec

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "logistic_regression.yaml"


class Stages:
    """What the stages make of one function of a spec."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        """Read the spec; the first function with `wrt` is followed unless named."""
        self.spec = read_spec(Source.decode(path.name, path.read_bytes()))
        self.graph = Graph(StableForms())
        self.program = elaborate(self.spec, self.graph, Differentiate(self.graph))
        followed = [
            f
            for f in self.program.functions
            if f.spec.wrt and name in (None, f.spec.name)
        ]
        if not followed:
            raise SystemExit(f"{path.name}: no function to differentiate")
        self.function = followed[0]
        self.name = self.function.spec.name
        self.is_scalar = not self.function.node.dims
        self.hints = {dim: size for dim, size in self.spec.hints if size is not None}

    def planner(self, mode: Mode) -> Planner:
        """Return the planner of the function in one mode."""
        return Planner(self.graph, self.spec, self.program, self.function, mode)

    def plan(self, mode: Mode = "cross-country") -> PlannedFunction:
        """Return the plan of the derivative that is followed."""
        return self.planner(mode).planned(HESSIAN if self.is_scalar else JACOBIAN)

    def equation(self, name: str, node: Node) -> str:
        """Return a node in index notation, with the user's names."""
        return equation(name, node, self.graph.names)

    def derived(self) -> dict[str, str]:
        """Return the derivatives as the calculus leaves them."""
        request = self.planner("reverse").request
        if not self.is_scalar:
            (first, *_), *_ = jacobians(self.graph, request, "reverse")
            return {"calculus: Jacobian": self.equation("jac", first)}
        (first, *_), *_ = gradient(self.graph, request, "reverse")
        (second, *_), *_ = hessians(self.graph, request, "cross-country")
        return {
            "calculus: gradient": self.equation("grad", first),
            "calculus: Hessian": self.equation("hess", second),
        }

    def costs(self) -> str:
        """Return the modelled arithmetic of the derivative in each mode."""
        model = CostModel(self.hints)
        modes: tuple[Mode, ...] = ("reverse", "forward", "cross-country")
        return "\n".join(
            f"{mode:14s}{model.total_flops(self.plan(mode).plan.roots):15,.0f}"
            for mode in modes
        )

    def statements(self) -> str:
        """Return the body of the generated function, before it is laid out."""
        plan = self.plan()
        code = lower(
            self.graph,
            plan.plan.roots,
            reserved=[parameter.name for parameter in plan.parameters],
            root_names=plan.root_names,
        )
        text = written(code, "np")
        return "\n".join([*text.lines, f"return {', '.join(text.returns)}"])

    def all(self) -> dict[str, str]:
        """Return the text of each stage by its title."""
        plan = self.plan().plan
        return {
            "lang: nodes": dump([self.function.node]),
            "lang: formula": self.equation(self.name, self.function.node),
            **self.derived(),
            "passes: nodes": dump(plan.roots),
            "passes: flops": self.costs(),
            "lower: statements": self.statements(),
        }


def main() -> None:
    """Print all stages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", nargs="?", type=Path, default=EXAMPLE)
    parser.add_argument("function", nargs="?")
    arguments = parser.parse_args()
    try:
        stages = Stages(arguments.spec, arguments.function)
    except SpecError as error:
        raise SystemExit(str(error)) from None
    for title, text in stages.all().items():
        print(f"-- {title}\n{text}\n")


if __name__ == "__main__":
    main()
