"""Code by blocks is held against calculus like any other: at blocks of two entries."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tensorgen
from tensorgen.arrays import cache_blocks, rewrites, speed
from tensorgen.arrays.block_loops import _Writing
from tensorgen.arrays.statements import Store
from tensorgen.errors import InternalError
from tests.sampled import left

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Anywhere(speed.Speed):
    """Takes all sizes for known ones, and the same."""

    def __init__(self, *given: object) -> None:
        """Forget all hints."""
        super().__init__({})

    def knows(self, *dims: object) -> bool:
        """All of them."""
        return True

    def entries(self, dims: object) -> int:
        """Enough for anything to be large."""
        return 2**30


@pytest.mark.parametrize(
    "name",
    [
        left("attention_layer"),
        "bilevel_ridge",  # calls with several results, of which some are shared
        "gaussian_mixture",
        "matrix_factorization",
        "poisson_regression",
        left("softmax_regression"),
        "tanh_network",
        left("total_variation"),
    ],
)
def test_blocks_of_two_entries_compute_what_calculus_states(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_by_blocks(monkeypatch)
    monkeypatch.setattr(cache_blocks, "BLOCK", 2)
    monkeypatch.setattr(cache_blocks, "BLOCK_OF_PRODUCTS", 2)
    text = tensorgen.generate(EXAMPLES / f"{name}.yaml")
    assert "for block in _blocks(" in text


def go_by_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all code go by blocks that can."""
    monkeypatch.setattr(rewrites.Scene, "speed_in_blocks", Anywhere())
    monkeypatch.setattr(cache_blocks.Schedule, "gain", lambda *given: 2.0)


TRANSECTS = """
tensorgen: 1
inputs: {beta: [k], lb: scalar, x: {shape: [n], positive: true}, Z: [n, k],
  u: {shape: [Q], positive: true}, wq: [Q]}
definitions: |
  g(x, s, b) = 1 - exp(-(x/s)**(-b))
functions:
  loglik:
    where: |
      s = exp(Z @ beta)
      b = 1 + exp(lb)
      esw[i] = sum(wq[q]*g(u[q], s[i], b), q)
    expr: sum(log(g(x, s, b)) - log(esw))
    wrt: [beta, lb]
    emit: [value, gradient, hessian]
"""


def test_no_function_of_a_block_takes_the_name_of_what_another_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_by_blocks(monkeypatch)
    text = tensorgen.generate(TRANSECTS)
    calls = [x for x in ast.walk(ast.parse(text)) if isinstance(x, ast.For)]
    for loop in calls:
        targets = [x.targets[0] for x in loop.body if isinstance(x, ast.Assign)]
        names = [n.id for x in targets for n in ast.walk(x) if isinstance(n, ast.Name)]
        stored = [x for x in names if x != "_" and names.count(x) > 1]
        assert "_block(" not in ast.unparse(loop) or not stored


MASKED = """
tensorgen: 1
dims: {m: 4000, n: 4000, k: 5}
inputs: {U: [m, k], V: [n, k], R: [m, n], M: [m, n]}
functions:
  f: {expr: "sum((M*(U @ V.T - R))**2)", wrt: [U, V], emit: [value, gradient]}
"""


def test_a_sum_of_the_last_block_alone_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = _Writing._added

    def last_alone(self: _Writing, old: object, block: object) -> None:
        kept(self, old, block)  # type: ignore[arg-type]
        line = self.body[-1]
        assert isinstance(line, Store)
        self.body[-1] = Store(line.target, line.at, line.places, "is", line.value)

    monkeypatch.setattr(_Writing, "_added", last_alone)
    with pytest.raises(InternalError, match="f does not compute what calculus states"):
        tensorgen.generate(MASKED)
