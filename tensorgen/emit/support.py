"""Support code that modules share: one file for each backend, beside them.

It holds all that any module may need, whatever was asked for, so its text depends on
the backend and the version alone: other modules may be generated beside it at any time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from tensorgen.emit import pieces
from tensorgen.emit.backends import BACKENDS, Backend
from tensorgen.emit.framing import code, framed, header
from tensorgen.emit.imports import defined
from tensorgen.emit.interface import Helper
from tensorgen.emit.layout import finished
from tensorgen.emit.module import Module
from tensorgen.emit.seal import checksum
from tensorgen.operators.helpers.helper_table import HELPERS
from tensorgen.operators.helpers.systems import IMPORTS
from tensorgen.structure.structures import STRUCTURES, in_order

NAME = "_tensorgen_support"


def helpers(backend: Backend) -> Iterator[Helper]:
    """All helpers there are, in the order in which they are written."""
    lacking = backend.lacking
    own = dict(zip(backend.written(lacking), lacking.values(), strict=True))
    sources = {**HELPERS, **own, **backend.helpers}
    for name, source in sources.items():
        scipy = "scipy" if name in backend.helpers else backend.spell("scipy")
        text, called = _spelt(source, backend.alias, scipy)
        uses = tuple(x for x in sources if x in called and x != name)
        modules = IMPORTS.get(name, ()) if " import " in source else ()
        yield Helper(name, text, modules, uses)


@cache
def _spelt(source: str, alias: str, scipy: str) -> tuple[str, frozenset[str]]:
    """A helper's text for a library, and the names of helpers that it may call."""
    text = re.sub(r"\bnp\b", alias, source).strip()
    text = re.sub(r"\bfrom scipy\b", f"from {scipy}", text)
    return text, frozenset(re.findall(r"\b_\w+", source))


def support_name(backend: Backend) -> str:
    """Return the name of the module that holds the support code."""
    return f"{NAME}_{backend.folder}"


def support_file(backend: Backend) -> str:
    """Return the name of its file, which no spec can give to a module."""
    return f"{support_name(backend)}.py"


@cache
def support_names(backend_name: str) -> tuple[str, ...]:
    """Return what the support code defines for its users."""
    return tuple(defined(_code(BACKENDS[backend_name])))


@cache
def support_code(backend_name: str, version: str, laid_out: bool) -> str:
    """Return the text of the file of a version, laid out for a reader or not."""
    backend = BACKENDS[backend_name]
    text = _code(backend)
    digest = hashlib.sha256(text.encode()).hexdigest()
    solving = (row.imports.get(backend.name, ()) for row in STRUCTURES)
    lazy = {*chain(*solving), *map(backend.spell, chain(*IMPORTS.values()))}
    top = header(version, "its templates", digest, backend.title, sorted(lazy))
    source = framed(backend, top, _DOCSTRING, text)
    return finished(source, support_inputs(backend, version)) if laid_out else source


def support_inputs(backend: Backend, version: str) -> str:
    """Return the checksum of what the file of a version is made of."""
    return checksum(version, support_file(backend))


_DOCSTRING = '"""What modules beside this one share: checks, derivatives, solving."""'
_TEMPLATES = [row.template for row in STRUCTURES]


def _code(backend: Backend) -> str:
    nothing = Module("", "", "", "", backend.name, ())
    ways = in_order(_TEMPLATES)
    context: dict[str, object] = {
        **dict.fromkeys(pieces.uses(nothing), True),
        "factorizations": [way.template for way in ways],
        "pieces": {piece for way in ways for piece in way.pieces},
        "helpers": list(helpers(backend)),
        "literals": None,
        "has_shape_checks": True,
        "has_sizes": True,
        "shared": False,
        "constrained": None,
    }
    own = (
        "kernels",
        "fields",
        "functions",
        "solvers",
        "problems",
        "overs",
        "classes",
        "outside",
    )
    return code(backend, context | dict.fromkeys(own, ()))
