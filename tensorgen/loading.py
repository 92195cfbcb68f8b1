"""Modules in memory: their text, and what comes of running it."""

from __future__ import annotations

import hashlib
import linecache
import sys
import warnings
from collections.abc import Callable, Iterable
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType

from tensorgen.errors import Remark, Source, SpecWarning
from tensorgen.files import LARGEST_TEXT, read_regular


class LoadedModule(ModuleType):
    """A module that was built in memory; notebooks show it as a table of functions.

    `spec_name` is the name that the spec gives it.
    """

    spec_name: str

    def _repr_html_(self) -> str:
        from tensorgen.notebook.module_views import table

        return table(self)


def source_of(text_or_path: str | PathLike[str]) -> Source:
    """Return a spec: a text if it is a string with a line break, else a file's."""
    if isinstance(text_or_path, str) and "\n" in text_or_path:
        return Source("<text>", text_or_path)
    path = Path(text_or_path)
    return Source.decode(fspath(path), read_regular(path, LARGEST_TEXT).data)


def generated(
    source: Source,
    backend: str,
    mode: str,
    laid_out: bool = True,
    allow_external: bool = False,
    note: Callable[[Remark], None] = lambda remark: None,
) -> tuple[str, str]:
    """Return the file name and the text of the one module that a spec describes."""
    # Imported here: `tensorgen --help` needs neither NumPy nor templates.
    from tensorgen.pipeline import compile_spec

    files = compile_spec(
        source,
        [backend],
        mode,
        laid_out,
        note=note,
        support="inline",
        allow_external=allow_external,
    )
    ((name, text),) = files.items()
    return name, text


def loaded(
    source: Source,
    backend: str,
    mode: str,
    allow_external: bool = False,
    note: Callable[[Remark], None] = lambda remark: None,
) -> LoadedModule:
    """Return the module that a spec describes, built in memory.

    Tracebacks and `inspect.getsource` show its lines, which nobody has laid out: that
    would take as long as all the rest.
    """
    file_name, text = generated(source, backend, mode, False, allow_external, note)
    # A name of its own, for dataclasses and pickle look classes up in sys.modules;
    # the same spec loaded again is the same module, so that nothing piles up.
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    name = f"tensorgen_loaded_{Path(file_name).stem}_{digest}"
    known = sys.modules.get(name)
    if isinstance(known, LoadedModule):
        return known
    place = f"<tensorgen {file_name} {digest}>"
    linecache.cache[place] = (len(text), None, text.splitlines(True), place)
    module = LoadedModule(name)
    module.__file__ = place
    module.spec_name = Path(file_name).stem.removesuffix(f"_{backend}")
    sys.modules[name] = module
    try:
        exec(compile(text, place, "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def warn_of(remarks: Iterable[Remark]) -> None:
    """Warn whoever called the function that calls this one; notes are kept back."""
    for remark in remarks:
        if remark.is_warning:
            warnings.warn(str(remark), SpecWarning, stacklevel=3)
