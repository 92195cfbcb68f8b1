"""Pieces of derivatives of several orders have names of their own."""

from __future__ import annotations

import re

from tests.made import generate

SPEC = """tensorgen: 1
dims: {n: 9, p: 3}
blocks: n
inputs: {C: [p, n]}
functions:
  f: {expr: 'sum(erf(C[0]))', wrt: C, emit: [3, 4]}
"""


def test_pieces_are_called_after_their_order() -> None:
    found = re.findall(r"^(?:def|class) (f_d\w+|FD\d\w*)", generate(SPEC), re.M)
    assert {"f_d3_rows", "f_d4_rows"} <= {*found}
    assert len(found) == len({*found}) and not any("d0" in x.lower() for x in found)
