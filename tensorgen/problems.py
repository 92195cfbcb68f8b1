"""Problems: from the plans of a function to the parts its class is written from.

All methods are planned together, so that they share what they can; what each of them
leaves to others, and to the data, is then lowered stage by stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tensorgen.arrays.written import Written, written
from tensorgen.calculus.kinds import (
    GRADIENT,
    HESSIAN,
    HVP,
    JACOBIAN,
    METHODS,
    PROBLEM,
    VALUE,
    Kind,
)
from tensorgen.emit import arguments
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound import BoundFunction, Check, Part
from tensorgen.emit.model import Body, Function, every, needed
from tensorgen.ir.effort import PLANNING
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.lang import ElaboratedFunction
from tensorgen.lower import lower
from tensorgen.lower.names import Names, describe
from tensorgen.operators.definite import is_positive_definite
from tensorgen.passes.cut_stages import (
    DATA,
    Stages,
    cut_stages,
    substituted,
)
from tensorgen.passes.optimise import optimise
from tensorgen.passes.rates import Rate, Rates
from tensorgen.planner import PlannedFunction, Planner, held

Lowered = Callable[[Sequence[Node], Sequence[str], Sequence[bool]], Written]
Described = Callable[[PlannedFunction, Lowered], Function]

Parts = list[tuple[Node, ...]]
"""The nodes of each root."""

OWN = ("self", "SimpleNamespace", "cached_property")
"""Names that a method of a problem uses itself."""


@dataclass(frozen=True)
class PlannedProblem:
    """A function bound to its data: what each method computes, and what they share.

    A problem whose Hessian is `constant` multiplies by it instead of planning `hvp`.
    """

    methods: dict[Kind, PlannedFunction]
    stages: Stages
    constant: bool

    @property
    def source(self) -> ElaboratedFunction:
        """The function."""
        return self.methods[VALUE].source


def plan_problem(
    planner: Planner, plans: Sequence[PlannedFunction]
) -> PlannedProblem | None:
    """Return the plan of a function's problem class, if it has one.

    `plans` are those of the function's other kinds.
    """
    function = planner.function
    if all(emit.kind is not PROBLEM for emit in function.spec.emit):
        return None
    name = function.spec.name_text
    with planner.graph.effort.on(name, "planning its problem", PLANNING):
        return _planned(planner, plans)


def _planned(planner: Planner, plans: Sequence[PlannedFunction]) -> PlannedProblem:
    function, request = planner.function, planner.request
    known = {plan.kind: plan for plan in plans}
    kinds = _offered(function)
    methods = {kind: known.get(kind) or planner.planned(kind) for kind in kinds}
    value = planner.planned(VALUE)
    data = [p for p in value.parameters if p.name not in planner.wrt]
    sizes = arguments.plan(every(data)).sources
    rates = Rates(request.variables, request.directions.values(), sizes)
    roots = {kind: _roots(planner, plan) for kind, plan in methods.items()}
    # Of several forms one alone is computed: no stage has what makes any.
    others = {
        k: [held(o.plan) for o in m.others] for k, m in methods.items() if m.others
    }
    second = [node for part in roots.get(HESSIAN, ()) for node in part]
    constant = bool(second) and all(rates.of(n) == Rate.DATA for n in second)
    constant &= HESSIAN not in others
    if constant:
        del methods[HVP], roots[HVP]
    sure = {kind: parts for kind, parts in roots.items() if kind not in others}
    doubtful = [parts for kind in others for parts in (roots[kind], *others[kind])]
    found = _together(planner, rates, [*sure.values()], doubtful)
    for kind in (*sure, *others):
        method = methods[kind]
        plan = replace(method.plan, parts=tuple(next(found)))
        rest = tuple(
            replace(other, plan=replace(other.plan, parts=tuple(next(found))))
            for other in method.others
        )
        methods[kind] = replace(method, plan=plan, others=rest)
    ends = {kind.name: methods[kind].plan.roots for kind in sure}
    stages = cut_stages(ends, rates, planner.graph.names)
    return PlannedProblem(methods, stages, constant)


def _offered(function: ElaboratedFunction) -> list[Kind]:
    """The kinds that a problem has: a Hessian if it is emitted, or if nothing is."""
    emitted = [emit.kind for emit in function.spec.emit]
    if function.node.order:
        return [VALUE, JACOBIAN]
    if emitted == [PROBLEM]:
        emitted = [HESSIAN]
    return [k for k in METHODS if k in (VALUE, GRADIENT, HVP, *emitted)]


def _roots(planner: Planner, planned: PlannedFunction) -> Parts:
    """What a method computes before it is known what others compute.

    Derivative tensors stay what they are in the function of the same kind.
    """
    if planned.kind.holder:
        return held(planned.plan)
    (way,), _ = planner.ways(planned.kind, ())
    return [(node,) for node in way]


def _together(
    planner: Planner, rates: Rates, sure: Sequence[Parts], doubtful: Sequence[Parts]
) -> Iterator[Parts]:
    """What all methods compute as one plan, so that they share what they can."""
    wanted = [*sure, *doubtful]
    roots = [node for parts in wanted for part in parts for node in part]
    count = sum(len(part) for parts in doubtful for part in parts)
    context = replace(planner.context(), rates=rates, doubtful=count)
    plan = optimise(context, [roots])
    planner.check(PROBLEM.public_name(planner.function.spec.name), plan.roots)
    final = iter(plan.roots)
    for parts in wanted:
        yield [tuple(next(final) for _ in part) for part in parts]


class ProblemBuilder:
    """Lowers the stages of one problem, then its methods: each from those before."""

    def __init__(
        self,
        graph: Graph,
        backend: Backend,
        problem: PlannedProblem,
        described: Described,
    ) -> None:
        """Take what `described` makes of a function whose roots have been lowered."""
        self.graph = graph
        self.backend = backend
        self.problem = problem
        self.described = described
        value = problem.methods[VALUE]
        self.inputs = value.parameters
        directions = [f"d{name}" for name in value.wrt]
        sizes = (s for p in self.inputs for d in p.dims for s in d.symbols)
        self.taken = [*OWN, *(p.name for p in every(self.inputs)), *directions, *sizes]
        self.values: dict[Node, Node] = {}
        self.reads: tuple[str, ...] = ()

    def build(self, checks: Sequence[Check]) -> BoundFunction:
        """Return the problem, all of its parts lowered."""
        held = self.problem.stages.held
        value = self.problem.methods[VALUE]
        data = self._stage(DATA)
        shared = tuple(self._stage(k.name) for k in METHODS if held[k.name])
        methods = tuple(map(self._method, self.problem.methods.values()))
        read = {name for part in (data, *shared, *methods) for name in part.reads}
        return BoundFunction(
            value.source.spec.name,
            value.source.node.dims,
            needed(self.inputs, read),
            value.wrt,
            data,
            shared,
            methods,
            tuple(checks),
            self.problem.constant,
        )

    def _stage(self, stage: str) -> Part:
        """Compute what a stage holds; later ones take it for inputs."""
        held = self.problem.stages.held[stage]
        suggestions = self._suggestions()
        # What is returned twice is used twice, and has a name.
        code = self._lowered(
            [*held, *held], [suggestions.get(node) for node in held] * 2, [False]
        )
        lines = list(code.lines)
        names: list[str] = []
        for node, text in zip(held, code.returns, strict=False):
            if not text.isidentifier() or text in (*self.taken, *names):
                wanted = suggestions.get(node) or describe(node, self.graph.names.get)
                name = Names([*self.taken, *names, *code.returns]).pick([wanted])
                lines.append(f"{name} = {text}")
                text = name
            names.append(text)
        self.taken += names
        for node, name in zip(held, names, strict=True):
            known = ["spd"] if is_positive_definite(node) else []
            self.values[node] = self.graph.input(name, node.dims, known)
        for node, (other, ratio) in self.problem.stages.multiples.items():
            if other in held:
                self.values[node] = self.graph.scale(self.values[other], ratio)
        body = Body(
            tuple(lines),
            tuple(names),
            code.dims,
            helpers=(*code.helpers, *self.backend.written(code.modules)),
            modules=self.backend.imported(code.modules),
            needs_dtype=code.needs_dtype,
        )
        return Part(stage, body, self.reads)

    def _suggestions(self) -> dict[Node, str]:
        """What to call the roots of methods, where a stage holds them already."""
        found: dict[Node, str] = {}
        for method in self.problem.methods.values():
            for name, part in zip(method.root_names, method.plan.parts, strict=True):
                # What several arrays make up has no name for each of them.
                if len(part) == 1:
                    found.setdefault(part[0], name)
        return found

    def _method(self, planned: PlannedFunction) -> Part:
        kind, read = planned.kind, dict[str, None]()

        def lowered(
            roots: Sequence[Node], names: Sequence[str | None], fresh: Sequence[bool]
        ) -> Written:
            # A problem hands out copies of its gradient.
            fresh = [False] if kind is GRADIENT else fresh
            code = self._lowered(roots, names, fresh)
            read.update(dict.fromkeys(self.reads))
            return code

        function = self.described(planned, lowered)
        made = function if kind.holder else None
        return Part(kind.name, function.body, tuple(read), made)

    def _lowered(
        self,
        roots: Sequence[Node],
        names: Sequence[str | None],
        fresh: Sequence[bool],
    ) -> Written:
        """Lower what is left of some roots when what is held has been taken out."""
        left = substituted(self.graph, roots, self.values)
        own = self.problem.methods[VALUE].wrt
        directions = {f"d{name}" for name in own}
        self.reads = tuple(
            node.name
            for node in topological(left)
            if isinstance(node, Input) and node.name not in directions
        )
        code = lower(
            self.graph,
            left,
            reserved=self.taken,
            root_names=names,
            fresh=fresh if len(fresh) == len(roots) else fresh[0],
            facts=[check.size for check in self.problem.source.checks],
            slow_at=self.backend.slow_at,
        )
        return written(code, self.backend.alias)
