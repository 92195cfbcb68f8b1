"""The grammar of the reference is that of the parser."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tensorgen.errors import Faults, Text
from tensorgen.lang.syntax import parse
from tests.lang.grammar import derived, recognised
from tests.lang.speak import faults
from tests.lang.test_fuzz import SEEDS, grafted, mutated


@pytest.mark.parametrize("text", SEEDS)
def test_an_expression_is_one_by_the_grammar(text: str) -> None:
    assert recognised(text)


@pytest.mark.parametrize("change", [mutated, grafted])
def test_what_is_accepted_is_in_the_grammar(
    change: Callable[[random.Random], str],
) -> None:
    texts = [change(random.Random(seed)) for seed in range(300)]
    assert any(map(recognised, texts))
    assert [text for text in texts if not recognised(text) and not faults(text)] == []


def test_what_the_grammar_derives_can_be_read() -> None:
    for seed in range(300):
        text, found = derived(random.Random(seed)), Faults()
        parse(Text.plain(text), found)
        assert not found, text


@pytest.mark.parametrize(
    "text", ["x ^ 2", "x if y else z", "a, b", "x.T.S", "f(x", "not x", "{x}", "x[]"]
)
def test_what_is_no_expression_is_none_by_the_grammar(text: str) -> None:
    assert not recognised(text)
    assert faults(text)
