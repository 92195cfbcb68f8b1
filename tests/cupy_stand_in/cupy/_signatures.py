"""What CuPy's own functions and methods take, in each version that modules are for."""

from __future__ import annotations

import functools
import inspect
import json
from pathlib import Path
from typing import Any

_PATH = Path(__file__).resolve().parent.parent / "signatures.json"
TABLE: dict[str, list[str | None]] = json.loads(_PATH.read_text())
VERSIONS = TABLE.pop("version")


def has(name: str) -> bool:
    """Whether all versions have what a dotted name says."""
    return None not in TABLE.get(name, [None])


def names(module: str) -> list[str]:
    """What all versions have in a module or class."""
    own = (name.rpartition(".") for name in TABLE if has(name))
    return [last for first, _, last in own if first == module]


def is_value(name: str) -> bool:
    """Whether a dotted name stands for what is not called."""
    return "value" in TABLE[name]


def check(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise TypeError where one of the versions would."""
    for version, signature in zip(VERSIONS, _signatures(name), strict=False):
        try:
            signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}, CuPy {version}: {error}") from error


@functools.cache
def _signatures(name: str) -> list[inspect.Signature]:
    """What versions take; one for all, where they agree."""
    texts = TABLE[name]
    return [
        inspect.signature(eval(f"lambda {text[1:-1]}: 0")) for text in texts if text
    ]
