"""The stand-in's device array, and how functions of NumPy are lifted to it."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from . import _signatures
from ._config import declare_synchronize, launch

Function = Callable[..., Any]
# The size of their results depends on entries, which the host has to see.
_WAITING = """
    argwhere bincount extract flatnonzero lexsort nonzero tril_indices triu_indices
    unique lib.stride_tricks.sliding_window_view
"""
# Where NumPy takes numbers, too; the places of what has to be arrays.
_ARRAYS_ALONE = {
    "cupy.broadcast_to": (0,),
    "cupy.where": (0,),
    "cupyx.scipy.special.polygamma": (0,),
}
NUMBERS = (bool, int, float, complex, numpy.generic)


class ndarray:
    """An array that NumPy cannot see into, as if it were in another memory."""

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    _data: Any

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    @property
    def data(self) -> Any:
        """Where the buffer is."""
        address = self._data.__array_interface__["data"][0]
        return types.SimpleNamespace(ptr=address)

    def get(self) -> Any:
        """Return a copy on the host."""
        declare_synchronize()
        return self._data.copy()

    def __getitem__(self, key: Any) -> Any:
        if (seen := self._seen(key)) is not None:
            return wrap(seen)
        launch("take")
        return wrap(self._data[unwrap(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, (ndarray, *NUMBERS)):
            raise TypeError(f"cannot assign {type(value)} to a part of a device array")
        seen = self._seen(key) if isinstance(value, ndarray) else None
        # What `a[k] += v` has changed is where it is to be stored.
        if seen is not None and are_alike(seen, unwrap(value)):
            return
        launch("setitem")
        self._data[unwrap(key)] = unwrap(value)

    def _seen(self, key: Any) -> Any:
        """The view that places make, also of one entry; None if arrays say which."""
        places = key if isinstance(key, tuple) else (key,)
        if any(isinstance(place, ndarray) for place in places):
            return None
        whole = any(place is Ellipsis for place in places)
        return self._data[unwrap(places if whole else (*places, ...))]

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        return (wrap(row) for row in self._data)

    def __str__(self) -> str:
        return str(self._data)

    def __repr__(self) -> str:
        return f"device {self._data!r}"


def are_alike(one: Any, other: Any) -> bool:
    """Whether arrays are the same entries in the same order."""
    first, second = ((x.ctypes.data, x.shape, x.strides) for x in (one, other))
    return bool(first == second)


def _shows(result: Any, given: Any) -> bool:
    """Whether nothing was computed or copied: a result has memory of its argument."""
    if not isinstance(result, numpy.ndarray) or not isinstance(given, numpy.ndarray):
        return False
    return not result.size or numpy.may_share_memory(result, given)


def wrap(value: Any) -> Any:
    """Return arrays and NumPy's scalars as device arrays, also within tuples."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        result = ndarray()
        # CuPy has no scalars: what NumPy makes one has shape ().
        result._data = numpy.asarray(value)
        return result
    if isinstance(value, tuple):
        return tuple(map(wrap, value))
    if isinstance(value, list):
        return [*map(wrap, value)]
    return value


def unwrap(value: Any, host: bool = False) -> Any:
    """Return the data of device arrays; arrays of the host pass only with `host`."""
    if isinstance(value, ndarray):
        return value._data
    if isinstance(value, numpy.ndarray) and not host:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, tuple | list):
        return type(value)(unwrap(item, host) for item in value)
    if isinstance(value, dict):
        return {key: unwrap(item, host) for key, item in value.items()}
    return value


def lifted(function: Function, name: str) -> Function:
    """Return a function of NumPy arrays as one of device arrays."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _signatures.check(name, args, kwargs)
        for place in _ARRAYS_ALONE.get(name, ()):
            if not isinstance(args[place], ndarray):
                raise TypeError(f"{name} takes arrays alone, not {args[place]!r}")
        if name.removeprefix("cupy.") in _WAITING.split():
            declare_synchronize()
        given = unwrap(args)
        result = function(*given, **unwrap(kwargs))
        launch(name, _shows(result, given[0] if given else None))
        return wrap(result)

    if isinstance(function, numpy.ufunc) and _signatures.has(f"{name}.at"):

        def at(out: Any, places: Any, values: Any) -> None:
            # NumPy's own reads beyond values of fewer axes than the places have.
            function.at(out, places, numpy.broadcast_to(values, out[places].shape))

        call.at = lifted(at, f"{name}.at")  # type: ignore[attr-defined]
    return call


def _method(name: str) -> Function:
    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        _signatures.check(f"cupy.ndarray.{name}", args, kwargs)
        result = getattr(self._data, name)(*unwrap(args), **unwrap(kwargs))
        launch(name, _shows(result, self._data))
        return wrap(result)

    return call


def _operator(name: str) -> Function:
    def call(self: ndarray, *others: Any) -> Any:
        if any(isinstance(other, numpy.ndarray) for other in others):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if not all(isinstance(other, (ndarray, *NUMBERS)) for other in others):
            return NotImplemented
        launch(name)
        result = getattr(self._data, name)(*unwrap(others))
        if result is self._data:
            return self
        return wrap(result)

    return call


def _conversion(name: str) -> Function:
    def call(self: ndarray) -> Any:
        declare_synchronize()
        return getattr(self._data, name)()

    return call


def _attribute(name: str) -> property:
    return property(lambda self: wrap(getattr(self._data, name)))


_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
_OTHER = "neg pos abs invert eq ne lt le gt ge"
_CONVERSIONS = "__bool__ __int__ __float__ __index__ item tolist"
_OPERATORS = [
    *(f"__{side}{name}__" for side in ("", "r", "i") for name in _BINARY.split()),
    *(f"__{name}__" for name in _OTHER.split()),
]

for _names, _make in (
    (_OPERATORS, _operator),
    (_CONVERSIONS.split(), _conversion),
):
    for _name in _names:
        setattr(ndarray, _name, _make(_name))
for _name in _signatures.names("cupy.ndarray"):
    if _name not in ndarray.__dict__:
        _is_value = _signatures.is_value(f"cupy.ndarray.{_name}")
        setattr(ndarray, _name, (_attribute if _is_value else _method)(_name))
