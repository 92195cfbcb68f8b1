"""Which call a contraction becomes, whatever its operands are made of."""

from __future__ import annotations

import tensorgen


def test_transposes_inside_of_an_operand_make_no_call_worse() -> None:
    text = tensorgen.generate("""
tensorgen: 1
module: turned
inputs: {A: [n, n], B: [n, n], C: [n, n], D: [n, n]}
functions:
  f:
    expr: (A.T * B + C.T * A + B.T * C + exp(D.T) * D + exp(C.T) * B) @ D
    emit: [value]
""")
    assert "tensordot" not in text
    assert " @ D" in text
