"""`--watch`: a command is run again when what it reads changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from tensorgen.cli import streams

SETTINGS = "pyproject.toml"


def watched(specs: Sequence[str], run: Callable[[], int]) -> None:
    """Run, and again whenever a spec or the settings change, until interrupted.

    What is wrong is said, and waits to be mended.
    """
    try:
        from watchfiles import watch
    except ImportError as error:
        message = "--watch needs watchfiles: pip install 'tensorgen[watch]'"
        raise click.UsageError(message) from error

    names = {Path(spec).absolute() for spec in specs}
    folders = {name.parent for name in names}

    def concerns(change: object, path: str) -> bool:
        return Path(path) in names or Path(path).name == SETTINGS

    run()
    streams.say(f"watching {', '.join(map(str, specs))}; press Ctrl-C to leave")
    for _ in watch(*folders, watch_filter=concerns, raise_interrupt=True):
        run()
