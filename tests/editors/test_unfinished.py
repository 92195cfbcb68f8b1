"""Texts that are being typed: whatever is there so far, every question is answered."""

from __future__ import annotations

from contextlib import suppress

import pytest

from tensorgen.editor.completion import proposals
from tensorgen.editor.definitions import defined
from tensorgen.editor.hover import told
from tensorgen.editor.occurrences import occurrences
from tensorgen.editor.rename import Refused, renameable
from tensorgen.editor.spacing import spacing
from tensorgen.editor.symbols import symbols
from tensorgen.errors import Source
from tests.editors.specs import SPEC

STRIDE = 61
"""Characters between two texts that are tried; with 1 it takes minutes."""


@pytest.mark.parametrize("rest", ["", "\n", "}\n", "\N{GRINNING FACE}'\n  x"])
def test_every_beginning_of_a_spec(rest: str) -> None:
    completed = 0
    for offset in range(len(rest), len(SPEC), STRIDE):
        source = Source("a.yaml", SPEC[:offset] + rest)
        completed += bool(proposals(source, offset).words)
        for found in occurrences(source):
            at = found.span
            assert source.text[at.start : at.end] == found.name.name
        assert all(a.start <= a.end for a, _ in spacing(source))
        for ask in (defined, told):
            ask(source, offset)
        symbols(source)
        with suppress(Refused):
            renameable(source, offset)
    assert completed > 0
