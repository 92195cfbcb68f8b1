"""Names and tuples in code."""

from __future__ import annotations

import re
from collections.abc import Sequence


def mentions(text: str, name: str) -> bool:
    """Return whether code uses a name, other than as an attribute."""
    return re.search(rf"(?<![\w.]){re.escape(name)}\b", text) is not None


def tuple_text(parts: Sequence[str]) -> str:
    """Return expressions as a tuple, or a target of names: `(n,)`, `(m, n)`."""
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
