"""Terms whose axes are entries of index arrays: a graph, a mesh, a list of ratings.

`sum_e B[e, a, b] * delta(i, s[e]) * delta(j, t[e])` puts a block between two nodes for
each edge e. What such a term holds is B, s and t: its deltas are links, which stay
beside the arrays. Each link may also be made part of an array, which is then one of
nodes rather than edges; which is less is for `compress` to say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

from tensorgen.ir.constraints import eliminated
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Affine, Atom, Call, Lookup, Node, Product, Sum
from tensorgen.ir.rebuild import terms_of
from tensorgen.ir.views import Name
from tensorgen.passes.cost import CostModel
from tensorgen.passes.views import is_sparse
from tensorgen.prices.limits import ADDED_TERMS, AXES_OF_A_LARGE_SUM
from tensorgen.structure.stored import Link, Tie
from tensorgen.structure.take_apart import Parts, distributed, folded, take_apart


def linked_terms(
    graph: Graph, node: Node, forms: Sequence[Sequence[Node]]
) -> list[list[list[Parts]]]:
    """A derivative as terms with their links, each in all ways to keep some of these.

    Terms of one pattern are one term of a single array; besides, each form is left as
    it is. Nothing where no term has links.
    """
    apart = _linked(graph, node, forms, by_rule=False)
    return [[_ways(graph, term) for term in terms] for terms in apart]


def ruled_terms(
    graph: Graph, node: Node, forms: Sequence[Sequence[Node]]
) -> list[list[list[Parts]]]:
    """A derivative as terms whose places follow by rule from whatever gives an axis."""
    apart = _linked(graph, node, forms, by_rule=True)
    return [[[folded(graph, term, term.links)] for term in terms] for terms in apart]


def has_links(node: Node) -> bool:
    """Whether entries of index arrays give axes of a derivative."""
    return _any_gives(node, _gives_entry, {})


def tied_terms(graph: Graph, node: Node, wider: bool) -> list[list[list[Parts]]]:
    """A derivative as terms of different ties, those of the same ties added up.

    That is done wherever there is a sum, so that there are never more terms than
    patterns: spreading makes one for each way through sums of sums. Arrays of `wider`
    patterns take in what they have room for; else each is seen as its factors.
    """
    terms = _added(graph, node, False, {}, _is_tie, wider) or ()
    whole = [folded(graph, term, term.links) for term in terms]
    if not wider:
        whole = [take_apart(graph, _node(graph, term, node.dims)) for term in whole]
    return [[[term] for term in whole]] if whole else []


def _linked(
    graph: Graph, node: Node, forms: Sequence[Sequence[Node]], by_rule: bool
) -> list[list[Parts]]:
    """The terms of each form, and those of one pattern added up, which come first."""
    given = _gives_place if by_rule else _gives_entry
    known: dict[Node, bool] = {}
    some = (node, *(term for form in forms for term in form))
    if not any(_any_gives(x, given, known) for x in some):
        return []
    together = _added(graph, node, by_rule, {}, given)
    apart = [[take_apart(graph, x, True, by_rule) for x in form] for form in forms]
    return ([together] if together else []) + apart


def _gives_entry(form: Affine, order: int) -> bool:
    """Whether a delta says that an axis is the entry of an index array."""
    return any(isinstance(atom, Lookup) for atom, _ in form.terms) and any(
        isinstance(x, int) and x < order for x, _ in form.terms
    )


def _gives_place(form: Affine, order: int) -> bool:
    """Whether a delta gives an axis, and does not just tie it to another one."""
    axes = [c for x, c in form.terms if isinstance(x, int) and x < order]
    return not _is_tie(form, order) and any(abs(c) == 1 for c in axes)


def _is_tie(form: Affine, order: int) -> bool:
    axes = [c for x, c in form.terms if isinstance(x, int) and x < order]
    return len(form.terms) == len(axes) == 2 and {*axes} == {1, -1}


def _any_gives(
    node: Node, given: Callable[[Affine, int], bool], known: dict[Node, bool]
) -> bool:
    """Whether such a delta stands somewhere in a sum of products."""
    if node not in known:
        match node:
            case Product():
                known[node] = any(
                    kind == "eq" and given(form, node.order)
                    for kind, form in node.constraints
                ) or any(_any_gives(ref.node, given, known) for ref in node.factors)
            case Sum():
                known[node] = any(
                    _any_gives(term.node, given, known) for term in node.terms
                )
            case _:
                known[node] = False
    return known[node]


def most_entries(node: Node, cost: CostModel, known: dict[Node, float]) -> float:
    """How many entries of an array may differ from zero, at most, by its deltas."""
    if node not in known:
        match node:
            case Product():
                known[node] = _solutions(node, cost)
                uses = list(node.factors)
            case Sum():
                known[node] = cost.size(node.dims)
                uses = [term.ref for term in node.terms]
            case Call(operator="packed", args=(whole,)):
                entries = most_entries(whole, cost, known)
                known[node] = min(cost.size(node.dims), entries)
                uses = []
            case _:
                known[node] = cost.size(node.dims)
                uses = []
        parts = [
            most_entries(ref.node, cost, known) * _repeated(node, ref.labels, cost)
            for ref in uses
        ]
        if parts:
            bound = sum(parts) if isinstance(node, Sum) else min(parts)
            known[node] = min(known[node], bound)
    return known[node]


def _repeated(node: Node, labels: Collection[int], cost: CostModel) -> float:
    """How often an entry of an operand is used: along axes that its own do not give."""
    given = {*labels}
    forms = [
        form
        for kind, form in (node.constraints if isinstance(node, Product) else ())
        if kind == "eq"
    ]
    while True:
        open_ = [{*form.labels} - given for form in forms]
        found = {
            atom
            for form, left in zip(forms, open_, strict=True)
            for atom, _ in form.terms
            if left == {atom}
        }
        if not found:
            return cost.size(d for k, d in enumerate(node.dims) if k not in given)
        given |= found


def _solutions(node: Product, cost: CostModel) -> float:
    """In how many places the deltas of a product hold."""
    deltas = [c for c in node.constraints if c.kind == "eq"]
    given, asked = set[int](), dict[int, None]()
    for _, form in eliminated(deltas, reversed(range(node.order))) if deltas else ():
        axes = [x for x, c in form.terms if _is_axis_of(node, x) and abs(c) == 1]
        if axes:
            given.add(max(axes))
            asked.update((x, None) for x in form.labels if not _is_axis_of(node, x))
    free = [x for x in range(node.order) if x not in given]
    return cost.size(node.sizes[x] for x in [*free, *asked])


def _is_axis_of(node: Product, atom: Atom) -> bool:
    return isinstance(atom, int) and atom < node.order


def _added(
    graph: Graph,
    node: Node,
    by_rule: bool,
    known: dict[Node, list[Node] | None],
    given: Callable[[Affine, int], bool],
    wider: bool = True,
) -> list[Parts] | None:
    """The terms of a sum of products, those of the same ties and links added up.

    Factors that have links are opened, after the same was done to them: so there are
    never more terms than patterns. None where there are too many all the same.
    """

    def terms(factor: Node) -> list[Node] | None:
        if factor not in known:
            known[factor] = None
            opens = _any_gives(factor, given, {}) or (by_rule and is_sparse(factor))
            opens = opens or not (wider or factor.order < AXES_OF_A_LARGE_SUM)
            parts = (
                _added(graph, factor, by_rule, known, given, wider) if opens else None
            )
            found = [_node(graph, part, factor.dims) for part in parts or ()]
            for part in parts or ():
                # What was added up is not spread again: it would be without end.
                known.update((x, known.get(x)) for x, _ in part.factors)
            known[factor] = found if found != [factor] else None
        return known[factor] or None

    waiting, done = terms_of(graph, node), list[Node]()
    while waiting:
        first, *waiting = waiting
        parts = distributed(graph, first, terms)
        if parts is None:
            done.append(first)
        else:
            waiting = [*parts, *waiting]
        if len(waiting) + len(done) > ADDED_TERMS:
            return None
    views = [take_apart(graph, term, True, by_rule) for term in done]
    return _by_pattern(graph, views, node.dims, wider)


def _node(graph: Graph, term: Parts, dims: Sequence[Dim]) -> Node:
    used = {*range(len(dims)), *_used(term)}
    used.update(x for link in term.links for x in link.labels)
    return graph.product(
        range(len(dims)),
        term.factors,
        coefficient=term.coefficient,
        constraints=[
            *term.inner,
            *(t.constraint for t in term.ties),
            *(link.constraint() for link in term.links),
        ],
        sizes={x: dim for x, dim in term.sizes.items() if x in used},
    )


def _ways(graph: Graph, term: Parts) -> list[Parts]:
    """A term with all of its links, with some and without."""
    links = term.links
    return [
        folded(graph, term, chosen)
        for count in range(len(links), -1, -1)
        for chosen in combinations(links, count)
    ]


Pattern = tuple[frozenset[Tie], tuple[Link, ...]]


def _by_pattern(
    graph: Graph, terms: Sequence[Parts], dims: Sequence[Dim], wider: bool
) -> list[Parts]:
    """The terms, those of the same ties and links added up."""
    groups: dict[Pattern, list[Parts]] = {}
    for term in terms:
        if term.links or term.ties:
            pattern = frozenset(term.ties), term.links
            groups.setdefault(pattern, []).append(term)
    narrow = sorted(groups, key=lambda pattern: -len(pattern[0])) if wider else ()
    for pattern in narrow:
        room = next((x for x in groups if _holds(groups, x, pattern)), None)
        if room is not None:
            groups[room] += [_untied(x, room[0]) for x in groups.pop(pattern)]
    sums = [_sum(graph, group, dims) for group in groups.values()]
    loose = [term for term in terms if not (term.links or term.ties)]
    if loose and not wider:  # multiples of one another are one
        axes = range(len(dims))
        parts = [(1, _node(graph, term, dims), axes) for term in loose]
        total = graph.sum(axes, parts, dict(enumerate(dims)))
        loose = [take_apart(graph, term) for term in terms_of(graph, total)]
    return [*sums, *loose]


def _holds(
    groups: Mapping[Pattern, Sequence[Parts]], wider: Pattern, pattern: Pattern
) -> bool:
    """Whether the array of one pattern has room for that of another with more ties."""
    if wider[1] != pattern[1] or not wider[0] < pattern[0]:
        return False
    needed = {x for term in groups[pattern] for x in _own(term)}
    for tie in pattern[0] - wider[0]:
        needed |= {tie.first, tie.second}
    return needed <= {x for term in groups[wider] for x in _own(term)}


def _untied(term: Parts, ties: Collection[Tie]) -> Parts:
    """A term that keeps only these ties; the others are in its array."""
    inner = [tie.constraint for tie in term.ties if tie not in ties]
    kept = tuple(tie for tie in term.ties if tie in ties)
    return replace(term, ties=kept, inner=[*term.inner, *inner])


def _used(term: Parts) -> set[Name]:
    """The labels of what a term is made of, but for its ties."""
    used = {x for _, xs in term.factors for x in xs}
    used.update(x for c in term.inner for x in c.form.labels)
    return used.union(*(link.labels for link in term.links if link.axis in used))


def _own(term: Parts) -> list[Name]:
    """The labels of a term's array: those of its links, in their order, then axes."""
    used = _used(term)
    used -= {link.axis for link in term.links} | {tie.second for tie in term.ties}
    asked = [x for link in term.links for x in link.labels if x in used]
    axes = sorted(x for x in used if isinstance(x, int))
    return list(dict.fromkeys([*asked, *axes]))


