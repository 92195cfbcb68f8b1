"""Entries that go to places of their own are stored, others are added up."""

from __future__ import annotations

import re

import numpy as np

import tensorgen
from tests.device.library import execute

STACKED = """
tensorgen: 1
inputs: {a: [n], b: [n]}
functions:
  apart: stack([a*b, a - b, -exp(a)])
  together: concatenate([a, b])[:n + 1] + concatenate([b, a])[n - 1:]
"""


def test_rows_of_a_stack_are_stored() -> None:
    text = tensorgen.generate(STACKED)
    code = text.split("def apart(")[1].split("\ndef ")[0]
    assert len(re.findall(r"    apart\[\d\] = ", code)) == 3
    assert "+=" not in code and "-=" not in code
    a, b = np.arange(3.0), np.array([1.0, -1.0, 2.0])
    module = execute(text)
    given = {"a": a, "b": b}
    np.testing.assert_array_equal(
        module.apart(**given), np.stack([a * b, a - b, -np.exp(a)])
    )


def test_parts_that_may_overlap_are_added_up() -> None:
    module = execute(tensorgen.generate(STACKED))
    a, b = np.arange(3.0), np.array([1.0, -1.0, 2.0])
    want = np.concatenate([a, b])[:4] + np.concatenate([b, a])[2:]
    np.testing.assert_array_equal(module.together(a=a, b=b), want)


REPEATED = """
tensorgen: 1
inputs: {a: [n], b: [n]}
functions: {f: "stack([a*b, a - b, -exp(a), a*b, a - b])"}
"""


def test_one_value_is_stored_at_all_its_places_at_once() -> None:
    text = tensorgen.generate(REPEATED)
    stores = re.findall(r"^    (f\[.*) = ", text, re.MULTILINE)
    assert stores == ["f[0] = f[3]", "f[1] = f[4]", "f[2]"]
    a, b = np.arange(3.0), np.array([1.0, -1.0, 2.0])
    want = np.stack([a * b, a - b, -np.exp(a), a * b, a - b])
    np.testing.assert_array_equal(execute(text).f(a, b), want)
