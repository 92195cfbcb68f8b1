"""Options that several commands have, each with the words of its command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from tensorgen.cli.codes import BACKENDS, FORMATS, MODES

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

quiet = click.option("-q", "--quiet", is_flag=True, help="Report errors only.")

form = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    help="How faults and warnings are reported: as text on stderr, or on stdout for"
    " machines.",
)


def output(told: str) -> Option:
    """The folder of modules."""
    return click.option("-o", "--output", metavar="DIR", help=told)


def backend(told: str) -> Option:
    """One backend, the first by default."""
    kind = click.Choice(BACKENDS)
    return click.option("-b", "--backend", type=kind, default=BACKENDS[0], help=told)


def backends(told: str) -> Option:
    """Any number of backends."""
    kind = click.Choice(BACKENDS)
    return click.option(
        "-b", "--backend", "backends", multiple=True, type=kind, help=told
    )


def mode(told: str, modes: Sequence[str] = MODES) -> Option:
    """The order of differentiation."""
    return click.option("--mode", type=click.Choice(modes), help=told)


def allow_external(told: str) -> Option:
    """Whether specs may name functions of other packages."""
    return click.option("--allow-external", is_flag=True, help=told)


def data(told: str) -> Option:
    """A file of arguments."""
    return click.option("--data", metavar="FILE.npz", help=told)
