"""A fault in a pass, a rule or a statement is seen before anything is written."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tensorgen.check import Claim, Report, check
from tensorgen.errors import Source
from tensorgen.ir.constraints import index_bound
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Sum, topological
from tensorgen.ir.rebuild import substituted
from tensorgen.operators.matrices.symmetry import is_symmetric
from tensorgen.passes import optimise
from tensorgen.passes.context import Context, Plan
from tensorgen.passes.order import flatten_products
from tests.check import planting
from tests.check.gates import guilty
from tests.check.planting import is_seen, sound
from tests.passes.witnesses import EXAMPLES, INPUTS, PASSES, RULES

pytestmark = pytest.mark.thorough

# Faults of nodes


def sign(graph: Graph, node: Node) -> Node:
    if isinstance(node, Product) and not node.factors:
        return node  # a condition holds where it is not 0
    return graph.scale(node, -1)


def tripled(graph: Graph, node: Node) -> Node:
    return graph.scale(node, 3)


def dropped_term(graph: Graph, node: Node) -> Node:
    if not isinstance(node, Sum):
        return node
    sizes = dict(enumerate(node.dims))
    terms = [(c, x, labels) for c, x, labels in node.terms[:-1]]
    return graph.sum(range(node.order), terms, sizes)


def swapped_labels(graph: Graph, node: Node) -> Node:
    if not isinstance(node, Product) or node.constraints:
        return node
    for k, (factor, labels) in enumerate(node.factors):
        square = factor.order > 1 and factor.dims[0] == factor.dims[1]
        if square and not is_symmetric(factor):
            other = (labels[1], labels[0], *labels[2:])
            factors = [*node.factors]
            factors[k] = factors[k]._replace(labels=other)
            sizes = dict(enumerate(node.sizes))
            return graph.product(
                range(node.order), factors, coefficient=node.coefficient, sizes=sizes
            )
    return node


Fault = Callable[[Graph, Node], Node]
FAULTS: tuple[Fault, ...] = (sign, dropped_term, swapped_labels)
OTHERS: dict[str, tuple[Fault, ...]] = {
    "mirror_products": (tripled,),  # of a square, either root is right
    "scatter_sums": (dropped_term,),  # signs may move to whoever sums
    "open_divisors": (sign, dropped_term),  # a Hessian turned is the same
    "nest_bounds": (sign, dropped_term),
}


# Of small sums, blocks that are read off the derivative are chosen then.
INSTEAD = {"compress": INPUTS}


def with_fault(fault: Fault, graph: Graph, before: Sequence[Node], after: Plan) -> Plan:
    """Put a fault into the first node that a pass has made and that may have it."""
    known = set(topological(before))
    for node in topological(after.roots):
        # Index arrays are parts of deltas, where nothing is substituted.
        kept = node in known or index_bound(node) is not None
        broken = node if kept else fault(graph, node)
        if broken is not node:
            with graph.without_rewrites():
                return after.over(substituted(graph, after.roots, {node: broken}))
    return after


@pytest.mark.parametrize("place", range(len(PASSES)), ids=lambda k: PASSES[k][0])
def test_a_fault_in_a_pass_is_seen(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name, spec = PASSES[place]
    spec = INSTEAD.get(name, spec)
    right = sound(spec)
    rows = optimise.PASSES
    seen = 0
    for fault in OTHERS.get(name, FAULTS):

        def run(context: Context, plan: Plan, fault: Fault = fault) -> Plan:
            after = rows[place].run(context, plan)
            return with_fault(fault, context.graph, plan.roots, after)

        broken = replace(rows[place], run=run, optional=False)
        table = (*rows[:place], broken, *rows[place + 1 :])
        monkeypatch.setattr(optimise, "PASSES", table)
        seen += is_seen(spec, right)
    assert seen


# Each of these passes has a small witness.
GATED = [
    k
    for k, (name, _) in enumerate(PASSES)
    if name in ("take_entries", "gather_steady", "order_contractions", "share_products")
]


@pytest.mark.parametrize("place", GATED, ids=lambda k: PASSES[k][0])
def test_the_guilty_pass_is_found(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    name, spec = PASSES[place]
    source = Source("witness", ("tensorgen: 1\n" * ("tensorgen:" not in spec)) + spec)
    assert guilty(source) is None
    rows = optimise.PASSES

    def run(context: Context, plan: Plan) -> Plan:
        after = rows[place].run(context, plan)
        return with_fault(sign, context.graph, plan.roots, after)

    broken = replace(rows[place], run=run, optional=False)
    monkeypatch.setattr(optimise, "PASSES", (*rows[:place], broken, *rows[place + 1 :]))
    assert guilty(source) == name


@pytest.mark.parametrize("place", range(len(RULES)), ids=lambda k: RULES[k][0])
def test_a_fault_in_a_rule_is_seen(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, spec = RULES[place]
    right = sound(spec)
    rows = flatten_products.RULES
    seen = 0
    for fault in FAULTS:

        def run(known: Any, node: Node, fault: Fault = fault) -> Node:
            after = rows[place].run(known, node)
            return after if after is node else fault(known.context.graph, after)

        broken = replace(rows[place], run=run)
        table = (*rows[:place], broken, *rows[place + 1 :])
        monkeypatch.setattr(flatten_products, "RULES", table)
        seen += is_seen(spec, right)
    assert seen


# Faults of statements, whoever is to blame


def broken_texts(text: str) -> Iterator[tuple[str, str]]:
    """Yield programs with one fault each, and what it is."""
    tree = ast.parse(text)
    for k in range(len([*ast.walk(tree)])):
        other = copy.deepcopy(tree)
        node = [*ast.walk(other)][k]
        before = ast.unparse(node)
        match node:
            case ast.BinOp(op=ast.Add()) | ast.AugAssign(op=ast.Add()):
                node.op = ast.Sub()
            case ast.BinOp(op=ast.Sub()) | ast.AugAssign(op=ast.Sub()):
                node.op = ast.Add()
            case ast.BinOp(op=ast.Mult()):
                node.op = ast.Div()
            case ast.BinOp(op=ast.Div()):
                node.op = ast.Mult()
            case ast.BinOp(op=ast.Pow()):
                node.right = ast.Constant(5)
            case ast.UnaryOp(op=ast.USub()):
                node.op = ast.UAdd()
            case ast.keyword(arg="axis", value=ast.Constant(value=int() as axis)):
                node.value = ast.Constant(1 - axis)
            case _:
                continue
        yield f"{before} -> {ast.unparse(node)}", ast.unparse(other)


def claims_of(path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    found: list[tuple[Any, ...]] = []

    def heard(*given: Any) -> Report:
        found.append(given)
        return Report()

    with monkeypatch.context() as patch:
        patch.setattr(planting, "check", heard)
        planting.compiled(path.read_text("utf-8"))
    return found[0]


@pytest.mark.parametrize("name", ["quadratic_form", "ridge_regression"])
def test_a_fault_in_a_statement_is_seen(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims, classes, alias = claims_of(EXAMPLES / f"{name}.yaml", monkeypatch)
    monkeypatch.setattr("tensorgen.check.verdicts._Judge.is_close", lambda *_: False)
    count = 0
    for claim in claims[:: 1 if len(claims[0].body.lines) < 8 else 3]:
        report = check([claim], classes, alias)
        assert report.exact == [claim.name]
        for what, broken in broken_claims(claim):
            count += 1
            report = check([broken], classes, alias)
            assert report.exact == [], (claim.name, what)
    assert count > 20


def broken_claims(claim: Claim) -> Iterator[tuple[str, Claim]]:
    """Yield claims with one fault each, in what a function does or what it calls."""
    text = "\n".join([*claim.body.lines, f"_ = [{', '.join(claim.body.returns)}]"])
    for what, broken in broken_texts(text):
        yield what, with_text(claim, broken)
    for k, own in enumerate(claim.private):
        for what, broken in broken_texts("\n".join(own.body.lines)):
            lines = tuple(map(ast.unparse, ast.parse(broken).body))
            private = [*claim.private]
            private[k] = replace(own, body=replace(own.body, lines=lines))
            yield f"{own.name}: {what}", replace(claim, private=private)


def with_text(claim: Claim, text: str) -> Claim:
    *lines, last = ast.parse(text).body
    assert isinstance(last, ast.Assign)
    assert isinstance(last.value, ast.List)
    body = replace(
        claim.body,
        lines=tuple(map(ast.unparse, lines)),
        returns=tuple(map(ast.unparse, last.value.elts)),
    )
    return replace(claim, body=body)


@pytest.mark.parametrize("taps", [2, 5, 9])
def test_a_fault_is_seen_where_axes_have_to_be_long(
    taps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = f"""
module: windows
inputs: {{z: [n], w: [{taps}]}}
functions:
  f[i]: sum(w[k]*exp(z[i + k]), k)
"""
    right = sound(spec)
    (place,) = (k for k, row in enumerate(optimise.PASSES) if row.name == "widen_late")
    rows = optimise.PASSES

    def run(context: Context, plan: Plan) -> Plan:
        after = rows[place].run(context, plan)
        return with_fault(tripled, context.graph, plan.roots, after)

    broken = replace(rows[place], run=run, optional=False)
    monkeypatch.setattr(optimise, "PASSES", (*rows[:place], broken, *rows[place + 1 :]))
    assert is_seen(spec, right)
