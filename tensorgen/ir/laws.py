"""What a row of a table of rewrites says: of nodes, and of arrays."""

from __future__ import annotations

from dataclasses import dataclass, field

from tensorgen.ir.remarks import Remark


@dataclass(frozen=True)
class Law:
    """What is equal (`law`), what must hold before, and why rewriting terminates.

    A `remark` is for readers of what it has made, where they would not guess that.
    """

    name: str
    law: str
    needs: str
    ends: str
    remark: Remark | None = field(default=None, kw_only=True)
