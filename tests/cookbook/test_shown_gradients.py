"""What `tensorgen explain` shows of the Matrix Cookbook's derivatives."""

from __future__ import annotations

import re
from functools import cache

import pytest

import tensorgen
from tensorgen.errors import Source
from tensorgen.explanation.report import matrix_rows
from tensorgen.explanation.subjects import explained
from tests.cookbook.alike import same
from tests.cookbook.gradients import GRADIENTS, Row

ROWS = {row.identity.number: row for row in GRADIENTS}
ROOT = re.compile(r"(?:grad|tangent|hess|jac) = ")


@cache
def shown(number: str) -> str:
    """The derivative in matrix notation, as `explain` has it on lines of its own."""
    told = explained(Source("spec.yaml", ROWS[number].identity.spec()), None)
    joined = re.sub(r"\n +", " ", "\n".join(matrix_rows(told.subjects[1])))
    texts = [x for x in joined.split("\n") if ROOT.match(x)]
    return ROOT.sub("", texts[0]) if texts else ""
