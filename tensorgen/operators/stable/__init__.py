"""Numerically stable forms, recognised while the graph is built.

Every rule is an identity on the function's domain whose right side neither overflows
nor cancels where the left side does. What a pattern says is a line of `rules.tg`; what
is a function here has to know more: all factors of a product, how many terms are left,
what is summed. A rule yields nodes that no rule of its kind takes back, so recognition
ends: each one removes an `exp`, a `log` or a power, or puts a level under a sum of
exponentials, which is then none for these rules.
"""

from __future__ import annotations

from collections.abc import Collection

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Call, Map, Node, Ref, Sum, Term
from tensorgen.operators import reshape
from tensorgen.operators.conditions import adjoining, masks
from tensorgen.operators.scalar import infinite
from tensorgen.operators.stable import (
    complements,
    differences,
    equal_keys,
    exponentials,
    infinities,
    like_terms,
    lists,
    logarithms,
    logistic,
    norms,
    powers,
    rules,
    scales,
    unit_sums,
)
from tensorgen.operators.stable.match import (
    Args,
    PairRule,
    Rule,
    arguments,
    is_condition,
    is_map,
)

_MAP_RULES: dict[str, tuple[Rule, ...]] = {
    "log": (logarithms.log,),
    "log1p": (logarithms.log1p,),
    "log2": (logarithms.to_base(2),),
    "log10": (logarithms.to_base(10),),
    "log1mexp": (logarithms.log1mexp,),
    "exp": (exponentials.exp_of_sum,),
    "sqrt": (norms.root, powers.root),
    "pow": (powers.pow, norms.pow),
    "hypot": (norms.ordered("hypot"),),
    "rhypot": (norms.ordered("rhypot"),),
    "xlogy": (logarithms.xlogy,),
    "equal": (equal_keys.of_one_key,),
    "where": (equal_keys.at_one_key,),
}

_PAIR_RULES: tuple[PairRule, ...] = (
    logistic.beside_sigmoid,
    exponentials.beside_quotient,
    exponentials.beside_weight,
    rules.pair_of_factors,
    logarithms.xlogx,
    scales.cancelled,
    masks.absorbed,
    reshape.merged,
)

_SUM_RULES = (
    infinities.added,
    like_terms.merged,
    complements.rewritten,
    exponentials.log_softmax,
    differences.rewritten,
    reshape.added,
    adjoining.joined,
)

_RULES = (_PAIR_RULES, (powers.powers, powers.cancelled))
"""The rules for all pairs, before those that open quotients."""


class StableForms:
    """The rewrites of this package, as the graph wants them."""

    def map(self, graph: Graph, function: str, args: Args) -> Node | None:
        """Return a better node for `function(*args)`, aligned with its axes."""
        found = rules.rewritten(graph, "values", function, args)
        more = (f(function) for f in (infinities.at_ends, reshape.mapped, lists.mapped))
        for rule in (*_MAP_RULES.get(function, ()), *more):
            found = found or rule(graph, args)
            if found is not None:
                labels = sorted({label for ref in args for label in ref.labels})
                sizes = {
                    label: dim
                    for ref in args
                    for label, dim in zip(ref.labels, ref.node.dims, strict=True)
                }
                return graph.product(labels, [found], sizes=sizes)
        return None

    def product(self, graph: Graph, factors: Args) -> list[Ref] | None:
        """Return a better list of factors, or None."""
        if len(factors) < 2:
            return None
        pairs = _pairs(factors)
        graph.effort.spend(len(pairs) // 4)

        def seen(first: Ref, second: Ref) -> int:
            """How many lists of rules have nothing for a pair."""
            done: int = first.node.known.get((second, first.labels), 0)
            return done

        # Products meet in the same pairs, of which most are in no rule.
        pairs = [(k, m) for k, m in pairs if seen(factors[k], factors[m]) < len(_RULES)]
        if not pairs:
            return None
        for place, group in enumerate(_RULES):
            for k, m in pairs:
                first, second = factors[k], factors[m]
                if seen(first, second) > place:
                    continue
                for rule in group:
                    found = rule(graph, (first, second))
                    if found is not None:
                        rest = [f for n, f in enumerate(factors) if n not in (k, m)]
                        return [*rest, *found]
                first.node.known[second, first.labels] = place + 1
        return None

    def contraction(
        self, graph: Graph, factors: Args, summed: Collection[int], fresh: int
    ) -> list[Ref] | None:
        """Return factors that are summed over less, or None."""
        found = unit_sums.contracted(graph, factors, summed)
        if found is not None:
            return found
        return reshape.contracted(graph, factors, summed, fresh)

    def sum(self, graph: Graph, terms: list[Term]) -> list[Term] | None:
        """Return a better list of terms, or None."""
        for rule in _SUM_RULES:
            found = rule(graph, terms)
            if found is not None:
                return found
        return None


def _pairs(factors: Args) -> list[tuple[int, int]]:
    """The places of two factors that a rule may have, in order.

    Products may be long, and few of their factors take part in any rule.
    """
    marked = [_takes_part(factor) for factor in factors]
    everywhere = range(len(factors))
    places = [k for k in everywhere if marked[k]]
    if not places:
        return []
    return [
        (k, m)
        for k in everywhere
        for m in (everywhere if marked[k] else places)
        if k != m
    ]


def _takes_part(ref: Ref) -> bool:
    """Whether a rule of two factors may have this one as either, found out once."""
    known: bool | None = ref.node.known.get(_takes_part)
    if known is None:
        known = ref.node.known[_takes_part] = _is_of_a_pair(ref)
    return known


def _is_of_a_pair(ref: Ref) -> bool:
    node = ref.node
    if isinstance(node, Map):
        known = ("exp", "log", "log2", "log10", "pow", "sigmoid", "where")
        return node.function in known or is_condition(ref)
    if infinite(node) or powers.divides_inside(node):
        return True
    if isinstance(node, Sum):
        return any(is_map(term.ref, "log") for term in node.terms)
    return isinstance(node, Call) and node.operator == "reshape"


__all__ = ["StableForms", "arguments"]
