"""What `%load_ext tensorgen` registers: `%%tensorgen`, and a view of derivatives."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.magic_arguments import MagicArgumentParser
from IPython.utils.dir2 import get_real_method

from tensorgen.calculus.requests import MODES
from tensorgen.emit.backends import BACKENDS
from tensorgen.errors import Remark, Source, SpecError
from tensorgen.loading import LoadedModule, loaded
from tensorgen.notebook.object_views import derivative_html, is_derivative


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


HTML = "text/html"


class DerivativeFormatter:
    """Shows derivatives as HTML, and everything else as it was shown before.

    Generated modules share no class that a formatter could be registered for, and hold
    no code for notebooks. So this one is asked for all objects for which no other is
    registered, and does with those that are no derivatives what IPython does: it calls
    their `_repr_html_`.
    """

    def __init__(self, formatter: Any) -> None:
        """Take the place of what `formatter` does with objects of unknown classes."""
        self.formatter = formatter
        try:
            self.before = formatter.lookup_by_type(object)
        except KeyError:
            self.before = None
        formatter.for_type(object, self)

    def __call__(self, x: Any) -> Any:
        """Return the HTML of an object, None where it has none."""
        if is_derivative(x):
            return derivative_html(x)
        if self.before is not None:
            return self.before(x)
        method = get_real_method(x, self.formatter.print_method)
        return None if method is None else method()

    def leave(self) -> None:
        """Let IPython do as before."""
        self.formatter.pop(object)
        if self.before is not None:
            self.formatter.for_type(object, self.before)


_loaded: dict[int, DerivativeFormatter] = {}


def load(shell: Any) -> None:
    """Register the formatter and the magic, once a shell."""
    shell.register_magic_function(SpecCells(shell).tensorgen, "cell", "tensorgen")
    if id(shell) not in _loaded:
        formatter = shell.display_formatter.formatters[HTML]
        _loaded[id(shell)] = DerivativeFormatter(formatter)


def unload(shell: Any) -> None:
    """Undo what `load` did."""
    shell.magics_manager.magics["cell"].pop("tensorgen", None)
    if found := _loaded.pop(id(shell), None):
        found.leave()
