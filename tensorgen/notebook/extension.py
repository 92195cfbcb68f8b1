"""What `%load_ext tensorgen` registers: the magic, and a formatter of derivatives."""

from __future__ import annotations

from typing import Any

from IPython.utils.dir2 import get_real_method

from tensorgen.notebook.magic import SpecCells
from tensorgen.notebook.object_views import derivative_html, is_derivative

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
