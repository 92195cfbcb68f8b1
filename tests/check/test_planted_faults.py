"""A fault in a pass, a rule or a printer is seen before anything is written."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tensorgen import pipeline
from tensorgen.arrays import operations as op
from tensorgen.arrays.arrays import Array
from tensorgen.arrays.printer import Printer
from tensorgen.arrays.templates import Level, Text
from tensorgen.check import Claim, check
from tensorgen.errors import InternalError, Source
from tensorgen.ir.graph import Graph
from tensorgen.ir.nodes import Node, Product, Sum, topological
from tensorgen.operators.symmetry import is_symmetric
from tensorgen.passes import flatten_products, optimise
from tensorgen.passes.context import Context, Plan
from tensorgen.passes.cut_stages import substituted
from tests.passes.test_laws import EXAMPLES, PASSES, RULES


def compiled(spec: str, checked: bool) -> str:
    head = "" if "tensorgen:" in spec else "tensorgen: 1\n"
    source = Source("witness", head + spec)
    made = pipeline.compile_spec(
        source, ["numpy"], "cross-country", False, checked=checked
    )
    return code("".join(made.values()))


def code(text: str) -> str:
    """A module without the texts in it: formulas have many right spellings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.unparse(tree)


# Faults of nodes


def sign(graph: Graph, node: Node) -> Node:
    return graph.scale(node, -1)


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


def with_fault(fault: Fault, graph: Graph, before: Sequence[Node], after: Plan) -> Plan:
    """Put a fault into the first node that a pass has made and that may have it."""
    known = set(topological(before))
    for node in topological(after.roots):
        broken = node if node in known else fault(graph, node)
        if broken is not node:
            return after.over(substituted(graph, after.roots, {node: broken}))
    return after


def is_seen(spec: str, right: str) -> bool:
    """Whether a fault that changes the text is told; it may change nothing."""
    if compiled(spec, checked=False) == right:
        return False
    try:
        compiled(spec, checked=True)
    except InternalError as error:
        assert "does not compute what calculus states" in str(error)
        return True
    raise AssertionError("another text, and nobody noticed")


@pytest.mark.parametrize("place", range(len(PASSES)), ids=lambda k: PASSES[k][0])
def test_a_fault_in_a_pass_is_seen(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, spec = PASSES[place]
    right = compiled(spec, checked=True)
    rows = optimise.PASSES
    seen = 0
    for fault in FAULTS:

        def run(context: Context, plan: Plan, fault: Fault = fault) -> Plan:
            after = rows[place].run(context, plan)
            return with_fault(fault, context.graph, plan.roots, after)

        broken = replace(rows[place], run=run, optional=False)
        table = (*rows[:place], broken, *rows[place + 1 :])
        monkeypatch.setattr(optimise, "PASSES", table)
        seen += is_seen(spec, right)
    assert seen


@pytest.mark.parametrize("place", range(len(RULES)), ids=lambda k: RULES[k][0])
def test_a_fault_in_a_rule_is_seen(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    _, spec = RULES[place]
    right = compiled(spec, checked=True)
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


# Faults of printers: an operation, and a wrong text of it

WITNESSES = {
    "matrix": """
inputs: {A: [n, n], B: [n, n], x: [n], T: [n, n, n]}
functions:
  f:
    where: |
      y = A @ x + B.T @ x
      z[i] = sum(T[k, j, i] * x[j] * y[k], j, k)
    expr: sum(exp(A[1:, :] * B[:-1, :])) + y @ z / sum(sqrt(x), axis=0)**2 - x @ y
    wrt: x
    emit: [value, gradient, hessian]
""",
    "sparse": (EXAMPLES / "total_variation.yaml").read_text("utf-8"),
    "softmax": (EXAMPLES / "softmax_regression.yaml").read_text("utf-8"),
}


@cache
def sound(name: str) -> str:
    """The text of a witness without a fault."""
    return compiled(WITNESSES[name], True)


def wrong(one: Array, args: list[Text], right: Text) -> Text | None:
    """A text with a fault of an operation, as somebody may write its row."""
    texts = [arg.text for arg in args]
    match one.op:
        case op.MatMul() if one.order == 1 and one.args[0].order == 2:
            return Text(f"{args[1].at(Level.ATOM)} @ {args[0].at(Level.ATOM)}")
        case op.Add(signs=(1, -1)):
            return Text(f"{texts[1]} - {args[0].at(Level.ATOM)}", Level.SUM)
        case op.Multiply(above=above) if above < len(args):
            top = " * ".join(x.at(Level.ATOM) for x in args[:above])
            return Text(f"{top or 1} * {args[-1].at(Level.ATOM)}", Level.TERM)
        case op.Reduce(axes=(axis,)) if one.order == 1:
            return Text(f"{args[0].at(Level.ATOM)}.sum(axis={1 - axis})")
        case op.Permute() if one.order == 2:
            return args[0]
        case op.Power(exponent=exponent) if exponent.denominator == 1:
            return Text(f"{args[0].at(Level.ATOM)} ** {exponent + 1}", Level.POWER)
        case op.Index() if ":-1" in right.text:
            return Text(right.text.replace(":-1", "1:"))
        case op.Elementwise(function="exp"):
            return Text(f"np.expm1({texts[0]})")
        case op.Einsum() if one.order == 2:
            swapped = right.text.split('"')
            inputs, _, kept = swapped[1].partition("->")
            return Text(f'{swapped[0]}"{inputs}->{kept[::-1]}"{swapped[2]}')
        case op.Expand(old=(True, False)):
            return Text(f"{args[0].at(Level.ATOM)}[None]")
    return None


@pytest.mark.parametrize(
    "kind",
    [
        *(op.MatMul, op.Add, op.Multiply, op.Reduce, op.Permute, op.Power),
        *(op.Index, op.Elementwise, op.Expand),
    ],
)
def test_a_fault_in_a_row_of_the_printer_is_seen(
    kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    rights = {name: sound(name) for name in WITNESSES}
    write = Printer._write

    def broken(printer: Printer, one: Array) -> Text:
        right = write(printer, one)
        if not isinstance(one.op, kind):
            return right
        args = [printer.written(arg) for arg in one.args]
        return wrong(one, args, right) or right

    def written(printer: Printer, one: Array) -> Text:
        return printer._write(one)  # what is remembered may be right

    monkeypatch.setattr(Printer, "_write", broken)
    monkeypatch.setattr(Printer, "written", written)
    assert any(is_seen(spec, rights[name]) for name, spec in WITNESSES.items())


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
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "check", lambda *given: found.append(given))
        compiled(path.read_text("utf-8"), checked=True)
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
        text = "\n".join([*claim.body.lines, f"_ = [{', '.join(claim.body.returns)}]"])
        for what, broken in broken_texts(text):
            count += 1
            report = check([with_text(claim, broken)], classes, alias)
            assert report.exact == [], (claim.name, what)
    assert count > 20


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
