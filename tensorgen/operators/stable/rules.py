"""Rules of scalars as text: `rules.tg`, read once and matched against nodes.

A rule is a pattern, a result and conditions, in expressions of the language. Patterns
are indexed by the function that they are of. Nodes are interned, so that a name that
stands twice in a pattern asks for one node. Within a sum or a product the functions are
found first, then what is left gets the name that is left, and only then the arguments
are looked at: in `t + sqrt(1 + t**2)`, t is known before the root is read.

What needs more than what stands beside it stays a function in this package: levels of
sums, the set of all factors, what an index array selects.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import permutations
from typing import Any, NamedTuple

from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Map, Node, Product, Ref, Size, constant_value
from tensorgen.operators.conditions.bounds import may_be_infinite
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.matrices.definite import Sign, sign
from tensorgen.operators.scalar import (
    added,
    build,
    infinite,
    multiplied,
    power,
    times,
    total,
    tree_of,
)
from tensorgen.operators.stable.factors import same
from tensorgen.operators.stable.match import (
    Args,
    Weighted,
    arguments,
    as_power,
    coefficients,
    elementwise_factors,
    flat,
    is_condition,
    is_map,
    joined,
    terms,
)

NUMBERS = ("k", "m")
"""Names of rational numbers; all others are those of values."""

_ONE = Fraction(1)

Known = Mapping[str, Any]
"""What names of a pattern stand for: values, or rational numbers."""


class Pattern(NamedTuple):
    """`scale * number * function(*parts)`; the number is a name, or none."""

    function: str  # of the table; or "+", "*", "**", "1", "inf", a name of a value
    parts: tuple[Pattern, ...] = ()
    scale: Fraction = _ONE
    number: str = ""

    @property
    def is_name(self) -> bool:
        """Whether it stands for any value."""
        return not self.parts and self.function not in ("1", "inf")

    def may_be(self, kind: str) -> bool:
        """Whether it may match a function of this name, a number "1", or "other"."""
        if self.function == "1":
            return kind == "1"
        if self.function == "inf":
            return kind == "other"
        if not self.parts or not self.function.isidentifier():
            return True
        is_plain = self.scale is _ONE and not self.number
        return kind == self.function or (kind == "other" and not is_plain)


class Rule(NamedTuple):
    """What a pattern is written as, where a condition holds; points to try it at."""

    left: str
    right: str
    pattern: Pattern
    result: ast.expr
    condition: ast.expr
    points: str = ""


# Reading


def parsed(text: str) -> dict[str, list[Rule]]:
    """The rules of each group of a text."""
    groups: dict[str, list[Rule]] = {}
    found: list[Rule] = []
    for line in text.replace("\n        ", " ").splitlines():
        if line.startswith("["):
            found = groups.setdefault(line[1 : line.index("]")], [])
        elif line.startswith("    at "):
            found[-1] = found[-1]._replace(points=line[7:])
        elif line and not line.startswith("#"):
            left, _, rest = line.partition(" -> ")
            right, _, condition = rest.partition(" if ")
            trees = tree_of(right), tree_of(condition or "True")
            found.append(Rule(left, right, _pattern(tree_of(left)), *trees))
    return groups


@cache
def groups() -> dict[str, list[Rule]]:
    """The rules of each group of the file."""
    return parsed((files(__package__) / "rules.tg").read_text(encoding="utf-8"))


@cache
def _of(group: str, function: str, *kinds: str) -> tuple[Rule, ...]:
    """The rules of a function whose first arguments are of some kinds, if given."""
    return tuple(
        rule
        for rule in groups()[group]
        if rule.pattern.function == function
        if _commutes(function) or all(map(Pattern.may_be, rule.pattern.parts, kinds))
    )


def _commutes(function: str) -> bool:
    return function in ELEMENTWISE and ELEMENTWISE[function].has("commutes")


def _pattern(tree: ast.expr) -> Pattern:
    match tree:
        case ast.Constant(value=int(number)):
            return Pattern("1", scale=Fraction(number))
        case ast.Name(id=name) if name in NUMBERS:
            return Pattern("1", number=name)
        case ast.Name(id=name):
            return Pattern(name)
        case ast.UnaryOp(op=ast.USub(), operand=x):
            return _times(Pattern("1", scale=Fraction(-1)), _pattern(x))
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            parts = [(Pattern("1", scale=Fraction(c)), x) for c, x in added(tree)]
            return Pattern("+", tuple(_times(c, _pattern(x)) for c, x in parts))
        case ast.BinOp(left=x, op=ast.Mult(), right=y):
            return _times(_pattern(x), _pattern(y))
        case ast.BinOp(left=x, op=ast.Div(), right=ast.Constant(value=int(number))):
            return _times(Pattern("1", scale=Fraction(1, number)), _pattern(x))
        case ast.BinOp(left=x, op=ast.Div(), right=y):
            inverse = Pattern("**", (_pattern(y), Pattern("1", scale=Fraction(-1))))
            return _times(_pattern(x), inverse)
        case ast.BinOp(left=x, op=ast.Pow(), right=y):
            return Pattern("**", (_pattern(x), _pattern(y)))
        case ast.Call(func=ast.Name(id=name), args=args):
            return Pattern(name, tuple(map(_pattern, args)))
    raise ValueError(f"not a pattern: {ast.unparse(tree)}")


def _times(one: Pattern, two: Pattern) -> Pattern:
    if one.function != "1":
        return Pattern("*", (one, two))
    scale, number = one.scale * two.scale, one.number or two.number
    return two._replace(scale=_ONE if scale == 1 else scale, number=number)


# Rewriting


class Fit(NamedTuple):
    """A rule that fits, and what the names in its result stand for."""

    rule: Rule
    names: dict[str, Ref]

    def whole(self, graph: Graph) -> Ref:
        """The result."""
        return build(graph, self.rule.result, self.names, _added)

    def terms(self, graph: Graph) -> list[Weighted]:
        """The result, term by term."""
        parts = added(self.rule.result)
        return [(Fraction(c), build(graph, x, self.names)) for c, x in parts]

    def factors(self, graph: Graph) -> list[Ref]:
        """The result, factor by factor."""
        parts = multiplied(self.rule.result)
        return [build(graph, x, self.names) for x in parts]


def fit(graph: Graph, group: str, ref: Ref) -> Fit | None:
    """The first rule of a group that fits a function of others."""
    if not isinstance(ref.node, Map):
        return None
    return _fit(graph, group, ref.node.function, arguments(ref))


def rewritten(graph: Graph, group: str, function: str, args: Args) -> Ref | None:
    """What the first rule of a group that fits makes of a function of arguments."""
    found = _fit(graph, group, function, args)
    return found and found.whole(graph)


def pair_of_factors(graph: Graph, pair: Args) -> list[Ref] | None:
    """The factors that the first rule that fits makes of two, in this order."""
    rules = _of("pairs of factors", "*", *(_kind(ref.node) for ref in pair))
    found = _first(graph, rules, lambda p: _each(graph, p.parts, pair, {}))
    return found and found.factors(graph)


def pair_of_terms(graph: Graph, pair: Args, ratio: Fraction) -> Ref | None:
    """What the first rule that fits makes of a value and the ratio times another."""

    def ways(p: Pattern) -> Iterator[Known]:
        one, other = p.parts
        if other.scale == ratio:
            # What stands in the second one is told apart in the first.
            parts = other._replace(scale=_ONE), one
            yield from _each(graph, parts, pair[::-1], {})

    found = _first(graph, _of("pairs of terms", "+"), ways)
    return found and found.whole(graph)


def ends_a_pair(ref: Ref) -> bool:
    """Whether a power of a value may be the second of two that a rule makes one."""
    return isinstance(ref.node, Map) and ref.node.function in _ends()


@cache
def _ends() -> frozenset[str]:
    """The functions that second terms are of, or are powers of."""
    ends = [rule.pattern.parts[1] for rule in _of("pairs of terms", "+")]
    bases = [end.parts[0] if end.function == "**" else end for end in ends]
    return frozenset(base.function for base in bases)


def _fit(graph: Graph, group: str, function: str, args: Args) -> Fit | None:
    head = "**" if function == "pow" else function
    rules = _of(group, head, _kind(args[0].node))
    return _first(graph, rules, lambda p: _every(graph, p, args, {}))


def _first(
    graph: Graph, rules: Sequence[Rule], ways: Callable[[Pattern], Iterator[Known]]
) -> Fit | None:
    for rule in rules:
        for known in ways(rule.pattern):
            if _holds(rule.condition, known):
                names = {
                    name: x if isinstance(x, Ref) else Ref(graph.constant(x), ())
                    for name, x in known.items()
                }
                return Fit(rule, names)
    return None


def _added(graph: Graph, parts: Sequence[tuple[int, Ref]]) -> Ref:
    """A sum, in which sums are opened where they have terms in common."""
    inner = [(c * k, x) for c, part in parts for k, x in terms(part)]
    return total(graph, parts if len({x for _, x in inner}) == len(inner) else inner)


# Matching


def _each(
    graph: Graph, parts: Sequence[Pattern], refs: Sequence[Ref], known: Known
) -> Iterator[Known]:
    """The ways to match values with patterns, one by one."""
    if not parts:
        yield known
        return
    for more in _matches(graph, parts[0], refs[0], known):
        yield from _each(graph, parts[1:], refs[1:], more)


def _every(graph: Graph, pattern: Pattern, args: Args, known: Known) -> Iterator[Known]:
    """The ways to match the arguments of a function, in either order if it commutes."""
    yield from _each(graph, pattern.parts, args, known)
    if _commutes(pattern.function):
        yield from _each(graph, pattern.parts, args[::-1], known)


def _matches(graph: Graph, p: Pattern, ref: Ref, known: Known) -> Iterator[Known]:
    if p.function == "1":
        value = constant_value(ref.node)
        if value is not None:
            yield from _numbered(p, value, known)
    elif p.function == "+":
        yield from _in_sum(graph, p, ref, known)
    elif p.number or p.scale is not _ONE:
        plain = p._replace(scale=_ONE, number="")
        scale, factors = elementwise_factors(ref)
        if p.is_name:
            scale, factors = p.scale, [times(graph, ref, coefficient=1 / p.scale)]
        for more in _numbered(p, scale, known):
            inner = factors[0] if len(factors) == 1 else times(graph, *factors)
            yield from _matches(graph, plain, inner, more)
    elif p.function == "inf":
        if infinite(ref.node) == 1:
            yield known
    elif p.function == "*":
        yield from _in_product(graph, p, ref, known)
    elif p.function == "**":
        base, exponent = p.parts
        if base.function in known and not exponent.number:
            # What holds nothing unknown is made, and compared: (-x)**2 is x**2.
            whole = power(graph, known[base.function], exponent.scale)
            if same(graph, whole, ref):
                yield known
            return
        inner, e = as_power(ref)
        for more in _numbered(exponent, e, known):
            yield from _matches(graph, base, inner, more)
    elif p.parts:
        if is_map(ref, p.function):
            yield from _every(graph, p, arguments(ref), known)
    elif p.function not in known:
        yield {**known, p.function: ref}
    elif known[p.function] == ref or same(graph, known[p.function], ref):
        yield known


def _numbered(p: Pattern, value: Fraction, known: Known) -> Iterator[Known]:
    """The way to match a number."""
    if not p.number:
        if value == p.scale:
            yield known
        return
    number = value if p.scale is _ONE else value / p.scale
    if known.get(p.number, number) == number:
        yield {**known, p.number: number}


def _in_sum(graph: Graph, p: Pattern, ref: Ref, known: Known) -> Iterator[Known]:
    """The ways to match the terms of a sum, which may have a number in common."""
    bound = [q for q in p.parts if q.function in known]
    names = [q for q in p.parts if q.is_name and q not in bound]
    others = [q for q in p.parts if not q.is_name]
    left = terms(ref)
    if bound:
        merged = coefficients(flat(ref))
        for q in bound:
            for x, c in coefficients(flat(known[q.function])).items():
                if merged.pop(x, None) != q.scale * c:
                    return
        left = [(c, x) for x, c in merged.items()]
    least = len(others) + len(names)
    if len(left) < least or (len(left) > least and not names):
        return
    for chosen in permutations(left, len(others)):
        pairs = list(zip(others, chosen, strict=True))
        if not all(q.may_be(_kind(x.node)) for q, (_, x) in pairs):
            continue
        scale = chosen[0][0] / others[0].scale if p.number else p.scale
        rest = [part for part in left if part not in chosen]
        for more in _numbered(p, scale, known):
            own = {
                q.function: joined(graph, [(c / scale / q.scale, x) for c, x in rest])
                for q in names
            }
            refs = [times(graph, x, coefficient=c / scale) for c, x in chosen]
            yield from _each(graph, others, refs, {**more, **own})


def _in_product(graph: Graph, p: Pattern, ref: Ref, known: Known) -> Iterator[Known]:
    """The ways to match the factors of a product."""
    names = [q for q in p.parts if q.is_name and q.function not in known]
    others = [q for q in p.parts if q not in names]
    scale, factors = elementwise_factors(ref)
    for chosen in permutations(range(len(factors)), len(others)):
        left = [x for k, x in enumerate(factors) if k not in chosen]
        if names or (scale == 1 and not left):
            own = {q.function: times(graph, *left, coefficient=scale) for q in names}
            refs = [factors[k] for k in chosen]
            yield from _each(graph, others, refs, {**known, **own})


def _kind(node: Node) -> str:
    if isinstance(node, Map):
        return node.function
    return "other" if constant_value(node) is None else "1"


# Conditions

WORDS: dict[str, Callable[[Any], bool]] = {
    "finite": lambda x: not may_be_infinite(x.node),
    "stated": lambda x: not may_be_infinite(x.node, data=False),
    "array": lambda x: bool(x.labels),
    "condition": is_condition,
    "negated": lambda x: isinstance(x.node, Product) and x.node.coefficient < 0,
    "size": lambda x: isinstance(x.node, Size),
    "whole": lambda k: k.denominator == 1,
    "even": lambda k: k % 2 == 0,
    "odd": lambda k: k % 2 == 1,
}
"""What is asked of values, and of numbers."""

_ORDERS: dict[type[ast.cmpop], Callable[[Any, int], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.NotEq: operator.ne,
}


def _holds(tree: ast.expr, known: Known) -> bool:
    """Whether a condition is known to hold; of values, 0 is all that is compared."""
    match tree:
        case ast.BoolOp(op=op, values=parts):
            both = all if isinstance(op, ast.And) else any
            return both(_holds(part, known) for part in parts)
        case ast.Compare(ast.Name(name), [op], [ast.Name(word)]):
            return WORDS[word](known[name]) == isinstance(op, ast.Is)
        case ast.Compare(ast.Name(name), [op], [ast.Constant(value=int(number))]):
            x = known[name]
            # Signs are ordered by what is known.
            own = sign(x.node) - Sign.NONNEGATIVE if isinstance(x, Ref) else x
            return _ORDERS[type(op)](own, number)
    return True
