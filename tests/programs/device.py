"""Holding a program's module for CuPy against the one for NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.device.agreement import Pair
from tests.device.cases import Case
from tests.device.library import execute, stand_in
from tests.made import both

Array = Any


@dataclass(frozen=True)
class _ProgramCase(Case):
    """A random program as a case, with arguments of its own."""

    given: Mapping[str, Array] = field(default_factory=dict)

    def arguments(self, dtype: str = "float64") -> dict[str, Array]:
        """The program's arguments."""
        return dict(self.given)


def disagreements(
    text: str, arguments: Mapping[str, Array], mode: str
) -> Iterator[str]:
    """Yield where the two modules of a spec give different results."""
    numpys, cupys = both(text, mode)
    case = _ProgramCase("program", text, given=arguments)
    with stand_in() as cupy:
        pair = Pair(case, execute(numpys), execute(cupys), cupy)
        # Sums are taken in another order, and some matrices are ill-conditioned.
        pair.tolerance = 1e-9
        for name in pair.functions():
            try:
                pair.same(*pair.call(name), where=name)
            except Exception as error:
                yield f"{mode}: cupy: {name}: {error}"
