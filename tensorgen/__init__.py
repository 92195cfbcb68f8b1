"""Tensor functions become readable NumPy and CuPy modules with exact derivatives.

`generate` returns the source of a module, `load` the module itself. Everything
else is the command line's, or private.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from types import ModuleType

from tensorgen.errors import Source, SpecError
from tensorgen.files import LARGEST_TEXT, read_regular
from tensorgen.version import __version__

__all__ = ["SpecError", "__version__", "generate", "load"]


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
    wrong spec, and `OSError` for a file that cannot be read.
    """
    _, text = _generate(text_or_path, backend, mode, allow_external=allow_external)
    return text


def load(
    text_or_path: str | PathLike[str],
    backend: str = "numpy",
    mode: str = "cross-country",
    allow_external: bool = False,
) -> ModuleType:
    """Return the module that a spec describes, made in memory.

    Takes what `generate` takes. Tracebacks and `inspect.getsource` show its lines,
    which nobody has laid out: that would take as long as all the rest.
    """
    import hashlib
    import linecache
    import sys

    file_name, text = _generate(
        text_or_path, backend, mode, laid_out=False, allow_external=allow_external
    )
    # A name of its own, for dataclasses and pickle look classes up in sys.modules;
    # the same spec loaded again is the same module, so that nothing piles up.
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    name = f"tensorgen_loaded_{Path(file_name).stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    place = f"<tensorgen {file_name} {digest}>"
    linecache.cache[place] = (len(text), None, text.splitlines(True), place)
    module = ModuleType(name)
    module.__file__ = place
    sys.modules[name] = module
    try:
        exec(compile(text, place, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _generate(
    text_or_path: str | PathLike[str],
    backend: str,
    mode: str,
    laid_out: bool = True,
    allow_external: bool = False,
) -> tuple[str, str]:
    """Return the file name and the text of the one module."""
    # Imported here: `tensorgen --help` needs neither NumPy nor templates.
    from tensorgen.pipeline import compile_spec

    if isinstance(text_or_path, str) and "\n" in text_or_path:
        source = Source("<text>", text_or_path)
    else:
        path = Path(text_or_path)
        data = read_regular(path, LARGEST_TEXT).data
        source = Source.decode(fspath(path), data)
    files = compile_spec(
        source,
        [backend],
        mode,
        laid_out,
        support="inline",
        allow_external=allow_external,
    )
    ((name, text),) = files.items()
    return name, text
