"""`%%tensorgen`: a cell whose text is a spec."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.magic_arguments import MagicArgumentParser

from tensorgen.calculus.requests import MODES
from tensorgen.emit.backends import BACKENDS
from tensorgen.errors import Remark, Source, SpecError
from tensorgen.loading import LoadedModule, loaded


class CellError(SpecError):
    """A wrong spec in a cell: its diagnostics are all that is shown of it."""

    def _render_traceback_(self) -> list[str]:
        return [self.render(color=True)]


class SpecCells:
    """Compiles cells for a shell."""

    def __init__(self, shell: Any) -> None:
        """Bind the modules to names of this shell."""
        self.shell = shell
        self.parser = MagicArgumentParser("%%tensorgen", add_help=False)
        self.parser.add_argument("name", nargs="?", type=_identifier)
        add = self.parser.add_argument
        add("-b", "--backend", choices=[*BACKENDS], default=next(iter(BACKENDS)))
        add("--mode", choices=MODES, default=MODES[0])
        add("--allow-external", action="store_true")

    def tensorgen(self, line: str, cell: str) -> LoadedModule:
        """Compile the spec in this cell, and bind its module to NAME.

        %%tensorgen [NAME] [-b BACKEND] [--mode MODE] [--allow-external]

        Without NAME, the module gets the name that stands in the spec, under `module`.
        BACKEND is numpy or cupy, MODE cross-country, reverse or forward.
        """
        given = self.parser.parse_argstring(line)
        source = Source(given.name or "cell", cell)
        try:
            module = loaded(
                source, given.backend, given.mode, given.allow_external, note=_say
            )
        except SpecError as error:
            raise CellError(error.diagnostics) from None
        self.shell.user_ns[given.name or module.spec_name] = module
        return module


def _identifier(name: str) -> str:
    if not name.isidentifier():
        raise ValueError(name)
    return name


def _say(remark: Remark) -> None:
    print(remark, file=sys.stderr)
