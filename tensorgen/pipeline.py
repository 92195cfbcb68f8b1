"""The stages from a spec to its modules."""

from __future__ import annotations

from collections.abc import Sequence

from tensorgen.emit import write as write  # the command line's way to it
from tensorgen.errors import Source
from tensorgen.spec.read import read_spec


def compile_spec(
    source: Source, backends: Sequence[str] | None, mode: str
) -> dict[str, str]:
    """Return the text of each generated file by its name."""
    read_spec(source)
    raise NotImplementedError("the stages after reading are not connected yet")
