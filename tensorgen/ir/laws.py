"""What a row of a table of rewrites says: of nodes, and of arrays."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Law:
    """What is equal (`law`), what must hold before, and why rewriting terminates."""

    name: str
    law: str
    needs: str
    ends: str
