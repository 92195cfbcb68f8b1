"""Blocks of rows on a device of CuPy: one is copied while another is computed on.

A thread reads the next block and puts its arrays into memory of the host that the
device reads by itself (pinned), from which they are copied on a stream of their own.
There are two such buffers, and two of the device: one has the block that is computed
on, and the other gets the next. Events say when a buffer may be written again.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from tensorgen.engines.optional import needed
from tensorgen.engines.sparse_rows import PARTS

ALIGNED = 256  # bytes, as CuPy's own arrays are

Rows = dict[str, Any]


class DeviceBlock:
    """A block whose arrays are on a device when it is called."""

    def __init__(self, uploads: _Uploads, number: int) -> None:
        self._uploads, self._number = uploads, number

    def __call__(self) -> Rows:
        """Return the rows by the names of inputs, as arrays of CuPy."""
        return self._uploads.rows(self._number)

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(
            "blocks on a device stay in their process; others call device_blocks"
        )


def device_blocks(blocks: Sequence[Any]) -> Sequence[DeviceBlock]:
    """Return blocks whose arrays are copied to the current device of CuPy.

    A block is a dictionary of arrays and sparse matrices, or a callable that returns
    one. While one is computed on, on the stream that is current where it is called, the
    next is read by a thread and copied on a second stream, if blocks are called in
    order. Arrays that are held stay as they are. TypeError for arrays without numbers.
    """
    uploads = _Uploads(blocks)
    return [DeviceBlock(uploads, number) for number in range(len(blocks))]


class _Uploads:
    """The buffers that all blocks share, and the block that is read ahead."""

    def __init__(self, blocks: Sequence[Any]) -> None:
        cuda = needed("cupy").cuda
        self._blocks, self._device = blocks, cuda.Device().id
        self._copies = cuda.Stream(non_blocking=True)
        self._taken, self._next = _Buffer(), _Buffer()
        self._reader = ThreadPoolExecutor(1, "device_blocks")
        self._ahead: tuple[int, Future[_Staged]] | None = None
        self._last = -1
        self._lock = threading.Lock()

    def rows(self, number: int) -> Rows:
        """Return a block's arrays on the device, and have the next one read.

        What is computed from now on, on the current stream, finds them there.
        """
        with self._lock:
            stream = needed("cupy").cuda.get_current_stream()
            if self._ahead is None or self._ahead[0] != number:
                self._read(number, stream)
            assert self._ahead is not None
            (_, found), self._ahead = self._ahead, None
            staged = found.result()
            self._taken, self._next = self._next, self._taken
            # All that is computed on the block before has been launched.
            self._next.release(stream)
            stream.wait_event(self._taken.copied)
            rows = self._taken.given(staged)
            in_order = number in (0, self._last + 1)  # no random blocks
            self._last = number
            if in_order and number + 1 < len(self._blocks):
                self._read(number + 1, stream)
            return rows

    def __del__(self) -> None:
        # Memory that is freed is not copied to.
        self._copies.synchronize()

    def _read(self, number: int, stream: Any) -> None:
        given = number, self._next, stream
        self._ahead = number, self._reader.submit(self._staged, *given)

    def _staged(self, number: int, buffer: _Buffer, stream: Any) -> _Staged:
        """Read a block, and have it copied behind what is computed on a stream."""
        block = self._blocks[number]
        staged = _staged(block() if callable(block) else block)
        # Each thread has a device of its own.
        with needed("cupy").cuda.Device(self._device):
            buffer.write(staged, stream, self._copies)
        # What has been copied is not held.
        return staged._replace(arrays=[])


class _Place(NamedTuple):
    """Where an array is in a buffer."""

    offset: int
    shape: tuple[int, ...]
    dtype: Any


class _Staged(NamedTuple):
    """The arrays of a block, and their places in a buffer.

    A row is made of some of these on the device, by a function.
    """

    arrays: Sequence[Any]
    places: Sequence[_Place]
    size: int
    rows: Mapping[str, tuple[slice, Callable[..., Any]]]


def _staged(rows: Mapping[str, Any]) -> _Staged:
    """Return the arrays of a block, and where each of them goes."""
    arrays: list[Any] = []
    made: dict[str, tuple[slice, Callable[..., Any]]] = {}
    for name, value in rows.items():
        parts, make = _parts(value)
        for array in parts:
            if array.dtype.kind not in "biufc":
                raise TypeError(f"{name}: expected numbers, got dtype {array.dtype}")
        made[name] = slice(len(arrays), len(arrays) + len(parts)), make
        arrays += parts
    places, size = [], 0
    for array in arrays:
        places.append(_Place(size, array.shape, array.dtype.newbyteorder("=")))
        size += math.ceil(array.nbytes / ALIGNED) * ALIGNED
    return _Staged(arrays, places, size, made)


def _parts(value: Any) -> tuple[list[Any], Callable[..., Any]]:
    """Return the arrays that a value consists of, and what makes one of them."""
    if hasattr(value, "tocsr"):
        matrix = value.tocsr()
        make = partial(_csr_matrix, matrix.shape)
        return [getattr(matrix, part) for part in PARTS], make
    if isinstance(value, np.ndarray):
        return [value], _itself
    number = value.item() if isinstance(value, np.generic) else value
    return [], partial(_itself, number)


def _csr_matrix(shape: tuple[int, int], *parts: Any) -> Any:
    return needed("cupyx.scipy.sparse").csr_matrix(parts, shape=shape)


def _itself(value: Any) -> Any:
    return value


class _Buffer:
    """Memory of the host and of the device that has one block at a time."""

    def __init__(self) -> None:
        self.copied = needed("cupy").cuda.Event(disable_timing=True)
        self._free = needed("cupy").cuda.Event(disable_timing=True)
        self._is_free = False
        self._pinned: Any = None
        self._memory: Any = None
        self._room = 0
        self._arrays: list[weakref.ref[Any]] = []

    def write(self, staged: _Staged, stream: Any, copies: Any) -> None:
        """Copy arrays to the host's memory now, and to the device's as it gets free."""
        self.copied.synchronize()  # the device still reads what was here before
        if not staged.size:
            return
        self._make_room(staged.size, stream)
        for array, (offset, shape, dtype) in zip(
            staged.arrays, staged.places, strict=True
        ):
            np.copyto(np.ndarray(shape, dtype, self._pinned, offset), array)
        copies.wait_event(self._free)
        self._memory.copy_from_host_async(self._pinned.ptr, staged.size, copies)
        self.copied.record(copies)

    def given(self, staged: _Staged) -> Rows:
        """Return the rows of the block that was written, on the device."""
        arrays = [self._array(*place) for place in staged.places]
        self._arrays = [weakref.ref(array) for array in arrays]
        return {name: make(*arrays[at]) for name, (at, make) in staged.rows.items()}

    def _array(self, offset: int, shape: tuple[int, ...], dtype: Any) -> Any:
        cupy = needed("cupy")
        if math.prod(shape):
            return cupy.ndarray(shape, dtype, memptr=self._memory + offset)
        return cupy.empty(shape, dtype)

    def release(self, stream: Any) -> None:
        """Free it behind what was launched, unless arrays of it are held."""
        self._is_free = not self._is_held()
        if self._is_free:
            self._free.record(stream)

    def _is_held(self) -> bool:
        """Whether somebody still has arrays of it, or views of them."""
        return any(array() is not None for array in self._arrays)

    def _make_room(self, size: int, stream: Any) -> None:
        """See to memory of both that nobody has, as large as a block."""
        cuda = needed("cupy").cuda
        is_small = size > self._room
        if is_small:
            self._pinned, self._room = cuda.alloc_pinned_memory(size), size
        if is_small or self._is_held():
            with stream:  # may have computed on what it was before
                self._memory = cuda.alloc(self._room)
            self._arrays, self._is_free = [], False
        if not self._is_free:
            self._free.record(stream)
            self._is_free = True
