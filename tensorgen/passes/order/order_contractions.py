"""Order: every product becomes a tree of products of two factors.

`search_trees` finds the order. A label
that stands in three factors is summed as soon as no other factor, constraint or
output needs it. An intermediate that occurs twice up to the names of its labels is
counted, and computed, once.

A delta through an index array, `i == row[e]`, is ordered like a factor, so that the
search knows what `U[row]` costs before the rest is multiplied, and what adding up by
rows first saves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations, product
from types import MappingProxyType

from tensorgen.ir.constraints import eliminated
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Constraint, Label, Lookup, Node, Product, Ref
from tensorgen.ir.rebuild import rebuild
from tensorgen.passes.cost import CostModel, merge
from tensorgen.passes.order.networks import Network, Plan, Tree, members, set_of
from tensorgen.passes.order.pairs import link_label, pair
from tensorgen.passes.order.search_trees import EXACT, best_tree
from tensorgen.passes.readings.gather_between import gather_between
from tensorgen.passes.readings.gather_by_key import gather_by_key, gather_by_limit
from tensorgen.passes.readings.near_keys import nearer
from tensorgen.passes.views import is_elementwise


def order_contractions(
    graph: Graph, roots: Sequence[Node], cost: CostModel, anew: bool = True
) -> list[Node]:
    """Return `roots` with every product of several factors as a tree of pairs.

    Elementwise products (nothing summed, all factors as large as the result) stay
    n-ary. Ends: each product is replaced by smaller ones, which are not revisited.
    Names move along, those given since a product was ordered if that is done `anew`.
    """

    def visit(node: Node) -> Node:
        return order_product(graph, node, cost)

    return rebuild(graph, roots, visit, cost.ordered, anew=anew)


def order_product(graph: Graph, node: Node, cost: CostModel) -> Node:
    """Return a product, whose operands are in order, as a tree of pairs."""
    if not isinstance(node, Product):
        return node
    keyed = (
        gather_by_key(graph, node, cost)
        or gather_by_limit(graph, node, cost)
        or gather_between(graph, node, cost)
    )
    if keyed is not None:
        sums, reading = keyed
        found = reading(order_product(graph, sums, cost))
        # Rows of a list are part of what reads them: that may be the same again.
        if found is not node:
            return order_product(graph, found, cost)
    # Of two factors, one may be summed before it is multiplied.
    if len(node.factors) < (2 if node.inner else 3):
        return node
    elementwise = _is_elementwise(node)
    if elementwise and not node.constraints:
        return node
    ways = [Contraction(graph, node, cost), *_by_rows(graph, node, cost)]
    best = min(ways, key=lambda way: way.plan().cost)
    # Two axes that a delta ties are both in a pair of factors with one of them each.
    if elementwise and cost.work(node) < best.plan().cost:
        return node
    first = _filtered_first(graph, node, cost, best.plan().cost)
    return best.build() if first is None else order_product(graph, first, cost)


def _is_elementwise(node: Product) -> bool:
    """Whether all factors are as large as the result, and nothing is summed.

    Labels that deltas tie are one, though one of them may range further than another.
    """
    if not node.constraints:
        return is_elementwise(node)
    full = set(range(node.order))
    of = {x: x for x in range(len(node.sizes))}
    for kind, form in node.constraints:
        ends = [atom for atom, _ in form.terms if not isinstance(atom, Lookup)]
        plain = kind == "eq" and {c for _, c in form.terms} == {1, -1}
        if not plain or len(ends) != 2 or len(form.terms) != 2:
            return False
        one, other = sorted(of[x] for x in ends)
        of = {x: one if own == other else own for x, own in of.items()}
    arrays = [{of[x] for x in f.labels} for f in node.factors if f.labels]
    return {*of.values()} == full and all(own == full for own in arrays)


def _filtered_first(
    graph: Graph, node: Product, cost: CostModel, most: float
) -> Node | None:
    """The same with a convolution computed before what weighs it, if that is less.

    In `sum_i,j w[i] * h[j] * x[k] * delta(k, i + j)` the delta ties three factors. It
    need not wait for all: any two are a convolution along the axis of the third, or
    where the rest needs one of these as well, a window that is weighted.
    """
    best: tuple[float, Node] | None = None
    for part, whole in _convolutions(graph, node, cost):
        if isinstance(part, Product) and isinstance(whole, Product):
            price = best_price(graph, part, cost) + best_price(graph, whole, cost)
            if price < most and (best is None or price < best[0]):
                best = price, whole
    return best[1] if best else None


def best_price(graph: Graph, node: Node, cost: CostModel) -> float:
    """What a node costs in its best order; a product of two factors has no other."""
    if not isinstance(node, Product) or len(node.factors) < 3:
        return cost.work(node)
    return Contraction(graph, node, cost).plan().cost


def _convolutions(
    graph: Graph, node: Product, cost: CostModel
) -> Iterator[tuple[Node, Node]]:
    """What a delta of three labels ties along one of them, and the rest with it."""
    if len(node.factors) < 3:
        return
    sizes = dict(enumerate(node.sizes))
    for tie in node.constraints:
        ends = tie.form.labels
        if tie.kind != "eq" or len(ends) != 3 or len(tie.form.terms) != 3:
            continue
        others = [c for c in node.constraints if c is not tie]
        for x in ends:
            own = [f for f in node.factors if not {*ends}.isdisjoint(f.labels)]
            own = [f for f in own if x not in f.labels]
            rest = [f for f in node.factors if f not in own]
            if len(own) < 2 or not rest:
                continue
            needed = {*range(node.order), *(y for f in rest for y in f.labels)}
            needed |= {y for c in others for y in c.form.labels}
            inside = dict.fromkeys([x, *(y for f in own for y in f.labels)])
            kept = [y for y in inside if y in needed]
            if x not in kept or not {*ends} <= {*inside} or {*ends} <= needed:
                continue
            held = {y: sizes[y] for y in inside}
            left = {y: sizes[y] for y in needed}
            part = graph.product(kept, own, constraints=[tie], sizes=held)
            yield part, graph.product(
                range(node.order),
                [(order_product(graph, part, cost), kept), *rest],
                coefficient=node.coefficient,
                constraints=others,
                sizes=left,
            )


def _by_rows(graph: Graph, node: Product, cost: CostModel) -> Iterator[Contraction]:
    """The same with factors read at rows, each by itself, before anything else.

    In `sum_e U[i, a] * w[e, a] * delta(i, row[e])` they are `U[row[e], a]`: what an
    entry reads is multiplied, and summed, before it is added up. So it may be with
    factors that have the axis of the result alone, or with all; and what is added up by
    keys of keys may be so at once.
    """
    if not node.constraints:
        return
    sizes: dict[Label, Dim] = dict(enumerate(node.sizes))
    axes = range(node.order)
    plain = eliminated(node.constraints, axes)
    composed = nearer(graph, plain, axes, sizes)
    known: list[tuple[Sequence[Ref], Sequence[Constraint]]] = [(node.factors, plain)]
    for constraints, every in product((plain, composed), (False, True)):
        factors, own, more = _apart(node, constraints, every)
        if (factors, own) not in known:
            known.append((factors, own))
            yield Contraction(graph, node, cost, factors, own, more)


def _apart(
    node: Product, constraints: Sequence[Constraint], every: bool
) -> tuple[Sequence[Ref], Sequence[Constraint], dict[Label, Dim]]:
    """Factors and constraints with labels for rows that are read, and their sizes."""
    links = {x: c for c in constraints if (x := link_label(c)) is not None}
    factors, own = list(node.factors), list(constraints)
    more: dict[Label, Dim] = {}
    # The first factor keeps a label that is summed: its link is there already.
    taken: set[Label] = set()
    for place, ref in enumerate(factors):
        names: dict[Label, Label] = {}
        for x in dict.fromkeys(ref.labels):
            if x in links and (x < node.order or (every and x in taken)):
                names[x] = len(node.sizes) + len(more)
                more[names[x]] = node.sizes[x]
                apart = {**{y: y for y in links[x].form.labels}, x: names[x]}
                own.append(links[x].renamed(apart.__getitem__))
            taken.add(x)
        labels = tuple(names.get(x, x) for x in ref.labels)
        factors[place] = Ref(ref.node, labels)
    return tuple(factors), own, more


def _by_shortest(
    constraints: Sequence[Constraint], node: Product, cost: CostModel
) -> list[Constraint]:
    """The same with shifts between summed labels solved for the longer ones.

    In `sum_i P[i] * d[i + 1] / S[i]` what two factors are together is kept for the
    entries that the third one has, not for one more.
    """
    inner = range(node.order, len(node.sizes))
    for kind, form in constraints:
        if {*inner}.isdisjoint(form.labels):
            continue
        if kind != "eq" or {c for _, c in form.terms} != {1, -1}:
            return [*constraints]
        if any(isinstance(atom, Lookup) for atom, _ in form.terms):
            return [*constraints]
    longest = sorted(inner, key=lambda x: -cost.size([node.sizes[x]]))
    return eliminated(constraints, longest)


class Contraction:
    """One product on its way to a tree; factors, and links after them, are bits."""

    def __init__(
        self,
        graph: Graph,
        node: Product,
        cost: CostModel,
        factors: Sequence[Ref] | None = None,
        constraints: Sequence[Constraint] | None = None,
        more: Mapping[Label, Dim] = MappingProxyType({}),
    ) -> None:
        """Take the factors and constraints of `node`, or others in their place.

        These may have `more` labels, which are summed.
        """
        self.graph = graph
        self.node = node
        self.cost = cost
        self.factors = list(node.factors if factors is None else factors)
        axes = range(node.order)
        if constraints is None:
            constraints = _by_shortest(eliminated(node.constraints, axes), node, cost)
        self.pending = list(constraints)
        self.more = more
        self.sizes = {**dict(enumerate(node.sizes)), **more}
        self.network = Network(
            tuple(set_of(ref.labels) for ref in self.factors),
            set_of(axes),
            tuple(cost.size([dim]) for dim in self.sizes.values()),
            merge,
            tuple(self.pending),
        )

    def plan(self) -> Plan:
        """Return the best tree over all factors, found once for all equal networks."""
        trees = self.cost.trees
        if self.network not in trees:
            trees[self.network] = best_tree(self.network, self.graph.effort)
        return trees[self.network]

    # Sharing

    def shared(self) -> Contraction | None:
        """The same product with a repeated sub-product as one node, if that pays."""
        alone = self.plan().cost
        best: tuple[float, Contraction] | None = None
        for first, second in self._repeats():
            once = best_price(self.graph, self.intermediate(first).node, self.cost)
            reduced = self._replaced(first, second)
            if reduced is None:
                continue
            cost = once + reduced.plan().cost
            if cost < alone and (best is None or cost < best[0]):
                best = cost, reduced
        return best[1] if best else None

    def _repeats(self) -> Iterator[tuple[int, int]]:
        """Disjoint subsets of several factors that are equal up to renaming."""
        nodes = [ref.node for ref in self.factors]
        twins = [k for k, node in enumerate(nodes) if nodes.count(node) > 1]
        if len(twins) < 4 or len(nodes) > EXACT:
            return
        seen: dict[Node, int] = {}
        for size in range(2, len(twins) // 2 + 1):
            for chosen in combinations(twins, size):
                # With more than half of a node's uses there is no second subset.
                used = [nodes[k] for k in chosen]
                if any(2 * used.count(node) > nodes.count(node) for node in used):
                    continue
                mask = sum(1 << k for k in chosen)
                if self.closed(mask) == frozenset(members(self.network.labels(mask))):
                    continue
                node, _ = self.intermediate(mask)
                if node in seen and not seen[node] & mask:
                    yield seen[node], mask
                seen.setdefault(node, mask)

    def _replaced(self, first: int, second: int) -> Contraction | None:
        both = first | second
        refs = [self.intermediate(mask) for mask in (first, second)]
        rest = [f for k, f in enumerate(self.factors) if not both >> k & 1]
        applied = self.applied(first) + self.applied(second)
        left = [c for c in self.pending if c not in applied]
        return Contraction(
            self.graph, self.node, self.cost, [*rest, *refs], left, self.more
        )

    # Building

    def applied(self, mask: int) -> list[Constraint]:
        """The constraints whose labels all stand in a subset."""
        inside = self.network.labels(mask)
        return [c for c in self.pending if not set_of(c.form.labels) & ~inside]

    def intermediate(self, mask: int) -> Ref:
        """A subset as one node, with its labels in a canonical order."""
        chosen = [f for k, f in enumerate(self.factors) if mask >> k & 1]
        kept = self.closed(mask)
        return pair(self.graph, chosen, self.applied(mask), kept, self.sizes)

    def closed(self, mask: int) -> frozenset[Label]:
        """What a subset of the factors keeps, the links within it applied."""
        inside = self.network.labels(mask)
        links = self.network.links.items()
        own = sum(x for x, c in links if not set_of(c.form.labels) & ~inside)
        return frozenset(members(self.network.kept(mask | own)))

    def build(self) -> Node:
        """Return the product as a tree of pairs."""
        better = self.shared()
        if better is not None:
            # What is shared is a product that nobody has ordered yet.
            better.factors = [
                Ref(order_product(self.graph, ref.node, self.cost), ref.labels)
                for ref in better.factors
            ]
            return better.build()
        pending = list(self.pending)
        network, sizes = self.network, self.sizes

        def grow(tree: Tree) -> tuple[int, list[Ref]]:
            if isinstance(tree, int):
                mask = 1 << tree
                if mask in network.links:
                    return mask, []
                parts = [self.factors[tree]]
            else:
                found = [grow(part) for part in tree]
                mask = reduce(int.__or__, (own for own, _ in found))
                parts = [ref for _, refs in found for ref in refs]
                if not parts:
                    return mask, []
            inside = network.labels(mask)
            links = [c for link, c in network.links.items() if link & mask]
            now = [
                c
                for c in pending
                if not set_of(c.form.labels) & ~inside
                and (c in network.loose or c in links)
            ]
            kept = frozenset(members(network.kept(mask)))
            whole = len(parts) == 1 and len(kept) == len(set(parts[0].labels))
            if whole and not now:
                return mask, parts
            for c in now:
                pending.remove(c)
            return mask, [pair(self.graph, parts, now, kept, sizes)]

        tree = self.plan().tree
        assert not isinstance(tree, int)
        parts = [ref for part in tree for ref in grow(part)[1]]
        return self.graph.product(
            range(self.node.order),
            parts,
            coefficient=self.node.coefficient,
            constraints=pending,
            sizes={
                x: self.sizes[x]
                for x in dict.fromkeys(
                    [
                        *range(self.node.order),
                        *(x for c in pending for x in c.form.labels),
                    ]
                )
            },
        )
