"""What a model of a field consists of: its spec, code by hand, and data of any size."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

Array = Any
Data = dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """A generated function and the same by hand; both are called with the data.

    What is returned as a structure is compared by its product with `direction`, which
    `times` computes of what is returned by hand. `solves` names the gradient that the
    generated Hessian is solved with, where the operation is a Newton step.
    """

    name: str
    function: str
    hand: Callable[..., Any]
    times: Callable[[Any], Array] | None = None
    solves: str = ""


@dataclass(frozen=True)
class Pair:
    """A model: `data` are given a size, of which there are a small and a large one."""

    field: str
    model: str
    spec: str
    dim: str
    sizes: tuple[int, int]
    data: Callable[[int, Generator], Data]
    operations: tuple[Operation, ...]


def direction(size: int) -> Array:
    """Return what structures are multiplied by where they are compared."""
    return np.random.default_rng(1).normal(size=size)


def dense_times(H: Array) -> Array:
    """Return a matrix times the direction."""
    return H @ direction(len(H))
