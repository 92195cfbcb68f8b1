"""What several terms of a sum have in common, and what each of them is without it.

factors   A * D + B * D = (A + B) * D, of whole rests where A and B are one factor each
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
from tensorgen.ir.nodes import Constraint, Label, Lookup, Node, Ref, Sum, delta
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
    deltas or not: it leaves an array without that axis.
    """
    uses = Counter(factor for view in views for factor, _ in view.factors)
    places: dict[tuple[object, ...], dict[int, int]] = {}
    for t, view in enumerate(views):
        for k, (factor, labels) in enumerate(view.factors):
            # Most have one use. Times 0, as beside patterns, infinity is no number.
            if uses[factor] < 2 or infinite(factor):
                continue
            # A repeated summed label (a trace) would need matching of its own.
            summed = [x for x in labels if not _is_axis(x)]
            if len(set(summed)) == len(summed):
                pattern = tuple(x if _is_axis(x) else None for x in labels)
                places.setdefault((factor, pattern), {}).setdefault(t, k)
    rest = cache(lambda t, k: views[t].labels(without=k))
    for at in _parts(places.values(), rest):
        first, place = next(iter(at.items()))
        factor, pattern = views[first].factors[place]
        mine: set[Name] = set().union(*(views[t].factors[k][1] for t, k in at.items()))
        left: set[Name] = set().union(*(rest(t, k) for t, k in at.items()))
        alone = {x for x in mine - left if _is_axis(x)}
        free = len(at) == len(views) and bool(alone if root else not mine & left)
        if not (left or mine):
            continue
        ties = (tie for t in at for tie in views[t].constraints)
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
        outside = View()
        shared = [x if _is_axis(x) else ("shared", a) for a, x in enumerate(pattern)]
        outside.add(factor, shared)
        without = partial(_without_factor, views, at, shared)
        yield Common([*at], saving, free, outside, without)


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


def _without_factor(
    views: Sequence[View], at: dict[int, int], shared: Sequence[Name], t: int
) -> View:
    names = dict(zip(views[t].factors[at[t]][1], shared, strict=True))
    return views[t].renamed(names, without=at[t])


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
