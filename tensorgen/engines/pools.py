"""Maps over the threads or processes of this machine, by `concurrent.futures`."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from functools import partial
from typing import Any

from tensorgen.engines.shares import Answer, Function, Share, answer, shares, trees
from tensorgen.engines.trees import whole


class BrokenPoolError(RuntimeError):
    """A pool lost processes, and so did the one that was built instead."""


class ExecutorMap:
    """A map over an executor; a context that shuts down those that it has made."""

    def __init__(
        self,
        pool: Executor | Callable[[], Executor],
        together: int | None,
        blas_threads: int | None,
    ) -> None:
        self._make = None if isinstance(pool, Executor) else pool
        self._pool = pool if isinstance(pool, Executor) else None
        self._together, self._threads = together, blas_threads

    def __enter__(self) -> ExecutorMap:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Shut down the pool, if it was made here."""
        if self._make is not None and self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __call__(self, function: Function, blocks: Sequence[Any]) -> list[Any]:
        """Return the results of blocks in order, or their one total.

        The error of a block that fails; BrokenPoolError if the pool breaks twice, or
        once if it cannot be built anew.
        """
        tasks = shares(blocks, self._together, os.cpu_count() or 1)
        run = partial(answer, function, self._threads)
        try:
            return whole(trees(self._answers(run, tasks)))
        except _Broken as broken:
            if self._make is None:
                raise BrokenPoolError(
                    f"{broken}; give what makes a pool, not a pool, "
                    "to have one built anew"
                ) from broken.__cause__
            self.close()
        try:
            return whole(trees(self._answers(run, tasks)))
        except _Broken as broken:
            self.close()
            raise BrokenPoolError(
                f"{broken}, twice; do its processes run out of memory?"
            ) from broken.__cause__

    def _answers(
        self, run: Callable[[Share], Answer], tasks: Sequence[Share]
    ) -> Iterator[Answer]:
        """Yield the answers in order; what was not yet begun is cancelled at an end."""
        if self._pool is None and self._make is not None:
            self._pool = self._make()
        assert self._pool is not None
        futures: deque[Future[Answer]] = deque()
        done = 0
        try:
            for task in tasks:
                futures.append(self._pool.submit(run, task))
            while futures:  # what was taken is not held any longer
                yield futures.popleft().result()
                done += 1
        except BrokenExecutor as error:
            raise _Broken(
                f"the pool broke at block {tasks[done].start} or one behind"
            ) from error
        finally:
            for future in futures:
                future.cancel()


class _Broken(Exception):
    """A pool broke; which blocks had no answer."""


def executor_map(
    pool: Executor | Callable[[], Executor],
    *,
    together: int | None = None,
    blas_threads: int | None = 1,
) -> ExecutorMap:
    """Return a map over an executor of `concurrent.futures`, or over what makes one.

    Where a function is given that makes it, such as `partial(ProcessPoolExecutor, 4)`,
    a pool that loses a process is built anew once a round, and the round repeated; the
    map is a context then, which shuts down its pool. A task goes through `together`
    blocks, rounded up to a power of two, and may use that many threads of BLAS; None
    leaves them alone.
    """
    return ExecutorMap(pool, together, blas_threads)
