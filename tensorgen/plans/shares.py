"""Several results of one function: whose roots are which, planned as one.

All results are computed by one plan, so they share what they can. Its roots are first
what comes before the derivatives that were asked for, of one result after another, and
then these derivatives, as a function with one result has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Protocol, TypeVar

from tensorgen.calculus.kinds import COTANGENTS, Kind
from tensorgen.calculus.requests import Request
from tensorgen.ir.nodes import Node
from tensorgen.lang import ElaboratedFunction
from tensorgen.plans.planned import Member, PlannedFunction
from tensorgen.structure.mirror_terms import Permutation, exchanges

T = TypeVar("T")


class Planner(Protocol):
    """What plans a function: itself, and each of its `results` where there are several.

    It is asked for the `request` that is planned, and for the one that was `written`.
    """

    function: ElaboratedFunction
    result: str
    wrt: tuple[str, ...]
    inputs: dict[str, Node]
    request: Request
    written: Request

    @property
    def source(self) -> ElaboratedFunction:
        """The function as it is in code."""
        ...

    @property
    def results(self) -> Sequence[Planner]:
        """The planners of the results."""
        ...

    def ways(
        self, kind: Kind, order: tuple[str, ...], request: Request
    ) -> tuple[Sequence[Sequence[Node]], tuple[str, ...]]:
        """Return the equivalent lists of roots of a kind, and what to call them."""
        ...


@dataclass(frozen=True)
class Share:
    """What a function returns of one result: of `kind`, or what comes before it alone.

    What is of all results has no name, and neither has the only one.
    """

    name: str
    planner: Planner
    kind: Kind
    order: tuple[str, ...] = ()
    is_own: bool = True

    @property
    def lead(self) -> int:
        """How many of its roots come before the derivatives that were asked for."""
        before = self.kind.lead if self.is_own else self.kind.parts
        return sum(len(kind.blocks(self.planner.wrt)) for kind in before)

    @property
    def own(self) -> int:
        """How many roots are derivatives that were asked for."""
        blocks = self.kind.blocks(self.planner.wrt, self.order)
        return len(blocks) if self.is_own else 0

    def ways(self, written: bool) -> list[list[Node]]:
        """The equivalent lists of its roots, of what was `written` or as it is used."""
        planner = self.planner
        request = planner.written if written else planner.request
        return [list(way) for way in planner.ways(self.kind, self.order, request)[0]]

    def exchanges(self) -> list[tuple[Permutation, ...]]:
        """The exchanges of axes that leave each of its derivatives what it is."""
        planner, found = self.planner, []
        for names in self.kind.blocks(planner.wrt, self.order) if self.is_own else ():
            inputs = [(name, planner.inputs[name].order) for name in names]
            found.append(exchanges(planner.function.node.order, inputs))
        return found


def shares_of(planner: Planner, kind: Kind, order: tuple[str, ...]) -> list[Share]:
    """Return what a function of some kind returns of each of its results."""
    if not planner.results:
        return [Share("", planner, kind, order)]
    if kind.argument == "cotangent":
        # One adjoint of all results together.
        found = [
            Share(p.result, p, kind.lead[0], is_own=False) for p in planner.results
        ]
        return [*found, Share("", planner, COTANGENTS)]
    given = ((p, kind.of_result(p.function.node.order)) for p in planner.results)
    return [
        Share(p.result, p, own, order, own is kind)
        for p, own in given
        if own is not None
    ]


def joined(shares: Sequence[Share], rows: Sequence[Sequence[T]]) -> list[T]:
    """Return what the results have, a row each, in the order of the roots."""
    pairs = list(zip(shares, rows, strict=True))
    lead = [x for share, row in pairs for x in row[: share.lead]]
    return lead + [x for share, row in pairs for x in row[share.lead :]]


def joined_ways(shares: Sequence[Share], written: bool = False) -> list[list[Node]]:
    """Return the equivalent lists of all roots."""
    found = [share.ways(written) for share in shares]
    most = max(map(len, found))
    return [
        joined(shares, [ways[min(k, len(ways) - 1)] for ways in found])
        for k in range(most)
    ]


def members_of(shares: Sequence[Share], planned: PlannedFunction) -> tuple[Member, ...]:
    """Return what is planned of each of several results."""
    if not planned.source.results:
        return ()
    first, own = count(), count(sum(share.lead for share in shares))
    found = []
    for share in shares:
        places = (*islice(first, share.lead), *islice(own, share.own))
        held = range(share.lead, len(places)) if share.kind.holder else range(0)
        alone = replace(
            planned,
            source=share.planner.source,
            kind=share.kind,
            plan=planned.plan.at(places),
            root_names=tuple(planned.root_names[k] for k in places),
            tensors=held,
            stated=(),
            others=(),
            shown=".".join([planned.name, share.name]),
        )
        found.append(Member(share.name, alone, places))
    return tuple(found)
