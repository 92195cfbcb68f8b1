"""Modelled memory against what is measured, and modelled work against other modes."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorgen
from tensorgen.arrays.price import ELIDED, peak
from tensorgen.passes import optimise
from tests.prices import Prices, cliffs
from tests.programs.structured import structured_program
from tests.random_programs import program

NEAR = 0.2
HEAD = "tensorgen: 1\ninputs: {X: [m, n], Y: [m, n], x: [n], y: [n], q: {shape: [m], index: n}}\nfunctions:\n  f:\n"
CASES = {
    "masks": "sum(where(X > 0, X*Y, 0))",
    "gathers": "sum(x[q]*y[q]**2)",
    "temporaries": "sum((X*Y + X)*Y - exp(X)*2)",
    "products": "sum(tanh(X.T @ Y)**2)",
    "turned": "sum(exp(X)*Y) + sum(tanh(X.T)**2)",
}
