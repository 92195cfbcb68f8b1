"""Problems: from the plans of a function to the parts its class is written from.

All methods are planned together, so that they share what they can; what each of them
leaves to others, and to the data, is then lowered stage by stage.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tensorgen.arrays.statements import operands, reads
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
from tensorgen.emit import function_preamble
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound_problems import BoundFunction, Check, Following, Part
from tensorgen.emit.interface import (
    Body,
    Function,
    Parameter,
    body_of,
    every,
    given,
    matrices,
    needed,
)
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Input, Node, topological
from tensorgen.ir.rebuild import substituted
from tensorgen.lang import ElaboratedFunction
from tensorgen.lower import lower
from tensorgen.lower.value_names import Names
from tensorgen.operators.conditions.bounds import FINITE, may_be_infinite
from tensorgen.operators.functions.array import SizeCheck, condition
from tensorgen.operators.matrices.definite import is_positive_definite
from tensorgen.operators.matrices.systems import FACTORED, is_system
from tensorgen.operators.solved_arrays import is_unknown
from tensorgen.operators.words import describe
from tensorgen.passes.optimise import optimise
from tensorgen.passes.rates import Rate, Rates
from tensorgen.plans.cut_stages import Sources, Stages, cut_stages
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner, held

Lowered = Callable[[Sequence[Node], Sequence[str], Sequence[bool]], Written]
Described = Callable[[PlannedFunction, Lowered], Function]

Parts = list[tuple[Node, ...]]
"""The nodes of each root."""

OWN = ("self", "SimpleNamespace", "cached_property")
"""Names that a method of a problem uses itself."""


@dataclass(frozen=True)
class PlannedProblem:
    """A function bound to its data: what each method computes, and what they share.

    The first method is the value; those with an argument take `directions`, inputs too.
    A problem whose Hessian is `constant` multiplies by it instead of planning `hvp`.
    """

    methods: dict[Kind, PlannedFunction]
    stages: Stages
    directions: tuple[str, ...]
    constant: bool = False

    @property
    def value(self) -> PlannedFunction:
        """Its first method."""
        return next(iter(self.methods.values()))

    @property
    def source(self) -> ElaboratedFunction:
        """The function."""
        return self.value.source


def plan_problem(
    planner: Planner, plans: Sequence[PlannedFunction]
) -> PlannedProblem | None:
    """Return the plan of a function's problem class, if it has one.

    `plans` are those of the function's other kinds.
    """
    function = planner.function
    if all(emit.kind is not PROBLEM for emit in function.spec.emit):
        return None
    return planner.in_time("its problem", partial(_planned, planner, plans))


def _planned(planner: Planner, plans: Sequence[PlannedFunction]) -> PlannedProblem:
    function, request = planner.function, planner.request
    name = function.spec.name
    known = {plan.kind: plan for plan in plans}
    kinds = _offered(function)
    methods = {kind: known.get(kind) or planner.planned(kind) for kind in kinds}
    value = planner.planned(VALUE)
    solved = [p.name for p in value.parameters if p.solved]
    given_at = {*planner.wrt, *solved}
    data = [p for p in value.parameters if p.name not in given_at]
    sizes = function_preamble.plan(every(data)).sources
    varying = (*request.variables, *(planner.inputs[name] for name in solved))
    rates = Rates(varying, request.directions.values(), sizes)
    roots = {kind: roots_of(planner, plan) for kind, plan in methods.items()}
    second = [node for part in roots.get(HESSIAN, ()) for node in part]
    constant = bool(second) and all(rates.of(n) == Rate.DATA for n in second)
    constant &= HESSIAN in methods and not methods[HESSIAN].others
    if constant:
        del methods[HVP], roots[HVP]
    methods = together(planner, PROBLEM.public_name(name), rates, methods, roots)
    stages = stages_of(methods, rates, planner.graph.names)
    directions = tuple(f"d{name}" for name in planner.wrt)
    return PlannedProblem(methods, stages, directions, constant)


def together(
    planner: Planner,
    name: str,
    rates: Rates,
    methods: Mapping[Kind, PlannedFunction],
    roots: Mapping[Kind, Parts],
) -> dict[Kind, PlannedFunction]:
    """Return methods with what they compute as one plan: they share what they can.

    The problem `name` is at fault if that fills in a sparse matrix.
    """
    # Of several forms one alone is computed: no stage has what makes any.
    others = {
        k: [held(o.plan) for o in m.others] for k, m in methods.items() if m.others
    }
    sure = {kind: parts for kind, parts in roots.items() if kind not in others}
    doubtful = [parts for kind in others for parts in (roots[kind], *others[kind])]
    found = _optimised(planner, name, rates, [*sure.values()], doubtful)
    done = dict(methods)
    for kind in (*sure, *others):
        method = methods[kind]
        plan = replace(method.plan, parts=tuple(next(found)))
        rest = tuple(
            replace(other, plan=replace(other.plan, parts=tuple(next(found))))
            for other in method.others
        )
        done[kind] = replace(method, plan=plan, others=rest)
    return done


def stages_of(
    methods: Mapping[Kind, PlannedFunction], rates: Rates, named: Collection[Node]
) -> Stages:
    """Return what methods share; `hvp` is called often at one point."""
    # Of several forms one alone is computed, but all need what is solved for.
    ends = dict[str, Sequence[Node]]()
    for kind, method in methods.items():
        roots: Sequence[Node] = method.plan.roots
        solved = [x for x in topological(roots) if is_unknown(x)]
        ends[kind.name] = solved if method.others else roots
    value = next(iter(methods.values()))
    return cut_stages(ends, rates, named, [HVP.name], _owners(value.parameters))


def _owners(parameters: Iterable[Parameter]) -> dict[str, str]:
    """The sparse matrices that parts and sizes come with, by the names of these."""
    return {
        name: part.of.name
        for part in parameters
        if part.of is not None
        for name in (part.name, *(s for dim in part.dims for s in dim.symbols))
    }


def _offered(function: ElaboratedFunction) -> list[Kind]:
    """The kinds that a problem has: a Hessian if it is emitted, or if nothing is."""
    emitted = [emit.kind for emit in function.spec.emit]
    if function.node.order:
        return [VALUE, JACOBIAN]
    if emitted == [PROBLEM]:
        emitted = [HESSIAN]
    return [k for k in METHODS if k in (VALUE, GRADIENT, HVP, *emitted)]


def roots_of(planner: Planner, planned: PlannedFunction) -> Parts:
    """What a method computes before it is known what others compute.

    Derivative tensors stay what they are in the function of the same kind.
    """
    if planned.kind.holder:
        return held(planned.plan)
    (way,), _ = planner.ways(planned.kind, (), planner.request)
    return [(node,) for node in way]


def _optimised(
    planner: Planner,
    name: str,
    rates: Rates,
    sure: Sequence[Parts],
    doubtful: Sequence[Parts],
) -> Iterator[Parts]:
    """What all methods compute as one plan."""
    wanted = [*sure, *doubtful]
    roots = [node for parts in wanted for part in parts for node in part]
    count = sum(len(part) for parts in doubtful for part in parts)
    context = replace(planner.context(), rates=rates, doubtful=count)
    plan = optimise(context, [roots])
    planner.check(name, plan.roots)
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
        self.inputs = problem.value.parameters
        sizes = (s for p in self.inputs for d in p.dims for s in d.symbols)
        names = (p.name for p in every(self.inputs))
        self.taken = [*OWN, *names, *problem.directions, *sizes]
        self.values: dict[Node, Node] = {}
        self.reads: tuple[str, ...] = ()
        self.counted: dict[str, tuple[str, ...]] = {}
        self._read: set[str] = set()

    @property
    def used(self) -> tuple[Parameter, ...]:
        """The inputs, sparse matrices as what was read of them."""
        return needed(self.inputs, self._read)

    def build(self, checks: Sequence[Check]) -> BoundFunction:
        """Return the problem, all of its parts lowered."""
        problem, stages = self.problem, self.problem.stages
        kinds = {kind.name: kind for kind in problem.methods}
        data = tuple(self._following(x, held) for x, held in stages.data.items())
        shared = tuple(
            Part(kinds[stage], self._stage(held), self.reads)
            for stage, held in stages.held.items()
            if held
        )
        methods = tuple(self._method(*method) for method in problem.methods.items())
        return BoundFunction(
            problem.source.spec.name,
            self.used,
            problem.value.wrt,
            data,
            shared,
            methods,
            problem.directions,
            tuple(checks),
            problem.constant,
        )

    def _following(self, sources: Sources, held: Sequence[Node]) -> Following:
        own = tuple(p.name for p in given(self.inputs) if p.name in sources)
        return Following(own, self._stage(held), self.reads)

    def _stage(self, held: Sequence[Node]) -> Body:
        """Compute what a stage holds; later ones take it for inputs."""
        suggestions = self._suggestions()
        # What is returned twice is used twice, and has a name.
        code = self.lowered(
            [*held, *held], [suggestions.get(node) for node in held] * 2, [False]
        )
        lines = list(code.lines)
        names: list[str] = []
        for node, text in zip(held, code.returns, strict=False):
            if not text.isidentifier() or text in (*self.taken, *names):
                own = suggestions.get(node)
                wanted = [own] if own else describe(node, self.graph.names.get)
                name = Names([*self.taken, *names, *code.returns]).pick(wanted)
                lines.append(f"{name} = {text}")
                text = name
            names.append(text)
        self.taken += names
        for node, name in zip(held, names, strict=True):
            known = ["spd"] * is_positive_definite(node) + [FACTORED] * is_system(node)
            known += [] if may_be_infinite(node) else [FINITE]
            self.values[node] = self.graph.input(name, node.dims, known)
        for node, (other, ratio) in self.problem.stages.multiples.items():
            if other in held:
                self.values[node] = self.graph.scale(self.values[other], ratio)
        body = body_of(code, self.backend)
        return replace(body, lines=tuple(lines), returns=tuple(names))

    def _suggestions(self) -> dict[Node, str]:
        """What to call the roots of methods, where a stage holds them already."""
        found: dict[Node, str] = {}
        for method in self.problem.methods.values():
            for name, part in zip(method.root_names, method.plan.parts, strict=True):
                # What several arrays make up has no name for each of them.
                if len(part) == 1:
                    found.setdefault(part[0], name)
        return found

    def _method(self, kind: Kind, planned: PlannedFunction) -> Part:
        read = dict[str, None]()

        def lowered(
            roots: Sequence[Node], names: Sequence[str | None], fresh: Sequence[bool]
        ) -> Written:
            # A problem hands out copies of its gradient.
            fresh = [False] if planned.kind is GRADIENT else fresh
            code = self.lowered(roots, names, fresh)
            read.update(dict.fromkeys(self.reads))
            return code

        function = self.described(planned, lowered)
        made = function if kind.holder else None
        return Part(kind, function.body, tuple(read), planned.source.node.dims, made)

    def lowered(
        self, roots: Sequence[Node], names: Sequence[str | None], fresh: Sequence[bool]
    ) -> Written:
        """Lower what is left of some roots when what is held has been taken out."""
        # What stable forms would recognise has been recognised.
        with self.graph.without_rewrites():
            left = substituted(self.graph, roots, self.values)
        directions = self.problem.directions
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
            counted=self.counted,
            matrices=matrices(self.inputs),
        )
        keys = {name for names in self.counted.values() for name in names}
        read = reads([one for line in code.statements for one in operands(line)])
        told = (name for name in read if name in keys)
        self.reads = tuple(dict.fromkeys((*self.reads, *told)))
        self._read.update(self.reads)
        results = [name or "" for name in names]
        return written(code, self.backend.alias, self.backend.fuses, results)


def size_checks(function: ElaboratedFunction) -> list[Check]:
    """Return the conditions on sizes that a function's class checks."""
    checks = strictest(function.checks)
    return [Check(fails(c), c.size.symbols, c.message) for c in checks]


def strictest(checks: Sequence[SizeCheck]) -> list[SizeCheck]:
    """Return one check for each condition that no other one implies.

    The first of several, whose message says why.
    """
    first = list({(x.size, x.whole): x for x in reversed(checks)}.values())[::-1]

    def implies(other: SizeCheck, check: SizeCheck) -> bool:
        # By a number alone: a symbol may be 0.
        more = (check.size - other.size).constant
        alike = other is not check and not (other.whole or check.whole)
        return alike and more is not None and more >= 0

    return [x for x in first if not any(implies(other, x) for other in first)]


def fails(check: SizeCheck) -> str:
    """The condition that fails a check, without minus signs: `T < 1`, `n % 2 != 0`."""
    if check.whole:
        top, below = check.size.whole
        text = str(top) if len(top.terms) == 1 else f"({top})"
        return f"{text} % {below} != 0"
    low, _, high = condition(check.size).partition(" <= ")
    return f"{high} < {low}"
