"""The command line: a file a command.

What it says goes to stderr; code, diffs, tables and reports for machines go to stdout.
"""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

import click

from tensorgen.cli import streams
from tensorgen.cli.codes import BACKENDS, BUG, FINE, INTERRUPTED, MODES, STALE, WRONG
from tensorgen.cli.versions import show_versions
from tensorgen.cli.voice import report_bug

__all__ = ["BACKENDS", "BUG", "FINE", "INTERRUPTED", "MODES", "STALE", "WRONG", "cli"]

COMMANDS = (
    *("init", "from", "gen", "verify", "explain", "play", "bench"),
    *("functions", "schema", "completion", "lsp"),
)
"""Modules of this package, with a command each: in the order in which one needs them.
Each imports what it runs when it runs, so that help is there at once."""

MODULES = {"from": "from_notation"}
"""Those that cannot bear the name of their command, a keyword."""


class _Commands(click.Group):
    """The commands, in their own order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, as they are listed."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module = MODULES.get(cmd_name, cmd_name)
        found = import_module(f"tensorgen.cli.{module}").command
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by its name, or say which one may be meant."""
        from tensorgen.errors import suggest

        if args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = suggest(args[0], COMMANDS) or f"known: {', '.join(COMMANDS)}"
            ctx.fail(f"No such command '{args[0]}'; {hint}.")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_versions,
    help="Show the version, and those of its dependencies.",
)
def cli() -> None:
    """Compile tensor functions to NumPy and CuPy modules with exact derivatives."""


def _explain(error: click.ClickException) -> None:
    """Say what is wrong with the command line."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is not None:
        streams.say(context.get_usage())
        streams.say(f"Try '{context.command_path} --help' for help.\n")
    streams.note(f"Error: {error.format_message()}")


def main() -> None:
    """Run the command line; every way out is an exit code of the contract."""
    streams.prepare()
    # Nodes live until the end: looking for dead ones more often takes a tenth.
    gc.set_threshold(1_000_000)
    # The check multiplies arrays of a few entries: threads of NumPy's would only wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        # Not standalone: there an interrupt exits with 1, which means "stale" here.
        code = cli.main(prog_name="tensorgen", standalone_mode=False)
    except click.ClickException as error:
        _explain(error)
        code = WRONG
    except (click.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except SystemExit as left:
        # Our own 1 is what the command returns; this one is how click ends where
        # nobody reads its help.
        code = FINE if left.code == 1 else left.code
    except OSError as error:
        streams.hush(sys.stdout)
        streams.note(
            f"error: {error.filename or 'the system'}: {error.strerror or error}"
        )
        code = WRONG
    except Exception:
        report_bug()
    # Nor does it pay to look for them on the way out: the system takes all at once.
    gc.freeze()
    sys.exit(code or FINE)
