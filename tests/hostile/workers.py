"""Judging hostile specs in processes whose memory and time are bounded.

A worker says which spec it takes up before it does. So when the system ends it, for a
power of numbers that no signal interrupts or for memory, the parent knows which it was.
"""

from __future__ import annotations

import multiprocessing
import resource
import signal
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from tests.hostile.judge import Verdict, judge
from tests.hostile.seeds import WAYS, Outcome, outcomes

MEMORY = 2 * 2**30  # beside what the process that it is forked from has
SECONDS = 150  # of CPU for one spec: by its steps, a function may take 70 and more
_GRACE = 5  # after which the system ends the process
_CHUNK = 60  # seeds that one process takes, so that nothing piles up in it


class TooSlow(BaseException):
    """Raised in the middle of a spec that takes too long."""


def bounded(data: bytes, laid_out: bool = False) -> Verdict:
    """Judge a spec within the bounds of time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    end = int(used.ru_utime + used.ru_stime) + SECONDS + _GRACE
    resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    start = time.process_time()
    try:
        return judge(data, laid_out)
    except TooSlow as error:
        frame = error.__traceback__
        where = []
        while frame is not None:
            where.append(frame.tb_frame.f_code.co_qualname)
            frame = frame.tb_next
        seconds = time.process_time() - start
        return Verdict("TooSlow", "too slow", seconds, " > ".join(where[-12:]))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooSlow


def _work(seeds: range, pipe: Connection) -> None:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))

    def judged(data: bytes, laid_out: bool) -> Verdict:
        pipe.send(data)
        return bounded(data, laid_out)

    for seed in seeds:
        pipe.send(seed)
        for outcome in outcomes(seed, judged):
            pipe.send(outcome)
    pipe.send(None)


class _Worker:
    """A process that works through a range of seeds, and what it is at."""

    def __init__(self, seeds: range) -> None:
        context = multiprocessing.get_context("fork")
        self.seeds = seeds
        self.at = seeds.start
        self.data = b""
        self.pipe, far = context.Pipe(duplex=False)
        self.process: BaseProcess = context.Process(target=_work, args=(seeds, far))
        self.process.start()
        far.close()

    def receive(self) -> Outcome | None:
        """Return an outcome, or None; raises EOFError where the process has ended."""
        message = self.pipe.recv()
        if isinstance(message, Outcome):
            return message
        if isinstance(message, int):
            self.at = message
        elif isinstance(message, bytes):
            self.data = message
        else:
            self.at = self.seeds.stop
        return None

    def ended(self) -> Outcome | None:
        """Return the outcome of the spec at which the process was ended, if any."""
        self.process.join()
        if self.at == self.seeds.stop:
            return None
        code = self.process.exitcode
        verdict = Verdict("Ended", f"ended by the system: {code}", 0.0)
        return Outcome(self.at, WAYS[self.at % len(WAYS)], self.data, verdict)


def run(seeds: range, jobs: int) -> Iterator[Outcome]:
    """Yield the outcomes of seeds as they come."""
    chunks = [
        range(start, min(start + _CHUNK, seeds.stop))
        for start in range(seeds.start, seeds.stop, _CHUNK)
    ][::-1]
    working: dict[object, _Worker] = {}
    while chunks or working:
        while chunks and len(working) < jobs:
            worker = _Worker(chunks.pop())
            working[worker.pipe] = worker
        for pipe in wait([worker.pipe for worker in working.values()]):
            worker = working[pipe]
            try:
                outcome = worker.receive()
            except EOFError:
                del working[pipe]
                outcome = worker.ended()
                if outcome is not None:
                    chunks.append(range(worker.at + 1, worker.seeds.stop))
            if outcome is not None:
                yield outcome
