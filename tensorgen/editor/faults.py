"""The faults of a spec that is being written, found without planning anything."""

from __future__ import annotations

import re
from functools import lru_cache

from tensorgen.errors import Diagnostic, Source, SpecError
from tensorgen.lang import Program, program_of
from tensorgen.spec.read import read_spec

_VERSION = re.compile(r"^[\"']?tensorgen[\"']?\s*:", re.MULTILINE)


def is_spec(text: str) -> bool:
    """Whether a YAML file says that it is a spec: it has the key `tensorgen`."""
    return _VERSION.search(text) is not None


@lru_cache(maxsize=8)
def read(source: Source) -> Program | SpecError:
    """Return the program of a spec, or what is wrong with it; the last are kept."""
    try:
        # Functions from outside may be named: nothing is imported or called.
        return program_of(read_spec(source, allow_external=True))[1]
    except SpecError as error:
        return error


def faults(source: Source) -> tuple[Diagnostic, ...]:
    """Return all faults of a spec."""
    found = read(source)
    return found.diagnostics if isinstance(found, SpecError) else ()
