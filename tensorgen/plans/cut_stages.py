"""Cut: what a problem computes once, once a point, and in each of its methods.

A value that several methods need at a point belongs to a stage, named after the first
of these methods; the methods finish from what the stages hold. A stage holds what
later ones use, without what costs nothing: views, scalings, numbers and comparisons
are written anew where they are used. What follows from the data alone is in stages by
the inputs that it follows from, so that replacing one touches no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import assert_never

from tensorgen.ir.nodes import (
    Call,
    Constant,
    Input,
    Iota,
    Lookup,
    Map,
    Node,
    Product,
    Size,
    Sum,
    children,
    constant_value,
    inputs_of,
    topological,
)
from tensorgen.ir.patterns import core_of
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.promise_calls import is_promise
from tensorgen.passes.cost import exponential_of
from tensorgen.passes.rates import Rate, Rates, sizes_in
from tensorgen.passes.views import is_sparse

Sources = tuple[str, ...]
"""The inputs that a value follows from, by name."""

EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Stages:
    """What each stage holds, in the order in which stages are computed.

    `data` are the stages of what does not change from point to point, `held` those of
    methods; `multiples` are values that differ from a held one by a factor alone.
    """

    data: Mapping[Sources, tuple[Node, ...]]
    held: Mapping[str, tuple[Node, ...]]
    multiples: Mapping[Node, tuple[Node, Fraction]]


def cut_stages(
    roots: Mapping[str, Sequence[Node]],
    rates: Rates,
    named: Collection[Node] = (),
    repeated: Collection[str] = (),
    owners: Mapping[str, str] = EMPTY,
) -> Stages:
    """Return what to hold so that no method computes what another has computed.

    `roots` are what each method returns, in the order in which methods are called. What
    only one of the `repeated` needs is held too as long as it does not depend on the
    direction: they are called often at one point. Of a value and its negation the one
    that is `named` is held. Inputs and sizes with `owners` follow from these.
    """
    return Cutting(roots, rates, named, repeated, owners).run()


class Cutting:
    """The stages of the methods of one problem."""

    def __init__(
        self,
        roots: Mapping[str, Sequence[Node]],
        rates: Rates,
        named: Collection[Node],
        repeated: Collection[str],
        owners: Mapping[str, str],
    ) -> None:
        self.roots = roots
        self.rates = rates
        self.repeated = repeated
        self.users: dict[Node, list[str]] = {}
        for method, nodes in self.roots.items():
            waiting = list(nodes)
            while waiting:
                node = waiting.pop()
                users = self.users.setdefault(node, [])
                if method not in users:
                    users.append(method)
                    waiting += self.operands(node)
        self._join_exponentials()
        self.sources = _sources(self.users, owners)
        steady = {self.sources[x] for x in self.users if rates.of(x) == Rate.DATA}
        groups = sorted(steady, key=lambda names: (len(names), names))
        self.held: dict[Sources | str, dict[Node, None]] = {x: {} for x in groups}
        self.held |= {method: {} for method in roots}
        self.multiples: dict[Node, tuple[Node, Fraction]] = {}
        self.same = self._multiples(named)

    def _join_exponentials(self) -> None:
        """Let who needs one of the functions that share an exponential need them all.

        So the first of them makes them all together.
        """
        groups: dict[object, list[Node]] = {}
        for node in self.users:
            if (key := exponential_of(node)) is not None:
                groups.setdefault(key, []).append(node)
        for group in groups.values():
            users = {user for node in group for user in self.users[node]}
            for node in group:
                self.users[node] = [m for m in self.roots if m in users]

    def _multiples(self, named: Collection[Node]) -> dict[Node, tuple[Node, Fraction]]:
        """Values that are what another one is, times a number: one is computed.

        That is the one with a name, if it is no more than the negation; else the one
        that a method returns.
        """
        groups: dict[object, list[tuple[Fraction, Node]]] = {}
        for node in self.users:
            coefficient, core = core_of(node)
            groups.setdefault(core, []).append((coefficient, node))
        returned = [node for nodes in self.roots.values() for node in nodes]
        same: dict[Node, tuple[Node, Fraction]] = {}
        for group in groups.values():
            costly = [(c, node) for c, node in group if _costs(node)]
            sizes = [abs(c) for c, _ in costly]
            mine = [(c, n) for c, n in group if n in named and abs(c) in sizes]
            # What is returned without ever changing is not even scaled anew.
            first = [
                (c, node)
                for c, node in group
                if node in returned
                and ((c, node) in costly or self.rates.of(node) == Rate.DATA)
            ]
            if not costly or len({node for _, node in (*mine, *first, *costly)}) < 2:
                continue
            scale, chosen = (*mine, *first, *costly)[0]
            same |= {n: (chosen, c / scale) for c, n in costly if n is not chosen}
            same[chosen] = chosen, Fraction(1)
            users = {user for _, node in costly for user in self.users[node]}
            self.users[chosen] = [m for m in self.roots if m in users]
        return same

    def operands(self, node: Node) -> tuple[Node, ...]:
        """The operands of a node; an inverse that it applies is a system to solve.

        So it counts as needed only where the inverse itself is: elsewhere to solve is
        cheaper, if not for many right-hand sides.
        """
        below = children(node)
        if not isinstance(node, Product) or len(below) != 2 or not node.inner:
            return below
        return tuple(
            inner
            for k, operand in enumerate(below)
            for inner in (
                operand.args
                if isinstance(operand, Call)
                and operand.operator == "inv"
                and below[1 - k] is not operand
                and self.rates.of(operand) == self.rates.of(node)
                else (operand,)
            )
        )

    def stage(self, node: Node) -> Sources | str | None:
        """The stage that computes a node; None if one method alone needs it."""
        rate = self.rates.of(node)
        users = self.users.get(node, [])
        if rate == Rate.DATA:
            return self.sources[node]
        if rate == Rate.DIRECTION or not users:
            return None
        if len(users) == 1 and users[0] not in self.repeated:
            return None
        return users[0]

    def run(self) -> Stages:
        """Return the stages."""
        order = list(self.held)
        # What is returned as it is comes first, so that others are its multiples.
        for nodes in self.roots.values():
            for node in nodes:
                self._hold(node, len(order))
        for nodes in self.roots.values():
            self._walk(nodes, len(order))
        for place in reversed(range(len(order))):
            self._walk(list(self.held[order[place]]), place)
        nodes = topological(n for nodes in self.roots.values() for n in nodes)
        rank = {node: k for k, node in enumerate(nodes)}
        data: dict[Sources, tuple[Node, ...]] = {}
        held: dict[str, tuple[Node, ...]] = {}
        for stage, values in self.held.items():
            ordered = tuple(sorted(values, key=rank.__getitem__))
            if isinstance(stage, str):
                held[stage] = ordered
            elif ordered:
                data[stage] = ordered
        return Stages(data, held, self.multiples)

    def _walk(self, nodes: Sequence[Node], place: int) -> None:
        """Hold what the computation of `nodes` in a stage takes from earlier ones."""
        waiting = [node for node in nodes if not self._hold(node, place)]
        seen = dict.fromkeys(waiting)
        while waiting:
            for child in children(waiting.pop()):
                if child not in seen and not self._hold(child, place):
                    seen[child] = None
                    waiting.append(child)

    def _hold(self, node: Node, place: int) -> bool:
        """Let the stage of a node hold it, if that stage is earlier than `place`."""
        chosen, ratio = self.same.get(node, (node, Fraction(1)))
        if chosen is not node:
            if self._hold(chosen, place):
                self.multiples[node] = chosen, ratio
                return True
            return False
        stage = self.stage(node)
        if stage is None or [*self.held].index(stage) >= place:
            return False
        if node not in self.same and not _costs(node):
            return False
        self.held[stage][node] = None
        return True


def _sources(nodes: Iterable[Node], owners: Mapping[str, str]) -> dict[Node, Sources]:
    """The inputs below each of some nodes, and of all below these.

    What has an owner is replaced with it, a size too.
    """
    found: dict[Node, Sources] = {}
    for node in topological(nodes):
        own = {owners[s] for s in sizes_in(node) if s in owners}
        if isinstance(node, Input):
            own.add(owners.get(node.name, node.name))
        found[node] = tuple(sorted(own.union(*(found[x] for x in children(node)))))
    return found


def _costs(node: Node) -> bool:
    """Whether it takes work to have a node, its operands given."""
    match node:
        case Input() | Constant() | Size() | Iota():
            return False
        case Map(function=function, args=args):
            if ELEMENTWISE[function].boolean:
                return False
            if function == "pow":
                return bool(node.order) and constant_value(args[1].node) != -1
            return bool(node.order) or bool(inputs_of([node]))
        case Product() | Sum() if _is_scalar(node):
            return False
        case Product(factors=factors, constraints=constraints) if len(factors) < 2:
            looked_up = any(
                isinstance(atom, Lookup)
                for c in constraints
                for atom, _ in c.form.terms
            )
            cut = any(c.kind == "ge" for c in constraints)
            moved = len(node.inner) <= len(constraints) and not looked_up and not cut
            return bool(factors) and not moved and not is_sparse(node)
        case Product():
            return not is_sparse(node)
        case Sum() | Call():
            return not is_promise(node)
        case _:
            assert_never(node)


def _is_scalar(node: Node) -> bool:
    return not any(part.order for part in (node, *children(node)))
