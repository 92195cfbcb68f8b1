"""`tensorgen completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from tensorgen.cli import streams
from tensorgen.cli.codes import SHELLS


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a script by which a shell completes commands, options and files.

    For bash, for example, put this line into ~/.bashrc:

        eval "$(tensorgen completion bash)"
    """
    from tensorgen.cli import cli

    made = get_completion_class(shell)
    assert made is not None
    streams.write(made(cli, {}, "tensorgen", "_TENSORGEN_COMPLETE").source())
