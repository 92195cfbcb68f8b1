"""Which call a contraction becomes, whatever its operands are made of."""

from __future__ import annotations

import tensorgen


def test_transposes_inside_of_an_operand_make_no_call_worse() -> None:
    weights = [f"W{k}" for k in range(6)]
    inputs = ", ".join(f"{name}: [n, n]" for name in weights)
    z = "W0 @ x"
    for name in weights[1:]:
        z = f"{name} @ tanh({z})"
    text = tensorgen.generate(f"""
tensorgen: 1
module: network
dims: {{n: 30}}
inputs: {{{inputs}, x: [n]}}
functions:
  f: {{expr: logsumexp({z}), wrt: W0, emit: [hessian]}}
""")
    function, _, _ = text.partition("class _Scalable")
    assert "tensordot" not in function
