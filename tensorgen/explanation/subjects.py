"""The public functions of a spec, compiled, with all that is told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tensorgen.arrays.cost_line import held
from tensorgen.arrays.work import arithmetic
from tensorgen.arrays.written import Written
from tensorgen.calculus.kinds import Kind
from tensorgen.calculus.requests import MODES, Mode
from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.interface import Function
from tensorgen.emit.launches import Count, launches_of
from tensorgen.errors import Source, SpecError, suggest
from tensorgen.explanation.sum_ranges import Equation, equations
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import HURRIED
from tensorgen.ir.graph import Graph
from tensorgen.ir.laws import Law
from tensorgen.ir.nodes import Node
from tensorgen.lang import Program, program_of, requested
from tensorgen.operators.helpers.helper_table import HELPERS
from tensorgen.operators.matrix_notation import matrix_form
from tensorgen.operators.matrix_terms import Expression
from tensorgen.operators.matrix_text import written
from tensorgen.passes.context import Plan
from tensorgen.passes.cost import CostModel
from tensorgen.pipeline import compile_spec
from tensorgen.plans.build_module import ModuleBuilder
from tensorgen.plans.formulas import forms_of
from tensorgen.plans.planned import PlannedFunction
from tensorgen.plans.planner import Planner, known_sizes
from tensorgen.spec.externals import check_backends
from tensorgen.spec.model import Spec
from tensorgen.spec.read import read_spec

Step = tuple[Law, Plan, Plan]
"""A pass, the plan before it and that after it."""


SHORTER = 0.75
"""How much shorter what is computed must be than its formula, to be shown for it."""


class UnknownFunctionError(Exception):
    """There is no function of that name."""


@dataclass(frozen=True)
class Form:
    """One way in which a function is computed, and when it is taken."""

    condition: str
    function: Function
    written: Written
    plan: Plan


@dataclass(frozen=True)
class Subject:
    """A public function, and what each stage says of it.

    `names` are the values that its formulas call by name, `modes` the modelled flops of
    each order of the chain rule, None where there is no plan in that order. `steps`
    has what each pass made of each plan, in the order of the passes. `others` are
    further forms of formulas: what is computed.
    """

    planned: PlannedFunction
    forms: tuple[Form, ...]
    names: Mapping[Node, str]
    formulas: tuple[tuple[str, Node], ...]
    hints: Mapping[str, int]
    modes: tuple[tuple[str, float | None], ...]
    steps: tuple[Step, ...]
    unreadable: tuple[str, ...] = ()
    others: Mapping[Node, Sequence[Node]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name in Python."""
        return self.planned.name

    @property
    def function(self) -> Function:
        """What is emitted of it."""
        return self.forms[0].function

    @cached_property
    def equations(self) -> list[Equation]:
        """Its formulas, and those of the named values that these mention."""
        return equations(self.formulas, self.names)

    @cached_property
    def in_matrices(self) -> dict[str, Expression]:
        """Formulas in matrix notation by name, of those that have one."""
        parts = {name for name, _ in self.formulas} | {*self.names.values()}
        found = {}
        for told in self.equations:
            nodes = [told.node, *self.others.get(told.node, ())]
            forms = [matrix_form(x, self.names, [told.name], True) for x in nodes]
            known = [form for form in forms if form is not None]
            if told.name in parts and known:
                lengths = [len(written(form)[0]) for form in known]
                is_clearer = min(lengths) < SHORTER * lengths[0]
                best = lengths.index(min(lengths)) if is_clearer else 0
                found[told.name] = known[best]
        return found

    def costs(self, form: Form) -> tuple[Dim, Dim]:
        """The flops of a form, and the most numbers that it holds at a time."""
        code = form.written.code
        return arithmetic(code), held(code, self.hints)


@dataclass(frozen=True)
class Explained:
    """A spec, and those of its functions that were asked for.

    On a device, functions of its module launch what `launches` says, by their names.
    """

    spec: Spec
    backend: str
    mode: str
    subjects: tuple[Subject, ...]
    program: Program
    launches: Mapping[str, Count | None] = field(default_factory=dict)

    @property
    def in_turn(self) -> Iterator[tuple[Subject, bool]]:
        """Each subject, and whether it is the first one of its function."""
        said: set[str] = set()
        for subject in self.subjects:
            yield subject, subject.function.function not in said
            said.add(subject.function.function)


def explained(
    source: Source,
    asked: str | None = None,
    backend: str = "numpy",
    mode: str = MODES[0],
    watch: Callable[[str], None] | None = None,
    allow_external: bool = False,
    in_all_modes: bool = True,
) -> Explained:
    """Compile all functions of a spec, or those `asked` for.

    These are all functions of one function of the spec, or one that is emitted; what
    they cost in other modes is told if they are to be planned `in_all_modes`. Raises
    `UnknownFunctionError`, and `SpecError` with every fault of the spec.
    """
    spec = read_spec(source, allow_external)
    check_backends(spec.externals, [backend])
    graph, program = program_of(spec, watch)
    modes = MODES if in_all_modes else (_mode(mode),)
    work = _Work(spec, graph, program, backend, _mode(mode), modes)
    subjects = tuple(work.subjects(asked))
    launches: dict[str, Count | None] = {}
    if BACKENDS[backend].fuses:
        # As in the module, whose functions share what they compute.
        given = [backend], mode, False, watch, False
        made = compile_spec(
            source, *given, support="inline", allow_external=allow_external
        )
        launches = launches_of("".join(made.values()), HELPERS)
    return Explained(spec, backend, mode, subjects, program, launches)


