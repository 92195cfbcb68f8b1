"""Bugs of tensorgen: reported as such, and saved for inspection."""

from __future__ import annotations

import sys
import tempfile
import traceback
from typing import NoReturn

from tensorgen import __version__
from tensorgen.cli import streams
from tensorgen.cli.codes import BUG
from tensorgen.errors import Source


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
