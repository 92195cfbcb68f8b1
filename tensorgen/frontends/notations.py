"""The notations that front ends read, and how a text is recognized as one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath

from tensorgen.errors import Source
from tensorgen.frontends.translation import Translation
from tensorgen.frontends.write_spec import Asked

Reader = Callable[[Source, Asked], Translation]


@dataclass(frozen=True, slots=True)
class Notation:
    """A notation: its reader as `module:function`, extensions of files, and a mark.

    The mark is what a text of it has and others have not.
    """

    reader: str
    extensions: tuple[str, ...]
    mark: re.Pattern[str] | None = None

    def read(self, source: Source, asked: Asked) -> Translation:
        """Return the spec of a text; raises `SpecError` at what cannot be read."""
        module, _, function = self.reader.partition(":")
        reader: Reader = getattr(import_module(module), function)
        return reader(source, asked)


_SECTION = (
    r"^[^\S\n]*(parameters|variables|min|max|minimize|maximize)\b(?!\s*[(*+'.^-])"
)
NOTATIONS: Mapping[str, Notation] = {
    "latex": Notation(
        "tensorgen.frontends.read_latex:read_latex",
        (".tex", ".latex"),
        re.compile(r"\\\w"),
    ),
    "geno": Notation(
        "tensorgen.frontends.geno:read_geno",
        (".geno",),
        re.compile(_SECTION, re.IGNORECASE | re.MULTILINE),
    ),
    "numpy": Notation(
        "tensorgen.frontends.numpy_files:read_numpy_file",
        (".py",),
        re.compile(r"^def \w+\(", re.MULTILINE),
    ),
    "matrixcalculus": Notation(
        "tensorgen.frontends.matrixcalculus:read_matrixcalculus", (".mc", ".m")
    ),
}
"""By name, in the order in which marks are looked for; the last has none."""


def guess_notation(source: Source) -> str:
    """Return the notation of a text, by the extension of its file or by its marks."""
    extension = PurePath(source.name).suffix.lower()
    for name, own in NOTATIONS.items():
        if extension in own.extensions:
            return name
    marked = (
        x
        for x, own in NOTATIONS.items()
        if own.mark is None or own.mark.search(source.text)
    )
    return next(marked)


def module_name(source_name: str) -> str:
    """Return a name for the module of a file: its stem, or `formula`."""
    if source_name.startswith("<"):
        return "formula"
    stem = re.sub(r"\W+", "_", PurePath(source_name).stem, flags=re.ASCII).strip("_")
    return stem[:60] if re.match("[A-Za-z]", stem) else "formula"
