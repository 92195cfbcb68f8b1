"""Each law has a witness: a spec whose text is another one without it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tensorgen.arrays import rewrites
from tensorgen.errors import Source, SpecError
from tensorgen.passes import optimise
from tensorgen.passes.order import flatten_products
from tensorgen.passes.order.order_contractions import Contraction
from tensorgen.passes.sharing import factor_pairs
from tensorgen.pipeline import compile_spec
from tests.passes.witnesses import (
    PAIRS,
    PASSES,
    REPEATED,
    REWRITES,
    RULES,
    SCALED_TWICE,
    TURNED,
)

# A table where it stands, its witnesses, and a row that changes nothing.
TABLES: tuple[tuple[Any, str, Any, Any], ...] = (
    (optimise, "PASSES", PASSES, lambda context, plan: plan),
    (flatten_products, "RULES", RULES, lambda known, node: node),
    (rewrites, "REWRITES", REWRITES, lambda code, scene: code),
)
PLACES = [(table, k) for table in TABLES for k in range(len(table[2]))]


def text(spec: str) -> str:
    """The text generated from a spec, or what is said instead."""
    head = "" if "tensorgen:" in spec else "tensorgen: 1\n"
    source = Source.decode("<witness>", (head + spec).encode())
    try:
        (found,) = compile_spec(source, ["numpy"], "cross-country", False).values()
    except SpecError as error:
        return str(error)
    return found


@cache
def lawful(spec: str) -> str:
    """The text with all laws, which several tests ask for before they leave one out."""
    return text(spec)


@pytest.mark.parametrize(
    ("table", "place"), PLACES, ids=[table[2][k][0] for table, k in PLACES]
)
def test_without_a_law_its_witness_is_another_text(
    table: tuple[Any, str, Any, Any], place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, witnesses, same = table
    law, spec = witnesses[place]
    rows = [*getattr(module, name)]
    assert rows[place].name == law
    before = lawful(spec)
    rows[place] = replace(rows[place], run=same)
    monkeypatch.setattr(module, name, tuple(rows))
    assert text(spec) != before


@pytest.mark.parametrize("spec", [TURNED, SCALED_TWICE])
def test_what_is_made_is_shared_turned_and_scaled(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lawful(spec)
    laws = "share_products", "share_values"
    rows = [row for row in optimise.PASSES if row.name not in laws]
    monkeypatch.setattr(optimise, "PASSES", tuple(rows))
    assert text(spec) != before


def test_without_sharing_a_repeated_product_is_computed_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = lawful(REPEATED)
    assert "A_x = A @ x" in before
    monkeypatch.setattr(Contraction, "shared", lambda product: None)
    assert "A_x" not in text(REPEATED)


def test_without_masks_in_common_each_term_of_a_sum_is_masked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = lawful(PAIRS)
    monkeypatch.setattr(factor_pairs, "masks", lambda *_: iter(()))
    assert text(PAIRS) != before


def test_every_law_has_a_witness_and_says_what_it_is() -> None:
    for module, name, witnesses, _ in TABLES:
        rows = getattr(module, name)
        assert [row.name for row in rows] == [law for law, _ in witnesses]
        for row in rows:
            assert row.law and row.needs and row.ends