def _sum(graph: Graph, group: Sequence[Parts], dims: Sequence[Dim]) -> Parts:
    """Terms of one pattern as a term of one array, over elements and free axes."""
    ties, links = group[0].ties, group[0].links
    sizes: dict[Name, Dim] = dict(enumerate(dims))
    for link in links:
        sizes.update(link.sizes)
    parts: list[tuple[Fraction, Node, list[Name]]] = []
    for term in group:
        own, used = _own(term), _used(term)
        node = graph.product(
            own,
            term.factors,
            constraints=[
                *term.inner,
                *(link.constraint() for link in links if link.axis in used),
            ],
            sizes={x: dim for x, dim in term.sizes.items() if x in used},
        )
        parts.append((term.coefficient, node, own))
    whole = _own(replace(group[0], factors=[(n, tuple(own)) for _, n, own in parts]))
    core = graph.sum(whole, parts, {x: sizes[x] for x in whole})
    # The blocks at the ends of an element are often the same but for their signs.
    lead = _lead(core)
    parts = [(c / lead, node, own) for c, node, own in parts]
    core = graph.sum(whole, parts, {x: sizes[x] for x in whole})
    return Parts(lead, [(core, tuple(whole))], ties, [], sizes, links)


def _lead(node: Node) -> Fraction:
    """The first coefficient of a sum or product; 1 where there is none."""
    match node:
        case Sum():
            return node.terms[0].coefficient
        case Product() if node.coefficient:
            return node.coefficient
    return Fraction(1)
