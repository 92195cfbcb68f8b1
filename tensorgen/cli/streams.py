"""Standard output and error that may be closed, full, or read by nobody.

What is said on standard error is a courtesy: where it cannot be said, the work goes
on, and the exit code tells what came of it. What goes to standard output is the work
itself: where it cannot be written, that is an error, unless its reader has seen
enough.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TextIO, cast

import click

from tensorgen.errors import printable

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

PATIENCE = 1.0
"""Seconds without a word while something is being done."""

REDRAWN = 0.1
"""Seconds between two pictures of a bar."""

SILENCE = 20.0
"""Seconds without a line where there is no bar."""


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


def note(text: str) -> None:
    """Print a line that may contain names of files, which may contain anything."""
    say(printable(text))


class Silent:
    """Hears what is being done of which specs, and says nothing."""

    def __init__(
        self,
        names: Sequence[str],
        clock: Callable[[], float] = time.monotonic,
        file: TextIO | None = None,
    ) -> None:
        self._names, self._clock, self._file = names, clock, file
        self._done = 0
        self._start = self._said = clock()

    def __call__(self, doing: str) -> None:
        """Hear what is being done now."""

    def advance(self) -> None:
        """Hear that a spec is done."""
        self._done += 1

    def end(self) -> None:
        """Leave what was said."""


class Progress(Silent):
    """A bar over specs, for a person, once a second has gone by.

    The clock decides nothing but when it is drawn.
    """

    _bar: ProgressBar[int] | None = None

    def __call__(self, doing: str) -> None:
        """Draw what is being done now."""
        now = self._clock()
        if now >= self._said + (PATIENCE if self._bar is None else REDRAWN):
            self._said = now
            self._draw(printable(doing))

    def end(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            click.echo("\r\x1b[K", file=self._file or sys.stderr, nl=False, color=True)
            self._bar = None

    def _draw(self, doing: str) -> None:
        if self._bar is None:
            self._bar = click.progressbar(
                length=len(self._names),
                file=self._file or sys.stderr,
                show_eta=False,
                show_pos=True,
                width=24,
            )
        columns = shutil.get_terminal_size().columns
        self._bar.label = doing[: max(columns - 50, 8)]
        self._bar.pos = self._done
        self._bar.render_progress()


class Lines(Silent):
    """A line now and then of what takes long, where no terminal shows a bar."""

    def __call__(self, doing: str) -> None:
        """Say what is being done now."""
        now = self._clock()
        if now >= self._said + SILENCE:
            self._said = now
            at, count = min(self._done, len(self._names) - 1), len(self._names)
            place = f"{self._names[at]} ({at + 1} of {count})"
            line = f"{now - self._start:.0f} s: {place}: {printable(doing)}"
            click.echo(line, file=self._file or sys.stderr)


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


def color(stream: TextIO | None = None) -> bool:
    """Whether standard error, or a stream, is read by a terminal that wants colours."""
    return (stream or sys.stderr).isatty() and not os.environ.get("NO_COLOR")
