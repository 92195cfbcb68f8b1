"""`tensorgen lsp`: a language server, for editors."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import click

from tensorgen.cli import streams
from tensorgen.cli.codes import FINE, WRONG


@click.command("lsp")
@click.option(
    "--stdio", is_flag=True, help="Use standard input and output, which is the default."
)
def command(stdio: bool) -> int:
    """Serve editors: faults and their fixes as you type, formulas under the pointer.

    It completes, finds definitions and references, renames, formats and outlines, in
    the language server protocol on standard input and output; docs/editors.md has
    settings for VS Code, Neovim, Emacs, Helix and Zed.
    """
    if find_spec("pygls") is None:
        message = "lsp needs the package pygls: pip install 'tensorgen[lsp]'"
        streams.note(f"error: {message}")
        sys.exit(WRONG)
    from tensorgen.editor.language_server import server

    server().start_io()
    return FINE
