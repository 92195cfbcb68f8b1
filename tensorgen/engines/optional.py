"""Libraries that only some engines need, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any

# Too large, or too much a matter of the cluster, for an extra of ours.
BY_THEMSELVES = {
    "cupy": "'tensorgen[cupy]'",
    "cupyx": "'tensorgen[cupy]'",
    "pyspark": "pyspark",
    "ray": "ray",
}


def needed(name: str) -> Any:
    """Return a module; ImportError that says what to install if there is none."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        top = name.partition(".")[0]
        what = BY_THEMSELVES.get(top, "'tensorgen[engines]'")
        raise ImportError(f"{top} is not installed: pip install {what}") from error
