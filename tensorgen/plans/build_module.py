"""From planned functions to the `Module` that one backend renders."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from tensorgen.arrays.cost_line import cost_line, held
from tensorgen.arrays.written import Written, written
from tensorgen.calculus.kinds import VALUE
from tensorgen.emit.backends import Backend
from tensorgen.emit.bound_problems import BoundFunction, Check, ConstrainedProblem
from tensorgen.emit.data import check_lines
from tensorgen.emit.external_imports import external_helpers
from tensorgen.emit.interface import (
    Body,
    Choice,
    Function,
    Holder,
    body_of,
    chosen,
    counted,
    every,
    matrices,
    needed,
    or_undivided,
)
from tensorgen.emit.module import Module
from tensorgen.emit.support import helpers
from tensorgen.ir.dims import Dim
from tensorgen.ir.effort import HURRIED
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, children, entries, inputs_of
from tensorgen.lang import ElaboratedFunction, ElaboratedUnknown
from tensorgen.lower import lower
from tensorgen.lower.defined_functions import DefinedFunctions
from tensorgen.passes.context import Plan
from tensorgen.plans.block_functions import block_functions
from tensorgen.plans.blocked_functions import blocked_functions
from tensorgen.plans.compose_functions import composed
from tensorgen.plans.constrained_plans import (
    PlannedConstrained,
    build_constrained,
    moved,
)
from tensorgen.plans.derivative_objects import Objects
from tensorgen.plans.formulas import Teller, equation_of, results_of, text_of, words_of
from tensorgen.plans.kept_states import cost_of, steps_of
from tensorgen.plans.lowered_functions import Form, Made, of_choices, smallest
from tensorgen.plans.planned import Member, PlannedFunction
from tensorgen.plans.planner import known_sizes
from tensorgen.plans.problem_plans import (
    Lowered,
    PlannedProblem,
    ProblemBuilder,
    size_checks,
)
from tensorgen.plans.row_pieces import RowFunction
from tensorgen.plans.rows_in_blocks import Refused
from tensorgen.plans.solver_plans import solver_of
from tensorgen.plans.step_functions import Stepped, share_steps, user_words
from tensorgen.spec.check import emitted_names, tuple_names
from tensorgen.spec.model import Spec
from tensorgen.spec.names import RESERVED
from tensorgen.spec.unknowns import made_for
from tensorgen.version import __version__

READABLE = 40
"""The most values that a formula which is told may be made of."""
LINES_OF_FORMULAS = 6
"""The most lines of formulas of one result in a docstring."""
LINES_OF_A_PIECE = 2  # where blocks of rows give several totals


class ModuleBuilder:
    """Lowers all functions of a spec for one backend, and their derivative classes."""

    def __init__(self, spec: Spec, graph: Graph, backend: Backend) -> None:
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
        self.defined = DefinedFunctions()
        # What functions are made of in each of their forms, by their names.
        self.made: dict[str, list[Form]] = {}

    def build(
        self,
        plans: Sequence[PlannedFunction],
        problems: Sequence[PlannedProblem] = (),
        constrained: PlannedConstrained | None = None,
        unknowns: Sequence[ElaboratedUnknown] = (),
        rows: Sequence[Sequence[RowFunction | Refused]] = (),
    ) -> Module:
        """Return the module."""
        spec = self.spec
        self.meet(plan.source for plan in plans)
        functions = self.functions(plans)
        bound = tuple(self.problem(problem) for problem in problems)
        own = None
        if constrained is not None:
            own = moved(self.constrained(constrained), constrained, functions)
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
            tuple(solver_of(x, functions) for x in unknowns),
            tuple(external_helpers(spec.externals, self.backend)),
            tuple(blocked_functions(rows, {p.function for p in bound}, functions)),
            any(function.standard_errors for function in spec.functions),
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
        private: set[str] = set()
        found = self._shared(plans, private)
        whole = [x.undivided for x in plans if x.undivided is not None]
        for name, other in self._shared(whole, private, "_undivided").items():
            found[name] = or_undivided(found[name], other)
        return tuple(
            _checked(found[planned.name], size_checks(planned.source))
            for planned in plans
        )

    def _shared(
        self, plans: Sequence[PlannedFunction], private: set[str], form: str = ""
    ) -> dict[str, Function]:
        """Functions by their names; what they call has those and the `form` in its."""
        found = {planned.name: self.function(planned) for planned in plans}
        own: dict[str, dict[str, Made]] = {}
        for planned in plans:
            name, lowered = planned.name, self.lowering(planned)
            row = Made(planned, found[name], self.made[name], lowered)
            if planned.members:
                found[name] = self.told(found[name], row, None)
            else:
                # A piece shares nothing with others: it may run elsewhere.
                group = name if planned.piece else planned.source.spec.name
                own.setdefault(group, {})[name] = row
        fixed = {*self.graph.names.values(), *self.graph.suggestions.values()}
        words = {} if form else user_words(self.graph)
        stepped = share_steps(own, self.backend, private, words)

        def compose(
            formula: str, steps: Stepped, taken: set[str]
        ) -> dict[str, Function]:
            return composed(self, formula, own[formula], fixed, taken, form, steps)

        defined, times = self.defined, Counter[str]()
        for formula, steps in stepped.items():
            if steps.shared:
                made = compose(formula, steps, {*private}).values()
                times.update({x.name for function in made for x in function.calls})
        self.defined = defined
        for formula in own:
            steps = stepped.get(formula, Stepped()).of_several(times)
            found |= compose(formula, steps, private)
        return found

    def function(
        self, planned: PlannedFunction, along: Collection[Dim] = ()
    ) -> Function:
        """Lower one function."""
        effort, doing = self.graph.effort, f"writing {planned.name}"
        with planned.source.within(effort, doing, HURRIED):
            return self.described(planned, self.lowering(planned, along))

    def lowering(
        self, planned: PlannedFunction, along: Collection[Dim] = ()
    ) -> Lowered:
        """How the roots of a function are lowered.

        Others of its formula go `along` some sizes by blocks.
        """

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
                along=along,
                functions=self.defined,
            )
            return written(code, self.backend.alias, self.backend.fuses, names)

        return lowered

    def lowered(self, planned: PlannedFunction, lowered: Lowered) -> Function:
        """A function whose roots are `lowered`, with the checks that it starts with."""
        function = self.described(planned, lowered)
        return _checked(function, size_checks(planned.source))

    def described(self, planned: PlannedFunction, lowered: Lowered) -> Function:
        """Return a function whose roots are `lowered`, and what is made of them."""
        self.made[planned.name] = []
        function = self._form(planned, planned.plan, lowered, self.hints)
        choices = [
            Choice(
                smallest(other.less, other.than),
                self._form(planned, other.plan, lowered, other.hints, other.filled),
            )
            for other in planned.others
        ]
        compared = [d for o in planned.others for d in (o.less, *o.than)]
        found = chosen(function, choices, [s for d in compared for s in d.symbols])
        read = {x.name for plan in planned.plans for x in inputs_of(plan.roots)}
        parameters = needed(found.parameters, read)
        results = tuple(
            (name, of_choices(own, name, found.choices, parameters))
            for name, own in found.results
        )
        return replace(found, parameters=parameters, results=results)

    def _form(
        self,
        planned: PlannedFunction,
        plan: Plan,
        lowered: Lowered,
        hints: Mapping[str, int],
        filled: bool = False,
    ) -> Function:
        members = planned.members or (Member("", planned, (*range(len(plan.parts)),)),)
        made = [
            self.objects.holders(one.planned, plan.at(one.places), hints)
            for one in members
        ]
        holders = tuple(holder for own, _ in made for holder in own)
        if filled:
            (own,) = holders
            holders = (replace(own, filled=True, structure="dense", words=""),)
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
        code = lowered(plan.roots, buffers, fresh)
        self.made[planned.name].append(Form(plan, buffers, fresh, code, hints))
        inside = (s for holder in holders for s in holder.sizes)
        sizes = {**self.hints, **hints}
        most = held(code.code, sizes) + entries(plan.formulas[-1:] * filled)
        body = replace(
            body_of(code, self.backend),
            dims=tuple(dict.fromkeys((*code.dims, *inside))),
            positive=tuple(dict.fromkeys(s for own in holders for s in own.positive)),
            holds=most,
        )
        price = cost_of(cost_line(code.code, most, sizes), plan)
        calls = block_functions([code.code], self.backend)
        whole = replace(self._made(planned, body, holders), cost=price, calls=calls)
        if not planned.members:
            return whole
        left = iter(code.returns)
        returns = [[next(left) for _ in part] for part in plan.parts]
        results = []
        for one, (objects, _) in zip(members, made, strict=True):
            texts = tuple(text for k in one.places for text in returns[k])
            alone = replace(body, returns=texts)
            results.append((one.name, self._made(one.planned, alone, objects)))
        return replace(whole, results=tuple(results))

    @staticmethod
    def _made(
        planned: PlannedFunction, body: Body, holders: tuple[Holder, ...]
    ) -> Function:
        """A function with what is said of it beside its statements, formulas apart."""
        function = planned.source
        return Function(
            function.spec.name,
            planned.kind,
            planned.parameters,
            planned.wrt,
            function.node.dims,
            body,
            function.spec.doc,
            text_of(function),
            order=planned.order,
            holders=holders,
            over=function.over,
        )

    def told(self, function: Function, made: Made, lead: Made | None) -> Function:
        """A function with formulas of what it returns, unless others tell them.

        It may be made of pieces of another one, the `lead` of its formula.
        """
        planned, source = made.planned, made.planned.source
        own = planned.kind.beside or (planned.kind is VALUE and not source.results)
        if own:  # its parts are functions too; the text of the function is its value
            return function
        names = self.visible(source)
        teller = Teller(
            names,
            self._words(function, made, lead, names),
            "[" in " ".join(text_of(source)),
            LINES_OF_A_PIECE if planned.piece else LINES_OF_FORMULAS,
        )
        told = [
            teller.equations(result)
            for result in results_of(function, made, lead, names)
        ]
        texts = [line for row in told for line in row or ()]
        return replace(
            function,
            formula=(*function.formula, *self._cited(source, texts)),
            derivatives=tuple(texts),
            more=None in told and not planned.piece,
        )

    def _words(
        self,
        function: Function,
        made: Made,
        lead: Made | None,
        names: Mapping[Node, str],
    ) -> list[dict[Node, str]]:
        """Values by what code calls them: those that are an idea alone, then all."""
        found = words_of(function, made, lead)
        taken = {*names.values()}
        found = {
            x: word for x, word in found.items() if x not in names and word not in taken
        }
        graph = self.graph
        called = {**graph.derived, **graph.suggestions, **graph.names}
        return [{x: word for x, word in found.items() if called.get(x) == word}, found]

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


def _checked(function: Function, checks: Sequence[Check]) -> Function:
    lines = tuple(line for check in checks for line in check_lines(check))
    compared = tuple(dict.fromkeys(s for check in checks for s in check.symbols))
    return replace(function, refused=lines, compared=compared)


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
    return names | ({spec.problem.name, *spec.problem.made} if spec.problem else set())
