"""From an elaborated function to the plans of all that is emitted for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TypeVar

from tensorgen.calculus.kinds import ROWS, VALUE, Kind
from tensorgen.calculus.metrics import metrics
from tensorgen.calculus.requests import Mode, Request
from tensorgen.check import Batch
from tensorgen.emit.interface import Parameter, counted
from tensorgen.errors import fail
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.laws import Law
from tensorgen.ir.nodes import Node, topological
from tensorgen.lang import ElaboratedFunction, Program, requested
from tensorgen.operators.called_values import call_ideas
from tensorgen.operators.matrices.capacitance import is_capacitance
from tensorgen.operators.recurrences.folds import folded
from tensorgen.operators.recurrences.runs import in_runs
from tensorgen.operators.solved_arrays import as_given
from tensorgen.passes.choose_plan import cheapest
from tensorgen.passes.context import Context, Plan
from tensorgen.passes.cost import CostModel
from tensorgen.passes.matrices.join_entries import filled_in
from tensorgen.passes.optimise import candidates
from tensorgen.passes.steps.at_ends import at_ends
from tensorgen.plans.batches import batch_of, function_over, over
from tensorgen.plans.invert_low_rank import Parts, invert_low_rank
from tensorgen.plans.parameters import Parameters
from tensorgen.plans.planned import OtherPlan, PlannedFunction
from tensorgen.plans.shares import joined, joined_ways, members_of, shares_of
from tensorgen.prices.thresholds import ENTRIES_OF_A_ROW
from tensorgen.spec.model import Spec
from tensorgen.structure.alternatives import Alternative, alternatives
from tensorgen.structure.compress import compress
from tensorgen.structure.read_blocks import read_blocks
from tensorgen.structure.stored import Compressed, as_compressed
from tensorgen.structure.system_structure import system

T = TypeVar("T")


class Planner:
    """Plans every public function of one function of the spec."""

    unpromised: tuple[tuple[str, bool], ...] = ()

    def __init__(
        self,
        graph: Graph,
        spec: Spec,
        program: Program,
        function: ElaboratedFunction,
        mode: Mode,
        result: str = "",
        node: Node | None = None,
        by_parts: bool = True,
    ) -> None:
        """Plan a function, or one `result` of several as `node`.

        Matrices are inverted `by_parts` where that pays.
        """
        self.graph, self.function = graph, function
        by_parts = by_parts and function.batch is None
        self.mode: Mode = mode
        self.told: Callable[[Law, Plan, Plan], None] | None = None
        self.result = result
        every = function.results or (function,)
        nodes = [node] if node else _keep_few_states(graph, [x.node for x in every])
        several = zip(function.results, function.spec.results, nodes, strict=False)
        self.results: list[Planner] = [
            Planner(graph, spec, program, own, mode, given.name, found, by_parts)
            for own, given, found in several
        ]
        self._planned: dict[tuple[Kind, tuple[str, ...]], PlannedFunction] = {}
        self.hints = known_sizes(spec)
        self.wrt = tuple(wrt.name for wrt in function.spec.wrt)
        self.inputs = program.inputs
        self.parameters = Parameters(program, function.spec)
        stated = metrics(graph, self.inputs, function.metrics)
        whole = [nodes[0], *(own.inverse for own in stated.values())]
        node, *inverses = self._by_parts(whole) if by_parts else whole
        pairs = zip(stated.items(), inverses, strict=True)
        self._again = partial(Planner, graph, spec, program, function, mode)
        variables = tuple(self.inputs[name] for name in self.wrt)
        call_ideas(graph, node, self._data())
        self.request: Request = Request(
            node,
            variables,
            {
                x: graph.input("d" + n, x.dims)
                for n, x in zip(self.wrt, variables, strict=True)
            },
            graph.input("_".join(["ct", *[result] * bool(result)]), node.dims),
            {self.inputs[w.name]: w.subspace for w in function.spec.wrt if w.subspace},
            results=tuple(own.request for own in self.results),
            metrics={x: replace(own, inverse=y) for (x, own), y in pairs},
            metric=function.metrics.get(function.spec.name),
        )
        # As the user wrote it, for the check to hold the code against.
        self.written: Request = replace(
            self.request,
            output=function.node,
            local=False,
            metrics=stated,
            results=tuple(own.written for own in self.results),
        )

    def _by_parts(self, nodes: Sequence[Node]) -> list[Node]:
        """What matrices of low rank make of nodes, and which of them are unpromised."""
        missed: dict[Node, Parts] = {}
        found = invert_low_rank(self.context(), nodes, missed)
        called = self.graph.names
        kinds = {called.get(x, "a matrix"): m.is_diagonal for x, m in missed.items()}
        self.unpromised = tuple(kinds.items())
        return found

    def _data(self) -> set[Node]:
        """What is given to a function that is differentiated by something else."""
        given = {x for name, x in self.inputs.items() if name not in self.wrt}
        return given if self.wrt else set()

    def plans(self) -> list[PlannedFunction]:
        """Return the plans, in the order in which they are emitted."""
        found = []
        for kind, order in requested(self.function):
            doing = kind.public_name(self.function.spec.name, order)
            planned = self.in_time(doing, partial(self.planned, kind, order))
            roots = (root for plan in planned.plans for root in plan.roots)
            if any(map(is_capacitance, topological(roots))):
                run = partial(self._undivided.planned, kind, order)
                planned = replace(planned, undivided=self.in_time(doing, run))
            found.append(planned)
        return found

    def in_time(self, what: str, run: Callable[[], T]) -> T:
        """Return what planning gives, in a hurry where it would take too many steps."""
        name, hint = self.function.spec.name_text, self.function.too_large
        return self.graph.effort.planned(name, f"planning {what}", run, hint)

    def planned(self, kind: Kind, order: tuple[str, ...] = ()) -> PlannedFunction:
        """Return the plan of one public function, made once."""
        if (kind, order) not in self._planned:
            self._planned[kind, order] = self._plan(kind, order)
        return self._planned[kind, order]

    def context(self) -> Context:
        """Return what the passes may ask; all plans of a function remember together."""
        free = self.mode == "cross-country"
        return Context(
            self.graph,
            self._cost,
            cross_country=free,
            entries=self._entries,
            system=system,
            told=self.told,
        )

    @cached_property
    def _undivided(self) -> Planner:
        """Plans the same of whole matrices, for where their parts cancel."""
        return self._again(by_parts=False)

    @cached_property
    def _cost(self) -> CostModel:
        return CostModel(self.hints, self._given)

    @property
    def _given(self) -> frozenset[str]:
        """The dims that are the length of an axis of an argument, or counted."""
        dims = (dim for shape in self._shapes for dim in shape)
        alone = (dim for dim in dims if dim.degree == 1)
        known = {x for d in alone for x in d.symbols if d == Dim.symbol(x)}
        own = (self.parameters.of(x, VALUE) for x in self.source.arguments)
        return frozenset(known.union(counted(own), self.function.sizes))

    @cached_property
    def batch(self) -> Batch | None:
        """The samples of its arguments, if they have any."""
        size = self.function.batch
        if size is None:
            return None
        given = [x for x in self.function.arguments if x.batch is not None]
        samples = [self.inputs[x.name] for x in given]
        return batch_of(self.graph, size, samples, self.request)

    @cached_property
    def source(self) -> ElaboratedFunction:
        """The function as it is in code: of all samples, where it has a batch."""
        return function_over(self.graph, self.function, self.inputs)

    def _over_batch(self, nodes: Sequence[Node]) -> list[Node]:
        """What is stated of one sample, for all samples."""
        if self.batch is None:
            return [*nodes]
        return over(self.graph, self.batch, nodes, self.function.spec.name_text)

    @property
    def _shapes(self) -> list[tuple[Dim, ...]]:
        """The shapes of the arguments, those of sparse matrices too."""
        given = self.source.arguments
        whole = dict.fromkeys(x.of for x in given if x.of is not None)
        return [x.shape for x in (*whole, *given)]

    def _plan(self, kind: Kind, order: tuple[str, ...]) -> PlannedFunction:
        shares = shares_of(self, kind, order)
        rows = [x.planner.ways(x.kind, order, x.planner.request)[1] for x in shares]
        ways = joined_ways(shares)
        stated = ways
        owners = [share.planner for share in shares]
        if kind.is_higher or any(
            p.written.output is not p.request.output
            or p.written.metrics != p.request.metrics
            for p in owners
        ):
            stated = joined_ways(shares, written=True)
        ways = [self._over_batch(way) for way in ways]
        first = sum(share.lead for share in shares)
        tensors = range(first, len(ways[0])) if kind.holder else range(0)
        if kind.holder and kind.beside:
            own = self.planned(kind.beside[-1])
            beside = self._led(kind, ways[0][:first], own)
            plan = beside(own.plan)
            others = [
                replace(other, plan=plan if other.filled else beside(other.plan))
                for other in own.others
            ]
        else:
            blocks = [own for share in shares for own in share.exchanges()]
            compressed = {
                k: partial(compress, symmetries=own)
                for k, own in zip(tensors, blocks, strict=False)
            }
            readings = {
                k: partial(read_blocks, symmetries=own)
                for k, own in zip(tensors, blocks, strict=False)
            }
            context = replace(self.context(), compressed=compressed, readings=readings)
            hurried = self.graph.effort.hurried
            plans = candidates(context, ways[:1] if hurried else ways)
            plan = cheapest(context, plans)
            # A sparse matrix holds little at all sizes.
            flat = next((p for p in plans if p.derived and not self._entries), None)
            others = self._others(context, flat, plan) if flat else []
        if kind is VALUE:
            self.graph.stated |= dict.fromkeys(topological(plan.roots))
        public = kind.public_name(self.function.spec.name, order)
        filled = self.check(public, plan.roots)
        planned = PlannedFunction(
            self.source,
            kind,
            self.wrt,
            tuple(self._parameters(kind)),
            plan,
            tuple(joined(shares, rows)),
            tensors,
            order,
            tuple(stated[0]),
            tuple(others),
            self.unpromised if kind is VALUE else (),
            filled=filled,
            batch=self.batch,
        )
        return replace(planned, members=members_of(shares, planned))

    def _parameters(self, kind: Kind) -> list[Parameter]:
        found = [self.parameters.of(x, kind) for x in self.source.arguments]
        if kind.argument == "direction":
            shapes = {x.name: x.shape for x in self.source.arguments}
            found += [
                Parameter("d" + n, shapes[n], f"direction in {n}", role="direction")
                for n in self.wrt
            ]
        elif kind.argument:
            name = self.function.spec.name
            for own in self.results or (self,):
                of = ".".join([name, *[own.result] * bool(own.result)])
                ct = "_".join(["ct", *[own.result] * bool(own.result)])
                dims = own.source.node.dims
                found.append(self.parameters.cotangent(ct, dims, of))
        return [*found, *(Parameter(s, (), role="size") for s in self.function.sizes)]

    @property
    def _entries(self) -> frozenset[str]:
        """The sizes that sparse matrices bring along."""
        parts = (x for x in self.function.arguments if x.of is not None)
        return frozenset(str(dim) for x in parts for dim in x.shape)

    def check(self, name: str, roots: Sequence[Node]) -> bool:
        """Whether a sparse matrix is filled in; a `SpecError` if for less than that."""
        filled = [*filled_in(self.context(), roots)]
        for what in (told for told, is_small in filled if not is_small):
            hint = "pairs of entries are joined; two matrices multiply vectors: "
            hint += "A.T @ (B @ x)"
            if self.mode != "cross-country":
                hint = "the mode sets this order; --mode cross-country finds others"
            place = self.function.spec.name_text.span()
            fail(f"'{name}' would {what}", place, hint=hint)
        return bool(filled)

    def _others(self, context: Context, flat: Plan, chosen: Plan) -> list[OtherPlan]:
        """The plans for sizes at which what a plan holds is much too much."""
        found = []
        shapes = self._shapes
        run = partial(
            alternatives,
            context,
            flat,
            as_compressed(chosen.tensors),
            self.hints,
            shapes,
        )
        none: list[Alternative] = []
        for form in self.graph.effort.attempt(run, none):
            if _is_filled(form.tensors, as_compressed(chosen.tensors)):
                other = OtherPlan(chosen, form.less, form.than, self.hints, True)
                found.append(other)
                continue
            assumed = replace(self.context(), cost=CostModel(form.hints, self._given))
            kept = replace(flat, tensors=form.tensors)
            plan = self._beside([()], kept, assumed)
            found.append(OtherPlan(plan, form.less, form.than, form.hints))
        return found

    def _led(
        self, kind: Kind, roots: Sequence[Node], own: PlannedFunction
    ) -> Callable[[Plan], Plan]:
        """What plans the roots that lead a kind beside the tensors of its own kind."""
        alone = [self.planned(x) for x in ROWS if x.plain_parts == kind.lead]
        known = [node for x in (*alone, own) for node in x.plan.roots]
        leads = _leads(roots, alone)
        return partial(self._beside, leads, context=self.context(), known=known)

    def _beside(
        self,
        leads: Sequence[Sequence[Node]],
        plan: Plan,
        context: Context,
        known: Sequence[Node] = (),
    ) -> Plan:
        """The plan that computes other values, in one of some ways, beside the tensors
        of one, near what is `known` to other functions.

        The tensors stay what they are there, so that one function has one Hessian.
        """
        arrays = held(plan)
        roots = [node for part in arrays for node in part]
        ways = dict.fromkeys((*lead, *roots) for lead in leads)
        joint = cheapest(context, candidates(context, [*ways]), topological(known))
        nodes, count = iter(joint.roots), len(leads[0])
        parts: list[tuple[Node, ...]] = [(next(nodes),) for _ in range(count)]
        parts += [tuple(next(nodes) for _ in part) for part in arrays]
        return Plan(
            tuple(parts),
            (*(None for _ in range(count)), *plan.tensors),
            (*joint.formulas[:count], *plan.formulas),
        )

    def ways(
        self, kind: Kind, order: tuple[str, ...], request: Request
    ) -> tuple[Sequence[Sequence[Node]], tuple[str, ...]]:
        """The equivalent lists of roots of a kind, and what to call the roots."""
        inputs = tuple(self.inputs[name] for name in order)
        request = replace(request, order=inputs)
        lead: list[Node] = []
        names: list[str] = []
        for part in kind.parts:
            ways = part.ways(self.graph, request, self.mode)
            called = self.result or self.function.spec.name
            root = part.root.format(f=called, k=len(order))
            if self.result and part is not VALUE:
                root += f"_{self.result}"
            named = len(self.wrt) > 1 or part.argument == "cotangent"
            several = named and part.by in ("each", "pair", "all")
            names += [
                "_".join([root, *block * several])
                for block in part.blocks(self.wrt, order)
            ]
            found = [lead + way for way in ways]
            lead = found[0]
        return [as_given(self.graph, way) for way in found], tuple(names)


def _leads(
    roots: Sequence[Node], alone: Iterable[PlannedFunction]
) -> list[Sequence[Node]]:
    """Roots as calculus states them, and as the functions that return them alone do."""
    found: dict[Node, Node] = {}
    for own in alone:
        found |= zip(own.stated, own.plan.formulas, strict=True)
    return [roots, [found.get(root, root) for root in roots]]


def known_sizes(spec: Spec) -> dict[str, int]:
    """The sizes that a spec hints at, and what they let expect of sparse matrices."""
    hints = {name: size for name, size in spec.hints if size is not None}
    dims = CostModel(hints)
    for matrix in (given for given in spec.inputs if given.sparse):
        sides = {
            "row": dims.value(matrix.shape[0]),
            "column": dims.value(matrix.shape[1]),
        }
        short, long = sorted(sides.values())
        count = long * min(ENTRIES_OF_A_ROW, max(1, short // ENTRIES_OF_A_ROW))
        hints[matrix.part("entries")] = count
        for one, side in sides.items():
            hints[matrix.part(f"{one}_pairs")] = count**2 // max(side, 1)
    return hints


def held(plan: Plan) -> list[tuple[Node, ...]]:
    """What is held of each root: the arrays of a tensor, or the root as stated."""
    return [
        plan.formulas[k : k + 1] if tensor is None else tensor.arrays
        for k, tensor in enumerate(plan.tensors)
    ]


def _is_filled(
    tensors: Sequence[Compressed | None], chosen: Sequence[Compressed | None]
) -> bool:
    """Whether a dense tensor, the only one, is one that is chosen otherwise."""
    if len(tensors) != 1 or chosen[0] is None or chosen[0].is_dense:
        return False
    return tensors[0] is not None and tensors[0].is_dense


def _keep_few_states(graph: Graph, roots: Sequence[Node]) -> list[Node]:
    """What reads all states of a recurrence with a checkpoint reads few.

    This comes before derivatives are taken, which are then those of recurrences over
    runs of steps. It ends: no such recurrence has a checkpoint.
    """
    return in_runs(graph, at_ends(graph, folded(graph, at_ends(graph, roots))))
