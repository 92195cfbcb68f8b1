"""Laws that lower a degree: of the flops in the sizes, or of the numbers held.

Each of them earns its place by that, whatever it does at the sizes that specs hint at.
Others that fire seldom earn it by what a textbook's function costs without them.
"""

from __future__ import annotations

import ast
import re

import ablation
import pytest

from tensorgen.errors import Source, SpecError
from tensorgen.passes import optimise
from tensorgen.pipeline import compile_spec
from tests.passes.order.walks import WALK
from tests.passes.witnesses import (
    CHAIN,
    CLIPPED,
    COLUMNS,
    DIAGONAL,
    ENTRIES,
    HUBER,
    MESH,
    PROMISED,
    RISKS,
    WINDOWS,
)

FLOPS, NUMBERS = "flops", "numbers"

# A law, and a function whose cost has one degree with it and another one without it.
CASES = (
    ("widen_late", WINDOWS, "f", NUMBERS, 1, 2),
    ("open_promises", PROMISED, "f_grad", FLOPS, 2, 3),
    ("open_promises", PROMISED, "f_grad", NUMBERS, 1, 2),
    ("take_entries", DIAGONAL, "f", FLOPS, 2, 3),
    ("flatten_parts", COLUMNS, "f_hess", NUMBERS, 2, 3),
    ("select_entries", MESH, "f_grad", NUMBERS, 1, 2),
    ("nest_bounds", WALK, "f_hess", FLOPS, 2, 3),
    ("apply_inverses", CHAIN, "f_grad", FLOPS, 1, 2),
    ("apply_inverses", CHAIN, "f_grad", NUMBERS, 1, 2),
)

# A law, a function of the textbooks, and by what factor it is dearer without the law.
DEARER = (
    ("turn_walks", RISKS, 1.3),
    ("drop_steps", CLIPPED, 4),
    ("select_terms", HUBER, 1.9),
    ("clip_selections", HUBER, 2.5),
)


def degree(spec: str, function: str, what: str) -> int:
    """The degree of what a docstring says that a function takes or stores."""
    source = Source("<degrees>", f"tensorgen: 1{spec}")
    given = ["numpy"], "cross-country", False
    (text,) = compile_spec(source, *given, checked=False).values()
    (own,) = (
        x
        for x in ast.parse(text).body
        if isinstance(x, ast.FunctionDef) and x.name == function
    )
    told = (ast.get_docstring(own) or "").partition("Cost: ")[2]
    cost, *_ = re.split(r"\n\n|\nRaises", told)
    (amount,) = (part for part in cost.split(";") if part.endswith(what))
    terms = re.split(r" [+-] ", amount.removesuffix(what))
    return max(map(_degree, terms))


def _degree(term: str) -> int:
    powers = re.findall(r"[a-z]\w*(?:\*\*(\d+))?", term.replace("peak memory", ""))
    return sum(int(power or 1) for power in powers)


@pytest.mark.parametrize(
    ("law", "spec", "function", "what", "least", "most"),
    CASES,
    ids=[f"{law}-{what}" for law, _, _, what, _, _ in CASES],
)
def test_without_a_law_a_degree_is_higher(
    law: str,
    spec: str,
    function: str,
    what: str,
    least: int,
    most: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert degree(spec, function, what) == least
    without(law, monkeypatch)
    assert degree(spec, function, what) == most


@pytest.mark.parametrize(
    ("law", "spec", "factor"), DEARER, ids=[law for law, _, _ in DEARER]
)
def test_without_a_law_a_function_of_the_textbooks_is_dearer(
    law: str, spec: str, factor: float
) -> None:
    (effect,) = ablation.ablated("one", f"tensorgen: 1{spec}", [law], 0).values()
    assert max(effect.prices) > factor


def test_without_joined_entries_all_pairs_of_entries_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert degree(ENTRIES, "f", FLOPS) == 1
    without("join_entries", monkeypatch)
    with pytest.raises(SpecError, match="compare all entries of sparse matrices"):
        degree(ENTRIES, "f", FLOPS)


def without(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a law out."""
    rows = tuple(row for row in optimise.PASSES if row.name != law)
    assert len(rows) < len(optimise.PASSES)
    monkeypatch.setattr(optimise, "PASSES", rows)
