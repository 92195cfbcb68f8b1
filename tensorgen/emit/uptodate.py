"""Which modules need not be made again: those whose header names their inputs.

A module depends on the text and the name of its spec, on how it is asked for, and on
the version of the compiler. A checkout has one version for many states: there, what
is older than a file of the compiler is always made again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tensorgen.emit.backends import BACKENDS
from tensorgen.emit.framing import template_folder
from tensorgen.emit.seal import checksum, inputs_of
from tensorgen.emit.support import support_file, support_inputs
from tensorgen.errors import Source
from tensorgen.files import read_regular
from tensorgen.spec.externals import check_backends
from tensorgen.spec.model import Spec
from tensorgen.spec.read import read_spec
from tensorgen.version import __version__


def inputs(source: Source, backend: str, mode: str, prefix: str | None) -> str:
    """Return the checksum of what a module is made of.

    `prefix` is that of the module with its support code, None if it has that itself.
    """
    name = re.split(r"[/\\]", source.name)[-1]
    shared = "inline" if prefix is None else f"shared{prefix}"
    return checksum(__version__, backend, mode, shared, name, source.text)


def support_prefix(spec: Spec, support: str | None, in_package: bool) -> str | None:
    """Return the prefix of the module with support code; None where all have theirs."""
    shared = (support or spec.support) == "shared"
    return "." * in_package if shared else None


def up_to_date(
    source: Source,
    folder: Path,
    backends: Sequence[str] | None,
    mode: str,
    support: str | None,
    in_package: bool,
    allow_external: bool,
) -> dict[str, str] | None:
    """Return the files of a spec by their names, if all are there as we made them.

    Raises `SpecError` for what is wrong with the keys of the spec.
    """
    spec = read_spec(source, allow_external)
    names = backends or spec.backends
    check_backends(spec.externals, names)
    prefix = support_prefix(spec, support, in_package)
    expected = {}
    for name in names:
        backend = BACKENDS[name]
        file_name = backend.file_name(spec.module)
        expected[file_name] = inputs(source, name, mode, prefix)
        if prefix is not None:
            own = support_inputs(backend, __version__)
            expected[support_file(backend)] = own
    found = {}
    for file_name, own in expected.items():
        path = folder / file_name
        try:
            data = read_regular(path).data
            fresh = os.stat(path).st_mtime >= _changed()
        except OSError:
            return None
        if not fresh or inputs_of(data) != own or b"\r" in data:
            return None
        found[file_name] = data.decode()
    return found


@cache
def _changed() -> float:
    """When a file of the compiler last changed, in a checkout; else long ago."""
    package = Path(__file__).parent
    templates = template_folder()
    if not isinstance(templates, Path) or templates.parent == package:
        return 0.0
    roots = (package, templates)
    return max(
        os.stat(Path(place, name)).st_mtime
        for root in roots
        for place, _, names in os.walk(root)
        for name in names
        if name.endswith((".py", ".j2", ".yaml", ".txt"))
    )
