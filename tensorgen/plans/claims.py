"""What the functions of a module are said to compute, for the check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tensorgen.check import Claim, Report, check, domain_of, run
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound_problems import ConstrainedProblem
from tensorgen.emit.interface import Body, Function
from tensorgen.emit.module import Module
from tensorgen.errors import Remark
from tensorgen.ir.nodes import topological
from tensorgen.lang import Program
from tensorgen.passes.context import Plan
from tensorgen.plans.constrained_plans import PlannedConstrained, computed_limits
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.problem_plans import PlannedProblem
from tensorgen.structure.stored import as_compressed


def held(
    program: Program,
    plans: Sequence[PlannedFunction],
    problems: Sequence[PlannedProblem],
    constrained: PlannedConstrained | None,
    module: Module,
    backend: Backend,
    texts: Mapping[str, str],
    note: Callable[[Remark], None],
) -> Report:
    """Hold a module, the last of some texts, against calculus, and run it.

    What was not checked, `note` hears of. Raises `InternalError` if a function computes
    something else, or raises.
    """
    claimed = [*claims(program, plans, problems, constrained, module)]
    report = check(claimed, module.classes, backend.alias)
    for remark in report.remarks:
        note(remark)
    # For other backends, statements are the same.
    if claimed and backend.name == "numpy":
        stated = topological({x: None for claim in claimed for x in claim.stated})
        every = dict(program.inputs)
        for planned in plans:
            every |= planned.handed
        run(texts, module, every, stated, domain_of(claimed).apart())
    return report


def claims(
    program: Program,
    plans: Sequence[PlannedFunction],
    problems: Sequence[PlannedProblem],
    constrained: PlannedConstrained | None,
    module: Module,
) -> Iterator[Claim]:
    """What the functions of a module, and the methods of its problems, compute."""

    def claim(
        name: str,
        planned: PlannedFunction,
        plan: Plan,
        body: Body,
        own: Function | None = None,
    ) -> Claim:
        inputs = {**program.inputs, **planned.handed}
        parameters = planned.parameters
        checks = [check.size for check in planned.source.checks]
        stated, tensors = planned.stated, as_compressed(plan.tensors)
        at, holders = planned.source.spec.name_text.span(), own.holders if own else ()
        told = body, parameters, holders, stated, tensors, inputs, at, checks
        private = own.calls if own else ()
        rest = planned.composed, planned.batch
        return Claim(name, *told, (), (), private, *rest)

    def forms(
        name: str, planned: PlannedFunction, function: Function
    ) -> Iterator[Claim]:
        yield claim(name, planned, planned.plan, function.body, function)
        for form, choice in zip(planned.others, function.choices, strict=True):
            other, told = choice.function, f"{name}, where {choice.condition},"
            if not form.filled:  # which is the same, as a dense array
                yield claim(told, planned, form.plan, other.body, other)

    for planned, function in zip(plans, module.functions, strict=True):
        yield from forms(planned.name, planned, function)
        whole = planned.undivided, function.undivided
        if whole[0] is not None and whole[1] is not None:
            told = f"{planned.name}, where parts cancel,"
            yield claim(told, whole[0], whole[0].plan, whole[1].body, whole[1])
    every = [*problems, *([] if constrained is None else [constrained.problem])]
    for problem, bound in zip(every, module.bound, strict=True):
        before = [*bound.before]
        others = [x for planned in problem.methods.values() for x in planned.stated]
        for kind, planned in problem.methods.items():
            name = f"{kind.name} of the problem {bound.function}"
            part = bound.method(kind)
            if part is not None and part.function is not None:
                for found in forms(name, planned, part.function):
                    yield replace(found, before=before, others=others)
            elif part is not None:
                found = claim(name, planned, planned.plan, part.body)
                yield replace(found, before=before, others=others)
    if constrained is not None and module.constrained is not None:
        yield from _limits(claim, constrained, module.constrained)


def _limits(
    claim: Callable[..., Claim],
    planned: PlannedConstrained,
    constrained: ConstrainedProblem,
) -> Iterator[Claim]:
    value, bound = planned.problem.value, constrained.bound
    for limits in constrained.limits:
        nodes = computed_limits(planned.limits[limits.name])
        found = claim(f"{limits.name} of the problem", value, value.plan, limits.body)
        before = [part.body for part in bound.data]
        tensors = [None] * len(nodes)
        yield replace(found, stated=nodes, tensors=tensors, before=before)
