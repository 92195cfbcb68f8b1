"""What becomes of a hostile spec: a module, a diagnostic, or a failure of ours.

A module must be Python that imports nothing but what generated code needs, in which
no text of the spec became code, and whose functions run. A diagnostic must point into
the file, and no line of it may look like another diagnostic.
"""

from __future__ import annotations

import ast
import math
import re
import time
import traceback
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tensorgen.errors import Source, SpecError
from tensorgen.pipeline import compile_spec
from tensorgen.spec.model import InputSpec, Spec
from tensorgen.spec.read import read_spec

FILE = "hostile.yaml"
MARKER = "inJected"
"""A name that mutated specs smuggle into texts; code never bears it."""

IMPORTS = frozenset(
    [
        "__future__",
        "collections",
        "functools",
        "itertools",
        "math",
        "numpy",
        "scipy",
        "types",
        "typing",
    ]
)
_MOST_ENTRIES = 5_000  # of arguments, for a run of a generated function
_MOST_RESULTS = 10**5  # of a derivative of higher order
_ORDER = re.compile(r"_d(\d+)$")
_SOUND = (
    ArithmeticError,
    ImportError,
    MemoryError,
    np.linalg.LinAlgError,
    TypeError,
    ValueError,
)


class Verdict(NamedTuple):
    """`kind` is "module", "diagnostic" or the name of a failure, `where` its place."""

    kind: str
    where: str
    seconds: float
    detail: str = ""

    @property
    def fails(self) -> bool:
        """Whether the spec ended otherwise than it may."""
        return self.kind not in ("module", "diagnostic")

    @property
    def signature(self) -> tuple[str, str]:
        """What failures of one cause have in common."""
        return self.kind, self.where


class Broken(Exception):
    """A result that is not as it must be."""


def judge(data: bytes, laid_out: bool = False, backend: str = "numpy") -> Verdict:
    """Compile a spec and say what became of it."""
    start = time.process_time()
    kind, where, detail = "module", "", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ResourceWarning)
            source = Source.decode(FILE, data)
            (text,) = compile_spec(
                source, [backend], "cross-country", laid_out
            ).values()
    except SpecError as error:
        kind, where, detail = _judge_diagnostics(error)
    except Exception as error:
        kind, where, detail = _failure(error)
    seconds = time.process_time() - start
    if kind == "module":
        try:
            check_module(text)
            if backend == "numpy":
                _run(text, read_spec(source))
        except Exception as error:
            kind, where, detail = _failure(error)
    return Verdict(kind, where, seconds, detail)


def _failure(error: Exception) -> tuple[str, str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/tensorgen/" in f.filename or f.filename == FILE]
    last = (own or frames)[-1]
    name = last.filename.rpartition("/")[2]
    where = f"{name}:{last.name}"
    if isinstance(error, Broken):
        where = str(error).partition(":")[0]
    elif last.filename == FILE:
        where = f"generated: {error}"
    detail = "".join(traceback.format_exception(error, limit=-6))
    return type(error).__name__, where, detail


# Diagnostics


def _judge_diagnostics(error: SpecError) -> tuple[str, str, str]:
    try:
        _check_diagnostics(error)
    except Exception as broken:
        return _failure(broken)
    return "diagnostic", "", ""


def _check_diagnostics(error: SpecError) -> None:
    if not error.diagnostics:
        raise Broken("no diagnostics")
    for diagnostic in error.diagnostics:
        span = diagnostic.span
        if span is None or span.source.name != FILE:
            raise Broken(f"no place: {diagnostic.message}")
        if not 0 <= span.start <= span.end <= len(span.source.text) + 1:
            raise Broken(f"place outside of the file: {diagnostic.message}")
        first, *others = diagnostic.render().split("\n")
        if not first.startswith(f"{FILE}:{span.line}:{span.column}: error: "):
            raise Broken(f"first line of a diagnostic: {first}")
        for line in others:
            if line and not line.startswith(" "):
                raise Broken(f"forged line: {line!r}")
            if not line.isprintable():
                raise Broken(f"raw control character: {line!r}")
        if not first.isprintable():
            raise Broken(f"raw control character: {first!r}")


# Modules


def check_module(text: str) -> None:
    """Raise `Broken` for a module that imports what it may not, or holds a marker."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for name in _identifiers(node):
            if MARKER in name:
                raise Broken(f"text became code: {ast.unparse(node)[:200]}")
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        for module in modules:
            if module.partition(".")[0] not in IMPORTS | {"cupy", "cupyx"}:
                raise Broken(f"imported module: {module}")


def _identifiers(node: ast.AST) -> Iterator[str]:
    """The names of a node; texts in quotes are none."""
    for field, value in ast.iter_fields(node):
        if isinstance(node, ast.Constant) and field == "value":
            continue
        values = value if isinstance(value, list) else [value]
        yield from (name for name in values if isinstance(name, str))


# Running


def _run(text: str, spec: Spec) -> None:
    """Execute a module and call its functions: any error must be a refusal."""
    module: dict[str, Any] = {"__name__": "hostile"}
    exec(compile(text, FILE, "exec"), module)
    sizes = _sizes(spec)
    all_ = {given.name: _argument(given, sizes) for given in spec.inputs}
    arguments = {name: value for name, value in all_.items() if value is not None}
    for name in module["__all__"]:
        function = module[name]
        code = getattr(function, "__code__", None)
        if code is None:
            continue
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {key: arguments[key] for key in known if key in arguments}
        for key in known:
            if key not in given and key[0] == "d" and key[1:] in arguments:
                given[key] = arguments[key[1:]]
        if len(given) != len(known):
            continue  # a cotangent has the shape of a result
        order = _ORDER.search(name)
        largest = max((np.size(value) for value in given.values()), default=1)
        if order and largest ** int(order[1]) > _MOST_RESULTS:
            continue
        _call(function, given)


def _call(function: Any, given: dict[str, Any]) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**given)
        except (NameError, AttributeError):
            raise
        except _SOUND as error:
            if isinstance(error, TypeError) and "unexpected" in str(error):
                raise


def _sizes(spec: Spec) -> dict[str, int]:
    symbols = {s for given in spec.inputs for d in given.shape for s in d.symbols}
    symbols |= {s for g in spec.inputs if g.index is not None for s in g.index.symbols}
    return {symbol: 2 + k % 3 for k, symbol in enumerate(sorted(symbols))}


def _argument(given: InputSpec, sizes: dict[str, int]) -> Any:
    """Return an argument that fits, or None where it would be large or cannot be."""
    shape = [d.value(sizes) for d in given.shape]
    if any(size < 0 for size in shape) or math.prod(shape) > _MOST_ENTRIES:
        return None
    chance = np.random.default_rng(0)
    if given.index is not None:
        most = given.index.value(sizes)
        return chance.integers(0, most, shape) if 0 < most < 2**62 else None
    return chance.uniform(0.5, 1.5, shape)
