"""Files of functions over NumPy, as `tensorgen from` reads them."""

from __future__ import annotations

import pytest
import yaml

from tensorgen.errors import Source, SpecError
from tensorgen.frontends.notations import NOTATIONS, guess_notation
from tensorgen.frontends.write_spec import Asked

ANNOTATED = """
import numpy as np

def margins(w, X, y):
    return y * (X @ w)

def loss(w: "n", X: "m n", y: "m", lam=0.1):
    '''Penalised logistic loss.'''
    return np.mean(np.log1p(np.exp(-margins(w, X, y)))) + lam * w @ w
"""
DECORATED = """
import numpy as np
import tensorgen

@tensorgen.function(x="n", wrt="x", emit=["value", "hessian"])
def quartic(x):
    return np.sum(x**4)
"""


def spec(text: str, name: str = "in.py", **asked: object) -> dict[str, object]:
    source = Source(name, text)
    found = NOTATIONS[guess_notation(source)].read(source, Asked(**asked))  # type: ignore[arg-type]
    read: dict[str, object] = yaml.safe_load(found.spec)
    return read


@pytest.mark.parametrize("name", ["in.py", "<stdin>"])
def test_annotations_say_how_long_axes_are(name: str) -> None:
    found = spec(ANNOTATED, name, module="own", by=("w",), emit=("value",))
    assert found["module"] == "own"
    assert found["inputs"] == {
        "w": ["n"],
        "X": ["m", "n"],
        "y": ["m"],
        "lam": {"shape": "scalar", "default": 0.1},
    }
    assert found["functions"] == {
        "loss": {
            "doc": "Penalised logistic loss.",
            "expr": "mean(log1p(exp(-(y * (X @ w))))) + lam * w @ w",
            "wrt": "w",
            "emit": ["value"],
        }
    }


def test_annotations_say_of_which_arguments_there_are_samples() -> None:
    text = "def f(w: 'n', x: 'n batch: B', y: 'batch: B'):\n    return y * (w @ x)\n"
    assert spec(text)["inputs"] == {
        "w": ["n"],
        "x": {"shape": ["n"], "batch": ["B"]},
        "y": {"shape": "scalar", "batch": ["B"]},
    }


def test_where_nobody_says_it_is_differentiated_by_the_first_argument() -> None:
    found = NOTATIONS["numpy"].read(Source("in.py", ANNOTATED), Asked())
    assert "    wrt: w\n" in found.spec
    first = "Assumed: it is differentiated by w, the first argument."
    assert found.remarks[0] == first


def test_a_decorator_says_all_that_is_not_asked_for() -> None:
    body = {"expr": "sum(x**4)", "wrt": "x", "emit": ["value", "hessian"]}
    assert spec(DECORATED)["functions"] == {"quartic": body}
    asked = spec(DECORATED, emit=("gradient",))["functions"]
    assert asked == {"quartic": body | {"emit": ["gradient"]}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('def f(x: "n"):\n    return x\ndef g(y: "n"):\n    return y\n', "f, g"),
        ("x = 1\n", "none"),
    ],
)
def test_one_function_is_brought_in(text: str, told: str) -> None:
    with pytest.raises(SpecError, match=f"one function .*: {told}"):
        spec(text)


def test_a_shape_that_nothing_says_is_a_fault_there() -> None:
    with pytest.raises(SpecError) as found:
        spec('def f(x: "n", y):\n    return x @ y\n')
    assert "in.py:1:15" in str(found.value)
    assert "the shape of 'y' is not stated" in str(found.value)
