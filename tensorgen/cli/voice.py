"""What a command says of specs: faults, warnings and notes, for people or machines."""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from tensorgen import __version__
from tensorgen.cli import streams
from tensorgen.cli.codes import BUG, FORMATS
from tensorgen.errors import Diagnostic, Remark, Source, Span, SpecError, printable
from tensorgen.files import LARGEST_TEXT, read_regular


class Voice:
    """Tells what is wrong, and what is no fault unless it is `quiet`.

    If `strict`, warnings are faults. What is for machines is told all at once, by
    `finish`.
    """

    def __init__(
        self, quiet: bool = False, strict: bool = False, form: str = FORMATS[0]
    ) -> None:
        self.quiet = quiet or form != FORMATS[0]
        self.strict = strict
        self.form = form
        self.faults: list[Diagnostic] = []
        self.told: list[tuple[str, Diagnostic]] = []
        self.watch: Callable[[str], None] = streams.Silent(())

    def tell(self, text: str) -> None:
        """Say what came of the work."""
        if not self.quiet:
            streams.note(text)

    def remark(self, remark: Remark) -> None:
        """Say what is worth to be known of a spec, or keep it as a fault."""
        found = Diagnostic(remark.message, remark.span, code=remark.code)
        if remark.is_warning and self.strict:
            self.faults.append(found)
        elif self.form == FORMATS[0]:
            self.tell(str(remark))
        else:
            self.told.append(("warning" if remark.is_warning else "note", found))

    def fault(self, error: SpecError) -> None:
        """Say what is wrong with a spec."""
        if self.form == FORMATS[0]:
            streams.say(error.render(streams.color()))
        self.told += [("error", found) for found in error.diagnostics]

    def wrong(self, message: str, path: str = "") -> None:
        """Say what is wrong with a file, or with none."""
        if self.form == FORMATS[0]:
            streams.note(f"error: {message}")
        span = Span(Source(path, ""), 0, 0) if path else None
        self.told.append(("error", Diagnostic(message, span)))

    def stale(self, path: Path) -> None:
        """Say that a file is not as its spec would have it, whoever is quiet."""
        state = "stale" if path.exists() else "missing"
        if self.form == FORMATS[0]:
            streams.note(f"{state}: {path}")
        message = f"the file is {state}: run tensorgen gen"
        span = Span(Source(str(path), ""), 0, 0)
        self.told.append(("error", Diagnostic(message, span)))

    def read(self, path: str) -> Source | None:
        """Return the text of a spec, or None after saying why it cannot be read."""
        try:
            return Source.decode(path, read_regular(path, LARGEST_TEXT).data)
        except SpecError as error:
            self.fault(error)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            self.wrong(f"cannot read {path}: {reason or error}", path)
        return None

    @contextmanager
    def progress(self, paths: Sequence[str]) -> Iterator[streams.Silent]:
        """Show what is done of specs while it is, unless `quiet`."""
        self.watch = bar = progress(self.quiet, paths)
        try:
            yield bar
        finally:
            bar.end()

    @contextmanager
    def working(self, source: Source, *faults: type[Exception]) -> Iterator[None]:
        """Say what goes wrong with a spec that is worked on.

        The `faults` tell what is wrong by themselves; what nobody expects is a bug.
        """
        try:
            yield
        except SpecError as error:
            self.fault(error)
        except faults as error:
            self.wrong(str(error), source.name)
        except Exception:
            report_bug(source)

    def finish(self) -> None:
        """Tell machines all that was found."""
        if self.form != FORMATS[0]:
            from tensorgen.cli.reports import report

            streams.write(report(self.form, self.told))


def progress(quiet: bool, names: Sequence[str]) -> streams.Silent:
    """A bar over specs, where a person looks on; for a log, lines."""
    seen = streams.Progress if sys.stderr.isatty() else streams.Lines
    kind = streams.Silent if quiet else seen
    return kind([printable(name) for name in names])


def report_bug(source: Source | None = None) -> NoReturn:
    """Say that we failed, save what is needed to see why, and exit."""
    trace = traceback.format_exc()
    parts = [
        f"tensorgen {__version__}, Python {sys.version}",
        f"arguments: {sys.argv[1:]}",
        trace,
        *([f"--- {source.name}", source.text] if source else []),
    ]
    streams.say("error: this is a bug in tensorgen, not in your spec")
    streams.note("   " + trace.strip().splitlines()[-1])
    try:
        handle, name = tempfile.mkstemp(prefix="tensorgen-bug-", suffix=".txt")
        with open(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write("\n".join(parts))
        streams.note(f"   please report it together with {name}")
    except OSError:
        for line in "\n".join(parts).split("\n"):
            streams.note(line)
    sys.exit(BUG)
