"""From planned functions to the `Module` that one backend renders."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tensorgen.arrays.cost_line import cost_line, held
from tensorgen.arrays.written import Written, written
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound_problems import BoundFunction, Check, ConstrainedProblem
from tensorgen.emit.data import check_lines
from tensorgen.emit.external_imports import external_helpers
from tensorgen.emit.interface import (
    Body,
    Choice,
    Function,
    Holder,
    Parameter,
    counted,
    every,
    matrices,
    needed,
)
from tensorgen.emit.module import Module
from tensorgen.emit.support import helpers
from tensorgen.emit.unknown_solvers import Solver
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import HURRIED
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, children, inputs_of
from tensorgen.lang import ElaboratedFunction, ElaboratedUnknown
from tensorgen.lower import lower
from tensorgen.operators.index_notation import equations
from tensorgen.passes.context import Plan
from tensorgen.plans.constrained_plans import PlannedConstrained, build_constrained
from tensorgen.plans.derivative_objects import Objects
from tensorgen.plans.formulas import (
    cost_of,
    equation_of,
    formulas_of,
    steps_of,
    text_of,
)
from tensorgen.plans.planned import Member, PlannedFunction
from tensorgen.plans.planner import known_sizes
from tensorgen.plans.problem_plans import (
    Lowered,
    PlannedProblem,
    ProblemBuilder,
    size_checks,
)
from tensorgen.plans.share_code import share_code
from tensorgen.spec.check import emitted_names, tuple_names
from tensorgen.spec.model import Spec
from tensorgen.spec.names import RESERVED
from tensorgen.spec.unknowns import made_for
from tensorgen.version import __version__

READABLE = 40
"""The most values that a formula in a docstring may be made of."""
PARTS = 5
"""The most parts that it may be cut into: with more it is another text of the code."""


class ModuleBuilder:
    """Lowers all functions of a spec for one backend, and their derivative classes."""

    def __init__(self, spec: Spec, graph: Graph, backend: Backend) -> None:
        """Start a module without functions."""
        self.spec = spec
        self.graph = graph
        self.backend = backend
        self.hints = known_sizes(spec)
        self.public: set[str] = set()
        self.ambiguous: set[str] = set()
        # The named nodes by their names, those of functions in one group.
        self.named: dict[str, dict[Node, str]] = {}
        taken = RESERVED | _names(spec)
        self.objects = Objects(graph, taken, backend.slow_at)
        # The code of functions, by their names.
        self.written: dict[str, Written] = {}

    def build(
        self,
        plans: Sequence[PlannedFunction],
        problems: Sequence[PlannedProblem] = (),
        constrained: PlannedConstrained | None = None,
        unknowns: Sequence[ElaboratedUnknown] = (),
    ) -> Module:
        """Return the module."""
        spec = self.spec
        self.meet(plan.source for plan in plans)
        functions = self.functions(plans)
        bound = tuple(self.problem(problem) for problem in problems)
        own = None if constrained is None else self.constrained(constrained)
        return Module(
            spec.module,
            spec.source.name,
            hashlib.sha256(spec.source.text.encode()).hexdigest(),
            __version__,
            self.backend.name,
            functions,
            spec.doc,
            tuple(helpers(self.backend)),
            bound,
            own,
            tuple(self.objects.classes.values()),
            tuple(_solver(x, functions) for x in unknowns),
            tuple(external_helpers(spec.externals, self.backend)),
        )

    def meet(self, sources: Iterable[ElaboratedFunction]) -> None:
        """Hear of all functions, to know which names mean one value."""
        self.public = {f.name for f in self.spec.functions}
        local = {x for source in sources for x in source.locals}
        count = Counter(name for name, _ in {(x.name, x.node) for x in local})
        self.ambiguous = {name for name, values in count.items() if values > 1}

    def problem(self, planned: PlannedProblem) -> BoundFunction:
        """Lower one problem."""
        builder = ProblemBuilder(self.graph, self.backend, planned, self.described)
        builder.counted = counted(builder.inputs)
        effort, source = self.graph.effort, planned.source
        with source.within(effort, "writing its problem", HURRIED):
            return builder.build(size_checks(source))

    def constrained(self, planned: PlannedConstrained) -> ConstrainedProblem:
        """Lower the constrained problem."""
        with self.graph.effort.on(
            planned.spec.spec.name_text, "writing the problem", HURRIED
        ):
            checks = size_checks(planned.problem.source)
            return build_constrained(
                self.graph, self.backend, planned, self.described, checks
            )

    def functions(self, plans: Sequence[PlannedFunction]) -> tuple[Function, ...]:
        """Lower all functions; those of one formula are made of what they share."""
        found = {planned.name: self.function(planned) for planned in plans}
        own: dict[str, dict[str, tuple[PlannedFunction, Function, Written]]] = {}
        for planned in plans:
            if not (planned.others or planned.members):
                row = planned, found[planned.name], self.written[planned.name]
                own.setdefault(planned.source.spec.name, {})[planned.name] = row
        for made in own.values():
            found |= share_code(made, self.hints, self.backend)
        return tuple(
            _checked(found[planned.name], size_checks(planned.source))
            for planned in plans
        )

    def function(self, planned: PlannedFunction) -> Function:
        """Lower one function."""
        effort, doing = self.graph.effort, f"writing {planned.name}"
        with planned.source.within(effort, doing, HURRIED):
            return self.described(planned, self.lowering(planned))

    def lowering(self, planned: PlannedFunction) -> Lowered:
        """How the roots of a function are lowered."""

        def lowered(
            roots: Sequence[Node], names: Sequence[str], fresh: Sequence[bool]
        ) -> Written:
            code = lower(
                self.graph,
                roots,
                reserved=[p.name for p in every(planned.parameters)],
                root_names=names,
                fresh=fresh,
                variables=planned.wrt,
                facts=[check.size for check in planned.source.checks],
                slow_at=self.backend.slow_at,
                counted=counted(planned.parameters),
                matrices=matrices(planned.parameters),
                hints=self.hints,
                in_blocks=self.backend.in_blocks,
            )
            return written(code, self.backend.alias)

        return lowered

    def lowered(self, planned: PlannedFunction, lowered: Lowered) -> Function:
        """A function whose roots are `lowered`, with the checks that it starts with."""
        function = self.described(planned, lowered)
        return _checked(function, size_checks(planned.source))

    def described(self, planned: PlannedFunction, lowered: Lowered) -> Function:
        """Return a function whose roots are `lowered`, and what is made of them."""
        function = self._form(planned, planned.plan, lowered, self.hints)
        choices = [
            Choice(
                _smallest(other.less, other.than),
                self._form(planned, other.plan, lowered, other.hints),
            )
            for other in planned.others
        ]
        compared = [d for o in planned.others for d in (o.less, *o.than)]
        found = _chosen(function, choices, [s for d in compared for s in d.symbols])
        read = {x.name for plan in planned.plans for x in inputs_of(plan.roots)}
        parameters = needed(found.parameters, read)
        results = tuple(
            (name, _of_choices(own, name, found.choices, parameters))
            for name, own in found.results
        )
        return replace(found, parameters=parameters, results=results)

    def _form(
        self,
        planned: PlannedFunction,
        plan: Plan,
        lowered: Lowered,
        hints: Mapping[str, int],
    ) -> Function:
        members = planned.members or (Member("", planned, (*range(len(plan.parts)),)),)
        made = [
            self.objects.holders(one.planned, plan.at(one.places), hints)
            for one in members
        ]
        holders = tuple(holder for own, _ in made for holder in own)
        fields = {
            one.places[k]: names
            for one, (_, own) in zip(members, made, strict=True)
            for k, names in own.items()
        }
        each = list(enumerate(plan.parts))
        buffers = [
            name
            for k, part in each
            for name in fields.get(k, (planned.root_names[k],) * len(part))
        ]
        # An object may hold arguments, which it never writes to, unless they are
        # variables: those change from step to step, often in place.
        fresh = [k not in planned.tensors for k, part in each for _ in part]
        code = self.written[planned.name] = lowered(plan.roots, buffers, fresh)
        inside = (s for holder in holders for s in holder.sizes)
        sizes = {**self.hints, **hints}
        most = held(code.code, sizes)
        body = Body(
            code.lines,
            code.returns,
            tuple(dict.fromkeys((*code.dims, *inside))),
            tuple(dict.fromkeys(s for holder in holders for s in holder.positive)),
            helpers=(*code.helpers, *self.backend.written(code.modules)),
            modules=self.backend.imported(code.modules),
            needs_dtype=code.needs_dtype,
            refusals=code.refusals if self.backend.refuses else (),
            holds=most,
        )
        price = cost_of(cost_line(code.code, most, sizes), plan)
        told = self._told(planned, plan, body, holders)
        whole = replace(told, cost=price)
        if not planned.members:
            return whole
        left = iter(code.returns)
        returns = [[next(left) for _ in part] for part in plan.parts]
        results = []
        for one, (own, _) in zip(members, made, strict=True):
            texts = tuple(text for k in one.places for text in returns[k])
            alone = replace(body, returns=texts)
            of_one = self._told(one.planned, plan.at(one.places), alone, own)
            results.append((one.name, of_one))
        return replace(whole, results=tuple(results))

    def _told(
        self,
        planned: PlannedFunction,
        plan: Plan,
        body: Body,
        holders: tuple[Holder, ...],
    ) -> Function:
        """A function with all that its text says beside its statements."""
        function = planned.source
        names = self.visible(function)
        formulas = list(zip(planned.root_names, formulas_of(plan, names), strict=True))
        readable = [pair for pair in formulas if self.is_readable(pair[1])]
        alone = {pair: equations([pair], names) for pair in readable}
        shown = [pair for pair, lines in alone.items() if len(lines) <= 1 + PARTS]
        texts = alone[shown[0]] if len(shown) == 1 else equations(shown, names)
        return Function(
            function.spec.name,
            planned.kind,
            planned.parameters,
            planned.wrt,
            function.node.dims,
            body,
            function.spec.doc,
            (*text_of(function), *self._cited(function, texts)),
            tuple(texts),
            tuple(
                "\n".join(alone[pair]) if pair in shown else "dense"
                for pair in formulas
            )
            * bool(planned.tensors),
            planned.order,
            holders,
        )

    def visible(self, function: ElaboratedFunction) -> dict[Node, str]:
        """The named values that a reader of a function's docstring has seen."""
        own = {x.name for x in function.locals} - self.ambiguous - self.public
        if sum(map(len, self.named.values())) < len(self.graph.names):
            self.named = {}
            for node, name in self.graph.names.items():
                group = "" if name in self.public else name
                self.named.setdefault(group, {})[node] = name
        longer, named = self._longer(function), self.named.get("", {})
        found = {node: name for node, name in named.items() if name not in longer}
        for name in sorted(own):
            found.update(self.named.get(name, {}))
        return found | function.named

    def _longer(self, function: ElaboratedFunction) -> set[str]:
        """Functions that its text does not lead to, and that take more than a line."""
        known = {function.spec.name, *function.mentions}
        others = (f for f in self.spec.functions if f.name not in known)
        return {f.name for f in others if f.where}

    def _cited(self, function: ElaboratedFunction, texts: Sequence[str]) -> list[str]:
        """What functions are that formulas name and the function's text does not."""
        known = {function.spec.name, *function.mentions}
        named = {*re.findall(r"\b[^\W\d]\w*", " ".join(texts))} - known
        return [equation_of(f) for f in self.spec.functions if f.name in named]

    def is_readable(self, node: Node) -> bool:
        """Whether the length of a value's formula in index notation says anything."""
        if any(x.runs for x in steps_of([node])):
            return False
        names = self.graph.names
        waiting, seen = [node], {node}
        while waiting and len(seen) <= READABLE:
            inner = waiting.pop()
            fresh = [c for c in children(inner) if c not in seen]
            waiting += [c for c in dict.fromkeys(fresh) if c not in names]
            seen.update(fresh)
        return len(seen) <= READABLE


