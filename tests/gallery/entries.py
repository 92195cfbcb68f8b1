"""The entries of the gallery, run once a process."""

from __future__ import annotations

from typing import Any

import pytest

from docs.gallery import entry, ran


def found(name: str) -> Any:
    """What the run of an entry found, for its test."""
    return ran(name).found


def named(name: str) -> pytest.MarkDecorator:
    """Keep the tests of an entry in one process: each entry is run once."""
    return pytest.mark.xdist_group(name)


__all__ = ["entry", "found", "named"]
