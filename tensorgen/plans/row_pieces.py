"""Functions in pieces: what blocks of rows give, and what is made of their totals.

A function whose rows come in blocks (`passes/cut_rows`) is emitted in pieces beside
itself. Of each round there is a `partial`, a function of one block whose totals are
joined, and before it a `start` if something is computed once for all blocks; what is
left to do with the totals is the `finish`, what stays with its rows `rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tensorgen import check
from tensorgen.calculus.kinds import VALUE, Kind, camel, result_name
from tensorgen.emit import function_preamble
from tensorgen.emit.interface import Parameter, every
from tensorgen.errors import Text
from tensorgen.ir.nodes import Input, Node, inputs_of, topological
from tensorgen.ir.rebuild import substituted
from tensorgen.lang import ElaboratedFunction
from tensorgen.lower.value_names import Names
from tensorgen.operators.words import describe
from tensorgen.passes.cut_rows import Held, RowCut
from tensorgen.passes.matrices.mirror_products import about_means
from tensorgen.passes.optimise import optimise
from tensorgen.passes.rates import sizes_in
from tensorgen.passes.row_places import RowAxis, RowsRefused
from tensorgen.plans.hessian_rows import stays_with_rows
from tensorgen.plans.planned import Member, PlannedFunction
from tensorgen.plans.planner import Planner
from tensorgen.spec.model import Definition


@dataclass(frozen=True)
class Round:
    """A round over the blocks: what starts it, what a block gives, how that is joined.

    `steps` are the functions of two by which each total is joined, in order.
    """

    start: PlannedFunction | None
    partial: PlannedFunction
    steps: tuple[str, ...]


@dataclass(frozen=True)
class RowFunction:
    """A function in pieces: its rounds, and what comes after the last.

    `counts` are the arguments that are numbers of all rows, with the size of each, and
    `first` is the argument that is the number of a block's first row. A Hessian is
    `apart` where a block has all of it that its rows are multiplied by.
    """

    whole: PlannedFunction
    axis: RowAxis
    rounds: tuple[Round, ...]
    finish: PlannedFunction | None
    rows: PlannedFunction | None
    counts: Mapping[str, str]
    first: str
    apart: bool = False

    @property
    def stays(self) -> bool:
        """Whether some of it stays with rows, or is of variables that have rows."""
        own = (p for p in self.whole.parameters if p.name in self.whole.wrt)
        shards = any(self.axis.has(dim) for p in own for dim in p.dims)
        return shards or self.finish is None or self.rows is not None

    @property
    def pieces(self) -> list[PlannedFunction]:
        """All functions that are emitted for it, in the order in which they run."""
        found = [x for own in self.rounds for x in (own.start, own.partial)]
        every = (*found, self.finish, self.rows)
        return [x for x in every if x is not None and x is not self.whole]


class RowPlanner:
    """Cuts one function into pieces, and plans each of them."""

    def __init__(
        self,
        planner: Planner,
        planned: PlannedFunction,
        axis: RowAxis,
        hidden: bool = False,
    ) -> None:
        """Plan a function, which is emitted itself unless it is `hidden`."""
        self.planner, self.planned, self.axis = planner, planned, axis
        self.hidden = hidden
        self.graph = planner.graph
        taken = {p.name for p in every(planned.parameters)}
        taken |= {
            s for p in every(planned.parameters) for d in p.dims for s in d.symbols
        }
        self.names = Names(taken)
        self.known: dict[Node, Node] = {}
        self.more: dict[str, Node] = {}
        self.gone: list[check.Round] = []
        self.apart = stays_with_rows(planned, axis)

    def plan(self) -> RowFunction:
        """Return the pieces; raises `RowsRefused` where there are none."""
        planned = self.planned
        parts = planned.plan.parts
        if any(p.solved for p in planned.parameters):
            raise RowsRefused(parts[0][0], "it finds unknowns")
        cut = RowCut(self.graph, self.axis, lambda name: self.names.pick([name]))
        whole = [node for part in parts for node in part]
        found = cut.cut(about_means(self.graph, whole))
        roots = zip(planned.root_names, parts, strict=True)
        of = [name for name, part in roots for _ in part]
        self.cut, found = cut, self._named(cut, found, of)
        last = max((t.round for t in cut.totals), default=-1)
        rounds = []
        for number in range(last + 1):
            totals = [t for t in cut.totals if t.round == number]
            several = str(number + 1) * bool(last)
            told = f"Totals of {{f}} over rows{', round ' * bool(last)}{several}."
            start = self._start(number, [t.of for t in totals])
            steps = tuple(
                f"{t.step} {t.above.name}" if t.above else t.step for t in totals
            )
            made = self._piece(
                f"partial{number + 1}",
                f"Totals{several}",
                f"What a block of rows adds to {{f}}, round {number + 1}.",
                {t.given.name: t.of for t in totals},
                told=told,
                joined=steps,
            )
            rounds.append(Round(start, made, steps))
            begun = zip(start.root_names, start.stated, strict=True) if start else ()
            own = zip(made.root_names, made.stated, strict=True)
            self.gone.append(check.Round(dict(begun), dict(own), steps))
        finish, rows = self._ends(found)
        first = cut.first.name if cut.first is not None else ""
        return RowFunction(
            planned,
            self.axis,
            tuple(rounds),
            finish,
            rows,
            {name: size for size, name in cut.counts.items()},
            first,
            self.apart is not None,
        )

    def _named(
        self, cut: RowCut, found: Sequence[Held], roots: Sequence[str]
    ) -> list[Held]:
        """What is held, with names for the totals: after the result that they are of.

        Or after what they are, where several results have a use for one.
        """
        users: dict[Node, set[str]] = {t.given: set() for t in cut.totals}
        ends = [*zip((held.node for held in found), roots, strict=True)]
        for total in reversed(cut.totals):  # later ones are made of earlier ones
            below = [name for node, name in ends if total.given in topological([node])]
            users[total.given].update(below)
            ends += [(total.of, name) for name in users[total.given]]
        names = self.graph.names
        for k, total in enumerate(cut.totals):
            known, own = names.get(total.of), sorted(users[total.given])
            wanted = [f"{known}_sum"] if known else describe(total.of, names.get)
            if not known and len(own) == 1:
                wanted = [f"{own[0]}_sum" if total.step == "add" else f"{own[0]}_total"]
            name = self.names.pick(wanted)
            given = self.graph.input(name, total.given.dims)
            assert isinstance(given, Input)
            new: dict[Node, Node] = {total.given: given}
            later = [t.of for t in cut.totals[k:]]
            later = substituted(self.graph, later, new)
            cut.totals[k:] = [
                replace(
                    t,
                    of=of,
                    given=given if t is total else t.given,
                    above=given if t.above is total.given else t.above,
                )
                for t, of in zip(cut.totals[k:], later, strict=True)
            ]
            nodes = substituted(self.graph, [held.node for held in found], new)
            found = [
                held._replace(node=node)
                for held, node in zip(found, nodes, strict=True)
            ]
        return [*found]

    # Pieces

    def _start(self, number: int, nodes: Sequence[Node]) -> PlannedFunction | None:
        """What is computed once before a round, if that is more than arithmetic."""
        hoisted = self.cut.steady(substituted(self.graph, nodes, self.known))
        values = {self._name_of(node): node for node in hoisted}
        if not values:
            return None
        made = self._piece(
            f"start{number + 1}",
            f"Start{number + 1}",
            f"What {{f}} computes once before round {number + 1}.",
            values,
        )
        for name, node in values.items():
            self.known[node] = self.more[name] = self.graph.input(name, node.dims)
        return made

    def _name_of(self, node: Node) -> str:
        graph = self.graph
        known = [graph.names.get(node), graph.suggestions.get(node)]
        known += [graph.derived.get(node)]
        wanted = [x for x in known if x is not None]
        return self.names.pick([*wanted, *describe(node, graph.names.get), "value"])

    def _ends(
        self, found: Sequence[Held]
    ) -> tuple[PlannedFunction | None, PlannedFunction | None]:
        """What is made of totals, and what stays with its rows."""
        roots = substituted(self.graph, [x.node for x in found], self.known)
        has_rows = [x.place.kind == "rows" for x in found]
        if self.apart is not None:
            pairs = zip(self.apart, self.planned.plan.parts, strict=True)
            has_rows = [own for own, part in pairs for _ in part]
        if any(has_rows) and not all(has_rows):
            mixed = self._mixed if self.apart is None else self._by_pairs
            return mixed(roots, has_rows)
        planned, kind = self.planned, self.planned.kind
        tensors = zip(planned.stated, planned.plan.tensors, strict=True)
        for tensor, kept in tensors if not any(has_rows) else ():
            if kept is not None and not kept.symbols.isdisjoint(self.axis.sizes):
                why = "it is an object that has to know how many rows there are"
                raise RowsRefused(tensor, why, "products with it stay with the rows")
        counts = self._counts_rows or any(
            self.axis.mentions(check.size) for check in planned.source.checks
        )
        if all(has_rows) and not self.gone and not counts and not self.hidden:
            return None, planned  # a block is as good as all rows
        suffix, what = ("rows", "a block") if any(has_rows) else ("finish", "totals")
        summary = f"{kind.summary[:-1]}, from {what}."
        made = self._end(
            planned, roots, _as(kind, planned.order, suffix, summary=summary)
        )
        return (None, made) if any(has_rows) else (made, None)

    def _end(
        self, planned: PlannedFunction, roots: Sequence[Node], kind: Kind
    ) -> PlannedFunction:
        """The last piece of what is planned, its results made of other roots."""
        plan = planned.plan.over(optimise(self.planner.context(), [roots]).roots)
        parameters = self._parameters(plan.roots, {*planned.wrt})
        return replace(
            planned,
            source=self._source(planned.source, parameters),
            kind=kind,
            plan=plan,
            parameters=parameters,
            others=(),
            unpromised=(),
            undivided=None,
            piece=True,
            handed=self._handed_on(),
            composed=self._composed(),
        )

    def _by_pairs(
        self, roots: Sequence[Node], has_rows: Sequence[bool]
    ) -> tuple[PlannedFunction, PlannedFunction]:
        """Both, as what the variables of a Hessian have of it, pair by pair."""
        planned, ends = self.planned, []
        assert self.apart is not None
        for suffix, rows in (("finish", False), ("rows", True)):
            places = [k for k, own in enumerate(self.apart) if own is rows]
            what = "with rows, from a block" if rows else "with none, from totals"
            kind = _as(
                planned.kind,
                planned.order,
                suffix,
                summary=f"Of `{planned.name}`, what is of variables {what}.",
                only=tuple(planned.blocks[k] for k in places),
                returns="a dictionary of objects, for each pair of variables",
            )
            part = replace(
                planned,
                plan=planned.plan.at(places),
                root_names=tuple(planned.root_names[k] for k in places),
                tensors=range(len(places)),
                stated=tuple(planned.stated[k] for k in places),
            )
            own = [x for x, y in zip(roots, has_rows, strict=True) if y is rows]
            ends.append(self._end(part, own, kind))
        return ends[0], ends[1]

    @property
    def _counts_rows(self) -> bool:
        """Whether results depend on how many rows there are, or which is the first."""
        return bool(self.cut.counts) or self.cut.first is not None

    def _composed(self) -> check.Composition:
        first = "" if self.cut.first is None else self.cut.first.name
        return check.Composition(self.axis, self.gone, self.cut.counts, first)

    def _mixed(
        self, roots: Sequence[Node], has_rows: Sequence[bool]
    ) -> tuple[PlannedFunction, PlannedFunction]:
        """Both, as arrays by their names."""
        names = []
        plan = self.planned.plan
        for name, part in zip(self.planned.root_names, plan.parts, strict=True):
            names += (
                [name]
                if len(part) == 1
                else [f"{name}_{k}" for k, _ in enumerate(part)]
            )
        ends = []
        for suffix, rows in (("finish", False), ("rows", True)):
            values = {
                name: node
                for name, node, own in zip(names, roots, has_rows, strict=True)
                if own is rows
            }
            what = (
                "what has rows, from a block" if rows else "what has none, from totals"
            )
            summary = f"Of {{f}}, {what}."
            made = self._piece(suffix, camel(suffix), summary, values)
            # Held against the whole function's arrays, over what the rounds have made.
            pairs = zip(plan.roots, has_rows, strict=True)
            stated = tuple(node for node, own in pairs if own is rows)
            ends.append(replace(made, stated=stated, composed=self._composed()))
        return ends[0], ends[1]

    def _piece(
        self,
        suffix: str,
        bundle: str,
        summary: str,
        values: Mapping[str, Node],
        told: str = "",
        joined: tuple[str, ...] = (),
    ) -> PlannedFunction:
        """A function that returns some values by their names."""
        roots = substituted(self.graph, values.values(), self.known)
        plan = optimise(self.planner.context(), [roots])
        whole, function = self.planned, self.planned.source
        called = whole.kind.called.removeprefix("{f}").removeprefix("_")
        called = called.format(k=len(whole.order), order="_".join(whole.order))
        kind = _as(
            replace(VALUE, called=whole.kind.called),
            whole.order,
            suffix,
            bundle=camel(called) + bundle,
            summary=summary.replace("{f}", f"`{whole.name}`"),
            told=(told or summary).replace("{f}", f"`{whole.name}`"),
            joined=joined,
        )
        results = tuple(
            _result(function, name, x) for name, x in zip(values, roots, strict=True)
        )
        text = function.spec.name_text
        listed = (
            Definition(name, None, None, Text.plain(name), text) for name in values
        )
        spec = replace(function.spec, doc=None, results=tuple(listed))
        parameters = self._parameters(plan.roots, ())
        whole_source = replace(function, spec=spec, node=roots[0], results=results)
        made = PlannedFunction(
            self._source(whole_source, parameters),
            kind,
            (),
            parameters,
            plan,
            tuple(values),
            range(0),
            stated=tuple(roots),
            piece=True,
            handed=self._handed_on(),
        )
        members = []
        for k, (name, one) in enumerate(zip(values, results, strict=True)):
            alone = replace(
                made,
                source=one,
                plan=plan.at([k]),
                root_names=(name,),
                stated=(),
                shown=f"{made.name}.{name}",
            )
            members.append(Member(name, alone, (k,)))
        return replace(made, members=tuple(members))

    def _source(
        self, source: ElaboratedFunction, parameters: Iterable[Parameter]
    ) -> ElaboratedFunction:
        """A function with those of its checks that a piece can make."""
        known = function_preamble.plan(every(parameters)).sources
        known = {s: x for s, x in known.items() if s not in self.axis.sizes}
        checks = (c for c in source.checks if {*c.size.symbols} <= known.keys())
        return replace(source, checks=tuple(checks))

    def _parameters(
        self, roots: Sequence[Node], always: Collection[str]
    ) -> tuple[Parameter, ...]:
        """What a piece reads, and the sizes that no shape of that tells."""
        read = {x.name for x in inputs_of(roots)} | {*always}
        given = {p.name: p for p in self.planned.parameters}
        matrices = {p.of for p in given.values() if p.name in read and p.of}
        found = [
            p for p in given.values() if p.name in read or (p.of and p.of in matrices)
        ]
        for name, node in self._handed_on().items():
            if name in read:
                found.append(
                    Parameter(name, node.dims, "what a round has made, handed on")
                )
        symbols = dict.fromkeys(s for x in topological(roots) for s in sizes_in(x))
        known = function_preamble.plan(every(found)).sources
        sizes = [s for s in symbols if s not in known]
        return (*found, *(Parameter(s, (), role="size") for s in sizes))

    def _handed_on(self) -> dict[str, Node]:
        """What earlier pieces may have made, and the number of a block's first row."""
        found: dict[str, Node] = {t.given.name: t.given for t in self.cut.totals}
        if self.cut.first is not None:
            found[self.cut.first.name] = self.cut.first
        return found | self.more


def _as(kind: Kind, order: Sequence[str], suffix: str, **more: object) -> Kind:
    """A kind whose functions are pieces of those of another one, of an order."""
    called = kind.called.replace("{k}", str(len(order)))
    changed: dict[str, object] = {
        "name": f"{kind.name}_{suffix}",
        "called": f"{called.replace('{order}', '_'.join(order))}_{suffix}",
        "method": "",
        **more,
    }
    make: Callable[..., Kind] = partial(replace, kind)
    return make(**changed)


def _result(function: ElaboratedFunction, name: str, node: Node) -> ElaboratedFunction:
    spec = replace(
        function.spec, name=result_name(function.spec.name, name), results=()
    )
    return replace(function, spec=spec, node=node, results=())
