"""What is read of NumPy has NumPy's values: expression by expression."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tensorgen.errors import Source
from tensorgen.frontends.numpy_functions import read_numpy_function
from tensorgen.lang import program_of
from tensorgen.operators.references.rows import FUNCTIONS, OPERATORS
from tensorgen.spec.read import read_spec
from tensorgen.verify.interpret import evaluate
from tests.frontends.numpy_texts import ALL, HEAD, SHAPES, SIZES, arguments

GIVEN = arguments()


def text_of(expression: str) -> tuple[str, list[str]]:
    """Return a file with a function of an expression, and the arguments it has."""
    words = set(re.findall(r"\b[A-Za-z]\w*", expression))
    own = [name for name in SHAPES if name in words]
    return f"{HEAD}\ndef f({', '.join(own)}):\n    return {expression}\n", own


def read_value(spec: str, given: dict[str, Any]) -> Any:
    """Return the value of a spec's only function, by the language's interpreter."""
    _, program = program_of(read_spec(Source("<spec>", spec)))
    (function,) = program.functions
    known = {x.name: given[x.name] for x in function.arguments}
    sizes = {**SIZES, **{str(len(x)): len(x) for x in known.values() if np.ndim(x)}}
    return evaluate([function.node], known, FUNCTIONS, OPERATORS, sizes)[0]


@pytest.mark.parametrize("expression", ALL)
def test_an_expression_has_the_value_that_it_has_in_numpy(expression: str) -> None:
    text, own = text_of(expression)
    shapes = {name: SHAPES[name] for name in own}
    spec = read_numpy_function(text, "f.py", shapes, name="f").spec
    names: dict[str, Any] = {}
    exec(text, names)
    wanted = names["f"](*(GIVEN[name] for name in own))
    got = read_value(spec, GIVEN)
    assert np.shape(got) == np.shape(wanted)
    np.testing.assert_allclose(np.asarray(got, float), wanted, rtol=1e-9, atol=1e-12)
