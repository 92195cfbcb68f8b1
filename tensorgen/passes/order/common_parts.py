"""What several terms of a sum have in common, and what each of them is without it.

factors   A * D + B * D = (A + B) * D, of whole rests where A and B are one factor each,
          and A[i] * D[i + 1] + B[i] * D[i + 1] = (A + B)[i] * D[i + 1]
masks     a * [i < j] + b * [i < j] = (a + b) * [i < j]
scatters  d[i] * sum_l u[l] * delta(i, a[l]) + sum_l w[l] * delta(i, a[l])
              = sum_l (d[a[l]] * u[l] + w[l]) * delta(i, a[l])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from math import inf
from typing import NamedTuple

from tensorgen.ir.constraints import normal
from tensorgen.ir.dims import Dim
from tensorgen.ir.nodes import Affine, Constraint, Label, Lookup, Node, Ref, Sum, delta
from tensorgen.ir.views import Name, View
from tensorgen.operators.scalar import infinite
from tensorgen.operators.stable.match import exponent
from tensorgen.passes.cost import CostModel


class Common(NamedTuple):
    """What some terms share: it stands `outside` of the sum of what is `left` of each.

    It is `free` where all terms have it, and to move it outside never costs.
    """

    terms: Sequence[int]
    saving: float
    free: bool
    outside: View
    left: Callable[[int], View]


Kind = Callable[[Sum, Sequence[View], CostModel, bool], Iterator[Common]]
"""What terms, seen n-ary, have in common; the last says whether the sum is stored."""


def factors(
    node: Sum, views: Sequence[View], cost: CostModel, root: bool
) -> Iterator[Common]:
    """Factors that several terms have.

    Not where a rest would keep a delta that the factor shares labels with, since
    `p[i] * (delta(i, j) - p[j])` would have to be materialised. At the `root` of what
    is stored, a factor of all terms moves outside if no rest has one of its axes,
    deltas or not: it leaves an array without that axis. Masks that all of them have
    with the factor go with it.
    """
    places, reads = _places(views)
    rest = cache(lambda t, k: views[t].labels(without=k))
    for at in _parts(places.values(), rest):
        first, place = next(iter(at.items()))
        _, pattern = views[first].factors[place]
        mine: set[Name] = set().union(*(views[t].factors[k][1] for t, k in at.items()))
        left: set[Name] = set().union(*(rest(t, k) for t, k in at.items()))
        alone = {x for x in mine - left if _is_axis(x)}
        free = len(at) == len(views) and bool(alone if root else not mine & left)
        if not (left or mine):
            continue
        shared = [x if _is_axis(x) else ("shared", a) for a, x in enumerate(pattern)]
        masked = {t: _masks(views[t], k, shared) for t, k in at.items()}
        common = set[Constraint].intersection(*({*own} for own in masked.values()))
        outer = {
            t: [*reads[t, k].values(), *(masked[t][mask] for mask in common)]
            for t, k in at.items()
        }
        ties = (
            tie
            for t, k in at.items()
            for tie in views[t].constraints
            if tie not in outer[t] and not _is_of_another(views[t], k, tie)
        )
        if not free and any(
            _is_read(label, mine) for x in ties for label in x.form.labels
        ):
            continue
        every = {*pattern, *filter(_is_axis, left)}
        sizes: dict[Name, Dim] = {**views[first].sizes, **dict(enumerate(node.dims))}
        if not (node.order or mine):
            # A number multiplies others once; as part of quotients it costs nothing.
            rests = (Ref(f, ()) for t in at for f, _ in views[t].factors)
            free = free or all((exponent(ref) or 0) >= 0 for ref in rests)
        saving = (len(at) - 1) * cost.size(sizes[x] for x in every)
        outside = _outside(views[first], place, shared, outer[first])
        without = partial(_without_factor, views, at, shared, outer)
        yield Common([*at], saving, free, outside, without)


def _places(
    views: Sequence[View],
) -> tuple[
    dict[tuple[object, ...], dict[int, int]],
    dict[tuple[int, int], dict[Name, Constraint]],
]:
    """Which term has each factor where, and where in the factor that is read."""
    uses = Counter(factor for view in views for factor, _ in view.factors)
    places: dict[tuple[object, ...], dict[int, int]] = {}
    reads: dict[tuple[int, int], dict[Name, Constraint]] = {}
    for t, view in enumerate(views):
        for k, (factor, labels) in enumerate(view.factors):
            # Most have one use. Times 0, as beside patterns, infinity is no number.
            if uses[factor] < 2 or infinite(factor):
                continue
            # A repeated summed label (a trace) would need matching of its own.
            summed = [x for x in labels if not _is_axis(x)]
            if len(set(summed)) == len(summed):
                reads[t, k] = _reads(view, k)
                pattern = tuple(
                    x if _is_axis(x) else _place(x, reads[t, k]) for x in labels
                )
                places.setdefault((factor, pattern), {}).setdefault(t, k)
    return places, reads


def whole_rests(
    node: Sum, views: Sequence[View], cost: CostModel, root: bool
) -> Iterator[Common]:
    """Factors that several terms have beside one other: no product is made anew."""
    for common in factors(node, views, cost, root):
        if all(len(common.left(t).factors) == 1 for t in common.terms):
            yield common


def _is_read(label: Name, mine: Container[Name]) -> bool:
    """Whether a label stays outside of what is summed within a rest: what ties it does
    as well."""
    return _is_axis(label) or label in mine


def _reads(view: View, k: int) -> dict[Name, Constraint]:
    """Where a factor is read: the deltas that say what its summed labels are.

    Each is of one label that nothing else in the view has, and of axes.
    """
    found: dict[Name, Constraint] = {}
    for label in view.factors[k][1]:
        ties = [one for one in view.constraints if label in one.form.labels]
        if not _is_axis(label) and len(ties) == 1 and _solves(ties[0], label):
            others = (xs for n, (_, xs) in enumerate(view.factors) if n != k)
            if not any(label in xs for xs in others):
                found[label] = ties[0]
    return found


def _masks(view: View, k: int, shared: Sequence[Name]) -> dict[Constraint, Constraint]:
    """Masks of several labels of a factor, or of axes, over labels that are shared."""
    names = dict(zip(view.factors[k][1], shared, strict=True))
    found: dict[Constraint, Constraint] = {}
    for one in view.constraints:
        labels = one.form.labels
        inside = all(x in names or _is_axis(x) for x in labels)
        if one.kind == "ge" and len(labels) > 1 and inside:
            found[_sorted(one.renamed(lambda x: names.get(x, x)))] = one
    return found


def _outside(
    view: View, k: int, shared: Sequence[Name], ties: Iterable[Constraint]
) -> View:
    """A factor as it stands outside, over other labels, and where it is read."""
    factor, labels = view.factors[k]
    named = dict(zip(labels, shared, strict=True))
    outside = View()
    outside.add(factor, shared)
    outside.constraints += [tie.renamed(lambda x: named.get(x, x)) for tie in ties]
    return outside


def _solves(tie: Constraint, label: Name) -> bool:
    """Whether a delta says what a label is for each place of some axes."""
    times = dict(tie.form.terms)
    others = [x for x in tie.form.labels if x != label]
    plain = not any(isinstance(atom, Lookup) for atom in times)
    return (
        tie.kind == "eq"
        and plain
        and abs(times.get(label, 0)) == 1
        and bool(others)
        and all(map(_is_axis, others))
    )


def _place(label: Name, reads: dict[Name, Constraint]) -> object:
    """What tells where a label is read from; nothing of what is summed as a whole."""
    tie = reads.get(label)
    return tie and _signless(tie.renamed(lambda x: "place" if x == label else x))


def _signless(tie: Constraint) -> Constraint:
    """A delta of a "place" and axes, the same whichever sign it has."""
    times = dict(tie.form.terms)
    form = tie.form if times["place"] == 1 else -tie.form
    return _sorted(tie._replace(form=form))


def _sorted(one: Constraint) -> Constraint:
    """A constraint with its labels in an order, whatever they are."""
    terms = sorted(one.form.terms, key=lambda term: str(term[0]))
    return Constraint(one.kind, Affine(tuple(terms), one.form.const))


def _is_of_another(view: View, k: int, tie: Constraint) -> bool:
    """Whether a delta says where another factor is read."""
    return any(
        tie in _reads(view, other).values()
        for other in range(len(view.factors))
        if other != k
    )


def _without_factor(
    views: Sequence[View],
    at: dict[int, int],
    shared: Sequence[Name],
    outer: dict[int, list[Constraint]],
    t: int,
) -> View:
    """A term without the factor, and without what stands outside with that."""
    names = dict(zip(views[t].factors[at[t]][1], shared, strict=True))
    left = [one for one in views[t].constraints if one not in outer[t]]
    return replace(views[t], constraints=left).renamed(names, without=at[t])


def _parts(
    shared: Iterable[dict[int, int]], rest: Callable[[int, int], Iterable[Name]]
) -> Iterator[dict[int, int]]:
    """Terms that share a factor: all of them, and those whose rests have equal axes.

    `E @ a + E @ b + c * (E @ d)`, all of vectors, is `E @ (a + b) + c * (E @ d)`: the
    sum of all rests is a matrix.
    """
    for at in shared:
        if len(at) < 2:
            continue  # most factors
        alike: dict[frozenset[Name], dict[int, int]] = {}
        for t, k in at.items():
            axes = frozenset(filter(_is_axis, rest(t, k)))
            alike.setdefault(axes, {})[t] = k
        groups = [at, *alike.values()] if len(alike) > 1 else [at]
        yield from (group for group in groups if len(group) > 1)


def masks(
    node: Sum, views: Sequence[View], cost: CostModel, root: bool
) -> Iterator[Common]:
    """Indicators of several axes that all terms have.

    Who reads the sum under the same condition, as derivatives of sums over `i < j` do,
    then masks nothing again. Ranges of one axis say where entries are written.
    """
    places: dict[Constraint, dict[int, Constraint]] = {}
    for t, view in enumerate(views):
        for one in view.constraints if view.factors else ():
            labels = one.form.labels
            if one.kind == "ge" and len(labels) > 1 and all(map(_is_axis, labels)):
                places.setdefault(normal(one), {})[t] = one
    for one, at in places.items():
        if len(at) == len(views):
            outside = View(constraints=[one])
            yield Common([*at], inf, True, outside, partial(_unmasked, views, at))


def _unmasked(views: Sequence[View], at: dict[int, Constraint], t: int) -> View:
    # An axis that the mask alone has is no label of what is left.
    others = [one for one in views[t].constraints if one is not at[t]]
    return replace(views[t], constraints=others).renamed({})


def scatters(
    node: Sum, views: Sequence[View], cost: CostModel, root: bool
) -> Iterator[Common]:
    """Index arrays that say where in a vector several terms are added up.

    A derivative by `v[a[l]]` has both sums above: what is read at `a[l]` to be added to
    entry `a[l]` is known as entry i, and stands outside.
    """
    places: dict[Node, dict[int, Name]] = {}
    for t, view in enumerate(views):
        for one in view.constraints:
            entry = _scattered_by(view, one)
            if entry is not None:
                places.setdefault(entry.node, {}).setdefault(t, *entry.labels)
    for key, at in places.items():
        if len(at) > 1:
            saving = (len(at) - 1) * cost.size(key.dims)
            to = delta({0: 1, Lookup(key, ("row",)): -1})
            outside = View(constraints=[to], sizes={"row": key.dims[0]})
            yield Common([*at], saving, False, outside, partial(_by_rows, views, at))


def _scattered_by(view: View, one: Constraint) -> Lookup | None:
    """The entry of a vector of indices, added over, that says which entry is meant."""
    axes = [x for x in one.equal_atoms if not isinstance(x, Lookup)]
    entries = [x for x in one.equal_atoms if isinstance(x, Lookup)]
    if axes != [0] or len(entries) != 1:
        return None
    added = len(entries[0].labels) == 1 and not _is_axis(*entries[0].labels)
    alone = sum(0 in other.form.labels for other in view.constraints) == 1
    return entries[0] if added and alone else None


def _by_rows(views: Sequence[View], at: dict[int, Name], t: int) -> View:
    """A term at rows of the index array, with the delta that says what i is there.

    Where nothing is read at i it stands outside alone: it would be a mask.
    """
    found = views[t].renamed({at[t]: "row", 0: "entry"})
    if not any("entry" in labels for _, labels in found.factors):
        ties = found.constraints
        found.constraints = [c for c in ties if "entry" not in c.form.labels]
        del found.sizes["entry"]
    return found


def _is_axis(label: Name | Label) -> bool:
    return isinstance(label, int)
