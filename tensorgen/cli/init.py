"""`tensorgen init`: a spec to begin with, of one's own sort of problem."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path

import click

from tensorgen.cli import streams
from tensorgen.cli.codes import FINE, WRONG

STARTERS = (
    "least-squares",
    "glm",
    "network",
    "factorisation",
    "optimal-control",
    "time-series",
)


@click.command("init")
@click.argument("path", required=False, metavar="[FILE]")
@click.option(
    "-t",
    "--template",
    type=click.Choice(STARTERS),
    help="The kind of problem; a prompt asks for it on a terminal.",
)
@click.option("--stdout", is_flag=True, help="Write no file; print the spec.")
def command(path: str | None, template: str | None, stdout: bool) -> int:
    """Write a commented spec to FILE, by default named after its template.

    An existing file is never overwritten.
    """
    if template is None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            known = ", ".join(STARTERS)
            raise click.UsageError(f"say which with --template: {known}.")
        template = _asked()
    text = starter(template)
    if stdout:
        streams.write(text)
        return FINE
    place = Path(path or f"{template}.yaml")
    try:
        # As a new file, or not at all: what is there is somebody's work.
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        streams.note(f"error: {place} exists; name another file, or use --stdout")
        sys.exit(WRONG)
    with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    streams.note(f"wrote {place}; next: tensorgen gen {place}")
    return FINE


def starter(template: str) -> str:
    """Return the text of a template."""
    folder = files("tensorgen.cli") / "starters"
    return (folder / f"{template}.yaml").read_text(encoding="utf-8")


def _asked() -> str:
    """Ask which template."""
    for number, name in enumerate(STARTERS, 1):
        first = starter(name).partition("\n")[0].removeprefix("# ")
        streams.say(f"{number}  {name:16} {first}")
    numbers = click.IntRange(1, len(STARTERS))
    return STARTERS[click.prompt("which", type=numbers, err=True) - 1]
