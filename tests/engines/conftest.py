"""What tests of engines have in common: the module, its rows in files, one digest."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from threadpoolctl import threadpool_limits

from tensorgen.engines import npy_rows
from tests.engines import logistic


class Given(NamedTuple):
    """The module, blocks of rows in files, and the digest by Python's own map."""

    folder: Path
    module: ModuleType
    blocks: Sequence[Any]
    digest: str


@pytest.fixture(scope="package")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    """Make the module once, where workers find it."""
    folder = tmp_path_factory.mktemp("engines")
    before = list(sys.path)
    module = logistic.written(folder)
    blocks = npy_rows(logistic.saved(folder), rows=logistic.AT_ONCE)
    with threadpool_limits(1):
        digest = logistic.digest(module, blocks)
    yield Given(folder, module, blocks, digest)
    sys.path[:] = before
    sys.modules.pop(logistic.NAME, None)
