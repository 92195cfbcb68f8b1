"""The self-check holds what blocks give against all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tensorgen.errors import InternalError, Source
from tensorgen.passes import cut_rows
from tensorgen.passes.cut_rows import RowCut
from tensorgen.pipeline import compile_spec
from tensorgen.plans.row_pieces import RowPlanner
from tests.row_blocks.models import MODELS


def compiled(name: str) -> str:
    source = Source("a.yaml", MODELS[name].spec("value, gradient"))
    (text,) = compile_spec(source, ["numpy"], "cross-country").values()
    return text


@pytest.mark.parametrize("name", ["logistic", "soft maximum", "ratings"])
def test_what_is_right_passes(name: str) -> None:
    assert "def f_finish(" in compiled(name)


def _lost(real: Callable[..., Any]) -> Callable[..., Any]:
    """Products of a factor less: the last of those that are multiplied."""

    def multiplied(self: RowCut, node: Any, labels: Any, parts: Any) -> Any:
        factors = [p for p in parts if p.factor is not None]
        twice = len(factors) > 1
        return real(
            self,
            node,
            labels,
            [p for p in parts if p is not factors[-1]] if twice else parts,
        )

    return multiplied


def test_a_factor_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = RowCut._multiplied
    monkeypatch.setattr(RowCut, "_multiplied", _lost(real))
    with pytest.raises(InternalError, match="does not compute what calculus states"):
        compiled("ratings")


@pytest.mark.parametrize("step", ["maximum", "multiply"])
def test_a_total_that_is_joined_otherwise_is_found(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = cut_rows.Total

    def joined(given: Any, of: Any, round_: int, own: str = "add", *more: Any) -> Any:
        return real(given, of, round_, step if own == "add" else own, *more)

    monkeypatch.setattr(cut_rows, "Total", joined)
    with pytest.raises(InternalError, match="does not compute what calculus states"):
        compiled("logistic")


def test_rows_that_count_from_zero_in_each_block_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(RowCut, "_numbers", lambda self, node: node)
    with pytest.raises(InternalError, match="does not compute what calculus states"):
        compiled("numbered")


MIXED = """tensorgen: 1
inputs: {U: [m, k], w: [k], y: [m]}
blocks: m
functions:
  f:
    where: r = U @ w - y
    expr: sum(r**2)
    wrt: [U, w]
    emit: [gradient]
"""


def mixed() -> str:
    (text,) = compile_spec(Source("a.yaml", MIXED), ["numpy"], "cross-country").values()
    return text


def test_results_with_rows_and_without_are_held_against_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "def f_grad_rows(" in mixed() and "def f_grad_finish(" in mixed()
    monkeypatch.setattr(RowCut, "_multiplied", _lost(RowCut._multiplied))
    with pytest.raises(InternalError, match="does not compute what calculus states"):
        mixed()


@pytest.mark.parametrize("end", ["finish", "rows"])
def test_what_pairs_of_variables_have_is_held_against_the_whole_hessian(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MIXED.replace("[gradient]", "[hessian]").replace(
        "sum(r**2)", "sum(r**2) + sum(w**4)"
    )
    real = RowPlanner._end

    def doubled(self: RowPlanner, planned: Any, roots: Any, kind: Any) -> Any:
        if kind.only and kind.name.endswith(end):
            roots = [self.graph.scale(roots[0], 2), *roots[1:]]
        return real(self, planned, roots, kind)

    monkeypatch.setattr(RowPlanner, "_end", doubled)
    with pytest.raises(InternalError, match=f"f_hess_{end} does not compute"):
        compile_spec(Source("a.yaml", text), ["numpy"], "cross-country")
