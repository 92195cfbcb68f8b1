"""Constrained problems: the plans of objective, constraints and Lagrangian, as one.

The Hessian is that of the Lagrangian `obj_factor * f + sum_k <lagrange_k, g_k>`,
derived as one function: its terms share work, and blocks that vanish have no entries.
Each constraint has a value and a Jacobian of its own, whose structure a stack of them
would hide; their entries are stacked instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tensorgen.calculus.kinds import GRADIENT, HESSIAN, HVP, JACOBIAN, VALUE, Kind
from tensorgen.calculus.requests import Mode
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound_problems import (
    Check,
    ConstrainedProblem,
    Limited,
    Limits,
    Moved,
)
from tensorgen.emit.interface import Function, body_of
from tensorgen.errors import Text
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, constant_value, topological
from tensorgen.lang import Between, ElaboratedFunction, ElaboratedProblem, Program
from tensorgen.lang.moved_optimum import weighted
from tensorgen.passes.optimise import optimise
from tensorgen.passes.rates import Rates
from tensorgen.plans.parameters import decimal
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner
from tensorgen.plans.problem_plans import (
    Described,
    Parts,
    PlannedProblem,
    ProblemBuilder,
    roots_of,
    stages_of,
    together,
)
from tensorgen.spec.model import InputSpec, Spec, Wrt
from tensorgen.spec.names import unused

OBJECTIVE = replace(
    VALUE, name="objective", method="Return the objective.", part="the objective"
)
LAGRANGIAN = replace(
    HESSIAN,
    method="Return the Hessian of the Lagrangian.",
    part="the Hessian",
    argument="direction",
)


@dataclass(frozen=True)
class PlannedConstrained:
    """A constrained problem: its methods, and all bounds by what solvers call them."""

    problem: PlannedProblem
    spec: ElaboratedProblem
    limits: dict[str, tuple[Node | None, ...]]


def plan_constrained(
    graph: Graph, spec: Spec, program: Program, mode: Mode
) -> PlannedConstrained | None:
    """Return the plan of a file's problem, if it has one."""
    if program.problem is None:
        return None
    problem = program.problem
    return graph.effort.planned(
        problem.spec.name_text,
        "planning it",
        lambda: _Planning(graph, spec, program, problem, mode).run(),
    )


class _Planning:
    def __init__(
        self,
        graph: Graph,
        spec: Spec,
        program: Program,
        problem: ElaboratedProblem,
        mode: Mode,
    ) -> None:
        self.graph = graph
        self.spec = spec
        self.program = program
        self.problem = problem
        self.mode: Mode = mode
        # Multipliers are called alike in all functions.
        own = {x.name for x in problem.moved.multipliers} if problem.moved else set()
        self.taken = {*program.inputs, *(name for name, _ in spec.hints)} - own
        self.taken |= {given.name for given in spec.inputs}
        self.methods: dict[Kind, PlannedFunction] = {}
        self.roots: dict[Kind, Parts] = {}

    def run(self) -> PlannedConstrained:
        """Plan all methods, in the order in which solvers call them."""
        problem, graph = self.problem, self.graph
        goal = self._planner(problem.spec.objective.value, problem.objective)
        self._add(OBJECTIVE, goal)
        self._add(GRADIENT, goal)
        names = [c.spec.name for c in problem.constraints]
        planners = [self._planner(c.spec.name, c.node) for c in problem.constraints]
        for kind, called, words in (
            (VALUE, "constraint", "constraint"),
            (JACOBIAN, "jacobian", "Jacobian of"),
        ):
            for name, planner in zip(names, planners, strict=True):
                what = f"the {words} `{name}`"
                own = replace(
                    kind, name=f"{called}_{name}", method=f"Return {what}.", part=what
                )
                self._add(own, planner)
        node, multipliers = self._lagrangian()
        last = self._planner(
            f"{problem.spec.name.removesuffix('Problem')}Lagrangian", node, multipliers
        )
        self._add(LAGRANGIAN, last)
        # Where a stage ends matters for multipliers, what to gather does not: they
        # change as often as the point.
        variables = [x.node for x in problem.variables]
        solved = [x for x in problem.arguments if x.unknown]
        variables += [self.program.inputs[x.name] for x in solved]
        given = [graph.input(m.name, m.shape) for m in multipliers]
        together_at = Rates([*variables, *given])
        methods = together(
            last, problem.spec.name, together_at, self.methods, self.roots
        )
        stages = stages_of(methods, Rates(variables, given), graph.names)
        directions = tuple(m.name for m in multipliers)
        planned = PlannedProblem(methods, stages, directions)
        return PlannedConstrained(planned, problem, self._limits(last))

    def _planner(
        self, name: str, node: Node, more: Sequence[InputSpec] = ()
    ) -> Planner:
        """A planner of the derivatives by all variables, whatever the file asks for."""
        problem = self.problem
        like = problem.functions[problem.spec.objective.value]
        like = problem.functions.get(name, replace(like, where=()))
        wrt = tuple(Wrt(x.spec.name, "", x.spec.name_text) for x in problem.variables)
        spec = replace(like, name=name, wrt=wrt, emit=())
        function = ElaboratedFunction(
            spec, node, (*problem.arguments, *more), (), problem.checks, frozenset()
        )
        return Planner(self.graph, self.spec, self.program, function, self.mode)

    def _add(self, kind: Kind, planner: Planner) -> None:
        like = next(
            k for k in (VALUE, GRADIENT, JACOBIAN, HESSIAN) if k.ways is kind.ways
        )
        self.methods[kind] = planned = planner.planned(like)
        self.roots[kind] = roots_of(planner, planned)

    def _lagrangian(self) -> tuple[Node, list[InputSpec]]:
        """The Lagrangian, and its multipliers in the order of arguments."""
        graph, problem = self.graph, self.problem
        multipliers = [
            self._multiplier(f"lagrange_{c.spec.name}", c.node, c.spec.name_text)
            for c in problem.constraints
        ]
        place = problem.spec.objective
        factor = self._multiplier("obj_factor", problem.objective, place)
        nodes = [problem.objective, *(c.node for c in problem.constraints)]
        pairs = zip([factor, *multipliers], nodes, strict=True)
        return graph.add(*weighted(graph, pairs)), [*multipliers, factor]

    def _multiplier(self, name: str, node: Node, text: Text) -> InputSpec:
        name = unused(name, self.taken)
        self.taken.add(name)
        return InputSpec(name, text, node.dims)

    def _limits(self, planner: Planner) -> dict[str, tuple[Node | None, ...]]:
        variables, constraints = self.problem.variables, self.problem.constraints
        sides = {
            "lb": tuple(x.lower for x in variables),
            "ub": tuple(x.upper for x in variables),
            "cl": tuple(c.lower for c in constraints),
            "cu": tuple(c.upper for c in constraints),
        }
        stated = computed_limits([node for side in sides.values() for node in side])
        roots = optimise(planner.context(), [stated]).roots
        planner.check(self.problem.spec.name, roots)
        plan = dict(zip(stated, roots, strict=True))
        return {
            side: tuple(
                None if node is None else plan.get(node, node) for node in nodes
            )
            for side, nodes in sides.items()
        }


