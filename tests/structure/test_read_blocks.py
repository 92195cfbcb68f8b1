"""Blocks of a derivative are read off it where its places are, or entry by entry."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.made import code_of, load
from tests.structure.small_blocks import BARS, DOSES, POINTS

NOT_ALONE = """
tensorgen: 1
inputs: {P: [s, 2], w: [2], A: [s, s]}
functions:
  ridge: {expr: "sum(exp(P[:, 0]*P[:, 1])) + sum(w*P**2)", wrt: P, emit: [hessian]}
  joined: {expr: "sum(exp(P[:, 0] * (A @ P[:, 1])))", wrt: P, emit: [hessian]}
  third: {expr: "sum(sin(P[:, 0] * P[:, 1]))", wrt: P, emit: [hessian, 3]}
"""


def statements(text: str, name: str) -> list[str]:
    """The statements of a function, without those that give up names."""
    body = code_of(load(text), name)
    return [line for line in body.splitlines() if re.match(r"    \w.* [-+]?= ", line)]


def test_columns_are_called_after_what_they_are_tangents_of() -> None:
    lines = statements(DOSES, "loss_hess")
    assert any(line.startswith("    act_dot_3 = ") for line in lines)
    assert any(line.startswith("    d_top_dot_3 = ") for line in lines)


def test_a_symmetric_block_is_written_row_by_row_and_each_value_once() -> None:
    lines = statements(DOSES, "loss_hess")
    stores = [line.strip() for line in lines if line.startswith("    A[:, ")]
    places = [re.findall(r"\[:, (\d), (\d)\] = ", line) for line in stores]
    pairs = [(a, b) for a in "0123" for b in "0123" if a <= b]
    assert [own[0] for own in places] == pairs
    assert [own[1:] for own in places] == [[(b, a)] * (a != b) for a, b in pairs]


def test_what_saturates_keeps_its_digits() -> None:
    """Of `1 - act` squared, no `1 - 2*act + act**2` is left."""
    module = load(DOSES)
    steep = np.array([[0.0, 1.0, 0.0, 1.0]])
    x = np.linspace(20.0, 40.0, 5)[None]
    blocks = module.loss_hess(steep, x, np.ones_like(x)).dense()
    want = np.sum((np.exp(-x) / (1 + np.exp(-x))) ** 2)
    np.testing.assert_allclose(blocks[0, 0, 0, 0], want, rtol=1e-13)


@pytest.mark.parametrize(
    ("text", "name", "most"),
    [(BARS, "energy_hess", 25), (POINTS, "loss_hess", 35)],
    ids=["bars", "points"],
)
def test_jacobians_are_read_where_blocks_are(text: str, name: str, most: int) -> None:
    assert len(statements(text, name)) <= most


def test_opposite_ends_share_what_they_are_made_of() -> None:
    lines = statements(BARS, "energy_hess")
    assert sum("np.sqrt" in line for line in lines) == 1
    values = [
        line.split(" = ")[-1].strip() for line in lines if line.startswith("    A[:, ")
    ]
    assert len({value.lstrip("-") for value in values}) == 2


def test_what_blocks_hold_is_read_with_what_stands_on_their_diagonals() -> None:
    module = load(NOT_ALONE)
    rng = np.random.default_rng(3)
    P, w = rng.normal(size=(3, 2)), rng.uniform(1, 2, 2)
    made = module.ridge_hess(P, w)
    assert [array.shape for array in made.factors.values()] == [(3, 2, 2)]
    a, b = P.T
    e, i = np.exp(a * b), np.arange(3)
    want = np.zeros((3, 2, 3, 2))
    want[i, 0, i, 0] = b**2 * e + 2 * w[0]
    want[i, 1, i, 1] = a**2 * e + 2 * w[1]
    want[i, 0, i, 1] = want[i, 1, i, 0] = (1 + a * b) * e
    np.testing.assert_allclose(made.dense(), want, rtol=1e-13)


def test_what_is_joined_off_the_diagonal_is_no_block() -> None:
    structure = load(NOT_ALONE).JoinedHessian.structure
    assert "A[i, j, l]" not in structure


GROWTH = """
tensorgen: 1
inputs: {theta: [3], t: [m], y: [m]}
functions:
  loss:
    where: |
      f = theta[0] * exp(-theta[1] * exp(-theta[2] * t))
      r = f - y
    expr: sum(r**2) / 2
    wrt: theta
    emit: [hessian]
"""


def test_rows_of_a_vector_of_parameters_are_read_entry_by_entry() -> None:
    lines = [line.strip() for line in statements(GROWTH, "loss_hess")]
    assert "hess[0, 0] = f_dot_0 @ f_dot_0" in lines
    assert any(line.startswith("hess[1, 2] = hess[2, 1] = ") for line in lines)
    assert len(lines) < 30
