"""Sums of exponentials of unknown sign: their largest exponent stands outside.

Such a sum is `exp(level) * rest`, where the level is the largest exponent that counts:
neither overflows, and the sum does not depend on the level, so that it is a constant
for derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Lookup, Ref
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import apply, times, total
from tensorgen.operators.scans.keys import Keys, equated, keyed, levels, levels_of_pairs
from tensorgen.operators.stable.exponential_sums import (
    log_of_positive,
    reduced,
    selected,
)
from tensorgen.operators.stable.match import joined
from tensorgen.operators.stable.summands import Summand, is_too_wide, looks_up


class Levelled(NamedTuple):
    """A sum of exponentials as `exp(level) * rest`.

    Where there is a `floor`, the rest is 0 only of exponentials that all are 0, or of
    none, and the floor is -inf there; else it is the level.
    """

    level: Ref
    rest: Ref
    floor: Ref | None = None

    def log(self, graph: Graph) -> Ref:
        """The logarithm of the sum, which has no slope where there is nothing."""
        level, rest = self.level, self.rest
        if self.floor is not None:
            level, rest = self.floor, apply(graph, "nonzero", rest)
            graph.suggest(rest.node, "exp_sums")
        return total(graph, [(1, level), (1, apply(graph, "log", rest))])


def levelled(graph: Graph, parts: Sequence[Summand]) -> Levelled:
    """Take the largest exponent out of a sum of exponentials."""
    if len(parts) == 1 and looks_up(parts[0]):
        return _of_list(graph, parts[0])
    parts = [_by_itself(graph, s) for s in parts]
    top = _level(graph, parts)
    terms = [(s.coefficient, _shifted(graph, s, top)) for s in parts]
    return Levelled(top, total(graph, terms))


def _by_itself(graph: Graph, s: Summand) -> Summand:
    """What index arrays select is added up with a level of its own, beside other sums.

    So their levels are numbers that are compared, not a table of what each adds up.
    """
    atoms = (atom for c in s.constraints for atom, _ in c.form.terms)
    if not (s.sizes and any(isinstance(atom, Lookup) for atom in atoms)):
        return s
    inside = tuple(w for w in s.weights if not s.sizes.keys().isdisjoint(w.labels))
    outside = tuple(w for w in s.weights if w not in inside)
    inner = replace(s, coefficient=Fraction(1), weights=inside)
    dims = {x: d for x, d in s.dims.items() if x not in s.sizes}
    log = log_of_positive(graph, [inner])
    if log is not None:
        return Summand(s.coefficient, outside, ((Fraction(1), log),), dims=dims)
    if not looks_up(s):
        return s
    level, rest, _ = _of_list(graph, inner)
    exponents = ((Fraction(1), level),)
    return Summand(s.coefficient, (*outside, rest), exponents, dims=dims)


def _of_list(graph: Graph, whole: Summand) -> Levelled:
    """The same of a sum that index arrays select from, by keys where it compares them.

    What all of its terms have stands outside: it is no reason to look at pairs.
    """
    s, common = whole.apart()
    found = _levels_by_key(graph, s)
    # No exponent lies above the level where all of a key's count.
    plain = found and len(s.constraints) == 1 and not (s.conditions or _unsure(s))
    if found is None:
        level = apply(graph, "level", _top(graph, s))
        found = level, level, None
    top, inside, floor = found
    level, *floors = (
        joined(graph, [*common, (Fraction(1), x)])
        for x in (top, *([floor] if plain and floor else ()))
    )
    exp = "low_exp" if plain else "finite_exp"
    rest = total(graph, [(s.coefficient, _shifted(graph, s, inside, exp))])
    return Levelled(level, rest, *floors)


def _levels_by_key(graph: Graph, s: Summand) -> tuple[Ref, Ref, Ref | None] | None:
    """The levels of keys, as the sum is read and at each of its terms.

    With the first as they are, infinite too, where those are known.
    """
    exponent = _counting(graph, s, s.exponent(graph))
    every = [key for c in s.constraints for key in keyed(c, s.dims)]
    found = [key for key in every if not isinstance(key.at, Lookup)]
    pairs = [pair for c in s.constraints if (pair := equated(c))]
    if len(found) == 1 and {*found[0].own.labels} <= s.sizes.keys():
        exponent = _over_others(graph, s, exponent, found[0].own)
        beside = found[0].at not in {*s.sizes, *exponent.labels}
        if beside and {*found[0].own.labels} <= {*exponent.labels}:
            return levels(graph, exponent, found[0], s.dims)
    elif len(pairs) == 1 and (places := _summed_and_kept(s, pairs[0])):
        exponent = _over_others(graph, s, exponent, places[0])
        if {*places[0].labels} <= {*exponent.labels}:
            return levels_of_pairs(graph, exponent, *places)
    return None


def _over_others(graph: Graph, s: Summand, exponent: Ref, own: Lookup) -> Ref:
    """The largest exponent along what is summed beside the labels of an entry."""
    return _largest(
        graph, exponent, {x: d for x, d in s.sizes.items() if x not in own.labels}
    )


def _summed_and_kept(s: Summand, keys: Keys) -> Keys | None:
    """Of two entries that are equal the one that is summed, and that which is not."""
    for own, read in (keys, keys[::-1]):
        vectors = len(own.labels) == len(read.labels) == 1
        if vectors and own.labels[0] in s.sizes and read.labels[0] not in s.sizes:
            return own, read
    return None


def _level(graph: Graph, parts: Sequence[Summand]) -> Ref:
    """The largest exponent that counts, entry by entry of the sum."""
    tops: dict[Ref, None] = {}
    for s in parts:
        tops[_top(graph, s)] = None
    largest, *others = tops
    for other in others:
        largest = apply(graph, "maximum", largest, other)
    return apply(graph, "level", largest)


def _top(graph: Graph, s: Summand) -> Ref:
    exponent = s.exponent(graph)
    # A matrix of exponents for each row of weights would cost more than the sum.
    if not is_too_wide(s) and not looks_up(s):
        exponent = selected(graph, s, exponent)
    return _largest(graph, _counting(graph, s, exponent), s.sizes)


def _counting(graph: Graph, s: Summand, exponent: Ref) -> Ref:
    """The exponents that count, which are those whose weights are not zero."""
    unsure = _unsure(s)
    if is_too_wide(s) or not unsure:
        return exponent
    zero = Ref(graph.constant(0), ())
    weight = _over_idle(graph, s, unsure, exponent)
    counting = apply(graph, "not_equal", weight, zero)
    return selected(graph, Summand(weights=(counting,)), exponent)


def _over_idle(graph: Graph, s: Summand, weights: list[Ref], exponent: Ref) -> Ref:
    """The weights, added up along what is summed and exponents do not depend on.

    A weight that an index array reads is one entry of it: no table of who reads what.
    """
    labels = {x for w in weights for x in w.labels}
    idle = (labels & s.sizes.keys()) - {*exponent.labels}
    if not idle or s.conditions:
        return times(graph, *weights)
    labels |= {x for c in s.constraints for x in c.form.labels}
    kept = tuple(sorted(labels - idle))
    sizes = dict(s.dims)
    node = graph.product(kept, weights, constraints=s.constraints, sizes=sizes)
    return Ref(node, kept)


def _unsure(s: Summand) -> list[Ref]:
    """The weights that may be zero."""
    return [w for w in s.numbers if sign(w.node) != Sign.POSITIVE]


def _largest(graph: Graph, exponent: Ref, sizes: Mapping[int, Dim]) -> Ref:
    """The largest exponent along the labels that it has of some."""
    over = {x: d for x, d in sizes.items() if x in exponent.labels}
    return reduced(graph, "supremum", exponent, over) if over else exponent


def _shifted(graph: Graph, s: Summand, top: Ref, exp: str = "finite_exp") -> Ref:
    exponent = total(graph, [*s.exponents, (-1, top)])
    factors = [*s.weights, apply(graph, exp, exponent)]
    mentioned = {x for f in factors for x in f.labels}.union(s.dims)
    labels = tuple(sorted(mentioned - set(s.sizes)))
    node = graph.product(labels, factors, constraints=s.constraints, sizes=dict(s.dims))
    return Ref(node, labels)