def _mode(name: str) -> Mode:
    return next(mode for mode in MODES if mode == name)


class _Work:
    """Takes functions through the stages, in all modes."""

    def __init__(
        self,
        spec: Spec,
        graph: Graph,
        program: Program,
        backend: str,
        mode: Mode,
        modes: Sequence[Mode],
    ) -> None:
        self.spec = spec
        self.modes = modes
        self.graph = graph
        self.program = program
        self.mode = mode
        self.builder = ModuleBuilder(spec, graph, BACKENDS[backend])
        self.builder.meet(program.generated)
        self.hints = known_sizes(spec)

    def subjects(self, asked: str | None) -> Iterator[Subject]:
        """The functions that are asked for."""
        every = [(f, *one) for f in self.program.generated for one in requested(f)]
        called = [
            (f.spec.name, kind.public_name(f.spec.name, o)) for f, kind, o in every
        ]
        if asked is not None and asked not in {x for pair in called for x in pair}:
            known = dict.fromkeys(x for pair in called for x in pair)
            hint = suggest(asked, known) or f"known: {', '.join(known)}"
            raise UnknownFunctionError(f"there is no function '{asked}'; {hint}")
        planners: dict[str, Planner] = {}
        wanted = []
        for (_, kind, order), (own, public) in zip(every, called, strict=True):
            # A function of the spec stands for all that is emitted for it.
            if asked is None or asked in (own, public):
                if own not in planners:
                    planners[own] = self._planner(own, self.mode)
                planner = planners[own]
                planned, steps = self._planned(planner, kind, order)
                wanted.append((planner, kind, order, planned, steps))
        # Other modes come last: nodes made for them have no say in the functions' text.
        for planner, kind, order, planned, steps in wanted:
            yield self._subject(planner, kind, order, planned, steps)

    def _planner(self, name: str, mode: Mode) -> Planner:
        function = next(f for f in self.program.generated if f.spec.name == name)
        return Planner(self.graph, self.spec, self.program, function, mode)

    def _planned(
        self, planner: Planner, kind: Kind, order: tuple[str, ...]
    ) -> tuple[PlannedFunction, list[Step]]:
        """The plan of one function, and what each pass made of it."""
        steps: list[Step] = []
        planner.told = lambda law, before, after: steps.append((law, before, after))
        doing = kind.public_name(planner.function.spec.name, order)

        def run() -> PlannedFunction:
            steps.clear()
            return planner.planned(kind, order)

        return planner.in_time(doing, run), steps

    def _subject(
        self,
        planner: Planner,
        kind: Kind,
        order: tuple[str, ...],
        planned: PlannedFunction,
        steps: Sequence[Step],
    ) -> Subject:
        forms = tuple(self._forms(planned))
        names = self.builder.visible(planned.source)
        found = list(forms_of(planned.plan, names))
        pairs = [
            (name, first)
            for name, (first, *_) in zip(planned.root_names, found, strict=True)
        ]
        readable = [pair for pair in pairs if self.builder.is_readable(pair[1])]
        others = tuple(name for name, node in pairs if (name, node) not in readable)
        modes = tuple(self._modes(planned, kind, order))
        return Subject(
            *(planned, forms, names, tuple(readable), self.hints, modes),
            *(tuple(steps), others, {first: own for first, *own in found}),
        )

    def _forms(self, planned: PlannedFunction) -> Iterator[Form]:
        recorded: list[Written] = []
        lower = self.builder.lowering(planned)

        def lowered(
            roots: Sequence[Node], names: Sequence[str], fresh: Sequence[bool]
        ) -> Written:
            recorded.append(lower(roots, names, fresh))
            return recorded[-1]

        effort, doing = self.graph.effort, f"writing {planned.name}"
        with planned.source.within(effort, doing, HURRIED):
            function = self.builder.lowered(planned, lowered)
        conditions = ("", *(choice.condition for choice in function.choices))
        for row in zip(
            conditions, function.forms, recorded, planned.plans, strict=True
        ):
            yield Form(*row)

    def _modes(
        self, planned: PlannedFunction, kind: Kind, order: tuple[str, ...]
    ) -> Iterator[tuple[str, float | None]]:
        model = CostModel(self.hints)
        for mode in self.modes:
            if mode == self.mode:
                yield mode, model.total_flops(planned.plan.roots)
                continue
            try:
                planner = self._planner(planned.source.spec.name, mode)
                other, _ = self._planned(planner, kind, order)
                yield mode, model.total_flops(other.plan.roots)
            except SpecError:  # as where a sparse matrix would be filled in
                yield mode, None
