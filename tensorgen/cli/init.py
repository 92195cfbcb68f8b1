"""`tensorgen init`: a spec to begin with, of one's own sort of problem."""

from __future__ import annotations

import os
import sys
from importlib.resources import files
from pathlib import Path
from typing import NoReturn

import click

from tensorgen.cli import streams
from tensorgen.cli.ask_spec import ask_spec
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
        if path and not stdout and Path(path).exists():
            _refuse(Path(path))  # before anybody answers questions
        template = _asked()
    if template is None:
        given = ask_spec(Path(path).stem.replace("-", "_") if path else None)
        text, name = given.text(), given.module
    else:
        text, name = starter(template), template
    if stdout:
        streams.write(text)
        return FINE
    place = Path(path or f"{name}.yaml")
    try:
        # As a new file, or not at all: what is there is somebody's work.
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        _refuse(place)
    with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    streams.note(f"wrote {place}; next: tensorgen gen {place}")
    return FINE


def _refuse(place: Path) -> NoReturn:
    streams.note(f"error: {place} exists; name another file, or use --stdout")
    sys.exit(WRONG)


def starter(template: str) -> str:
    """Return the text of a template."""
    folder = files("tensorgen.cli") / "starters"
    return (folder / f"{template}.yaml").read_text(encoding="utf-8")


def _asked() -> str | None:
    """Ask which template, None for a spec of one's own."""
    for number, name in enumerate(STARTERS, 1):
        first = starter(name).partition("\n")[0].removeprefix("# ")
        streams.say(f"{number}  {name:16} {first}")
    streams.say(f"{len(STARTERS) + 1}  {'your own':16} Asks for inputs and a function.")
    numbers = click.IntRange(1, len(STARTERS) + 1)
    own = [*STARTERS, None]
    return own[click.prompt("which", len(own), type=numbers, err=True) - 1]
