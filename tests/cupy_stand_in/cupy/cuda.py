"""The stand-in's streams, events and memory, in which copies are late.

A copy is made when somebody waits for it, and no sooner: who writes too early over what
it is made from spoils it. What is computed is computed at once; so a copy into memory
that is computed on before, unless its stream has waited for that, or meanwhile, is an
error.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy

from . import _signatures

_current = threading.local()
_lock = threading.RLock()
_pinned: weakref.WeakValueDictionary[int, PinnedMemoryPointer]
_pinned = weakref.WeakValueDictionary()


def _checked(function: Any) -> Any:
    """Hold calls to what all versions of CuPy take."""
    name = function.__qualname__.removesuffix(".__init__")
    is_bound = "." in function.__qualname__

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _signatures.check(f"cupy.cuda.{name}", args[is_bound:], kwargs)
        return function(*args, **kwargs)

    return call


class Device:
    """A device, each thread's own: a new thread is on the first."""

    @_checked
    def __init__(self, device: int | None = None) -> None:
        self.id = getattr(_current, "device", 0) if device is None else device

    def __enter__(self) -> Device:
        self._before = Device().id
        _current.device = self.id
        return self

    def __exit__(self, *_: object) -> None:
        _current.device = self._before


class Stream:
    """What is done in order, once somebody waits for it."""

    null: Stream

    @_checked
    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False
    ) -> None:
        if not (null or non_blocking):
            raise NotImplementedError("streams that wait for the null stream")
        self.asked = self.done = 0
        self._waiting: deque[Callable[[], None]] = deque()
        self.known = 0
        """Up to where it has waited for what is computed."""

    def __enter__(self) -> Stream:
        _streams().append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _streams().pop()

    @_checked
    def synchronize(self) -> None:
        """Do all that waits."""
        self._do(self.asked)

    @_checked
    def wait_event(self, event: Event) -> None:
        """Have what follows wait for an event, as it is now."""
        if (stream := event._stream) is not None:
            self._ask(partial(self._wait, stream, event._place))

    def _wait(self, stream: Stream, place: int) -> None:
        stream._do(place)
        if stream is Stream.null:
            self.known = max(self.known, place)

    def _ask(self, deed: Callable[[], None]) -> None:
        with _lock:
            self.asked += 1
            self._waiting.append(deed)

    def _do(self, place: int) -> None:
        with _lock:
            while self.done < place:
                self.done += 1
                self._waiting.popleft()()

    def _compute(self) -> int:
        """Do what waits, and say when something is computed behind that."""
        with _lock:
            self.synchronize()
            self.asked = self.done = self.asked + 1
            return self.asked


Stream.null = Stream(null=True)


class Event:
    """A place in what a stream does."""

    @_checked
    def __init__(
        self,
        block: bool = False,
        disable_timing: bool = False,
        interprocess: bool = False,
    ) -> None:
        self._stream: Stream | None = None
        self._place = 0

    @_checked
    def record(self, stream: Stream | None = None) -> None:
        """Stand for all that a stream was asked for so far."""
        self._stream = stream or Stream.null
        self._place = self._stream.asked

    @_checked
    def synchronize(self) -> None:
        """Wait until that is done."""
        if self._stream is not None:
            self._stream._do(self._place)


class Memory:
    """Memory of a device, and when it was last computed on."""

    def __init__(self, size: int) -> None:
        # Nobody may count on what is in it.
        self.bytes = numpy.full(size, 0xA5, numpy.uint8)
        self.device_id = Device().id
        # Who has freed it may have launched what is computed on it.
        self.used = Stream.null.asked

    def use(self) -> None:
        """Note that it is computed on."""
        self.used = Stream.null._compute()


class MemoryPointer:
    """A place in memory of a device."""

    def __init__(self, mem: Memory, offset: int) -> None:
        self.mem, self._offset = mem, offset
        self.ptr = mem.bytes.ctypes.data + offset
        self.device_id = mem.device_id

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self._offset + offset)

    @_checked
    def copy_from_host_async(
        self, mem: int, size: int, stream: Stream | None = None
    ) -> None:
        """Copy from pinned memory, late."""
        if mem not in _pinned or size > len(_pinned[mem]):
            raise ValueError(f"no {size} bytes of pinned memory at {mem}")
        if stream is None or stream is Stream.null:
            raise NotImplementedError("copies on the null stream")
        source = numpy.frombuffer(_pinned[mem], numpy.uint8, size)
        target = self.mem.bytes[self._offset :][:size]
        assert target.size == size

        def copy() -> None:
            if self.mem.used > stream.known:
                raise RuntimeError("memory is written that may still be computed on")
            target[:] = source

        stream._ask(copy)


class PinnedMemoryPointer(bytearray):
    """Memory of the host that a device reads by itself."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    @property
    def ptr(self) -> int:
        """Where it is."""
        return int(numpy.frombuffer(self, numpy.uint8).ctypes.data)


@_checked
def alloc(size: int) -> MemoryPointer:
    """Return memory of the current device."""
    return MemoryPointer(Memory(size), 0)


@_checked
def alloc_pinned_memory(size: int) -> PinnedMemoryPointer:
    """Return memory of the host, at least that large."""
    found = PinnedMemoryPointer(max(size, 512))
    _pinned[found.ptr] = found
    return found


@_checked
def get_current_stream(device_id: int = -1) -> Stream:
    """Return the stream of this thread."""
    return next(reversed(_streams()), Stream.null)


def _streams() -> list[Stream]:
    if not hasattr(_current, "streams"):
        _current.streams = []
    found: list[Stream] = _current.streams
    return found
