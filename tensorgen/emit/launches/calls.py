"""What calls do: of CuPy, of arrays, of Python, and of what the module defines."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tensorgen.emit.launches.counts import Uncountable
from tensorgen.emit.launches.expressions import Expressions, Scope
from tensorgen.emit.launches.law import ON_THE_HOST, launches, waits
from tensorgen.emit.launches.values import (
    Class,
    Closure,
    Device,
    Host,
    Launcher,
    Path,
    Range,
    Several,
    Shape,
    Value,
    is_on_device,
)
from tensorgen.ir.dims import ONE, Dim

_OF_CUPY = ("cupy", "cupyx")
_TESTS = frozenset(["all", "any", "isfinite", "isinf", "isnan", "logical_not"])
"""Functions that give conditions, not numbers."""


class Given(NamedTuple):
    """What a call is given: values by place, and by name."""

    values: Sequence[Value]
    named: dict[str, Value]


class Calls(Expressions):
    """Goes through calls; who inherits from it says what functions do."""

    def __init__(self) -> None:
        super().__init__()
        self.python: dict[str, Callable[[Sequence[Value]], Value]] = {
            "abs": lambda given: self._of_python("__abs__", given),
            "bool": lambda given: self._of_python("__bool__", given),
            "enumerate": lambda given: _paired(given[0]),
            "float": lambda given: self._of_python("__float__", given),
            "int": lambda given: self._of_python("__int__", given),
            "isinstance": _is_of,
            "len": _length,
            "list": lambda given: given[0] if given else Several(()),
            "range": _range,
            "reversed": lambda given: given[0],
            "slice": lambda given: Host(),
            "tuple": lambda given: given[0] if given else Several(()),
            "zip": _zipped,
        }

    def called(self, node: ast.Call, scope: Scope) -> Value:
        """What a call gives."""
        found: list[Value] = []
        for part in node.args:
            value = self.value(part, scope)
            if isinstance(part, ast.Starred):
                if not isinstance(value, Several):
                    raise Uncountable("arguments that are not known")
                found += value.values
            else:
                found.append(value)
        named = {x.arg or "**": self.value(x.value, scope) for x in node.keywords}
        given = Given(found, named)
        if isinstance(node.func, ast.Attribute):
            of = self.value(node.func.value, scope)
            if isinstance(of, Device):
                return self._method(of, node.func.attr, given)
            if isinstance(of, Several | Shape | Host):
                return self._of_a_container(of, node.func.attr, given)
        own = None
        if isinstance(node.func, ast.Name) and node.func.id not in scope:
            own = self._built_in(node.func.id, given)
        return own or self.applied_to(self.value(node.func, scope), given)

    def applied(self, function: Value, given: Sequence[Value]) -> Value:
        """What a function gives of some values."""
        return self.applied_to(function, Given(given, {}))

    def applied_to(self, function: Value, given: Given) -> Value:
        """What whatever is called gives."""
        match function:
            case Launcher():
                self.counter.launch()
                return Device()
            case Path():
                return self._of_library(function.name, given)
            case Closure() | Class():
                return self.entered(function, given)
            case Host():
                if any(map(is_on_device, given.values)):
                    raise Uncountable("a call of what is not known")
                return Host()
            case _:
                raise Uncountable(f"a call of {type(function).__name__}")

    def entered(self, function: Closure | Class, given: Given) -> Value:
        """What a function of the module gives, or an object of a class."""
        raise NotImplementedError

    def _built_in(self, name: str, given: Given) -> Value | None:
        if name == "_arrays":
            return Several(tuple(map(_argument, given.named.values())))
        if name in ("_real", "_integers", "_array"):
            return given.values[1] if is_on_device(given.values[1]) else Device()
        if name in ("max", "min") and is_on_device(Several(tuple(given.values))):
            self._compared_by_python(given.values)
            return Device()
        if name in self.python:
            return self.python[name](given.values)
        return None

    def _compared_by_python(self, values: Sequence[Value]) -> None:
        parts = values[0].values if isinstance(values[0], Several) else values
        for _ in parts[1:]:
            self.counter.launch()
            self.counter.wait()

    def _of_python(self, name: str, given: Sequence[Value]) -> Value:
        """What a built-in function of a number does where that is on the device."""
        if not given or not isinstance(given[0], Device):
            return Host()
        if waits(name):
            self.counter.wait()
            return Host()
        self.counter.launch()
        return Device(given[0].dims)

    def _of_library(self, name: str, given: Given) -> Value:
        """What a function of a library gives."""
        top, *_ = name.split(".")
        last = name.rpartition(".")[2]
        if last == "at":
            self.counter.launch()
            return Host(None)
        if top not in _OF_CUPY:
            return Host()
        if last in ("errstate", "allow_synchronize"):
            return Host()
        if last == "array" and not is_on_device(Several(tuple(given.values[:1]))):
            return Device()  # as `asarray` does, it copies from the host
        return self._counted(last)

    def _method(self, of: Device, name: str, given: Given) -> Value:
        found = self._counted(name)
        if name == "copy" and isinstance(found, Device):
            return Device(of.dims, of.is_mask)
        return found

    def _counted(self, name: str) -> Value:
        if waits(name):
            self.counter.wait()
        if launches(name):
            self.counter.launch()
        return Host() if name in ON_THE_HOST else Device(is_mask=name in _TESTS)

    def _of_a_container(self, of: Value, name: str, given: Given) -> Value:
        """What a method of a list, a mapping or a text gives."""
        if isinstance(of, Several):
            if name == "items":
                values = (Several((Host(), x)) for x in of.values)
                return Several(tuple(values))
            if name in ("values", "copy"):
                return of
            if name == "keys":
                return Several(tuple(Host() for _ in of.values))
        if name in ("append", "extend", "update") and is_on_device(
            Several(tuple(given.values))
        ):
            raise Uncountable("a list that grows")
        return Host()


def _argument(told: Value) -> Value:
    """What an argument is behind the check of its shape: `(x, "n")`."""
    assert isinstance(told, Several)
    dims = [_told_dim(x) for x in told.values[1:]]
    return Device(tuple(dims))


def _told_dim(told: Value) -> Dim | None:
    if not isinstance(told, Host):
        return None
    name = told.value
    if isinstance(name, str):
        return Dim.symbol(name) if name.isidentifier() else None
    return told.dim


def _range(given: Sequence[Value]) -> Value:
    dims = [x.dim if isinstance(x, Host) else None for x in given]
    if len(dims) == 1:
        return Range(dims[0])
    start, stop, *step = dims
    if step and step[0] not in (ONE, -ONE):
        return Range(None, few=True)  # in blocks, of which the first one counts
    if start is None or stop is None:
        return Range(None)
    return Range(start - stop if step == [-ONE] else stop - start)


def _paired(over: Value) -> Value:
    if isinstance(over, Several):
        pairs = (Several((Host(Dim.of(k)), x)) for k, x in enumerate(over.values))
        return Several(tuple(pairs))
    raise Uncountable("a loop over what is not known")


def _zipped(given: Sequence[Value]) -> Value:
    if all(isinstance(x, Several) for x in given):
        rows = zip(*(x.values for x in given if isinstance(x, Several)), strict=False)
        return Several(tuple(map(Several, rows)))
    if any(is_on_device(x) for x in given):
        raise Uncountable("a loop over what is not known")
    return Host()


def _length(given: Sequence[Value]) -> Value:
    (of,) = given
    if isinstance(of, Several):
        return Host(Dim.of(len(of.values)))
    if isinstance(of, Device) and of.dims and of.dims[0] is not None:
        return Host(of.dims[0])
    return Host(is_size=isinstance(of, Device))


def _is_of(given: Sequence[Value]) -> Value:
    """Whether a value is of a class: what is on the device is of that for arrays."""
    value, kinds = given
    several = kinds.values if isinstance(kinds, Several) else (kinds,)
    if isinstance(value, Device):
        return Host(any(x == Path("cupy.ndarray") for x in several))
    return Host()
