"""Standard output and error that may be closed, full, or read by nobody.

What is said on standard error is a courtesy: where it cannot be said, the work goes
on, and the exit code tells what came of it. What goes to standard output is the work
itself: where it cannot be written, that is an error, unless its reader has seen
enough.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TextIO, cast

import click

PATIENCE = 5.0
"""Seconds without a word while something is being done."""


class _Courtesy:
    """A text stream that drops what it cannot write, whoever writes it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            hush(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            hush(self._stream)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def prepare() -> None:
    """Make sure that the three standard descriptors and streams exist.

    Where one was closed, the next file to be opened would take its number, and get
    all that libraries write to it. What takes its place can be written to as little
    as a closed one.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest free number: this one
    if sys.stdout is None:
        sys.stdout = _writer(1)
    if sys.stderr is None:
        sys.stderr = _writer(2)
    if not isinstance(sys.stderr, _Courtesy):
        sys.stderr = cast(TextIO, _Courtesy(sys.stderr))


def _writer(number: int) -> TextIO:
    return open(number, "w", encoding="utf-8", closefd=False)


def say(text: str) -> None:
    """Write a line to standard error, if that is possible."""
    click.echo(text, err=True, color=color())


class Progress:
    """Says what is being done every few seconds; the clock decides nothing else."""

    def __init__(
        self,
        tell: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wait for as long as nobody would ask."""
        self._tell = tell
        self._clock = clock
        self._next = clock() + PATIENCE

    def __call__(self, doing: str) -> None:
        """Hear what is being done now."""
        now = self._clock()
        if now >= self._next:
            self._next = now + PATIENCE
            self._tell(f"{doing} ...")


def write(text: str) -> None:
    """Write to standard output; raises `OSError`, but not where nobody reads on."""
    # As bytes: generated code is UTF-8 with plain line ends on every system, and a
    # file name may hold what is no text.
    try:
        click.echo(text.encode("utf-8", "surrogateescape"), nl=False)
    except BrokenPipeError:
        hush(sys.stdout)


def hush(stream: TextIO) -> None:
    """Drop what is still to be written to a stream, and all that follows.

    Python would try once more at its end, and exit with a code of its own. What stands
    in for the stream of this process, in a test or a notebook, is not ours to close.
    """
    if stream.fileno() > 2:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def color() -> bool:
    """Whether standard error is read by a terminal that wants colours."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")
