"""Specs as people of many fields write them end as the corpus says."""

from __future__ import annotations

import random

import pytest

from tests.corpus.run import Spec, as_expected, fields, outcome, specs

pytestmark = pytest.mark.thorough

EVERY = [spec for field in fields() for spec in specs(field)]
SAMPLE = random.Random(12).sample(EVERY, 12)


@pytest.mark.parametrize("spec", SAMPLE, ids=[f"{x.field}/{x.name}" for x in SAMPLE])
def test_a_spec_of_the_corpus_ends_as_it_says(spec: Spec) -> None:
    found = outcome(spec)
    assert as_expected(spec, found), found


def test_names_of_the_corpus_are_unique() -> None:
    names = [(spec.field, spec.name) for spec in EVERY]
    assert len(names) == len(set(names))
