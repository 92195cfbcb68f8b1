"""Work in processes of its own, which end in time and within their memory.

Each job gets a process, forked from one in which the compiler is warm and nothing else
happens. It can write to no file, and is killed when its time is over or when nobody
waits for it any more. What it answers is JSON, never a pickle.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from tensorgen.play.requests import FELL, Budget

Answer = dict[str, Any]


class BusyError(Exception):
    """Too many requests wait."""


class Workers:
    """Runs jobs in processes of their own, as many at once as the budget has."""

    def __init__(self, budget: Budget) -> None:
        """Prepare the process that others are forked from."""
        self.budget = budget
        self._free = asyncio.Semaphore(budget.running)
        self._asked = 0
        # Small arrays: threads of NumPy's would only take memory.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        known = multiprocessing.get_all_start_methods()
        method = "forkserver" if "forkserver" in known else "spawn"
        self._context: Any = multiprocessing.get_context(method)
        if method == "forkserver":
            self._context.set_forkserver_preload(["__main__", "tensorgen.play.warm"])

    def warm(self) -> None:
        """Have the compiler imported before somebody waits for it."""
        _Child(self._context, self.budget, "compile", {"spec": ""}).answer()

    async def run(
        self, name: str, given: Any, is_gone: Callable[[], Awaitable[bool]]
    ) -> Answer:
        """Return the answer of a job; raises `BusyError` where too many wait.

        The process is killed as soon as whoever asked `is_gone`.
        """
        if self._asked >= self.budget.running + self.budget.waiting:
            raise BusyError
        self._asked += 1
        try:
            async with self._free:
                if await is_gone():
                    return {"stopped": _GONE}
                child = _Child(self._context, self.budget, name, given)
                work = asyncio.ensure_future(asyncio.to_thread(child.answer))
                try:
                    while not work.done():
                        await asyncio.wait([work], timeout=0.2)
                        if not work.done() and await is_gone():
                            child.kill()
                finally:
                    child.kill()
                return await work
        finally:
            self._asked -= 1


class _Child:
    """One process, and what it answers."""

    def __init__(self, context: Any, budget: Budget, name: str, given: Any) -> None:
        self.budget = budget
        self._late = False
        self._here, self._there = context.Pipe(duplex=False)
        self._process = context.Process(
            target=_run, args=(self._there, budget, name, given), daemon=True
        )
        self._lock = threading.Lock()
        self._killed = False

    def answer(self) -> Answer:
        """Start, wait, and return what came of it; always in time."""
        with self._lock:
            if self._killed:
                return {"stopped": _GONE}
            self._process.start()
        self._there.close()
        timer = threading.Timer(self.budget.seconds, self._end)
        timer.start()
        try:
            found = json.loads(self._here.recv_bytes(self.budget.answer))
            return found if isinstance(found, dict) else {}
        except EOFError:  # it ended without an answer
            return {"stopped": self.budget.late if self._late else FELL}
        except OSError:
            return {"stopped": "the result is too long for a page"}
        finally:
            timer.cancel()
            self.kill()
            self._process.join()
            self._here.close()

    def _end(self) -> None:
        self._late = True
        self.kill()

    def kill(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._killed = True
            if self._process.pid is not None:
                with suppress(ValueError):
                    self._process.kill()


_GONE = "the request was cancelled"


def _run(pipe: Connection, budget: Budget, name: str, given: Mapping[str, Any]) -> None:
    """Do a job within the limits, and send what comes of it; the child's side."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit(budget)
    from tensorgen.play.worker import work

    answer = json.dumps(work(name, given)).encode()
    with suppress(BrokenPipeError):  # the server has ended
        pipe.send_bytes(answer)


def _limit(budget: Budget) -> None:
    """Have the system hold this process to its budget, where it can."""
    try:
        import resource
    except ImportError:  # there the clock alone limits it
        return
    seconds = int(budget.seconds) + 1
    for what, most in (
        (resource.RLIMIT_AS, budget.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with suppress(ValueError, OSError):  # a lower limit is in force
            resource.setrlimit(what, (most, most))