def _solver(unknown: ElaboratedUnknown, functions: Sequence[Function]) -> Solver:
    """What finds an unknown by functions of the module."""
    measure = unknown.measure.spec.name
    found = next(f for f in functions if f.name == measure)
    spec, text = unknown.spec, " ".join(unknown.spec.body.value.split())
    told = {
        "equation": f"0 = {text}",
        "fixed_point": f"{spec.name} = {text}",
        "minimises": f"{spec.name} = argmin {text}",
    }
    own = found.parameter(spec.name)
    starts = unknown.start is not None
    doc, each = spec.given.doc, unknown.each
    return Solver(spec.way, own, found, told[spec.way], doc, starts, each)


def _checked(function: Function, checks: Sequence[Check]) -> Function:
    """A function that starts with checks of sizes."""
    lines = ["\n".join(check_lines(check)) for check in checks]
    body, symbols = function.body, (s for c in checks for s in c.symbols)
    body = replace(
        body,
        lines=(*lines, *body.lines),
        dims=tuple(dict.fromkeys((*body.dims, *symbols))),
    )
    choices = tuple(
        replace(choice, function=_checked(choice.function, checks))
        for choice in function.choices
    )
    return replace(function, body=body, choices=choices)


def _chosen(
    function: Function, choices: Sequence[Choice], sizes: Sequence[str]
) -> Function:
    """A function in several forms, whose conditions compare what `sizes` make up."""
    bodies = [function.body, *(choice.function.body for choice in choices)]

    def every(part: Callable[[Body], Sequence[str]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(x for body in bodies for x in part(body)))

    body = replace(
        function.body,
        dims=tuple(dict.fromkeys((*every(lambda body: body.dims), *sizes))),
        positive=every(lambda body: body.positive),
        helpers=every(lambda body: body.helpers),
        modules=every(lambda body: body.modules),
        refusals=every(lambda body: body.refusals),
        needs_dtype=any(body.needs_dtype for body in bodies),
    )
    return replace(function, body=body, choices=tuple(choices))


def _of_choices(
    result: Function,
    name: str,
    choices: Sequence[Choice],
    parameters: tuple[Parameter, ...],
) -> Function:
    """A result of a function in several forms, which has as many."""
    forms = tuple(
        replace(choice, function=dict(choice.function.results)[name])
        for choice in choices
    )
    return replace(result, choices=forms, parameters=parameters)


def _smallest(less: Dim, than: Sequence[Dim]) -> str:
    """The condition that a size is smaller than others."""
    others = ", ".join(map(str, than))
    return f"{less} < {others if len(than) == 1 else f'min({others})'}"


def _names(spec: Spec) -> set[str]:
    """All names of a spec that may be names of its module or hide them."""
    names = {dim for dim, _ in spec.hints} | {d.name for d in spec.definitions}
    for i in (x for given in spec.inputs for x in (given, *given.parts)):
        names |= {i.name, *(s for dim in i.shape for s in dim.symbols)}
    for f in spec.functions:
        names |= {f.name, *(d.name for d in (*f.where, *f.results))}
        names |= {*emitted_names(f), *tuple_names(f)}
    for x in spec.unknowns:
        names |= {x.name, *made_for(x.name, bool(x.parameters))}
    return names | ({spec.problem.name} if spec.problem else set())
