"""Processes for cases: forked from one that has imported all libraries.

Importing all peers takes longer than most cases. So `python nursery.py MODULE` calls
the module's `preload()` once, then forks a process that calls `main(words)` for each
line of its standard input, and answers how it ended.
"""

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

LOOK = 0.005  # seconds between looks at a process


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status, less than 0 by a signal, and its words."""

    code: int
    said: str
    fault: str


class Nursery:
    """The parent of processes, all in one environment, one at a time."""

    def __init__(self, module: str, environment: dict[str, str]) -> None:
        """Start it; the module is found by the environment's `PYTHONPATH`."""
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__)), module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(self, words: Sequence[str], seconds: float, cores: Sequence[int]) -> Ended:
        """Run a process on some cores; after so many seconds SIGALRM ends it."""
        assert self.process.stdin is not None and self.process.stdout is not None
        order = {"words": list(words), "seconds": seconds, "cores": list(cores)}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("the process that starts others has ended")
        return Ended(**json.loads(answer))

    def close(self) -> None:
        """End it: it reads no further order."""
        self.process.communicate()


def serve(module: str) -> None:
    """Preload, then answer orders until there are no more."""
    own = importlib.import_module(module)
    own.preload()
    gc.freeze()  # or the first collection would copy all that is shared
    for line in sys.stdin:
        ended = forked(own.main, **json.loads(line))
        print(json.dumps(asdict(ended)), flush=True)
    os._exit(0)  # libraries would tell what they leave behind


def forked(
    main: Callable[[list[str]], None],
    words: list[str],
    seconds: float,
    cores: list[int],
) -> Ended:
    """Run `main` in a process of its own, and wait for its end."""
    with TemporaryFile() as said, TemporaryFile() as fault:
        pid = os.fork()
        if pid == 0:
            os.dup2(said.fileno(), 1)
            os.dup2(fault.fileno(), 2)
            code = 1
            try:
                if hasattr(os, "sched_setaffinity"):
                    os.sched_setaffinity(0, cores)
                main(words)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        return Ended(waited(pid, seconds), read(said), read(fault))


def waited(pid: int, seconds: float) -> int:
    """Return how a process ended, which has so many seconds."""
    end = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(pid, signal.SIGALRM)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        time.sleep(LOOK)


def read(file: IO[bytes]) -> str:
    """Return what was written to a file."""
    file.seek(0)
    return file.read().decode(errors="replace")


if __name__ == "__main__":
    serve(sys.argv[1])
