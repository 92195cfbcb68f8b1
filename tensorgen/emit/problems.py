"""Problem classes: a function bound to its data, on one flat vector."""

from __future__ import annotations

from dataclasses import dataclass

from tensorgen.emit.model import Module


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem class as its template sees it."""

    name: str


def problem(module: Module, function: str) -> Problem:
    """Describe the problem class of a function of the module."""
    raise NotImplementedError
