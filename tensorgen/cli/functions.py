"""`tensorgen functions`: what can be called in a spec, and how it is differentiated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tensorgen.cli import streams
from tensorgen.cli.codes import WRONG
from tensorgen.errors import suggest

if TYPE_CHECKING:
    from tensorgen.explanation.function_reference import Entry


@click.command("functions")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """List the functions of the language, or describe one of them."""
    from tensorgen.explanation.function_reference import entries, page

    found = {entry.name: entry for entry in entries()}
    if name is None:
        streams.write(_table(list(found.values())))
    elif name in found:
        streams.write(page(found[name]))
    else:
        hint = suggest(name, found) or "tensorgen functions lists them all"
        streams.note(f"error: there is no function '{name}'; {hint}")
        sys.exit(WRONG)


def _table(found: list[Entry]) -> str:
    """A line each, by sort."""
    width = max(len(entry.call) for entry in found)
    lines: list[str] = []
    sort = ""
    for entry in found:
        if entry.sort != sort:
            lines += [""] * bool(lines) + [f"{entry.sort}:"]
            sort = entry.sort
        lines.append(f"  {entry.call:{width}}  {entry.short}".rstrip())
    return "\n".join(lines) + "\n"
