"""What the suite measures: cases of contenders, and what of results is compared."""

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from tables import Row

Data = dict[str, Any]
Task = Callable[[], Any]


def leaves(result: Any) -> list[Any]:
    """Return the arrays of a result, dense."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    if hasattr(result, "dense"):
        result = result.dense()
    return [np.asarray(result)]


@dataclass(frozen=True)
class Contender:
    """One way to compute what a case asks for.

    `make` takes the data and returns what is timed; it compiles and copies, which
    counts to the first call. `libraries` are imported before any clock runs; where one
    is not installed, the contender is absent. `result` makes arrays to compare.
    """

    name: str
    make: Callable[[Data], Task]
    libraries: tuple[str, ...] = ()
    result: Callable[[Any], list[Any]] = leaves

    def missing(self) -> str:
        """Return the name of a library that is not installed, or nothing."""
        for library in self.libraries:
            try:
                importlib.import_module(library)
            except ImportError:
                return library
        return ""


@dataclass(frozen=True)
class Case:
    """A problem at one size: all contenders are given the same data, and take turns.

    `judge` is given the rows by name, and returns what is to be noted of ours. A first
    call may take so many seconds of `patience`.
    """

    problem: str
    dim: str
    size: int
    data: Callable[[Generator], Data]
    contenders: tuple[Contender, ...]
    agreement: float = 1e-8
    judge: Callable[[dict[str, Row]], str] | None = None
    patience: float = 10.0

    @property
    def name(self) -> str:
        """The problem and its size."""
        return f"{self.problem}, {self.dim} = {self.size}" if self.dim else self.problem


@dataclass(frozen=True)
class Set:
    """Cases that make one table and one plot; `letter` is what it is called by."""

    letter: str
    name: str
    title: str
    cases: Callable[[], Iterator[Case]]


def reference(names: list[str]) -> str:
    """Return whose result the others are held to: by hand, a peer, another of ours."""
    if "by hand" in names:
        return "by hand"
    others = [name for name in names if not name.startswith("tensorgen")]
    return (others or names[1:] or [""])[0]


def difference(found: list[Any], expected: list[Any], agreement: float) -> str:
    """Return how far two results are apart, or nothing where they agree."""
    if [np.shape(a) for a in found] != [np.shape(b) for b in expected]:
        shapes = [[np.shape(x) for x in side] for side in (found, expected)]
        return f"wrong: shapes {shapes[0]}, not {shapes[1]}"
    for a, b in zip(found, expected, strict=True):
        scale = float(np.abs(b).max(initial=0.0))
        off = float(np.abs(a - b).max(initial=0.0))
        if not off <= agreement * scale:
            return f"wrong: off by {off:.1e}, entries are up to {scale:.1e}"
    return ""
