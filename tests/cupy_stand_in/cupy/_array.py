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

    _array: Any
    _memory: Any = None

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None) -> None:
        _signatures.check("cupy.ndarray", (shape, dtype, memptr), {})
        self._memory = memptr.mem
        given = shape, dtype, memptr.mem.bytes, memptr._offset
        self._array = numpy.ndarray(*given)

    @property
    def _data(self) -> Any:
        """What is computed with."""
        if self._memory is not None:
            self._memory.use()
        return self._array

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    @property
    def data(self) -> Any:
        """Where the buffer is, and on which device if it was given by a pointer."""
        address = self._array.__array_interface__["data"][0]
        device = getattr(self._memory, "device_id", None)
        return types.SimpleNamespace(ptr=address, device_id=device)

    def _viewed(self, value: Any) -> Any:
        """Wrap what was made of this array, which a view of it keeps alive."""
        found = wrap(value)
        if isinstance(value, numpy.ndarray) and value.base is not None:
            found._base, found._memory = self, self._memory
        return found

    def get(self) -> Any:
        """Return a copy on the host."""
        launch("get")
        return self._data.copy()

    def __getitem__(self, key: Any) -> Any:
        if _at_arrays(key):
            launch("take")
            return wrap(self._data[wrapped(unwrap(key), self._data.shape)])
        return self._viewed(_view(self._data, unwrap(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not isinstance(value, (ndarray, *NUMBERS)):
            raise TypeError(f"cannot assign {type(value)} to a part of a device array")
        if _at_arrays(key):
            launch("setitem")
            _store(self._data, unwrap(key), unwrap(value))
        elif not _is_same(_view(self._data, unwrap(key)), value):
            launch("setitem")
            self._data[unwrap(key)] = unwrap(value)

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        return (wrap(row) for row in self._data)

    def __str__(self) -> str:
        return str(self._data)

    def __repr__(self) -> str:
        return f"device {self._data!r}"


def _at_arrays(key: Any) -> bool:
    """Whether arrays say which entries; those of a mask the host has to count."""
    places = key if isinstance(key, tuple) else (key,)
    arrays = [place for place in places if isinstance(place, ndarray)]
    if any(place._data.dtype == bool for place in arrays):
        declare_synchronize()
    return bool(arrays)


def wrapped(key: Any, shape: tuple[int, ...]) -> Any:
    """A key in which places out of range stand for those that CuPy wraps them to."""
    parts = key if isinstance(key, tuple) else (key,)
    taken = [getattr(x, "ndim", 1) if _is_mask(x) else x is not None for x in parts]
    rest = len(shape) - sum(
        n for n, x in zip(taken, parts, strict=True) if x is not ...
    )
    found, axis = [], 0
    for part, count in zip(parts, taken, strict=True):
        is_places = isinstance(part, numpy.ndarray) and not _is_mask(part)
        found.append(part % shape[axis] if is_places and shape[axis] else part)
        axis += rest if part is ... else count
    return tuple(found)


def _is_mask(part: Any) -> bool:
    return isinstance(part, numpy.ndarray) and part.dtype == bool


def _store(data: Any, key: Any, value: Any) -> None:
    """Store entries at arrays; of one place that comes twice the first one stays.

    A device stores them in any order: with NumPy's, the last one would stay.
    """
    places = numpy.arange(data.size).reshape(data.shape)[wrapped(key, data.shape)]
    values = numpy.broadcast_to(value, places.shape)
    data.flat[places.ravel()[::-1]] = values.ravel()[::-1]


def _view(data: Any, key: Any) -> Any:
    """A part of an array; of a single entry, too, it is a view, unlike NumPy's."""
    places = key if isinstance(key, tuple) else (key,)
    return data[places if any(x is ... for x in places) else (*places, ...)]


def _is_same(part: Any, value: Any) -> bool:
    """Whether a value is a part of an array itself, as `a[k] += v` has changed it."""
    return isinstance(value, ndarray) and are_alike(part, value._data)


def are_alike(one: Any, other: Any) -> bool:
    """Whether arrays are the same entries in the same order.

    Steps along an axis of one entry lead nowhere.
    """

    def layout(x: Any) -> object:
        steps = (step for step, n in zip(x.strides, x.shape, strict=True) if n > 1)
        return x.ctypes.data, x.shape, tuple(steps)

    return bool(layout(one) == layout(other))


def wrap(value: Any) -> Any:
    """Return arrays and NumPy's scalars as device arrays, also within tuples."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        result = ndarray.__new__(ndarray)
        # CuPy has no scalars: what NumPy makes one has shape ().
        result._array = numpy.asarray(value)
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
        launch(name)
        result = wrap(function(*unwrap(args), **unwrap(kwargs)))
        out = kwargs.get("out")
        return result if out is None else out

    if isinstance(function, numpy.ufunc) and _signatures.has(f"{name}.at"):

        def at(out: Any, places: Any, values: Any) -> None:
            places = wrapped(places, out.shape)
            # NumPy's own reads beyond values of fewer axes than the places have.
            function.at(out, places, numpy.broadcast_to(values, out[places].shape))

        call.at = lifted(at, f"{name}.at")  # type: ignore[attr-defined]
    return call


def _method(name: str) -> Function:
    def call(self: ndarray, *args: Any, **kwargs: Any) -> Any:
        _signatures.check(f"cupy.ndarray.{name}", args, kwargs)
        launch(name)
        result = getattr(self._data, name)(*unwrap(args), **unwrap(kwargs))
        if name == "diagonal" and self._data.flags.writeable:
            result.flags.writeable = True  # NumPy's may only be read
        return self._viewed(result)

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
        launch(name)
        return getattr(self._data, name)()

    return call


def _attribute(name: str) -> property:
    return property(lambda self: self._viewed(getattr(self._data, name)))


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
