"""The JSON Schema knows the keys that the reader knows, and takes what it takes."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tensorgen.calculus.kinds import NAMED
from tensorgen.errors import Source, SpecError
from tensorgen.spec import externals, functions, inputs, problem, read, unknowns
from tensorgen.spec.read import read_spec
from tensorgen.spec.schema import spec_schema

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = spec_schema()
PARTS: dict[str, Any] = SCHEMA["definitions"]
SPECS = [*sorted((ROOT / "examples").glob("*.yaml"))]
CHECK = jsonschema.Draft7Validator(SCHEMA)


def faults(text: str) -> list[str]:
    return [error.message for error in CHECK.iter_errors(yaml.safe_load(text))]


def test_it_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    ("part", "keys"),
    [
        (SCHEMA, read._KEYS),
        (PARTS["input"]["anyOf"][1], inputs._KEYS),
        (PARTS["function"]["anyOf"][1], (*functions.FUNCTION_KEYS, functions.METRIC)),
        (PARTS["unknown"], unknowns._KEYS),
        (PARTS["external"], externals._KEYS),
        (PARTS["problem"], problem._KEYS),
    ],
)
def test_it_knows_the_keys_of_the_reader(part: Any, keys: tuple[str, ...]) -> None:
    assert {*part["properties"]} == {*keys}


def test_it_knows_every_kind() -> None:
    assert {*PARTS["emit"]["anyOf"][0]["enum"]} == {*NAMED}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_it_takes_the_examples(path: Path) -> None:
    assert faults(path.read_text("utf-8")) == []


GOOD = """tensorgen: 1
dims: {m: 20, n: }
inputs:
  x: [n]
  K: {shape: [n, n], spd: true}
  T: {shape: [n, n, n], symmetric: all}
  C: {shape: [n, n, m, m], symmetric: [[0, 1], [2, 3]]}
  P: {shape: [n, m, n], symmetric: [0, 2]}
  s: {shape: [m], index: n}
  c: {shape: scalar, default: 1e-3}
external:
  phi: {call: package.phi, derivative: dphi(x)}
unknowns:
  y: {shape: [n], equation: tanh(K @ y + x) - y, start: x}
definitions:
  half(t): t / 2
functions:
  zero: 0
  g[i, j=range(n)]: x[i] * x[j]
  f:
    where:
      S: {spd: K + diag(x**2)}
    expr: {loss: y @ S @ y, size: c}
    wrt: [x, {K: symmetric}]
    emit: [value, gradient, [x, K, K]]
  h: {expr: sum(x**4), wrt: {x: {metric: K}}, emit: 3}
  r: {expr: K @ x, wrt: x, emit: vjp, metric: K}
problem:
  minimize: h
  variables: {x: {lower: 0}}
  constraints: {g: {equal: 1}}
backends: numpy
"""


def test_it_takes_all_forms() -> None:
    assert faults(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("functions:", "functoins:"),
        ("expr:", "exp:"),
        ("spd: true", "spd: maybe"),
        ("symmetric: all", "symmetric: some"),
        ("symmetric: [0, 2]", "symmetric: [0, a]"),
        ("gradient", "gradeint"),
        ("m: 20", "m: 0"),
        ("backends: numpy", "backends: jax"),
        ("emit: 3", "emit: 2"),
        ("{shape: [n], equation", "{equation"),
        ("K: symmetric", "K: symetric"),
        ("lower: 0", "least: 0"),
    ],
)
def test_it_refuses_what_the_reader_refuses(old: str, new: str) -> None:
    assert old in GOOD
    wrong = GOOD.replace(old, new)
    with pytest.raises(SpecError):
        read_spec(Source("a.yaml", wrong), allow_external=True)
    assert faults(wrong) != []
