"""What one task does: the blocks of a share, with their subtrees of totals joined."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tensorgen.engines.optional import needed
from tensorgen.engines.trees import Subtree, grown

Function = Callable[[Any], Any]

# Tasks a worker: enough that one that is late leaves the others little to wait for.
TASKS = 8


class Failed(NamedTuple):
    """A block failed: the error as it was, with a note which block it was."""

    error: Exception


class Share(NamedTuple):
    """Blocks that one task goes through, and the number of the first."""

    start: int
    blocks: Sequence[Any]


Answer = list[Subtree] | Failed


def shares(blocks: Sequence[Any], together: int | None, workers: int) -> list[Share]:
    """Cut blocks into shares of 2**k, each of which is a subtree but for the last.

    That is how many of them go `together` at least, or as many as leave each worker
    several shares.
    """
    if together is None:
        together = len(blocks) // (TASKS * max(workers, 1))
    size = 1 << max(together - 1, 0).bit_length()
    return [Share(k, blocks[k : k + size]) for k in range(0, len(blocks), size)]


def answer(function: Function, blas_threads: int | None, share: Share) -> Answer:
    """Return the subtrees of a share, or which block failed.

    A block that fails is an answer too: no cluster tries it again, and its error comes
    to the user as it was.
    """
    with _blas_threads(blas_threads):
        number = share.start

        def results() -> Iterator[Subtree]:
            nonlocal number
            for number, block in enumerate(share.blocks, share.start):
                yield Subtree(number, 0, function(block))

        try:
            return grown(results())
        except Exception as error:
            # Functions of emitted code say which block it was, in which order ever.
            if not getattr(error, "__notes__", None):
                error.add_note(f"in block {number}")
            return Failed(_portable(error))


def trees(answers: Iterable[Answer]) -> Iterator[Subtree]:
    """Yield the subtrees of all shares; the error of a block that failed."""
    for found in answers:
        if isinstance(found, Failed):
            raise found.error
        yield from found


def _portable(error: Exception) -> Exception:
    """Return an error that gets to another process: itself, or else its text."""
    try:
        copy = pickle.loads(pickle.dumps(error))
        if _told(copy) == _told(error):
            return error
    except Exception:  # whatever its own code does
        pass
    text = RuntimeError(f"{type(error).__name__}: {error}")
    for note in getattr(error, "__notes__", ()):
        text.add_note(note)
    return text


def _told(error: Exception) -> tuple[object, ...]:
    """Return what the user sees of an error."""
    return type(error), str(error), getattr(error, "__notes__", None)


class _Limit:
    """The limit of this process, which all of its tasks have in common."""

    lock = threading.Lock()
    tasks = 0
    controller: Any = None
    limit: Any = None


@contextmanager
def _blas_threads(count: int | None) -> Iterator[None]:
    """Limit the threads of BLAS while any task runs: workers share the cores already.

    Sums of matrix products depend on that number, and the same bits are promised.
    """
    if count is None:
        yield
        return
    with _Limit.lock:
        _Limit.tasks += 1
        if _Limit.tasks == 1:
            if _Limit.controller is None:
                _Limit.controller = needed("threadpoolctl").ThreadpoolController()
            _Limit.limit = _Limit.controller.limit(limits=count, user_api="blas")
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.tasks -= 1
            if not _Limit.tasks:
                _Limit.limit.restore_original_limits()
