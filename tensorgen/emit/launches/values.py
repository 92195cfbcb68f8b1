"""What is known of values while the text of a module is read: where they are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tensorgen.ir.dims import Dim

UNKNOWN = object()
"""What nobody knows before the module runs."""


@dataclass(frozen=True)
class Device:
    """An array on the device; its sizes, and whether its entries are conditions."""

    dims: tuple[Dim | None, ...] | None = None
    is_mask: bool = False


@dataclass(frozen=True)
class Host:
    """A value on the host: a polynomial of sizes, another constant, or unknown.

    A size without a name is called as what it is bound to. Sizes count as positive.
    """

    value: Any = UNKNOWN
    is_size: bool = False

    @property
    def dim(self) -> Dim | None:
        """The number that it is, as a polynomial of sizes."""
        return self.value if isinstance(self.value, Dim) else None

    @property
    def truth(self) -> bool | None:
        """Whether it is true, where that is known."""
        if self.is_size:
            return True
        if self.value is UNKNOWN:
            return None
        if isinstance(self.value, Dim):
            number = self.value.constant
            return None if number is None else bool(number)
        return bool(self.value)


@dataclass(frozen=True)
class Shape:
    """The sizes of an array, of which each is called as what it is bound to."""


@dataclass(frozen=True)
class Several:
    """A tuple, a list, or the values of a mapping."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Range:
    """What a loop goes through so many times."""

    times: Dim | None
    few: bool = False


@dataclass(frozen=True)
class Path:
    """What a dotted name of a library stands for."""

    name: str


@dataclass(frozen=True)
class Closure:
    """A function of the module, where it was defined, with what it is called on."""

    node: ast.FunctionDef | ast.Lambda
    scope: Mapping[str, Any]
    first: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Class:
    """A class of the module."""

    node: ast.ClassDef


@dataclass(eq=False)
class Instance:
    """An object of a class of the module."""

    of: ast.ClassDef
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Launcher:
    """A kernel of the module."""


Value = (
    Device
    | Host
    | Shape
    | Several
    | Range
    | Path
    | Closure
    | Class
    | Instance
    | Launcher
)


def is_on_device(value: Any) -> bool:
    """Whether a value is an array of the device, or has one among its parts."""
    if isinstance(value, Several):
        return any(map(is_on_device, value.values))
    return isinstance(value, Device)
