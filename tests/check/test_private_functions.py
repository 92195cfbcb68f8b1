"""What functions of a formula share is checked with each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tensorgen.errors import InternalError, Source
from tensorgen.pipeline import compile_spec
from tensorgen.plans import share_code
from tests.arrays.test_outline import SPEC


def test_the_check_runs_what_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    made = share_code._Writer.private

    def wrong(self: Any, *piece: Any) -> Any:
        found = made(self, *piece)
        lines = [line.replace("np.expm1", "np.exp") for line in found.body.lines]
        body = replace(found.body, lines=tuple(lines))
        return replace(found, body=body)

    monkeypatch.setattr(share_code._Writer, "private", wrong)
    with pytest.raises(InternalError, match="does not compute"):
        compile_spec(Source("wrong.yaml", SPEC), ["numpy"], "cross-country")
