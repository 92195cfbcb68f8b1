"""Blocks that matrix products make are computed in memory from before the loop."""

from __future__ import annotations

import numpy as np
import pytest

from tests.made import generate, load, source

HEAD = """tensorgen: 1
module: buffers
dims: {m: 1000, n: 1000, k: 10}
inputs: {U: [m, k], V: [n, k], T: [m, n], W: [m, n]}
functions: {f: {expr: "EXPR", wrt: U, emit: [value, gradient]}}
"""
PLAIN = HEAD.replace("dims: {m: 1000, n: 1000, k: 10}\n", "")
SQUARES = "sum(W*(T - U @ V.T)**2)"
EXPRESSIONS = [
    SQUARES,
    "sum(log(1 + exp(T*(U @ V.T))))",
    "sum(sqrt(W**2 + (U @ V.T)**2) - W*(U @ V.T))",
    "sum((exp(-(U @ V.T)**2) - T)**2) + sum(sin(U @ V.T))",
    "sum(W*log(1 + (T - U @ V.T)**2))",
    "sum(where(T > 0, exp(U @ V.T), cos(W + U @ V.T)))",
]


def loop(spec: str, function: str) -> str:
    body = source(generate(spec), function)
    return body[body.index("    for start in range(") :]


@pytest.mark.parametrize("expr", EXPRESSIONS)
@pytest.mark.parametrize("sizes", [(200, 1000, 4), (1, 900, 2), (130, 1100, 3)])
def test_what_memory_is_used_again_changes_no_result(
    expr: str, sizes: tuple[int, int, int]
) -> None:
    m, n, k = sizes
    rng = np.random.default_rng(1)
    shapes = {"U": (m, k), "V": (n, k), "T": (m, n), "W": (m, n)}
    given = {x: rng.normal(size=shape) for x, shape in shapes.items()}
    kept = {x: v.copy() for x, v in given.items()}
    module, plain = load(HEAD.replace("EXPR", expr)), load(PLAIN.replace("EXPR", expr))
    taken = {x: given[x] for x in given if x in module.f.__annotations__}
    assert "out=space" not in loop(HEAD.replace("EXPR", expr), "f_value_and_grad")
    assert "space[:width]" in loop(HEAD.replace("EXPR", expr), "f_value_and_grad")
    for _ in range(2):  # what a call leaves behind is of no account
        value, grad = module.f_value_and_grad(**taken)
        expected, slope = plain.f_value_and_grad(**taken)
        assert value == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(grad, slope, rtol=1e-9, atol=1e-9)
    for x, v in given.items():
        np.testing.assert_array_equal(v, kept[x])


def test_an_array_is_written_over_when_nobody_reads_it_any_more() -> None:
    spec = HEAD.replace("EXPR", "sum(W*log(1 + (T - U @ V.T)**2))")
    lines = [line.strip() for line in loop(spec, "f_value_and_grad").splitlines()]
    last = "np.log1p(residual_squared, out=residual_squared)"
    reads = [k for k, line in enumerate(lines) if "residual_squared" in line]
    assert reads[-2:] == [lines.index(last), lines.index(last) + 1]
    # What is multiplied is divided by all that it was.
    assert "residual *= W_part / block" in lines


def test_loops_without_products_and_small_blocks_have_no_memory_of_their_own() -> None:
    spec = HEAD.replace("EXPR", "sum(exp(-T**2)*W) + sum(U**2)")
    assert "space" not in generate(spec)
    assert "space" not in generate(PLAIN.replace("EXPR", SQUARES))


def test_blocks_are_rows_of_what_is_large() -> None:
    """What all blocks read is no gain: the whole residual before a loop over k."""
    text = loop(HEAD.replace("EXPR", "sum((T - U @ V.T)**2)"), "f_grad")
    assert text.startswith("    for start in range(0, m, step):")
