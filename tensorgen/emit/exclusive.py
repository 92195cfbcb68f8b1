"""Moments that no other run and no signal should share."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Seconds to wait for another run, which holds a folder for as long as its disk takes.
PATIENCE = 5.0
_PAUSE = 0.02
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def only_run(folder: Path) -> Iterator[bool]:
    """Hold a folder against other runs; gives False where that is not possible."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        yield _lock(descriptor)
    finally:
        os.close(descriptor)  # and with it the lock, also when we are killed


def _lock(descriptor: int) -> bool:
    if fcntl is None:
        return False
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(_PAUSE)
        except OSError:
            return False
        else:
            return True


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals that would end this process wait until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled elsewhere
        return
    waiting: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        waiting.append(number)

    handlers = {}
    try:
        for name in _ENDING:
            number = getattr(signal, name, None)
            # A handler that Python did not set cannot be set again.
            if number is not None and signal.getsignal(number) is not None:
                handlers[number] = signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for signum in waiting:
            signal.raise_signal(signum)
