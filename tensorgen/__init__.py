"""Tensor functions become readable NumPy and CuPy modules with exact derivatives.

`generate` returns the source of a module, `load` the module itself, `explain` what its
functions are. `function` decorates functions over NumPy, and `Spec` puts specs together
in Python. Everything else is the command line's, or private.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorgen.errors import Remark, SpecError, SpecWarning
from tensorgen.loading import generated, loaded, source_of, warn_of
from tensorgen.version import __version__

if TYPE_CHECKING:
    from tensorgen.explanation.shown import Explanation
    from tensorgen.frontends.decorated_function import DecoratedFunction
    from tensorgen.frontends.spec_builder import Spec as Spec

__all__ = [
    "Spec",
    "SpecError",
    "SpecWarning",
    "__version__",
    "explain",
    "function",
    "generate",
    "load",
]


def generate(
    text_or_path: str | PathLike[str],
    backend: str = "numpy",
    mode: str = "cross-country",
    allow_external: bool = False,
) -> str:
    """Return the source of the module that a spec describes.

    `text_or_path` is the text of a spec if it is a string with a line break, else
    the path of a spec file, of at most a mebibyte. A spec may name functions of other
    packages for the module to call only with `allow_external`. Raises `SpecError` for a
    wrong spec, and `OSError` for a file that cannot be read; what the command line
    would warn of is a `SpecWarning`.
    """
    remarks: list[Remark] = []
    source = source_of(text_or_path)
    _, text = generated(
        source, backend, mode, allow_external=allow_external, note=remarks.append
    )
    warn_of(remarks)
    return text


def load(
    text_or_path: str | PathLike[str],
    backend: str = "numpy",
    mode: str = "cross-country",
    allow_external: bool = False,
) -> ModuleType:
    """Return the module that a spec describes, built in memory.

    Takes what `generate` takes. Tracebacks and `inspect.getsource` show its lines,
    which are not formatted: that would take as long as all the rest.
    """
    remarks: list[Remark] = []
    source = source_of(text_or_path)
    module = loaded(source, backend, mode, allow_external, note=remarks.append)
    warn_of(remarks)
    return module


def explain(
    text_or_path: str | PathLike[str],
    function: str | None = None,
    backend: str = "numpy",
    mode: str = "cross-country",
    allow_external: bool = False,
) -> Explanation:
    """Return what the functions of a spec are: formulas, structure, costs, statements.

    Takes what `generate` takes, and the name of a `function` of the spec, for all that
    is emitted for it, or of one that is emitted. The object prints as `tensorgen
    explain` does, and shows itself in notebooks. Raises `KeyError` where there is no
    such function.
    """
    from tensorgen.explanation.shown import explanation

    source = source_of(text_or_path)
    return explanation(source, function, backend, mode, allow_external)


def function(
    *,
    wrt: str | Sequence[str] = (),
    emit: Sequence[Any] = (),
    dims: Mapping[str, int] | None = None,
    module: str | None = None,
    **shapes: str,
) -> Callable[[Callable[..., Any]], DecoratedFunction]:
    """Return a decorator that reads a function over NumPy, and generates derivatives.

    `shapes` says of each argument how long its axes are, `X="m n"`, and of which there
    are samples, `x="n batch: B"`; `wrt`, `emit` and
    `dims` are those of specs, `module` the name of the module. An argument of one of
    these four names is read from a file instead. Calls of what is returned still run
    the function; its methods are those of `tensorgen.Spec`, and `grad`, `hess` and so
    on. Raises `SpecError` where something of the function cannot be read.
    """
    from tensorgen.frontends.decorated_function import decorated

    return decorated(shapes, wrt, emit, dims, module)


def __getattr__(name: str) -> Any:
    if name == "Spec":
        # On request: the command line starts without it.
        from tensorgen.frontends.spec_builder import Spec

        return Spec
    raise AttributeError(f"module 'tensorgen' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Register `%%tensorgen` and how derivatives are shown: `%load_ext tensorgen`."""
    from tensorgen.notebook.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Undo what `load_ipython_extension` did."""
    from tensorgen.notebook.extension import unload

    unload(shell)
