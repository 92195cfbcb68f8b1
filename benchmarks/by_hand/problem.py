"""What a problem of the suite consists of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

Data = dict[str, Any]


@dataclass(frozen=True)
class Problem:
    """A generated function, the same by hand, and what both are given.

    `call` takes the generated module and the data, and returns what is timed; without
    it `function` is called with the data. `jax` names a loss of in_jax.py, which is
    differentiated by what it is given first: so many `variables`, and `twice` for a
    Hessian.
    """

    name: str
    spec: str
    function: str
    data: Callable[[Generator], Data]
    hand: Callable[..., Any]
    call: Callable[[Any, Data], Callable[[], Any]] | None = None
    jax: str = ""
    variables: int = 1
    twice: bool = False
    agreement: float = 1e-8
    mode: str = "cross-country"
