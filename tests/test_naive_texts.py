"""Naive texts keep their digits, at points where each step of them would overflow."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tensorgen
from tests.naive_texts import TEXTS, Text, kept, key, truth
from tests.sampled import sampled

Array = Any
TRUTHS = kept()
TINY = 1e-300


@pytest.mark.parametrize("text", sampled(TEXTS, 5), ids=lambda text: text.name)
def test_value_gradient_and_hessian_are_those_of_900_digits(text: Text) -> None:
    module = tensorgen.load(text.spec)
    functions = (module.f, module.f_grad, module.f_hess)[: text.orders + 1]
    data = {name: np.array(value, float) for name, value in text.data.items()}
    for at in text.points:
        for function, true in zip(functions, TRUTHS[key(text, at)], strict=False):
            with np.errstate(all="ignore"):
                found = function(np.array(at, float), **data)
            found = found.dense() if hasattr(found, "dense") else found
            most = float(np.max(np.abs(true)))
            np.testing.assert_allclose(
                found, true, 0, 2e-12 * most + text.floor + TINY, err_msg=f"at {at}"
            )


def test_truths_on_record_are_those_of_their_texts() -> None:
    chosen = random.Random(1).sample(TEXTS, 4)
    for text in chosen:
        at = text.points[-1]
        for found, expected in zip(TRUTHS[key(text, at)], truth(text, at), strict=True):
            np.testing.assert_array_equal(found, expected)