def build_constrained(
    graph: Graph,
    backend: Backend,
    planned: PlannedConstrained,
    described: Described,
    checks: Sequence[Check],
) -> ConstrainedProblem:
    """Lower a constrained problem, all of its parts."""
    builder = ProblemBuilder(graph, backend, planned.problem, described)
    bound = builder.build(checks)
    limits = []
    for side, nodes in planned.limits.items():
        computed = computed_limits(nodes)
        code = builder.lowered(computed, [None] * len(computed), [False])
        infinity = f"{'-' if side in ('lb', 'cl') else ''}{backend.alias}.inf"
        texts = iter(code.returns)
        values = [
            next(texts) if node in computed else _number(node) or infinity
            for node in nodes
        ]
        body = body_of(code, backend)
        limits.append(Limits(side, body, builder.reads, tuple(values)))
    # Bounds may read more of sparse matrices than methods do.
    bound = replace(bound, inputs=builder.used)
    spec = planned.spec.spec
    sense = "Maximise" if spec.maximize else "Minimise"
    return ConstrainedProblem(
        spec.name,
        spec.doc,
        f"{sense} `{spec.objective}`",
        bound,
        tuple(map(_limited, planned.spec.variables)),
        tuple(map(_limited, planned.spec.constraints)),
        tuple(limits),
        tuple(k.name for k, m in planned.problem.methods.items() if _is_constant(k, m)),
    )


def moved(
    problem: ConstrainedProblem,
    planned: PlannedConstrained,
    functions: Sequence[Function],
) -> ConstrainedProblem:
    """A problem with what says how its optimum moves, one of the module's functions."""
    own = planned.spec.moved
    if own is None:
        return problem
    name = HVP.public_name(own.function.spec.name)
    found = Moved(
        next(function for function in functions if function.name == name),
        tuple(x.name for x in own.multipliers),
        tuple((x.side, x.number) for x in own.limits),
        tuple(x.name for x in own.parameters),
    )
    return replace(problem, moved=found)


def _is_constant(kind: Kind, planned: PlannedFunction) -> bool:
    """Whether a Jacobian follows from sizes alone, so that its zeros do."""
    nodes = topological(planned.plan.roots)
    known = not any(isinstance(node, Input) for node in nodes)
    return kind.ways is JACOBIAN.ways and known and not planned.others


def computed_limits(nodes: Sequence[Node | None]) -> list[Node]:
    """Return the bounds that are no plain numbers."""
    return [node for node in nodes if node is not None and _number(node) is None]


def _number(node: Node | None) -> str | None:
    value = None if node is None else constant_value(node)
    return None if value is None else decimal(value)


def _limited(x: Between) -> Limited:
    """A variable or constraint as its docstring tells of it."""
    name, lower, upper = x.spec.name, x.spec.lower, x.spec.upper
    if lower is not None and lower is upper:
        return Limited(name, x.node.dims, f"{name} == {lower}")
    low = "" if lower is None else f"{lower} <= "
    high = "" if upper is None else f" <= {upper}"
    return Limited(name, x.node.dims, f"{low}{name}{high}" if low or high else "")
