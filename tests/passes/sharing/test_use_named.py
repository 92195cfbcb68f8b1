"""What the user named is in the code, however products and powers are written."""

from __future__ import annotations

import numpy as np
import pytest

import tensorgen
from tests.made import source

RATES = """tensorgen: 1
inputs: {{v: [n], m: [n], current: [n]}}
functions:
  f:
    where: |
      a = {a}
      b = {b}
      leak = 0.3*(v + 54.4)
      m_dot = a*(1 - m) - b*m
    expr: stack([current - leak, m_dot])
    wrt: [v, m]
    emit: [jvp]
"""
SPELLINGS = [
    ("0.1*exp(v/20)", "4*exp(-v/18)"),
    ("exp(v/20)/10", "exp(-v/18)*4"),
    ("0.2*(0.5*exp(v/20))", "2*exp(-v/18) + 2*exp(-v/18)"),
]


@pytest.mark.parametrize(("a", "b"), SPELLINGS)
def test_named_multiples_are_computed_and_read(a: str, b: str) -> None:
    text = tensorgen.generate(RATES.format(a=a, b=b))
    code = source(text, "f_jvp")
    code = code[code.rindex('"""') :]
    assert "    a = " in code and "    b = " in code
    assert "    leak = 0.3 * (v + 54.4)" in code
    assert "16.32" not in code and "2 / 9" not in code
    # The tangent of m is none of what the user calls m_dot.
    assert "m_dot_2" not in code and "    m_dot = " in code


def test_values_are_the_same_by_all_spellings() -> None:
    rng = np.random.default_rng(0)
    given = {x: rng.normal(size=5) for x in ("v", "m", "current", "dv", "dm")}
    value, tangent = (
        np.array(own)
        for own in zip(
            *(
                tensorgen.load(RATES.format(a=a, b=b)).f_jvp(**given)
                for a, b in SPELLINGS
            ),
            strict=True,
        )
    )
    v, m, dv, dm = (given[x] for x in ("v", "m", "dv", "dm"))
    a, b = 0.1 * np.exp(v / 20), 4 * np.exp(-v / 18)
    rows = given["current"] - 0.3 * (v + 54.4), a * (1 - m) - b * m
    slope = a * (1 - m) / 20 + b * m / 18
    tangents = -0.3 * dv, slope * dv - (a + b) * dm
    np.testing.assert_allclose(value, [np.stack(rows)] * 3, 1e-12)
    np.testing.assert_allclose(tangent, [np.stack(tangents)] * 3, 1e-12)


ENZYME = """tensorgen: 1
inputs: {{theta: [2], x: [n], y: [n]}}
functions:
  f:
    where: |
      K = exp(theta[0])
      scale = exp(theta[1])
    expr: {expr}
    wrt: theta
    emit: [gradient]
"""


@pytest.mark.parametrize(
    "expr",
    [
        "sum((x/K - y)**2/scale)",
        "sum((x*exp(-theta[0]) - y)**2*exp(-theta[1]))",
        "sum((x*K**-1 - y)**2/scale)",
    ],
)
def test_one_over_a_named_exponential_is_that(expr: str) -> None:
    code = source(tensorgen.generate(ENZYME.format(expr=expr)), "f_grad")
    code = code[code.rindex('"""') :]
    assert "np.exp(-" not in code and "/ K" in code and "scale" in code


def test_what_has_no_number_is_not_made_a_multiple_of_what_has_one() -> None:
    text = tensorgen.generate("""tensorgen: 1
inputs: {x: [n], y: [n]}
functions:
  f:
    where: half = 0.5*sinh(x)
    expr: sum(exp(sinh(x))*y + tanh(sinh(x)) + half**2)
    emit: [value]
""")
    assert "2 * half" not in text
