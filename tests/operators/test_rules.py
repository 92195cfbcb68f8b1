"""Each rule of scalars is an identity, keeps its digits, and is one that fires."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import pytest

from tensorgen.calculus.derive import jacobian
from tensorgen.ir.dims import Dim
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Ref
from tensorgen.operators.elementwise import ELEMENTWISE
from tensorgen.operators.references.rows import FUNCTIONS
from tensorgen.operators.references.rows import OPERATORS as REFERENCE
from tensorgen.operators.scalar import added, apply, build, power, times, total
from tensorgen.operators.stable import StableForms, rules
from tensorgen.operators.stable.rules import NUMBERS, Rule, groups
from tensorgen.verify.interpret import evaluate

RULES = [(group, rule) for group, found in groups().items() for rule in found]
EACH = pytest.mark.parametrize(
    ("group", "rule"), RULES, ids=[rule.left for _, rule in RULES]
)

USUAL = """
    k = -3, -2, -1/2, 0, 1/2, 2, 3; m = -2, 1/2, 2, 3
    t, a, b, s = -800, -2, -1/1000000000, 1/3, 800
    x, y, z = -5/2, -1/3, 1/4, 3
"""
"""Where rules are tried that say nothing else of a name."""


def _polygamma(n: Any, x: Any) -> Any:
    return mpmath.polygamma(int(n), x)


def _between(a: Any, b: Any) -> Any:
    return mpmath.ncdf(a) - mpmath.ncdf(b)


# What functions mean, however many digits it takes.
MEANINGS: dict[str, Any] = {
    **{x: getattr(mpmath, x) for x in ("exp", "log", "sin", "cos", "sqrt", "tanh")},
    **{x: getattr(mpmath, x) for x in ("sinh", "cosh", "asinh", "acosh", "erf")},
    **{x: getattr(mpmath, x) for x in ("hypot", "erfc", "sign", "inf")},
    **dict.fromkeys(("finite_exp", "low_exp", "large_exp"), mpmath.exp),
    "abs": abs,
    "maximum": max,
    "minimum": min,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "log1p": lambda x: mpmath.log(1 + x),
    "expm1": lambda x: mpmath.exp(x) - 1,
    "rexpm1": lambda x: 1 / (mpmath.exp(x) - 1),
    "csch": lambda x: 1 / mpmath.sinh(x),
    "sech2": lambda x: 1 / mpmath.cosh(x) ** 2,
    "inverse": lambda x: 1 / x,
    "rhypot": lambda x, y: 1 / mpmath.hypot(x, y),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "log_sigmoid": lambda x: -mpmath.log(1 + mpmath.exp(-x)),
    "log_cosh": lambda x: mpmath.log(mpmath.cosh(x)),
    "log1mexp": lambda x: mpmath.log(1 - mpmath.exp(x)),
    "log_icloglog": lambda x: mpmath.log(1 - mpmath.exp(-mpmath.exp(x))),
    "logaddexp": lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)),
    "acosh1p": lambda x: mpmath.acosh(1 + x),
    "ndtr": mpmath.ncdf,
    "log_ndtr": lambda x: mpmath.log(mpmath.ncdf(x)),
    "log_ndtr_between": lambda a, b, _: mpmath.log(_between(a, b)),
    "i0": lambda x: mpmath.besseli(0, x),
    "log_i0": lambda x: mpmath.log(mpmath.besseli(0, x)),
    "lgamma": mpmath.loggamma,
    "lrising": lambda x, y: mpmath.loggamma(x + y) - mpmath.loggamma(x),
    "digamma": mpmath.digamma,
    "polygamma": _polygamma,
    "polygamma_gap": lambda n, x, y: _polygamma(n, x + y) - _polygamma(n, x),
    "power_slope": lambda x, y: y * x ** (y - 1) if y else mpmath.mpf(0),
    "power_curve": lambda x, y: (
        y * (y - 1) * x ** (y - 2) if y * (y - 1) else mpmath.mpf(0)
    ),
    "xlogy": lambda x, y: x * mpmath.log(y) if x else mpmath.mpf(0),
    "xlogx": lambda x: x * mpmath.log(x) if x else mpmath.mpf(0),
    "xlog_ratio": lambda x, y: x * mpmath.log(x / y) if x else mpmath.mpf(0),
    "finite": lambda x: x,
    "gap": lambda x, y: x - y,
    "stated_gap": lambda x, y: x - y,
    "bell": lambda x: mpmath.exp(-(x**2) / 2),
    "gauss": lambda x: mpmath.exp(-(x**2)),
    "logical_not": lambda x: mpmath.mpf(not x),
    "greater": lambda x, y: mpmath.mpf(x > y),
    "greater_equal": lambda x, y: mpmath.mpf(x >= y),
    "relu": lambda x: max(x, 0),
    "equal": lambda x, y: mpmath.mpf(x == y),
    "not_equal": lambda x, y: mpmath.mpf(x != y),
    "where": lambda c, x, y: x if c else y,
    "clamp": lambda x, a, b: min(max(x, a), b),
}


def names(rule: Rule) -> list[str]:
    """The names in a rule that stand for something."""
    tree = ast.parse(f"({rule.left}) == ({rule.right})", mode="eval")
    found = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)}
    return sorted(x for x in found if len(x) == 1)


def points(rule: Rule) -> Iterator[dict[str, Fraction]]:
    """Where a rule is tried: all that its conditions on numbers allow."""
    known: dict[str, list[Fraction]] = {}
    for text in re.split("[;\n]", f"{USUAL};{rule.points}"):
        if "=" in text:
            left, right = text.split("=")
            values = [Fraction(x.strip()) for x in right.split(",")]
            known.update({name.strip(): values for name in left.split(",")})
    every = names(rule)
    for chosen in product(*(known[name] for name in every)):
        found = dict(zip(every, chosen, strict=True))
        if holds(rule.condition, found):
            yield found


def holds(tree: ast.expr, at: dict[str, Fraction]) -> bool:
    """Whether a condition holds of numbers; what is asked of values may hold."""
    words: dict[str, Callable[[Fraction], bool]] = {
        "whole": lambda k: k.denominator == 1,
        "even": lambda k: k % 2 == 0,
        "odd": lambda k: k % 2 == 1,
        "negated": lambda t: t < 0,
    }
    match tree:
        case ast.BoolOp(op=op, values=parts):
            both = all if isinstance(op, ast.And) else any
            return both(holds(part, at) for part in parts)
        case ast.Compare(ast.Name(name), [op], [ast.Name(word)]):
            asked = word not in words or words[word](at[name])
            return word not in words or asked == isinstance(op, ast.Is)
    return bool(eval(ast.unparse(tree), {**at}))


def meant(text: str, at: dict[str, Any]) -> Any:
    """The value of an expression, with as many digits as are in force."""
    return eval(text, {**MEANINGS, **at})


def truth(text: str, at: dict[str, Fraction], by: str = "") -> Any:
    """The value of an expression, or its derivative by a name; None where none is.

    Digits are added until two numbers of them agree: few may give 0, or infinity.
    """
    found = []
    for digits in (60, 120, 900, 1800):
        with mpmath.workdps(digits):
            given = {k: mpmath.mpf(x.numerator) / x.denominator for k, x in at.items()}
            h = mpmath.mpf(10) ** (-digits // 3)
            shifts = [h, -h] if by else [0]
            try:
                values = [
                    meant(text, {**given, by: given.get(by, 0) + d}) for d in shifts
                ]
            except (ValueError, ZeroDivisionError):
                return None
            value = (values[0] - values[1]) / (2 * h) if by else values[0]
            if isinstance(value, mpmath.mpc):
                return None
            found.append(value)
            sure = bool(value and mpmath.isfinite(value))
            if sure and len(found) > 1 and agree(found[-1], found[-2]):
                return value
    return value


def agree(one: Any, other: Any, share: float = 1e-18) -> bool:
    """Whether two numbers are one, but for a share of it, if they are finite."""
    near = mpmath.isfinite(one) and abs(one - other) <= share * abs(one)
    return bool(one == other or near)


def operand(graph: Graph, rule: Rule, name: str) -> Ref:
    """A value of which the conditions of a rule are known to hold."""
    condition = ast.unparse(rule.condition)
    if f"{name} is size" in condition:
        return Ref(graph.size(Dim.symbol("n")), ())
    if f"{name} is array" in condition:
        return Ref(graph.input(name, ["n"]), (0,))
    known = [word for word in ("finite",) if f"{name} is {word}" in condition]
    known += ["positive"] * (f"{name} > 0" in condition)
    whole = Ref(graph.input(name, [], known), ())
    if f"{name} is condition" in condition:
        return Ref(graph.map("not_equal", (), [whole, (graph.constant(0), ())]), ())
    if f"{name} is negated" in condition:
        return Ref(graph.scale(whole.node, -1), ())
    return whole


def sides(group: str, rule: Rule) -> tuple[str, ast.expr]:
    """What two expressions a rule says are one; beside a number, the difference is."""
    if group != "near a number":
        return rule.left, rule.result
    (_, number), (c, rest) = added(rule.result)
    return f"({rule.left}) - ({ast.unparse(number)})", scaled(c, rest)


def scaled(c: int, tree: ast.expr) -> ast.expr:
    return tree if c == 1 else ast.UnaryOp(ast.USub(), tree)


@EACH
def test_both_sides_are_one_function(group: str, rule: Rule) -> None:
    left, right = sides(group, rule)
    tried = 0
    for at in points(rule):
        value, other = truth(left, at), truth(ast.unparse(right), at)
        # Where no number stands on the left, none stands on the right.
        assert (value is None) == (other is None), at
        if value is not None:
            assert agree(value, other), at
            tried += 1
    assert tried


@EACH
def test_the_right_side_and_its_slopes_keep_their_digits(
    group: str, rule: Rule
) -> None:
    left, right = sides(group, rule)
    is_smooth = "condition" not in ast.unparse(rule.condition) and "not" not in left
    for at in points(rule):
        graph = Graph(StableForms())
        inputs = {k: graph.input(k, []) for k in at if k not in NUMBERS}
        refs = {k: Ref(x, ()) for k, x in inputs.items()}
        refs.update({k: Ref(graph.constant(at[k]), ()) for k in at if k in NUMBERS})
        node = build(graph, right, refs).node
        # Derivatives by the order of a derivative there are none.
        wrt = [k for k in inputs if is_smooth and k != "s"]
        slopes = jacobian(graph, node, [inputs[k] for k in wrt], "reverse")
        given = {k: np.float64(at[k]) for k in inputs}
        nodes = [node, *slopes]
        found = [x.item() for x in evaluate(nodes, given, FUNCTIONS, REFERENCE)]
        true = [truth(left, at, by) for by in ("", *wrt)]
        largest = max([abs(x) for x in true[1:] if x is not None], default=0)
        # The last digit of what is given is not known, nor that of the gradient.
        size = 1 + sum(abs(x) for x in given.values())
        for k, (own, x) in enumerate(zip(found, true, strict=True)):
            if x is not None and 1e-300 < abs(x) < 1e300:
                known = abs(x) if k == 0 else largest
                assert abs(own - x) <= 1e-14 * size * known, (at, k, own, x)


@EACH
def test_a_rule_is_the_first_that_fits_its_pattern(group: str, rule: Rule) -> None:
    graph = Graph()
    every = [x for x in names(rule) if x not in NUMBERS]
    refs = {name: operand(graph, rule, name) for name in every}
    at = next(points(rule))
    refs.update({k: Ref(graph.constant(at[k]), ()) for k in at if k in NUMBERS})
    refs["half"] = Ref(graph.constant(Fraction(1, 2)), ())
    match ast.parse(rule.left.replace("(1 / 2)", "half"), mode="eval").body:
        case ast.BinOp(left, ast.Mult(), right):
            pair = build(graph, left, refs), build(graph, right, refs)
            found = rules.pair_of_factors(graph, pair)
            assert found is not None
            assert times(graph, *found) == build(graph, rule.result, refs)
        case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
            pair = build(graph, left, refs), build(graph, right, refs)
            ratio = Fraction(1 if isinstance(op, ast.Add) else -1)
            whole = rules.pair_of_terms(graph, pair, ratio)
            assert whole == build(graph, rule.result, refs)
        case tree:
            fit = rules.fit(graph, group, build(graph, tree, refs))
            assert fit is not None
            assert fit.rule is rule


@EACH
def test_results_and_conditions_speak_of_what_the_pattern_has(
    group: str, rule: Rule
) -> None:
    given = {
        x.id
        for x in ast.walk(ast.parse(rule.left, mode="eval"))
        if isinstance(x, ast.Name)
    }
    asked = [rule.result, rule.condition]
    used = {x.id for y in asked for x in ast.walk(y) if isinstance(x, ast.Name)}
    assert used - given <= {"pi", "inf", *ELEMENTWISE, *rules.WORDS}


def test_arguments_of_what_commutes_are_found_in_either_order() -> None:
    graph = Graph(StableForms())
    x, two = Ref(graph.input("x", []), ()), Ref(graph.constant(2), ())
    found = [apply(graph, "rhypot", *pair) for pair in ((x, two), (two, x))]
    assert found[0] == found[1] == build(graph, tree("hypot(x, 2)**(-1)"), {"x": x})


def test_a_name_stands_for_all_that_is_left_of_a_sum() -> None:
    graph = Graph(StableForms())
    x, y, z = (Ref(graph.input(name, []), ()) for name in "xyz")
    rest = [(1, x), (-1, y), (2, z)]
    whole = total(graph, [*rest, (1, Ref(graph.constant(1), ()))])
    assert apply(graph, "acosh", whole) == apply(graph, "acosh1p", total(graph, rest))


def test_what_a_name_stands_for_is_made_and_compared() -> None:
    graph = Graph(StableForms())
    refs = {"x": Ref(graph.input("x", []), ())}
    found = build(graph, tree("log(2 * x + sqrt(1 + 4 * x**2))"), refs)
    assert found == build(graph, tree("asinh(2 * x)"), refs)


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="not a pattern: x\\[0\\]"):
        rules.parsed("[values]\nlog(x[0]) -> x\n")


def tree(text: str) -> ast.expr:
    """An expression."""
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize("k", [-3, -1, 3, 5])
def test_odd_powers_of_absolute_values_have_their_signs_back(k: int) -> None:
    graph = Graph(StableForms())
    x = Ref(graph.input("x", ("n",)), (0,))
    raised = power(graph, apply(graph, "abs", x), k)
    assert times(graph, raised, apply(graph, "sign", x)) == power(graph, x, k)
